# Traps: of signals, while waiting, in functions, ERR, DEBUG and EXIT.
trap 'echo usr1' USR1
trap 'echo "exit $?"' EXIT
kill -USR1 $$
for i in 1 2 3 4 5; do kill -USR1 $$; done
trap 'echo usr2 interrupts wait' USR2
(sleep 0.3; kill -USR2 $$; sleep 0.3) &
wait $!; echo "wait: $((${?} > 128))"
wait; echo "rest: $?"
trap '' INT; kill -INT $$; echo 'INT ignored'
trap - INT
f() { trap 'echo return from f' RETURN; echo in f; }
f; trap - RETURN
trap 'echo err $?' ERR
(exit 9)
false || echo caught
trap - ERR
(trap 'echo sub $?' EXIT; exit 4); echo "sub: $?"
{ (kill -SEGV $BASHPID); } 2> segv; echo "segv: $?"
{ (ulimit -c 0; kill -ABRT $BASHPID); } 2> abrt; echo "abrt: $?"
grep -c Segm segv; grep -c Abort abrt; rm segv abrt # the messages name pids
trap 'echo chld' CHLD; (exit 0) & wait $!; trap - CHLD
trap 'echo alarm; exit 11' ALRM
(sleep 0.2; kill -ALRM $$) &
while :; do :; done
