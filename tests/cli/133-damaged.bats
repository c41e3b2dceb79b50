#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Damaged spools, sanitized: every number of the header as wrong as it can be, and files cut anywhere,
# end in a profile or in a sentence, and nothing is written anywhere else.

load run

# A folder with a killed run's spool, and in `header` where its numbers are.
killed_run() { # OPTION...
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'block 0x401000 0 1 1' \
        'counter 0 21' 'counter 1 5' 'counter 1 7 1' 'partial 0 1 3' 'say header' 'end killed' > script
    "$QUERN" run -q --cache-sim=no --dump-counts=c "$@" ./prog > header || true
    mv quern.spool.* spool
    mkdir work
    mv header script spool prog prog.S work
    cd work
    QUERN=$BUILD/tests/quern-asan
}

# Recovers the copies whose damage standard input has, in this folder alone.
recover_damaged() {
    "$BATS_TEST_DIRNAME/damage.py" --alone spool "$QUERN" recover -q --symbol-cache=no
}

# The bytes of a number, the lowest first, as digits in $bytes.
bytes() { # VALUE SIZE
    local i byte

    bytes=
    for ((i = 0; i < $2; i++)); do
        printf -v byte %02x $((($1 >> (8 * i)) & 255))
        bytes+=$byte
    done
}

each_number() { # VALUE...
    local name at size value

    while read -r name at size; do
        for value in "$@"; do
            bytes $value $size
            echo "$name:$value $at=$bytes"
        done
    done < header > damage
    recover_damaged < damage
}

@test "each number of the header as wrong as it can be" {
    killed_run -o out
    each_number 0 1 0xffffffff 0x7fffffffffffffff -1
}

@test "the same of a call graph" {
    killed_run -o out --calls=yes
    each_number 1 0xffffffff -1
}

@test "the same of a call graph by contexts, of threads" {
    killed_run -o out --calls=yes --separate-callers=2 --separate-threads=yes
    # A profile for each of 2400 threads takes its time.
    grep -v '^threads_used' header > fewer
    grep -vE '^(edges|counters)_used ' fewer > header
    each_number 0xffffffff -1
    # Of both values of these all that there is room for is read, which takes ten seconds.
    grep -E '^(edges|counters)_used ' fewer > header
    each_number -1
}

@test "cut anywhere" {
    killed_run -o out
    local size

    for size in 0 1 7 8 100 2000 4095 4096 4097 65535 65536 65540 8388607 8388608 8388650 16777216 \
        16777220 33554432 33554433 33554470 939524096 1073741823 1073741824 1073741832 1073741840; do
        echo "cut-at-$size SIZE=$size"
    done > damage
    recover_damaged < damage
}

@test "a module that is a pipe is not waited for" {
    make_prog
    mkfifo pipe
    printf '%s\n' "map 0x700000 0x701000 0 $PWD/pipe 0" "map 0x800000 0x801000 0 /dev/zero 0" \
        'block 0x700010 0 3' 'block 0x800010 1 3' 'counter 0 7' 'counter 1 7' 'end exit 0' > script
    "$QUERN" run --cache-sim=no --log-file=log -o out ./prog &
    pid=$!
    for i in $(seq 600); do kill -0 $pid 2> stderr || break; sleep 0.1; done
    kill -KILL $pid 2> stderr && false
    wait $pid
    same "$(grep '^quern' log)" "quern: $PWD/pipe: is no regular file; its functions are shown as ???
quern: /dev/zero: is no regular file; its functions are shown as ???"
    same "$(tail -n 1 out)" "summary: 14"
}
