// SPDX-License-Identifier: MIT
// engine/process/finisher.c: the state of the process when the finisher starts, the finisher's
// parent, and the end of the process without a finisher. The finisher is this program, executed
// again with --finish: it logs what it sees. What the kernel allows is tested first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/modules.h"
#include "engine/process/bgfinish.h"
#include "engine/process/finisher.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

#define SPOOL_FD 90
#define NOBODY   65534
#define MIB      (1ul << 20)

#define RLIMIT_NPROC 6 // include/uapi/asm-generic/resource.h

static const u8 limits[] = { RLIMIT_CPU,   RLIMIT_FSIZE,  RLIMIT_DATA,
                             RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_AS };

// In a file: children and the programs that they execute share it.
static struct shared {
    struct spool_header header;
    char text[32]; // a letter for each function that was called
    size_t n;
    // Of the finisher:
    int ran, ends_with, dies_of;
    bool right_command;
    s32 pid, parent, fd;
    u64 mask;
    s64 timers[3];
    struct k_rlimit limit[ARRAY_SIZE(limits)];
    char spool_begins[8];
} * did;
static int did_fd;

struct spool_header *spool;
static const char *finisher, *quick;
static bool lost;
static int kept_finisher; // -1: there is none
static char environment[32];
static char *environment_list[] = { environment, NULL };

static void note(char letter)
{
    did->text[did->n++] = letter;
}

// -- fakes of what finisher.c calls --

char *const *environ_finisher(void)
{
    return environment_list;
}

bool spooler_is_lost(void)
{
    return lost;
}

static bool taken; // by the background finisher

bool bgfinish_takes(void)
{
    note('k');
    return taken;
}

int spooler_fd(void)
{
    note('s');
    return SPOOL_FD;
}

void modules_save(int fd)
{
    assert_int_equal(fd, SPOOL_FD);
    note('m');
}

void spooler_drop(void)
{
    note('d');
}

int fds_spool(void)
{
    note('S');
    return SPOOL_FD;
}

const char *spooler_string(u32 offset)
{
    assert_in_range(offset, 7, 9);
    return offset == 7 ? finisher : offset == 8 ? "THE-SPOOL" : quick;
}

void fds_check_log(void)
{
    note('l');
}

void fds_close_others(void)
{
    note('c');
}

static bool irreplaceable; // the spool's descriptor

long fds_replace(int fd, int to)
{
    return irreplaceable ? -EBADF : sys_call3(SYS_dup3, (u64)fd, (u64)to, O_CLOEXEC);
}

int fds_finisher(void)
{
    return kept_finisher;
}

void fds_go_to_root(void)
{
    note('r');
}

void fds_keep_over_exec(bool keep)
{
    note(keep ? '+' : '-');
    sys_fcntl(SPOOL_FD, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

// -- the finisher --

static int finish(int argc, char *argv[])
{
    did = (void *)sys_mmap(0, sizeof(*did), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(getenv("DID")),
                           0);
    did->ran += strcmp(argv[1], "--demangle") == 0 ? 2 : 1;
    did->fd = atoi(argv[2]);
    did->right_command = argc == 3 && !strcmp(argv[0], "quern");
    did->pid = sys_getpid();
    did->parent = (s32)sys_call0(SYS_getppid);
    sys_sigprocmask(SIG_BLOCK, NULL, &did->mask);
    for (u64 i = 0; i < 3; i++) {
        struct k_itimerval now = { 0, 0, -1, 0 };

        sys_call2(SYS_getitimer, i, (u64)&now);
        did->timers[i] = now.value_sec;
    }
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        sys_prlimit(limits[i], NULL, &did->limit[i]);
    sys_pread(did->fd, did->spool_begins, sizeof(did->spool_begins) - 1, 0);
    if (did->dies_of)
        sys_tgkill(sys_getpid(), sys_gettid(), did->dies_of);
    return did->ends_with;
}

static struct k_rlimit seen(u8 which)
{
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        if (limits[i] == which)
            return did->limit[i];
    fail();
    return (struct k_rlimit){ 0, 0 };
}

// -- helpers of the tests --

static int file_with(const char *text, int fd)
{
    int new = (int)sys_call2(SYS_memfd_create, (u64) "spool", 0);

    assert_int_equal(sys_write(new, text, strlen(text)), strlen(text));
    if (fd < 0)
        return new;
    assert_int_equal(sys_call3(SYS_dup3, (u64) new, (u64)fd, O_CLOEXEC), fd);
    sys_close(new);
    return fd;
}

static int setup(void **state)
{
    (void)state;
    if (!did) {
        did_fd = (int)sys_call2(SYS_memfd_create, (u64) "did", 0);
        sys_ftruncate(did_fd, sizeof(*did));
        did = (void *)sys_mmap(0, sizeof(*did), PROT_READ | PROT_WRITE, MAP_SHARED, did_fd, 0);
        snprintf(environment, sizeof(environment), "DID=%d", did_fd);
        engine_log_fd = (int)sys_call2(SYS_memfd_create, (u64) "log", MFD_CLOEXEC);
        file_with("counts", SPOOL_FD);
        spool = &did->header;
    }
    memset(did, 0, sizeof(*did));
    did->header.state = SPOOL_RUNNING;
    did->header.s_quern = 7;
    did->header.s_spool = 8;
    sys_ftruncate(engine_log_fd, 0);
    sys_call3(SYS_lseek, (u64)engine_log_fd, 0, 0);
    finisher = "/proc/self/exe";
    kept_finisher = -1;
    lost = taken = false;
    return 0;
}

// What engine_msg() wrote, without "==PID== "; "" when it wrote nothing.
static const char *said(void)
{
    static char line[512];

    long n = sys_pread(engine_log_fd, line, sizeof(line) - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    char *text = n > 2 ? strstr(line + 2, "== ") : NULL;
    return text ? text + 3 : "";
}

static s32 last_child;

// Runs in a child, which must end by itself: its status from wait().
static int in_child(void (*what)(void))
{
    int status;

    last_child = (s32)sys_call0(SYS_fork);
    if (last_child == 0) {
        what();
        sys_exit_group(99);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)last_child, (u64)&status, 0, 0), last_child);
    return status;
}

#define EXITED(status) ((status) << 8)

static void ends(void)
{
    finisher_process(SPOOL_END_EXIT, 3);
}

// -- the end of the process --

static void runs_timers(void)
{
    struct k_itimerval later = { 0, 0, 1000, 0 };

    for (u64 i = 0; i < 3; i++)
        assert_int_equal(sys_call3(SYS_setitimer, i, (u64)&later, 0), 0);
    ends();
}

static void test_process(void **state)
{
    (void)state;
    did->ends_with = 41;
    assert_int_equal(in_child(runs_timers), EXITED(41));
    assert_int_equal(did->ran, 1);
    assert_true(did->right_command);
    assert_int_equal(did->pid, last_child); // the same process
    assert_int_equal(did->fd, SPOOL_FD);
    assert_string_equal(did->spool_begins, "counts");
    assert_string_equal(did->text, "lkcrsmsr+");
    assert_int_equal(spool->state, SPOOL_ENDED);
    assert_int_equal(spool->end_kind, SPOOL_END_EXIT);
    assert_int_equal(spool->end_code, 3);
    assert_int_equal(spool->log_fd, engine_log_fd);
    assert_string_equal(said(), "");
    // All but ILL 4, TRAP 5, BUS 7, FPE 8, SEGV 11, SYS 31, and what cannot be blocked: 9, 19
    assert_true(did->mask == ~(1ul << 3 | 1ul << 4 | 1ul << 6 | 1ul << 7 | 1ul << 8 | 1ul << 10 |
                               1ul << 18 | 1ul << 30));
    for (int i = 0; i < 3; i++)
        assert_int_equal(did->timers[i], 0);
}

// Renamed since the start: the open descriptor leads there.
// The background finisher takes the spool: the process ends at once, as the program did.
static void test_bgfinish(void **state)
{
    (void)state;
    taken = true;
    did->ends_with = 41;
    assert_int_equal(in_child(ends), EXITED(3));
    assert_int_equal(did->ran, 0);
    assert_string_equal(did->text, "lk");
    assert_int_equal(spool->state, SPOOL_ENDED);
}

static void test_kept_finisher(void **state)
{
    (void)state;
    kept_finisher = (int)sys_open("/proc/self/exe", O_PATH, 0);
    finisher = "/no/such/file";
    assert_int_equal(in_child(ends), EXITED(0));
    assert_int_equal(did->ran, 1);
    assert_true(did->right_command);
    assert_string_equal(did->text, "lkcrsmsr+");
    sys_close(kept_finisher);
}

// quern-finish comes first, and the other program if it cannot be executed.
static void test_quick_finisher(void **state)
{
    (void)state;
    did->header.s_finisher = 9;
    quick = "/proc/self/exe";
    finisher = "/no/such/file";
    assert_int_equal(in_child(ends), EXITED(0));
    assert_int_equal(did->ran, 1);
    assert_true(did->right_command);
    assert_string_equal(did->text, "lkcrsmsr+");
    setup(NULL);
    did->header.s_finisher = 9;
    quick = "/no/such/file";
    assert_int_equal(in_child(ends), EXITED(0));
    assert_int_equal(did->ran, 1);
    assert_true(did->right_command);
    assert_string_equal(did->text, "lkcrsmsr+");
}

static void test_no_finisher(void **state)
{
    (void)state;
    finisher = "/no/such/file";
    assert_int_equal(in_child(ends), EXITED(3));
    assert_string_equal(did->text, "lkcrsmsr+-");
    assert_int_equal(spool->state, SPOOL_ENDED);
    assert_string_equal(said(), "cannot execute /no/such/file: error 2; the counts are in "
                                "THE-SPOOL: use `quern recover` on it\n");
    setup(NULL);
    finisher = "/no/such/file";
    kept_finisher = SPOOL_FD; // opens, and is no program: ENOEXEC
    assert_int_equal(in_child(ends), EXITED(3));
    assert_non_null(strstr(said(), "/no/such/file: error 8;"));
}

static void killed(void)
{
    struct k_sigaction ignore = { SIG_IGN, 0, 0, 0 };

    sys_sigaction(SIGHUP, &ignore, NULL);
    finisher_process(SPOOL_END_SIGNAL, SIGHUP);
}

static void test_dies_as_client(void **state)
{
    (void)state;
    finisher = "/no/such/file";
    assert_int_equal(in_child(killed), SIGHUP);
    assert_int_equal(spool->end_kind, SPOOL_END_SIGNAL);
    assert_int_equal(spool->end_code, SIGHUP);
    setup(NULL);
    lost = true; // nothing to finish
    assert_int_equal(in_child(killed), SIGHUP);
    assert_int_equal(spool->state, SPOOL_RUNNING);
    assert_string_equal(did->text, "");
    assert_int_equal(in_child(ends), EXITED(3));
    assert_int_equal(did->ran, 0);
}

// Under `quern stat` there is no finisher: `quern stat` reads the spool of the process that it has
// started, and the spool of a forked child is removed.
static void test_stat(void **state)
{
    (void)state;
    did->header.flags = SPOOL_F_STAT;
    assert_int_equal(in_child(ends), EXITED(3));
    assert_int_equal(did->ran, 0);
    assert_string_equal(did->text, "l");
    assert_int_equal(spool->state, SPOOL_ENDED);
    assert_int_equal(spool->end_kind, SPOOL_END_EXIT);
    assert_int_equal(spool->end_code, 3);
    assert_int_equal(in_child(killed), SIGHUP);
    setup(NULL);
    did->header.flags = SPOOL_F_STAT | SPOOL_F_FORKED;
    assert_int_equal(in_child(ends), EXITED(3));
    assert_int_equal(did->ran, 0);
    assert_string_equal(did->text, "lrd");
}

// -- the client's limits --

static u8 limited;
static struct k_rlimit to;
static bool privileged;

static void limit(void)
{
    if (!privileged)
        sys_call1(SYS_setuid, NOBODY);
    if (sys_prlimit(limited, &to, NULL))
        sys_exit_group(98);
}

static void ends_limited(void)
{
    limit();
    ends();
}

static void raises(void)
{
    limit();
    to.max++;
    sys_exit_group(sys_prlimit(limited, &to, NULL) == 0);
}

// May this user raise a hard limit?
static bool may_raise(void)
{
    privileged = true;
    limited = RLIMIT_NOFILE;
    to = (struct k_rlimit){ 40, 40 };
    return in_child(raises) == EXITED(1);
}

static int under(u8 which, u64 cur, u64 max)
{
    setup(NULL);
    limited = which;
    to = (struct k_rlimit){ cur, max };
    return in_child(ends_limited);
}

static void test_soft_limits(void **state)
{
    (void)state;
    privileged = false;
    static const struct {
        u8 which;
        u64 cur, max;
    } raised[] = { { RLIMIT_CPU, 600, 700 },
                   { RLIMIT_FSIZE, 5, 300 * MIB },
                   { RLIMIT_FSIZE, 5, MIB }, // too low, and no reason to give up
                   { RLIMIT_DATA, 63 * MIB, 64 * MIB },
                   { RLIMIT_NOFILE, 16, 16 },
                   { RLIMIT_AS, 127 * MIB, 128 * MIB } };

    for (size_t i = 0; i < ARRAY_SIZE(raised); i++) {
        assert_int_equal(under(raised[i].which, raised[i].cur, raised[i].max), EXITED(0));
        assert_int_equal(did->ran, 1);
        assert_int_equal(seen(raised[i].which).cur, raised[i].max);
        assert_int_equal(seen(raised[i].which).max, raised[i].max);
        assert_string_equal(said(), "");
    }
}

// A stack of 8 MiB, as usual, whether the client had more or less of it.
static void test_stack_limit(void **state)
{
    static const struct {
        u64 cur, max, seen;
    } stacks[] = { { MIB, 20 * MIB, 8 * MIB },
                   { 16 * MIB, 20 * MIB, 8 * MIB },
                   { 8 * MIB, 8 * MIB, 8 * MIB },
                   { 512 << 10, MIB, MIB },
                   { 64 << 10, 128 << 10, 128 << 10 } };

    (void)state;
    privileged = false;
    for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
        assert_int_equal(under(RLIMIT_STACK, stacks[i].cur, stacks[i].max), EXITED(0));
        assert_int_equal(seen(RLIMIT_STACK).cur, stacks[i].seen);
        assert_int_equal(seen(RLIMIT_STACK).max, stacks[i].max);
    }
}

static void test_hard_limits(void **state)
{
    static const struct {
        u8 which;
        u64 max;
        const char *name;
    } low[] = { { RLIMIT_DATA, 64 * MIB - 4096, "memory (ulimit -d)" },
                { RLIMIT_STACK, (128 << 10) - 4096, "stack (ulimit -s)" },
                { RLIMIT_NOFILE, 15, "open files (ulimit -n)" },
                { RLIMIT_AS, 128 * MIB - 4096, "address space (ulimit -v)" } };

    (void)state;
    privileged = false;
    for (size_t i = 0; i < ARRAY_SIZE(low); i++) {
        char expected[256];

        snprintf(expected, sizeof(expected),
                 "the profile is not written: the program's own limit on %s is too low for that; "
                 "the counts are in THE-SPOOL: use `quern recover` on it\n",
                 low[i].name);
        assert_int_equal(under(low[i].which, low[i].max, low[i].max), EXITED(3));
        assert_string_equal(said(), expected);
        assert_string_equal(did->text, "lkc");
        assert_int_equal(did->ran, 0);
    }
}

static void test_raised_limits(void **state)
{
    static const struct {
        u8 which;
        u64 max, seen;
    } low[] = { { RLIMIT_FSIZE, MIB, 1024 * MIB },
                { RLIMIT_DATA, 32 * MIB, 256 * MIB },
                { RLIMIT_STACK, 64 << 10, 512 << 10 },
                { RLIMIT_NOFILE, 15, 64 },
                { RLIMIT_AS, 64 * MIB, 512 * MIB } };

    (void)state;
    if (!may_raise()) { // then test_hard_limits has seen all there is
        print_message("# raised limits: who runs this may not raise a hard limit\n");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(low); i++) {
        assert_int_equal(under(low[i].which, low[i].max, low[i].max), EXITED(0));
        assert_int_equal(seen(low[i].which).cur, low[i].seen);
        assert_int_equal(seen(low[i].which).max, low[i].seen);
        assert_string_equal(said(), "");
    }
}

// -- in a child --

// The process sees no child to wait for and no SIGCHLD, and has its mask.
static void assert_unnoticed(void)
{
    u64 pending = 0, mask = 0;

    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0), -ECHILD);
    sys_call2(SYS_rt_sigpending, (u64)&pending, 8);
    assert_int_equal(pending & SIGBIT(SIGCHLD), 0);
    sys_sigprocmask(SIG_BLOCK, NULL, &mask);
    assert_int_equal(mask, SIGBIT(SIGCHLD));
}

static u64 mask_before;

static int setup_blocked(void **state)
{
    u64 blocked = SIGBIT(SIGCHLD); // a SIGCHLD stays pending

    sys_sigprocmask(SIG_SETMASK, &blocked, &mask_before);
    return setup(state);
}

static int teardown_blocked(void **state)
{
    (void)state;
    sys_sigprocmask(SIG_SETMASK, &mask_before, NULL);
    return 0;
}

static void test_in_child(void **state)
{
    (void)state;
    assert_int_equal(finisher_in_child(SPOOL_END_SIGNAL, 11), 0);
    assert_unnoticed();
    assert_int_equal(did->ran, 1);
    assert_true(did->right_command);
    assert_int_not_equal(did->pid, sys_getpid());
    assert_int_not_equal(did->parent, sys_getpid()); // a grandchild
    assert_string_equal(did->text, "lcrsmsr+");
    assert_string_equal(did->spool_begins, "counts");
    assert_int_equal(spool->state, SPOOL_ENDED);
    assert_int_equal(spool->end_kind, SPOOL_END_SIGNAL);
    assert_int_equal(spool->end_code, 11);
    assert_int_equal(did->mask & SIGBIT(SIGTERM), SIGBIT(SIGTERM));
    setup(NULL);
    lost = true;
    assert_int_equal(finisher_in_child(SPOOL_END_EXIT, 0), 0);
    assert_int_equal(did->ran, 0);
    assert_int_equal(spool->state, SPOOL_RUNNING);
    assert_unnoticed();
}

static void test_in_child_fails(void **state)
{
    (void)state;
    did->ends_with = 1;
    assert_int_equal(finisher_in_child(SPOOL_END_EXIT, 0), -ECHILD);
    assert_unnoticed();
    setup(NULL);
    did->dies_of = SIGKILL;
    assert_int_equal(finisher_in_child(SPOOL_END_EXIT, 0), -ECHILD);
    assert_int_equal(did->ran, 1);
    assert_unnoticed();
    setup(NULL);
    finisher = "/no/such/file";
    assert_int_equal(finisher_in_child(SPOOL_END_EXIT, 0), -ECHILD);
    assert_string_equal(did->text, "lcrsmsr+-");
    assert_non_null(strstr(said(), "cannot execute /no/such/file"));
    assert_unnoticed();
}

static void test_stat_in_child(void **state)
{
    (void)state;
    did->header.flags = SPOOL_F_STAT;
    assert_int_equal(finisher_in_child(SPOOL_END_SIGNAL, 11), 0);
    assert_unnoticed();
    assert_int_equal(did->ran, 0);
    assert_int_equal(spool->state, SPOOL_ENDED);
    assert_int_equal(spool->end_code, 11);
    setup(NULL);
    did->header.flags = SPOOL_F_STAT | SPOOL_F_FORKED;
    assert_int_equal(finisher_in_child(SPOOL_END_SIGNAL, 11), 0);
    assert_unnoticed();
    assert_int_equal(did->ran, 1);
}

static int (*call)(void);

static int child_call(void)
{
    return finisher_in_child(SPOOL_END_EXIT, 0);
}

static int dump_call(void)
{
    return finisher_dump(SPOOL_FD);
}

// No process can be created any more.
static void alone(void)
{
    limited = RLIMIT_NPROC;
    to = (struct k_rlimit){ 0, 0 };
    privileged = false;
    limit();
    sys_exit_group(-call());
}

// The process has entered a new PID namespace and has no child in it yet.
static void first_of_its_numbering(void)
{
    if (sys_call1(SYS_unshare, CLONE_NEWPID))
        sys_exit_group(99);
    sys_exit_group(-call());
}

static void test_numbering(void **state)
{
    static int (*const calls[])(void) = { child_call, dump_call };

    (void)state;
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        call = calls[i];
        if (in_child(first_of_its_numbering) == EXITED(99))
            skip(); // needs the right to create one
        setup(NULL);
        assert_int_equal(in_child(first_of_its_numbering), EXITED(EAGAIN));
        assert_int_equal(did->ran, 0);
    }
}

static void test_no_child(void **state)
{
    static int (*const calls[])(void) = { child_call, dump_call };

    (void)state;
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        call = calls[i];
        assert_int_equal(in_child(alone), EXITED(EAGAIN));
        assert_int_equal(did->ran, 0);
    }
}

// A copy of the spool gets the spool's descriptor number in the child; the process keeps its own.
static void test_dump(void **state)
{
    char begins[8] = "";

    (void)state;
    int copy = file_with("copied", -1);
    assert_int_equal(finisher_dump(copy), 0);
    assert_unnoticed();
    assert_int_equal(did->ran, 1);
    assert_int_equal(did->fd, SPOOL_FD);
    assert_int_not_equal(did->parent, sys_getpid());
    assert_string_equal(did->spool_begins, "copied");
    assert_string_equal(did->text, "scrSmSr+");
    assert_int_equal(spool->state, SPOOL_RUNNING); // the copy is marked, this one goes on
    sys_pread(SPOOL_FD, begins, sizeof(begins) - 1, 0);
    assert_string_equal(begins, "counts");
    setup(NULL);
    did->ends_with = 1;
    assert_int_equal(finisher_dump(copy), -ECHILD);
    assert_unnoticed();
    setup(NULL);
    finisher = "/no/such/file";
    assert_int_equal(finisher_dump(copy), -ECHILD);
    assert_unnoticed();
    setup(NULL);
    irreplaceable = true; // the spool itself is not finished
    assert_int_equal(finisher_dump(copy), -ECHILD);
    irreplaceable = false;
    assert_int_equal(did->ran, 0);
    assert_unnoticed();
    sys_close(copy);
}

// Names to demangle, in a memory file with the spool's descriptor number. The client's limit on
// file sizes does not apply.
static void asks_limited(void)
{
    static const char names[] = "_Z1fv\0_Z1g"; // with its NUL

    limit();
    long fd = finisher_demangle(names, sizeof(names));
    sys_exit_group(fd >= 0 ? 0 : (int)-fd);
}

// The memory file gets the lowest free number, even 0.
static void asks_without_input(void)
{
    sys_close(0);
    asks_limited();
}

static void test_names(void **state)
{
    static const char names[] = "_Z1fv\0_Z1g";
    char back[32] = "";

    (void)state;
    long fd = finisher_demangle(names, sizeof(names));
    assert_true(fd >= 0);
    assert_unnoticed();
    assert_int_equal(did->ran, 2); // once, with --demangle
    assert_int_equal(did->fd, SPOOL_FD);
    assert_int_not_equal(did->parent, sys_getpid());
    assert_string_equal(did->spool_begins, "_Z1fv");
    assert_string_equal(did->text, "scSSr+");
    assert_int_equal(sys_pread((int)fd, back, sizeof(back), 0), sizeof(names));
    assert_memory_equal(back, names, sizeof(names));
    sys_close((int)fd);
    sys_pread(SPOOL_FD, back, 6, 0);
    assert_memory_equal(back, "counts", 6);
    assert_int_equal(spool->state, SPOOL_RUNNING);
    setup(NULL);
    did->ends_with = 1;
    assert_int_equal(finisher_demangle(names, sizeof(names)), -ECHILD);
    assert_unnoticed();
    setup(NULL);
    finisher = "/no/such/file";
    assert_int_equal(finisher_demangle(names, sizeof(names)), -ECHILD);
    assert_string_equal(said(), "");
    assert_unnoticed();
    setup(NULL);
    irreplaceable = true; // no names in the spool
    assert_int_equal(finisher_demangle(names, sizeof(names)), -ECHILD);
    irreplaceable = false;
    assert_int_equal(did->ran, 0);
    sys_pread(SPOOL_FD, back, 6, 0);
    assert_memory_equal(back, "counts", 6);
    setup(NULL);
    privileged = false;
    limited = RLIMIT_FSIZE;
    to = (struct k_rlimit){ 5, 300 * MIB };
    assert_int_equal(in_child(asks_limited), EXITED(0));
    assert_string_equal(did->spool_begins, "_Z1fv");
    setup(NULL);
    assert_int_equal(in_child(asks_without_input), EXITED(0));
    assert_int_equal(did->ran, 2);
    assert_string_equal(did->spool_begins, "_Z1fv");
    setup(NULL);
    limited = RLIMIT_NPROC;
    to = (struct k_rlimit){ 0, 0 };
    assert_int_equal(in_child(asks_limited), EXITED(EAGAIN));
    assert_int_equal(did->ran, 0);
}

int main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_process, setup),
        cmocka_unit_test_setup(test_bgfinish, setup),
        cmocka_unit_test_setup(test_kept_finisher, setup),
        cmocka_unit_test_setup(test_quick_finisher, setup),
        cmocka_unit_test_setup(test_no_finisher, setup),
        cmocka_unit_test_setup(test_dies_as_client, setup),
        cmocka_unit_test_setup(test_stat, setup),
        cmocka_unit_test_setup(test_soft_limits, setup),
        cmocka_unit_test_setup(test_stack_limit, setup),
        cmocka_unit_test_setup(test_hard_limits, setup),
        cmocka_unit_test_setup(test_raised_limits, setup),
        cmocka_unit_test_setup_teardown(test_in_child, setup_blocked, teardown_blocked),
        cmocka_unit_test_setup_teardown(test_in_child_fails, setup_blocked, teardown_blocked),
        cmocka_unit_test_setup_teardown(test_stat_in_child, setup_blocked, teardown_blocked),
        cmocka_unit_test_setup(test_numbering, setup),
        cmocka_unit_test_setup(test_no_child, setup),
        cmocka_unit_test_setup_teardown(test_dump, setup_blocked, teardown_blocked),
        cmocka_unit_test_setup_teardown(test_names, setup_blocked, teardown_blocked),
    };

    if (argc > 1 && (!strcmp(argv[1], "--finish") || !strcmp(argv[1], "--demangle")))
        return finish(argc, argv);
    return cmocka_run_group_tests_name("process/finisher", tests, NULL, NULL);
}
