#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The front-end with Valgrind's command line: which run it asks for, by the flags that the engine
# finds in the spool (share/spool.h: 0x1 caches, 0x2 branches, 0x4 --rep-count=cachegrind, 0x20
# children, 0x40 -q, 0x10000 calls, 0x20000000000 not counted at the start); what is refused.

load run

# An engine that says which flags it was given, and which program.
make_engine() {
    printf '%s\n' '#!/bin/sh' \
        'echo $(od -An -tx8 -j32 -N8 "/proc/self/fd/$1" | sed "s/^ *0*//") "$2" "$3"' > engine
    chmod +x engine
    export QUERN_ENGINE=$FOLDER/engine
}

# In an environment without options of its own. $messages has none of the run.
valgrind() {
    status=0
    HOME=$FOLDER/home "$BUILD/bin/quern-valgrind" "$@" > stdout 2> stderr || status=$?
    output=$(< stdout)
    messages=$(sed '/^==/d' stderr)
}

asks() { # FLAGS OPTIONS...
    local flags=$1
    shift
    valgrind "$@" true argument
    # --replay=auto, the default, is bits 21 and 28; Callgrind's summary, with calls, is bit 62
    same "$output" "$(printf %x $((0x$flags | 1 << 21 | 1 << 28 | (0x$flags & 0x10000) << 46))) true argument"
}

refused() { # MESSAGE OPTIONS...
    local message=$1
    shift
    valgrind "$@" true
    same "$messages" "quern: $message"
    [ "$status" = 2 ]
    same "$output" ""
}

@test "the version has Valgrind's shape" {
    valgrind --version
    same "$output" valgrind-3.24.0
    [ "$status" = 0 ]
    valgrind --tool=callgrind --version
    same "$output" valgrind-3.24.0
}

@test "the help, by each of its names" {
    valgrind --help
    [[ "$output" == "usage: quern-valgrind --tool=cachegrind|callgrind [OPTIONS] "* ]]
    same "$(awk 'length > 100' stdout)" ""
    output=$("$QUERN" valgrind -h)
    [[ "$output" == "usage: quern valgrind --tool="* ]]
    ln -s "$QUERN" valgrind
    output=$(./valgrind --help)
    [[ "$output" == "usage: valgrind --tool="* ]]
}

@test "the tools and their defaults" {
    make_engine
    asks 4 --tool=cachegrind
    asks 10004 --tool=callgrind
    asks 5 --tool=cachegrind --cache-sim=yes
    asks 10007 --tool=callgrind --cache-sim=yes --branch-sim=yes
    asks 10004 --tool=cachegrind --tool=callgrind
    asks 20000010004 --tool=callgrind --instr-atstart=no
    asks 20000000004 --tool=cachegrind --instr-at-start=no
    asks 10000010064 --tool=callgrind -q --trace-children=yes --client-requests=no
}

@test "a cache that is described is simulated, unless that is denied" {
    make_engine
    for cache in I1 D1 LL L2; do
        asks 5 --tool=cachegrind --$cache=32768,8,64
        asks 10005 --tool=callgrind --$cache=32768,8,64
    done
    asks 4 --tool=cachegrind --cache-sim=no --I1=32768,8,64
}

@test "what changes nothing is taken" {
    make_engine
    asks 10004 --tool=callgrind --vgdb=no --vgdb=yes --fair-sched=no --fair-sched=yes \
        --fair-sched=try --read-inline-info=yes --error-exitcode=9 --num-callers=40 \
        --smc-check=all --sim-hints=lax-ioctls --xml=no --vgdb-error=5 --track-fds=no -s \
        --trace-children-skip='*esbuild' --demangle=yes --command-line-only=no --max-threads=1000
    same "$messages" ""
}

@test "what cannot be done is refused" {
    tools="must be cachegrind or callgrind: the two tools that Quern has"
    refused "--tool= is missing, and Memcheck, Valgrind's default, is not part of \
Quern; use --tool=cachegrind or --tool=callgrind (\`quern-valgrind --help\`)"
    refused "--tool=memcheck: $tools" --tool=memcheck
    valgrind --tool=callgrind
    same "$messages" "quern: no program given; usage: quern-valgrind --tool=cachegrind|callgrind \
[OPTIONS] [--] PROGRAM [ARGS...]"
    [ "$status" = 2 ]
    refused "--xml=yes: must be no: these tools have no output in XML" --tool=callgrind --xml=yes
    refused "--vgdb-error=0: there is no server for a debugger to wait for" --tool=callgrind \
        --vgdb-error=0
    refused "--vgdb-stop-at=exit: must be none: there is no server for a debugger to wait for" \
        --tool=callgrind --vgdb-stop-at=exit
    refused "--track-fds=yes: must be no: descriptors are not tracked" --tool=cachegrind \
        --track-fds=yes
    refused "--fair-sched=maybe: must be no, yes or try: threads run in parallel, none waits for a \
lock" --tool=callgrind --fair-sched=maybe
    refused "--vgdb: needs a value: --vgdb=..." --tool=callgrind --vgdb
    refused "-s: takes no value" --tool=callgrind -s=1
    refused '--leak-check=full: unknown option; `quern run --help` lists them' --tool=callgrind \
        --leak-check=full
    for option in --log-socket=127.0.0.1:1500 --xml-file=x --main-stacksize=100000 \
        --extra-debuginfo-path=/ --trace-children-skip-by-arg=x --require-text-symbol=:a:b -d; do
        valgrind --tool=callgrind $option true
        [ "$status" = 2 ]
        [[ "$messages" == "quern: $option: unknown option"* ]]
    done
}

@test "options of the environment and of files, and which one counts" {
    make_engine
    mkdir home
    echo '--tool=callgrind
        --branch-sim=yes' > home/.valgrindrc
    asks 10006
    VALGRIND_OPTS='--cache-sim=yes   --trace-children=yes' asks 10027
    VALGRIND_OPTS=--branch-sim=no asks 10004
    echo '--branch-sim=yes --callgrind:cache-sim=yes --cachegrind:trace-children=yes' > .valgrindrc
    VALGRIND_OPTS=--branch-sim=no asks 10007
    asks 26 --tool=cachegrind
    asks 10005 --branch-sim=no
    asks 10004 --command-line-only=yes --tool=callgrind
}

@test "a file that others may write is not read" {
    make_engine
    echo '--tool=callgrind' > .valgrindrc
    for mode in 622 620 602; do
        chmod "$mode" .valgrindrc
        asks 4 --tool=cachegrind --branch-sim=no
        same "$messages" "quern: ./.valgrindrc: not read: it must be a regular file of yours, \
writable by you alone"
    done
    mv .valgrindrc other
    chmod 600 other
    ln -s other .valgrindrc
    asks 4 --tool=cachegrind
    [ -n "$messages" ]
    # The home directory's is read once, without a word.
    mkdir home
    rm .valgrindrc
    mv other home/.valgrindrc
    chmod 666 home/.valgrindrc
    cd home
    asks 10004
    same "$messages" ""
}

@test "the profile's name is the tool's" {
    valgrind --tool=cachegrind true
    [ "$(ls | grep -c '^cachegrind\.out\.[0-9]*$')" = 1 ]
    valgrind --tool=callgrind true
    [ "$(ls | grep -c '^callgrind\.out\.[0-9]*$')" = 1 ]
    valgrind --tool=callgrind --callgrind-out-file=named.%p true
    [ "$(ls | grep -c '^named\.[0-9]*$')" = 1 ]
}

@test "a log of its own begins with the command and the caller; a descriptor" {
    HOME=$FOLDER "$BUILD/bin/quern-valgrind" --tool=callgrind --log-file=log true
    same "$(sed -n '2,3s/==[0-9]*==/==PID==/p' log)" "==PID== Command: true
==PID== Parent PID: $$"
    valgrind --tool=callgrind --log-fd=9 true 9> nine
    same "$messages" ""
    same "$(sed -n '2s/==[0-9]*==/==PID==/p' nine)" "==PID== Command: true"
    refused "--log-fd=7: Bad file descriptor" --tool=callgrind --log-fd=7
    refused "--log-fd=x: must be the number of a descriptor" --tool=callgrind --log-fd=x
    refused "--log-fd=1: not with --log-file=log; leave one of them out" --tool=callgrind \
        --log-fd=1 --log-file=log
}

@test "a module that cannot be skipped is named" {
    make_engine
    asks 10004 --tool=callgrind --obj-skip=/lib/libpython3.so
    same "$messages" "quern: --obj-skip=/lib/libpython3.so: the functions of this module are still \
shown"
    refused "--cycle-estimation=yes: must be no: there is no event for it" --tool=callgrind \
        --cycle-estimation=yes
}
