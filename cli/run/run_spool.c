// SPDX-License-Identifier: MIT
//
// Makes the spool of a new run: the file, its header, the options and the strings (share/spool.h).
// Called by run.c just before the engine is executed; from then on only the engine writes to it.
#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "machine/machine.h"
#include "sim/predict.h"

// The text area during its construction.
struct text {
    struct spool_header *h;
    char *base;
};

static uint32_t text_add_bytes(struct text *t, const char *s, size_t n)
{
    uint32_t at = (uint32_t)t->h->text_used;

    if (n > SPOOL_TEXT_SIZE - t->h->text_used)
        die(UTIL_USAGE, "the command line is too long for the spool");
    memcpy(t->base + at, s, n);
    t->h->text_used += n;
    return at;
}

static uint32_t text_add(struct text *t, const char *s)
{
    return s && *s ? text_add_bytes(t, s, strlen(s) + 1) : 0;
}

// The command as Cachegrind writes it: the arguments joined by blanks, as they are.
// DIFFERS: a newline in an argument would break the profile, and becomes a blank.
static char *join(char **argv)
{
    size_t n = 1;
    char *s, *w;

    for (char **a = argv; *a; a++)
        n += strlen(*a) + 1;
    s = w = xmalloc(n);
    for (char **a = argv; *a; a++) {
        if (a != argv)
            *w++ = ' ';
        for (const char *p = *a; *p; p++)
            *w++ = *p == '\n' || *p == '\r' ? ' ' : *p;
    }
    *w = '\0';
    return s;
}

char *run_spool_desc(const struct run_caches *c)
{
    const struct machine *m = c->machine;
    char *l2 = m && m->has_l2 ? xasprintf("L2 cache:         %u B, %u B, %u-way associative\n",
                                          m->l2.size, m->l2.line, m->l2.assoc)
                              : xstrdup("");
    char *name = m ? xasprintf("\nMachine:          %s", m->name) : xstrdup("");
    char *s = xasprintf("I1 cache:         %u B, %u B, %u-way associative\n"
                        "D1 cache:         %u B, %u B, %u-way associative\n"
                        "%s"
                        "LL cache:         %u B, %u B, %u-way associative%s",
                        c->i1.g.size, c->i1.g.line, c->i1.g.assoc, c->d1.g.size, c->d1.g.line,
                        c->d1.g.assoc, l2, c->ll.g.size, c->ll.g.line, c->ll.g.assoc, name);

    free(l2);
    free(name);
    return s;
}

static char *describe(const struct run_options *o)
{
    char *caches = run_spool_desc(&o->caches), *all;
    const struct spool_sampling *s = &o->sampling;

    if (!(o->flags & SPOOL_F_CORE) || !s->interval)
        return caches;
    all = xasprintf("%s\nSampling:         the first %u instructions, then %u of each %u", caches,
                    s->first, s->window, s->interval);
    free(caches);
    if (s->growth) {
        caches = all;
        all = xasprintf("%s, later of each %uth part of those so far", caches, s->growth);
        free(caches);
    }
    return all;
}

static struct spool_geometry pages_of(const struct machine_tlb *t)
{
    return (struct spool_geometry){ t->entries * 4096, t->ways, 4096 };
}

// 2048 entries of a table, or 0: 0; twice as many: 1; and so on (machine_check.c).
static uint32_t times_usual(uint32_t entries)
{
    uint32_t large = 0;

    while (entries > SIM_TAGE_ENTRIES << large)
        large++;
    return large;
}

// After run_levels_set(): its L2 can be simulated.
static void put_machine(struct text *t, const struct machine *m, const struct spool_sampling *s)
{
    struct spool_machine *to = &t->h->machine;

    to->s_name = text_add(t, m->name);
    to->ll_replacement = m->ll_replacement;
    to->ll_filling = m->ll_filling;
    to->index = m->index;
    if (m->has_l2) {
        to->l2 = m->l2;
        to->l2_replacement = m->l2_replacement;
    }
    to->itlb = pages_of(&m->itlb);
    to->dtlb = pages_of(&m->dtlb);
    to->stlb = pages_of(&m->stlb);
    to->stream_distance = m->prefetch.distance;
    to->stream_batch = m->prefetch.batch;
    to->stream_dense = m->prefetch.dense;
    to->stream_reach = m->prefetch.reach;
    to->pairs = m->prefetch.pairs;
    to->next_line = m->prefetch.next;
    to->stream_across = m->prefetch.across;
    to->regions = m->prefetch.regions;
    to->deep_returns = m->predict.deep_returns;
    to->predict_large = times_usual(m->predict.entries);
    to->indirect_large = times_usual(m->predict.indirect);
    to->path_bits = m->predict.path_bits;
    if (t->h->flags & SPOOL_F_CORE) {
        to->core = m->core;
        to->sampling = *s;
    }
}

_Noreturn void run_die_descriptors(const char *what)
{
    die(UTIL_USAGE,
        "no descriptor is free for the %s: the limit on open files (ulimit -n) is too low; "
        "`ulimit -n 64` is enough",
        what);
}

int run_fd_copy(int fd)
{
    int high = fcntl(fd, F_DUPFD, RUN_FD_MIN);

    // The limit is lower, or too near: the first free descriptor behind the standard streams.
    if (high < 0 && (errno == EINVAL || errno == EMFILE))
        return fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
    return high;
}

// Moves the descriptor up: never one of the standard streams, should they be closed.
static int fd_high(int fd)
{
    int high = run_fd_copy(fd);

    if (high < 0)
        run_die_descriptors("spool");
    close(fd);
    return high;
}

static const char *made; // a spool that no engine uses yet

// Removes the spool when this process ends before the engine starts.
static void give_up(void)
{
    if (made)
        unlink(made);
}

// Creates the spool under a new name, even if a killed run with the same process id left one.
// `number`: the process id, or 0 with --reproducible, where the program may see the name.
static int create(const char *dir, long number, char **path)
{
    if (atexit(give_up) != 0)
        die(UTIL_USAGE, "out of memory");
    for (int i = 0; i < 1000; i++) {
        int fd;

        *path = i ? xasprintf("%s/quern.spool.%ld.%d", dir, number, i)
                  : xasprintf("%s/quern.spool.%ld", dir, number);
        fd = open(*path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            made = *path;
            return fd_high(fd);
        }
        if (errno != EEXIST)
            return -1;
        free(*path);
    }
    *path = xstrdup(dir);
    errno = EEXIST;
    return -1;
}

// The caller's spool, with a path by which it can be opened again while the caller lives: the
// engine does so where the program closes every descriptor.
static int take(int fd, char **path)
{
    *path = xasprintf("/proc/%ld/fd/%d", (long)getppid(), fd);
    return fd;
}

// The kernel applies a limit on the size of files to the engine, too: the soft limit is raised
// while the file grows, here and in the engine.
static int make_large(int fd, off_t size)
{
    struct rlimit limit, lifted;
    int rc, e;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return ftruncate(fd, size);
    lifted = (struct rlimit){ limit.rlim_max, limit.rlim_max };
    setrlimit(RLIMIT_FSIZE, &lifted);
    rc = ftruncate(fd, size);
    e = errno;
    setrlimit(RLIMIT_FSIZE, &limit);
    errno = e;
    return rc;
}

static _Noreturn void die_large(const char *path, off_t size)
{
    struct rlimit limit;

    if (errno == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_max < (rlim_t)size)
        die(UTIL_USAGE,
            "%s: the hard limit on the size of files (ulimit -f) is %llu KiB, the spool has %llu "
            "KiB (sparse); only root can raise it",
            path, (unsigned long long)limit.rlim_max / 1024, (unsigned long long)size / 1024);
    die(UTIL_USAGE,
        "%s: cannot make the spool %llu bytes large (sparse): %s; choose another folder "
        "with --spool-dir=",
        path, (unsigned long long)size, strerror(errno));
}

// The file gets its size, and its head is mapped.
static char *map_head(int fd, const char *path)
{
    const uint64_t size = SPOOL_THREADS_OFF + SPOOL_THREAD_SIZE;
    char *map;

    if (make_large(fd, (off_t)size) != 0)
        die_large(path, (off_t)size);
    map = mmap(NULL, SPOOL_MAPS_OFF, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        die(UTIL_USAGE, "%s: cannot map the spool: %s", path, strerror(errno));
    // The file is sparse: reading ahead would only clear memory.
    madvise(map, SPOOL_MAPS_OFF, MADV_RANDOM);
    return map;
}

int run_spool_create(const struct run_spool *in, char **path)
{
    const struct run_options *o = in->o;
    struct spool_header *h;
    struct timespec now;
    struct text t;
    char *map, *cmd, *desc, *cwd;
    void (*old)(int);
    long number = o->flags & SPOOL_F_REPRODUCIBLE ? 0 : (long)getpid();
    int fd = o->spool_fd ? take(o->spool_fd, path) : create(in->dir, number, path);

    if (fd < 0)
        die(UTIL_USAGE,
            "%s: cannot create the spool: %s; choose another folder with "
            "--cachegrind-out-file= or --spool-dir=",
            *path, strerror(errno));
    // A limit on the size of files must give a message, not a signal.
    old = signal(SIGXFSZ, SIG_IGN);
    map = map_head(fd, *path);
    signal(SIGXFSZ, old);
    h = (struct spool_header *)map;
    t = (struct text){ h, map + SPOOL_TEXT_OFF };
    h->version = SPOOL_VERSION;
    h->state = SPOOL_NEW;
    h->pid = getpid();
    h->flags = o->flags;
    h->i1 = o->caches.i1.g;
    h->d1 = o->caches.d1.g;
    h->ll = o->caches.ll.g;
    h->text_used = 1;
    h->log_fd = in->log_fd;
    h->cache_kib = o->cache_kib;
    h->stress_us = o->stress_us;
    h->stress_flush = o->stress_flush;
    h->systime_unit = o->systime == 5 ? 1 : o->systime == 4 ? 1000 : 1000000;
    h->every_blocks = (uint32_t)o->every_blocks;
    h->start_mask = in->start_mask;
    clock_gettime(CLOCK_REALTIME, &now);
    h->start_time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    cmd = join(in->program->argv);
    desc = describe(o);
    cwd = util_cwd();
    h->s_cmd = text_add(&t, cmd);
    h->s_program = text_add(&t, in->program->path);
    h->s_output = text_add(&t, in->output);
    h->s_log = text_add(&t, o->log);
    h->s_quern = text_add(&t, in->quern);
    h->s_engine = text_add(&t, in->engine);
    h->s_finisher = text_add(&t, in->finisher);
    h->s_spool = text_add(&t, *path);
    h->s_spool_dir = text_add(&t, in->dir);
    h->s_cwd = text_add(&t, cwd);
    h->s_skip = text_add(&t, o->skip);
    h->s_desc = text_add(&t, desc);
    h->s_dump_counts = text_add(&t, o->dump_counts);
    h->s_dump_code = text_add(&t, o->dump_code);
    h->s_trace = text_add(&t, o->trace_refs);
    h->s_library_path = text_add(&t, getenv("LD_LIBRARY_PATH"));
    h->s_symbol_cache = text_add(&t, in->symbol_cache);
    h->s_translations = text_add(&t, in->translation_cache);
    h->s_tree = text_add(&t, in->tree);
    h->tree_pid = (uint32_t)getpid();
    if (o->cpu.given) {
        char *info = run_cpu_info(&o->cpu);

        h->cpu = o->cpu.table;
        h->s_cpu = text_add(&t, o->cpu.given);
        h->s_cpuinfo = text_add(&t, info);
        free(info);
    }
    if (o->caches.machine)
        put_machine(&t, o->caches.machine, &o->sampling);
    if (o->patterns_bytes) {
        h->s_patterns = text_add_bytes(&t, o->rules, o->patterns_bytes);
        h->patterns_bytes = (uint32_t)o->patterns_bytes;
    }
    h->curve.on = o->curve;
    if (o->data) {
        h->data.callers = o->data_callers ? (uint32_t)o->data_callers : 3;
        h->data.use = o->data_use ? o->data_use - 1 : SPOOL_DATA_USE;
        h->data.s_output = text_add(&t, o->data_output);
        if (o->allocators) {
            h->data.s_functions = text_add_bytes(&t, o->allocators, o->allocators_bytes);
            h->data.functions_bytes = (uint32_t)o->allocators_bytes;
        }
    }
    if (o->env_bytes) {
        h->s_env = text_add_bytes(&t, o->env_text, o->env_bytes);
        h->env_bytes = (uint32_t)o->env_bytes;
    }
    // Written last: a file without it is not a spool.
    h->magic = SPOOL_MAGIC;
    munmap(map, SPOOL_MAPS_OFF);
    free(cmd);
    free(desc);
    free(cwd);
    if (fcntl(fd, F_SETFD, 0) != 0)
        die(UTIL_USAGE, "%s: %s", *path, strerror(errno));
    return fd;
}
