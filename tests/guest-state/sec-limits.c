// SPDX-License-Identifier: MIT
// Seccomp's limits and results: the supported actions, the number of instructions that all filters
// of a process may have, and the effect of a filter that asks for a tracer without one.
#define _GNU_SOURCE
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int count_filters(const struct sock_filter *f, unsigned short n)
{
    struct sock_fprog prog = { n, (struct sock_filter *)(uintptr_t)f };
    int pipes[2], count = 0;
    pid_t pid;

    CHECK(pipe(pipes) == 0);
    pid = fork();
    if (pid == 0) {
        while (count < 1000 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0)
            count++;
        if (count == 1000 || errno != ENOMEM)
            count = -errno;
        _exit(write(pipes[1], &count, sizeof(count)) != sizeof(count));
    }
    close(pipes[1]);
    CHECK(read(pipes[0], &count, sizeof(count)) == sizeof(count));
    waitpid(pid, NULL, 0);
    close(pipes[0]);
    return count;
}

static struct sock_filter program[4096];

// Programs of n instructions of one kind, ended by "allow": the kernel's translation, which the
// limit counts, has another length.
static void limits(void)
{
    static const struct {
        const char *name;
        struct sock_filter insn;
    } kinds[] = {
        { "ret", BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
        { "ld", BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) },
        { "alu", BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1) },
        { "div x", BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0) },
        { "jump true", BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 1, 0) },
        { "jump false", BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 7, 0, 1) },
        { "jump both", BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 7, 1, 1) },
        { "jump set", BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 7, 0, 1) },
        { "jump negative", BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x80000000, 1, 0) },
        { "jump x", BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 1) },
    };

    for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        for (int i = 0; i < 4096; i++)
            program[i] = kinds[k].insn;
        // A division by 0 kills.
        program[0] = program[3596] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 1);
        for (int i = 4092; i < 4096; i++)
            program[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        SAY("%s: %d, %d", kinds[k].name, count_filters(program, 4096),
            count_filters(program + 3596, 500));
    }
}

int main(void)
{
    static const unsigned actions[] = { SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
                                        SECCOMP_RET_TRAP,         SECCOMP_RET_ERRNO,
                                        SECCOMP_RET_TRACE,        SECCOMP_RET_LOG,
                                        SECCOMP_RET_ALLOW,        0x12340000 };
    struct sock_filter trace[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 5),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = { 4, trace };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    for (unsigned i = 0; i < sizeof(actions) / sizeof(*actions); i++)
        SAY("%08x: %ld", actions[i],
            syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[i]));
    limits();
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0);
    CHECK(syscall(SYS_getppid) == -1 && errno == ENOSYS);
    SAY("no tracer");
    return check_failed;
}
