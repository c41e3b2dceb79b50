// SPDX-License-Identifier: MIT
// engine/signal/frame.c: a frame is pushed on a stack of the test's, read with the C library's
// <ucontext.h> (the layout that programs see), and popped again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/signal/frame.h"

// <ucontext.h> comes with <signal.h>, whose names are those of engine/base/sys.h; so its offsets
// are written here as the C library 2.36 has them (struct ucontext_t, and gregs[] in its order).
#define UC_STACK   16
#define UC_GREGS   40
#define UC_FPREGS  224
#define UC_SIGMASK 296
enum {
    G_R8,
    G_RDI = 8,
    G_RSI,
    G_RBP,
    G_RBX,
    G_RDX,
    G_RAX,
    G_RCX,
    G_RSP,
    G_RIP,
    G_EFL,
    G_CSGSFS,
    G_ERR,
    G_TRAPNO,
    G_OLDMASK,
    G_CR2
};
#define SIGINFO (8 + 304) // in the frame: behind the return address and the kernel's ucontext

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void *heap_pages(u64 bytes)
{
    return aligned_alloc(4096, bytes);
}

static _Alignas(64) u8 stack[65536], alternate[65536];
static struct thread block, *const t = &block;
static struct signal_state sig;
static struct signal_pending pending;
static struct k_sigaction act;

static int begin(void **state)
{
    (void)state;
    cpu_init(2, 0); // HWCAP2_FSGSBASE
    frame_init();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    memset(&block, 0, sizeof(block));
    memset(&sig, 0, sizeof(sig));
    memset(&pending, 0, sizeof(pending));
    t->sig = &sig;
    for (u32 i = 0; i < 16; i++)
        t->regs[i] = 0x1000 + i;
    t->regs[R_RSP] = (u64)stack + sizeof(stack) - 8;
    t->pc = 0x401234;
    t->rflags = FLAGS_INITIAL | FLAG_DF | FLAG_CF;
    sig.alt.flags = SS_DISABLE;
    act = (struct k_sigaction){ 0x405000, SA_SIGINFO | SA_RESTORER, 0x406000, 0 };
    pending.info.signo = SIGUSR1;
    pending.info.code = SI_QUEUE;
    pending.info.value = 0x7777;
    pending.trapno = 14;
    pending.err = 6;
    pending.cr2 = 0xabc;
    return 0;
}

static u64 at(u64 addr)
{
    u64 v;

    memcpy(&v, (void *)addr, 8);
    return v;
}

static u64 greg(u32 i)
{
    return at(t->regs[R_RSP] + 8 + UC_GREGS + 8 * i);
}

static void test_layout(void **state)
{
    u64 old_sp = t->regs[R_RSP], sp;

    (void)state;
    assert_int_equal(frame_push(t, &act, &pending, 0x5a), 0);
    sp = t->regs[R_RSP];
    assert_int_equal(sp % 16, 8); // as after a call
    assert_true(sp + SIGINFO + 128 <= old_sp - 128);
    assert_int_equal(t->pc, 0x405000);
    assert_int_equal(t->rflags, FLAGS_INITIAL | FLAG_CF); // DF is off in a handler
    assert_int_equal(t->regs[R_RDI], SIGUSR1);
    assert_int_equal(t->regs[R_RSI], sp + SIGINFO);
    assert_int_equal(t->regs[R_RDX], sp + 8);
    assert_int_equal(t->regs[R_RAX], 0);
    assert_int_equal(t->regs[R_RBX], 0x1003);
    assert_int_equal(at(sp), 0x406000); // the handler's return address
    for (u32 i = 0; i < 8; i++)
        assert_int_equal(greg(i), 0x1008 + i);
    assert_int_equal(greg(G_RDI), 0x1000 + R_RDI);
    assert_int_equal(greg(G_RSI), 0x1000 + R_RSI);
    assert_int_equal(greg(G_RBP), 0x1000 + R_RBP);
    assert_int_equal(greg(G_RBX), 0x1000 + R_RBX);
    assert_int_equal(greg(G_RDX), 0x1000 + R_RDX);
    assert_int_equal(greg(G_RAX), 0x1000 + R_RAX);
    assert_int_equal(greg(G_RCX), 0x1000 + R_RCX);
    assert_int_equal(greg(G_RSP), old_sp);
    assert_int_equal(greg(G_RIP), 0x401234);
    assert_int_equal(greg(G_EFL), FLAGS_INITIAL | FLAG_DF | FLAG_CF);
    assert_int_equal(greg(G_CSGSFS), 0x002b000000000033); // ss, fs, gs, cs
    assert_int_equal(greg(G_ERR), 6);
    assert_int_equal(greg(G_TRAPNO), 14);
    assert_int_equal(greg(G_OLDMASK), 0x5a);
    assert_int_equal(greg(G_CR2), 0xabc);
    assert_int_equal(at(sp + 8 + UC_SIGMASK), 0x5a);
    assert_int_equal(at(sp + 8 + UC_STACK + 8) & 0xffffffff, SS_DISABLE);
    assert_memory_equal((void *)(sp + SIGINFO), &pending.info, sizeof(pending.info));
    // The processor's other registers are above it, aligned, with the magic numbers around them.
    u64 fp = at(sp + 8 + UC_FPREGS);

    assert_int_equal(fp % 64, 0);
    if (cpu.xsave) {
        assert_int_equal(at(fp + 464) & 0xffffffff, 0x46505853);
        assert_int_equal(at(fp + 464) >> 32, cpu.xsave_size + 4);
        assert_int_equal(at(fp + cpu.xsave_size) & 0xffffffff, 0x46505845);
    }
}

// For every stack pointer the FPU state ends below the red zone, by less than its alignment.
static void test_room(void **state)
{
    (void)state;
    for (u32 off = 0; off < 128; off += 8) {
        u64 old_sp, fp, bytes = 512;

        setup(NULL);
        t->regs[R_RSP] -= off;
        old_sp = t->regs[R_RSP];
        assert_int_equal(frame_push(t, &act, &pending, 0), 0);
        fp = at(t->regs[R_RSP] + 8 + UC_FPREGS);
        if (cpu.xsave)
            bytes = at(fp + 464) >> 32;
        assert_in_range(old_sp - 128 - bytes - fp, 0, 63);
        assert_in_range(fp - (t->regs[R_RSP] + SIGINFO + 128), 0, 15 + 8);
    }
}

static u32 protection(void)
{
    u32 low, high;

    __asm__ volatile("rdpkru" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void protect(u32 rights)
{
    __asm__ volatile("wrpkru" ::"a"(rights), "c"(0), "d"(0) : "memory");
}

// A handler starts with the PKRU of a new process: every key but the first is closed.
static void test_protection_keys(void **state)
{
    u32 before;
    u64 mask;

    (void)state;
    if (!cpu.pku || !(cpu.xsave_features & 1u << 9))
        skip();
    before = protection();
    protect(0x55555550);
    assert_int_equal(frame_push(t, &act, &pending, 0), 0);
    assert_int_equal(protection(), 0x55555554);
    t->regs[R_RSP] += 8;
    assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
    assert_int_equal(protection(), 0x55555550);
    protect(before);
}

// Push and pop restore all registers, the mask, an SSE register.
static void test_pop(void **state)
{
    struct thread before = block;
    u64 mask = 0, x = 0x0123456789abcdef;

    (void)state;
    __asm__ volatile("movq %0, %%xmm11" ::"r"(x) : "xmm11");
    assert_int_equal(frame_push(t, &act, &pending, 0x5a), 0);
    __asm__ volatile("movq %%xmm11, %0" : "=r"(x));
    assert_int_equal(x, 0); // a handler starts with the initial state
    for (u32 i = 0; i < 16; i++)
        if (i != R_RSP)
            t->regs[i] = 0;
    t->rflags = FLAGS_INITIAL | FLAG_ZF;
    t->regs[R_RSP] += 8; // the handler's ret
    assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
    __asm__ volatile("movq %%xmm11, %0" : "=r"(x));
    assert_int_equal(x, 0x0123456789abcdef);
    assert_memory_equal(t->regs, before.regs, sizeof(before.regs));
    assert_int_equal(t->pc, before.pc);
    assert_int_equal(t->rflags, before.rflags);
    assert_int_equal(mask, 0x5a);
}

// The kernel returns to the program's privilege, whatever the frame's code segment asks for.
static void test_pop_privilege(void **state)
{
    u64 mask;

    (void)state;
    for (u16 cs = 0x30; cs <= 0x33; cs++) {
        struct k_rt_sigframe *f;

        setup(NULL);
        assert_int_equal(frame_push(t, &act, &pending, 0), 0);
        f = (void *)t->regs[R_RSP];
        assert_int_equal(f->uc.mc.cs, 0x33);
        f->uc.mc.cs = cs;
        t->regs[R_RSP] += 8;
        assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
    }
}

#define FPX_SW 464 // in the FPU state: the magic and sizes of its extended part

static u16 control_word(void)
{
    u16 word;

    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

// A handler starts with the control words of a new process, also where the processor has no xsave:
// then they are in the empty image.
static void test_initial(void **state)
{
    static const u16 odd = 0x27f;
    static const u32 odd_sse = 0x9f80;
    bool xsave = cpu.xsave;
    u32 sse;
    u64 mask;

    (void)state;
    for (int with = 0; with <= (int)xsave; with++) {
        setup(NULL);
        cpu.xsave = with;
        __asm__ volatile("fldcw %0\n\tldmxcsr %1" ::"m"(odd), "m"(odd_sse));
        assert_int_equal(frame_push(t, &act, &pending, 0), 0);
        __asm__ volatile("stmxcsr %0" : "=m"(sse));
        assert_int_equal(control_word(), 0x37f);
        assert_int_equal(sse, 0x1f80);
        t->regs[R_RSP] += 8;
        assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
        __asm__ volatile("stmxcsr %0" : "=m"(sse));
        assert_int_equal(control_word(), 0x27f);
        assert_int_equal(sse, 0x9f80);
        __asm__ volatile("fninit\n\tldmxcsr %0" ::"m"((u32){ 0x1f80 }));
    }
    cpu.xsave = xsave;
}

// If a handler has changed the magic or sizes, the legacy part is restored; all else is as in a new
// process.
static void test_pop_legacy(void **state)
{
    u64 mask, low = 0x1122334455667788, high, none = 0;

    (void)state;
    if (!cpu.xsave || !(cpu.xsave_features & 4)) // the upper halves of ymm
        skip();
    __asm__ volatile("movq %0, %%xmm11" ::"r"(low) : "xmm11");
    assert_int_equal(frame_push(t, &act, &pending, 0), 0);
    u64 fp = at(t->regs[R_RSP] + 8 + UC_FPREGS);
    memcpy((void *)(fp + FPX_SW), &none, 4);
    t->regs[R_RSP] += 8;
    __asm__ volatile("vmovq %0, %%xmm11\n\tvinsertf128 $1, %%xmm11, %%ymm11, %%ymm11" ::"r"(low)
                     : "xmm11");
    assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
    __asm__ volatile("movq %%xmm11, %0\n\tvextractf128 $1, %%ymm11, %%xmm11\n\tmovq %%xmm11, %1"
                     : "=&r"(low), "=r"(high)::"xmm11");
    assert_int_equal(low, 0x1122334455667788);
    assert_int_equal(high, 0);
}

// Flags that a handler cannot change: IOPL, IF, and TF, which the engine does not support.
static void test_pop_flags(void **state)
{
    u64 mask, all = ~0ul;

    (void)state;
    frame_push(t, &act, &pending, 0);
    memcpy((void *)(t->regs[R_RSP] + 8 + UC_GREGS + 8 * G_EFL), &all, 8);
    t->rflags = FLAGS_INITIAL;
    t->regs[R_RSP] += 8;
    assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
    // CF PF AF ZF SF DF OF RF AC, of FIX_EFLAGS
    assert_int_equal(t->rflags, FLAGS_INITIAL | 0x1 | 0x4 | 0x10 | 0x40 | 0x80 | 0x400 | 0x800 |
                                    0x10000 | 0x40000);
}

static void test_alternate(void **state)
{
    u64 low = (u64)alternate, high = low + sizeof(alternate), mask;

    (void)state;
    act.flags |= SA_ONSTACK;
    sig.alt = (struct k_stack){ low, 0, 0, sizeof(alternate) };
    assert_int_equal(frame_alt_flags(&sig.alt, t->regs[R_RSP]), 0);
    assert_int_equal(frame_push(t, &act, &pending, 0), 0);
    assert_true(t->regs[R_RSP] > low && t->regs[R_RSP] < high);
    assert_int_equal(frame_alt_flags(&sig.alt, t->regs[R_RSP]), SS_ONSTACK);
    u64 first = t->regs[R_RSP];

    assert_int_equal(frame_push(t, &act, &pending, 0), 0); // on it already: continues below
    assert_true(t->regs[R_RSP] < first - 128 && t->regs[R_RSP] > low);
    t->regs[R_RSP] = low + 256; // the frame would not fit on it
    assert_int_equal(frame_push(t, &act, &pending, 0), -EFAULT);
    assert_int_equal(t->regs[R_RSP], low + 256);
    // An alternate stack that is entered and too small for a frame.
    t->regs[R_RSP] = (u64)stack + sizeof(stack) - 8;
    sig.alt = (struct k_stack){ low + 32768, 0, 0, 512 };
    assert_int_equal(frame_push(t, &act, &pending, 0), -EFAULT);
    assert_int_equal(t->regs[R_RSP], (u64)stack + sizeof(stack) - 8);
    sig.alt = (struct k_stack){ low, 0, 0, sizeof(alternate) };
    // An alternate stack that is disarmed on entry, and armed again by the return.
    t->regs[R_RSP] = (u64)stack + sizeof(stack) - 8;
    sig.alt.flags = SS_AUTODISARM;
    assert_int_equal(frame_push(t, &act, &pending, 0), 0);
    assert_int_equal(sig.alt.flags, SS_DISABLE);
    assert_int_equal(sig.alt.size, 0);
    t->regs[R_RSP] += 8;
    assert_int_equal(frame_pop(t, &mask), FRAME_POPPED);
    assert_int_equal(sig.alt.sp, low);
    assert_int_equal(sig.alt.flags, SS_AUTODISARM);
    // At its edges: the lowest address is not on it, its end is.
    sig.alt.flags = 0;
    assert_int_equal(frame_alt_flags(&sig.alt, low), 0);
    assert_int_equal(frame_alt_flags(&sig.alt, low + 1), SS_ONSTACK);
    assert_int_equal(frame_alt_flags(&sig.alt, high), SS_ONSTACK);
    assert_int_equal(frame_alt_flags(&sig.alt, high + 1), 0);
    // One that is disarmed while it is used is never reported as used.
    sig.alt.flags = SS_AUTODISARM;
    assert_int_equal(frame_alt_flags(&sig.alt, low + 1), 0);
    sig.alt.flags = 0;
    sig.alt.size = 0;
    assert_int_equal(frame_alt_flags(&sig.alt, low + 1), SS_DISABLE);
}

static void test_refused(void **state)
{
    struct thread before = block;

    (void)state;
    act.flags = SA_SIGINFO; // without a restorer the handler cannot return
    assert_int_equal(frame_push(t, &act, &pending, 0), -EFAULT);
    assert_memory_equal(t->regs, before.regs, sizeof(before.regs));
    assert_int_equal(t->pc, before.pc);
}

// Without SA_SIGINFO the handler has no siginfo; the kernel does not write it.
static void test_without_info(void **state)
{
    u64 sp;

    (void)state;
    memset(stack, 0xee, sizeof(stack));
    act.flags = SA_RESTORER;
    assert_int_equal(frame_push(t, &act, &pending, 0), 0);
    sp = t->regs[R_RSP];
    assert_int_equal(at(sp + SIGINFO), 0xeeeeeeeeeeeeeeee);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_layout, setup),
        cmocka_unit_test_setup(test_room, setup),
        cmocka_unit_test_setup(test_protection_keys, setup),
        cmocka_unit_test_setup(test_pop, setup),
        cmocka_unit_test_setup(test_initial, setup),
        cmocka_unit_test_setup(test_pop_legacy, setup),
        cmocka_unit_test_setup(test_pop_privilege, setup),
        cmocka_unit_test_setup(test_pop_flags, setup),
        cmocka_unit_test_setup(test_alternate, setup),
        cmocka_unit_test_setup(test_refused, setup),
        cmocka_unit_test_setup(test_without_info, setup),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
