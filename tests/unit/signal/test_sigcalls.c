// SPDX-License-Identifier: MIT
// engine/signal/sigcalls.c: the client's calls on actions, masks, stacks and pending signals, by
// sigaction(2), sigprocmask(2), sigaltstack(2) and sigpending(2); Linux's own results are compared.
// Invalid addresses are in the first page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/signal/action.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/signal/mask.h"
#include "engine/signal/sigcalls.h"
#include "engine/thread/threads.h"

#define NOWHERE 8ul

// -- fakes of other files --

struct cpu cpu;

static struct thread block[2];
static struct thread_own own[2];
static struct signal_state sig[2];
static struct signal_table table;
static struct thread *const t = &block[0];

static struct {
    int sig;
    bool set;
    struct k_sigaction next, before;
} action;

void action_change(struct signal_table *of, int number, const struct k_sigaction *next,
                   struct k_sigaction *before)
{
    assert_ptr_equal(of, &table);
    action.sig = number;
    action.set = next != NULL;
    if (next)
        action.next = *next;
    *before = action.before;
}

static u64 mask_now, held;
static bool mask_refused, closed;

bool mask_set(struct thread *of, u64 next)
{
    assert_ptr_equal(of, t);
    if (mask_refused)
        return false;
    mask_now = of->sig->mask = next;
    return true;
}

void mask_close(struct thread *of)
{
    assert_ptr_equal(of, t);
    closed = true;
}

u64 mask_held(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return held;
}

// The first page is not mapped.
int clientmem_read(void *to, u64 from, u64 n)
{
    if (from < 4096)
        return -EFAULT;
    memcpy(to, (const void *)from, n);
    return 0;
}

int clientmem_write(u64 to, const void *from, u64 n)
{
    if (n && to < 4096)
        return -EFAULT;
    memcpy((void *)to, from, n);
    return 0;
}

static long returned;
static int returns;

void gate_return(struct thread *of, long ret)
{
    assert_ptr_equal(of, t);
    returned = ret;
    returns++;
}

static s32 alt_flags;

s32 frame_alt_flags(const struct k_stack *alt, u64 sp)
{
    assert_ptr_equal(alt, &sig[0].alt);
    assert_int_equal(sp, 0x1234);
    return alt_flags;
}

static enum frame_popped popped;
static int pops, unwound;

enum frame_popped frame_pop(struct thread *of, u64 *mask)
{
    assert_true(closed);
    assert_ptr_equal(of, t);
    pops++;
    *mask = ~0ul;
    return popped;
}

void calls_signal_return(struct thread *of)
{
    assert_ptr_equal(of, t);
    unwound++;
}

static struct {
    int sig, code;
    u64 addr, trapno, err;
} fault;

void deliver_fault(struct thread *of, int number, int code, u64 addr, u64 trapno, u64 err)
{
    assert_ptr_equal(of, t);
    fault.sig = number;
    fault.code = code;
    fault.addr = addr;
    fault.trapno = trapno;
    fault.err = err;
}

static int locked;

void threads_lock(void)
{
    locked++;
}

void threads_unlock(void)
{
    locked--;
}

struct thread *threads_first(void)
{
    assert_int_equal(locked, 1);
    return &block[0];
}

static int setup(void **state)
{
    (void)state;
    memset(block, 0, sizeof(block));
    memset(own, 0, sizeof(own));
    memset(sig, 0, sizeof(sig));
    memset(&action, 0, sizeof(action));
    memset(&fault, 0, sizeof(fault));
    for (int i = 0; i < 2; i++) {
        block[i].sig = &sig[i];
        block[i].own = &own[i];
        sig[i].table = &table;
    }
    block[0].next = &block[1];
    block[0].regs[R_RSP] = 0x1234;
    cpu.frame_size = 0;
    mask_now = held = 0;
    mask_refused = closed = false;
    returned = 99;
    returns = pops = unwound = 0;
    alt_flags = SS_DISABLE;
    return 0;
}

// -- actions --

static void test_action(void **state)
{
    // Every flag that the kernel knows stays, all others are cleared; SIGKILL (9) and SIGSTOP (19)
    // cannot be masked.
    struct k_sigaction act = { .handler = 0x1111, .flags = ~0ul, .restorer = 0x2222, .mask = ~0ul };
    struct k_sigaction old;

    (void)state;
    action.before = (struct k_sigaction){ 1, 2, 3, 4 };
    assert_int_equal(sigcalls_action(t, 10, (u64)&act, (u64)&old, 8), 0);
    assert_true(action.set && action.sig == 10);
    assert_int_equal(action.next.handler, 0x1111);
    assert_int_equal(action.next.restorer, 0x2222);
    // NOCLDSTOP 1, NOCLDWAIT 2, SIGINFO 4, EXPOSE_TAGBITS 0x800, RESTORER 0x04000000,
    // ONSTACK 0x08000000, RESTART 0x10000000, NODEFER 0x40000000, RESETHAND 0x80000000
    assert_int_equal(action.next.flags, 0xdc000807);
    assert_int_equal(action.next.mask, ~(1ul << 8 | 1ul << 18));
    assert_memory_equal(&old, &action.before, sizeof(old));
    // act and old are the same: read before it is written
    old = act;
    assert_int_equal(sigcalls_action(t, 10, (u64)&old, (u64)&old, 8), 0);
    assert_int_equal(action.next.handler, 0x1111);
    assert_int_equal(old.handler, 1);
    // Only read
    assert_int_equal(sigcalls_action(t, 9, 0, (u64)&old, 8), 0);
    assert_false(action.set);
    assert_int_equal(sigcalls_action(t, 64, 0, 0, 8), 0);
    assert_int_equal(sigcalls_action(t, 1, (u64)&act, 0, 8), 0);
}

static void test_action_refused(void **state)
{
    struct k_sigaction act = { .handler = 0x1111 };

    (void)state;
    assert_int_equal(sigcalls_action(t, 10, (u64)&act, 0, 4), -EINVAL);
    assert_int_equal(sigcalls_action(t, 10, NOWHERE, 0, 8), -EFAULT);
    assert_int_equal(sigcalls_action(t, 0, (u64)&act, 0, 8), -EINVAL);
    assert_int_equal(sigcalls_action(t, 65, (u64)&act, 0, 8), -EINVAL);
    assert_int_equal(sigcalls_action(t, SIGKILL, (u64)&act, 0, 8), -EINVAL);
    assert_int_equal(sigcalls_action(t, SIGSTOP, (u64)&act, 0, 8), -EINVAL);
    assert_int_equal(action.sig, 0); // nothing was changed
    assert_int_equal(sigcalls_action(t, 10, 0, NOWHERE, 8), -EFAULT);
    assert_int_equal(action.sig, 10);
}

// -- masks --

static long procmask(int how, u64 set, u64 old, u64 size)
{
    t->regs[R_RDI] = (u64)how;
    t->regs[R_RSI] = set;
    t->regs[R_RDX] = old;
    t->regs[10] = size;
    returns = 0;
    sigcalls_procmask(t);
    return returned;
}

static void test_mask(void **state)
{
    u64 set = 0xff00 | 1ul << 18, old = 0; // of these 9 (bit 8) and 19 (bit 18) cannot be

    (void)state;
    sig[0].mask = 0xf;
    assert_int_equal(procmask(SIG_BLOCK, (u64)&set, (u64)&old, 8), 0);
    assert_int_equal(mask_now, 0xfe0f);
    assert_int_equal(old, 0xf);
    assert_int_equal(procmask(SIG_UNBLOCK, (u64)&set, (u64)&old, 8), 0);
    assert_int_equal(mask_now, 0xf);
    assert_int_equal(old, 0xfe0f);
    assert_int_equal(procmask(SIG_SETMASK, (u64)&set, (u64)&set, 8), 0);
    assert_int_equal(mask_now, 0xfe00);
    assert_int_equal(set, 0xf);
    assert_int_equal(procmask(77, 0, (u64)&old, 8), 0); // `how` is ignored
    assert_int_equal(old, 0xfe00);
    assert_int_equal(procmask(SIG_BLOCK, 0, 0, 8), 0);
    assert_int_equal(mask_now, 0xfe00);
}

static void test_mask_refused(void **state)
{
    u64 set = 1;

    (void)state;
    assert_int_equal(procmask(SIG_BLOCK, (u64)&set, 0, 4), -EINVAL);
    assert_int_equal(procmask(SIG_BLOCK, NOWHERE, 0, 8), -EFAULT);
    assert_int_equal(procmask(3, (u64)&set, 0, 8), -EINVAL);
    assert_int_equal(procmask(-1, (u64)&set, 0, 8), -EINVAL);
    assert_int_equal(mask_now, 0);
    assert_int_equal(procmask(SIG_BLOCK, (u64)&set, NOWHERE, 8), -EFAULT);
    assert_int_equal(mask_now, 1);
    // A signal is delivered first: no result, the call is restarted.
    mask_refused = true;
    returned = 99;
    assert_int_equal(procmask(SIG_BLOCK, (u64)&set, 0, 8), 99);
    assert_int_equal(returns, 0);
}

// -- pending --

static void test_pending(void **state)
{
    struct {
        u64 set, behind;
    } out = { ~0ul, ~0ul };
    u64 usr1 = SIGBIT(SIGUSR1), before;

    (void)state;
    // In the kernel: USR1; held by the engine: USR2 and SEGV. The client blocks all but SEGV.
    sys_sigprocmask(SIG_BLOCK, &usr1, &before);
    sys_tgkill(sys_getpid(), sys_gettid(), SIGUSR1);
    held = SIGBIT(SIGUSR2) | SIGBIT(SIGSEGV);
    sig[0].mask = ~SIGBIT(SIGSEGV);
    assert_int_equal(sigcalls_pending(t, (u64)&out, 8), 0);
    assert_int_equal(out.set, SIGBIT(SIGUSR1) | SIGBIT(SIGUSR2));
    assert_int_equal(out.behind, ~0ul);
    out.set = ~0ul;
    assert_int_equal(sigcalls_pending(t, (u64)&out, 1), 0); // USR1 is bit 9, USR2 bit 11
    assert_int_equal(out.set, ~0xfful);
    assert_int_equal(sigcalls_pending(t, NOWHERE, 0), 0);
    assert_int_equal(sigcalls_pending(t, (u64)&out, 9), -EINVAL);
    assert_int_equal(sigcalls_pending(t, NOWHERE, 8), -EFAULT);
    struct k_sigaction ignore = { .handler = 1 }, first;
    sys_sigaction(SIGUSR1, &ignore, &first); // this discards it
    sys_sigaction(SIGUSR1, &first, NULL);
    sys_sigprocmask(SIG_SETMASK, &before, NULL);
}

// -- the alternate stack --

static void test_altstack(void **state)
{
    struct k_stack next = { 0x10000, 0, 5, 4096 }, old;

    (void)state;
    assert_int_equal(sigcalls_altstack(t, (u64)&next, (u64)&old), 0);
    assert_int_equal(old.flags, SS_DISABLE);
    assert_int_equal(old.pad, 0);
    assert_int_equal(sig[0].alt.sp, 0x10000);
    assert_int_equal(sig[0].alt.size, 4096);
    alt_flags = 0;
    next = (struct k_stack){ 0x20000, SS_AUTODISARM, 5, 2048 };
    assert_int_equal(sigcalls_altstack(t, (u64)&next, (u64)&old), 0);
    assert_true(old.sp == 0x10000 && old.size == 4096 && old.flags == 0 && old.pad == 0);
    assert_int_equal(sigcalls_altstack(t, 0, (u64)&old), 0);
    assert_int_equal(old.flags, SS_AUTODISARM);
    assert_int_equal(old.sp, 0x20000);
    // One byte less than the minimum; with SS_DISABLE address and size are ignored.
    next.size = 2047;
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), -ENOMEM);
    next = (struct k_stack){ 0x30000, SS_DISABLE, 0, 1 };
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), 0);
    assert_int_equal(sig[0].alt.sp, 0);
    assert_int_equal(sig[0].alt.size, 0);
    next = (struct k_stack){ 0x30000, SS_ONSTACK, 0, 4096 };
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), 0);
}

static void test_altstack_refused(void **state)
{
    struct k_stack next = { 0x10000, 4, 0, 4096 };

    (void)state;
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), -EINVAL);
    next.flags = 3;
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), -EINVAL);
    assert_int_equal(sigcalls_altstack(t, NOWHERE, 0), -EFAULT);
    next.flags = 0;
    alt_flags = SS_ONSTACK;
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), -EPERM);
    assert_int_equal(sig[0].alt.size, 0);
    assert_int_equal(sigcalls_altstack(t, 0, NOWHERE), -EFAULT);
}

// Below the size of a frame the kernel is asked, and then gets the engine's stack back.
static void test_altstack_small(void **state)
{
    struct k_stack next = { 0x10000, 0, 0, 4096 }, ours, after;

    (void)state;
    assert_int_equal(sys_call2(SYS_sigaltstack, 0, (u64)&ours), 0);
    cpu.frame_size = 4096;
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), 0);
    assert_false(closed);
    cpu.frame_size = 4097;
    // Linux's result for the same stack
    long said = sys_call2(SYS_sigaltstack, (u64)&next, 0);
    sys_call2(SYS_sigaltstack, (u64)&ours, 0);
    assert_int_equal(sigcalls_altstack(t, (u64)&next, 0), said);
    assert_true(closed);
    assert_int_equal(sys_call2(SYS_sigaltstack, 0, (u64)&after), 0);
    assert_int_equal(after.sp, ours.sp);
    assert_int_equal(after.flags, ours.flags);
}

// -- the return from a handler --

static void test_return(void **state)
{
    (void)state;
    sig[0].last_trapno = 14;
    sig[0].last_err = 6;
    popped = FRAME_POPPED;
    sigcalls_return(t);
    assert_int_equal(mask_now, ~(1ul << 8 | 1ul << 18));
    assert_int_equal(unwound, 1);
    assert_int_equal(fault.sig, 0);

    mask_now = 0;
    popped = FRAME_BAD_FPU; // all else of the frame was restored
    sigcalls_return(t);
    assert_int_equal(mask_now, ~(1ul << 8 | 1ul << 18));
    assert_int_equal(unwound, 1);
    assert_int_equal(fault.sig, SIGSEGV);
    assert_int_equal(fault.code, 0x80); // SI_KERNEL
    assert_int_equal(fault.addr, 0);
    assert_int_equal(fault.trapno, 14);
    assert_int_equal(fault.err, 6);

    mask_now = 7;
    fault.sig = 0;
    popped = FRAME_GONE;
    sigcalls_return(t);
    assert_int_equal(mask_now, 7);
    assert_int_equal(fault.sig, SIGSEGV);
    assert_int_equal(pops, 3);

    // A noted signal comes first; the frame stays.
    sig[0].async.full = true;
    sigcalls_return(t);
    sig[0].async.full = false;
    sig[0].sync.full = true;
    sigcalls_return(t);
    assert_int_equal(pops, 3);
}

// -- state that a process requests --

// For an unknown feature the kernel returns -EINVAL or -EOPNOTSUPP, small stack or not; a small
// stack matters only for a feature that it has and that was not requested before.
static void test_xcomp(void **state)
{
    u64 supported = 0, permitted = 0;
    long unknown = sys_call2(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, 63);

    (void)state;
    own[0].tgid = 5;
    own[1].tgid = 6;
    cpu.frame_size = 4096;
    sig[1].alt.size = 2048; // of another process
    assert_int_equal(sigcalls_xcomp_perm(t, ARCH_REQ_XCOMP_PERM, 63), unknown);
    own[1].tgid = 5;
    assert_int_equal(sigcalls_xcomp_perm(t, ARCH_REQ_XCOMP_PERM, 63), unknown);
    assert_int_equal(sigcalls_xcomp_perm(t, ARCH_REQ_XCOMP_PERM, 64),
                     sys_call2(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, 64));
    assert_int_equal(locked, 0);
    if (sys_call2(SYS_arch_prctl, ARCH_GET_XCOMP_SUPP, (u64)&supported) ||
        sys_call2(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, (u64)&permitted))
        return;
    for (u64 f = 0; f < 63; f++)
        if (supported & ~permitted & 1ul << f)
            assert_int_equal(sigcalls_xcomp_perm(t, ARCH_REQ_XCOMP_PERM, f), -ENOSPC);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_action, setup),
        cmocka_unit_test_setup(test_action_refused, setup),
        cmocka_unit_test_setup(test_mask, setup),
        cmocka_unit_test_setup(test_mask_refused, setup),
        cmocka_unit_test_setup(test_pending, setup),
        cmocka_unit_test_setup(test_altstack, setup),
        cmocka_unit_test_setup(test_altstack_refused, setup),
        cmocka_unit_test_setup(test_altstack_small, setup),
        cmocka_unit_test_setup(test_return, setup),
        cmocka_unit_test_setup(test_xcomp, setup),
    };

    return cmocka_run_group_tests_name("signal/sigcalls", tests, NULL, NULL);
}
