// SPDX-License-Identifier: MIT
//
// Near branches with an operand size prefix: Intel's processors ignore it, AMD's truncate rip to 16
// bits (and push and pop two bytes), which ends in a fault at a low address; on the others the next
// int3 is reached, or the one that rax or the stack point to. The state that a handler gets at the
// fault or at the int3 is printed, and must be the same natively and under Quern. The code is at a
// fixed address.
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
    // Each is followed by int3. Those with a register use rax, which is the address of an int3
    // further on: its own address would be an endless loop where the prefix is ignored. ret
    // pops the address of another. A displacement is 0, as 16 and as 32 bits.
    static const struct {
        const char *name, *bytes;
        size_t n;
    } branches[] = {
        { "jmp rel8", "\x66\xeb\x00", 3 },
        { "jmp rel", "\x66\xe9\0\0\0\0", 6 },
        { "jz, taken", "\x66\x74\x00", 3 },
        { "jnz, not taken", "\x66\x75\x00", 3 },
        { "jz near", "\x66\x0f\x84\0\0\0\0", 7 },
        { "call", "\x66\xe8\0\0\0\0", 6 },
        { "ret", "\x66\xc3", 2 },
        { "jmp *rax", "\x66\xff\xe0", 3 },
        { "call *rax", "\x66\xff\xd0", 3 },
        { "jrcxz", "\x66\xe3\x00", 3 },
        { "jmp rel, rex.w", "\x66\x48\xe9\0\0\0\0", 7 },
    };
    static uint8_t stack[4096] __attribute__((aligned(16)));
    uint8_t *code = mmap((void *)0x12340000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
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
    sigaction(SIGTRAP, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);
    for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++) {
        uint8_t *sp = stack + 2048, *back = code + 512;

        mprotect(code, 4096, PROT_READ | PROT_WRITE);
        memset(code, 0xcc, 4096);
        memcpy(code, branches[i].bytes, branches[i].n);
        mprotect(code, 4096, PROT_READ | PROT_EXEC);
        memset(stack, 0x77, sizeof(stack));
        memcpy(sp, &back, sizeof(back));
        if (!sigsetjmp(out, 1)) {
            __asm__ volatile("mov %1, %%rsp\n\txor %%ecx, %%ecx\n\tjmp *%2" // ZF is set
                             :
                             : "a"(code + 256), "r"(sp), "r"(code)
                             : "rcx", "cc", "memory");
            __builtin_unreachable();
        }
        printf("%s: signal %d code %d address %p rip %#llx rsp %+lld flags %#llx error %#llx\n",
               branches[i].name, info.si_signo, info.si_code, info.si_addr,
               (unsigned long long)regs[REG_RIP],
               (long long)(regs[REG_RSP] - (greg_t)(uintptr_t)sp),
               (unsigned long long)regs[REG_EFL], (unsigned long long)regs[REG_ERR]);
    }
    return check_failed;
}
