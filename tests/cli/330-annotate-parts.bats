#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern annotate --by-part.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    # f is in all ranks, g in the last alone, h in all but the middle one.
    printf 'events: Ir Dr\nfl=a\nfn=f\n1 60 1\n2 40 1\nfn=h\n9 10 7\nsummary: 110 9\n' > rank.0
    printf 'events: Ir Dr\nfl=a\nfn=f\n2 200 4\nsummary: 200 4\n' > rank.1
    printf 'events: Ir Dr\nfl=a\nfn=f\n2 100 6\nfn=g\n5 1000 0\nfn=h\n9 10 7\nsummary: 1110 13\n' \
        > rank.2
}

# The lines of the table.
table() {
    sed -n '/ in each of /,/^$/p' <<< "$output" | grep -v '^--' | sed '/^$/d'
}

@test "least, greatest and mean by function, and in which part" {
    quern annotate --by-part --auto=no rank.0 rank.1 rank.2
    [ "$status" = 0 ]
    same "$messages" ""
    # 1420 / 3 = 473.33, and 1110 is 134.5 % more; 1000 / 3; 400 / 3; 20 / 3 = 6.67.
    same "$(table)" "Ir in each of 3 parts
least greatest  mean over mean  file:function (least in < greatest in)
  110    1,110 473.3   +134.5%  PROGRAM TOTALS (rank.0 < rank.2)
    0    1,000 333.3   +200.0%  a:g (rank.0 < rank.2)
  100      200 133.3    +50.0%  a:f (rank.0 < rank.1)
    0       10   6.7    +50.0%  a:h (rank.1 < rank.0)"
    # What stands around it is the sum.
    [[ "$output" == *"
1,420 (100.0%) 26 (100.0%)  PROGRAM TOTALS"* ]]
}

@test "functions of one name in several files" {
    for rank in 1 2; do
        {
            printf 'events: Ir\n'
            for file in 4 2 5 1 3; do printf 'fl=f%d.c\nfn=f\n1 %d\n' $file $((file * rank * 10)); done
            printf 'summary: %d\n' $((150 * rank))
        } > x$rank
    done
    quern annotate --by-part --threshold=0 --auto=no x1 x2
    same "$(table)" "Ir in each of 2 parts
least greatest  mean over mean  file:function (least in < greatest in)
  150      300 225.0    +33.3%  PROGRAM TOTALS (x1 < x2)
   50      100  75.0    +33.3%  f5.c:f (x1 < x2)
   40       80  60.0    +33.3%  f4.c:f (x1 < x2)
   30       60  45.0    +33.3%  f3.c:f (x1 < x2)
   20       40  30.0    +33.3%  f2.c:f (x1 < x2)
   10       20  15.0    +33.3%  f1.c:f (x1 < x2)"
}

@test "the same of one merged profile" {
    quern annotate --by-part=yes --auto=no rank.0 rank.1 rank.2
    local three
    three=$(table)
    quern merge --parts=yes -o all rank.0 rank.1 rank.2
    quern annotate --by-part=yes --threshold=100 --auto=no all
    same "$(table)" "$three"
}

@test "calls cost nothing of their own" {
    local head='version: 1\nevents: Ir\nfl=a\nfn=f\n'
    printf "${head}1 60\ncfn=g\ncalls=1 1\n1 1000\nfn=g\n1 40\ntotals: 100\n" > one
    printf "${head}1 80\ncfn=g\ncalls=1 1\n1 5000\nfn=g\n1 20\ntotals: 100\n" > two
    quern annotate --by-part --auto=no one two
    # 140 / 2 = 70, and 80 is 14.3 % more; 60 / 2 = 30.
    same "$(table)" "Ir in each of 2 parts
least greatest  mean over mean  file:function (least in < greatest in)
  100      100 100.0     +0.0%  PROGRAM TOTALS
   60       80  70.0    +14.3%  a:f (one < two)
   20       40  30.0    +33.3%  a:g (two < one)"
}

@test "--sort chooses the event; what all parts have alike names none" {
    quern merge --parts=yes -o all rank.0 rank.2
    quern annotate --by-part --sort=Dr:100 --auto=no all
    # Dr: 9 and 13; h 7 and 7; f 2 and 6; g is 0 and not there.
    same "$(table)" "Dr in each of 2 parts
least greatest mean over mean  file:function (least in < greatest in)
    9       13 11.0    +18.2%  PROGRAM TOTALS (rank.0 < rank.2)
    7        7  7.0     +0.0%  a:h
    2        6  4.0    +50.0%  a:f (rank.0 < rank.2)
    0        0  0.0         .  a:g"
}

@test "a derived event" {
    printf 'event: Half = 0.5 Ir\nevents: Ir\nfl=a\nfn=f\n1 3\n' > one
    printf 'event: Half = 0.5 Ir\nevents: Ir\nfl=a\nfn=f\n1 7\n' > two
    quern annotate --by-part --sort=Half --auto=no --threshold=1 one two
    # 3 / 2 and 7 / 2, which is 40 % more than their mean.
    same "$(table | tail -1)" "  1.5      3.5  2.5    +40.0%  a:f (one < two)"
}

@test "the parts of a Callgrind profile by their numbers; of one file's, beside its name" {
    printf 'part: 1\nthread: 1\nevents: Ir\nfl=a\nfn=f\n1 3\n\npart: 1\nthread: 2\nevents: Ir\n' > p
    printf 'fl=a\nfn=f\n1 5\n' >> p
    quern annotate --by-part --auto=no p
    same "$(table | tail -1)" \
        "    3        5  4.0    +25.0%  a:f (part 1 thread 1 < part 1 thread 2)"
    printf 'events: Ir\nfl=a\nfn=f\n1 9\n' > q
    quern annotate --by-part --auto=no p q
    # 17 / 3 = 5.67
    same "$(table | tail -1)" "    3        9  5.7    +58.8%  a:f (p part 1 thread 1 < q)"
}

@test "parts with negative counts" {
    printf 'cmd: x\nevents: Ir\nfl=a\nfn=f\n1 -7\nfn=g\n2 -1\n' > one
    printf 'cmd: x\nevents: Ir\nfl=a\nfn=f\n1 4\n' > two
    quern annotate --by-part --auto=no --threshold=0 one two
    # -3 / 2, of which half a tenth is not lost; -1 / 2 and a part without g.
    same "$(table | tail -2)" "   -7        4 -1.5         .  a:f (one < two)
   -1        0 -0.5         .  a:g (one < two)"
}

@test "what knows no parts is refused" {
    for option in --diff --inclusive=yes --mod-filename=s/a/b/ --mod-funcname=s/a/b/; do
        quern annotate --by-part $option rank.0 rank.1
        [ "$status" = 2 ]
        same "$messages" "quern: --by-part: not with --diff, --inclusive=yes or --mod-*, which \
have no parts"
    done
}

@test "the file that a part is of, wherever its header says so" {
    local head='version: 1\npart: 1\n' at='desc: x: y\n'
    printf "${head}desc: Profile: first\n${at}events: Ir\nfl=a\nfn=f\n1 3\n\npart: 2\n" > p
    printf "${at}${at}desc: Profile: second\nevents: Ir\nfl=a\nfn=f\n1 5\n" >> p
    quern annotate --by-part --auto=no p
    same "$(table | tail -1)" "    3        5  4.0    +25.0%  a:f (first < second)"
}
