#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The program itself: commands by name, traditional names, help and version.

load run

@test "without arguments: how to begin, status 2" {
    quern
    [ "$status" = 2 ]
    same "$output" ""
    same "$messages" 'usage: quern COMMAND [ARGUMENTS...]

    quern run ./PROGRAM ARGS    profile a program; the last lines name the file
    quern annotate FILE         its functions and source lines, most expensive first
    quern report --open FILE    the same in a browser

`quern help` lists all commands, `quern COMMAND --help` the options of one.'
}

@test "help goes to standard output, status 0" {
    for word in help --help -h; do
        quern $word
        [ "$status" = 0 ]
        [[ "$output" == "usage: quern COMMAND [ARGUMENTS...]"* ]]
        [[ "$output" == *"quern run [OPTIONS] [--] PROGRAM [ARGS...]"* ]]
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

@test "the command that was meant, and a program without one" {
    for word in anotate Annotate annot; do
        quern $word x
        [ "$status" = 2 ]
        same "$messages" "quern: $word: unknown command; is annotate meant? \`quern help\` lists them"
    done
    quern help covnert
    same "$messages" 'quern: covnert: unknown command; is convert meant? `quern help` lists them'
    quern hlep
    same "$messages" 'quern: hlep: unknown command; is help meant? `quern help` lists them'
    quern ./stderr # a file that is no program
    same "$messages" 'quern: ./stderr: unknown command; `quern help` lists them'
    quern /bin/true
    [ "$status" = 2 ]
    same "$messages" 'quern: /bin/true: a program, not a command; `quern run /bin/true` profiles it'
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
    for option in --I1= "--I1=SIZE,ASSOC,LINE, --D1=SIZE,ASSOC,LINE, --LL=" --cache-sim= \
        --branch-sim= --rep-count= "-o FILE, --cachegrind-out-file=" --log-file= --demangle= -q -v \
        --trace-children= --trace-children-skip= --serialize-threads= --aslr= --at-random= --vdso= \
        --spool-dir= --help-debug "-h, --help"; do
        [[ "$output" == *"  $option"* ]] || { echo "# $option is missing"; false; }
    done
    # First those that people use.
    same "$(sed -n '/^Most used:$/,/^$/s/^  -.*, --\|^  --\|^  -/--/p' <<< "$output" |
        sed 's/[ =].*//' | tr '\n' ' ')" "--cachegrind-out-file --calls --cache-sim --branch-sim \
--LL --machine --trace-children --children --toggle-collect --reproducible --log-file --progress \
--progress --quiet "
    same "$(sed -n 5p <<< "$output")" ""
    same "$(sed -n 6p <<< "$output")" "Most used:"
}

@test "the switches of the engine are in run --help-debug, and nowhere else" {
    quern run --help-debug
    [ "$status" = 0 ]
    switches="--no-chain --no-ibl --no-fast-tags --no-way-search --no-narrow-tags --no-flag-probe
        --native --cache-size= --stress= --stress-flush= --dump-counts= --dump-code= --replay="
    for option in $switches; do
        [[ "$output" == *"  $option"* ]] || { echo "# $option is missing"; false; }
    done
    [[ "$output" != *--cache-sim* ]]
    same "$(grep -c '^  -' <<< "$output")" "$("$QUERN" --man-options run |
        awk -F'\t' '/^0/ { on = /engine/ } on && !/^0/' | wc -l)"
    quern run --help
    for option in $switches; do
        [[ "$output" != *"  $option"* ]] || { echo "# $option is there"; false; }
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
