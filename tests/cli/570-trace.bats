#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `quern run --trace-refs` and `quern trace`: what is in the trace of programs whose instructions are
# known, what is refused, and traces that are damaged. That the counts are those of the fast path is
# tests/trace.

bats_require_minimum_version 1.5.0
load run

CACHES='--I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64'

# prog: at 0x401000 a store to 0x402000 (11 bytes), a jump (2) that is not taken, and the end (5, 2,
# 2).
real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
    printf '%s\n' '.globl _start' '.text' '_start: movl $1, 0x402000' 'test %rsp, %rsp' 'jz _start' \
        'mov $60, %eax' 'xor %edi, %edi' 'syscall' '.data' '.quad 0' > prog.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000,-Tdata=0x402000 -o prog prog.S
}

# trace OFFSET BYTES: the trace t with these bytes (printf's) at an offset, as bad.
damaged() {
    cp t bad
    printf "$2" | dd of=bad bs=1 seek="$1" conv=notrunc status=none
}

@test "the items of a program whose instructions are known" {
    real
    quern run -q $CACHES --trace-refs=t -o profile ./prog
    same "$messages" ""
    [ "$status" = 0 ]
    quern trace t
    same "$messages" ""
    same "$(grep -v '^#' <<< "$output")" "I 0x401000 11 0x401000
W 0x402000 4 0x401000
I 0x40100b 3 0x40100b
I 0x40100e 2 0x40100e
N - - 0x40100e
I 0x401010 5 0x401010
I 0x401015 2 0x401015
I 0x401017 2 0x401017"
    [[ "$output" == *"# I1 cache:         1024 B, 64 B, 1-way associative"* ]]
    quern trace --skip=1 -n 2 t
    same "$(grep -v '^#' <<< "$output")" "W 0x402000 4 0x401000
I 0x40100b 3 0x40100b"
    quern trace --thread=2 t
    same "$(grep -v '^#' <<< "$output")" ""
}

@test "its events, at the run's geometry and at another" {
    real
    quern run -q $CACHES --trace-refs=t -o profile ./prog
    quern trace --simulate --branch-sim=yes t
    same "$messages" ""
    # One line of code; the jump is predicted not to be taken.
    same "$(sed -n '/^events/,$p' <<< "$output")" "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
ob=$FOLDER/prog 0x400000
0x401000 1 1 1 0 0 0 1 1 1 0 0 0 0
0x40100b 1 0 0 0 0 0 0 0 0 0 0 0 0
0x40100e 1 0 0 0 0 0 0 0 0 1 0 0 0
0x401010 1 0 0 0 0 0 0 0 0 0 0 0 0
0x401015 1 0 0 0 0 0 0 0 0 0 0 0 0
0x401017 1 0 0 0 0 0 0 0 0 0 0 0 0
summary: 6 1 1 0 0 0 1 1 1 1 0 0 0"
    same "$(grep ^summary profile)" "summary: 6 1 1 0 0 0 1 1 1 1 0 0 0"
    # 25 bytes are two lines of 16: the second begins with the move at 0x401010.
    quern trace --totals --I1=1024,1,16 t
    same "$(tail -n 1 <<< "$output")" "summary: 6 2 1 0 0 0 1 1 1"
}

@test "more instructions than there is room for at first" {
    real
    # 1,500 of one byte, twice.
    printf '%s\n' '.globl _start' '_start: mov $2, %ebx' '1: .rept 1500' 'cld' '.endr' 'dec %ebx' 'jnz 1b' \
        'mov $60, %eax' 'xor %edi, %edi' 'syscall' > prog.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o prog prog.S
    quern run -q $CACHES --trace-refs=t -o profile ./prog
    quern trace --simulate t
    same "$messages" ""
    # Each has one row: 1 + 2 * 1,502 + 3 instructions.
    same "$(grep -cE '^0x[0-9a-f]+ 2 ' <<< "$output")" 1502
    same "$(grep -cE '^0x[0-9a-f]+ 1 ' <<< "$output")" 4
    [[ "$output" == *"
summary: 3008 "* ]]
}

@test "what is refused" {
    quern run --trace-refs=t --replay=off true
    same "$messages" "quern: --trace-refs=t: not with --replay=off, which records nothing; leave one \
of them out"
    [ "$status" = 2 ]
    quern run --trace-refs=t --cache-sim=no true
    same "$messages" "quern: --trace-refs=t: not with --cache-sim=no or --native, with which there \
are no references; leave one of them out"
    quern run --trace-refs=t --calls=yes --separate-callers=2 true
    [[ "$messages" == "quern: --trace-refs=t: not with --separate-*, "* ]]
    quern run --trace-refs=nowhere/t true
    same "$messages" "quern: $FOLDER/nowhere/t: cannot be created for --trace-refs: No such file or directory"
    [ "$status" = 2 ]
    quern trace
    same "$messages" "quern: name one trace; see 'quern trace --help'"
    quern trace --simulate -n 1 t
    same "$messages" "quern: --limit, --skip and --thread: not with --simulate, which reads all"
    quern trace t
    same "$messages" "quern: t: No such file or directory"
    [ "$status" = 2 ]
}

# It waited for ever, deaf to signals: for a reader, or for one that had gone when the file had been tried.
@test "a pipe takes no trace, with a reader and without" {
    mkfifo pipe
    timeout -k 1 20 "$BUILD/bin/quern" run --trace-refs=pipe true 2>said || status=$?
    same "$status $(cat said)" "2 quern: $FOLDER/pipe: a reference trace cannot be written to a pipe"
    cat pipe >/dev/null 3>&- &
    timeout -k 1 20 "$BUILD/bin/quern" run --trace-refs=pipe true 2>said || status=$?
    same "$status $(cat said)" "2 quern: $FOLDER/pipe: a reference trace cannot be written to a pipe"
    kill $! || true
}

@test "damaged traces" {
    real
    quern run -q --trace-refs=t -o profile ./prog
    echo 'this is no trace at all' > bad
    quern trace bad
    same "$messages" "quern: bad: byte 0: not a reference trace of quern run --trace-refs"
    [ "$status" = 2 ]
    damaged 8 '\2'
    quern trace bad
    same "$messages" "quern: bad: byte 8: a trace of version 2, and this quern reads version 1"
    damaged 12 '\1'
    quern trace bad
    same "$messages" "quern: bad: byte 12: the byte order is 0x01020301 and not 0x01020304"
    damaged 28 '\0'
    quern trace bad
    [[ "$messages" == "quern: bad: byte 0: the I1 of the header is invalid: "* ]]
    # The header is 80 bytes and the command, ./prog; then comes the chunk of the mapping.
    damaged 86 'X'
    quern trace bad
    same "$messages" "quern: bad: byte 86: an unknown kind of chunk, 0x53504158"
    [ "$status" = 2 ]
}

@test "a trace that is cut off, or has no end" {
    real
    quern run -q --trace-refs=t -o profile ./prog
    size=$(stat -c %s t)
    head -c $((size - 16)) t > bad
    quern trace bad
    same "$messages" "quern: bad: byte $((size - 16)): the end mark is missing; the program was \
killed, or still runs, or writing the trace failed"
    [ "$status" = 0 ]
    [ "$(grep -c ^I <<< "$output")" = 6 ]
    head -c $((size - 17)) t > bad
    quern trace bad
    [[ "$messages" == "quern: bad: byte "*": the last chunk is cut off and ignored; "* ]]
    [ "$(grep -c ^I <<< "$output")" = 0 ]
}

@test "a full disk ends the trace, not the run" {
    real
    quern run -q $CACHES --trace-refs=/dev/full -o profile ./prog
    same "$messages" "==PID== warning: /dev/full: the reference trace ends here, no space is left on \
the device (error 28); the profile goes on"
    [ "$status" = 0 ]
    same "$(grep ^summary profile)" "summary: 6 1 1 0 0 0 1 1 1 1 0 0 0"
}

@test "forked children go on from their parent's trace, or have none" {
    real
    printf '%s\n' '#include <sys/wait.h>' '#include <unistd.h>' 'int main(void)' '{' \
        'if (fork() == 0) _exit(3);' 'wait(0);' 'return 0;' '}' > forks.c
    gcc -o forks forks.c
    quern run -q --trace-refs=t.%p -o profile.%p ./forks
    same "$messages" ""
    [ "$(ls t.* | wc -l)" = 2 ]
    for trace in t.*; do
        quern trace --totals --branch-sim=yes $trace
        same "$messages" ""
        same "$(tail -n 1 <<< "$output")" "$(grep ^summary profile.${trace#t.})"
    done
    # The child's, elsewhere without its parent's, is said to be alone; beside it, it is found.
    child=$(grep -l "$FOLDER/t\." t.*)
    parent=$(ls t.* | grep -vx "$child")
    mkdir alone
    mv $child alone/child
    mv $parent moved
    quern trace --simulate alone/child
    [[ "$messages" == "quern: alone/child: it continues $FOLDER/$parent, the trace of the parent \
process: No such file or directory; put that file beside it" ]]
    [ "$status" = 2 ]
    mv moved alone/$parent
    quern trace --totals alone/child
    [ "$status" = 0 ]
    quern run -q --trace-refs=one -o profile ./forks
    same "$messages" ""
    quern trace --totals one
    same "$messages" ""
}

@test "after SIGKILL what was written is whole chunks" {
    real
    printf '%s\n' '#include <signal.h>' 'volatile int a[4096];' 'int main(void)' '{' \
        'for (int i = 0; i < 400000; i++) a[i & 4095]++;' 'raise(SIGKILL);' '}' > killed.c
    gcc -o killed killed.c
    quern run -q --trace-refs=t -o profile ./killed
    [ "$status" = 137 ]
    quern trace --totals t
    [[ "$messages" == *"the end mark is missing; the program was killed"* ]]
    [ "$status" = 0 ]
    # Of 400,000 turns with five references at least, all but the last 64 KiB and a buffer.
    read -r _ ir _ <<< "$(tail -n 1 <<< "$output")"
    [ "$ir" -gt 2000000 ]
    quern recover -q quern.spool.*
    read -r _ whole _ <<< "$(grep ^summary profile)"
    [ "$ir" -lt "$whole" ]
}

@test "a name that a terminal would obey" {
    real
    name=$'p\033[2J\n# process: 1'
    mv prog "$name"
    quern run -q $CACHES --trace-refs=t -o profile "./$name" $'\xe2\x80\xae'
    [ "$status" = 0 ]
    quern trace t
    # quern run itself makes a newline in a command a blank; of one in a path \n is shown.
    grep -Fx '# command: ./p\033[2J # process: 1 \342\200\256' <<< "$output"
    grep -F "$FOLDER/p\\033[2J\\n# process: 1, from 0x1000" <<< "$output"
    [ "$(grep -c '^# process:' <<< "$output")" = 1 ]
    quern trace --simulate t
    grep -Fx 'cmd: ./p\033[2J # process: 1 \342\200\256' <<< "$output"
    grep -F "ob=$FOLDER/p\\033[2J\\n# process: 1 0x" <<< "$output"
}

# Each of one, two and three maps the next one, forks first so that the trace has what came before,
# and jumps there; three takes the place of one, which the trace knows first, four that of two.
@test "a mapping in another one's place: the instructions of both" {
    real
    printf '%s\n' '.globl _start' '.text' '_start: lea name(%rip), %rdi' 'mov $PLACE, %ebx' \
        'xor %esi, %esi' 'mov $2, %eax' 'syscall' 'mov %eax, %r8d' 'mov $57, %eax' 'syscall' \
        'test %eax, %eax' 'jz 1f' 'mov %ebx, %edi' 'mov $4096, %esi' 'mov $5, %edx' \
        'mov $0x12, %r10d' 'xor %r9d, %r9d' 'mov $9, %eax' 'syscall' 'jmp *%rax' \
        '1: mov $60, %eax' 'xor %edi, %edi' 'syscall' 'name: .asciz "NEXT"' > all.S
    sed 's/PLACE/0x10000000/; s/NEXT/two/' all.S > one.S
    sed 's/PLACE/0x401000/; s/NEXT/three/' all.S > two.S
    sed 's/PLACE/0x10000000/; s/NEXT/four/' all.S > three.S
    printf '%s\n' '_start: nop' 'mov $60, %eax' 'xor %edi, %edi' 'syscall' > four.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o one one.S
    for name in two three four; do
        gcc -c $name.S
        objcopy -O binary -j .text $name.o $name
    done
    quern run -q $CACHES --trace-refs=t -o profile ./one
    same "$messages" ""
    [ "$status" = 0 ]
    quern trace --simulate t
    same "$messages" ""
    # 18 of each, the child's are not there; the last one has 4.
    same "$(awk '/^ob=/ { at = $1 } /^0x/ { n[at] += $2 } END { for (at in n) print at, n[at] }' \
        <<< "$output" | sort)" "ob=$FOLDER/four 4
ob=$FOLDER/one 18
ob=$FOLDER/three 18
ob=$FOLDER/two 18"
    # The first of each is found nowhere else.
    same "$(grep -c '^0x401000 1 ' <<< "$output")" 2
    same "$(grep -c '^0x10000000 1 ' <<< "$output")" 2
}

# prog: a call, a loop of three iterations, an indirect jump, a read-modify-write, a return.
branches() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
    printf '%s\n' '.globl _start' '.text' '_start: call f' 'mov $60, %eax' 'xor %edi, %edi' 'syscall' \
        'f: mov $3, %ecx' '1: addl $1, data' 'dec %ecx' 'jnz 1b' 'jmp *to' '2: ret' \
        '.data' 'to: .quad 2b' 'data: .quad 0' > prog.S
    gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000,-Tdata=0x402000 -o prog prog.S
    quern run -q $CACHES --trace-refs=t -o profile ./prog
}

@test "a trace as other simulators read it" {
    branches
    quern trace --to=dinero t
    same "$messages" ""
    # The stack is where the kernel has put it.
    same "$(sed -E 's/7f[0-9a-f]{10}/STACK/' <<< "$output")" "i 401000 5
w STACK 8
i 40100e 5
i 401013 8
r 402008 4
w 402008 4
i 40101b 2
i 40101d 2
i 401013 8
r 402008 4
w 402008 4
i 40101b 2
i 40101d 2
i 401013 8
r 402008 4
w 402008 4
i 40101b 2
i 40101d 2
i 40101f 7
r 402000 8
i 401026 1
r STACK 8
i 401005 5
i 40100a 2
i 40100c 2"
    quern trace --to=lackey t
    same "$(sed -E 's/7f[0-9a-f]{10}/STACK/' <<< "$output" | head -n 4)" "I  00401000,5
 S STACK,8
I  0040100e,5
I  00401013,8"
    command -v valgrind > /dev/null || skip "no Valgrind for the comparison"
    valgrind --tool=lackey --trace-mem=yes ./prog 2> theirs
    same "$(sed -E 's/7f[0-9a-f]{10}/STACK/' <<< "$output")" \
        "$(grep -v '^==' theirs | sed -E 's/1ff[0-9a-f]{7}/STACK/')"
}

# An instruction of the trace in --to=champsim's format: address, branch, taken, and the registers and
# addresses that it writes and reads, without zeros.
champsim() {
    quern trace --to=champsim "$@" -o records
    python3 -c 'import struct, sys
data = open("records", "rb").read()
for at in range(0, len(data), 64):
    ip, branch, taken, *rest = struct.unpack_from("<QBB2B4B2Q4Q", data, at)
    lists = rest[:2], rest[2:6], rest[6:8], rest[8:]
    print("%x" % ip, branch, taken, *("/" + ",".join("%x" % n for n in l if n) for l in lists))'
}

@test "instructions for ChampSim: its numbers of the registers tell the kind of a branch" {
    branches
    output=$(champsim t)
    # 6 the stack pointer, 19 flags, 1a the instruction pointer, ff the target of an indirect branch;
    # 40, 41, 47: rax, rcx, rdi; 4b r11.
    same "$(sed -E 's/7f[0-9a-f]{10}/STACK/' <<< "$output")" "401000 1 1 /1a,6 /6,1a /STACK /
40100e 0 0 /41 / / /
401013 0 0 /19 / /402008 /402008
40101b 0 0 /41,19 /41 / /
40101d 1 1 /1a /1a,19 / /
401013 0 0 /19 / /402008 /402008
40101b 0 0 /41,19 /41 / /
40101d 1 1 /1a /1a,19 / /
401013 0 0 /19 / /402008 /402008
40101b 0 0 /41,19 /41 / /
40101d 1 0 /1a /1a,19 / /
40101f 1 1 /1a /ff / /402000
401026 1 1 /1a,6 /6 / /STACK
401005 0 0 /40 / / /
40100a 0 0 /47,19 /47 / /
40100c 0 0 /41,4b / / /"
}

@test "for ChampSim, without the program: addresses and outcomes stay" {
    branches
    rm prog
    quern trace --to=champsim -o records t
    same "$status" 0
    same "$messages" "quern: t: the files with the code of 16 instructions are not there; their registers are left out"
    output=$(champsim t 2> /dev/null)
    same "$(sed -n '5p;11,13p' <<< "$output" | sed -E 's/7f[0-9a-f]{10}/STACK/')" "40101d 1 1 /1a /1a,19 / /
40101d 1 0 /1a /1a,19 / /
40101f 1 1 /1a /ff / /402000
401026 0 0 / / / /STACK"
}

@test "for another simulator: what is refused" {
    branches
    quern trace --to=lackey --simulate t
    same "$status" 2
    same "$messages" "quern: --limit, --skip and --simulate: not with --to, which converts all"
    quern trace -o x t
    same "$messages" "quern: --output: only with --to"
    quern trace --to=dinero -o none/x t
    same "$messages" "quern: none/x: cannot be written: No such file or directory"
    # A damaged trace leaves no file.
    damaged 86 'X'
    quern trace --to=dinero -o x bad
    same "$status" 2
    [ ! -e x ]
}

# Maps `back` (two pages) and `over` in the place of the second of them, in turn, within one chunk
# of the trace: each round executes 2 instructions of the first page twice, 4 of the second one, and
# 3 of `over`.
@test "mappings in each other's place within one chunk: each instruction by its own file" {
    real
    printf '%s\n' '.globl _start' '.text' '_start: mov $ROUNDS, %ebp' \
        '1: mov $0x10000000, %edi' 'mov $8192, %esi' 'lea back(%rip), %rbx' 'call map' \
        'mov $0x10000000, %eax' 'call *%rax' 'mov $0x10001000, %eax' 'call *%rax' \
        'mov $0x10001000, %edi' 'mov $4096, %esi' 'lea over(%rip), %rbx' 'call map' \
        'mov $0x10000000, %eax' 'call *%rax' 'mov $0x10001000, %eax' 'call *%rax' \
        'dec %ebp' 'jnz 1b' 'mov $60, %eax' 'xor %edi, %edi' 'syscall' \
        'map: push %rdi' 'push %rsi' 'mov %rbx, %rdi' 'xor %esi, %esi' 'mov $2, %eax' 'syscall' \
        'mov %eax, %r8d' 'pop %rsi' 'pop %rdi' 'mov $5, %edx' 'mov $0x12, %r10d' 'xor %r9d, %r9d' \
        'mov $9, %eax' 'syscall' 'mov %r8d, %edi' 'mov $3, %eax' 'syscall' 'ret' \
        'back: .asciz "back"' 'over: .asciz "over"' > all.S
    printf '%s\n' 'nop' 'ret' '.org 4096' 'nop' 'nop' 'nop' 'ret' '.org 8192' > back.S
    printf '%s\n' 'cld' 'nop' 'ret' '.org 4096' > over.S
    for name in back over; do
        gcc -c $name.S
        objcopy -O binary -j .text $name.o $name
    done
    for rounds in 1 5; do
        sed "s/ROUNDS/$rounds/" all.S > prog.S
        gcc -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -o prog prog.S
        quern run -q $CACHES --trace-refs=t -o profile ./prog
        same "$messages" ""
        [ "$status" = 0 ]
        quern trace --simulate t
        same "$messages" ""
        same "$(awk '/^ob=/ { at = $1 " " $2 } /^0x/ { print at, $1, $2 }' <<< "$output" | grep -v /prog)" \
            "ob=$FOLDER/back 0x10000000 0x10000000 $((2 * rounds))
ob=$FOLDER/back 0x10000000 0x10000001 $((2 * rounds))
ob=$FOLDER/back 0x10000000 0x10001000 $rounds
ob=$FOLDER/over 0x10001000 0x10001000 $rounds
ob=$FOLDER/back 0x10000000 0x10001001 $rounds
ob=$FOLDER/over 0x10001000 0x10001001 $rounds
ob=$FOLDER/back 0x10000000 0x10001002 $rounds
ob=$FOLDER/over 0x10001000 0x10001002 $rounds
ob=$FOLDER/back 0x10000000 0x10001003 $rounds"
    done
}
