// SPDX-License-Identifier: MIT
// engine/spool/fds.c: the numbers of the engine's own descriptors, under any limit, and that it
// detects when another process has closed them or reused their numbers. Each test runs in its own
// process, as it moves descriptors and lowers limits.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "engine/base/nolibc.h"
#include "engine/spool/fds.h"
#include "tests/unit/spool/alone.h"

static char folder[] = "/tmp/quern-fds.XXXXXX";
static char one[64], two[64];

static int setup(void **state)
{
    int fd;

    (void)state;
    if (!mkdtemp(folder) || chmod(folder, 0755))
        return -1;
    snprintf(one, sizeof(one), "%s/one", folder);
    snprintf(two, sizeof(two), "%s/two", folder);
    for (int i = 0; i < 2; i++) {
        fd = open(i ? two : one, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || close(fd))
            return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(one) || unlink(two) || rmdir(folder);
}

// ---- Helpers ----

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool is_file(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int opened(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0);
    return fd;
}

static void limit_is(u64 soft, u64 hard)
{
    struct rlimit now;

    CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == soft && now.rlim_max == hard);
}

static void limit(u64 soft, u64 hard)
{
    struct rlimit to = { soft, hard };

    CHECK(setrlimit(RLIMIT_NOFILE, &to) == 0);
}

// No descriptor but 0, 1 and 2, as many as the program may have.
static void only_standard(void)
{
    CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
}

static void take_all_from(int first, int end)
{
    for (int fd = first; fd < end; fd++)
        CHECK(dup2(0, fd) == fd);
}

static void window_is(u32 from, u32 to, u32 digits)
{
    CHECK(fds_window[0] == from);
    CHECK(fds_window[1] == to);
    CHECK(fds_window[2] == digits);
}

// As at the start of a program that may have 4090 descriptors: 4080 and up are free.
static void begin(void)
{
    struct rlimit now;

    getrlimit(RLIMIT_NOFILE, &now);
    if (now.rlim_max < 4200)
        _exit(SKIPPED);
    only_standard();
    limit(4200, 4200);
    fds_init(opened(one), 2);
}

// ---- Numbers ----

static void begins(void)
{
    int spool, log;

    CHECK(fds_window[0] == ~0u && fds_window[1] == 0);
    CHECK(fds_spool() == -1 && fds_finisher() == -1 && fds_trace() == -1);
    CHECK(!fds_is_ours(-1) && !fds_is_ours(0));
    begin();
    spool = opened(one), log = opened(two);
    CHECK(fds_spool() == 4080 && engine_log_fd == 4081);
    CHECK(is_file(4080, one) && is_open(2)); // standard error is the client's still
    CHECK(fcntl(4080, F_GETFD) == FD_CLOEXEC && fcntl(4081, F_GETFD) == FD_CLOEXEC);
    CHECK(engine_check_log == fds_check_log);
    window_is(4080, 4081, 4);
    limit_is(4200, 4200);
    CHECK(fds_is_ours(4080) && fds_is_ours(4081) && !fds_is_ours(4082) && !fds_is_ours(-1));
    // A log of the program's own is moved.
    fds_init(spool, log);
    CHECK(!is_open(spool) && !is_open(log));
    CHECK(fds_spool() == 4082 && engine_log_fd == 4083 && is_file(4083, two));
    window_is(4082, 4083, 4);
}

// Without a standard error, messages are dropped.
static void begins_without_log(void)
{
    only_standard();
    fds_init(opened(one), -1);
    CHECK(is_file(engine_log_fd, "/dev/null"));
    CHECK((fcntl(engine_log_fd, F_GETFL) & O_ACCMODE) == O_WRONLY);
    CHECK(!is_open(3)); // neither the spool's first number nor that of /dev/null
    CHECK(is_open(0) && is_open(1) && is_open(2));
    close(2);
    fds_init(opened(one), 2); // which takes number 2
    CHECK(!is_open(2));
}

static void begins_without_spool(void)
{
    int sink = open("/dev/null", O_WRONLY);

    dup2(sink, 2);
    fds_init(900, 2);
}

static void begins_without_room(void)
{
    only_standard();
    opened(one);
    take_all_from(4, 8);
    limit(8, 8);
    be_nobody();
    close(2);
    fds_init(3, 1); // the first takes 2, and for the log none is left but the spool's old one
    CHECK(fds_spool() == 2 && engine_log_fd == 3);
}

// The last numbers below a limit that this user cannot exceed.
static void low_limits(void)
{
    static const struct {
        u32 soft, hard, spool, log, from, to, digits;
    } of[] = {
        { 64, 64, 54, 55, 54, 55, 2 },
        { 40, 64, 54, 55, 54, 55, 2 },
        { 110, 110, 100, 101, 100, 101, 3 },
        { 109, 109, 99, 100, 99, 100, 2 },
        { 21, 21, 11, 12, 11, 12, 2 },
        { 20, 20, 19, 18, 18, 19, 2 },
        { 12, 12, 11, 10, 10, 11, 2 },
        { 11, 11, 10, 9, 9, 10, 1 },
        { 1000, 4089, 4079, 4080, 4079, 4080, 4 },
        { 1000, 4090, 4080, 4081, 4080, 4081, 4 },
        { 4090, 4090, 4080, 4081, 4080, 4081, 4 },
        { 4089, 4150, 4080, 4081, 4080, 4081, 4 },
        { 4094, 4094, 4080, 4081, 4080, 4081, 4 },
        { 5, 6, 5, 4, 4, 5, 1 },
    };

    struct rlimit may;

    getrlimit(RLIMIT_NOFILE, &may);
    if (may.rlim_max < 4150)
        _exit(SKIPPED);
    be_nobody();
    for (u32 i = 0; i < ARRAY_SIZE(of); i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            only_standard();
            int fd = opened("/dev/null");

            limit(of[i].soft, of[i].hard);
            fds_init(fd, 2);
            if (fds_spool() != (int)of[i].spool || engine_log_fd != (int)of[i].log)
                dprintf(1, "# row %u: %d %d\n", i, fds_spool(), engine_log_fd);
            CHECK(fds_spool() == (int)of[i].spool && engine_log_fd == (int)of[i].log);
            window_is(of[i].from, of[i].to, of[i].digits);
            limit_is(of[i].soft, of[i].hard);
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

// If the last numbers are taken, lower ones; near the end, one by one.
static void taken_numbers(void)
{
    only_standard();
    int fd = opened("/dev/null");

    limit(64, 64);
    be_nobody();
    take_all_from(54, 64);
    fds_init(fd, 2);
    CHECK(fds_spool() == 27 && engine_log_fd == 28);
    take_all_from(29, 54);
    fds_set_trace(opened("/dev/null")); // above 27 none is left, and 13 is the first from there on
    CHECK(fds_trace() == 13);
    window_is(13, 28, 2);
    limit(31, 31);
    take_all_from(21, 27);
    take_all_from(29, 31);
    CHECK(fds_evict(13) == 0 && fds_trace() == 10);
    limit(30, 30);
    CHECK(fds_evict(10) == 0 && fds_trace() == 20); // from 20 on is what the limit allows
    take_all_from(19, 20);
    CHECK(fds_evict(20) == 0 && fds_trace() == 18);
}

// Only number 0 is left.
static void leave_nought(void)
{
    for (int fd = 3; fd < 64; fd++)
        CHECK(dup2(1, fd) == fd);
    limit(64, 64);
    be_nobody();
    close(0);
}

// A descriptor of ours may be 0, if the client has closed its standard input.
static void nought_moved(void)
{
    u32 numbers[FDS_MAX];
    struct fds_saved was;

    begin();
    leave_nought();
    CHECK(fds_evict(4080) == 0 && fds_spool() == 0 && is_file(0, one));
    CHECK(fds_is_ours(0) && !is_open(4080));
    window_is(0, 4081, 1);
    CHECK(fds_sorted(numbers) == 2 && numbers[0] == 0 && numbers[1] == 4081);
    CHECK(fds_spool_is_there());
    close(63);
    CHECK(fds_evict(0) == 0 && fds_spool() == 63 && !is_open(0));
    CHECK(fds_evict(63) == 0 && fds_spool() == 0);
    fds_save(&was);
    CHECK(fds_evict(0) == 0 && fds_spool() == 63);
    dup2(1, 0);
    fds_restore(&was); // the client has taken it
    CHECK(fds_spool() == 63);
    dup2(63, 0);
    fds_restore(&was);
    CHECK(fds_spool() == 0);
    dup2(0, 62);
    CHECK(fds_adopt_spool(62) == -EMFILE && !is_open(62) && fds_spool() == 0);
    dup2(0, 61);
    CHECK(fds_adopt_spool(61) == 62 && !is_open(61) && fds_spool() == 62);
    close(0);
    dup2(62, 61);
    CHECK(fds_adopt_spool(61) == 0 && fds_spool() == 0);
    window_is(0, 4081, 1);
    fds_drop_spool();
    CHECK(!is_open(0));
}

static void nought_replaced(void)
{
    begin();
    dup2(4081, 3000);
    dup2(opened(two), 3001);
    dup2(4080, 3002);
    dup2(4080, 3003);
    leave_nought();
    fds_replace_log(3000);
    CHECK(engine_log_fd == 0 && !is_open(3000) && !is_open(4081));
    CHECK(fds_evict(0) == -EMFILE && fds_evict(4080) == -EMFILE);
    close(0);
    fds_check_log();
    CHECK(engine_log_fd == 0);
    dup2(1, 63);
    close(63);
    fds_evict(0);
    CHECK(engine_log_fd == 63 && !is_open(0));
    fds_set_trace(3001);
    CHECK(fds_trace() == 0 && is_file(0, two) && !is_open(3001));
    fds_leave_trace(false);
    CHECK(fds_trace() == -1 && !is_open(0));
    fds_replace_spool(3002, false);
    CHECK(fds_spool() == 0 && !is_open(3002) && is_file(0, one));
    close(62);
    fds_replace_spool(3003, false);
    CHECK(fds_spool() == 62 && !is_open(0) && !is_open(3003));
}

static void nought_at_first(void)
{
    only_standard();
    dup2(opened(one), 3000);
    leave_nought();
    close(62);
    fds_init(3000, 1);
    CHECK(fds_spool() == 62 && engine_log_fd == 0 && is_open(1));
}

static void nought_is_the_spool(void)
{
    only_standard();
    dup2(opened(one), 3000);
    dup2(2, 3001);
    leave_nought();
    fds_init(3000, 1); // and none is left for the log
}

static void nought_is_the_log(void)
{
    only_standard();
    close(0);
    CHECK(opened(two) == 0 && opened(one) == 3);
    fds_init(3, 0);
    CHECK(is_file(engine_log_fd, two) && is_open(0));
    close(0);
    CHECK(opened(one) == 0 && opened(two) == 3);
    fds_init(0, 3);
    CHECK(is_file(engine_log_fd, two) && !is_open(0) && !is_open(3));
    // /dev/null is opened as 0.
    CHECK(open(one, O_RDWR) == 0);
    dup2(0, 3);
    close(0);
    fds_init(3, -1);
    CHECK(is_file(engine_log_fd, "/dev/null") && !is_open(0));
    fds_keep_finisher(two);
    CHECK(fds_finisher() > 3 && !is_open(0));
}

// With the right to, the limit is raised for a moment, even beyond its hard value.
static void lifted_limits(void)
{
    struct rlimit most = { 4100, 4100 }, low = { 40, 64 };

    only_standard();
    if (geteuid() || setrlimit(RLIMIT_NOFILE, &low) || setrlimit(RLIMIT_NOFILE, &most) ||
        setrlimit(RLIMIT_NOFILE, &low))
        _exit(SKIPPED);
    int fd = opened(one);
    fds_init(fd, 2);
    CHECK(fds_spool() == 4080 && engine_log_fd == 4081);
    limit_is(40, 64);
    take_all_from(3, 40);
    fd = fds_open(two, O_RDONLY, 0); // none is left but by lifting it
    CHECK(fd == 40 && is_file(fd, two));
    limit_is(40, 64);
}

// Opens a file although the client has used up its descriptors.
static void opens(void)
{
    only_standard();
    limit(20, 30);
    be_nobody();
    CHECK(fds_open("/none", O_RDONLY, 0) == -ENOENT);
    CHECK(fds_open("/dev/null", O_RDONLY, 0) == 3);
    take_all_from(3, 20);
    CHECK(fds_open("/none", O_RDONLY, 0) == -EMFILE || geteuid());
    CHECK(fds_open("/dev/null", O_RDONLY, 0) == 20);
    limit_is(20, 30);
    limit(20, 20);
    CHECK(fds_open("/dev/null", O_RDONLY, 0) == -EMFILE);
}

// The number is above the soft limit; the hard one is raised only with the right to.
static void replaces(void)
{
    int fd;

    begin();
    fd = opened(two);
    limit(20, 4200);
    CHECK(fds_replace(fd, 4080) == 4080);
    CHECK(is_file(4080, two) && fcntl(4080, F_GETFD) == FD_CLOEXEC && is_open(fd));
    CHECK(fds_replace(opened(one), 4080) == 4080 && is_file(4080, one));
    limit(20, 30);
    be_nobody();
    CHECK(fds_replace(fd, 4080) == -EBADF || !geteuid());
    CHECK(is_file(4080, one) || !geteuid());
}

// ---- Another file at a number of ours ----

static void same(void)
{
    begin();
    CHECK(fds_spool_is_there());
    dup2(opened(two), 4080);
    CHECK(!fds_spool_is_there());
    close(4080);
    CHECK(!fds_spool_is_there());
    // Opened again: the same file replaces it, another one does not.
    int fd = opened(two);
    CHECK(fds_adopt_spool(fd) == -EBADF && !is_open(fd) && fds_spool() == 4080);
    take_all_from(4080, 4081);
    fd = opened(one);
    CHECK(fds_adopt_spool(fd) == 4082 && !is_open(fd));
    CHECK(fds_spool() == 4082 && fds_spool_is_there());
    window_is(4081, 4082, 4);
    // No descriptor is left for it.
    limit(100, 100);
    be_nobody();
    fd = opened("/dev/null");
    take_all_from(fd, 100);
    close(99);
    fd = open("/", O_RDONLY | O_CLOEXEC);
    CHECK(fd == 99 && fds_adopt_spool(fd) == -EBADF && !is_open(99));
    CHECK(fds_spool() == 4082);
}

// The same number of a file on another file system is another file.
static void other_device(void)
{
    struct stat a, b;

    if (stat("/proc", &a) || stat("/sys", &b) || a.st_ino != b.st_ino || a.st_dev == b.st_dev)
        _exit(SKIPPED);
    begin();
    fds_init(open("/proc", O_RDONLY), 2);
    CHECK(fds_spool_is_there());
    dup2(open("/sys", O_RDONLY), fds_spool());
    CHECK(!fds_spool_is_there());
}

static void log_is_checked(void)
{
    dup2(opened(two), 2);
    begin();
    fds_check_log();
    CHECK(engine_log_fd == 4081);
    window_is(4080, 4081, 4);
    // The client has reused its number: standard error is unchanged.
    dup2(opened(one), 4081);
    fds_check_log();
    CHECK(engine_log_fd == 4082 && is_file(4082, two) && is_file(4081, one));
    window_is(4080, 4082, 4);
    CHECK(fds_is_ours(4082) && !fds_is_ours(4081));
    // And standard error has changed, too.
    close(4082);
    dup2(4081, 2);
    fds_check_log();
    CHECK(engine_log_fd == -1);
    window_is(4080, 4080, 4);
}

static void check_log_in_full_table(void)
{
    dup2(opened(two), 2);
    begin();
    close(4081);
    limit(3, 3);
    be_nobody();
    fds_check_log();
    CHECK(engine_log_fd == -1);
}

// ---- Moves ----

static void evicts(void)
{
    begin();
    CHECK(fds_evict(4080) == 0);
    CHECK(fds_spool() == 4082 && is_file(4082, one) && !is_open(4080));
    CHECK(engine_log_fd == 4081);
    window_is(4081, 4082, 4);
    CHECK(fds_evict(4081) == 0 && engine_log_fd == 4080 && !is_open(4081));
    window_is(4080, 4082, 4);
    CHECK(fds_evict(-1) == 0 && fds_evict(4083) == 0 && is_open(0));
    CHECK(fds_spool() == 4082 && engine_log_fd == 4080);
    // No descriptor is left: it keeps its number.
    take_all_from(3, 100);
    limit(100, 100);
    be_nobody();
    CHECK(fds_evict(4082) == -EMFILE);
    CHECK(fds_spool() == 4082 && is_file(4082, one));
}

static void sorted(void)
{
    u32 numbers[FDS_MAX];

    CHECK(fds_sorted(numbers) == 0);
    begin();
    CHECK(fds_sorted(numbers) == 2 && numbers[0] == 4080 && numbers[1] == 4081);
    fds_evict(4080);
    fds_set_trace(opened(two));
    CHECK(fds_sorted(numbers) == 3);
    CHECK(numbers[0] == 4080 && numbers[1] == 4081 && numbers[2] == 4082);
    CHECK(fds_trace() == 4080 && fds_spool() == 4082);
    fds_keep_finisher("/dev/null");
    CHECK(fds_sorted(numbers) == 5 && numbers[2] == 4082 && numbers[4] == 4084);
    window_is(4080, 4084, 4);
}

// A child that borrows the memory makes ours move; afterwards they have their old numbers, unless
// another thread has moved them meanwhile.
static void saved(void)
{
    struct fds_saved was;

    begin();
    fds_save(&was);
    CHECK(fds_evict(4080) == 0 && fds_evict(4081) == 0);
    CHECK(fds_spool() == 4082 && engine_log_fd == 4080);
    fds_set_trace(opened(two));
    CHECK(fds_trace() == 4081);
    // In this process both have moved: 4080 is the log now, 4081 the trace. Those that did not
    // exist still do not.
    fds_restore(&was);
    CHECK(fds_spool() == 4082 && engine_log_fd == 4080 && fds_trace() == -1);
    window_is(4080, 4082, 4);
    // If the old numbers still refer to the same files, they are ours again.
    dup2(4080, 4081); // standard error
    dup2(4082, 4080);
    fds_restore(&was);
    CHECK(fds_spool() == 4080 && engine_log_fd == 4081);
    window_is(4080, 4081, 4);
    fds_restore(&was);
    CHECK(fds_spool() == 4080 && engine_log_fd == 4081);
    // A closed one is not taken either.
    CHECK(fds_evict(4080) == 0 && fds_spool() == 4083);
    fds_restore(&was);
    CHECK(fds_spool() == 4083 && !is_open(4080));
}

static void spool_is_replaced(void)
{
    begin();
    int fd = opened(two);
    fds_replace_spool(fd, true); // the parent's stays
    CHECK(!is_open(fd) && fds_spool() == 4082 && is_file(4082, two) && is_file(4080, one));
    CHECK(fds_spool_is_there());
    window_is(4081, 4082, 4);
    fd = opened(one);
    fds_replace_spool(fd, false); // closed first, so its number is free
    CHECK(!is_open(fd) && fds_spool() == 4082 && is_file(4082, one));
    CHECK(fcntl(4082, F_GETFD) == FD_CLOEXEC);
    fds_drop_spool();
    CHECK(fds_spool() == -1 && !is_open(4082));
    window_is(4081, 4081, 4);
    fds_drop_spool();
    fd = opened(two);
    fds_replace_spool(fd, false);
    CHECK(fds_spool() == 4082 && !is_open(fd) && is_open(0));
    // Without a second descriptor it keeps its number.
    fd = opened(one);
    take_all_from(fd + 1, 60);
    limit(60, 60);
    be_nobody();
    fds_replace_spool(fd, true);
    CHECK(fds_spool() == fd && is_file(fd, one) && is_open(4082));
    window_is((u32)fd, 4081, 1);
}

static void log_is_replaced(void)
{
    begin();
    int fd = opened(two);
    fds_replace_log(fd);
    CHECK(!is_open(fd) && !is_open(4081) && engine_log_fd == 4082 && is_file(4082, two));
    window_is(4080, 4082, 4);
    fds_keep_log_over_exec(true);
    CHECK(fcntl(4082, F_GETFD) == 0 && fcntl(4080, F_GETFD) == FD_CLOEXEC);
    fds_keep_log_over_exec(false);
    CHECK(fcntl(4082, F_GETFD) == FD_CLOEXEC);
    fds_keep_over_exec(true);
    CHECK(fcntl(4082, F_GETFD) == 0 && fcntl(4080, F_GETFD) == 0);
    fds_keep_over_exec(false);
    CHECK(fcntl(4082, F_GETFD) == FD_CLOEXEC && fcntl(4080, F_GETFD) == FD_CLOEXEC);
    fd = opened(one);
    take_all_from(fd + 1, 60);
    limit(60, 60);
    be_nobody();
    fds_replace_log(fd);
    CHECK(!is_open(fd) && engine_log_fd == 4082 && is_file(4082, two));
    take_all_from(fd, fd + 1);
    limit(fd + 1, fd + 1);
    fds_set_trace(0);
    CHECK(!is_open(0) && fds_trace() == -1);
}

static void trace(void)
{
    begin();
    int fd = opened(two);
    fds_set_trace(fd);
    CHECK(!is_open(fd) && fds_trace() == 4082 && fds_is_ours(4082));
    dup2(opened(one), 4082);
    CHECK(fds_trace() == -1); // the client has taken its number
    dup2(opened(two), 4082);
    CHECK(fds_trace() == 4082);
    fds_leave_trace(true);
    CHECK(fds_trace() == -1 && is_open(4082));
    fds_leave_trace(false);
    CHECK(fds_trace() == -1 && is_open(0));
    window_is(4080, 4081, 4);
    fds_set_trace(opened(two));
    CHECK(fds_trace() == 4083);
    fds_leave_trace(false);
    CHECK(fds_trace() == -1 && !is_open(4083));
    fds_set_trace(opened(two));
    dup2(opened(one), 4083);
    fds_leave_trace(false);
    CHECK(fds_trace() == -1 && is_file(4083, one)); // the client's own
}

// Closes all but ours, in this process and not in one that shares them.
static void others_are_closed(void)
{
    int status;

    begin();
    fds_evict(4080);
    fds_set_trace(opened(two)); // 4080, 4081 and 4082 are ours
    fds_evict(4081);            // 4080, 4082 and 4083
    take_all_from(3, 6);
    take_all_from(4079, 4080);
    take_all_from(4081, 4082);
    take_all_from(4084, 4086);
    take_all_from(4199, 4200);
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        static const int closed[] = { 3, 4, 5, 4079, 4081, 4084, 4085, 4199 };

        fds_close_others();
        for (u32 i = 0; i < ARRAY_SIZE(closed); i++)
            CHECK(!is_open(closed[i]));
        CHECK(is_open(0) && is_open(1) && is_open(2));
        CHECK(is_file(4080, two) && is_file(4082, one) && is_open(4083));
        CHECK(fds_trace() == 4080 && fds_spool() == 4082 && engine_log_fd == 4083);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(is_open(3) && is_open(4079) && is_open(4081) && is_open(4085) && is_open(4199));
}

static void others_of_one_process(void)
{
    int status;

    begin();
    take_all_from(4083, 4084);
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) { // only numbers after the last of ours
        fds_close_others();
        CHECK(!is_open(4083));
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(is_open(4083));
}

// ---- The finisher, and the root folder of the start ----

static void finisher(void)
{
    begin();
    fds_keep_finisher(two);
    CHECK(fds_finisher() == 4082 && is_file(4082, two) && is_file(4083, "/"));
    CHECK((fcntl(4082, F_GETFL) & O_PATH) && fcntl(4082, F_GETFD) == FD_CLOEXEC);
    CHECK((fcntl(4083, F_GETFL) & (O_PATH | O_DIRECTORY)) == (O_PATH | O_DIRECTORY));
    CHECK(!is_open(3));
    CHECK(chdir(folder) == 0);
    fds_leave_root(); // it is where it was
    fds_go_to_root();
    CHECK(is_open(4083) && access("one", F_OK) == 0);
    dup2(4080, 4082);
    CHECK(fds_finisher() == -1); // another one's
    fds_keep_finisher("/none/such");
    CHECK(fds_finisher() == -1 && !fds_is_ours(4082) && fds_is_ours(4084));
}

static void root_is_left(void)
{
    begin();
    fds_keep_finisher(two);
    if (chroot(folder) || chdir("/"))
        _exit(SKIPPED);
    CHECK(access("/one", F_OK) == 0);
    fds_leave_root();
    CHECK(!is_open(4083) && !fds_is_ours(4083));
    fds_go_to_root();
    CHECK(access("/one", F_OK) == 0); // there is no way back
}

// Another process shares the root and working folders: its own do not change.
static void back_to_root(void)
{
    int status;

    begin();
    fds_keep_finisher(two);
    if (chroot(folder) || chdir("/"))
        _exit(SKIPPED);
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        fds_go_to_root();
        CHECK(access("/one", F_OK) == -1 && access(two, F_OK) == 0);
        CHECK(access("tmp", F_OK) == 0); // the working folder, too
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(access("/one", F_OK) == 0 && access("one", F_OK) == 0);
    // The descriptor now refers to another folder: it cannot be used to return.
    dup2(open("/", O_PATH), 4083);
    fds_go_to_root();
    fds_leave_root();
    CHECK(access("/one", F_OK) == 0 && is_open(4083));
}

ALONE(begins)
ALONE(begins_without_log)
ALONE(begins_without_room)
ALONE(low_limits)
ALONE(taken_numbers)
ALONE(nought_moved)
ALONE(nought_replaced)
ALONE(nought_at_first)
ALONE(nought_is_the_log)
ALONE(lifted_limits)
ALONE(opens)
ALONE(replaces)
ALONE(same)
ALONE(other_device)
ALONE(log_is_checked)
ALONE(check_log_in_full_table)
ALONE(evicts)
ALONE(sorted)
ALONE(saved)
ALONE(spool_is_replaced)
ALONE(log_is_replaced)
ALONE(trace)
ALONE(others_are_closed)
ALONE(others_of_one_process)
ALONE(finisher)
ALONE(root_is_left)
ALONE(back_to_root)

static void test_begins_without_spool(void **state)
{
    (void)state;
    assert_int_equal(status_of(begins_without_spool), ENGINE_DIE_STATUS << 8);
    assert_int_equal(status_of(nought_is_the_spool), ENGINE_DIE_STATUS << 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins),
        cmocka_unit_test(test_begins_without_log),
        cmocka_unit_test(test_begins_without_spool),
        cmocka_unit_test(test_begins_without_room),
        cmocka_unit_test(test_low_limits),
        cmocka_unit_test(test_taken_numbers),
        cmocka_unit_test(test_nought_moved),
        cmocka_unit_test(test_nought_replaced),
        cmocka_unit_test(test_nought_at_first),
        cmocka_unit_test(test_nought_is_the_log),
        cmocka_unit_test(test_lifted_limits),
        cmocka_unit_test(test_opens),
        cmocka_unit_test(test_replaces),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_other_device),
        cmocka_unit_test(test_log_is_checked),
        cmocka_unit_test(test_check_log_in_full_table),
        cmocka_unit_test(test_evicts),
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_spool_is_replaced),
        cmocka_unit_test(test_log_is_replaced),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_others_are_closed),
        cmocka_unit_test(test_others_of_one_process),
        cmocka_unit_test(test_finisher),
        cmocka_unit_test(test_root_is_left),
        cmocka_unit_test(test_back_to_root),
    };

    return cmocka_run_group_tests_name("engine/spool/fds.c", tests, setup, teardown);
}
