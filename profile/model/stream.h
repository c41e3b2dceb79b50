// SPDX-License-Identifier: MIT
//
// The records of a profile - costs, calls, jumps - as one byte stream in chunks, because most of
// their numbers are small: a cost line takes 3-6 bytes, less than in the file; fixed columns of
// 64-bit counts would take 100 with the thirteen events of the cache simulation. This side writes
// it; walk.h reads it.
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
// ncounts is the number of counts in the line, including zeros at its end, because "0" and nothing
// are shown differently; 15 means that a varint with the number follows op. A record never crosses
// a chunk.
#ifndef QUERN_PROFILE_STREAM_H
#define QUERN_PROFILE_STREAM_H

#include "profile/model/model.h"
#include "profile/model/varint.h"

#define STREAM_CHUNK ((size_t)1 << 18)

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

// The kind of a record, the form of its counts, and how many they are.
static inline uint8_t *put_op(uint8_t *o, unsigned kind_and_form, size_t n)
{
    *o++ = (uint8_t)(kind_and_form | (n < OP_COUNT_MORE ? n : OP_COUNT_MORE) << OP_COUNT_SHIFT);
    return n < OP_COUNT_MORE ? o : put_varint(o, n);
}

struct chunk {
    struct chunk *next;
    size_t used, size;
    uint8_t data[];
};

// The maximum size of a record of n counts: op, their number, present, and 8 more numbers, then the
// counts.
#define ROOM_NEEDED(n) ((size_t)128 + (n) * (VARINT_WIDE_MAX + 1))

// Makes space for at least one more record with n counts: 0, or -ENOMEM.
int stream_room(struct quern_profile *p, size_t n);
// Sets what the following records belong to: 0, or -ENOMEM.
int stream_context(struct quern_profile *p, uint32_t func, uint32_t file, uint32_t part,
                   unsigned mask);
// Adds any record, counts in units of their events' scales; those of costs are added to the totals.
// For the builder and the merger; the reader writes most of its records itself. 0, or -ENOMEM.
int stream_add(struct quern_profile *p, const struct quern_record *rec, size_t ncounts);
void stream_free(struct quern_profile *p);

#endif
