// SPDX-License-Identifier: MIT
//
// The profile of a run with --calls=yes: self costs by object, function, file and line, and the
// edges that the engine recorded, through libquern, in Callgrind's format.
//
// A function is a symbol of an object. Its own file is that of its first line; code in it that
// comes from elsewhere (inlined) has the file it comes from. Linkage tables are not functions: the
// cost of their instructions belongs to their callers, at the line of the call.
//
// With --inline=yes the body of an inlined function is that function: the body's code is its cost,
// and the surrounding code calls it. Such a call costs what the instructions in the body and their
// calls cost, so the sums are the same as without.
#include "finish/sums/call_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/sums/call_estimate.h"
#include "quern/profile.h"
#include "share/table.h"

#define EVENTS FINISH_EVENTS

// ---- Places ----

enum { CALLERS_MAX = 64 }; // of a context: a damaged spool may have a cycle

// The first instruction of a function that was entered.
struct start {
    uint32_t map, function, file;
    uint64_t pc;
};

struct site {
    uint64_t pc, executed;
    uint64_t target, called; // of a jump; how often it was taken for a call
    uint32_t map;
};

// An inlined function as it is called from one function.
struct inlining {
    const struct symbols_body *body;
    uint32_t map, caller;
    uint64_t calls, counts[EVENTS];
};

// Where a cost is, and the inlined body around it, if there is one.
struct spot {
    struct quern_site at;
    uint32_t map, func; // the symbol's function
    uint64_t addr;
    const struct symbols_body *body;
};

// A call whose cost is not known before those of all functions are.
struct call {
    struct spot spot;
    struct quern_site to;
    uint64_t calls, counts[EVENTS];
};

struct sampled {
    int row[CALL_ESTIMATES + 1];      // of call_graph.event: Cy last; -1: the run does not count it
    uint64_t plt[EVENTS];             // all costs in linkage tables
    uint64_t (*self)[CALL_ESTIMATES]; // of functions of the profile, by number
    size_t functions;
    struct call *call; // the first of them are those in `estimate`
    struct call_estimate *estimate;
    size_t calls, room;
};

struct call_graph {
    const struct spool_file *s;
    struct places *places;
    struct quern_profile *p;
    uint32_t *string; // of the profile, by number of symbols/; 0: not yet, else plus one
    size_t strings;
    uint32_t *object;  // the same by map
    uint32_t *context; // functions of the profile, by context
    struct start *start;
    size_t starts;
    struct site *site; // direct calls and jumps
    size_t sites;
    struct table site_table;
    uint32_t *plt_target; // edges of linkage tables' entries to their targets
    size_t plt_targets;
    struct table plt_table;
    struct inlining *inlining;
    size_t inlinings, inlinings_room;
    struct table inlining_table;
    int event[EVENTS]; // rows of finish_callgrind[] that the run counts
    size_t n;
    uint64_t plt[EVENTS]; // costs in linkage tables, not assigned to a caller yet
    struct quern_site plt_at;
    // The sums of all costs so far, self and inclusive, and of calls.
    uint64_t sum[EVENTS + 1];
    struct finish_totals *totals;
    struct sampled *sampled; // of a run whose core timed samples
    uint64_t bad;            // records that were left out
    int rc;
};

// Building the profile may fail for lack of memory: then it is not written.
static void must(struct call_graph *g, int rc)
{
    if (rc != 0)
        g->rc = -1;
}

static uint32_t string_of(struct call_graph *g, const char *s)
{
    uint32_t number = quern_profile_string(g->p, s, -1);

    must(g, number == QUERN_NONE && *s && strcmp(s, "???") != 0);
    return number;
}

static uint32_t func_of(struct call_graph *g, uint32_t object, uint32_t file, uint32_t name)
{
    uint32_t func = quern_profile_func(g->p, object, file, name);

    must(g, func == QUERN_NONE);
    return func;
}

static uint32_t profile_string(struct call_graph *g, uint32_t number)
{
    if (number == 0)
        return QUERN_NONE;
    if (number >= g->strings) {
        size_t room = g->strings ? g->strings : 1024;

        while (room <= number)
            room *= 2;
        g->string = xrealloc(g->string, room * sizeof(*g->string));
        memset(g->string + g->strings, 0, (room - g->strings) * sizeof(*g->string));
        g->strings = room;
    }
    if (!g->string[number])
        g->string[number] = string_of(g, places_text(g->places, number)) + 1;
    return g->string[number] - 1;
}

static uint32_t object_of(struct call_graph *g, uint32_t map)
{
    const struct spool_map *m = &g->s->maps[map];
    const char *path = m->flags & SPOOL_MAP_VDSO   ? "[vdso]"
                       : m->flags & SPOOL_MAP_ANON ? NULL
                                                   : spool_file_text(g->s, m->path);

    if (!g->object[map])
        g->object[map] = (path ? string_of(g, path) : QUERN_NONE) + 1;
    return g->object[map] - 1;
}

static int compare_starts(const void *x, const void *y)
{
    const struct start *a = x, *b = y;

    if (a->map != b->map)
        return a->map < b->map ? -1 : 1;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

// The file of the function that contains an instruction: that of the last function start before it,
// if the name is the same.
static uint32_t own_file(const struct call_graph *g, uint32_t map, uint64_t pc,
                         const struct symbols_place *at)
{
    size_t lo = 0, hi = g->starts;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct start *s = &g->start[mid];

        if (s->map < map || (s->map == map && s->pc <= pc))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo && g->start[lo - 1].map == map && g->start[lo - 1].function == at->function)
        return g->start[lo - 1].file;
    return at->file;
}

static const struct spool_edge *edge_at(const struct call_graph *g, size_t i)
{
    return &g->s->edges[i];
}

// The record of a context; NULL: there is none.
static const struct spool_edge *context_record(const struct call_graph *g, uint32_t context)
{
    const struct spool_edge *e;

    if (context == 0 || context > g->s->edges_used)
        return NULL;
    e = edge_at(g, context - 1);
    return e->kind != SPOOL_EDGE_CONTEXT || e->target_map >= g->s->maps_used ? NULL : e;
}

// "fn'2'caller'its-caller": Callgrind's name of a function in a context.
static char *context_name(const struct call_graph *g, const struct spool_edge *e, uint32_t function)
{
    const char *own = places_text(g->places, function);
    char *name = xstrdup(*own ? own : "???");

    if (e->to > 1) {
        char *more = xasprintf("%s'%u", name, e->to);

        free(name);
        name = more;
    }
    for (int i = 0; i < CALLERS_MAX && (e = context_record(g, e->from)); i++) {
        struct symbols_place at = { 0 };
        const char *caller;
        char *more;

        places_find(g->places, e->target_map, e->function, &at);
        caller = places_text(g->places, at.function);
        more = xasprintf("%s'%s", name, *caller ? caller : "???");
        free(name);
        name = more;
    }
    return name;
}

// The function of a context; QUERN_NONE: there is none.
static uint32_t context_func(struct call_graph *g, uint32_t context)
{
    const struct spool_edge *e = context_record(g, context);
    struct symbols_place at = { 0 };
    char *name;

    if (!e)
        return QUERN_NONE;
    if (g->context[context])
        return g->context[context] - 1;
    places_find(g->places, e->target_map, e->function, &at);
    name = context_name(g, e, at.function);
    g->context[context] = func_of(g, object_of(g, e->target_map),
                                  profile_string(g, own_file(g, e->target_map, e->function, &at)),
                                  string_of(g, name)) +
                          1;
    free(name);
    return g->context[context] - 1;
}

static struct quern_site site_of(struct call_graph *g, uint32_t map, uint64_t pc, uint32_t context)
{
    struct symbols_place at = { 0 };
    uint64_t addr = places_find(g->places, map, pc, &at);
    uint32_t func = context_func(g, context);

    if (func == QUERN_NONE)
        func = func_of(g, object_of(g, map), profile_string(g, own_file(g, map, pc, &at)),
                       profile_string(g, at.function));
    return (struct quern_site){
        .func = func,
        .file = profile_string(g, at.file),
        .line = at.line,
        .addr = g->s->h->flags & SPOOL_F_INSTR ? addr : 0,
    };
}

static uint32_t body_func(struct call_graph *g, uint32_t map, const struct symbols_body *body)
{
    return func_of(g, object_of(g, map), profile_string(g, body->file),
                   profile_string(g, body->function));
}

static struct spot spot_of(struct call_graph *g, uint32_t map, uint64_t pc, uint32_t context)
{
    struct spot spot = { .at = site_of(g, map, pc, context), .map = map };

    spot.func = spot.at.func;
    if (g->s->h->flags & SPOOL_F_INLINE)
        spot.body = places_body(g->places, map, pc, &spot.addr);
    if (spot.body)
        spot.at.func = body_func(g, map, spot.body);
    return spot;
}

// False for records of a damaged spool, for those of an earlier run, and for those that give only a
// linkage table entry's target.
static bool usable(const struct call_graph *g, const struct spool_edge *e)
{
    uint64_t counters = 1 + (e->plt ? 2 : 1) * g->n;

    if (spool_edge_is_jump(e->kind))
        counters = e->kind != SPOOL_EDGE_GOTO;
    return e->kind != SPOOL_EDGE_PLT && e->kind != SPOOL_EDGE_CONTEXT &&
           e->kind != SPOOL_EDGE_PIECE && e->kind != SPOOL_EDGE_SYSCALL &&
           e->kind != SPOOL_EDGE_ACCOUNT && e->kind != SPOOL_EDGE_DORMANT &&
           e->target_map < g->s->maps_used &&
           (e->kind == SPOOL_EDGE_ROOT || e->site_map < g->s->maps_used) &&
           e->counter + counters <= g->s->counters_used;
}

// Most functions are called from many places.
static size_t unique_starts(struct start *start, size_t n)
{
    size_t kept = 0;

    qsort(start, n, sizeof(*start), compare_starts);
    for (size_t i = 0; i < n; i++) {
        if (!kept || compare_starts(&start[kept - 1], &start[i]) != 0)
            start[kept++] = start[i];
    }
    return kept;
}

static void find_starts(struct call_graph *g)
{
    size_t n = 0;

    g->start = xmalloc((g->s->edges_used + 1) * sizeof(*g->start));
    for (size_t i = 0; i < g->s->edges_used; i++) {
        const struct spool_edge *e = edge_at(g, i);
        bool entry = e->kind == SPOOL_EDGE_PLT && e->target;
        struct start at = { .map = e->target_map, .pc = entry ? e->target : e->function };

        if (entry)
            at.map = spool_file_map(g->s, at.pc, at.map);
        if (!(entry ? at.map < g->s->maps_used : usable(g, e) && !e->plt) ||
            spool_edge_is_jump(e->kind) || e->kind == SPOOL_EDGE_SKIPPED)
            continue;
        g->start[n++] = at;
    }
    g->starts = unique_starts(g->start, n);
    for (size_t i = 0; i < g->starts; i++) {
        struct start *at = &g->start[i];
        struct symbols_place place = { 0 };

        places_find(g->places, at->map, at->pc, &place);
        at->function = place.function;
        at->file = place.file;
    }
}

// ---- Direct calls and jumps ----

static uint64_t site_hash(uint64_t pc, uint32_t map)
{
    return ((pc ^ (uint64_t)map << 48) * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
}

static struct site *site_find(const struct call_graph *g, uint64_t pc, uint32_t map, size_t *at)
{
    for (*at = table_first(&g->site_table, site_hash(pc, map)); table_used(&g->site_table, *at);
         *at = table_next(&g->site_table, *at)) {
        struct site *s = &g->site[table_number(&g->site_table, *at)];

        if (s->pc == pc && s->map == map)
            return s;
    }
    return NULL;
}

static void find_sites(struct call_graph *g)
{
    size_t room = 64, at;

    while (room < g->s->edges_used + 1)
        room *= 2;
    g->site = xcalloc(room, sizeof(*g->site));
    g->site_table = table_over(xcalloc(table_slots(room), sizeof(uint32_t)), table_slots(room));
    for (size_t i = 0; i < g->s->edges_used; i++) {
        const struct spool_edge *e = edge_at(g, i);

        if ((e->kind != SPOOL_EDGE_CALL && e->kind != SPOOL_EDGE_GOTO &&
             e->kind != SPOOL_EDGE_BRANCH) ||
            site_find(g, e->site, e->site_map, &at))
            continue;
        g->site[g->sites] = (struct site){ .pc = e->site, .target = e->target, .map = e->site_map };
        table_put(&g->site_table, at, (uint32_t)g->sites++);
    }
    for (size_t i = 0; i < g->s->edges_used; i++) {
        const struct spool_edge *e = edge_at(g, i);
        struct site *s;

        if (e->kind != SPOOL_EDGE_JUMP || !usable(g, e))
            continue;
        s = site_find(g, e->site, e->site_map, &at);
        if (s && s->target == e->target && g->s->counters[e->counter] < FINISH_COUNT_MAX)
            s->called += g->s->counters[e->counter];
    }
}

// ---- Linkage tables ----

static const struct spool_edge *plt_target_find(const struct call_graph *g, uint64_t pc,
                                                uint32_t map, size_t *at)
{
    for (*at = table_first(&g->plt_table, site_hash(pc, map)); table_used(&g->plt_table, *at);
         *at = table_next(&g->plt_table, *at)) {
        const struct spool_edge *e = edge_at(g, g->plt_target[table_number(&g->plt_table, *at)]);

        if (e->site == pc && e->site_map == map)
            return e;
    }
    return NULL;
}

// Of several records of an entry the last one counts.
static void find_plt_targets(struct call_graph *g)
{
    size_t n = 0, room = 64, at;

    for (size_t i = 0; i < g->s->edges_used; i++)
        n += edge_at(g, i)->kind == SPOOL_EDGE_PLT;
    while (room < n + 1)
        room *= 2;
    g->plt_target = xmalloc(room * sizeof(*g->plt_target));
    g->plt_table = table_over(xcalloc(table_slots(room), sizeof(uint32_t)), table_slots(room));
    for (size_t i = g->s->edges_used; i-- > 0;) {
        const struct spool_edge *e = edge_at(g, i);

        if (e->kind != SPOOL_EDGE_PLT || !e->target ||
            plt_target_find(g, e->site, e->site_map, &at))
            continue;
        g->plt_target[g->plt_targets] = (uint32_t)i;
        table_put(&g->plt_table, at, (uint32_t)g->plt_targets++);
    }
}

// ---- Inlined functions ----

static uint64_t inlining_hash(const struct symbols_body *body, uint32_t caller)
{
    return (((uintptr_t)body ^ (uint64_t)caller << 40) * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
}

static void grow_inlinings(struct call_graph *g)
{
    size_t room = g->inlinings_room ? g->inlinings_room * 2 : 256;

    g->inlinings_room = room;
    g->inlining = xrealloc(g->inlining, room * sizeof(*g->inlining));
    free(g->inlining_table.slot);
    g->inlining_table = table_over(xcalloc(table_slots(room), sizeof(uint32_t)), table_slots(room));
    for (size_t i = 0; i < g->inlinings; i++)
        table_add(&g->inlining_table, inlining_hash(g->inlining[i].body, g->inlining[i].caller),
                  (uint32_t)i);
}

static struct inlining *get_inlining(struct call_graph *g, const struct symbols_body *body,
                                     uint32_t map, uint32_t caller)
{
    size_t at;

    if (g->inlinings == g->inlinings_room)
        grow_inlinings(g);
    for (at = table_first(&g->inlining_table, inlining_hash(body, caller));
         table_used(&g->inlining_table, at); at = table_next(&g->inlining_table, at)) {
        struct inlining *i = &g->inlining[table_number(&g->inlining_table, at)];

        if (i->body == body && i->caller == caller)
            return i;
    }
    table_put(&g->inlining_table, at, (uint32_t)g->inlinings);
    g->inlining[g->inlinings] = (struct inlining){ .body = body, .map = map, .caller = caller };
    return &g->inlining[g->inlinings++];
}

// A cost at a spot is a cost of all calls of bodies around it. An execution of a body's first
// instruction is such a call.
static void charge_bodies(struct call_graph *g, const struct spot *spot, uint64_t executed,
                          const uint64_t *counts)
{
    for (const struct symbols_body *body = spot->body; body; body = body->outer) {
        uint32_t caller = body->outer ? body_func(g, spot->map, body->outer) : spot->func;
        struct inlining *i = get_inlining(g, body, spot->map, caller);

        if (spot->addr == body->entry)
            i->calls += executed;
        for (size_t k = 0; k < g->n; k++)
            i->counts[k] += counts[k];
    }
}

static void add_inlinings(struct call_graph *g)
{
    bool instr = g->s->h->flags & SPOOL_F_INSTR;

    for (size_t k = 0; k < g->inlinings; k++) {
        const struct inlining *i = &g->inlining[k];
        struct quern_site at = { .func = i->caller,
                                 .file = profile_string(g, i->body->call_file),
                                 .line = i->body->call_line,
                                 .addr = instr ? i->body->entry : 0 };

        must(g, quern_profile_add_call(g->p, &at, body_func(g, i->map, i->body), i->body->line,
                                       at.addr, i->calls, i->counts, g->n));
    }
}

// ---- Costs ----

// An inclusive cost may be larger than a self cost: a recursive function counts its costs once for
// each open call.
#define INCLUSIVE_MAX (UINT64_C(1) << 63)

// Adds counts to the sums. False: a program cannot have counted that, or a sum would overflow.
static bool is_sound(struct call_graph *g, const uint64_t *counts, uint64_t calls, uint64_t max)
{
    uint64_t sum;

    for (size_t i = 0; i < g->n; i++)
        if (counts[i] >= max || __builtin_add_overflow(g->sum[i], counts[i], &sum))
            return false;
    if (__builtin_add_overflow(g->sum[EVENTS], calls, &sum))
        return false;
    for (size_t i = 0; i < g->n; i++)
        g->sum[i] += counts[i];
    g->sum[EVENTS] = sum;
    return true;
}

// Sets impossible counts to 0. False: the others are too large, too.
static bool drop_damaged(struct call_graph *g, uint64_t *counts)
{
    uint64_t before = g->bad;

    for (size_t i = 0; i < g->n; i++)
        if (counts[i] >= FINISH_COUNT_MAX) {
            counts[i] = 0;
            g->bad++;
        }
    if (g->bad > before && is_sound(g, counts, 0, FINISH_COUNT_MAX))
        return true;
    g->bad++;
    return false;
}

// ---- Estimates ----

static struct sampled *sampled_new(const struct call_graph *g)
{
    static const enum finish_event events[CALL_ESTIMATES + 1] = {
        FINISH_CYBASE, FINISH_CYFRONT, FINISH_CYBAD, FINISH_CYMEM, FINISH_CYTLB,
        FINISH_CYCORE, FINISH_BCM,     FINISH_BIM,   FINISH_BRM,   FINISH_CY,
    };
    struct sampled *s = xcalloc(1, sizeof(*s));

    for (int k = 0; k <= CALL_ESTIMATES; k++) {
        bool branch = k >= SPOOL_SAMPLED_CAUSES && k < CALL_ESTIMATES;

        s->row[k] = -1;
        if (branch && g->s->h->machine.sampling.branches)
            continue;
        for (size_t i = 0; i < g->n; i++)
            if (finish_callgrind[g->event[i]].in == events[k])
                s->row[k] = (int)i;
    }
    return s;
}

static void sampled_free(struct sampled *s)
{
    if (!s)
        return;
    free(s->self);
    free(s->call);
    free(s->estimate);
    free(s);
}

static void know_function(struct sampled *s, uint32_t func)
{
    size_t room = s->functions ? s->functions : 1024;

    if (func < s->functions)
        return;
    while (room <= func)
        room *= 2;
    s->self = xrealloc(s->self, room * sizeof(*s->self));
    memset(s->self + s->functions, 0, (room - s->functions) * sizeof(*s->self));
    s->functions = room;
}

static void sampled_self(struct sampled *s, uint32_t func, const uint64_t *counts)
{
    know_function(s, func);
    for (int k = 0; k < CALL_ESTIMATES; k++)
        if (s->row[k] >= 0)
            s->self[func][k] += counts[s->row[k]];
}

// The estimated events of the costs that a call had in a linkage table: of those of all tables as
// many as of the instructions there.
static void sampled_plt(const struct call_graph *g, uint64_t *counts)
{
    const struct sampled *s = g->sampled;
    uint64_t cycles = 0;

    for (int k = 0; k < CALL_ESTIMATES; k++) {
        uint64_t *to = s->row[k] < 0 ? NULL : &counts[s->row[k]];

        if (!to)
            continue;
        *to = s->plt[0] ? (uint64_t)((unsigned __int128)s->plt[s->row[k]] * counts[0] / s->plt[0])
                        : 0;
        if (k < SPOOL_SAMPLED_CAUSES)
            cycles += *to;
    }
    counts[s->row[CALL_ESTIMATES]] = cycles;
}

// A call, with what the windows saw of it.
static void sampled_call(struct call_graph *g, const struct spool_edge *e, const struct call *c)
{
    struct sampled *s = g->sampled;
    bool root = e->kind == SPOOL_EDGE_ROOT;
    struct call_estimate *to;

    if (s->calls == s->room) {
        s->room = s->room ? s->room * 2 : 1024;
        s->call = xrealloc(s->call, s->room * sizeof(*s->call));
        s->estimate = xrealloc(s->estimate, s->room * sizeof(*s->estimate));
    }
    s->call[s->calls] = *c;
    to = &s->estimate[s->calls++];
    *to = (struct call_estimate){
        .from = root ? CALL_ESTIMATE_NOBODY : c->spot.func,
        .to = c->to.func,
        .site = e->site,
        .target = e->target,
        .insns = c->counts[0],
        .timed = c->counts[s->row[CALL_ESTIMATES]],
    };
    know_function(s, to->to);
    if (!root)
        know_function(s, to->from);
    for (int k = 0; k < CALL_ESTIMATES; k++)
        if (s->row[k] >= 0)
            to->seen[k] = c->counts[s->row[k]];
}

// Self costs of an instruction, executed so often.
static void add_cost(struct call_graph *g, const struct spot *spot, uint64_t executed,
                     const uint64_t *counts)
{
    must(g, quern_profile_add_cost(g->p, &spot->at, counts, g->n));
    charge_bodies(g, spot, executed, counts);
    if (g->sampled)
        sampled_self(g->sampled, spot->func, counts);
}

void call_graph_add(struct call_graph *g, const struct spool_walk_insn *in)
{
    uint64_t counts[EVENTS] = { 0 }, flags = g->s->h->flags;
    struct spot spot;
    struct site *s;
    size_t slot;

    if (in->context == SPOOL_CONTEXT_OFF || (!in->context && (flags & SPOOL_F_NOT_COLLECTING)))
        return;
    for (size_t i = 0; i < g->n; i++)
        counts[i] = in->counts[finish_callgrind[g->event[i]].in];
    if (!is_sound(g, counts, 0, FINISH_COUNT_MAX) && !drop_damaged(g, counts))
        return;
    for (size_t i = 0; i < g->n; i++)
        g->totals->counts[finish_callgrind[g->event[i]].in] += counts[i];
    if (in->plt || in->context == SPOOL_CONTEXT_SKIPPED) {
        for (size_t i = 0; i < g->n; i++)
            g->plt[i] += counts[i];
        g->plt_at = site_of(g, in->map, in->pc, in->context);
        return;
    }
    spot = spot_of(g, in->map, in->pc, in->context);
    s = site_find(g, in->pc, in->map, &slot);
    if (s)
        s->executed += in->executed;
    add_cost(g, &spot, in->executed, counts);
}

static bool any(const uint64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i])
            return true;
    return false;
}

// The target of a linkage table's entry; else the entry.
static void resolve_plt(const struct call_graph *g, const struct spool_edge *e, uint32_t *map,
                        uint64_t *target)
{
    size_t at;

    *map = e->target_map;
    *target = e->target;
    const struct spool_edge *x = e->plt ? plt_target_find(g, e->target, e->target_map, &at) : NULL;
    if (x) {
        *target = x->target;
        *map = spool_file_map(g->s, x->target, e->target_map);
    }
}

static void take(struct call_graph *g, const uint64_t *counters, uint64_t *counts)
{
    for (size_t i = 0; i < g->n; i++)
        counts[i] =
            counters[spool_event_index(finish_callgrind[g->event[i]].inclusive, g->s->h->flags)];
}

static bool is_large(const struct call_graph *g, const struct spool_edge *e)
{
    const uint64_t *c = g->s->counters + e->counter;
    uint64_t most = 0;

    for (size_t i = 1; i < 1 + g->n; i++)
        most |= c[i];
    return most >= FINISH_COUNT_MAX;
}

static void add_call(struct call_graph *g, const struct call *c)
{
    must(g, quern_profile_add_call(g->p, &c->spot.at, c->to.func, c->to.line, c->to.addr, c->calls,
                                   c->counts, g->n));
    charge_bodies(g, &c->spot, 0, c->counts);
}

static void sampled_end(struct call_graph *g)
{
    struct sampled *s = g->sampled;

    call_estimate(s->estimate, s->calls, s->self, s->functions, &g->s->h->sampled,
                  g->s->h->machine.core.width);
    for (size_t i = 0; i < s->calls; i++) {
        struct call *c = &s->call[i];
        uint64_t *cycles = &c->counts[s->row[CALL_ESTIMATES]];

        if (s->estimate[i].from == CALL_ESTIMATE_NOBODY)
            continue;
        *cycles = 0;
        for (int k = 0; k < CALL_ESTIMATES; k++) {
            if (s->row[k] >= 0)
                c->counts[s->row[k]] = s->estimate[i].cost[k];
            if (k < SPOOL_SAMPLED_CAUSES)
                *cycles += s->estimate[i].cost[k];
        }
        add_call(g, c);
    }
}

// What starts without a call.
static void sampled_root(struct call_graph *g, const struct spool_edge *e)
{
    struct call c = { .to = site_of(g, e->target_map, e->target, e->to) };

    take(g, g->s->counters + e->counter + 1, c.counts);
    if (is_sound(g, c.counts, 0, INCLUSIVE_MAX))
        sampled_call(g, e, &c);
}

static void add_edge(struct call_graph *g, const struct spool_edge *e)
{
    const uint64_t *c = g->s->counters + e->counter;
    uint64_t counts[EVENTS], calls = c[0], target;
    struct quern_site to;
    struct call call;
    struct spot spot;
    struct site *s;
    uint32_t map;
    size_t slot;

    if (e->kind == SPOOL_EDGE_ROOT) {
        if (g->sampled)
            sampled_root(g, e);
        return;
    }
    s = e->kind == SPOOL_EDGE_CALL ? site_find(g, e->site, e->site_map, &slot) : NULL;
    if (s) // c[0] may be negative: minus the executions that did not become calls
        calls += s->executed;
    if (calls >= FINISH_COUNT_MAX) {
        g->bad++;
        calls = 0;
    }
    spot = spot_of(g, e->site_map, e->site, e->from);
    if (e->plt || e->kind == SPOOL_EDGE_SKIPPED) {
        take(g, c + 1 + (e->plt ? g->n : 0), counts);
        if (!is_sound(g, counts, 0, FINISH_COUNT_MAX)) {
            g->bad++;
            memset(counts, 0, sizeof(counts));
        }
        if (g->sampled)
            sampled_plt(g, counts);
        for (size_t i = 0; i < g->n; i++)
            g->plt[i] -= counts[i];
        if (any(counts, g->n))
            add_cost(g, &spot, 0, counts);
    }
    if (e->kind == SPOOL_EDGE_SKIPPED)
        return;
    take(g, c + 1, counts);
    if ((!calls || (g->s->h->flags & SPOOL_F_CONTEXTS)) && !any(counts, g->n))
        return;
    if (!is_sound(g, counts, calls, INCLUSIVE_MAX)) {
        g->bad++;
        return;
    }
    resolve_plt(g, e, &map, &target);
    to = site_of(g, map, target, e->to);
    // from one part of a function to another
    if (e->kind == SPOOL_EDGE_JUMP && to.func == spot.func)
        return;
    call = (struct call){ .spot = spot, .to = to, .calls = calls };
    memcpy(call.counts, counts, sizeof(counts));
    if (g->sampled)
        sampled_call(g, e, &call);
    else
        add_call(g, &call);
}

// The events of a system call are a cost of the instruction that made it.
static void add_syscall(struct call_graph *g, const struct spool_edge *e)
{
    uint64_t counts[EVENTS];
    struct spot spot;

    if (e->site_map >= g->s->maps_used || (uint64_t)e->counter + 1 + g->n > g->s->counters_used)
        return;
    take(g, g->s->counters + e->counter + 1, counts);
    if (!any(counts, g->n))
        return;
    if (!is_sound(g, counts, 0, FINISH_COUNT_MAX)) {
        g->bad++;
        return;
    }
    for (size_t i = 0; i < g->n; i++)
        g->totals->counts[finish_callgrind[g->event[i]].in] += counts[i];
    spot = spot_of(g, e->site_map, e->site, e->to);
    add_cost(g, &spot, 0, counts);
}

static void add_jump(struct call_graph *g, const struct spool_edge *e)
{
    uint64_t followed = e->kind == SPOOL_EDGE_GOTO ? 0 : g->s->counters[e->counter], executed = 0;
    struct spot at, to;
    struct site *s;
    size_t slot;

    if (e->kind != SPOOL_EDGE_TABLE) {
        s = site_find(g, e->site, e->site_map, &slot);
        if (e->kind == SPOOL_EDGE_GOTO)
            followed = s->executed;
        else
            executed = s->executed;
        followed -= s->called < followed ? s->called : followed;
    }
    if (!followed)
        return;
    if (followed >= FINISH_COUNT_MAX || executed >= FINISH_COUNT_MAX) {
        g->bad++;
        return;
    }
    at = spot_of(g, e->site_map, e->site, 0);
    to = spot_of(g, e->target_map, e->target, 0);
    must(g, quern_profile_add_jump(g->p, &at.at, &to.at, executed, followed));
}

// Other viewers know the events of Callgrind, but not those of a core: they get long names.
static void name_cycles(struct call_graph *g)
{
    static const char *const cycles[][2] = {
#define CYCLES(name, meaning, long_name) { name, long_name },
#include "share/cycles.def"
#undef CYCLES
    };

    for (size_t i = 0; i < sizeof(cycles) / sizeof(*cycles); i++)
        if (quern_profile_find_event(g->p, cycles[i][0]) >= 0)
            must(g, quern_profile_define_event(g->p, cycles[i][0], NULL, cycles[i][1]));
}

struct call_graph *call_graph_new(const struct spool_file *s, struct places *places,
                                  struct finish_totals *totals)
{
    struct call_graph *g = xcalloc(1, sizeof(*g));
    const char *names[EVENTS];

    g->s = s;
    g->places = places;
    g->totals = totals;
    g->p = quern_profile_new();
    if (!g->p)
        die(UTIL_USAGE, "out of memory");
    for (size_t i = 0; i < EVENTS; i++) {
        if (!finish_event_counted(finish_callgrind[i].in, s->h->flags))
            continue;
        names[g->n] = finish_event_names[finish_callgrind[i].in];
        g->event[g->n++] = (int)i;
    }
    must(g, quern_profile_set_events(g->p, names, g->n));
    name_cycles(g);
    if (spool_is_sampled(s))
        g->sampled = sampled_new(g);
    g->object = xcalloc(s->maps_used + 1, sizeof(*g->object));
    g->context = xcalloc(s->edges_used + 2, sizeof(*g->context));
    find_starts(g);
    find_sites(g);
    find_plt_targets(g);
    return g;
}

uint32_t call_graph_file(const struct call_graph *g, uint32_t map, uint64_t pc,
                         const struct symbols_place *at)
{
    return own_file(g, map, pc, at);
}

int call_graph_finish(struct call_graph *g)
{
    if (g->sampled)
        memcpy(g->sampled->plt, g->plt, sizeof(g->plt));
    // Unusually large ones come last: they may be damaged, and must not displace others.
    for (int large = 0; large < 2; large++)
        for (size_t i = 0; i < g->s->edges_used; i++)
            if (usable(g, edge_at(g, i)) && !spool_edge_is_jump(edge_at(g, i)->kind) &&
                is_large(g, edge_at(g, i)) == large)
                add_edge(g, edge_at(g, i));
    if (g->sampled)
        sampled_end(g);
    for (size_t i = 0; i < g->s->edges_used; i++)
        if (edge_at(g, i)->kind == SPOOL_EDGE_SYSCALL)
            add_syscall(g, edge_at(g, i));
    for (size_t i = 0; i < g->s->edges_used; i++)
        if (usable(g, edge_at(g, i)) && spool_edge_is_jump(edge_at(g, i)->kind))
            add_jump(g, edge_at(g, i));
    add_inlinings(g);
    // What went through a linkage table and did not reach a function. If the program was killed
    // while a call was noted, the costs taken off may exceed those there.
    for (size_t i = 0; i < g->n; i++)
        if (g->plt[i] > INT64_MAX)
            g->plt[i] = 0;
    if (any(g->plt, g->n))
        must(g, quern_profile_add_cost(g->p, &g->plt_at, g->plt, g->n));
    g->totals->bad_records += g->bad;
    return g->rc;
}

struct quern_profile *call_graph_profile(const struct call_graph *g)
{
    return g->p;
}

void call_graph_free(struct call_graph *g)
{
    quern_profile_free(g->p);
    free(g->string);
    free(g->object);
    free(g->context);
    free(g->start);
    free(g->site);
    free(g->site_table.slot);
    free(g->plt_target);
    free(g->plt_table.slot);
    sampled_free(g->sampled);
    free(g->inlining);
    free(g->inlining_table.slot);
    free(g);
}
