#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern diff and cg_diff.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'cmd: old' 'events: Ir Dr' 'fl=v1/a.c' 'fn=f' '1 100 10' '2 50 5' \
        'fn=gone' '9 30 3' 'summary: 180 18' > old
    printf '%s\n' 'cmd: new' 'events: Ir Dr' 'fl=v2/a.c' 'fn=f' '2 110 10' '3 50 5' \
        'fn=fresh' '9 5' 'summary: 165 15' > new
}

@test "totals and functions" {
    quern diff --mod-filename='s/v[0-9]/vN/' old new
    [ "$status" = 0 ]
    same "$(ends)" "--------------------------------------------------------------------------------
Old profile:      old (old)
New profile:      new (new)
Events shown:     Ir Dr
Threshold:        0% of the old total

--------------------------------------------------------------------------------
Ir           Dr          |
--------------------------------------------------------------------------------
180 (100.0%) 18 (100.0%)  OLD TOTALS
165 (91.67%) 15 (83.33%)  NEW TOTALS
-15 (-8.33%) -3 (-16.7%)  DIFFERENCE

--------------------------------------------------------------------------------
Ir           Dr           file:function (new - old)
--------------------------------------------------------------------------------
-30 (-16.7%) -3 (-16.7%)  vN/a.c:gone (gone)
 10 ( 5.56%)  0           vN/a.c:f
  5 ( 2.78%)  0           vN/a.c:fresh (new)"
}

@test "--threshold leaves out what is small" {
    quern diff --threshold=3 --mod-filename='s/v[0-9]/vN/' --show-percs=no old new
    [[ "$output" == *"vN/a.c:gone"* && "$output" == *"vN/a.c:f"* && "$output" != *fresh* ]]
}

@test "call edges" {
    quern diff --by=edge --show-percs=no "$GOLDEN/calls.callgrind" "$GOLDEN/calls.callgrind"
    [[ "$output" != *"=> "*x\)* ]]
    sed 's/^calls=3 20$/calls=5 20/; s/^16 400$/16 450/' "$GOLDEN/calls.callgrind" > more
    quern diff --by=edge --show-percs=no "$GOLDEN/calls.callgrind" more
    [[ "$output" == *"
          50  file1.c:main => file2.c:func2 (3x -> 5x)"* ]]
    [[ "$output" == *"
          50  file1.c:main => file1.c:func1 (1x -> 1x)"* ]]
}

@test "source lines: aligned when lines were put in front" {
    mkdir v1 v2
    printf 'a\nb\nc\nd\n' > v1/a.c
    printf 'new\na\nb\nc\nx\nd\n' > v2/a.c
    printf 'events: Ir\nfl=v1/a.c\nfn=f\n1 10\n2 20\n3 30\n4 40\nsummary: 100\n' > old
    printf 'events: Ir\nfl=v2/a.c\nfn=f\n1 1\n2 10\n3 25\n4 30\n5 7\n6 40\nsummary: 113\n' > new
    quern diff --by=line --show-percs=no --mod-filename='s/v[0-9]/vN/' old new
    [ "$status" = 0 ]
    [[ "$output" == *"-- Source: vN/a.c
-- old: v1/a.c
-- new: v2/a.c
--------------------------------------------------------------------------------
Ir     old    new

 1      -      1  new
 5      2      3  b
 7      -      5  x" ]]
}

# Line 2 of the old version is gone, and its costs with it; what stands behind it is the same as before
# but for one line that costs more.
@test "source lines: aligned when lines were taken out" {
    mkdir v1 v2
    printf 'a\nb\nc\nd\n' > v1/a.c
    printf 'a\nc\nd\n' > v2/a.c
    printf 'events: Ir\nfl=v1/a.c\nfn=f\n1 10\n2 20\n3 30\n4 40\nsummary: 100\n' > old
    printf 'events: Ir\nfl=v2/a.c\nfn=f\n1 10\n2 30\n3 45\nsummary: 85\n' > new
    quern diff --by=line --show-percs=no --mod-filename='s/v[0-9]/vN/' old new
    [ "$status" = 0 ]
    [[ "$output" == *"
Ir      old    new

-20      2      -  b
  5      4      3  d" ]]
}

@test "source lines: a file that is not found is named" {
    quern diff --by=line --mod-filename='s/v[0-9]/vN/' old new
    [[ "$output" == *"
Files that differ, but whose two versions were not found:
--------------------------------------------------------------------------------
  vN/a.c" ]]
}

@test "--fail-if: each form" {
    # Ir falls by 15 of 180, which is 8.33 %: a number with a sign is about the difference, be it
    # + or -.
    for limit in 'Ir>200' 'Ir>+0' 'Ir>+1%' 'Ir>-15' 'Ir>-8%' 'Ir<-9%' 'Dr>=16' 'Ir<100' 'f:Ir>+7%' \
        'v2/a.c:f:Ir>160'; do
        quern diff --fail-if="$limit" --mod-filename='s/v1/v2/' old new
        [ "$status" = 0 ] || { echo "# $limit $messages"; return 1; }
        same "$messages" ""
    done
    for limit in 'Ir>160' 'Ir<+0' 'Ir<-8%' 'Ir>-9%' 'Ir>-16' 'Ir>=-15' 'Dr<=15' 'f:Ir>+6%' 'f:Ir>=+10' 'v2/a.c:f:Ir>159' \
        'fresh:Ir>+0%'; do
        quern diff --fail-if "$limit" --mod-filename='s/v1/v2/' old new
        [ "$status" = 1 ] || { echo "# $limit"; return 1; }
        [[ "$messages" == "quern: limit exceeded: $limit: "* ]]
    done
    quern diff --fail-if='Ir>160' --fail-if='f:Ir>+6%' --mod-filename='s/v1/v2/' old new
    # The lines of f, 100 and 50, are 110 and 50 now, one further down.
    same "$messages" "quern: limit exceeded: Ir>160: Ir was 180 and is 165 (-8.33%); \
most in f +10 at v2/a.c:2 +10; fresh +5 at v2/a.c:9 +5
quern: limit exceeded: f:Ir>+6%: Ir was 150 and is 160 (+6.67%); most in f +10 at v2/a.c:2 +10"
}

# Costs of C++ functions; the lines of big() move by 1, cold() becomes cold_path(), tiny() is new.
limit_profiles() {
    printf '%s\n' 'events: Ir' 'fl=x.cc' 'fn=big(int, char*)' '10 400' '11 400' '12 100' '13 100' \
        'fn=small()' '30 2' 'fn=cold()' '40 50' 'fn=operator*(v)' '50 10' > before
    printf '%s\n' 'events: Ir' 'fl=x.cc' 'fn=big(int, char*)' '11 400' '12 430' '13 100' '14 110' \
        'fn=small()' '30 4' 'fn=cold_path()' '41 50' 'fn=operator*(v)' '50 10' 'fn=tiny()' '60 1' > after
}

@test "--fail-if: a function without its parameters, and patterns" {
    limit_profiles
    # big grew from 1,000 to 1,040; its lines are the same, one further down.
    for name in big 'big(int, char*)' 'x.cc:big' 'b?g'; do
        quern diff --fail-if="$name:Ir>+4%" before after
        [ "$status" = 0 ] || { echo "# $name $messages"; return 1; }
        quern diff --fail-if="$name:Ir>=+4%" before after
        [ "$status" = 1 ] || { echo "# $name"; return 1; }
    done
    quern diff --fail-if='big:Ir>+1%' before after
    same "$messages" "quern: limit exceeded: big:Ir>+1%: Ir was 1,000 and is 1,040 (+4.00%); \
most in big(int, char*) +40 at x.cc:12 +30, x.cc:14 +10"
    # A pattern is a limit on each function that both profiles have; the largest growth comes first.
    quern diff --fail-if='*:Ir>+3%' before after
    [ "$status" = 1 ]
    same "$messages" "quern: limit exceeded: *:Ir>+3%: Ir of 2 functions: \
big(int, char*) was 1,000 and is 1,040 (+4.00%) at x.cc:12 +30, x.cc:14 +10; \
small() was 2 and is 4 (+100.00%) at x.cc:30 +2"
    # 2 are 0.17 % of 1,162.
    quern diff --threshold=0.2 --fail-if='*:Ir>+3%' before after
    same "$messages" "quern: limit exceeded: *:Ir>+3%: Ir of 1 function: \
big(int, char*) was 1,000 and is 1,040 (+4.00%) at x.cc:12 +30, x.cc:14 +10"
    quern diff --threshold=0.2 --fail-if='*:Ir>+4%' --to=markdown before after
    [ "$status" = 0 ]
    [[ "$output" == *'| `*:Ir>+4%` | within | Ir of no function exceeds it |'* ]]
    # An absolute limit is one on all functions of the new profile.
    quern diff --fail-if='x.cc:*l*:Ir<5' before after
    same "$messages" "quern: limit exceeded: x.cc:*l*:Ir<5: Ir of 1 function: \
small() was 2 and is 4 (+100.00%)"
    quern diff --fail-if='*:Ir<=1' before after
    same "$messages" "quern: limit exceeded: *:Ir<=1: Ir of 1 function: tiny() was 0 and is 1"
    # More than three.
    for n in 1 2; do
        {
            printf '%s\n' 'events: Ir' 'fl=a'
            for i in {1..5}; do printf 'fn=f%d\n0 %d\n' $i $((i * n)); done
        } > p$n
    done
    quern diff --fail-if='f*:Ir>+1%' p1 p2
    same "$messages" "quern: limit exceeded: f*:Ir>+1%: Ir of 5 functions: f5 was 5 and is 10 (+100.00%); \
f4 was 4 and is 8 (+100.00%); f3 was 3 and is 6 (+100.00%); and 2 more"
    # A function with a star in its name is meant, not a pattern.
    quern diff --fail-if='operator*:Ir>9' before after
    same "$messages" "quern: limit exceeded: operator*:Ir>9: Ir was 10 and is 10 (+0.00%)"
}

@test "--fail-if: a function that is gone" {
    limit_profiles
    quern diff --fail-if='cold:Ir>+1%' before after
    [ "$status" = 2 ]
    same "$messages" "quern: --fail-if=cold:Ir>+1%: after has no function 'cold' any more; \
is 'cold_path()' meant? (--missing=ok: no error)"
    quern diff --fail-if='bigg:Ir>+1%' before after
    [ "$status" = 2 ]
    same "$messages" "quern: --fail-if=bigg:Ir>+1%: neither profile has a function 'bigg'; \
is 'big(int, char*)' meant? (--missing=ok: no error)"
    quern diff --fail-if='z*:Ir>+1%' before after
    [ "$status" = 2 ]
    same "$messages" "quern: --fail-if=z*:Ir>+1%: neither profile has a function 'z*' (--missing=ok: no error)"
    # The tables are there all the same, and an exceeded limit is said, too.
    quern diff --to=markdown --fail-if='cold:Ir>+1%' --fail-if='big:Ir>+1%' before after
    [ "$status" = 2 ]
    [[ "$output" == *"
| \`cold:Ir>+1%\` | **missing** | after has no function 'cold' any more; is 'cold\_path()' meant? |
| \`big:Ir>+1%\` | **exceeded** | Ir was 1,000 "* ]]
    quern diff --missing=ok --fail-if='cold:Ir>+1%' --fail-if='nobody:Ir>+1%' --fail-if='z*:Ir>5' \
        --fail-if='tiny:Ir>+1%' before after
    [ "$status" = 0 ]
    same "$messages" ""
    # An absolute limit needs no old count.
    quern diff --missing=ok --fail-if='tiny:Ir>0' before after
    [ "$status" = 1 ]
    quern diff --fail-if='tiny:Ir>+1%' before after
    [ "$status" = 1 ]
    quern diff --missing=maybe before after
    [ "$status" = 2 ]
    same "$messages" "quern: --missing=maybe: must be error or ok"
}

@test "--fail-if: lines of an inclusive cost are those of calls, and lines that were inserted count" {
    printf '%s\n' 'events: Ir' 'fl=m.c' 'fn=main' '1 5' '2 7' 'calls=1 9' '2 100' '3 9' 'fn=g' '9 100' > before
    printf '%s\n' 'events: Ir' 'fl=m.c' 'fn=main' '1 5' '2 1' '3 7' 'calls=1 10' '3 150' '4 9' \
        'fn=g' '10 150' > after
    sed -i 's/^calls=/cfn=g\n&/' before after
    # main: 5 + 7 + 100 + 9, and 5 + 1 + 7 + 150 + 9. Line 2 was inserted; the call cost 107 before
    # and costs 157.
    quern diff --inclusive=yes --fail-if='main:Ir>+1%' before after
    same "$messages" "quern: limit exceeded: main:Ir>+1%: Ir was 121 and is 172 (+42.15%); \
most in main +51 at m.c:3 +50, m.c:2 +1"
    quern diff --fail-if='main:Ir>+1%' before after
    same "$messages" "quern: limit exceeded: main:Ir>+1%: Ir was 21 and is 22 (+4.76%); \
most in main +1 at m.c:2 +1"
}

@test "--fail-if: nonsense" {
    for limit in Ir '>5' 'Ir>' 'Ir>x' 'Ir>5%' 'Ir>+5%%' 'Ir~5'; do
        quern diff --fail-if="$limit" old new
        [ "$status" = 2 ] || { echo "# $limit"; return 1; }
    done
    quern diff --fail-if='Bc>5' old new
    same "$messages" "quern: --fail-if=Bc>5: the profiles have no event 'Bc'"
    [ "$status" = 2 ]
    quern diff --fail-if='nobody:Ir>5' old new
    same "$messages" "quern: --fail-if=nobody:Ir>5: neither profile has a function 'nobody' (--missing=ok: no error)"
    [ "$status" = 2 ]
}

@test "-o writes the difference by line as a profile" {
    quern diff -o out --mod-filename='s/v[0-9]/vN/' old new
    [ "$status" = 0 ]
    same "$(cat out)" "desc: Files compared:   old; new
cmd: old; new
events: Ir Dr
fl=vN/a.c
fn=f
1 -100 -10
2 60 5
3 50 5
fn=fresh
9 5 0
fn=gone
9 -30 -3
summary: -15 -3"
}

@test "cg_diff: by function, as a Cachegrind profile" {
    as cg_diff --mod-filename='s/v[0-9]/vN/' --mod-funcname='s/fresh/gone/' old new
    [ "$status" = 0 ]
    same "$output" "desc: Files compared:   old; new
cmd: old; new
events: Ir Dr
fl=vN/a.c
fn=f
0 10 0
fn=gone
0 -25 -3
summary: -15 -3"
}

@test "other events" {
    printf 'events: Ir\nfl=a\nfn=f\n1 1\nsummary: 1\n' > one
    quern diff old one
    [ "$status" = 2 ]
    same "$messages" "quern: one: its events (Ir) are not those (Ir Dr) of old; only like can be \
added or compared"
    quern diff -o out old one
    [ "$status" = 2 ]
    same "$messages" "quern: one: its events (Ir) are not those (Ir Dr) of old; only like can be \
added or compared"
    [ ! -e out ]
}

@test "a bad expression says where" {
    as cg_diff --mod-filename='s/(/x/' old new
    [ "$status" = 2 ]
    [[ "$messages" == "quern: --mod-filename: 's/(/x/': "*"at character 2 of the pattern" ]]
    quern diff --mod-funcname='s/a/b' old new
    same "$messages" "quern: --mod-funcname: 's/a/b' is not of the form s/old/new/flags: a \
delimiter is missing"
    quern diff --mod-filename='s/no (such) name/\2/' old new
    [ "$status" = 2 ]
    same "$messages" "quern: --mod-filename: 's/no (such) name/\2/': the replacement names a group \
that the pattern does not have"
}

@test "one or three profiles" {
    quern diff old
    [ "$status" = 2 ]
    quern diff old new old
    same "$messages" "quern: exactly two profiles are compared; 'old' is the third"
    [ "$status" = 2 ]
}

@test "other formulas" {
    printf 'event: X = Ir + 2 Dr\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n' > one
    printf 'event: X = Ir + 3 Dr\nevents: Ir Dr\nfl=a\nfn=f\n1 1 1\n' > two
    quern diff --show=X one two
    [ "$status" = 2 ]
    same "$(grep X <<< "$messages")" "quern: two: its 'event:' line of X ('X = Ir + 3 Dr') is not \
that ('X = Ir + 2 Dr') of one; only like can be added or compared"
}

@test "fractions, in both or in one of the profiles" {
    printf 'cmd: x\nevents: T Ir\nfl=a\nfn=f\n1 1.5 2\n2 2\nsummary: 3.5 2\n' > one
    printf 'cmd: x\nevents: T Ir\nfl=a\nfn=f\n1 1.75 5\n2 2.25 -1\nsummary: 4 4\n' > two
    printf 'cmd: x\nevents: T Ir\nfl=a\nfn=f\n1 3 5\nsummary: 3 5\n' > whole
    quern diff --show-percs=no one two
    [ "$status" = 0 ]
    [[ "$output" == *"
0.5  2  a:f"* ]]
    quern diff --show-percs=no one whole
    [ "$status" = 0 ]
    [[ "$output" == *"
-0.5  3  a:f"* ]]
    quern diff -o out whole one
    [ "$status" = 0 ]
    same "$(cat out)" "desc: Files compared:   whole; one
cmd: x; x
events: T Ir
fl=a
fn=f
1 -1.5 -3
2 2 0
summary: 0.5 -3"
    quern diff --fail-if='T>+0.5' one two
    [ "$status" = 0 ]
    quern diff --fail-if='T>+0.49' one two
    [ "$status" = 1 ]
    quern diff --fail-if='f:T<-0.1' one whole
    [ "$status" = 1 ]
}

@test "--mod-filename and --mod-funcname: flags, groups, delimiters" {
    printf 'cmd: x\nevents: Ir\nfl=/Old/Src/a.c\nfn=f.part.1.part.2\n1 5\nsummary: 5\n' > one
    printf 'cmd: x\nevents: Ir\nfl=/new/src/a.c\nfn=f\n1 7\nsummary: 7\n' > two
    row() {
        quern diff --show-percs=no "$@" one two
        same "$(sed -n '/file:function/,$p' <<< "$output" | tail -n +3)" "$expected"
    }
    expected=$' 2  /S/a.c:f'
    row --mod-filename='s|^/(?:old\|new)/src|/S|i' --mod-funcname='s/\.part\.\d+//g'
    expected=$' 2  a.c:f'
    row --mod-filename='s{.*/}{}' --mod-funcname='s/ \. part \. \d+ //gx'
    expected=$' 2  a-a.c:g'
    row --mod-filename='s/.*\/(\w)\.c/$1-\1.c/' --mod-funcname='s/^f.*/g/'
    expected=$' 7  a.c:f (new)\n-5  a.c:f.part.2 (gone)' # without g: the first only
    row --mod-filename='s{.*/}{}' --mod-funcname='s/\.part\.\d+//'
    quern diff --mod-funcname='s/f/g/z' one two
    [ "$status" = 2 ]
    [[ "$messages" == "quern: --mod-funcname: 's/f/g/z': "*z* ]]
}

# Eight functions of four events: their deltas are 32 counts. Of A there are 1 to 8, then twice that;
# B stays; C is 8, then 16; D 8, then 32.
@test "many counts, with AddressSanitizer" {
    for n in 1 2; do
        printf 'events: A B C D\nfl=f.c\n'
        for f in 1 2 3 4 5 6 7 8; do
            printf 'fn=f%d\n%d %d %d %d %d\n' $f $f $((n * f)) $f $n $((n * n))
        done
        printf 'summary: %d 36 %d %d\n' $((36 * n)) $((8 * n)) $((8 * n * n))
    done > both
    sed -n 1,19p both > old
    sed -n 20,38p both > new
    export ASAN_OPTIONS=detect_leaks=0
    run "$BUILD/tests/quern-asan" diff old new
    [ "$status" -eq 0 ]
    [[ "$output" =~ 36\ .*36\ .*8\ .*8\ .*"OLD TOTALS" ]]
    [[ "$output" =~ 72\ .*36\ .*16\ .*32\ .*"NEW TOTALS" ]]
}

@test "source lines: what was put behind the end" {
    mkdir v1 v2
    printf 'a\nb\n' > v1/a.c
    printf 'a\nb\nc\nd\n' > v2/a.c
    printf 'events: Ir\nfl=v1/a.c\nfn=f\n1 10\n2 20\nsummary: 30\n' > old
    printf 'events: Ir\nfl=v2/a.c\nfn=f\n1 10\n2 20\n3 1234\n4 5\nsummary: 1269\n' > new
    quern diff --by=line --show-percs=no --mod-filename='s/v[0-9]/vN/' old new
    [ "$status" = 0 ]
    [[ "$output" == *"
Ir        old    new

1,234      -      3  c
    5      -      4  d" ]]
}
