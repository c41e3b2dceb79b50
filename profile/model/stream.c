// SPDX-License-Identifier: MIT
//
// The record stream of a profile (drawn in model.h): encoding for the builder, decoding for
// everybody. Hot: the reader encodes its plain cost lines itself with the inline parts.
#include "profile/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static uint8_t *put_special(uint8_t *o, quern_count v)
{
    unsigned __int128 z = (unsigned __int128)v << 1 ^ (unsigned __int128)(v >> 127);
    while (z >= 0x80) {
        *o++ = (uint8_t)(z | 0x80);
        z >>= 7;
    }
    *o++ = (uint8_t)z;
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
    *o++ =
        (uint8_t)(rec->kind | special | (n < OP_COUNT_MORE ? n : OP_COUNT_MORE) << OP_COUNT_SHIFT);
    if (n >= OP_COUNT_MORE)
        o = put_varint(o, n);
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
    if (rec->kind != QUERN_REC_COST) {
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
    }
    if (special) {
        for (size_t i = 0; i < n; i++) {
            quern_count nano = p->event[i].scale == 1 ? rec->counts[i] * NANO : rec->counts[i];
            o = put_special(o, nano);
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
    p->out = o;
    p->record_count++;
    return 0;
}

// ---- Decoding ----

static void walk_enter(struct walk *w, const struct quern_profile *p, const struct chunk *c)
{
    w->chunk = c;
    w->in = c->data;
    w->end = c == p->last ? p->out : c->data + c->used;
}

void walk_init(struct walk *w, const struct quern_profile *p)
{
    memset(w, 0, sizeof(*w));
    w->at.func = w->at.file = QUERN_NONE;
    if (p->first) {
        walk_enter(w, p, p->first);
        // The last chunk ends where the encoder stands; remember it as used.
        p->last->used = (size_t)(p->out - p->last->data);
    }
}

static const uint8_t *get_u32(const uint8_t *i, uint32_t *v)
{
    uint64_t x;
    i = get_varint(i, &x);
    *v = (uint32_t)x;
    return i;
}

static inline __attribute__((always_inline)) int step(struct walk *w)
{
    const uint8_t *i = w->in;
    unsigned op, kind;

    for (;;) {
        while (i == w->end) {
            if (!w->chunk || !w->chunk->next)
                return 0;
            w->chunk = w->chunk->next;
            i = w->chunk->data;
            w->end = i + w->chunk->used;
        }
        op = *i++;
        kind = op & 7;
        if (kind != OP_CONTEXT)
            break;
        w->at.mask = *i++;
        i = get_u32(i, &w->at.func);
        i = get_u32(i, &w->at.file);
        i = get_u32(i, &w->at.part);
    }
    unsigned mask = w->at.mask;
    w->op = kind == OP_DOTTED ? OP_COST : kind;
    w->special = op & OP_SPECIAL;
    w->ncounts = op >> OP_COUNT_SHIFT & OP_COUNT_MORE;
    if (w->ncounts == OP_COUNT_MORE) {
        uint64_t n;
        i = get_varint(i, &n);
        w->ncounts = n;
    }
    if (mask & QUERN_HAS_LINE)
        i = get_delta(i, &w->at.line);
    if (mask & QUERN_HAS_ADDR)
        i = get_delta(i, &w->at.addr);
    if (mask & QUERN_HAS_BB)
        i = get_delta(i, &w->at.bb);
    w->present = w->ncounts < 64 ? ((uint64_t)1 << w->ncounts) - 1 : UINT64_MAX;
    if (kind == OP_DOTTED) {
        i = get_varint(i, &w->present);
    } else if (kind != OP_COST) {
        w->to.line = 0;
        w->to.addr = 0;
        w->to.file = QUERN_NONE;
        w->executed = 0;
        i = get_u32(i, &w->to.func);
        if (kind != OP_CALL)
            i = get_u32(i, &w->to.file);
        if (mask & QUERN_HAS_LINE)
            i = get_varint(i, &w->to.line);
        if (mask & QUERN_HAS_ADDR) {
            w->to.addr = w->at.addr;
            i = get_delta(i, &w->to.addr);
        }
        i = get_varint(i, &w->calls);
        if (kind == OP_JCND)
            i = get_varint(i, &w->executed);
    }
    w->in = i;
    return 1;
}

int walk_next(struct walk *w)
{
    return step(w);
}

void walk_special(struct walk *w, quern_count *v)
{
    const uint8_t *i = w->in;

    for (size_t k = 0; k < w->ncounts; k++) {
        unsigned __int128 z = 0;
        for (unsigned shift = 0;; shift += 7) {
            uint8_t b = *i++;
            z |= (unsigned __int128)(b & 0x7f) << shift;
            if (b < 0x80)
                break;
        }
        v[k] = (quern_count)(z >> 1 ^ (0 - (z & 1)));
    }
    w->in = i;
}

// ---- The public cursor ----

struct quern_cursor {
    const struct quern_profile *p;
    struct walk w;
    uint64_t *plain;
    quern_count *counts;
    size_t filled; // counts at and above are zero
    int scaled;    // some event has fractions
};

struct quern_cursor *quern_cursor_new(const struct quern_profile *p)
{
    struct quern_cursor *c = calloc(1, sizeof(*c));
    size_t n = p->event_count + 1;

    if (!c)
        return NULL;
    c->p = p;
    c->plain = calloc(n, sizeof(*c->plain));
    c->counts = calloc(n, sizeof(*c->counts));
    if (!c->plain || !c->counts) {
        quern_cursor_free(c);
        errno = ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < p->event_count; i++)
        c->scaled |= p->event[i].scale != 1;
    walk_init(&c->w, p);
    return c;
}

// @hot
int quern_cursor_next(struct quern_cursor *c, struct quern_record *rec)
{
    const struct quern_profile *p = c->p;
    struct walk *w = &c->w;

    if (!step(w))
        return 0;
    if (__builtin_expect(w->special, 0)) {
        walk_special(w, c->counts);
        for (size_t i = 0; i < w->ncounts; i++)
            if (p->event[i].scale == 1)
                c->counts[i] /= NANO;
    } else if (__builtin_expect(c->scaled, 0)) {
        walk_counts(w, c->plain);
        for (size_t i = 0; i < w->ncounts; i++)
            c->counts[i] = (quern_count)c->plain[i] * p->event[i].scale;
    } else {
        const uint8_t *in = w->in;
        for (size_t i = 0; i < w->ncounts; i++) {
            uint64_t v;
            in = get_varint(in, &v);
            c->counts[i] = v;
        }
        w->in = in;
    }
    for (size_t i = w->ncounts; i < c->filled; i++)
        c->counts[i] = 0;
    c->filled = w->ncounts;
    rec->kind = (enum quern_record_kind)w->op;
    rec->present = w->present;
    rec->part = w->at.part;
    rec->at = (struct quern_site){ .func = w->at.func,
                                   .file = w->at.file,
                                   .line = w->at.line,
                                   .addr = w->at.addr,
                                   .bb = w->at.bb };
    if (w->op == OP_COST) {
        rec->to = (struct quern_site){ .func = QUERN_NONE, .file = QUERN_NONE };
        rec->calls = rec->executed = 0;
    } else {
        rec->to = w->to;
        rec->calls = w->calls;
        rec->executed = w->executed;
    }
    rec->counts = c->counts;
    return 1;
}

void quern_cursor_free(struct quern_cursor *c)
{
    if (!c)
        return;
    free(c->plain);
    free(c->counts);
    free(c);
}
