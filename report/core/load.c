// SPDX-License-Identifier: MIT
//
// The decoder of blocks. A block is not trusted: every number is read with a bound (bytes.h), and
// every reference is compared with what HEAD announced before it is stored. Sections stored here as
// bytes are read in the same way later, by the files that need them.
#include "report/core/load.h"

#include "report/core/bytes.h"
#include "report/core/costs.h"
#include "report/core/formula.h"
#include "report/core/heap.h"
#include "report/core/names.h"

// The sections from which edges are made, and names: they come before link_edges(). The others,
// most of them lines, may come later.
#define BEFORE_LINK                                                                             \
    (1u << SECTION_HEAD | 1u << SECTION_EVENTS | 1u << SECTION_PARTS | 1u << SECTION_TOTALS |   \
     1u << SECTION_STRINGS | 1u << SECTION_FUNCTIONS | 1u << SECTION_TOP | 1u << SECTION_SELF | \
     1u << SECTION_CALLS)

enum {
    VERSION = 1,
    EVENTS_MAX = 4096,
    PARTS_MAX = 65535,
    BLOCK_MAX = 4 << 20,
};

uint32_t load_crc(const void *bytes, size_t size)
{
    // table[k][b]: what byte b does to the sum when k more bytes follow. Eight bytes at a time.
    const uint8_t *p = bytes;
    uint32_t table[8][256], crc = UINT32_MAX;

    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int k = 0; k < 8; k++)
            v = v & 1 ? v >> 1 ^ 0xedb88320u : v >> 1;
        table[0][i] = v;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t low, high;
        core_copy(&low, p, 4); // both targets have the lowest byte first
        core_copy(&high, p + 4, 4);
        low ^= crc;
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    while (size--)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
    return ~crc;
}

struct core *load_new(void)
{
    return heap_get(sizeof(struct core));
}

void load_free(struct core *c)
{
    if (!c)
        return;
    costs_drop(c);
    for (size_t i = 0; i < c->block_count; i++)
        heap_put(c->block[i]);
    for (int i = 0; i < SECTION_COUNT; i++)
        heap_put(c->list[i].item);
    for (uint32_t i = 0; c->event && i < c->event_count; i++)
        formula_free(c->event[i].made);
    for (uint32_t i = 0; c->part && i < c->parts; i++)
        heap_put(c->part[i].desc);
    for (int s = 0; s < CORE_SIDES; s++) {
        heap_put(c->graph[s].there);
        heap_put(c->graph[s].cycle);
        heap_put(c->graph[s].inside);
        heap_put(c->self[s]);
        heap_put(c->edge[s]);
        heap_put(c->inclusive[s]);
    }
    heap_put(c->alike.hash);
    heap_put(c->alike.run);
    void *rest[] = { c->block,        c->block_size,  c->event,
                     c->part,         c->total,       c->pool,
                     c->string_at,    c->string_size, c->string_rank,
                     c->object,       c->file,        c->name,
                     c->line,         c->addr,        c->site_edge,
                     c->callee_first, c->edge_caller, c->edge_callee,
                     c->caller_first, c->caller_edge, c };
    for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
        heap_put(rest[i]);
}

// ---- Sections ----

static struct text text_of(struct bytes *b)
{
    struct bytes t = bytes_text(b);

    return (struct text){ t.at, bytes_left(&t) };
}

static int load_head(struct core *c, struct bytes *b)
{
    uint64_t version = bytes_u(b);

    if (c->head)
        return CORE_DAMAGED;
    if (!b->bad && version != VERSION)
        return CORE_VERSION;
    c->funcs = bytes_u32(b);
    c->strings = bytes_u32(b);
    c->parts = bytes_u32(b);
    c->events = bytes_u32(b);
    c->order = bytes_u32(b);
    c->has = bytes_u32(b);
    c->blocks = bytes_u32(b);
    if (b->bad || c->events == 0 || c->events > EVENTS_MAX || c->parts == 0 || c->parts > PARTS_MAX)
        return CORE_DAMAGED;
    c->string_at = heap_array(c->strings, sizeof(*c->string_at));
    c->string_size = heap_array(c->strings, sizeof(*c->string_size));
    c->object = heap_array(c->funcs, sizeof(*c->object));
    c->file = heap_array(c->funcs, sizeof(*c->file));
    c->name = heap_array(c->funcs, sizeof(*c->name));
    c->line = heap_array(c->funcs, sizeof(*c->line));
    c->addr = heap_array(c->funcs, sizeof(*c->addr));
    c->part = heap_array(c->parts, sizeof(*c->part));
    c->total = heap_array((size_t)c->parts * c->events, sizeof(*c->total));
    for (int s = 0; s < CORE_SIDES; s++) {
        c->self[s] = heap_array(c->events + 1, sizeof(struct column));
        c->edge[s] = heap_array(c->events + 1, sizeof(struct column));
        c->inclusive[s] = heap_array(c->events + 1, sizeof(struct column));
        if (!c->self[s] || !c->edge[s] || !c->inclusive[s])
            return CORE_MEMORY;
    }
    if (!c->string_at || !c->string_size || !c->object || !c->file || !c->name || !c->line ||
        !c->addr || !c->part || !c->total)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < c->strings; i++)
        c->string_at[i] = SIZE_MAX;
    for (uint32_t i = 0; i < c->funcs; i++)
        c->object[i] = c->file[i] = c->name[i] = CORE_NONE;
    for (uint32_t i = 0; i < c->parts; i++)
        c->part[i].selected = true;
    c->head = true;
    return 0;
}

static int load_events(struct core *c, struct bytes *b)
{
    if (c->event_count)
        return CORE_DAMAGED;
    while (bytes_left(b)) {
        size_t cap = c->event_cap;
        if (c->event_count == EVENTS_MAX)
            return CORE_DAMAGED;
        if (!heap_room(c->event, c->event_count, cap))
            return CORE_MEMORY;
        c->event_cap = (uint32_t)cap;
        struct event *e = &c->event[c->event_count];
        e->name = text_of(b);
        e->long_name = text_of(b);
        e->formula = text_of(b);
        uint64_t scale = bytes_u(b);
        if (b->bad || (scale != 1 && scale != 1000000000))
            return CORE_DAMAGED;
        e->scale = (int64_t)scale;
        c->event_count++;
    }
    if (c->event_count < c->events || c->order >= c->event_count)
        return CORE_DAMAGED;
    // A formula that cannot be parsed is shown as text: no reason to refuse a report.
    for (uint32_t i = c->events; i < c->event_count; i++) {
        size_t at;
        struct event *e = &c->event[i];
        e->made = formula_new(c, i, e->formula.at, e->formula.size, &at);
        if (e->made)
            e->scale = formula_scale(e->made);
    }
    return 0;
}

static int load_parts(struct core *c, struct bytes *b)
{
    for (uint32_t i = 0; i < c->parts; i++) {
        struct part p = { .selected = true };
        p.side = bytes_u32(b);
        p.cmd = text_of(b);
        p.creator = text_of(b);
        p.pid = bytes_u(b);
        p.part = bytes_u(b);
        p.thread = bytes_u(b);
        uint32_t n = bytes_u32(b);
        if (b->bad || p.side >= CORE_SIDES || n > bytes_left(b) || c->part[i].desc)
            return CORE_DAMAGED;
        p.desc = heap_array(n, sizeof(*p.desc));
        if (!p.desc)
            return CORE_MEMORY;
        p.desc_count = n;
        for (uint32_t k = 0; k < n; k++)
            p.desc[k] = text_of(b);
        c->part[i] = p;
    }
    return b->bad ? CORE_DAMAGED : 0;
}

static int load_totals(struct core *c, struct bytes *b)
{
    for (size_t i = 0; i < (size_t)c->parts * c->events; i++)
        c->total[i] = bytes_z(b);
    return b->bad ? CORE_DAMAGED : 0;
}

static int load_strings(struct core *c, struct bytes *b)
{
    uint32_t first = bytes_u32(b), count = bytes_u32(b);
    size_t before = 0, before_size = 0;

    if (b->bad || first > c->strings || count > c->strings - first)
        return CORE_DAMAGED;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t common = bytes_u(b);
        struct bytes rest = bytes_text(b);
        size_t n = bytes_left(&rest);
        if (b->bad || common > before_size || c->string_at[first + i] != SIZE_MAX)
            return CORE_DAMAGED;
        size_t size = (size_t)common + n;
        if (size > BLOCK_MAX)
            return CORE_DAMAGED;
        if (!c->pool || c->pool_cap - c->pool_size < size) { // also for strings without a byte
            size_t cap = c->pool_cap + c->pool_cap / 2 + size + 65536;
            uint8_t *grown = heap_more(c->pool, c->pool_size, cap);
            if (!grown)
                return CORE_MEMORY;
            c->pool = grown;
            c->pool_cap = cap;
        }
        uint8_t *to = c->pool + c->pool_size;
        if (common)
            core_copy(to, c->pool + before, common);
        if (n)
            core_copy(to + common, rest.at, n);
        c->string_at[first + i] = before = c->pool_size;
        c->string_size[first + i] = (uint32_t)(before_size = size);
        c->pool_size += size;
    }
    c->strings_loaded += count;
    return names_add_run(c, first, count) ? 0 : CORE_MEMORY;
}

static bool range_of(const struct core *c, struct section *s, struct bytes *b)
{
    s->first = bytes_u32(b);
    s->count = bytes_u32(b);
    return !b->bad && s->first <= c->funcs && s->count <= c->funcs - s->first;
}

static int load_functions(struct core *c, struct bytes *b)
{
    struct section s = { 0 };

    if (!range_of(c, &s, b))
        return CORE_DAMAGED;
    struct bytes object = bytes_text(b), file = bytes_text(b), name = bytes_text(b);
    struct bytes line = bytes_text(b), addr = bytes_text(b);
    for (uint32_t i = s.first; i < s.first + s.count; i++) {
        c->object[i] = bytes_ref(&object, c->strings);
        c->file[i] = bytes_ref(&file, c->strings);
        c->name[i] = bytes_ref(&name, c->strings);
        c->line[i] = bytes_u(&line);
        c->addr[i] = bytes_u(&addr);
    }
    c->funcs_loaded += s.count;
    return b->bad || object.bad || file.bad || name.bad || line.bad || addr.bad ? CORE_DAMAGED : 0;
}

// The sites of a section are numbered after those of the previous sections, hence this count.
static int count_sites(struct core *c, struct section *s)
{
    struct bytes b = bytes_of(s->at, s->size), per = bytes_text(&b);
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s->count; i++)
        sum += bytes_u32(&per);
    // A site has at least a byte for its callee.
    if (b.bad || per.bad || sum > s->size || sum >= UINT32_MAX - c->sites)
        return CORE_DAMAGED;
    s->base = c->sites;
    c->sites += (uint32_t)sum;
    return 0;
}

static int keep(struct core *c, enum section_kind kind, struct bytes *b, uint32_t block)
{
    struct section_list *l = &c->list[kind];
    struct section s = { .block = block };

    switch ((unsigned)kind) {
    case SECTION_SELF:
    case SECTION_CALLS:
    case SECTION_PLACES:
    case SECTION_JUMPS:
        if (!range_of(c, &s, b))
            return CORE_DAMAGED;
        s.part = bytes_u32(b);
        if (s.part >= c->parts)
            return CORE_DAMAGED;
        s.side = c->part[s.part].side;
        if (kind != SECTION_SELF)
            s.flags = bytes_u32(b);
        break;
    case SECTION_CODE:
        if (!range_of(c, &s, b))
            return CORE_DAMAGED;
        break;
    case SECTION_SOURCE:
    case SECTION_ALIGN:
        s.base = bytes_u32(b);
        if (s.base >= c->strings)
            return CORE_DAMAGED;
        s.side = kind == SECTION_SOURCE ? bytes_u32(b) : 0;
        if (s.side >= CORE_SIDES)
            return CORE_DAMAGED;
        break;
    case SECTION_TOP:
    case SECTION_TEXTS:
    case SECTION_INDEX:
    default: break;
    }
    if (b->bad)
        return CORE_DAMAGED;
    s.at = b->at;
    s.size = bytes_left(b);
    if (kind == SECTION_CALLS) {
        int rc = count_sites(c, &s);
        if (rc < 0)
            return rc;
    }
    if (!heap_room(l->item, l->count, l->cap))
        return CORE_MEMORY;
    l->item[l->count++] = s;
    return 0;
}

static int load_section(struct core *c, unsigned kind, struct bytes b, uint32_t block)
{
    if (kind != SECTION_HEAD && !c->head)
        return CORE_DAMAGED;
    if (c->linked && kind < SECTION_COUNT && (BEFORE_LINK >> kind & 1))
        return CORE_WRONG;
    switch (kind) {
    case SECTION_HEAD: return load_head(c, &b);
    case SECTION_EVENTS: return load_events(c, &b);
    case SECTION_PARTS: return load_parts(c, &b);
    case SECTION_TOTALS: return load_totals(c, &b);
    case SECTION_STRINGS: return load_strings(c, &b);
    case SECTION_FUNCTIONS: return load_functions(c, &b);
    case SECTION_TOP:
    case SECTION_TEXTS:
    case SECTION_SELF:
    case SECTION_CALLS:
    case SECTION_PLACES:
    case SECTION_JUMPS:
    case SECTION_SOURCE:
    case SECTION_ALIGN:
    case SECTION_CODE:
    case SECTION_INDEX: return keep(c, kind, &b, block);
    default: return 0; // of a later writer
    }
}

int load_block(struct core *c, uint8_t *bytes, size_t size)
{
    struct bytes b = bytes_of(bytes, size);
    size_t kept[SECTION_COUNT];
    uint32_t sites = c->sites;
    int rc = 0;
    size_t cap = c->block_cap;

    if (size > BLOCK_MAX || !heap_room(c->block, c->block_count, c->block_cap) ||
        !heap_room(c->block_size, c->block_count, cap)) {
        heap_put(bytes);
        return size > BLOCK_MAX ? CORE_DAMAGED : CORE_MEMORY;
    }
    for (int i = 0; i < SECTION_COUNT; i++)
        kept[i] = c->list[i].count;
    while (rc == 0 && bytes_left(&b)) {
        unsigned kind = *b.at++;
        struct bytes payload = bytes_text(&b);
        rc = b.bad ? CORE_DAMAGED : load_section(c, kind, payload, (uint32_t)c->block_count);
    }
    // Tables point into a block of facts even when a later part of it is damaged; nothing of the
    // other blocks is stored.
    if (rc < 0) {
        for (int i = 0; i < SECTION_COUNT; i++)
            c->list[i].count = kept[i];
        c->sites = sites;
    }
    c->block[c->block_count] = bytes;
    c->block_size[c->block_count++] = size;
    return rc;
}

void load_needed(const struct core *c, uint8_t *needed, uint32_t blocks)
{
    uint32_t i = 0;

    if (i < blocks)
        needed[i++] = 1;
    for (size_t k = 0; k < c->list[SECTION_INDEX].count; k++) {
        const struct section *s = &c->list[SECTION_INDEX].item[k];
        struct bytes b = bytes_of(s->at, s->size);
        for (; i < blocks && bytes_left(&b); i++) {
            bytes_u(&b); // length
            uint64_t kinds = bytes_u(&b);
            bytes_skip(&b, 2);
            needed[i] = b.bad || (kinds & BEFORE_LINK) != 0;
        }
    }
    for (; i < blocks; i++)
        needed[i] = 1;
}

bool load_text(const struct core *c, const char *key, uint32_t n, struct text *value)
{
    size_t size = __builtin_strlen(key);

    for (size_t i = 0; i < c->list[SECTION_TEXTS].count; i++) {
        const struct section *s = &c->list[SECTION_TEXTS].item[i];
        struct bytes b = bytes_of(s->at, s->size);
        while (bytes_left(&b)) {
            struct text k = text_of(&b);
            *value = text_of(&b);
            if (!b.bad && k.size == size && __builtin_memcmp(k.at, key, size) == 0 && n-- == 0)
                return true;
        }
    }
    return false;
}
