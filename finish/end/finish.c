// SPDX-License-Identifier: MIT
//
// The finisher, `quern --finish FD...`. The engine executes it in the profiled process when the
// client has ended (or in a child, before the client executes a program that is not profiled).
// Reads the spool, writes the profile, prints the summary, removes the spool, and ends as the
// client ended. If the profile cannot be written, the spool stays, and a message says so. Several
// spools are those of children that have ended.
//
// The process is the client's: its descriptors, limits, ignored signals and working directory.
// Nothing may be written to descriptors 0, 1 and 2 before they are ours.
#include "finish/end/end.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/heap.h"
#include "cli/base/util.h"
#include "cli/files/name.h"
#include "finish/sums/siblings.h"
#include "profile/write/out.h"
#include "symbols/cachedir.h"

void finish_lift_limits(void)
{
    static const int which[] = { RLIMIT_AS,    RLIMIT_DATA,  RLIMIT_CPU,
                                 RLIMIT_FSIZE, RLIMIT_STACK, RLIMIT_NOFILE };
    struct rlimit limit;

    for (size_t i = 0; i < sizeof(which) / sizeof(*which); i++) {
        if (getrlimit((__rlimit_resource_t)which[i], &limit) != 0)
            continue;
        limit.rlim_cur = limit.rlim_max;
        setrlimit((__rlimit_resource_t)which[i], &limit);
    }
}

// This process lives only as long as it takes to touch a few hundred pages.
static void prepare_heap(int fd)
{
    enum { BYTES = 4 << 20 };
    static bool prepared;
    static struct spool_header h;

    if (prepared || pread(fd, &h, sizeof(h), 0) != sizeof(h) || (h.flags & SPOOL_F_NO_HINTS))
        return;
    prepared = true;
    heap_prepare(BYTES);
}

// The kernel's mask, of all 64 signals: sigprocmask() leaves out the C library's own two, and would
// unblock one of them that the client or the engine has left pending.
static void set_mask(uint64_t mask)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

// A signal meant for the client must not end the finisher half-way. SIGQUIT still works, for a user
// who insists, unless the client ignored it. Ignoring it for a moment discards a pending one that
// the client had blocked and was never to get.
static void ignore_signals(void)
{
    struct sigaction old;

    set_mask(~UINT64_C(0));
    sigaction(SIGQUIT, NULL, &old);
    signal(SIGQUIT, SIG_IGN);
    if (old.sa_handler != SIG_IGN) {
        signal(SIGQUIT, SIG_DFL);
        set_mask(~(UINT64_C(1) << (SIGQUIT - 1)));
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

// Where messages go. The client may have closed descriptor 2 or given it another meaning; from here
// on it is the log, or /dev/null.
static void take_stderr(int log_fd)
{
    int null = open("/dev/null", O_RDWR);

    // Later descriptors must not become 0, 1 or 2.
    while (null >= 0 && null < 3)
        null = dup(null);
    if (log_fd < 0 || dup2(log_fd, STDERR_FILENO) < 0)
        dup2(null, STDERR_FILENO);
    if (null > 2)
        close(null);
}

// A child of the run logs to a file of its own when the name has the process id in it.
static int child_log(const struct spool_file *s)
{
    const struct spool_header *h = s->h;
    const char *name = spool_file_text(s, h->s_log);
    char err[256];
    char *path;
    int fd;

    if (!(h->flags & (SPOOL_F_FORKED | SPOOL_F_EXECED)) || !name || !strstr(name, "%p"))
        return h->log_fd;
    path = name_expand(name, h->pid, err, sizeof(err));
    if (!path)
        return h->log_fd;
    // Does not wait for a reader of a pipe: there is the run's own log.
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    free(path);
    if (fd < 0)
        return h->log_fd;
    fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

static _Noreturn void end_as_client(uint32_t kind, int32_t code)
{
    if (kind == SPOOL_END_SIGNAL && code > 0 && code < NSIG) {
        struct rlimit none = { 0, 0 };

        // A core would be the finisher's. Where the client leaves one, the engine dies itself.
        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_DUMPABLE, 0);
        signal(code, SIG_DFL);
        kill(getpid(), code);
        set_mask(~(UINT64_C(1) << (code - 1)));
        _exit(128 + code);
    }
    _exit(code);
}

// Removes the spool, wherever it is now.
static void remove_spool(const char *path, int fd)
{
    const char *now = spool_path_now(path, fd);

    if (now)
        unlink(now);
}

_Static_assert(FINISH_EVENTS <= SPOOL_DUMPED, "space for the counts of parts");

// A part of the profile, of a program that continues: the engine adds up the counts of parts.
static void leave_counts(int fd, const struct finish_totals *totals)
{
    (void)!pwrite(fd, totals->counts, sizeof(totals->counts),
                  offsetof(struct spool_header, dumped));
}

// The counts of the whole run, those of the parts that were written before included.
static void add_parts(const struct spool_file *s, struct finish_totals *totals)
{
    for (size_t i = 0; i < FINISH_EVENTS; i++)
        totals->counts[i] += s->h->dumped[i];
}

static void print_summary(const struct spool_file *s, const char *output,
                          const struct finish_totals *totals, bool replaced)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return;
    if (s->h->flags & SPOOL_F_JSON) {
        summary_json(f, s, output, totals->counts);
    } else {
        fprintf(f, "==%d== \n", s->h->pid); // the client's own output ends here
        if (s->h->flags & SPOOL_F_COLLECTED)
            summary_collected(f, s->h, totals->counts);
        summary_print(f, s->h, totals->counts);
        if (s->h->flags & SPOOL_F_VERBOSE)
            summary_engine(f, s->h);
        advice_print(f, s, output, totals, replaced);
    }
    fclose(f);
    // One write, unless it is long: the lines of several processes do not mix.
    pipe_wait_write(text, size);
    free(text);
}

#define TRANSLATIONS_MAX (UINT64_C(1) << 30)

// The engine has written a file: there may be too many now.
static void prune_translations(const struct spool_file *s)
{
    const char *folder = spool_file_text(s, s->h->s_translations);
    int dir = s->h->n_pcache_saved && folder ? cachedir_open(folder, false) : -1;

    if (dir < 0)
        return;
    cachedir_prune(dir, CACHEDIR_TRANSLATIONS, TRANSLATIONS_MAX);
    close(dir);
}

// Takes no memory: there may be none. err: why, or NULL. Names the spool's present path if known.
static void say_kept(const char *err, const char *path, int fd)
{
    static char typed[UTIL_SHELL_SPACE(PATH_MAX)];
    const char *now = spool_path_now(path, fd);

    if (!now && spool_path_is_gone(fd)) {
        warn("%s%sthe counts are lost: their file was removed while the program ran, and no other "
             "folder takes the profile",
             err ? err : "", err ? "; " : "");
        return;
    }
    path = now ? now : path;
    util_shell_word(typed, strlen(path) < PATH_MAX ? path : "FILE");
    warn("%s%sthe counts are kept: `quern recover %s` writes the profile", err ? err : "",
         err ? "; " : "", typed);
}

static bool finish(struct spool_file *s, int fd)
{
    const char *path = spool_file_text(s, s->h->s_spool);
    struct finish_totals totals;
    char err[1024];
    struct output_files files;
    bool ok, replaced;

    prune_translations(s);
    if (s->h->flags & SPOOL_F_STAT) {
        // Who started the run reads the spool; of a forked child nobody asks.
        if (s->h->flags & SPOOL_F_FORKED)
            remove_spool(path, fd);
        return true;
    }
    if (output_names(s, &files, err, sizeof(err)) != 0) {
        say_kept(err, path, fd);
        return false;
    }
    replaced = !(s->h->flags & SPOOL_F_QUIET) && advice_will_replace(s, files.output);
    ok = (s->h->flags & SPOOL_F_MERGE ? children_write : profile_write)(s, &files, &totals, err,
                                                                        sizeof(err)) == 0;
    if (!ok && fallback_write(s, &files, &totals, err)) {
        remove_spool(path, fd);
        ok = true;
    } else if (ok) {
        if (totals.bad_records)
            warn("%s: %llu records of the run were damaged and are not in the profile",
                 files.output, (unsigned long long)totals.bad_records);
        recorded_note(s, &files);
        if (s->h->end_kind == SPOOL_END_NONE)
            leave_counts(fd, &totals);
        add_parts(s, &totals);
        if (!(s->h->flags & SPOOL_F_QUIET) && children_is_root(s))
            print_summary(s, files.output, &totals, replaced);
        remove_spool(path, fd);
    } else {
        say_kept(err, path, fd);
    }
    output_names_free(&files);
    return ok;
}

static struct {
    const struct spool_file *s;
    char **argv; // of the process: its name, --finish, and descriptors
    uint32_t kind;
    int32_t code;
    bool in_child;
} client;

static _Noreturn void end(bool ok)
{
    // A child's engine waits for the answer; otherwise the caller gets the client's own end.
    if (client.in_child)
        _exit(ok ? 0 : 1);
    if (client.kind == SPOOL_END_NONE)
        _exit(UTIL_USAGE);
    end_as_client(client.kind, client.code);
}

static void learn_end(void)
{
    client.kind = client.s->h->end_kind;
    client.code = client.s->h->end_code;
    client.in_child = client.s->h->pid != getpid();
}

// Removes the spool that is done from the arguments: a program executed in this one's place begins
// with the rest. There are several when children have ended (process/bgfinish.h of the engine).
static void next_is_first(void)
{
    char **next = client.argv + 2;

    while (*next) {
        next[0] = next[1];
        next++;
    }
}

// die() has said why. Nothing is known of a spool that could not be opened. The later spools in
// argv are for another process.
static void give_up(void)
{
    const struct spool_header *h = client.s ? client.s->h : NULL;
    static char own[PATH_MAX];
    char link[32];
    const char *path;

    if (h) {
        learn_end();
        path = spool_file_text(client.s, h->s_spool);
        // Without memory for the spool's texts: asks the kernel.
        snprintf(link, sizeof(link), "/proc/self/fd/%d", client.s->fd);
        if (!path && readlink(link, own, sizeof(own) - 1) <= 0)
            strcpy(own, "FILE");
        say_kept(NULL, path ? path : own, client.s->fd);
    }
    next_is_first();
    if (client.argv[2])
        execv("/proc/self/exe", client.argv);
    if (h)
        end(false);
}

// One spool. False: its profile is not written, and a message has said why.
static bool finish_one(int fd)
{
    static struct spool_file s;
    char err[512];
    bool ok;

    client.s = &s;
    prepare_heap(fd);
    if (spool_file_open(&s, fd, err, sizeof(err)) != 0)
        die(UTIL_USAGE, "the spool in descriptor %d: %s", fd, err);
    learn_end();
    (void)flock(fd, LOCK_EX | LOCK_NB); // `quern recover` skips it
    take_stderr(child_log(&s));
    ok = finish(&s, fd);
    spool_file_close(&s);
    close(fd);
    return ok;
}

int finish_spools(int argc, char **argv)
{
    uint64_t fd = 0;
    bool ok = true;

    for (int i = 1; i < argc; i++)
        if (!util_number(argv[i], INT32_MAX, &fd))
            argc = 0;
    if (argc < 2)
        die(UTIL_USAGE, "--finish is for the engine alone");
    ignore_signals();
    out_wait = pipe_wait_reader;
    finish_lift_limits();
    client.argv = argv - 1;
    atexit(give_up);
    for (; argv[1]; next_is_first()) {
        util_number(argv[1], INT32_MAX, &fd);
        siblings_expect(argv[2] != NULL);
        if (!finish_one((int)fd))
            ok = false;
    }
    end(ok);
}
