// SPDX-License-Identifier: MIT
// engine/run/emulate.c: what the engine executes itself, where a program is shown another processor
// or time is made up: which instructions, what they answer, and which are left to the processor.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/safemem.h"
#include "engine/count/ticks.h"
#include "engine/run/emulate.h"
#include "engine/spool/spooler.h"
#include "engine/x86/decode.h"

static struct spool_header header;
struct spool_header *spool = &header;
static u8 code[15];
static struct thread thread;
static struct thread *const t = &thread;

u64 safe_read_some(void *dst, u64 addr, u64 n)
{
    assert_int_equal(addr, 0x401000);
    memcpy(dst, code, n);
    return n;
}

u64 ticks_now(struct thread *of)
{
    assert_ptr_equal(of, t);
    return 0x1122334455667788;
}

u64 ticks_random(struct thread *of)
{
    assert_ptr_equal(of, t);
    return 0x99aabbccddeeff00;
}

#define RUN(bytes) run((const u8 *)(bytes), sizeof(bytes) - 1)

static bool run(const u8 *bytes, u32 n)
{
    bool done;

    memset(code, 0x90, sizeof(code));
    memcpy(code, bytes, n);
    t->pc = 0x401000;
    t->rflags = FLAGS_INITIAL | FLAG_RF | FLAG_ZF;
    done = emulate_insn(t);
    assert_int_equal(t->pc, 0x401000 + (done ? n : 0));
    assert_int_equal(t->rflags & FLAG_RF, done ? 0 : FLAG_RF);
    return done;
}

static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    for (u32 i = 0; i < 16; i++)
        t->regs[i] = 0xff00000000000000 + i;
    return 0;
}

static void test_nothing(void **state)
{
    (void)state;
    emulate_init();
    assert_false(RUN("\x0f\xa2"));
    assert_false(RUN("\x0f\x31"));
}

static void test_cpuid(void **state)
{
    (void)state;
    header.cpu.leaves = 2;
    header.cpu.leaf[0] = (struct spool_cpuid){
        .leaf = 1, .sub = SPOOL_CPUID_ANY, .a = 11, .b = 12, .c = 13, .d = 14
    };
    header.cpu.leaf[1] = (struct spool_cpuid){ .leaf = 7, .sub = 1, .a = 21 };
    emulate_init();
    t->regs[R_RAX] = 1;
    assert_true(RUN("\x0f\xa2"));
    assert_int_equal(t->regs[R_RAX], 11);
    assert_int_equal(t->regs[R_RBX], 12);
    assert_int_equal(t->regs[R_RCX], 13);
    assert_int_equal(t->regs[R_RDX], 14);
    t->regs[R_RAX] = 7;
    t->regs[R_RCX] = 1;
    assert_true(RUN("\x0f\xa2"));
    assert_int_equal(t->regs[R_RAX], 21);
    t->regs[R_RAX] = 7;
    t->regs[R_RCX] = 2; // there is none
    assert_true(RUN("\x0f\xa2"));
    assert_int_equal(t->regs[R_RAX] | t->regs[R_RBX] | t->regs[R_RCX] | t->regs[R_RDX], 0);
    assert_false(RUN("\x0f\x31")); // time is not made up
    assert_false(RUN("\x90"));
}

static bool has_xgetbv1(void)
{
    u32 a = 0xd, b, c = 1, d;

    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return a & 4;
}

// States that the program is shown, and of these the ones in use.
static void test_xgetbv(void **state)
{
    bool xsave = cpu.xsave;
    u32 low, high;

    (void)state;
    header.cpu.leaves = 1;
    emulate_init();
    cpu.xsave = true;
    t->regs[R_RCX] = 0;
    assert_true(RUN("\x0f\x01\xd0"));
    assert_int_equal(t->regs[R_RAX], 3);
    header.cpu.xcr0 = 0x700000007;
    assert_true(RUN("\x0f\x01\xd0"));
    assert_int_equal(t->regs[R_RAX], 7);
    assert_int_equal(t->regs[R_RDX], 7);
    t->regs[R_RCX] = 2;
    assert_false(RUN("\x0f\x01\xd0"));
    t->regs[R_RCX] = 1;
    assert_false(RUN("\x0f\x01\xd0")); // it is shown no such thing
    if (xsave && has_xgetbv1()) {
        cpu_set_add(&header.cpu.features, CPU_XGETBV1);
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
        assert_true(RUN("\x0f\x01\xd0"));
        assert_int_equal(t->regs[R_RAX], low & 7);
        assert_int_equal(t->regs[R_RDX], high & 7);
    }
    cpu.xsave = false;
    t->regs[R_RCX] = 0;
    assert_false(RUN("\x0f\x01\xd0"));
    cpu.xsave = xsave;
}

static void test_time(void **state)
{
    (void)state;
    header.flags = SPOOL_F_COUNTED;
    emulate_init();
    assert_true(RUN("\x0f\x31")); // rdtsc
    assert_int_equal(t->regs[R_RAX], 0x55667788);
    assert_int_equal(t->regs[R_RDX], 0x11223344);
    assert_int_equal(t->regs[R_RCX], 0xff00000000000001);
    assert_true(RUN("\x0f\x01\xf9")); // rdtscp
    assert_int_equal(t->regs[R_RCX], 0);
    assert_true(RUN("\x66\x0f\xc7\xf3")); // rdrand bx
    assert_int_equal(t->regs[R_RBX], 0xff0000000000ff00);
    assert_int_equal(t->rflags & FLAGS_ARITH, FLAG_CF);
    assert_true(RUN("\x0f\xc7\xf3")); // rdrand ebx
    assert_int_equal(t->regs[R_RBX], 0xddeeff00);
    assert_true(RUN("\x48\x0f\xc7\xfb")); // rdseed rbx
    assert_int_equal(t->regs[R_RBX], 0x99aabbccddeeff00);
    assert_false(RUN("\x0f\xa2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, setup),
        cmocka_unit_test_setup(test_cpuid, setup),
        cmocka_unit_test_setup(test_xgetbv, setup),
        cmocka_unit_test_setup(test_time, setup),
    };

    cpu_init(0, 0);
    decode_init(false);
    return cmocka_run_group_tests_name("run/emulate", tests, NULL, NULL);
}
