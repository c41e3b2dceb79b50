// SPDX-License-Identifier: MIT
// engine/x86/decode.c, the object that the engine is linked from: the kinds of instructions and the
// targets of branches. The bytes are written by hand after the Intel SDM, volume 2; cpuid tells the
// vendor where that matters. fuzz/insn_claims.c compares the decoder's flags, registers and memory
// with the processor.
#include <cpuid.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/x86/decode.h"

#define PC 0x400000ul

// AMD processors truncate rip where a near branch has an operand size prefix, Intel's ignore it.
static bool truncates(void)
{
    u32 a, b, c, d;

    __cpuid(0, a, b, c, d);
    (void)b;
    (void)d;
    return c == signature_AMD_ecx || c == 0x656e6975; // AuthenticAMD, HygonGenuine
}

struct given {
    const char *name, *bytes;
    u32 n;
    u32 kind;
    u64 target; // of direct branches
};

static void check(const struct given *g)
{
    struct insn in;

    for (u32 refs = 0; refs < 2; refs++) {
        int len = decode_insn(&in, PC, (const u8 *)g->bytes, g->n, refs);

        if (len != (int)g->n || in.kind != g->kind || in.target != g->target)
            fail_msg("%s, refs %u: length %d, kind %u, target %#lx", g->name, refs, len, in.kind,
                     in.target);
    }
}

#define BYTES(s) s, sizeof(s) - 1

static void kinds(void **state)
{
    static const struct given given[] = {
        { "nop", BYTES("\x90"), INSN_PLAIN, 0 },
        { "jmp rel8", BYTES("\xeb\x10"), INSN_JMP, PC + 2 + 0x10 },
        { "jmp rel32", BYTES("\xe9\xfb\xff\xff\xff"), INSN_JMP, PC },
        { "jz rel8", BYTES("\x74\xfe"), INSN_JCC, PC },
        { "jz rel32", BYTES("\x0f\x84\0\x01\0\0"), INSN_JCC, PC + 6 + 0x100 },
        { "loop", BYTES("\xe2\x05"), INSN_LOOP, PC + 2 + 5 },
        { "jrcxz", BYTES("\xe3\x05"), INSN_LOOP, PC + 2 + 5 },
        { "call rel32", BYTES("\xe8\x01\0\0\0"), INSN_CALL, PC + 5 + 1 },
        { "jmp *%r9", BYTES("\x41\xff\xe1"), INSN_JMP_IND, 0 },
        { "call *(%rax)", BYTES("\xff\x10"), INSN_CALL_IND, 0 },
        { "ret", BYTES("\xc3"), INSN_RET, 0 },
        { "ret $8", BYTES("\xc2\x08\0"), INSN_RET, 0 },
        { "far jmp", BYTES("\xff\x28"), INSN_STEP, 0 },
        { "syscall", BYTES("\x0f\x05"), INSN_SYSCALL, 0 },
        { "rep movsb", BYTES("\xf3\xa4"), INSN_STRING, 0 },
        { "movsd of SSE2", BYTES("\xf2\x0f\x10\xc1"), INSN_PLAIN, 0 },
        { "int3", BYTES("\xcc"), INSN_STEP, 0 },
        { "ud2", BYTES("\x0f\x0b"), INSN_STEP, 0 },
        { "hlt", BYTES("\xf4"), INSN_STEP, 0 },
        { "rdgsbase %rax", BYTES("\xf3\x48\x0f\xae\xc8"), INSN_RDGS, 0 },
        { "wrgsbase %rax", BYTES("\xf3\x48\x0f\xae\xd8"), INSN_STEP, 0 },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(given); i++)
        check(&given[i]);
}

// xbegin is a branch to its fallback, which Zydis does not report; a displacement of 16 bits
// truncates nothing. The other three are copied: outside of transactions xtest returns false,
// xabort does nothing, xend faults.
static void transactions(void **state)
{
    static const struct given given[] = {
        { "xbegin rel32", BYTES("\xc7\xf8\0\x01\0\0"), INSN_XBEGIN, PC + 6 + 0x100 },
        { "xbegin back", BYTES("\xc7\xf8\xfa\xff\xff\xff"), INSN_XBEGIN, PC },
        { "xbegin rel16", BYTES("\x66\xc7\xf8\x05\0"), INSN_XBEGIN, PC + 5 + 5 },
        { "xbegin rel16 back", BYTES("\x66\xc7\xf8\xfb\xff"), INSN_XBEGIN, PC },
        { "xend", BYTES("\x0f\x01\xd5"), INSN_PLAIN, 0 },
        { "xtest", BYTES("\x0f\x01\xd6"), INSN_PLAIN, 0 },
        { "xabort $7", BYTES("\xc6\xf8\x07"), INSN_PLAIN, 0 },
        { "mov $7, %al", BYTES("\xc6\xc0\x07"), INSN_PLAIN, 0 },
        { "mov $7, %eax", BYTES("\xc7\xc0\x07\0\0\0"), INSN_PLAIN, 0 },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(given); i++)
        check(&given[i]);
}

// Two lengths: with the prefix, a displacement has 16 bits where the processor honours it, else 32.
// The test has to know which this processor does; the decoder handles both.
static void short_branches(void **state)
{
    static const struct given amd[] = {
        { "jmp rel8", BYTES("\x66\xeb\0"), INSN_STEP, 0 },
        { "jmp rel16", BYTES("\x66\xe9\0\0"), INSN_STEP, 0 },
        { "jz rel16", BYTES("\x66\x0f\x84\0\0"), INSN_STEP, 0 },
        { "ret", BYTES("\x66\xc3"), INSN_STEP, 0 },
        { "jmp *%rax", BYTES("\x66\xff\xe0"), INSN_STEP, 0 },
    };
    static const struct given intel[] = {
        { "jmp rel8", BYTES("\x66\xeb\0"), INSN_JMP, PC + 3 },
        { "jmp rel32", BYTES("\x66\xe9\0\0\0\0"), INSN_JMP, PC + 6 },
        { "jz rel32", BYTES("\x66\x0f\x84\0\0\0\0"), INSN_JCC, PC + 7 },
        { "ret", BYTES("\x66\xc3"), INSN_RET, 0 },
        { "jmp *%rax", BYTES("\x66\xff\xe0"), INSN_JMP_IND, 0 },
    };

    (void)state;
    assert_int_equal(cpu.amd, truncates());
    for (u32 on_amd = 0; on_amd < 2; on_amd++) {
        cpu.amd = on_amd;
        decode_init(false);
        for (u32 i = 0; i < ARRAY_SIZE(amd); i++)
            check(on_amd ? &amd[i] : &intel[i]);
    }
    cpu.amd = truncates();
    decode_init(false);
}

static void lengths(void **state)
{
    static const u8 jmp[] = { 0xe9, 0, 0, 0, 0 }, no_insn[] = { 0x06 };
    static const u8 lock[] = { 0xf0, 0xc7, 0xf8, 0, 0, 0, 0 };
    struct insn in;

    (void)state;
    for (u32 n = 0; n < sizeof(jmp); n++)
        assert_int_equal(decode_insn(&in, PC, jmp, n, true), -1);
    assert_int_equal(decode_insn(&in, PC, jmp, sizeof(jmp), true), 5);
    assert_int_equal(decode_insn(&in, PC, no_insn, 1, true), 0);         // push %es of other modes
    assert_int_equal(decode_insn(&in, PC, lock, sizeof(lock), true), 0); // xbegin cannot be locked
}

static int init(void **state)
{
    (void)state;
    cpu_init(0, 0);
    decode_init(false);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(transactions),
        cmocka_unit_test(short_branches),
        cmocka_unit_test(lengths),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
