#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `quern recover`: the profile of a killed program.

load run

# A run that is killed after counting; its messages are of no interest.
killed_run() {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' "counter 0 $1" \
        'end killed' > script
    quern run -q --cache-sim=no "${@:2}" ./prog
    [ "$status" = 137 ]
}

@test "a killed run leaves its spool, recover makes the profile of it" {
    killed_run 21
    spool=$(ls | grep '^quern.spool')
    [[ "$spool" =~ ^quern\.spool\.[0-9]+$ ]]
    pid=${spool##*.}
    [ ! -e cachegrind.out.$pid ]
    quern recover
    [ "$status" = 0 ]
    same "$output" "$PWD/cachegrind.out.$pid: the profile of process $pid, recovered after it was \
killed; complete up to that moment: ./prog"
    same "$messages" "==PID== I   refs:      42"
    same "$(sed -n '/^fl/,$p' cachegrind.out.$pid)" "fl=$PWD/prog.S
fn=f
4 21
5 21
summary: 42"
    [ ! -e "$spool" ]
}

@test "a command that a terminal would obey" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' 'end killed' > script
    quern run -q --cache-sim=no -o $'out\033[1m\nx' ./prog $'\033]0;owned\a' $'\xc2\x85'
    [ "$status" = 137 ]
    pid=$(ls | sed -n 's/^quern\.spool\.//p')
    quern recover
    [ "$status" = 0 ]
    same "$output" "$PWD/cachegrind.out.$pid: the profile of process $pid, recovered after it was killed; \
complete up to that moment: ./prog \\033]0;owned\\a \\302\\205
$PWD/cachegrind.out.$pid: the run was told to write $PWD/out\\033[1m\\nx; what is recovered lies beside the \
spool, or where -o FILE says"
}

@test "by name, elsewhere, quietly, keeping the spool" {
    killed_run 5 --spool-dir=. -o elsewhere/first
    spool=$(ls | grep '^quern.spool')
    quern recover -q --keep -o second "$spool"
    [ "$status" = 0 ]
    same "$output$messages" ""
    [ -e "$spool" ]
    [ ! -e elsewhere ]
    mkdir elsewhere
    quern recover -q "./$spool"
    [ "$status" = 0 ]
    cmp cachegrind.out.${spool##*.} second
    [ ! -e "$spool" ]
    [ -z "$(ls elsewhere)" ]
}

@test "several spools at once" {
    killed_run 1
    killed_run 2
    quern recover -o x
    [ "$status" = 2 ]
    same "$messages" "quern: -o: there are 2 spools here; name one"
    quern recover
    [ "$status" = 0 ]
    [ "$(ls | grep -c '^cachegrind.out')" = 2 ]
    [ -z "$(ls | grep spool)" ]
}

@test "the spool of a running program is left alone" {
    make_prog
    cat > engine << 'END'
#!/bin/sh
echo ready > ready
sleep 60 &
echo $! > sleeper
wait
END
    chmod +x engine
    # The stand-in for a running program keeps the spool open, as the engine does.
    QUERN_ENGINE=$PWD/engine "$QUERN" run -q ./prog 3>&- &
    runner=$!
    for i in $(seq 100); do [ -s sleeper ] && break; sleep 0.05; done
    spool=$(ls | grep '^quern.spool')
    quern recover "$spool"
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: process $runner is still running; its profile is \
written when it ends"
    # Without a name it is passed over.
    quern recover
    [ "$status" = 0 ]
    same "$output$messages" ""
    [ -e "$spool" ]
    kill -KILL $runner # the engine starts with signals blocked
    kill "$(< sleeper)"
    wait $runner || true
}

@test "a spool of a run that never started" {
    killed_run 1
    spool=$(ls | grep '^quern.spool')
    printf '\0\0\0\0' | dd of="$spool" bs=1 seek=12 conv=notrunc status=none # state
    quern recover "$spool"
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: the run ended before the engine started; there is \
nothing to recover: remove it"
    [ -e "$spool" ]
    # unnamed, it is litter
    quern recover --keep
    [ "$status" = 0 ]
    same "$output$messages" ""
    [ -e "$spool" ]
    quern recover
    [ "$status" = 0 ]
    same "$messages" ""
    same "${output/$spool/quern.spool.PID}" "quern.spool.PID: the run ended before the engine \
started; nothing was counted: removed"
    [ ! -e "$spool" ]
}

@test "wrong usage" {
    quern recover --foo
    [ "$status" = 2 ]
    same "$messages" 'quern: --foo: unknown option; `quern recover --help` lists them'
    quern recover -o
    [ "$status" = 2 ]
    same "$messages" "quern: -o: needs a value"
    quern recover -o x a b
    [ "$status" = 2 ]
    same "$messages" "quern: -o: only one spool can be given with it"
    rm -f quern.spool.*
    quern recover
    [ "$status" = 2 ]
    same "$messages" "quern: no quern.spool.* here; name the spool, or change to the folder of the \
profile"
}

@test "files that are no spools" {
    quern recover nothing
    [ "$status" = 2 ]
    same "$messages" "quern: nothing: No such file or directory"
    echo text > text
    : > empty
    mkdir folder
    for file in text empty "$QUERN"; do
        quern recover "$file"
        [ "$status" = 2 ]
        same "$messages" "quern: $file: not a spool of quern"
    done
    quern recover folder
    [ "$status" = 2 ]
}

@test "a spool of another version, and truncated ones" {
    killed_run 3
    spool=$(ls | grep '^quern.spool')
    cp --sparse=always "$spool" copy
    printf '\x63\0\0\0' | dd of=copy bs=1 seek=8 conv=notrunc status=none
    quern recover copy
    [ "$status" = 2 ]
    version=$(sed -nE 's/^#define SPOOL_VERSION +([0-9]+)u$/\1/p' "$ROOT/share/spool.h")
    same "$messages" "quern: copy: a spool of version 99, this quern reads version $version; use the \
quern that made it"
    # Cut anywhere: never a crash.
    QUERN=$BUILD/tests/quern-asan
    for size in 0 1 100 4096 65536 8388608 8388640 33554432 33554460 1073741824 1073741828; do
        cp --sparse=always "$spool" copy
        truncate -s $size copy
        quern recover -q --keep -o out copy
        [ "$status" = 0 ] || [ "$status" = 2 ]
    done
}

@test "random damage: never a crash" {
    killed_run 3
    spool=$(ls | grep '^quern.spool')
    RANDOM=1
    QUERN=$BUILD/tests/quern-asan
    for ((i = 1; i <= 60; i++)); do
        line=round-$i
        for at in $((RANDOM % 400 + 12)) $((8388608 + RANDOM % 64)) $((33554432 + RANDOM % 40)); do
            printf -v byte %02x $((RANDOM % 256))
            line+=" $at=$byte"
        done
        echo "$line"
    done > damage
    "$BATS_TEST_DIRNAME/damage.py" "$spool" "$QUERN" recover -q --keep -o out < damage
}

@test "a call graph of more names than its table has room for at first, sanitized" {
    # 1,100 functions of one instruction; each was executed as often as its number says.
    for ((i = 1; i <= 1100; i++)); do
        printf '.type f%d, @function\nf%d: ret\n.size f%d, 1\n' $i $i $i
    done > many.S
    printf '.globl _start\n_start: nop\n' >> many.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext-segment=0x400000 -o many many.S
    {
        echo 'map 0x401000 0x402000 0x1000 @ 0'
        for ((i = 1; i <= 1100; i++)); do
            printf 'block 0x%x 0 1\ncounter %d %d\n' $((0x401000 + i - 1)) $((i - 1)) $i
        done
        echo 'end killed'
    } > script
    "$QUERN" run -q --calls=yes --cache-sim=no -o p ./many || true
    QUERN=$BUILD/tests/quern-asan
    ASAN_OPTIONS=detect_leaks=0 quern recover -q -o p quern.spool.*
    same "$messages" ""
    [ "$status" = 0 ]
    same "$(grep -c '^fn=' p)" 1100
    same "$(grep '^totals:' p)" "totals: 605550" # 1100 * 1101 / 2
}

@test "what was to become a spool, and whose maker was killed, is litter" {
    sh -c : & # a process that is gone
    gone=$!
    wait $gone
    for name in quern.spool.$gone quern.spool.$gone.1 quern.spool.0 quern.spool.$$; do
        : > $name
        truncate -s 100M $name.2
        touch -d '2 minutes ago' $name $name.2
    done
    rm quern.spool.$gone.1.2
    : > quern.spool.$gone.3 # it may be new
    quern recover --keep
    [ "$status" = 0 ]
    same "$output$messages" ""
    quern recover
    [ "$status" = 0 ]
    same "$messages" ""
    same "$(sed 's/:.*//' <<< "$output")" "$(printf '%s\n' quern.spool.0 quern.spool.0.2 \
        quern.spool.$gone quern.spool.$gone.1 quern.spool.$gone.2 | sort)"
    # A process that there is has those; what is something else is named.
    same "$(ls quern.spool.*)" "$(printf '%s\n' quern.spool.$$ quern.spool.$$.2 \
        quern.spool.$gone.3 | sort)"
    echo text > quern.spool.x
    : > quern.spool.1x
    quern recover
    [ "$status" = 2 ]
    same "$output$messages" "quern: quern.spool.PIDx: not a spool of quern
quern: quern.spool.x: not a spool of quern"
    [ -e quern.spool.x ]
    [ -e quern.spool.1x ]
    quern recover quern.spool.$gone.3
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID.3: not a spool of quern"
}

# With --replay a process that simulates outlives the program; recover waits for it, and reads the spool
# again then.
@test "a spool that is overwritten while its replay is waited for" {
    [ "$(cat /proc/$$/wchan)" != 0 ] || skip "needs /proc/PID/wchan"
    killed_run 4
    spool=$(ls | grep '^quern.spool')
    printf '%s\n' '#include <stddef.h>' '#include <stdio.h>' '#include "share/spool.h"' \
        'int main(void) { printf("%zu", offsetof(struct spool_header, replayer)); }' > offset.c
    gcc -I"$ROOT" -o offset offset.c
    sleep 60 8< "$spool" &
    replayer=$!
    python3 -c 'import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    f.write(struct.pack("<I", int(sys.argv[3])))' "$spool" "$(./offset)" $replayer
    "$QUERN" recover "$spool" > stdout 2> stderr &
    recover=$!
    # It has read the spool, and sleeps between two looks.
    until grep -q '^S' <(sed 's/.*) //' /proc/$recover/stat) && grep -q nanosleep /proc/$recover/wchan; do
        kill -0 $recover || { cat stderr; return 1; }
        sleep 0.01
    done
    printf 'no spool' | dd of="$spool" conv=notrunc status=none
    kill $replayer
    status=0
    wait $recover || status=$?
    [ "$status" = 2 ]
    same "$(< stderr)" "quern: $spool: not a spool of quern"
    same "$(< stdout)" ""
    [ -e "$spool" ]
    [ ! -e cachegrind.out.${spool##*.} ]
}

@test "a spool that is being finished, and one that vanishes" {
    command -v flock > /dev/null || skip "needs flock"
    killed_run 4
    spool=$(ls | grep '^quern.spool')
    exec 9< "$spool"
    flock -x 9
    quern recover 9<&-
    [ "$status" = 0 ]
    same "$output$messages" ""
    quern recover "$spool" 9<&-
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: its profile is being written"
    exec 9<&-
    # A folder that names one more than it has.
    cat > more.c << 'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <string.h>

struct dirent *readdir(DIR *d)
{
    static struct dirent more = { .d_type = DT_REG, .d_name = "quern.spool.4194304" };
    static int said;
    struct dirent *(*next)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
    struct dirent *e = next(d);

    return e || said++ ? e : &more;
}

struct dirent64 *readdir64(DIR *d)
{
    return (struct dirent64 *)readdir(d);
}
END
    gcc -shared -fPIC -o more.so more.c
    LD_PRELOAD=$PWD/more.so quern recover -q
    [ "$status" = 0 ]
    same "$output$messages" ""
    [ "$(tail -n 1 cachegrind.out.*)" = "summary: 8" ]
    quern recover quern.spool.4194304
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: No such file or directory"
}

@test "what blocks have counted in contexts, and one that runs out of the spool, sanitized" {
    export ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
    make_prog
    # Context 1 is f, the second time that it is open. In it the block has 5 of its account, and 21 of its
    # own counter, for counter 1 says that this counts for context 1; without a context it has 7.
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'context 0x401000 2 0' 'piece 0' \
        'account 0 1' 'account 0 0' 'counter 0 21' 'counter 1 1' 'counter 2 5' 'counter 3 7' > counted
    # Room for two instructions; of four the last two would be behind the end.
    printf '%s\n' 'block 0x401000 0 1 1' 'insns 4' 'account 1 1' 'piece 1' > damaged
    for more in /dev/null damaged; do
        cat counted $more - <<< 'end killed' > script
        quern run -q --cache-sim=no --calls=yes --separate-callers=2 ./prog
        [ "$status" = 137 ]
        status=0
        "$BUILD/tests/quern-asan" recover -q -o out 2> stderr || status=$?
        [ "$status" = 0 ] || { sed 's/^/# /' stderr; return 1; }
        same "$(sed -n '/^fn=/,$p' out)" "fn=(1) f
4 7
+1 7

fn=(2) f'2
-1 26
+1 26

totals: 66"
        said=
        [ "$more" = /dev/null ] || said="quern: quern.spool.PID: 1 damaged records are not in the profile"
        same "$(sed -E 's/(spool)\.[0-9]+/\1.PID/' stderr)" "$said"
    done
}

@test "spools one after the other, each with a library that is lost" {
    export ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
    make_prog
    for i in 1 2; do
        printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' "map 0x501000 0x502000 0x1000 /gone.so 10" \
            'block 0x401000 0 1 1' 'counter 0 1' 'end killed' > script
        quern run --cache-sim=no ./prog
        [ "$status" = 137 ]
    done
    "$BUILD/tests/quern-asan" recover > out 2> err
    [ "$(grep -c '/gone.so: had been removed before it was executed' err)" = 2 ] ||
        { sed 's/^/# /' err; return 1; }
}

@test "-v of the run: what the engine did is said by recover, too" {
    killed_run 21 -v
    quern recover
    [ "$status" = 0 ]
    same "$(head -n 3 <<< "$messages" | cut -c 1-52)" '==PID== I   refs:      42
==PID== $
==PID== engine: 0 blocks translated (1 different), 0'
}
