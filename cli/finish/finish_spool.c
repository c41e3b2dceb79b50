// SPDX-License-Identifier: MIT
//
// Opens a spool for reading and walks its blocks. Trusts nothing in the file: one left by a killed
// program, or damaged since, gives what is sound in it and a number of records that were not.
#include "cli/finish/finish.h"

#include "cli/finish/finish_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/shared/util.h"

const char *const finish_event_names[FINISH_EVENTS] = { "Ir",   "I1mr", "ILmr", "Dr",   "D1mr",
                                                        "DLmr", "Dw",   "D1mw", "DLmw", "Bc",
                                                        "Bcm",  "Bi",   "Bim" };

bool finish_event_counted(enum finish_event e, uint64_t flags)
{
    if (e == FINISH_IR)
        return true;
    return (flags & (e < FINISH_BC ? SPOOL_F_CACHE_SIM : SPOOL_F_BRANCH_SIM)) != 0;
}

// Maps [off, off + want) as far as the file goes; *got is what was mapped.
static const void *map_area(struct finish_spool *s, int i, int fd, uint64_t file_size, uint64_t off,
                            uint64_t want, uint64_t *got)
{
    uint64_t have = file_size > off ? file_size - off : 0;
    void *p;

    *got = want < have ? want : have;
    if (*got == 0)
        return NULL;
    p = mmap(NULL, *got, PROT_READ, MAP_SHARED, fd, (off_t)off);
    if (p == MAP_FAILED)
        return NULL;
    // Mostly holes, and what is none was written a moment ago: reading ahead would only clear
    // memory.
    madvise(p, *got, MADV_RANDOM);
    s->area[i] = p;
    s->area_size[i] = *got;
    return p;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Sums the counters of all thread slots. One slot is used as it is mapped.
static int read_counters(struct finish_spool *s, int fd, uint64_t file_size)
{
    uint64_t threads = least(s->h->threads_used ? s->h->threads_used : 1, SPOOL_THREADS_MAX);
    size_t size = s->counters_used * sizeof(uint64_t);
    uint64_t *sum = NULL;

    if (size == 0)
        return 0;
    for (uint64_t t = 0; t < threads; t++) {
        uint64_t off = SPOOL_THREADS_OFF + t * SPOOL_THREAD_SIZE;
        uint64_t *slot;

        if (off + size > file_size) {
            if (t > 0)
                break;
            return -1;
        }
        slot = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)off);
        if (slot == MAP_FAILED) {
            free(sum);
            return -1;
        }
        madvise(slot, size, MADV_RANDOM);
        if (threads == 1 && !(s->h->flags & SPOOL_F_CALLS)) {
            s->counters = s->counters_area = slot;
            s->counters_size = size;
            s->counters_mapped = true;
            return 0;
        }
        if (!sum)
            sum = xcalloc(s->counters_used, sizeof(*sum));
        for (uint64_t i = 0; i < s->counters_used; i++)
            sum[i] += slot[i];
        if (s->h->flags & SPOOL_F_CALLS)
            finish_calls_open(s, fd, (uint32_t)t, slot, sum);
        munmap(slot, size);
    }
    if (s->h->flags & SPOOL_F_CALLS)
        finish_calls_left(s, fd, sum);
    s->counters = s->counters_area = sum;
    return 0;
}

int finish_spool_open(struct finish_spool *s, int fd, char *err, size_t err_size)
{
    struct stat st;
    uint64_t size, got;
    const struct spool_header *h;

    memset(s, 0, sizeof(*s));
    if (fstat(fd, &st) != 0) {
        snprintf(err, err_size, "%s", strerror(errno));
        return -1;
    }
    size = (uint64_t)st.st_size;
    h = map_area(s, 0, fd, size, 0, SPOOL_MAPS_OFF, &got);
    if (!h || got < SPOOL_MAPS_OFF || h->magic != SPOOL_MAGIC) {
        snprintf(err, err_size, "not a spool of quern");
        finish_spool_close(s);
        return -1;
    }
    if (h->version != SPOOL_VERSION) {
        snprintf(err, err_size,
                 "a spool of version %u, this quern reads version %u; use the quern "
                 "that made it",
                 h->version, SPOOL_VERSION);
        finish_spool_close(s);
        return -1;
    }
    s->h = h;
    s->text = (const char *)h + SPOOL_TEXT_OFF;
    s->text_used = least(h->text_used, SPOOL_TEXT_SIZE);
    s->maps_used = least(h->maps_used, SPOOL_MAPS_MAX);
    s->maps = map_area(s, 1, fd, size, SPOOL_MAPS_OFF, s->maps_used * sizeof(*s->maps), &got);
    s->maps_used = s->maps ? got / sizeof(*s->maps) : 0;
    s->partial_used = least(h->partial_used, SPOOL_PARTIAL_MAX);
    s->partial =
        map_area(s, 2, fd, size, SPOOL_PARTIAL_OFF, s->partial_used * sizeof(*s->partial), &got);
    s->partial_used = s->partial ? got / sizeof(*s->partial) : 0;
    s->blocks_used = least(h->blocks_used, SPOOL_BLOCKS_SIZE);
    s->blocks = map_area(s, 3, fd, size, SPOOL_BLOCKS_OFF, s->blocks_used, &got);
    s->blocks_used = s->blocks ? got : 0;
    s->edges_used = least(h->edges_used, SPOOL_EDGES_MAX);
    s->edges = map_area(s, 4, fd, size, SPOOL_EDGES_OFF, s->edges_used * sizeof(*s->edges), &got);
    s->edges_used = s->edges ? got / sizeof(*s->edges) : 0;
    s->counters_used = least(h->counters_used, SPOOL_COUNTERS_MAX);
    if (read_counters(s, fd, size) != 0) {
        snprintf(err, err_size, "its counters cannot be read: %s",
                 errno ? strerror(errno) : "the file is too short");
        finish_spool_close(s);
        return -1;
    }
    return 0;
}

void finish_spool_close(struct finish_spool *s)
{
    for (int i = 0; i < 5; i++)
        if (s->area[i])
            munmap(s->area[i], s->area_size[i]);
    if (s->counters_mapped)
        munmap(s->counters_area, s->counters_size);
    else
        free(s->counters_area);
    memset(s, 0, sizeof(*s));
}

const char *finish_spool_text(const struct finish_spool *s, uint32_t offset)
{
    if (offset == 0 || offset >= s->text_used ||
        !memchr(s->text + offset, '\0', s->text_used - offset))
        return NULL;
    return s->text + offset;
}

uint32_t finish_map_of(const struct finish_spool *s, uint64_t addr, uint32_t first)
{
    if (first < s->maps_used && addr >= s->maps[first].start && addr < s->maps[first].end)
        return first;
    for (uint64_t i = s->maps_used; i-- > 0;)
        if (addr >= s->maps[i].start && addr < s->maps[i].end)
            return (uint32_t)i;
    return first;
}

static int compare_partial(const void *x, const void *y)
{
    const struct spool_partial *a = x, *b = y;

    return a->block < b->block ? -1 : a->block > b->block;
}

static void count_insn(struct finish_insn *o, const uint64_t *c, struct spool_counters at,
                       uint64_t flags)
{
    struct spool_insn in = o->in;
    uint64_t n = o->executed;
    uint64_t *counts = o->counts;

    memset(counts, 0, FINISH_EVENTS * sizeof(*counts));
    counts[FINISH_IR] = n;
    if (at.rep_ir != ~0u)
        counts[FINISH_IR] += c[at.rep_ir];
    if (flags & SPOOL_F_CACHE_SIM) {
        counts[FINISH_DR] = n * in.reads;
        counts[FINISH_DW] = n * in.writes;
        if (at.dyn_r != ~0u) {
            counts[FINISH_DR] += c[at.dyn_r];
            counts[FINISH_DW] += c[at.dyn_w];
        }
        if (at.i1mr != ~0u) {
            counts[FINISH_I1MR] = c[at.i1mr];
            counts[FINISH_ILMR] = c[at.i1mr + 1];
        }
        if (at.d1mr != ~0u) {
            counts[FINISH_D1MR] = c[at.d1mr];
            counts[FINISH_DLMR] = c[at.d1mr + 1];
        }
        if (at.d1mw != ~0u) {
            counts[FINISH_D1MW] = c[at.d1mw];
            counts[FINISH_DLMW] = c[at.d1mw + 1];
        }
    }
    if (flags & SPOOL_F_BRANCH_SIM) {
        if (in.flags & SPOOL_I_BC)
            counts[FINISH_BC] = n;
        if (at.rep_bc != ~0u)
            counts[FINISH_BC] += c[at.rep_bc];
        if (at.bcm != ~0u)
            counts[FINISH_BCM] = c[at.bcm];
        if (in.flags & SPOOL_I_BI)
            counts[FINISH_BI] = n;
        if (at.bim != ~0u)
            counts[FINISH_BIM] = c[at.bim];
    }
}

// The executions of instruction i beyond those of the whole block.
static uint64_t extra(const struct spool_partial *p, size_t n, uint32_t i)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < n; k++)
        if (i < p[k].insn)
            sum += p[k].count;
    return sum;
}

uint64_t finish_spool_walk(const struct finish_spool *s,
                           void (*f)(void *ctx, const struct finish_insn *in), void *ctx)
{
    struct spool_partial *partial = xmalloc((s->partial_used + 1) * sizeof(*partial));
    uint64_t flags = s->h->flags;
    uint64_t bad = 0, used = 0;
    uint64_t off = 0;

    if (s->partial_used)
        memcpy(partial, s->partial, s->partial_used * sizeof(*partial));
    qsort(partial, s->partial_used, sizeof(*partial), compare_partial);
    while (off + sizeof(struct spool_block) <= s->blocks_used) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);
        const struct spool_insn *in = (const struct spool_insn *)(b + 1);
        uint64_t size = (sizeof(*b) + b->insns * sizeof(*in) + 7) & ~UINT64_C(7);
        struct finish_insn o = { .map = b->map, .pc = b->pc, .plt = b->flags & SPOOL_B_PLT };
        const uint64_t *counter;
        uint64_t left;
        size_t first, partials;

        if (size > s->blocks_used - off) {
            bad++;
            break;
        }
        while (used < s->partial_used && (uint64_t)partial[used].block * 8 < off) {
            bad++; // names no block
            used++;
        }
        first = used;
        while (used < s->partial_used && (uint64_t)partial[used].block * 8 == off)
            used++;
        partials = used - first;
        off += size;
        if (b->map >= s->maps_used || b->counter >= s->counters_used) {
            bad++;
            continue;
        }
        counter = s->counters + b->counter;
        left = s->counters_used - b->counter - 1;
        for (uint32_t i = 0; i < b->insns; i++) {
            struct spool_counters at = spool_insn_counters(in[i], flags);
            static const uint64_t none[16];

            o.in = in[i];
            o.executed = s->counters[b->counter] + extra(partial + first, partials, i);
            if (at.count > left) {
                bad++;
                break;
            }
            uint64_t any = o.executed;
            for (uint32_t k = 1; k <= at.count; k++)
                any |= counter[k];
            // Half of what is translated is never reached.
            if (any) {
                count_insn(&o, at.count ? counter + 1 : none, at, flags);
                f(ctx, &o);
            }
            counter += at.count;
            left -= at.count;
            o.pc += in[i].len;
        }
    }
    free(partial);
    return bad + (s->partial_used - used);
}
