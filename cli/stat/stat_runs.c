// SPDX-License-Identifier: MIT
//
// Runs the program, each time in a child whose spool is memory of this process: the counts remain
// however the child ends, no file is made, and no other process reads them. Such a run ends without
// a finisher (SPOOL_F_STAT). Only spools with the least or the greatest count of an event stay
// open: stat_vary.c may need their functions.
#include "cli/stat/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

static volatile sig_atomic_t child, interrupted;

// Signals that would end this process go to the program, which may handle them.
static void forward(int sig)
{
    int e = errno;

    interrupted = sig;
    if (child > 0)
        kill(child, sig);
    errno = e;
}

// A signal from the terminal reaches the child, too.
static void note(int sig)
{
    interrupted = sig;
}

static const struct {
    int sig;
    void (*handler)(int sig);
} taken[] = { { SIGINT, note }, { SIGQUIT, note }, { SIGTERM, forward }, { SIGHUP, forward } };
enum { TAKEN = sizeof(taken) / sizeof(*taken) };

// An ignored signal stays ignored, in the program, too.
static void take_signals(struct sigaction *old)
{
    for (int i = 0; i < TAKEN; i++) {
        struct sigaction a = { .sa_handler = taken[i].handler, .sa_flags = SA_RESTART };

        sigaction(taken[i].sig, NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN)
            sigaction(taken[i].sig, &a, NULL);
    }
}

static void give_signals(const struct sigaction *old)
{
    for (int i = 0; i < TAKEN; i++)
        sigaction(taken[i].sig, &old[i], NULL);
}

static int new_spool(void)
{
    int fd = memfd_create("quern.spool", MFD_CLOEXEC);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, RUN_FD_MIN);

    if (high < 0)
        die(UTIL_USAGE, "counters: cannot be created in memory: %s", strerror(errno));
    close(fd);
    return high;
}

// Every run of the program reads the same standard input, if it is a file.
static void rewind_input(off_t start)
{
    if (start >= 0)
        (void)lseek(STDIN_FILENO, start, SEEK_SET);
}

// One run; returns its wait status.
static int run_once(const struct tally *s, int spool_fd)
{
    struct sigaction old[TAKEN];
    sigset_t all, mask;
    int status;
    pid_t pid;

    // No signal may reach the child while it still has our handlers.
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    take_signals(old);
    pid = fork();
    if (pid < 0)
        die(UTIL_USAGE, "%s: cannot create a process for it: %s", s->given[0], strerror(errno));
    if (pid == 0) {
        struct run_options o = s->run_options;

        o.spool_fd = spool_fd;
        give_signals(old);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        run_start(&o, s->given);
    }
    child = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            die(UTIL_USAGE, "waiting for the run: %s", strerror(errno));
    child = 0;
    give_signals(old);
    return status;
}

static void add(void *ctx, const struct spool_walk_insn *in)
{
    uint64_t *counts = ctx;

    for (int e = 0; e < FINISH_EVENTS; e++)
        counts[e] += in->counts[e];
}

static void note_extremes(struct tally *s, size_t run)
{
    const uint64_t *counts = s->run[run].counts;

    for (int e = 0; e < FINISH_EVENTS; e++) {
        struct stat_event *v = &s->event[e];

        if (run == 0 || counts[e] < v->least) {
            v->least = counts[e];
            v->least_run = run;
        }
        if (run == 0 || counts[e] > v->greatest) {
            v->greatest = counts[e];
            v->greatest_run = run;
        }
    }
}

static void drop_others(struct tally *s)
{
    for (size_t i = 0; i < s->done; i++) {
        bool wanted = i == 0; // the first run has the description of the caches

        for (int e = 0; e < FINISH_EVENTS; e++)
            wanted |= s->event[e].least_run == i || s->event[e].greatest_run == i;
        if (!wanted && s->run[i].held) {
            spool_file_close(&s->run[i].spool);
            s->run[i].held = false;
        }
    }
}

// Opens the spool of a run. False: the program could not be run, after a message; its spool has no
// magic number yet, or is new.
static bool open_run(const struct tally *s, int fd, struct spool_file *spool)
{
    uint64_t magic = 0;
    char err[512];

    if (spool_read(fd, &magic, sizeof(magic), offsetof(struct spool_header, magic)) >= 0 && !magic)
        return false;
    if (spool_file_open(spool, fd, err, sizeof(err)) != 0)
        die(UTIL_USAGE, "the spool of %s: %s", s->given[0], err);
    return spool->h->state != SPOOL_NEW;
}

bool stat_runs(struct tally *s)
{
    off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    const char *tmp = getenv("TMPDIR");

    // Forked children have their own spools, which are removed when they end.
    s->run_options.spool_dir = tmp && *tmp ? tmp : "/tmp";
    s->run = xcalloc(s->runs, sizeof(*s->run));
    while (s->done < s->runs && !interrupted) {
        struct stat_run *r = &s->run[s->done];
        int fd = new_spool();
        uint64_t bad;

        if (s->done > 0)
            rewind_input(input);
        s->status = run_once(s, fd);
        if (!open_run(s, fd, &r->spool))
            return false;
        close(fd); // mapped
        r->held = true;
        spool_estimate(&r->spool);
        bad = spool_walk_counts(&r->spool, add, r->counts);
        if (bad)
            warn("%llu records of the run were damaged and are not in its totals",
                 (unsigned long long)bad);
        note_extremes(s, s->done++);
        drop_others(s);
    }
    return s->done > 0;
}
