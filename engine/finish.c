// SPDX-License-Identifier: MIT
// How a profiled process ends (spooler.h, second part): the spool is marked, and the finisher,
// `quern --finish FD`, takes over. It reads what the client counted, writes the profile and ends as
// the client ended. Cold.
//
// The finisher gets the environment that the run started with, not what the client made of it, and
// a kernel state that lets it work in peace: every asynchronous signal blocked, no timer running.
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

// The client's limits and descriptors are not the finisher's: it opens files, maps them and writes
// one. Readers of the client's pipes see its end now, and not only when the profile is written.
static void shed_client(void)
{
    static const u8 which[] = { RLIMIT_CPU,   RLIMIT_FSIZE,  RLIMIT_DATA,
                                RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_AS };

    fds_close_others();
    for (u32 i = 0; i < ARRAY_SIZE(which); i++) {
        struct k_rlimit limit;

        if (sys_prlimit(which[i], NULL, &limit) || limit.cur == limit.max)
            continue;
        // A stack without limit would change where the kernel places mappings: as much as usual is
        // enough.
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

// A copy of this process, memory included, that sends no signal when it ends. The parent waits for
// it and gets its exit status, or a negative number.
static long run_in_child(long (*what)(void))
{
    s32 status = 0;
    long child = sys_call5(SYS_clone, CLONE_VFORK, 0, 0, 0, 0);

    if (child == 0)
        sys_exit_group((int)what());
    if (child < 0)
        return child;
    while (sys_call4(SYS_wait4, (u64)child, (u64)&status, __WALL, 0) == -EINTR)
        ;
    return (status & 0x7f) ? -ECHILD : status >> 8 & 0xff;
}

static long finish_here(void)
{
    long ret = exec_finisher();

    engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
               spooler_string(spool->s_quern), -ret, spooler_string(spool->s_spool));
    return ENGINE_DIE_STATUS;
}

static long finish_in_grandchild(void)
{
    long ret = run_in_child(finish_here);

    return ret < 0 ? ENGINE_DIE_STATUS : ret;
}

// The client must notice nothing: not by wait(), and not by SIGCHLD. An exec makes SIGCHLD the exit
// signal of its process, so the finisher is a grandchild, and our child, which never execs, ends in
// silence.
int spooler_finish_in_child(void)
{
    u64 old;

    block_asynchronous(&old);
    mark_ended(SPOOL_END_EXIT, 0);
    long ret = run_in_child(finish_in_grandchild);
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    return ret < 0 ? (int)ret : ret ? -ECHILD : 0;
}
