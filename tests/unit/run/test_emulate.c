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
#include "engine/base/sys.h"
#include "engine/count/ticks.h"
#include "engine/run/emulate.h"
#include "engine/spool/spooler.h"
#include "engine/thread/selector.h"
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

static u64 read_at;
static u16 there; // what is read; 0: nothing can be

int safe_read(void *to, u64 from, u64 n)
{
    assert_int_equal(n, 2);
    read_at = from;
    if (!there)
        return -EFAULT;
    memcpy(to, &there, n);
    return 0;
}

static bool refuses;
static u32 set_to; // which selector was to be loaded, plus one

bool selector_set(struct thread *of, u16 selector)
{
    assert_ptr_equal(of, t);
    set_to = selector + 1u;
    return !refuses;
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

// What is loaded into %gs, read from where: by hand from the manual's encodings.
static void test_selector_loaded(void **state)
{
    static const struct {
        const char *bytes;
        u32 n;
        u64 at;
    } cases[] = {
        { "\x8e\x2f", 2, 7 },                              // [rdi]
        { "\x41\x8e\x2f", 3, 15 },                         // [r15]
        { "\x8e\x6f\x80", 3, 7 - 128 },                    // [rdi-128]
        { "\x8e\xaf\x00\x01\x00\x00", 6, 7 + 256 },        // [rdi+256]
        { "\x8e\x2d\x10\x00\x00\x00", 6, 0x401016 },       // [rip+16]
        { "\x8e\x2c\x8e", 3, 6 + 1 * 4 },                  // [rsi+rcx*4]
        { "\x43\x8e\x2c\xa7", 4, 15 + 12 * 4 },            // [r15+r12*4]
        { "\x8e\x2c\x24", 3, 4 },                          // [rsp]
        { "\x8e\x2c\x25\x00\x20\x00\x00", 7, 0x2000 },     // [0x2000]
        { "\x8e\x2c\x4d\x00\x20\x00\x00", 7, 0x2000 + 2 }, // [0x2000+rcx*2]
        { "\x67\x8e\x6f\xf0", 4, 0xfffffff7 },             // [edi-16]
    };

    (void)state;
    for (u32 i = 0; i < 16; i++)
        t->regs[i] = i;
    refuses = false;
    there = 0x2b;
    for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        set_to = 0;
        assert_true(run((const u8 *)cases[i].bytes, cases[i].n));
        assert_true(read_at == cases[i].at);
        assert_int_equal(set_to, 0x2c);
    }
    set_to = 0;
    assert_false(RUN("\x64\x8e\x2f")); // fs:[rdi] is the processor's
    assert_false(RUN("\x8e\x27"));     // and so is %fs
    there = 0;
    assert_false(RUN("\x8e\x2f"));
    assert_int_equal(set_to, 0);
    t->regs[R_RDI] = 0x70003;
    assert_true(RUN("\x8e\xef")); // mov edi
    assert_int_equal(set_to, 4);
    assert_true(RUN("\x41\x8e\xef")); // mov r15d
    assert_int_equal(set_to, 16);
    there = 3;
    t->regs[R_RSP] = 0x5000;
    assert_true(RUN("\x0f\xa9")); // pop
    assert_int_equal(read_at, 0x5000);
    assert_int_equal(t->regs[R_RSP], 0x5008);
    assert_true(RUN("\x66\x0f\xa9"));
    assert_int_equal(t->regs[R_RSP], 0x500a);
    refuses = true; // the fault is the processor's to raise
    assert_false(RUN("\x0f\xa9"));
    assert_int_equal(t->regs[R_RSP], 0x500a);
    assert_false(RUN("\x8e\xef"));
}

static void test_selector_read(void **state)
{
    (void)state;
    t->client_gs = 3;
    assert_true(RUN("\x8c\xef")); // edi
    assert_int_equal(t->regs[R_RDI], 3);
    assert_true(RUN("\x66\x41\x8c\xef")); // r15w
    assert_true(t->regs[15] == 0xff00000000000003);
    assert_true(RUN("\x4d\x8c\xef")); // r15
    assert_int_equal(t->regs[15], 3);
    assert_false(RUN("\x8c\x2f")); // [rdi], which may fault
    assert_false(RUN("\x0f\xa8")); // push
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_selector_loaded, setup),
        cmocka_unit_test_setup(test_selector_read, setup),
        cmocka_unit_test_setup(test_nothing, setup),
        cmocka_unit_test_setup(test_cpuid, setup),
        cmocka_unit_test_setup(test_xgetbv, setup),
        cmocka_unit_test_setup(test_time, setup),
    };

    cpu_init(0, 0);
    decode_init(false);
    return cmocka_run_group_tests_name("run/emulate", tests, NULL, NULL);
}
