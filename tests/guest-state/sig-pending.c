// SPDX-License-Identifier: MIT
// A process ends with a signal blocked and pending, or ignored and sent: its status is its own
// for every signal, and the profile is written (the runner looks for spools left behind).
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int end_with(int sig, int ignored)
{
    uint64_t set = UINT64_C(1) << (sig - 1);
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (ignored)
            signal(sig, SIG_IGN);
        else // the C library's function does not block its own two
            syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set));
        kill(getpid(), sig);
        _exit(sig);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

int main(void)
{
    fflush(stdout);
    for (int sig = 1; sig <= SIGRTMAX; sig++) {
        if (sig == SIGKILL || sig == SIGSTOP)
            continue;
        CHECK(end_with(sig, 0) == sig << 8);
        if (sig != 32 && sig != 33) // signal() refuses these
            CHECK(end_with(sig, 1) == sig << 8);
    }
    SAY("each signal, pending and ignored");
    return check_failed;
}
