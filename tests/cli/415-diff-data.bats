#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern diff of two profiles of the data: by object, in words, and limits on objects.

load profile

# matrix: 100 and 150 misses, all of sum; the list only in the new one.
setup() {
    cd "$BATS_TEST_TMPDIR"
    head='# callgrind format\nversion: 1\npid: 7\ncmd: ./p\ndesc: Functions: objects of the data\npositions: line\nevents: D1mr D1mw\n\nob=/%s/p\n'
    printf "$head"'fl=???\nfn=static: matrix\n0 100 5\nfl=a.c\nfn=sum\ncfi=???\ncfn=static: matrix\ncalls=105 0\n12 100 5\n' old > old
    printf "$head"'fl=???\nfn=static: matrix\n0 150 5\nfl=a.c\nfn=heap: build (a.c:8)\n8 7 0\nfn=sum\ncfi=???\ncfn=static: matrix\ncalls=155 0\n12 150 5
fn=find\ncfn=heap: build (a.c:8)\ncalls=7 8\n30 7 0\n' new > new
}

@test "the title says objects" {
    quern diff --show-percs=no old new
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(tail -n 4 <<< "$output")" "\
D1mr D1mw  file:object (new - old)
--------------------------------------------------------------------------------
  50    0  ???:static: matrix [p]
   7    0  a.c:heap: build (a.c:8) (new)"
    quern diff --show-percs=no --by=edge old new
    same "$(tail -n 4 <<< "$output")" "\
D1mr D1mw  function => object (misses before -> now)
--------------------------------------------------------------------------------
  50    0  a.c:sum => ???:static: matrix [p] (105x -> 155x)
   7    0  a.c:find => a.c:heap: build (a.c:8) (0x -> 7x)"
}

@test "a limit on an object, by its name, with and without its kind" {
    for name in 'static: matrix' matrix 'static: m*'; do
        quern diff --fail-if="$name:D1mr>+10%" old new
        [ "$status" = 1 ]
        quern diff --fail-if="$name:D1mr>+60%" old new
        [ "$status" = 0 ]
        same "$messages" ""
    done
    quern diff --fail-if='matrix:D1mr>+10%' old new
    same "$messages" "quern: limit exceeded: matrix:D1mr>+10%: D1mr was 100 and is 150 (+50.00%); most in static: matrix +50"
    # 107 of all in the old one, 157 now: (157 - 100) / 100
    quern diff --fail-if='D1mr>+56%' old new
    [ "$status" = 1 ]
}

@test "words of a limit that has no object" {
    quern diff --fail-if='table:D1mr>+10%' old new
    [ "$status" = 2 ]
    same "$messages" "quern: --fail-if=table:D1mr>+10%: neither profile has an object 'table' (--missing=ok: no error)"
    quern diff --fail-if='heap: *:D1mr>+10%' new old
    [[ "$messages" == *"has no object"* ]]
    quern diff --to=markdown old old
    [[ "$output" == *"No object changed."* ]]
    quern diff --to=markdown old new
    [[ "$output" == *" object |"* ]]
}

@test "profiles of the code keep their words" {
    sed '/Functions:/d' old > code
    quern diff --show-percs=no code code --fail-if='table:D1mr>+10%'
    same "$messages" "quern: --fail-if=table:D1mr>+10%: neither profile has a function 'table' (--missing=ok: no error)"
    # without a kind nothing is an object
    quern diff code code --fail-if='matrix:D1mr>+10%'
    [ "$status" = 2 ]
    [[ "$output" == *"file:function (new - old)"* ]]
}
