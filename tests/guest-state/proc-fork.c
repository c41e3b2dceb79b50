// SPDX-License-Identifier: MIT
// Children: fork, fork inside a handler, vfork in its several spellings, a child that shares the
// memory, posix_spawn and its errors, a clone3 that fails, handlers and masks and alternate stacks
// in the child, and the child's actions do not harm the parent.
#define _GNU_SOURCE
#include "check.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static volatile int got, child_ran;
static volatile pid_t in_handler_child;

static void handler(int sig)
{
    got = sig;
}

static void other_handler(int sig)
{
    got = -sig;
}

static void fork_in_handler(int sig)
{
    (void)sig;
    in_handler_child = fork();
    if (in_handler_child == 0)
        got = 99;
}

// Without a function that returns in between: the child runs on the parent's stack.
static inline __attribute__((always_inline)) long raw(long n, long a, long b)
{
    long ret;

    __asm__ volatile("xor %%r10d, %%r10d\n xor %%r8d, %%r8d\n xor %%edx, %%edx\n syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b)
                     : "rcx", "r11", "r10", "r8", "rdx", "memory");
    return ret;
}

static int wait_for(pid_t pid)
{
    int status;

    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void forks(void)
{
    pid_t pid;
    int pipefd[2];
    char buf[16];

    CHECK(pipe(pipefd) == 0);
    pid = fork();
    if (pid == 0) {
        // a grandchild: a copy can copy itself
        pid_t p2 = fork();

        if (p2 == 0) {
            if (write(pipefd[1], "gc", 2) != 2)
                _exit(1);
            _exit(5);
        }
        _exit(getppid() > 1 && wait_for(p2) == 5 ? 6 : 1);
    }
    CHECK(read(pipefd[0], buf, 2) == 2 && memcmp(buf, "gc", 2) == 0);
    CHECK(wait_for(pid) == 6);
    for (int i = 0; i < 30; i++) {
        pid = fork();
        if (pid == 0)
            _exit(i);
        CHECK(wait_for(pid) == i);
    }

    signal(SIGUSR2, fork_in_handler);
    got = 0;
    raise(SIGUSR2);
    if (got == 99) { // the child returns from the handler too
        sigset_t s;

        sigprocmask(SIG_SETMASK, NULL, &s);
        _exit(sigismember(&s, SIGUSR2) ? 1 : 42);
    }
    CHECK(in_handler_child > 0 && wait_for(in_handler_child) == 42);
    close(pipefd[0]);
    close(pipefd[1]);
}

static int vfork_child_result;

static void vforks(void)
{
    volatile int local = 1;
    sigset_t before, after;
    struct sigaction sa;
    pid_t pid;

    signal(SIGUSR1, handler);
    sigprocmask(SIG_SETMASK, NULL, &before);
    for (volatile int i = 0; i < 10; i++) {
        pid = vfork();
        if (pid == 0) {
            sigset_t all;

            // the child's own table, mask and ids; the memory is the parent's
            signal(SIGUSR1, other_handler);
            sigfillset(&all);
            sigprocmask(SIG_BLOCK, &all, NULL);
            vfork_child_result =
                syscall(SYS_getpid) == syscall(SYS_gettid) && syscall(SYS_getppid) > 1;
            local++;
            _exit(10 + i);
        }
        CHECK(pid > 0 && wait_for(pid) == 10 + i);
        CHECK(vfork_child_result);
        CHECK(local == 2 + i);
        sigaction(SIGUSR1, NULL, &sa);
        CHECK(sa.sa_handler == handler);
        sigprocmask(SIG_SETMASK, NULL, &after);
        CHECK(memcmp(&before, &after, 8) == 0);
        got = 0;
        raise(SIGUSR1);
        CHECK(got == SIGUSR1);
    }
    // a child that gets a signal, and one that dies by it
    pid = vfork();
    if (pid == 0) {
        raise(SIGUSR1);
        _exit(got == SIGUSR1 ? 3 : 4);
    }
    CHECK(wait_for(pid) == 3);
    pid = vfork();
    if (pid == 0) {
        signal(SIGUSR1, SIG_DFL);
        raise(SIGUSR1);
        _exit(4);
    }
    CHECK(wait_for(pid) == 1000 + SIGUSR1);
    pid = vfork();
    if (pid == 0) {
        execl("/bin/false", "false", (char *)NULL);
        _exit(99);
    }
    CHECK(wait_for(pid) == 1);
    pid = vfork();
    if (pid == 0) {
        execl("/no/such/file", "none", (char *)NULL);
        vfork_child_result = errno;
        _exit(98);
    }
    CHECK(wait_for(pid) == 98 && vfork_child_result == ENOENT);
    // vfork within vfork
    pid = vfork();
    if (pid == 0) {
        pid_t inner = vfork();

        if (inner == 0)
            _exit(21);
        int st;
        waitpid(inner, &st, 0);
        _exit(WEXITSTATUS(st) + 1);
    }
    CHECK(wait_for(pid) == 22);

    // clone without a stack: the child runs on the parent's
    pid = (pid_t)raw(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
    if (pid == 0) {
        child_ran = 1;
        _exit(31);
    }
    CHECK(wait_for(pid) == 31 && child_ran == 1);
}

static int on_stack(void *arg)
{
    char here;

    *(char **)arg = &here;
    signal(SIGUSR1, other_handler);
    return 17;
}

static int shared_mem_child(void *arg)
{
    volatile int *p = arg;

    *p = 1;
    for (int i = 0; i < 2000 && *p != 2; i++)
        usleep(1000);
    return *p == 2 ? 18 : 19;
}

static void clones(void)
{
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *where = NULL;
    struct sigaction sa;
    volatile int word = 0;
    pid_t pid, parent_tid = 0, child_tid = 0;

    pid = clone(on_stack, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, &where);
    CHECK(wait_for(pid) == 17);
    CHECK(where > stack && where < stack + 65536);
    sigaction(SIGUSR1, NULL, &sa);
    CHECK(sa.sa_handler == handler);
    // with CLONE_SIGHAND the table is one
    pid = clone(on_stack, stack + 65536, CLONE_VM | CLONE_VFORK | CLONE_SIGHAND | SIGCHLD, &where);
    CHECK(wait_for(pid) == 17);
    sigaction(SIGUSR1, NULL, &sa);
    CHECK(sa.sa_handler == other_handler);
    signal(SIGUSR1, handler);

    // two processes that run at the same time in one memory
    pid = clone(shared_mem_child, stack + 65536, CLONE_VM | SIGCHLD, (void *)&word);
    for (int i = 0; i < 2000 && word != 1; i++)
        usleep(1000);
    CHECK(word == 1);
    word = 2;
    CHECK(wait_for(pid) == 18);

    // plain clone with pointers
    pid = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, 0,
                         &parent_tid, &child_tid, 0);
    if (pid == 0)
        _exit(child_tid == syscall(SYS_gettid) ? 7 : 8);
    CHECK(parent_tid == pid && child_tid == 0 && wait_for(pid) == 7);

    // two processes with one table of descriptors: each sees what the other opens and closes, and
    // both continue and end well
    for (int i = 0; i < 3; i++) {
        int fds[2];

        CHECK(pipe(fds) == 0);
        pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            close(fds[1]);
            _exit(dup2(0, 900) == 900 ? 15 : 16);
        }
        CHECK(wait_for(pid) == 15);
        CHECK(close(fds[1]) == -1 && errno == EBADF);
        CHECK(close(fds[0]) == 0 && close(900) == 0);
    }

    // clone3: fails, then works, then again
    struct clone_args ca;
    memset(&ca, 0, sizeof(ca));
    for (int i = 0; i < 3; i++) {
        ca.flags = CLONE_THREAD; // not without CLONE_SIGHAND
        ca.exit_signal = 0;
        CHECK(syscall(SYS_clone3, &ca, sizeof(ca)) == -1 && errno == EINVAL);
        ca.flags = CLONE_VM | CLONE_VFORK | CLONE_SIGHAND | CLONE_CLEAR_SIGHAND;
        CHECK(syscall(SYS_clone3, &ca, sizeof(ca)) == -1 && errno == EINVAL);
        ca.flags = CLONE_VM | CLONE_VFORK;
        ca.exit_signal = SIGCHLD;
        pid = (pid_t)raw(SYS_clone3, (long)&ca, sizeof(ca));
        if (pid == 0)
            _exit(12);
        CHECK(wait_for(pid) == 12);
        ca.flags = CLONE_CLEAR_SIGHAND;
        pid = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca));
        if (pid == 0) {
            sigaction(SIGUSR1, NULL, &sa);
            _exit(sa.sa_handler == SIG_DFL ? 13 : 14);
        }
        CHECK(wait_for(pid) == 13);
    }
    CHECK(syscall(SYS_clone3, &ca, 8) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_clone3, &ca, 1 << 20) == -1 && errno == E2BIG);
    CHECK(syscall(SYS_clone3, 8, sizeof(ca)) == -1 && errno == EFAULT);
    munmap(stack, 65536);
}

static void spawns(void)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 9", NULL };
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    pid_t pid = 0;
    int p[2];
    char buf[32];
    ssize_t n;

    for (int i = 0; i < 10; i++) {
        CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0);
        CHECK(wait_for(pid) == 9);
        // the error is returned through the shared memory, not as an exit status
        CHECK(posix_spawn(&pid, "/no/such/program", NULL, NULL, argv, environ) == ENOENT);
        CHECK(posix_spawn(&pid, "/etc/passwd", NULL, NULL, argv, environ) == EACCES);
    }
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);

    CHECK(pipe(p) == 0);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, p[1], 1);
    posix_spawnattr_init(&at);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    posix_spawnattr_setsigmask(&at, &mask);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK);
    char *argv2[] = { (char *)"grep", (char *)"SigBlk", (char *)"/proc/self/status", NULL };
    CHECK(posix_spawn(&pid, "/bin/grep", &fa, &at, argv2, environ) == 0);
    close(p[1]);
    n = read(p[0], buf, sizeof(buf) - 1);
    buf[n > 0 ? n : 0] = 0;
    CHECK(strcmp(buf, "SigBlk:\t0000000000000800\n") == 0);
    CHECK(wait_for(pid) == 0);
    close(p[0]);
    CHECK(system("exit 3") == 3 << 8);
    FILE *f = popen("echo popen works", "r");
    CHECK(f && fgets(buf, sizeof(buf), f) && strcmp(buf, "popen works\n") == 0);
    CHECK(pclose(f) == 0);
}

// State that an exec'd program inherits: the mask, ignored signals, nothing else.
static int is_inherited(void)
{
    struct sigaction sa;
    sigset_t s;
    stack_t ss;

    sigprocmask(SIG_SETMASK, NULL, &s);
    for (int sig = 1; sig < 65; sig++) {
        if (sig == 32 || sig == 33)
            continue;
        if (sigismember(&s, sig) != (sig == SIGUSR1 || sig == SIGSEGV || sig == SIGRTMAX))
            return sig;
        sigaction(sig, NULL, &sa);
        if (sa.sa_handler != (sig == SIGUSR2 ? SIG_IGN : SIG_DFL))
            return sig + 65;
    }
    if (sigaltstack(NULL, &ss) || ss.ss_flags != SS_DISABLE)
        return 200;
    return 44;
}

static void exec_state(void)
{
    sigset_t s;
    stack_t ss;
    pid_t pid = fork();

    if (pid == 0) {
        for (int sig = 1; sig < 65; sig++)
            signal(sig, SIG_DFL);
        sigemptyset(&s);
        sigaddset(&s, SIGUSR1);
        sigaddset(&s, SIGSEGV);
        sigaddset(&s, SIGRTMAX);
        sigprocmask(SIG_SETMASK, &s, NULL);
        signal(SIGUSR2, SIG_IGN);
        signal(SIGTERM, handler);
        memset(&ss, 0, sizeof(ss));
        ss.ss_sp = malloc(65536);
        ss.ss_size = 65536;
        sigaltstack(&ss, NULL);
        execl("/proc/self/exe", "proc-fork", "inherited", (char *)NULL);
        _exit(1);
    }
    CHECK(wait_for(pid) == 44);
}

static void *forking_thread(void *arg)
{
    for (int i = 0; i < 15; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            void *m = malloc(1000 + i);

            free(m);
            _exit(50);
        }
        if (wait_for(pid) != 50)
            return arg;
    }
    return NULL;
}

static void *allocating_thread(void *arg)
{
    volatile int *stop = arg;

    while (!*stop) {
        void *m[50];

        for (int i = 0; i < 50; i++)
            m[i] = malloc((size_t)i * 333);
        for (int i = 0; i < 50; i++)
            free(m[i]);
    }
    return NULL;
}

static void thread_forks(void)
{
    pthread_t t[4], a;
    volatile int stop = 0;
    void *ret;

    pthread_create(&a, NULL, allocating_thread, (void *)&stop);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, forking_thread, t);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &ret);
        CHECK(ret == NULL);
    }
    // a thread may fork, and its child may make threads
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t c;
        int done = 1;

        if (pthread_create(&c, NULL, allocating_thread, &done))
            _exit(1);
        pthread_join(c, NULL);
        _exit(33);
    }
    CHECK(wait_for(pid) == 33);
    stop = 1;
    pthread_join(a, NULL);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return is_inherited();
    forks();
    SAY("fork");
    vforks();
    SAY("vfork");
    clones();
    SAY("clone and clone3");
    spawns();
    SAY("posix_spawn, system, popen");
    exec_state();
    SAY("state over exec");
    thread_forks();
    SAY("fork with threads");
    return check_failed;
}
