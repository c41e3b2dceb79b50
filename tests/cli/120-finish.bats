#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The finisher: what it makes of a spool whose every number is known. The spool is filled by the
# stand-in for the engine from a script; see tests/cli/engine.c for its lines. prog has
# function f at 0x401000 with a nop (one byte, prog.S:4) and a ret (one byte, prog.S:5).

load run

@test "all thirteen events, by hand" {
    make_prog
    # Counters of the block: 0 executions; nop F:1,0 has I1mr ILmr (1, 2) and D1mr DLmr (3, 4); ret
    # C:0,2 has D1mw DLmw (5, 6) and Bcm (7); the I instruction has Bim (8).
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1F:1,0 1C:0,2
block 0x401000 0 1I
counter 0 10
counter 1 4
counter 2 3
counter 3 2
counter 4 1
counter 5 9
counter 6 8
counter 7 5
counter 8 100
counter 9 60
end exit 0
END
    quern run -q --branch-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64 -o out ./prog \
        a 'b c'
    [ "$status" = 0 ]
    same "$messages" ""
    # nop: 10 + 100 times; Dr = 10 * 1; Bi = 100. ret: 10 times; Dw = 10 * 2; Bc = 10.
    same "$(< out)" "desc: I1 cache:         32768 B, 64 B, 8-way associative
desc: D1 cache:         32768 B, 64 B, 8-way associative
desc: LL cache:         8388608 B, 64 B, 16-way associative
cmd: ./prog a b c
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
fl=$PWD/prog.S
fn=f
4 110 4 3 10 2 1 0 0 0 0 0 100 60
5 10 0 0 0 0 0 20 9 8 10 5 0 0
summary: 120 4 3 10 2 1 20 9 8 10 5 100 60"
    [ -z "$(ls | grep spool)" ]
}

@test "references known only at run time, and rep as Cachegrind counts it" {
    make_prog
    # D: dyn_r dyn_w D1mr DLmr D1mw DLmw (1-6); R with --rep-count=cachegrind: rep_ir rep_bc first
    # (8, 9), Bcm (10).
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1D
block 0x401001 0 1R
counter 0 5
counter 1 50
counter 2 40
counter 3 7
counter 4 6
counter 5 4
counter 6 3
counter 7 2
counter 8 21
counter 9 23
counter 10 1
end exit 0
END
    quern run -q --branch-sim=yes --rep-count=cachegrind -o out ./prog
    same "$(sed -n '/^fn/,$p' out)" "fn=f
4 5 0 0 50 7 6 40 4 3 0 0 0 0
5 23 0 0 0 0 0 0 0 0 23 1 0 0
summary: 28 0 0 50 7 6 40 4 3 23 1 0 0"
}

@test "a rep instruction counts once by default" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1R' 'counter 0 5' \
        'end exit 0' | script
    quern run -q --branch-sim=yes --cache-sim=no -o out ./prog
    same "$(sed -n '/^events/,$p' out)" "events: Ir Bc Bcm Bi Bim
fl=$PWD/prog.S
fn=f
4 5 0 0 0 0
summary: 5 0 0 0 0"
}

@test "partial executions" {
    make_prog
    # The block ran 3 times; twice more its first instruction only.
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
block 0x401000 0 1
counter 0 3
counter 1 10
partial 0 1 2
end exit 0
END
    quern run -q --cache-sim=no -o out ./prog
    same "$(sed -n '/^fn/,$p' out)" "fn=f
4 15
5 3
summary: 18"
}

# Three blocks of the same code: each has its own.
@test "partial executions of several blocks" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1 1
block 0x401000 0 1 1
block 0x401000 0 1 1
partial 0 1 2
partial 1 2 30
partial 2 1 500
end exit 0
END
    quern run -q --cache-sim=no -o out ./prog
    same "$(sed -n '/^fn/,$p' out)" "fn=f
4 532
5 30
summary: 562"
}

@test "counters of several threads are summed" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1
counter 0 3
counter 0 40 1
counter 0 500 3
end exit 0
END
    quern run -q --cache-sim=no -o out ./prog
    same "$(tail -n 1 out)" "summary: 543"
}

@test "code in no file, in a removed one, and a block that never ran" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
map 0x700000 0x701000 0 - 2
map 0x800000 0x801000 0 /tmp/gone.so 4
block 0x401000 0 1
block 0x700010 1 3
block 0x800010 2 3
counter 1 7
counter 2 8
end exit 0
END
    quern run --cache-sim=no -q -o out ./prog
    same "$messages" ""
    same "$(sed -n '/^fl/,$p' out)" "fl=???
fn=???
0 15
summary: 15"
}

@test "a file that is gone is said once" {
    make_prog
    script << 'END'
map 0x700000 0x701000 0 /no/such/lib.so 0
map 0x800000 0x801000 0x1000 /no/such/lib.so 0
block 0x700010 0 3
block 0x800010 1 3
counter 0 7
counter 1 7
end exit 0
END
    quern run --cache-sim=no --log-file=log -o out ./prog
    said='quern: /no/such/lib.so: No such file or directory; its functions are shown as ???'
    same "$(grep -c "$said" log)" 1
    quern run --cache-sim=no -q -o out ./prog
    same "$messages" ""
}

@test "the summary" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1F:1,1C
counter 0 1234567
counter 1 1000
counter 2 10
counter 3 2345
counter 4 234
counter 5 99
counter 6 9
counter 7 4567
end exit 0
END
    sed -i 's/1F:1,1C/1FC:1,1/' script
    quern run --branch-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64 -o out ./prog \
        'a b' "it's"
    # Widths and decimals are those of Cachegrind 3.19 (tests/unit/finish/ compares with its own
    # output).
    version=$("$QUERN" --version | cut -d' ' -f2)
    same "$messages" "==PID== Quern $version, an exact instruction, cache and branch profiler
==PID== Command: ./prog a\\ b it\\'s
==PID== Caches: I1 32,768 B, 8-way, 64 B lines (given); D1 32,768 B, 8-way, 64 B lines (given); \
LL 8,388,608 B, 16-way, 64 B lines (given)
==PID== $
==PID== $
==PID== I   refs:      1,234,567
==PID== I1  misses:        1,000
==PID== LLi misses:           10
==PID== I1  miss rate:      0.08%
==PID== LLi miss rate:      0.00%
==PID== $
==PID== D   refs:      2,469,134  (1,234,567 rd   + 1,234,567 wr)
==PID== D1  misses:        2,444  (    2,345 rd   +        99 wr)
==PID== LLd misses:          243  (      234 rd   +         9 wr)
==PID== D1  miss rate:       0.1% (      0.2%     +       0.0%  )
==PID== LLd miss rate:       0.0% (      0.0%     +       0.0%  )
==PID== $
==PID== LL refs:           3,444  (    3,345 rd   +        99 wr)
==PID== LL misses:           253  (      244 rd   +         9 wr)
==PID== LL miss rate:        0.0% (      0.0%     +       0.0%  )
==PID== $
==PID== Branches:      1,234,567  (1,234,567 cond +         0 ind)
==PID== Mispredicts:       4,567  (    4,567 cond +         0 ind)
==PID== Mispred rate:        0.4% (      0.4%     +       0.0%   )"
}

@test "-v: what the engine did" {
    script << 'END'
stat translated 2000
stat insns 9000
stat ns 5000000
stat dispatch 77
stat iblmiss 66
stat links 55
stat kept 41
stat saved 42
stat superblocks 44
stat inthem 33
end exit 0
END
    quern run -v --cache-sim=no -o out true
    same "$(sed -n '/I   refs/,$p' <<< "$messages")" "==PID== I   refs:      0
==PID== $
==PID== engine: 2,000 blocks translated (0 different), 5.000 ms, 2.50 us per block
==PID== engine: 9,000 instructions translated
==PID== engine: 0 bytes of code cache written
==PID== engine: 77 exits to the dispatcher
==PID== engine: 66 indirect-branch misses
==PID== engine: 55 links made
==PID== engine: 41 translations of earlier runs
==PID== engine: 42 translations kept for later runs
==PID== engine: 44 superblocks made
==PID== engine: 33 blocks in superblocks
==PID== engine: 0 full buffers handed over to quern-replay
==PID== engine: 0 references to LL simulated by their thread meanwhile
==PID== engine: 0 full buffers simulated by their thread ahead of their turn
==PID== engine: 0 of these once more, in their turn
==PID== engine: 0 full buffers replayed by their thread
==PID== engine: 0 code cache flushes
==PID== engine: 0 blocks invalidated
==PID== engine: 0 signals delivered
==PID== engine: 0 instructions single-stepped
==PID== engine: 0 slow system calls
==PID== engine: 0 thread slots"
}

@test "--dump-counts: one line for each executed address" {
    make_prog
    script << 'END'
map 0x500000 0x501000 0x1000 @ 0
map 0x401000 0x402000 0x1000 @ 0
map 0x700000 0x701000 0 - 2
block 0x500000 0 1 1
block 0x401001 1 1
block 0x401000 1 1 1
block 0x700010 2 1
counter 0 7
counter 1 20
counter 2 3
counter 3 2
end exit 0
END
    quern run -q --cache-sim=no --dump-counts=dump.%p -o out ./prog
    same "$(cat dump.[0-9]*)" "401000 3 $PWD/prog+1000
401001 23 $PWD/prog+1001
500000 7 $PWD/prog+1000
500001 7 $PWD/prog+1001
700010 2 [anonymous]+10"
}

# 5 + 100 + 1000; 7 + 2 * 1000; 9 + 100. The last names a counter that there is not. Of two threads: 4
# more of the first block alone, and 10000 times what the second sum stands for.
@test "executions of several blocks together are those of each" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1
block 0x401001 0 1
block 0x401002 0 1
sum 0 2
sum 1 0 1
sum 2 4000000000
counter 0 5
counter 1 7
counter 2 9
counter 3 100
counter 4 1000
end exit 0
END
    quern run -q --cache-sim=no --dump-counts=dump -o out ./prog
    same "$(cat dump)" "401000 1105 $PWD/prog+1000
401001 2007 $PWD/prog+1001
401002 109 $PWD/prog+1002"
    grep -q '^summary: 3221$' out
    sed -i 's/^end/counter 0 4 1\ncounter 4 10000 1\nend/' script
    quern run -q --cache-sim=no --dump-counts=dump -o out ./prog
    same "$(cat dump)" "401000 11109 $PWD/prog+1000
401001 22007 $PWD/prog+1001
401002 109 $PWD/prog+1002"
}

@test "--dump-counts: written beside its target and renamed" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1
counter 0 3
end exit 0
END
    echo old > target
    chmod 640 target
    ln target before
    ln -s target dump
    quern run -q --cache-sim=no --dump-counts=dump -o out ./prog
    same "$(readlink dump)" target
    same "$(stat -c %a target)" 640
    same "$(cat target)" "401000 3 $PWD/prog+1000"
    same "$(cat before)" old
    same "$(ls | grep -E 'dump|tmp|target')" "dump
target"
    rm -r target dump
    quern run -q --cache-sim=no --dump-counts=nofolder/dump -o out ./prog
    same "$messages" "quern: $PWD/nofolder/dump: cannot be written: No such file or directory; \
the counts are kept: \`quern recover $PWD/quern.spool.PID\` writes the profile"
}

@test "the end is the client's: exit status" {
    for code in 0 1 42 255; do
        printf 'print hello\nend exit %d\n' $code > script
        quern run -q -o out true
        [ "$status" = $code ]
        same "$output" hello
        [ -s out ]
    done
}

@test "the end is the client's: killed by a signal" {
    for signal in HUP INT TERM SEGV ABRT; do
        printf 'end signal %d\n' "$(kill -l $signal)" > script
        quern run -q -o out true
        [ "$status" = $((128 + $(kill -l $signal))) ]
        [ -s out ]
        [ -z "$(ls | grep -E 'core|spool')" ]
    done
}

@test "an ignored or pending signal does not keep the finisher from its work" {
    printf 'end signal 15\n' > script
    status=0
    (trap '' TERM PIPE; exec "$QUERN" run -q -o out true) 2> stderr || status=$?
    [ "$status" = 143 ]
    [ -s out ]
    # It dies of the signal, as the program did: another status would look the same to a shell.
    (trap '' TERM; exec python3 -c 'import subprocess, sys
print(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL, restore_signals=False).returncode)' \
        "$QUERN" run -q -o out true) > ends
    same "$(< ends)" -15
}

@test "the log goes where it should" {
    quern run --cache-sim=no --log-file=log.%p -o out true
    [ "$status" = 0 ]
    same "$messages" ""
    grep -q 'I   refs:' log.[0-9]*
    # A closed standard error is no error, and no file gets the messages in its place.
    status=0
    "$QUERN" run --cache-sim=no -o out true 2>&- || status=$?
    [ "$status" = 0 ]
    [ -s out ]
    ! grep -q == out
}

@test "a full disk: the counts are kept, the status is the client's" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'counter 0 9' \
        'end exit 3' > script
    quern run -q --cache-sim=no -o /dev/full ./prog
    [ "$status" = 3 ]
    same "$messages" "quern: /dev/full: cannot be written: No space left on device; the counts \
are kept: \`quern recover $PWD/quern.spool.PID\` writes the profile"
    [ -c /dev/full ]
    # And they can be had.
    quern recover -o /dev/full
    [ "$status" = 2 ]
    same "$messages" "quern: quern.spool.PID: /dev/full: cannot be written: No space left on \
device; -o FILE writes the profile elsewhere"
    quern recover -o out
    [ "$status" = 0 ]
    same "$(tail -n 1 out)" "summary: 9"
    [ -z "$(ls | grep spool)" ]
}

@test "a folder that went away: the counts are kept, the status is the client's" {
    mkdir there
    printf 'end exit 4\n' > script
    cat > engine << END
#!/bin/sh
rm -rf there
exec $QUERN_ENGINE "\$@"
END
    chmod +x engine
    QUERN_ENGINE=$PWD/engine quern run -q --spool-dir=. -o there/out true
    [ "$status" = 4 ]
    [[ "$messages" == "quern: $PWD/there/out: "*"No such file or directory; the counts are kept: \
\`quern recover $PWD/quern.spool.PID\` writes the profile" ]]
}

@test "a finisher in a child: the names have the program's process id, the status is the answer" {
    # The engine runs it so before the client executes a program that is not profiled.
    printf '%s\n' 'pid 12345' 'end exit 7' > script
    quern run --cache-sim=no -o out.%p true
    [ "$status" = 0 ]
    [ -s out.12345 ]
    grep -q '^==12345== I   refs:      0$' stderr
    printf '%s\n' 'pid 12345' 'end exit 0' > script
    quern run -q --cache-sim=no -o /dev/full true
    [ "$status" = 1 ]
}

@test "a forked child has a log of its own when the name has the process id in it" {
    printf '%s\n' 'pid 12345' 'flags 0x4000' 'end exit 0' > script
    quern run --cache-sim=no --log-file=log.%p -o out.%p true
    [ "$status" = 0 ]
    same "$(sed 's/ $/ $/' log.12345)" "==12345== $
==12345== I   refs:      0"
    rm -f log*
    quern run --cache-sim=no --log-file=log -o out.%p true
    [ "$(ls log*)" = log ]
    grep -q '^==12345== I   refs:      0$' log
}

# As the engine's bgfinish has them finished: some in one process. The first line that a finisher says
# is the whole one's, which begins with what is left.
@test "several spools, of which some cannot be finished" {
    for pid in 1 2 3 4 5; do
        printf 'pid 1000%s\nflags 0x4000\nend exit 0\n' $pid > script
        quern run -q --cache-sim=no --spool-dir=. -o there/out.%p true
        [ -s quern.spool.* ]
        mv quern.spool.* spool.$pid
    done
    mkdir there
    for finisher in "$BUILD/libexec/quern/quern-finish" "$BUILD/libexec/quern/quern-whole"; do
        rm -f there/*
        for pid in 1 2 3 4 5; do cp spool.$pid s.$pid; done
        echo no spool > s.2
        mkdir there/out.10004
        exec 5< s.1 6< s.2 7< s.3 8< s.4 9< s.5
        status=0
        # (one of these is the log that the spools name)
        "$finisher" --finish 5 6 7 8 9 2> stderr 10>&2 11>&2 12>&2 || status=$?
        exec 5<&- 6<&- 7<&- 8<&- 9<&-
        [ "$status" = 1 ]
        same "$(sed 's/; the counts.*//' stderr)" "quern: the spool in descriptor 6: not a spool of quern
quern: $PWD/there/out.10004: cannot be written: Is a directory"
        same "$(ls there)" "$(printf 'out.1000%s\n' 1 3 4 5)"
        [ "$(grep -h '^summary' there/out.1000[135])" = "$(printf 'summary: 0\n%.0s' 1 2 3)" ]
        rmdir there/out.10004
    done
}

@test "closed standard streams stay closed to the program, and the spool is none of them" {
    for closed in '0<&-' '1>&-' '0<&- 1>&- 2>&-'; do
        rm -f out
        eval '"$QUERN" run -q --cache-sim=no -o out true '"$closed"
        [ -s out ]
    done
}

@test "devices as profile" {
    quern run -q -o /dev/null true
    [ "$status" = 0 ]
    [ -c /dev/null ]
    [ -z "$(ls | grep spool)" ]
}

@test "a damaged spool gives what is sound in it" {
    make_prog
    script << 'END'
map 0x401000 0x402000 0x1000 @ 0
block 0x401000 0 1
block 0x401001 0 1
counter 0 5
counter 1 6
damage
end exit 0
END
    quern run -q --cache-sim=no -o out ./prog
    [ "$status" = 0 ]
    same "$(tail -n 1 out)" "summary: 11"
}

@test "the names of C++ functions" {
    printf '%s\n' '.text' '.globl _start' '.type _ZN1a1fEi, @function' '_ZN1a1fEi: nop' \
        '.size _ZN1a1fEi, 1' \
        '_start: nop' > prog.S
    gcc -g -nostdlib -static -no-pie -o prog prog.S
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'counter 0 9' \
        'end exit 0' > script
    quern run -q --cache-sim=no -o out ./prog
    grep -qx 'fn=a::f(int)' out
    quern run -q --cache-sim=no --demangle=no -o out ./prog
    grep -qx 'fn=_ZN1a1fEi' out
}

@test "what a linkage table has cost is not lost where no call says whose it is" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'plt' 'counter 0 21' \
        'block 0x401001 0 1' 'counter 1 4' 'end exit 0' > script
    quern run --cache-sim=no -q --calls=yes -o out ./prog
    same "$messages" ""
    # Lines 4 and 5 of f: the nop of the table, and the ret.
    same "$(sed -n '/^fn=/,$p' out)" "fn=(1) f
4 21
+1 4

totals: 25"
}

@test "where standard error is closed nothing of it gets into a file" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' 'end exit 0' > script
    "$QUERN" run --cache-sim=no -o whole ./prog
    "$QUERN" run --cache-sim=no -o out ./prog 2>&-
    same "$(< out)" "$(< whole)"
    [[ "$(< out)" == *"
summary: 42" ]]
    # Not into one of the program's, either, that has become descriptor 2.
    sed -i '1i stderr own' script
    "$QUERN" run --cache-sim=no -o out ./prog 2>&-
    same "$(< out)" "$(< whole)"
    [ -e own ]
    [ ! -s own ]
}

@test "the vDSO's functions have its names" {
    cat > vdso.c << 'END'
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
int main(void)
{
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *h = (const void *)image;
    size_t size = image ? h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr) : 0;
    return fwrite(image, 1, size, stdout) != size || !size;
}
END
    gcc -o vdso vdso.c
    ./vdso > vdso.so || skip "the kernel has no vDSO here"
    at=$(nm -D vdso.so | awk '$3 ~ /^__vdso_time(@|$)/ { print $1 }')
    printf '%s\n' 'map 0x7f0000000000 0x7f0000002000 0 - 1' "block $((0x7f0000000000 + 0x$at)) 0 1" \
        'counter 0 21' 'end exit 0' > script
    quern run --cache-sim=no -q -o out true
    same "$messages" ""
    fn=$(sed -n 's/^fn=//p' out)
    [ "$fn" = time ] || [ "$fn" = __vdso_time ]
}

@test "--summary=json names the profile of the first thread" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' 'end exit 0' > script
    quern run --cache-sim=no --calls=yes --separate-threads=yes --summary=json -o out ./prog
    [[ "$messages" == *"\"profile\":\"$PWD/out-01\","* ]]
    [ -e out-01 ]
}

@test "a call graph says which process it is of" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' 'end exit 0' > script
    "$QUERN" run --cache-sim=no -q --calls=yes -o out.%p ./prog &
    wait $!
    grep -qx "pid: $!" out.$!
}

# Values of what is 8 bytes long and ends in " cache" are in a column of their own.
@test "descriptions: the blanks behind the colon" {
    make_prog
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1' 'counter 0 1' \
        'text desc I1 cache: '$'\t'' 1 B\nLL caches:  2\nI1 cachX:  3\nD1 store: 4\na:5\nL2 cache:\nTrigger:6 ' \
        'end exit 0' > script
    quern run -q -o out ./prog
    [ "$status" = 0 ]
    same "$(grep ^desc out | sed 's/$/|/')" "desc: I1 cache:         1 B|
desc: LL caches:  2|
desc: I1 cachX:  3|
desc: D1 store: 4|
desc: a: 5|
desc: L2 cache:         |
desc: Trigger: 6 |"
}

@test "--children=merge and no folder to collect in: the spool stays" {
    make_prog
    # SPOOL_F_MERGE
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' \
        "flags $((1 << 50))" 'end exit 3' > script
    quern run --cache-sim=no -q -o out ./prog
    [ "$status" = 3 ]
    same "$messages" "quern: the spool does not say where profiles are collected; the counts are kept: \
\`quern recover $PWD/quern.spool.PID\` writes the profile"
    [ ! -e out ]
}

@test "--separate-threads=yes: the summary is that of all threads" {
    make_prog
    # Two instructions, 21 and 100 times.
    printf '%s\n' 'map 0x401000 0x402000 0x1000 @ 0' 'block 0x401000 0 1 1' 'counter 0 21' 'counter 0 100 1' \
        'end exit 0' > script
    quern run --cache-sim=no --calls=yes --separate-threads=yes -o out ./prog
    same "$(grep refs <<< "$messages")" "==PID== I   refs:      242"
    same "$(grep -h ^totals out-01 out-02)" "totals: 42
totals: 200"
}
