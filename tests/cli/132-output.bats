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
    [ -L one ]
    [ -L there/two ]
    [ ! -L three ]
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

# Starts the run of ./prog in the background; its messages go to `said`.
begin() { # OPTION...
    "$QUERN" run -q --cache-sim=no "$@" ./prog 2> said 3>&- &
    pid=$!
}

# Until `said` has so many lines, or the run is over.
await_lines() {
    for i in $(seq 600); do
        [ "$(wc -l < said)" -ge "$1" ] && return
        kill -0 $pid 2> stderr || break
        sleep 0.1
    done
    [ "$(wc -l < said)" -ge "$1" ]
}

# Until it ends; its status. It is killed after a minute, which no test expects.
await_end() {
    for i in $(seq 600); do
        kill -0 $pid 2> stderr || break
        sleep 0.1
    done
    kill -KILL $pid 2> stderr || true
    status=0
    wait $pid || status=$?
}

@test "a pipe without a reader: what ends programs ends the waiting, the counts are kept" {
    counted
    mkfifo pipe
    for how in '-o pipe' '--calls=yes -o pipe' '-o out --dump-counts=pipe'; do
        for signal in TERM INT HUP QUIT; do
            # A shell's background job ignores INT and QUIT, and what is ignored is not heard.
            env --default-signal "$QUERN" run -q --cache-sim=no $how ./prog 2> said 3>&- &
            pid=$!
            await_lines 1
            kill -$signal $pid
            await_end
            [ "$status" = 3 ]
            same "$(sed 's/spool\.[0-9]*/spool.PID/' said)" "quern: waiting for a reader of \
$PWD/pipe; Ctrl-C or SIGTERM gives up, the counts are kept
quern: $PWD/pipe: cannot be written: Operation canceled; the counts are kept: \`quern recover \
$PWD/quern.spool.PID\` writes the profile"
            quern recover -q -o recovered
            [ "$status" = 0 ]
            grep -q '^\(summary\|totals\): 42$' recovered
            rm -f recovered* out
        done
    done
}

@test "a pipe's reader may come late" {
    counted
    mkfifo pipe
    begin -o pipe
    await_lines 1
    same "$(tail -n 1 < pipe)" "summary: 42"
    await_end
    [ "$status" = 3 ]
    same "$(< said)" "quern: waiting for a reader of $PWD/pipe; Ctrl-C or SIGTERM gives up, the \
counts are kept"
    [ -z "$(ls | grep spool)" ]
}

@test "a pipe whose reader does not read, and one whose reader goes" {
    counted
    mkfifo pipe
    exec 9<> pipe
    dd if=/dev/zero of=pipe bs=65536 count=1 status=none oflag=nonblock # and it is full
    begin -o pipe 9>&-
    await_lines 1
    kill -TERM $pid
    await_end
    [ "$status" = 3 ]
    grep -q 'pipe: cannot be written: Operation canceled; the counts are kept' said
    rm -f quern.spool.*
    begin -o pipe 9>&-
    await_lines 1
    exec 9>&- # the only one
    await_end
    [ "$status" = 3 ]
    grep -q 'pipe: cannot be written: Broken pipe; the counts are kept' said
}

@test "a log that nobody reads does not keep the finisher" {
    counted
    mkfifo log
    exec 9<> log
    dd if=/dev/zero of=log bs=65536 count=1 status=none oflag=nonblock
    : > said
    printf '%s\n' 'print counted' "$(< script)" > more
    mv more script
    "$QUERN" run --summary=json --cache-sim=no --log-file=log -o out ./prog > begun 3>&- 9>&- &
    pid=$!
    for i in $(seq 600); do [ -s out ] && break; sleep 0.1; done
    kill -TERM $pid
    await_end
    [ "$status" = 3 ]
    same "$(tail -n 1 out)" "summary: 42"
    [ -z "$(ls | grep spool)" ]
    exec 9>&-
}

@test "recover to a pipe without a reader" {
    counted 'end killed'
    mkfifo pipe
    quern run -q --cache-sim=no -o out ./prog
    "$QUERN" recover -q -o pipe quern.spool.* 2> said 3>&- &
    pid=$!
    await_lines 1
    same "$(< said)" "quern: waiting for a reader of $PWD/pipe; Ctrl-C gives up, the counts are kept"
    kill -TERM $pid
    await_end
    [ "$status" = 143 ]
    [ -n "$(ls | grep spool)" ]
    "$QUERN" recover -q -o pipe quern.spool.* 2> said 3>&- &
    pid=$!
    await_lines 1
    same "$(tail -n 1 < pipe)" "summary: 42"
    await_end
    [ "$status" = 0 ]
    [ -z "$(ls | grep spool)" ]
}

# Starts a run whose program ends when the file `go` is there; waits until it runs.
begin_waiting() {
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'counter 0 42' \
        "print runs" "wait $PWD/go" 'end exit 3' > script
    "$QUERN" run -q --cache-sim=no "$@" > stdout 2> stderr 3>&- &
    pid=$!
    for ((i = 0; i < 600; i++)); do
        grep -q runs stdout && return
        sleep 0.1
    done
    return 1
}

end_waiting() {
    : > go
    status=0
    wait $pid || status=$?
    messages=$(sed -E 's/(spool|out)\.[0-9]+/\1.PID/g' stderr)
}

@test "the output folder is removed: the profile is in the working folder, and a sentence says so" {
    make_prog
    mkdir there
    begin_waiting -o there/out ./prog
    rm -r there
    end_waiting
    [ "$status" = 3 ]
    same "$messages" "quern: $PWD/there/out: cannot be written: No such file or directory; what was \
counted is written elsewhere
quern: the profile is in $PWD/out"
    same "$(tail -n 1 out)" "summary: 42"
}

@test "the output folder is removed: what is there is not replaced" {
    make_prog
    mkdir there
    echo mine > out
    begin_waiting -o there/out ./prog
    rm -r there
    end_waiting
    [ "$status" = 3 ]
    same "$(tail -n 1 stderr)" "quern: the profile is in $PWD/out.$pid"
    same "$(< out)" mine
    same "$(tail -n 1 out.$pid)" "summary: 42"
}

@test "the output folder is renamed: the profile is in it, the spool is gone" {
    make_prog
    mkdir there
    begin_waiting -o there/out ./prog
    mv there 'new name'
    end_waiting
    [ "$status" = 3 ]
    same "$(tail -n 1 stderr)" "quern: the profile is in $PWD/new name/out"
    same "$(ls 'new name')" out
}

@test "the output folder is replaced: the profile is in the new one, the spool in neither" {
    make_prog
    mkdir there
    begin_waiting -o there/out ./prog
    mv there old
    mkdir there
    end_waiting
    [ "$status" = 3 ]
    same "$messages" ""
    same "$(tail -n 1 there/out)" "summary: 42"
    same "$(ls there old)" "old:

there:
out"
}
