// SPDX-License-Identifier: MIT
//
// The bytes of a file of the symbol cache: what is known of one module, as one sorted table of
// address ranges that is searched in place. Reads and makes them in memory; cachedir.c handles the
// files, cache.c their meaning.
//
//     header | identity | segments | witnesses, each with its path | index | checks | pages
//     '----------------------- one check over all of it --------------------------' each its own
//
// The pages, of 4 KiB, are first the rows, then the offsets of the strings, then their text. The
// first touch of a page checks it, so a short run pays for what it asks and not for all of libc.
// Every number is checked against its bounds when it is used: a file may be damaged, and must not
// lead outside.
#ifndef QUERN_SYMBOLS_CACHEFILE_H
#define QUERN_SYMBOLS_CACHEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHEFILE_MAGIC   UINT64_C(0x31304d5953524e51) // "QNRSYM01" read as little endian
#define CACHEFILE_VERSION 3u // also goes up when the readers' answers change
#define CACHEFILE_PAGE    4096u
#define CACHEFILE_UNKNOWN UINT32_MAX // for a function: this range was not asked for yet

// Covers addresses from its start to that of the next row.
struct cachefile_row {
    uint32_t start;          // from the header's base
    uint32_t function, file; // numbers of strings; 0 is "???"
    uint32_t line;
};

// A PT_LOAD segment.
struct cachefile_segment {
    uint64_t offset, vaddr, filesz;
    uint64_t flags;
};

// A path where debug information is searched: whether it exists, and its state. Must be unchanged.
struct cachefile_witness {
    uint64_t dev, ino, size, mtime, ctime; // all 0: it did not exist
    const char *path;
};

struct cachefile_header {
    uint64_t magic;
    uint32_t version;
    uint32_t head_check; // of the first head_size bytes, with 0 in this field
    uint64_t head_size, file_size;
    uint64_t base; // of the rows' addresses
    uint64_t identity_size, segments, witnesses_size;
    uint64_t rows, strings, text_size;
    uint64_t expires; // seconds since 1970; 0: never
};

_Static_assert(sizeof(struct cachefile_row) == 16 && sizeof(struct cachefile_header) == 96 &&
                   sizeof(struct cachefile_segment) == 32,
               "they lie so in files");

// A file that was opened. The caller owns the bytes and keeps them.
struct cachefile {
    const unsigned char *data;
    struct cachefile_header h;
    const unsigned char *identity, *witnesses;
    const struct cachefile_segment *segment;
    const uint32_t *index; // the start of the first row of each page of rows
    const uint32_t *check; // of each page
    const unsigned char *pages;
    size_t row_pages, offset_pages;
    unsigned char *touched;     // a byte for each page: whether it was checked
    bool bad;                   // a page was damaged: nothing in this file is used
    size_t last_page, last_row; // of the last answer: where the next search begins
};

// False: not such a file, or its head is damaged. `data` is aligned to 8 bytes.
bool cachefile_open(struct cachefile *c, const void *data, size_t size);
void cachefile_close(struct cachefile *c);

// An address and the range in which the answer is the same. False: not known, or `bad` has been
// set.
struct cachefile_answer {
    uint64_t start, end;
    uint32_t function, file, line;
};
bool cachefile_find(struct cachefile *c, uint64_t address, struct cachefile_answer *out);
// NULL: there is no such string, or `bad` has been set.
const char *cachefile_string(struct cachefile *c, uint32_t number);
// Witness number i, from 0; false after the last.
bool cachefile_witness(const struct cachefile *c, size_t i, struct cachefile_witness *out);
// Row number i, to copy all of them; false as for cachefile_string().
bool cachefile_row(struct cachefile *c, uint64_t i, struct cachefile_row *out);

// Input for a new file. Rows are sorted by their start; nothing is known after the last one.
struct cachefile_content {
    uint64_t base, expires;
    const void *identity;
    size_t identity_size;
    const struct cachefile_segment *segment;
    size_t segments;
    const struct cachefile_witness *witness;
    size_t witnesses;
    const struct cachefile_row *row;
    size_t rows;
    const char *const *string;
    size_t strings;
};
// Returns the bytes, which the caller frees; NULL if memory is out, or it is too much for a file.
void *cachefile_make(const struct cachefile_content *c, size_t *size);

// A 64-bit hash of `size` bytes: detects damage and names files; no protection against intent.
uint64_t cachefile_hash(const void *data, size_t size, uint64_t seed);

#endif
