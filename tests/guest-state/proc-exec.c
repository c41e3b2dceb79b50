// SPDX-License-Identifier: MIT
// State that survives an exec, and a program that is killed while it starts: mask, pending and
// ignored signals and seccomp filters are the caller's; a signal at any moment of the exec ends
// the process properly (the runner looks for spools left behind).
#define _GNU_SOURCE
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t handled;

static void handler(int sig)
{
    handled = sig;
}

static char name[] = "proc-exec", mask[] = "mask", fatal[] = "fatal", waits[] = "wait",
            filters[] = "filters", again[] = "again";

static int run_child(void (*prepare)(void), char *how)
{
    char *argv[] = { name, how, NULL };
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (prepare)
            prepare();
        execv("/proc/self/exe", argv);
        _exit(99);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void prepare_mask(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGRTMAX);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGSEGV, SIG_IGN);
    signal(SIGTRAP, SIG_IGN);
    signal(SIGRTMAX, SIG_IGN);
    signal(SIGUSR2, handler); // becomes the default
    raise(SIGUSR1);
}

static int check_mask(void)
{
    struct sigaction sa;
    sigset_t set, pending;

    CHECK(sigprocmask(SIG_SETMASK, NULL, &set) == 0 && sigpending(&pending) == 0);
    for (int sig = 1; sig <= 64; sig++) {
        CHECK(sigismember(&set, sig) == (sig == SIGUSR1 || sig == SIGSEGV || sig == SIGRTMAX));
        CHECK(sigismember(&pending, sig) == (sig == SIGUSR1));
    }
    CHECK(sigaction(SIGHUP, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN);
    for (int sig = 1; sig < 32; sig++)
        CHECK(sigaction(sig, NULL, &sa) == 0 &&
              sa.sa_handler ==
                  (sig == SIGHUP || sig == SIGSEGV || sig == SIGTRAP ? SIG_IGN : SIG_DFL));
    CHECK(sigaction(SIGRTMAX, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN);
    signal(SIGUSR1, handler);
    CHECK(!handled);
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    CHECK(handled == SIGUSR1);
    return check_failed;
}

static void prepare_fatal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_SETMASK, &set, NULL);
    raise(SIGTERM);
}

static int check_fatal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return 98;
}

// From here on the call `nr` fails with `error`.
static int forbid(unsigned nr, unsigned error)
{
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static void prepare_filters(void)
{
    char *none[] = { NULL };

    CHECK(!forbid(SYS_getppid, 91) && !forbid(SYS_getpgrp, 92) && !forbid(SYS_getppid, 93));
    // a failed exec leaves nothing behind
    CHECK(execv("/", none) == -1 && errno == EACCES);
    CHECK(execv("/nothing", none) == -1 && errno == ENOENT);
    if (check_failed)
        _exit(97);
}

// Executes itself with all arguments of the call in a page that is read-only and
// the last mapped one.
static void exec_from_read_only(void)
{
    static const char text[] = "/proc/self/exe\0read-only\0A=value\0B=";
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char **v = (char **)(page + 4096 - 6 * sizeof(char *));
    char *strings = (char *)v - 64;

    munmap(page + 4096, 4096);
    memcpy(strings, text, sizeof(text));
    v[0] = strings;
    v[1] = strings + 15;
    v[2] = NULL;
    v[3] = strings + 25;
    v[4] = strings + 33;
    v[5] = NULL;
    CHECK(mprotect(page, 4096, PROT_READ) == 0);
    execve(strings, v, v + 3);
    _exit(96);
}

static int is_forbidden(long nr, int error)
{
    errno = 0;
    return syscall(nr) == -1 && errno == error;
}

static void *forbidden_in_thread(void *arg)
{
    CHECK(is_forbidden(SYS_getppid, 93));
    return arg;
}

// Of two filters that forbid the same call the newer one decides the error.
static int check_filters(int generation)
{
    char *argv[] = { name, again, NULL };
    pthread_t t;
    pid_t pid;
    int status;

    CHECK(prctl(PR_GET_SECCOMP) == 2);
    CHECK(is_forbidden(SYS_getppid, 93));
    CHECK(is_forbidden(SYS_getpgrp, 92));
    (void)pthread_create(&t, NULL, forbidden_in_thread, NULL);
    (void)pthread_join(t, NULL);
    if (generation == 1) {
        CHECK(!forbid(SYS_getsid, 94) && is_forbidden(SYS_getsid, 94));
        pid = vfork();
        if (pid == 0) {
            execv("/proc/self/exe", argv);
            _exit(99);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    } else {
        CHECK(is_forbidden(SYS_getsid, 94));
    }
    return check_failed;
}

// Kills a child after so many microseconds.
static void kill_after(long us)
{
    char *argv[] = { name, waits, NULL };
    struct timespec ts = { 0, us * 1000 };
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execv("/proc/self/exe", argv);
        _exit(99);
    }
    nanosleep(&ts, NULL);
    CHECK(kill(pid, SIGTERM) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(int argc, char **argv)
{
    int status;

    if (argc == 2 && strcmp(argv[1], "mask") == 0)
        return check_mask();
    if (argc == 2 && strcmp(argv[1], "fatal") == 0)
        return check_fatal();
    if (argc == 2 && strcmp(argv[1], "filters") == 0)
        return check_filters(1);
    if (argc == 2 && strcmp(argv[1], "again") == 0)
        return check_filters(2);
    if (argc == 2 && strcmp(argv[1], "read-only") == 0)
        return !getenv("A") || strcmp(getenv("A"), "value") || !getenv("B") || *getenv("B") ||
               environ[2];
    if (argc == 2) {
        sigset_t none;

        sigemptyset(&none);
        for (;;)
            sigsuspend(&none);
    }
    status = run_child(prepare_mask, mask);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SAY("mask, pending and ignored signals survive");
    status = run_child(prepare_fatal, fatal);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    SAY("a pending signal ends the new program when it opens its mask");
    status = run_child(prepare_filters, filters);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SAY("seccomp filters");
    status = run_child(exec_from_read_only, filters);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SAY("arguments and environment in read-only memory");
    for (int i = 0; i < 40; i++)
        kill_after(i * 400);
    SAY("killed at any moment");
    return check_failed;
}
