# Only builtins.
declare -A count
while read -r -a words; do for w in "${words[@]}"; do count[$w]=$((${count[$w]:-0} + 1)); done; done < left.txt
for w in w1 w2 w3 w4 w5 w6 w7 w8 w9; do printf '%s %d\n' "$w" "${count[$w]:-0}"; done
fib() { local n=$1; if ((n < 2)); then r=$n; else fib $((n - 1)); local a=$r; fib $((n - 2)); ((r += a)); fi; }
fib 12; echo "$r"
s=; for ((i = 0; i < 500; i++)); do s+=$((i % 7)); done; echo "${s//0123/x}"
[[ $s =~ (6012)+ ]] && echo "${BASH_REMATCH[1]}"
