#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `quern run` under low limits: what can work works, what cannot says which limit it is.

load run

# `quern ARGUMENTS...` under `ulimit LIMIT`, with the standard streams alone.
limited() { # LIMIT ARGUMENTS...
    status=0
    bash -c 'for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ $fd -lt 3 ] || eval "exec $fd>&-"; done
        ulimit '"$1"'; shift; exec "$0" "$@"' "$QUERN" "$@" > stdout 2> stderr || status=$?
    messages=$(sed -E 's/==[0-9]+==/==PID==/; s/spool\.[0-9]+/spool.PID/g' stderr)
}

@test "few descriptors: a soft limit is no obstacle, the program's numbers are as ever" {
    unset QUERN_ENGINE
    printf '%s\n' '#include <fcntl.h>' '#include <stdio.h>' \
        'int main(void) { printf("%d\n", open("/dev/null", 0)); }' > few.c
    gcc -o few few.c
    for limit in '-S -n 8' '-n 16'; do
        rm -f out
        limited "$limit" run -q -o out ./few
        [ "$status" = 0 ]
        same "$(< stdout)" 3
        same "$messages" ""
        [ -s out ]
    done
}

@test "few descriptors, by a hard limit: the program runs, its counts are kept" {
    unset QUERN_ENGINE
    # Who may raise hard limits (CAP_SYS_RESOURCE, bit 24) raises this one.
    (((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status) >> 24 & 1) == 0)) ||
        skip "this user may raise hard limits"
    for n in 7 8 9 10 11 12; do # from 10 on is where the spool's descriptor goes, if there is space
        limited "-n $n" run -q -o out /bin/true
        [ "$status" = 0 ]
        same "$messages" "==PID== the profile is not written: the program's own limit on open files \
(ulimit -n) is too low for that; the counts are in $PWD/quern.spool.PID: use \`quern recover\` on it"
        "$QUERN" recover -q -o out
        [ -s out ]
        rm out
    done
}

@test "too few descriptors for the engine: the limit is named" {
    unset QUERN_ENGINE
    (((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status) >> 24 & 1) == 0)) ||
        skip "this user may raise hard limits"
    limited '-n 6' run -q -o out /bin/true
    [ "$status" = 125 ]
    same "$messages" "==PID== no descriptor is free for the spool: the limit on open files \
(ulimit -n) is too low; \`ulimit -n 64\` is enough"
}

@test "too few descriptors to read the program: the limit is named, not the program" {
    printf '#!/bin/sh\nexit 3\n' > script
    chmod +x script
    # 3: for nothing but the standard streams; 4: for the program, but not for its interpreter too.
    for n in 3 4; do
        for prog in /bin/true ./script; do
            limited "-n $n" run -q -o out $prog
            [ "$status" = 2 ]
            same "$messages" "quern: no descriptor is free for the program: the limit on open files \
(ulimit -n) is too low; \`ulimit -n 64\` is enough"
            same "$(< stdout)" ""
            same "$(ls | grep -E 'spool|out')" stdout
        done
    done
}

@test "too few descriptors for the spool: the limit is named" {
    limited '-n 5' run -q -o out true
    [ "$status" = 2 ]
    same "$messages" "quern: no descriptor is free for the spool: the limit on open files (ulimit -n) \
is too low; \`ulimit -n 64\` is enough"
    [ -z "$(ls | grep spool)" ]
}

@test "small files: a soft limit is no obstacle, a hard one is named" {
    limited '-S -f 100' run -q -o out true
    [ "$status" = 0 ]
    same "$messages" ""
    [ -s out ]
    limited '-f 100' run -q -o new true
    [ "$status" = 2 ]
    same "$messages" "quern: $PWD/quern.spool.PID: the hard limit on the size of files (ulimit -f) is \
100 KiB, the spool has 1310720 KiB (sparse); only root can raise it"
    [ -z "$(ls | grep spool)" ]
}
