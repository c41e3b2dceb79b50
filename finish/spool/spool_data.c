// SPDX-License-Identifier: MIT
//
// Reads what a run with --data=yes has counted: objects of the data, and the misses of each
// instruction in them. Trusts nothing in the file.
#include "finish/spool/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

static int compare(const void *x, const void *y)
{
    const struct spool_data_miss *a = x, *b = y;

    if (a->counter != b->counter)
        return a->counter < b->counter ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// Zeroed where the file has nothing.
static void *read_part(const struct spool_file *s, uint64_t off, uint64_t bytes, uint64_t size,
                       int *rc)
{
    char *to = xcalloc(1, bytes + 1);
    uint64_t have = size > off ? spool_read_least(bytes, size - off) : 0;

    if (have && spool_read_sparse(s->fd, to, have, off) != 0)
        *rc = -1;
    return to;
}

static bool is_sound(const struct spool_data_file *d, const struct spool_data_count *c)
{
    return c->object < d->objects && c->l2 <= c->l1 && c->ll <= c->l1 && c->l1 < FINISH_COUNT_MAX;
}

static void take_counts(struct spool_data_file *d, const struct spool_data_count *count)
{
    size_t room = 0;

    for (size_t i = 0; i < SPOOL_DATA_COUNTS_MAX; i++)
        room += count[i].counter != 0;
    d->miss = xcalloc(room + 1, sizeof(*d->miss));
    for (size_t i = 0; i < SPOOL_DATA_COUNTS_MAX; i++) {
        const struct spool_data_count *c = &count[i];

        if (!c->counter || !c->l1)
            continue;
        if (!is_sound(d, c)) {
            d->bad++;
            continue;
        }
        d->miss[d->misses++] = (struct spool_data_miss){
            .counter = c->counter - 1, .object = c->object, .l1 = c->l1, .l2 = c->l2, .ll = c->ll
        };
    }
    qsort(d->miss, d->misses, sizeof(*d->miss), compare);
}

// The misses that are counted at `counter` are those of an instruction.
static void put_owner(struct spool_data_file *d, uint32_t counter, uint32_t map, uint64_t pc,
                      bool write)
{
    size_t lo = 0, hi = d->misses;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (d->miss[mid].counter < counter)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < d->misses && d->miss[lo].counter == counter; lo++) {
        d->miss[lo].map = map;
        d->miss[lo].pc = pc;
        d->miss[lo].write = write;
    }
}

static void put_block(const struct spool_file *s, struct spool_data_file *d,
                      const struct spool_block *b)
{
    const struct spool_insn *in = (const struct spool_insn *)(b + 1);
    uint32_t first = b->own;
    uint64_t pc = b->pc;

    for (uint32_t i = 0; i < b->insns; i++) {
        struct spool_counters c = spool_insn_counters(in[i], s->h->flags);

        if (c.d1mr != ~0u)
            put_owner(d, first + c.d1mr, b->map, pc, false);
        if (c.d1mw != ~0u)
            put_owner(d, first + c.d1mw, b->map, pc, true);
        first += c.count;
        pc += in[i].len;
    }
}

static void find_owners(const struct spool_file *s, struct spool_data_file *d)
{
    const uint8_t other = SPOOL_B_SUM | SPOOL_B_DORMANT;
    uint64_t size;

    for (uint64_t at = 0; at + sizeof(struct spool_block) <= s->blocks_used; at += size) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + at);

        size = spool_read_block_size(b);
        if (size > s->blocks_used - at || spool_read_is_empty(b))
            return;
        if (!(b->flags & other) && b->map < s->maps_used)
            put_block(s, d, b);
    }
}

int spool_data_read(const struct spool_file *s, struct spool_data_file *d)
{
    const struct spool_data *h = &s->h->data;
    struct spool_data_count *count;
    struct stat st;
    uint64_t size;
    int rc = 0;

    memset(d, 0, sizeof(*d));
    if (fstat(s->fd, &st) != 0)
        return -1;
    size = (uint64_t)st.st_size;
    d->objects = spool_read_least(h->objects_used, SPOOL_DATA_OBJECTS_MAX);
    d->names_used = spool_read_least(h->names_used, SPOOL_DATA_NAMES_SIZE);
    d->object = read_part(s, SPOOL_DATA_OFF, d->objects * sizeof(*d->object), size, &rc);
    d->names = read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_NAMES_OFF, d->names_used, size, &rc);
    count = read_part(s, SPOOL_DATA_OFF + SPOOL_DATA_COUNTS_OFF,
                      SPOOL_DATA_COUNTS_MAX * sizeof(*count), size, &rc);
    take_counts(d, count);
    free(count);
    find_owners(s, d);
    if (rc)
        spool_data_free(d);
    return rc;
}

void spool_data_free(struct spool_data_file *d)
{
    free(d->object);
    free(d->names);
    free(d->miss);
    memset(d, 0, sizeof(*d));
}

const char *spool_data_name(const struct spool_data_file *d, uint32_t offset)
{
    return offset && offset < d->names_used ? d->names + offset : NULL; // a NUL is behind them
}
