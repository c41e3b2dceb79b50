// SPDX-License-Identifier: MIT
// Which blocks become superblocks (superblock.h). Candidates are searched at the beginning of a
// full buffer: blocks whose predecessor would not continue a superblock, because it is an indirect
// branch, jumps backwards, is a superblock, or is a candidate that has been decided. A candidate
// that was seen often enough becomes the first block of a superblock of the path that followed it
// each of the last times. Links to the block then lead to the superblock; the fragment of the block
// alone stays, for threads that are in it.
//
// No count depends on it: a block in a superblock has the counters that it has alone, and its
// executions are added to those (SPOOL_B_SUM).
#include "engine/translate/superblock.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/hotblocks.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/tcache.h"
#include "engine/count/reftrace.h"
#include "engine/objects/alloc.h"
#include "engine/replay/arena.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/salvage.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/translate.h"

#define EXAMINED   512u // records of a buffer that are examined
#define IDLE_MAX   4u   // buffers that are skipped, while nothing is found
#define MADE_MAX   2u   // superblocks for one buffer
#define SEEN       48u  // times that a candidate is seen until it is decided
#define WATCHED    12u  // the last of these, whose paths are compared
// A candidate is seen so often within so many examined records, one in 5,461, or begins anew: else
// every block would begin a superblock some day, and a long run grew without end.
#define SPAN       0x40000u
#define CANDIDATES 4096u
#define DENSE      32u // times that a watched fragment must be in one buffer

// A candidate: the path that was executed from the block on each time it was seen.
static struct candidate {
    u64 pc[FRAGMENT_BLOCKS_MAX];
    u16 n, seen;
    u32 since; // `examined` when it was first seen
} * candidates;
static u32 examined; // records of all buffers; wraps around

// An execution of a fragment, read from a buffer.
struct step {
    u64 pc;
    u32 blocks;                        // how many of the fragment's were executed
    const struct fragment_block *more; // those after the first
};

// Reads the step at `at`; returns the address of the step that followed, NULL: not known.
// s->blocks 0: there is no step.
typedef const void *read_step(const void *at, const void *end, struct step *s);

// The index of `of` in pc[from..n); n: it is not there.
static u32 find(const u64 *pc, u32 from, u32 n, u64 of)
{
    while (from < n && pc[from] != of)
        from++;
    return from;
}

// Whether the block at `of` continues a path: it is new, or belongs to the next iteration of a loop
// that has come back to the path's first block.
static bool goes_on(const u64 *pc, u32 n, u64 of)
{
    u32 turn = n ? find(pc, 1, n, pc[0]) : 0;

    return find(pc, 0, n, of) == n || of == pc[0] || (turn < n && pc[n - turn] == of);
}

// The blocks that were executed from `at` on. A loop to the first block is unrolled as often as it
// fits; any other loop ends the path.
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

// Notes that the block at pc was seen. Returns the path that was executed each time; NULL: not
// known yet, or less than two blocks.
static const struct candidate *common_path(read_step *read, const void *at, const void *end, u64 pc)
{
    u64 path[FRAGMENT_BLOCKS_MAX] = { 0 };
    struct candidate *c = candidate_of(pc);
    u32 n, same = 0;

    if (c->pc[0] != pc || (c->seen < SEEN && examined - c->since >= SPAN)) {
        c->pc[0] = pc;
        c->seen = 0;
        c->since = examined;
    }
    if (c->seen == SEEN || ++c->seen <= SEEN - WATCHED)
        return NULL;
    n = path_from(read, at, end, path);
    if (c->seen == SEEN - WATCHED + 1) {
        memcpy(c->pc, path, sizeof(path));
        c->n = (u16)n;
        return NULL;
    }
    while (same < n && same < c->n && c->pc[same] == path[same])
        same++;
    c->n = (u16)same;
    return c->seen == SEEN && same >= 2 ? c : NULL;
}

// How many blocks of a path can be in one superblock. With --data=yes the dispatcher sees each
// entry of an allocator's function, and each block that it returns to. Each pass of the dispatcher
// ends a path as it is, by a word between two records.
static u32 joined(const u64 *pc, u32 n)
{
    u32 k = 1;

    if (!tb_config.data)
        return n;
    while (k < n && !alloc_point(pc[k]))
        k++;
    return k;
}

// The block at pc, the step at `at`, is a candidate: makes its superblock if it was seen often
// enough.
static bool make(read_step *read, const void *at, const void *end, u64 pc)
{
    const struct candidate *c = common_path(read, at, end, pc);
    struct fragment *f, *s;
    u32 n = c ? joined(c->pc, c->n) : 0;

    if (n < 2)
        return false;
    f = tcache_lookup(c->pc[0]);
    s = can_begin(f) ? translate_superblock(c->pc, n) : NULL;
    if (!s)
        return false;
    f->flags |= FRAGMENT_PAST;
    links_move(f, s);
    ibl_move(s);
    spool->n_superblocks++;
    spool->n_superblock_blocks += s->nmore + 1;
    return true;
}

// Whether the candidate has been decided, with or without a superblock.
static bool is_decided(u64 pc)
{
    const struct candidate *c = candidate_of(pc);

    return c->pc[0] == pc && c->seen == SEEN;
}

// A flush drops the superblocks: drops the candidates, too.
static void forget_if_flushed(void)
{
    static u64 flushes;

    if (flushes == spool->n_flush)
        return;
    flushes = spool->n_flush;
    memset(candidates, 0, CANDIDATES * sizeof(*candidates));
}

// -- records --

// Whether the entry between records tells what a call or return has changed.
static bool is_of_calls(const u64 *at)
{
    u32 id = *(const u32 *)at;

    return tb_config.calls && (id == RECORD_ENTER || id == RECORD_LEAVE);
}

// read_step
static const void *read_record(const void *from, const void *end, struct step *s)
{
    const u64 *at = from;
    u32 id = *(const u32 *)at;
    const struct record_block *b;
    struct record_side extent;

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
    for (at += extent.slots; (const void *)at < end && is_of_calls(at); at += salvage_words(at))
        ;
    return at;
}

// Whether a superblock may begin after the record of `before`: none continues there.
static bool is_end(const struct record_block *before, u64 pc)
{
    return !before->nexts || before->blocks > 1 || pc <= before->pc || is_decided(before->pc);
}

// recordbuf_on_full
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
    for (u32 i = 0; i < EXAMINED && from < end && made < MADE_MAX; i++, from += words) {
        u32 id = *(const u32 *)from;
        const struct record_block *b;

        words = salvage_words(from);
        if (!words)
            break;
        examined++;
        if (id < RECORD_FIRST) {
            before = is_of_calls(from) ? before : NULL;
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

// -- watched fragments --

// The thread whose buffer is read, and how often each fragment is in it. @holds(translation lock)
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

// Whether control can go from `from` to f: the next entry of the buffer may have been executed
// later, after fragments that are not watched.
static bool can_lead(const struct fragment *from, const struct fragment *f)
{
    return leaves_by(from, f->pc) || (from->ibl_jmp[0] && ibl_has(watching, f));
}

// read_step. The buffer does not tell how much of a superblock was executed: all of it is assumed.
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
    return before->nmore || !before->nexits || f->pc <= before->pc || is_decided(before->pc) ||
           !can_lead(before, f);
}

static void examine(const u32 *at, const u32 *end)
{
    for (const u32 *p = at; p < end; p++)
        times[*p / 8]++;
    for (const u32 *p = at + 1; p < end; p++) {
        const struct fragment *f;

        if (times[*p / 8] < DENSE)
            continue;
        f = watched(p);
        if (!(f->flags & FRAGMENT_DEAD) && can_begin(f) && !is_decided(f->pc) &&
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
        examine(at, at + n);
    tcache_unlock();
    hotblocks_begin(t);
}

void superblock_sample(struct thread *t)
{
    tcache_lock();
    memset(candidates, 0, CANDIDATES * sizeof(*candidates)); // decisions may change
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
        recordbuf_on_full = seen;
}
