// SPDX-License-Identifier: MIT
//
// Levels of caches with a choice of replacement (level.h).
#include "sim/level.h"

#define WORD_WAYS 8u                           // of which a word of a head tells
#define BYTES_LOW UINT64_C(0x0101010101010101) // the low bit of each byte
#define RRIP_LONG 2u                           // the prediction of a line that was put in
#define RRIP_LOW  UINT64_C(0x5555555555555555) // the low bit of each prediction

bool sim_level_can(const struct sim_geometry *g, enum sim_replacement r)
{
    if (r == SIM_LRU)
        return true;
    return g->assoc <= SIM_LEVEL_WAYS && (r != SIM_PLRU || (g->assoc & (g->assoc - 1)) == 0);
}

static bool by_table(const struct sim_geometry *g, enum sim_replacement r)
{
    return r == SIM_LRU && g->assoc > SIM_LEVEL_ORDERED && g->assoc <= SIM_RECENT_MAX &&
           g->size / g->line == g->assoc;
}

static uint32_t words_of(uint32_t assoc, enum sim_replacement r)
{
    if (r == SIM_LRU && assoc > SIM_LEVEL_ORDERED)
        return 0;
    return (assoc + WORD_WAYS - 1) / WORD_WAYS;
}

// A power of two: no head is in two lines of the host's cache.
static uint32_t head_of(uint32_t words)
{
    uint32_t n = 2;

    while (n < words + 1)
        n *= 2;
    return words ? n : 0;
}

size_t sim_level_bytes(const struct sim_geometry *g, enum sim_replacement r)
{
    size_t lines = g->size / g->line;
    uint32_t words = words_of(g->assoc, r);

    if (by_table(g, r))
        return lines * sizeof(uint64_t) + sim_recent_bytes(g->assoc);
    if (!words)
        return lines * sizeof(uint64_t);
    return lines / g->assoc * (words * WORD_WAYS + head_of(words)) * sizeof(uint64_t);
}

void sim_level_init_zeroed(struct sim_level *l, const struct sim_geometry *g,
                           enum sim_replacement r, void *storage)
{
    l->sets = g->size / g->line / g->assoc;
    l->set_mask = (l->sets & (l->sets - 1)) == 0 ? l->sets - 1 : 0;
    l->assoc = g->assoc;
    l->line_shift = (uint32_t)__builtin_ctz(g->line);
    l->replacement = r;
    l->words = words_of(l->assoc, r);
    l->room = l->words ? l->words * WORD_WAYS : l->assoc;
    l->head = head_of(l->words);
    l->tags = storage;
    l->heads = l->tags + (size_t)l->sets * l->room;
    l->by_table = by_table(g, r);
    if (l->by_table)
        sim_recent_init_zeroed(&l->recent, l->assoc, l->heads);
}

// ---- Ways ----

// A line's byte in a head: not 0.
static uint64_t byte_of(uint64_t line)
{
    uint64_t byte = line * UINT64_C(0x9e3779b97f4a7c15) >> 56;

    return byte + !byte;
}

// The high bits of the bytes that are 0. Above the lowest of these there may be others, of bytes
// that are 1.
static uint64_t zero_bytes(uint64_t x)
{
    return (x - BYTES_LOW) & ~x & BYTES_LOW << 7;
}

// The ways whose byte may be this one: at 8 * (way % 8) + way / 8. All words at once: in which of
// them a line is, is not to be predicted.
static uint64_t ways_with(const struct sim_level *l, const uint64_t *head, uint64_t byte)
{
    uint64_t found = 0;

    for (uint32_t i = 0; i < l->words; i++)
        found |= zero_bytes(head[i] ^ byte * BYTES_LOW) >> (7 - i);
    return found;
}

static uint32_t way_at(uint32_t bit)
{
    return bit % 8 * WORD_WAYS + bit / 8;
}

static uint32_t find_by_head(const struct sim_level *l, uint64_t set, uint64_t line)
{
    const uint64_t *ways = l->tags + set * l->room;
    uint64_t found = ways_with(l, l->heads + set * l->head, byte_of(line));

    for (; found; found &= found - 1) {
        uint32_t way = way_at((uint32_t)__builtin_ctzll(found));

        if ((ways[way] & ~SIM_LEVEL_MARK) == line + 1)
            return way;
    }
    return l->assoc;
}

// The way of a line, or assoc.
static uint32_t find(const struct sim_level *l, uint64_t set, uint64_t line)
{
    const uint64_t *ways = l->tags + set * l->room;
    uint32_t way = 0;

    if (l->words)
        return find_by_head(l, set, line);
    while (way < l->assoc && (ways[way] & ~SIM_LEVEL_MARK) != line + 1)
        way++;
    return way;
}

// The first way that is empty, or assoc.
static uint32_t find_empty(const struct sim_level *l, const uint64_t *head)
{
    if (!ways_with(l, head, 0))
        return l->assoc;
    for (uint32_t i = 0; i < l->words; i++) {
        uint64_t z = zero_bytes(head[i]);
        uint32_t way;

        if (!z)
            continue;
        way = i * WORD_WAYS + (uint32_t)__builtin_ctzll(z) / 8;
        return way < l->assoc ? way : l->assoc;
    }
    return l->assoc;
}

// A whole word is stored: it is loaded again soon.
static void set_byte(uint64_t *head, uint32_t way, uint64_t byte)
{
    uint32_t shift = way % WORD_WAYS * 8;
    uint64_t *word = &head[way / WORD_WAYS];

    *word = (*word & ~(UINT64_C(0xff) << shift)) | byte << shift;
}

// ---- The order of use ----

// The ways, the one used last first, four bits each; no bits stand for 0, 1, 2, ...
#define ORDER_ZERO UINT64_C(0xfedcba9876543210)

// The place of a way in the order.
static uint32_t place_in_order(uint64_t order, uint32_t way)
{
    uint64_t x = order ^ way * UINT64_C(0x1111111111111111);

    x = (x - UINT64_C(0x1111111111111111)) & ~x & UINT64_C(0x8888888888888888);
    return (uint32_t)__builtin_ctzll(x) / 4;
}

// Moves a way to another place: what is between moves by one.
static void order_use(uint64_t *bits, uint32_t way)
{
    uint64_t order = *bits ^ ORDER_ZERO;
    uint32_t shift = 4 * place_in_order(order, way);
    uint64_t before = (UINT64_C(1) << shift) - 1, with = before << 4 | 15;

    *bits = ((order & ~with) | (order & before) << 4 | way) ^ ORDER_ZERO;
}

static void order_last(const struct sim_level *l, uint64_t *bits, uint32_t way)
{
    uint64_t order = *bits ^ ORDER_ZERO;
    uint32_t shift = 4 * place_in_order(order, way), end = 4 * (l->assoc - 1);
    uint64_t before = (UINT64_C(1) << shift) - 1, all = ((UINT64_C(1) << end) - 1) << 4 | 15;
    uint64_t behind = (order & all) >> shift >> 4;

    *bits =
        ((order & ~all) | (order & before) | behind << shift | (uint64_t)way << end) ^ ORDER_ZERO;
}

static uint32_t order_victim(const struct sim_level *l, uint64_t bits)
{
    return (uint32_t)((bits ^ ORDER_ZERO) >> 4 * (l->assoc - 1) & 15);
}

// ---- A list ----

// Moves ways 0..to-1 up by one and puts the tag into way 0.
static void put_first(uint64_t *ways, uint32_t to, uint64_t tag)
{
    for (; to > 0; to--)
        ways[to] = ways[to - 1];
    ways[0] = tag;
}

// ---- The tree ----

static void plru_use(const struct sim_level *l, uint64_t *bits, uint32_t way)
{
    for (uint32_t node = way + l->assoc; node > 1; node /= 2) {
        uint64_t bit = UINT64_C(1) << node / 2;

        // 1: the second child is next
        *bits = node % 2 ? *bits & ~bit : *bits | bit;
    }
}

static uint32_t plru_victim(const struct sim_level *l, uint64_t bits)
{
    uint32_t node = 1;

    while (node < l->assoc)
        node = 2 * node + (uint32_t)(bits >> node & 1);
    return node - l->assoc;
}

// ---- Predictions ----

static void rrip_set(uint64_t *bits, uint32_t way, uint64_t prediction)
{
    *bits = (*bits & ~(UINT64_C(3) << 2 * way)) | prediction << 2 * way;
}

// All ways are in use. How often the predictions grow follows from the largest one, without a
// branch: it is not to be predicted.
static uint32_t rrip_victim(const struct sim_level *l, uint64_t *bits)
{
    uint64_t ways = l->assoc == 32 ? RRIP_LOW : RRIP_LOW & ((UINT64_C(1) << 2 * l->assoc) - 1);
    uint64_t high = *bits >> 1 & ways, low = *bits & ways, grow = 3;

    grow = low ? 2 : grow;
    grow = high ? 1 : grow;
    grow = high & low ? 0 : grow;
    *bits += ways * grow; // none was 3: no prediction overflows into the next
    return (uint32_t)__builtin_ctzll(*bits & *bits >> 1 & ways) / 2;
}

// ---- One set by a table ----

static enum sim_use table_use(struct sim_level *l, uint64_t line)
{
    uint32_t slot = sim_recent_find(&l->recent, line + 1);
    uint64_t mark;

    if (slot == l->assoc)
        return SIM_ABSENT;
    sim_recent_touch(&l->recent, slot);
    mark = l->tags[slot];
    l->tags[slot] = 0;
    return mark ? SIM_FIRST_USE : SIM_PRESENT;
}

static uint64_t table_fill(struct sim_level *l, uint64_t line, uint64_t mark)
{
    uint64_t old;
    uint32_t slot = sim_recent_put(&l->recent, line + 1, &old);

    if (old)
        old |= l->tags[slot];
    l->tags[slot] = mark;
    return old;
}

static bool table_take(struct sim_level *l, uint64_t line)
{
    uint32_t slot = sim_recent_find(&l->recent, line + 1);

    if (slot == l->assoc)
        return false;
    sim_recent_take(&l->recent, slot);
    return true;
}

// ---- A level ----

static void used(const struct sim_level *l, uint64_t *bits, uint32_t way, uint64_t prediction)
{
    if (l->replacement == SIM_LRU)
        order_use(bits, way);
    else if (l->replacement == SIM_PLRU)
        plru_use(l, bits, way);
    else
        rrip_set(bits, way, prediction);
}

static uint32_t victim(const struct sim_level *l, uint64_t *head)
{
    uint64_t *bits = head + l->words;
    uint32_t way;

    if (l->replacement == SIM_LRU) // the empty ones are last
        return order_victim(l, *bits);
    way = find_empty(l, head);
    if (way < l->assoc)
        return way;
    return l->replacement == SIM_PLRU ? plru_victim(l, *bits) : rrip_victim(l, bits);
}

static inline enum sim_use use(struct sim_level *l, uint64_t set, uint64_t line)
{
    uint64_t *ways = l->tags + set * l->room;
    enum sim_use said;
    uint32_t way;

    way = find(l, set, line);
    if (way == l->assoc)
        return SIM_ABSENT;
    said = ways[way] & SIM_LEVEL_MARK ? SIM_FIRST_USE : SIM_PRESENT;
    ways[way] = line + 1;
    if (l->words)
        used(l, &l->heads[set * l->head + l->words], way, 0);
    else
        put_first(ways, way, line + 1);
    return said;
}

static inline uint64_t fill(struct sim_level *l, uint64_t set, uint64_t line, uint64_t mark)
{
    uint64_t *ways = l->tags + set * l->room, *head = l->heads + set * l->head, old;
    uint32_t way;

    if (!l->words) {
        old = ways[l->assoc - 1];
        put_first(ways, l->assoc - 1, (line + 1) | mark);
        return old;
    }
    way = victim(l, head);
    old = ways[way];
    ways[way] = (line + 1) | mark;
    set_byte(head, way, byte_of(line));
    used(l, head + l->words, way, RRIP_LONG);
    return old;
}

enum sim_use sim_level_use(struct sim_level *l, uint64_t line)
{
    return l->by_table ? table_use(l, line) : use(l, sim_level_set(l, line), line);
}

bool sim_level_has(const struct sim_level *l, uint64_t line)
{
    if (l->by_table)
        return sim_recent_find(&l->recent, line + 1) != l->assoc;
    return find(l, sim_level_set(l, line), line) != l->assoc;
}

uint64_t sim_level_fill(struct sim_level *l, uint64_t line, uint64_t mark)
{
    return l->by_table ? table_fill(l, line, mark) : fill(l, sim_level_set(l, line), line, mark);
}

enum sim_use sim_level_refer(struct sim_level *l, uint64_t line, uint64_t *old)
{
    uint64_t set = sim_level_set(l, line);
    enum sim_use said = l->by_table ? table_use(l, line) : use(l, set, line);

    *old = 0;
    if (said == SIM_ABSENT)
        *old = l->by_table ? table_fill(l, line, 0) : fill(l, set, line, 0);
    return said;
}

void sim_level_put(struct sim_level *l, uint64_t line)
{
    uint64_t set = sim_level_set(l, line);

    if (l->by_table) {
        if (table_use(l, line) == SIM_ABSENT)
            table_fill(l, line, 0);
    } else if (use(l, set, line) == SIM_ABSENT) {
        fill(l, set, line, 0);
    }
}

bool sim_level_load(struct sim_level *l, uint64_t line, uint64_t *old)
{
    uint64_t set = sim_level_set(l, line);

    if (l->by_table) {
        if (sim_level_has(l, line))
            return false;
        *old = table_fill(l, line, SIM_LEVEL_MARK);
        return true;
    }
    if (find(l, set, line) != l->assoc)
        return false;
    *old = fill(l, set, line, SIM_LEVEL_MARK);
    return true;
}

bool sim_level_take(struct sim_level *l, uint64_t line)
{
    uint64_t set = sim_level_set(l, line), *ways = l->tags + set * l->room;
    uint64_t *head = l->heads + set * l->head;
    uint32_t way;

    if (l->by_table)
        return table_take(l, line);
    way = find(l, set, line);
    if (way == l->assoc)
        return false;
    if (l->words) {
        set_byte(head, way, 0);
        ways[way] = 0;
        if (l->replacement == SIM_LRU)
            order_last(l, head + l->words, way);
        return true;
    }
    for (; way + 1 < l->assoc; way++)
        ways[way] = ways[way + 1];
    ways[way] = 0;
    return true;
}
