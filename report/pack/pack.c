// SPDX-License-Identifier: MIT
//
// The functions of a report in their order, and which blocks contain what. See pack.h for the
// order of calls.
#include "report/pack/pack.h"

#include <errno.h>
#include <stdlib.h>

#include "report/pack/pack_priv.h"

enum {
    TOP_MAX = 2000,
    TOP_FULL = 64,
    FIRST_REST = 16 << 10, // space in block 0 for data that is not about functions
};

// ---- Functions ----

static uint64_t func_hash(const struct func *f)
{
    uint64_t h = f->object * 0x9e3779b97f4a7c15u;

    h = (h ^ h >> 31 ^ f->file) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 29 ^ f->name) * 0x94d049bb133111ebu;
    return h ^ h >> 32;
}

static uint32_t add_function(struct pack *k, const struct func *f, unsigned side, uint32_t i)
{
    k->func[k->funcs] = *f;
    k->func[k->funcs].of[side] = i;
    return k->func_of[side][i] = k->funcs++;
}

static struct func function_of(struct pack *k, unsigned side, uint32_t i)
{
    struct quern_func g = quern_profile_func_get(k->p[side], i);

    return (struct func){ .object = pack_gather_string(k, side, g.object),
                          .file = pack_gather_string(k, side, g.file),
                          .name = pack_gather_string(k, side, g.name),
                          .of = { QUERN_NONE, QUERN_NONE },
                          .line = UINT64_MAX,
                          .addr = UINT64_MAX,
                          .begin = UINT64_MAX };
}

// Where a function begins: where calls enter it, else the line of its first instruction. The lowest
// line may be that of a function which is inlined into it, and is the last choice.
static void settle_place(struct func *f)
{
    if (f->begin != UINT64_MAX)
        f->line = f->begin;
    else if (f->addr != UINT64_MAX && f->addr_line)
        f->line = f->addr_line;
    f->line = f->line == UINT64_MAX ? 0 : f->line;
    f->addr = f->addr == UINT64_MAX ? 0 : f->addr;
}

// The object's name without its folders, of a function without a file; else "": the file says it.
static const char *object_name(const struct pack *k, unsigned side, uint32_t i)
{
    struct quern_func g = quern_profile_func_get(k->p[side], i);
    const char *s = g.file == QUERN_NONE && g.object != QUERN_NONE
                        ? quern_profile_str(k->p[side], g.object)
                        : "",
               *slash = strrchr(s, '/');

    return slash ? slash + 1 : s;
}

// By file and name: functions of the profile that have no match in the base by object, file, name.
static uint64_t loose_hash(const struct func *f, const char *object)
{
    struct func x = { .file = f->file, .name = f->name };

    while (*object)
        x.object = x.object * 31 + (unsigned char)*object++;
    return func_hash(&x);
}

static uint32_t find_exact(const struct pack *k, const struct table *t, const struct func *f)
{
    for (size_t at = table_first(t, func_hash(f)); table_used(t, at); at = table_next(t, at)) {
        const struct func *x = &k->func[table_number(t, at)];
        if (x->object == f->object && x->file == f->file && x->name == f->name)
            return table_number(t, at);
    }
    return QUERN_NONE;
}

// The base's function i that is in another object in the profile, or QUERN_NONE. Of several the
// first that is still free.
static uint32_t find_loose(const struct pack *k, const struct table *t, const struct func *f,
                           uint32_t i)
{
    const char *object = object_name(k, 1, i);
    size_t at = table_first(t, loose_hash(f, object));

    for (; table_used(t, at); at = table_next(t, at)) {
        const struct func *x = &k->func[table_number(t, at)];
        if (x->of[1] == QUERN_NONE && x->file == f->file && x->name == f->name &&
            strcmp(object_name(k, 0, x->of[0]), object) == 0)
            return table_number(t, at);
    }
    return QUERN_NONE;
}

// Functions of the profile, then those of the base: the same by object, file and name, else by file
// and name.
static void match_functions(struct pack *k, struct table *exact, struct table *loose)
{
    uint32_t n[CORE_SIDES] = { 0 };

    for (unsigned s = 0; s < CORE_SIDES && k->p[s]; s++)
        n[s] = (uint32_t)quern_profile_func_count(k->p[s]);
    for (uint32_t i = 0; i < n[0]; i++) {
        struct func f = function_of(k, 0, i);
        uint32_t number = add_function(k, &f, 0, i);
        table_add(exact, func_hash(&f), number);
    }
    for (uint32_t i = 0; i < n[1]; i++) {
        struct func f = function_of(k, 1, i);
        uint32_t number = find_exact(k, exact, &f);
        k->func_of[1][i] = number;
        if (number != QUERN_NONE)
            k->func[number].of[1] = i;
    }
    for (uint32_t f = 0; n[1] && f < k->funcs; f++)
        if (k->func[f].of[1] == QUERN_NONE)
            table_add(loose, loose_hash(&k->func[f], object_name(k, 0, k->func[f].of[0])), f);
    for (uint32_t i = 0; i < n[1]; i++) {
        if (k->func_of[1][i] != QUERN_NONE)
            continue;
        struct func f = function_of(k, 1, i);
        uint32_t number = find_loose(k, loose, &f, i);
        if (number == QUERN_NONE) {
            add_function(k, &f, 1, i);
        } else {
            k->func_of[1][i] = number;
            k->func[number].of[1] = i;
        }
    }
}

static bool find_functions(struct pack *k)
{
    size_t most = 0, slots = 2;

    for (int s = 0; s < CORE_SIDES && k->p[s]; s++) {
        most += quern_profile_func_count(k->p[s]);
        k->string[s] = calloc(quern_profile_str_count(k->p[s]) + 1, sizeof(**k->string));
        k->func_of[s] = calloc(quern_profile_func_count(k->p[s]) + 1, sizeof(**k->func_of));
        if (!k->string[s] || !k->func_of[s])
            return false;
    }
    while (slots < 2 * most + 2)
        slots *= 2;
    uint32_t *exact = calloc(slots, sizeof(*exact)), *loose = calloc(slots, sizeof(*loose));
    k->func = calloc(most + 1, sizeof(*k->func));
    bool ok = exact && loose && k->func;
    if (ok) {
        struct table by_all = table_over(exact, slots), by_name = table_over(loose, slots);
        match_functions(k, &by_all, &by_name);
    }
    free(exact);
    free(loose);
    return ok && !k->names.failed;
}

static quern_count value_of(const struct pack *k, unsigned s, const quern_count *v)
{
    return k->order < k->events ? v[k->order] : quern_profile_derive(k->p[s], k->order, v);
}

struct rank {
    quern_count cost;
    uint32_t func;
};

static int by_cost(const void *pa, const void *pb)
{
    const struct rank *a = pa, *b = pb;

    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return a->func < b->func ? -1 : a->func > b->func;
}

static bool sort_functions(struct pack *k)
{
    struct rank *rank = calloc(k->funcs + 1, sizeof(*rank));
    struct func *sorted = calloc(k->funcs + 1, sizeof(*sorted));

    if (!rank || !sorted) {
        free(rank);
        free(sorted);
        return false;
    }
    for (uint32_t f = 0; f < k->funcs; f++) {
        rank[f].func = f;
        for (unsigned s = 0; s < CORE_SIDES; s++) {
            if (k->func[f].of[s] == QUERN_NONE)
                continue;
            quern_count v = value_of(k, s, quern_costs_inclusive(k->costs[s], k->func[f].of[s]));
            v = v < 0 ? -v : v;
            rank[f].cost = v > rank[f].cost ? v : rank[f].cost;
        }
    }
    qsort(rank, k->funcs, sizeof(*rank), by_cost);
    for (uint32_t f = 0; f < k->funcs; f++) {
        sorted[f] = k->func[rank[f].func];
        for (int s = 0; s < CORE_SIDES; s++)
            if (sorted[f].of[s] != QUERN_NONE)
                k->func_of[s][sorted[f].of[s]] = f;
    }
    free(rank);
    free(k->func);
    k->func = sorted;
    return true;
}

// ---- The contents of the first block ----

static const quern_count *self_of(const struct pack *k, unsigned s, uint32_t f)
{
    return k->func[f].of[s] == QUERN_NONE ? NULL : quern_costs_self(k->costs[s], k->func[f].of[s]);
}

static const quern_count *inclusive_of(const struct pack *k, unsigned s, uint32_t f)
{
    return k->func[f].of[s] == QUERN_NONE ? NULL
                                          : quern_costs_inclusive(k->costs[s], k->func[f].of[s]);
}

static void put_some(struct pack *k, struct buf *to, unsigned s, uint32_t n, size_t event,
                     const quern_count *(*of)(const struct pack *, unsigned, uint32_t))
{
    buf_count *v = calloc(n + 1, sizeof(*v));

    for (uint32_t f = 0; v && f < n; f++) {
        const quern_count *x = of(k, s, f);
        v[f] = x ? x[event] : 0;
    }
    if (v)
        buf_counts(to, v, n, 1);
    else
        k->failed = true;
    free(v);
}

static void put_top(struct pack *k, struct buf *to, uint32_t n, uint32_t full)
{
    // A derived order event has no counts of its own: TOP then has the first event.
    size_t order = k->order < k->events ? k->order : 0;

    buf_u(to, n);
    buf_u(to, full);
    for (unsigned s = 0; s < CORE_SIDES; s++) {
        struct buf called = { 0 };
        for (uint32_t f = 0; f < n; f++)
            buf_u(&called, k->func[f].of[s] == QUERN_NONE
                               ? 0
                               : quern_costs_called(k->costs[s], k->func[f].of[s]));
        buf_column(to, &called);
        buf_free(&called);
        for (size_t e = 0; e < k->events; e++)
            put_some(k, to, s, n, e, self_of);
        put_some(k, to, s, n, order, inclusive_of);
        for (size_t e = 0; e < k->events; e++)
            put_some(k, to, s, full, e, inclusive_of);
    }
}

// How many functions fit into the first block: their names and costs.
static void choose_top(struct pack *k)
{
    size_t room = BLOCKS_FIRST_MAX - FIRST_REST;

    k->top = k->funcs < TOP_MAX ? k->funcs : TOP_MAX;
    for (;;) {
        struct buf trial = { 0 };
        k->top_full = k->top < TOP_FULL ? k->top : TOP_FULL;
        put_top(k, &trial, k->top, k->top_full);
        size_t size = trial.size;
        k->failed |= trial.failed;
        buf_free(&trial);
        for (uint32_t f = 0; f < k->top; f++) {
            uint32_t string[] = { k->func[f].object, k->func[f].file, k->func[f].name };
            size += 30;
            for (int i = 0; i < 3; i++)
                if (string[i] != QUERN_NONE && !k->names.name[string[i]].early) {
                    size += k->names.name[string[i]].size + 3u;
                    k->names.name[string[i]].early = true;
                }
        }
        if (size <= room || k->top == 0 || k->failed)
            return;
        for (size_t i = 0; i < k->names.count; i++)
            k->names.name[i].early = false;
        k->top = (uint32_t)((double)k->top * (double)room / (double)size * 0.9);
    }
}

static void put_functions(const struct pack *k, struct buf *to, uint32_t first, uint32_t end)
{
    struct buf column[5] = { { 0 } };

    buf_u(to, first);
    buf_u(to, end - first);
    for (uint32_t i = first; i < end; i++) {
        const struct func *f = &k->func[i];
        buf_u(&column[0], pack_names_ref(&k->names, f->object));
        buf_u(&column[1], pack_names_ref(&k->names, f->file));
        buf_u(&column[2], pack_names_ref(&k->names, f->name));
        buf_u(&column[3], f->line);
        buf_u(&column[4], f->addr);
    }
    for (int i = 0; i < 5; i++) {
        buf_column(to, &column[i]);
        buf_free(&column[i]);
    }
}

// ---- The pack ----

static bool count_parts(struct pack *k)
{
    for (int s = 0; s < CORE_SIDES; s++) {
        k->first_part[s] = k->parts;
        k->parts += k->p[s] ? (uint32_t)quern_profile_part_count(k->p[s]) : 0;
    }
    k->total = calloc((size_t)k->parts * k->events + 1, sizeof(*k->total));
    return k->total != NULL;
}

struct pack *pack_new(struct quern_profile *p, struct quern_profile *base, size_t event)
{
    struct pack *k = calloc(1, sizeof(*k));

    if (!k)
        return NULL;
    blocks_init(&k->blocks);
    k->p[0] = p;
    k->p[1] = base;
    k->events = quern_profile_event_count(p);
    k->order = event;
    for (int s = 0; s < CORE_SIDES && k->p[s]; s++) {
        k->has |= quern_profile_has(k->p[s]);
        if (!(k->costs[s] = quern_costs_new(k->p[s])))
            goto fail;
    }
    if (!find_functions(k) || !sort_functions(k) || !count_parts(k) || !pack_gather(k))
        goto fail;
    for (uint32_t f = 0; f < k->funcs; f++)
        settle_place(&k->func[f]);
    choose_top(k);
    if (k->failed || !pack_names_settle(&k->names))
        goto fail;
    return k;

fail:
    pack_free(k);
    errno = ENOMEM;
    return NULL;
}

void pack_free(struct pack *k)
{
    if (!k)
        return;
    for (int s = 0; s < CORE_SIDES; s++) {
        quern_costs_free(k->costs[s]);
        free(k->string[s]);
        free(k->func_of[s]);
    }
    pack_names_free(&k->names);
    struct rows *rows[] = { &k->cost, &k->call, &k->jump };
    for (int i = 0; i < 3; i++) {
        free(rows[i]->row);
        free(rows[i]->first);
    }
    free(k->func);
    free(k->total);
    free(k->target);
    free(k->file);
    free(k->file_of);
    free(k->address);
    buf_free(&k->pool);
    buf_free(&k->texts);
    buf_free(&k->defined);
    blocks_free(&k->blocks);
    free(k);
}

void pack_store(struct pack *k)
{
    k->blocks.level = 0;
}

void pack_text(struct pack *k, const char *key, const char *value)
{
    buf_text(&k->texts, key, strlen(key));
    buf_text(&k->texts, value, strlen(value));
}

void pack_event(struct pack *k, const char *name, const char *formula, int64_t scale)
{
    buf_text(&k->defined, name, strlen(name));
    buf_text(&k->defined, name, 0);
    buf_text(&k->defined, formula, strlen(formula));
    buf_u(&k->defined, (uint64_t)scale);
}

// ---- Blocks ----

static void put_self(struct pack *k, uint32_t part, uint32_t first, uint32_t end)
{
    struct buf to = { 0 };

    buf_u(&to, first);
    buf_u(&to, end - first);
    buf_u(&to, part);
    pack_emit_self(k, part, first, end, &to);
    blocks_add(&k->blocks, SECTION_SELF, first, end, &to);
    buf_free(&to);
}

// Does the part have something for these functions?
static bool has_costs(const struct pack *k, uint32_t part, uint32_t first, uint32_t end)
{
    return end > first && k->cost.first[pack_slot(k, part, first)] <
                              k->cost.first[pack_slot(k, part, end - 1) + 1];
}

void pack_functions(struct pack *k)
{
    uint32_t strings = (uint32_t)k->names.count, end;
    uint32_t each = (uint32_t)(BLOCKS_AIM / 2 / (k->events * 8 + 16)) + 1;

    for (uint32_t s = k->names.early; s < strings; s = end) {
        struct buf to = { 0 };
        size_t size = 0;
        for (end = s; end < strings && (end == s || size < BLOCKS_AIM / 2); end++)
            size += k->names.name[k->names.order[end]].size + 3u;
        pack_names_put(&k->names, s, end, &to);
        blocks_add(&k->blocks, SECTION_STRINGS, 0, 0, &to);
        buf_free(&to);
    }
    for (uint32_t f = k->top; f < k->funcs; f = end) {
        struct buf to = { 0 };
        end = k->funcs - f > 65536 ? f + 65536 : k->funcs;
        put_functions(k, &to, f, end);
        blocks_add(&k->blocks, SECTION_FUNCTIONS, f, end, &to);
        buf_free(&to);
    }
    for (uint32_t part = 0; part < k->parts; part++) {
        unsigned side = part >= k->first_part[1];
        uint32_t of_side = side ? k->parts - k->first_part[1] : k->first_part[1];
        for (uint32_t f = of_side == 1 ? k->top : 0; f < k->funcs; f = end) {
            end = k->funcs - f > each ? f + each : k->funcs;
            if (has_costs(k, part, f, end))
                put_self(k, part, f, end);
        }
    }
    for (uint32_t part = 0; part < k->parts; part++)
        for (uint32_t f = 0; f < k->funcs; f = end) {
            size_t size = 0;
            for (end = f; end < k->funcs; end++) {
                size_t more = pack_emit_size(k, SECTION_CALLS, part, end);
                if (end > f && size + more > BLOCKS_AIM / 2)
                    break;
                size += more;
            }
            if (size)
                pack_emit_rows(k, SECTION_CALLS, part, f, end);
        }
    blocks_close(&k->blocks);
}

uint32_t pack_places(struct pack *k, uint32_t first)
{
    size_t size = 0;
    uint32_t end;

    for (end = first; end < k->funcs; end++) {
        size_t more = 0;
        for (uint32_t part = 0; part < k->parts; part++)
            more += pack_emit_size(k, SECTION_PLACES, part, end) +
                    pack_emit_size(k, SECTION_JUMPS, part, end);
        if (end > first && size + more > BLOCKS_AIM / 2)
            break;
        size += more;
    }
    for (uint32_t part = 0; part < k->parts && end > first; part++) {
        pack_emit_rows(k, SECTION_PLACES, part, first, end);
        pack_emit_rows(k, SECTION_JUMPS, part, first, end);
    }
    return end;
}

void pack_section(struct pack *k, unsigned kind, uint32_t first, uint32_t end,
                  const struct buf *payload)
{
    blocks_add(&k->blocks, kind, first, end, payload);
    k->failed |= payload->failed;
}

struct pack_mark pack_begin(struct pack *k)
{
    blocks_close(&k->blocks);
    return (struct pack_mark){ k->blocks.count };
}

bool pack_end(struct pack *k, const struct pack_mark *mark, size_t most)
{
    blocks_close(&k->blocks);
    if (k->blocks.bytes + k->blocks.bound <= most)
        return true;
    blocks_wait(&k->blocks); // it may be less
    if (k->blocks.bytes <= most)
        return true;
    blocks_drop(&k->blocks, mark->blocks);
    return false;
}

// ---- Block 0 ----

static void put_text(struct buf *to, const char *s)
{
    buf_text(to, s ? s : "", s ? strlen(s) : 0);
}

static void put_head(const struct pack *k, struct buf *to)
{
    unsigned has = (k->has & QUERN_HAS_LINE ? CORE_HAS_LINE : 0u) |
                   (k->has & QUERN_HAS_ADDR ? CORE_HAS_ADDR : 0u) |
                   (k->has & QUERN_HAS_CALL ? CORE_HAS_CALL : 0u) |
                   (k->has & QUERN_HAS_JUMP ? CORE_HAS_JUMP : 0u) | (k->p[1] ? CORE_HAS_BASE : 0u);

    buf_u(to, 1);
    buf_u(to, k->funcs);
    buf_u(to, k->names.count);
    buf_u(to, k->parts);
    buf_u(to, k->events);
    buf_u(to, k->order);
    buf_u(to, has);
    buf_u(to, k->blocks.count);
}

// Events with counts, then those with a formula; one that is only named has neither.
static void put_events(const struct pack *k, struct buf *to)
{
    size_t all = k->events + quern_profile_derived_count(k->p[0]);

    for (size_t e = 0; e < all; e++) {
        put_text(to, quern_profile_event_name(k->p[0], e));
        put_text(to, quern_profile_event_long_name(k->p[0], e));
        put_text(to, e < k->events ? NULL : quern_profile_event_formula(k->p[0], e));
        buf_u(to, (uint64_t)quern_profile_event_scale(k->p[0], e));
    }
    buf_bytes(to, k->defined.at, k->defined.size);
    to->failed |= k->defined.failed;
}

static void put_parts(const struct pack *k, struct buf *to)
{
    for (unsigned s = 0; s < CORE_SIDES && k->p[s]; s++)
        for (size_t i = 0; i < quern_profile_part_count(k->p[s]); i++) {
            struct quern_part part;
            quern_profile_part(k->p[s], i, &part);
            buf_u(to, s);
            put_text(to, part.cmd);
            put_text(to, part.creator);
            buf_u(to, part.has_pid ? part.pid + 1 : 0);
            buf_u(to, part.has_part ? part.part + 1 : 0);
            buf_u(to, part.has_thread ? part.thread + 1 : 0);
            buf_u(to, part.desc_count);
            for (size_t d = 0; d < part.desc_count; d++)
                put_text(to, part.desc[d]);
        }
}

static void put_index(const struct pack *k, struct buf *to)
{
    for (size_t i = 1; i < k->blocks.count; i++) {
        const struct block *b = &k->blocks.item[i];
        buf_u(to, b->size);
        buf_u(to, b->kinds);
        buf_u(to, b->first);
        buf_u(to, b->end - b->first);
    }
}

int pack_finish(struct pack *k)
{
    struct buf all = { 0 }, to = { 0 };
    uint32_t kinds = 0;

    blocks_close(&k->blocks);
    blocks_wait(&k->blocks);
    for (unsigned kind = SECTION_HEAD; kind <= SECTION_INDEX; kind++) {
        to.size = 0;
        switch (kind) {
        case SECTION_HEAD: put_head(k, &to); break;
        case SECTION_TEXTS: buf_bytes(&to, k->texts.at, k->texts.size); break;
        case SECTION_EVENTS: put_events(k, &to); break;
        case SECTION_PARTS: put_parts(k, &to); break;
        case SECTION_TOTALS:
            for (size_t i = 0; i < (size_t)k->parts * k->events; i++)
                buf_z(&to, k->total[i]);
            break;
        case SECTION_STRINGS: pack_names_put(&k->names, 0, k->names.early, &to); break;
        case SECTION_FUNCTIONS: put_functions(k, &to, 0, k->top); break;
        case SECTION_TOP: put_top(k, &to, k->top, k->top_full); break;
        case SECTION_INDEX: put_index(k, &to); break;
        default: continue;
        }
        blocks_put(&all, kind, &to);
        kinds |= 1u << kind;
    }
    blocks_first(&k->blocks, &all, kinds, k->top);
    k->failed |= all.failed || to.failed || k->texts.failed || k->blocks.failed;
    buf_free(&all);
    buf_free(&to);
    return k->failed ? -ENOMEM : 0;
}

// ---- Queries ----

uint32_t pack_count(const struct pack *k)
{
    return k->funcs;
}

struct pack_func pack_func(const struct pack *k, uint32_t f)
{
    const struct func *x = &k->func[f];
    struct pack_func out = { .file_number = QUERN_NONE };

    if (x->file != QUERN_NONE && x->file < k->file_of_size && k->file_of[x->file])
        out.file_number = k->file_of[x->file] - 1;

    for (unsigned s = 0; s < CORE_SIDES; s++) {
        if (x->of[s] == QUERN_NONE)
            continue;
        struct quern_func g = quern_profile_func_get(k->p[s], x->of[s]);
        out.object = g.object == QUERN_NONE ? NULL : quern_profile_str(k->p[s], g.object);
        out.file = g.file == QUERN_NONE ? NULL : quern_profile_str(k->p[s], g.file);
        out.name = g.name == QUERN_NONE ? NULL : quern_profile_str(k->p[s], g.name);
        out.self[s] = self_of(k, s, f);
        out.inclusive[s] = inclusive_of(k, s, f);
        out.called[s] = quern_costs_called(k->costs[s], x->of[s]);
    }
    return out;
}

uint32_t pack_file_count(const struct pack *k)
{
    return k->files;
}

struct pack_file pack_file(const struct pack *k, uint32_t i)
{
    const struct file *f = &k->file[i];

    return (struct pack_file){ .name = f->name,
                               .cost = { f->cost[0], f->cost[1] },
                               .last_line = { f->last_line[0], f->last_line[1] } };
}

uint32_t pack_file_number(const struct pack *k, uint32_t file)
{
    return k->names.number[k->file[file].string];
}

size_t pack_addresses(struct pack *k, uint32_t f, unsigned side, const uint64_t **out)
{
    uint32_t from = k->first_part[side], to = side ? k->parts : k->first_part[1];
    size_t n = 0;

    for (uint32_t part = from; part < to; part++) {
        size_t i = k->cost.first[pack_slot(k, part, f)],
               end = k->cost.first[pack_slot(k, part, f) + 1];
        if (n + (end - i) > k->address_cap) {
            uint64_t *more = realloc(k->address, (n + (end - i)) * sizeof(*more));
            if (!more)
                break;
            k->address = more;
            k->address_cap = n + (end - i);
        }
        for (; i < end; i++)
            if (n == 0 || k->address[n - 1] != k->cost.row[i].addr)
                k->address[n++] = k->cost.row[i].addr;
    }
    *out = k->address;
    return n;
}

uint64_t pack_address(const struct pack *k, uint32_t f)
{
    return k->func[f].addr;
}

const struct block *pack_block(const struct pack *k, size_t i)
{
    return &k->blocks.item[i];
}

size_t pack_block_count(const struct pack *k)
{
    return k->blocks.count;
}

uint32_t pack_cut(const struct pack *k)
{
    return k->names.cut;
}
