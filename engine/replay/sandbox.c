// SPDX-License-Identifier: MIT
// What the replayer may do (sandbox.h).
#include "engine/replay/sandbox.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

#define SECCOMP_SET_MODE_FILTER        1
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1u << 2)
#define SECCOMP_RET_ALLOW              0x7fff0000u
#define SECCOMP_RET_EPERM              (0x00050000u | EPERM)

// BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
#define LOAD(field)                                        \
    {                                                      \
        0x20, 0, 0, offsetof(struct k_seccomp_data, field) \
    }
#define EQUAL(k, yes, no) \
    {                     \
        0x15, yes, no, k  \
    }
#define ANSWER(k)     \
    {                 \
        0x06, 0, 0, k \
    }

// Each row jumps over the following ones to ALLOW. Memory is neither mapped nor protected: a replay
// has all that it needs, except that it asks the kernel for pages in advance (madvise). Where the
// kernel has no pidfd, kill() with signal 0 tells whether the client is alive. Only the client can
// be sent a signal, and only one.
#define CLIENT 23 // the row with its number
static const struct k_bpf_insn filter[] = {
    LOAD(arch),
    EQUAL(AUDIT_ARCH_X86_64, 0, 22),
    LOAD(nr),
    EQUAL(SYS_futex, 21, 0),
    EQUAL(SYS_ppoll, 20, 0),
    EQUAL(SYS_madvise, 19, 0),
    EQUAL(SYS_sched_yield, 18, 0),
    EQUAL(SYS_clock_gettime, 17, 0),
    EQUAL(SYS_gettid, 16, 0),
    EQUAL(SYS_getpid, 15, 0),
    EQUAL(SYS_getppid, 14, 0),
    EQUAL(SYS_rt_sigreturn, 13, 0),
    EQUAL(SYS_setitimer, 12, 0),
    EQUAL(SYS_exit, 11, 0),
    EQUAL(SYS_exit_group, 10, 0),
    EQUAL(SYS_restart_syscall, 9, 0),
    EQUAL(SYS_kill, 0, 2),
    LOAD(args[1]),
    EQUAL(0, 6, 5),
    EQUAL(SYS_tgkill, 0, 4),
    LOAD(args[2]),
    EQUAL(SANDBOX_SIGNAL, 0, 2),
    LOAD(args[0]),
    EQUAL(0, 1, 0),
    ANSWER(SECCOMP_RET_EPERM),
    ANSWER(SECCOMP_RET_ALLOW),
};
_Static_assert(ARRAY_SIZE(filter) == SANDBOX_ROWS, "room where it is made");

u32 sandbox_filter(s32 client, struct k_bpf_insn rows[SANDBOX_ROWS])
{
    memcpy(rows, filter, sizeof(filter));
    rows[CLIENT].k = (u32)client;
    return SANDBOX_ROWS;
}

void sandbox_restorer(void); // sandbox.S

// Runs once a second. It trusts only the kernel: the client may have overwritten everything else.
// Once the client is gone it is not called again.
static void check_client(int sig, const struct k_siginfo *info, struct k_ucontext *uc)
{
    static const struct k_itimerval processor = { 0, 0, SANDBOX_ORPHAN_S, 0 };
    static const struct k_itimerval wall = { 0, 0, SANDBOX_ORPHAN_WALL_S, 0 };

    if (info->code != SI_TIMER || (u64)sys_call0(SYS_getppid) == info->timer_value)
        return;
    uc->sigmask = SIGBIT(sig);
    sys_call3(SYS_setitimer, ITIMER_PROF, (u64)&processor, 0);
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&wall, 0);
}

// This process has a copy of the client's handlers: resets signals that end it to their default.
static void be_mortal(void)
{
    static const u8 fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGPROF };
    struct k_sigaction dfl = { 0, 0, 0, 0 };

    for (u32 i = 0; i < ARRAY_SIZE(fatal); i++)
        sys_sigaction(fatal[i], &dfl, NULL);
}

// Without a timer (RLIMIT_SIGPENDING) the replay of intact records still ends.
static void check_each_second(s32 client)
{
    struct k_sigaction act = { (u64)check_client, SA_SIGINFO | SA_RESTORER | SA_RESTART,
                               (u64)sandbox_restorer, ~0ul };
    struct {
        u64 value;
        s32 signo, notify;
        s32 pad[12];
    } event = { (u64)client, SIGVTALRM, 0, { 0 } };
    struct {
        struct k_timespec interval, value;
    } each = { { 1, 0 }, { 1, 0 } };
    u64 but = ~SIGBIT(SIGVTALRM);
    s32 timer;

    be_mortal();
    sys_sigaction(SIGVTALRM, &act, NULL);
    if (sys_call3(SYS_timer_create, CLOCK_MONOTONIC, (u64)&event, (u64)&timer) == 0)
        sys_call4(SYS_timer_settime, (u64)timer, 0, (u64)&each, 0);
    sys_sigprocmask(SIG_SETMASK, &but, NULL);
}

long sandbox_enter(s32 client)
{
    struct k_bpf_insn rows[SANDBOX_ROWS];
    const struct {
        u64 length;
        const struct k_bpf_insn *insns;
    } program = { sandbox_filter(client, rows), rows };
    struct k_rlimit none = { 0, 0 };
    long ret;

    sys_prlimit(RLIMIT_CORE, &none, NULL); // a core would contain the client's memory
    check_each_second(client);
    ret = sys_call5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ret)
        return ret;
    // Without the flag old kernels make each load wait for the stores before it.
    ret = sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                    (u64)&program);
    if (ret == -EINVAL)
        ret = sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (u64)&program);
    return ret;
}
