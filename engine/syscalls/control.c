// SPDX-License-Identifier: MIT
// Requests by `quern control` (control.h).
#include "engine/syscalls/control.h"

#include "engine/base/nolibc.h"
#include "engine/process/exit.h"
#include "engine/signal/action.h"
#include "engine/signal/mask.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/counting.h"
#include "engine/syscalls/interrupted.h"
#include "engine/syscalls/waits.h"
#include "engine/thread/stop.h"

// ---- The request ----

static int dump(struct thread *t, const struct spool_control *c)
{
    char why[sizeof(c->hint) + 8];
    u64 n;

    if (spool->flags & SPOOL_F_STAT)
        return -EINVAL;
    memcpy(why, "dump ", 5);
    memcpy(why + 5, c->hint, sizeof(c->hint));
    why[5 + sizeof(c->hint) - 1] = '\0';
    n = strlen(why);
    if (n == 5)
        why[4] = '\0';
    for (u64 i = 0; i < n; i++)
        if ((u8)why[i] < ' ' && why[i])
            why[i] = ' ';
    return counting_dump(t, why);
}

static int answer(struct thread *t, const struct spool_control *c, u32 what)
{
    switch (what) {
    case SPOOL_REQUEST_DUMP: return dump(t, c);
    case SPOOL_REQUEST_ZERO: counting_zero(t); return 0;
    case SPOOL_REQUEST_COUNT:
    case SPOOL_REQUEST_COUNT_NOT: counting_switch(t, what == SPOOL_REQUEST_COUNT); return 0;
    case SPOOL_REQUEST_KILL: return 0;
    default: return -EINVAL;
    }
}

static void tell(u32 *word, u32 value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    sys_futex(word, FUTEX_WAKE, INT32_MAX, NULL);
}

// ---- Dumps at functions, and every so many blocks ----

// The finisher knows the function's name.
static void dump_due(struct thread *t, struct thread_due *due, const char *option)
{
    char why[64];

    if (!due->is)
        return;
    due->is = false;
    nolibc_format(why, sizeof(why), "%s=@%u:%lx", option, due->map, due->at);
    counting_dump(t, why);
}

static void see_due(struct thread *t)
{
    struct thread_own *own = thread_own(t);

    dump_due(t, &own->dump_after, "--dump-after");
    dump_due(t, &own->dump_before, "--dump-before");
    if (own->zero_before.is) {
        own->zero_before.is = false;
        counting_zero(t);
    }
}

static u64 blocks_left; // until the next part

void control_block_is(struct thread *t, u32 counter)
{
    thread_own(t)->block_counter = counter + 1;
    thread_own(t)->block_count = t->counters[counter];
}

void control_block(struct thread *t)
{
    const struct thread_own *own = thread_own(t);
    u64 left;
    char why[64];

    if (own->block_counter && t->counters[own->block_counter - 1] == own->block_count)
        return;
    left = __atomic_fetch_sub(&blocks_left, 1, __ATOMIC_RELAXED);
    if (left)
        return;
    thread_own(t)->block_counter = 0; // the dump has zeroed it
    __atomic_store_n(&blocks_left, spool->every_blocks - 1ul, __ATOMIC_RELAXED);
    nolibc_format(why, sizeof(why), "--dump-every-bb=%u", spool->every_blocks);
    counting_dump(t, why);
}

void control_init(void)
{
    blocks_left = spool->every_blocks;
}

void control_see(struct thread *t)
{
    struct spool_control *c = &spool->control;
    u32 asked, taken, what;

    if (!(t->stop & STOP_CONTROL))
        return;
    stop_clear(t, STOP_CONTROL);
    see_due(t);
    asked = __atomic_load_n(&c->asked, __ATOMIC_ACQUIRE);
    taken = __atomic_load_n(&c->taken, __ATOMIC_ACQUIRE);
    if (asked == taken || !threads_is_profiled(t) || spooler_is_lost() ||
        !__atomic_compare_exchange_n(&c->taken, &taken, asked, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return;
    sys_futex(&c->taken, FUTEX_WAKE, INT32_MAX, NULL);
    what = c->what;
    c->result = answer(t, c, what);
    tell(&c->answered, asked);
    if (what == SPOOL_REQUEST_KILL)
        exit_process(t, SPOOL_END_SIGNAL, SIGKILL);
}

// ---- The interrupted call ----

// Calls that go on after a handler with SA_RESTART, and end after another one. All other calls are
// restarted by the kernel itself and never fail like this: the thread counts as about to make them.
static bool may_wait(u64 nr)
{
    static const u16 calls[] = {
        SYS_read,   SYS_readv,   SYS_write,  SYS_writev,  SYS_recvfrom, SYS_recvmsg,
        SYS_sendto, SYS_sendmsg, SYS_accept, SYS_accept4, SYS_connect,  SYS_wait4,
        SYS_waitid, SYS_futex,   SYS_flock,  SYS_fcntl,   SYS_ioctl,    SYS_getrandom,
    };

    for (u32 i = 0; i < ARRAY_SIZE(calls); i++)
        if (calls[i] == nr)
            return true;
    return false;
}

// Are signals pending that the client would get? *ends: the handler of one ends such a call.
static bool any_due(struct thread *t, bool *ends)
{
    struct signal_state *s = t->sig;
    u64 due = mask_held(t), pending = 0;
    bool any = false;

    if (s->blocked) // unblocked ones would be noted
        sys_call2(SYS_rt_sigpending, (u64)&pending, 8);
    due = (due | (pending & ~SIGNAL_NEVER_BLOCKED)) & ~s->mask;
    if (s->async.full)
        due |= SIGBIT(s->async.info.signo);
    *ends = false;
    for (int sig = 1; sig < SIGNAL_COUNT; sig++) {
        struct k_sigaction act;

        if (!(due & SIGBIT(sig)))
            continue;
        action_change(s->table, sig, NULL, &act);
        if (act.handler == SIG_IGN ||
            (act.handler == SIG_DFL && action_default(sig) != SIGNAL_DEFAULT_END))
            continue;
        any = true;
        *ends |= !(act.flags & SA_RESTART);
    }
    return any;
}

// Has a signal arrived meanwhile that the call waits for, or that the call's own mask lets in? The
// kernel does not know of it: the engine has it.
static bool awaited_signal_is_here(const struct thread *t)
{
    const struct signal_state *s = t->sig;
    u64 here = mask_held(t);

    if (s->async.full)
        here |= SIGBIT(s->async.info.signo);
    return (here & s->awaited) || (s->temp_mask_set && (here & ~s->temp_mask & s->mask));
}

static enum control_call make_again(struct thread *t)
{
    // Comes back here if a signal arrives before the kernel has the call.
    waits_shorten(t);
    stop_clear(t, STOP_SIGNAL);
    mask_open(t);
    // From here on an arrival sets STOP_SIGNAL, which the gate sees.
    if (thread_own(t)->again == AGAIN_REST || !awaited_signal_is_here(t))
        return CONTROL_AGAIN;
    thread_own(t)->again = AGAIN_NOT;
    return CONTROL_ANEW;
}

// The part that was done cannot be repeated: a signal of the client ends the call with that result,
// with or without SA_RESTART.
static enum control_call call_rest(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    bool over = own->again == AGAIN_CUT && !interrupted_next(t), ends;

    own->again = AGAIN_REST;
    if (!over && !any_due(t, &ends))
        return make_again(t);
    own->again = AGAIN_NOT;
    t->regs[R_RAX] = (u64)interrupted_result(t);
    return CONTROL_OVER;
}

enum control_call control_call(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    u32 how = own->again;
    bool ends;

    if (how == AGAIN_CUT || how == AGAIN_REST)
        return call_rest(t);
    if (!any_due(t, &ends))
        return make_again(t);
    own->again = AGAIN_NOT;
    if (how != AGAIN_INTERRUPTED && !(ends && may_wait(t->regs[R_RAX])))
        return CONTROL_ANEW;
    t->regs[R_RAX] = (u64)-EINTR;
    return CONTROL_OVER;
}
