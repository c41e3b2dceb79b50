// SPDX-License-Identifier: MIT
// Which blocks become superblocks (superblock.h). At the beginning of a full buffer blocks are
// sought that something leads to which no superblock goes on behind: an indirect branch, a jump
// backwards, another superblock, a block that has been looked at in vain. One that has been found
// there often enough becomes the first of a superblock of what was executed behind it each of the
// last times. What leads to the block leads there from then on; the fragment of the block alone
// stays, for whoever is in it.
//
// Nothing that is counted depends on it: a block in a superblock has the counters that it has
// alone, and its executions are added to those (SPOOL_B_SUM).
#include "engine/translate/superblock.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/hotblocks.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/tcache.h"
#include "engine/count/reftrace.h"
#include "engine/replay/arena.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/salvage.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/translate.h"

#define LOOKED_AT  512u // records of a buffer
#define IDLE_MAX   15u  // buffers that are not looked at, while there is nothing to be found
#define MADE_MAX   2u   // superblocks, for one buffer
#define SEEN       48u  // times
#define WATCHED    12u  // of these, the last, in which what follows is compared
#define CANDIDATES 4096u
#define DENSE      32u  // times that a watched fragment is in one buffer

// A block that something leads to, and what was executed from it on each time that it was seen.
static struct candidate {
    u64 pc[FRAGMENT_BLOCKS_MAX];
    u32 n, seen;
} * candidates;

// What a fragment's execution was, of those that a trail lists.
struct step {
    u64 pc;
    u32 blocks;                        // so many of the fragment's
    const struct fragment_block *more; // those behind the first
};

// Reads the step at `at`; returns where the next one is that it went on to, NULL: nobody knows what
// followed. s->blocks 0: there is none.
typedef const void *read_step(const void *at, const void *end, struct step *s);

// Where `of` is in pc[from..n); n: nowhere.
static u32 find(const u64 *pc, u32 from, u32 n, u64 of)
{
    while (from < n && pc[from] != of)
        from++;
    return from;
}

// Whether the block at `of` is the next of a path: a new one, or of the next turn of a loop that
// has led to the path's first block again.
static bool goes_on(const u64 *pc, u32 n, u64 of)
{
    u32 turn = n ? find(pc, 1, n, pc[0]) : 0;

    return find(pc, 0, n, of) == n || of == pc[0] || (turn < n && pc[n - turn] == of);
}

// The blocks that were executed from `at` on. A loop is there as often as it fits; another one
// within it is where this ends.
static u32 path_from(read_step *read, const void *at, const void *end, u64 *pc)
{
    u32 n = 0;

    while (at && at < end && n < FRAGMENT_BLOCKS_MAX) {
        struct step s;

        at = read(at, end, &s);
        if (!s.blocks || !goes_on(pc, n, s.pc))
            break;
        pc[n++] = s.pc;
        for (u32 i = 0; i + 1 < s.blocks && n < FRAGMENT_BLOCKS_MAX; i++)
            pc[n++] = s.more[i].pc;
    }
    return n;
}

static struct candidate *candidate_of(u64 pc)
{
    return &candidates[(pc * 0x9e3779b97f4a7c15ul) >> 32 & (CANDIDATES - 1)];
}

static bool can_begin(const struct fragment *f)
{
    return f && !f->nmore &&
           !(f->flags & (FRAGMENT_WRITABLE | FRAGMENT_STEP | FRAGMENT_ALONE | FRAGMENT_REQUEST));
}

// What has been executed each time; NULL: that is not known yet, or no two blocks.
static const struct candidate *often(read_step *read, const void *at, const void *end, u64 pc)
{
    u64 path[FRAGMENT_BLOCKS_MAX] = { 0 };
    struct candidate *c = candidate_of(pc);
    u32 n, same = 0;

    if (c->pc[0] != pc) {
        c->pc[0] = pc;
        c->seen = 0;
    }
    if (c->seen == SEEN || ++c->seen <= SEEN - WATCHED)
        return NULL;
    n = path_from(read, at, end, path);
    if (c->seen == SEEN - WATCHED + 1) {
        memcpy(c->pc, path, sizeof(path));
        c->n = n;
        return NULL;
    }
    while (same < n && same < c->n && c->pc[same] == path[same])
        same++;
    c->n = same;
    return c->seen == SEEN && same >= 2 ? c : NULL;
}

// Something has led to the block at pc, the trail's `at`.
static bool make(read_step *read, const void *at, const void *end, u64 pc)
{
    const struct candidate *c = often(read, at, end, pc);
    struct fragment *f, *s;

    if (!c)
        return false;
    f = tcache_lookup(c->pc[0]);
    s = can_begin(f) ? translate_superblock(c->pc, c->n) : NULL;
    if (!s)
        return false;
    f->flags |= FRAGMENT_PAST;
    links_move(f, s);
    ibl_move(s);
    spool->n_superblocks++;
    spool->n_superblock_blocks += s->nmore + 1;
    return true;
}

// Whether it has been looked at often enough, whatever came of that.
static bool is_done(u64 pc)
{
    const struct candidate *c = candidate_of(pc);

    return c->pc[0] == pc && c->seen == SEEN;
}

// What was found goes with the superblocks that were made of it.
static void forget_if_flushed(void)
{
    static u64 flushes;

    if (flushes == spool->n_flush)
        return;
    flushes = spool->n_flush;
    memset(candidates, 0, CANDIDATES * sizeof(*candidates));
}

// -- records --

// read_step
static const void *read_record(const void *from, const void *end, struct step *s)
{
    const u64 *at = from;
    u32 id = *(const u32 *)at;
    const struct record_block *b;
    struct record_side extent;

    (void)end;
    s->blocks = 0;
    if (id < RECORD_FIRST || !arena_has(id))
        return NULL;
    b = arena_block(id);
    extent = arena_extent(b, at);
    s->pc = b->pc;
    if (extent.blocks > 1) {
        const struct fragment *f = tcache_lookup(b->pc);

        if (!f || f->log != id)
            return NULL;
        s->more = f->more;
    }
    s->blocks = extent.blocks;
    return at + extent.slots;
}

// Whether a superblock may begin behind the record of `before`: none goes on there.
static bool is_end(const struct record_block *before, u64 pc)
{
    return !before->nexts || before->blocks > 1 || pc <= before->pc || is_done(before->pc);
}

// recordbuf_seen
static void seen(const u64 *from, const u64 *end)
{
    static u32 idle, left; // buffers
    const struct record_block *before = NULL;
    u32 made = 0, words;

    if (!tb_config.counts || !tcache_try_lock())
        return;
    forget_if_flushed();
    if (left) {
        left--;
        tcache_unlock();
        return;
    }
    for (u32 i = 0; i < LOOKED_AT && from < end && made < MADE_MAX; i++, from += words) {
        u32 id = *(const u32 *)from;
        const struct record_block *b;

        words = salvage_words(from);
        if (!words)
            break;
        if (id < RECORD_FIRST) {
            before = NULL;
            continue;
        }
        b = arena_block(id);
        if (b->blocks == 1 && before && is_end(before, b->pc))
            made += make(read_record, from, end, b->pc);
        before = b;
    }
    idle = made ? 0 : idle < IDLE_MAX ? idle + 1 : IDLE_MAX;
    left = idle;
    tcache_unlock();
}

// -- fragments that are watched --

// Whose buffer is looked at, and how often each fragment is in it. @holds(translation lock)
static const struct thread *watching;
static u16 *times;

static struct fragment *watched(const u32 *at)
{
    return tcache_by_index(*at / 8);
}

static bool leaves_by(const struct fragment *f, u64 pc)
{
    for (u32 i = 0; i < f->nexits; i++) {
        if (f->exit[i].target == pc)
            return true;
    }
    return false;
}

// Whether `from` can have gone on to f: what comes next in the buffer may have been executed later,
// behind others that are not watched.
static bool can_lead(const struct fragment *from, const struct fragment *f)
{
    return leaves_by(from, f->pc) || (from->ibl_jmp[0] && ibl_leads(watching, f));
}

// read_step. Of a superblock nothing says how much of it was executed: all that leads to what comes
// next, if it can.
static const void *read_watched(const void *from, const void *end, struct step *s)
{
    const struct fragment *f = watched(from);
    const u32 *next = (const u32 *)from + 1;

    s->pc = f->pc;
    s->more = f->more;
    s->blocks = f->flags & FRAGMENT_DEAD ? 0 : f->nmore + 1;
    if (next == end || !can_lead(f, watched(next)))
        return NULL;
    return next;
}

// As is_end().
static bool is_watched_end(const struct fragment *before, const struct fragment *f)
{
    return before->nmore || !before->nexits || f->pc <= before->pc || is_done(before->pc) ||
           !can_lead(before, f);
}

static void look_at(const u32 *at, const u32 *end)
{
    for (const u32 *p = at; p < end; p++)
        times[*p / 8]++;
    for (const u32 *p = at + 1; p < end; p++) {
        const struct fragment *f;

        if (times[*p / 8] < DENSE)
            continue;
        f = watched(p);
        if (!(f->flags & FRAGMENT_DEAD) && can_begin(f) && !is_done(f->pc) &&
            is_watched_end(watched(p - 1), f) && tcache_has_room())
            make(read_watched, p, end, f->pc);
    }
    for (const u32 *p = at; p < end; p++) {
        if (times[*p / 8])
            hotblocks_seen(watched(p), times[*p / 8]);
        times[*p / 8] = 0;
    }
}

void superblock_watched(struct thread *t)
{
    u32 n;
    const u32 *at = hotblocks_full(t, &n);

    if (!at)
        return;
    tcache_lock();
    watching = t;
    forget_if_flushed();
    if (tb_config.counts)
        look_at(at, at + n);
    tcache_unlock();
    hotblocks_begin(t);
}

void superblock_look(struct thread *t)
{
    tcache_lock();
    memset(candidates, 0, CANDIDATES * sizeof(*candidates)); // what has been done may be done again
    hotblocks_most(t, tcache_next_index());
    tcache_unlock();
}

void superblock_init(void)
{
    if (!tb_config.superblocks || reftrace_on)
        return;
    candidates = heap_pages(CANDIDATES * sizeof(*candidates));
    if (tb_config.watch)
        times = heap_pages(FRAGMENTS_MAX * sizeof(*times));
    else
        recordbuf_seen = seen;
}
