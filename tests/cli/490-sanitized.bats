#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The commands on every golden file, built with the sanitizers: whatever is in a file, none touches
# memory that is not its own. What they print is tested elsewhere.

load profile

sanitized() {
    local f
    export ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
    for f in "$GOLDEN"/*grind; do
        status=0
        "$BUILD/tests/quern-asan" "$@" "$f" > out 2> err || status=$?
        [ "$status" -le 2 ] || {
            echo "# quern $* $f: status $status"
            grep -m1 -E 'ERROR|runtime error' err | sed 's/^/# /'
            return 1
        }
    done
}

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "annotate" {
    sanitized annotate --inclusive=yes --tree=both --context=1
}

@test "convert to stacks" {
    sanitized convert --to=folded
    sanitized convert --to=speedscope
}

@test "convert to a graph and to JSON" {
    sanitized convert --to=dot
    sanitized convert --to=json
}

@test "diff with another" {
    sanitized diff --by=function,edge,line "$GOLDEN/simple.callgrind"
}

@test "by part, and merged side by side" {
    sanitized annotate --by-part --threshold=0
    sanitized merge --parts=yes "$GOLDEN/calls.callgrind"
    sanitized merge --parts=yes
}
