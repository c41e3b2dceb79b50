# SPDX-License-Identifier: MIT
# needs: nginx ab curl
mkdir -p www logs tmp
head -c 300000 /dev/zero | tr '\0' 'q' > www/big
echo hello > www/index.html
cat > nginx.conf <<J
daemon off;
user $(id -un);
worker_processes 2;
pid $PWD/nginx.pid;
error_log $PWD/logs/error.log;
events { worker_connections 100; }
http {
    access_log $PWD/logs/access.log;
    client_body_temp_path $PWD/tmp; proxy_temp_path $PWD/tmp; fastcgi_temp_path $PWD/tmp;
    uwsgi_temp_path $PWD/tmp; scgi_temp_path $PWD/tmp;
    gzip on; gzip_min_length 1000; gzip_types *;
    server { listen unix:$PWD/s; listen 127.0.0.1:${PORT:-18080}; root $PWD/www; }
}
J
$RUN nginx -p "$PWD" -e "$PWD/logs/error.log" -c "$PWD/nginx.conf" &
server=$!
for i in $(seq 600); do curl -s --unix-socket s http://x/ >/dev/null && break; sleep 0.1; done
curl -s --unix-socket s http://x/
curl -s --unix-socket s http://x/big | cksum
curl -s --compressed --unix-socket s http://x/big | cksum
curl -s -o /dev/null -w '%{http_code}\n' --unix-socket s http://x/none
curl -s -r 5-9 --unix-socket s http://x/big; echo
ab -q -n 300 -c 10 "http://127.0.0.1:${PORT:-18080}/" | grep -E '^(Complete|Failed) requests'
kill -HUP $server # new workers, old ones end
sleep 1
curl -s --unix-socket s http://x/
kill -QUIT $server
wait $server
echo "status $?"
