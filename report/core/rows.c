// SPDX-License-Identifier: MIT
//
// Matching, sorting and hashing of functions. Keys of 64 bits are sorted digit by digit (radix);
// wider ones, which are rare, by merging. @hot: a million functions are sorted with each click
// on a column.
#include "report/core/rows.h"

#include "report/core/heap.h"

// ---- Matching ----

static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
}

static bool holds(struct text s, const uint8_t *text, size_t size, bool exact)
{
    if (size == 0)
        return true;
    if (s.size < size)
        return false;
    uint8_t first = text[0], other = exact || first < 'a' || first > 'z' ? first : first - 32;
    for (size_t i = 0; i <= s.size - size; i++) {
        if (s.at[i] != first && s.at[i] != other)
            continue;
        size_t k = 1;
        while (k < size && (exact ? s.at[i + k] : lower(s.at[i + k])) == text[k])
            k++;
        if (k == size)
            return true;
    }
    return false;
}

int rows_match(const struct core *c, const uint8_t *text, size_t size, unsigned fields,
               uint8_t *mask)
{
    uint8_t *hit = heap_get((size_t)c->strings + 1), *folded = heap_get(size);

    if (!hit || !folded) {
        heap_put(hit);
        heap_put(folded);
        return CORE_MEMORY;
    }
    for (size_t i = 0; i < size; i++)
        folded[i] = fields & ROWS_CASE ? text[i] : lower(text[i]);
    for (uint32_t s = 0; s < c->strings; s++)
        hit[s] =
            core_has_string(c, s) && holds(core_string(c, s), folded, size, fields & ROWS_CASE);
    for (uint32_t f = 0; f < c->funcs; f++)
        mask[f] = size == 0 || (fields & ROWS_NAME && c->name[f] != CORE_NONE && hit[c->name[f]]) ||
                  (fields & ROWS_FILE && c->file[f] != CORE_NONE && hit[c->file[f]]) ||
                  (fields & ROWS_OBJECT && c->object[f] != CORE_NONE && hit[c->object[f]]);
    heap_put(hit);
    heap_put(folded);
    return 0;
}

uint32_t rows_string(const struct core *c, const uint8_t *text, size_t size)
{
    for (uint32_t s = 0; s < c->strings; s++) {
        struct text t = core_has_string(c, s) ? core_string(c, s) : (struct text){ 0 };
        if (t.at && t.size == size && (size == 0 || __builtin_memcmp(t.at, text, size) == 0))
            return s;
    }
    return CORE_NONE;
}

// ---- Sorting ----

// Digits of 11 bits, from the lowest on, of the keys minus their minimum: most events need
// three of them.
enum { DIGIT = 11, DIGITS = 1 << DIGIT };

struct narrow {
    uint64_t key;
    uint32_t row;
};

struct short_key { // half the bytes to move
    uint32_t key, row;
};

// Where each digit's rows begin, from their counts. False: all have the same digit.
static bool begin_digits(uint32_t *at, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < DIGITS; i++) {
        uint32_t count = at[i];
        if (count == n)
            return false;
        at[i] = sum;
        sum += count;
    }
    return true;
}

// By the lowest `bits` of the keys. Both arrays have n entries; returns the one that is
// sorted.
static struct narrow *sort_long(struct narrow *from, struct narrow *to, uint32_t n, unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += DIGIT) {
        uint32_t at[DIGITS] = { 0 };
        for (uint32_t i = 0; i < n; i++)
            at[from[i].key >> shift & (DIGITS - 1)]++;
        if (!begin_digits(at, n))
            continue;
        for (uint32_t i = 0; i < n; i++)
            to[at[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        struct narrow *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static struct short_key *sort_short(struct short_key *from, struct short_key *to, uint32_t n,
                                    unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += DIGIT) {
        uint32_t at[DIGITS] = { 0 };
        for (uint32_t i = 0; i < n; i++)
            at[from[i].key >> shift & (DIGITS - 1)]++;
        if (!begin_digits(at, n))
            continue;
        for (uint32_t i = 0; i < n; i++)
            to[at[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        struct short_key *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

// Sorts rows by their keys, key[i] that of row[i]. False: no memory.
static bool sort_keys(uint32_t *row, const uint64_t *key, uint32_t n)
{
    uint64_t least = UINT64_MAX, most = 0;
    bool sorted = true;

    for (uint32_t i = 0; i < n; i++) {
        least = key[i] < least ? key[i] : least;
        most = key[i] > most ? key[i] : most;
        sorted &= i == 0 || key[i - 1] <= key[i];
    }
    if (sorted)
        return true;
    unsigned bits = 64u - (unsigned)__builtin_clzll(most - least);
    if (bits <= 32) {
        struct short_key *a = heap_array(2 * (size_t)n, sizeof(*a)), *end;
        if (!a)
            return false;
        for (uint32_t i = 0; i < n; i++)
            a[i] = (struct short_key){ (uint32_t)(key[i] - least), row[i] };
        end = sort_short(a, a + n, n, bits);
        for (uint32_t i = 0; i < n; i++)
            row[i] = end[i].row;
        heap_put(a);
        return true;
    }
    struct narrow *a = heap_array(2 * (size_t)n, sizeof(*a)), *end;
    if (!a)
        return false;
    for (uint32_t i = 0; i < n; i++)
        a[i] = (struct narrow){ key[i] - least, row[i] };
    end = sort_long(a, a + n, n, bits);
    for (uint32_t i = 0; i < n; i++)
        row[i] = end[i].row;
    heap_put(a);
    return true;
}

struct wide {
    core_count key;
    uint32_t row;
};

// Bottom up.
static bool sort_wide(struct wide *a, uint32_t n)
{
    struct wide *b = heap_array(n, sizeof(*b)), *from = a, *to = b;

    if (!b)
        return false;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
            for (size_t i = lo, k = mid, out = lo; out < hi; out++)
                to[out] =
                    i < mid && (k >= hi || from[i].key <= from[k].key) ? from[i++] : from[k++];
        }
        struct wide *swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        core_copy(a, from, n * sizeof(*a));
    heap_put(b);
    return true;
}

// Doubles as unsigned numbers of the same order; NaN comes last in both directions.
static uint64_t key_of_double(double v, bool descending)
{
    uint64_t bits;

    if (v != v)
        return UINT64_MAX;
    core_copy(&bits, &v, sizeof(bits));
    bits = bits >> 63 ? ~bits : bits | 1ull << 63;
    return descending ? ~bits : bits;
}

static struct value value_of(struct core *c, const struct rows_key *key, uint32_t row)
{
    struct value v = values_get(c, key->formula, key->of, key->side, row);

    if (key->magnitude && v.approx < 0) {
        v.exact = v.exact == CORE_COUNT_MIN ? CORE_COUNT_MAX : -v.exact;
        v.approx = -v.approx;
    }
    return v;
}

// Keys of values that are exact and fit 64 bits; false where one is not.
static bool exact_keys(struct core *c, const uint32_t *row, uint32_t n, const struct rows_key *key,
                       uint64_t *out)
{
    int64_t *v = (int64_t *)out;

    if (!values_narrow(c, key->formula, key->of, key->side, row, n, v))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (key->magnitude && v[i] < 0) {
            if (v[i] == INT64_MIN)
                return false;
            v[i] = -v[i];
        }
        uint64_t bits = (uint64_t)v[i] ^ 1ull << 63;
        out[i] = key->descending ? ~bits : bits;
    }
    return true;
}

// By 128 bits, or by doubles where one value is not exact.
static int sort_others(struct core *c, uint32_t *row, uint32_t n, const struct rows_key *key,
                       uint64_t *of)
{
    bool exact = true;

    for (uint32_t i = 0; i < n; i++) {
        struct value v = value_of(c, key, row[i]);
        exact &= v.is_exact;
        of[i] = key_of_double(v.approx, key->descending);
    }
    if (!exact)
        return sort_keys(row, of, n) ? 0 : CORE_MEMORY;
    struct wide *w = heap_array(n, sizeof(*w));
    if (!w)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        core_count v = value_of(c, key, row[i]).exact;
        w[i] = (struct wide){ key->descending ? ~v : v, row[i] };
    }
    bool ok = sort_wide(w, n);
    for (uint32_t i = 0; ok && i < n; i++)
        row[i] = w[i].row;
    heap_put(w);
    return ok ? 0 : CORE_MEMORY;
}

static int sort_values(struct core *c, uint32_t *row, uint32_t n, const struct rows_key *key)
{
    int rc = values_prepare(c, key->formula, key->of, key->side);

    if (rc < 0)
        return rc;
    uint64_t *of = heap_array(n, sizeof(*of));
    if (!of)
        return CORE_MEMORY;
    if (exact_keys(c, row, n, key, of))
        rc = sort_keys(row, of, n) ? 0 : CORE_MEMORY;
    else
        rc = sort_others(c, row, n, key, of);
    heap_put(of);
    return rc;
}

static int compare(struct text a, struct text b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? __builtin_memcmp(a.at, b.at, n) : 0;

    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

// Strings come in sorted runs (the sections), which are merged.
const uint32_t *rows_rank(struct core *c)
{
    uint32_t n = c->strings;

    if (c->string_rank)
        return c->string_rank;
    uint32_t *from = heap_array(n, sizeof(*from)), *to = heap_array(n, sizeof(*to));
    uint32_t *rank = heap_array((size_t)n + 1, sizeof(*rank));
    bool sorted = !from || !to || !rank;
    for (uint32_t i = 0; !sorted && i < n; i++)
        from[i] = i;
    while (!sorted) {
        sorted = true;
        for (uint32_t lo = 0, mid, hi; lo < n; lo = hi) {
            for (mid = lo + 1;
                 mid < n && compare(core_string(c, from[mid - 1]), core_string(c, from[mid])) <= 0;)
                mid++;
            for (hi = mid; hi < n && (hi == mid || compare(core_string(c, from[hi - 1]),
                                                           core_string(c, from[hi])) <= 0);)
                hi++;
            sorted &= lo == 0 && mid == n;
            for (uint32_t i = lo, k = mid, out = lo; out < hi; out++)
                to[out] = i < mid && (k >= hi || compare(core_string(c, from[i]),
                                                         core_string(c, from[k])) <= 0)
                              ? from[i++]
                              : from[k++];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; rank && from && to && i < n; i++)
        rank[from[i]] = i;
    if (from && to)
        c->string_rank = rank;
    else
        heap_put(rank);
    heap_put(from);
    heap_put(to);
    return c->string_rank;
}

static int sort_names(struct core *c, uint32_t *row, uint32_t n, const struct rows_key *key)
{
    const uint32_t *rank = rows_rank(c);
    const uint32_t *field = key->field & ROWS_NAME   ? c->name
                            : key->field & ROWS_FILE ? c->file
                                                     : c->object;
    uint64_t *of = rank ? heap_array(n, sizeof(*of)) : NULL;

    for (uint32_t i = 0; of && i < n; i++) {
        // No name comes first.
        uint64_t k = field[row[i]] == CORE_NONE ? 0 : (uint64_t)rank[field[row[i]]] + 1;
        of[i] = key->descending ? ~k : k;
    }
    bool ok = of && sort_keys(row, of, n);
    heap_put(of);
    return ok ? 0 : CORE_MEMORY;
}

int rows_sort(struct core *c, uint32_t *row, uint32_t count, const struct rows_key *key)
{
    bool edges = !key->field && (key->of == VALUES_EDGE || key->of == VALUES_CALLS);

    if (!c->head || (edges && !c->linked))
        return CORE_WRONG;
    for (uint32_t i = 0; i < count; i++)
        if (row[i] >= (edges ? c->edges : c->funcs))
            return CORE_WRONG;
    return key->field ? sort_names(c, row, count, key) : sort_values(c, row, count, key);
}

// ---- Identity ----

static uint64_t mix(uint64_t h, struct text s)
{
    for (size_t i = 0; i < s.size; i++)
        h = (h ^ s.at[i]) * 0x100000001b3u;
    return h * 0x100000001b3u; // a zero byte
}

uint64_t rows_hash(const struct core *c, uint32_t func)
{
    uint64_t h = 0xcbf29ce484222325u;

    h = mix(h, core_string(c, c->object[func]));
    h = mix(h, core_string(c, c->file[func]));
    return mix(h, core_string(c, c->name[func]));
}

uint32_t rows_find(const struct core *c, uint64_t hash)
{
    for (uint32_t f = 0; f < c->funcs; f++)
        if (rows_hash(c, f) == hash)
            return f;
    return CORE_NONE;
}
