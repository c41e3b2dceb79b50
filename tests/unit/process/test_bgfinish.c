// SPDX-License-Identifier: MIT
// engine/process/bgfinish.c: which process gets a background finisher and when, what children hand
// over, and that everything handed over is finished, whichever process is killed. The finisher is
// this program, executed again with --finish: it logs its arguments.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/modules.h"
#include "engine/process/bgfinish.h"
#include "engine/spool/config.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

#define LOG_NUMBER 91 // in the finisher
#define JOBS       32 // length of the queue

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config = { .bgfinish = true };

// In a file: children and the programs that they execute share it.
static struct shared {
    u32 ran, right;
    u32 finishers; // that were executed
    u32 fails;     // a finisher with several jobs is killed
    s32 parent, session;
    char last[8];
} * did;
static char environment[64], folder[64], name[128];
static char *environment_list[] = { environment, NULL };
static int spool_fd = -1;

char *const *environ_finisher(void)
{
    return environment_list;
}

int fds_finisher(void)
{
    return -1;
}

int spooler_fd(void)
{
    return spool_fd;
}

// Before the hand-over.
void modules_save(int fd)
{
    sys_pwrite(fd, "saved", 5, 16);
}

const char *spooler_string(u32 offset)
{
    return offset == 7 ? "/proc/self/exe" : offset == 9 ? "/tmp/log.%p" : name;
}

void *heap_pages(u64 bytes)
{
    return (void *)sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

bool heap_share(void *p, u64 bytes)
{
    return sys_mmap((u64)p, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
                    -1, 0) == (long)p;
}

// -- the finisher --

static void finish_one(int fd)
{
    char text[8] = "", to[32] = "", modules[6] = "";

    sys_pread(fd, text, sizeof(text) - 1, 0);
    sys_call4(SYS_readlinkat, (u64)AT_FDCWD, (u64) "/proc/self/fd/91", (u64)to, sizeof(to) - 1);
    sys_pread(fd, modules, 5, 16);
    // 0 to 2 are /dev/null.
    did->right +=
        !strcmp(modules, "saved") && fd > 2 && fd != LOG_NUMBER && !strncmp(to, "/memfd:log", 10);
    memcpy(did->last, text, sizeof(text));
    __atomic_fetch_add(&did->ran, 1, __ATOMIC_SEQ_CST);
}

static int finish(int argc, char *argv[])
{
    did = (void *)sys_mmap(0, sizeof(*did), PROT_READ | PROT_WRITE, MAP_SHARED,
                           (int)sys_open(getenv("DID"), O_RDWR, 0), 0);
    did->parent = (s32)sys_call0(SYS_getppid);
    did->session = (s32)sys_call1(SYS_getsid, 0);
    did->finishers++;
    if (did->fails && argc > 3)
        sys_call2(SYS_kill, (u64)sys_getpid(), SIGKILL);
    for (int i = 2; i < argc; i++)
        finish_one(atoi(argv[i]));
    return 0;
}

// -- helpers of the tests --

static int setup(void **state)
{
    int fd;

    (void)state;
    if (!did) {
        snprintf(folder, sizeof(folder), "%s/quern-bgfinish.XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        assert_non_null(mkdtemp(folder));
        snprintf(environment, sizeof(environment), "DID=%.40s/did", folder);
        fd = (int)sys_open(environment + 4, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        sys_ftruncate(fd, sizeof(*did));
        did = (void *)sys_mmap(0, sizeof(*did), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        snprintf(name, sizeof(name), "%s/spool", folder);
        spool_fd = (int)sys_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(sys_write(spool_fd, "counts", 6), 6);
        engine_log_fd = (int)sys_call2(SYS_memfd_create, (u64) "log", MFD_CLOEXEC);
        assert_true(engine_log_fd > 2);
    }
    memset(did, 0, sizeof(*did));
    header.s_quern = 7;
    header.s_spool = 8;
    header.s_log = 0;
    header.log_fd = LOG_NUMBER;
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    sys_unlink(name);
    sys_unlink(environment + 4);
    return (int)sys_call3(SYS_unlinkat, (u64)AT_FDCWD, (u64)folder, 0x200); // AT_REMOVEDIR
}

static int status_of(long pid)
{
    int status = -1;

    assert_true(pid > 0);
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    return status;
}

static void (*first_in_child)(void);

// A child ends, and its parent starts no background finisher before: whether its spool is taken.
static bool hand_over(void)
{
    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        bgfinish_fork_child();
        if (first_in_child)
            first_in_child();
        sys_exit_group(bgfinish_takes() ? 41 : 42);
    }
    int status = status_of(pid);
    assert_true(status == 41 << 8 || status == 42 << 8);
    return status == 41 << 8;
}

static bool child_is_taken(void)
{
    bgfinish_before_fork();
    return hand_over();
}

// The child of this process with that name.
static s32 find_bgfinish(void)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    s32 found = 0;

    assert_non_null(d);
    while ((e = readdir(d))) {
        char path[300], text[256] = "", *end;
        long fd, n;

        snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
        fd = e->d_name[0] > '9' ? -1 : sys_open(path, O_RDONLY, 0);
        if (fd < 0)
            continue;
        n = sys_pread((int)fd, text, sizeof(text) - 1, 0);
        sys_close((int)fd);
        end = n > 0 ? strrchr(text, ')') : NULL;
        if (end && strstr(text, "(quern-bgfinish)") && end[2] != 'Z' &&
            atoi(end + 3) == sys_getpid())
            found = atoi(e->d_name);
    }
    closedir(d);
    return found;
}

static s32 await_bgfinish(void)
{
    s32 pid = 0;

    for (int i = 0; i < 20000 && !(pid = find_bgfinish()); i++)
        sys_call0(SYS_sched_yield); // it has not given itself a name yet
    assert_true(pid > 0);
    return pid;
}

// A process that forks once has none. The second fork starts one, and it finishes the children's
// jobs.
static void test_children(void **state)
{
    (void)state;
    assert_false(child_is_taken());
    assert_int_equal(find_bgfinish(), 0);
    assert_true(child_is_taken());
    assert_true(child_is_taken());
    s32 bg = await_bgfinish();
    // A wait for children sees neither it nor the finishers.
    assert_int_equal(sys_call4(SYS_wait4, ~0ul, 0, WNOHANG, 0), -ECHILD);
    bgfinish_stop();
    assert_int_equal(did->ran, 2);
    assert_int_equal(did->right, 2);
    assert_int_equal(did->parent, bg);
    assert_int_equal(did->session, bg);
    assert_string_equal(did->last, "counts");
    assert_int_equal(find_bgfinish(), 0);
    assert_int_equal(sys_call4(SYS_wait4, ~0ul, 0, __WALL, 0), -ECHILD);
}

// Once it is gone, children run their own finishers; the next fork starts it again.
static void test_stop(void **state)
{
    (void)state;
    bgfinish_before_fork();
    bgfinish_stop();
    assert_false(hand_over());
    assert_true(child_is_taken());
    bgfinish_stop();
    bgfinish_stop();
    assert_int_equal(did->ran, 1);
}

static void fork_in_child(void)
{
    bgfinish_before_fork();
    bgfinish_before_fork();
    assert_int_equal(find_bgfinish(), 0);
    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        bgfinish_fork_child();
        sys_exit_group(bgfinish_takes() ? 41 : 42);
    }
    if (status_of(pid) != 41 << 8)
        sys_exit_group(43);
}

static void leave_family(void)
{
    bgfinish_leave();
}

// A process that gives up rights no longer uses the background finisher. A child runs its own
// finisher; the owner first waits for all jobs, and its children form a new family as soon as that
// is allowed again.
static void test_leave(void **state)
{
    (void)state;
    bgfinish_before_fork();
    first_in_child = leave_family;
    assert_false(child_is_taken());
    first_in_child = NULL;
    assert_true(child_is_taken());
    bgfinish_leave();
    assert_int_equal(did->ran, 1);
    assert_int_equal(find_bgfinish(), 0);
    for (int i = 0; i < 3; i++)
        assert_false(child_is_taken());
    assert_int_equal(find_bgfinish(), 0);
    bgfinish_allow();
    assert_false(child_is_taken());
    assert_true(child_is_taken());
    bgfinish_stop();
    assert_int_equal(did->ran, 2);
    assert_int_equal(did->right, 2);
}

// A grandchild uses the same background finisher; only the owner stops it.
static void test_grandchild(void **state)
{
    (void)state;
    first_in_child = fork_in_child;
    assert_true(child_is_taken());
    first_in_child = bgfinish_stop;
    assert_true(child_is_taken());
    first_in_child = NULL;
    bgfinish_stop();
    assert_int_equal(did->ran, 3);
    assert_int_equal(did->right, 3);
}

static void kill_bgfinish(void)
{
    bgfinish_before_fork();
    assert_int_equal(sys_call2(SYS_kill, (u64)await_bgfinish(), SIGKILL), 0);
    while (find_bgfinish())
        sys_call0(SYS_sched_yield);
}

// As many jobs as the queue holds wait until there is a background finisher again.
static void test_killed(void **state)
{
    (void)state;
    kill_bgfinish();
    for (int i = 0; i < JOBS + 2; i++)
        assert_int_equal(hand_over(), i < JOBS);
    assert_int_equal(did->ran, 0);
    bgfinish_stop();
    assert_int_equal(did->ran, JOBS);
    assert_int_equal(did->right, JOBS);
}

// Waiting jobs are finished in batches of sixteen. A job with its own log is finished alone, as its
// messages have another descriptor; so are all jobs of a batch whose finisher was killed.
static void test_together(void **state)
{
    (void)state;
    kill_bgfinish();
    for (int i = 0; i < JOBS; i++)
        assert_true(hand_over());
    bgfinish_stop();
    assert_int_equal(did->ran, JOBS);
    assert_int_equal(did->right, JOBS);
    assert_int_equal(did->finishers, JOBS / 16);

    memset(did, 0, sizeof(*did));
    kill_bgfinish();
    for (int i = 0; i < 20; i++) {
        header.s_log = i == 1 || i == 5 ? 9 : 0;
        header.log_fd = i == 19 ? -1 : LOG_NUMBER;
        assert_true(hand_over());
    }
    header.log_fd = LOG_NUMBER;
    bgfinish_stop();
    // The first sixteen of 0, 2, 3, 4 and 6 to 18; then 1, 5, 18 and the one without a log.
    assert_int_equal(did->finishers, 5);
    assert_int_equal(did->ran, 20);
    assert_int_equal(did->right, 19);

    memset(did, 0, sizeof(*did));
    did->fails = 1;
    kill_bgfinish();
    for (int i = 0; i < 19; i++)
        assert_true(hand_over());
    bgfinish_stop();
    assert_int_equal(did->finishers, 1 + 16 + 1 + 3);
    assert_int_equal(did->ran, 19);
    assert_int_equal(did->right, 19);
}

// The owner is killed: all jobs are still finished.
static void test_owner_killed(void **state)
{
    (void)state;
    long owner = sys_call0(SYS_fork);
    if (owner == 0) {
        bgfinish_before_fork();
        bgfinish_before_fork();
        if (!child_is_taken())
            sys_exit_group(43);
        sys_call2(SYS_kill, (u64)sys_getpid(), SIGKILL);
    }
    assert_int_equal(status_of(owner), SIGKILL);
    for (int i = 0; i < 20000 && !__atomic_load_n(&did->ran, __ATOMIC_SEQ_CST); i++) {
        struct k_timespec moment = { 0, 1000000 };

        sys_call2(SYS_nanosleep, (u64)&moment, 0);
    }
    assert_int_equal(did->ran, 1);
}

static void another_file(void)
{
    char other[160];

    snprintf(other, sizeof(other), "%s.other", name);
    sys_close(spool_fd);
    spool_fd = (int)sys_open(other, O_RDWR | O_CREAT, 0600);
    sys_unlink(other);
}

static void take_name(void)
{
    char other[160];

    snprintf(other, sizeof(other), "%s.other", name);
    assert_int_equal(sys_call2(SYS_rename, (u64)name, (u64)other), 0);
}

// A spool that is not at its name is not handed over; one that loses its name later is not
// finished.
static void test_removed(void **state)
{
    char other[160];

    (void)state;
    snprintf(other, sizeof(other), "%s.other", name);
    first_in_child = another_file;
    assert_false(child_is_taken());
    first_in_child = take_name;
    assert_false(child_is_taken());
    first_in_child = NULL;
    assert_int_equal(sys_call2(SYS_rename, (u64)other, (u64)name), 0);
    kill_bgfinish();
    assert_true(hand_over());
    assert_int_equal(sys_call2(SYS_rename, (u64)name, (u64)other), 0);
    bgfinish_stop();
    assert_int_equal(did->ran, 0);
    assert_int_equal(sys_call2(SYS_rename, (u64)other, (u64)name), 0);
}

// There is a background finisher, and nothing to do.
static void start_bgfinish(void)
{
    first_in_child = another_file;
    assert_false(child_is_taken());
    assert_false(child_is_taken());
    first_in_child = NULL;
}

// Nor is one whose name another file has got.
static void test_replaced(void **state)
{
    char other[160];

    (void)state;
    snprintf(other, sizeof(other), "%s.other", name);
    start_bgfinish();
    kill_bgfinish();
    assert_true(hand_over());
    assert_int_equal(sys_call2(SYS_rename, (u64)name, (u64)other), 0);
    sys_close((int)sys_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    bgfinish_stop();
    assert_int_equal(did->ran, 0);
    assert_int_equal(sys_call2(SYS_rename, (u64)other, (u64)name), 0);
}

// The finisher alone, if it is installed, else the program with all commands.
static void test_installed(void **state)
{
    (void)state;
    start_bgfinish();
    header.s_finisher = 7;
    header.s_quern = 8; // the spool
    assert_true(child_is_taken());
    bgfinish_stop();
    assert_int_equal(did->ran, 1);
    header.s_finisher = 0;
}

static void be_somebody_else(void)
{
    if (sys_call3(SYS_setresuid, 65534, 65534, 65534) != 0)
        sys_exit_group(42); // not permitted: it would not be taken either
}

static void live_elsewhere(void)
{
    if (sys_call1(SYS_chroot, (u64)folder) != 0)
        sys_exit_group(42);
}

static void mount_apart(void)
{
    if (sys_call1(SYS_unshare, 0x20000) != 0) // CLONE_NEWNS
        sys_exit_group(42);
}

// A child with another view or other rights runs its own finisher.
static void test_others(void **state)
{
    (void)state;
    first_in_child = be_somebody_else;
    assert_false(child_is_taken());
    first_in_child = live_elsewhere;
    assert_false(child_is_taken());
    first_in_child = mount_apart;
    assert_false(child_is_taken());
    first_in_child = NULL;
    bgfinish_stop();
    assert_int_equal(did->ran, 0);
}

static void test_forbidden(void **state)
{
    (void)state;
    tb_config.bgfinish = false;
    bgfinish_before_fork();
    assert_int_equal(find_bgfinish(), 0);
    tb_config.bgfinish = true;
}

int main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_children, setup),
        cmocka_unit_test_setup(test_stop, setup),
        cmocka_unit_test_setup(test_leave, setup),
        cmocka_unit_test_setup(test_grandchild, setup),
        cmocka_unit_test_setup(test_killed, setup),
        cmocka_unit_test_setup(test_together, setup),
        cmocka_unit_test_setup(test_removed, setup),
        cmocka_unit_test_setup(test_others, setup),
        cmocka_unit_test_setup(test_replaced, setup),
        cmocka_unit_test_setup(test_installed, setup),
        cmocka_unit_test_setup(test_forbidden, setup),
        // last: its background finisher checks once a second whether the owner has ended
        cmocka_unit_test_setup(test_owner_killed, setup),
    };

    if (argc > 1 && !strcmp(argv[1], "--finish"))
        return finish(argc, argv);
    return cmocka_run_group_tests_name("process/bgfinish", tests, NULL, teardown_all);
}
