// SPDX-License-Identifier: MIT
//
// Children that die in every way: the parent gets the right status. And the codes that handlers
// see.
//
// about: replay-split
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static volatile int zero;

static void by_segv(void)
{
    *(volatile int *)(uintptr_t)16 = 1;
}
static void by_null_call(void)
{
    ((void (*)(void))(uintptr_t)zero)();
}
static void by_ud2(void)
{
    __asm__ volatile("ud2");
}
static void by_division(void)
{
    __asm__ volatile("xor %%edx, %%edx\n\tdivl %0" ::"m"(zero), "a"(1) : "edx", "cc");
}
static void by_abort(void)
{
    abort();
}
static void by_int3(void)
{
    __asm__ volatile("int3");
}
static void by_kill(void)
{
    kill(getpid(), SIGKILL);
}
static void by_term(void)
{
    raise(SIGTERM);
}
static void by_bus(void)
{
    int fd = memfd_create("short", 0);
    volatile char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    (void)*p;
}
static void by_hlt(void)
{
    __asm__ volatile("hlt");
}
static void by_noncanonical(void)
{
    *(volatile int *)(uintptr_t)0x8000000000000000u = 1;
}
static void by_exit(void)
{
    _exit(77);
}
static void blocked_segv(void)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, SIGSEGV);
    sigprocmask(SIG_BLOCK, &s, NULL);
    by_segv();
}
static void ignored_segv(void)
{
    signal(SIGSEGV, SIG_IGN);
    by_segv();
}
__attribute__((noinline)) static int deeper(int n)
{
    volatile char room[4096];

    room[0] = (char)n;
    return n < 0 ? n : deeper(n + 1) + room[0]; // the stack ends first
}
static void by_stack_overflow(void)
{
    deeper(zero);
}

static const struct {
    const char *name;
    void (*die)(void);
    int sig, status;
} death[] = {
    { "segv", by_segv, SIGSEGV, 0 },
    { "null call", by_null_call, SIGSEGV, 0 },
    { "ud2", by_ud2, SIGILL, 0 },
    { "division", by_division, SIGFPE, 0 },
    { "abort", by_abort, SIGABRT, 0 },
    { "int3", by_int3, SIGTRAP, 0 },
    { "kill", by_kill, SIGKILL, 0 },
    { "term", by_term, SIGTERM, 0 },
    { "bus", by_bus, SIGBUS, 0 },
    { "hlt", by_hlt, SIGSEGV, 0 },
    { "noncanonical", by_noncanonical, SIGSEGV, 0 },
    { "exit", by_exit, 0, 77 },
    { "blocked segv", blocked_segv, SIGSEGV, 0 },
    { "ignored segv", ignored_segv, SIGSEGV, 0 },
    { "stack overflow", by_stack_overflow, SIGSEGV, 0 },
};

static siginfo_t last;
static void *last_rip;
static long long after;
static void note(int sig, siginfo_t *info, void *context)
{
    uint64_t *words = context;

    (void)sig;
    last = *info;
    last_rip = (void *)(uintptr_t)words[5 + 16];
    if (after)
        words[5 + 16] = (uint64_t)after;
}

// A label after the instruction, where the handler continues.
#define PROVOKE(instruction)                                                        \
    __asm__ volatile("lea 1f(%%rip), %%rcx\n\tmov %%rcx, %0\n\t" instruction "\n1:" \
                     : "=m"(after)::"rax", "rcx", "rdx", "cc", "memory")

static void codes(void)
{
    static const int caught[] = { SIGSEGV, SIGILL, SIGFPE, SIGTRAP };
    struct sigaction a = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (int i = 0; i < 4; i++)
        sigaction(caught[i], &a, NULL);
    PROVOKE("mov $48, %%edx\n\tmov (%%rdx), %%eax");
    CHECK(last.si_signo == SIGSEGV && last.si_code == SEGV_MAPERR && last.si_addr == (void *)48);
    __asm__ volatile("lea 1f(%%rip), %%rcx\n\tmov %%rcx, %0\n\tmovb $1, (%1)\n1:"
                     : "=m"(after)
                     : "r"(page)
                     : "rcx", "memory");
    CHECK(last.si_signo == SIGSEGV && last.si_code == SEGV_ACCERR && last.si_addr == page);
    PROVOKE("mov $0x7000000000000000, %%rdx\n\tmov (%%rdx), %%eax");
    CHECK(last.si_signo == SIGSEGV && last.si_code == SI_KERNEL && last.si_addr == NULL);
    PROVOKE("xor %%edx, %%edx\n\txor %%eax, %%eax\n\tdivl %%edx");
    CHECK(last.si_signo == SIGFPE && last.si_code == FPE_INTDIV && last.si_addr == last_rip);
    PROVOKE("ud2");
    CHECK(last.si_signo == SIGILL && last.si_code == ILL_ILLOPN && last.si_addr == last_rip);
    after = 0;
    __asm__ volatile("int3");
    CHECK(last.si_signo == SIGTRAP && last.si_code == SI_KERNEL);
    CHECK(((uint8_t *)last_rip)[-1] == 0xcc); // after it
}

int main(void)
{
    struct rlimit no_core = { 0, 0 }, small = { 1 << 20, 1 << 20 };

    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof(death) / sizeof(death[0]); i++) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0) {
            setrlimit(RLIMIT_STACK, &small);
            death[i].die();
            _exit(1);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        if (death[i].sig ? !WIFSIGNALED(status) || WTERMSIG(status) != death[i].sig
                         : !WIFEXITED(status) || WEXITSTATUS(status) != death[i].status) {
            printf("%s: wait status %#x\n", death[i].name, (unsigned)status);
            check_failed = 1;
        }
    }
    codes();
    return check_failed;
}
