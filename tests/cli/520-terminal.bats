#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What is different at a terminal: colours and the line of progress. The terminal is a
# pseudo-terminal that Python makes; an escape character is shown as ^.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    unset NO_COLOR
    export TERM=xterm PAGER=
    TERMINAL=$BATS_TEST_DIRNAME/terminal.py
    : > late
    printf '%s\n' 'cmd: x' 'events: Ir' 'fl=a.c' 'fn=f' '1 100' 'fn=g' '2 9' 'fn=h' '3 11' \
        'summary: 120' > old
    printf '%s\n' 'cmd: x' 'events: Ir' 'fl=a.c' 'fn=f' '1 90' 'fn=g' '2 10' 'fn=h' '3 11' \
        'summary: 111' > new
}

# Standard output at the terminal.
shown() {
    status=0
    output=$(python3 "$TERMINAL" - err "$BUILD/bin/quern" "$@") || status=$?
}

@test "diff: heads bold, what grew red, what shrank green" {
    shown diff --show-percs=no old new
    [ "$status" = 0 ]
    same "$(sed 's/ $/ |/' <<< "$output" | tail -n +7)" \
        "--------------------------------------------------------------------------------
^[1mIr  ^[0m
--------------------------------------------------------------------------------
120  OLD TOTALS
111  NEW TOTALS
 ^[32m-9^[0m  DIFFERENCE

--------------------------------------------------------------------------------
^[1mIr  ^[0m file:function (new - old)
--------------------------------------------------------------------------------
^[32m-10^[0m  a.c:f
  ^[31m1^[0m  a.c:g"
}

@test "annotate: what is a tenth of the total or more is yellow" {
    shown annotate --auto=no --show-percs=no old
    [ "$status" = 0 ]
    # Of 120: 100 and 11 would be, 12 is the border, 9 and 11 are below it.
    same "$(tail -n 3 <<< "$output")" "^[33m100^[0m  a.c:f
 11  a.c:h
  9  a.c:g"
    sed -i 's/^3 11/3 13/; s/^1 100/1 108/; s/120/130/' old # 13 of 130: just a tenth
    shown annotate --auto=no --show-percs=no old
    same "$(tail -n 2 <<< "$output")" " ^[33m13^[0m  a.c:h
  9  a.c:g"
}

@test "stat: differences, events that vary" {
    printf '%s\n' '.globl _start' '_start: mov $60, %eax' 'xor %edi, %edi' 'syscall' > three.S
    gcc -nostdlib -static -o three three.S
    printf 'events: Ir\nfl=x\nfn=f\n1 2\n' > base # it is 3
    shown stat --cache-sim=no --baseline=base ./three
    [ "$status" = 0 ]
    same "$output" "^[1m      baseline  now  change^[0m
^[1mIr  ^[0m         2    3  ^[31m    +1   +50.00%^[0m"
}

@test "no colour with NO_COLOR, on a dumb terminal, or elsewhere" {
    for setting in NO_COLOR=1 TERM=dumb TERM=; do
        output=$(env "$setting" python3 "$TERMINAL" - err "$BUILD/bin/quern" diff old new)
        [[ "$output" == *NEW\ TOTALS* && "$output" != *^* ]] || { echo "# $setting"; return 1; }
    done
    NO_COLOR= shown diff old new # set and empty is not set
    [[ "$output" == *"^["* ]]
    quern diff old new
    [[ "$output" == *NEW\ TOTALS* && "$output" != *$'\033'* ]]
}

# Standard error at the terminal while a profile is read: what is in `late` comes $1 seconds later.
slowly() {
    local seconds=$1
    shift
    mkfifo slow
    { exec 3> slow; cat "$source" >&3; sleep "$seconds"; cat late >&3; } 3>&- &
    status=0
    messages=$(python3 "$TERMINAL" out - "$@") || status=$?
    wait
    rm slow
}

@test "progress: from one second on, and gone at the end" {
    source=old
    slowly 1.7 "$BUILD/bin/quern" annotate slow
    [ "$status" = 0 ]
    [[ "$(< out)" == *"PROGRAM TOTALS"* ]]
    # Drawn after a second and each 0.2 s, each time over the last; then erased. How often, which
    # second it is, and whether what follows the reading is seen too, the load of the machine
    # decides.
    drawn='^(<quern: reading slow \([1-9][0-9]* s\)\^\[K)+<\^\[K'
    drawn+='((<quern: preparing slow \([1-9][0-9]* s\)\^\[K)+<\^\[K)?$'
    [[ "$messages" =~ $drawn ]] || { echo "# $messages"; false; }
}

@test "progress: a control character in a name does not move the cursor" {
    mkfifo $'s\tl\now'
    { exec 3> s*; cat old >&3; sleep 1.7; } 3>&- &
    messages=$(python3 "$TERMINAL" out - "$BUILD/bin/quern" annotate $'s\tl\now')
    wait
    [[ "$messages" == '<quern: reading s\tl\now ('* ]] || { echo "# $messages"; false; }
}

@test "progress: nothing when it is quick" {
    source=old
    # Quick is what took less than a second; a busy machine may need a few attempts, or have no such moment.
    for attempt in {1..20}; do
        begin=${EPOCHREALTIME/./}
        slowly 0.1 "$BUILD/bin/quern" annotate slow
        ((${EPOCHREALTIME/./} - begin >= 900000)) || break
    done
    ((attempt < 20)) || skip 'no attempt of twenty took less than 0.9 s'
    same "$messages" ""
}

@test "progress: nothing without a terminal, or with NO_COLOR" {
    source=old
    slowly 1.4 env NO_COLOR=1 "$BUILD/bin/quern" annotate slow
    same "$messages" ""
    mkfifo slow
    { exec 3> slow; cat old >&3; sleep 1.4; } 3>&- &
    quern annotate slow
    wait
    [ "$status" = 0 ]
    same "$messages" ""
}

@test "progress: a message has the line for itself" {
    source=old
    echo junk > late
    slowly 1.7 "$BUILD/bin/quern" merge -o sum slow
    [ "$status" = 0 ]
    drawn='^(<quern: merging 1 profile \([1-9][0-9]* s\)\^\[K)+<\^\[K'
    drawn+='quern: slow:11: not a line of the format; ignored'
    drawn+='((<quern: merging 1 profile \([1-9][0-9]* s\)\^\[K)+<\^\[K)?$'
    [[ "$messages" =~ $drawn ]] || { echo "# $messages"; false; }
}

@test "progress: also of what is written, unless to the terminal" {
    seq -f 'fn=a_function_with_a_long_name_%g' 3000 | sed 's/$/\n1 1/; 1i events: Ir\nfl=a.c' > many
    for command in "report -o -" "convert --to=json" "convert --to=callgrind -o -"; do
        mkfifo full
        { sleep 1.7; cat > got; } < full & # more than a pipe holds
        messages=$(python3 "$TERMINAL" full - "$BUILD/bin/quern" $command many)
        wait
        rm full
        drawn='^(<quern: [a-z]+ing [^(]*( \([1-9][0-9]* s\)|%)\^\[K)+<\^\[K'
        [[ "$messages" =~ $drawn && "$messages" == *"<quern: writing standard output ("* ]] ||
            { echo "# $command: $messages"; false; }
    done
    output=$(python3 "$TERMINAL" - - "$BUILD/bin/quern" convert --to=json many)
    [[ "$output" == '{'* && "$output" != *quern:* ]]
}

@test "progress: a long name is cut at the width of the terminal" {
    long=$(printf 'n%.0s' {1..200})
    source=old
    ln -s slow "$long"
    slowly 1.4 "$BUILD/bin/quern" annotate "$long"
    text="quern: reading $long"
    # 59 of 60 columns.
    [[ "$messages" == "<${text:0:59}^[K"* && "$messages" != *"${text:0:60}"* ]]
}

# As SGR, which groff writes where the distribution has not turned that off: what grew is 31, what
# shrank 32, a tenth of the total 33, a head bold.
@test "the picture of a terminal in quern(1) has these colours" {
    groff --version > late 2>&1 || skip "there is no groff"
    GROFF_SGR=1 groff -man -Tutf8 "$ROOT/docs/man/quern.1" | sed 's/\x1b/^/g' > page
    shows() {
        grep -F -e "$1" page || { cat page; false; }
    }
    shows '^[31m+1,906    +0.03%  ^[0mrepeats'
    shows '^[32m-9  ^[0mDIFFERENCE'
    shows '^[33m100  ^[0ma.c:f'
    shows '^[1mbaseline        now  change^[0m'
    shows 'quern: reading big.out: 45 %'
}
