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
    same "$messages" "quern: c: its events (Ir Dw) are not those (Ir Dr) of a; only like can be \
added or compared"
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
    same "$messages" "quern: empty:1: the file is empty: no 'events:' line says what is counted"
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

# A profile with this event: line.
defined() {
    printf '# callgrind format\nevent: %s\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n' "$1"
}

@test "formulas and long names: the same, or an error that names both" {
    defined 'X = Ir + 2 Dr : sum' > c1
    defined 'X = Ir + 3 Dr : sum' > c2
    defined 'X = Ir + 2 Dr : another' > c3
    defined 'Ir : instructions' > c4
    quern merge c1 c1
    [ "$status" = 0 ]
    [[ "$output" == *"
event: X = Ir + 2 Dr : sum
events: Ir Dr
"*"totals: 2 2" ]]
    quern merge -o out c1 c2
    [ "$status" = 2 ]
    same "$messages" "quern: c2: its 'event:' line of X ('X = Ir + 3 Dr : sum') is not that ('X = \
Ir + 2 Dr : sum') of c1; only like can be added or compared"
    quern merge -o out c1 c3
    [ "$status" = 2 ]
    same "$messages" "quern: c3: its 'event:' line of X ('X = Ir + 2 Dr : another') is not that \
('X = Ir + 2 Dr : sum') of c1; only like can be added or compared"
    quern merge -o out c1 c4
    [ "$status" = 2 ]
    same "$messages" "quern: c4: its 'event:' line of Ir ('Ir : instructions') is not that (none) \
of c1; only like can be added or compared"
    quern merge -o out c4 c1
    [ "$status" = 2 ]
    same "$messages" "quern: c1: its 'event:' line of Ir (none) is not that ('Ir : instructions') \
of c4; only like can be added or compared"
    quern annotate c1 c2
    [ "$status" = 2 ]
    [ ! -e out ]
}

@test "a formula for the name of an event that has counts" {
    printf '# callgrind format\nevent: Ir = 2 Dr\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n' > c
    quern merge c c
    [ "$status" = 0 ]
    [[ "$output" == *"totals: 2 2" ]]
}

@test "the same events in another order are other events" {
    printf 'events: Dr Ir\nfl=a\nfn=f\n1 1 1\nsummary: 1 1\n' > c
    quern merge --threads=1 a c
    [ "$status" = 2 ]
    same "$messages" "quern: c: its events (Dr Ir) are not those (Ir Dr) of a; only like can be \
added or compared"
}

@test "a formula that is not understood: a remark, and the text is kept" {
    defined 'X = (Ir' > c
    quern merge --threads=1 c c
    [ "$status" = 0 ]
    same "$messages" "quern: c: the formula of event X ('(Ir') is not understood
quern: c: the formula of event X ('(Ir') is not understood"
    [[ "$output" == *"
event: X = (Ir
"*"totals: 2 2" ]]
}

@test "a count that is not given ('.') adds nothing, and the sum is a number" {
    printf 'cmd: x\nevents: Ir Dr\nfl=a\nfn=f\n1 1 .\n2 . 3\n3 . .\nsummary: 1 3\n' > c
    printf 'cmd: x\nevents: Ir Dr\nfl=a\nfn=f\n1 . .\n2 1 .\n4 . 0\nsummary: 1 0\n' > d
    quern merge c d
    [ "$status" = 0 ]
    same "$output" "cmd: x
events: Ir Dr
fl=a
fn=f
1 1 0
2 1 3
3 0 0
4 0 0
summary: 2 3"
}

@test "negative counts and fractions" {
    printf 'cmd: x\nevents: T Ir\nfl=a\nfn=f\n1 1.5 -2\n2 .25 7\nsummary: 1.75 5\n' > c
    printf 'cmd: x\nevents: T Ir\nfl=a\nfn=f\n1 3 -1\n2 -.5 -9\nsummary: 2.5 -10\n' > d
    quern merge c d
    [ "$status" = 0 ]
    same "$output" "cmd: x
events: T Ir
fl=a
fn=f
1 4.5 -3
2 -0.25 -2
summary: 4.25 -5"
}

@test "a sum of more than 64 bits is an error, not a wrapped number" {
    most=18446744073709551615
    printf "cmd: x\nevents: Ir\nfl=a\nfn=f\n1 $most\nsummary: $most\n" > c
    printf 'cmd: x\nevents: Ir\nfl=a\nfn=f\n2 1\nsummary: 1\n' > d
    quern merge -o out c c
    [ "$status" = 2 ]
    same "$messages" "quern: out: not written: a sum of counts of Ir does not fit 64 bits, so \
readers would show nonsense"
    quern merge -o out c d
    [ "$status" = 2 ]
    [ ! -e out ]
}

@test "--parts=yes: side by side, each named after its file, through a tree of merges" {
    quern merge --parts=yes -o ab a b
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(cat ab)" "# callgrind format
version: 1
creator: quern
cmd: one
part: 1
desc: Profile: a
positions: line
events: Ir Dr
summary: 3 1

fl=(1) a
fn=(1) f
1 1 1
+1 2

totals: 3 1

part: 2
cmd: two
desc: Profile: b
positions: line
events: Ir Dr
summary: 12 5

fl=(1) a
fn=(1) f
2 5 5

fl=(2) b
fn=(2) g
+5 7

totals: 12 5"
    # What was named keeps its name.
    quern merge --parts=yes -o c b
    quern merge --parts=yes -o abc ab c
    same "$(grep Profile abc)" "desc: Profile: a
desc: Profile: b
desc: Profile: b"
    # Summed afterwards it is what the sum of the files is: 3 + 12 + 12, 1 + 5 + 5.
    quern merge --to=cachegrind abc
    [[ "$output" == *"summary: 27 11" ]]
}

@test "--parts=yes: calls, fractions and negative counts stay what they are" {
    printf 'events: T\nfl=a\nfn=f\n1 -2\nfn=g\n2 1\ncfn=f\ncalls=3 1\n2 7\n' > c
    printf 'events: T\nfl=a\nfn=f\n1 1.5\n' > d
    quern merge --parts=yes -o cdc c d c
    [ "$status" = 0 ]
    quern convert --to=json --lines=no cdc
    # -2 + 1.5 - 2, 1 + 1; 3 + 3 calls; 7 + 7
    [[ "$output" == *'"totals":[-0.5]'* ]]
    [[ "$output" == *'"name":"f","called":6,'*'"self":[-2.5]'* ]]
    [[ "$output" == *'"calls":6,"inclusive":[14]}'* ]]
}

@test "--parts=yes: other events, and a format without parts, are refused" {
    printf 'events: Ir Dw\nfl=a\nfn=f\n1 1 1\nsummary: 1 1\n' > c
    quern merge --parts=yes -o out a c
    [ "$status" = 2 ]
    same "$messages" "quern: c: its events (Ir Dw) are not those (Ir Dr) of a; only like can be \
added or compared"
    quern merge --parts=yes --to=cachegrind -o out a b
    [ "$status" = 2 ]
    same "$messages" "quern: --parts=yes: a Cachegrind profile has no parts; use --to=callgrind"
    [ ! -e out ]
}
