// SPDX-License-Identifier: MIT
//
// Joining, subtracting, rewriting; many files with all processors.
#include "profile/sum/merger.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/model/text.h"

int quern_merger_join(struct quern_merger *m, struct quern_merger *from, struct quern_error *err)
{
    size_t added = m->added + from->added;

    if (!from->added)
        return 0;
    if (from->order < m->order) { // the header of the earlier file stays
        struct quern_merger t = *m;
        *m = *from;
        *from = t;
        if (!from->added)
            return 0;
    }
    char *name = from->name ? strdup(from->name) : NULL;
    struct quern_profile *p = NULL;
    if (name || !from->name)
        p = quern_merger_take(from, err);
    if (!p) {
        free(name);
        return -errno;
    }
    int rc = quern_merger_add(m, p, name, err);
    m->added = added;
    free(name);
    quern_profile_free(p);
    return rc;
}

static void clear(struct quern_error *err)
{
    if (err)
        memset(err, 0, sizeof(*err));
}

// The result of a merger of this call only, which ends here. NULL: errno is set, and *err if it
// gives a reason.
static struct quern_profile *finish(struct quern_merger *m, int rc, struct quern_error *err)
{
    struct quern_profile *out = NULL;

    if (rc == -ENOMEM && err && !err->code)
        text_error(err, ENOMEM, NULL, "not enough memory for the sum");
    if (rc < 0)
        errno = -rc;
    else
        out = quern_merger_take(m, err);
    quern_merger_free(m);
    return out;
}

struct quern_profile *quern_profile_rewrite(const struct quern_profile *p,
                                            const struct quern_rewrite *file,
                                            const struct quern_rewrite *func,
                                            struct quern_error *err)
{
    struct fold f = { .sign = 1, .part = -1, .file = file, .func = func };
    struct quern_merger *m = quern_merger_new();

    clear(err);
    return finish(m, m ? merger_add(m, p, NULL, &f, err) : -ENOMEM, err);
}

struct quern_profile *quern_profile_subtract(const struct quern_profile *new_,
                                             const struct quern_profile *old, int by_func,
                                             struct quern_error *err)
{
    unsigned flags = by_func ? FOLD_LINE | FOLD_ADDR | FOLD_JUMPS : 0;
    struct fold plus = { .flags = flags, .sign = 1, .part = -1 };
    struct fold minus = { .flags = flags, .sign = -1, .part = -1 };
    struct quern_merger *m = quern_merger_new();
    int rc = -ENOMEM;

    clear(err);
    if (m)
        rc = merger_add(m, new_, "the new profile", &plus, err);
    if (rc == 0)
        rc = merger_add(m, old, "the old profile", &minus, err);
    return finish(m, rc, err);
}

// ---- Many files, all processors ----

struct work {
    const char *const *paths;
    size_t n, next; // next: atomic
    struct quern_read_opts read;
    pthread_mutex_t lock; // diagnostics and the first error
    void (*diag)(void *ctx, const struct quern_diag *d);
    void *diag_ctx;
    struct quern_error err;
    size_t err_at; // the error of the earliest file is the one reported
    int failed;
};

struct worker {
    struct work *work;
    struct quern_merger *m;
    pthread_t thread;
};

static void locked_diag(void *ctx, const struct quern_diag *d)
{
    struct work *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->diag(w->diag_ctx, d);
    pthread_mutex_unlock(&w->lock);
}

static void *work_run(void *arg)
{
    struct worker *self = arg;
    struct work *w = self->work;

    for (;;) {
        size_t i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
        struct quern_error err = { 0 };
        if (i >= w->n || __atomic_load_n(&w->failed, __ATOMIC_RELAXED))
            return NULL;
        struct quern_profile *p = quern_profile_read(w->paths[i], &w->read, &err);
        int rc = p ? quern_merger_add(self->m, p, w->paths[i], &err) : -errno;
        if (p && p->event_count && i < self->m->order)
            self->m->order = i;
        quern_profile_free(p);
        if (rc < 0) {
            pthread_mutex_lock(&w->lock);
            if (!w->failed || i < w->err_at) {
                w->err = err;
                w->err_at = i;
            }
            __atomic_store_n(&w->failed, rc, __ATOMIC_RELAXED);
            pthread_mutex_unlock(&w->lock);
            return NULL;
        }
    }
}

static size_t thread_count(size_t wanted, size_t n)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = wanted ? wanted : cpus > 0 ? (size_t)cpus : 1;

    if (threads > n)
        threads = n ? n : 1;
    return threads > 64 ? 64 : threads;
}

// Adds every file to one of the workers. The first worker is this thread; if a thread cannot be
// created, there is one less.
static int run_workers(struct worker *workers, size_t threads)
{
    size_t started = 0;

    for (size_t i = 0; i < threads; i++)
        if (!workers[i].m)
            return -ENOMEM;
    for (size_t i = 1; i < threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, work_run, &workers[i]))
            break;
        started = i;
    }
    work_run(&workers[0]);
    for (size_t i = 1; i <= started; i++)
        pthread_join(workers[i].thread, NULL);
    return workers[0].work->failed;
}

struct quern_profile *quern_profile_merge_files(const char *const *paths, size_t n,
                                                const struct quern_merge_opts *opts,
                                                struct quern_error *err)
{
    struct work w = { .paths = paths, .n = n };
    struct quern_merge_opts o = { 0 };
    struct quern_profile *out = NULL;
    int rc;

    clear(err);
    if (opts)
        memcpy(&o, opts, opts->sz < sizeof(o) ? opts->sz : sizeof(o));
    w.read = o.read;
    if (!w.read.sz)
        w.read.sz = sizeof(w.read);
    if (w.read.diag) {
        w.diag = w.read.diag;
        w.diag_ctx = w.read.diag_ctx;
        w.read.diag = locked_diag;
        w.read.diag_ctx = &w;
    }
    size_t threads = thread_count(o.threads, n);
    struct worker *workers = calloc(threads, sizeof(*workers));
    if (!workers) {
        text_error(err, ENOMEM, NULL, "not enough memory for the sum");
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_init(&w.lock, NULL);
    for (size_t i = 0; i < threads; i++)
        workers[i] = (struct worker){ .work = &w, .m = quern_merger_new() };
    rc = run_workers(workers, threads);
    if (w.failed && err)
        *err = w.err;
    for (size_t i = 1; i < threads && !rc; i++)
        rc = quern_merger_join(workers[0].m, workers[i].m, err);
    if (!rc)
        out = quern_merger_take(workers[0].m, err);
    for (size_t i = 0; i < threads; i++)
        quern_merger_free(workers[i].m);
    free(workers);
    pthread_mutex_destroy(&w.lock);
    if (rc == -ENOMEM && err && !err->code)
        text_error(err, ENOMEM, NULL, "not enough memory for the sum");
    if (!out && rc)
        errno = -rc;
    return out;
}
