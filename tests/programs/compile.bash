# compile.bash COMPILER FLAGS... FILE: compile, link and run, and the same from stages; then a file with an error.
set -u
printf 'int f(void) { return x; }\n' > bad.c
"$@" -o whole -lm || echo "status $?"
"$@" -c -o part.o && "$1" part.o -o parts -lm || echo "status $?"
./whole 3000; echo "status $?"
./parts 100; echo "status $?"
"$1" -c bad.c -o bad.o; echo "status $?"
