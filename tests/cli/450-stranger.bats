#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Files that a profile names, where the profile may come from anybody: what is opened, and what of it
# is shown. A command that waits for a pipe is ended after a minute, and fails its test.

load profile

setup() {
    FOLDER=$(cd "$BATS_TEST_TMPDIR" && pwd -P)
    cd "$FOLDER"
    QUERN="timeout 60 $BUILD/bin/quern"
}

# A profile with an instruction of a function in each of the files named, which are objects, too.
profile_of() {
    printf '%s\n' 'version: 1' 'positions: instr line' 'events: Ir'
    for name; do printf '%s\n' "ob=$name" "fl=$name" "fn=f($name)" '0x401000 1 5'; done
}

# Standard output and standard error of a command that must end by itself, with status 0.
run_quern() {
    status=0
    $QUERN "$@" > stdout 2> stderr || status=$?
    [ "$status" = 0 ] || { echo "$1: status $status: $(< stderr)"; return 1; }
    output=$(< stdout)
    messages=$(< stderr)
}

@test "pipes, devices, folders and standard input are no sources and no objects" {
    mkfifo pipe
    mkdir folder
    profile_of pipe /dev/zero folder folder/ > p
    run_quern report -o out.html p < /dev/zero
    same "$messages" "quern: out.html: 0 sources are in it, 4 not found
quern: pipe: not found
quern: /dev/zero: not found
quern: folder: not found
quern: folder/: not found
quern: sources were sought under their names only; -I DIR names a folder to look below
quern: 4 of 4 object files are not there: their instructions are left out"
    run_quern annotate --asm --threshold=100 p < /dev/zero
    same "$(grep -c '^(the object file is not there: addresses only)$' stdout)" 4
    same "$(sed -n '/could not be found/,$p' stdout | grep '^ ')" "  /dev/zero
  folder
  folder/
  pipe"
    profile_of pipe > one
    profile_of > none
    run_quern diff --by=line none one
    [[ "$output" == *"of which the two versions were not found:"*"  pipe" ]]
}

# Whoever opens a pipe for reading lets the one who writes to it go on.
@test "a pipe that is named is not opened" {
    mkfifo pipe
    profile_of pipe > p
    (echo text > pipe) &
    run_quern report -o out.html p
    run_quern annotate --asm p
    run_quern diff --by=line p p
    run kill -0 $!
    [ "$status" = 0 ]
    same "$(< pipe)" text
}

@test "an object whose name looks like an option" {
    printf '%s\n' '.text' '.globl _start' '_start: nop' 'ret' > a.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o ./-x a.S
    profile_of -x > p
    run_quern annotate --asm --auto=no p
    [[ "$output" == *"    401000:  nop  [line 1]"* ]]
    run_quern report -o out.html p
    same "$messages" "quern: out.html: 1 source is in it, 0 not found"
}

# One byte more than 256 MiB, none of which is on the disk.
@test "a source of more than 256 MiB is not read" {
    truncate -s 268435457 large.c
    profile_of large.c > p
    touch -r large.c -d '+1 second' p
    for command in 'report -o out.html' annotate; do
        run_quern $command p
        same "$(head -1 stderr)" \
            "quern: large.c: has 268435457 bytes: sources of more than 268435456 are not read"
    done
    ! grep -q 'source is in it' stderr
}
