// SPDX-License-Identifier: MIT
//
// State of the reader, shared by reader.c (lines, bodies) and reader_header.c (headers, remarks,
// numbers out of the ordinary). Nobody else includes it.
#ifndef QUERN_PROFILE_READER_H
#define QUERN_PROFILE_READER_H

#include "profile/model/model.h"
#include "profile/read/input.h"

enum diag_kind {
#define DIAG(name, text, severity) DIAG_##name,
#include "profile/read/diag.def"
#undef DIAG
    DIAG_COUNT
};

// Name compression: what "(id)" stands for, for one kind of position.
struct idtab {
    uint32_t *dense; // string by id, for ids that are small, as all known writers' are
    size_t dense_cap;
    struct {
        uint64_t id;
        uint32_t str;
    } * sparse; // open addressing; str NONE: empty
    size_t sparse_cap, sparse_count;
};

enum column { COL_LINE, COL_ADDR, COL_BB, COL_UNKNOWN };
#define COLUMNS_MAX 4

enum pending { PENDING_NONE, PENDING_CALL, PENDING_JUMP };

struct reader {
    struct quern_profile *p;
    const struct quern_read_opts *opts;
    const char *name; // of the file, for messages
    struct input in;

    char *buf;
    size_t cap, have; // bytes in buf
    const char *bol;  // line being read
    uint64_t line;    // its number
    uint64_t at_line; // for remarks that are not about the line being read
    uint64_t before;  // bytes of text before buf

    int stop; // -errno: give up (strict, cancelled, no memory)
    struct quern_error *err;
    size_t diag_slot[DIAG_COUNT]; // number + 1 in p->diag

    // Header of the current part
    int any_header, part_body, part_events, callgrind;
    enum column col[COLUMNS_MAX];
    unsigned col_count, mask;
    int fast;      // lines may be taken by the short cuts: quern_read_opts.no_fast
    uint32_t *map; // column of counts -> event
    size_t map_count;
    int identity;                  // map is 0, 1, 2... and all events are plain
    quern_count *base, *base_nano; // totals when the part began
    quern_count *summary, *totals; // as written, nano; NULL: absent
    size_t summary_count, totals_count;
    uint64_t summary_line, totals_line;
    uint64_t *plain;     // room for map_count counts
    quern_count *wide;   // room for event_count counts
    unsigned char *frac; // by event: a fraction was seen

    // Body
    struct idtab ob_ids, fl_ids, fn_ids;
    uint32_t ob, fl, src, fn;
    int dirty;     // one of them changed since the last record
    uint32_t func; // resolved
    uint32_t cob, cfl, cfn, jfl, jfn;
    uint64_t pos[COLUMNS_MAX]; // of the last cost line, by enum column
    enum pending pending;
    struct quern_record rec; // the call or jump that waits for its cost line
    uint64_t pending_line;
};

// reader_header.c
void reader_diag(struct reader *r, enum diag_kind kind, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
// A header line "key: value" of length n (without the newline).
void reader_header(struct reader *r, const char *s, size_t n);
// Text that may not be a line of the format at all.
void reader_junk(struct reader *r, const char *s, size_t n);
void reader_end_part(struct reader *r);
// Any number a writer may have put: decimal, hexadecimal, sign, fraction, exponent, '.'. In units
// of 10^-9; returns the end, or NULL when it is no number.
const char *reader_number(struct reader *r, const char *s, const char *end, quern_count *nano);
// Same for a count in the body, with the remarks; marks events with fractions.
const char *reader_count(struct reader *r, const char *s, const char *end, quern_count *nano,
                         uint32_t event);
int reader_prepare_counts(struct reader *r);

// reader.c
void reader_finish_pending(struct reader *r);

static inline int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

#endif
