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
#include "engine/objects/walks.h"
#include "engine/spool/spooler.h"

#define INDEX 0x200000u // twice as many as cells
#define WHOLE (~0ul)    // the key of a cell of the whole object

static u32 *index_of; // of cells, plus one

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
}

static bool has_cells(const struct spool_data_object *o)
{
    return o->kind == SPOOL_DATA_STATIC || o->kind == SPOOL_DATA_HEAP ||
           (o->kind == SPOOL_DATA_TLS && o->name);
}

// What an offset has in common with those in the same cell.
static u64 key_of(const struct spool_data_object *o, u64 offset)
{
    if (o->size > SPOOL_DATA_PIECES || offset >= SPOOL_DATA_PIECES)
        return WHOLE;
    return offset < SPOOL_DATA_EXACT ? offset : offset & -(u64)SPOOL_DATA_PIECE;
}

static u64 key_of_cell(const struct spool_data_cell *c)
{
    return key_of(object_at(c->object % SPOOL_DATA_OBJECTS_MAX), c->first);
}

static u32 place_of(u32 counter, u32 object, u64 key)
{
    u64 h = (((u64)counter << 32 | object) ^ key << 13) * 0x9e3779b97f4a7c15ul;

    return (u32)((h ^ h >> 29) * 0xbf58476d1ce4e5b9ul >> 40) & (INDEX - 1);
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

// NULL: there is no space.
static struct spool_data_cell *cell_of(u32 counter, u32 object, u64 offset)
{
    u64 key = key_of(object_at(object), offset);
    u32 place = place_of(counter, object, key);
    struct spool_data_cell *c;

    for (u32 i = 0; index_of[place]; i++, place = (place + 1) & (INDEX - 1)) {
        c = cell_at((index_of[place] - 1) % SPOOL_DATA_CELLS_MAX);
        if (c->counter == counter && c->object == object && key_of_cell(c) == key)
            return c;
        if (i == INDEX)
            return NULL; // the program has written there
    }
    c = append(counter, object, offset);
    if (c)
        index_of[place] = (u32)(c - cell_at(0)) + 1;
    return c;
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

static void widen(struct spool_data_cell *c, u64 offset)
{
    u64 away = offset > c->first ? offset - c->first : c->first - offset;

    if (offset < c->low)
        c->low = offset;
    if (offset > c->high)
        c->high = offset;
    if (away && (!c->step || away % c->step))
        c->step = divisor(away, c->step);
}

static void note_words(struct spool_data_cell *c, u64 offset)
{
    u64 word = offset / 4;

#define NOTE(i, modulus) c->words[i] |= 1ul << (word % (modulus));
    MODULI(NOTE)
#undef NOTE
}

void cells_count(const struct cells_miss *miss)
{
    u64 offset = miss->addr - miss->start;
    u32 counter = walks_first(miss->counter) + 1;
    struct spool_data_cell *c;

    if (miss->start == FOUND_UNKNOWN || miss->start > miss->addr ||
        !has_cells(object_at(miss->object)))
        return;
    if (miss->write)
        counter |= SPOOL_DATA_CELL_WRITE;
    c = cell_of(counter, miss->object, offset);
    if (!c)
        return;
    if (c->l1)
        widen(c, offset);
    else
        c->first = c->low = c->high = offset; // it may have been zeroed
    if (key_of_cell(c) == WHOLE)
        note_words(c, offset);
    c->l1++;
    c->l2 += miss->l2;
    c->ll += miss->ll;
}

void cells_zero(void)
{
    for (u64 i = 0; i < spool->data.cells_used && i < SPOOL_DATA_CELLS_MAX; i++) {
        struct spool_data_cell *c = cell_at((u32)i);

        c->l1 = c->l2 = c->ll = c->step = 0;
        memset(c->words, 0, sizeof(c->words));
    }
}
