// SPDX-License-Identifier: MIT
//
// The counters of a spool: those of one thread or the sums of all, with the costs of calls that
// were open at the end, and the executions that several blocks share.
#include "finish/spool/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

static uint32_t read_owner(const struct spool_file *s, uint32_t slot)
{
    uint64_t owner, at = spool_counters_at(slot);

    if (!s->h->owner || s->h->owner >= s->counters_used ||
        pread(s->fd, &owner, sizeof(owner), (off_t)(at + s->h->owner * sizeof(owner))) !=
            sizeof(owner) ||
        !owner || owner > SPOOL_THREADS_MAX)
        return slot;
    return (uint32_t)owner - 1;
}

uint32_t spool_counters_owner(const struct spool_file *s, uint32_t slot)
{
    if (!s->h->owner || slot >= SPOOL_THREADS_MAX)
        return slot;
    if (!s->owner[slot]) // looked up for each partial record
        s->owner[slot] = read_owner(s, slot) + 1;
    return s->owner[slot] - 1;
}

bool spool_counters_wanted(const struct spool_file *s, uint64_t slot)
{
    return s->slot == SPOOL_ALL_THREADS || s->slot == spool_counters_owner(s, (uint32_t)slot);
}

// Adds counters that several blocks share to the counter of each.
static void add_sums(struct spool_file *s)
{
    uint64_t *counters = s->counters_area;

    for (uint64_t off = 0; off + sizeof(struct spool_block) <= s->blocks_used;) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);
        const uint32_t *of = (const uint32_t *)(b + 1);

        if (spool_read_is_empty(b))
            break;
        off += spool_read_block_size(b);
        if (!(b->flags & SPOOL_B_SUM) || off > s->blocks_used || b->counter >= s->counters_used)
            continue;
        if (counters[b->counter] >= FINISH_COUNT_MAX) {
            s->bad++;
            continue;
        }
        for (uint32_t i = 0; i < b->insns; i++)
            if (of[i] < s->counters_used)
                s->most |= counters[of[i]] += counters[b->counter];
    }
}

// The bitwise or of all counters. One at a time, the 50,000 of /bin/true take 1.4 % of the
// finisher's instructions.
static uint64_t bits_of(const uint64_t *counters, size_t n)
{
    typedef uint64_t four __attribute__((vector_size(32), aligned(8)));
    four a = { 0 }, b = { 0 };
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        a |= *(const four *)(counters + i);
        b |= *(const four *)(counters + i + 4);
    }
    for (a |= b; i < n; i++)
        a[0] |= counters[i];
    return a[0] | a[1] | a[2] | a[3];
}

// Adds the n counters at `off` of the file; sum is 0 the first time. Skips holes: most pages are of
// code that was never executed. Returns 0, or -1 with errno.
static int add_counters(struct spool_file *s, uint64_t off, uint64_t *sum, size_t n, bool first)
{
    const uint64_t end = off + n * sizeof(*sum);
    uint64_t piece[4096], at = off, to;
    int fd = s->fd;

    for (; spool_read_next(fd, &at, end, &to); at = to) {
        if (first) {
            uint64_t *mine = sum + (at - off) / sizeof(*sum);

            if (spool_read(fd, mine, to - at, at) < 0)
                return -1;
            s->most |= bits_of(mine, (to - at) / sizeof(*sum));
            continue;
        }
        while (at < to) {
            uint64_t *mine = sum + (at - off) / sizeof(*sum);
            size_t want = to - at > sizeof(piece) ? sizeof(piece) : to - at;
            ssize_t got = spool_read(fd, piece, want, at);

            if (got <= 0)
                return (int)got;
            for (size_t i = 0; i < (size_t)got / sizeof(*sum); i++)
                mine[i] += piece[i];
            s->most |= bits_of(mine, (size_t)got / sizeof(*sum));
            at += want;
        }
    }
    return 0;
}

// The counters of one slot, with contexts: `own` has space for all, and is 0 afterwards.
static int add_contexts(struct spool_file *s, struct spool_contexts *contexts, uint64_t off,
                        uint64_t *own, uint64_t **sum)
{
    size_t size = s->counters_used * sizeof(*own);
    uint64_t at = off, to;

    if (!spool_read_next(s->fd, &at, off + size, &to))
        return 0;
    if (spool_read_sparse(s->fd, own, size, off) != 0)
        return -1;
    spool_contexts_add(contexts, own, sum, &s->sums);
    memset(own, 0, size);
    return 0;
}

int spool_counters_read(struct spool_file *s, uint64_t file_size)
{
    uint64_t threads =
        spool_read_least(s->h->threads_used ? s->h->threads_used : 1, SPOOL_THREADS_MAX);
    size_t size = s->counters_used * sizeof(uint64_t);
    struct spool_contexts *contexts = NULL;
    uint64_t *sum = NULL, *own = NULL;
    int rc = 0;

    if (size == 0)
        return 0;
    if (s->h->flags & SPOOL_F_CONTEXTS) {
        contexts = spool_contexts_new(s);
        own = xcalloc(s->counters_used, sizeof(*own));
    }
    for (uint64_t t = 0; t < threads && rc == 0; t++) {
        uint64_t off = spool_counters_at(t);

        if (off + size > file_size) {
            errno = 0; // not a failed call: the caller says what it is
            rc = t > 0 ? 0 : -1;
            break;
        }
        if (!spool_counters_wanted(s, t))
            continue;
        bool first = !sum;
        if (first)
            sum = xcalloc(s->counters_used, sizeof(*sum));
        if (contexts)
            rc = add_contexts(s, contexts, off, own, &sum);
        else
            rc = add_counters(s, off, sum, s->counters_used, first);
        if (rc == 0 && (s->h->flags & SPOOL_F_CALLS))
            spool_frames_add_open(s, s->fd, (uint32_t)t, sum);
    }
    free(own);
    if (sum && (s->h->flags & SPOOL_F_CALLS) && spool_counters_wanted(s, 0))
        spool_frames_add_saved(s, s->fd, sum);
    if (contexts)
        s->account = spool_contexts_end(contexts, &sum, &s->sums, &s->accounts, &s->bad);
    s->counters = s->counters_area = sum;
    if (sum && !contexts)
        add_sums(s);
    return sum ? rc : -1;
}

void spool_counters_drop(struct spool_file *s)
{
    free(s->counters_area);
    free(s->account);
    s->counters = s->counters_area = NULL;
    s->account = NULL;
    s->accounts = 0;
    s->sums = s->counters_used;
    s->bad = 0;
    s->most = 0;
    s->estimated = false;
}

bool spool_counters_thread(struct spool_file *s, uint32_t slot)
{
    struct stat st;

    spool_counters_drop(s);
    s->slot = slot;
    return fstat(s->fd, &st) == 0 && spool_counters_read(s, (uint64_t)st.st_size) == 0;
}

void spool_counters_blocks(struct spool_file *s)
{
    uint64_t sum = 0, most = 0, n;

    for (uint64_t off = 0; off + sizeof(struct spool_block) <= s->blocks_used;) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);

        if (spool_read_is_empty(b))
            break;
        if (b->counter < s->counters_used && !(b->flags & SPOOL_B_SUM) &&
            !(s->h->flags & SPOOL_F_CONTEXTS)) {
            sum += n = s->counters[b->counter];
            most |= n;
        }
        off += spool_read_block_size(b);
    }
    for (size_t i = 0; i < s->accounts; i++) // with contexts, accounts have all executions
        if (s->account[i].counter < s->sums) {
            sum += n = s->counters[s->account[i].counter];
            most |= n;
        }
    s->blocks_executed = sum;
    if (s->h->flags & SPOOL_F_CALLS) // of whose counters those of calls may be less than 0
        s->most = most;
}
