// SPDX-License-Identifier: MIT
// The engine's own file descriptors (fds.h): the spool, the log, the finisher's program, the
// root folder, and the reference trace.
//
// Their numbers are FDS_BASE or higher if the hard limit allows it; the soft limit is raised during
// the dup. That is above the numbers that programs choose, and low enough to keep the kernel's
// descriptor table small, which is copied at every fork (a table for a million descriptors costs 8
// MiB at each fork).
#include "engine/spool/fds.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

#define FDS_BASE 4080
#define FEW      20

enum { FD_SPOOL, FD_LOG, FD_FINISHER, FD_ROOT, FD_TRACE, FD_COUNT };
_Static_assert(FD_COUNT == FDS_MAX, "fds_sorted");

// The file of each descriptor when it was made. Another process may share the descriptor table
// (CLONE_FILES) and close it, or reuse the number.
static struct fds_saved held = {
    { { -1, 0, 0 }, { -1, 0, 0 }, { -1, 0, 0 }, { -1, 0, 0 }, { -1, 0, 0 } }
};

u32 fds_window[3] = { ~0u, 0, 1 };

// Each end is written separately: for a moment, calls on other descriptors may leave the gate.
static void make_window(void)
{
    u32 from = ~0u, to = 0, digits = 1;

    for (int i = 0; i < FD_COUNT; i++) {
        if (held.own[i].fd < 0)
            continue;
        from = (u32)held.own[i].fd < from ? (u32)held.own[i].fd : from;
        to = (u32)held.own[i].fd > to ? (u32)held.own[i].fd : to;
    }
    __atomic_store_n(&fds_window[0], from, __ATOMIC_RELAXED);
    __atomic_store_n(&fds_window[1], to, __ATOMIC_RELAXED);
    for (u32 n = from; n >= 10; n /= 10)
        digits++;
    __atomic_store_n(&fds_window[2], digits, __ATOMIC_RELAXED);
}

// Raises the limit on descriptors: to its hard value, or, if permitted, to ours. False: not raised.
static bool lift(const struct k_rlimit *limit)
{
    struct k_rlimit high = { FDS_BASE + 4 * FD_COUNT, FDS_BASE + 4 * FD_COUNT };

    if (limit->max < high.max && sys_prlimit(RLIMIT_NOFILE, &high, NULL) == 0)
        return true;
    high = (struct k_rlimit){ limit->max, limit->max };
    return limit->cur < limit->max && sys_prlimit(RLIMIT_NOFILE, &high, NULL) == 0;
}

// A close-on-exec copy of fd in the high range; -errno.
static int dup_high(int fd)
{
    struct k_rlimit limit, now;
    bool lifted = false;
    u64 base = FDS_BASE;

    if (sys_prlimit(RLIMIT_NOFILE, NULL, &limit) == 0 && limit.cur < base + 2 * FD_COUNT) {
        lifted = lift(&limit);
        if (sys_prlimit(RLIMIT_NOFILE, NULL, &now))
            now = limit;
        if (now.cur < base + 2 * FD_COUNT)
            base = now.cur > FEW ? now.cur - 2 * FD_COUNT : now.cur ? now.cur - 1 : 0;
    }
    long got = sys_fcntl(fd, F_DUPFD_CLOEXEC, base);
    // If fs.nr_open was lowered since, it may be below the limit.
    while (got == -EMFILE && base) {
        base = base > FEW ? base / 2 : base - 1; // near the end, one by one
        got = sys_fcntl(fd, F_DUPFD_CLOEXEC, base);
    }
    if (lifted)
        sys_prlimit(RLIMIT_NOFILE, &limit, NULL);
    return (int)got;
}

int fds_open(const char *path, int flags, u32 mode)
{
    struct k_rlimit limit;
    long fd = sys_open(path, flags, mode);

    if (fd == -EMFILE && sys_prlimit(RLIMIT_NOFILE, NULL, &limit) == 0 && lift(&limit)) {
        fd = sys_open(path, flags, mode);
        sys_prlimit(RLIMIT_NOFILE, &limit, NULL);
    }
    return (int)fd;
}

long fds_replace(int fd, int to)
{
    struct k_rlimit limit;
    long ret = sys_call3(SYS_dup3, (u64)fd, (u64)to, O_CLOEXEC);

    if (ret == -EBADF && sys_prlimit(RLIMIT_NOFILE, NULL, &limit) == 0 && lift(&limit))
        ret = sys_call3(SYS_dup3, (u64)fd, (u64)to, O_CLOEXEC);
    return ret;
}

static bool is_same(int which, int fd)
{
    struct k_stat st;

    return sys_fstat(fd, &st) == 0 && st.st_dev == held.own[which].dev &&
           st.st_ino == held.own[which].ino;
}

static void set_own(int which, int fd)
{
    struct k_stat st;

    held.own[which].fd = fd;
    if (fd >= 0 && sys_fstat(fd, &st) == 0) {
        held.own[which].dev = st.st_dev;
        held.own[which].ino = st.st_ino;
    }
    engine_log_fd = held.own[FD_LOG].fd;
    make_window();
}

void fds_save(struct fds_saved *to)
{
    *to = held;
}

void fds_restore(const struct fds_saved *from)
{
    struct k_stat st;

    // Another thread of this process may have moved a descriptor meanwhile.
    for (int i = 0; i < FD_COUNT; i++)
        if (from->own[i].fd != held.own[i].fd &&
            (from->own[i].fd < 0 ||
             (sys_fstat(from->own[i].fd, &st) == 0 && st.st_dev == from->own[i].dev &&
              st.st_ino == from->own[i].ino)))
            held.own[i] = from->own[i];
    engine_log_fd = held.own[FD_LOG].fd;
    make_window();
}

void fds_check_log(void)
{
    int fd;

    if (is_same(FD_LOG, held.own[FD_LOG].fd))
        return;
    // Usually the log was a copy of standard error.
    fd = is_same(FD_LOG, 2) ? dup_high(2) : -1;
    held.own[FD_LOG].fd = engine_log_fd = fd < 0 ? -1 : fd;
    make_window();
}

bool fds_spool_is_there(void)
{
    return is_same(FD_SPOOL, held.own[FD_SPOOL].fd);
}

int fds_adopt_spool(int fd)
{
    bool same = is_same(FD_SPOOL, fd);
    int moved = same ? dup_high(fd) : -EBADF;

    sys_close(fd);
    if (moved >= 0) {
        held.own[FD_SPOOL].fd = moved;
        make_window();
    }
    return moved;
}

_Noreturn static void die_at_start(const char *what, int fd)
{
    if (fd == -EMFILE)
        engine_die("no descriptor is free for the %s: the limit on open files (ulimit -n) is too "
                   "low; `ulimit -n 64` is enough",
                   what);
    engine_die("cannot move the descriptor of the %s: error %d", what, -fd);
}

void fds_init(int spool_fd, int log_fd)
{
    int fd = dup_high(spool_fd);

    if (fd < 0)
        die_at_start("spool", fd);
    set_own(FD_SPOOL, fd);
    sys_close(spool_fd);

    fd = log_fd < 0 ? -EBADF : dup_high(log_fd);
    if (fd == -EBADF) {
        // The program was started without a standard error: for the client it stays closed, and
        // messages are dropped.
        int null = (int)sys_open("/dev/null", O_WRONLY | O_CLOEXEC, 0);
        fd = null < 0 ? null : dup_high(null);
        if (null >= 0)
            sys_close(null);
    }
    if (fd < 0)
        die_at_start("messages", fd);
    if (log_fd > 2)
        sys_close(log_fd);
    set_own(FD_LOG, fd);
    engine_check_log = fds_check_log;
}

int fds_spool(void)
{
    return held.own[FD_SPOOL].fd;
}

bool fds_is_ours(int fd)
{
    bool ours = false;

    for (int i = 0; i < FD_COUNT; i++)
        ours |= fd >= 0 && fd == held.own[i].fd;
    return ours;
}

int fds_evict(int fd)
{
    for (int i = 0; i < FD_COUNT; i++) {
        if (fd < 0 || held.own[i].fd != fd)
            continue;
        int moved = dup_high(fd);
        if (moved < 0)
            return moved;
        set_own(i, moved);
        sys_close(fd);
    }
    return 0;
}

u32 fds_sorted(u32 numbers[FDS_MAX])
{
    u32 n = 0;

    for (int i = 0; i < FD_COUNT; i++) {
        u32 at = n;

        if (held.own[i].fd < 0)
            continue;
        for (; at && numbers[at - 1] > (u32)held.own[i].fd; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = (u32)held.own[i].fd;
        n++;
    }
    return n;
}

void fds_close_others(void)
{
    u32 numbers[FDS_MAX], n = fds_sorted(numbers), first = 3;

    for (u32 i = 0; i < n; i++) {
        if (numbers[i] > first)
            sys_call3(SYS_close_range, first, numbers[i] - 1, CLOSE_RANGE_UNSHARE);
        first = numbers[i] + 1;
    }
    sys_call3(SYS_close_range, first, ~0u, CLOSE_RANGE_UNSHARE);
}

static int keep(const char *path, int flags)
{
    int fd = (int)sys_open(path, flags | O_PATH | O_CLOEXEC, 0), high = fd < 0 ? fd : dup_high(fd);

    if (fd >= 0)
        sys_close(fd);
    return high;
}

void fds_keep_finisher(const char *path)
{
    set_own(FD_FINISHER, keep(path, 0));
    set_own(FD_ROOT, keep("/", O_DIRECTORY));
}

int fds_finisher(void)
{
    return is_same(FD_FINISHER, held.own[FD_FINISHER].fd) ? held.own[FD_FINISHER].fd : -1;
}

static bool is_at_root(void)
{
    struct k_stat now;

    return sys_fstatat(AT_FDCWD, "/", &now, 0) == 0 && now.st_dev == held.own[FD_ROOT].dev &&
           now.st_ino == held.own[FD_ROOT].ino;
}

void fds_leave_root(void)
{
    if (is_at_root() || !is_same(FD_ROOT, held.own[FD_ROOT].fd))
        return;
    sys_close(held.own[FD_ROOT].fd);
    set_own(FD_ROOT, -1);
}

void fds_go_to_root(void)
{
    if (is_at_root() || !is_same(FD_ROOT, held.own[FD_ROOT].fd))
        return;
    // Another process may share the root and working folders.
    if (sys_call1(SYS_unshare, CLONE_FS) == 0 &&
        sys_call1(SYS_fchdir, (u64)held.own[FD_ROOT].fd) == 0)
        sys_call1(SYS_chroot, (u64) ".");
}

void fds_replace_spool(int fd, bool shared)
{
    // Not dup3: the client may have lowered its limit below the number that is replaced. Close
    // first: the client may have used up all descriptors but one.
    if (!shared && held.own[FD_SPOOL].fd >= 0)
        sys_close(held.own[FD_SPOOL].fd);
    int moved = dup_high(fd);

    // If no other descriptor is free, it keeps its number: it is hidden at any number.
    set_own(FD_SPOOL, moved < 0 ? fd : moved);
    if (moved >= 0)
        sys_close(fd);
}

void fds_drop_spool(void)
{
    if (held.own[FD_SPOOL].fd >= 0)
        sys_close(held.own[FD_SPOOL].fd);
    set_own(FD_SPOOL, -1);
}

void fds_keep_over_exec(bool keep)
{
    fds_keep_log_over_exec(keep);
    sys_fcntl(held.own[FD_SPOOL].fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

void fds_keep_log_over_exec(bool keep)
{
    sys_fcntl(held.own[FD_LOG].fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

void fds_replace_log(int fd)
{
    int high = dup_high(fd);

    sys_close(fd);
    if (high < 0)
        return;
    sys_close(held.own[FD_LOG].fd);
    set_own(FD_LOG, high);
}

void fds_set_trace(int fd)
{
    int high = dup_high(fd);

    sys_close(fd);
    if (high >= 0)
        set_own(FD_TRACE, high);
}

int fds_trace(void)
{
    int fd = held.own[FD_TRACE].fd;

    return fd >= 0 && is_same(FD_TRACE, fd) ? fd : -1;
}

void fds_leave_trace(bool shared)
{
    if (!shared && fds_trace() >= 0)
        sys_close(held.own[FD_TRACE].fd);
    set_own(FD_TRACE, -1);
}
