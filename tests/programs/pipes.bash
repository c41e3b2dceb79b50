# Pipes, here-documents, redirections, command substitution.
sort in.txt | uniq -c | sort -rn | sed -n 1,5p; echo "${PIPESTATUS[*]}"
yes | head -n 3; echo "${PIPESTATUS[*]}"
cat <<END
here $((6 * 7)) $(echo nested | tr a-z A-Z) ${PWD##*/}
END
cat <<-'END'
	literal $x `y`
	END
cat <<< "string"
while read -r a b; do n=$((n + ${#a})); done < in.txt; echo "$n"
x=$(seq 500 | while read -r i; do echo $((i * i)); done | tail -n 1); echo "$x"
big=$(seq 1 20000); echo ${#big}
{ echo out; echo err >&2; } 2>&1 | cat -n
exec 5> fd5; echo five >&5; exec 5>&-; cat fd5
mkfifo pipe; (seq 10 > pipe) & paste -sd+ pipe; wait
set -o pipefail; false | true; echo "pipefail: $?"
shopt -s lastpipe; seq 3 | mapfile -t lines; echo "${lines[@]}"
printf '%s\n' tree/*/* | xargs -n 2 echo
find tree -type f -exec wc -c {} + | sort -n | tail -n 1
