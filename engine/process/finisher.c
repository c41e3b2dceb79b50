// SPDX-License-Identifier: MIT
// How a profiled process ends (finisher.h): the engine marks the spool and executes the finisher,
// `quern --finish FD`, which reads the counts, writes the profile and ends as the client ended.
// Cold.
//
// The finisher gets the environment that the run started with, not the client's, and a kernel state
// in which nothing interrupts it: all asynchronous signals blocked, no timers.
#include "engine/process/finisher.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/modules.h"
#include "engine/process/bgfinish.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"

// Descriptor of the copy to finish. In the child that executes the finisher, the copy gets the
// spool's descriptor number.
static int dumped;
static bool dumping;

// Executes the finisher, or another service of `quern` on the file in the spool's descriptor.
// Returns -errno when that is impossible.
static long exec_quern(const char *what)
{
    char number[16];
    char *argv[] = { (char *)(u64) "quern", (char *)(u64)what, number, NULL };

    nolibc_format(number, sizeof(number), "%d", dumping ? fds_spool() : spooler_fd());
    sys_allow_tsc(); // the C library's loader reads it
    fds_go_to_root();
    fds_keep_over_exec(true);
    // quern-finish starts faster; it executes s_quern when necessary.
    if (spool->s_finisher && strcmp(what, "--finish") == 0)
        sys_execve(spooler_string(spool->s_finisher), argv, environ_finisher());
    long ret = sys_execve(spooler_string(spool->s_quern), argv, environ_finisher());
    // Renamed, deleted, or in a folder that this user may not enter: use the open descriptor.
    if (fds_finisher() >= 0)
        ret = sys_call5(SYS_execveat, (u64)fds_finisher(), (u64) "", (u64)argv,
                        (u64)environ_finisher(), AT_EMPTY_PATH);
    fds_keep_over_exec(false);
    return ret;
}

static void block_asynchronous(u64 *old)
{
    u64 all = ~(SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) |
                SIGBIT(SIGFPE) | SIGBIT(SIGSYS));

    sys_sigprocmask(SIG_SETMASK, &all, old);
}

// Drops the client's limits and descriptors: the finisher opens and maps files and writes one.
// Readers of the client's pipes see its end now, not only when the profile is written. Returns
// NULL, or the name of a limit whose hard value is too low to load the finisher.
static const char *shed_client(void)
{
    static const struct {
        u8 which;
        u64 least;
        const char *name;
    } limits[] = {
        { RLIMIT_CPU, 0, NULL },
        { RLIMIT_FSIZE, 256 << 20, NULL },
        { RLIMIT_DATA, 64 << 20, "memory (ulimit -d)" },
        { RLIMIT_STACK, 128 << 10, "stack (ulimit -s)" },
        { RLIMIT_NOFILE, 16, "open files (ulimit -n)" },
        { RLIMIT_AS, 128 << 20, "address space (ulimit -v)" },
    };
    const char *low = NULL;

    fds_close_others();
    for (u32 i = 0; i < ARRAY_SIZE(limits); i++) {
        struct k_rlimit limit, lifted;

        if (sys_prlimit(limits[i].which, NULL, &limit))
            continue;
        lifted = limit;
        // An unlimited stack would change where the kernel places mappings: use the usual 8 MiB.
        if (limits[i].which != RLIMIT_STACK)
            lifted.cur = limit.max;
        else if (limit.cur != 8 << 20)
            lifted.cur = limit.max < 8 << 20 ? limit.max : 8 << 20;
        if (limit.max < limits[i].least) {
            // A process that may raise hard limits raises this one far enough.
            lifted.cur = lifted.max = 4 * limits[i].least;
            if (sys_prlimit(limits[i].which, &lifted, NULL) == 0)
                continue;
            lifted = limit;
            lifted.cur = limit.max;
            low = limits[i].name;
        }
        if (lifted.cur != limit.cur)
            sys_prlimit(limits[i].which, &lifted, NULL);
    }
    return low;
}

// A pending kick would end the finisher.
static void drop_kicks(void)
{
    struct k_sigaction ignore = { SIG_IGN, 0, 0, 0 };

    sys_sigaction(STOP_KICK_SIGNAL, &ignore, NULL);
}

static void mark_ended(u32 kind, s32 code)
{
    fds_check_log();
    spool->log_fd = engine_log_fd; // a call of the client may have moved it
    spool->end_kind = kind;
    spool->end_code = code;
    __atomic_store_n(&spool->state, SPOOL_ENDED, __ATOMIC_RELEASE);
}

// Ends as the client would have ended natively.
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

static void complain(long error)
{
    engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
               spooler_string(spool->s_quern), -error, spooler_string(spool->s_spool));
}

// Drops the client's limits and descriptors and executes the finisher. Returns, after a message,
// when that is impossible.
static void become_finisher(void)
{
    const char *low = shed_client();

    if (low)
        engine_msg(
            "the profile is not written: the program's own limit on %s is too low for that; the "
            "counts are in %s: use `quern recover` on it",
            low, spooler_string(spool->s_spool));
    else {
        fds_go_to_root(); // in which the names of modules are valid
        modules_save(dumping ? fds_spool() : spooler_fd());
        complain(exec_quern("--finish"));
    }
}

// `quern stat` keeps the spool of the process that it has started open and reads it afterwards;
// spools of forked children are not read. The finisher would have nothing to do.
static bool no_finisher(void)
{
    return spool->flags & SPOOL_F_STAT;
}

void finisher_process(u32 kind, s32 code)
{
    struct k_itimerval off = { 0, 0, 0, 0 };
    u64 old;

    block_asynchronous(&old);
    if (spooler_is_lost())
        end_as_client(kind, code);
    // Timers survive exec: their signals would reach the finisher, or SIGALRM end it once
    // unblocked.
    for (u64 i = ITIMER_REAL; i <= ITIMER_PROF; i++)
        sys_call3(SYS_setitimer, i, (u64)&off, 0);
    drop_kicks();
    mark_ended(kind, code);
    if (!no_finisher()) {
        if (bgfinish_takes())
            end_as_client(kind, code);
        become_finisher();
    } else if (spool->flags & SPOOL_F_FORKED) {
        fds_go_to_root(); // in which the name of the spool is valid
        spooler_drop();
    }
    end_as_client(kind, code);
}

// The first child of a process that has entered a new PID namespace becomes the init of that
// namespace, and after its end no other process can be created there: it must be one of the
// client's. Until there is an init, the link is dangling.
static bool would_be_init(void)
{
    static const char link[] = "/proc/self/ns/pid_for_children";
    struct k_stat st;
    char to[64];

    return sys_readlinkat(AT_FDCWD, link, to, sizeof(to)) == -ENOENT &&
           sys_fstatat(AT_FDCWD, link, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

// Runs `what` in a copy of this process, memory included, that sends no signal when it ends and
// that a debugger of this process does not see. The parent waits for it. Returns its exit status,
// or a negative number.
static long run_in_child(long (*what)(void))
{
    s32 status = 0;
    long child;

    if (would_be_init())
        return -EAGAIN;
    child = sys_call5(SYS_clone, CLONE_VFORK | CLONE_UNTRACED, 0, 0, 0, 0);
    if (child == 0)
        sys_exit_group((int)what());
    if (child < 0)
        return child;
    while (sys_call4(SYS_wait4, (u64)child, (u64)&status, __WALL, 0) == -EINTR)
        ;
    return (status & 0x7f) ? -ECHILD : status >> 8 & 0xff;
}

static long finisher_here(void)
{
    become_finisher();
    return ENGINE_DIE_STATUS;
}

static long finisher_in_grandchild(void)
{
    long ret = run_in_child(finisher_here);

    return ret < 0 ? ENGINE_DIE_STATUS : ret;
}

// In a process with its own descriptors. False: the number is still the spool's, which whatever
// would be executed then would take for the copy.
static bool take_dumped(void)
{
    dumping = fds_replace(dumped, spooler_fd()) >= 0;
    return dumping;
}

static long finisher_dumped(void)
{
    return take_dumped() ? finisher_here() : ENGINE_DIE_STATUS;
}

static long dump_in_grandchild(void)
{
    long ret = run_in_child(finisher_dumped);

    return ret < 0 ? ENGINE_DIE_STATUS : ret;
}

// ---- Names ----

static struct {
    const char *at;
    u64 bytes;
} names;

// Writes the names here, where the client's limit on file sizes no longer applies.
static long demangle_here(void)
{
    if (!take_dumped() || shed_client())
        return ENGINE_DIE_STATUS;
    for (u64 done = 0; done < names.bytes;) {
        long n = sys_call4(SYS_pwrite64, (u64)fds_spool(), (u64)names.at + done, names.bytes - done,
                           done);

        if (n <= 0)
            return ENGINE_DIE_STATUS;
        done += (u64)n;
    }
    exec_quern("--demangle");
    return ENGINE_DIE_STATUS;
}

static long demangle_in_grandchild(void)
{
    long ret = run_in_child(demangle_here);

    return ret < 0 ? ENGINE_DIE_STATUS : ret;
}

long finisher_demangle(const char *at, u64 bytes)
{
    long fd = sys_call2(SYS_memfd_create, (u64) "names", MFD_CLOEXEC), ret;
    u64 old;

    if (fd < 0)
        return fd;
    names.at = at;
    names.bytes = bytes;
    dumped = (int)fd;
    block_asynchronous(&old);
    ret = run_in_child(demangle_in_grandchild);
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    if (ret == 0)
        return fd;
    sys_close((int)fd);
    return ret < 0 ? ret : -ECHILD;
}

// ---- Profiles ----

// The client must not notice the child: see finisher_in_child().
int finisher_dump(int fd)
{
    u64 old;

    dumped = fd;
    block_asynchronous(&old);
    long ret = run_in_child(dump_in_grandchild);
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    return ret < 0 ? (int)ret : ret ? -ECHILD : 0;
}

// The client must notice nothing, neither by wait() nor by SIGCHLD. An exec sets the exit signal of
// its process to SIGCHLD. So the finisher is a grandchild, and our child, which never execs, sends
// no signal.
int finisher_in_child(u32 kind, s32 code)
{
    u64 old;

    if (spooler_is_lost())
        return 0;
    block_asynchronous(&old);
    mark_ended(kind, code);
    // A forked child's spool must be removed under its name outside a chroot. The finisher does
    // that: this process does not change its root.
    if (no_finisher() && !(spool->flags & SPOOL_F_FORKED)) {
        sys_sigprocmask(SIG_SETMASK, &old, NULL);
        return 0;
    }
    long ret = run_in_child(finisher_in_grandchild);
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    return ret < 0 ? (int)ret : ret ? -ECHILD : 0;
}
