// SPDX-License-Identifier: MIT
//
// Usage: timer STDIN STDOUT COMMAND [ARGS...]
//
// Runs a command once, on the processor to which the caller has bound it, between two calibrations,
// and prints one line: its status; its user, system and wall time in nanoseconds, and its page
// faults; then of each calibration the frequency in cycles for each nanosecond, and the cycles that
// 1000 independent additions take; at last user time, system time and faults of a process that does
// nothing but touch new pages. Called by bench/machine/native, which judges these numbers.
//
// A multiplication of 32 bits takes 3 cycles on every processor that Quern supports, so a chain of
// them is a clock of the core's cycles, whatever a sibling thread of the core does. The additions
// need all that the core has, and take longer while a sibling executes anything. A virtual machine
// may book as user time what the host does for a new page.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAIN     80000  // multiplications: 240,000 cycles, about 80 us
#define ADDITIONS 480000 // some 100,000 cycles, where four or more are executed in each
#define PAGES     2000   // new ones: 8 MB, some 1 to 30 ms
#define TRIES     16 // the smallest counts: others were interrupted, or began at a lower frequency

struct calibration {
    double frequency; // cycles for each nanosecond
    double additions; // cycles for 1000 of them
};

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t time_chain(void)
{
    int64_t start = now();
    uint32_t x = 3;

    for (int i = 0; i < CHAIN / 8; i++)
        __asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
                         "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
                         : "+r"(x));
    return now() - start;
}

static int64_t time_additions(void)
{
    int64_t start = now();
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, by = 7;

    for (int i = 0; i < ADDITIONS / 24; i++)
        __asm__ volatile(".rept 4\n\tadd %6, %0\n\tadd %6, %1\n\tadd %6, %2\n\t"
                         "add %6, %3\n\tadd %6, %4\n\tadd %6, %5\n\t.endr"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f)
                         : "r"(by));
    return now() - start;
}

static struct calibration calibrate(void)
{
    int64_t chain = INT64_MAX, additions = INT64_MAX;
    struct calibration c;

    for (int i = 0; i < TRIES; i++) {
        int64_t t = time_chain(), u = time_additions();

        chain = t < chain ? t : chain;
        additions = u < additions ? u : additions;
    }
    c.frequency = 3.0 * CHAIN / (double)chain;
    c.additions = (double)additions * c.frequency * 1000 / ADDITIONS;
    return c;
}

// In a process of its own: ends it.
static _Noreturn void touch_pages(void)
{
    long size = sysconf(_SC_PAGESIZE);
    size_t bytes = PAGES * (size_t)size;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    if (p == MAP_FAILED)
        _exit(1);
    madvise(p, bytes, MADV_NOHUGEPAGE); // fails where there are no huge pages
    for (size_t i = 0; i < bytes; i += (size_t)size)
        *(volatile char *)(p + i) = 1;
    _exit(0);
}

static void open_as(int fd, const char *name, int flags)
{
    int opened = open(name, flags, 0644);

    if (opened < 0 || dup2(opened, fd) < 0) {
        fprintf(stderr, "timer: %s: %s\n", name, strerror(errno));
        _exit(126);
    }
}

static pid_t start(char **argv)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    open_as(0, argv[1], O_RDONLY);
    open_as(1, argv[2], O_WRONLY | O_CREAT | O_TRUNC);
    execvp(argv[3], argv + 3);
    fprintf(stderr, "timer: %s: %s\n", argv[3], strerror(errno));
    _exit(127);
}

// Its exit status, as a shell has it; fills *usage. -1: it cannot be waited for.
static int wait_for(pid_t pid, struct rusage *usage)
{
    int status;

    if (pid < 0 || wait4(pid, &status, 0, usage) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int64_t nanoseconds(struct timeval t)
{
    return (t.tv_sec * INT64_C(1000000) + t.tv_usec) * 1000;
}

int main(int argc, char **argv)
{
    struct calibration before, after;
    struct rusage usage, touching;
    int status;
    int64_t wall;
    pid_t pid;

    if (argc < 4) {
        fprintf(stderr, "usage: timer STDIN STDOUT COMMAND [ARGS...]\n");
        return 2;
    }
    pid = fork();
    if (pid == 0)
        touch_pages();
    if (wait_for(pid, &touching) != 0) {
        fprintf(stderr, "timer: new pages cannot be touched: %s\n", strerror(errno));
        return 1;
    }
    before = calibrate();
    wall = now();
    pid = start(argv);
    status = wait_for(pid, &usage);
    if (status < 0) {
        fprintf(stderr, "timer: %s: %s\n", argv[3], strerror(errno));
        return 1;
    }
    wall = now() - wall;
    after = calibrate();
    printf("%d %" PRId64 " %" PRId64 " %" PRId64 " %ld %.6f %.6f %.6f %.6f", status,
           nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime), wall, usage.ru_minflt,
           before.frequency, before.additions, after.frequency, after.additions);
    printf(" %" PRId64 " %" PRId64 " %ld\n", nanoseconds(touching.ru_utime),
           nanoseconds(touching.ru_stime), touching.ru_minflt);
    return 0;
}
