#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --cpu and --tsc: what a program is shown of the processor, to the bit. That all ways of asking
# agree is tests/guest/505-cpu.c's.

load run

setup_file() {
    cat > "$BATS_FILE_TMPDIR/ask.c" << 'END_C'
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    unsigned a, b, c, d;

    for (int i = 1; i + 1 < argc; i += 2) {
        __cpuid_count(strtoul(argv[i], NULL, 0), strtoul(argv[i + 1], NULL, 0), a, b, c, d);
        printf("%08x %08x %08x %08x\n", a, b, c, d);
    }
}
END_C
    gcc -O1 -o "$BATS_FILE_TMPDIR/ask" "$BATS_FILE_TMPDIR/ask.c"
}

real() {
    [ -x "$BUILD/libexec/quern/quern-engine" ] || skip "no engine in this build"
    unset QUERN_ENGINE QUERN_TEST_SPOOL
    rm -f script
}

# Skips where this machine has not what is wanted.
has() {
    local word
    for word; do
        grep -qwm1 "^flags.* $word" /proc/cpuinfo || skip "this processor has no $word"
    done
}

ask() { # level, leaf and subleaf...
    local level=$1
    shift
    quern run -q --cpu="$level" -o out "$BATS_FILE_TMPDIR/ask" "$@"
}

# Leaf 1: signature; 64-byte clflush, one thread; the features; OSXSAVE is bit 27 of ecx, which only
# levels with xsave have. Leaf 0: the highest leaf and the vendor's letters.
@test "x86-64: an Opteron without anything beyond SSE2" {
    real
    ask x86-64 0 0 1 0 7 0 0x80000001 0 0x80000005 0 0x80000006 0
    same "$output" "00000001 68747541 444d4163 69746e65
00000f58 00010800 00000000 078bfbff
00000000 00000000 00000000 00000000
00000000 00000000 00000000 20100800
00000000 00000000 40020140 40020140
00000000 00000000 04008140 00000000"
}

# ecx of leaf 1: pni 0, ssse3 9, cx16 13, sse4_1 19, sse4_2 20, popcnt 23.
@test "x86-64-v2: a Nehalem, its caches in leaf 4" {
    real
    has pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm
    ask x86-64-v2 0 0 1 0 7 0 0x80000001 0 4 0 4 1 4 2 4 3 4 4 0xd 0
    same "$output" "0000000b 756e6547 6c65746e 49656e69
000106a5 00010800 00982201 078bfbff
00000000 00000000 00000000 00000000
00000000 00000000 00000001 20100800
00000121 01c0003f 0000003f 00000000
00000122 00c0003f 0000007f 00000000
00000143 01c0003f 000001ff 00000000
00000163 03c0003f 00001fff 00000000
00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000"
}

# Also fma 12, movbe 22, xsave 26, osxsave 27, avx 28, f16c 29; of leaf 7 bmi1 3, avx2 5, bmi2 8; abm
# is bit 5 of 0x80000001. The state: x87, SSE, AVX, 576 + 256 bytes.
@test "x86-64-v3: a Haswell" {
    real
    has avx2 bmi1 bmi2 f16c fma abm movbe xsave
    ask x86-64-v3 0 0 1 0 7 0 0x80000001 0 0xd 0 0xd 1 0xd 2 0xd 5
    same "$output" "0000000d 756e6547 6c65746e 49656e69
000306c3 00010800 3cd83201 078bfbff
00000000 00000128 00000000 00000000
00000000 00000000 00000021 20100800
00000007 00000340 00000340 00000000
00000000 00000340 00000000 00000000
00000100 00000240 00000000 00000000
00000000 00000000 00000000 00000000"
}

# Where the last of AVX-512's states lies its own xsave decides: 0x680 on an Intel, 0x580 on an AMD.
@test "x86-64-v4: a Skylake" {
    real
    has avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512bw avx512cd avx512dq avx512vl
    read -r bytes at _ <<< "$("$BATS_FILE_TMPDIR/ask" 0xd 7)"
    same "$bytes" 00000400
    [[ $at = 00000680 || $at = 00000580 ]]
    size=$(printf '%08x' $((0x$at + 0x$bytes)))
    ask x86-64-v4 1 0 7 0 0xd 0 0xd 7
    same "$output" "00050654 00010800 3cd83201 078bfbff
00000000 d0030128 00000000 00000000
000000e7 $size $size 00000000
00000400 $at 00000000 00000000"
}

@test "features by name, more and less" {
    real
    has popcnt ssse3 lahf_lm cx16 pni sse4_1 sse4_2
    ask popcnt 1 0
    same "$output" "00000f58 00010800 00800000 078bfbff"
    ask x86-64-v2,-popcnt,-ssse3 1 0
    same "$output" "000106a5 00010800 00182001 078bfbff"
}

@test "the model's caches are simulated, but for those that are given" {
    real
    quern run --cpu=x86-64 --LL=2097152,8,64 -o out true
    same "$(sed -n 's/^==PID== Caches: //p' <<< "$messages")" "I1 65,536 B, 2-way, 64 B lines; \
D1 65,536 B, 2-way, 64 B lines; LL 2,097,152 B, 8-way, 64 B lines (given); the others from the model \
of --cpu"
}

@test "wrong values, and what this machine lacks" {
    real
    quern run --cpu=x86-64-v5 true
    [ "$status" = 2 ]
    same "$messages" 'quern: --cpu=x86-64-v5: "x86-64-v5" is neither a feature as /proc/cpuinfo has it '\
'nor, as the first word, native, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4'
    quern stat --cpu=popcnt,x86-64-v2 true # a level comes first
    [ "$status" = 2 ]
    quern run --cpu=amx_tile true
    same "$messages" "quern: --cpu=amx_tile: amx_tile cannot be chosen; native shows all of this machine's"
    quern run --cpu= true
    [ "$status" = 2 ]
    # No processor has both of these.
    quern run --cpu=sse4a,serialize true
    [ "$status" = 2 ]
    grep -q "^quern: --cpu=sse4a,serialize: this machine's processor lacks .*\(sse4a\|serialize\)\
.*; it has x86-64" <<< "$messages"
}

# _start: popcnt twice; rdtsc twice, whose difference is the three instructions from one to the next.
@test "one warning of what is beyond; counted time" {
    real
    has popcnt
    cat > prog.S << 'END_S'
    .globl _start
_start:
    popcnt %rax, %rax
    jmp 1f
1:  popcnt %rax, %rax
    rdtsc
    mov %eax, %edi
    nop
    rdtsc
    sub %edi, %eax
    mov %eax, %edi
    mov $60, %eax
    syscall
END_S
    gcc -nostdlib -static -no-pie -Wl,-Ttext-segment=0x400000 -o prog prog.S
    quern run --cpu=x86-64 --tsc=counted -o out ./prog
    [ "$status" = 3 ]
    same "$(grep warning <<< "$messages")" "==PID== warning: the instruction at 0x401000 of $PWD/prog \
(offset 0x1000) needs popcnt, which --cpu=x86-64 has not: it is executed all the same, and the counts \
are those of this machine; warned once"
    quern run --cpu=x86-64,popcnt -o out ./prog
    same "$(grep -c warning <<< "$messages")" 0
    quern run -q --cpu=x86-64 -o out true
    same "$messages" ""
}

# The outputs of splitmix64 from 0, as its authors' reference has them: e220a8397b1dcdaf,
# 6e789e6aa1b965f4, 06c45d188009454f, f88bb8a8724c81ec; the fourth into 16 bits of a register. Carry
# says that there was one. The processor that runs it is 0. Not executed, so not asked of it.
@test "counted: random numbers are a fixed sequence, the processor's number is 0" {
    real
    cat > random.c << 'END_C'
#include <stdio.h>

int main(void)
{
    unsigned long a, b, c = -1, d = -1, pid = -1;
    unsigned lo, hi, which = -1;
    unsigned char carry[4];

    asm volatile("rdrand %0; setc %1" : "=r"(a), "=m"(carry[0]) : : "cc");
    asm volatile("rdseed %0; setc %1" : "=r"(b), "=m"(carry[1]) : : "cc");
    asm volatile("rdrand %k0; setc %1" : "+r"(c), "=m"(carry[2]) : : "cc");
    asm volatile("rdseed %w0; setc %1" : "+r"(d), "=m"(carry[3]) : : "cc");
    asm volatile("rdpid %0" : "=r"(pid));
    asm volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(which));
    printf("%lx %lx %lx %lx %d%d%d%d %lx %x\n", a, b, c, d, carry[0], carry[1], carry[2], carry[3],
           pid, which);
}
END_C
    gcc -O1 -o random random.c
    for _ in 1 2; do
        quern run -q --tsc=counted -o out ./random
        same "$output" "e220a8397b1dcdaf 6e789e6aa1b965f4 8009454f ffffffffffff81ec 1111 0 0"
    done
    quern run -q --reproducible=yes -o out ./random
    [[ "$output" == "e220a8397b1dcdaf 6e789e6aa1b965f4 "* ]]
}

@test "a child that is executed is shown the same" {
    real
    ln -s "$BATS_FILE_TMPDIR/ask" ask
    quern run -q --trace-children=yes --cpu=x86-64 -o out sh -c './ask 1 0; :'
    same "$output" "00000f58 00010800 00000000 078bfbff"
}

# rdtsc is the engine's, too, with -v. The handler steps over its two bytes. A program that is
# executed has it neither; what is translated there is not timed. Some hypervisors leave it all the
# same.
@test "a program that takes rdtsc away from itself, with -v" {
    real
    cat > denied.c << 'END_C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

static int faults;

static void on_fault(int sig, siginfo_t *si, void *uc)
{
    (void)sig, (void)si;
    faults++;
    ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 2;
}

int main(int argc, char **argv)
{
    struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

    sigaction(SIGSEGV, &sa, NULL);
    if (argc == 1 && !INT80 && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
        return 1;
    if (argc == 1 && INT80) {
        long r = 172, set = PR_SET_TSC, to = PR_TSC_SIGSEGV;

        __asm__ volatile("int $0x80" : "+a"(r) : "b"(set), "c"(to) : "r8", "r9", "r10", "r11", "memory");
        if (r)
            return 77; // a kernel without that way
    }
    __asm__ volatile("rdtsc" : : : "rax", "rdx");
    printf("%d\n", faults);
    fflush(stdout);
    return argc == 1 ? execl(argv[0], argv[0], "again", NULL) : 0;
}
END_C
    for by in 0 1; do
        gcc -static -O1 -DINT80=$by -o denied denied.c # another program's loader reads it
        native=$(./denied) || { [ $? = 77 ] && continue; }
        quern run -v --translation-cache=no -o out ./denied
        [ "$status" = 0 ]
        same "$output" "$native"
        grep -q ' [1-9][0-9.]* us per block$' <<< "$messages"
        quern run -v --trace-children=yes --translation-cache=no -o out.%p ./denied
        [ "$status" = 0 ]
        same "$output" "$native"
        grep -q ' 0[.]000 ms, 0[.]00 us per block$' <<< "$messages"
    done
}

# What writes the profile inherits that, and its loader reads it: it was killed, where there is no
# hypervisor that leaves it. Children that follow each other leave theirs to another process.
@test "a program that takes rdtsc away has its profile, and so have its children" {
    real
    gcc -static -O1 -o forks -x c - << 'END_C'
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
        return 1;
    for (int i = 0; i < 4; i++) {
        if (fork() == 0)
            _exit(0);
        wait(0);
    }
    return 0;
}
END_C
    mkdir p
    for how in '' --no-bgfinish; do
        # shellcheck disable=SC2086
        quern run -q $how -o p/%p ./forks
        [ "$status" = 0 ]
        [ "$(grep -l '^summary' p/* | wc -l)" = 5 ]
        rm p/*
    done
}
