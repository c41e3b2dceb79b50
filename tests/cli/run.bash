# SPDX-License-Identifier: MIT
#
# For the tests of `quern run`, the finisher and recover: a folder of its own for each test, a small
# program whose functions, lines and addresses are known, and the stand-in for the engine
# (tests/cli/engine.c). BUILD is the build folder, absolute or relative to the root.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in
/*) ;;
*) BUILD=$ROOT/$BUILD ;;
esac
QUERN=$BUILD/bin/quern

setup() {
    FOLDER=$(cd "$(mktemp -d "$BATS_TEST_TMPDIR/XXXXXX")" && pwd -P)
    cd "$FOLDER" || return 1
    export QUERN_ENGINE=$BUILD/tests/cli_engine
    export QUERN_TEST_SPOOL=$FOLDER/script
    export QUERN_TEST_FINISHER=$BUILD/libexec/quern/quern-finish
    unset NO_COLOR DEBUGINFOD_URLS
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    echo 'end exit 0' > script
}

# A program of two instructions at lines 4 and 5 of prog.S, function f, linked at 0x400000 so that
# its text is at 0x401000 (file offset 0x1000).
make_prog() {
    printf '%s\n' '.text' '.globl _start, f' '.type f, @function' 'f: nop' 'ret' '.size f, .-f' \
        '_start: nop' > prog.S
    gcc -g -nostdlib -static -no-pie -Wl,-Ttext-segment=0x400000 -o prog prog.S
}

# Reads a script for the stand-in from standard input.
script() {
    cat > script
}

# `quern` keeps standard output and standard error apart here: $output is standard output, $messages
# the rest, with the process id of the run replaced by PID and, where a line ends in a blank, a $
# behind it.
quern() {
    status=0
    output=
    messages=
    "$QUERN" "$@" > stdout 2> stderr || status=$?
    [ ! -s stdout ] || output=$(< stdout)
    [ ! -s stderr ] || messages=$(< stderr)
    # A process for those that need it alone: there are thousands.
    [[ ! $messages$'\n' =~ \ $'\n'|==[0-9]+==|(spool|out)\.[0-9] ]] ||
        messages=$(sed -E 's/ $/ $/; s/==[0-9]+==/==PID==/; s/(spool|out)\.[0-9]+/\1.PID/g' stderr)
}

# Two texts are the same; the difference is shown when not.
same() {
    [ "$1" = "$2" ] || {
        diff <(printf '%s\n' "$1") <(printf '%s\n' "$2") | sed 's/^/# /'
        return 1
    }
}
