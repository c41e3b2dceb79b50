// SPDX-License-Identifier: MIT
// Frequent operations of programs other than computing: system calls, signals, futexes, threads,
// processes and maps, one test for each. `micro` lists them, `micro TEST` prints the nanoseconds of
// one operation: the fifth best of 41 batches, each large enough to take 2 ms, after some that find
// that size. (On a busy machine such short batches may end before another program gets the
// processor; the median of all shows how busy the machine is. A test that takes longer than 50 ms
// has five batches, and the best counts.) bench/micro/run starts each natively and under Quern and
// compares. A call that fails ends the program with status 1: a test that did nothing would be the
// fastest.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define BATCHES  41
#define BATCH_NS 2e6 // doubled until a batch takes so long
#define SLOW_NS  5e7
#define PAGE     4096l

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "micro: %s: %s\n", what, strerror(errno));
    exit(1);
}

#define MUST(condition) must((condition) ? 1 : 0, #condition)

// ---- System calls ----

static void call_getpid(long n)
{
    while (n--)
        MUST(syscall(SYS_getpid) > 0);
}

static void call_read(long n)
{
    static int fd = -1;
    char c;

    if (fd < 0)
        MUST((fd = open("/dev/zero", O_RDONLY)) >= 0);
    while (n--)
        MUST(read(fd, &c, 1) == 1);
}

static void call_fcntl(long n)
{
    while (n--)
        MUST(fcntl(0, F_GETFD) >= 0);
}

static void call_open(long n)
{
    while (n--) {
        int fd = open("/dev/null", O_RDONLY);

        MUST(fd >= 0 && close(fd) == 0);
    }
}

static void call_stat(long n)
{
    struct stat st;

    while (n--)
        MUST(stat("/dev/null", &st) == 0);
}

static void call_sigprocmask(long n)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    while (n--)
        MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void call_sigaction(long n)
{
    struct sigaction sa = { 0 };

    sa.sa_handler = SIG_IGN;
    while (n--)
        MUST(sigaction(SIGUSR2, &sa, NULL) == 0);
}

// ---- Signals ----

static volatile long seen;

static void on_signal(int sig)
{
    (void)sig;
    seen++;
}

static void handle(int sig)
{
    struct sigaction sa = { 0 };

    sa.sa_handler = on_signal;
    MUST(sigaction(sig, &sa, NULL) == 0);
}

static void signal_raise(long n)
{
    pid_t pid = getpid();

    handle(SIGUSR1);
    seen = 0;
    for (long i = 0; i < n; i++)
        MUST(kill(pid, SIGUSR1) == 0);
    MUST(seen == n);
}

static void signal_timer(long n)
{
    struct itimerval soon = { { 0, 0 }, { 0, 1 } };
    sigset_t alarm, none;

    handle(SIGALRM);
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    MUST(sigprocmask(SIG_BLOCK, &alarm, NULL) == 0);
    seen = 0;
    for (long i = 0; i < n; i++) {
        MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        sigsuspend(&none);
    }
    MUST(seen == n);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;

    (void)sig;
    (void)info;
    uc->uc_mcontext.gregs[REG_RIP] += 2; // behind the load
    seen++;
}

static void signal_fault(long n)
{
    static char *page;
    struct sigaction sa = { 0 };

    sa.sa_sigaction = on_fault;
    sa.sa_flags = SA_SIGINFO;
    MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
    if (!page)
        MUST((page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) !=
             MAP_FAILED);
    seen = 0;
    for (long i = 0; i < n; i++)
        __asm__ volatile(".byte 0x8b, 0x07" // mov (%%rdi), %%eax
                         :
                         : "D"(page)
                         : "rax", "memory");
    MUST(seen == n);
}

// ---- Futexes and threads ----

static long futex(uint32_t *word, int op, uint32_t value)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void futex_mutex(long n)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

    while (n--) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
}

static void futex_wake(long n)
{
    static uint32_t word;

    while (n--)
        MUST(futex(&word, FUTEX_WAKE, 1) == 0);
}

// Whose turn it is: 0 or 1. A thread passes the turn to the other and sleeps until it comes back.
static uint32_t turn;

static void turn_wait(uint32_t mine)
{
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
        futex(&turn, FUTEX_WAIT, !mine);
}

static void turn_give(uint32_t other)
{
    __atomic_store_n(&turn, other, __ATOMIC_RELEASE);
    futex(&turn, FUTEX_WAKE, 1);
}

static void *ponger(void *arg)
{
    for (long n = *(long *)arg; n--;) {
        turn_wait(1);
        turn_give(0);
    }
    return NULL;
}

static void futex_pingpong(long n)
{
    pthread_t other;

    turn = 0;
    MUST(pthread_create(&other, NULL, ponger, &n) == 0);
    for (long i = 0; i < n; i++) {
        turn_give(1);
        turn_wait(0);
    }
    pthread_join(other, NULL);
}

static pthread_mutex_t fought_over = PTHREAD_MUTEX_INITIALIZER;
static volatile long fought;

static void *fighter(void *arg)
{
    for (long n = *(long *)arg; n--;) {
        pthread_mutex_lock(&fought_over);
        fought++;
        pthread_mutex_unlock(&fought_over);
    }
    return NULL;
}

static void futex_fight(long n)
{
    pthread_t other;
    long half = (n + 1) / 2;

    fought = 0;
    MUST(pthread_create(&other, NULL, fighter, &half) == 0);
    fighter(&half);
    pthread_join(other, NULL);
    MUST(fought == 2 * half);
}

static void *nothing(void *arg)
{
    return arg;
}

static void thread_create(long n)
{
    while (n--) {
        pthread_t t;

        MUST(pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0);
    }
}

// ---- Processes ----

static void process_fork(long n)
{
    while (n--) {
        int status;
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
}

static void process_exec(long n)
{
    static char *argv[] = { (char *)"true", NULL };

    while (n--) {
        int status;
        pid_t pid = vfork();

        if (pid == 0) {
            execv("/bin/true", argv);
            _exit(1);
        }
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
}

// The other process is started by the first batch and ends with the program: not measured.
static void process_pipe(long n)
{
    static int there[2], back[2];
    static pid_t echo;
    char c = 'x';

    if (!echo) {
        MUST(pipe(there) == 0 && pipe(back) == 0);
        MUST((echo = fork()) >= 0);
        if (echo == 0) {
            close(there[1]);
            close(back[0]);
            while (read(there[0], &c, 1) == 1)
                MUST(write(back[1], &c, 1) == 1);
            _exit(0);
        }
    }
    while (n--)
        MUST(write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1);
}

// ---- Maps: `mappings` pieces of three pages, three pages apart: none is joined with another ----

#define PIECE (3 * PAGE)
#define STEP  (6 * PAGE)

static long mappings;
static char *pieces;

static char *piece(long i)
{
    return pieces + i * STEP;
}

static void *map_at(char *at, long bytes, int prot)
{
    return mmap(at, (size_t)bytes, prot,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static void map_fill(void)
{
    if (pieces)
        return;
    pieces = mmap(NULL, (size_t)((mappings + 1) * STEP), PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUST(pieces != MAP_FAILED && munmap(pieces, (size_t)((mappings + 1) * STEP)) == 0);
    for (long i = 0; i < mappings; i++)
        MUST(map_at(piece(i), PIECE, PROT_READ) == piece(i));
}

static long any_piece(void)
{
    static uint64_t x = 88172645463325252;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (long)(x % (uint64_t)mappings);
}

static void map_anywhere(long n)
{
    map_fill();
    while (n--) {
        char *p =
            mmap(NULL, (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(p != MAP_FAILED && munmap(p, (size_t)PAGE) == 0);
    }
}

// Unmaps and maps a random one.
static void map_random(long n)
{
    map_fill();
    while (n--) {
        char *p = piece(any_piece());

        MUST(munmap(p, (size_t)PIECE) == 0 && map_at(p, PIECE, PROT_READ) == p);
    }
}

// Unmaps all, in sequence, and maps them again: an operation is one of each.
static void map_sequence(long n)
{
    static long next;

    map_fill();
    while (n--) {
        MUST(munmap(piece(next), (size_t)PIECE) == 0);
        MUST(map_at(piece(next), PIECE, PROT_READ) == piece(next));
        next = (next + 1) % mappings;
    }
}

// The middle page of a random one loses its permission and gets it back: one mapping, three, one.
static void map_protect(long n)
{
    map_fill();
    while (n--) {
        char *p = piece(any_piece()) + PAGE;

        MUST(mprotect(p, (size_t)PAGE, PROT_NONE) == 0 &&
             mprotect(p, (size_t)PAGE, PROT_READ) == 0);
    }
}

// The same with a hole.
static void map_split(long n)
{
    map_fill();
    while (n--) {
        char *p = piece(any_piece()) + PAGE;

        MUST(munmap(p, (size_t)PAGE) == 0 && map_at(p, PAGE, PROT_READ) == p);
    }
}

static void map_grow(long n)
{
    map_fill();
    while (n--) {
        char *p = piece(any_piece());

        MUST(mremap(p, (size_t)PIECE, (size_t)(PIECE + PAGE), 0) == p);
        MUST(mremap(p, (size_t)(PIECE + PAGE), (size_t)PIECE, 0) == p);
    }
}

static void map_move(long n)
{
    map_fill();
    while (n--) {
        char *p = piece(any_piece()), *end = piece(mappings);

        MUST(mremap(p, (size_t)PIECE, (size_t)PIECE, MREMAP_MAYMOVE | MREMAP_FIXED, end) == end);
        MUST(mremap(end, (size_t)PIECE, (size_t)PIECE, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p);
    }
}

// Maps new code and calls it once.
static void map_code(long n)
{
    static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 }; // mov $42, %eax; ret

    map_fill();
    while (n--) {
        char *p =
            mmap(NULL, (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MUST(p != MAP_FAILED);
        memcpy(p, code, sizeof(code));
        MUST(mprotect(p, (size_t)PAGE, PROT_READ | PROT_EXEC) == 0);
        MUST(((int (*)(void))(uintptr_t)p)() == 42 && munmap(p, (size_t)PAGE) == 0);
    }
}

// 100,000 where vm.max_map_count allows it, else nearly all: calls that split need some in reserve.
static long many(void)
{
    FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
    long most = 65530;

    if (f) {
        if (fscanf(f, "%ld", &most) != 1)
            most = 65530;
        fclose(f);
    }
    most -= 1000;
    return most < 100000 ? most : 100000;
}

static const struct test {
    const char *name;
    void (*run)(long n);
    int maps; // 0: none, 1: ten, 2: as many as possible
} tests[] = {
    { "getpid", call_getpid, 0 },
    { "read", call_read, 0 },
    { "fcntl", call_fcntl, 0 },
    { "open-close", call_open, 0 },
    { "stat", call_stat, 0 },
    { "sigprocmask", call_sigprocmask, 0 },
    { "sigaction", call_sigaction, 0 },
    { "signal", signal_raise, 0 },
    { "signal-timer", signal_timer, 0 },
    { "signal-fault", signal_fault, 0 },
    { "mutex", futex_mutex, 0 },
    { "mutex-contended", futex_fight, 0 },
    { "futex-wake", futex_wake, 0 },
    { "futex-pingpong", futex_pingpong, 0 },
    { "thread", thread_create, 0 },
    { "fork", process_fork, 0 },
    { "vfork-exec", process_exec, 0 },
    { "pipe-pingpong", process_pipe, 0 },
    { "map-anywhere", map_anywhere, 1 },
    { "map-protect", map_protect, 1 },
    { "map-code", map_code, 1 },
    { "map-anywhere-many", map_anywhere, 2 },
    { "map-sequence-many", map_sequence, 2 },
    { "map-random-many", map_random, 2 },
    { "map-split-many", map_split, 2 },
    { "map-protect-many", map_protect, 2 },
    { "map-grow-many", map_grow, 2 },
    { "map-move-many", map_move, 2 },
    { "map-code-many", map_code, 2 },
};

static double batch(const struct test *t, long n)
{
    double start = now();

    t->run(n);
    return now() - start;
}

// The best of three: an interrupted run has no meaning.
static double long_enough(const struct test *t, long n)
{
    double best = batch(t, n);

    for (int i = 0; i < 2 && best >= BATCH_NS && best < SLOW_NS; i++) {
        double again = batch(t, n);

        best = again < best ? again : best;
    }
    return best;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    const size_t count = sizeof(tests) / sizeof(tests[0]);
    double ns[BATCHES], took;
    long n = 1;
    int k;

    for (size_t i = 0; i < count; i++) {
        const struct test *t = &tests[i];

        if (argc < 2)
            printf("%s\n", t->name);
        if (argc < 2 || strcmp(argv[1], t->name) != 0)
            continue;
        mappings = t->maps == 2 ? many() : 10;
        t->run(1); // makes what it needs
        while ((took = long_enough(t, n)) < BATCH_NS)
            n *= 2;
        for (k = 0; k < (took > SLOW_NS ? 5 : BATCHES); k++)
            ns[k] = batch(t, n) / (double)n;
        qsort(ns, (size_t)k, sizeof(ns[0]), compare);
        printf("%.1f\n", ns[k / 10]);
        if (t->maps == 2)
            fprintf(stderr, "%ld mappings\n", mappings);
        return 0;
    }
    if (argc < 2)
        return 0;
    fprintf(stderr, "micro: no test %s; without an argument all are listed\n", argv[1]);
    return 2;
}
