// SPDX-License-Identifier: MIT
// The end of a call's wait (waits.h).
#include "engine/syscalls/waits.h"

#include "engine/base/clientmem.h"
#include "engine/base/sys.h"
#include "engine/thread/threads.h"

#define NS              1000000000l
#define TIMER_ABSTIME   1
#define CLOCK_REALTIME  0
#define FUTEX_OPERATION 0x7f
#define LONGEST_SECONDS (1l << 40) // longer waits never end

// io_uring_enter: a structure points to its time, unless the structure is in registered memory, or
// the time is absolute (io_uring_enter(2)).
#define URING_FLAGS    (URING_EXT_ARG | 1u << 5 | 1u << 6)
#define URING_EXT_ARG  (1u << 3)
#define URING_ARG_TIME 2 // word of struct io_uring_getevents_arg

// Where a call has its time: in a register, as milliseconds or as the address of seconds and ns (or
// us). told: the kernel writes the remaining time there, and the client gets its last value.
struct place {
    u32 reg;
    bool milliseconds, us, told, uring;
};

static bool place_of(const struct thread *t, u32 nr, struct place *p)
{
    switch (nr) {
    case SYS_nanosleep: *p = (struct place){ .reg = R_RDI }; return true;
    case SYS_clock_nanosleep: // CPU-time clocks advance at no known rate
        *p = (struct place){ .reg = R_RDX };
        return !(t->regs[R_RSI] & TIMER_ABSTIME) &&
               (t->regs[R_RDI] == CLOCK_REALTIME || t->regs[R_RDI] == CLOCK_MONOTONIC);
    case SYS_poll: *p = (struct place){ .reg = R_RDX, .milliseconds = true }; return true;
    case SYS_epoll_wait:
    case SYS_epoll_pwait: *p = (struct place){ .reg = 10, .milliseconds = true }; return true;
    case SYS_epoll_pwait2:
    case SYS_semtimedop: *p = (struct place){ .reg = 10 }; return true;
    case SYS_rt_sigtimedwait: *p = (struct place){ .reg = R_RDX }; return true;
    case SYS_io_getevents:
    case SYS_io_pgetevents: *p = (struct place){ .reg = 8 }; return true;
    case SYS_select: *p = (struct place){ .reg = 8, .us = true, .told = true }; return true;
    case SYS_pselect6: *p = (struct place){ .reg = 8, .told = true }; return true;
    case SYS_ppoll: *p = (struct place){ .reg = R_RDX, .told = true }; return true;
    case SYS_futex: // other operations have an absolute time
        *p = (struct place){ .reg = 10 };
        return (t->regs[R_RSI] & FUTEX_OPERATION) == FUTEX_WAIT;
    case SYS_io_uring_enter:
        *p = (struct place){ .reg = 8, .uring = true };
        return (t->regs[10] & URING_FLAGS) == URING_EXT_ARG;
    default: return false;
    }
}

static bool read_time(const struct thread *t, const struct place *p, s64 wait[2])
{
    u64 at = t->regs[p->reg];

    if (p->uring && clientmem_read(&at, at + URING_ARG_TIME * sizeof(u64), sizeof(at)))
        return false;
    return at && clientmem_read(wait, at, 2 * sizeof(*wait)) == 0;
}

static bool now(s64 at[2])
{
    return sys_call2(SYS_clock_gettime, CLOCK_MONOTONIC, (u64)at) == 0;
}

void waits_note(struct thread *t, u32 nr)
{
    struct thread_own *own = thread_own(t);
    s64 at[2], wait[2];
    struct place p;

    own->wait_until[0] = 0;
    if (!place_of(t, nr, &p))
        return;
    if (p.milliseconds) {
        s32 ms = (s32)t->regs[p.reg];

        if (ms <= 0) // returns at once, or waits for ever
            return;
        wait[0] = ms / 1000;
        wait[1] = ms % 1000 * 1000000l;
    } else if (!read_time(t, &p, wait)) {
        return;
    }
    if (p.us && __builtin_mul_overflow(wait[1], 1000, &wait[1]))
        return;
    if (wait[0] < 0 || wait[0] > LONGEST_SECONDS || wait[1] < 0 || wait[1] >= NS || !now(at))
        return;
    at[0] += wait[0] + (at[1] + wait[1]) / NS;
    at[1] = (at[1] + wait[1]) % NS;
    own->wait_until[1] = at[1];
    own->wait_until[0] = at[0];
}

void waits_shorten(struct thread *t)
{
    struct thread_own *own = thread_own(t);
    s64 at[2], ns;
    struct place p;

    if (!own->wait_until[0] || !t->sc_post || !place_of(t, (u32)t->regs[R_RAX], &p) || !now(at))
        return;
    at[0] = own->wait_until[0] - at[0];
    ns = own->wait_until[1] - at[1];
    if (ns < 0) {
        ns += NS;
        at[0]--;
    }
    if (at[0] < 0)
        at[0] = ns = 0;
    if (p.milliseconds) { // not more than the client's own
        t->regs[p.reg] = (u64)(at[0] * 1000 + (ns + 999999) / 1000000);
        return;
    }
    own->wait_left[0] = at[0];
    own->wait_left[1] = p.us ? ns / 1000 : ns;
    if (p.uring) {
        if (clientmem_read(own->wait_arg, t->regs[p.reg], sizeof(own->wait_arg)))
            return;
        own->wait_arg[URING_ARG_TIME] = (u64)own->wait_left;
        t->regs[p.reg] = (u64)own->wait_arg;
        return;
    }
    if (!p.told || clientmem_write(t->regs[p.reg], own->wait_left, sizeof(own->wait_left)))
        t->regs[p.reg] = (u64)own->wait_left;
}
