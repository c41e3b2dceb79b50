// SPDX-License-Identifier: MIT
//
// What a running program has counted, and where its threads are. The spool is read as `quern
// recover` does, while the program runs: so the numbers of one screen are not from one instant. The
// layout is that of callgrind_control.
#include "cli/control/control.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "finish/spool/spool.h"
#include "symbols/symbols.h"

enum { DEPTH_MAX = 100 }; // frames of a thread that are shown

#define KNOWN FINISH_EVENTS

// Of finish_callgrind[]: the events of a run with --calls=yes, in the order of its profile.
static const char *event_name(int row)
{
    return finish_event_names[finish_callgrind[row].in];
}

// How often a direct call was executed.
struct called {
    uint64_t site, times;
    uint32_t map;
};

struct row {
    uint64_t count[SPOOL_EVENTS]; // in the order of shown events
    char *text;
};

struct thread {
    uint32_t slot;
    uint64_t total[SPOOL_EVENTS];
    struct row *row; // the innermost call first
    size_t rows;
};

struct shown {
    const struct control *c;
    const struct control_run *r;
    struct spool_file s;
    bool calls;
    int event[SPOOL_EVENTS]; // of the run, rows of finish_callgrind[]
    size_t events;
    int chosen[SPOOL_EVENTS]; // indices in `event`, in the order asked for
    size_t chosen_count;
    struct called *called;
    size_t called_count;
    struct thread *thread;
    size_t threads;
    struct symbols *symbols;
    struct symbols_module **module;
};

// ---- Events ----

// Whether what is counted of it are samples, of which only a whole profile makes estimates.
static bool is_estimated(const struct shown *v, enum spool_event e)
{
    bool misses = e == SPOOL_E_BCM || e == SPOOL_E_BIM || e == SPOOL_E_BRM;

    if (!spool_is_sampled(&v->s))
        return false;
    return (e >= SPOOL_E_CY && e < SPOOL_E_CY + SPOOL_CY_EVENTS) ||
           (misses && !v->s.h->machine.sampling.branches);
}

static void find_events(struct shown *v)
{
    for (size_t i = 0; i < KNOWN; i++) {
        enum spool_event e = finish_callgrind[i].inclusive;

        if (spool_event_counted(e, v->s.h->flags) && !is_estimated(v, e))
            v->event[v->events++] = (int)i;
    }
}

static bool is_named(int event, const char *name, size_t len)
{
    return strlen(event_name(event)) == len && memcmp(event_name(event), name, len) == 0;
}

static void warn_unknown(const struct shown *v, const char *name, size_t len)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (is_named((int)i, name, len) && is_estimated(v, finish_callgrind[i].inclusive)) {
            warn("process %d: %.*s is an estimate, of which only profiles know; `quern control "
                 "--dump` writes one",
                 v->r->pid, (int)len, name);
            return;
        }
    warn("process %d: %.*s is not counted", v->r->pid, (int)len, name);
}

static void choose_events(struct shown *v)
{
    const char *s = v->c->names;

    if (!s)
        for (size_t i = 0; i < v->events; i++)
            v->chosen[v->chosen_count++] = (int)i;
    while (s && *s) {
        size_t len = strcspn(s, ","), i = 0;

        while (i < v->events && !is_named(v->event[i], s, len))
            i++;
        if (i == v->events)
            warn_unknown(v, s, len);
        else if (v->chosen_count < SPOOL_EVENTS)
            v->chosen[v->chosen_count++] = (int)i;
        s += len + (s[len] == ',');
    }
}

// ---- Executions of calls ----

static int compare_called(const void *x, const void *y)
{
    const struct called *a = x, *b = y;

    if (a->map != b->map)
        return a->map < b->map ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static struct called *called_at(struct shown *v, uint32_t map, uint64_t site)
{
    struct called key = { .site = site, .map = map };

    return v->called_count ? bsearch(&key, v->called, v->called_count, sizeof(key), compare_called)
                           : NULL;
}

static void add_insn(void *ctx, const struct spool_walk_insn *in)
{
    struct shown *v = ctx;
    struct called *c = called_at(v, in->map, in->pc);

    if (c)
        c->times += in->executed;
}

static void find_called(struct shown *v)
{
    const struct spool_file *s = &v->s;
    size_t n = 0;

    v->called = xcalloc(s->edges_used + 1, sizeof(*v->called));
    for (size_t i = 0; i < s->edges_used; i++)
        if (s->edges[i].kind == SPOOL_EDGE_CALL)
            v->called[n++] = (struct called){ s->edges[i].site, 0, s->edges[i].site_map };
    qsort(v->called, n, sizeof(*v->called), compare_called);
    for (size_t i = 0; i < n; i++)
        if (!i || compare_called(&v->called[v->called_count - 1], &v->called[i]) != 0)
            v->called[v->called_count++] = v->called[i];
    spool_walk_counts(s, add_insn, v);
}

static bool is_call(const struct spool_edge *e)
{
    return e->kind == SPOOL_EDGE_CALL || e->kind == SPOOL_EDGE_INDIRECT ||
           e->kind == SPOOL_EDGE_JUMP;
}

static uint64_t times(struct shown *v, const struct spool_edge *e)
{
    const struct called *c = e->kind == SPOOL_EDGE_CALL ? called_at(v, e->site_map, e->site) : NULL;

    return v->s.counters[e->counter] + (c ? c->times : 0);
}

// ---- Statistics ----

static int compare_u64(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

static void print_functions(struct shown *v)
{
    const struct spool_file *s = &v->s;
    uint64_t *start = xcalloc(s->edges_used + 1, sizeof(*start)), executed = 0;
    size_t n = 0, functions = 0, contexts = 0;
    char buf[3][32];

    for (size_t i = 0; i < s->edges_used; i++) {
        const struct spool_edge *e = &s->edges[i];

        contexts += e->kind == SPOOL_EDGE_CONTEXT;
        if ((!is_call(e) && e->kind != SPOOL_EDGE_ROOT) || e->counter >= s->counters_used)
            continue;
        if (!e->plt)
            start[n++] = e->function;
        if (!is_call(e))
            continue;
        executed += times(v, e);
    }
    qsort(start, n, sizeof(*start), compare_u64);
    for (size_t i = 0; i < n; i++)
        functions += !i || start[i] != start[i - 1];
    free(start);
    text_print(stdout, "  Functions: %s (executed %s, contexts %s)\n",
               util_commas(buf[0], functions), util_commas(buf[1], executed),
               util_commas(buf[2], contexts ? contexts : functions));
}

static size_t call_sites(const struct spool_file *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->edges_used; i++)
        n += is_call(&s->edges[i]);
    return n;
}

static void print_stat(struct shown *v)
{
    char buf[2][32];

    printf("  Number of running threads: %zu, thread IDs:", v->threads);
    for (size_t i = 0; i < v->threads; i++)
        printf(" %u", v->thread[i].slot + 1);
    printf("\n  Events collected:");
    for (size_t i = 0; i < v->events; i++)
        text_print(stdout, " %s", event_name(v->event[i]));
    putchar('\n');
    if (v->calls)
        print_functions(v);
    text_print(stdout, "  Basic blocks: %s (executed %s", util_commas(buf[0], v->s.h->block_count),
               util_commas(buf[1], v->s.blocks_executed));
    if (v->calls)
        text_print(stdout, ", call sites %s", util_commas(buf[0], call_sites(&v->s)));
    puts(")");
}

// ---- Threads ----

static void open_symbols(struct shown *v)
{
    struct symbols_options o = { .no_demangle = (v->s.h->flags & SPOOL_F_NO_DEMANGLE) != 0 };

    v->symbols = symbols_new(&o);
    if (!v->symbols)
        die(UTIL_USAGE, "out of memory");
    v->module = xcalloc(v->s.maps_used + 1, sizeof(*v->module));
    for (uint64_t i = 0; i < v->s.maps_used; i++) {
        const struct spool_map *m = &v->s.maps[i];
        struct symbols_file f = { .path = spool_file_text(&v->s, m->path),
                                  .ino = m->ino,
                                  .mtime = m->mtime };

        if (!(m->flags & (SPOOL_MAP_VDSO | SPOOL_MAP_ANON | SPOOL_MAP_DELETED)) && f.path &&
            f.path[0] == '/')
            v->module[i] = symbols_file(v->symbols, &f);
    }
}

// The name of the function at an address, or the address; to be freed.
static char *name_of(struct shown *v, uint32_t map, uint64_t pc)
{
    struct symbols_place at = { 0 };
    uint64_t address = UINT64_MAX;

    if (map < v->s.maps_used && v->module[map])
        address =
            symbols_address(v->module[map], v->s.maps[map].offset + (pc - v->s.maps[map].start));
    if (address != UINT64_MAX)
        symbols_find(v->module[map], address, &at);
    if (at.function)
        return xstrdup(symbols_string(v->symbols, at.function));
    return xasprintf("0x%016llx", (unsigned long long)pc);
}

static const struct spool_edge *edge_of(const struct shown *v, uint32_t counter)
{
    for (size_t i = 0; i < v->s.edges_used; i++) {
        const struct spool_edge *e = &v->s.edges[i];

        if (e->counter == counter && counter < v->s.counters_used &&
            (is_call(e) || e->kind == SPOOL_EDGE_ROOT || e->kind == SPOOL_EDGE_SKIPPED))
            return e;
    }
    return NULL;
}

// The function called; through a linkage table its target, once that is known.
static uint64_t target_of(const struct shown *v, const struct spool_edge *e,
                          const struct spool_open_call *f, uint32_t *map)
{
    *map = e->target_map;
    if (!e->plt || (f->plt & SPOOL_FRAME_PLT))
        return e->function;
    for (size_t i = 0; i < v->s.edges_used; i++) {
        const struct spool_edge *x = &v->s.edges[i];

        if (x->kind == SPOOL_EDGE_PLT && x->site == e->target && x->target) {
            *map = spool_file_map(&v->s, x->target, e->target_map);
            return x->target;
        }
    }
    return e->function;
}

static void add_frame(struct shown *v, struct thread *t, const struct spool_open_call *f,
                      const uint64_t *total)
{
    uint64_t flags = v->s.h->flags, often = spool_event_index(SPOOL_E_I1MR, flags);
    const struct spool_edge *e = edge_of(v, f->counter);
    struct row *row;
    uint32_t map;
    uint64_t pc;
    char *name;

    if (!e)
        return;
    t->row = xrealloc(t->row, (t->rows + 1) * sizeof(*t->row));
    row = &t->row[t->rows++];
    memset(row, 0, sizeof(*row));
    for (size_t i = 0; i < v->chosen_count; i++) {
        uint32_t at = spool_event_index(finish_callgrind[v->event[v->chosen[i]]].inclusive, flags);

        if (at < often || (f->key & SPOOL_FRAME_FILLED))
            row->count[i] = total[at] + f->before[at] + 1;
    }
    pc = target_of(v, e, f, &map);
    name = name_of(v, map, pc);
    row->text = e->kind == SPOOL_EDGE_ROOT
                    ? xstrdup(name)
                    : xasprintf("%s (%llu x)", name, (unsigned long long)times(v, e));
    free(name);
}

// The open calls of a thread, the innermost first; returns their number.
static size_t read_frames(const struct shown *v, uint32_t slot, uint64_t top,
                          const struct spool_late *late, struct spool_open_call *f)
{
    uint64_t bytes = spool_frame_bytes(v->s.h->flags);
    uint64_t first = SPOOL_STACKS_OFF + spool_stack_at(slot);
    uint64_t at = spool_stack_offset(slot, top, SPOOL_FRAMES_BASE);
    size_t n = 0;

    if (at >= spool_stack_size(slot))
        return 0;
    for (at += first; at >= first && n < DEPTH_MAX; at -= bytes, n++)
        if (!spool_frames_read(v->s.h, v->r->fd, at, late, &f[n]))
            break;
    return n;
}

// Adds up the counts of a thread of a run without calls.
static void add_counts(void *ctx, const struct spool_walk_insn *in)
{
    struct shown *v = ctx;
    struct thread *t = &v->thread[v->threads - 1];

    for (size_t i = 0; i < v->chosen_count; i++)
        t->total[i] += in->counts[finish_callgrind[v->event[v->chosen[i]]].in];
}

static struct thread *new_thread(struct shown *v, uint32_t slot)
{
    struct thread *t;

    v->thread = xrealloc(v->thread, (v->threads + 1) * sizeof(*v->thread));
    t = &v->thread[v->threads++];
    memset(t, 0, sizeof(*t));
    t->slot = slot;
    return t;
}

static void add_called_thread(struct shown *v, uint32_t slot)
{
    uint64_t flags = v->s.h->flags, n = spool_event_index(SPOOL_EVENTS, flags);
    uint64_t words[2 * (SPOOL_EVENTS + 1)] = { 0 }, *total = words + 1;
    uint64_t at = spool_counters_at(slot) + v->s.h->calls * UINT64_C(8);
    static struct spool_open_call frame[DEPTH_MAX];
    struct thread *t;
    size_t frames = 0;
    struct spool_late late;
    bool later;

    if (pread(v->r->fd, words, 8, (off_t)at) != 8 || !words[0])
        return;
    later = spool_frames_late(v->s.h, v->r->fd, slot, total, &late);
    if (v->c->back)
        frames = read_frames(v, slot, words[0], later ? &late : NULL, frame);
    // Read after the frames: otherwise their costs could be negative.
    if (pread(v->r->fd, words, sizeof(words), (off_t)at) != (ssize_t)sizeof(words))
        return;
    if (later)
        spool_frames_late(v->s.h, v->r->fd, slot, total, &late);
    if ((flags & SPOOL_F_CONTEXTS) && total[n]) // not collecting: the totals for that follow
        total += n + 1;
    t = new_thread(v, slot);
    for (size_t i = 0; i < v->chosen_count; i++)
        t->total[i] =
            total[spool_event_index(finish_callgrind[v->event[v->chosen[i]]].inclusive, flags)];
    for (size_t i = 0; i < frames; i++)
        add_frame(v, t, &frame[i], total);
}

static void find_threads(struct shown *v)
{
    uint64_t slots =
        v->s.h->threads_used < SPOOL_THREADS_MAX ? v->s.h->threads_used : SPOOL_THREADS_MAX;

    for (uint32_t slot = 0; slot < slots; slot++) {
        if (spool_counters_owner(&v->s, slot) != slot)
            continue;
        if (v->calls) {
            add_called_thread(v, slot);
        } else {
            new_thread(v, slot);
            if (v->c->events && spool_counters_thread(&v->s, slot))
                spool_walk_counts(&v->s, add_counts, v);
        }
    }
    if (!v->calls && v->c->events)
        spool_counters_thread(&v->s, SPOOL_ALL_THREADS);
}

// ---- Tables ----

static void widen(const struct shown *v, const uint64_t *count, int *width)
{
    char buf[32];

    for (size_t i = 0; i < v->chosen_count; i++) {
        int n = (int)strlen(util_commas(buf, count[i]));

        width[i] = n > width[i] ? n : width[i];
    }
}

static void print_names(const struct shown *v, int *width)
{
    for (size_t i = 0; i < v->chosen_count; i++)
        text_print(stdout, "%*s ", width[i], event_name(v->event[v->chosen[i]]));
}

static void print_counts(const struct shown *v, const uint64_t *count, const int *width)
{
    char buf[32];

    for (size_t i = 0; i < v->chosen_count; i++)
        text_print(stdout, "%*s ", width[i], util_commas(buf, count[i]));
}

static void print_dots(const struct shown *v, const int *width)
{
    for (size_t i = 0; i < v->chosen_count; i++)
        text_print(stdout, "%*s ", width[i], ".");
}

static void first_widths(const struct shown *v, int *width)
{
    for (size_t i = 0; i < v->chosen_count; i++)
        width[i] = (int)strlen(event_name(v->event[v->chosen[i]]));
}

static void print_totals(const struct shown *v)
{
    int width[SPOOL_EVENTS];

    first_widths(v, width);
    for (size_t i = 0; i < v->threads; i++)
        widen(v, v->thread[i].total, width);
    printf("\n  Totals:");
    print_names(v, width);
    putchar('\n');
    for (size_t i = 0; i < v->threads; i++) {
        printf("   Th%2u  ", v->thread[i].slot + 1);
        print_counts(v, v->thread[i].total, width);
        putchar('\n');
    }
}

static void print_stacks(const struct shown *v)
{
    int width[SPOOL_EVENTS];

    first_widths(v, width);
    for (size_t i = 0; i < v->threads; i++)
        for (size_t k = 0; k + 1 < v->thread[i].rows; k++)
            widen(v, v->thread[i].row[k].count, width);
    for (size_t i = 0; i < v->threads; i++) {
        const struct thread *t = &v->thread[i];

        printf("\n  Frame: ");
        if (v->c->events)
            print_names(v, width);
        printf("Backtrace for Thread %u\n", t->slot + 1);
        for (size_t k = 0; k < t->rows; k++) {
            printf("   [%2zu]  ", k);
            if (v->c->events && k + 1 < t->rows)
                print_counts(v, t->row[k].count, width);
            else if (v->c->events) // nobody called it
                print_dots(v, width);
            text_print(stdout, "%s\n", t->row[k].text);
        }
        putchar('\n');
    }
}

static void put_away(struct shown *v)
{
    for (size_t i = 0; i < v->threads; i++) {
        for (size_t k = 0; k < v->thread[i].rows; k++)
            free(v->thread[i].row[k].text);
        free(v->thread[i].row);
    }
    free(v->thread);
    free(v->called);
    free(v->module);
    if (v->symbols)
        symbols_free(v->symbols);
    spool_file_close(&v->s);
}

bool control_show(const struct control *c, const struct control_run *r)
{
    struct shown v = {
        .c = c,
        .r = r,
    };
    char err[1024];

    if ((r->h.flags & SPOOL_F_CALLS) && !r->h.control.counts) {
        puts("  No information available as instrumentation is switched off.\n");
        return true;
    }
    if (spool_file_open(&v.s, r->fd, err, sizeof(err)) != 0) {
        warn("process %d: %s", r->pid, err);
        return false;
    }
    v.calls = (v.s.h->flags & SPOOL_F_CALLS) != 0;
    find_events(&v);
    choose_events(&v);
    if (v.calls && (c->stat || c->back))
        find_called(&v);
    if (c->back)
        open_symbols(&v);
    find_threads(&v);
    if (c->stat)
        print_stat(&v);
    if (c->events)
        print_totals(&v);
    if (c->back && v.calls)
        print_stacks(&v);
    else if (c->back)
        puts("  No call stacks: `quern run --calls=yes` records them.");
    if (!c->back || !v.calls)
        putchar('\n');
    put_away(&v);
    return true;
}
