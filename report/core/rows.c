// SPDX-License-Identifier: MIT
//
// Matching, sorting and hashing of functions. Keys of 64 bits are sorted byte by byte (radix, eight
// passes of which those where all bytes are equal are left out); wider ones, which hardly occur, by
// merging.
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

// ---- Sorting ----

struct narrow {
    uint64_t key;
    uint32_t row;
};

static bool sort_narrow(struct narrow *a, uint32_t n)
{
    struct narrow *b = heap_array(n, sizeof(*b)), *from = a, *to = b;

    if (!b)
        return false;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t at[256] = { 0 }, sum = 0;
        for (uint32_t i = 0; i < n; i++)
            at[from[i].key >> shift & 255]++;
        if (n > 0 && at[from[0].key >> shift & 255] == n)
            continue;
        for (unsigned i = 0; i < 256; i++) {
            uint32_t count = at[i];
            at[i] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            to[at[from[i].key >> shift & 255]++] = from[i];
        struct narrow *swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        core_copy(a, from, n * sizeof(*a));
    heap_put(b);
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

// Doubles in the order of unsigned numbers; what is not a number comes last in both directions.
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

static int sort_values(struct core *c, uint32_t *row, uint32_t n, const struct rows_key *key)
{
    int rc = values_prepare(c, key->formula, key->of, key->side);
    bool exact = true, fits = true;

    if (rc < 0)
        return rc;
    struct narrow *a = heap_array(n, sizeof(*a));
    struct wide *w = NULL;
    rc = CORE_MEMORY;
    if (!a)
        return rc;
    for (uint32_t i = 0; i < n && exact; i++) {
        struct value v = value_of(c, key, row[i]);
        exact = v.is_exact;
        fits &= v.exact == (int64_t)v.exact;
        uint64_t bits = (uint64_t)v.exact ^ 1ull << 63;
        a[i] = (struct narrow){ key->descending ? ~bits : bits, row[i] };
    }
    if (!exact)
        for (uint32_t i = 0; i < n; i++) {
            struct value v = value_of(c, key, row[i]);
            a[i] = (struct narrow){ key_of_double(v.approx, key->descending), row[i] };
        }
    if (!exact || fits) {
        if (sort_narrow(a, n)) {
            for (uint32_t i = 0; i < n; i++)
                row[i] = a[i].row;
            rc = 0;
        }
    } else if ((w = heap_array(n, sizeof(*w)))) {
        for (uint32_t i = 0; i < n; i++) {
            core_count v = value_of(c, key, row[i]).exact;
            w[i] = (struct wide){ key->descending ? ~v : v, row[i] };
        }
        if (sort_wide(w, n)) {
            for (uint32_t i = 0; i < n; i++)
                row[i] = w[i].row;
            rc = 0;
        }
    }
    heap_put(a);
    heap_put(w);
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
    struct narrow *a = rank ? heap_array(n, sizeof(*a)) : NULL;
    bool ok = a != NULL;

    for (uint32_t i = 0; ok && i < n; i++) {
        // No name comes first.
        uint64_t k = field[row[i]] == CORE_NONE ? 0 : (uint64_t)rank[field[row[i]]] + 1;
        a[i] = (struct narrow){ key->descending ? ~k : k, row[i] };
    }
    ok = ok && sort_narrow(a, n);
    for (uint32_t i = 0; ok && i < n; i++)
        row[i] = a[i].row;
    heap_put(a);
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
