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

# by_columns reads the columns of other, too, in the same line, and misses 800 times there: of 4,400
# references at most 3,600 are to matrix, which are four times its 900 misses.
@test "references that miss in another object are not to this one" {
    sed -i 's/^12 5000 1000 0 900 0/12 5000 4401 0 1700 0/' callgrind.out.7
    sed -i -E 's/^fl=a.c/fn=static: other\n0 800 0\n&/
        s/^fn=by_rows/cfi=???\ncfn=static: other\ncalls=800 0\n12 800 0\n&/' data.out.7
    same "$(advice)" ""
    sed -i 's/^12 5000 4401/12 5000 4400/' callgrind.out.7
    same "$(advice)" "$(sed 's/69 %/43 %/' <<< "$SAID")"
}

# by_columns misses 900 times in matrix, so of 3,599 references at most 2,699 miss elsewhere: here
# 2,699, then 2,700, 3,600 (3,599 - 3,600 is -1), and 2^64 - 1 in each of two.
@test "nothing is said of profiles that contradict each other" {
    sed -i 's/^12 5000 1000 0 900 0/12 5000 3599 0 1700 0/' callgrind.out.7
    sed -i -E 's/^fl=a.c/fn=static: other\n0 400 0\nfn=static: third\n0 400 0\n&/
        s/^fn=by_rows/cfi=???\ncfn=static: other\ncalls=800 0\n12 2699 0\n&/' data.out.7
    same "$(advice)" "$(sed 's/69 %/43 %/' <<< "$SAID")"
    unsaid 's/^12 2699 0/12 2700 0/'
    unsaid 's/^12 2699 0/12 3600 0/'
    unsaid 's/^12 2699 0/12 18446744073709551615 0\ncfn=static: third\ncalls=1 0\n12 18446744073709551615 0/'
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

# ---- Use of lines ----
#
# sum reads nodes[].key of structures of 64 bytes, in order, again and again: 16,000 of the 20,000
# misses, 80 %. Of 300 lines that were followed 2,400 bytes were used, 8 of each. It also reads
# nodes[].next of some, which misses 200 times: 15,800 are 98.75 % of the object's. find has the
# other 4,000 misses.
use() {
    printf '# callgrind format\nversion: 1\npid: 7\npositions: line\nevents: Ir Dr Dw D1mr D1mw
\nfl=a.c\nfn=sum\n12 50000 16000 0 16000 0\nfn=find\n30 4000 4000 0 4000 0\n' > callgrind.out.7
    printf '# callgrind format\nversion: 1\npid: 7
desc: D1 cache: 4096 B, 64 B, 4-way associative
desc: Functions: objects of the data
desc: Field: 0\tnodes[].key\ta.c:3\tstatic: nodes\ta.c
desc: Field: 8\tnodes[].next\ta.c:4\tstatic: nodes\ta.c
desc: Walk: sequential\t15500\t15999\tstatic: nodes
desc: Walk: random\t3999\t3999\theap: build (a.c:8)
desc: Use sample: 64\t64
desc: Use: 300\t2400\tstatic: nodes\ta.c
desc: Use: 300\t2400\theap: build (a.c:8)\ta.c
positions: instr line\nevents: D1mr D1mw
\nfl=a.c\nfn=static: nodes\n0x0 3 15800 0\n0x8 4 200 0\nfn=heap: build (a.c:8)\n0x0 8 4000 0
fn=sum\ncfn=static: nodes\ncalls=16000 0x0 3\n0x0 12 16000 0
fn=find\ncfn=heap: build (a.c:8)\ncalls=4000 0x0 8\n0x0 30 4000 0\n' > data.out.7
    USED="8 of 64 bytes of each line fetched for static: nodes are used, by a sample of 300 lines; 99 % of its D1 misses, which are 80 % of the program's, are in nodes[].key: kept apart from the rest, what is used of 8 lines would fit into one."
}

@test "a member of structures, of each line few bytes" {
    use
    same "$(advice)" "$USED"
    # Of two members: 13,000 and 3,000 of 16,000; 16 bytes of 64.
    sed -i 's/^0x0 3 15800 0/0x0 3 13000 0/; s/^0x8 4 200 0/0x8 4 3000 0/; s/Use: 300\t2400\tstatic/Use: 300\t4800\tstatic/' data.out.7
    same "$(advice)" "$(sed 's/^8 of/16 of/; s/99 % of its/100 % of its/; s/key:/key and nodes[].next:/; s/of 8 lines/of 4 lines/' <<< "$USED")"
    # a stride of a few lines, and steps back, are in order, too
    use
    sed -i 's/Walk: sequential\t15500/Walk: stride 511\t15500/' data.out.7
    same "$(advice)" "$USED"
    sed -i 's/Walk: stride 511\t15500/Walk: backward\t15500/' data.out.7
    same "$(advice)" "$USED"
    # all lines, not a sample
    sed -i 's/^desc: Use sample: 64/desc: Use sample: 1/' data.out.7
    same "$(advice)" "${USED/a sample of /}"
}

@test "not of what is used: more than a quarter of each line, all of it" {
    use
    unsaid 's/Use: 300\t2400\tstatic/Use: 300\t4801\tstatic/'
    unsaid 's/Use: 300\t2400\tstatic/Use: 300\t19200\tstatic/'
}

@test "not of a small sample, or of none" {
    use
    unsaid 's/Use: 300\t2400\tstatic/Use: 255\t2040\tstatic/'
    unsaid '/Use: 300\t2400\tstatic/d'
    unsaid '/Use sample/d'
    sed -i 's/Use: 300\t2400\tstatic/Use: 256\t2048\tstatic/' data.out.7
    same "$(advice)" "${USED/300/256}"
}

@test "not of an irregular walk: a hash table uses 8 bytes of each line, too" {
    use
    unsaid 's/Walk: sequential\t15500/Walk: random\t15500/'
    unsaid 's/Walk: sequential\t15500/Walk: pointer chase\t15500/'
    unsaid 's/Walk: sequential\t15500/Walk: sequential by pointers\t15500/'
    # 14,399 of 16,000 are 89.99 %
    unsaid 's/Walk: sequential\t15500/Walk: sequential\t14399/'
    # eight lines apart, as a matrix by columns
    unsaid 's/Walk: sequential\t15500/Walk: stride 512\t15500/'
    unsaid '/Walk: sequential/d'
}

@test "not of what has no members: numbers, bytes without a type, elements as a whole" {
    use
    unsaid 's/nodes\[\].key/nodes[]/'
    unsaid 's/nodes\[\].key/nodes[].key[]/'
    unsaid 's/nodes\[\].key/(elsewhere)/'
    unsaid 's/nodes\[\].key/nodes[].{i|f}/'
    unsaid '/Field: 0/d'
    # 14,399 of 16,000 in a member that has a name
    unsaid 's/^0x0 3 15800 0/0x0 3 14399 0/; s/^0x8 4 200 0/0x8 4 1601 0/; /Field: 8/d'
}

@test "not of few of the program's misses" {
    use
    # 16,000 of 64,001 D1 misses
    sed -i 's/^30 4000 4000 0 4000 0/30 48001 48001 0 48001 0/' callgrind.out.7
    unsaid 's/^0x0 8 4000 0/0x0 8 48001 0/; s/calls=4000 /calls=48001 /; s/^0x0 30 4000 0/0x0 30 48001 0/'
}

@test "not of another run, nor where a stride is what is said" {
    use
    unsaid 's/^0x0 3 15800 0/0x0 3 15801 0/'
    unsaid 's/static: nodes/stack/'
    sed -i 's/^desc: D1 cache.*/&\ndesc: Walk at: stride 4160\t15600\t15999\tstatic: nodes\tsum\ta.c:12/' data.out.7
    [[ "$(advice)" == *"which steps 4,160 bytes"* ]]
    [[ "$(advice)" != *"fit into one"* ]]
}

@test "what real programs are told: of structures, not of one pass, of numbers, of whole lines" {
    cat > use.c <<'END'
#include <string.h>
struct node { long key, next; char rest[48]; };
static struct node nodes[4096], list[4096], cleared[4096];
static long column[8 * 4096];
static volatile long sink;
static long keys(const volatile struct node *n) { long s = 0; for (int i = 0; i < 4096; i++) s += n[i].key; return s; }
static long whole(const volatile long *c) { long s = 0; for (int i = 0; i < 8 * 4096; i++) s += c[i]; return s; }
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 40; i++) {
        if (argc == 1)
            sink = keys(nodes);
        else if (argc == 2)
            sink = whole(column);
        else if (argc == 3)
            memset(cleared, i, sizeof(cleared));
    }
    return (int)keys(list) + argc;
}
END
    cc -g -O1 -o use use.c
    said() {
        rm -f data.out.* callgrind.out.*
        quern run -q --data=yes --D1=32768,8,64 -- ./use "$@"
        quern annotate --auto=no data.out.*
        sed -n '/^-- Advice/,$p' <<< "$output" | tail -n +3
    }
    [[ "$(said)" == "8 of 64 bytes of each line fetched for static: nodes are used, by a sample of 1,"*" lines; "*" are in nodes[].key: kept apart from the rest, what is used of 8 lines would fit into one." ]]
    same "$(said 1)" ""
    same "$(said 1 2)" ""
    same "$(said 1 2 3)" ""
}
