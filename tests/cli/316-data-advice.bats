#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Advice on data that misses: the one profile for which it is said, and one for each reason not to.

load profile

# D1 has 4,096 B. by_columns reads matrix with a stride of 4,160 bytes: 900 of 1,000 references miss.
# That are 899 steps, of which 880 are the stride, so 900 - 880 = 20 walks from one end to the other,
# each of 880 / 20 = 44 strides: 44 * 4,160 = 183,040 bytes. by_rows misses 100 times in matrix, and
# find 300 times in the list: 900 of matrix's 1,000 are 90 %, of the program's 1,300 69 %.
setup() {
    cd "$BATS_TEST_TMPDIR"
    printf '# callgrind format\nversion: 1\npid: 7\npositions: line\nevents: Ir Dr Dw D1mr D1mw
\nfl=a.c\nfn=by_columns\n12 5000 1000 0 900 0\nfn=by_rows\n14 900 800 0 100 0
fn=find\n30 400 300 0 300 0\nfn=main\n20 40 5 5 0 0\n' > callgrind.out.7
    printf '# callgrind format\nversion: 1\npid: 7
desc: D1 cache: 4096 B, 64 B, 4-way associative
desc: Functions: objects of the data
desc: Walk at: stride 4160\t880\t899\tstatic: matrix\tby_columns\ta.c:12
desc: Walk at: sequential\t99\t99\tstatic: matrix\tby_rows\ta.c:14
desc: Walk at: pointer chase\t299\t299\theap: build (a.c:8)\tfind\ta.c:30
desc: Walk: stride 4160\t880\t998\tstatic: matrix
desc: Walk: pointer chase\t299\t299\theap: build (a.c:8)
positions: line\nevents: D1mr D1mw
\nfn=static: matrix\n0 1000 0\nfl=a.c\nfn=heap: build (a.c:8)\n8 300 0
fn=by_columns\ncfi=???\ncfn=static: matrix\ncalls=900 0\n12 900 0
fn=by_rows\ncfi=???\ncfn=static: matrix\ncalls=100 0\n14 100 0
fn=find\ncfn=heap: build (a.c:8)\ncalls=300 8\n30 300 0\n' > data.out.7
    SAID="90 % of the D1mr of static: matrix, 69 % of the program's, come from by_columns (a.c:12), which steps 4,160 bytes from one miss to the next, across at least 183,040; if it uses what lies between, too, a loop in the order of memory would miss once in 64 bytes."
}

advice() {
    quern annotate --auto=no --data=data.out.7 callgrind.out.7
    [ "$status" = 0 ]
    sed -n '/^-- Advice/,$p' <<< "$output" | tail -n +3
}

# Not said after the change of `data.out.7` by this expression of sed, which must change something.
unsaid() {
    cp data.out.7 before
    sed -i -E "$@" data.out.7
    if cmp -s before data.out.7; then return 1; fi
    same "$(advice)" ""
    cp before data.out.7
}

@test "a walk by columns" {
    same "$(advice)" "$SAID"
    # of writes
    sed -i -E 's/^12 900 0/12 0 900/; s/^0 1000 0/0 100 900/' data.out.7
    sed -i 's/^12 .*/12 5000 0 1000 0 900/' callgrind.out.7
    same "$(advice)" "$(sed 's/^90 % of the D1mr/100 % of the D1mw/; s/69 %/100 %/' <<< "$SAID")"
}

@test "of the profile of the data alone, where that of the code is beside it" {
    quern annotate --auto=no data.out.7
    same "$(sed -n '/^-- Advice/,$p' <<< "$output" | tail -n +3)" "$SAID"
    mv callgrind.out.7 elsewhere
    quern annotate --auto=no data.out.7
    [[ "$output" != *Advice* ]]
    # other tools' names print what they print
    mv elsewhere callgrind.out.7
    as callgrind_annotate --auto=no data.out.7
    [ "$status" = 0 ]
    [[ "$output" != *Advice* ]]
}

@test "not of another walk" {
    unsaid 's/stride 4160\t880\t899/stride 4160 by pointers\t880\t899/'
    unsaid 's/(Walk at: )stride 4160(\t880\t899)/\1random\2/'
    unsaid 's/(Walk at: )stride 4160(\t880\t899)/\1stride 99999999999999999999\2/'
    # backward it is the same walk
    sed -i 's/stride 4160\t880\t899/stride -4160\t880\t899/' data.out.7
    same "$(advice)" "$SAID"
}

@test "not of one walk through an array, or few: no order of loops changes its misses" {
    # 900 structures, once: all steps are the stride
    unsaid 's/stride 4160\t880\t899/stride 4160\t899\t899/'
    # seven times
    unsaid 's/stride 4160\t880\t899/stride 4160\t893\t899/'
    # twenty threads, each once
    unsaid 's/stride 4160\t880\t899/stride 4160\t880\t880/'
}

@test "not of an irregular walk, nor of an array of structures" {
    # 809 of 899 are 89.99 %
    unsaid 's/stride 4160\t880\t899/stride 4160\t809\t899/'
    # eight lines are 512 bytes: 44 * 512 = 22,528
    unsaid 's/stride 4160\t880\t899/stride 511\t880\t899/'
    sed -i 's/stride 4160\t880\t899/stride 512\t880\t899/' data.out.7
    same "$(advice)" "$(sed 's/4,160/512/; s/183,040/22,528/' <<< "$SAID")"
}

@test "not of what is little larger than D1" {
    # 183,040 bytes are four times 45,760
    unsaid 's/D1 cache: 4096/D1 cache: 45761/'
    sed -i 's/D1 cache: 4096/D1 cache: 45760/' data.out.7
    same "$(advice)" "$SAID"
    unsaid '/D1 cache/d'
}

@test "not of a line with many references for each miss: it uses what it fetched" {
    sed -i 's/^12 5000 1000/12 5000 3601/' callgrind.out.7
    same "$(advice)" ""
    sed -i 's/^12 5000 3601/12 5000 3600/' callgrind.out.7
    same "$(advice)" "$SAID"
}

@test "not of what has no order" {
    unsaid 's/static: matrix/stack/'
    unsaid 's/static: matrix/unknown/'
}

@test "not of a small share" {
    # 900 of 1,801 misses of the object, which by_rows has
    sed -i 's/^14 900 800 0 100 0/14 900 800 0 901 0/' callgrind.out.7
    unsaid 's/^0 1000 0/0 1801 0/; s/^14 100/14 901/; s/calls=100 0/calls=901 0/'
    sed -i 's/^14 900 800 0 901 0/14 900 800 0 100 0/' callgrind.out.7
    # 900 of 3,601 misses of the program
    sed -i 's/^30 400 300 0 300 0/30 400 300 0 2601 0/' callgrind.out.7
    unsaid 's/^8 300 0/8 2601 0/; s/^30 300/30 2601/; s/calls=300 8/calls=2601 8/'
}

@test "not of another run, nor without references, nor of a sum" {
    sed -i 's/^20 40 5 5 0 0/20 40 5 5 1 0/' callgrind.out.7
    same "$(advice)" ""
    sed -i 's/^20 40 5 5 1 0/20 40 5 5 0 0/; s/Ir Dr Dw/Ir Er Ew/' callgrind.out.7
    same "$(advice)" ""
    sed -i 's/Ir Er Ew/Ir Dr Dw/' callgrind.out.7
    same "$(advice)" "$SAID"
    quern annotate --auto=no --data=data.out.7 callgrind.out.7 callgrind.out.7
    [[ "$output" != *Advice* ]]
}

@test "a hostile profile of the data" {
    # calls of more than the object has, and of none
    unsaid 's/^0 1000 0/0 600 0\n0 400 0/; s/^12 900 0/12 90000 0/'
    unsaid 's/^0 1000 0/0 0 0/; s/^8 300/8 1300/'
    unsaid 's/880\t899/18446744073709551615\t18446744073709551615/'
}

# There are 2,110 references: a pair of at most 3 would be enough.
pair() {
    printf 'desc: Sharing: %s\t%s\t%s\tstatic: counters\ta.c\t%s\twrites\tby_rows\ta.c:14\tstatic: counters\ta.c\t%s\twrites\tfind\t/src/a.c:30\n' "$@"
}

shared() {
    sed -i '/^desc: Sharing/d' data.out.7
    { echo "desc: Sharing order: $1"; cat; } > lines
    sed -i '/^desc: Walk: pointer/r lines' data.out.7
    sed -i 's/stride 4160\t880\t899/random\t880\t899/' data.out.7
}

@test "two fields in a line that threads share" {
    local said="counters[0] and counters[1] share a line of the cache, and different threads use them: 1,998 invalidations by by_rows (a.c:14) and find (a.c:30), at most 19,000,000; in lines of their own there would be none."
    pair false 1998 19000000 'counters[0]' 'counters[1]' | shared serialized
    same "$(advice)" "$said"
    pair false 1998 19000000 'counters[0]' 'counters[1]' | shared 'depends on timing'
    same "$(advice)" "${said/;/, which depends on timing;}"
    # of offsets, with the object's name
    pair false 32 1000 '+0' '+8' | shared serialized
    [[ "$(advice)" == "static: counters +0 and static: counters +8 share a line"*": 32 invalidations by"* ]]
    # after the walk
    { pair false 1998 19000000 'counters[0]' 'counters[1]'; } | shared serialized
    sed -i 's/random\t880\t899/stride 4160\t880\t899/' data.out.7
    same "$(advice)" "$SAID
$said"
    # not of another run
    sed -i 's/^14 900 800 0 100 0/14 900 800 0 101 0/' callgrind.out.7
    same "$(advice)" ""
}

@test "not of what both threads use, of a line that is handed over, of one place, of little" {
    pair true 1998 19000000 'counters[0]' 'counters[1]' | shared serialized
    same "$(advice)" ""
    pair false 31 19000000 'counters[0]' 'counters[1]' | shared serialized
    same "$(advice)" ""
    pair false 1998 19000000 'counters[]' 'counters[]' | shared serialized
    same "$(advice)" ""
    pair false 1998 19000000 '' 'counters[1]' | shared serialized
    same "$(advice)" ""
    # Of 2,100 + 61,900 references a thousandth is 64.
    sed -i 's/^20 40 5 5 0 0/20 40 61900 0 0 0/' callgrind.out.7
    pair false 32 64 'counters[0]' 'counters[1]' | shared serialized
    same "$(advice | wc -l)" 1
    pair false 32 63 'counters[0]' 'counters[1]' | shared serialized
    same "$(advice)" ""
    # one of the two is a lock of both: as often as half of it; less often
    { pair false 998 1000 'counters[0]' 'counters[1]'; pair true 9 500 'counters[1]' 'counters[1]'; } | shared serialized
    same "$(advice)" ""
    { pair false 998 1000 'counters[0]' 'counters[1]'; pair true 9 499 'counters[1]' 'counters[1]'; } | shared serialized
    same "$(advice | wc -l)" 1
}
