#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern annotate: a row for each function, its files below it, the table of files, and the sources of
# the most expensive functions.

load profile

setup() {
    cd "$BATS_TEST_TMPDIR"
    # f: 500 in x.c, 300 + 100 inlined from h.h, 1 of o.h; g: 90 in x.c; h: 9 in y.c, 1 of o.h.
    # Of 1001.
    printf '%s\n' 'cmd: ./x' 'events: Ir' 'fl=x.c' 'fn=f' '2 500' 'fn=g' '4 90' 'fl=h.h' 'fn=f' \
        '1 300' '2 100' 'fl=y.c' 'fn=h' '1 9' 'fl=o.h' 'fn=f' '3 1' 'fn=h' '3 0' 'summary: 1000' > prof
    for name in x.c h.h y.c; do
        printf '%s\n' "$name:1" "$name:2" "$name:3" "$name:4" "$name:5" > $name
    done
    touch -d '2020-01-01' *.c *.h
}

# The tables of functions and files, without the preamble and the totals.
tables() {
    sed '1,/PROGRAM TOTALS/d; /annotated source/,$d' <<< "$output" | grep -v -e ---- -e '^$'
}

@test "a function is one row, with the files that it has code of, and the files are a table" {
    quern annotate --auto=no prof
    [ "$status" = 0 ]
    same "$(tables)" "Ir            file:function
901 (90.10%)  f
500 (50.00%)    x.c
400 (40.00%)    h.h
  1 ( 0.10%)    o.h
 90 ( 9.00%)  x.c:g
  9 ( 0.90%)  y.c:h
Ir            file, and its functions
590 (59.00%)  x.c
500 (50.00%)    f
 90 ( 9.00%)    g
400 (40.00%)  h.h
400 (40.00%)    f
  9 ( 0.90%)  y.c
  9 ( 0.90%)    h
  1 ( 0.10%)  o.h
  1 ( 0.10%)    f"
}

@test "files below the threshold are left out; the only one left is in the function's name" {
    quern annotate --auto=no --threshold=20 prof
    same "$(tables)" "Ir            file:function
901 (90.10%)  f
500 (50.00%)    x.c
400 (40.00%)    h.h
Ir            file, and its functions
590 (59.00%)  x.c
500 (50.00%)    f
400 (40.00%)  h.h
400 (40.00%)    f"
    sed -i '/^1 300/d; /^2 100/d; s/^summary.*/summary: 600/' prof
    quern annotate --auto=no --threshold=20 prof
    same "$(tables)" "Ir            file:function
501 (83.50%)  x.c:f
Ir            file, and its functions
590 (98.33%)  x.c
500 (83.33%)    f"
}

@test "no second table where each function is in one file" {
    sed -i '/^fl=o.h/,/^3 0/d; /^fl=h.h/,/^2 100/d; s/^summary.*/summary: 599/' prof
    quern annotate --auto=no prof
    same "$(tables)" "Ir            file:function
500 (83.47%)  x.c:f
 90 (15.03%)  x.c:g
  9 ( 1.50%)  y.c:h"
}

@test "--by-file=yes, and cg_annotate: a row for each file of a function" {
    rows="Ir            file:function
500 (50.00%)  x.c:f
400 (40.00%)  h.h:f
 90 ( 9.00%)  x.c:g
  9 ( 0.90%)  y.c:h
  1 ( 0.10%)  o.h:f"
    quern annotate --auto=no --by-file=yes prof
    same "$(tables)" "$rows"
    as cg_annotate --auto=no prof
    same "$(tables)" "$rows"
    as cg_annotate --auto=no --by-file=no prof
    [[ "$(tables)" == *"901 (90.10%)  f"* ]]
}

@test "Callgrind's format: the function's own file and object, then the files" {
    printf '%s\n' 'events: Ir' 'ob=/bin/p' 'fl=x.c' 'fn=f' '2 500' 'fi=h.h' '1 400' 'fe=x.c' '3 5' \
        'fl=y.c' 'fn=f' '1 95' 'summary: 1000' > calls
    quern annotate --auto=no --threshold=100 calls
    # y.c has another function of this name.
    same "$(tables)" "Ir            file:function
905 (90.50%)  x.c:f [/bin/p]
505 (50.50%)    x.c
400 (40.00%)    h.h
 95 ( 9.50%)  y.c:f [/bin/p]
Ir            file, and its functions
505 (50.50%)  x.c
505 (50.50%)    f
400 (40.00%)  h.h
400 (40.00%)    f
 95 ( 9.50%)  y.c
 95 ( 9.50%)    f"
}

@test "--auto=top: the lines of the five most expensive functions whose source is there" {
    {
        printf '%s\n' 'events: Ir' 'fl=gone.c' 'fn=z' '1 1000'
        for i in 1 2 3 4 5 6; do
            printf '%s\n' fl=x.c fn=f$i "$i $((100 - i))"
        done
        echo 'summary: 1579'
    } > many
    for i in 6 7 8; do
        echo "x.c:$i" >> x.c
    done
    touch -d '2020-01-01' x.c
    quern annotate --auto=top --context=0 --show-percs=no --threshold=0 many
    [ "$status" = 0 ]
    same "$(sed '1,/annotated source/d' <<< "$output")" "--------------------------------------------------------------------------------
Ir$(printf ' ')

99  x.c:1
98  x.c:2
97  x.c:3
96  x.c:4
95  x.c:5
-- line 5 ----------------------------------------

--------------------------------------------------------------------------------
Ir$(printf '  ')
--------------------------------------------------------------------------------
485  events annotated"
    # A function counts whole: its header, too. Of 1000 g has no place among one.
    quern annotate --auto=top --context=0 --show-percs=no prof
    [[ "$output" == *"source: x.c"*"500  x.c:2"*"source: h.h"*"300  h.h:1
100  h.h:2"*"source: y.c"* ]]
    # No source at all: which files are missing.
    rm x.c
    quern annotate --auto=top --threshold=0 many
    [[ "$output" == *"could not be found:
--------------------------------------------------------------------------------
  gone.c
  x.c" ]]
}
