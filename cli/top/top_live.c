// SPDX-License-Identifier: MIT
//
// --live: what a running program has counted so far. Once a second a child process makes a profile
// of the spool, as `quern recover` does, and this process shows it; the program is not involved.
// The spool is only read: the counts of one screen are not from one instant, so they need not agree
// to the last digit before the program has ended.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/running.h"
#include "cli/files/trust.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "cli/top/top.h"
#include "finish/end/end.h"
#include "report/core/rows.h"

enum {
    EVERY_MS = 1000,
    LOOK_MS = 20, // interval at which the child is checked
};

static struct {
    int fd; // the spool
    pid_t pid, child;
    char *folder, *profile; // written by the child
    char *title, *command;
    int errors;       // a pipe: error message of the child
    uint64_t next;    // time of the next update
    bool own;         // the program belongs to this user
    bool ended, last; // the program has ended; the screen shows its final counts
} live;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// ---- The process ----

// A program of another user, or that has changed its user, may have written any name into its
// spool.
static bool is_own(const char *pid)
{
    char *path = xasprintf("/proc/%s", pid);
    struct stat process, spool;
    bool own = stat(path, &process) == 0 && process.st_uid == geteuid() &&
               fstat(live.fd, &spool) == 0 && spool.st_uid == geteuid();

    free(path);
    return own;
}

static void open_spool(const struct top *t, const char *what)
{
    uint64_t pid;

    if (util_number(what, INT32_MAX, &pid)) {
        live.fd = running_spool((long)pid, O_RDONLY);
        if (live.fd < 0 && errno == EMFILE)
            running_die(what);
        if (live.fd < 0)
            die(UTIL_USAGE,
                "process %s has no spool: it does not run under quern, or has ended, or belongs to "
                "another user; name its spool, quern.spool.*",
                what);
        live.own = is_own(what);
    } else if ((live.fd = open(what, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
        die(UTIL_USAGE, "%s: %s; name a spool or a process id", what, strerror(errno));
    }
    if (!live.own)
        trust_profile(what); // no list has it, so it is not trusted
    trust_folders(&t->side[0].include);
}

static void say_title(struct top *t)
{
    struct stat st;
    bool written = fstat(live.fd, &st) == 0 && st.st_nlink == 0;
    const char *how = !live.ended ? "live"
                      : written   ? "ended"
                                  : "was killed: quern recover finishes it";
    char *title = xasprintf("process %d (%s)  %s", live.pid, how, live.command);

    free(live.title);
    live.title = title;
    t->side[0].paths[0] = live.title;
}

// Is the process gone, or a zombie? Where no descriptor is free to look, it runs.
static bool is_gone(void)
{
    char *path = xasprintf("/proc/%d/stat", live.pid), text[512] = "";
    FILE *f = fopen(path, "re");
    bool is_there = !f && errno != ENOENT && errno != ESRCH;
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    const char *name_end = n ? strrchr(text, ')') : NULL;

    if (f)
        fclose(f);
    free(path);
    if (is_there)
        return false;
    return !name_end || strncmp(name_end, ") Z", 3) == 0 || strncmp(name_end, ") X", 3) == 0;
}

// Has the program ended? Its spool is then removed, or its process is gone.
static bool has_ended(void)
{
    struct stat st;

    return (fstat(live.fd, &st) == 0 && st.st_nlink == 0) || is_gone();
}

// ---- The child ----

// 0, or -1 with a message.
static int write_profile(char *err, size_t size)
{
    struct spool_file s;
    struct output_files files;
    struct finish_totals totals;
    int rc = -1;

    if (spool_file_open(&s, live.fd, err, size) != 0)
        return -1;
    if (s.h->s_dump_code)
        snprintf(err, size, "a run with --dump-code cannot be shown live");
    else if (output_names(&s, &files, err, size) == 0) {
        // Nothing is written to a folder that another user's program names.
        struct output_files here = { .output = live.profile,
                                     .cache = live.own ? files.cache : NULL };
        rc = profile_write(&s, &here, &totals, err, size);
        output_names_free(&files);
    }
    spool_file_close(&s);
    return rc;
}

// Removes the folder before the process ends.
_Noreturn static void no_child(const char *call)
{
    int err = errno;

    rmdir(live.folder);
    die(UTIL_USAGE, "%s: %s", call, strerror(err));
}

static void start_child(void)
{
    char err[1024] = "";
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        no_child("pipe");
    live.child = fork();
    if (live.child == 0) {
        // The terminal is the parent's.
        int null = open("/dev/null", O_RDWR);
        util_before_message(NULL);
        for (int fd = 0; fd < 3; fd++)
            dup2(null, fd);
        finish_lift_limits();
        int rc = write_profile(err, sizeof(err));
        (void)util_write_all(ends[1], err, strlen(err));
        _exit(rc == 0 ? UTIL_OK : UTIL_USAGE);
    }
    close(ends[1]);
    live.errors = ends[0];
    if (live.child < 0)
        no_child("fork");
}

// The profile, when the child is done and has made one; else NULL. Sets *err to its error message,
// to be freed.
static struct quern_profile *take_profile(bool wait, char **err)
{
    struct quern_error why;
    struct quern_profile *p = NULL;
    char text[1024];
    int status;

    *err = NULL;
    if (waitpid(live.child, &status, wait ? 0 : WNOHANG) != live.child)
        return NULL;
    live.child = 0;
    ssize_t n = read(live.errors, text, sizeof(text) - 1);
    close(live.errors);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        p = quern_profile_read(live.profile, NULL, &why);
    text[n > 0 ? n : 0] = 0;
    if (!p)
        *err = xstrdup(*text ? text : "the spool could not be read");
    unlink(live.profile);
    return p;
}

static struct quern_profile *renamed(const struct top *t, struct quern_profile *p)
{
    struct quern_rewrite *file = read_rewrite("--mod-filename", t->mod_file);
    struct quern_rewrite *func = read_rewrite("--mod-funcname", t->mod_func);

    p = read_renamed(p, file, func);
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    side_known_events(p);
    return p;
}

// ---- Updates ----

void top_live_begin(struct top *t, const char *what)
{
    const char *tmp = getenv("TMPDIR");
    struct spool_file s;
    char err[1024], *why;

    open_spool(t, what);
    if (spool_file_open(&s, live.fd, err, sizeof(err)) != 0)
        die(UTIL_USAGE, "%s: %s", what, err);
    live.pid = s.h->pid;
    live.command = xstrdup(spool_file_text(&s, s.h->s_cmd) ? spool_file_text(&s, s.h->s_cmd) : "");
    spool_file_close(&s);
    live.folder = xasprintf("%s/quern-top.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(live.folder))
        die(UTIL_USAGE, "%s: %s", live.folder, strerror(errno));
    live.profile = xasprintf("%s/profile", live.folder);
    live.ended = has_ended();
    live.last = live.ended;
    start_child();
    struct quern_profile *p = take_profile(true, &why);
    if (!p) {
        rmdir(live.folder);
        die(UTIL_USAGE, "%s: %s", what, why);
    }
    t->side[0].p = renamed(t, p);
    clock_gettime(CLOCK_REALTIME, &t->side[0].mtime);
    live.next = now() + EVERY_MS;
    say_title(t);
}

int top_live_wait(void)
{
    uint64_t at = now();

    if (live.last)
        return -1;
    if (live.child)
        return LOOK_MS;
    return live.next > at ? (int)(live.next - at) : 0;
}

// Open groups are remembered by hashes of their names and those of the enclosing groups.
static uint64_t group_hash(const struct top *t, uint32_t group)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; group < t->tree.count; group = t->tree.item[group].parent) {
        char number[16];
        struct text s = top_rows_group(t, group, number);
        for (size_t i = 0; i < s.size; i++)
            h = (h ^ s.at[i]) * 0x100000001b3u;
        h *= 0x100000001b3u;
    }
    return h;
}

static void open_again(struct top *t, const uint64_t *open, size_t n)
{
    for (uint32_t g = 0; g < t->tree.count; g++)
        for (size_t i = 0; i < n && !t->open[g]; i++)
            t->open[g] = group_hash(t, g) == open[i];
    if (n)
        top_views_make(t);
}

static void show(struct top *t, struct quern_profile *p)
{
    struct top_row was = t->rows ? top_rows_get(t, t->here.at) : (struct top_row){ 0 };
    uint32_t f = t->rows ? top_rows_func(t, &was) : CORE_NONE;
    uint64_t hash = f == CORE_NONE ? 0 : rows_hash(t->core, f), *open = NULL;
    size_t opened = 0;

    for (uint32_t g = 0; t->open && g < t->tree.count; g++)
        if (t->open[g]) {
            open = xrealloc(open, (opened + 1) * sizeof(*open));
            open[opened++] = group_hash(t, g);
        }
    top_views_free(t);
    free(t->open);
    t->open = NULL;
    top_data_again(t, p);
    top_views_make(t);
    open_again(t, open, opened);
    free(open);
    f = f == CORE_NONE ? f : rows_find(t->core, hash);
    for (size_t i = 0; f != CORE_NONE && t->here.at && i < t->rows; i++) {
        struct top_row r = top_rows_get(t, i);
        if (r.kind == was.kind && r.caller == was.caller && top_rows_func(t, &r) == f) {
            t->here.at = i;
            break;
        }
    }
}

bool top_live_step(struct top *t)
{
    char *err;

    if (live.last)
        return false;
    if (!live.child) {
        if (now() < live.next)
            return false;
        live.next = now() + EVERY_MS;
        live.ended = has_ended();
        start_child();
        return false;
    }
    struct quern_profile *p = take_profile(false, &err);
    if (live.child)
        return false;
    if (p)
        show(t, renamed(t, p));
    else
        snprintf(t->say, sizeof(t->say), "%.200s", err);
    free(err);
    // A profile that was begun after the end has all counts.
    live.last = live.ended;
    say_title(t);
    return true;
}

void top_live_end(void)
{
    if (live.child) {
        kill(live.child, SIGKILL);
        waitpid(live.child, NULL, 0);
        close(live.errors);
    }
    unlink(live.profile);
    rmdir(live.folder);
    close(live.fd);
    free(live.folder);
    free(live.profile);
    free(live.title);
    free(live.command);
}
