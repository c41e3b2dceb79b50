// SPDX-License-Identifier: MIT
// Dying of a signal (die.h).
#include "engine/signal/die.h"

#include "engine/base/layout.h"
#include "engine/codecache/region.h"
#include "engine/signal/frame.h"
#include "engine/spool/fds.h"
#include "engine/thread/threads.h"

_Noreturn void die_natively(int sig)
{
    struct k_sigaction dfl = { 0 };
    u64 none = ~SIGBIT(sig);

    dfl.flags = SA_RESTORER;
    dfl.restorer = (u64)frame_restorer;
    sys_sigaction(sig, &dfl, NULL);
    sys_sigprocmask(SIG_SETMASK, &none, NULL);
    sys_tgkill(sys_getpid(), sys_gettid(), sig);
    sys_exit_group(
        128 + sig); // not reached, unless the kernel protects this process (init of a namespace)
}

// Would the kernel write a core file, or hand one to a program? A pipe takes one in spite of a
// limit of 0.
bool die_leaves_core(int sig)
{
    static const u64 with_core =
        SIGBIT(SIGQUIT) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGABRT) | SIGBIT(SIGFPE) |
        SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGSYS) | SIGBIT(SIGXCPU) | SIGBIT(SIGXFSZ);
    struct k_rlimit limit;
    char first = 0;
    long fd;

    if (!(SIGBIT(sig) & with_core) || sys_prlimit(RLIMIT_CORE, NULL, &limit) ||
        sys_call5(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
        return false;
    if (limit.cur >= PAGE_SIZE)
        return true;
    fd = fds_open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        sys_read((int)fd, &first, 1);
        sys_close((int)fd);
    }
    return first == '|' && limit.cur != 1;
}

// With the client's registers and, where the signal was sent to this thread only or caused by it,
// the client's own siginfo: for core files and debuggers.
_Noreturn void die_as_client(struct thread *t, int sig)
{
    struct k_sigaction dfl = { 0 };
    struct k_siginfo *info = &t->sig->fatal;
    u64 all = ~0ul;

    if (sys_getpid() == 1) // init of a namespace may survive it, and would continue natively
        die_natively(sig);
    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    dfl.flags = SA_RESTORER;
    dfl.restorer = (u64)frame_restorer;
    sys_sigaction(sig, &dfl, NULL);
    // The engine's own memory is of no use to a core's reader.
    sys_madvise(region_start(), region_end() - region_start(), MADV_DONTDUMP);
    sys_madvise(ENGINE_HEAP_BASE, threads_area_end() - ENGINE_HEAP_BASE, MADV_DONTDUMP);
    if (info->signo != sig ||
        sys_call4(SYS_rt_tgsigqueueinfo, (u64)sys_getpid(), (u64)sys_gettid(), (u64)sig, (u64)info))
        sys_tgkill(sys_getpid(), sys_gettid(), sig);
    frame_become_client(t, ~SIGBIT(sig));
}
