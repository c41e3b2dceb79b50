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
#include "engine/base/mini.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/tcache.h"
#include "engine/count/reftrace.h"
#include "engine/replay/area.h"
#include "engine/replay/log.h"
#include "engine/replay/rest.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/translate.h"

#define LOOKED_AT  512u // records of a buffer
#define IDLE_MAX   15u  // buffers that are not looked at, while there is nothing to be found
#define MADE_MAX   2u   // superblocks, for one buffer
#define SEEN       48u  // times
#define WATCHED    12u  // of these, the last, in which what follows is compared
#define CANDIDATES 4096u

// A block that something leads to, and what was executed from it on each time that it was seen.
static struct candidate {
    u64 pc[FRAGMENT_BLOCKS_MAX];
    u32 n, seen;
} * candidates;

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

// The blocks of a record behind pc[0..n). Returns how many there are then.
static u32 add_blocks(const u64 *at, const struct log_block *b, u64 *pc, u32 n)
{
    u32 blocks = area_extent(b, at).blocks;
    const struct fragment *f;

    pc[n++] = b->pc;
    if (blocks == 1)
        return n;
    f = tcache_lookup(b->pc);
    if (!f || f->log != *(const u32 *)at)
        return 0;
    for (u32 i = 0; i + 1 < blocks && n < FRAGMENT_BLOCKS_MAX; i++)
        pc[n++] = f->more[i].pc;
    return n;
}

// The blocks that were executed from record `at` on. A loop is there as often as it fits; another
// one within it is where this ends.
static u32 path_from(const u64 *at, const u64 *end, u64 *pc)
{
    u32 n = 0;

    while (at < end && n < FRAGMENT_BLOCKS_MAX) {
        u32 id = *(const u32 *)at, with;
        const struct log_block *b;

        if (id < LOG_FIRST || !area_has(id))
            break;
        b = area_block(id);
        if (!goes_on(pc, n, b->pc))
            break;
        with = add_blocks(at, b, pc, n);
        if (!with)
            break;
        n = with;
        at += area_extent(b, at).slots;
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
static const struct candidate *often(const u64 *at, const u64 *end)
{
    u64 pc = area_block(*(const u32 *)at)->pc, path[FRAGMENT_BLOCKS_MAX] = { 0 };
    struct candidate *c = candidate_of(pc);
    u32 n, same = 0;

    if (c->pc[0] != pc) {
        c->pc[0] = pc;
        c->seen = 0;
    }
    if (c->seen == SEEN || ++c->seen <= SEEN - WATCHED)
        return NULL;
    n = path_from(at, end, path);
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

static bool make(const u64 *at, const u64 *end)
{
    const struct candidate *c = often(at, end);
    struct fragment *f, *s;

    if (!c)
        return false;
    f = tcache_lookup(c->pc[0]);
    s = can_begin(f) ? translate_superblock(c->pc, c->n) : NULL;
    if (!s)
        return false;
    links_move(f, s);
    ibl_move(s);
    spool->n_superblocks++;
    spool->n_superblock_blocks += s->nmore + 1;
    return true;
}

// Whether a superblock may begin behind the record of `before`: none goes on there.
static bool is_end(const struct log_block *before, u64 pc)
{
    const struct candidate *c = candidate_of(before->pc);

    return !before->nexts || before->blocks > 1 || pc <= before->pc ||
           (c->pc[0] == before->pc && c->seen == SEEN);
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

// log_seen
static void seen(const u64 *from, const u64 *end)
{
    static u32 idle, left; // buffers
    const struct log_block *before = NULL;
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
        const struct log_block *b;

        words = rest_words(from);
        if (!words)
            break;
        if (id < LOG_FIRST) {
            before = NULL;
            continue;
        }
        b = area_block(id);
        if (b->blocks == 1 && before && is_end(before, b->pc))
            made += make(from, end);
        before = b;
    }
    idle = made ? 0 : idle < IDLE_MAX ? idle + 1 : IDLE_MAX;
    left = idle;
    tcache_unlock();
}

void superblock_init(void)
{
    if (!tb_config.superblocks || reftrace_on)
        return;
    candidates = heap_pages(CANDIDATES * sizeof(*candidates));
    log_seen = seen;
}
