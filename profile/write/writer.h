// SPDX-License-Identifier: MIT
//
// What both writers share: the file, and lines of names, counts and sums in it.
#ifndef QUERN_PROFILE_WRITER_H
#define QUERN_PROFILE_WRITER_H

#include "profile/model/walk.h"
#include "profile/write/out.h"

struct writer {
    const struct quern_profile *p;
    struct quern_write_opts opts;
    struct out out;
    uint64_t *plain; // space for the counts of a record, of either kind
    quern_count *counts;
    bool overflow; // a number did not fit 64 bits
};

// The text of a string; "???" if unknown.
const char *writer_name(const struct writer *w, uint32_t s);
// Text up to the line's end: a newline in it would begin another line, and becomes a blank.
void writer_text(struct writer *w, const char *s);
void writer_count(struct writer *w, quern_count v, int64_t scale);
// "events: Ir Dr" and a newline.
void writer_events(struct writer *w);
// "KEY 1 2" and a newline.
void writer_sums(struct writer *w, const char *key, const quern_count *sums);
// Counts of the record at k and a newline; all of them, or without the zeros at the end.
void writer_counts(struct writer *w, struct walk *k, bool all);
// "desc: I1 cache: 32768 B, ...": both tools write it, Cachegrind with the value in a column.
void writer_desc(struct writer *w, const char *desc, bool column);

// The writers: the whole file, between out_open() and out_close(). 0, or -ENOMEM.
int write_cachegrind(struct writer *w);
int write_callgrind(struct writer *w);

#endif
