// SPDX-License-Identifier: MIT
//
// Private shape of a profile, for the files of profile/ only.
//
// Functions, strings, parts and events are tables (columns). The records - costs, calls, jumps -
// are one byte stream in chunks, because they are nearly everything a profile holds and most of
// their numbers are small: a cost line takes 3-6 bytes here, less than in the file, where fixed
// columns of 64-bit counts would take 100 with the thirteen events of the cache simulation.
//
//   stream  := record*
//   record  := op [more] body         op = kind | ncounts << 3 | 0x80 when counts are special
//   context := op mask func file part   (varints; sets what follows belongs to)
//   cost    := op pos counts
//   dotted  := op pos present counts   (a cost line with '.': bit i of present: count i was given)
//   call    := op pos func tline taddr? calls counts
//   jump    := op pos func file tline taddr? followed
//   jcnd    := op pos func file tline taddr? followed executed
//   pos     := line? addr? bb?        zigzag varint differences to the record before, by mask
//   counts  := ncounts varints; special: zigzag varints of up to 128 bits, in units of 10^-9
//
// ncounts is what the line had, zeros at its end included, because "0" and nothing are shown
// differently; 15 means that a varint with the number follows op. A record never crosses a chunk.
#ifndef QUERN_PROFILE_MODEL_H
#define QUERN_PROFILE_MODEL_H

#include <stdio.h>

#include "profile/model/strset.h"
#include "quern/profile.h"

#define NANO         1000000000
#define STREAM_CHUNK ((size_t)1 << 18)
#define EVENTS_MAX   4096

enum stream_op {
    OP_NONE, // a zero byte: end of a chunk
    OP_COST, // ORDER record kinds: as enum quern_record_kind
    OP_CALL,
    OP_JUMP,
    OP_JCND,
    OP_CONTEXT,
    OP_DOTTED,
};
_Static_assert((int)OP_COST == QUERN_REC_COST && (int)OP_JCND == QUERN_REC_JCND, "ORDER kinds");

#define OP_SPECIAL     0x80u
#define OP_COUNT_SHIFT 3
#define OP_COUNT_MORE  15u

struct chunk {
    struct chunk *next;
    size_t used, size;
    uint8_t data[];
};

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
    int has_pid, has_thread, has_part;
    char **desc;
    size_t desc_count;
};

// Where the encoder, or a decoder, stands.
struct place {
    uint32_t func, file, part, mask;
    uint64_t line, addr, bb;
};

struct quern_profile {
    enum quern_format format;
    unsigned has; // QUERN_HAS_*
    struct strset str;

    struct quern_func *func;
    uint32_t *func_slot; // open addressing: number + 1
    uint32_t func_count, func_cap, func_mask;

    struct event *event; // those with counts
    size_t event_count;
    struct event *derived;
    size_t derived_count;

    struct part *part;
    size_t part_count;

    struct chunk *first, *last;
    uint8_t *out, *out_end; // room in `last`
    struct place enc;
    uint64_t record_count;
    size_t stream_bytes;

    quern_count *total;      // plain counts
    quern_count *total_nano; // those of special records
    quern_count *total_shown;

    struct quern_diag *diag; // the first remark of each kind; msg and text are ours
    size_t diag_count;
};

// A name that is empty or "???" is no name: one spelling for the unknown, whatever the writer's.
static inline uint32_t profile_known(uint32_t s)
{
    return s < 2 ? QUERN_NONE : s;
}

// ---- Private calls, model.c ----

int profile_event_add(struct quern_profile *p, const char *name, size_t len); // number or -errno
int profile_part_add(struct quern_profile *p);
int profile_desc_add(struct quern_profile *p, const char *text, size_t len);
int profile_define_event(struct quern_profile *p, const char *name, const char *formula,
                         const char *long_name);
// Compiles the formulas, once all events are known; one that does not compile stays text.
void profile_compile_formulas(struct quern_profile *p);
// Copies events, and the facts of one part or (part < 0) of all, from another profile.
int profile_copy_header(struct quern_profile *p, const struct quern_profile *from, int part);
// -EINVAL, and an error that names both files, unless the events of both are the same: names,
// order, formulas, long names.
int profile_same_events(const struct quern_profile *a, const char *a_name,
                        const struct quern_profile *b, const char *b_name, struct quern_error *err);
char *profile_dup(const char *s, size_t len);
void quern_error_set(struct quern_error *err, int code, const char *file, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// ---- Private calls, stream.c ----

// A record of n counts at most: op, more, 8 numbers of 10 bytes, 19 bytes for a special count.
#define ROOM_NEEDED(n) ((size_t)128 + (n)*20)
// Room for at least one more record with n counts; 0 or -ENOMEM.
int stream_room(struct quern_profile *p, size_t n);
int stream_context(struct quern_profile *p, uint32_t func, uint32_t file, uint32_t part,
                   unsigned mask);
// Any record, counts in quern_count units of their event's scale. Slow path and builder.
int stream_add(struct quern_profile *p, const struct quern_record *rec, size_t ncounts);

// ---- Varints ----

static inline uint8_t *put_varint(uint8_t *o, uint64_t v)
{
    while (v >= 0x80) {
        *o++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *o++ = (uint8_t)v;
    return o;
}

// Difference of two positions, wrapping on purpose: positions are 64 bits, so any difference is.
static inline uint8_t *put_delta(uint8_t *o, uint64_t now, uint64_t before)
{
    uint64_t d = now - before;
    return put_varint(o, d << 1 ^ (0 - (d >> 63)));
}

static inline const uint8_t *get_varint(const uint8_t *i, uint64_t *v)
{
    uint64_t x = *i++, shift = 7;

    if (__builtin_expect(x < 0x80, 1)) {
        *v = x;
        return i;
    }
    x &= 0x7f;
    for (;; shift += 7) {
        uint64_t b = *i++;
        x |= (b & 0x7f) << shift;
        if (b < 0x80)
            break;
    }
    *v = x;
    return i;
}

static inline const uint8_t *get_delta(const uint8_t *i, uint64_t *pos)
{
    uint64_t z;
    i = get_varint(i, &z);
    *pos += z >> 1 ^ (0 - (z & 1));
    return i;
}

// A walk over the stream without conversion: what the merger and the tables use.
struct walk {
    const struct chunk *chunk;
    const uint8_t *in, *end;
    struct place at;
    // The record last met:
    unsigned op; // OP_COST .. OP_JCND
    unsigned special;
    size_t ncounts;
    uint64_t present; // bit i: count i was given (of the first 64)
    struct quern_site to;
    uint64_t calls, executed;
};

void walk_init(struct walk *w, const struct quern_profile *p);
// 1: the fields are set, and counts follow at w->in: walk_counts() must be called next. 0: end.
int walk_next(struct walk *w);
// Plain counts (w->special == 0) into v[ncounts].
static inline void walk_counts(struct walk *w, uint64_t *v)
{
    const uint8_t *i = w->in;
    for (size_t k = 0; k < w->ncounts; k++)
        i = get_varint(i, &v[k]);
    w->in = i;
}
// Special counts, in units of 10^-9.
void walk_special(struct walk *w, quern_count *v);
#endif
