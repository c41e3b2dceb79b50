// SPDX-License-Identifier: MIT
//
// Waits for the reader of what the finisher writes: a pipe may have none, or one that does not
// read, and the finisher ignores signals (finish.c). While it waits, signals that end other
// programs make it give up: the counts stay in the spool, or the message is lost.
#include "finish/end/end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/util.h"

// The signals with which a user ends programs, except the ignored ones. They stay blocked from the
// first wait on: one that arrives between two waits ends the second.
static const sigset_t *block_ending_signals(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    static sigset_t set;
    struct sigaction now;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, ends[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return &set;
}

// Waits ms milliseconds for such a signal. False: none arrived.
static bool is_told_to_end(int ms)
{
    const struct timespec step = { 0, ms * 1000000L };

    return sigtimedwait(block_ending_signals(), NULL, &step) > 0;
}

int pipe_wait_reader(const char *path)
{
    static bool said;

    block_ending_signals(); // blocks them before the message that a user may answer
    if (!said)
        warn("waiting for a reader of %s; Ctrl-C or SIGTERM gives up, the counts are kept", path);
    said = true;
    return is_told_to_end(50) ? -ECANCELED : 0;
}

void pipe_wait_log(void)
{
    struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
    int null;

    while (poll(&p, 1, 0) == 0) {
        if (!is_told_to_end(50))
            continue;
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDERR_FILENO);
            close(null);
        }
        return;
    }
}

void pipe_wait_write(const char *text, size_t size)
{
    size_t part;

    // A pipe with any space takes each piece in one write.
    for (; size > 0; text += part, size -= part) {
        part = size > 4096 ? 4096 : size;
        pipe_wait_log();
        if (util_write_all(STDERR_FILENO, text, part) != 0)
            return;
    }
}
