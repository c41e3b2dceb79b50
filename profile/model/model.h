// SPDX-License-Identifier: MIT
//
// The shape of a profile, for the files of profile/ only. Functions, strings, parts and events are
// tables (columns); the records, which take nearly all of a profile's memory, are one byte stream.
//
// Who may change what: events.c the events, formula.c their terms, parts.c the parts, stream.c the
// records and totals, model.c the functions and strings; the reader its remarks.
#ifndef QUERN_PROFILE_MODEL_H
#define QUERN_PROFILE_MODEL_H

#include <stdbool.h>

#include "profile/model/strset.h"
#include "quern/profile.h"
#include "share/table.h"

#define NANO       1000000000 // special counts, and those of events with fractions, are in 10^-9
#define EVENTS_MAX 4096

struct term { // of a formula: factor * event, factor in units of 10^-9
    uint32_t event;
    int64_t factor;
};

struct event {
    char *name, *long_name, *formula;
    int64_t scale;     // 1, or NANO once a fraction was seen
    struct term *term; // derived events: over events with counts
    size_t term_count;
};

struct part {
    char *cmd, *creator;
    uint64_t pid, thread, part;
    bool has_pid, has_thread, has_part;
    char **desc;
    size_t desc_count;
};

// The position of the encoder, or of a decoder.
struct place {
    uint32_t func, file, part, mask;
    uint64_t line, addr, bb;
};

struct quern_profile {
    enum quern_format format;
    unsigned has; // QUERN_HAS_*
    struct strset str;

    struct quern_func *func;
    uint32_t func_count, func_cap;
    struct table func_table;

    struct event *event; // those with counts
    size_t event_count;
    struct event *derived;
    size_t derived_count;

    struct part *part;
    size_t part_count;

    struct chunk *first, *last; // the records: see stream.h
    uint8_t *out, *out_end;     // free space in `last`
    struct place enc;
    uint64_t record_count;
    size_t stream_bytes;

    quern_count *total;      // plain counts
    quern_count *total_nano; // those of special records
    quern_count *total_shown;

    struct self_rows *rows; // NULL: none; see self.h

    struct quern_diag *diag; // the first remark of each kind; msg and text are ours
    size_t diag_count;
};

// A name that is empty or "???" is no name: one spelling for the unknown, whatever the writer used.
static inline uint32_t profile_known(uint32_t s)
{
    return s < 2 ? QUERN_NONE : s;
}

#endif
