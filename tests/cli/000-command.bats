#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The program itself: commands by name, traditional names, help and version.

load run

@test "without arguments: the commands, status 2" {
    quern
    [ "$status" = 2 ]
    same "$output" ""
    [[ "$messages" == "usage: quern COMMAND [ARGUMENTS...]"* ]]
    [[ "$messages" == *"quern run [OPTIONS] [--] PROGRAM [ARGS...]"* ]]
}

@test "help goes to standard output, status 0" {
    for word in help --help -h; do
        quern $word
        [ "$status" = 0 ]
        [[ "$output" == "usage: quern COMMAND [ARGUMENTS...]"* ]]
        same "$messages" ""
    done
}

@test "the internal command is not listed" {
    quern help
    [[ "$output" != *--finish* ]]
}

@test "--version" {
    quern --version
    [ "$status" = 0 ]
    [[ "$output" =~ ^quern\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    same "$messages" ""
}

@test "unknown command" {
    quern frobnicate x
    [ "$status" = 2 ]
    same "$messages" 'quern: frobnicate: unknown command; `quern help` lists them'
    quern help frobnicate
    [ "$status" = 2 ]
    same "$messages" 'quern: frobnicate: unknown command; `quern help` lists them'
}

@test "quern help COMMAND is quern COMMAND --help" {
    for command in run recover; do
        quern help $command
        help=$output
        [ "$status" = 0 ]
        quern $command --help
        [ "$status" = 0 ]
        same "$output" "$help"
        [[ "$help" == "usage: quern $command "* ]]
    done
}

@test "help to a full disk is an error" {
    for command in help "run --help" "recover --help" --version; do
        status=0
        "$QUERN" $command > /dev/full || status=$?
        [ "$status" = 2 ]
    done
}

@test "every option of run is in its help" {
    quern run --help
    for option in --I1= --D1= --LL= --cache-sim= --branch-sim= --rep-count= --cachegrind-out-file= \
        -o --log-file= --demangle= -q -v --trace-children= --trace-children-skip= \
        --serialize-threads= --aslr= --at-random= --vdso= --spool-dir= --no-chain --no-ibl \
        --no-fast-tags --no-way-search --no-narrow-tags --no-flag-probe --native --cache-size= \
        --stress= --stress-flush= --dump-counts= --dump-code= \
        "-h, --help"; do
        [[ "$output" == *"  $option"* ]] || { echo "# $option is missing"; false; }
    done
}

@test "the finisher is for the engine alone" {
    quern --finish
    [ "$status" = 2 ]
    same "$messages" "quern: --finish is for the engine alone"
    quern --finish x
    [ "$status" = 2 ]
    quern --finish 99
    [ "$status" = 2 ]
    same "$messages" "quern: the spool in descriptor 99: Bad file descriptor"
    status=0
    "$QUERN" --finish 7 7< "$QUERN" 2> stderr || status=$?
    [ "$status" = 2 ]
    same "$(< stderr)" "quern: the spool in descriptor 7: not a spool of quern"
}

@test "the traditional names are links that know their command" {
    for name in cg_annotate cg_merge cg_diff callgrind_annotate callgrind_control quern-valgrind; do
        [ "$(readlink "$BUILD/bin/$name")" = quern ]
        status=0
        output=$("$BUILD/bin/$name" --help) || status=$?
        [ "$status" = 0 ]
        [[ "$output" == "usage: $name "* ]]
    done
}

@test "a profile without events is input that cannot be read, for every command" {
    : > empty
    for command in annotate "annotate --by-part" "diff empty" "merge -o out" \
        "convert --to=cachegrind -o out" "convert --to=callgrind -o out" \
        "convert --to=json -o out" "convert --to=folded -o out" "report -o out"; do
        quern $command empty
        [ "$status" = 2 ] || { echo "# $command: $status"; false; }
        same "${messages##*$'\n'}" "quern: empty: the profile is empty: it has no events"
        same "$output" ""
        [ ! -e out ]
    done
    quern check -q empty # which says what is wrong: it was read
    [ "$status" = 1 ]
}
