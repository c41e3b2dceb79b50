// SPDX-License-Identifier: MIT
//
// What level.h says, for those who know a level's shape when they are compiled: the same, inline.
// sim/level.c is made of these; who simulates millions of references in a row includes them, too.
//
// What an access costs is the host's memory, and branches that nobody can predict: in which way a
// line is, and whether a set has it. So tags are small, a set of 16 is one line of the host's
// cache, and a search compares all of them.
#ifndef QUERN_SIM_LEVEL_OPS_H
#define QUERN_SIM_LEVEL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/recent.h"

// Which line of a full set is replaced. An empty way is filled first, the lowest one.
enum sim_replacement {
    SIM_LRU, // the least recently used
    // A binary tree over the ways, a bit for each node. A use makes the bits on the way's path
    // point away from it; the line replaced is where all bits point. Ways: a power of two.
    SIM_PLRU,
    // Each way has a prediction of two bits: 0 after a hit, 2 after a fill. The line replaced is
    // the first whose prediction is 3; while there is none, all predictions grow by one (Jaleel et
    // al., "High performance cache replacement using re-reference interval prediction", ISCA 2010,
    // SRRIP with hit priority).
    SIM_SRRIP,
    // The same, or with a prediction of 3 after all but one of 32 fills, so that most new lines are
    // replaced first: whichever misses less in sets that always have the one or the other (the
    // same, DRRIP).
    SIM_DRRIP,
};

// Of SIM_PLRU, SIM_SRRIP and SIM_DRRIP.
#define SIM_LEVEL_WAYS 32u

// Of a line that was replaced: it was put in ahead of its use, and not used since.
#define SIM_LEVEL_MARK (UINT64_C(1) << 63)

// With SIM_LRU and more ways than these, and more than one set, a set's ways are a list.
#define SIM_LEVEL_ORDERED 16u

// How the lines of a level are kept.
enum sim_level_kind {
    // Each set has its tags side by side, and a state. These are for processors of today, with tags
    // of 32 bits: room for so many, and of the tree as many ways.
    SIM_LEVEL_TREE_8, // SIM_PLRU
    SIM_LEVEL_TREE_16,
    SIM_LEVEL_ORDER_8, // SIM_LRU
    SIM_LEVEL_ORDER_16,
    SIM_LEVEL_PREDICTIONS_16, // SIM_SRRIP
    SIM_LEVEL_SETS,           // any other ways, tags of 32 or 64 bits
    // Each set has its tags in order of use, the latest first and the empty ones last; the highest
    // bit of a tag is the mark.
    SIM_LEVEL_LIST,
    SIM_LEVEL_TABLE, // one set of many ways: `recent`, whose keys are the tags
};

// A line's number is (quotient * odd + group) << low_bits | low: `group` and `low` are its set, the
// quotient plus one is its tag. Sets are odd << low_bits. A tag of 0 is an empty way.
//
// Of the first kinds a set's state is one word if there are at most 16 ways and replacement needs
// no more than 32 bits: these, 16 bits for the ways in use, 16 for those with a mark. Else two
// words: the bits of replacement; 32 bits for the ways in use, 32 for the marks. The bits of
// replacement: the order of use, four bits a way; the tree's node n at bit n (the root is 1, the
// children of n are 2n and 2n + 1); or two for each way.
struct sim_level {
    void *tags; // at set * room + way, of 32 or 64 bits; of SIM_LEVEL_TABLE a slot's mark
    uint64_t *state;
    uint32_t sets, assoc, line_shift;
    uint32_t room, tag_bytes, words; // from set to set: tags, and words of state
    uint32_t low_bits, odd;
    uint64_t low_mask;
    enum sim_replacement replacement; // SIM_SRRIP also where duels is true
    bool duels;                       // SIM_DRRIP
    uint32_t duel, fills;             // from half of SIM_LEVEL_DUEL on lines are mostly put in last
    enum sim_level_kind kind;
    uint32_t away[SIM_LEVEL_WAYS], path[SIM_LEVEL_WAYS]; // of a way: its nodes, and which are 1
    struct sim_recent recent;
};

enum sim_use {
    SIM_ABSENT, // nothing has changed
    SIM_PRESENT,
    SIM_FIRST_USE, // present and marked; the mark is gone
};

#define SIM_LEVEL_OP static inline __attribute__((always_inline))

#define SIM_LEVEL_LONG     2u    // the prediction of a line that was put in
#define SIM_LEVEL_LAST     3u    // and of one that is replaced first
#define SIM_LEVEL_DUEL     1024u // of SIM_DRRIP, as Jaleel et al. have it
#define SIM_LEVEL_LEADERS  64u   // one set in so many always has the one, and one the other
#define SIM_LEVEL_RARELY   32u   // fills
#define SIM_LEVEL_RRIP_LOW UINT64_C(0x5555555555555555) // the low bit of each prediction
#define SIM_LEVEL_TAGS_LOW UINT64_C(0x0000000100000001) // the low bit of each tag of a word

// What the compiler is to know.
struct sim_shape {
    enum sim_level_kind kind;
    enum sim_replacement r;
    uint32_t assoc, room, words;
    bool narrow;
    bool marks;   // there are lines that are put in ahead of their use
    bool vectors; // searches by AVX2, which changes ymm0 and ymm1
    bool power;   // sets are a power of two
};

SIM_LEVEL_OP struct sim_shape sim_shape_of(const struct sim_level *l, enum sim_level_kind kind,
                                           bool marks, bool vectors, bool power)
{
    switch (kind) {
    case SIM_LEVEL_TREE_8:
        return (struct sim_shape){ kind, SIM_PLRU, 8, 8, 1, true, marks, vectors, power };
    case SIM_LEVEL_TREE_16:
        return (struct sim_shape){ kind, SIM_PLRU, 16, 16, 1, true, marks, vectors, power };
    case SIM_LEVEL_ORDER_8:
        return (struct sim_shape){ kind, SIM_LRU, l->assoc, 8, 2, true, marks, vectors, power };
    case SIM_LEVEL_ORDER_16:
        return (struct sim_shape){ kind, SIM_LRU, l->assoc, 16, 2, true, marks, vectors, power };
    case SIM_LEVEL_PREDICTIONS_16:
        return (struct sim_shape){ kind, SIM_SRRIP, l->assoc, 16, 1, true, marks, vectors, power };
    case SIM_LEVEL_SETS:
    case SIM_LEVEL_LIST:
    case SIM_LEVEL_TABLE: break;
    }
    return (struct sim_shape){ kind,    l->replacement, l->assoc,
                               l->room, l->words,       l->tag_bytes == 4,
                               marks,   false,          false };
}

// Where a line is, or is not.
struct sim_level_place {
    uint64_t set, tag;
};

SIM_LEVEL_OP struct sim_level_place sim_level_place_of(const struct sim_level *l, uint64_t line,
                                                       struct sim_shape s)
{
    uint64_t low = line & l->low_mask, high = line >> l->low_bits, quotient;

    if (s.power || l->odd == 1)
        return (struct sim_level_place){ low, high + 1 };
    quotient = high <= UINT32_MAX ? (uint32_t)high / l->odd : high / l->odd;
    return (struct sim_level_place){ (high - quotient * l->odd) << l->low_bits | low,
                                     quotient + 1 };
}

// The number plus one of the line with this tag.
SIM_LEVEL_OP uint64_t sim_level_line_at(const struct sim_level *l, uint64_t set, uint64_t tag,
                                        struct sim_shape s)
{
    uint64_t high = s.power ? tag - 1 : (tag - 1) * l->odd + (set >> l->low_bits);

    return (high << l->low_bits | (set & l->low_mask)) + 1;
}

SIM_LEVEL_OP void sim_level_ahead_as(const struct sim_level *l, uint64_t line, struct sim_shape s)
{
    uint64_t set = sim_level_place_of(l, line, s).set;

    __builtin_prefetch((const char *)l->tags + set * s.room * (s.narrow ? 4 : 8), 1);
    __builtin_prefetch(l->state + set * s.words, 1);
}

// ---- Tags ----

// The ways with this tag, of which there is at most one, at way / 2 + 32 * (way % 2); above it
// there may be others. All words at once: in which of them a line is, is not to be predicted.
SIM_LEVEL_OP uint64_t sim_level_match(const uint32_t *tags, uint32_t room, uint32_t tag)
{
    const uint64_t both = tag * SIM_LEVEL_TAGS_LOW;
    uint64_t found = 0, two;

#pragma GCC unroll 8
    for (uint32_t i = 0; i < room / 2; i++) {
        __builtin_memcpy(&two, tags + 2 * i, sizeof(two));
        two ^= both;
        found |= ((two - SIM_LEVEL_TAGS_LOW) & ~two & SIM_LEVEL_TAGS_LOW << 31) >> (31 - i);
    }
    return found;
}

static inline uint32_t *sim_level_narrow(const struct sim_level *l, uint64_t set, uint32_t room)
{
    return (uint32_t *)l->tags + set * room;
}

static inline uint64_t *sim_level_wide(const struct sim_level *l, uint64_t set, uint32_t room)
{
    return (uint64_t *)l->tags + set * room;
}

#ifdef __SSE2__
#    define SIM_LEVEL_ASM(out, in...) : out : in : "xmm0", "xmm1"
#else // the compiler has no vectors
#    define SIM_LEVEL_ASM(out, in...) : out : in
#endif

// By AVX2: the ways with this tag, a bit for each, of a set with room for 8; two of 16.
SIM_LEVEL_OP uint32_t sim_level_match_8(const uint32_t *tags, uint32_t tag)
{
    uint32_t found;

    __asm__("vmovd %1, %%xmm0\n\t"
            "vpbroadcastd %%xmm0, %%ymm0\n\t"
            "vpcmpeqd (%2), %%ymm0, %%ymm0\n\t"
            "vmovmskps %%ymm0, %0" SIM_LEVEL_ASM("=r"(found), "r"(tag), "r"(tags),
                                                 "m"(*(const uint32_t(*)[8])tags)));
    return found;
}

SIM_LEVEL_OP uint32_t sim_level_match_16(const uint32_t *tags, uint32_t tag)
{
    uint32_t found;

    __asm__("vmovd %1, %%xmm0\n\t"
            "vpbroadcastd %%xmm0, %%ymm0\n\t"
            "vpcmpeqd (%2), %%ymm0, %%ymm1\n\t"
            "vpcmpeqd 32(%2), %%ymm0, %%ymm0\n\t"
            "vpackssdw %%ymm0, %%ymm1, %%ymm0\n\t" // by halves: 0-3 8-11, 4-7 12-15
            "vpermq $0xd8, %%ymm0, %%ymm0\n\t"
            "vpmovmskb %%ymm0, %0" SIM_LEVEL_ASM("=r"(found), "r"(tag), "r"(tags),
                                                 "m"(*(const uint32_t(*)[16])tags)));
    return found;
}

// The way of a tag, or assoc.
SIM_LEVEL_OP uint32_t sim_set_find(const struct sim_level *l, struct sim_level_place p,
                                   struct sim_shape s)
{
    const uint32_t *tags = sim_level_narrow(l, p.set, s.room);
    const uint64_t *ways = sim_level_wide(l, p.set, s.room);
    uint32_t way = 0;

    if (s.vectors && s.room == 8) {
        uint32_t found = sim_level_match_8(tags, (uint32_t)p.tag);

        return found ? (uint32_t)__builtin_ctz(found) : s.assoc;
    }
    if (s.vectors && s.room == 16) {
        uint32_t found = sim_level_match_16(tags, (uint32_t)p.tag);

        return found ? (uint32_t)__builtin_ctz(found) / 2 : s.assoc;
    }
    if (s.narrow) {
        uint64_t found = sim_level_match(tags, s.room, (uint32_t)p.tag);
        uint32_t bit = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << 63);

        return found ? bit % 32 * 2 + bit / 32 : s.assoc;
    }
    while (way < s.assoc && ways[way] != p.tag)
        way++;
    return way;
}

SIM_LEVEL_OP uint64_t sim_set_tag(const struct sim_level *l, uint64_t set, uint32_t way,
                                  struct sim_shape s)
{
    return s.narrow ? sim_level_narrow(l, set, s.room)[way] : sim_level_wide(l, set, s.room)[way];
}

SIM_LEVEL_OP void sim_set_put_tag(const struct sim_level *l, struct sim_level_place p, uint32_t way,
                                  struct sim_shape s)
{
    if (s.narrow)
        sim_level_narrow(l, p.set, s.room)[way] = (uint32_t)p.tag;
    else
        sim_level_wide(l, p.set, s.room)[way] = p.tag;
}

// ---- The state of a set ----

struct sim_set {
    uint64_t bits; // of replacement
    uint32_t used, marks;
};

// In memory, if it has one word.
struct sim_set_word {
    uint32_t bits;
    uint16_t used, marks;
} __attribute__((may_alias));

SIM_LEVEL_OP struct sim_set sim_set_of(const struct sim_level *l, uint64_t set, struct sim_shape s)
{
    const uint64_t *at = l->state + set * s.words;
    const struct sim_set_word *one = (const struct sim_set_word *)at;

    if (s.words == 1)
        return (struct sim_set){ one->bits, one->used, s.marks ? one->marks : 0 };
    return (struct sim_set){ at[0], (uint32_t)at[1], (uint32_t)(at[1] >> 32) };
}

SIM_LEVEL_OP void sim_set_keep(const struct sim_level *l, uint64_t set, const struct sim_set *t,
                               struct sim_shape s)
{
    uint64_t *at = l->state + set * s.words;
    struct sim_set_word *one = (struct sim_set_word *)at;

    if (s.words == 1) {
        one->bits = (uint32_t)t->bits;
        one->used = (uint16_t)t->used;
        if (s.marks)
            one->marks = (uint16_t)t->marks;
    } else {
        at[0] = t->bits;
        at[1] = t->used | (uint64_t)t->marks << 32;
    }
}

// ---- The order of use ----

// The ways, the one used last first, four bits each; no bits stand for 0, 1, 2, ...
#define SIM_ORDER_ZERO UINT64_C(0xfedcba9876543210)

// The place of a way in the order.
SIM_LEVEL_OP uint32_t sim_order_place(uint64_t order, uint32_t way)
{
    uint64_t x = order ^ way * UINT64_C(0x1111111111111111);

    x = (x - UINT64_C(0x1111111111111111)) & ~x & UINT64_C(0x8888888888888888);
    return (uint32_t)__builtin_ctzll(x) / 4;
}

// Moves a way to another place: what is between moves by one.
SIM_LEVEL_OP void sim_order_use(uint64_t *bits, uint32_t way)
{
    uint64_t order = *bits ^ SIM_ORDER_ZERO;
    uint32_t shift = 4 * sim_order_place(order, way);
    uint64_t before = (UINT64_C(1) << shift) - 1, with = before << 4 | 15;

    *bits = ((order & ~with) | (order & before) << 4 | way) ^ SIM_ORDER_ZERO;
}

SIM_LEVEL_OP void sim_order_last(uint32_t assoc, uint64_t *bits, uint32_t way)
{
    uint64_t order = *bits ^ SIM_ORDER_ZERO;
    uint32_t shift = 4 * sim_order_place(order, way), end = 4 * (assoc - 1);
    uint64_t before = (UINT64_C(1) << shift) - 1, all = ((UINT64_C(1) << end) - 1) << 4 | 15;
    uint64_t behind = (order & all) >> shift >> 4;

    *bits = ((order & ~all) | (order & before) | behind << shift | (uint64_t)way << end) ^
            SIM_ORDER_ZERO;
}

SIM_LEVEL_OP uint32_t sim_order_victim(uint32_t assoc, uint64_t bits)
{
    return (uint32_t)((bits ^ SIM_ORDER_ZERO) >> 4 * (assoc - 1) & 15);
}

// ---- The tree ----

SIM_LEVEL_OP void sim_tree_use(const struct sim_level *l, uint64_t *bits, uint32_t way)
{
    *bits = (*bits & ~(uint64_t)l->path[way]) | l->away[way];
}

// Of the bits of nodes 1 to 7 the node below, 8 to 15, to which they lead.
extern const uint8_t sim_level_tree_third[128];

SIM_LEVEL_OP uint32_t sim_tree_victim(uint32_t assoc, uint64_t bits)
{
    uint32_t node = assoc >= 8 ? sim_level_tree_third[bits >> 1 & 127] : 1;

    while (node < assoc)
        node = 2 * node + (uint32_t)(bits >> node & 1);
    return node - assoc;
}

// ---- Predictions ----

SIM_LEVEL_OP void sim_rrip_set(uint64_t *bits, uint32_t way, uint64_t prediction)
{
    *bits = (*bits & ~(UINT64_C(3) << 2 * way)) | prediction << 2 * way;
}

// All ways are in use. How often the predictions grow follows from the largest one, without a
// branch: it is not to be predicted.
SIM_LEVEL_OP uint32_t sim_rrip_victim(uint32_t assoc, uint64_t *bits)
{
    uint64_t ways =
        assoc == 32 ? SIM_LEVEL_RRIP_LOW : SIM_LEVEL_RRIP_LOW & ((UINT64_C(1) << 2 * assoc) - 1);
    uint64_t high = *bits >> 1 & ways, low = *bits & ways, grow = 3;

    grow = low ? 2 : grow;
    grow = high ? 1 : grow;
    grow = high & low ? 0 : grow;
    *bits += ways * grow; // none was 3: no prediction overflows into the next
    return (uint32_t)__builtin_ctzll(*bits & *bits >> 1 & ways) / 2;
}

// The prediction of a line that is put in, since it missed.
SIM_LEVEL_OP uint64_t sim_rrip_of_fill(struct sim_level *l, uint64_t set)
{
    uint64_t leads = set % SIM_LEVEL_LEADERS;
    bool last = l->duel >= SIM_LEVEL_DUEL / 2;

    if (!l->duels)
        return SIM_LEVEL_LONG;
    if (leads == 0) {
        l->duel += l->duel < SIM_LEVEL_DUEL - 1;
        last = false;
    } else if (leads == SIM_LEVEL_LEADERS / 2) {
        l->duel -= l->duel > 0;
        last = true;
    }
    return last && ++l->fills % SIM_LEVEL_RARELY ? SIM_LEVEL_LAST : SIM_LEVEL_LONG;
}

// ---- Sets ----

SIM_LEVEL_OP void sim_set_used(const struct sim_level *l, struct sim_set *t, uint32_t way,
                               uint64_t prediction, struct sim_shape s)
{
    if (s.r == SIM_LRU)
        sim_order_use(&t->bits, way);
    else if (s.r == SIM_PLRU)
        sim_tree_use(l, &t->bits, way);
    else
        sim_rrip_set(&t->bits, way, prediction);
}

SIM_LEVEL_OP uint32_t sim_set_victim(struct sim_set *t, struct sim_shape s)
{
    uint32_t all = s.assoc == 32 ? UINT32_MAX : (UINT32_C(1) << s.assoc) - 1;

    if (s.r == SIM_LRU) // the empty ones are last
        return sim_order_victim(s.assoc, t->bits);
    if (t->used != all)
        return (uint32_t)__builtin_ctz(~t->used);
    return s.r == SIM_PLRU ? sim_tree_victim(s.assoc, t->bits) : sim_rrip_victim(s.assoc, &t->bits);
}

SIM_LEVEL_OP enum sim_use sim_set_use(struct sim_level *l, struct sim_level_place p,
                                      struct sim_shape s)
{
    uint32_t way = sim_set_find(l, p, s), bit;
    struct sim_set t;
    enum sim_use said;

    if (way == s.assoc)
        return SIM_ABSENT;
    t = sim_set_of(l, p.set, s);
    bit = UINT32_C(1) << way;
    said = s.marks && (t.marks & bit) ? SIM_FIRST_USE : SIM_PRESENT;
    if (s.marks)
        t.marks &= ~bit;
    sim_set_used(l, &t, way, 0, s);
    sim_set_keep(l, p.set, &t, s);
    return said;
}

SIM_LEVEL_OP uint64_t sim_set_fill(struct sim_level *l, struct sim_level_place p, uint64_t mark,
                                   struct sim_shape s)
{
    struct sim_set t = sim_set_of(l, p.set, s);
    uint32_t way = sim_set_victim(&t, s), bit = UINT32_C(1) << way;
    uint64_t old = 0;

    if (t.used & bit) {
        old = sim_level_line_at(l, p.set, sim_set_tag(l, p.set, way, s), s);
        old |= s.marks && (t.marks & bit) ? SIM_LEVEL_MARK : 0;
    }
    sim_set_put_tag(l, p, way, s);
    t.used |= bit;
    if (s.marks)
        t.marks = (t.marks & ~bit) | (mark ? bit : 0);
    sim_set_used(l, &t, way, sim_rrip_of_fill(l, p.set), s);
    sim_set_keep(l, p.set, &t, s);
    return old;
}

SIM_LEVEL_OP bool sim_set_take(struct sim_level *l, struct sim_level_place p, struct sim_shape s)
{
    uint32_t way = sim_set_find(l, p, s);
    struct sim_set t;

    if (way == s.assoc)
        return false;
    t = sim_set_of(l, p.set, s);
    t.used &= ~(UINT32_C(1) << way);
    if (s.marks)
        t.marks &= ~(UINT32_C(1) << way);
    if (s.r == SIM_LRU)
        sim_order_last(s.assoc, &t.bits, way);
    sim_set_keep(l, p.set, &t, s);
    p.tag = 0;
    sim_set_put_tag(l, p, way, s);
    return true;
}

// ---- One set by a table ----

// By slot.
static inline uint64_t *sim_table_marks(const struct sim_level *l)
{
    return l->tags;
}

SIM_LEVEL_OP enum sim_use sim_table_use(struct sim_level *l, struct sim_level_place p)
{
    uint32_t slot = sim_recent_find(&l->recent, p.tag);
    uint64_t mark;

    if (slot == l->assoc)
        return SIM_ABSENT;
    sim_recent_touch(&l->recent, slot);
    mark = sim_table_marks(l)[slot];
    sim_table_marks(l)[slot] = 0;
    return mark ? SIM_FIRST_USE : SIM_PRESENT;
}

SIM_LEVEL_OP uint64_t sim_table_fill(struct sim_level *l, struct sim_level_place p, uint64_t mark)
{
    uint64_t old;
    uint32_t slot = sim_recent_put(&l->recent, p.tag, &old);

    if (old)
        old |= sim_table_marks(l)[slot];
    sim_table_marks(l)[slot] = mark;
    return old;
}

SIM_LEVEL_OP bool sim_table_take(struct sim_level *l, struct sim_level_place p)
{
    uint32_t slot = sim_recent_find(&l->recent, p.tag);

    if (slot == l->assoc)
        return false;
    sim_recent_take(&l->recent, slot);
    return true;
}

SIM_LEVEL_OP bool sim_table_has(const struct sim_level *l, struct sim_level_place p)
{
    return sim_recent_find(&l->recent, p.tag) != l->assoc;
}

// ---- A level ----

// Of SIM_LEVEL_LIST.
enum sim_use sim_level_list_use(struct sim_level *l, struct sim_level_place p);
uint64_t sim_level_list_fill(struct sim_level *l, struct sim_level_place p, uint64_t mark);
bool sim_level_list_has(const struct sim_level *l, struct sim_level_place p);
bool sim_level_list_take(struct sim_level *l, struct sim_level_place p);

SIM_LEVEL_OP enum sim_use sim_level_use_as(struct sim_level *l, struct sim_level_place p,
                                           struct sim_shape s)
{
    if (s.kind == SIM_LEVEL_LIST)
        return sim_level_list_use(l, p);
    return s.kind == SIM_LEVEL_TABLE ? sim_table_use(l, p) : sim_set_use(l, p, s);
}

SIM_LEVEL_OP uint64_t sim_level_fill_as(struct sim_level *l, struct sim_level_place p,
                                        uint64_t mark, struct sim_shape s)
{
    if (s.kind == SIM_LEVEL_LIST)
        return sim_level_list_fill(l, p, mark);
    return s.kind == SIM_LEVEL_TABLE ? sim_table_fill(l, p, mark) : sim_set_fill(l, p, mark, s);
}

SIM_LEVEL_OP bool sim_level_has_as(const struct sim_level *l, struct sim_level_place p,
                                   struct sim_shape s)
{
    if (s.kind == SIM_LEVEL_LIST)
        return sim_level_list_has(l, p);
    return s.kind == SIM_LEVEL_TABLE ? sim_table_has(l, p) : sim_set_find(l, p, s) != s.assoc;
}

SIM_LEVEL_OP bool sim_level_take_as(struct sim_level *l, struct sim_level_place p,
                                    struct sim_shape s)
{
    if (s.kind == SIM_LEVEL_LIST)
        return sim_level_list_take(l, p);
    return s.kind == SIM_LEVEL_TABLE ? sim_table_take(l, p) : sim_set_take(l, p, s);
}

SIM_LEVEL_OP enum sim_use sim_level_refer_as(struct sim_level *l, uint64_t line, uint64_t *old,
                                             struct sim_shape s)
{
    struct sim_level_place p = sim_level_place_of(l, line, s);
    enum sim_use said = sim_level_use_as(l, p, s);

    *old = said == SIM_ABSENT ? sim_level_fill_as(l, p, 0, s) : 0;
    return said;
}

SIM_LEVEL_OP bool sim_level_load_as(struct sim_level *l, uint64_t line, uint64_t *old,
                                    struct sim_shape s)
{
    struct sim_level_place p = sim_level_place_of(l, line, s);

    if (sim_level_has_as(l, p, s))
        return false;
    *old = sim_level_fill_as(l, p, SIM_LEVEL_MARK, s);
    return true;
}

#endif
