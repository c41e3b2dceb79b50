# Jobs, wait in its forms, and the status of a job. The waits fix the order of the output.
set -u
(exit 3) &
wait $!; echo "first: $?"
# Neither is killed before it says that it runs: a process killed while it starts has no output.
mkfifo ready
(echo > ready; read -r _ < ready) &
read -r _ < ready
kill -TERM $!; wait $!; echo "ended by TERM: $?"
(sleep 0.2; exit 5) & a=$!
(exit 6) & b=$!
wait $b; echo "b: $?"
wait $a; echo "a: $?"
# It ends while the shell sleeps in wait: for one that has ended just before, wait -n sometimes returns 127 (natively,
# too), and it stays the %1 of the lines below.
(until grep -q '^State:.S' /proc/$$/status; do :; done; exit 7) &
wait -n; echo "any: $?"
for i in 1 2 3 4 5 6 7 8; do (exit $i) & pids[$i]=$!; done
sum=0
for i in 1 2 3 4 5 6 7 8; do wait ${pids[$i]}; sum=$((sum + $?)); done
echo "sum: $sum"
set -m
(echo > ready; read -r _ < ready) &
read -r _ < ready
jobs | sed 's/[0-9]\{3,\}//'
kill -STOP %1
until [ "$(jobs -s)" ]; do sleep 0.05; done
jobs -s
kill -CONT %1
set +m
kill -TERM %1
wait $! 2>/dev/null; echo "ended by TERM: $?"
coproc cat; c=$COPROC_PID
echo through >&${COPROC[1]}
read -r line <&${COPROC[0]}
echo "coproc: $line"
eval "exec ${COPROC[1]}>&-"
wait $c; echo "coproc ended: $?"
diff <(printf '1\n2\n') <(printf '1\n3\n'); echo "diff: $?"
