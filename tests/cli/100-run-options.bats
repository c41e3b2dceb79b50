#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Options of `quern run`: what is wrong and what is allowed, word by word; names; caches.

load run

# wrong MESSAGE ARGUMENTS...: status 2, exactly this message, nothing on standard output, nothing
# left behind.
wrong() {
    local message=$1
    shift
    quern run "$@"
    same "$messages" "quern: $message"
    [ "$status" = 2 ]
    same "$output" ""
    [ -z "$(compgen -G '*spool*')$(compgen -G '*cachegrind?out*')" ]
}

@test "no program" {
    wrong "no program given; usage: quern run [OPTIONS] [--] PROGRAM [ARGS...]"
    wrong "no program given; usage: quern run [OPTIONS] [--] PROGRAM [ARGS...]" -q --
}

@test "unknown options" {
    wrong '--foo: unknown option; `quern run --help` lists them' --foo true
    wrong "--cache-simulation=yes: unknown option; is --cache-sim meant? \`quern run --help\` \
lists them" \
        --cache-simulation=yes true
    wrong '-x: unknown option; `quern run --help` lists them' -x true
}

@test "yes or no" {
    for option in cache-sim branch-sim trace-children serialize-threads aslr vdso demangle; do
        wrong "--$option=maybe: must be yes or no" --$option=maybe true
        wrong "--$option=: must be yes or no" --$option= true
        wrong "--$option: needs a value: --$option=..." --$option true
    done
}

@test "one of two words" {
    wrong "--rep-count=often: must be hardware or cachegrind" --rep-count=often true
    wrong "--at-random=1: must be fixed or kernel" --at-random=1 true
}

@test "options without a value" {
    for option in -q -v --no-chain --no-ibl --no-fast-tags --no-way-search --no-narrow-tags \
        --no-flag-probe --native --help; do
        wrong "$option: takes no value" $option=yes true
    done
}

@test "texts that are missing" {
    wrong "-o: needs a value" -o
    wrong "--cachegrind-out-file: the value is empty" --cachegrind-out-file= true
    wrong "--log-file: the value is empty" --log-file= true
}

@test "numbers in names" {
    wrong "--fn-groupN: write a number in place of N" --fn-groupN=main true
    wrong "--separate-callers65: the number must be at most 64" --separate-callers65=main true
    wrong "--separate-recs99999999999999999999: the number must be at most 9999" \
        --separate-recs99999999999999999999=main true
    wrong "--separate-callersN: the value is empty" --separate-callers2= true
    wrong '--fn-group=main: unknown option; is --fn-groupN meant? `quern run --help` lists them' \
        --fn-group=main true
    wrong "--fn-groupN: needs a value: --fn-groupN=..." --fn-group3 true
    wrong "--separate-recs=0: must be a whole number from 1 to 9999" --separate-recs=0 true
    many=$(printf -- '--fn-skip=f%d ' {1..65})
    wrong "--fn-skip: more than 64 rules for functions; use a pattern (* and ?)" $many true
}

@test "numbers" {
    wrong "--stress=-1: must be a whole number from 0 to 4294967295" --stress=-1 true
    wrong "--stress=1x: must be a whole number from 0 to 4294967295" --stress=1x true
    wrong "--stress-flush=4294967296: must be a whole number from 0 to 4294967295" \
        --stress-flush=4294967296 true
    for size in 1 1023 3000m 4g k ''; do
        wrong "--cache-size=$size: must be a number of bytes, or followed by k or m, from 1k to \
2048m" \
            --cache-size=$size true
    done
}

@test "cache geometries" {
    example="SIZE,ASSOCIATIVITY,LINESIZE is wanted, for example 32768,8,64"
    for cache in I1 D1 LL L2; do
        wrong "--$cache=: the size is missing; $example" --$cache= true
        wrong "--$cache=32768: the associativity is missing; $example" --$cache=32768 true
        wrong "--$cache=32768,8: the line size is missing; $example" --$cache=32768,8 true
        wrong "--$cache=32768,8,64,1: \",1\" follows the line size; $example" \
            --$cache=32768,8,64,1 true
        wrong "--$cache=32k,8,64: the size \"32k\" is not a number from 1 to 4294967295" \
            --$cache=32k,8,64 true
        wrong "--$cache=32768,-8,64: the associativity \"-8\" is not a number from 1 to \
4294967295" \
            --$cache=32768,-8,64 true
    done
}

@test "cache geometries that cannot be simulated name the nearest that can" {
    quern run --I1=49152,8,64 true
    [ "$status" = 2 ]
    # 96 sets; 64 by 12 ways are the same size.
    [[ "$messages" == "quern: --I1=49152,8,64: "*"; the nearest that can be simulated is "* ]]
    nearest=${messages##* }
    echo 'end exit 0' > script
    quern run --I1="$nearest" true
    [ "$status" = 0 ]
    for geometry in 32768,8,8 32768,8,48 0,8,64 64,8,64 32768,0,64; do
        quern run --D1=$geometry true
        [ "$status" = 2 ]
        [[ "$messages" == "quern: --D1=$geometry: "* ]]
    done
}

@test "names" {
    wrong "--cachegrind-out-file=a%x: %x is not one of %p, %q{VARIABLE}, %%" -o a%x true
    wrong "--cachegrind-out-file=a%: % at the end; write %% for a percent sign" \
        --cachegrind-out-file=a% true
    wrong "--log-file=%q: %q is not followed by {VARIABLE}" --log-file=%q true
    wrong "--log-file=%q{}: %q is not followed by {VARIABLE}" '--log-file=%q{}' true
    wrong "--log-file=%q{HOME: %q is not followed by {VARIABLE}" '--log-file=%q{HOME' true
    wrong "--dump-counts=%q{NOT_SET_AT_ALL}: the environment variable NOT_SET_AT_ALL of \
%q{NOT_SET_AT_ALL} is not set" \
        '--dump-counts=%q{NOT_SET_AT_ALL}' true
}

@test "the profile's name is expanded" {
    PART='a b' quern run -q '--cachegrind-out-file=x%%%q{PART}.%p.y' true
    [ "$status" = 0 ]
    name=$(ls | grep '^x')
    [[ "$name" =~ ^'x%a b.'[0-9]+'.y'$ ]]
}

@test "a percent sign in the folder's name is only that" {
    mkdir '100%p%'
    cd '100%p%'
    quern run -q true
    [ "$status" = 0 ]
    [[ "$(ls | grep -v std)" =~ ^cachegrind\.out\.[0-9]+$ ]]
}

@test "-o FILE, -o=FILE and the long name are the same, the last one wins" {
    quern run -q -o one true
    quern run -q -o=two true
    quern run -q --cachegrind-out-file=no -o three true
    [ -s one ]
    [ -s two ]
    [ -s three ]
    [ ! -e no ]
}

@test "options end at the program and at --" {
    printf '#!/bin/sh\n' > ./-v
    chmod +x ./-v
    PATH=$PWD:$PATH quern run -q -o out -- -v --foo
    [ "$status" = 0 ]
    grep -qx 'cmd: -v --foo' out
    quern run -q -o out true --help -q
    grep -qx 'cmd: true --help -q' out
}

@test "caches: the options are taken, and said to be" {
    quern run --I1=32768,8,64 --D1=16384,4,32 --LL=1048576,16,64 -o out true
    same "$(sed -n 3p stderr | sed 's/^==[0-9]*== //')" \
        "Caches: I1 32,768 B, 8-way, 64 B lines (given); D1 16,384 B, 4-way, 32 B lines (given); \
LL 1,048,576 B, 16-way, 64 B lines (given)"
    same "$(head -3 out)" "desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         16384 B, 32 B, 4-way associative
desc: LL cache:         1048576 B, 64 B, 16-way associative"
    quern run --L2=2097152,16,64 -o out true
    grep -qx 'desc: LL cache:         2097152 B, 64 B, 16-way associative' out
}

@test "caches: those not given are this machine's, with their source" {
    quern run --LL=1048576,16,64 -o out true
    line=$(sed -n 3p stderr | sed 's/^==[0-9]*== //')
    cache="[0-9,]+ B, [0-9]+-way, [0-9]+ B lines"
    given='LL 1,048,576 B, 16-way, 64 B lines \(given\)'
    all="^Caches: I1 $cache; D1 $cache; $given; the others from (CPUID|a default)"
    [[ "$line" =~ $all ]]
}

@test "caches: nothing is said without the simulation, nor with -q" {
    quern run --cache-sim=no -o out true
    [[ "$messages" != *Caches* ]]
    quern run -q -o out true
    same "$messages" ""
}

@test "instructions only" {
    quern run --cache-sim=no --branch-sim=no -o out true
    [ "$status" = 0 ]
    grep -qx 'events: Ir' out
}

@test "--replay: not where calls must be known when they cost" {
    for option in --separate-threads=yes --separate-recs=2 --toggle-collect=f --collect-systime=nsec; do
        for replay in inline process; do
            quern run --calls=yes --replay=$replay $option -- true
            [ "$status" = 2 ]
            [[ "$messages" == "quern: --replay simulates caches later than the calls are made: not with "* ]]
        done
    done
    quern run -q --calls=yes --replay=inline --separate-recs=1 -o out -- true
    [ "$status" = 0 ]
}

@test "what is for Callgrind profiles asks for --calls=yes" {
    for option in --dump-line=no --dump-instr=yes --inline=yes --collect-jumps=yes --compress-strings=no \
        --compress-pos=no --separate-threads=yes --skip-plt=no --skip-direct-rec=yes --fn-skip=f \
        --toggle-collect=f --collect-atstart=no --collect-systime=msec --collect-bus=yes \
        --dump-before=f --dump-every-bb=100; do
        quern run $option -- true
        [ "$status" = 2 ]
        [[ "$messages" == "quern: --dump-line=no, "*" are for Callgrind profiles: add --calls=yes" ]]
        quern run -q --calls=yes $option -o out -- true
        [ "$status" = 0 ]
    done
}

@test "--data: what it is not for, and what is only for it" {
    refused() { # message option...
        local message=$1
        shift
        quern run "$@" -- true
        [ "$status" = 2 ]
        same "$messages" "quern: $message"
    }
    only="--data-out-file, --data-callers, --data-use, --data-alloc and --data-free are for --data=yes: add it"
    refused "$only" --data-callers=2
    refused "$only" --data-use=0
    refused "$only" --data-out-file=d
    refused "$only" --data-alloc=f:1
    refused "$only" --data-free=f
    refused "--data=yes: not with --cache-sim=no, which finds no misses; leave one of them out" \
        --data=yes --cache-sim=no
    refused "--data=yes counts from the start to the end: not with --toggle-collect and --collect-atstart=no; leave one of them out" \
        --data=yes --toggle-collect=f
    refused "--data-callers=0: must be a whole number from 1 to 8" --data=yes --data-callers=0
    refused "--data-use=-1: must be a whole number from 0 to 1000000" --data=yes --data-use=-1
    refused "--data-use=1000001: must be a whole number from 0 to 1000000" --data=yes --data-use=1000001
    refused "--data-callers=9: must be a whole number from 1 to 8" --data=yes --data-callers=9
    numbers=", where the arguments are numbers from 1 on"
    for value in f f: f:0 f:7 f:1:0 f:1:2:3 :1 f:x; do
        refused "--data-alloc=$value: must be FUNCTION:SIZE_ARGUMENT or FUNCTION:SIZE_ARGUMENT:COUNT_ARGUMENT (1 to 6)$numbers" \
            --data=yes --data-alloc=$value
    done
    for value in f: f:0 f:3 f:1:1 :1; do
        refused "--data-free=$value: must be FUNCTION or FUNCTION:ARGUMENT (1 or 2)$numbers" \
            --data=yes --data-free=$value
    done
}

@test "--curve: refused without caches; its value may be left out" {
    quern run --curve=yes --cache-sim=no -- true
    [ "$status" = 2 ]
    same "$messages" "quern: --curve=yes: not with --cache-sim=no, which simulates no reference; leave one of them out"
    quern run --curve=maybe -- true
    [ "$status" = 2 ]
    same "$messages" "quern: --curve=maybe: must be yes or no"
    quern run -q --curve -o out -- true
    [ "$status" = 0 ]
}

@test "--data: the spool has its options; the profile is a Callgrind profile" {
    quern run -q --data=yes --data-callers=5 --data-alloc='a_*:2:3' --data-free=b:2 --data-free=c -o out -- true
    [ "$status" = 0 ]
    grep -q '^# callgrind format' out
    ls data.out.* >/dev/null
    quern run -q --data=yes --data-out-file=d.%p.x -o out -- true
    [ "$status" = 0 ]
    ls d.[0-9]*.x >/dev/null
}
