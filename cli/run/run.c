// SPDX-License-Identifier: MIT
//
// `quern run`: reads the options, finds the program, creates the spool and executes the engine in
// its own process: the caller of the program sees one process from beginning to end. What follows
// the end of the program is in finish/.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/base/version.h"
#include "cli/cli.h"
#include "cli/files/name.h"
#include "cli/run/run.h"
#include "symbols/cachedir.h"

char *run_beside(const char *self, const char *name)
{
    char *dir = util_dirname(self);
    bool there = strcmp(util_basename(self), RUN_WHOLE) == 0;
    char *path = xasprintf(there ? "%s/%s" : "%s/../libexec/quern/%s", dir, name);

    free(dir);
    return path;
}

// Where the engine should be; to be freed.
static char *engine_path(const char *self)
{
    const char *given = getenv("QUERN_ENGINE");
    char *cwd, *path;

    if (!given || !*given)
        return run_beside(self, "quern-engine");
    cwd = util_cwd();
    path = util_absolute(cwd, given);
    free(cwd);
    return path;
}

static char *executable(const char *path)
{
    char *found = realpath(path, NULL);

    if (found && access(found, X_OK) == 0)
        return found;
    free(found);
    return NULL;
}

char *run_engine(void)
{
    char *self = util_self(), *path = engine_path(self), *found = executable(path);

    free(self);
    free(path);
    return found;
}

static char *find_engine(const char *self)
{
    char *engine = engine_path(self), *found = executable(engine);

    if (!found)
        die(UTIL_USAGE, "%s: the engine: %s; set QUERN_ENGINE to its path", engine,
            strerror(errno));
    free(engine);
    return found;
}

// The program that finishes what the quick finisher cannot: this one, or quern-whole.
static char *find_whole(const char *self)
{
    char *path, *found;

    if (strcmp(util_basename(self), "quern") != 0)
        return xstrdup(self);
    path = run_beside(self, RUN_WHOLE);
    found = executable(path);
    if (!found)
        die(UTIL_USAGE, "%s: %s; it writes profiles: install quern again", path, strerror(errno));
    free(path);
    return found;
}

// The quick finisher, beside the engine; NULL: there is none.
static char *find_finisher(const char *engine)
{
    char *dir = util_dirname(engine), *path = xasprintf("%s/quern-finish", dir);
    char *found = executable(path);

    free(dir);
    free(path);
    return found;
}

// A name relative to the working directory, made absolute: the program may change the directory. %p
// stays.
static char *absolute_name(const char *cwd, const char *name)
{
    char *escaped, *s;

    if (!name)
        return NULL;
    if (name[0] == '/')
        return xstrdup(name);
    escaped = name_escape(cwd);
    s = util_absolute(escaped, name);
    free(escaped);
    return s;
}

static void check_name(const char *name, const char *what)
{
    if (name)
        free(name_expand_or_die(name, getpid(), what));
}

// The folder of the profile, unless that is a device or the like.
static char *spool_folder(const struct run_options *o, const char *cwd, const char *expanded)
{
    struct stat st;

    if (o->spool_dir)
        return util_absolute(cwd, o->spool_dir);
    if (stat(expanded, &st) == 0 && !S_ISREG(st.st_mode))
        return xstrdup(cwd);
    return util_dirname(expanded);
}

// --children=merge: where processes put their profiles until the first one ends.
static void make_tree(const char *tree)
{
    if (mkdir(tree, 0777) == 0)
        return;
    die(UTIL_USAGE,
        "%s: cannot be created: %s; choose another folder with --cachegrind-out-file= or "
        "--spool-dir=",
        tree, strerror(errno));
}

// Creates the folder: the engine does not.
static char *translation_cache(const struct run_options *o, const char *cwd)
{
    char *folder = name_cache_folder(o->translation_cache, cwd);
    int fd = folder ? cachedir_open(folder, true) : -1;

    if (fd >= 0)
        close(fd);
    return folder;
}

// A copy of the caller's descriptor.
static int given_log(const char *number)
{
    uint64_t fd;
    int high;

    if (!util_number(number, INT_MAX, &fd))
        die(UTIL_USAGE, "--log-fd=%s: must be the number of a descriptor", number);
    high = run_fd_copy((int)fd);
    if (high < 0)
        die(UTIL_USAGE, "--log-fd=%s: %s", number, strerror(errno));
    return high;
}

static int open_log(const char *name, const char *number)
{
    char *path;
    int fd, high;

    if (number)
        return given_log(number);
    if (!name)
        return run_fd_copy(STDERR_FILENO); // a closed one: nothing is printed
    path = name_expand_or_die(name, getpid(), "--log-file");
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        die(UTIL_USAGE, "--log-file=%s: %s: %s", name, path, strerror(errno));
    high = run_fd_copy(fd);
    if (high < 0)
        die(UTIL_USAGE, "--log-file=%s: %s", name, strerror(errno));
    close(fd);
    free(path);
    return high;
}

// The command, quoted for a shell.
static char *quoted(char **argv)
{
    size_t n = 1;
    char *s, *w;

    for (char **a = argv; *a; a++)
        n += UTIL_SHELL_SPACE(strlen(*a));
    s = w = xmalloc(n);
    *w = '\0';
    for (char **a = argv; *a; a++) {
        if (a != argv)
            *w++ = ' ';
        w = util_shell_word(w, *a);
    }
    return s;
}

static void banner(int log_fd, const char *command, const char *caches, const char *const *fits,
                   bool parent)
{
    long pid = getpid();

    if (log_fd >= 0) {
        dprintf(log_fd, "==%ld== Quern %s, an exact instruction, cache and branch profiler\n", pid,
                QUERN_VERSION);
        dprintf(log_fd, "==%ld== Command: %s\n", pid, command);
        if (parent)
            dprintf(log_fd, "==%ld== Parent PID: %ld\n", pid, (long)getppid());
        if (caches) {
            dprintf(log_fd, "==%ld== %s\n", pid, caches);
            for (int i = 0; i < RUN_LEVELS; i++)
                if (fits[i])
                    dprintf(log_fd, "==%ld== %s\n", pid, fits[i]);
        }
        dprintf(log_fd, "==%ld== \n", pid);
    }
}

// Blocks signals until the engine has started: one in between would end the process and leave an
// empty spool. Returns the old mask.
static uint64_t block_signals(void)
{
    static const int synchronous[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    sigset_t all, old;
    uint64_t mask = 0;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof(synchronous) / sizeof(*synchronous); i++)
        sigdelset(&all, synchronous[i]);
    sigprocmask(SIG_BLOCK, &all, &old);
    for (int sig = 1; sig <= 64; sig++)
        if (sigismember(&old, sig) == 1)
            mask |= UINT64_C(1) << (sig - 1);
    return mask;
}

// Do the rules differ from the defaults? The last rule of a kind for all functions counts.
static bool has_rules(const struct run_options *o)
{
    unsigned long long callers = 0, recs = 1;

    for (const char *s = o->rules; s && s < o->rules + o->patterns_bytes; s += strlen(s) + 1) {
        const char *pattern = strchr(s, ' ');

        if ((*s != SPOOL_PATTERN_CALLERS && *s != SPOOL_PATTERN_RECS) || !pattern || pattern[1])
            return true;
        *(*s == SPOOL_PATTERN_CALLERS ? &callers : &recs) = strtoull(s + 1, NULL, 10);
    }
    return callers != 0 || recs != 1;
}

// A trace needs the records of a replay.
static void check_trace(const struct run_options *o)
{
    if (o->replay == 1)
        die(UTIL_USAGE,
            "--trace-refs=%s: not with --replay=off, which records nothing; leave one "
            "of them out",
            o->trace_refs);
    if (!(o->flags & SPOOL_F_CACHE_SIM) || (o->flags & SPOOL_F_NATIVE))
        die(UTIL_USAGE,
            "--trace-refs=%s: not with --cache-sim=no or --native, with which there "
            "are no references; leave one of them out",
            o->trace_refs);
    if (o->flags & (SPOOL_F_CONTEXTS | SPOOL_F_SYSTIME | SPOOL_F_BY_THREAD))
        die(UTIL_USAGE,
            "--trace-refs=%s: not with --separate-*, --fn-*, --skip-direct-rec, "
            "--toggle-collect, --collect-atstart, --collect-systime, --dump-before, "
            "--dump-after and --zero-before, with which nothing is recorded; leave "
            "one of them out",
            o->trace_refs);
}

// Creates the empty file, or ends here: later the engine could only warn.
static void make_trace(const char *name)
{
    char *path = name_expand_or_die(name, getpid(), "--trace-refs");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666), e = errno;
    struct stat st;

    // A pipe, with a reader or without: chunks are written at offsets.
    if (fd < 0 ? e == ENXIO : fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
        die(UTIL_USAGE, "%s: a reference trace cannot be written to a pipe", path);
    if (fd < 0)
        die(UTIL_USAGE, "%s: cannot be created for --trace-refs: %s", path, strerror(e));
    close(fd);
    free(path);
}

static void find_caches(struct run_options *o, char *fits[RUN_LEVELS])
{
    if (o->cpu.given)
        run_cpu_caches(&o->cpu, &o->caches);
    else
        run_cache_detect(&o->caches);
    fits[0] = run_cache_fit(&o->caches.i1.g, false, "I1");
    fits[1] = run_cache_fit(&o->caches.d1.g, false, "D1");
    fits[2] = run_cache_fit(&o->caches.ll.g, true, "LL");
}

static void check_data(const struct run_options *o)
{
    if (!o->data && (o->data_output || o->data_callers || o->data_use || o->allocators))
        die(UTIL_USAGE, "--data-out-file, --data-callers, --data-use, --data-alloc and --data-free "
                        "are for --data=yes: add it");
    if (o->data && !(o->flags & SPOOL_F_CACHE_SIM))
        die(UTIL_USAGE, "--data=yes: not with --cache-sim=no, which finds no misses; leave one of "
                        "them out");
    if (o->data && (o->flags & SPOOL_F_NOT_COLLECTING))
        die(UTIL_USAGE, "--data=yes counts from the start to the end: not with --toggle-collect "
                        "and --collect-atstart=no; leave one of them out");
}

static void check_curve(const struct run_options *o)
{
    if (o->curve && !(o->flags & SPOOL_F_CACHE_SIM))
        die(UTIL_USAGE, "--curve=yes: not with --cache-sim=no, which simulates no reference; leave "
                        "one of them out");
}

void run_start(const struct run_options *options, char **given)
{
    struct run_options o = *options;
    struct run_program program;
    struct run_spool in;
    char *fits[RUN_LEVELS] = { NULL };
    char *cwd, *self, *engine, *whole, *output, *expanded, *folder, *dump, *log, *spool;
    char *tree = NULL;
    char **client, *command, *caches = NULL;
    char number[16];
    size_t n = 0;
    int log_fd, spool_fd, e;

    if ((o.flags & SPOOL_F_BY_THREAD) && (o.flags & SPOOL_F_MERGE))
        die(UTIL_USAGE,
            "--separate-threads=yes: not with --children=merge, which makes one profile "
            "of all; leave one of them out");
    if (!(o.flags & SPOOL_F_CALLS) &&
        ((o.flags &
          (SPOOL_F_NO_LINES | SPOOL_F_INSTR | SPOOL_F_NO_IDS | SPOOL_F_NO_RELATIVE | SPOOL_F_JUMPS |
           SPOOL_F_NOT_COLLECTING | SPOOL_F_SKIP_DIRECT | SPOOL_F_SHOW_PLT | SPOOL_F_BY_THREAD |
           SPOOL_F_SYSTIME | SPOOL_F_BUS | SPOOL_F_INLINE)) ||
         o.rules_count || o.every_blocks))
        die(UTIL_USAGE, "--dump-line=no, --dump-instr=yes, --inline=yes, --collect-jumps=yes, "
                        "--compress-strings=no, --compress-pos=no, --separate-*, --skip-*, --fn-*, "
                        "--toggle-collect, --collect-*, --dump-before, --dump-after, "
                        "--zero-before and --dump-every-bb are for Callgrind profiles: "
                        "add --calls=yes");
    if (o.log && o.log_fd)
        die(UTIL_USAGE, "--log-fd=%s: not with --log-file=%s; leave one of them out", o.log_fd,
            o.log);
    if (has_rules(&o) || (o.flags & SPOOL_F_NOT_COLLECTING))
        o.flags |= SPOOL_F_CONTEXTS;
    if ((o.flags & (SPOOL_F_CONTEXTS | SPOOL_F_SYSTIME | SPOOL_F_BY_THREAD)) &&
        (o.replay == 2 || o.replay == 3))
        die(UTIL_USAGE, "--replay simulates caches later than the calls are made: not with "
                        "--separate-*, --fn-*, --skip-direct-rec, --toggle-collect, "
                        "--collect-atstart, --collect-systime, --dump-before, --dump-after and "
                        "--zero-before; leave one of them out");
    check_data(&o);
    check_curve(&o);
    if (o.trace_refs)
        check_trace(&o);
    program = run_program_find(given);
    if (o.flags & SPOOL_F_REPRODUCIBLE)
        run_pin(&o);
    else if (o.env.count)
        die(UTIL_USAGE, "--env: only with --reproducible=yes; without it use env(1)");
    if (o.flags & SPOOL_F_COUNTED) // the vDSO would compute the time from the virtual TSC
        o.flags |= SPOOL_F_NO_VDSO;
    if (o.machine)
        run_levels_set(&o, fits);
    else
        find_caches(&o, fits);

    self = util_self();
    engine = find_engine(self);
    whole = find_whole(self);
    cwd = util_cwd();
    output = absolute_name(cwd, o.output                  ? o.output
                                : o.flags & SPOOL_F_CALLS ? "callgrind.out.%p"
                                                          : "cachegrind.out.%p");
    dump = absolute_name(cwd, o.dump_counts);
    log = absolute_name(cwd, o.log);
    // Checked as given, so that messages show it as given.
    check_name(o.output, "--cachegrind-out-file");
    check_name(o.dump_counts, "--dump-counts");
    check_name(o.data_output, "--data-out-file");
    check_name(o.dump_code, "--dump-code");
    check_name(o.log, "--log-file");
    check_name(o.trace_refs, "--trace-refs");
    expanded = name_expand_or_die(output, getpid(), "--cachegrind-out-file");
    o.dump_counts = dump;
    if (o.data)
        o.data_output = absolute_name(cwd, o.data_output ? o.data_output : "data.out.%p");
    o.dump_code = absolute_name(cwd, o.dump_code);
    o.log = log;
    o.trace_refs = absolute_name(cwd, o.trace_refs);
    if (o.trace_refs)
        make_trace(o.trace_refs);
    folder = spool_folder(&o, cwd, expanded);
    if (o.flags & SPOOL_F_MERGE) {
        o.flags |= SPOOL_F_TRACE_CHILDREN;
        tree = xasprintf("%s/quern.tree.%ld", folder, (long)getpid());
        free(output);
        output = name_escape(expanded); // the same for every process
    }
    log_fd = open_log(log, o.log_fd);

    in = (struct run_spool){ &o,
                             &program,
                             output,
                             folder,
                             tree,
                             whole,
                             engine,
                             find_finisher(engine),
                             name_cache_folder(o.symbol_cache, cwd),
                             translation_cache(&o, cwd),
                             log_fd,
                             block_signals() };
    if (o.flags & SPOOL_F_REPRODUCIBLE)
        in.start_mask = 0;
    while (program.argv[n])
        n++;
    // Allocated before the spool exists: a failure would leave it behind.
    client = xcalloc(n + 3, sizeof(*client));
    command = quoted(given);
    if (o.flags & SPOOL_F_CACHE_SIM)
        caches = run_cache_sentence(&o.caches);
    spool_fd = run_spool_create(&in, &spool);
    if (tree)
        make_tree(tree);
    if (!(o.flags & (SPOOL_F_QUIET | SPOOL_F_STAT | SPOOL_F_JSON)))
        banner(log_fd, command, caches, (const char *const *)fits, o.parent && o.log);
    if (!(o.flags & SPOOL_F_ASLR)) {
        int old = personality(0xffffffff);

        if ((old < 0 || personality((unsigned long)old | ADDR_NO_RANDOMIZE) < 0) &&
            !(o.flags & (SPOOL_F_QUIET | SPOOL_F_REPRODUCIBLE)))
            warn("addresses stay randomised (%s): counts may vary from run to run",
                 strerror(errno));
    }

    if (o.progress && log_fd >= 0 && !(o.flags & SPOOL_F_QUIET))
        run_progress_start(whole, o.progress, log_fd);
    snprintf(number, sizeof(number), "%d", spool_fd);
    client[0] = engine;
    client[1] = number;
    memcpy(client + 2, program.argv, n * sizeof(*client));
    util_pass_children();
    execv(engine, client);
    e = errno;
    if (tree)
        rmdir(tree);
    die(e == E2BIG ? UTIL_CANNOT : UTIL_USAGE, "%s: %s", e == E2BIG ? program.path : engine,
        strerror(e));
}

int cmd_run(int argc, char **argv)
{
    struct run_options o;
    char **given = run_options_read(&o, argc, argv);

    run_start(&o, given);
}
