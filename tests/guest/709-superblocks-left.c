// SPDX-License-Identifier: MIT
//
// A loop that becomes a superblock is interrupted at unpredictable points: by a timer, whose
// handler compares the registers with the loop's position; by another thread that removes its code
// and its data for a while, changes its direction and forks; by a call out of it that forks, whose
// child continues in the loop, or executes another program. Each run of the loop counts right in
// every case.
//
// varies: a timer, and threads
// about: watched replay-small replay-blocks replay-flush replay-split

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

#define TURNS 60000l // more than fill a buffer of records

struct data {
    volatile long way, one; // the direction; 1
};

// Runs f() `turns` times, or does nothing while d->way is 1. Returns the number of turns, sets *sum
// to the sum of what was loaded.
long run(long turns, const struct data *d, void (*f)(void), long *sum);

// Where an instruction of the loop is; r8 + rcx and r9 + rcx before it, minus the number of turns.
extern const struct place {
    uint64_t at, r8, r9;
} places[], places_end[];
extern const char run_first[], run_last[];

// clang-format off
__asm__(".text\n"
        "run:    push   %rcx\n"
        "        mov    %rdi, %rcx\n"
        "        xor    %r8d, %r8d\n"
        "        xor    %r9d, %r9d\n"
        "run_first:\n"
        "1:      mov    (%rsi), %rax\n"
        "2:      test   $1, %al\n"
        "3:      jnz    8f\n"
        "4:      add    8(%rsi), %r9\n"
        "5:      call   *%rdx\n"
        "6:      dec    %rcx\n"
        "7:      jnz    1b\n"
        "run_last:\n"
        "        pop    %rcx\n"
        "        mov    %r9, (%rcx)\n"
        "        mov    %r8, %rax\n"
        "        ret\n"
        "8:      inc    %r8\n"
        "9:      inc    %r9\n"
        "10:     jmp    6b\n"
        ".data\n"
        "        .balign 8\n"
        "places: .quad  1b, 0, 0, 2b, 0, 0, 3b, 0, 0, 4b, 0, 0, 5b, 0, 1, 6b, 1, 1, 7b, 0, 0\n"
        "        .quad  8b, 0, 0, 9b, 1, 0, 10b, 1, 1\n"
        "places_end:\n"
        ".text\n"
        // f() of its own: calls leave() with its state of the loop saved.
        "leaver: inc    %r8\n"
        "        push   %rcx\n"
        "        push   %rdx\n"
        "        push   %rsi\n"
        "        push   %r8\n"
        "        push   %r9\n" // with two return addresses and run()'s rcx the stack is aligned
        "        mov    %rcx, %rdi\n"
        "        call   leave\n"
        "        pop    %r9\n"
        "        pop    %r8\n"
        "        pop    %rsi\n"
        "        pop    %rdx\n"
        "        pop    %rcx\n"
        "        ret\n");
// clang-format on
void leaver(void);
void leave(long turn);

static const uint8_t code[] = { 0x49, 0xff, 0xc0, 0xc3 }; // inc %r8; ret
static uint8_t *page;                                     // of it
static struct data *data;
static atomic_int fired, faults;
static atomic_bool stop;

static void put_code(void)
{
    CHECK(mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == page);
    memcpy(page, code, sizeof(code));
    CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
}

static void go(void)
{
    long sum = 0;

    CHECK(run(TURNS, data, (void (*)(void))page, &sum) == TURNS);
    CHECK(sum == TURNS);
}

// -- a timer --

static void arm(void)
{
    struct itimerval v = { .it_value.tv_usec = 300 };

    setitimer(ITIMER_REAL, &v, NULL);
}

static void is_at(const greg_t *r, uint64_t r8, uint64_t r9)
{
    CHECK((uint64_t)(r[REG_R8] + r[REG_RCX] - TURNS) == r8);
    CHECK((uint64_t)(r[REG_R9] + r[REG_RCX] - TURNS) == r9);
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t at = (uint64_t)r[REG_RIP];
    const struct place *p = places;

    (void)sig, (void)info;
    while (p < places_end && p->at != at)
        p++;
    if (p < places_end)
        is_at(r, p->r8, p->r9);
    else if (at == (uint64_t)page || at == (uint64_t)page + 3)
        is_at(r, at != (uint64_t)page, 1);
    else
        CHECK(at < (uint64_t)run_first || at >= (uint64_t)run_last); // between two instructions
    if (atomic_fetch_add(&fired, 1) < 100)
        arm();
}

static void interrupted(void)
{
    struct sigaction sa = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART };

    sigaction(SIGALRM, &sa, NULL);
    arm();
    while (atomic_load(&fired) <= 100) {
        go();
        data->way ^= 1;
    }
    data->way = 0;
}

// -- disturbances by another thread --

static void on_fault(int sig, siginfo_t *info, void *context)
{
    uint64_t at = (uint64_t)info->si_addr;

    (void)sig, (void)context;
    if (at - (uint64_t)page >= 4096 && at - (uint64_t)data >= 4096)
        _exit(77);
    atomic_fetch_add(&faults, 1);
    sched_yield(); // it comes back
}

static void *run_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop))
        go();
    return NULL;
}

// Until the thread has done its work.
static void until_fault(int before)
{
    while (atomic_load(&faults) == before)
        sched_yield();
}

static void disturbed(void)
{
    struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    pthread_t t;
    int before, status;

    sigaction(SIGSEGV, &sa, NULL);
    CHECK(pthread_create(&t, NULL, run_on, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        before = atomic_load(&faults);
        CHECK(mprotect(page, 4096, PROT_NONE) == 0);
        until_fault(before);
        CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
        go();
        before = atomic_load(&faults);
        CHECK(mprotect(data, 4096, PROT_NONE) == 0);
        until_fault(before);
        CHECK(mprotect(data, 4096, PROT_READ | PROT_WRITE) == 0);
        data->way = 1;
        go();
        data->way = 0;
        before = atomic_load(&faults);
        CHECK(munmap(page, 4096) == 0);
        until_fault(before);
        put_code();
        go();
        if (i % 4 == 0) {
            pid_t pid = fork();

            if (pid == 0) {
                go();
                _exit(check_failed ? 1 : 5);
            }
            CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
        }
    }
    atomic_store(&stop, 1);
    pthread_join(t, NULL);
}

// -- forks and execs in it --

static bool child, exec_there;
static pid_t children[3];
static int nchildren;

// Of a turn, counted downwards.
void leave(long turn)
{
    static char name[] = "709-superblocks-left", word[] = "again";
    char *argv[] = { name, word, NULL };

    if (child) {
        if (exec_there && turn == 1000)
            execv("/proc/self/exe", argv);
        return;
    }
    if (turn != 40000 && turn != 20000 && turn != 10)
        return;
    children[nchildren++] = fork();
    child = children[nchildren - 1] == 0;
    exec_there = turn == 20000;
}

static void parted(void)
{
    static const int expected[3] = { 6, 7, 6 }; // the second one executes main() again
    long sum = 0;
    int status;

    CHECK(run(TURNS, data, leaver, &sum) == TURNS);
    CHECK(sum == TURNS);
    if (child) {
        go();
        _exit(check_failed ? 1 : 6);
    }
    CHECK(nchildren == 3);
    for (int i = 0; i < nchildren; i++) {
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected[i]);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && data != MAP_FAILED);
    put_code();
    *data = (struct data){ 0, 1 };
    go();
    if (argc > 1)
        return check_failed ? 1 : 7;
    interrupted();
    disturbed();
    parted();
    return check_failed;
}
