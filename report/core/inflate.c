// SPDX-License-Identifier: MIT
//
// Codes are looked up by their first bits in a table, longer ones in a second table that the entry
// of the first one names. @hot: a report of a million functions has 180 MB. While input and output
// have space for a whole round, eight bytes are read at a time without further checks; near the
// ends each byte is checked.
//
// An entry: bits 0 to 3 the length of the code (0: there is no such code), 4 to 7 what it is, above
// these the literal, the base of a length or a distance with the number of its extra bits in 8 to
// 11, or the place of the second table.
#include "report/core/inflate.h"

enum {
    CODE_MAX = 15,
    LENGTHS = 288,
    DISTANCES = 32,
    LENGTH_BITS = 11, // of the first tables
    DISTANCE_BITS = 9,
    LENGTH_SIZE = (1 << LENGTH_BITS) + LENGTHS * (1 << (CODE_MAX - LENGTH_BITS)),
    DISTANCE_SIZE = (1 << DISTANCE_BITS) + DISTANCES * (1 << (CODE_MAX - DISTANCE_BITS)),
    HEAD_BITS = 7,
    MATCH_MAX = 258,
    IN_ROOM = 24,              // what a round reads at most
    OUT_ROOM = MATCH_MAX + 24, // what it writes at most
};

enum kind { KIND_LITERAL, KIND_MATCH, KIND_END, KIND_TABLE };

struct stream {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_begin, *out_end;
    uint64_t bits;
    unsigned count; // of bits
    uint32_t length[LENGTH_SIZE], distance[DISTANCE_SIZE];
};

// ---- Bits, with a check ----

// After the end, zeros are read; `count` then says that too many bits were taken.
static void fill(struct stream *s)
{
    while (s->count < 56 && s->in < s->in_end) {
        s->bits |= (uint64_t)*s->in++ << s->count;
        s->count += 8;
    }
}

static bool take(struct stream *s, unsigned n, uint32_t *v)
{
    fill(s);
    if (s->count < n)
        return false;
    *v = (uint32_t)(s->bits & ((1ull << n) - 1));
    s->bits >>= n;
    s->count -= n;
    return true;
}

// ---- Tables ----

static uint32_t entry_of_length(unsigned symbol)
{
    static const uint16_t base[] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                     15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                     67, 83, 99, 115, 131, 163, 195, 227, 258 };

    if (symbol < 256)
        return symbol << 12 | KIND_LITERAL << 4;
    if (symbol == 256)
        return KIND_END << 4;
    symbol -= 257;
    if (symbol >= sizeof(base) / sizeof(*base))
        return 0;
    unsigned extra = symbol < 8 || symbol == 28 ? 0 : symbol / 4 - 1;
    return (uint32_t)base[symbol] << 12 | extra << 8 | KIND_MATCH << 4;
}

static uint32_t entry_of_distance(unsigned symbol)
{
    if (symbol >= 30)
        return 0;
    unsigned extra = symbol < 4 ? 0 : symbol / 2 - 1;
    uint32_t base = symbol < 4 ? symbol + 1 : (2 + (symbol & 1)) * (1u << extra) + 1;
    return base << 12 | extra << 8 | KIND_MATCH << 4;
}

static uint32_t entry_of_head(unsigned symbol)
{
    return symbol << 12 | KIND_LITERAL << 4;
}

static uint32_t reversed(uint32_t code, unsigned bits)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < bits; i++)
        v |= (code >> i & 1) << (bits - 1 - i);
    return v;
}

// A code of canonical codes. False: there are more codes than bits can tell apart.
static bool make_table(uint32_t *table, unsigned first_bits, const uint8_t *size, unsigned symbols,
                       uint32_t (*entry_of)(unsigned))
{
    uint32_t number[CODE_MAX + 2] = { 0 }, next[CODE_MAX + 2] = { 0 };
    uint32_t code = 0, end = 1u << first_bits;
    unsigned second_bits = 0;

    for (unsigned i = 0; i < symbols; i++)
        number[size[i]]++;
    number[0] = 0;
    for (unsigned bits = 1; bits <= CODE_MAX; bits++) {
        code = (code + number[bits - 1]) << 1;
        next[bits] = code;
        if (code + number[bits] > 1u << bits)
            return false;
        if (number[bits] && bits > first_bits)
            second_bits = bits - first_bits;
    }
    core_zero(table, end * sizeof(*table));
    for (unsigned i = 0; i < symbols; i++) {
        unsigned bits = size[i];
        uint32_t entry = entry_of(i);
        if (bits == 0)
            continue;
        uint32_t at = reversed(next[bits]++, bits);
        if (entry == 0 && i > 0 && entry_of != entry_of_head)
            continue; // an unused symbol
        if (bits <= first_bits) {
            for (; at < 1u << first_bits; at += 1u << bits)
                table[at] = entry | bits;
            continue;
        }
        uint32_t *first = &table[at & ((1u << first_bits) - 1)];
        if (*first == 0) {
            *first = end << 12 | second_bits << 8 | KIND_TABLE << 4 | first_bits;
            core_zero(table + end, (sizeof(*table)) << second_bits);
            end += 1u << second_bits;
        }
        uint32_t *second = table + (*first >> 12);
        for (at >>= first_bits; at < 1u << second_bits; at += 1u << (bits - first_bits))
            second[at] = entry | (bits - first_bits);
    }
    return true;
}

// The entry for the bits that come next, and how many bits led to it.
static inline uint32_t look(const uint32_t *table, unsigned first_bits, uint64_t bits,
                            unsigned *used)
{
    uint32_t e = table[bits & ((1u << first_bits) - 1)];

    *used = e & 15;
    if ((e >> 4 & 15) == KIND_TABLE) {
        e = table[(e >> 12) + (bits >> first_bits & ((1u << (e >> 8 & 15)) - 1))];
        *used = first_bits + (e & 15);
    }
    return e;
}

// The next symbol's entry; 0: there is none.
static uint32_t symbol(struct stream *s, const uint32_t *table, unsigned first_bits)
{
    unsigned used;

    fill(s);
    uint32_t e = look(table, first_bits, s->bits, &used);
    if ((e & 15) == 0 || used > s->count)
        return 0;
    s->bits >>= used;
    s->count -= used;
    return e;
}

static bool fixed_tables(struct stream *s)
{
    uint8_t size[LENGTHS + DISTANCES];

    for (unsigned i = 0; i < LENGTHS; i++)
        size[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    for (unsigned i = 0; i < DISTANCES; i++)
        size[LENGTHS + i] = 5;
    return make_table(s->length, LENGTH_BITS, size, LENGTHS, entry_of_length) &&
           make_table(s->distance, DISTANCE_BITS, size + LENGTHS, DISTANCES, entry_of_distance);
}

static bool own_tables(struct stream *s)
{
    static const uint8_t order[] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                     11, 4,  12, 3, 13, 2, 14, 1, 15 };
    uint8_t size[LENGTHS + DISTANCES + 138] = { 0 }, head[19] = { 0 };
    uint32_t lengths, distances, heads, n = 0, v;

    if (!take(s, 5, &lengths) || !take(s, 5, &distances) || !take(s, 4, &heads))
        return false;
    lengths += 257;
    distances += 1;
    if (lengths > LENGTHS || distances > DISTANCES)
        return false;
    for (uint32_t i = 0; i < heads + 4; i++) {
        if (!take(s, 3, &v))
            return false;
        head[order[i]] = (uint8_t)v;
    }
    if (!make_table(s->length, HEAD_BITS, head, sizeof(head), entry_of_head))
        return false;
    while (n < lengths + distances) {
        uint32_t e = symbol(s, s->length, HEAD_BITS), what = e >> 12, times = 1;
        uint8_t of = (uint8_t)what;
        if (e == 0)
            return false;
        if (what == 16) {
            if (n == 0 || !take(s, 2, &times))
                return false;
            of = size[n - 1];
            times += 3;
        } else if (what > 16) {
            if (!take(s, what == 17 ? 3 : 7, &times))
                return false;
            of = 0;
            times += what == 17 ? 3 : 11;
        }
        while (times-- > 0)
            size[n++] = of;
    }
    return n == lengths + distances &&
           make_table(s->length, LENGTH_BITS, size, lengths, entry_of_length) &&
           make_table(s->distance, DISTANCE_BITS, size + lengths, distances, entry_of_distance);
}

// ---- Blocks ----

static bool stored(struct stream *s)
{
    uint32_t size, other;

    s->bits >>= s->count & 7;
    s->count -= s->count & 7;
    if (!take(s, 16, &size) || !take(s, 16, &other) || (size ^ other) != 0xffff)
        return false;
    // Unused bytes of the bit buffer are returned.
    s->in -= s->count / 8;
    s->bits = s->count = 0;
    if (size > (size_t)(s->in_end - s->in) || size > (size_t)(s->out_end - s->out))
        return false;
    if (size)
        core_copy(s->out, s->in, size);
    s->in += size;
    s->out += size;
    return true;
}

static inline uint64_t load64(const uint8_t *at)
{
    uint64_t v;

    core_copy(&v, at, sizeof(v)); // both targets have the lowest byte first
    return v;
}

// May write up to 7 bytes behind the match, and reads as many.
static inline uint8_t *copy_fast(uint8_t *out, uint32_t distance, uint32_t length)
{
    const uint8_t *from = out - distance;
    uint8_t *end = out + length;

    if (distance >= 8) {
        do {
            uint64_t v = load64(from);
            core_copy(out, &v, sizeof(v));
            from += 8;
            out += 8;
        } while (out < end);
        return end;
    }
    while (out < end)
        *out++ = *from++;
    return end;
}

// Rounds without checks, as long as there is space for one. 1: the block ends here; 0: there is no
// more space; -1: damaged.
static int rounds(struct stream *s)
{
    const uint8_t *in = s->in;
    uint8_t *out = s->out;
    uint64_t bits = s->bits;
    unsigned count = s->count, used;
    int end = 0;

#define REFILL()                     \
    do {                             \
        bits |= load64(in) << count; \
        in += (63 - count) >> 3;     \
        count |= 56;                 \
    } while (0)
#define SPEND(n)      \
    do {              \
        bits >>= (n); \
        count -= (n); \
    } while (0)

    while (end == 0 && s->in_end - in >= IN_ROOM && s->out_end - out >= OUT_ROOM) {
        REFILL(); // at least 56 bits: three codes, or a length with its distance
        uint32_t e = look(s->length, LENGTH_BITS, bits, &used);
        for (int i = 0; i < 2 && (e & 15) && (e >> 4 & 15) == KIND_LITERAL; i++) {
            *out++ = (uint8_t)(e >> 12);
            SPEND(used);
            e = look(s->length, LENGTH_BITS, bits, &used);
        }
        if ((e & 15) == 0) {
            end = -1;
            break;
        }
        SPEND(used);
        if ((e >> 4 & 15) == KIND_LITERAL) {
            *out++ = (uint8_t)(e >> 12);
            continue;
        }
        if ((e >> 4 & 15) == KIND_END) {
            end = 1;
            break;
        }
        REFILL();
        uint32_t extra = e >> 8 & 15, length = (e >> 12) + (uint32_t)(bits & ((1u << extra) - 1));
        SPEND(extra);
        e = look(s->distance, DISTANCE_BITS, bits, &used);
        SPEND(used);
        extra = e >> 8 & 15;
        uint32_t distance = (e >> 12) + (uint32_t)(bits & ((1u << extra) - 1));
        SPEND(extra);
        if ((e & 15) == 0 || distance > (size_t)(out - s->out_begin)) {
            end = -1;
            break;
        }
        out = copy_fast(out, distance, length);
    }
    // Unused whole bytes of the bit buffer are returned: the slow path relies on its bit count.
    in -= count / 8;
    count &= 7;
    s->bits = bits & ((1u << count) - 1);
    s->count = count;
    s->in = in;
    s->out = out;
    return end;
}

static bool match(struct stream *s, uint32_t e)
{
    uint32_t length = e >> 12, distance, v;

    if (!take(s, e >> 8 & 15, &v))
        return false;
    length += v;
    e = symbol(s, s->distance, DISTANCE_BITS);
    if (e == 0 || !take(s, e >> 8 & 15, &v))
        return false;
    distance = (e >> 12) + v;
    if (distance > (size_t)(s->out - s->out_begin) || length > (size_t)(s->out_end - s->out))
        return false;
    for (; length > 0; length--, s->out++)
        *s->out = *(s->out - distance);
    return true;
}

static bool compressed(struct stream *s)
{
    int end = rounds(s);

    while (end == 0) {
        uint32_t e = symbol(s, s->length, LENGTH_BITS);
        if (e == 0)
            return false;
        if ((e >> 4 & 15) == KIND_END)
            return true;
        if ((e >> 4 & 15) == KIND_MATCH) {
            if (!match(s, e))
                return false;
        } else {
            if (s->out == s->out_end)
                return false;
            *s->out++ = (uint8_t)(e >> 12);
        }
    }
    return end > 0;
}

int inflate_raw(const uint8_t *from, size_t from_size, uint8_t *out, size_t size)
{
    struct stream s = { .in = from, .in_end = from + from_size, .out = out, .out_begin = out };
    uint32_t last = 0, kind;
    bool ok = true;

    s.out_end = out + size;
    while (ok && !last) {
        ok = take(&s, 1, &last) && take(&s, 2, &kind);
        if (!ok)
            break;
        if (kind == 0)
            ok = stored(&s);
        else
            ok = (kind == 1 ? fixed_tables(&s) : kind == 2 && own_tables(&s)) && compressed(&s);
    }
    return ok && s.out == s.out_end && s.in - s.count / 8 == s.in_end ? 0 : CORE_DAMAGED;
}
