# SPDX-License-Identifier: MIT
# needs: redis-server redis-cli redis-benchmark
$RUN redis-server --port 0 --unixsocket "$PWD/s" --save '' --appendonly no --dir "$PWD" --logfile server.log &
server=$!
for i in $(seq 600); do redis-cli -s s ping 2>/dev/null | grep -q PONG && break; sleep 0.1; done
ask() { redis-cli -s s "$@"; }
ask set a 1
ask incrby a 41
ask rpush l x y z
ask lrange l 0 -1
ask eval 'local s = 0 for i = 1, 10000 do s = s + i end return s' 0
ask zadd z 3 c 1 a 2 b
ask zrange z 0 -1 withscores
ask hset h f1 v1 f2 v2
ask hgetall h | sort
ask debug sleep 0
redis-benchmark -s s -q -n 2000 -c 20 -t set,get,lpush,lrange_100 >/dev/null 2>&1 && echo benchmark
ask dbsize
ask bgsave >/dev/null # a fork that writes the file
for i in $(seq 300); do [ "$(ask lastsave)" -gt 0 ] && [ -s dump.rdb ] && break; sleep 0.1; done
redis-check-rdb dump.rdb | grep -c 'RDB looks OK'
ask shutdown nosave
wait $server
echo "status $?"
