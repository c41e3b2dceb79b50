// SPDX-License-Identifier: MIT
//
// Stack distances (curve.h).
#include "sim/curve.h"

#define TIME_BITS 20u
#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)
#define LINE_MASK ((UINT64_C(1) << (64 - TIME_BITS)) - 1)

_Static_assert(SIM_CURVE_MAX_LINES * 4 < TIME_MASK, "times fit");

// So many that lines are seldom moved: after a use of each of three times `max` lines.
static uint32_t times(const struct sim_curve *c)
{
    return c->max * 4;
}

// Places of the table: a line may have each of the times.
static uint32_t places(const struct sim_curve *c)
{
    return c->max * 8;
}

static uint32_t words(const struct sim_curve *c)
{
    return times(c) / 64;
}

static uint32_t sums(const struct sim_curve *c, uint32_t level)
{
    uint32_t n = words(c);

    while (level--)
        n = (n + SIM_CURVE_FAN - 1) / SIM_CURVE_FAN;
    return n;
}

size_t sim_curve_bytes(uint32_t max)
{
    struct sim_curve c = { .max = max };
    size_t n = (size_t)times(&c) + places(&c) + words(&c), few = 0;

    for (uint32_t i = 0; i < SIM_CURVE_LEVELS; i++)
        few += sums(&c, i);
    return n * sizeof(uint64_t) + (few * sizeof(uint32_t) + 7) / 8 * 8;
}

void sim_curve_init_zeroed(struct sim_curve *c, uint32_t max, uint32_t rate, bool adapts,
                           void *storage)
{
    *c = (struct sim_curve){ .max = max, .rate = rate, .adapts = adapts };
    c->at = storage;
    c->table = c->at + times(c);
    c->bits = c->table + places(c);
    c->sum[0] = (uint32_t *)(c->bits + words(c));
    for (uint32_t i = 1; i < SIM_CURVE_LEVELS; i++)
        c->sum[i] = c->sum[i - 1] + sums(c, i - 1);
}

// ---- The table ----

static uint64_t *find(const struct sim_curve *c, uint64_t line)
{
    uint32_t mask = places(c) - 1, i = (uint32_t)(sim_curve_hash(line) >> 32) & mask;

    while (c->table[i] && (c->table[i] >> TIME_BITS) != line)
        i = (i + 1) & mask;
    return &c->table[i];
}

static uint64_t entry(uint64_t line, uint32_t time)
{
    return line << TIME_BITS | (time + 1);
}

// ---- The sums ----

static uint32_t ones(uint64_t w)
{
    w -= w >> 1 & UINT64_C(0x5555555555555555);
    w = (w & UINT64_C(0x3333333333333333)) + (w >> 2 & UINT64_C(0x3333333333333333));
    w = (w + (w >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(w * UINT64_C(0x0101010101010101) >> 56);
}

static void add(struct sim_curve *c, uint32_t word, uint32_t by)
{
    for (uint32_t i = 0; i < SIM_CURVE_LEVELS; i++, word /= SIM_CURVE_FAN)
        c->sum[i][word] += by;
}

// A line was used last at `before`, and is used now.
static void move(struct sim_curve *c, uint32_t before)
{
    uint32_t from = before / 64, to = c->now / 64;

    c->bits[from] &= ~(UINT64_C(1) << before % 64);
    c->bits[to] |= UINT64_C(1) << c->now % 64;
    if (from == to)
        return;
    add(c, from, UINT32_MAX);
    add(c, to, 1);
}

static void enter(struct sim_curve *c)
{
    c->bits[c->now / 64] |= UINT64_C(1) << c->now % 64;
    add(c, c->now / 64, 1);
    c->live++;
}

// How many lines were used last after `time`: those of its word, then of whole words up to a
// multiple of the fan, and so on in each level.
static uint32_t after(const struct sim_curve *c, uint32_t time)
{
    uint32_t n = ones(c->bits[time / 64] >> time % 64 >> 1), i = time / 64 + 1;
    uint32_t last = c->now / 64;

    for (uint32_t level = 0; level < SIM_CURVE_LEVELS; level++) {
        const uint32_t *sum = c->sum[level];
        bool top = level == SIM_CURVE_LEVELS - 1;

        for (; i <= last && (top || i % SIM_CURVE_FAN); i++)
            n += sum[i];
        if (i > last)
            break;
        i /= SIM_CURVE_FAN;
        last /= SIM_CURVE_FAN;
    }
    return n;
}

// ---- Times are used up ----

static bool is_live(const struct sim_curve *c, uint32_t time)
{
    return c->bits[time / 64] >> time % 64 & 1;
}

// Drops the times of no line, `skip` lines, and lines that are no longer in the sample: moves the
// others to the front.
static void pack(struct sim_curve *c, uint32_t skip)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < c->now; t++) {
        if (!is_live(c, t) || (skip && skip--) || !sim_curve_samples(c->at[t], c->rate))
            continue;
        c->at[n++] = c->at[t];
    }
    for (uint32_t i = 0; i < places(c); i++)
        c->table[i] = 0;
    for (uint32_t i = 0; i < words(c); i++)
        c->bits[i] = 0;
    for (uint32_t level = 0; level < SIM_CURVE_LEVELS; level++)
        for (uint32_t i = 0; i < sums(c, level); i++)
            c->sum[level][i] = 0;
    c->live = 0;
    for (c->now = 0; c->now < n; c->now++) {
        *find(c, c->at[c->now]) = entry(c->at[c->now], c->now);
        enter(c);
    }
}

static void make_room(struct sim_curve *c)
{
    pack(c, !c->adapts && c->live > c->max ? c->live - c->max : 0);
    while (c->live > c->max && c->rate < SIM_CURVE_LOWEST) {
        c->rate++;
        pack(c, 0);
    }
}

uint32_t sim_curve_use(struct sim_curve *c, uint64_t line)
{
    uint64_t *place;
    uint32_t distance = SIM_CURVE_FAR;

    line &= LINE_MASK;
    if (c->now && c->at[c->now - 1] == line)
        return 0;
    place = find(c, line);
    if (*place) {
        uint32_t before = (uint32_t)(*place & TIME_MASK) - 1;

        distance = after(c, before);
        move(c, before);
    } else {
        enter(c);
    }
    *place = entry(line, c->now);
    c->at[c->now] = line;
    if (++c->now >= times(c))
        make_room(c);
    return c->adapts || distance < c->max ? distance : SIM_CURVE_FAR;
}

uint32_t sim_curve_fits(uint64_t distance, uint32_t line_shift)
{
    uint64_t bytes = distance << line_shift; // a cache has more
    uint32_t log2, i;

    if (bytes < SIM_CURVE_SMALLEST)
        return 0;
    log2 = 63 - (uint32_t)__builtin_clzll(bytes);
    i = 2 * (log2 - (uint32_t)__builtin_ctz(SIM_CURVE_SMALLEST)) + 1;
    i += bytes >= sim_curve_size(i);
    return i < SIM_CURVE_SIZES ? i : SIM_CURVE_SIZES;
}
