// SPDX-License-Identifier: MIT
//
// Reads and makes the bytes of cache files; the layout is drawn in cachefile.h.
#include "symbols/cachefile.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_IN_PAGE = CACHEFILE_PAGE / sizeof(struct cachefile_row) };

// Larger files are neither made nor read: far more than any module has.
static const uint64_t rows_max = UINT64_C(1) << 26, text_max = UINT64_C(1) << 30;

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t word(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

// Four lanes, because a single one waits for its multiplications: 1.09 us for a page, with four
// 0.31.
uint64_t cachefile_hash(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t a = seed, b = ~seed, c = seed + 1, d = size;
    unsigned char last[32] = { 0 };
    size_t left = size;

    for (; left >= sizeof(last); left -= sizeof(last), p += sizeof(last)) {
        a = mix(a, word(p));
        b = mix(b, word(p + 8));
        c = mix(c, word(p + 16));
        d = mix(d, word(p + 24));
    }
    if (left)
        memcpy(last, p, left);
    a = mix(a, word(last));
    b = mix(b, word(last + 8));
    c = mix(c, word(last + 16));
    d = mix(d, word(last + 24));
    return mix(mix(mix(a, b), c), d);
}

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / CACHEFILE_PAGE + (bytes % CACHEFILE_PAGE != 0);
}

static uint64_t aligned(uint64_t n)
{
    return (n + 7) & ~UINT64_C(7);
}

// Where the parts of the head are, and the total size, according to the header's numbers.
struct layout {
    uint64_t identity, segments, witnesses, index, checks, end;
    uint64_t row_pages, offset_pages, pages;
    uint64_t pages_at, file_size;
};

static bool lay_out(const struct cachefile_header *h, struct layout *l)
{
    if (h->identity_size > 1 << 16 || h->segments > 1 << 12 || h->witnesses_size > 1 << 16 ||
        h->rows > rows_max || h->strings > rows_max || h->text_size > text_max)
        return false;
    l->row_pages = pages_of(h->rows * sizeof(struct cachefile_row));
    l->offset_pages = pages_of(h->strings * sizeof(uint32_t));
    l->pages = l->row_pages + l->offset_pages + pages_of(h->text_size);
    l->identity = sizeof(*h);
    l->segments = l->identity + aligned(h->identity_size);
    l->witnesses = l->segments + h->segments * sizeof(struct cachefile_segment);
    l->index = l->witnesses + aligned(h->witnesses_size);
    l->checks = l->index + l->row_pages * sizeof(uint32_t);
    l->end = l->checks + l->pages * sizeof(uint32_t);
    l->pages_at = pages_of(l->end) * CACHEFILE_PAGE;
    l->file_size = l->pages_at + l->pages * CACHEFILE_PAGE;
    return true;
}

static uint32_t head_check(const struct cachefile_header *h, const unsigned char *data)
{
    struct cachefile_header without = *h;

    without.head_check = 0;
    return (uint32_t)cachefile_hash(data + sizeof(*h), h->head_size - sizeof(*h),
                                    cachefile_hash(&without, sizeof(without), 0));
}

// ---- Reading ----

bool cachefile_open(struct cachefile *c, const void *data, size_t size)
{
    struct layout l;

    memset(c, 0, sizeof(*c));
    if (size < sizeof(c->h))
        return false;
    memcpy(&c->h, data, sizeof(c->h));
    if (c->h.magic != CACHEFILE_MAGIC || c->h.version != CACHEFILE_VERSION ||
        c->h.base > UINT64_MAX - UINT32_MAX || c->h.file_size != size || !lay_out(&c->h, &l) ||
        l.end != c->h.head_size || l.file_size != size ||
        head_check(&c->h, data) != c->h.head_check)
        return false;
    c->touched = calloc(l.pages + 1, 1);
    if (!c->touched)
        return false;
    c->data = data;
    c->identity = c->data + l.identity;
    c->segment = (const struct cachefile_segment *)(const void *)(c->data + l.segments);
    c->witnesses = c->data + l.witnesses;
    c->index = (const uint32_t *)(const void *)(c->data + l.index);
    c->check = (const uint32_t *)(const void *)(c->data + l.checks);
    c->pages = c->data + l.pages_at;
    c->row_pages = l.row_pages;
    c->offset_pages = l.offset_pages;
    return true;
}

void cachefile_close(struct cachefile *c)
{
    free(c->touched);
    memset(c, 0, sizeof(*c));
}

// The checked page; NULL if it is damaged.
static const unsigned char *touch(struct cachefile *c, size_t page)
{
    const unsigned char *p = c->pages + page * CACHEFILE_PAGE;

    if (c->bad || c->touched[page])
        return c->bad ? NULL : p;
    if ((uint32_t)cachefile_hash(p, CACHEFILE_PAGE, page) != c->check[page]) {
        c->bad = true;
        return NULL;
    }
    c->touched[page] = 1;
    return p;
}

bool cachefile_row(struct cachefile *c, uint64_t i, struct cachefile_row *out)
{
    const unsigned char *p = i < c->h.rows ? touch(c, i / ROWS_IN_PAGE) : NULL;

    if (!p)
        return false;
    memcpy(out, p + i % ROWS_IN_PAGE * sizeof(*out), sizeof(*out));
    return true;
}

// How many of the n starts, `step` apart, are at or below `at`.
static size_t upper(const uint32_t *start, size_t step, size_t n, uint64_t at)
{
    size_t lo = 0;

    if (n == 0)
        return 0;
    // Without a branch that cannot be predicted: the first `lo` are known to be, the next `n` are
    // not known.
    for (; n > 1; n -= n / 2)
        lo += start[(lo + n / 2 - 1) * step] <= at ? n / 2 : 0;
    return lo + (start[lo * step] <= at);
}

bool cachefile_find(struct cachefile *c, uint64_t address, struct cachefile_answer *out)
{
    uint64_t at = address - c->h.base;

    if (address < c->h.base || at >= UINT32_MAX)
        return false;
    // Usually the page of the last answer.
    size_t page = c->last_page;
    if (page >= c->row_pages || c->index[page] > at ||
        (page + 1 < c->row_pages && c->index[page + 1] <= at)) {
        size_t above = upper(c->index, 1, c->row_pages, at);

        if (above == 0)
            return false;
        c->last_page = page = above - 1;
        c->last_row = 0;
    }
    const struct cachefile_row *row = (const struct cachefile_row *)(const void *)touch(c, page);
    if (!row)
        return false;
    size_t n = page + 1 < c->row_pages ? ROWS_IN_PAGE : c->h.rows - page * ROWS_IN_PAGE;
    // Usually the row after the last answer.
    size_t i = c->last_row + 1;
    if (i >= n || row[i].start > at || (i + 1 < n && row[i + 1].start <= at)) {
        size_t above = upper(&row->start, sizeof(*row) / sizeof(row->start), n, at);

        if (above == 0)
            return false;
        i = above - 1;
    }
    c->last_row = i;
    const struct cachefile_row *r = &row[i];
    uint64_t end = i + 1 < n                 ? row[i + 1].start
                   : page + 1 < c->row_pages ? c->index[page + 1]
                                             : r->start; // the last row only ends the one before
    if (r->start > at || end <= at || r->function == CACHEFILE_UNKNOWN)
        return false;
    *out = (struct cachefile_answer){ .start = c->h.base + r->start,
                                      .end = c->h.base + end,
                                      .function = r->function,
                                      .file = r->file,
                                      .line = r->line };
    return true;
}

const char *cachefile_string(struct cachefile *c, uint32_t number)
{
    const size_t in_page = CACHEFILE_PAGE / sizeof(uint32_t);
    const size_t text_page = c->row_pages + c->offset_pages;
    const unsigned char *p =
        number < c->h.strings ? touch(c, c->row_pages + number / in_page) : NULL;
    uint32_t offset;

    if (!p)
        return NULL;
    memcpy(&offset, p + number % in_page * sizeof(offset), sizeof(offset));
    // As many pages as the text spans; it must not go past the end of the texts.
    for (uint64_t at = offset; at < c->h.text_size;) {
        uint64_t end = (at / CACHEFILE_PAGE + 1) * CACHEFILE_PAGE;

        p = touch(c, text_page + at / CACHEFILE_PAGE);
        if (!p)
            return NULL;
        if (end > c->h.text_size)
            end = c->h.text_size;
        if (memchr(p + at % CACHEFILE_PAGE, '\0', end - at))
            return (const char *)c->pages + text_page * CACHEFILE_PAGE + offset;
        at = end;
    }
    return NULL;
}

// A witness is stored as its five numbers, then its path with a NUL.
bool cachefile_witness(const struct cachefile *c, size_t i, struct cachefile_witness *out)
{
    const unsigned char *p = c->witnesses, *end = p + c->h.witnesses_size;
    enum { NUMBERS = offsetof(struct cachefile_witness, path) };

    for (;; i--) {
        const unsigned char *nul = (size_t)(end - p) > NUMBERS
                                       ? memchr(p + NUMBERS, '\0', (size_t)(end - p) - NUMBERS)
                                       : NULL;

        if (!nul)
            return false;
        if (i == 0) {
            memcpy(out, p, NUMBERS);
            out->path = (const char *)p + NUMBERS;
            return true;
        }
        p = nul + 1;
    }
}

// ---- Making ----

static void put_witnesses(unsigned char *p, const struct cachefile_content *c)
{
    const size_t numbers = offsetof(struct cachefile_witness, path);

    for (size_t i = 0; i < c->witnesses; i++) {
        size_t n = strlen(c->witness[i].path) + 1;

        memcpy(p, &c->witness[i], numbers);
        memcpy(p + numbers, c->witness[i].path, n);
        p += numbers + n;
    }
}

static void put_strings(unsigned char *offsets, unsigned char *text,
                        const struct cachefile_content *c)
{
    uint32_t at = 0;

    for (size_t i = 0; i < c->strings; i++) {
        size_t n = strlen(c->string[i]) + 1;

        memcpy(offsets + i * sizeof(at), &at, sizeof(at));
        memcpy(text + at, c->string[i], n);
        at += (uint32_t)n;
    }
}

void *cachefile_make(const struct cachefile_content *c, size_t *size)
{
    struct cachefile_header h = { .magic = CACHEFILE_MAGIC,
                                  .version = CACHEFILE_VERSION,
                                  .base = c->base,
                                  .expires = c->expires,
                                  .identity_size = c->identity_size,
                                  .segments = c->segments,
                                  .rows = c->rows,
                                  .strings = c->strings };
    struct layout l;

    for (size_t i = 0; i < c->witnesses; i++)
        h.witnesses_size +=
            offsetof(struct cachefile_witness, path) + strlen(c->witness[i].path) + 1;
    for (size_t i = 0; i < c->strings; i++)
        h.text_size += strlen(c->string[i]) + 1;
    if (!lay_out(&h, &l))
        return NULL;
    h.head_size = l.end;
    h.file_size = l.file_size;
    unsigned char *data = calloc(1, l.file_size);
    if (!data)
        return NULL;
    unsigned char *pages = data + l.pages_at;
    if (c->identity_size)
        memcpy(data + l.identity, c->identity, c->identity_size);
    if (c->segments)
        memcpy(data + l.segments, c->segment, c->segments * sizeof(*c->segment));
    put_witnesses(data + l.witnesses, c);
    if (c->rows)
        memcpy(pages, c->row, c->rows * sizeof(*c->row));
    put_strings(pages + l.row_pages * CACHEFILE_PAGE,
                pages + (l.row_pages + l.offset_pages) * CACHEFILE_PAGE, c);
    for (uint64_t i = 0; i < l.row_pages; i++)
        memcpy(data + l.index + i * sizeof(uint32_t), &c->row[i * ROWS_IN_PAGE].start,
               sizeof(uint32_t));
    for (uint64_t i = 0; i < l.pages; i++) {
        uint32_t check = (uint32_t)cachefile_hash(pages + i * CACHEFILE_PAGE, CACHEFILE_PAGE, i);

        memcpy(data + l.checks + i * sizeof(check), &check, sizeof(check));
    }
    memcpy(data, &h, sizeof(h));
    h.head_check = head_check(&h, data);
    memcpy(data, &h, sizeof(h));
    *size = l.file_size;
    return data;
}
