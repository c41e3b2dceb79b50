#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern annotate: layout, options, warnings. The profiles are written in the tests, so that every
# number can be seen to be right.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf 'one\ntwo\nthree\nfour\nfive\n' > x.c
    touch -d '2020-01-01' x.c
    cat > prof <<'END'
desc: I1 cache:         32768 B, 64 B, 8-way associative
cmd: ./x
events: Ir Dr
fl=x.c
fn=f
2 1000 5
3 . 7
fn=g
4 24
fl=gone.c
fn=h
9 1 1
summary: 1025 13
END
}

@test "the whole layout" {
    quern annotate prof
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(ends)" "--------------------------------------------------------------------------------
I1 cache:         32768 B, 64 B, 8-way associative
Command:          ./x
Data file:        prof
Events recorded:  Ir Dr
Events shown:     Ir Dr
Event sort order: Ir Dr
Thresholds:       0.1 100
Include dirs:     |
User annotated:   |
Auto-annotation:  on

--------------------------------------------------------------------------------
Ir             Dr          |
--------------------------------------------------------------------------------
1,025 (100.0%) 13 (100.0%)  PROGRAM TOTALS

--------------------------------------------------------------------------------
Ir             Dr           file:function
--------------------------------------------------------------------------------
1,000 (97.56%) 12 (92.31%)  x.c:f
   24 ( 2.34%)  .           x.c:g

--------------------------------------------------------------------------------
-- Auto-annotated source: x.c
--------------------------------------------------------------------------------
Ir             Dr         |

    .          .           one
1,000 (97.56%) 5 (38.46%)  two
    .          7 (53.85%)  three
   24 ( 2.34%) .           four
    .          .           five

--------------------------------------------------------------------------------
Ir             Dr          |
--------------------------------------------------------------------------------
1,024 (99.90%) 12 (92.31%)  events annotated"
}

@test "misses by size of a cache are one line" {
    sed -i '1a desc: Curve sample: 32\ndesc: Curve sizes: 4096 6144\ndesc: Curves: 1' prof
    quern annotate prof
    [ "$status" = 0 ]
    same "$(sed -n 2,5p <<< "$output")" "I1 cache:         32768 B, 64 B, 8-way associative
Curve: misses of caches of other sizes, which quern report plots
Curves: 1
Command:          ./x"
}

@test "--threshold=0 shows everything, and the files that are missing" {
    quern annotate --threshold=0 --show-percs=no prof
    [[ "$output" == *"    1  1  gone.c:h"* ]]
    [[ "$output" == *"The following files chosen for auto-annotation could not be found:
--------------------------------------------------------------------------------
  gone.c"* ]]
}

@test "--show and --sort choose and order events" {
    quern annotate --show=Dr --sort=Dr --show-percs=no --auto=no prof
    [[ "$output" == *"Events shown:     Dr
Event sort order: Dr
"* ]]
    [[ "$output" == *"file:function
--------------------------------------------------------------------------------
12  x.c:f
 1  gone.c:h"* ]]
}

@test "a threshold for each event: a function needs to reach one" {
    quern annotate --sort=Ir:50,Dr:5 --show-percs=no --auto=no prof
    [[ "$output" == *"Thresholds:       50 5
"* ]]
    [[ "$output" == *"1,000 12  x.c:f
    1  1  gone.c:h"* ]]
    [[ "$output" != *x.c:g* ]]
}

@test "an event the profile does not have: status 2, and those it has" {
    quern annotate --show=Bc prof
    [ "$status" = 2 ]
    same "$messages" "quern: --show: the profile has no event 'Bc'; it has: Ir Dr"
    quern annotate --sort=DR:1 prof
    [ "$status" = 2 ]
    same "$messages" "quern: --sort: the profile has no event 'DR'; is Dr meant? It has: Ir Dr"
}

@test "known derived events: CEst is made of what there is" {
    printf 'events: Ir Bcm I1mr\nfl=x.c\nfn=f\n1 100 2 3\nsummary: 100 2 3\n' > p
    quern annotate --show=CEst,Bm --show-percs=no --auto=no p
    # 100 + 10 * 2 + 10 * 3; Bm of 2 is shown below its name
    [[ "$output" == *"
 150  2  PROGRAM TOTALS"* ]]
}

@test "a column is as wide as its largest number, in whichever row that is" {
    # In f, where Ir is absent, and line 3: 1,000,000 of Dr. In all: 1,000,000 - 999,999 = 1.
    printf '%s\n' 'events: Ir Dr' 'fl=x.c' 'fn=f' '3 . 1000000' 'fn=g' '4 5 -999999' 'summary: 5 1' > p
    quern annotate --show-percs=no --threshold=0 p
    [ "$status" = 0 ]
    same "$(grep -E 'PROGRAM|x.c:|three|four' <<< "$output")" " 5  1  PROGRAM TOTALS
 5  -999,999  x.c:g
 . 1,000,000  x.c:f
 . 1,000,000  three
 5  -999,999  four"
}

@test "--context=0: only lines with counts, and where the gaps are" {
    printf 'events: Ir\nfl=x.c\nfn=f\n2 5\n5 6\nsummary: 11\n' > p
    quern annotate --context=0 --show-percs=no p
    [[ "$output" == *"
-- line 2 ----------------------------------------
 5  two
-- line 2 ----------------------------------------
-- line 5 ----------------------------------------
 6  five
-- line 5 ----------------------------------------
"* ]] || same "$output" ""
}

@test "a source file newer than the profile" {
    touch -d '2021-01-01' prof
    touch -d '2022-01-01' x.c
    quern annotate prof
    [[ "$output" == *"@ Source file 'x.c' is more recent than input file 'prof'."* ]]
}

@test "lines past the end of the file, and line 0" {
    printf 'events: Ir\nfl=x.c\nfn=f\n0 4\n2 5\n99 6\nsummary: 15\n' > p
    quern annotate --show-percs=no p
    [[ "$output" == *"
 6  <bogus line 99>
"*"Counts were recorded for lines past the end of 'x.c'."*"
 4  <counts for unidentified lines in x.c>
"*"
 5  events annotated" ]]
}

@test "a source named by the user, found below -I" {
    mkdir src
    mv x.c src/x.c
    quern annotate --auto=no -I src prof x.c
    [ "$status" = 0 ]
    [[ "$output" == *"Include dirs:     src/
User annotated:   x.c
"* ]]
    [[ "$output" == *"-- User-annotated source: src/ + x.c
"* ]]
}

# Recorded by absolute and by mapped names; the tree is in another folder now, or further down.
moved_tree() {
    mkdir -p new/checkout/src/util new/checkout/doc .hidden/src
    printf 'of a\n' > new/checkout/src/a.c
    printf 'of util\n' > new/checkout/src/util/a.c
    printf 'of doc\n' > new/checkout/doc/b.h
    printf 'of src\n' > new/checkout/src/b.h
    printf 'hidden\n' > .hidden/src/c.c
    for name in /old/build/src/a.c ./src/util/a.c ./x/../src/util/a.c src/./a.c b.h /gone/b.h /old/src/c.c; do
        printf 'events: Ir\nfl=%s\nfn=f\n1 5\nsummary: 5\n' "$name" > "p$((++profiles))"
    done
}

@test "-I: a tree that was moved, by the most last folders of the recorded path" {
    moved_tree
    where() { # FOLDER: the source that is found for each profile, and its line; or a minus sign
        for p in p{1..7}; do
            quern annotate --auto=yes -I "$1" $p
            sed -n 's/^-- Auto-annotated source: //p; s/^ *5 (100.0%)  *\(of .*\|hidden\)/ \1/p' <<< "$output" |
                tr -d '\n' | grep . || echo -
        done
    }
    # The folder itself: the path without its first folders.
    same "$(where new/checkout)" 'new/checkout/ + src/a.c of a
new/checkout/ + ./src/util/a.c of util
new/checkout/ + src/util/a.c of util
new/checkout/ + src/./a.c of a
-
-
-'
    # One above it: two parts at least, or the only part. Two files called b.h are not told apart,
    # and folders that begin with a dot are left out.
    same "$(where new)" 'new/ + checkout/src/a.c of a
new/ + checkout/src/util/a.c of util
new/ + checkout/src/util/a.c of util
new/ + checkout/src/a.c of a
-
-
-'
    rm new/checkout/doc/b.h
    same "$(where . | tail -n 3)" './ + new/checkout/src/b.h of src
-
-'
}

# It says so, and the sources of the profile are shown as without it.
@test "a source named by the user that is there, but in no profile" {
    printf 'one\ntwo\n' > other.c
    quern annotate --auto=no --show-percs=no prof
    [ "$status" = 0 ]
    local without=$output
    quern annotate --auto=no --show-percs=no prof other.c
    [ "$status" = 0 ]
    [[ "$output" == *"-- User-annotated source: other.c
--------------------------------------------------------------------------------
  No information has been collected for other.c"* ]]
    [[ "$output" != *"one"* ]]
    same "$(sed '/^-- User-annot/,$d; s/^User annotated:.*other.c$/User annotated:/' <<< "$output" | sed '$d; s/ *$//')" \
        "$(sed 's/ *$//' <<< "$without")"
}

@test "a source named by the user that is not there: status 2" {
    quern annotate prof nothere.c
    [ "$status" = 2 ]
    same "$messages" "quern: nothere.c: no such source file, neither here nor below an --include \
directory"
}

@test "several profiles are summed" {
    cp prof prof2
    quern annotate --show-percs=no --auto=no prof prof2
    [[ "$output" == *"Data file:        prof
                  prof2
"* ]]
    [[ "$output" == *"
2,050 26  PROGRAM TOTALS"* ]]
}

@test "a second profile with a very long command is a profile, not a source" {
    printf 'cmd: %s\nevents: Ir\nfl=a\nfn=f\n1 2\nsummary: 2\n' "$(printf '%09000d' 0)" > long
    quern annotate --auto=no --show-percs=no long long
    [ "$status" = 0 ]
    [[ "$output" == *"
 4  PROGRAM TOTALS"* ]]
}

@test "standard input and compressed files" {
    gzip -k prof
    quern annotate --auto=no prof.gz
    [[ "$output" == *"1,025 (100.0%) 13 (100.0%)  PROGRAM TOTALS"* ]]
    quern annotate --auto=no - < prof
    [[ "$output" == *"1,025 (100.0%) 13 (100.0%)  PROGRAM TOTALS"* ]]
}

@test "what is no profile, or not there" {
    quern annotate x.c
    [ "$status" = 2 ]
    same "$messages" "quern: x.c: no 'events:' line: not a Cachegrind or Callgrind profile"
    quern annotate missing
    [ "$status" = 2 ]
    same "$messages" "quern: missing: cannot be opened: No such file or directory"
    quern annotate
    [ "$status" = 2 ]
}

@test "nonsense options" {
    quern annotate --frobnicate prof
    [ "$status" = 2 ]
    same "$messages" "quern: --frobnicate: unknown option; \`quern annotate --help\` lists them"
    quern annotate --threshold=21 prof
    [ "$status" = 2 ]
    same "$messages" "quern: --threshold=21: must be a percentage from 0 to 20"
    quern annotate --sort=Ir:101 prof
    [ "$status" = 2 ]
    same "$messages" "quern: --sort: Ir:101: must be a percentage from 0 to 100"
    quern annotate --auto=maybe prof
    [ "$status" = 2 ]
    same "$messages" "quern: --auto=maybe: must be yes, no or top"
}

@test "the warnings of reading go to standard error" {
    printf 'junk\n1 zzz\n' >> prof
    quern annotate --auto=no prof
    [ "$status" = 0 ]
    same "$messages" "quern: prof:14: not a line of the format; ignored
quern: prof:15: not a number; the rest of the line is ignored"
    [[ "$output" == *"1,025 (100.0%)"* ]]
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip
    quern_to /dev/full annotate prof
    [ "$status" = 2 ]
    [[ "$messages" == "quern: standard output: "* ]]
}

@test "--diff, --mod-filename and --mod-funcname, as newer cg_annotates have them" {
    printf '%s\n' 'cmd: x' 'events: Ir Dr' 'fl=/b1/a.c' 'fn=f.1' '1 10 1' '2 5 0' 'fn=g' '7 4 4' \
        'summary: 19 5' > x1
    printf '%s\n' 'cmd: y' 'events: Ir Dr' 'fl=/b2/a.c' 'fn=f.2' '1 8 1' '3 9 0' 'fn=g' '7 1 4' \
        'summary: 18 5' > x2
    as cg_annotate --diff --show-percs=no --mod-filename='s/b[0-9]/b/' --mod-funcname='s/\.\d//' \
        x1 x2
    [ "$status" = 0 ]
    [[ "$output" == *"
Files compared:   x1; x2
Command:          x; y
"*"
-1  0  PROGRAM TOTALS
"*"
-3  0  /b/a.c:g
 2  0  /b/a.c:f

"* ]]
    as cg_annotate --show-percs=no --mod-filename='s/b[0-9]/b/' --mod-funcname='s/\.\d//' x1 x2
    [[ "$output" == *"
32  2  /b/a.c:f
 5  8  /b/a.c:g

"* ]]
    as cg_annotate --diff x1
    [ "$status" = 2 ]
    same "$messages" "quern: --diff: exactly two profiles are compared, not 1"
    as cg_annotate --mod-filename='s/(/x/' x1
    [ "$status" = 2 ]
    [[ "$messages" == "quern: --mod-filename: 's/(/x/': "*"at character 2 of the pattern" ]]
}

@test "lines past the end of a source: newer than the profile, or another version" {
    # x.c has five lines; the oldest of the profiles counts, by its fractions of a second.
    sed 's/^4 24$/9 24/; /^fl=gone/,/^9 1 1$/d; s/^summary.*/summary: 1024 12/' prof > first
    cp first second
    touch -d '2021-01-01 10:00:00.2' first
    touch -d '2021-01-01 10:00:00.5' second
    for newer in .3 .6; do
        touch -d "2021-01-01 10:00:00$newer" x.c
        quern annotate --auto=yes first second
        [ "$status" = 0 ]
        [[ "$output" == *"
@@ Counts were recorded for lines past the end of 'x.c'.
@@
@@ The file was changed after the profile was written: profile the program again.
@@"* ]]
    done
    touch -d '2021-01-01 10:00:00.1' x.c
    quern annotate --auto=yes first second
    [[ "$output" == *"
@@ Counts were recorded for lines past the end of 'x.c'.
@@
@@ This may be another version of the file, or the debug information is wrong.
@@"* ]]
}

@test "which process, part and thread" {
    printf '%s\n' 'version: 1' 'pid: 77' 'cmd: ./x' 'part: 3' 'thread: 2' 'events: Ir' 'fl=a.c' 'fn=f' '1 5' > p
    quern annotate --auto=no p
    [[ "$output" == *"
Profiled target:  ./x (PID 77, part 3, thread 2)
"* ]]
    printf '%s\n' 'version: 1' 'pid: 77' 'cmd: ./x' 'events: Ir' 'fl=a.c' 'fn=f' '1 5' > p
    quern annotate --auto=no p
    [[ "$output" == *"
Profiled target:  ./x (PID 77)
"* ]]
}

# At 14 MB it was "Cannot allocate memory": the second thread's stack of 8 MB left too little, where
# at 11 MB there was no second thread.
@test "the same under a limit of memory" {
    awk 'BEGIN {
        print "events: Ir Dr\nfl=a.c"
        for (i = 0; i < 300000; i++) {
            if (i % 1000 == 0)
                print "fn=f" i
            print i + 1, i % 7 + 1, i % 3
        }
    }' > p
    quern_to free annotate p
    # 300,000 = 42,857 * 7 + 1: 42,857 times 1 + ... + 7, and 1; 100,000 times 0 + 1 + 2.
    grep -q '^1,199,997 (100.0%) 300,000 (100.0%)  PROGRAM TOTALS$' free
    for kilobytes in 30000 14000 12000 9000; do
        (ulimit -d $kilobytes && quern_to limited annotate p)
        cmp free limited
    done
}
