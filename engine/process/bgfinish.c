// SPDX-License-Identifier: MIT
// Who has the profiles of children written (clerk.h).
//
// A job is an entry in memory that a family of processes has in common: FREE, then the number of
// the child that fills it, READY, and BUSY while the finisher runs. A child that is killed while it
// fills one leaves its number. When all are taken, children wait for their own finishers: so no
// more spools than these lie about.
//
// What a child hands over is the name of its spool, which the clerk must find under that name: a
// child that has another root, other mounts, another numbering of processes or another user, or
// whose spool has lost its name, hands over nothing. A clerk that is killed leaves what was READY,
// and another one does it.
//
// The clerk opens what stands in that memory, so nobody who can write there may have fewer rights
// than it: a process that gives up any leaves the family before (rights.c).
#include "engine/process/bgfinish.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/modules.h"
#include "engine/replay/replayer.h"
#include "engine/spool/config.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

#define JOBS        32u
#define NAME_ROOM   1000u
#define STACK_BYTES 0x8000u
#define LOOK_NS     100000000 // between looks of who waits, at whether the clerk lives
#define TOGETHER    8u        // jobs that one finisher does, if so many wait
#define NS          1000000000ul
#define MOMENT_NS   100000000ul // that the first of them waits for others
#define FILLS       1000        // times a millisecond that a child has for filling a job

// The state of a job is one of these, or a process's number.
#define FREE  0u
#define READY (~0u)
#define BUSY  (~1u)

// What a process sees and may do, as far as it decides which file a name is.
struct view {
    u64 root_dev, root_ino, mounts, numbering, users[4];
};

struct job {
    u32 state;
    s32 log_fd; // its number in the finisher
    bool alone; // it has a log of its own
    u64 dev, ino;
    char name[NAME_ROOM];
};

static struct box {
    u32 open;   // there is a clerk, and it is not about to go
    u32 word;   // it sleeps on
    u32 asleep; // it does, or is about to
    struct view view;
    struct job job[JOBS];
} * box;
static struct box *place; // of one that was left, for the next
static bool left;         // and there is to be none now

// Of the process that has the clerk; the clerk has this memory in common with it.
static struct {
    u32 tid; // 0: there is none; the kernel clears it when the process is gone
    u32 quit;
    u32 forks;
    s32 client;
    s32 client_fd;
    int log, finisher;
    u64 stack;
    struct job *job[TOGETHER]; // what is executed now
    u32 jobs;
} clerk;

static u64 inode(const char *path)
{
    struct k_stat st;

    return sys_fstatat(AT_FDCWD, path, &st, 0) == 0 ? st.st_ino : 0;
}

static void look_around(struct view *v)
{
    struct k_stat root = { 0 };

    memset(v, 0, sizeof(*v));
    sys_fstatat(AT_FDCWD, "/", &root, 0);
    v->root_dev = root.st_dev;
    v->root_ino = root.st_ino;
    v->mounts = inode("/proc/self/ns/mnt");
    v->numbering = inode("/proc/self/ns/pid");
    v->users[0] = (u64)sys_call0(SYS_getuid);
    v->users[1] = (u64)sys_call0(SYS_geteuid);
    v->users[2] = (u64)sys_call0(SYS_getgid);
    v->users[3] = (u64)sys_call0(SYS_getegid);
}

// -- the clerk --

// Where the finisher's messages go, at the number that the spools say.
static void place_log(s32 number)
{
    if (clerk.log < 0 || number < 0)
        return;
    if (clerk.log == number)
        sys_fcntl(clerk.log, F_SETFD, 0);
    else
        sys_call3(SYS_dup3, (u64)clerk.log, (u64)number, 0);
}

// Negative: removed, or recovered, by somebody else.
static long open_spool(const struct job *j)
{
    long fd = sys_open(j->name, O_RDWR, 0);
    struct k_stat st;

    if (fd < 0 || (sys_fstat((int)fd, &st) == 0 && st.st_dev == j->dev && st.st_ino == j->ino))
        return fd;
    sys_close((int)fd);
    return -ENOENT;
}

// In a process of its own, with descriptors of its own, and the clerk's memory.
static void execute(void)
{
    char number[TOGETHER][16];
    char *argv[TOGETHER + 3] = { (char *)(u64) "quern", (char *)(u64) "--finish" };
    u32 n = 0;

    place_log(clerk.job[0]->log_fd);
    for (u32 i = 0; i < clerk.jobs; i++) {
        long fd = open_spool(clerk.job[i]);

        if (fd < 0)
            continue;
        nolibc_format(number[n], sizeof(number[n]), "%d", (int)fd);
        argv[2 + n] = number[n];
        n++;
    }
    if (!n)
        sys_exit_group(ENGINE_DIE_STATUS);
    sys_allow_tsc(); // as in finish.c
    if (spool->s_finisher)
        sys_execve(spooler_string(spool->s_finisher), argv, environ_finisher());
    long ret = sys_execve(spooler_string(spool->s_quern), argv, environ_finisher());
    if (clerk.finisher >= 0)
        ret = sys_call5(SYS_execveat, (u64)clerk.finisher, (u64) "", (u64)argv,
                        (u64)environ_finisher(), AT_EMPTY_PATH);
    for (u32 i = 0; i < clerk.jobs; i++)
        engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
                   spooler_string(spool->s_quern), -ret, clerk.job[i]->name);
    sys_exit_group(ENGINE_DIE_STATUS);
}

// False: a signal has ended the finisher.
static bool finish_jobs(void)
{
    u64 flags = CLONE_VM | CLONE_VFORK | CLONE_UNTRACED;
    s32 status = 0;
    u32 nobody;
    long pid = replayer_clone(flags, clerk.stack + 2 * STACK_BYTES, &nobody, execute);

    for (u32 i = 0; i < clerk.jobs && pid < 0; i++)
        engine_msg("no process for the finisher: error %ld; the counts are in %s: use "
                   "`quern recover` on it",
                   -pid, clerk.job[i]->name);
    while (pid > 0 && sys_call4(SYS_wait4, (u64)pid, (u64)&status, __WALL, 0) == -EINTR)
        ;
    return !(status & 0x7f);
}

// Whether it is to be done, by the finisher that does those that have been chosen.
static bool fits(const struct job *j)
{
    const struct job *first = clerk.job[0];

    return __atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == READY &&
           (!clerk.jobs || (!first->alone && !j->alone && j->log_fd == first->log_fd));
}

static bool take_any(void)
{
    struct job *taken[TOGETHER];
    u32 n;

    clerk.jobs = 0;
    for (u32 i = 0; i < JOBS && clerk.jobs < TOGETHER; i++) {
        if (!fits(&box->job[i]))
            continue;
        __atomic_store_n(&box->job[i].state, BUSY, __ATOMIC_RELAXED);
        clerk.job[clerk.jobs++] = &box->job[i];
    }
    n = clerk.jobs;
    if (!n)
        return false;
    memcpy(taken, clerk.job, sizeof(taken));
    // What has ended one may be in one of the spools: each of those that are left alone.
    if (!finish_jobs() && n > 1) {
        clerk.jobs = 1;
        for (u32 i = 0; i < n; i++) {
            clerk.job[0] = taken[i];
            finish_jobs();
        }
    }
    for (u32 i = 0; i < n; i++)
        __atomic_store_n(&taken[i]->state, FREE, __ATOMIC_RELEASE);
    return true;
}

static void take_all(void)
{
    while (take_any())
        ;
}

static bool is_over(void)
{
    struct k_pollfd p = { clerk.client_fd, POLLIN, 0 };
    struct k_timespec now = { 0, 0 };

    if (__atomic_load_n(&clerk.quit, __ATOMIC_SEQ_CST))
        return true;
    if (p.fd < 0)
        return sys_call2(SYS_kill, (u64)clerk.client, 0) == -ESRCH;
    return sys_call5(SYS_ppoll, (u64)&p, 1, (u64)&now, 0, 0) == 1;
}

static u32 ready(void)
{
    u32 n = 0;

    for (u32 i = 0; i < JOBS; i++)
        n += __atomic_load_n(&box->job[i].state, __ATOMIC_ACQUIRE) == READY;
    return n;
}

// Until more than n are READY, at most so long.
static void sleep(u32 n, u64 ns)
{
    struct k_timespec most = { (s64)(ns / NS), (s64)(ns % NS) };
    u32 seen = __atomic_load_n(&box->word, __ATOMIC_SEQ_CST);

    __atomic_store_n(&box->asleep, 1, __ATOMIC_SEQ_CST);
    if (ready() <= n && !is_over())
        sys_futex(&box->word, FUTEX_WAIT, seen, &most);
    __atomic_store_n(&box->asleep, 0, __ATOMIC_SEQ_CST);
}

static u64 now(void)
{
    struct k_timespec t = { 0, 0 };

    sys_clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.sec * NS + (u64)t.nsec;
}

// Several for one finisher, if they come within a moment.
static void wait_for_more(void)
{
    u64 end = now() + MOMENT_NS, at;
    u32 n;

    while ((n = ready()) < TOGETHER && !is_over() && (at = now()) < end)
        sleep(n, end - at);
}

static bool is_gone(u32 pid)
{
    return sys_call2(SYS_kill, pid, 0) == -ESRCH;
}

// A living child fills one.
static bool is_being_filled(void)
{
    for (u32 i = 0; i < JOBS; i++) {
        u32 state = __atomic_load_n(&box->job[i].state, __ATOMIC_ACQUIRE);

        if (state != FREE && state != READY && state != BUSY && !is_gone(state))
            return true;
    }
    return false;
}

// Descriptors of its own: 0 to 2 lead nowhere, so that no file becomes one of them.
static void take_descriptors(void)
{
    int low = clerk.log < clerk.finisher ? clerk.log : clerk.finisher;
    int high = clerk.log < clerk.finisher ? clerk.finisher : clerk.log;
    u64 first = 0;
    struct k_rlimit limit;

    // Numbers of the client's time may be above what it has allowed itself since.
    if (sys_prlimit(RLIMIT_NOFILE, NULL, &limit) == 0) {
        limit.cur = limit.max;
        sys_prlimit(RLIMIT_NOFILE, &limit, NULL);
    }
    if (low >= 0 && high != low) {
        if (low > 0)
            sys_call3(SYS_close_range, 0, (u64)low - 1, 0);
        first = (u64)low + 1;
    }
    if (high > 0 && (u64)high > first)
        sys_call3(SYS_close_range, first, (u64)high - 1, 0);
    if (sys_call3(SYS_close_range, (u64)(high + 1), ~0u, 0)) // a kernel that does not know it
        for (int fd = 0; fd < 65536; fd++)
            if (fd != low && fd != high)
                sys_close(fd);
    for (int fd = 0; fd < 3; fd++)
        if (low > 2 || low < 0)
            sys_open("/dev/null", O_RDWR, 0);
}

static void run(void)
{
    static const char name[] = "quern-clerk";
    u64 all = ~0ul;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    sys_call0(SYS_setsid);
    sys_call5(SYS_prctl, PR_SET_NAME, (u64)name, 0, 0, 0);
    sys_call1(SYS_chdir, (u64) "/");
    take_descriptors();
    clerk.client_fd = (s32)sys_call2(SYS_pidfd_open, (u64)clerk.client, 0);
    while (!is_over()) {
        if (ready()) {
            wait_for_more();
            take_any();
        } else {
            sleep(0, NS);
        }
    }
    // Nobody begins to fill one any more; who has begun is waited for, for a while.
    __atomic_store_n(&box->open, 0, __ATOMIC_SEQ_CST);
    take_all();
    for (u32 i = 0; i < FILLS && is_being_filled(); i++) {
        struct k_timespec moment = { 0, 1000000 };

        sys_call2(SYS_nanosleep, (u64)&moment, 0);
    }
    take_all();
    sys_exit_group(0);
}

// -- the process that has it --

static bool is_left(void)
{
    for (u32 i = 0; i < JOBS; i++)
        if (__atomic_load_n(&box->job[i].state, __ATOMIC_ACQUIRE) == READY)
            return true;
    return false;
}

// What a clerk was at when it was killed, and numbers of children that were.
static void tidy(void)
{
    for (u32 i = 0; i < JOBS; i++) {
        u32 state = __atomic_load_n(&box->job[i].state, __ATOMIC_ACQUIRE);

        if (state == BUSY || (state != FREE && state != READY && is_gone(state)))
            __atomic_store_n(&box->job[i].state, FREE, __ATOMIC_RELEASE);
    }
}

static bool start(void)
{
    u64 flags = CLONE_VM | CLONE_UNTRACED | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

    if (!clerk.stack)
        clerk.stack = (u64)heap_pages(2 * STACK_BYTES);
    clerk.client = sys_getpid();
    clerk.quit = 0;
    clerk.log = engine_log_fd;
    clerk.finisher = fds_finisher();
    look_around(&box->view);
    tidy();
    __atomic_store_n(&box->open, 1, __ATOMIC_SEQ_CST);
    if (!sys_failed(replayer_clone(flags, clerk.stack + STACK_BYTES, &clerk.tid, run)))
        return true;
    clerk.tid = 0;
    __atomic_store_n(&box->open, 0, __ATOMIC_SEQ_CST);
    return false;
}

static struct box *take_box(void)
{
    if (!place)
        place = heap_pages(sizeof(*place));
    return heap_share(place, sizeof(*place)) ? place : NULL;
}

void bgfinish_before_fork(void)
{
    if (!tb_config.clerk || left || ++clerk.forks < 2 ||
        __atomic_load_n(&clerk.tid, __ATOMIC_RELAXED))
        return;
    // The first process of a family that forks twice.
    if (!box && clerk.forks == 2)
        box = take_box();
    else if (box && !clerk.client)
        return; // a child, of a process that may have one
    if (box)
        start();
}

// All but the stack, which is free.
static void begin_anew(void)
{
    u64 stack = clerk.stack;

    memset(&clerk, 0, sizeof(clerk));
    clerk.stack = stack;
}

void bgfinish_fork_child(void)
{
    begin_anew();
}

static void wait_for_end(void)
{
    struct k_timespec look = { 0, LOOK_NS };
    u32 tid = __atomic_load_n(&clerk.tid, __ATOMIC_SEQ_CST), child = tid;

    if (!tid)
        return;
    __atomic_store_n(&clerk.quit, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&box->word, 1, __ATOMIC_SEQ_CST);
    sys_futex(&box->word, FUTEX_WAKE, 1, NULL);
    while (__atomic_load_n(&clerk.tid, __ATOMIC_SEQ_CST) == tid)
        sys_futex(&clerk.tid, FUTEX_WAIT, tid, &look);
    while (sys_call4(SYS_wait4, child, 0, __WALL, 0) == -EINTR)
        ;
}

void bgfinish_stop(void)
{
    if (!box || !clerk.client)
        return;
    wait_for_end();
    __atomic_store_n(&box->open, 0, __ATOMIC_SEQ_CST);
    if (is_left() && start()) // it was killed
        wait_for_end();
}

void bgfinish_leave(void)
{
    bgfinish_stop();
    begin_anew();
    box = NULL;
    left = true;
}

void bgfinish_allow(void)
{
    left = false;
}

// -- its children --

bool bgfinish_takes(void)
{
    const char *name = spooler_string(spool->s_spool);
    struct view mine;
    struct k_stat st, named;
    struct job *j;
    u32 i = 0, pid = (u32)sys_getpid();

    if (!box || clerk.client || !__atomic_load_n(&box->open, __ATOMIC_SEQ_CST) ||
        strlen(name) >= NAME_ROOM || sys_fstat(spooler_fd(), &st) ||
        sys_fstatat(AT_FDCWD, name, &named, 0) || st.st_dev != named.st_dev ||
        st.st_ino != named.st_ino) // a failed exec has had the profile written already
        return false;
    look_around(&mine);
    if (memcmp(&mine, &box->view, sizeof(mine)) != 0)
        return false;
    modules_save(spooler_fd());
    for (;; i++) {
        u32 was = FREE;

        if (i == JOBS)
            return false;
        j = &box->job[i];
        if (__atomic_compare_exchange_n(&j->state, &was, pid, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            break;
    }
    if (!__atomic_load_n(&box->open, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&j->state, FREE, __ATOMIC_SEQ_CST);
        return false;
    }
    j->log_fd = spool->log_fd;
    j->alone = spool->s_log && nolibc_glob("*%p*", spooler_string(spool->s_log));
    j->dev = st.st_dev;
    j->ino = st.st_ino;
    memcpy(j->name, name, strlen(name) + 1);
    __atomic_store_n(&j->state, READY, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&box->word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&box->asleep, __ATOMIC_SEQ_CST))
        sys_futex(&box->word, FUTEX_WAKE, 1, NULL);
    return true;
}
