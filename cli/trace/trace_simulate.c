// SPDX-License-Identifier: MIT
//
// `quern trace --simulate FILE`: feeds the items of a trace to the plain simulators of sim/, and
// prints the counts of every instruction. It shares nothing with the simulation of the engine:
// tests/trace compares the two.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/trace/trace.h"
#include "share/table.h"
#include "sim/branch.h"
#include "sim/cache.h"

enum event { IR, I1MR, ILMR, DR, D1MR, DLMR, DW, D1MW, DLMW, BC, BCM, BI, BIM, EVENTS };

static const char *const names[EVENTS] = { "Ir",   "I1mr", "ILmr", "Dr",  "D1mr", "DLmr", "Dw",
                                           "D1mw", "DLmw", "Bc",   "Bcm", "Bi",   "Bim" };

// A mapped file: instructions are named by it.
struct mapping {
    uint64_t start, end, offset;
    char *path;
    uint64_t turn; // of all mappings that the traces name: later ones are in front of earlier ones
    size_t first;  // the first one of the same file, at the same address, plus one
};

struct counts {
    uint64_t pc;
    size_t map; // mapping_of() it
    uint64_t n[EVENTS];
};

// The caches and the predictor of a thread; with --serialize-threads all threads share one.
struct unit {
    struct sim_cache i1, d1;
    struct sim_branch branch;
};

enum { DEPTH_MAX = 1000 }; // processes in sequence, each forked by the one before

struct simulation {
    struct sim_geometry i1, d1, ll;
    uint32_t min_line;
    bool one_unit;
    struct unit **unit; // by the thread's number
    size_t units;
    struct sim_cache last;
    struct counts *counts;
    size_t count, capacity;
    struct table index;
    size_t at; // index of the last instruction looked up
    struct mapping *map;
    size_t maps, map_capacity;
    uint64_t turns;
    uint64_t from, to; // these addresses are in mapping `in`
    size_t in;
    unsigned depth;
};

// ---- Counts ----

static uint64_t hash(uint64_t pc, size_t map)
{
    return (pc ^ (uint64_t)map << 48) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static void index_all(struct simulation *s)
{
    size_t slots = table_slots(s->capacity);

    free(s->index.slot);
    s->index = table_over(xcalloc(slots, sizeof(uint32_t)), slots);
    for (size_t i = 0; i < s->count; i++)
        table_add(&s->index, hash(s->counts[i].pc, s->counts[i].map), (uint32_t)i);
    s->at = SIZE_MAX;
}

static void grow(struct simulation *s)
{
    s->capacity = s->capacity ? 2 * s->capacity : 1024;
    s->counts = xrealloc(s->counts, s->capacity * sizeof(*s->counts));
    index_all(s);
}

static bool covers(const struct mapping *m, uint64_t pc)
{
    return pc >= m->start && pc < m->end;
}

// Notes the addresses around pc that m, in front of all others there, has.
static void note_range(struct simulation *s, const struct mapping *m, uint64_t pc)
{
    s->from = m->start;
    s->to = m->end;
    for (size_t i = 0; i < s->maps; i++) {
        const struct mapping *over = &s->map[i];

        if (over->turn <= m->turn)
            continue;
        if (over->end <= pc && over->end > s->from)
            s->from = over->end;
        if (over->start > pc && over->start < s->to)
            s->to = over->start;
    }
    s->in = m->first;
}

// The number of the mapping that the instruction at pc is in, plus one; 0: none is known. Of
// mappings that have the same file in the same place, the first one's.
static size_t mapping_of(struct simulation *s, uint64_t pc)
{
    const struct mapping *front = NULL;

    if (pc >= s->from && pc < s->to)
        return s->in;
    for (size_t i = 0; i < s->maps; i++)
        if (covers(&s->map[i], pc) && (!front || s->map[i].turn > front->turn))
            front = &s->map[i];
    if (!front)
        return 0;
    note_range(s, front, pc);
    return s->in;
}

static bool is_known(const struct mapping *m, const struct trace_reader *r,
                     const struct trace_item *it)
{
    return m->start == it->pc && m->end == it->addr && m->offset == r->offset &&
           strcmp(m->path, r->path) == 0;
}

static size_t first_like(const struct simulation *s, const struct mapping *like)
{
    size_t i = 0;

    while (i < s->maps && (s->map[i].start - s->map[i].offset != like->start - like->offset ||
                           strcmp(s->map[i].path, like->path) != 0))
        i++;
    return i + 1;
}

static void add_mapping(struct simulation *s, const struct trace_reader *r,
                        const struct trace_item *it)
{
    struct mapping *m;
    size_t i = 0;

    s->from = s->to = 0;
    while (i < s->maps && !is_known(&s->map[i], r, it))
        i++;
    if (i < s->maps) {
        s->map[i].turn = ++s->turns;
        return;
    }
    if (s->maps == s->map_capacity) {
        s->map_capacity = s->map_capacity ? 2 * s->map_capacity : 16;
        s->map = xrealloc(s->map, s->map_capacity * sizeof(*s->map));
    }
    m = &s->map[s->maps];
    *m = (struct mapping){ it->pc, it->addr, r->offset, xstrdup(r->path), ++s->turns, 0 };
    m->first = first_like(s, m);
    s->maps++;
}

static uint64_t *counts_of(struct simulation *s, uint64_t pc)
{
    size_t map = mapping_of(s, pc), at;

    if (s->at < s->count && s->counts[s->at].pc == pc && s->counts[s->at].map == map)
        return s->counts[s->at].n;
    if (s->count == s->capacity)
        grow(s);
    for (at = table_first(&s->index, hash(pc, map)); table_used(&s->index, at);
         at = table_next(&s->index, at)) {
        s->at = table_number(&s->index, at);
        if (s->counts[s->at].pc == pc && s->counts[s->at].map == map)
            return s->counts[s->at].n;
    }
    if (s->count == UINT32_MAX - 1)
        die(UTIL_USAGE, "the trace has too many different instructions");
    s->at = s->count++;
    table_put(&s->index, at, (uint32_t)s->at);
    s->counts[s->at] = (struct counts){ .pc = pc, .map = map };
    return s->counts[s->at].n;
}

// ---- Caches ----

static void cache_make(struct sim_cache *c, const struct sim_geometry *g)
{
    sim_cache_init_zeroed(c, g, xcalloc(1, sim_cache_bytes(g)));
}

static struct unit *unit_of(struct simulation *s, uint32_t thread)
{
    size_t i = s->one_unit ? 0 : thread;

    if (i >= s->units) {
        size_t more = i + 16;

        s->unit = xrealloc(s->unit, more * sizeof(*s->unit));
        memset(s->unit + s->units, 0, (more - s->units) * sizeof(*s->unit));
        s->units = more;
    }
    if (!s->unit[i]) {
        s->unit[i] = xcalloc(1, sizeof(*s->unit[i]));
        cache_make(&s->unit[i]->i1, &s->i1);
        cache_make(&s->unit[i]->d1, &s->d1);
    }
    return s->unit[i];
}

static void clear(struct simulation *s)
{
    for (size_t i = 0; i < s->units; i++) {
        if (!s->unit[i])
            continue;
        memset(s->unit[i]->i1.tags, 0, sim_cache_bytes(&s->i1));
        memset(s->unit[i]->d1.tags, 0, sim_cache_bytes(&s->d1));
    }
    memset(s->last.tags, 0, sim_cache_bytes(&s->ll));
}

// Counts `event`, unless the instruction was undone; the two events behind it are its misses.
static void reference(struct simulation *s, struct sim_cache *l1, const struct trace_item *item,
                      enum event event)
{
    uint64_t *n = counts_of(s, item->pc);
    uint32_t size = event == IR ? item->size : sim_clip(item->size, s->min_line);

    n[event] += !item->undone;
    if (!sim_cache_ref(l1, item->addr, size))
        return;
    n[event + 1]++;
    n[event + 2] += sim_cache_ref_last(&s->last, item->addr, size);
}

static void item(struct simulation *s, const struct trace_reader *r, const struct trace_item *it)
{
    struct unit *u = it->thread ? unit_of(s, it->thread) : NULL;

    switch (it->what) {
    case TRACE_FETCH: reference(s, &u->i1, it, IR); break;
    case TRACE_READ:
    case TRACE_MODIFY: reference(s, &u->d1, it, DR); break;
    case TRACE_WRITE: reference(s, &u->d1, it, DW); break;
    case TRACE_COND: {
        uint64_t *n = counts_of(s, it->pc);

        n[BC] += !it->undone;
        n[BCM] += sim_branch_cond(&u->branch, it->pc, it->taken);
        break;
    }
    case TRACE_INDIRECT: {
        uint64_t *n = counts_of(s, it->pc);

        n[BI]++;
        n[BIM] += sim_branch_indirect(&u->branch, it->pc, it->addr);
        break;
    }
    case TRACE_AGAIN: counts_of(s, it->pc)[IR]++; break;
    case TRACE_TAKE_BACK: counts_of(s, it->pc)[IR]--; break;
    case TRACE_COUNT_READ: counts_of(s, it->pc)[DR]++; break;
    case TRACE_HISTORY: u->branch.history = it->addr & ((1u << SIM_BRANCH_HISTORY_BITS) - 1); break;
    case TRACE_CLEAR: clear(s); break;
    case TRACE_ZERO:
        for (size_t i = 0; i < s->count; i++)
            memset(s->counts[i].n, 0, sizeof(s->counts[i].n));
        break;
    case TRACE_MAP: add_mapping(s, r, it); break;
    }
}

// ---- Files ----

static void items_of(struct simulation *s, const char *path, struct trace_reader *r);

// The trace of the parent process: at its path, or beside the trace of the child.
static void parent_of(struct simulation *s, const char *path, const struct trace_reader *child)
{
    struct trace_reader *r = xmalloc(sizeof(*r));
    char *dir = util_dirname(path);
    char *beside = xasprintf("%s/%s", dir, util_basename(child->parent));
    const char *name = child->parent;
    FILE *f = fopen(name, "rbe");

    if (!f) {
        name = beside;
        f = fopen(name, "rbe");
    }
    if (!f)
        die(UTIL_USAGE,
            "%s: it continues %s, the trace of the parent process: %s; put that file "
            "beside it",
            path, child->parent, strerror(errno));
    if (trace_read_open(r, f))
        trace_remark_die(name, r);
    if (++s->depth > DEPTH_MAX)
        die(UTIL_USAGE, "%s: it continues more than %d others in sequence, or itself", name,
            DEPTH_MAX);
    r->end = child->header.parent_end;
    items_of(s, name, r);
    fclose(f);
    trace_read_close(r);
    free(r);
    free(beside);
    free(dir);
}

static void items_of(struct simulation *s, const char *path, struct trace_reader *r)
{
    struct trace_item it;
    int ret;

    if (r->header.parent_end)
        parent_of(s, path, r);
    while ((ret = trace_read_next(r, &it)) > 0)
        item(s, r, &it);
    if (ret < 0)
        trace_remark_die(path, r);
    trace_remark_end(path, r);
}

// ---- The result ----

static int by_pc(const void *a, const void *b)
{
    const struct counts *x = a, *y = b;

    if (x->pc != y->pc)
        return x->pc > y->pc ? 1 : -1;
    return (x->map > y->map) - (x->map < y->map);
}

// The object, and the address of its byte 0.
static void print_mapping(const struct simulation *s, size_t map)
{
    const struct mapping *m = map ? &s->map[map - 1] : NULL;

    if (m && *m->path)
        text_print(stdout, "ob=%s 0x%" PRIx64 "\n", m->path, m->start - m->offset);
    else
        puts("ob=??? 0x0");
}

static void print_counts(const uint64_t *n, unsigned events)
{
    for (unsigned e = 0; e < events; e++)
        printf(" %" PRIu64, n[e]);
    putchar('\n');
}

static void print(struct simulation *s, const struct trace_options *o, const struct trace_reader *r)
{
    unsigned events = o->flags & SPOOL_F_BRANCH_SIM ? EVENTS : BC;
    uint64_t total[EVENTS] = { 0 };
    char *desc = run_spool_desc(&o->caches);

    printf("desc: ");
    for (const char *c = desc; *c; c++) {
        putchar(*c);
        if (*c == '\n')
            printf("desc: ");
    }
    free(desc);
    text_print(stdout, "\ncmd: %s\nevents:", r->command);
    for (unsigned e = 0; e < events; e++)
        text_print(stdout, " %s", names[e]);
    putchar('\n');
    if (s->count)
        qsort(s->counts, s->count, sizeof(*s->counts), by_pc);
    for (size_t i = 0, map = SIZE_MAX; i < s->count; i++) {
        bool any = false;

        for (unsigned e = 0; e < events; e++) {
            total[e] += s->counts[i].n[e];
            any |= s->counts[i].n[e] != 0;
        }
        if (!any || o->totals)
            continue;
        if (s->counts[i].map != map)
            print_mapping(s, map = s->counts[i].map);
        printf("0x%" PRIx64, s->counts[i].pc);
        print_counts(s->counts[i].n, events);
    }
    printf("summary:");
    print_counts(total, events);
}

static struct sim_geometry settle(struct run_cache *c, const struct reftrace_cache *run, bool last,
                                  const char *name)
{
    char *sentence;

    if (!c->given)
        c->g = (struct spool_geometry){ run->size, run->assoc, run->line };
    sentence = run_cache_fit(&c->g, last, name);
    if (sentence)
        warn("%s", sentence);
    free(sentence);
    return (struct sim_geometry){ c->g.size, c->g.assoc, c->g.line };
}

void trace_simulate(struct trace_options *o, const char *path, struct trace_reader *r)
{
    struct simulation s = { 0 };

    s.i1 = settle(&o->caches.i1, &r->header.i1, false, "I1");
    s.d1 = settle(&o->caches.d1, &r->header.d1, false, "D1");
    s.ll = settle(&o->caches.ll, &r->header.ll, true, "LL");
    s.min_line = s.i1.line < s.d1.line ? s.i1.line : s.d1.line;
    if (s.ll.line < s.min_line)
        s.min_line = s.ll.line;
    s.one_unit = r->header.flags & REFTRACE_F_SERIALIZE;
    cache_make(&s.last, &s.ll);
    items_of(&s, path, r);
    print(&s, o, r);
    for (size_t i = 0; i < s.units; i++) {
        if (s.unit[i]) {
            free(s.unit[i]->i1.tags);
            free(s.unit[i]->d1.tags);
        }
        free(s.unit[i]);
    }
    free(s.unit);
    free(s.last.tags);
    free(s.counts);
    free(s.index.slot);
    for (size_t i = 0; i < s.maps; i++)
        free(s.map[i].path);
    free(s.map);
}
