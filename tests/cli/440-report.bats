#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern report: its options, and what it takes from several profiles. The page itself is looked at by
# tests/report.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    CALLS=$GOLDEN/calls.callgrind
}

@test "--max-size: what is no size" {
    for size in 0 '' K 12x -1 1T 18014398509481984G; do
        quern report --max-size="$size" "$CALLS"
        [ "$status" = 2 ]
        same "$messages" "quern: --max-size=$size: must be a number of bytes, with K, M or G behind it"
    done
    same "$(ls)" ""
}

# 2,048 bytes, said in bytes whatever unit they were given in: less than any report has.
@test "--max-size: too small for the sources" {
    for i in {1..3000}; do printf 'int line_%d_of_many;\n' $RANDOM$i; done > big.c
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=big.c' 'fn=f' '1 60' 'totals: 60' > p
    touch -d 2020-01-01 big.c
    for size in 2048 2K; do
        quern report --max-size=$size -o out.html p
        [ "$status" = 0 ]
        [[ "$messages" == *"to stay below 2048 bytes; --max-size changes that"* ]]
    done
    quern report --max-size=1G -o out.html p
    [ "$status" = 0 ]
    same "$messages" "quern: out.html: 1 source is in it, 0 not found"
}

@test "two profiles whose events differ" {
    printf '%s\n' 'version: 1' 'events: Ir' 'fl=a.c' 'fn=f' '1 60' 'totals: 60' > one
    printf '%s\n' 'version: 1' 'events: Dr' 'fl=a.c' 'fn=f' '1 60' 'totals: 60' > other
    quern report --base=other -o out.html one
    [ "$status" = 2 ]
    same "$messages" "quern: one: its events (Ir) are not those (Dr) of other; only like can be added or compared"
    [ ! -e out.html ]
}
