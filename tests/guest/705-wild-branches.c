// SPDX-License-Identifier: MIT
//
// Branches to addresses that cannot be fetched: page zero, a data page, a hole, the kernel's half,
// and addresses that are not canonical. The handler must see the same fault as natively.
// (A jump to ~0 once ended the program with "no space for a block", and a non-canonical address
// gave another fault.)
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

static sigjmp_buf out;
static greg_t regs[NGREG];
static siginfo_t info;

static void note(int sig, siginfo_t *i, void *context)
{
    (void)sig;
    info = *i;
    memcpy(regs, ((ucontext_t *)context)->uc_mcontext.gregs, sizeof(regs));
    siglongjmp(out, 1);
}

int main(void)
{
    // Each is followed by int3. rax is the target, rdx the address of a word that holds it.
    static const struct {
        const char *name, *bytes;
        size_t n;
    } branches[] = {
        { "jmp *rax", "\xff\xe0", 2 },      { "call *rax", "\xff\xd0", 2 },
        { "jmp *(rdx)", "\xff\x22", 2 },    { "call *(rdx)", "\xff\x12", 2 },
        { "push rax, ret", "\x50\xc3", 2 }, { "push rax, ret 16", "\x50\xc2\x10\x00", 4 },
    };
    static const uint64_t targets[] = { 0,
                                        1,
                                        0x12341000,
                                        0x12348000,
                                        0x7ffffffff000ul,
                                        0x7ffffffffffful,
                                        0x800000000000ul,
                                        0x8000000000000000ul,
                                        0xffff7ffffffffffful,
                                        0xffff800000000000ul,
                                        0xffffffff80000000ul,
                                        0xfffffffffffffffful,
                                        0xffffffffff600100ul };
    static uint64_t word;
    static uint8_t stack[4096] __attribute__((aligned(16)));
    uint8_t *code = mmap((void *)0x12340000, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    stack_t alt = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                  -1, 0),
                    .ss_size = 65536 };
    struct sigaction sa = { 0 };

    CHECK(code == (uint8_t *)0x12340000);
    sigaltstack(&alt, NULL);
    sa.sa_sigaction = note;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    sigaction(SIGTRAP, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);
    mprotect(code + 4096, 4096, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++) {
        mprotect(code, 4096, PROT_READ | PROT_WRITE);
        memset(code, 0xcc, 4096);
        memcpy(code, branches[i].bytes, branches[i].n);
        mprotect(code, 4096, PROT_READ | PROT_EXEC);
        for (size_t k = 0; k < sizeof(targets) / sizeof(*targets); k++) {
            uint8_t *sp = stack + 2048;

            memset(stack, 0x77, sizeof(stack));
            word = targets[k];
            if (!sigsetjmp(out, 1)) {
                __asm__ volatile("mov %1, %%rsp\n\txor %%ebp, %%ebp\n\tjmp *%0"
                                 :
                                 : "r"(code), "r"(sp), "a"(word), "d"(&word)
                                 : "rcx", "cc", "memory");
                __builtin_unreachable();
            }
            printf("%s %#lx: signal %d code %d address %p trap %lld error %#llx flags %#llx\n",
                   branches[i].name, word, info.si_signo, info.si_code, info.si_addr,
                   (long long)regs[REG_TRAPNO], (unsigned long long)regs[REG_ERR],
                   (unsigned long long)regs[REG_EFL]);
            // a fault of the branch itself (13) is the target's under Quern
            if (regs[REG_TRAPNO] == 14)
                printf("  rip %#llx rsp %+lld cr2 %#llx\n", (unsigned long long)regs[REG_RIP],
                       (long long)(regs[REG_RSP] - (greg_t)(uintptr_t)sp),
                       (unsigned long long)regs[REG_CR2]);
        }
    }
    return check_failed;
}
