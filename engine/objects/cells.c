// SPDX-License-Identifier: MIT
// Misses by their place in the object (cells.h).
//
// What the elements of an array are is not known here: only the finisher reads types. So a cell has
// the greatest common divisor of the differences of its offsets. If an instruction goes through
// `nodes[].left`, all of its offsets are a multiple of the element's size apart, and one of them
// tells the member of all.
#include "engine/objects/cells.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/objects/ranges.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"

#define INDEX          0x200000u // twice as many as cells: at most
#define INDEX_AT_FIRST 0x1000u
// Misses between two looks whether its words are all noted: a look may take as long as ten misses.
#define FULL_AGAIN 256u

static u32 *index_of; // of cells, plus one: as many places as it needs, as objtable.c
static u32 index_size, index_room;

static const struct spool_data_object *object_at(u32 object)
{
    return (const struct spool_data_object *)DATA_BASE + object;
}

static struct spool_data_cell *cell_at(u32 i)
{
    return (struct spool_data_cell *)(DATA_BASE + SPOOL_DATA_CELLS_OFF) + i;
}

void cells_init(void)
{
    index_of = heap_pages(INDEX * sizeof(*index_of));
    index_size = spool->flags & SPOOL_F_NO_HINTS ? INDEX : INDEX_AT_FIRST;
    index_room = index_size / 2;
}

static bool has_cells(const struct spool_data_object *o)
{
    return o->kind == SPOOL_DATA_STATIC || o->kind == SPOOL_DATA_HEAP ||
           (o->kind == SPOOL_DATA_TLS && o->name);
}

static bool is_large(const struct spool_data_object *o)
{
    return o->size > SPOOL_DATA_PIECES;
}

void cells_kind(u32 object, bool *has, bool *large)
{
    *has = has_cells(object_at(object));
    *large = is_large(object_at(object));
}

static u64 key_of(const struct spool_data_object *o, u64 offset)
{
    return cells_key(is_large(o), offset);
}

static u64 key_of_cell(const struct spool_data_cell *c)
{
    return key_of(object_at(c->object % SPOOL_DATA_OBJECTS_MAX), c->first);
}

static u32 place_of(u32 counter, u32 object, u64 key)
{
    u64 h = (((u64)counter << 32 | object) ^ key << 13) * 0x9e3779b97f4a7c15ul;

    return (u32)((h ^ h >> 29) * 0xbf58476d1ce4e5b9ul >> 40) & (index_size - 1);
}

static struct spool_data_cell *append(u32 counter, u32 object, u64 offset)
{
    u64 n = spool->data.cells_used;
    struct spool_data_cell *c = cell_at((u32)n);

    if (n >= SPOOL_DATA_CELLS_MAX)
        return NULL;
    *c = (struct spool_data_cell){
        .counter = counter, .object = object, .first = offset, .low = offset, .high = offset
    };
    __atomic_store_n(&spool->data.cells_used, n + 1, __ATOMIC_RELEASE);
    return c;
}

// As counts_grow() of objtable.c.
static __attribute__((noinline)) void index_grow(void)
{
    u64 used = spool->data.cells_used;

    while (index_size < INDEX && used > index_size / 4)
        index_size *= 2;
    memset(index_of, 0, index_size * sizeof(*index_of));
    for (u32 i = 0; i < used && i < SPOOL_DATA_CELLS_MAX; i++) {
        const struct spool_data_cell *c = cell_at(i);
        u32 place = place_of(c->counter, c->object, key_of_cell(c));

        if (!c->counter)
            continue; // the program has written there
        while (index_of[place])
            place = (place + 1) & (index_size - 1);
        index_of[place] = i + 1;
    }
    __atomic_store_n(&index_room, index_size == INDEX ? ~0u : index_size / 2, __ATOMIC_RELEASE);
}

u32 cells_find(const struct cells_at *at)
{
    struct spool_data_cell *c;
    u32 place;

    if (UNLIKELY(spool->data.cells_used > index_room))
        index_grow();
    place = place_of(at->counter, at->object, at->key);
    for (u32 i = 0; index_of[place]; i++, place = (place + 1) & (index_size - 1)) {
        c = cell_at((index_of[place] - 1) % SPOOL_DATA_CELLS_MAX);
        if (c->counter == at->counter && c->object == at->object && key_of_cell(c) == at->key)
            return index_of[place];
        if (i == INDEX)
            return 0; // the program has written there
    }
    c = append(at->counter, at->object, at->offset);
    return c ? index_of[place] = (u32)(c - cell_at(0)) + 1 : 0;
}

static u64 divisor(u64 a, u64 b)
{
    while (b) {
        u64 rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

// For cells_is_multiple().
static __attribute__((noinline)) void learn_step(struct cells_kept *k, u64 step)
{
    u64 odd;

    k->step = step;
    k->full = false;
    k->shift = step ? (u8)__builtin_ctzl(step) : 0;
    odd = step ? step >> k->shift : 1; // of no step only 0 is a multiple
    k->inverse = odd;                  // right in its three lowest bits; each round doubles them
    for (u32 i = 0; i < 5; i++)
        k->inverse *= 2 - odd * k->inverse;
    k->most = step ? ~0ul / step : 0;
}

// Of a cell that is found anew each time, or of few bytes, the inverse would not be used again.
static void widen_once(struct spool_data_cell *c, u64 away)
{
    if (!c->step || ((away | c->step) >> 32 ? away % c->step : (u32)away % c->step))
        c->step = divisor(away, c->step);
}

static void widen(struct cells_kept *k, struct spool_data_cell *c, u64 away)
{
    if (UNLIKELY(k->step != c->step))
        learn_step(k, c->step);
    if (UNLIKELY(!cells_is_multiple(k, away))) {
        c->step = divisor(away, c->step);
        learn_step(k, c->step);
    }
}

static u32 count_bits(u64 bits)
{
    u32 n = 0;

    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

static void note_words(struct spool_data_cell *c, u64 offset)
{
    u64 word = offset / 4;

#define NOTE(i, modulus) c->words[i] |= 1ul << (word % (modulus));
    MODULI(NOTE)
#undef NOTE
}

// Whether all words are noted that a multiple of the step can be at.
static bool is_full(const struct spool_data_cell *c)
{
    u64 step = c->step % 4 ? 1 : c->step / 4;
    u32 missing = 0;

#define MISSING(i, modulus) \
    missing |= count_bits(c->words[i]) != (modulus) / divisor(modulus, step);
    MODULI(MISSING)
#undef MISSING
    return c->step && !missing;
}

void cells_place(const struct cells_miss *miss, struct cells_at *at)
{
    const struct spool_data_object *o = object_at(miss->object);

    at->counter = 0;
    if (miss->start == FOUND_UNKNOWN || miss->start > miss->addr || !has_cells(o))
        return;
    at->object = miss->object;
    at->counter = insnids_first(miss->counter) + 1;
    if (miss->write)
        at->counter |= SPOOL_DATA_CELL_WRITE;
    at->offset = miss->addr - miss->start;
    at->key = key_of(o, at->offset);
}

void cells_prefetch(const struct cells_at *at)
{
    if (at->counter)
        __builtin_prefetch(&index_of[place_of(at->counter, at->object, at->key)]);
}

void cells_prefetch_cell(const struct cells_at *at)
{
    u32 cell = at->counter ? index_of[place_of(at->counter, at->object, at->key)] : 0;
    const u8 *c = (const u8 *)cell_at((cell - 1) % SPOOL_DATA_CELLS_MAX);

    for (u64 i = 0; cell && i < sizeof(struct spool_data_cell); i += 64)
        __builtin_prefetch(c + i, 1);
}

void cells_keep(struct cells_kept *k, const struct cells_at *at)
{
    k->counter = 0;
    k->cell = cells_find(at);
    k->key = at->key;
    k->full = false;
    k->shift = 0; // nothing but 0 is a multiple of no step
    k->step = k->most = 0;
    k->inverse = 1;
    __atomic_store_n(&k->counter, k->cell ? at->counter : 0, __ATOMIC_RELEASE);
}

static void add(struct cells_kept *k, u64 offset, u32 l2, u32 ll, bool once)
{
    struct spool_data_cell *c = cells_at_number(k->cell);
    u64 away = cells_away(c, offset);

    if (!c->l1)
        c->first = c->low = c->high = offset; // it may have been zeroed
    else if (away && (once || k->key != CELLS_WHOLE))
        widen_once(c, away);
    else if (away)
        widen(k, c, away);
    cells_widen(c, offset);
    c->l1++;
    c->l2 += l2;
    c->ll += ll;
    if (k->key != CELLS_WHOLE || (k->full && k->step == c->step))
        return;
    note_words(c, offset);
    if (c->l1 % FULL_AGAIN == 0 && is_full(c)) {
        learn_step(k, c->step);
        k->full = true;
    }
}

void cells_add(struct cells_kept *k, u64 offset, u32 l2, u32 ll)
{
    add(k, offset, l2, ll, false);
}

void cells_count(const struct cells_miss *miss)
{
    struct cells_kept k = { 0 };
    struct cells_at at;

    cells_place(miss, &at);
    if (!at.counter)
        return;
    cells_keep(&k, &at);
    if (k.counter)
        add(&k, at.offset, miss->l2, miss->ll, true);
}

void cells_zero(void)
{
    for (u64 i = 0; i < spool->data.cells_used && i < SPOOL_DATA_CELLS_MAX; i++) {
        struct spool_data_cell *c = cell_at((u32)i);

        c->l1 = c->l2 = c->ll = c->step = 0;
        memset(c->words, 0, sizeof(c->words));
    }
}
