// SPDX-License-Identifier: MIT
//
// The signals that the engine sends to a thread of the client, for programs that send them
// themselves. Natively they must be ignored; under Quern the engine receives them and does nothing.
#ifndef QUERN_TESTS_GUEST_ENGINE_SIGNAL_H
#define QUERN_TESTS_GUEST_ENGINE_SIGNAL_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENGINE_SIGNAL 33                   // engine/thread/stop.h
#define KICK          0x51756e706f6b65ul   // the same: leave translated code
#define ASK           0x517565726e61736bul // share/spool.h: a request from outside

static inline int engine_signal_send(pid_t pid, pid_t tid, unsigned long value)
{
    struct {
        int signo, err, code, pad, pid, uid;
        unsigned long value;
        char rest[96];
    } info = { .signo = ENGINE_SIGNAL, .code = SI_QUEUE, .pid = getpid(), .value = value };

    return (int)syscall(SYS_rt_tgsigqueueinfo, pid, tid, ENGINE_SIGNAL, &info);
}

// After the first pthread_create(), with which the libc reserves the signal.
static inline int engine_signal_ignore(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } ignored = { SIG_IGN, 0, NULL, 0 };

    return (int)syscall(SYS_rt_sigaction, ENGINE_SIGNAL, &ignored, NULL, 8);
}

// In the text of /proc/PID/status: is the signal still pending?
static inline int engine_signal_pending(const char *status, int signo)
{
    const char *at = strstr(status, "\nSigPnd:");

    return at && (strtoul(at + 8, NULL, 16) & 1ul << (signo - 1));
}

#endif
