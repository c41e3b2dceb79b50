# SPDX-License-Identifier: MIT
#
# For the tests of the profile commands: runs them in a folder of its own for each test. BUILD is
# the build folder, absolute or relative to the root.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in
/*) ;;
*) BUILD=$ROOT/$BUILD ;;
esac
GOLDEN=$ROOT/tests/golden

# By a traditional name: as cg_diff --help. $output is standard output, $messages standard error;
# standard input is that of the caller.
as() {
    local name=$1
    shift
    status=0
    output=
    messages=
    "$BUILD/bin/$name" "$@" > .out 2> .err || status=$?
    # Each $() is a process.
    [ ! -s .out ] || output=$(< .out)
    [ ! -s .err ] || messages=$(< .err)
}

quern() {
    as quern "$@"
}

# Standard output goes to the first argument.
quern_to() {
    local to=$1
    shift
    status=0
    "$BUILD/bin/quern" "$@" > "$to" 2> .err || status=$?
    messages=$(< .err)
}

# Two texts are the same; the difference is shown when not.
same() {
    [ "$1" = "$2" ] || {
        diff <(printf '%s\n' "$1") <(printf '%s\n' "$2") | sed 's/^/# /'
        return 1
    }
}

# $output with a bar behind each line that ends in a blank, so that the blank can be seen in a test.
ends() {
    sed 's/ $/ |/' <<< "$output"
}
