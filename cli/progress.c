// SPDX-License-Identifier: MIT
//
// `quern --progress PIDFD PID SECONDS`, which `quern run --progress` executes beside the run: at
// intervals a line in the messages of the run says how much it has counted so far, until its
// process ends. It only reads the spool, as `quern top --live` does: the program is not involved.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/running.h"
#include "finish/end/end.h"

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void add(void *total, const struct spool_walk_insn *in)
{
    *(uint64_t *)total += in->executed;
}

// The instructions so far. False: the spool cannot be read, as after a change of the user.
static bool count(long pid, uint64_t *total)
{
    int fd = running_spool(pid, O_RDONLY);
    struct spool_file s;
    char err[512];

    if (fd < 0)
        return false;
    if (spool_file_open(&s, fd, err, sizeof(err)) != 0) {
        close(fd);
        return false;
    }
    *total = 0;
    (void)spool_walk(&s, add, total);
    spool_file_close(&s);
    close(fd);
    return true;
}

// Waits, and says whether the process still runs.
static bool runs(int pidfd, uint64_t until)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    for (uint64_t now = now_ms(); now < until; now = now_ms()) {
        int rc = poll(&p, 1, (int)(until - now));

        if (rc > 0 || (rc < 0 && errno != EINTR))
            return false;
    }
    return true;
}

int cmd_progress(int argc, char **argv)
{
    uint64_t pidfd, pid, seconds, total, before = 0;
    uint64_t began = now_ms(), at = 0, last = 0;
    char all[32], rate[32];

    if (argc != 4 || !util_number(argv[1], INT32_MAX, &pidfd) ||
        !util_number(argv[2], INT32_MAX, &pid) || !util_number(argv[3], INT32_MAX, &seconds) ||
        seconds == 0)
        die(UTIL_USAGE, "--progress is for `quern run --progress` alone");
    // Ctrl-C is for the program, which may go on.
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    for (;;) {
        at += seconds;
        if (!runs((int)pidfd, began + at * 1000))
            return UTIL_OK;
        if (!count((long)pid, &total))
            continue;
        if (total < before) // zeroed, or the process executes another program now
            before = 0;
        text_print(stderr, "==%llu== %llu s: %s instructions, %s million a second\n",
                   (unsigned long long)pid, (unsigned long long)at, util_commas(all, total),
                   util_commas(rate, (total - before) / 1000000 / (at - last)));
        before = total;
        last = at;
    }
}
