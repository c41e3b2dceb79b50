// SPDX-License-Identifier: MIT
// How a profiled process ends (finish.h): the spool is marked, and the finisher,
// `quern --finish FD`, takes over. It reads what the client counted, writes the profile and ends as
// the client ended. Cold.
//
// The finisher gets the environment that the run started with, not what the client made of it, and
// a kernel state that lets it work in peace: every asynchronous signal blocked, no timer running.
#include "engine/process/finisher.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/modules.h"
#include "engine/process/bgfinish.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stop.h"

// Descriptor of the copy that is to be finished; in the child that does it, the copy has the
// spool's number.
static int dumped;
static bool dumping;

// Execs the finisher, or what else `quern` does for the engine with a file in the spool's
// descriptor; returns -errno when that is impossible.
static long exec_quern(const char *what)
{
    char number[16];
    char *argv[] = { (char *)(u64) "quern", (char *)(u64)what, number, NULL };

    nolibc_format(number, sizeof(number), "%d", dumping ? fds_spool() : spooler_fd());
    sys_allow_tsc(); // the C library's loader reads it
    fds_go_to_root();
    fds_keep_over_exec(true);
    // The one that starts faster, where there is one; it executes the other when need be.
    if (spool->s_finisher && strcmp(what, "--finish") == 0)
        sys_execve(spooler_string(spool->s_finisher), argv, environ_finisher());
    long ret = sys_execve(spooler_string(spool->s_quern), argv, environ_finisher());
    // Renamed, deleted, or in a folder that this user may not enter: but we have it.
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

// The client's limits and descriptors are not the finisher's: it opens files, maps them and writes
// one. Readers of the client's pipes see its end now, and not only when the profile is written.
// Returns NULL, or which limit is so low, the hard one included, that the finisher could not even
// be loaded.
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
        // A stack without limit would change where the kernel places mappings: as much as usual is
        // enough.
        if (limits[i].which != RLIMIT_STACK)
            lifted.cur = limit.max;
        else if (limit.cur != 8 << 20)
            lifted.cur = limit.max < 8 << 20 ? limit.max : 8 << 20;
        if (limit.max < limits[i].least) {
            // Who may raise hard limits raises this one far enough.
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

// One that has been sent and not seen would end the finisher.
static void drop_pokes(void)
{
    struct k_sigaction ignore = { SIG_IGN, 0, 0, 0 };

    sys_sigaction(STOP_POKE_SIGNAL, &ignore, NULL);
}

static void mark_ended(u32 kind, s32 code)
{
    fds_check_log();
    spool->log_fd = engine_log_fd; // the client may have made it move
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

static void complain(long error)
{
    engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
               spooler_string(spool->s_quern), -error, spooler_string(spool->s_spool));
}

// Sheds the client and execs the finisher; comes back, after a sentence, when that cannot be.
static void become_finisher(void)
{
    const char *low = shed_client();

    if (low)
        engine_msg(
            "the profile is not written: the program's own limit on %s is too low for that; the "
            "counts are in %s: use `quern recover` on it",
            low, spooler_string(spool->s_spool));
    else {
        fds_go_to_root(); // where the names of modules are meant
        modules_save(dumping ? fds_spool() : spooler_fd());
        complain(exec_quern("--finish"));
    }
}

// `quern stat` holds the spool of the process that it has started and reads it afterwards; of
// forked children nobody asks. A finisher would find nothing to do.
static bool nobody_reads(void)
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
    // These survive exec and would reach the finisher, or end it by SIGALRM once it opens its mask.
    for (u64 i = ITIMER_REAL; i <= ITIMER_PROF; i++)
        sys_call3(SYS_setitimer, i, (u64)&off, 0);
    drop_pokes();
    mark_ended(kind, code);
    if (!nobody_reads()) {
        if (bgfinish_takes())
            end_as_client(kind, code);
        become_finisher();
    } else if (spool->flags & SPOOL_F_FORKED) {
        fds_go_to_root(); // where the name of the spool is meant
        spooler_drop();
    }
    end_as_client(kind, code);
}

// The first child of a process that has left for another numbering of processes becomes its init,
// and with that one's end no other can be made: it must be one of the client's. The link leads
// nowhere until there is one.
static bool would_be_init(void)
{
    static const char link[] = "/proc/self/ns/pid_for_children";
    struct k_stat st;
    char to[64];

    return sys_readlinkat(AT_FDCWD, link, to, sizeof(to)) == -ENOENT &&
           sys_fstatat(AT_FDCWD, link, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

// A copy of this process, memory included, that sends no signal when it ends, and that no debugger
// of ours sees. The parent waits for it and gets its exit status, or a negative number.
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

// In a process that has descriptors of its own.
static void take_dumped(void)
{
    sys_call3(SYS_dup3, (u64)dumped, (u64)spooler_fd(), O_CLOEXEC);
    dumping = true;
}

static long finisher_dumped(void)
{
    take_dumped();
    return finisher_here();
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

// Written here, where the client's limit on the size of files is none any more.
static long demangle_here(void)
{
    take_dumped();
    if (shed_client())
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

// ---- The same for what was counted ----

// A child that the client may not notice, as below.
int finisher_dump(int fd)
{
    u64 old;

    dumped = fd;
    block_asynchronous(&old);
    long ret = run_in_child(dump_in_grandchild);
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    return ret < 0 ? (int)ret : ret ? -ECHILD : 0;
}

// The client must notice nothing: not by wait(), and not by SIGCHLD. An exec makes SIGCHLD the exit
// signal of its process, so the finisher is a grandchild, and our child, which never execs, ends in
// silence.
int finisher_in_child(u32 kind, s32 code)
{
    u64 old;

    if (spooler_is_lost())
        return 0;
    block_asynchronous(&old);
    mark_ended(kind, code);
    // A forked child's spool must be removed under the name that it has beyond a chroot, which is
    // the finisher's to do: this process stays where it is.
    if (nobody_reads() && !(spool->flags & SPOOL_F_FORKED)) {
        sys_sigprocmask(SIG_SETMASK, &old, NULL);
        return 0;
    }
    long ret = run_in_child(finisher_in_grandchild);
    sys_sigprocmask(SIG_SETMASK, &old, NULL);
    return ret < 0 ? (int)ret : ret ? -ECHILD : 0;
}
