// SPDX-License-Identifier: MIT
// Odd ways into the kernel: int $0x80, the vsyscall page, numbers that do not exist, rseq, gs by
// arch_prctl, seccomp filters.
#define _GNU_SOURCE
#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#ifndef ARCH_SET_GS
#    define ARCH_SET_GS 0x1001
#    define ARCH_GET_GS 0x1004
#endif

static volatile int got;
static siginfo_t info;
static void handler(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    got = sig;
    info = *si;
}

static long int80(long n, long b)
{
    long ret;

    __asm__ volatile("int $0x80"
                     : "=a"(ret)
                     : "a"(n), "b"(b), "c"(0), "d"(0)
                     : "memory", "r8", "r9", "r10", "r11");
    return ret;
}

static int run(void (*fn)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        fn();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int install(uint32_t nr, uint32_t action)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static void filter_errno(void)
{
    if (install(SYS_getppid, SECCOMP_RET_ERRNO | 99))
        _exit(1);
    if (syscall(SYS_getppid) != -1 || errno != 99)
        _exit(2);
    if (prctl(PR_GET_SECCOMP) != 2)
        _exit(3);
    if (install(SYS_getpgrp, SECCOMP_RET_ERRNO | 98) || syscall(SYS_getpgrp) != -1 || errno != 98 ||
        syscall(SYS_getppid) != -1 || errno != 99 || syscall(SYS_getpid) <= 0)
        _exit(4);
    _exit(40);
}

static void filter_trap(void)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = handler;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &sa, NULL);
    if (install(SYS_getppid, SECCOMP_RET_TRAP | 7))
        _exit(1);
    syscall(SYS_getppid);
    if (got != SIGSYS || info.si_syscall != SYS_getppid || info.si_code != 1 || info.si_errno != 7)
        _exit(2);
    _exit(41);
}

static void filter_kill(void)
{
    if (install(SYS_getppid, SECCOMP_RET_KILL_PROCESS))
        _exit(1);
    syscall(SYS_getppid);
    _exit(2);
}

// Through the vDSO, which reads again when the kernel has written meanwhile: its instruction count
// differs from run to run, so tests/guest, which compares counts, cannot have it.
static void clocks(void)
{
    struct timespec last = { 0, 0 }, now;

    for (int i = 0; i < 1000; i++) {
        CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
        CHECK(now.tv_sec > last.tv_sec ||
              (now.tv_sec == last.tv_sec && now.tv_nsec >= last.tv_nsec));
        last = now;
    }
    CHECK(time(NULL) > 1500000000);
}

// Kernels may be booted without it.
static int vsyscall_page(void)
{
    static char line[4096];
    FILE *f = fopen("/proc/self/maps", "re");
    int found = 0;

    while (f && fgets(line, sizeof(line), f))
        found |= strstr(line, "[vsyscall]") != NULL;
    CHECK(f != NULL && fclose(f) == 0);
    return found;
}

static void call_vsyscall(void)
{
    ((long (*)(long *))0xffffffffff600400ul)(NULL);
}

static sigjmp_buf back;

static void on_fault(int sig, siginfo_t *si, void *context)
{
    const ucontext_t *uc = context;
    const unsigned char *pc = (const unsigned char *)uc->uc_mcontext.gregs[REG_RIP];

    CHECK(sig == SIGSEGV && si->si_code == SI_KERNEL && !si->si_addr);
    CHECK(uc->uc_mcontext.gregs[REG_TRAPNO] == 13 && uc->uc_mcontext.gregs[REG_ERR] == 0x402);
    CHECK(uc->uc_mcontext.gregs[REG_RAX] == 20 && uc->uc_mcontext.gregs[REG_RBX] == 77);
    CHECK(pc[0] == 0xcd && pc[1] == 0x80);
    siglongjmp(back, 1);
}

// A kernel with ia32_emulation=off has none: a general protection fault, with entry 0x80 of the
// table.
static void calls_of_32(void)
{
    struct sigaction sa, before;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_fault;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, &before);
    if (sigsetjmp(back, 1)) {
        SAY("no int 0x80");
    } else {
        CHECK(int80(20, 77) == getpid());
        CHECK(int80(9999, 0) == -ENOSYS);
        CHECK(int80(6, 9999) == -EBADF); // close
        SAY("int 0x80");
    }
    sigaction(SIGSEGV, &before, NULL);
}

int main(void)
{
    struct timeval tv, tv2;
    long now;

    calls_of_32();

    if (vsyscall_page()) {
        now = ((long (*)(long *))0xffffffffff600400ul)(NULL);
        CHECK(now >= 1700000000 && labs(now - (long)time(NULL)) <= 1);
        CHECK(((long (*)(void *, void *))0xffffffffff600000ul)(&tv, NULL) == 0);
        gettimeofday(&tv2, NULL);
        CHECK(tv2.tv_sec - tv.tv_sec <= 1 && tv2.tv_sec >= tv.tv_sec);
        SAY("vsyscall");
    } else {
        CHECK(run(call_vsyscall) == 1000 + SIGSEGV);
        SAY("no vsyscall");
    }

    clocks();
    SAY("clocks");

    CHECK(syscall(500) == -1 && errno == ENOSYS);
    CHECK(syscall(5000) == -1 && errno == ENOSYS);
    CHECK(syscall(-1) == -1 && errno == ENOSYS);
    SAY("unknown calls");

    static unsigned long block[4] = { 11, 22, 33, 44 };
    unsigned long base = 1, v;
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0);
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, block) == 0);
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (unsigned long)block);
    __asm__ volatile("movq %%gs:16, %0" : "=r"(v));
    CHECK(v == 33);
    __asm__ volatile("movq $55, %%gs:8" : : : "memory");
    CHECK(block[1] == 55);
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 1ul << 63) == -1 && errno == EPERM);
    SAY("gs");

    CHECK(run(filter_errno) == 40);
    CHECK(run(filter_trap) == 41);
    CHECK(run(filter_kill) == 1000 + SIGSYS);
    SAY("seccomp");
    return check_failed;
}
