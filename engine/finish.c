// SPDX-License-Identifier: MIT
// How a profiled process ends (spooler.h, second part): the spool is marked, and the finisher, `quern --finish FD`, takes over. It reads
// what the client counted, writes the profile and ends as the client ended. Cold.
//
// The finisher gets the environment that the run started with, not what the client made of it, and a kernel state that
// lets it work in peace: every asynchronous signal blocked, no timer running.
#include "engine/fds.h"
#include "engine/heap.h"
#include "engine/mini.h"
#include "engine/spooler.h"
#include "engine/sys.h"

static char **saved_environment;

// One block: the pointers, then the strings.
void spooler_save_environment(char *const *envp)
{
    u64 n = 0, bytes = 0;

    for (; envp[n]; n++)
        bytes += strlen(envp[n]) + 1;
    char **copy = heap_alloc((n + 1) * sizeof(*copy) + bytes);
    char *text = (char *)(copy + n + 1);
    for (u64 i = 0; i < n; i++) {
        u64 len = strlen(envp[i]) + 1;
        copy[i] = memcpy(text, envp[i], len);
        text += len;
    }
    saved_environment = copy;
}

char *const *spooler_environment(void)
{
    return saved_environment;
}

// Execs the finisher; returns -errno when that is impossible.
static long exec_finisher(void)
{
    char number[16];
    char *argv[] = { (char *)(u64) "quern", (char *)(u64) "--finish", number, NULL };

    mini_format(number, sizeof(number), "%d", fds_spool());
    fds_keep_over_exec(true);
    long ret = sys_execve(spooler_string(spool->s_quern), argv, saved_environment);
    fds_keep_over_exec(false);
    return ret;
}

static void block_asynchronous(u64 *old)
{
    u64 all = ~(SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) |
                SIGBIT(SIGFPE) | SIGBIT(SIGSYS));

    sys_sigprocmask(SIG_SETMASK, &all, old);
}

// The client's limits and descriptors are not the finisher's: it opens files, maps them and writes one. Readers of the client's pipes
// see its end now, and not only when the profile is written.
static void shed_client(void)
{
    static const u8 which[] = { RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK,
                                RLIMIT_NOFILE, RLIMIT_AS };

    fds_close_others();
    for (u32 i = 0; i < ARRAY_SIZE(which); i++) {
        struct k_rlimit limit;

        if (sys_prlimit(which[i], NULL, &limit) || limit.cur == limit.max)
            continue;
        // A stack without limit would change where the kernel places mappings: as much as usual is enough.
        if (which[i] == RLIMIT_STACK)
            limit.cur = limit.max < 8 << 20 ? limit.max : 8 << 20;
        else
            limit.cur = limit.max;
        sys_prlimit(which[i], &limit, NULL);
    }
}

static void mark_ended(u32 kind, s32 code)
{
    spool->end_kind = kind;
    spool->end_code = code;
    __atomic_store_n(&spool->state, SPOOL_ENDED, __ATOMIC_RELEASE);
}

// Ends as the client would have without us.
static _Noreturn void end_as_client(u32 kind, s32 code)
{
    if (kind == SPOOL_END_SIGNAL) {
        struct k_sigaction dfl = { SIG_DFL, 0, 0, 0 };
        u64 none = 0;
        sys_sigaction(code, &dfl, NULL);
        sys_tgkill(sys_getpid(), sys_gettid(), code);
        sys_sigprocmask(SIG_SETMASK, &none, NULL);
    }
    sys_exit_group(code);
}

void spooler_finish(u32 kind, s32 code)
{
    struct k_itimerval off = { 0, 0, 0, 0 };
    u64 old;

    block_asynchronous(&old);
    // These survive exec and would reach the finisher, or end it by SIGALRM once it opens its mask.
    for (u64 i = ITIMER_REAL; i <= ITIMER_PROF; i++)
        sys_call3(SYS_setitimer, i, (u64)&off, 0);
    mark_ended(kind, code);
    shed_client();
    long ret = exec_finisher();
    engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
               spooler_string(spool->s_quern), -ret, spooler_string(spool->s_spool));
    end_as_client(kind, code);
}

int spooler_finish_in_child(void)
{
    u64 old;
    s32 status = 0;

    block_asynchronous(&old);
    mark_ended(SPOOL_END_EXIT, 0);
    // No exit signal: the client's SIGCHLD handler and its wait() must not see this child. Memory is copied, not shared, since
    // the parent's image goes on if its exec fails after all.
    long child = sys_call5(SYS_clone, CLONE_VFORK, 0, 0, 0, 0);
    if (child == 0) {
        shed_client();
        long ret = exec_finisher();
        engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
                   spooler_string(spool->s_quern), -ret, spooler_string(spool->s_spool));
        sys_exit_group(ENGINE_DIE_STATUS);
    }
    if (child > 0)
        while (sys_call4(SYS_wait4, (u64)child, (u64)&status, __WALL, 0) == -EINTR)
            ;
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    if (child > 0 && status == 0)
        return 0;
    // Still ours: the client goes on counting if its exec fails, and the file stays for `quern recover` if it succeeds.
    return child < 0 ? (int)child : -ECHILD;
}
