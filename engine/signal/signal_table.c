// SPDX-License-Identifier: MIT
// The client's table of signal handlers and the calls on it, on the mask and on the alternate stack. The kernel's dispositions are
// a pure function of the client's (kernel_action below): the engine's entry where the client has a handler, where the default would end
// the process (so that the profile is written) and for the synchronous signals; exactly the client's disposition elsewhere, so that
// ignored signals, stops and SIGCHLD's default interrupt nothing that they would not interrupt natively.

#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/signal/frame.h"
#include "engine/signal/signal.h"
#include "engine/signal/signal_part.h"
#include "engine/thread/threads.h"

#define SS_ONSTACK    1
#define SS_DISABLE    2
#define SS_AUTODISARM ((s32)(1u << 31))
#define MINSIGSTKSZ   2048

// Flag bits that Linux keeps on x86-64 (UAPI_SA_FLAGS and SA_RESTORER); all others read back as zero.
#define SA_KNOWN                                                                       \
    (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | \
     SA_RESETHAND | SA_EXPOSE_TAGBITS | SA_RESTORER)
#define UNMASKABLE (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

#define DEFAULT_IGNORE (SIGBIT(SIGCHLD) | SIGBIT(SIGCONT) | SIGBIT(SIGURG) | SIGBIT(SIGWINCH))
#define DEFAULT_STOP   (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))

enum signal_default signal_default(int sig)
{
    if (SIGBIT(sig) & DEFAULT_IGNORE)
        return SIGNAL_DEFAULT_IGNORE;
    if (SIGBIT(sig) & DEFAULT_STOP)
        return SIGNAL_DEFAULT_STOP;
    return SIGNAL_DEFAULT_END;
}

void signal_kernel_action(int sig, const struct k_sigaction *client, struct k_sigaction *kernel)
{
    bool ours = (SIGBIT(sig) & SIGNAL_NEVER_BLOCKED) != 0;

    memset(kernel, 0, sizeof(*kernel));
    kernel->restorer = (u64)signal_restorer;
    kernel->flags = SA_RESTORER | (client->flags & (SA_NOCLDSTOP | SA_NOCLDWAIT));
    if (!ours && (client->handler == SIG_IGN ||
                  (client->handler == SIG_DFL && signal_default(sig) != SIGNAL_DEFAULT_END))) {
        kernel->handler = client->handler;
        return;
    }
    kernel->handler = (u64)signal_handler;
    kernel->flags |= SA_SIGINFO | SA_ONSTACK;
    // Whether an interrupted call begins anew is the kernel's decision, by the client's own flag.
    if (client->handler == SIG_DFL || client->handler == SIG_IGN)
        kernel->flags |= SA_RESTART;
    else
        kernel->flags |= client->flags & SA_RESTART;
    kernel->mask = SIGNAL_ALL_BUT_SYNC;
}

static void apply(int sig, const struct k_sigaction *client)
{
    struct k_sigaction kernel;

    signal_kernel_action(sig, client, &kernel);
    sys_sigaction(sig, &kernel, NULL);
}

struct signal_table *signal_table_inherited(void)
{
    struct signal_table *table = heap_alloc(sizeof(*table));

    table->refs = 1;
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction old;

        if (sig == SIGKILL || sig == SIGSTOP || sys_sigaction(sig, NULL, &old))
            continue;
        // Over an exec only "ignore" survives.
        table->act[sig].handler = old.handler == SIG_IGN ? SIG_IGN : SIG_DFL;
        apply(sig, &table->act[sig]);
    }
    return table;
}

struct signal_table *signal_table_copy(struct signal_table *from)
{
    struct signal_table *table = heap_alloc(sizeof(*table));

    lock_take(&from->lock);
    memcpy(table->act, from->act, sizeof(table->act));
    lock_drop(&from->lock);
    table->refs = 1;
    return table;
}

void signal_table_drop(struct signal_table *table)
{
    if (__atomic_sub_fetch(&table->refs, 1, __ATOMIC_ACQ_REL) == 0)
        heap_free(table, sizeof(*table));
}

void signal_table_reset(struct signal_table *table)
{
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction *act = &table->act[sig];

        if (act->handler != SIG_IGN)
            memset(act, 0, sizeof(*act));
        if (sig != SIGKILL && sig != SIGSTOP)
            apply(sig, act); // the kernel has reset all of them, also those that are the engine's
    }
}

void signal_table_ignore(struct signal_table *table, bool ignore)
{
    lock_take(&table->lock);
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction ign = { SIG_IGN, 0, 0, 0 };

        if (!(SIGBIT(sig) & SIGNAL_NEVER_BLOCKED) || table->act[sig].handler != SIG_IGN)
            continue;
        if (ignore)
            sys_sigaction(sig, &ign, NULL);
        else
            apply(sig, &table->act[sig]);
    }
    lock_drop(&table->lock);
}

struct k_sigaction signal_table_get(struct signal_state *s, int sig)
{
    struct k_sigaction act;

    lock_take(&s->table->lock);
    act = s->table->act[sig];
    if ((act.flags & SA_RESETHAND) && act.handler != SIG_DFL && act.handler != SIG_IGN) {
        s->table->act[sig].handler = SIG_DFL;
        apply(sig, &s->table->act[sig]);
    }
    lock_drop(&s->table->lock);
    return act;
}

// sigaction(2): act is read before old is written, for they may be the same.
long signal_sys_action(struct thread *t, int sig, u64 act, u64 old, u64 size)
{
    struct signal_table *table = t->sig->table;
    struct k_sigaction next, before;

    if (size != 8)
        return -EINVAL;
    if (act && safe_read(&next, act, sizeof(next)))
        return -EFAULT;
    if (sig < 1 || sig >= SIGNAL_COUNT || (act && (sig == SIGKILL || sig == SIGSTOP)))
        return -EINVAL;
    lock_take(&table->lock);
    before = table->act[sig];
    if (act) {
        next.flags &= SA_KNOWN;
        next.mask &= ~UNMASKABLE;
        table->act[sig] = next;
        apply(sig, &next);
    }
    lock_drop(&table->lock);
    if (old && safe_write(old, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

long signal_sys_procmask(struct thread *t, int how, u64 set, u64 old, u64 size)
{
    struct signal_state *s = t->sig;
    u64 before = s->mask, bits, next;

    if (size != 8)
        return -EINVAL;
    if (set) {
        if (safe_read(&bits, set, sizeof(bits)))
            return -EFAULT;
        bits &= ~UNMASKABLE;
        switch (how) {
        case SIG_BLOCK: next = before | bits; break;
        case SIG_UNBLOCK: next = before & ~bits; break;
        case SIG_SETMASK: next = bits; break;
        default: return -EINVAL;
        }
        signal_set_mask(t, next);
    }
    if (old && safe_write(old, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}

long signal_sys_pending(struct thread *t, u64 set, u64 size)
{
    struct signal_state *s = t->sig;
    u64 pending;
    long ret;

    if (size > 8)
        return -EINVAL;
    ret = sys_call2(SYS_rt_sigpending, (u64)&pending, 8);
    if (ret)
        return ret;
    for (u32 i = 0; i < s->held_count; i++)
        pending |= SIGBIT(s->held[i].signo);
    // While the kernel's mask is closed it calls more signals pending than the client blocks.
    pending &= s->mask;
    return safe_write(set, &pending, size) ? -EFAULT : 0;
}

long signal_sys_altstack(struct thread *t, u64 ss, u64 old)
{
    struct k_stack *alt = &t->sig->alt, next, before;
    u64 sp = t->regs[R_RSP];

    if (ss && safe_read(&next, ss, sizeof(next)))
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
        } else if (next.size < MINSIGSTKSZ) {
            return -ENOMEM;
        }
        *alt = next;
    }
    if (old && safe_write(old, &before, sizeof(before)))
        return -EFAULT;
    return 0;
}
