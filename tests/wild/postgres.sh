# SPDX-License-Identifier: MIT
# needs: initdb pgbench psql postgres
# Its programs refuse to run as root.
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown 65534:65534 .
as initdb -D db -A trust -U me --no-sync >/dev/null
as $RUN postgres -D db -k "$PWD" -c listen_addresses= -c fsync=off -c jit=off >server.log 2>&1 &
server=$!
for i in $(seq 900); do psql -h "$PWD" -U me -d postgres -Atc 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done
ask() { psql -h "$PWD" -U me -d postgres -At "$@"; }
ask -c 'create table t as select i, md5(i::text) as m from generate_series(1, 20000) i' -c 'create index on t (m)'
ask -c "select count(*), sum(i), max(m) from t" -c "select i from t where m = md5('777')"
ask -c "set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; select sum(length(m) + i) from t"
ask -c 'select 1 / 0' 2>&1
ask -c 'begin' -c 'delete from t' -c 'rollback' -c 'select count(*) from t'
as pgbench -h "$PWD" -U me -i -q postgres >/dev/null 2>&1 && echo filled
as pgbench -h "$PWD" -U me -c 3 -j 1 -t 20 postgres 2>/dev/null | grep -E '^number of (transactions actually|failed)'
ask -c 'select count(*) from pgbench_history'
kill -INT $(head -1 db/postmaster.pid)
wait $server
echo "status $?"
