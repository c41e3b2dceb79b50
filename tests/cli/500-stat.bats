#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern stat: what it says of runs whose every count is known, filled in by the stand-in for the
# engine (tests/cli/engine.c); and of a real one at the end. prog has function f at 0x401000 with a
# nop (one byte) and a ret (one byte).

load run

CACHES="--I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64"

# A run of f: its block executed $1 times, $2 misses of I1 and LL, $3 reads by the nop and their
# misses: counters 1 and 2 are I1mr and ILmr, 3 and 4 D1mr and DLmr.
spool_of() {
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' "block 0x401000 0 1F:$3,0 1" "counter 0 $1" \
        "counter 1 $2" "counter 2 $2" 'counter 3 1' 'counter 4 1' 'print the program'
}

# One script for each run in turn: script.1, script.2, ...
engine_in_turn() {
    printf '%s\n' '#!/bin/sh' 'n=$(($(cat turn) + 1))' 'echo $n > turn' \
        "QUERN_TEST_SPOOL=$FOLDER/script.\$n exec '$QUERN_ENGINE' \"\$@\"" > engine
    chmod +x engine
    echo 0 > turn
    export QUERN_ENGINE=$FOLDER/engine
}

@test "totals, behind what the program printed; nothing is left behind" {
    make_prog
    { spool_of 1000 3 2; echo 'end exit 0'; } > script
    ls > before
    quern stat $CACHES ./prog
    [ "$status" = 0 ]
    # Two instructions, 1000 times; the nop reads twice each time.
    same "$output" "the program
Ir    2,000
I1mr      3
ILmr      3
Dr    2,000
D1mr      1
DLmr      1
Dw        0
D1mw      0
DLmw      0"
    same "$messages" ""
    same "$(ls)" "$(printf '%s\n' before $(< before) stderr stdout | sort -u)"
}

@test "only what is simulated" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1C' 'counter 0 7' \
        'counter 1 5' 'end exit 0' > script
    quern stat --cache-sim=no --branch-sim=yes ./prog
    # The ret is a branch that was mispredicted 5 times of 7.
    same "$output" "Ir    14
Bc     7
Bcm    5
Bi     0
Bim    0"
}

@test "ends as the program ended" {
    make_prog
    echo 'end exit 37' > script
    quern stat ./prog
    [ "$status" = 37 ]
    echo 'end signal 10' > script # SIGUSR1
    quern stat ./prog
    [ "$status" = 138 ]
    quern stat ./nothing
    [ "$status" = 127 ]
    same "$output" ""
    same "$messages" "quern: ./nothing: No such file or directory"
    quern stat /
    [ "$status" = 126 ]
    quern stat
    [ "$status" = 2 ]
}

@test "what was counted before SIGKILL is there" {
    make_prog
    { spool_of 40 3 1; echo 'end killed'; } > script
    quern stat $CACHES ./prog
    [ "$status" = 137 ]
    [[ "$output" == *"Ir    80
I1mr   3"* ]]
}

@test "a spool that cannot be read" {
    make_prog
    { spool_of 40 3 1; printf '%s\n' 'version 4711' 'end exit 37'; } > script
    quern stat -n 2 --save=out ./prog
    [ "$status" = 2 ]
    same "$output" "the program"
    version=$(sed -nE 's/^#define SPOOL_VERSION +([0-9]+)u$/\1/p' "$ROOT/share/spool.h")
    same "$(tail -n 1 <<< "$messages")" "quern: the spool of ./prog: a spool of version 4711, this quern reads version $version; \
use the quern that made it"
    [ ! -e out ]
}

@test "children's counters lie in TMPDIR, or in /tmp" {
    make_prog
    printf '%s\n' 'say folder' 'end exit 0' > script
    for TMPDIR in "$FOLDER" '' -; do
        export TMPDIR
        [ "$TMPDIR" != - ] || unset TMPDIR
        quern stat --cache-sim=no ./prog
        same "$output" "${TMPDIR:-/tmp}
Ir    0"
    done
}

@test "no process for the run" {
    make_prog
    echo 'int fork(void) { *__errno_location() = 11; return -1; }' > fork.c # EAGAIN
    gcc -w -shared -fPIC -include errno.h -o fork.so fork.c
    LD_PRELOAD=$PWD/fork.so quern stat ./prog
    same "$messages" "quern: ./prog: cannot create a process for it: Resource temporarily unavailable"
    [ "$status" = 2 ]
    same "$output" ""
}

@test "-n: every event that repeats, and the function where one does not" {
    make_prog
    engine_in_turn
    { spool_of 1000 3 2; echo 'end exit 0'; } > script.1
    { spool_of 1005 3 2; echo 'end exit 0'; } > script.2
    { spool_of 998 3 2; echo 'end exit 1'; } > script.3
    quern stat $CACHES -n 3 ./prog
    [ "$status" = 1 ] # of the last
    # Ir: 2 * 998 to 2 * 1005; Dr the same, all of it in the nop.
    same "$output" "the program
the program
the program
3 runs

Ir    1,996  varies, up to 2,010: $PWD/prog.S:f (1,996, 2,010)
I1mr      3  repeats
ILmr      3  repeats
Dr    1,996  varies, up to 2,010: $PWD/prog.S:f (1,996, 2,010)
D1mr      1  repeats
DLmr      1  repeats
Dw        0  repeats
D1mw      0  repeats
DLmw      0  repeats"
    same "$messages" ""
}

@test "-n: other functions that vary are counted" {
    make_prog
    engine_in_turn
    # Beside f an unknown place, 4 against 6 times: f varies more.
    for i in 1 2; do
        spool_of $((990 + 10 * i)) 3 2 > script.$i
        printf '%s\n' 'block 0x401100 0 1' "counter 5 $((2 + 2 * i))" 'end exit 0' >> script.$i
    done
    quern stat $CACHES --runs=2 -o result ./prog
    same "$(grep Ir result)" \
        "Ir    2,004  varies, up to 2,026: $PWD/prog.S:f (2,000, 2,020) and 1 more function"
    same "$output" "the program
the program"
}

@test "--save and --baseline" {
    make_prog
    { spool_of 1000 3 2; echo 'end exit 0'; } > script
    quern stat $CACHES --save=base ./prog 'x y'
    same "$(< base)" "desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         32768 B, 64 B, 8-way associative
desc: LL cache:         8388608 B, 64 B, 16-way associative
cmd: ./prog x y
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=???
fn=(total)
0 2000 3 3 2000 1 1 0 0 0
summary: 2000 3 3 2000 1 1 0 0 0"
    { spool_of 1100 0 1; echo 'end exit 0'; } > script
    quern stat $CACHES --baseline=base ./prog
    [ "$status" = 0 ]
    same "$messages" ""
    # 2 * 1100, of which the nop's half reads once.
    same "$(sed 's/ *$//' <<< "$output")" "the program
      baseline    now  change
Ir       2,000  2,200    +200   +10.00%
I1mr         3      0      -3  -100.00%
ILmr         3      0      -3  -100.00%
Dr       2,000  1,100    -900   -45.00%
D1mr         1      1       0    +0.00%
DLmr         1      1       0    +0.00%
Dw           0      0       0
D1mw         0      0       0
DLmw         0      0       0"
    # The totals are a profile for every other command, and any profile is a baseline.
    quern diff --fail-if='Ir>+9%' base base
    [ "$status" = 0 ]
    quern run -q $CACHES -o whole ./prog
    quern stat $CACHES --baseline=whole ./prog
    [[ "$output" == *"
Ir       2,200  2,200       0    +0.00%"* ]]
}

@test "--save of several runs is the least of each event" {
    make_prog
    engine_in_turn
    { spool_of 1000 2 2; echo 'end exit 0'; } > script.1
    { spool_of 990 4 2; echo 'end exit 0'; } > script.2
    quern stat $CACHES -n 2 --save=base ./prog
    same "$(tail -n 1 base)" "summary: 1980 2 2 1980 1 1 0 0 0"
}

@test "a baseline of other events or caches" {
    make_prog
    echo 'end exit 0' > script
    quern stat --cache-sim=no --save=base ./prog
    [ "$status" = 0 ]
    quern stat --baseline=base ./prog
    [ "$status" = 2 ]
    same "$messages" "quern: --baseline=base: it has no event I1mr; the same simulations must \
have been on"
    same "$output" "" # nothing was run
    quern stat $CACHES --save=base ./prog
    quern stat --I1=16384,8,64 --D1=32768,8,64 --LL=8388608,16,64 --baseline=base ./prog
    [ "$status" = 0 ]
    same "$messages" "quern: --baseline=base: has other caches (I1 cache:         32768 B, 64 B, \
8-way associative); choose them by --I1, --D1 and --LL"
    quern stat --baseline=nothing ./prog
    [ "$status" = 2 ]
    same "$messages" "quern: nothing: cannot be opened: No such file or directory"
}

@test "--summary=json" {
    make_prog
    engine_in_turn
    { spool_of 1000 3 2; echo 'end exit 0'; } > script.1
    { spool_of 1005 3 2; echo 'end exit 4'; } > script.2
    quern stat $CACHES -n 2 --save=base --summary=json -o result ./prog 'a"b'
    version=$("$QUERN" --version)
    zero='{"count":0,"repeats":true,"greatest":0}'
    one='{"count":1,"repeats":true,"greatest":1}'
    three='{"count":3,"repeats":true,"greatest":3}'
    f='{"count":2000,"repeats":false,"greatest":2010,"varies":{"function":"'$PWD'/prog.S:f",'
    f+='"least":2000,"greatest":2010,"others":0}}'
    json='{"quern":"'${version#quern }'","command":"./prog a\"b","caches":{'
    json+='"I1":{"size":32768,"associativity":8,"line":64},'
    json+='"D1":{"size":32768,"associativity":8,"line":64},'
    json+='"LL":{"size":8388608,"associativity":16,"line":64}},"runs":2,"exit":4,"events":{'
    json+='"Ir":'$f',"I1mr":'$three',"ILmr":'$three',"Dr":'$f',"D1mr":'$one',"DLmr":'$one','
    json+='"Dw":'$zero',"D1mw":'$zero',"DLmw":'$zero'}}'
    same "$(< result)" "$json"
    echo 'end signal 9' > script.3
    quern stat --cache-sim=no --summary=json --baseline=base ./prog
    same "$output" '{"quern":"'${version#quern }'","command":"./prog","runs":1,"signal":9,'\
'"events":{"Ir":{"count":0,"baseline":2000}}}'
}

@test "quern run --summary=json: one line, no banner" {
    make_prog
    { spool_of 1000 3 2; echo 'end exit 3'; } > script
    quern run $CACHES --summary=json --log-file=log -o out ./prog
    [ "$status" = 3 ]
    same "$messages" ""
    pid=$(sed 's/.*"pid":\([0-9]*\),.*/\1/' log)
    version=$("$QUERN" --version)
    json='{"quern":"'${version#quern }'","command":"./prog","caches":{'
    json+='"I1":{"size":32768,"associativity":8,"line":64},'
    json+='"D1":{"size":32768,"associativity":8,"line":64},'
    json+='"LL":{"size":8388608,"associativity":16,"line":64}},"pid":'$pid',"exit":3,'
    json+='"profile":"'$PWD'/out","events":{"Ir":2000,"I1mr":3,"ILmr":3,"Dr":2000,"D1mr":1,'
    json+='"DLmr":1,"Dw":0,"D1mw":0,"DLmw":0}}'
    same "$(< log)" "$json"
    python3 -c 'import json; json.load(open("log"))'
    quern run $CACHES -q --summary=json --log-file=log -o out ./prog
    [ ! -s log ]
}

@test "a program that reads a file as its standard input reads it in every run" {
    unset QUERN_ENGINE
    printf 'one\ntwo\nthree\n' > input
    # The first line is gone before the first run.
    { read -r line; "$QUERN" stat -n 2 -o result cat; } < input > stdout
    same "$(< stdout)" "two
three
two
three"
    same "$(head -n 1 result)" "2 runs"
}

@test "a file for the result that cannot be written" {
    make_prog
    { spool_of 1000 3 2; echo 'end exit 0'; } > script
    quern stat $CACHES -o /no/such/folder/result ./prog
    [ "$status" = 2 ]
    same "$messages" "quern: /no/such/folder/result: cannot be written: No such file or directory"
}

@test "the engine: forked children leave nothing, the process started is counted" {
    unset QUERN_ENGINE
    mkdir tmp
    TMPDIR=$PWD/tmp quern stat sh -c 'exit 5 & wait $!; echo $?'
    [ "$status" = 0 ]
    [[ "$output" == "5
Ir "* ]]
    same "$messages" ""
    [ -z "$(ls tmp)" ]
}

@test "the engine: the same totals as quern run" {
    unset QUERN_ENGINE
    make_prog
    printf '%s\n' '.globl _start' '_start: mov $1000, %ecx' '1: push %rcx; pop %rax' 'dec %ecx' \
        'jnz 1b' 'xor %edi, %edi' 'mov $60, %eax' 'syscall' > loop.S
    gcc -nostdlib -static -o loop loop.S
    # mov, 1000 times (push, pop, dec, jnz), xor, mov, syscall
    quern stat --branch-sim=yes -n 2 ./loop
    [ "$status" = 0 ]
    [[ "$output" == *"
Ir    4,004  repeats
"*"
Dr    1,000  repeats
"*"
Dw    1,000  repeats
"*"
Bc    1,000  repeats
"* ]]
}

@test "the engine: an interrupt ends the series, with what was counted" {
    unset QUERN_ENGINE
    # The second run waits for the signal, which reaches it and quern as from a terminal.
    echo '[ -e first ] && { kill -INT 0; sleep 60; }; : > first' > wait.sh
    status=0
    setsid env --default-signal "$QUERN" stat -n 9 -o result sh wait.sh || status=$?
    [ "$status" = 130 ]
    same "$(head -n 1 result)" "2 runs"
}

@test "little beyond the run itself" {
    make_prog
    { spool_of 1000 3 2; echo 'end exit 0'; } > script
    # With the stand-in, which executes nothing, all is quern's own: its start, the spool, the
    # totals. Counted by quern, not timed: 1.2 million instructions where this was written, which
    # are less than a millisecond; the bar of 5 ms is 4 million of a processor that is slow.
    printf '%s\n' '#!/bin/sh' "QUERN_ENGINE='$QUERN_ENGINE' exec '$QUERN' stat ./prog" > stat.sh
    env -u QUERN_ENGINE "$QUERN" run -q --children=merge --trace-children=yes --cache-sim=no \
        --cachegrind-out-file="$PWD/own" sh stat.sh
    own=$(sed -n 's/^summary: //p' own)
    echo "# $own instructions"
    [ "$own" -gt 100000 ]
    [ "$own" -lt 4000000 ]
}

# "$@" by a caller that ignores SIGCHLD.
ignoring() {
    timeout -s KILL 60 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# The run is waited for, and the program inherits what the caller has set, as without quern.
@test "a caller that ignores SIGCHLD" {
    unset QUERN_ENGINE
    ignoring grep SigIgn /proc/self/status > natively
    ignoring "$QUERN" stat grep SigIgn /proc/self/status > stat
    ignoring "$QUERN" run -q -o out grep SigIgn /proc/self/status > run
    for one in natively stat run; do
        grep -q '^SigIgn:.*[13579bdf][0-9a-f]\{4\}$' $one # bit 16 is signal 17
    done
}

# `quern stat` of a program that executes $1 on SIGTERM and SIGHUP, until there is a file go; $pid is
# quern's. Signals that a shell's background ignores have their default action.
start_stat() {
    unset QUERN_ENGINE
    printf '%s\n' "trap '$1' TERM HUP" 'echo the program' 'until [ -e go ]; do sleep 0.05; done' > wait.sh
    : > said
    env --default-signal "$QUERN" stat -n 3 --cache-sim=no sh wait.sh > said 2> stderr &
    pid=$!
    until grep -q 'the program' said; do
        kill -0 $pid || return 1
        sleep 0.02
    done
}

@test "the engine: a signal to quern goes to the program, which may handle it" {
    for signal in TERM HUP; do
        start_stat 'echo got it; exit 5'
        kill -$signal $pid
        status=0
        wait $pid || status=$?
        # The first run has ended, and no other one begins.
        same "$status: $(head -n 2 said | tr '\n' ' ')$(grep -c 'the program' said)" \
            "5: the program got it 1"
    done
}

@test "the engine: what a terminal sends to both ends the series alone" {
    for signal in INT QUIT; do
        start_stat :
        kill -$signal $pid
        : > go
        status=0
        wait $pid || status=$?
        same "$status $(grep -c 'the program' said) $(grep -c '^Ir' said)" "0 1 1"
        rm go
    done
}

@test "an ignored signal ends no series" {
    make_prog
    { spool_of 1000 3 2; printf '%s\n' "wait $FOLDER/go" 'end exit 0'; } > script
    : > said
    (
        trap '' TERM HUP
        exec "$QUERN" stat -n 2 --cache-sim=no ./prog
    ) > said 2> stderr &
    pid=$!
    until grep -q 'the program' said; do
        kill -0 $pid || return 1
        sleep 0.02
    done
    kill -TERM $pid
    kill -HUP $pid
    : > go
    wait $pid
    same "$(grep -c 'the program' said)" 2
}
