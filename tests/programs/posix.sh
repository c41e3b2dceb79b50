# SPDX-License-Identifier: MIT
# A POSIX shell: functions, traps, pipes, subshells, background jobs.
total() { t=0; while read -r a rest; do t=$((t + ${#a})); done; echo "$t"; }
total < in.txt
cut -d ' ' -f 1 in.txt | sort | uniq -c | sort -rn | head -n 3
trap 'echo hup' HUP; kill -HUP $$; trap - HUP
(exit 3) & wait $!; echo "status $?"
mkfifo ready; (echo > ready; read -r _ < ready) & read -r _ < ready; kill -KILL $!; wait $! 2>/dev/null; echo "status $?"
cat << END | tr a-z A-Z
value $(expr 6 \* 7)
END
i=0; while [ $i -lt 20 ]; do i=$((i + 1)); x=$(echo $i); done; echo "$x"
for f in tree/*/*; do test -f "$f" && echo "file $f"; done
exec 3>&1; (echo by three >&3)
set -- a 'b c' d; for x; do printf '<%s>' "$x"; done; echo
trap 'echo bye; exit 4' EXIT
sh -c 'kill -TERM $$'; echo "status $?"
exit 9
