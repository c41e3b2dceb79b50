#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The man pages: their lists of options are those of the program, and `quern help COMMAND` shows
# them to a person.

load run

@test "the man pages list the options of the program" {
    status=0
    "$ROOT/scripts/man-options" --check "$QUERN" 2> differences || status=$?
    same "$(< differences)" ""
    [ "$status" = 0 ]
}

@test "each option in the table of flags is in the man page of quern run" {
    mkdir -p scripts docs/man share
    cp "$ROOT/scripts/man-options" scripts
    cp "$ROOT/docs/man/quern-run.1" docs/man
    # --aslr is called --no-aslr; a flag without an option has no name.
    sed 's/"--aslr"/"--no-aslr"/' "$ROOT/share/options.def" > share/options.def
    status=0
    scripts/man-options --check "$QUERN" 2> differences || status=$?
    [ "$status" = 1 ]
    same "$(< differences)" "share/options.def: --no-aslr is not in docs/man/quern-run.1"
    cp "$ROOT/share/options.def" share
    scripts/man-options --check "$QUERN"
}

@test "an option that a page lacks, has too much, or names otherwise is found and mended" {
    mkdir -p scripts docs/man
    cp "$ROOT/scripts/man-options" scripts
    cp "$ROOT/docs/man/quern-check.1" docs/man
    # --notes is missing, --strict is --strictly, and there is --more.
    sed -e '/^\.TP$/{N;N;/notes/d}' -e 's/strict/strictly/' \
        -e 's/^\.\\" end.*/.TP\n\\fB\\-\\-more\\fR\nmore\n&/' "$ROOT/docs/man/quern-check.1" \
        > docs/man/quern-check.1
    [ "$(diff "$ROOT/docs/man/quern-check.1" docs/man/quern-check.1 | grep -c '^[<>]')" = 8 ]
    status=0
    scripts/man-options --check "$QUERN" 2> differences || status=$?
    [ "$status" = 1 ]
    same "$(tail -1 differences)" "docs/man/quern-check.1: the options are not those of the \
program; scripts/man-options mends it"
    scripts/man-options "$QUERN" 2> gone
    same "$(< gone)" 'docs/man/quern-check.1: no such option:  \fB\-\-strictly\fR
docs/man/quern-check.1: no such option:  \fB\-\-more\fR'
    scripts/man-options --check "$QUERN"
    # What an option means is taken from its help, which is what the page said.
    same "$(diff "$ROOT/docs/man/quern-check.1" docs/man/quern-check.1)" ""
}

# Something called `man`, by its lines.
make_man() {
    mkdir bin
    printf '%s\n' '#!/bin/sh' "$@" > bin/man
    chmod +x bin/man
}

at_terminal() {
    output=$(PATH=$PWD/bin:$PATH command script -qec "'$QUERN' help $1" /dev/null | tr -d '\r')
}

@test "quern help COMMAND shows the manual at a terminal, the help elsewhere" {
    make_man 'echo "the manual: $*"'
    at_terminal merge
    same "$output" "the manual: quern-merge"
    PATH=$PWD/bin:$PATH quern help merge
    [[ "$output" == "usage: quern merge "* ]]
}

@test "quern help COMMAND shows the help where there is no manual" {
    make_man 'echo "No manual entry for $1" >&2' 'exit 16'
    at_terminal merge
    same "$output" "$("$QUERN" merge --help)"
}
