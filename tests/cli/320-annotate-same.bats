#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The same tables as the distribution's cg_annotate and callgrind_annotate, line for line, on
# profiles that Valgrind writes here and now. Their order of files and of functions that tie is
# random, so sorted lines are compared. Known differences, each with a test of its own above:
# per-event thresholds, warnings, calls=0, recursion, functions of one name in two objects.

load profile

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    printf '%s\n' '#include "sq.h"' '#include <stdio.h>' '#include <stdlib.h>' \
        'static int cmp(const void *a, const void *b)' '{' \
        '    return *(const int *)a - *(const int *)b;' '}' \
        'int main(int argc, char **argv)' '{' '    int a[300], s = 0;' '    (void)argv;' \
        '    for (int i = 0; i < 300; i++)' '        a[i] = sq(i * 7919 % 1000);' \
        '    qsort(a, 300, sizeof(int), cmp);' '    for (int i = 0; i < 300; i++)' \
        '        s += i * a[i] * argc;' \
        '    printf("%d\n", s);' '    return 0;' '}' > prog.c
    printf '%s\n' 'static inline __attribute__((always_inline)) int sq(int x)' '{' \
        '    int r = x * x;' \
        '    if (r > 1000)' '        r -= 3;' '    return r;' '}' > sq.h
    gcc -g -O1 -o prog prog.c
    touch -d '2020-01-01' prog.c sq.h
    valgrind -q --tool=cachegrind --cache-sim=yes --branch-sim=yes --cachegrind-out-file=cg ./prog \
        > /dev/null 2>&1
    valgrind -q --tool=callgrind --callgrind-out-file=cl ./prog > /dev/null 2>&1
    valgrind -q --tool=callgrind --cache-sim=yes --dump-instr=yes --collect-jumps=yes \
        --callgrind-out-file=cli ./prog > /dev/null 2>&1
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

check_same() {
    "$1" "${@:2}" 2> /dev/null | sort > "$BATS_TEST_TMPDIR/theirs"
    [ -s "$BATS_TEST_TMPDIR/theirs" ]
    "$BUILD/bin/$(basename "$1")" "${@:2}" | sort > "$BATS_TEST_TMPDIR/ours"
    diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours" | head -20 | sed 's/^/# /'
    cmp -s "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
}

@test "cg_annotate: every combination of options" {
    for show in '' --show=Ir --show=Bim,Dw,Ir; do
        for sort in '' --sort=Bcm --sort=Dw,Dr; do
            for rest in '' --auto=no --show-percs=no --context=1 --context=100 --threshold=0 \
                '--threshold=20'; do
                check_same /usr/bin/cg_annotate $show $sort $rest cg || {
                    echo "# $show $sort $rest"
                    return 1
                }
            done
        done
    done
}

# "file:function number" of every function, summed over objects.
functions() {
    "$@" --auto=no --show-percs=no --threshold=100 2> /dev/null |
        awk '/file:function$/ { n = NF - 1; on = 1; next } on && /^$/ { exit }
             on && !/^---/ { sub(/ \[[^]]*\]$/, ""); v = ""; for (i = 1; i <= n; i++) v = v " " $i;
                 name = $0; for (i = 1; i <= n; i++) sub(/^ *[^ ]+/, "", name); gsub(/,|\./, "", v);
                 split(v, c, " "); for (i = 1; i <= n; i++) sum[name " " i] += c[i] }
             END { for (k in sum) if (sum[k]) print k, sum[k] }' | sort
}

@test "callgrind_annotate: every function" {
    for file in cl cli; do
        functions /usr/bin/callgrind_annotate $file > "$BATS_TEST_TMPDIR/theirs"
        functions "$BUILD/bin/callgrind_annotate" $file > "$BATS_TEST_TMPDIR/ours"
        [ "$(wc -l < "$BATS_TEST_TMPDIR/theirs")" -gt 100 ]
        diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours" | head -20
        cmp "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
    done
}

@test "what we write, their tools read: the same functions" {
    quern convert --to=callgrind -o ours cli
    functions /usr/bin/callgrind_annotate cli > "$BATS_TEST_TMPDIR/before"
    functions /usr/bin/callgrind_annotate ours > "$BATS_TEST_TMPDIR/after"
    cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
    quern convert --to=cachegrind -o ours cg
    /usr/bin/cg_annotate --auto=no cg | grep -v '^Data file' | sort > "$BATS_TEST_TMPDIR/before"
    /usr/bin/cg_annotate --auto=no ours | grep -v '^Data file' | sort > "$BATS_TEST_TMPDIR/after"
    cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}

@test "cg_merge and cg_diff: the same profiles" {
    cp cg cg2
    /usr/bin/cg_merge -o theirs cg cg2 2> /dev/null
    as cg_merge -o merged cg cg2
    quern convert --to=cachegrind -o theirs.sorted theirs
    cmp theirs.sorted merged
    sed 's/^fn=main$/fn=main2/; s/^12 /12 9/' cg > cg3
    sed -i '/^summary/d' cg3
    quern convert --to=cachegrind -o cg4 cg3
    /usr/bin/cg_diff --mod-funcname='s/main2/main/' cg cg4 > theirs 2> /dev/null
    as cg_diff --mod-funcname='s/main2/main/' cg cg4
    quern convert --to=cachegrind -o theirs.sorted theirs
    as cg_diff --mod-funcname='s/main2/main/' cg cg4
    same "$output" "$(cat theirs.sorted)"
}
