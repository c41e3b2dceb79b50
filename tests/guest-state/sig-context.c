// SPDX-License-Identifier: MIT
// The context that a handler sees and may change: exact instruction address and all registers at a
// fault, si_addr and si_code of the synchronous signals, continuing elsewhere, with other
// registers, on another stack.
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

extern char fault_load[], fault_store[], fault_div[], fault_ud2[], fault_int3[], fault_rep[],
    fault_push[];
extern char after_load[];

__asm__(".text\n"
        // void all_regs_fault(void *bad): known values in all registers, then a load from (rdi)
        ".globl all_regs_fault\n"
        "all_regs_fault:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov $0x1111111111111101, %rax\n mov $0x1111111111111102, %rbx\n"
        "mov $0x1111111111111103, %rcx\n mov $0x1111111111111104, %rdx\n"
        "mov $0x1111111111111105, %rsi\n mov $0x1111111111111106, %rbp\n"
        "mov $0x1111111111111107, %r8\n mov $0x1111111111111108, %r9\n"
        "mov $0x1111111111111109, %r10\n mov $0x111111111111110a, %r11\n"
        "mov $0x111111111111110b, %r12\n mov $0x111111111111110c, %r13\n"
        "mov $0x111111111111110d, %r14\n mov $0x111111111111110e, %r15\n"
        "stc\n"
        ".globl fault_load\n"
        "fault_load: mov (%rdi), %rax\n"
        ".globl after_load\n"
        "after_load: pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "ret\n"
        ".globl do_store\n do_store: mov %rdi, %rax\n"
        ".globl fault_store\n fault_store: movl $7, 4(%rax)\n ret\n"
        ".globl do_div\n do_div: xor %ecx, %ecx\n mov $5, %eax\n cltd\n"
        ".globl fault_div\n fault_div: idiv %ecx\n ret\n"
        ".globl do_ud2\n do_ud2: nop\n"
        ".globl fault_ud2\n fault_ud2: ud2\n ret\n"
        ".globl do_int3\n do_int3: nop\n"
        ".globl fault_int3\n fault_int3: int3\n ret\n"
        // rep movsb that runs into the bad page after 16 bytes
        ".globl do_rep\n do_rep: mov $4096, %ecx\n"
        ".globl fault_rep\n fault_rep: rep movsb\n ret\n"
        // returns the handler's value of rax
        ".globl ask\n ask: mov $-1, %rax\n ud2\n ret\n"
        ".globl landing\n landing: mov %r15, %rax\n ret\n");

void all_regs_fault(void *bad);
void do_store(void *bad);
void do_div(void);
void do_ud2(void);
void do_int3(void);
long do_rep(void *dst, const void *src);
long ask(void);
long landing(void);

static ucontext_t seen;
static siginfo_t info;
static unsigned long next_rip;
static int skip_bytes;

static void handler(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;

    (void)sig;
    seen = *uc;
    info = *si;
    if (next_rip)
        uc->uc_mcontext.gregs[REG_RIP] = (long)next_rip;
    else
        uc->uc_mcontext.gregs[REG_RIP] += skip_bytes;
}

static void answer(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;

    (void)sig;
    (void)si;
    uc->uc_mcontext.gregs[REG_RAX] = 0x7777;
    uc->uc_mcontext.gregs[REG_RIP] += 2;
}

// Continues at landing() with r15 changed, on a stack of its own that returns where ask() would
// have returned.
static char other_stack[4096] __attribute__((aligned(16)));
static void elsewhere(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;
    long *sp = (long *)(other_stack + sizeof(other_stack)) - 2;

    (void)sig;
    (void)si;
    // a frame that returns to our caller's stack: landing's ret pops the address of a piece of code
    // that switches back
    extern char switch_back[];
    sp[0] = (long)switch_back;
    uc->uc_mcontext.gregs[REG_R14] = uc->uc_mcontext.gregs[REG_RSP];
    uc->uc_mcontext.gregs[REG_R15] = 0x4242;
    uc->uc_mcontext.gregs[REG_RSP] = (long)sp;
    uc->uc_mcontext.gregs[REG_RIP] = (long)landing;
}
__asm__(".globl switch_back\n switch_back: mov %r14, %rsp\n ret\n"
        ".globl ask_elsewhere\n ask_elsewhere: push %r14\n push %r15\n"
        " call ask_inner\n pop %r15\n pop %r14\n ret\n"
        "ask_inner: ud2\n");
long ask_elsewhere(void);

static void set(int sig, void (*fn)(int, siginfo_t *, void *))
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = fn;
    sa.sa_flags = SA_SIGINFO;
    CHECK(sigaction(sig, &sa, NULL) == 0);
}

#define G(r) ((unsigned long)seen.uc_mcontext.gregs[REG_##r])

int main(void)
{
    char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *bad = two + 4096;
    char src[64];

    mprotect(bad, 4096, PROT_NONE);
    set(SIGSEGV, handler);
    set(SIGBUS, handler);
    set(SIGFPE, handler);
    set(SIGILL, handler);
    set(SIGTRAP, handler);

    next_rip = (unsigned long)after_load;
    for (int i = 0; i < 3; i++) {
        memset(&seen, 0, sizeof(seen));
        all_regs_fault(bad + 24);
        CHECK(G(RIP) == (unsigned long)fault_load);
        CHECK(G(RAX) == 0x1111111111111101 && G(RBX) == 0x1111111111111102 &&
              G(RCX) == 0x1111111111111103);
        CHECK(G(RDX) == 0x1111111111111104 && G(RSI) == 0x1111111111111105 &&
              G(RBP) == 0x1111111111111106);
        CHECK(G(R8) == 0x1111111111111107 && G(R9) == 0x1111111111111108 &&
              G(R10) == 0x1111111111111109);
        CHECK(G(R11) == 0x111111111111110a && G(R12) == 0x111111111111110b &&
              G(R13) == 0x111111111111110c);
        CHECK(G(R14) == 0x111111111111110d && G(R15) == 0x111111111111110e &&
              G(RDI) == (unsigned long)bad + 24);
        CHECK(G(EFL) & 1);
        CHECK(info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR && info.si_addr == bad + 24);
        CHECK(G(TRAPNO) == 14 && (G(ERR) & 6) == 4 && G(CR2) == (unsigned long)bad + 24);
        CHECK((G(CSGSFS) & 0xffff) == 0x33);
    }
    SAY("registers at a fault");

    next_rip = 0;
    skip_bytes = 7;
    do_store(bad);
    CHECK(G(RIP) == (unsigned long)fault_store && info.si_addr == bad + 4 && (G(ERR) & 6) == 6);
    skip_bytes = 2;
    do_div();
    CHECK(info.si_signo == SIGFPE && info.si_code == FPE_INTDIV &&
          info.si_addr == (void *)fault_div && G(RIP) == (unsigned long)fault_div);
    do_ud2();
    CHECK(info.si_signo == SIGILL && info.si_code == ILL_ILLOPN &&
          info.si_addr == (void *)fault_ud2 && G(RIP) == (unsigned long)fault_ud2);
    skip_bytes = 0;
    do_int3();
    CHECK(info.si_signo == SIGTRAP && G(RIP) == (unsigned long)fault_int3 + 1 && G(TRAPNO) == 3);
    SAY("SIGFPE, SIGILL, SIGTRAP");

    memset(src, 'x', sizeof(src));
    skip_bytes = 2;
    do_rep(bad - 16, src);
    CHECK(G(RIP) == (unsigned long)fault_rep && G(RCX) == 4096 - 16 &&
          G(RDI) == (unsigned long)bad && G(RSI) == (unsigned long)src + 16 && info.si_addr == bad);
    CHECK(two[4095] == 'x' && two[4080] == 'x');
    SAY("a string instruction in the middle");

    // a jump to an unmapped address
    next_rip = 0;
    skip_bytes = 0;
    {
        static unsigned long back;
        void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)(bad + 16);

        __asm__ volatile("lea 1f(%%rip), %%rax\n mov %%rax, %0\n" : "=m"(back) : : "rax");
        next_rip = back;
        __asm__ volatile("call *%0\n1: lea 8(%%rsp), %%rsp\n"
                         :
                         : "r"(nowhere)
                         : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
        CHECK(info.si_signo == SIGSEGV && info.si_addr == bad + 16 &&
              G(RIP) == (unsigned long)bad + 16);
        CHECK(info.si_code == SEGV_ACCERR);
    }
    SAY("a jump to nowhere");

    set(SIGILL, answer);
    CHECK(ask() == 0x7777);
    set(SIGILL, elsewhere);
    CHECK(ask_elsewhere() == 0x4242);
    SAY("edited contexts");
    return check_failed;
}
