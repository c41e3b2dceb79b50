// SPDX-License-Identifier: MIT
//
// The state of the reader, which its files pass to each other. Each uses only those listed before
// it:
//
//   input     bytes, unpacked                   record   a record's place, target and context
//   remark    what is odd, and where            cost     lines of costs
//   number    counts in all their spellings     calls    calls=, jump=, jcnd=
//   position  lines and addresses               part     where a part begins and ends
//   names     "(id) name"                       header   "key: value"
//   stretch   whole lines of the file           lines    which line is which
//                                               pair     two threads for one file
//
// and reader.c, the driver, all of them.
#ifndef QUERN_PROFILE_READER_H
#define QUERN_PROFILE_READER_H

#include "profile/model/stream.h"
#include "profile/read/input.h"
#include "profile/read/remark.h"

// Name compression: what "(id)" stands for, for one kind of position.
struct idtab {
    uint32_t *dense; // string by id, for ids that are small, as all known writers' are
    size_t dense_cap;
    struct idtab_far {
        uint64_t id;
        uint32_t str;
    } * far; // the others
    struct table table;
    uint32_t far_count, far_cap;
    // Where two threads read: what was given in the stretch so far (names_note()).
    struct idtab_given {
        uint32_t id, str;
    } * given;
    uint32_t given_count, given_cap;
    bool noted;
};

enum column { COL_LINE, COL_ADDR, COL_BB, COL_UNKNOWN };
#define COLUMNS_MAX 4

enum pending { PENDING_NONE, PENDING_CALL, PENDING_JUMP };

// What a reader takes of the lines that another reads: all; all but counts; only names and
// functions, so that its position is unknown.
enum follow { FOLLOW_NOT, FOLLOW_PLACES, FOLLOW_NAMES };

struct text {
    char *buf;
    size_t cap, have;
};

// What is read at a time; see stretch.h.
struct stretch {
    struct text now, next;
    size_t bytes; // how many; 0: as they come
    size_t whole; // of `now`: in whole lines
    size_t tail;  // of `now`: no newline found in these bytes
    bool ended, is_ahead;
    int failed; // -errno of reading ahead
};

struct reader {
    struct quern_profile *p;
    const struct quern_read_opts *opts;
    const char *name; // of the file, for messages
    struct input in;

    struct stretch stretch;
    const char *bol;  // line being read
    uint64_t line;    // its number
    uint64_t at_line; // for remarks that are not about the line being read

    struct pair *pair; // two threads read: pair.h
    bool half;         // it is the second of them
    enum follow follows;

    int stop; // -errno: give up (strict, cancelled, no memory)
    struct quern_error *err;
    size_t diag_slot[DIAG_COUNT]; // number + 1 in p->diag

    // Header of the current part
    bool any_header, part_body, part_events, callgrind;
    bool plain_names; // Cachegrind's header: "(5)" is a name
    enum column col[COLUMNS_MAX];
    unsigned col_count, mask;
    bool fast;     // the fast paths may be used: quern_read_opts.no_fast
    uint32_t *map; // column of counts -> event
    size_t map_count;
    bool identity;                 // map is 0, 1, 2... and all events are plain
    quern_count *base, *base_nano; // totals when the part began
    quern_count *summary, *totals; // as written, nano; NULL: absent
    size_t summary_count, totals_count;
    uint64_t summary_line, totals_line;
    uint64_t *plain;  // space for map_count counts
    quern_count *sum; // by event: plain lines since record_flush(), which adds them to the totals
    size_t sum_cap, sum_widest; // most counts a line of them had
    quern_count *wide;          // space for event_count counts
    unsigned char *frac;        // by event: a fraction was seen

    // Body
    struct idtab ob_ids, fl_ids, fn_ids;
    uint32_t ob, fl, src, fn;
    bool dirty;    // one of them changed since the last record
    uint32_t func; // resolved
    uint32_t cob, cfl, cfn, jfl, jfn;
    uint64_t pos[COLUMNS_MAX]; // of the last cost line, by enum column
    enum pending pending;
    struct quern_record rec; // the call or jump whose cost line is pending
    uint64_t pending_line;
    const char *pending_bol; // its line, in the stretch or in pending_text
    char pending_text[REMARK_TEXT];
};

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline const char *skip_blanks(const char *s, const char *end)
{
    while (s < end && is_blank(*s))
        s++;
    return s;
}

// Records a failure, unless there was one before. True: the reader gives up.
static inline bool reader_failed(struct reader *r, int rc)
{
    if (__builtin_expect(rc < 0, 0) && r->stop == 0)
        r->stop = rc;
    return r->stop != 0;
}

#endif
