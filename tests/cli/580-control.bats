#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# quern control: what it shows of counters that are known, which the stand-in for the engine
# (tests/cli/engine.c) has filled in and then waits. That it is heard, and runs with calls, are the
# business of tests/requests/control.

load run

# Starts prog with "${ARGS[@]}", whose script then waits until finish_prog; $pid is its process id.
start_prog() {
    start_with --cache-sim=no "$@"
}

start_with() {
    make_prog
    { cat; printf '%s\n' hear 'print here' "wait $FOLDER/go" 'end exit 0'; } > script
    "$QUERN" run -q "$@" -o "$FOLDER/p" ./prog "${ARGS[@]}" > said 2> log &
    pid=$!
    until grep -q here said; do
        kill -0 $pid || return 1
        sleep 0.02
    done
}

finish_prog() {
    : > go
    wait $pid
}

@test "what a run has counted" {
    # Two threads: 40 and 3 executions of f, which has two instructions.
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 40
counter 0 3 1
END
    quern control -w . -s -e
    [ "$status" = 0 ]
    same "$(sed 's/ $//' <<< "$output")" "PID $pid: ./prog
  Number of running threads: 2, thread IDs: 1 2
  Events collected: Ir
  Basic blocks: 1 (executed 43)

  Totals:Ir
   Th 1  80
   Th 2   6"
    same "$messages" ""
    finish_prog
}

# What is counted of cycles and mispredictions are samples: only a whole profile makes estimates.
@test "a machine's estimates are not shown" {
    start_with --machine=zen4 < /dev/null
    quern control -w . -s
    [ "$status" = 0 ]
    same "$(grep '^  Events' <<< "$output")" \
        "  Events collected: Ir Dr Dw I1mr D1mr D1mw I2mr D2mr D2mw ILmr DLmr DLmw ITm DTm STm pfu pfw Bc Bi"
    quern control -w . --events=Ir,Cy,Bim,Sysmiss
    same "$messages" "quern: process $pid: Cy is an estimate, of which only profiles know; \`quern control --dump\` writes one
quern: process $pid: Bim is an estimate, of which only profiles know; \`quern control --dump\` writes one
quern: process $pid: Sysmiss is not counted"
    finish_prog
    rm go
    start_with --machine=zen4,detail=all < /dev/null
    quern control -w . -s
    same "$(grep -o 'Brm Cy CyBase' <<< "$output")" "Brm Cy CyBase"
    finish_prog
}

@test "each column is as wide as its largest number" {
    # f has two instructions: 400,000 executions are longer than the name of the event, 3 are not.
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 400000
counter 0 3 1
END
    quern control -w . -e
    [ "$status" = 0 ]
    same "$(sed 's/ $//' <<< "$output")" "PID $pid: ./prog

  Totals:     Ir
   Th 1  800,000
   Th 2        6"
    same "$messages" ""
    finish_prog
}

@test "counters that cannot be read" {
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 40
END
    # Cut off where the counters of the first thread begin.
    truncate -s $((0x40000000)) quern.spool.*
    quern control -w . -s
    [ "$status" = 2 ]
    same "$output" "PID $pid: ./prog"
    same "$messages" "quern: process $pid: its counters cannot be read: the file is too short"
    finish_prog || [ $? = 2 ] # nor can the finisher read them
}

@test "a thread whose counters are not in the file yet" {
    start_prog << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
counter 0 40
counter 0 3 1
END
    truncate -s $((0x40000000 + 0x8000000)) quern.spool.*
    quern control -w . -e
    [ "$status" = 0 ]
    same "$(sed 's/ $//' <<< "$output")" "PID $pid: ./prog

  Totals:Ir
   Th 1  80
   Th 2   0"
    same "$messages" ""
    finish_prog
}

@test "nobody answers" {
    start_prog < /dev/null
    begin=$(date +%s)
    quern control --dump=late $pid
    [ "$status" = 2 ]
    same "$output" "PID $pid: ./prog"
    same "$messages" "quern: process $pid: no thread has answered within 10 s; the request is \
done when one of them returns from the kernel"
    [ $(($(date +%s) - begin)) -ge 9 ]
    finish_prog
}

# As other users' programs are shown to root.
@test "a command line that a terminal would obey" {
    ARGS=($'\033]0;owned\a' $'a\nPID 1: init' $'\xc2\x9b\xe2\x80\xae\xff')
    start_prog < /dev/null
    quern control -w .
    [ "$status" = 0 ]
    # quern run itself makes a newline a blank, as Cachegrind does.
    same "$output" "PID $pid: ./prog \\033]0;owned\\a a PID 1: init \\302\\233\\342\\200\\256\\377"
    same "$messages" ""
    finish_prog
}

# Where a field of struct spool_header is.
offset() {
    printf '%s\n' '#include <stddef.h>' '#include <stdio.h>' '#include "share/spool.h"' \
        "int main(void) { printf(\"%zu\", offsetof(struct spool_header, $1)); }" > offset.c
    gcc -I"$ROOT" -o offset offset.c && ./offset
}

# Writes a number of 8 bytes into the spool.
poke() {
    python3 -c 'import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    f.write(struct.pack("<Q", int(sys.argv[3], 0)))' quern.spool.* "$(offset "$1")" "$2"
}

@test "strings of the spool that end nowhere" {
    start_prog < /dev/null
    for used in 0x8000000000000001 0x7fffffff 1 0; do
        poke text_used $used
        ASAN_OPTIONS=detect_leaks=0 "$BUILD/tests/quern-asan" control $pid > stdout
        [ ${#used} = 1 ] && want= || want=./prog
        same "$(< stdout)" "PID $pid: $want"
    done
    finish_prog || true # its strings are gone
}

@test "a spool that is cut off while somebody waits for an answer" {
    start_prog < /dev/null
    "$QUERN" control --dump $pid > stdout 2> stderr &
    asks=$!
    asked=$(offset control.asked)
    until [ "$(od -An -tu4 -j "$asked" -N 4 quern.spool.* | tr -d ' ')" = 1 ]; do sleep 0.02; done
    truncate -s 0 quern.spool.*
    status=0
    wait $asks || status=$?
    [ "$status" = 2 ]
    same "$(< stderr)" "quern: process $pid: its spool was truncated"
    kill -KILL $pid
    wait $pid || true
}

@test "a spool that somebody keeps locked" {
    start_prog < /dev/null
    exec 8< "$(ls quern.spool.*)"
    flock 8
    quern control --dump $pid
    exec 8<&-
    [ "$status" = 2 ]
    same "$messages" "quern: process $pid: another process has locked its spool for 10 s; try again later"
    finish_prog
}

# What a process has mapped may be a third user's, and is not written to.
@test "the spool of another user than the program's" {
    [ "$(id -u)" = 0 ] || skip "needs root, to be two users"
    start_prog < /dev/null
    chmod 755 . "$BATS_TEST_TMPDIR"
    cat > maps.py << 'END'
import mmap, os, shutil, struct, sys, time
owner, name = int(sys.argv[1]), "quern.spool.other"
with open(sys.argv[2], "rb") as f, open(name, "wb") as to:
    to.write(f.read(0x800000))
    to.seek(16) # spool_header.pid
    to.write(struct.pack("<i", os.getpid()))
os.chmod(name, 0o644)
os.chown(name, owner, owner)
f = open(name, "rb")
os.setgid(65534)
os.setuid(65534)
m = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ)
print("mapped", flush=True)
time.sleep(60)
END
    for owner in 1 65534; do
        : > ready
        python3 maps.py $owner quern.spool.$pid > ready &
        maps=$!
        until grep -q mapped ready; do kill -0 $maps; sleep 0.02; done
        quern control
        kill $maps
        wait $maps || true
        rm quern.spool.other
        [ "$owner" = 1 ] && want=0 || want=1
        [ "$(grep -c "^PID $maps: ./prog$" <<< "$output")" = $want ] || { echo "# $owner: $output"; false; }
    done
    finish_prog
}

# What is asked: 0 a dump, 1 zeros, 2 counting, 3 no counting, 4 the end. Nobody answers here.
@test "what each option asks for" {
    start_prog < /dev/null
    asked=$(offset control.asked)
    what=$(offset control.what)
    turn=0
    for option in --dump --zero --instr=on --instr=off --kill; do
        "$QUERN" control $option $pid > stdout 2> stderr &
        asks=$!
        until [ "$(od -An -tu4 -j "$asked" -N 4 quern.spool.* | tr -d ' ')" = $((turn + 1)) ]; do
            kill -0 $asks
            sleep 0.02
        done
        same "$(od -An -tu4 -j "$what" -N 4 quern.spool.* | tr -d ' ')" $turn
        kill -KILL $asks
        wait $asks || true
        turn=$((turn + 1))
    done
    finish_prog
}

# Of four descriptors the first three are taken, and /proc has the last one: there is none for the
# files in it.
@test "without a free descriptor it does not say that nothing runs" {
    (
        for fd in {3..20}; do
            eval "exec $fd>&-"
        done
        ulimit -n 4
        exec "$BUILD/bin/quern" control
    ) < /dev/null > out 2>&1 && status=0 || status=$?
    same "$status $(cat out)" "2 quern: /proc: no descriptor is free: raise the limit on open files (ulimit -n)"
}
