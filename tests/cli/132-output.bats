#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Where profiles and other output go: what a stranger put in their place in a folder like /tmp, links,
# pipes.

load run

NOBODY=65534

counted() {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' \
        "${1:-end exit 3}" > script
}

need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root, to own files as somebody else"
}

# A folder like /tmp with a link to victim of each owner.
links() {
    mkdir sticky
    chmod 1777 sticky
    echo precious > victim
    ln -s ../victim sticky/mine
    ln -s ../victim sticky/theirs
    chown -h $NOBODY sticky/theirs
}

@test "a stranger's link in a folder like /tmp is not followed, one's own is" {
    need_root
    counted
    links
    for how in '-o sticky/theirs' '-o out --dump-counts=sticky/theirs' '--calls=yes -o sticky/theirs'; do
        quern run -q --cache-sim=no $how ./prog
        [ "$status" = 3 ]
        [[ "$messages" == "quern: $PWD/sticky/theirs: cannot be written: Permission denied; the \
counts are kept: "* ]]
        same "$(cat victim)" precious
        quern recover -q -o sticky/theirs quern.spool.* sticky/quern.spool.* || true
        same "$(cat victim)" precious
        rm -f quern.spool.* sticky/quern.spool.*
    done
    ln -s theirs sticky/chain # through one's own to the stranger's
    quern run -q --cache-sim=no -o sticky/chain ./prog
    same "$(cat victim)" precious
    quern run -q --cache-sim=no -o sticky/mine ./prog
    same "$messages" ""
    same "$(tail -n 1 victim)" "summary: 42"
    # A folder's owner may put links there.
    echo precious > victim
    chown $NOBODY sticky
    quern run -q --cache-sim=no -o sticky/theirs ./prog
    same "$messages" ""
    same "$(tail -n 1 victim)" "summary: 42"
}

@test "a stranger's pipe in a folder like /tmp is not written to" {
    need_root
    counted
    links
    mkfifo sticky/pipe
    chown $NOBODY sticky/pipe
    quern run -q --cache-sim=no --spool-dir=. -o sticky/pipe ./prog
    [ "$status" = 3 ]
    same "$messages" "quern: $PWD/sticky/pipe: cannot be written: Permission denied; the counts are \
kept: \`quern recover $PWD/quern.spool.PID\` writes the profile"
}

@test "a stranger's file is replaced by one that has no rights of it" {
    need_root
    counted
    links
    umask 022
    : > sticky/file
    chmod 4777 sticky/file
    chown $NOBODY sticky/file
    chmod 4777 sticky/file
    quern run -q --cache-sim=no -o sticky/file ./prog
    same "$messages" ""
    same "$(stat -c '%u %a' sticky/file)" "0 644"
    chmod 600 sticky/file
    chown $NOBODY sticky/file
    quern run -q --cache-sim=no -o sticky/file ./prog
    same "$(stat -c '%u %a' sticky/file)" "0 600"
}

@test "links to links, to nothing, and to themselves" {
    counted
    mkdir there
    ln -s there/two one
    ln -s ../three there/two
    ln -s loop loop
    quern run -q --cache-sim=no -o one ./prog
    same "$messages" ""
    [ -L one ] && [ -L there/two ] && [ ! -L three ]
    same "$(tail -n 1 three)" "summary: 42"
    quern run -q --cache-sim=no -o loop ./prog
    [[ "$messages" == "quern: $PWD/loop: cannot be written: Too many levels of symbolic links"* ]]
    [ -L loop ]
}

@test "standard output by its name in /dev" {
    counted
    quern run -q --cache-sim=no -o /dev/stdout ./prog
    same "$(tail -n 1 stdout)" "summary: 42"
    same "$("$QUERN" run -q --cache-sim=no -o /dev/stdout ./prog | tail -n 1)" "summary: 42"
}
