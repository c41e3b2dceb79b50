// SPDX-License-Identifier: MIT
//
// Branches that name the program's own code segment: their effect on registers, flags and the
// stack, and their targets, between signals and in children.
//
// varies: signals come when they come
// about: no-ibl replay-unlinked
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

#define FLAGS    0x240cd7ul // of arithmetic, DF, AC, ID, and the bit that is always set
#define ROUNDS   200000
#define MODE_64  0x33
#define UNMAPPED 16

static volatile sig_atomic_t signals;
static volatile uint64_t fault_rip, fault_sp;
static sigset_t all;

// A far return and an iretq to the next instruction each time; how often.
static uint64_t rounds(uint64_t n)
{
    uint64_t done = 0;

    __asm__ volatile("1: sub $128, %%rsp\n\t"
                     "pushq %2\n\tlea 2f(%%rip), %%rax\n\tpush %%rax\n\tlretq\n\t"
                     "2: mov %%rsp, %%rcx\n\tmov %%ss, %%eax\n\tpush %%rax\n\tpush %%rcx\n\t"
                     "pushfq\n\tpushq %2\n\tlea 3f(%%rip), %%rax\n\tpush %%rax\n\tiretq\n\t"
                     "3: add $128, %%rsp\n\tinc %0\n\tdec %1\n\tjnz 1b"
                     : "+r"(done), "+r"(n)
                     : "i"(MODE_64)
                     : "rax", "rcx", "memory", "cc");
    return done;
}

static void on_timer(int sig)
{
    (void)sig;
    signals++;
    CHECK(rounds(3) == 3);
}

// Every flag that iretq may change gets the new value, whatever the old one; rip, rsp too.
static void flags_of_iretq(void)
{
    static uint64_t stack[32] __attribute__((aligned(64)));
    static const uint64_t set[] = { 0x202, 0x202 | 0xcd5, 0x202 | 0x200000, 0x202 | 0x801, 0x3202 };

    for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++) {
        for (uint64_t before = 0x202; before <= 0x8d7; before += 0x8d5 - 0x200) {
            uint64_t got, sp;

            __asm__ volatile("mov %%rsp, %%rbx\n\t"
                             "sub $128, %%rsp\n\tpush %4\n\tmov %%ss, %%eax\n\t"
                             "popfq\n\t"
                             "push %%rax\n\tpush %3\n\tpush %2\n\tpushq %5\n\t"
                             "lea 1f(%%rip), %%rax\n\tpush %%rax\n\tiretq\n\tud2\n\t"
                             "1: mov %%rsp, %1\n\tpushfq\n\tpop %0\n\tcld\n\tmov %%rbx, %%rsp"
                             : "=&r"(got), "=&r"(sp)
                             : "r"(set[i]), "r"(stack + 16), "r"(before), "i"(MODE_64)
                             : "rax", "rbx", "memory", "cc");
            CHECK((got & FLAGS) == (set[i] & FLAGS));
            CHECK((got & 0x3200) == 0x200); // interrupts stay on, and their level 0
            CHECK(sp == (uint64_t)(uintptr_t)(stack + 16));
        }
    }
}

// Far jumps, calls and returns with pointers of 32 bits: code in the lower 4 GiB. No flag changes.
static void pointers_of_32_bits(void)
{
    static const uint8_t code[] = {
        0xff, 0x2f,             // ljmp *(%rdi)
        0x0f, 0x0b,             // ud2
        0xff, 0x5e, 0x08,       // 4: lcall *8(%rsi)
        0xc3,                   // ret
        0xb8, 7,    0,    0, 0, // 8: mov $7, %eax
        0xca, 0x08, 0x00,       // lret $8: 32 bits, and 8 bytes more
    };
    uint8_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    uint64_t sp_moved, flags, eax;

    CHECK(low != MAP_FAILED);
    memcpy(low, code, sizeof(code));
    for (uint32_t i = 0, sel = MODE_64; i < 2; i++) {
        uint32_t to = (uint32_t)(uintptr_t)low + (i ? 8 : 4);

        memcpy(low + 64 + 8 * i, &to, 4);
        memcpy(low + 68 + 8 * i, &sel, 4);
    }
    for (int i = 0; i < 3; i++) {
        // lret pops 8 bytes more than lcall has pushed: the ret uses the word above, so that
        // occurs twice.
        __asm__ volatile("sub $128, %%rsp\n\tmov %%rsp, %%rbx\n\t"
                         "lea 1f(%%rip), %%rax\n\tpush %%rax\n\tpush %%rax\n\t"
                         "stc\n\tjmp *%4\n\tud2\n\t"
                         "1: pushfq\n\tpop %1\n\tsub %%rsp, %%rbx\n\tmov %%rbx, %2\n\t"
                         "add $128, %%rsp"
                         : "=&a"(eax), "=&r"(flags), "=&r"(sp_moved)
                         : "D"(low + 64), "r"(low), "S"(low + 64)
                         : "rbx", "memory", "cc");
        CHECK(eax == 7 && sp_moved == 0 && (flags & 1));
    }
    munmap(low, 4096);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;

    (void)sig;
    (void)info;
    fault_rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    fault_sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
    uc->uc_mcontext.gregs[REG_RIP] = uc->uc_mcontext.gregs[REG_RBX];
    uc->uc_mcontext.gregs[REG_RSP] = uc->uc_mcontext.gregs[REG_RBP];
}

// The far return itself is done; its target is unmapped.
static void target_that_is_not_there(uint64_t target)
{
    uint64_t sp;

    __asm__ volatile("push %%rbp\n\tmov %%rsp, %%rbp\n\tmov %%rsp, %0\n\tlea 1f(%%rip), %%rbx\n\t"
                     "sub $128, %%rsp\n\tpushq %2\n\tpush %1\n\tlretq\n\t"
                     "1: pop %%rbp"
                     : "=&r"(sp)
                     : "r"(target), "i"(MODE_64)
                     : "rbx", "memory", "cc");
    CHECK(fault_rip == target);
    CHECK(fault_sp == sp - 128);
}

static void child(int status)
{
    int got = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(rounds(1000) == 1000 ? status : 1);
    CHECK(waitpid(pid, &got, 0) == pid && WIFEXITED(got) && WEXITSTATUS(got) == status);
}

int main(void)
{
    struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
    struct sigaction sa = { .sa_handler = on_timer };

    flags_of_iretq();
    pointers_of_32_bits();
    sigaction(SIGALRM, &sa, NULL);
    sa.sa_sigaction = on_fault;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
    target_that_is_not_there(UNMAPPED);
    target_that_is_not_there(0xffffffffff000000);
    setitimer(ITIMER_REAL, &often, NULL);
    CHECK(rounds(ROUNDS) == ROUNDS);
    while (!signals)
        CHECK(rounds(1) == 1);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    child(7);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    CHECK(rounds(1000) == 1000);
    setitimer(ITIMER_REAL, &never, NULL);
    child(8);
    return check_failed;
}
