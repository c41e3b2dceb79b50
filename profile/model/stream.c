// SPDX-License-Identifier: MIT
//
// Writes the record stream (drawn in stream.h). Not hot: the reader writes its plain cost lines
// itself, with the inline parts.
#include "profile/model/stream.h"

#include <errno.h>
#include <stdlib.h>

int stream_room(struct quern_profile *p, size_t n)
{
    size_t need = ROOM_NEEDED(n);

    if (p->out && (size_t)(p->out_end - p->out) >= need)
        return 0;
    if (p->last) {
        p->last->used = (size_t)(p->out - p->last->data);
        *p->out = OP_NONE;
    }
    // Small profiles stay small: the first chunk is a sixteenth.
    size_t size = p->last ? STREAM_CHUNK : STREAM_CHUNK / 16;
    if (size < need)
        size = need;
    struct chunk *c = malloc(sizeof(*c) + size + 1);
    if (!c)
        return -ENOMEM;
    c->next = NULL;
    c->used = 0;
    c->size = size;
    if (p->last)
        p->last->next = c;
    else
        p->first = c;
    p->last = c;
    p->stream_bytes += size;
    p->out = c->data;
    p->out_end = c->data + size;
    return 0;
}

void stream_free(struct quern_profile *p)
{
    for (struct chunk *c = p->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    p->first = p->last = NULL;
    p->out = p->out_end = NULL;
}

int stream_context(struct quern_profile *p, uint32_t func, uint32_t file, uint32_t part,
                   unsigned mask)
{
    int rc = stream_room(p, 0);

    if (rc < 0)
        return rc;
    uint8_t *o = p->out;
    *o++ = OP_CONTEXT;
    *o++ = (uint8_t)mask;
    o = put_varint(o, func);
    o = put_varint(o, file);
    o = put_varint(o, part);
    p->out = o;
    p->enc.func = func;
    p->enc.file = file;
    p->enc.part = part;
    p->enc.mask = mask;
    p->has |= mask;
    return 0;
}

static inline uint8_t *put_position(struct quern_profile *p, uint8_t *o,
                                    const struct quern_record *rec, unsigned mask)
{
    if (mask & QUERN_HAS_LINE)
        o = put_delta(o, rec->at.line, p->enc.line);
    if (mask & QUERN_HAS_ADDR)
        o = put_delta(o, rec->at.addr, p->enc.addr);
    if (mask & QUERN_HAS_BB)
        o = put_delta(o, rec->at.bb, p->enc.bb);
    if (mask & QUERN_HAS_LINE)
        p->enc.line = rec->at.line;
    if (mask & QUERN_HAS_ADDR)
        p->enc.addr = rec->at.addr;
    if (mask & QUERN_HAS_BB)
        p->enc.bb = rec->at.bb;
    return o;
}

// The target of a call or a jump, and how often.
static inline uint8_t *put_target(struct quern_profile *p, uint8_t *o,
                                  const struct quern_record *rec, unsigned mask)
{
    o = put_varint(o, rec->to.func);
    if (rec->kind != QUERN_REC_CALL)
        o = put_varint(o, rec->to.file);
    if (mask & QUERN_HAS_LINE)
        o = put_varint(o, rec->to.line);
    if (mask & QUERN_HAS_ADDR)
        o = put_delta(o, rec->to.addr, rec->at.addr);
    o = put_varint(o, rec->calls);
    if (rec->kind == QUERN_REC_JCND)
        o = put_varint(o, rec->executed);
    p->has |= rec->kind == QUERN_REC_CALL ? QUERN_HAS_CALL : QUERN_HAS_JUMP;
    return o;
}

static inline uint8_t *put_counts(struct quern_profile *p, uint8_t *o,
                                  const struct quern_record *rec, size_t n, unsigned special)
{
    if (special) {
        for (size_t i = 0; i < n; i++) {
            quern_count nano = p->event[i].scale == 1 ? rec->counts[i] * NANO : rec->counts[i];
            o = put_varint_wide(o, nano);
            if (rec->kind == QUERN_REC_COST)
                p->total_nano[i] += nano;
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            o = put_varint(o, (uint64_t)rec->counts[i]);
            if (rec->kind == QUERN_REC_COST)
                p->total[i] += rec->counts[i];
        }
    }
    return o;
}

int stream_add(struct quern_profile *p, const struct quern_record *rec, size_t n)
{
    unsigned special = 0, mask = p->enc.mask;
    uint32_t file = rec->at.file;
    int rc;

    for (size_t i = 0; i < n; i++)
        if (rec->counts[i] < 0 || rec->counts[i] > UINT64_MAX || p->event[i].scale != 1)
            special = OP_SPECIAL;
    if (rec->at.line || rec->to.line)
        mask |= QUERN_HAS_LINE;
    if (rec->at.addr || rec->to.addr)
        mask |= QUERN_HAS_ADDR;
    if (rec->at.bb)
        mask |= QUERN_HAS_BB;
    if (rec->at.func != p->enc.func || file != p->enc.file || rec->part != p->enc.part ||
        mask != p->enc.mask) {
        rc = stream_context(p, rec->at.func, file, rec->part, mask);
        if (rc < 0)
            return rc;
    }
    if ((rc = stream_room(p, n)) < 0)
        return rc;
    uint8_t *o = p->out;
    o = put_op(o, rec->kind | special, n);
    o = put_position(p, o, rec, mask);
    if (rec->kind != QUERN_REC_COST)
        o = put_target(p, o, rec, mask);
    o = put_counts(p, o, rec, n, special);
    p->out = o;
    p->record_count++;
    return 0;
}
