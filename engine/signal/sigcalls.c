// SPDX-License-Identifier: MIT
// The client's calls on actions, mask, alternate stack and pending signals (sigcalls.h).
#include "engine/signal/sigcalls.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/gate.h"
#include "engine/signal/action.h"
#include "engine/signal/deliver.h"
#include "engine/signal/frame.h"
#include "engine/signal/mask.h"
#include "engine/thread/threads.h"

// Flag bits that Linux keeps on x86-64 (UAPI_SA_FLAGS and SA_RESTORER); all others read back as
// zero.
#define SA_KNOWN                                                                       \
    (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | \
     SA_RESETHAND | SA_EXPOSE_TAGBITS | SA_RESTORER)
#define CALL_ANEW  1 // a signal has to be delivered first
#define UNMASKABLE (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

// sigaction(2): act is read before old is written: they may be the same.
long sigcalls_action(struct thread *t, int sig, u64 act, u64 old, u64 size)
{
    struct k_sigaction next = { 0 }, before;

    if (size != 8)
        return -EINVAL;
    if (act && clientmem_read(&next, act, sizeof(next)))
        return -EFAULT;
    if (sig < 1 || sig >= SIGNAL_COUNT || (act && (sig == SIGKILL || sig == SIGSTOP)))
        return -EINVAL;
    next.flags &= SA_KNOWN;
    next.mask &= ~UNMASKABLE;
    action_change(t->sig->table, sig, act ? &next : NULL, &before);
    if (old && clientmem_write(old, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

static long procmask(struct thread *t, int how, u64 set, u64 old, u64 size)
{
    struct signal_state *s = t->sig;
    u64 before = s->mask, bits, next;

    if (size != 8)
        return -EINVAL;
    if (set) {
        if (clientmem_read(&bits, set, sizeof(bits)))
            return -EFAULT;
        bits &= ~UNMASKABLE;
        switch (how) {
        case SIG_BLOCK: next = before | bits; break;
        case SIG_UNBLOCK: next = before & ~bits; break;
        case SIG_SETMASK: next = bits; break;
        default: return -EINVAL;
        }
        if (!mask_set(t, next))
            return CALL_ANEW;
    }
    if (old && clientmem_write(old, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

void sigcalls_procmask(struct thread *t)
{
    const u64 *r = t->regs;
    long ret = procmask(t, (int)r[R_RDI], r[R_RSI], r[R_RDX], r[10]);

    if (ret != CALL_ANEW)
        gate_return(t, ret);
}

long sigcalls_pending(struct thread *t, u64 set, u64 size)
{
    struct signal_state *s = t->sig;
    u64 pending;
    long ret;

    if (size > 8)
        return -EINVAL;
    ret = sys_call2(SYS_rt_sigpending, (u64)&pending, 8);
    if (ret)
        return ret;
    pending |= mask_held(t);
    // While the kernel's mask is closed, more signals are pending than the client blocks.
    pending &= s->mask;
    return clientmem_write(set, &pending, size) ? -EFAULT : 0;
}

// How small a stack may be depends on the state that the process may use (AMX has to be requested).
// Only the kernel knows the rules: this sets the client's stack for a moment. Everything is blocked
// meanwhile, and no engine code faults here.
static bool kernel_takes(struct thread *t, const struct k_stack *next)
{
    struct k_stack ours;
    long ret;

    if (next->size >= cpu.frame_size)
        return true;
    mask_close(t);
    if (sys_call2(SYS_sigaltstack, 0, (u64)&ours))
        return true;
    ret = sys_call2(SYS_sigaltstack, (u64)next, 0);
    sys_call2(SYS_sigaltstack, (u64)&ours, 0);
    return ret == 0;
}

long sigcalls_altstack(struct thread *t, u64 ss, u64 old)
{
    struct k_stack *alt = &t->sig->alt, next, before;
    u64 sp = t->regs[R_RSP];

    if (ss && clientmem_read(&next, ss, sizeof(next)))
        return -EFAULT;
    before = *alt;
    before.flags = frame_alt_flags(alt, sp) | (alt->flags & SS_AUTODISARM);
    before.pad = 0;
    if (ss) {
        s32 mode = next.flags & ~SS_AUTODISARM;

        if (frame_alt_flags(alt, sp) == SS_ONSTACK)
            return -EPERM;
        if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE)
            return -EINVAL;
        if (mode == SS_DISABLE) {
            next.sp = 0;
            next.size = 0;
        } else if (next.size < MINSIGSTKSZ || !kernel_takes(t, &next)) {
            return -ENOMEM;
        }
        *alt = next;
    }
    if (old && clientmem_write(old, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

void sigcalls_return(struct thread *t)
{
    enum frame_popped popped;
    u64 mask;

    // A signal that arrived before is delivered first, under the current mask.
    mask_close(t);
    if (signal_is_noted(t))
        return;
    popped = frame_pop(t, &mask);
    if (popped == FRAME_POPPED)
        calls_signal_return(t);
    if (popped != FRAME_GONE)
        mask_set(t, mask & ~UNMASKABLE);
    if (popped != FRAME_POPPED)
        deliver_fault(t, SIGSEGV, SI_KERNEL, 0, t->sig->last_trapno, t->sig->last_err);
}

// The kernel refuses when a thread's alternate stack is too small for frames with that state; but
// the stacks that it knows are the engine's.
long sigcalls_xcomp_perm(struct thread *t, u64 code, u64 feature)
{
    u64 supported, permitted;
    bool small = false;

    threads_lock();
    for (struct thread *u = threads_first(); u; u = u->next)
        small |= u->sig && thread_own(u)->tgid == thread_own(t)->tgid && u->sig->alt.size &&
                 u->sig->alt.size < cpu.frame_size;
    threads_unlock();
    // For a feature that is unknown, or permitted already, the kernel does not check the stacks.
    if (small && feature < 64 &&
        sys_call2(SYS_arch_prctl, ARCH_GET_XCOMP_SUPP, (u64)&supported) == 0 &&
        sys_call2(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, (u64)&permitted) == 0 &&
        (supported & ~permitted & 1ul << feature))
        return -ENOSPC;
    return sys_call2(SYS_arch_prctl, code, feature);
}
