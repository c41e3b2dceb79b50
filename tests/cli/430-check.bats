#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern check: what it finds, where, and its status.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "nothing wrong" {
    cp "$GOLDEN/calls.callgrind" p
    quern check p
    [ "$status" = 0 ]
    same "$output" "p: Callgrind, 1 part, 1 event, 3 functions: 0 errors, 0 warnings, 0 notes"
}

@test "file, line, column, the line and a caret" {
    printf 'version: 1\nevents: Ir\nfl=a\nfn=f\n1 5\n2 6 7\n!!\nfn=(3)\n3 x\n' > p
    quern check p
    [ "$status" = 1 ]
    same "$output" "p:6:5: error: more counts than events; the rest is ignored [too-many-counts]
  2 6 7
      ^
p:7:1: error: not a line of the format; ignored [junk-line]
  !!
  ^
p:8:4: error: id (3) was never given a name [id-undefined]
  fn=(3)
     ^
p:9:3: error: not a number; the rest of the line is ignored [bad-number]
  3 x
    ^
p: Callgrind, 1 part, 1 event, 2 functions: 4 errors, 0 warnings, 1 note"
}

@test "warnings are faults only with --strict" {
    cp "$GOLDEN/crlf.callgrind" notes
    cp "$GOLDEN/rcalls.callgrind" warned
    quern check warned
    [ "$status" = 0 ]
    quern check --strict warned
    [ "$status" = 1 ]
    quern check --strict notes
    [ "$status" = 0 ]
}

@test "notes on request" {
    cp "$GOLDEN/no-newline.callgrind" p
    quern check --notes p
    [ "$status" = 0 ]
    [[ "$output" == "p:8: note: no newline at the end of the file [no-final-newline]
p: Callgrind"* ]]
}

@test "ten of a kind, or all" {
    { printf 'version: 1\nevents: Ir\nfl=a\nfn=f\n'; for i in $(seq 30); do echo '!'; done; } > p
    quern check p
    [ "$(grep -c junk-line <<< "$output")" = 10 ]
    [[ "$output" == *": 30 errors,"* ]]
    quern check --all p
    [ "$(grep -c junk-line <<< "$output")" = 30 ]
}

@test "totals that are wrong name the sum" {
    cp "$GOLDEN/bad-summary.cachegrind" p
    quern check p
    [ "$status" = 1 ]
    [[ "$output" == "p:9: error: summary of Ir is 6, but the lines sum to 5 [totals-mismatch]
"* ]]
}

@test "every golden file named fault-* has an error, or a warning" {
    for f in "$GOLDEN"/fault-*; do
        quern check --strict -q "$f"
        [ "$status" = 1 ] || { echo "# $f"; return 1; }
        same "$output" ""
    done
}

@test "not readable: status 2" {
    quern check nothere
    [ "$status" = 2 ]
    printf 'int main(void) {}\n' > c
    quern check c
    [ "$status" = 2 ]
    same "$messages" "quern: c: no 'events:' line: not a Cachegrind or Callgrind profile"
}

@test "every profile command says its version and how it is called" {
    for command in annotate merge diff convert check; do
        quern $command --version
        [ "$status" = 0 ]
        [[ "$output" == "quern "[0-9]* ]]
        quern $command --help
        [ "$status" = 0 ]
        [[ "$output" == "usage: quern $command "* ]]
        same "$messages" ""
    done
}

@test "an empty file is no profile" {
    : > p
    quern check p
    [ "$status" = 1 ]
    same "$output" "p:1:1: error: the file is empty: no 'events:' line says what is counted \
[empty-file]
p: Cachegrind, 1 part, 0 events, 0 functions: 1 error, 0 warnings, 0 notes"
}

@test "cut off behind calls=" {
    cp "$GOLDEN/fault-cut-call.callgrind" p
    quern check p
    [ "$status" = 1 ]
    same "$output" "p:9:1: error: 'calls=' without its cost line: taken as zero [calls-without-cost]
  calls=1 2
  ^
p: Callgrind, 1 part, 1 event, 2 functions: 1 error, 0 warnings, 0 notes"
}

@test "more events than there can be: their number is said" {
    for n in 4096 4097 200000; do
        { printf 'events:'; printf ' E%d' $(seq $n); printf '\nfl=a\nfn=b\n1'; printf ' %d' $(seq $n)
            printf '\n'; } > $n.out
    done
    quern annotate --show=E4096 4096.out
    [ "$status" = 0 ]
    for n in 4097 200000; do
        for command in check annotate 'merge -o sum'; do
            quern $command $n.out
            [ "$status" = 2 ]
            [ "$messages" = "quern: $n.out: cannot be read: it names more than 4096 events, which is \
the most" ]
        done
    done
}
