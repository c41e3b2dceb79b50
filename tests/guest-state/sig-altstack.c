// SPDX-License-Identifier: MIT
// The alternate signal stack: status, rules of change, nesting on it, a stack overflow caught on
// it, leaving it by siglongjmp, SS_AUTODISARM, a stack that is too small.
#define _GNU_SOURCE
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

#ifndef SS_AUTODISARM
#    define SS_AUTODISARM (1u << 31)
#endif

static char *alt;
#define ALT_SIZE (64 * 1024)
static volatile int on_alt, depth, lowest_set, status_in;
static char *volatile lowest;
static sigjmp_buf env;

static int is_on_alt(const void *p)
{
    return (const char *)p >= alt && (const char *)p < alt + ALT_SIZE;
}

static void handler(int sig)
{
    stack_t ss, again;
    char here;

    on_alt = is_on_alt(&here);
    sigaltstack(NULL, &ss);
    status_in = ss.ss_flags;
    again = ss;
    again.ss_flags = 0;
    if (on_alt)
        CHECK(sigaltstack(&again, NULL) == -1 && errno == EPERM);
    if (!lowest_set || &here < lowest)
        lowest = &here;
    lowest_set = 1;
    if (++depth < 3)
        raise(sig);
    depth--;
}

static void autodisarm(int sig)
{
    stack_t ss;
    char here;

    (void)sig;
    on_alt = is_on_alt(&here);
    sigaltstack(NULL, &ss);
    status_in = ss.ss_flags;
}

static void overflow(int sig, siginfo_t *si, void *uc)
{
    char here;

    (void)si;
    (void)uc;
    on_alt = is_on_alt(&here);
    siglongjmp(env, sig);
}

// The uc_stack that a handler writes into its frame takes effect when it returns; an invalid one is
// ignored.
static size_t next_size;
static void changes_stack(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;

    (void)sig;
    (void)si;
    CHECK(uc->uc_stack.ss_sp == alt && uc->uc_stack.ss_size == ALT_SIZE &&
          uc->uc_stack.ss_flags == 0);
    uc->uc_stack.ss_size = next_size;
}

static int recurse(int n)
{
    volatile char big[4096];

    big[0] = (char)n;
    big[4095] = (char)n;
    return n < 0 ? 0 : recurse(n + 1) + big[0] + big[4095];
}

int main(void)
{
    struct sigaction sa;
    struct rlimit rl = { 512 * 1024, RLIM_INFINITY };
    stack_t ss, old;

    getrlimit(RLIMIT_STACK, &rl);
    rl.rlim_cur = 512 * 1024;
    setrlimit(RLIMIT_STACK, &rl);

    CHECK(sigaltstack(NULL, &old) == 0 && old.ss_flags == SS_DISABLE);
    alt = mmap(NULL, ALT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(&ss, 0, sizeof(ss));
    ss.ss_sp = alt;
    ss.ss_size = 100;
    CHECK(sigaltstack(&ss, NULL) == -1 && errno == ENOMEM);
    ss.ss_size = ALT_SIZE;
    ss.ss_flags = 64;
    CHECK(sigaltstack(&ss, NULL) == -1 && errno == EINVAL);
    CHECK(sigaltstack((stack_t *)8, NULL) == -1 && errno == EFAULT);
    ss.ss_flags = 0;
    CHECK(sigaltstack(&ss, &old) == 0 && old.ss_flags == SS_DISABLE);
    CHECK(sigaltstack(NULL, &old) == 0 && old.ss_flags == 0 && old.ss_sp == alt &&
          old.ss_size == ALT_SIZE);
    SAY("rules");

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = handler;
    sa.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(SIGUSR1, &sa, NULL);
    depth = 0;
    raise(SIGUSR1);
    CHECK(on_alt && status_in == SS_ONSTACK);
    CHECK(lowest <
          alt + ALT_SIZE - 3 * 1000); // three frames below each other, not three at the top
    sigaltstack(NULL, &old);
    CHECK(old.ss_flags == 0);
    sa.sa_flags = 0;
    sigaction(SIGUSR1, &sa, NULL);
    depth = 2;
    raise(SIGUSR1);
    CHECK(!on_alt && status_in == 0);
    SAY("nesting");

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = overflow;
    sa.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
    for (volatile int i = 0; i < 5; i++) {
        on_alt = 0;
        if (sigsetjmp(env, 1) == 0)
            recurse(0);
        CHECK(on_alt);
        sigaltstack(NULL, &old);
        CHECK(old.ss_flags == 0);
    }
    SAY("stack overflow");

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = changes_stack;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &sa, NULL);
    next_size = 100; // too small
    raise(SIGUSR1);
    CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == alt && old.ss_size == ALT_SIZE);
    next_size = ALT_SIZE / 2;
    raise(SIGUSR1);
    CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == alt && old.ss_size == ALT_SIZE / 2);
    SAY("uc_stack");

    ss.ss_flags = (int)SS_AUTODISARM;
    CHECK(sigaltstack(&ss, NULL) == 0);
    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = autodisarm;
    sa.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &sa, NULL);
    raise(SIGUSR1);
    CHECK(on_alt && status_in == SS_DISABLE);
    sigaltstack(NULL, &old);
    CHECK((unsigned)old.ss_flags == SS_AUTODISARM && old.ss_sp == alt);
    SAY("SS_AUTODISARM");

    // No stack to build a frame on: the process dies by SIGSEGV
    pid_t pid = fork();
    if (pid == 0) {
        stack_t none;

        memset(&none, 0, sizeof(none));
        none.ss_flags = SS_DISABLE;
        sigaltstack(&none, NULL);
        recurse(0);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    // and a stack that is too small for the frame as well
    pid = fork();
    if (pid == 0) {
        ss.ss_flags = 0;
        ss.ss_size = 2048;
        sigaltstack(&ss, NULL);
        memset(&sa, 0, sizeof(sa));
        sa.sa_handler = autodisarm;
        sa.sa_flags = SA_ONSTACK;
        sigaction(SIGUSR1, &sa, NULL);
        raise(SIGUSR1);
        // a frame without wide vectors fits
        _exit(__builtin_cpu_supports("avx512f") ? 0 : 99);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) ||
          (WIFEXITED(status) && WEXITSTATUS(status) == 99));
    SAY("no room for a frame");
    return check_failed;
}
