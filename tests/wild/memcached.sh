# SPDX-License-Identifier: MIT
# needs: memcached python3
$RUN memcached -s "$PWD/s" -t 4 -u "$(id -un)" &
server=$!
cat > ask.py <<'J'
import socket, threading, time
def connect():
    for _ in range(600):
        try:
            c = socket.socket(socket.AF_UNIX); c.connect("s"); return c
        except OSError:
            time.sleep(.1)
def ask(c, line, end):
    c.sendall(line); got = b""
    while not got.endswith(end): got += c.recv(65536)
    return got
def many(n, out):
    c = connect()
    for i in range(300):
        key = b"k%d_%d" % (n, i)
        assert ask(c, b"set %s 0 0 5\r\nv%04d\r\n" % (key, i), b"\r\n") == b"STORED\r\n"
        out[n] += ask(c, b"get %s\r\n" % key, b"END\r\n").count(b"v%04d" % i)
out = [0] * 8
threads = [threading.Thread(target=many, args=(n, out)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
c = connect()
ask(c, b"set n 0 0 1\r\n1\r\n", b"\r\n")
print(out, ask(c, b"incr n 41\r\n", b"\r\n"), ask(c, b"delete n\r\n", b"\r\n"), ask(c, b"get n\r\n", b"END\r\n"))
J
python3 ask.py
kill -TERM $server
wait $server
echo "status $?"
