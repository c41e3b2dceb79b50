// SPDX-License-Identifier: MIT
//
// From profiles to the blocks of docs/report-format.md. Called by `quern report` and `quern top`;
// opens no file and prints nothing: sources and assembly are handed in. The order of calls is that
// of this header.
#ifndef QUERN_REPORT_PACK_PACK_H
#define QUERN_REPORT_PACK_PACK_H

#include "quern/profile.h"
#include "report/pack/blocks.h"

struct pack;

// `base` may be NULL; both must have the same events (quern_profile_match_events) and live as long
// as the pack. Functions are sorted by inclusive cost of `event`, of those with counts or derived.
// NULL and errno.
struct pack *pack_new(struct quern_profile *p, struct quern_profile *base, size_t event);
void pack_free(struct pack *k);

// The blocks stay in this process: they are stored, not compressed.
void pack_store(struct pack *k);

void pack_text(struct pack *k, const char *key, const char *value);
// Another derived event, after those of the profile. report/core must be able to parse the formula.
void pack_event(struct pack *k, const char *name, const char *formula, int64_t scale);

// What is never left out: functions, self costs, call sites.
void pack_functions(struct pack *k);

// The functions, the most expensive first.
uint32_t pack_count(const struct pack *k);
struct pack_func {
    const char *object, *file, *name; // NULL: not known; NUL-terminated, as long as the profiles
    const quern_count *self[2], *inclusive[2]; // NULL: not of this side
    uint64_t called[2];
    uint32_t file_number; // of pack_file(), or QUERN_NONE: no line of it is known
};
struct pack_func pack_func(const struct pack *k, uint32_t f);

// Lines, instructions and jumps of a function and the next ones, at least one, as many as fit
// well into a block. Returns the next function.
uint32_t pack_places(struct pack *k, uint32_t first);
// The files of the functions' places (the profile's strings, NUL-terminated names): the i-th
// file of the report, and what it costs on either side in the event that sorts.
uint32_t pack_file_count(const struct pack *k);
struct pack_file {
    const char *name;
    buf_count cost[2];
    uint64_t last_line[2]; // the highest line with a cost or a call
};
struct pack_file pack_file(const struct pack *k, uint32_t i);
// Addresses of a function's places on a side, sorted, each once; their number. The array lives
// until the next call.
uint64_t pack_address(const struct pack *k, uint32_t f); // that of FUNCTIONS
size_t pack_addresses(struct pack *k, uint32_t f, unsigned side, const uint64_t **out);

// Sections of sources and code, made by the caller.
uint32_t pack_file_number(const struct pack *k, uint32_t file); // its string
void pack_section(struct pack *k, unsigned kind, uint32_t first, uint32_t end,
                  const struct buf *payload);

// What is added between the two is taken back when all blocks would then need more than `most`
// bytes (false).
struct pack_mark {
    size_t blocks;
};
struct pack_mark pack_begin(struct pack *k);
bool pack_end(struct pack *k, const struct pack_mark *mark, size_t most);

// Makes block 0, or makes it anew after more was added. 0 or -errno; then the blocks are there to
// be written.
int pack_finish(struct pack *k);
const struct block *pack_block(const struct pack *k, size_t i);
size_t pack_block_count(const struct pack *k);
uint32_t pack_cut(const struct pack *k);

#endif
