#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern control: what it shows of counters that are known, which the stand-in for the engine
# (tests/cli/engine.c) has filled in and then waits. That it is heard, and runs with calls, are the
# business of tests/requests/control.

load run

# Starts prog, whose script then waits until finish_prog; $pid is its process id.
start_prog() {
    make_prog
    { cat; printf '%s\n' hear 'print here' "wait $FOLDER/go" 'end exit 0'; } > script
    "$QUERN" run -q --cache-sim=no "$@" -o "$FOLDER/p" ./prog > said 2> log &
    pid=$!
    until grep -q here said; do
        kill -0 $pid || return 1
        sleep 0.02
    done
}

finish_prog() {
    : > go
    wait $pid
}

@test "what a run has counted" {
    # Two threads: 40 and 3 executions of f, which has two instructions.
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 40
counter 0 3 1
END
    quern control -w . -s -e
    [ "$status" = 0 ]
    same "$(sed 's/ $//' <<< "$output")" "PID $pid: ./prog
  Number of running threads: 2, thread IDs: 1 2
  Events collected: Ir
  Basic blocks: 1 (executed 43)

  Totals:Ir
   Th 1  80
   Th 2   6"
    same "$messages" ""
    finish_prog
}

@test "counters that cannot be read" {
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 40
END
    # Cut off where the counters of the first thread begin.
    truncate -s $((0x40000000)) quern.spool.*
    quern control -w . -s
    [ "$status" = 2 ]
    same "$output" "PID $pid: ./prog"
    same "$messages" "quern: process $pid: its counters cannot be read: the file is too short"
    finish_prog || [ $? = 2 ] # nor can the finisher read them
}

@test "a thread whose counters are not in the file yet" {
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 40
counter 0 3 1
END
    truncate -s $((0x40000000 + 0x8000000)) quern.spool.*
    quern control -w . -e
    [ "$status" = 0 ]
    same "$(sed 's/ $//' <<< "$output")" "PID $pid: ./prog

  Totals:Ir
   Th 1  80
   Th 2   0"
    same "$messages" ""
    finish_prog
}

@test "nobody answers" {
    start_prog < /dev/null
    begin=$(date +%s)
    quern control --dump=late $pid
    [ "$status" = 2 ]
    same "$output" "PID $pid: ./prog"
    same "$messages" "quern: process $pid: none of its threads has answered within 10 s: it will be \
done when one of them comes back from the kernel"
    [ $(($(date +%s) - begin)) -ge 9 ]
    finish_prog
}
