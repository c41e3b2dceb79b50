// SPDX-License-Identifier: MIT
// The background finisher (bgfinish.h).
//
// A job is an entry in memory that a family of processes shares. Its state is FREE, then the pid of
// the child that fills it, then READY, and BUSY while the finisher runs. A child that is killed
// while it fills a job leaves its pid there. When all jobs are taken, children run their own
// finishers: the number of jobs bounds the number of spools on disk.
//
// A child hands over the name of its spool, and the background finisher must find the spool under
// that name. A child with another root, other mounts, another PID namespace or another user, or
// whose spool has lost its name, hands over nothing. If the background finisher is killed, its
// READY jobs remain, and another one does them.
//
// The background finisher opens files by the names in that memory, so a process with fewer rights
// must not write there: a process leaves the family before it gives up rights (rights.c).
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
#define NAME_BYTES  1000u
#define STACK_BYTES 0x8000u
#define POLL_NS     100000000 // a waiting owner polls whether the background finisher lives
#define BATCH       16u       // most jobs for one run of the finisher
#define NS          1000000000ul
#define BATCH_NS    100000000ul // the first job of a batch waits so long for others
#define FILL_MS     1000        // time that a child has for filling a job

// The state of a job is one of these, or a pid.
#define FREE  0u
#define READY (~0u)
#define BUSY  (~1u)

// What decides which file a name means to a process.
struct view {
    u64 root_dev, root_ino, mount_ns, pid_ns, users[4];
};

struct job {
    u32 state;
    s32 log_fd;   // its number in the finisher
    bool own_log; // a log file for this process alone
    u64 dev, ino;
    char name[NAME_BYTES];
};

// Of the family.
static struct queue {
    u32 open;   // a background finisher runs and takes jobs
    u32 word;   // the futex on which it sleeps
    u32 asleep; // it sleeps, or is about to
    struct view view;
    struct job job[JOBS];
} * queue;
static struct queue *spare; // memory of a queue that was left, for the next one
static bool left;           // no new family until bgfinish_allow()

// Shared by the owner and its background finisher.
static struct {
    u32 tid; // 0: none; the kernel clears it when the background finisher is gone
    u32 quit;
    u32 forks;
    s32 client;
    s32 client_fd;
    int log, finisher;
    u64 stack;
    struct job *job[BATCH]; // the batch that is being finished
    u32 jobs;
} bg;

static u64 inode(const char *path)
{
    struct k_stat st;

    return sys_fstatat(AT_FDCWD, path, &st, 0) == 0 ? st.st_ino : 0;
}

static void view_of_process(struct view *v)
{
    struct k_stat root = { 0 };

    memset(v, 0, sizeof(*v));
    sys_fstatat(AT_FDCWD, "/", &root, 0);
    v->root_dev = root.st_dev;
    v->root_ino = root.st_ino;
    v->mount_ns = inode("/proc/self/ns/mnt");
    v->pid_ns = inode("/proc/self/ns/pid");
    v->users[0] = (u64)sys_call0(SYS_getuid);
    v->users[1] = (u64)sys_call0(SYS_geteuid);
    v->users[2] = (u64)sys_call0(SYS_getgid);
    v->users[3] = (u64)sys_call0(SYS_getegid);
}

// ---- The background finisher ----

// Moves the log to the descriptor number in the spools: the finisher's messages go there.
static void place_log(s32 number)
{
    if (bg.log < 0 || number < 0)
        return;
    if (bg.log == number)
        sys_fcntl(bg.log, F_SETFD, 0);
    else
        sys_call3(SYS_dup3, (u64)bg.log, (u64)number, 0);
}

// Negative: another process has removed or recovered the spool.
static long open_spool(const struct job *j)
{
    long fd = sys_open(j->name, O_RDWR, 0);
    struct k_stat st;

    if (fd < 0 || (sys_fstat((int)fd, &st) == 0 && st.st_dev == j->dev && st.st_ino == j->ino))
        return fd;
    sys_close((int)fd);
    return -ENOENT;
}

// In a process with its own descriptors and the memory of the background finisher.
static void execute(void)
{
    char number[BATCH][16];
    char *argv[BATCH + 3] = { (char *)(u64) "quern", (char *)(u64) "--finish" };
    u32 n = 0;

    place_log(bg.job[0]->log_fd);
    for (u32 i = 0; i < bg.jobs; i++) {
        long fd = open_spool(bg.job[i]);

        if (fd < 0)
            continue;
        nolibc_format(number[n], sizeof(number[n]), "%d", (int)fd);
        argv[2 + n] = number[n];
        n++;
    }
    if (!n)
        sys_exit_group(ENGINE_DIE_STATUS);
    sys_allow_tsc(); // as in finisher.c
    if (spool->s_finisher)
        sys_execve(spooler_string(spool->s_finisher), argv, environ_finisher());
    long ret = sys_execve(spooler_string(spool->s_quern), argv, environ_finisher());
    if (bg.finisher >= 0)
        ret = sys_call5(SYS_execveat, (u64)bg.finisher, (u64) "", (u64)argv,
                        (u64)environ_finisher(), AT_EMPTY_PATH);
    for (u32 i = 0; i < bg.jobs; i++)
        engine_msg("cannot execute %s: error %ld; the counts are in %s: use `quern recover` on it",
                   spooler_string(spool->s_quern), -ret, bg.job[i]->name);
    sys_exit_group(ENGINE_DIE_STATUS);
}

// False: a signal ended the finisher.
static bool finish_jobs(void)
{
    u64 flags = CLONE_VM | CLONE_VFORK | CLONE_UNTRACED;
    s32 status = 0;
    u32 nobody;
    long pid = replayer_clone(flags, bg.stack + 2 * STACK_BYTES, &nobody, execute);

    for (u32 i = 0; i < bg.jobs && pid < 0; i++)
        engine_msg("no process for the finisher: error %ld; the counts are in %s: use "
                   "`quern recover` on it",
                   -pid, bg.job[i]->name);
    while (pid > 0 && sys_call4(SYS_wait4, (u64)pid, (u64)&status, __WALL, 0) == -EINTR)
        ;
    return !(status & 0x7f);
}

// Whether the job is ready and can be in the current batch.
static bool fits(const struct job *j)
{
    const struct job *first = bg.job[0];

    return __atomic_load_n(&j->state, __ATOMIC_ACQUIRE) == READY &&
           (!bg.jobs || (!first->own_log && !j->own_log && j->log_fd == first->log_fd));
}

static bool take_any(void)
{
    struct job *taken[BATCH];
    u32 n;

    bg.jobs = 0;
    for (u32 i = 0; i < JOBS && bg.jobs < BATCH; i++) {
        if (!fits(&queue->job[i]))
            continue;
        __atomic_store_n(&queue->job[i].state, BUSY, __ATOMIC_RELAXED);
        bg.job[bg.jobs++] = &queue->job[i];
    }
    n = bg.jobs;
    if (!n)
        return false;
    memcpy(taken, bg.job, sizeof(taken));
    // One of the spools may have ended the finisher: retry them one at a time.
    if (!finish_jobs() && n > 1) {
        bg.jobs = 1;
        for (u32 i = 0; i < n; i++) {
            bg.job[0] = taken[i];
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
    struct k_pollfd p = { bg.client_fd, POLLIN, 0 };
    struct k_timespec now = { 0, 0 };

    if (__atomic_load_n(&bg.quit, __ATOMIC_SEQ_CST))
        return true;
    if (p.fd < 0)
        return sys_call2(SYS_kill, (u64)bg.client, 0) == -ESRCH;
    return sys_call5(SYS_ppoll, (u64)&p, 1, (u64)&now, 0, 0) == 1;
}

static u32 ready(void)
{
    u32 n = 0;

    for (u32 i = 0; i < JOBS; i++)
        n += __atomic_load_n(&queue->job[i].state, __ATOMIC_ACQUIRE) == READY;
    return n;
}

// Until more than n jobs are READY, for at most ns.
static void sleep(u32 n, u64 ns)
{
    struct k_timespec most = { (s64)(ns / NS), (s64)(ns % NS) };
    u32 seen = __atomic_load_n(&queue->word, __ATOMIC_SEQ_CST);

    __atomic_store_n(&queue->asleep, 1, __ATOMIC_SEQ_CST);
    if (ready() <= n && !is_over())
        sys_futex(&queue->word, FUTEX_WAIT, seen, &most);
    __atomic_store_n(&queue->asleep, 0, __ATOMIC_SEQ_CST);
}

static u64 now(void)
{
    struct k_timespec t = { 0, 0 };

    sys_clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.sec * NS + (u64)t.nsec;
}

// Batches the jobs that arrive within BATCH_NS.
static void wait_for_more(void)
{
    u64 end = now() + BATCH_NS, at;
    u32 n;

    while ((n = ready()) < BATCH && !is_over() && (at = now()) < end)
        sleep(n, end - at);
}

static bool is_gone(u32 pid)
{
    return sys_call2(SYS_kill, pid, 0) == -ESRCH;
}

// A living child fills a job.
static bool is_being_filled(void)
{
    for (u32 i = 0; i < JOBS; i++) {
        u32 state = __atomic_load_n(&queue->job[i].state, __ATOMIC_ACQUIRE);

        if (state != FREE && state != READY && state != BUSY && !is_gone(state))
            return true;
    }
    return false;
}

// Closes all descriptors but log and finisher. 0 to 2 are /dev/null: no file gets their numbers.
static void take_descriptors(void)
{
    int low = bg.log < bg.finisher ? bg.log : bg.finisher;
    int high = bg.log < bg.finisher ? bg.finisher : bg.log;
    u64 first = 0;
    struct k_rlimit limit;

    // Open descriptors may be above the client's limit, if it was lowered since.
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
    if (sys_call3(SYS_close_range, (u64)(high + 1), ~0u, 0)) // an old kernel
        for (int fd = 0; fd < 65536; fd++)
            if (fd != low && fd != high)
                sys_close(fd);
    for (int fd = 0; fd < 3; fd++)
        if (low > 2 || low < 0)
            sys_open("/dev/null", O_RDWR, 0);
}

static void run(void)
{
    static const char name[] = "quern-bgfinish";
    u64 all = ~0ul;

    sys_sigprocmask(SIG_SETMASK, &all, NULL);
    sys_call0(SYS_setsid);
    sys_call5(SYS_prctl, PR_SET_NAME, (u64)name, 0, 0, 0);
    sys_call1(SYS_chdir, (u64) "/");
    take_descriptors();
    bg.client_fd = (s32)sys_call2(SYS_pidfd_open, (u64)bg.client, 0);
    while (!is_over()) {
        if (ready()) {
            wait_for_more();
            take_any();
        } else {
            sleep(0, NS);
        }
    }
    // No child begins to fill a job any more; wait a while for those that have begun.
    __atomic_store_n(&queue->open, 0, __ATOMIC_SEQ_CST);
    take_all();
    for (u32 i = 0; i < FILL_MS && is_being_filled(); i++) {
        struct k_timespec moment = { 0, 1000000 };

        sys_call2(SYS_nanosleep, (u64)&moment, 0);
    }
    take_all();
    sys_exit_group(0);
}

// ---- The owner ----

static bool has_ready(void)
{
    for (u32 i = 0; i < JOBS; i++)
        if (__atomic_load_n(&queue->job[i].state, __ATOMIC_ACQUIRE) == READY)
            return true;
    return false;
}

// Frees the jobs of a background finisher and of children that were killed.
static void free_stale(void)
{
    for (u32 i = 0; i < JOBS; i++) {
        u32 state = __atomic_load_n(&queue->job[i].state, __ATOMIC_ACQUIRE);

        if (state == BUSY || (state != FREE && state != READY && is_gone(state)))
            __atomic_store_n(&queue->job[i].state, FREE, __ATOMIC_RELEASE);
    }
}

static bool start(void)
{
    u64 flags = CLONE_VM | CLONE_UNTRACED | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

    if (!bg.stack)
        bg.stack = (u64)heap_pages(2 * STACK_BYTES);
    bg.client = sys_getpid();
    bg.quit = 0;
    bg.log = engine_log_fd;
    bg.finisher = fds_finisher();
    view_of_process(&queue->view);
    free_stale();
    __atomic_store_n(&queue->open, 1, __ATOMIC_SEQ_CST);
    if (!sys_failed(replayer_clone(flags, bg.stack + STACK_BYTES, &bg.tid, run)))
        return true;
    bg.tid = 0;
    __atomic_store_n(&queue->open, 0, __ATOMIC_SEQ_CST);
    return false;
}

static struct queue *take_queue(void)
{
    if (!spare)
        spare = heap_pages(sizeof(*spare));
    return heap_share(spare, sizeof(*spare)) ? spare : NULL;
}

void bgfinish_before_fork(void)
{
    if (!tb_config.bgfinish || left || ++bg.forks < 2 || __atomic_load_n(&bg.tid, __ATOMIC_RELAXED))
        return;
    // The first process that forks twice starts a family.
    if (!queue && bg.forks == 2)
        queue = take_queue();
    else if (queue && !bg.client)
        return; // a child; its parent may have a background finisher
    if (queue)
        start();
}

// Keeps the stack, which is not in use.
static void reset(void)
{
    u64 stack = bg.stack;

    memset(&bg, 0, sizeof(bg));
    bg.stack = stack;
}

void bgfinish_fork_child(void)
{
    reset();
}

static void wait_for_end(void)
{
    struct k_timespec look = { 0, POLL_NS };
    u32 tid = __atomic_load_n(&bg.tid, __ATOMIC_SEQ_CST), child = tid;

    if (!tid)
        return;
    __atomic_store_n(&bg.quit, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&queue->word, 1, __ATOMIC_SEQ_CST);
    sys_futex(&queue->word, FUTEX_WAKE, 1, NULL);
    while (__atomic_load_n(&bg.tid, __ATOMIC_SEQ_CST) == tid)
        sys_futex(&bg.tid, FUTEX_WAIT, tid, &look);
    while (sys_call4(SYS_wait4, child, 0, __WALL, 0) == -EINTR)
        ;
}

void bgfinish_stop(void)
{
    if (!queue || !bg.client)
        return;
    wait_for_end();
    __atomic_store_n(&queue->open, 0, __ATOMIC_SEQ_CST);
    if (has_ready() && start()) // it was killed
        wait_for_end();
}

void bgfinish_leave(void)
{
    bgfinish_stop();
    reset();
    queue = NULL;
    left = true;
}

void bgfinish_allow(void)
{
    left = false;
}

// ---- Its children ----

bool bgfinish_takes(void)
{
    const char *name = spooler_string(spool->s_spool);
    struct view mine;
    struct k_stat st, named;
    struct job *j;
    u32 i = 0, pid = (u32)sys_getpid();

    if (!queue || bg.client || !__atomic_load_n(&queue->open, __ATOMIC_SEQ_CST) ||
        strlen(name) >= NAME_BYTES || sys_fstat(spooler_fd(), &st) ||
        sys_fstatat(AT_FDCWD, name, &named, 0) || st.st_dev != named.st_dev ||
        st.st_ino != named.st_ino) // a failed exec has already written the profile
        return false;
    view_of_process(&mine);
    if (memcmp(&mine, &queue->view, sizeof(mine)) != 0)
        return false;
    modules_save(spooler_fd());
    for (;; i++) {
        u32 was = FREE;

        if (i == JOBS)
            return false;
        j = &queue->job[i];
        if (__atomic_compare_exchange_n(&j->state, &was, pid, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            break;
    }
    if (!__atomic_load_n(&queue->open, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&j->state, FREE, __ATOMIC_SEQ_CST);
        return false;
    }
    j->log_fd = spool->log_fd;
    j->own_log = spool->s_log && nolibc_glob("*%p*", spooler_string(spool->s_log));
    j->dev = st.st_dev;
    j->ino = st.st_ino;
    memcpy(j->name, name, strlen(name) + 1);
    __atomic_store_n(&j->state, READY, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&queue->word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&queue->asleep, __ATOMIC_SEQ_CST))
        sys_futex(&queue->word, FUTEX_WAKE, 1, NULL);
    return true;
}
