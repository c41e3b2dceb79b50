// SPDX-License-Identifier: MIT
//
// What records of all kinds share: their context, place and target.

#ifndef QUERN_PROFILE_RECORD_H
#define QUERN_PROFILE_RECORD_H

#include "profile/read/reader.h"

// Determines which function the next record belongs to; as late as possible, because some writers
// put fn= before fl=. False: the reader gives up.
bool record_resolve(struct reader *r);
// Writes a call or jump whose cost line is missing.
void record_finish_pending(struct reader *r);
// Called before the buffer is reused: stores what a remark on the pending call needs of it.
void record_keep_pending(struct reader *r);

// Adds the lines summed since the last call to the totals and, if the profile stores rows, to their
// row: then all are of one function and source file.
void record_flush(struct reader *r);

// Space for a record of that many counts. False: the reader gives up.
static inline bool record_room(struct reader *r, size_t counts)
{
    struct quern_profile *p = r->p;
    if (__builtin_expect(p->out && (size_t)(p->out_end - p->out) >= ROOM_NEEDED(counts), 1))
        return true;
    return !reader_failed(r, stream_room(p, counts));
}

// The place of the current line, and what it moves. Returns the byte after it.
static inline uint8_t *record_put_site(struct reader *r, uint8_t *o)
{
    struct place *enc = &r->p->enc;

    if (r->mask & QUERN_HAS_LINE) {
        o = put_delta(o, r->pos[COL_LINE], enc->line);
        enc->line = r->pos[COL_LINE];
    }
    if (r->mask & QUERN_HAS_ADDR) {
        o = put_delta(o, r->pos[COL_ADDR], enc->addr);
        enc->addr = r->pos[COL_ADDR];
    }
    if (r->mask & QUERN_HAS_BB) {
        o = put_delta(o, r->pos[COL_BB], enc->bb);
        enc->bb = r->pos[COL_BB];
    }
    return o;
}

// The part of a record after its place, in the form that walk_next() reads.
static inline uint8_t *record_put_target(struct reader *r, uint8_t *o)
{
    const struct quern_record *rec = &r->rec;

    o = put_varint(o, rec->to.func);
    if (rec->kind != QUERN_REC_CALL)
        o = put_varint(o, rec->to.file);
    if (r->mask & QUERN_HAS_LINE)
        o = put_varint(o, rec->to.line);
    if (r->mask & QUERN_HAS_ADDR)
        o = put_delta(o, rec->to.addr, r->pos[COL_ADDR]);
    o = put_varint(o, rec->calls);
    if (rec->kind == QUERN_REC_JCND)
        o = put_varint(o, rec->executed);
    return o;
}

#endif
