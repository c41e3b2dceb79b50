// SPDX-License-Identifier: MIT
//
// The reader of reference traces (trace_read.h).
#include "cli/trace/trace_read.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cache.h"

enum { SIZE_MAX_BYTES = 65535, THREADS_MAX = 1 << 20, INSN_MAX_BYTES = 31 };

static int fail(struct trace_reader *r, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(struct trace_reader *r, uint64_t at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(r->error, sizeof(r->error), fmt, ap);
    va_end(ap);
    r->error_at = at;
    return -1;
}

// ---- The header ----

static int text(struct trace_reader *r, char **to, uint32_t bytes)
{
    *to = calloc(1, (size_t)bytes + 1);
    if (!*to)
        return fail(r, r->at, "out of memory");
    if (fread(*to, 1, bytes, r->f) != bytes)
        return fail(r, r->at, "the file ends within its header");
    r->at += bytes;
    return 0;
}

static int geometry(struct trace_reader *r, const struct reftrace_cache *c, bool last,
                    const char *name)
{
    struct sim_geometry g = { c->size, c->assoc, c->line };
    int fault = last ? sim_geometry_check_last(&g) : sim_geometry_check(&g);

    if (fault == SIM_GEOMETRY_OK)
        return 0;
    return fail(r, 0, "the %s of the header is invalid: %s", name, sim_geometry_reason(fault));
}

int trace_read_open(struct trace_reader *r, FILE *f)
{
    struct reftrace_header *h = &r->header;
    size_t n;

    memset(r, 0, offsetof(struct trace_reader, items));
    r->f = f;
    r->end = UINT64_MAX;
    n = fread(h, 1, sizeof(*h), f);
    if (n < sizeof(h->magic) || h->magic != REFTRACE_MAGIC)
        return fail(r, 0, "not a reference trace of quern run --trace-refs");
    if (n < sizeof(*h))
        return fail(r, n, "the file ends within its header");
    if (h->version != REFTRACE_VERSION)
        return fail(r, 8, "a trace of version %u, and this quern reads version %u", h->version,
                    REFTRACE_VERSION);
    if (h->order != REFTRACE_ORDER)
        return fail(r, 12, "the byte order is 0x%08x and not 0x%08x", h->order, REFTRACE_ORDER);
    if (h->command_bytes > REFTRACE_HEADER_MAX || h->parent_bytes > REFTRACE_HEADER_MAX ||
        h->bytes != sizeof(*h) + h->command_bytes + h->parent_bytes)
        return fail(r, 16, "the header has %u bytes: wrong for %u of the command, %u of the parent",
                    h->bytes, h->command_bytes, h->parent_bytes);
    if (h->flags & ~(uint32_t)REFTRACE_F_ALL)
        return fail(r, 20, "unknown flags 0x%x", h->flags);
    if (geometry(r, &h->i1, false, "I1") || geometry(r, &h->d1, false, "D1") ||
        geometry(r, &h->ll, true, "LL"))
        return -1;
    r->at = sizeof(*h);
    if (text(r, &r->command, h->command_bytes) || text(r, &r->parent, h->parent_bytes))
        return -1;
    if (!h->parent_end != !*r->parent)
        return fail(r, 64, "it continues a trace without a name, or at no byte of one");
    return 0;
}

void trace_read_close(struct trace_reader *r)
{
    free(r->command);
    free(r->parent);
    r->command = r->parent = NULL;
}

// ---- Chunks ----

static bool chunk_can_be(const struct reftrace_chunk *c)
{
    if (c->kind == REFTRACE_REFS)
        return c->thread && c->thread <= THREADS_MAX && c->bytes;
    return !c->thread &&
           (c->kind == REFTRACE_MAP ? c->bytes >= sizeof(struct reftrace_map) : !c->bytes);
}

// 1, 0 or -1, as trace_read_next().
static int next_chunk(struct trace_reader *r)
{
    struct reftrace_chunk *c = &r->chunk;
    uint64_t at = r->at;
    size_t n;

    if (at >= r->end) {
        r->complete = true;
        return at == r->end ? 0
                            : fail(r, at,
                                   "no chunk ends at byte %llu, where another trace "
                                   "continues this one",
                                   (unsigned long long)r->end);
    }
    n = fread(c, 1, sizeof(*c), r->f);
    r->cut = n > 0 && n < sizeof(*c);
    if (n < sizeof(*c)) {
        memset(c, 0, sizeof(*c));
        if (ferror(r->f))
            return fail(r, at, "it cannot be read");
        return r->end == UINT64_MAX ? 0
                                    : fail(r, at,
                                           "it is shorter than when another trace "
                                           "continued it");
    }
    r->complete = c->kind == REFTRACE_END;
    if (c->kind != REFTRACE_REFS && c->kind != REFTRACE_MAP && c->kind != REFTRACE_CLEAR &&
        c->kind != REFTRACE_ZERO && c->kind != REFTRACE_END)
        return fail(r, at, "an unknown kind of chunk, 0x%08x", c->kind);
    if (!chunk_can_be(c))
        return fail(r, at, "a chunk of %u bytes for thread %u", c->bytes, c->thread);
    if (c->bytes > REFTRACE_CHUNK_MAX || c->reserved)
        return fail(r, at, "a chunk of %u bytes, %u being the most", c->bytes, REFTRACE_CHUNK_MAX);
    r->chunk_at = at + sizeof(*c);
    r->used = 0;
    r->pc = r->next = r->data = 0;
    if (fread(r->items, 1, c->bytes, r->f) != c->bytes) {
        r->cut = true;
        c->bytes = 0;
        return r->end == UINT64_MAX && !ferror(r->f) ? 0 : fail(r, at, "a chunk is cut off");
    }
    r->at = r->chunk_at + c->bytes;
    return 1;
}

// ---- Items ----

static int number(struct trace_reader *r, uint64_t *n)
{
    unsigned shift = 0;

    *n = 0;
    for (uint8_t b = 0x80; b & 0x80; shift += 7) {
        if (r->used == r->chunk.bytes)
            return fail(r, r->chunk_at + r->used, "the chunk ends within a number");
        b = r->items[r->used];
        if (shift > 63 || (shift == 63 && b > 1))
            return fail(r, r->chunk_at + r->used, "a number of more than 64 bits");
        r->used++;
        *n |= (uint64_t)(b & 0x7f) << shift;
    }
    return 0;
}

static int difference(struct trace_reader *r, uint64_t *n)
{
    uint64_t coded;

    if (number(r, &coded))
        return -1;
    *n += coded >> 1 ^ -(coded & 1);
    return 0;
}

static int fetch(struct trace_reader *r, struct trace_item *item, uint8_t b)
{
    uint64_t at = r->chunk_at + r->used - 1, size = b >> 3 & 15;

    item->what = TRACE_FETCH;
    if (!size && number(r, &size))
        return -1;
    if (!size || size > INSN_MAX_BYTES)
        return fail(r, at, "an instruction of %llu bytes", (unsigned long long)size);
    item->size = (uint32_t)size;
    if ((b & REFTRACE_FAR) && difference(r, &r->next))
        return -1;
    r->pc = r->next;
    r->next += item->size;
    item->addr = r->pc;
    return 1;
}

static int reference(struct trace_reader *r, struct trace_item *item, uint8_t b)
{
    uint64_t at = r->chunk_at + r->used - 1, size = b >> 3;

    item->what = (enum trace_what)(b & REFTRACE_KIND);
    if (size == 0) {
        if (number(r, &size))
            return -1;
    } else {
        size = size <= 15 ? UINT64_C(1) << (size - 1) : 0;
    }
    if (!size || size > SIZE_MAX_BYTES)
        return fail(r, at, "a reference of %llu bytes", (unsigned long long)size);
    if (difference(r, &r->data))
        return -1;
    item->size = (uint32_t)size;
    item->addr = r->data;
    return 1;
}

static int conditional(struct trace_reader *r, struct trace_item *item, uint8_t b)
{
    item->what = TRACE_COND;
    item->taken = b & REFTRACE_TAKEN;
    item->pc = r->pc;
    if (b & 0x70)
        return fail(r, r->chunk_at + r->used - 1, "an unknown item, 0x%02x", b);
    return (b & REFTRACE_FAR) && difference(r, &item->pc) ? -1 : 1;
}

// 1: an item; 0: a prefix that changes the next one; -1: an error.
static int one(struct trace_reader *r, struct trace_item *item)
{
    uint64_t at = r->chunk_at + r->used;
    uint8_t b = r->items[r->used++];
    int ret = 1;

    switch (b & REFTRACE_KIND) {
    case REFTRACE_FETCH: ret = fetch(r, item, b); break;
    case REFTRACE_READ:
    case REFTRACE_WRITE:
    case REFTRACE_MODIFY: ret = reference(r, item, b); break;
    case REFTRACE_COND: return conditional(r, item, b);
    case REFTRACE_INDIRECT:
        item->what = TRACE_INDIRECT;
        item->addr = r->pc;
        if (b != REFTRACE_INDIRECT)
            return fail(r, at, "an unknown item, 0x%02x", b);
        if (difference(r, &item->addr))
            return -1;
        break;
    case REFTRACE_AGAIN:
        item->what = TRACE_AGAIN;
        if (b != REFTRACE_AGAIN)
            return fail(r, at, "an unknown item, 0x%02x", b);
        break;
    default:
        if (b == (REFTRACE_ASIDE | REFTRACE_UNDONE << 3)) {
            item->undone = true;
            return 0;
        }
        item->pc = r->pc;
        item->what = TRACE_TAKE_BACK;
        if (b == (REFTRACE_ASIDE | REFTRACE_TAKE_BACK << 3))
            return difference(r, &item->pc) ? -1 : 1;
        item->what = TRACE_COUNT_READ;
        if (b == (REFTRACE_ASIDE | REFTRACE_COUNT_READ << 3))
            return 1;
        item->what = TRACE_HISTORY;
        if (b == (REFTRACE_ASIDE | REFTRACE_HISTORY << 3))
            return number(r, &item->addr) ? -1 : 1;
        if (b != (REFTRACE_ASIDE | REFTRACE_AT << 3))
            return fail(r, at, "an unknown item, 0x%02x", b);
        if (difference(r, &r->pc))
            return -1;
        r->next = r->pc;
        return 0;
    }
    item->pc = r->pc;
    return ret;
}

static int map(struct trace_reader *r, struct trace_item *item)
{
    struct reftrace_map m;

    memcpy(&m, r->items, sizeof(m));
    r->items[r->chunk.bytes] = '\0';
    r->path = (const char *)r->items + sizeof(m);
    r->offset = m.offset;
    r->used = r->chunk.bytes;
    *item = (struct trace_item){ .what = TRACE_MAP, .pc = m.start, .addr = m.end };
    return m.start < m.end ? 1 : fail(r, r->chunk_at, "an empty mapping");
}

int trace_read_next(struct trace_reader *r, struct trace_item *item)
{
    int ret = 0;

    memset(item, 0, sizeof(*item));
    while (ret == 0) {
        while (r->used == r->chunk.bytes) {
            if (item->undone)
                return fail(r, r->at, "the chunk ends after the prefix of an undone reference");
            ret = next_chunk(r);
            if (ret <= 0)
                return ret;
            if (r->chunk.kind == REFTRACE_MAP)
                return map(r, item);
            if (r->chunk.kind == REFTRACE_CLEAR || r->chunk.kind == REFTRACE_ZERO) {
                item->what = r->chunk.kind == REFTRACE_CLEAR ? TRACE_CLEAR : TRACE_ZERO;
                return 1;
            }
        }
        ret = one(r, item);
    }
    item->thread = r->chunk.thread;
    if (ret > 0 && item->undone && item->what > TRACE_COND)
        return fail(r, r->chunk_at + r->used, "an item that is not a reference cannot be undone");
    return ret;
}
