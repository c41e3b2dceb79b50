// SPDX-License-Identifier: MIT
// engine/run/emulate.c: which instructions the engine emulates, with another processor (--cpu) or
// virtual time; their results; and which are left to the processor.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/count/vtsc.h"
#include "engine/run/emulate.h"
#include "engine/spool/spooler.h"
#include "engine/thread/selector.h"
#include "engine/x86/decode.h"

static struct spool_header header;
struct spool_header *spool = &header;
static u8 code[15];
static struct thread thread;
static struct thread *const t = &thread;

u64 clientmem_read_some(void *dst, u64 addr, u64 n)
{
    assert_int_equal(addr, 0x401000);
    memcpy(dst, code, n);
    return n;
}

u64 vtsc_now(struct thread *of)
{
    assert_ptr_equal(of, t);
    return 0x1122334455667788;
}

u64 vtsc_random(struct thread *of)
{
    assert_ptr_equal(of, t);
    return 0x99aabbccddeeff00;
}

static u64 read_at;
static u16 there; // what is read; 0: reads fail

// The memory that far branches read and write, from FAR_AT on.
#define FAR_AT 0x7000ul

static u8 far_memory[64];
static bool far_readable, far_writable;

static bool in_far(u64 addr, u64 n)
{
    return addr >= FAR_AT && addr + n <= FAR_AT + sizeof(far_memory);
}

int clientmem_write(u64 to, const void *from, u64 n)
{
    assert_true(in_far(to, n));
    if (!far_writable)
        return -EFAULT;
    memcpy(far_memory + (to - FAR_AT), from, n);
    return 0;
}

int clientmem_read(void *to, u64 from, u64 n)
{
    if (in_far(from, n)) {
        if (!far_readable)
            return -EFAULT;
        memcpy(to, far_memory + (from - FAR_AT), n);
        return 0;
    }
    assert_int_equal(n, 2);
    read_at = from;
    if (!there)
        return -EFAULT;
    memcpy(to, &there, n);
    return 0;
}

static bool refuses;
static u32 set_to; // the selector that was to be loaded, plus one

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
    t->regs[R_RCX] = 2; // no such subleaf
    assert_true(RUN("\x0f\xa2"));
    assert_int_equal(t->regs[R_RAX] | t->regs[R_RBX] | t->regs[R_RCX] | t->regs[R_RDX], 0);
    assert_false(RUN("\x0f\x31")); // time is not virtual
    assert_false(RUN("\x90"));
}

static bool has_xgetbv1(void)
{
    u32 a = 0xd, b, c = 1, d;

    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return a & 4;
}

// XCR0 as --cpu sets it, and which of its states are in use.
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
    assert_false(RUN("\x0f\x01\xd0")); // --cpu has no xgetbv1
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

// What is loaded into %gs, and its address: by hand from the manual's encodings.
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
    assert_false(RUN("\x64\x8e\x2f")); // fs:[rdi] is left to the processor
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
    refuses = true; // the processor has to raise the fault
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

// ---- Branches that name the code segment ----

#define USER64     0x33
#define IRET_FLAGS (FLAGS_INITIAL | FLAG_DF | FLAG_AC | 0x200000 | FLAG_CF | FLAG_OF)

static int setup_far(void **state)
{
    memset(far_memory, 0, sizeof(far_memory));
    far_readable = far_writable = true;
    cpu.amd = false;
    t->regs[R_RSP] = FAR_AT + 16;
    return setup(state);
}

// A far return, jump, call or iret: emulated (it went to `target`), or left to the processor with
// nothing changed.
static bool goes(const char *bytes, u32 n, u64 target, u64 sp)
{
    u64 before[16], flags = FLAGS_INITIAL | FLAG_RF | FLAG_ZF;
    bool done;

    memset(code, 0x90, sizeof(code));
    memcpy(code, bytes, n);
    memcpy(before, t->regs, sizeof(before));
    t->pc = 0x401000;
    t->rflags |= flags;
    flags = t->rflags;
    done = emulate_insn(t);
    if (done) {
        assert_true(t->pc == target);
        assert_true(t->regs[R_RSP] == sp);
        before[R_RSP] = sp;
        assert_false(t->rflags & FLAG_RF);
    } else {
        assert_int_equal(t->pc, 0x401000);
        assert_true(t->rflags == flags);
    }
    assert_memory_equal(before, t->regs, sizeof(before));
    t->regs[R_RSP] = FAR_AT + 16;
    return done;
}

#define GOES(bytes, target, sp) goes(bytes, sizeof(bytes) - 1, target, sp)

static void put_words(u64 at, u32 size, const u64 *word, u32 n)
{
    for (u32 i = 0; i < n; i++)
        memcpy(far_memory + (at - FAR_AT) + i * size, word + i, size);
}

#define PUT(at, size, ...)                            \
    put_words(at, size, (const u64[]){ __VA_ARGS__ }, \
              sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64))

static void test_far_return(void **state)
{
    static const u64 refused[] = { 0, 3, 0x23, 0x2b, 0x30, 0x32, 0x37, 0x1233 };

    (void)state;
    t->rflags = 0;
    t->regs[R_RSP] = FAR_AT + 16;
    PUT(FAR_AT + 16, 8, 0x7f1234567890, 0xabcdef0000000000 | USER64); // only 16 bits of it count
    assert_true(GOES("\x48\xcb", 0x7f1234567890, FAR_AT + 32));
    assert_true(t->rflags == (FLAGS_INITIAL | FLAG_ZF)); // unchanged
    assert_true(GOES("\x48\xca\xf0\xff", 0x7f1234567890, FAR_AT + 32 + 0xfff0));
    assert_false(GOES("\xcb", 0, 0)); // 32-bit words: the selector is in the other half
    PUT(FAR_AT + 16, 4, 0x89abcdef, USER64);
    assert_true(GOES("\xcb", 0x89abcdef, FAR_AT + 24));
    assert_true(GOES("\xca\x08\x00", 0x89abcdef, FAR_AT + 32));
    assert_false(GOES("\x66\xcb", 0, 0));
    PUT(FAR_AT + 16, 8, cpu_task_size(), USER64); // and a target that is not canonical
    assert_false(GOES("\x48\xcb", 0, 0));
    PUT(FAR_AT + 16, 8, cpu_task_size() - 1, USER64);
    assert_true(GOES("\x48\xcb", cpu_task_size() - 1, FAR_AT + 32));
    for (u32 i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        PUT(FAR_AT + 16, 8, 0x402000, refused[i]);
        assert_false(GOES("\x48\xcb", 0, 0));
    }
    PUT(FAR_AT + 16, 8, 0x402000, USER64);
    t->rflags |= FLAG_AC; // the stack may be misaligned
    assert_false(GOES("\x48\xcb", 0, 0));
    t->rflags = 0;
    far_readable = false;
    assert_false(GOES("\x48\xcb", 0, 0));
}

static void test_interrupt_return(void **state)
{
    static const u64 not_here[] = {
        FLAG_TF, 0x4000, FLAG_RF, 0x20000, 0x80000, 0x100000, 1ul << 32
    };

    (void)state;
    t->rflags = 0;
    t->regs[R_RSP] = FAR_AT + 16;
    PUT(FAR_AT + 16, 8, 0x402000, USER64, IRET_FLAGS, 0x8001, 0x2b);
    assert_true(GOES("\x48\xcf", 0x402000, 0x8001));
    assert_true(t->rflags == IRET_FLAGS); // without FLAG_ZF
    assert_false(GOES("\x48\xcf", 0, 0)); // alignment checks are on
    t->rflags = 0;
    PUT(FAR_AT + 16, 8, 0x402000, USER64, 0x3000, 0x8001, 0x2b); // the program cannot change IOPL
    assert_true(GOES("\x48\xcf", 0x402000, 0x8001));
    assert_true(t->rflags == FLAGS_INITIAL);
    for (u32 i = 0; i < sizeof(not_here) / sizeof(*not_here); i++) {
        PUT(FAR_AT + 16, 8, 0x402000, USER64, FLAGS_INITIAL | not_here[i], 0x8001, 0x2b);
        assert_false(GOES("\x48\xcf", 0, 0));
    }
    PUT(FAR_AT + 16, 8, 0x402000, USER64, FLAGS_INITIAL, 0x8001, 0x23);
    assert_false(GOES("\x48\xcf", 0, 0));
    PUT(FAR_AT + 16, 8, 0x402000, 0x23, FLAGS_INITIAL, 0x8001, 0x2b);
    assert_false(GOES("\x48\xcf", 0, 0));
    PUT(FAR_AT + 16, 8, 0x402000, USER64, FLAGS_INITIAL, 0x8001, 0x2b);
    t->rflags = 0x4000; // a nested task: a fault
    assert_false(GOES("\x48\xcf", 0, 0));
    t->rflags = 0;
    PUT(FAR_AT + 16, 4, 0x402000, USER64, FLAGS_INITIAL, 0x80000001, 0x2b);
    assert_true(GOES("\xcf", 0x402000, 0x80000001));
    assert_false(GOES("\x66\xcf", 0, 0));
}

static void test_far_branch(void **state)
{
    u64 word;

    (void)state;
    t->rflags = 0;
    t->regs[R_RSP] = FAR_AT + 16;
    t->regs[R_RDI] = FAR_AT + 40;
    PUT(FAR_AT + 40, 8, 0x7f1234567890, USER64);
    assert_true(GOES("\x48\xff\x2f", 0x7f1234567890, FAR_AT + 16)); // ljmp [rdi]
    assert_true(GOES("\x48\xff\x1f", 0x7f1234567890, FAR_AT));      // lcall [rdi]
    memcpy(&word, far_memory, 8);
    assert_int_equal(word, 0x401003);
    memcpy(&word, far_memory + 8, 8);
    assert_int_equal(word, USER64);
    cpu.amd = true; // m16:32, in spite of REX.W: not emulated
    assert_false(GOES("\x48\xff\x2f", 0, 0));
    assert_false(GOES("\x48\xff\x1f", 0, 0));
    PUT(FAR_AT + 40, 4, 0x89abcdef, USER64);
    assert_true(GOES("\xff\x2f", 0x89abcdef, FAR_AT + 16));
    assert_true(GOES("\xff\x1f", 0x89abcdef, FAR_AT + 8));
    memcpy(&word, far_memory + 8, 8);
    assert_true(word == ((u64)USER64 << 32 | 0x401002));
    cpu.amd = false;
    assert_true(GOES("\xff\x2f", 0x89abcdef, FAR_AT + 16));
    assert_false(GOES("\xff\x1f", 0, 0)); // what is above the selector depends on the processor
    assert_false(GOES("\x64\xff\x2f", 0, 0));
    assert_false(GOES("\x66\xff\x2f", 0, 0));
    PUT(FAR_AT + 40, 4, 0x402000, 0x23);
    assert_false(GOES("\xff\x2f", 0, 0));
    PUT(FAR_AT + 40, 8, 0x402000, USER64);
    far_writable = false;
    assert_false(GOES("\x48\xff\x1f", 0, 0));
    assert_true(GOES("\x48\xff\x2f", 0x402000, FAR_AT + 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_far_return, setup_far),
        cmocka_unit_test_setup(test_interrupt_return, setup_far),
        cmocka_unit_test_setup(test_far_branch, setup_far),
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
