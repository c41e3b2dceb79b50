#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Counters that no program can have, as a program leaves them that writes at random into the engine's
# memory, and sums beyond 64 bits: what is sound is in the profile, what is not is counted.

load run

# 2^60 is the first number that is damaged.
LIMIT=1152921504606846976

@test "a damaged counter of executions is left out, and counted" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'block 0x401001 0 1' \
        'block 0x401001 0 1' "counter 0 $((LIMIT - 1))" "counter 1 $LIMIT" 'counter 2 7' \
        'end exit 0' > script
    quern run -q --cache-sim=no --dump-counts=counts -o out ./prog
    [ "$status" = 0 ]
    same "$messages" "quern: $PWD/out: 1 records of the run were damaged and are not in the profile"
    same "$(sed -n '/^fn/,$p' out)" "fn=f
4 $((LIMIT - 1))
5 7
summary: $((LIMIT + 6))"
    same "$(< counts)" "401000 $((LIMIT - 1)) $PWD/prog+1000
401001 7 $PWD/prog+1001"
    # All 64 bits, of a thread that is not the first; and one of several blocks together.
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'block 0x401001 0 1' \
        'sum 0 1' 'counter 0 5' 'counter 1 18446744073709551615 1' 'counter 2 18446744073709551615' \
        'end exit 0' > script
    quern run -q --cache-sim=no -o out ./prog
    same "$messages" "quern: $PWD/out: 2 records of the run were damaged and are not in the profile"
    same "$(tail -n 1 out)" "summary: 5"
}

@test "a damaged counter of misses is left out, and counted" {
    make_prog
    # Counters: 0 executions; I1mr ILmr (1, 2), D1mr DLmr (3, 4).
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1F:1,0' 'counter 0 10' \
        "counter 1 $LIMIT" 'counter 2 2' 'counter 3 18446744073709551615' 'counter 4 1' \
        'end exit 0' > script
    for how in '' --calls=yes; do
        quern run -q $how -o out ./prog
        same "$messages" "quern: $PWD/out: 2 records of the run were damaged and are not in the \
profile"
        # Ir I1mr ILmr Dr D1mr DLmr, or Ir Dr Dw I1mr D1mr D1mw ILmr DLmr.
        case $how in
        '') same "$(tail -n 1 out)" "summary: 10 0 2 10 0 1 0 0 0" ;;
        *) same "$(grep '^totals' out)" "totals: 10 10 0 0 0 0 2 1 0" ;;
        esac
    done
}

@test "what would make a sum larger than 64 bits is left out, and counted" {
    make_prog
    # 17 times 2^60 - 1: 16 of these fit, and seven more.
    {
        echo 'map 0x401000 0x402000 0x1000 @ 0'
        for i in $(seq 17); do echo 'block 0x401000 0 1'; done
        echo 'block 0x401001 0 1'
        for i in $(seq 0 16); do echo "counter $i $((LIMIT - 1))"; done
        printf '%s\n' 'counter 17 7' 'end exit 0'
    } > script
    for how in '' --calls=yes; do
        quern run -q --cache-sim=no $how -o out ./prog
        [ "$status" = 0 ]
        same "$messages" "quern: $PWD/out: 1 records of the run were damaged and are not in the \
profile"
        # 16 * (2^60 - 1) + 7 = 2^64 - 9
        same "$(grep '^summary\|^totals' out | tail -n 1)" \
            "$([ "$how" ] && echo totals || echo summary): 18446744073709551607"
    done
    # References: 2^60 - 1 executions of one that reads 15 times are 15 * 2^60 - 15, which fits, with
    # those of one that reads twice they do not, and its executions are left out with them.
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1:15,0' 'block 0x401001 0 1:2,0' \
        "counter 0 $((LIMIT - 1))" "counter 3 $((LIMIT - 1))" 'end exit 0' > script
    quern run -q -o out ./prog
    same "$messages" "quern: $PWD/out: 1 records of the run were damaged and are not in the profile"
    same "$(tail -n 1 out)" "summary: $((LIMIT - 1)) 0 0 17293822569102704625 0 0 0 0 0"
}

@test "damaged executions in part" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 3' \
        "partial 0 1 $LIMIT" 'end exit 0' > script
    quern run -q --cache-sim=no -o out ./prog
    same "$messages" "quern: $PWD/out: 1 records of the run were damaged and are not in the profile"
    same "$(tail -n 1 out)" "summary: 6"
}

@test "damaged counters of calls" {
    make_prog
    # Counters 2 to 5: how often and what it costs, of two calls.
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'block 0x401002 0 1' \
        'edge 1 0x401002 0x401000' 'edge 1 0x401001 0x401000' 'counter 0 5' 'counter 1 3' \
        'counter 2 2' 'counter 3 10' 'counter 4 3' 'counter 5 9223372036854775808' \
        'end exit 0' > script
    quern run -q --cache-sim=no --calls=yes -o out ./prog
    [ "$status" = 0 ]
    same "$messages" "quern: $PWD/out: 1 records of the run were damaged and are not in the profile"
    same "$(grep -A1 '^calls' out | grep -o ' 10$\|^calls=2')" "calls=2
 10"
    same "$(grep -c ^calls out)" 1
    # A recursion of many levels may have much.
    sed -i 's/ 9223372036854775808/ 9223372036854775807/' script
    quern run -q --cache-sim=no --calls=yes -o out ./prog
    same "$messages" ""
    same "$(grep -c ^calls out)" 2
}
