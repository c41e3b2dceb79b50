// SPDX-License-Identifier: MIT
//
// Fuzzer of the symbol cache's files. The input is read as a file twice: as it is, and with valid
// checksums, so the data after them is reached. Every answer must be within
// its own bounds; a file made of the answers must give the same answers.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/cachefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_strings(struct cachefile *c, uint32_t number)
{
    const char *text = cachefile_string(c, number);

    if (text && strlen(text) > c->h.text_size)
        abort();
}

static void ask(struct cachefile *c, uint64_t address)
{
    struct cachefile_answer a;

    if (!cachefile_find(c, address, &a))
        return;
    if (a.start > address || a.end <= address || a.function == CACHEFILE_UNKNOWN)
        abort();
    read_strings(c, a.function);
    read_strings(c, a.file);
}

static void read_all(struct cachefile *c)
{
    struct cachefile_witness w;
    struct cachefile_row row;
    size_t length = 0;

    for (size_t i = 0; i < c->h.identity_size; i++)
        length += c->identity[i];
    for (size_t i = 0; i < c->h.segments; i++)
        length += c->segment[i].vaddr;
    for (size_t i = 0; cachefile_witness(c, i, &w); i++)
        length += strlen(w.path);
    for (uint64_t i = 0; i < c->h.rows && i < 4096; i++) {
        if (!cachefile_row(c, i, &row))
            break;
        ask(c, c->h.base + row.start);
        ask(c, c->h.base + row.start - 1);
    }
    for (uint64_t a = 0; a < 64; a++)
        ask(c, c->h.base + (a << a % 32));
    for (uint32_t i = 0; i < 64; i++)
        read_strings(c, i < 60 ? i : UINT32_MAX - i);
    // Stored, so that no compiler removes the reads.
    static volatile size_t sink;
    sink = length;
    (void)sink;
}

// The file is found damaged, or read to its end.
static void try(const void *data, size_t size)
{
    struct cachefile c;

    if (!cachefile_open(&c, data, size))
        return;
    read_all(&c);
    cachefile_close(&c);
}

// Computes the checksums of the contents, as far as the header is valid.
static void repair(unsigned char *data, size_t size)
{
    struct cachefile_header h;

    if (size < sizeof(h))
        return;
    memcpy(&h, data, sizeof(h));
    h.magic = CACHEFILE_MAGIC;
    h.version = CACHEFILE_VERSION;
    h.file_size = size;
    h.head_check = 0;
    h.base &= UINT64_MAX >> 1;
    // Small numbers are the ones that fit.
    h.identity_size %= 64;
    h.segments %= 8;
    h.witnesses_size %= 256;
    h.rows %= 1024;
    h.strings %= 2048;
    h.text_size %= 8192;
    uint64_t row_pages = (h.rows * 16 + CACHEFILE_PAGE - 1) / CACHEFILE_PAGE;
    uint64_t pages = row_pages + (h.strings * 4 + CACHEFILE_PAGE - 1) / CACHEFILE_PAGE +
                     (h.text_size + CACHEFILE_PAGE - 1) / CACHEFILE_PAGE;
    uint64_t checks = sizeof(h) + (h.identity_size + 7) / 8 * 8 + h.segments * 32 +
                      (h.witnesses_size + 7) / 8 * 8 + row_pages * 4;
    h.head_size = checks + pages * 4;
    uint64_t at = (h.head_size + CACHEFILE_PAGE - 1) / CACHEFILE_PAGE * CACHEFILE_PAGE;
    h.file_size = at + pages * CACHEFILE_PAGE;
    unsigned char *whole = calloc(1, h.file_size);
    // The input's bytes are the head, and again the pages.
    memcpy(whole, data, size < h.head_size ? size : h.head_size);
    for (uint64_t i = at; i < h.file_size; i++)
        whole[i] = data[(i - at) % size];
    for (uint64_t i = 0; i < pages; i++) {
        uint32_t check =
            (uint32_t)cachefile_hash(whole + at + i * CACHEFILE_PAGE, CACHEFILE_PAGE, i);

        // One page in eight stays damaged.
        if (data[i % size] % 8 != 0)
            memcpy(whole + checks + i * 4, &check, 4);
    }
    memcpy(whole, &h, sizeof(h));
    h.head_check = (uint32_t)cachefile_hash(whole + sizeof(h), h.head_size - sizeof(h),
                                            cachefile_hash(&h, sizeof(h), 0));
    memcpy(whole, &h, sizeof(h));
    struct cachefile c;
    if (!cachefile_open(&c, whole, h.file_size))
        abort(); // the checksums are right: this harness no longer knows the layout
    cachefile_close(&c);
    try(whole, h.file_size);
    free(whole);
}

// Rows, strings and paths from the input's bytes: the answers are what was put in.
static void make(const uint8_t *data, size_t size)
{
    struct cachefile_row row[256];
    const char *string[32];
    char text[32][8];
    size_t rows = 0, strings = 1 + (size ? data[0] % 31 : 0);
    uint32_t at = 0;

    for (size_t i = 0; i < strings; i++) {
        memset(text[i], 0, sizeof(text[i]));
        memset(text[i], 'a' + (int)i % 26, size > i ? data[i] % 8 : 0);
        string[i] = text[i];
    }
    for (size_t i = 0; i + 4 <= size && rows < 256; i += 4) {
        row[rows++] = (struct cachefile_row){ at, data[i] % (uint32_t)strings,
                                              data[i + 1] % (uint32_t)strings, data[i + 2] };
        at += 1 + data[i + 3];
    }
    struct cachefile_content content = { .base = at * UINT64_C(0x1000),
                                         .row = row,
                                         .rows = rows,
                                         .string = string,
                                         .strings = strings };
    size_t bytes;
    void *made = cachefile_make(&content, &bytes);
    struct cachefile c;
    if (!made || !cachefile_open(&c, made, bytes))
        abort();
    for (size_t i = 0; i + 1 < rows; i++) {
        struct cachefile_answer a;

        for (uint32_t k = row[i].start; k < row[i + 1].start; k++) {
            if (!cachefile_find(&c, content.base + k, &a) || a.function != row[i].function ||
                a.file != row[i].file || a.line != row[i].line ||
                a.end != content.base + row[i + 1].start)
                abort();
            if (strcmp(cachefile_string(&c, a.function), string[a.function]) != 0)
                abort();
        }
    }
    cachefile_close(&c);
    free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // Aligned as a mapping is.
    unsigned char *copy = malloc(size ? size : 1);

    memcpy(copy, data, size);
    try(copy, size);
    repair(copy, size);
    make(data, size);
    free(copy);
    return 0;
}
