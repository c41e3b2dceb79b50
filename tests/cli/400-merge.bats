#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern merge and cg_merge.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf 'cmd: one\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n2 2\nsummary: 3 1\n' > a
    printf 'cmd: two\nevents: Ir Dr\nfl=a\nfn=f\n2 5 5\nfl=b\nfn=g\n7 7\nsummary: 12 5\n' > b
}

@test "line by line, header of the first" {
    quern merge a b
    [ "$status" = 0 ]
    same "$messages" ""
    same "$output" "cmd: one
events: Ir Dr
fl=a
fn=f
1 1 1
2 7 5
fl=b
fn=g
7 7 0
summary: 15 6"
}

@test "call graphs: calls and inclusive costs add up" {
    quern merge -o out "$GOLDEN/calls.callgrind" "$GOLDEN/name-compression.callgrind"
    [ "$status" = 0 ]
    same "$(cat out)" "# callgrind format
version: 1
creator: quern
positions: line
events: Instructions
summary: 1640

fl=(1) file1.c
fn=(1) func1
51 200
cfi=(2) file2.c
cfn=(2) func2
calls=4 -31
* 600

fn=(3) main
-35 40
cfn=(1)
calls=2 +34
* 800
cfi=(2)
cfn=(2)
calls=6 +4
* 800

fl=(2)
fn=(2)
+4 1400

totals: 1640"
}

@test "the output may be one of the inputs" {
    quern merge -o a a b
    [ "$status" = 0 ]
    [[ "$(cat a)" == *"summary: 15 6" ]]
    [ "$(ls)" = "a
b" ]
}

@test "other events: both lists and both files are named, nothing is written" {
    printf 'events: Ir Dw\nfl=a\nfn=f\n1 1 1\nsummary: 1 1\n' > c
    quern merge --threads=1 -o out a c
    [ "$status" = 2 ]
    same "$messages" "quern: c: its events (Ir Dw) are not those (Ir Dr) of a; only like can be added"
    [ ! -e out ]
}

@test "a file that is missing: status 2, nothing is written" {
    quern merge -o out a nothere b
    [ "$status" = 2 ]
    same "$messages" "quern: nothere: cannot be opened: No such file or directory"
    [ ! -e out ]
}

@test "an empty file, as Callgrind writes for idle threads, adds nothing" {
    : > empty
    quern merge empty a
    [ "$status" = 0 ]
    same "$messages" "quern: empty: the file is empty"
    [[ "$output" == "cmd: one"*"summary: 3 1" ]]
}

@test "with one thread or four: the same bytes" {
    for i in $(seq 20); do cp b b$i; done
    quern merge --threads=1 -o one a b*
    quern merge --threads=4 -o four a b*
    cmp one four
    [[ "$(tail -1 one)" == "summary: 255 106" ]]
}

@test "--to=callgrind" {
    quern merge --to=callgrind a b
    [[ "$output" == "# callgrind format
version: 1
creator: quern
cmd: one
"* ]]
}

@test "cg_merge" {
    as cg_merge -o out a b
    [ "$status" = 0 ]
    [[ "$(cat out)" == *"summary: 15 6" ]]
}

@test "an unwritable folder" {
    quern merge -o nofolder/out a b
    [ "$status" = 2 ]
    same "$messages" "quern: nofolder/out: cannot be written: No such file or directory"
}
