#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Profiles with estimated cycles and their causes: what annotate and diff show of them, and what a
# limit on them says. Written by hand: the causes of each line add up to its cycles, and of what
# grows from the old to the new one line 2 waits 400 cycles longer for data.

load profile

# Of each line: Ir D1mr, then Cy and CyBase CyFront CyBad CyMem CyTLB CyCore.
setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir src
    printf '%s\n' one two three four five six seven eight nine > src/a.c
    touch -d '2020-01-01' src/a.c
    printf '%s\n' 'desc: Machine:          zen4,detail=all' 'cmd: ./old' \
        'events: Ir D1mr Cy CyBase CyFront CyBad CyMem CyTLB CyCore' 'fl=src/a.c' 'fn=walk' \
        '2 400 10 1000 100 0 50 700 50 100' '3 200 0 200 50 50 0 0 0 100' 'fn=mul' \
        '9 300 0 800 75 25 0 0 0 700' 'summary: 900 10 2000 225 75 50 700 50 900' > old
    printf '%s\n' 'desc: Machine:          zen4,detail=all' 'cmd: ./new' \
        'events: Ir D1mr Cy CyBase CyFront CyBad CyMem CyTLB CyCore' 'fl=src/a.c' 'fn=walk' \
        '2 400 40 1400 100 0 50 1100 50 100' '3 200 0 210 50 55 0 0 0 105' 'fn=mul' \
        '9 300 0 790 75 15 0 0 0 700' 'summary: 900 40 2400 225 70 50 1100 50 905' > new
}

# Of 2,000 cycles 700 wait for data: 35 %. Line 2: 700 of 1,000.
@test "annotate: the cycles first, their causes as shares of the row, the instructions" {
    quern annotate --context=0 old
    [ "$status" = 0 ]
    same "$(ends)" "--------------------------------------------------------------------------------
Machine:          zen4,detail=all
Command:          ./old
Data file:        old
Events recorded:  Ir D1mr Cy CyBase CyFront CyBad CyMem CyTLB CyCore
Events shown:     Cy CyBase CyFront CyBad CyMem CyTLB CyCore Ir
Causes of Cy:     shares of the row's cycles; --show=Cy,CyMem prints counts
Event sort order: Cy CyBase CyFront CyBad CyMem CyTLB CyCore Ir
Thresholds:       0.1 100 100 100 100 100 100 100
Include dirs:     |
User annotated:   |
Auto-annotation:  on

--------------------------------------------------------------------------------
Cy             CyBase CyFront  CyBad  CyMem  CyTLB CyCore Ir           |
--------------------------------------------------------------------------------
2,000 (100.0%)  11.2%    3.8%   2.5%  35.0%   2.5%  45.0% 900 (100.0%)  PROGRAM TOTALS

--------------------------------------------------------------------------------
Cy             CyBase CyFront  CyBad  CyMem  CyTLB CyCore Ir            file:function
--------------------------------------------------------------------------------
1,200 (60.00%)  12.5%    4.2%   4.2%  58.3%   4.2%  16.7% 600 (66.67%)  src/a.c:walk
  800 (40.00%)   9.4%    3.1%      0      0      0  87.5% 300 (33.33%)  src/a.c:mul

--------------------------------------------------------------------------------
-- Auto-annotated source: src/a.c
--------------------------------------------------------------------------------
Cy             CyBase CyFront  CyBad  CyMem  CyTLB CyCore Ir           |

-- line 2 ----------------------------------------
1,000 (50.00%)  10.0%       0   5.0%  70.0%   5.0%  10.0% 400 (44.44%)  two
  200 (10.00%)  25.0%   25.0%      0      0      0  50.0% 200 (22.22%)  three
-- line 3 ----------------------------------------
-- line 9 ----------------------------------------
  800 (40.00%)   9.4%    3.1%      0      0      0  87.5% 300 (33.33%)  nine
-- line 9 ----------------------------------------

--------------------------------------------------------------------------------
Cy             CyBase CyFront  CyBad  CyMem  CyTLB CyCore Ir           |
--------------------------------------------------------------------------------
2,000 (100.0%)  11.2%    3.8%   2.5%  35.0%   2.5%  45.0% 900 (100.0%)  events annotated"
}

@test "annotate: what was asked for is counts, as are differences, and what cg_annotate prints" {
    quern annotate --auto=no --show-percs=no --show=CyMem,D1mr old
    [[ "$output" == *"Events shown:     CyMem D1mr
Event sort order: Cy CyBase"* ]]
    [[ "$output" == *"
  700   10  src/a.c:walk
    0    0  src/a.c:mul"* ]]
    quern annotate --auto=no --show-percs=no old
    [[ "$output" == *"
1,200    150      50    50   700    50    200 600  src/a.c:walk"* ]]
    quern annotate --auto=no --sort=CyCore old
    [[ "$output" == *"src/a.c:mul"*"src/a.c:walk"* ]]
    quern annotate --auto=no --diff old new
    [[ "$output" == *"
410 (102.5%)"*"src/a.c:walk"* && "$output" == *"400 (100.0%)"* && "$output" != *"Causes of Cy"* ]]
    as cg_annotate --auto=no --show-percs=no old
    [[ "$output" == *"Events shown:     Ir D1mr Cy CyBase CyFront CyBad CyMem CyTLB CyCore
Event sort order: Ir D1mr"* ]]
    [[ "$output" == *"
600   10 1,200    150      50    50   700    50    200  src/a.c:walk"* ]]
}

# In all 400 cycles more: mul has 10 less, all of them of fetch, so in all fetch has 5 less.
@test "annotate: of a difference, what is no share is a count" {
    quern diff -o difference old new
    quern annotate --auto=no difference
    same "$(grep -E 'TOTALS|a.c:' <<< "$output")" "400 (100.0%)      0      -5      0 100.0%      0   1.2% 0           PROGRAM TOTALS
410 (102.5%)      0    1.2%      0  97.6%      0   1.2% 0           src/a.c:walk
-10 (-2.50%)      0     -10      0      0      0      0 0           src/a.c:mul"
}

@test "annotate, diff: without all causes the events are as in the profile" {
    sed 's/CyTLB/Other/' old > p
    quern annotate --auto=no p
    [[ "$output" == *"Events shown:     Ir D1mr Cy CyBase CyFront CyBad CyMem Other CyCore
Event sort order: Ir D1mr"* ]]
    quern diff p p
    [[ "$output" == *"Events shown:     Ir D1mr Cy CyBase"* ]]
}

@test "diff: cycles, causes and instructions; sorted by cycles" {
    quern diff --show-percs=no old new
    [ "$status" = 0 ]
    [[ "$output" == *"Events shown:     Cy CyBase CyFront CyBad CyMem CyTLB CyCore Ir
"* ]]
    same "$(tail -n 3 <<< "$output")" "--------------------------------------------------------------------------------
410      0       5     0   400     0      5  0  src/a.c:walk
-10      0     -10     0     0     0      0  0  src/a.c:mul"
}

TOTAL='Cy was 2,000 and is 2,400 (+20.00%); waiting for data (CyMem +400) grew most; most in walk +410 (CyMem +400) at src/a.c:2 +400 (CyMem +400), src/a.c:3 +10 (CyFront +5)'
EACH='Cy of 1 function: walk was 1,200 and is 1,610 (+34.17%) (CyMem +400) at src/a.c:2 +400 (CyMem +400), src/a.c:3 +10 (CyFront +5)'
FALLS='Cy was 800 and is 790 (-1.25%); fetch and decoding (CyFront -10) fell most; most in mul -10 (CyFront -10) at src/a.c:9 -10 (CyFront -10)'

@test "a limit on cycles names the cause that grew most: of all, of functions, of lines" {
    quern diff --fail-if='Cy>+2%' --fail-if='*:Cy>+5%' --fail-if='mul:Cy<800' old new
    [ "$status" = 1 ]
    same "$messages" "quern: limit exceeded: Cy>+2%: $TOTAL
quern: limit exceeded: *:Cy>+5%: $EACH
quern: limit exceeded: mul:Cy<800: $FALLS"
    quern diff --fail-if='Cy>+20%' --fail-if='*:Cy>+35%' old new
    [ "$status" = 0 ]
    same "$messages" ""
    # A limit on a cause, or on another event, has no cause.
    quern diff --fail-if='CyMem>+1' --fail-if='D1mr>+1' old new
    [ "$status" = 1 ]
    same "$messages" "quern: limit exceeded: CyMem>+1: CyMem was 700 and is 1,100 (+57.14%); most in walk +400 at src/a.c:2 +400
quern: limit exceeded: D1mr>+1: D1mr was 10 and is 40 (+300.00%); most in walk +30 at src/a.c:2 +30"
    # Nothing grew.
    quern diff --fail-if='Cy>1' old old
    same "$messages" "quern: limit exceeded: Cy>1: Cy was 2,000 and is 2,000 (+0.00%)"
}

# Inclusive, the growth is that of the call: main itself is as it was.
@test "a limit on cycles with what a function calls" {
    for n in 700 1100; do
        printf '%s\n' 'events: Ir Cy CyBase CyFront CyBad CyMem CyTLB CyCore' 'fl=a.c' 'fn=main' \
            '1 10 20 20 0 0 0 0 0' 'cfn=walk' 'calls=1 5' "2 400 $((n + 300)) 300 0 0 $n 0 0" \
            'fn=walk' "5 400 $((n + 300)) 300 0 0 $n 0 0" > calls.$n
    done
    quern diff --inclusive=yes --fail-if='main:Cy>+2%' calls.700 calls.1100
    [ "$status" = 1 ]
    same "$messages" "quern: limit exceeded: main:Cy>+2%: Cy was 1,020 and is 1,420 (+39.22%); waiting for data (CyMem +400) grew most; most in main +400 (CyMem +400) at a.c:2 +400 (CyMem +400)"
}

@test "markdown: by cause, with its meaning, and by function" {
    quern diff --to=markdown --fail-if='Cy>+2%' --fail-if='*:Cy>+50%' old new
    [ "$status" = 1 ]
    same "$output" "### \`./new\`

| event | old | new | change | |
| --- | ---: | ---: | ---: | ---: |
| \`Cy\` estimated cycles | 2,000 | 2,400 | +400 | +20.00% |
| \`CyBase\` useful work | 225 | 225 | 0 |  |
| \`CyFront\` fetch and decoding | 75 | 70 | -5 | -6.67% |
| \`CyBad\` mispredictions | 50 | 50 | 0 |  |
| \`CyMem\` waiting for data | 700 | 1,100 | +400 | +57.14% |
| \`CyTLB\` translation of addresses | 50 | 50 | 0 |  |
| \`CyCore\` units and dependencies | 900 | 905 | +5 | +0.56% |
| \`Ir\` | 900 | 900 | 0 |  |

| limit | | |
| --- | --- | --- |
| \`Cy>+2%\` | **exceeded** | $TOTAL |
| \`*:Cy>+50%\` | within | Cy of no function exceeds it |

| \`Cy\` | \`CyBase\` | \`CyFront\` | \`CyBad\` | \`CyMem\` | \`CyTLB\` | \`CyCore\` | \`Ir\` | function |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| +410 | 0 | +5 | 0 | +400 | 0 | +5 | 0 | \`src/a.c:walk\` |
| -10 | 0 | -10 | 0 | 0 | 0 | 0 | 0 | \`src/a.c:mul\` |"
}

@test "junit and sarif have the same sentence, json the cause and all events" {
    quern diff --to=junit --fail-if='Cy>+2%' old new
    [[ "$output" == *"<failure type=\"limit\" message=\"$TOTAL\">$TOTAL</failure>"* ]]
    quern diff --to=sarif --fail-if='Cy>+2%' old new
    [[ "$output" == *"{\"text\":\"Limit exceeded: Cy>+2%: $TOTAL.\"}"* ]]
    [[ "$output" == *'{"text":"walk: Cy was 1,200 and is 1,610 (+34.17%)."}'* ]]
    quern diff --to=json --fail-if='Cy>+2%' --fail-if='D1mr>+1' old new
    python3 - "$output" << 'END'
import json, sys
d = json.loads(sys.argv[1])
assert [e["event"] for e in d["events"]] == "Ir D1mr Cy CyBase CyFront CyBad CyMem CyTLB CyCore".split(), d
cycles, misses = d["limits"]
grew = {"event": "CyMem", "old": 700, "new": 1100}
assert cycles["cause"] == grew, cycles
(walk,) = cycles["where"]
assert walk["cause"] == grew, walk
assert [line["cause"] for line in walk["lines"]] == [grew, {"event": "CyFront", "old": 50, "new": 55}], walk
assert "cause" not in misses and "cause" not in misses["where"][0], misses
END
}

# 900 + 10 * 10 + 0: of the misses of D1. With a base both sides have it.
@test "CEst, which reports do not show beside cycles, is there when it is asked for" {
    quern annotate --auto=no --show-percs=no --show=CEst old
    [[ "$output" == *"
1,000  PROGRAM TOTALS"* ]]
    quern report --event=CEst --base=old -o r.html new
    [ "$status" = 0 ]
    grep -q 'in <bdi>CEst</bdi>:' r.html
    quern report -o r.html new
    grep -q 'in <bdi>Cy</bdi>:' r.html
    [ "$(grep -c '<bdi>CEst</bdi>' r.html)" = 0 ]
}
