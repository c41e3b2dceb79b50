// SPDX-License-Identifier: MIT
// Blocks over time (lifetimes.h).
//
// Which lines of a block have missed is known for each block by itself, since a reference may be
// simulated when its block is gone and another one has the memory. A block of few lines has the
// bits in its range; of larger ones a table has those of each page, by the page and the time of the
// block's birth. They are removed when nothing can refer to the block any more.
#include "engine/objects/lifetimes.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/objects/pages.h"
#include "engine/spool/spooler.h"

#define ENTRIES 0x100000u
#define FULL    (ENTRIES / 4 * 3)
#define GROUP   16u // pages
// Numbers of pages that no address has: of the entry that says that a large block has missed; of
// those that have the beginning and the size of a block from which another one has taken a part.
#define MISSED (~0ul)
#define START  (~1ul)
#define SIZE   (~2ul)
// Entries START and SIZE by the time of the block's birth: nearly all blocks have none, and each
// look into the table was a miss of the host's caches. A number that cannot grow stays.
#define NOTES      0x4000u
#define NOTES_MANY 0xffu

struct entry {
    u64 page, born; // born 0: free
    u64 lines;      // that have missed; START, SIZE: that
};

static struct {
    struct entry *entry;
    u32 used;
    u8 *notes; // how many entries START and SIZE there are
} lifetimes;

static struct spool_data_object *object_at(u32 object)
{
    return (struct spool_data_object *)DATA_BASE + object % SPOOL_DATA_OBJECTS_MAX;
}

// Pages side by side have their entries side by side: scattered, each was in another page of the
// host.
static u32 place_of(u64 page, u64 born)
{
    u64 h = (page / GROUP ^ born << 36 ^ born >> 28) * 0x9e3779b97f4a7c15ul;

    h = (h ^ h >> 32) * 0xbf58476d1ce4e5b9ul >> 40;
    return (u32)(h * GROUP + page % GROUP) & (ENTRIES - 1);
}

// The entry, or the free one where it would be. It is never full, but another process may have been
// killed when it was writing: the search is bounded.
static struct entry *entry_of(u64 page, u64 born)
{
    u32 i = place_of(page, born);

    for (u32 steps = 0; steps < ENTRIES; steps++, i = (i + 1) & (ENTRIES - 1)) {
        struct entry *e = &lifetimes.entry[i];

        if (!e->born || (e->page == page && e->born == born))
            return e;
    }
    return NULL;
}

static u8 *notes_of(u64 born)
{
    return &lifetimes.notes[born % NOTES];
}

// *is_new: it was not there. NULL: there is no space.
static struct entry *entry_get(u64 page, u64 born, bool *is_new)
{
    struct entry *e = entry_of(page, born);

    *is_new = e && !e->born;
    if (!e || (*is_new && lifetimes.used >= FULL))
        return NULL;
    if (*is_new) {
        *e = (struct entry){ page, born, 0 };
        lifetimes.used++;
    }
    return e;
}

// Those behind it move up, so that a search ends at the first free one.
static void entry_remove(u64 page, u64 born)
{
    struct entry *e = entry_of(page, born);
    u32 hole, i;

    if (!e || !e->born)
        return;
    hole = i = (u32)(e - lifetimes.entry);
    for (u32 steps = 0; steps < ENTRIES; steps++) {
        const struct entry *next;

        i = (i + 1) & (ENTRIES - 1);
        next = &lifetimes.entry[i];
        if (!next->born)
            break;
        if (((i - place_of(next->page, next->born)) & (ENTRIES - 1)) < ((i - hole) & (ENTRIES - 1)))
            continue; // its place is behind the hole
        lifetimes.entry[hole] = *next;
        hole = i;
    }
    lifetimes.entry[hole] = (struct entry){ 0 };
    lifetimes.used--;
    if ((page == START || page == SIZE) && *notes_of(born) != NOTES_MANY)
        --*notes_of(born);
}

// ---- Blocks that come and go ----

static void note_peak(struct spool_data_object *o)
{
    u64 live = o->bytes - o->gone_bytes;

    if (live <= o->peak_bytes && o->peak_blocks)
        return;
    o->peak_bytes = live;
    o->peak_blocks = o->blocks - o->gone_blocks;
}

void lifetimes_grown(struct spool_data_object *o, u64 bytes)
{
    o->bytes += bytes;
    note_peak(o);
}

void lifetimes_block(struct spool_data_object *o, u64 bytes)
{
    if (!o->blocks || o->least > bytes)
        o->least = bytes;
    if (o->most < bytes)
        o->most = bytes;
    o->blocks++;
    o->bytes += bytes;
    note_peak(o);
}

static void gone(u32 object, u64 bytes, bool begins)
{
    struct spool_data_object *o = object_at(object);

    o->gone_blocks += begins && o->gone_blocks < o->blocks;
    o->gone_bytes += bytes < o->bytes - o->gone_bytes ? bytes : o->bytes - o->gone_bytes;
}

static void note(u64 what, u64 born, u64 value)
{
    bool is_new;
    struct entry *e = entry_get(what, born, &is_new);

    if (e && is_new) {
        e->lines = value;
        *notes_of(born) += *notes_of(born) != NOTES_MANY;
    }
}

static void cut(u64 start, u64 end, u64 born)
{
    note(START, born, start);
    note(SIZE, born, end - start);
}

static const u64 *noted(u64 what, u64 born)
{
    const struct entry *e = *notes_of(born) ? entry_of(what, born) : NULL;

    return e && e->born ? &e->lines : NULL;
}

u64 lifetimes_start(const struct found *block)
{
    const u64 *start = block->start == FOUND_UNKNOWN ? noted(START, block->born) : NULL;

    return start ? *start : block->start;
}

static void forgotten(u64 start, u64 end, u64 born, u32 who)
{
    // Of blocks that were not cut, only a large one has one of these.
    if (!(who & RANGES_PART) && (*notes_of(born) || who & RANGES_LARGE)) {
        entry_remove(START, born);
        entry_remove(SIZE, born);
        entry_remove(MISSED, born);
    }
    if (!(who & RANGES_LARGE))
        return;
    for (u64 page = start / PAGE_SIZE; page <= (end - 1) / PAGE_SIZE; page++)
        entry_remove(page, born);
}

void lifetimes_init(void)
{
    static const struct ranges_watch watch = { gone, cut, forgotten };

    lifetimes.entry = heap_pages(ENTRIES * sizeof(*lifetimes.entry));
    lifetimes.notes = heap_pages(NOTES);
    if (spool->flags & SPOOL_F_NO_HINTS) // they are always looked for
        memset(lifetimes.notes, NOTES_MANY, NOTES);
    ranges_watch = &watch;
}

// ---- Misses ----

static void note_first(struct spool_data_object *o, const struct found *block)
{
    const u64 *size = noted(SIZE, block->born);

    o->missed_blocks++;
    if (size)
        o->missed_bytes += *size;
    else if (block->start != FOUND_UNKNOWN)
        o->missed_bytes += block->end - block->start;
}

static void missed_small(struct spool_data_object *o, const struct found *block, u64 addr)
{
    u32 bit = 1u << (RANGES_LINES_BIT + addr / RANGES_LINE % RANGES_LINES);
    u32 lines = *block->who >> RANGES_LINES_BIT;
    bool is_new;

    if (*block->who & bit)
        return;
    *block->who |= bit;
    o->cold++;
    // The pieces of a block that was cut have bits of their own since.
    if (!lines &&
        (!noted(SIZE, block->born) || (entry_get(MISSED, block->born, &is_new) && is_new)))
        note_first(o, block);
}

static void missed_large(struct spool_data_object *o, const struct found *block, u64 addr)
{
    u64 line = 1ul << addr % PAGE_SIZE / RANGES_LINE;
    bool is_new, is_first = false;
    struct entry *e = entry_get(addr / PAGE_SIZE, block->born, &is_new);

    if (e && is_new && !entry_get(MISSED, block->born, &is_first))
        e = NULL;
    if (!e) {
        spool->data.lines_lost++;
        return;
    }
    if (is_first)
        note_first(o, block);
    if (!(e->lines & line))
        o->cold++;
    e->lines |= line;
    pages_missed(addr, block->born, e->lines);
}

void lifetimes_missed(const struct found *block, u64 addr)
{
    struct spool_data_object *o = object_at(block->object);

    if (block->seen)
        return;
    if (block->who && !(*block->who & RANGES_LARGE))
        missed_small(o, block, addr);
    else
        missed_large(o, block, addr);
}
