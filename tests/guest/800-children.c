// SPDX-License-Identifier: MIT
//
// fork, vfork, clone in all forms, posix_spawn, system, exec: the child's effects on memory, the
// parent's result, and a failed call leaves nothing behind.
//
// about: replay-split
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static volatile int shared;

static int ended_with(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void forks(void)
{
    int fd[2], sum = 0;

    CHECK(pipe(fd) == 0);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            shared = 1000;
            CHECK(write(fd[1], &i, sizeof(i)) == sizeof(i));
            _exit(i + 1);
        }
        CHECK(pid > 0 && ended_with(pid) == i + 1 && shared == 0);
    }
    for (int i = 0, v; i < 30; i++) {
        CHECK(read(fd[0], &v, sizeof(v)) == sizeof(v));
        sum += v;
    }
    CHECK(sum == 435);
    close(fd[0]);
    close(fd[1]);

    // A child of a child.
    pid_t pid = fork();

    if (pid == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0)
            _exit(9);
        _exit(ended_with(grandchild) + 1);
    }
    CHECK(ended_with(pid) == 10);
}

static void vforks(void)
{
    for (volatile int i = 0; i < 20; i++) {
        pid_t pid = vfork();

        if (pid == 0) {
            shared = i + 1; // the same memory
            _exit(i);
        }
        CHECK(pid > 0 && shared == i + 1 && ended_with(pid) == i);
    }
    shared = 0;
    pid_t pid = vfork();

    if (pid == 0) {
        execl("/nonexistent/program", "program", (char *)NULL);
        shared = errno;
        _exit(3);
    }
    CHECK(shared == ENOENT && ended_with(pid) == 3);
    shared = 0;

    // A handler that the child changes stays the same here.
    struct sigaction a;

    signal(SIGUSR1, SIG_IGN);
    pid = vfork();
    if (pid == 0) {
        signal(SIGUSR1, SIG_DFL);
        _exit(0);
    }
    CHECK(ended_with(pid) == 0);
    CHECK(sigaction(SIGUSR1, NULL, &a) == 0 && a.sa_handler == SIG_IGN);
}

static long raw_clone(unsigned long flags, void *stack)
{
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"((long)SYS_clone), "D"(flags), "S"(stack), "d"(0), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return r;
}

static int on_own_stack(void *arg)
{
    shared += *(int *)arg;
    return 5;
}

static void clones(void)
{
    static uint8_t stack[65536] __attribute__((aligned(16)));
    struct clone_args args;
    int add = 7;
    pid_t pid;

    // As in Go: the parent's own stack, the parent waits.
    for (int i = 0; i < 10; i++) {
        pid = (pid_t)raw_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
        if (pid == 0) {
            shared = 40 + i;
            syscall(SYS_exit, i);
        }
        CHECK(pid > 0 && shared == 40 + i && ended_with(pid) == i);
    }
    shared = 0;
    // Shared memory, its own stack, both run.
    for (int i = 0; i < 10; i++) {
        pid = clone(on_own_stack, stack + sizeof(stack), CLONE_VM | SIGCHLD, &add);
        CHECK(pid > 0 && ended_with(pid) == 5 && shared == 7 * (i + 1));
    }
    shared = 0;
    pid = clone(on_own_stack, stack + sizeof(stack), SIGCHLD, &add); // a copy of the memory
    CHECK(pid > 0 && ended_with(pid) == 5 && shared == 0);

    // Failures are as natively, and the next call works.
    memset(&args, 0, sizeof(args));
    args.flags = CLONE_SIGHAND; // without CLONE_VM
    args.exit_signal = SIGCHLD;
    CHECK(syscall(SYS_clone3, &args, sizeof(args)) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_clone3, &args, 3) == -1 && errno == EINVAL);
    CHECK(raw_clone(CLONE_THREAD | SIGCHLD, NULL) == -EINVAL);
    args.flags = CLONE_VM | CLONE_VFORK;
    args.stack = (uint64_t)(uintptr_t)stack;
    args.stack_size = sizeof(stack);
    args.flags = 0;
    args.stack = args.stack_size = 0;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(21);
    CHECK(pid > 0 && ended_with(pid) == 21);
    pid = fork();
    if (pid == 0)
        _exit(22);
    CHECK(ended_with(pid) == 22);
}

extern char **environ;

static void programs(char *self)
{
    static char child[] = "child", two_words[] = "two words", nothing[] = "nothing";
    static char guest[] = "GUEST=child";
    char *args[] = { self, child, two_words, NULL }, *bad[] = { nothing, NULL };
    char *env[] = { guest, NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;

    CHECK(posix_spawn(&pid, self, NULL, NULL, args, env) == 0 && ended_with(pid) == 44);
    CHECK(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, bad, env) == ENOENT);
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 5, "/nonexistent/file", O_RDONLY, 0) == 0);
    CHECK(posix_spawn(&pid, self, &actions, NULL, args, env) == ENOENT);
    posix_spawn_file_actions_destroy(&actions);
    CHECK(system("exit 3") == 3 << 8);
    CHECK(system(NULL) != 0);

    pid = fork();
    if (pid == 0) {
        execve("/proc/self/exe", args, env);
        _exit(1);
    }
    CHECK(ended_with(pid) == 44);
    pid = fork();
    if (pid == 0) {
        int fd = open(self, O_PATH | O_CLOEXEC);

        syscall(SYS_execveat, fd, "", args, env, AT_EMPTY_PATH);
        _exit(1);
    }
    CHECK(ended_with(pid) == 44);
    CHECK(execve("/nonexistent/program", args, env) == -1 && errno == ENOENT);
    CHECK(execve("/", args, env) == -1 && errno == EACCES);
    CHECK(execve("/proc/self/cmdline", args, env) == -1 && errno == EACCES);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const char *guest = getenv("GUEST");

        return guest && !strcmp(guest, "child") && argc == 3 && !strcmp(argv[2], "two words") ? 44
                                                                                              : 1;
    }
    forks();
    vforks();
    clones();
    programs(argv[0]);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    return check_failed;
}
