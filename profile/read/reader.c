// SPDX-License-Identifier: MIT
//
// Reads both formats into a profile: one pass, line by line, in a buffer that always holds whole
// lines. Policy: accept everything any known writer produces, remark on each kind of quirk once,
// never stop early (docs/format.md lists the quirks).
//
// Hot: fast_cost() and the name lines. A plain cost line is parsed and encoded in one go, without a
// function call; whatever it does not understand at once goes, from the start of the line, to
// slow_cost(), which understands everything; quern_read_opts.no_fast sends all of them there. What
// was tried to make it faster: docs/design/020-reading.md. bench: make bench-tools, "read".
#include "profile/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUF_SIZE ((size_t)256 << 10)

// ---- Names ----

static uint32_t *idtab_slot(struct reader *r, struct idtab *t, uint64_t id)
{
    size_t h;

    if (id < t->dense_cap)
        return &t->dense[id];
    // Ids of known writers count up from 0 or 1; anything far ahead goes to the sparse table.
    if (id < 4 * t->dense_cap + 4096 && id < UINT32_MAX) {
        size_t cap = id + id / 2 + 1024;
        uint32_t *d = realloc(t->dense, cap * sizeof(*d));
        if (!d) {
            r->stop = -ENOMEM;
            return NULL;
        }
        for (size_t i = t->dense_cap; i < cap; i++)
            d[i] = QUERN_NONE;
        t->dense = d;
        // Those that were sparse until now move over.
        for (size_t i = 0; i < t->sparse_cap; i++)
            if (t->sparse[i].str != QUERN_NONE && t->sparse[i].id < cap &&
                t->sparse[i].id >= t->dense_cap)
                d[t->sparse[i].id] = t->sparse[i].str;
        t->dense_cap = cap;
        return &d[id];
    }
    if (t->sparse_count * 2 >= t->sparse_cap) {
        size_t cap = t->sparse_cap ? t->sparse_cap * 2 : 64;
        struct idtab n = { .sparse = malloc(cap * sizeof(*n.sparse)), .sparse_cap = cap };
        if (!n.sparse) {
            r->stop = -ENOMEM;
            return NULL;
        }
        for (size_t i = 0; i < cap; i++)
            n.sparse[i].str = QUERN_NONE;
        for (size_t i = 0; i < t->sparse_cap; i++) {
            if (t->sparse[i].str == QUERN_NONE)
                continue;
            h = (t->sparse[i].id * 0x9e3779b97f4a7c15u >> 32) & (cap - 1);
            while (n.sparse[h].str != QUERN_NONE)
                h = (h + 1) & (cap - 1);
            n.sparse[h] = t->sparse[i];
        }
        free(t->sparse);
        t->sparse = n.sparse;
        t->sparse_cap = cap;
    }
    h = (id * 0x9e3779b97f4a7c15u >> 32) & (t->sparse_cap - 1);
    while (t->sparse[h].str != QUERN_NONE && t->sparse[h].id != id)
        h = (h + 1) & (t->sparse_cap - 1);
    if (t->sparse[h].str == QUERN_NONE) {
        t->sparse[h].id = id;
        t->sparse_count++;
    }
    return &t->sparse[h].str;
}

static uint32_t intern(struct reader *r, const char *s, size_t n)
{
    const char *nul = memchr(s, 0, n);

    if (nul) {
        reader_diag(r, DIAG_NUL, nul, "NUL byte in a name: the name ends there");
        n = (size_t)(nul - s);
    }
    uint32_t v = strset_add(&r->p->str, s, n);
    if (v == QUERN_NONE)
        r->stop = -ENOMEM;
    return v;
}

// Decimal or hexadecimal id after "("; NULL when it is none.
static const char *parse_id(const char *s, uint64_t *id)
{
    uint64_t v = 0;
    int digits = 0;

    if (s[0] == '0' && s[1] == 'x') {
        for (s += 2; digits < 16; s++, digits++) {
            char c = *s | 0x20;
            if (is_digit(*s))
                v = v * 16 + (uint64_t)(*s - '0');
            else if (c >= 'a' && c <= 'f')
                v = v * 16 + (uint64_t)(c - 'a' + 10);
            else
                break;
        }
    } else {
        for (; digits < 19 && is_digit(*s); s++, digits++)
            v = v * 10 + (uint64_t)(*s - '0');
    }
    if (!digits || *s != ')')
        return NULL;
    *id = v;
    return s + 1;
}

// "(2)'3": a name made of ids, written by an undocumented mode of Callgrind.
static uint32_t expand_nested(struct reader *r, struct idtab *t, const char *s, const char *end)
{
    size_t cap = 256, n = 0;
    char *out = malloc(cap);

    while (out && s < end) {
        uint64_t id;
        const char *q = *s == '(' ? parse_id(s + 1, &id) : NULL, *piece = s;
        size_t len = 1;
        if (q && q <= end) {
            uint32_t *slot = idtab_slot(r, t, id);
            if (slot && *slot != QUERN_NONE) {
                piece = r->p->str.text[*slot];
                len = r->p->str.len[*slot];
            } else {
                len = (size_t)(q - s);
            }
            s = q;
        } else {
            s++;
        }
        if (n + len > (size_t)16 << 20) // ids that contain ids grow without bound
            break;
        if (n + len > cap) {
            char *bigger = realloc(out, cap = (n + len) * 2);
            if (!bigger) {
                free(out);
                out = NULL;
                break;
            }
            out = bigger;
        }
        memcpy(out + n, piece, len);
        n += len;
    }
    if (!out) {
        r->stop = -ENOMEM;
        return QUERN_NONE;
    }
    uint32_t v = intern(r, out, n);
    free(out);
    return v;
}

// What stands behind "fn=" and its like; s at the first byte, end at the newline.
static uint32_t parse_name(struct reader *r, struct idtab *t, const char *s, const char *end)
{
    uint32_t v;

    if (end > s && end[-1] == '\r')
        end--;
    while (s < end && is_blank(*s))
        s++;
    const char *start = s;
    if (s == end || *s != '(' || !is_digit(s[1]))
        return intern(r, s, (size_t)(end - s));
    uint64_t id;
    const char *q = parse_id(s + 1, &id);
    if (!q) {
        reader_diag(r, DIAG_ID_MALFORMED, s, "looks like '(id)' but is not: taken as a name");
        return intern(r, s, (size_t)(end - s));
    }
    r->callgrind = 1;
    while (q < end && is_blank(*q))
        q++;
    uint32_t *slot = idtab_slot(r, t, id);
    if (!slot)
        return QUERN_NONE;
    if (q >= end) {
        if (*slot == QUERN_NONE) {
            reader_diag(r, DIAG_ID_UNDEFINED, start, "id (%llu) was never given a name",
                        (unsigned long long)id);
            v = intern(r, start, (size_t)(end - start));
            slot = idtab_slot(r, t, id);
            if (slot)
                *slot = v;
            return v;
        }
        return *slot;
    }
    if (*q == '(' && is_digit(q[1])) {
        reader_diag(r, DIAG_HIDDEN_SPEC, q, "a name made of other ids");
        v = expand_nested(r, t, q, end);
        slot = idtab_slot(r, t, id);
        if (!slot)
            return QUERN_NONE;
    } else {
        v = intern(r, q, (size_t)(end - q));
    }
    if (*slot == v)
        reader_diag(r, DIAG_ID_REDEFINED, start, "id (%llu) is given the same name again",
                    (unsigned long long)id);
    else if (*slot != QUERN_NONE)
        reader_diag(r, DIAG_ID_CHANGED, start,
                    "id (%llu) is given another name: it holds from here on",
                    (unsigned long long)id);
    *slot = v;
    return v;
}

// Notes a failure; what was noted before stays.
static inline int failed(struct reader *r, int rc)
{
    if (__builtin_expect(rc < 0, 0) && !r->stop)
        r->stop = rc;
    return r->stop;
}

static inline int room(struct reader *r, size_t counts)
{
    struct quern_profile *p = r->p;
    if (__builtin_expect(p->out && (size_t)(p->out_end - p->out) >= ROOM_NEEDED(counts), 1))
        return 0;
    return failed(r, stream_room(p, counts));
}

// ---- Context ----

// Which function the next record belongs to; decided as late as possible, because some writers put
// fn= before fl=.
static int resolve(struct reader *r)
{
    struct quern_profile *p = r->p;
    uint32_t part = (uint32_t)(p->part_count - 1), src = profile_known(r->src);

    r->dirty = 0;
    if (r->fl == QUERN_NONE && r->src == QUERN_NONE)
        reader_diag(r, DIAG_NO_FILE, r->bol, "costs without a file ('fl=') before them");
    if (r->fn == QUERN_NONE)
        reader_diag(r, DIAG_NO_FUNCTION, r->bol, "costs without a function ('fn=') before them");
    r->func = quern_profile_func(p, r->ob, r->fl, r->fn);
    if (r->func == QUERN_NONE) {
        r->stop = -ENOMEM;
        return -1;
    }
    if (r->func != p->enc.func || src != p->enc.file || part != p->enc.part ||
        r->mask != p->enc.mask)
        if (failed(r, stream_context(p, r->func, src, part, r->mask)))
            return -1;
    return r->stop ? -1 : 0;
}

static inline uint8_t *put_site(struct reader *r, uint8_t *o)
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

// The part of a record behind its place, as walk_next() takes it apart.
static inline uint8_t *put_target(struct reader *r, uint8_t *o)
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

// A call or jump whose cost line did not come.
void reader_finish_pending(struct reader *r)
{
    struct quern_profile *p = r->p;

    if (r->pending == PENDING_NONE)
        return;
    if (r->pending == PENDING_CALL) {
        const char *bol = r->bol;
        r->bol = NULL;
        r->at_line = r->pending_line;
        reader_diag(r, DIAG_CALLS_NO_COST, NULL, "'calls=' without its cost line: taken as zero");
        r->bol = bol;
        r->at_line = 0;
    }
    r->pending = PENDING_NONE;
    if (r->stop || (r->dirty && resolve(r) < 0) || room(r, 0))
        return;
    uint8_t *o = p->out;
    *o++ = (uint8_t)r->rec.kind;
    o = put_site(r, o);
    p->out = put_target(r, o);
    p->has |= r->rec.kind == QUERN_REC_CALL ? QUERN_HAS_CALL : QUERN_HAS_JUMP;
    p->record_count++;
}

// ---- Cost lines ----

// One subposition: absolute, relative, '*', hexadecimal, with a range behind it perhaps. *pos holds
// the one before and gets the new one. NULL: no position here.
static const char *slow_position(struct reader *r, const char *s, const char *end, uint64_t *pos)
{
    // '*' alone, as most jumps begin
    if (*s == '*' && (s + 1 == end || s[1] == ' '))
        return s + 1;
    const char *start = s;
    uint64_t v = 0;
    int sign = 0, digits = 0;

    if (*s == '*') {
        s++;
        digits = 1;
        v = *pos;
    } else {
        if (*s == '+' || *s == '-')
            sign = *s++ == '+' ? 1 : -1;
        if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
            for (s += 2; s < end; s++, digits++) {
                char c = *s | 0x20;
                uint64_t d;
                if (is_digit(*s))
                    d = (uint64_t)(*s - '0');
                else if (c >= 'a' && c <= 'f')
                    d = (uint64_t)(c - 'a' + 10);
                else
                    break;
                if (v >> 60)
                    reader_diag(r, DIAG_TOO_LARGE, start, "position does not fit 64 bits");
                v = v << 4 | d;
            }
        } else {
            for (; s < end && is_digit(*s); s++, digits++)
                if (__builtin_mul_overflow(v, 10, &v) ||
                    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
                    reader_diag(r, DIAG_TOO_LARGE, start, "position does not fit 64 bits");
        }
        if (!digits)
            return NULL;
        if (sign > 0) {
            v = *pos + v;
        } else if (sign < 0) {
            if (v > *pos)
                reader_diag(r, DIAG_POSITION_WRAP, start, "relative position ends below zero");
            v = v > *pos ? 0 : *pos - v;
        }
    }
    if (s < end && (*s == ':' || (*s == '+' && s + 1 < end && is_digit(s[1])))) {
        reader_diag(r, DIAG_RANGE, start, "a range of positions: only its start is used");
        s++;
        while (s < end && !is_blank(*s))
            s++;
    }
    if (s < end && !is_blank(*s))
        return NULL;
    *pos = v;
    return s;
}

static const char *blanks(struct reader *r, const char *s, const char *end)
{
    while (s < end && is_blank(*s)) {
        if (*s == '\t')
            reader_diag(r, DIAG_TAB, s, "tab between numbers");
        s++;
    }
    return s;
}

static void slow_cost(struct reader *r, const char *s, const char *end)
{
    struct quern_profile *p = r->p;
    uint64_t pos[COLUMNS_MAX];
    quern_count nano;
    size_t n = 0, used = 0;
    unsigned special = 0;
    uint64_t present = 0;
    unsigned kind = OP_COST;

    if (!r->map_count) {
        reader_diag(r, DIAG_COST_BEFORE_EVENTS, s, "cost line before any 'events:' line; ignored");
        return;
    }
    if (end > s && end[-1] == '\r')
        end--;
    memcpy(pos, r->pos, sizeof(pos));
    for (unsigned i = 0; i < r->col_count; i++) {
        const char *q = s < end ? slow_position(r, s, end, &pos[r->col[i]]) : NULL;
        if (!q) {
            reader_diag(r, DIAG_BAD_NUMBER, s, "a position was expected here; line ignored");
            return;
        }
        s = blanks(r, q, end);
    }
    if (r->pending == PENDING_JUMP) {
        if (s == end) { // Callgrind's form: the jump's own place on a line of its own
            memcpy(r->pos, pos, sizeof(pos));
            reader_finish_pending(r);
            return;
        }
        reader_diag(r, DIAG_JUMP_FORM, r->bol, "jump without a position line of its own");
        reader_finish_pending(r);
    }
    memcpy(r->pos, pos, sizeof(pos));
    for (size_t i = 0; i < p->event_count; i++)
        r->wide[i] = 0;
    for (; s < end; s = blanks(r, s, end), n++) {
        uint32_t event = n < r->map_count ? r->map[n] : QUERN_NONE;
        if (event == QUERN_NONE) {
            reader_diag(r, DIAG_TOO_MANY, s, "more counts than events; the rest is ignored");
            break;
        }
        if (used < event + 1)
            used = event + 1;
        if (event < 64 && *s != '.')
            present |= (uint64_t)1 << event;
        s = reader_count(r, s, end, &nano, event);
        if (!s)
            break;
        r->wide[event] += nano;
    }
    if (n == 0)
        reader_diag(r, DIAG_NO_COUNTS, r->bol, "cost line without a count");
    if (r->stop || (r->dirty && resolve(r) < 0))
        return;
    for (size_t i = 0; i < p->event_count; i++) {
        if (r->wide[i] < 0 || r->wide[i] % NANO || r->wide[i] / NANO > UINT64_MAX)
            special = OP_SPECIAL;
    }
    if (room(r, used))
        return;
    if (r->pending == PENDING_CALL) {
        kind = OP_CALL;
        p->has |= QUERN_HAS_CALL;
    } else if (used < 64 && present != ((uint64_t)1 << used) - 1) {
        kind = OP_DOTTED;
    }
    uint8_t *o = p->out;
    *o++ =
        (uint8_t)(kind | special | (used < OP_COUNT_MORE ? used : OP_COUNT_MORE) << OP_COUNT_SHIFT);
    if (used >= OP_COUNT_MORE)
        o = put_varint(o, used);
    o = put_site(r, o);
    if (kind == OP_CALL)
        o = put_target(r, o);
    else if (kind == OP_DOTTED)
        o = put_varint(o, present);
    for (size_t i = 0; i < used; i++) {
        if (special) {
            unsigned __int128 z =
                (unsigned __int128)r->wide[i] << 1 ^ (unsigned __int128)(r->wide[i] >> 127);
            while (z >= 0x80) {
                *o++ = (uint8_t)(z | 0x80);
                z >>= 7;
            }
            *o++ = (uint8_t)z;
        } else {
            o = put_varint(o, (uint64_t)(r->wide[i] / NANO));
        }
        if (kind != OP_CALL)
            p->total_nano[i] += r->wide[i];
    }
    p->out = o;
    p->record_count++;
    r->pending = PENDING_NONE;
    r->part_body = 1;
}

// Decimal number of at most 19 digits; *ok is cleared when there is none or more. @hot
static inline const char *fast_number(const char *s, uint64_t *v, int *ok)
{
    uint64_t x = (unsigned char)(*s - '0');
    const char *start = s;

    if (x > 9) {
        *ok = 0;
        return s;
    }
    uint64_t d;
    for (s++; (d = (unsigned char)(*s - '0')) < 10; s++)
        x = x * 10 + d;
    if (s - start > 19)
        *ok = 0;
    *v = x;
    return s;
}

static inline const char *fast_hex(const char *s, uint64_t *v, int *ok)
{
    uint64_t x = 0;
    const char *start = s;

    for (;; s++) {
        unsigned char d = (unsigned char)(*s - '0'), a = (unsigned char)((*s | 0x20) - 'a');
        if (d < 10)
            x = x << 4 | d;
        else if (a < 6)
            x = x << 4 | (uint64_t)(a + 10);
        else
            break;
    }
    if (s == start || s - start > 16)
        *ok = 0;
    *v = x;
    return s;
}

// One subposition in its usual forms; *pos holds the one before and gets the new one. @hot
static inline __attribute__((always_inline)) const char *fast_position(const char *s, uint64_t *pos,
                                                                       int *ok)
{
    uint64_t v = 0;

    if (*s == '+') {
        s = fast_number(s + 1, &v, ok);
        v += *pos;
    } else if (*s == '*') {
        s++;
        v = *pos;
    } else if (*s == '-') {
        s = fast_number(s + 1, &v, ok);
        if (v > *pos)
            *ok = 0;
        v = *pos - v;
    } else if (s[0] == '0' && s[1] == 'x') {
        s = fast_hex(s + 2, &v, ok);
    } else {
        s = fast_number(s, &v, ok);
    }
    *pos = v;
    return s;
}

// A plain cost line: the byte behind its newline, or NULL for slow_cost(). @hot
static const char *fast_cost(struct reader *r, const char *s)
{
    struct quern_profile *p = r->p;
    uint64_t pos[COLUMNS_MAX], v;
    uint64_t *plain = r->plain;
    size_t n = 0, max = r->map_count;
    unsigned kind = OP_COST;
    int ok = 1;

    if (__builtin_expect(!r->identity || r->pending == PENDING_JUMP || !max, 0))
        return NULL;
    memcpy(pos, r->pos, sizeof(pos));
    for (unsigned i = 0; i < r->col_count; i++) {
        s = fast_position(s, &pos[r->col[i]], &ok);
        if (!ok || *s != ' ')
            return NULL;
        s++;
    }
    while (is_digit(*s)) {
        if (n == max)
            return NULL;
        s = fast_number(s, &v, &ok);
        plain[n++] = v;
        if (*s == ' ')
            s++;
    }
    if (!ok || *s != '\n' || n == 0)
        return NULL;
    if ((r->dirty && resolve(r) < 0) || room(r, n))
        return s + 1;
    memcpy(r->pos, pos, sizeof(pos));
    if (r->pending == PENDING_CALL)
        kind = OP_CALL;
    uint8_t *o = p->out;
    *o++ = (uint8_t)(kind | (unsigned)(n < OP_COUNT_MORE ? n : OP_COUNT_MORE) << OP_COUNT_SHIFT);
    if (n >= OP_COUNT_MORE)
        o = put_varint(o, n);
    o = put_site(r, o);
    if (kind == OP_CALL) {
        o = put_target(r, o);
        r->pending = PENDING_NONE;
        p->has |= QUERN_HAS_CALL;
        for (size_t i = 0; i < n; i++)
            o = put_varint(o, plain[i]);
    } else {
        for (size_t i = 0; i < n; i++) {
            o = put_varint(o, plain[i]);
            p->total[i] += plain[i];
        }
    }
    p->out = o;
    p->record_count++;
    r->part_body = 1;
    return s + 1;
}

// Behind a jump: "* *" or "*", the line with its place where that is the place of the line before.
static const char *jump_place(struct reader *r, const char *s)
{
    if (!r->map_count)
        return NULL;
    for (unsigned i = 0; i < r->col_count; i++) {
        if (*s != '*')
            return NULL;
        s++;
        if (*s == ' ')
            s++;
        else if (i + 1 < r->col_count)
            return NULL;
    }
    if (*s != '\n')
        return NULL;
    reader_finish_pending(r);
    return s + 1;
}

// ---- calls=, jump=, jcnd= ----

// Target subpositions, relative to the last cost line, which they do not move.
static const char *target(struct reader *r, const char *s, const char *end, struct quern_site *to,
                          unsigned *found)
{
    uint64_t pos[COLUMNS_MAX];

    memcpy(pos, r->pos, sizeof(pos));
    *found = 0;
    for (unsigned i = 0; i < r->col_count && s < end; i++) {
        uint64_t fast = pos[r->col[i]];
        int ok = r->fast;
        const char *q = fast_position(s, &fast, &ok);
        if (ok && (*q == ' ' || q == end)) {
            pos[r->col[i]] = fast;
        } else {
            q = slow_position(r, s, end, &pos[r->col[i]]);
            if (!q) {
                reader_diag(r, DIAG_BAD_NUMBER, s, "a target position was expected here");
                return end;
            }
        }
        (*found)++;
        if (r->col[i] == COL_LINE)
            to->line = pos[COL_LINE];
        else if (r->col[i] == COL_ADDR)
            to->addr = pos[COL_ADDR];
        s = blanks(r, q, end);
    }
    return s;
}

static const char *body_u64(struct reader *r, const char *s, const char *end, uint64_t *v)
{
    const char *q;
    int ok = r->fast;

    if (s < end && is_digit(*s)) {
        q = fast_number(s, v, &ok);
        if (ok && (q == end || is_blank(*q) || *q == '/'))
            return q;
    }
    *v = 0;
    quern_count nano;
    q = s < end ? reader_number(r, s, end, &nano) : NULL;
    if (!q || nano < 0 || nano / NANO > UINT64_MAX) {
        reader_diag(r, DIAG_BAD_NUMBER, s, "a count was expected here; taken as zero");
        while (s < end && !is_blank(*s))
            s++;
        return s;
    }
    if (nano % NANO)
        reader_diag(r, DIAG_FRACTION, s, "a number of calls with a fraction: cut to a whole one");
    *v = (uint64_t)(nano / NANO);
    return q;
}

static uint32_t make_func(struct reader *r, uint32_t ob, uint32_t fl, uint32_t fn)
{
    uint32_t f = quern_profile_func(r->p, ob, fl, fn);
    if (f == QUERN_NONE)
        r->stop = -ENOMEM;
    return f;
}

static void calls_line(struct reader *r, const char *s, const char *end)
{
    struct quern_record *rec = &r->rec;
    uint64_t v = 0;
    unsigned found = 0;
    int ok = r->fast;

    reader_finish_pending(r);
    if (r->stop)
        return;
    r->callgrind = 1;
    memset(rec, 0, sizeof(*rec));
    rec->kind = QUERN_REC_CALL;
    if (r->cfn == QUERN_NONE)
        reader_diag(r, DIAG_CALLS_NO_CFN, r->bol, "'calls=' without 'cfn=': the callee is unknown");
    rec->to.func = make_func(r, r->cob == QUERN_NONE ? r->ob : r->cob,
                             r->cfl == QUERN_NONE ? r->src : r->cfl, r->cfn);
    rec->to.file = QUERN_NONE;
    r->cob = r->cfl = r->cfn = QUERN_NONE;
    r->pending = PENDING_CALL;
    r->pending_line = r->line;
    if (end > s && end[-1] == '\r')
        end--;
    const char *fast = fast_number(s, &v, &ok);
    if (ok && (fast == end || *fast == ' '))
        s = fast;
    else
        s = body_u64(r, blanks(r, s, end), end, &v);
    rec->calls = v;
    if (!v)
        reader_diag(r, DIAG_CALLS_ZERO, r->bol, "calls=0: a call that was active when dumped");
    s = target(r, blanks(r, s, end), end, &rec->to, &found);
    if (!found)
        reader_diag(r, DIAG_CALLS_NO_TARGET, s, "'calls=' without a target position");
    else if (s < end)
        reader_diag(r, DIAG_CALLS_EXTRA, s, "more target positions than 'positions:' names");
}

// jump=N target | jcnd=followed/executed target | jcnd=executed followed target
static void jump_line(struct reader *r, const char *s, const char *end, int conditional)
{
    struct quern_record *rec = &r->rec;
    unsigned found = 0;

    reader_finish_pending(r);
    if (r->stop)
        return;
    r->callgrind = 1;
    if (end > s && end[-1] == '\r')
        end--;
    memset(rec, 0, sizeof(*rec));
    rec->kind = conditional ? QUERN_REC_JCND : QUERN_REC_JUMP;
    if (r->dirty && resolve(r) < 0)
        return;
    rec->to.func = r->jfn == QUERN_NONE
                       ? r->func
                       : make_func(r, r->ob, r->jfl == QUERN_NONE ? r->fl : r->jfl, r->jfn);
    rec->to.file = profile_known(r->jfl == QUERN_NONE ? r->src : r->jfl);
    r->jfl = r->jfn = QUERN_NONE;
    s = body_u64(r, blanks(r, s, end), end, &rec->calls);
    if (conditional) {
        int slash = s < end && *s == '/';
        s = blanks(r, slash ? s + 1 : s, end);
        s = body_u64(r, s, end, &rec->executed);
        if (!slash) {
            uint64_t executed = rec->calls;
            rec->calls = rec->executed;
            rec->executed = executed;
        }
    }
    target(r, blanks(r, s, end), end, &rec->to, &found);
    if (!found)
        reader_diag(r, DIAG_JUMP_NO_TARGET, r->bol, "a jump without a target position");
    r->pending = PENDING_JUMP;
    r->pending_line = r->line;
}

// ---- Lines ----

// Sets a part of the caller's or of the callee's position.
static void set_name(struct reader *r, uint32_t *field, struct idtab *t, const char *s,
                     const char *end)
{
    if (r->pending != PENDING_NONE)
        reader_finish_pending(r);
    *field = parse_name(r, t, s, end);
}

#define IS2(s, a, b) ((s)[0] == (a) && (s)[1] == (b))

// A line that begins with a letter: "xx=name" or "xxx=name" or a header. end: its newline.
static void word_line(struct reader *r, const char *s, const char *end)
{
    size_t n = (size_t)(end - s);

    if (n >= 3 && s[2] == '=') {
        if (IS2(s, 'f', 'n')) {
            set_name(r, &r->fn, &r->fn_ids, s + 3, end);
            r->src = r->fl;
            r->dirty = 1;
            return;
        }
        if (s[0] == 'f' && (s[1] == 'l' || s[1] == 'i' || s[1] == 'e')) {
            set_name(r, &r->src, &r->fl_ids, s + 3, end);
            if (s[1] == 'l' || r->fl == QUERN_NONE)
                r->fl = r->src;
            r->dirty = 1;
            return;
        }
        if (IS2(s, 'o', 'b')) {
            set_name(r, &r->ob, &r->ob_ids, s + 3, end);
            r->callgrind = 1;
            r->dirty = 1;
            return;
        }
        if (IS2(s, 'b', 'b') || IS2(s, 'l', 'n')) {
            reader_diag(r, DIAG_HIDDEN_SPEC, s, "undocumented '%.2s='; ignored", s);
            return;
        }
    }
    if (n >= 4 && s[3] == '=') {
        if (s[0] == 'c' && s[1] == 'f') {
            r->callgrind = 1;
            if (s[2] == 'n') {
                set_name(r, &r->cfn, &r->fn_ids, s + 4, end);
                return;
            }
            if (s[2] == 'i' || s[2] == 'l' || s[2] == 'e') {
                set_name(r, &r->cfl, &r->fl_ids, s + 4, end);
                if (s[2] == 'e')
                    reader_diag(r, DIAG_CFE, s, "'cfe=' taken as 'cfi='");
                return;
            }
        }
        if (memcmp(s, "cob", 3) == 0) {
            r->callgrind = 1;
            set_name(r, &r->cob, &r->ob_ids, s + 4, end);
            return;
        }
        if (s[0] == 'j' && s[1] == 'f' && (s[2] == 'n' || s[2] == 'i' || s[2] == 'l')) {
            if (s[2] == 'n')
                set_name(r, &r->jfn, &r->fn_ids, s + 4, end);
            else
                set_name(r, &r->jfl, &r->fl_ids, s + 4, end);
            return;
        }
        if (memcmp(s, "rec", 3) == 0) {
            reader_diag(r, DIAG_HIDDEN_SPEC, s, "undocumented 'rec='; ignored");
            return;
        }
    }
    if (n >= 6 && memcmp(s, "calls=", 6) == 0) {
        calls_line(r, s + 6, end);
        return;
    }
    if (n >= 5 && (memcmp(s, "jump=", 5) == 0 || memcmp(s, "jcnd=", 5) == 0)) {
        jump_line(r, s + 5, end, s[1] == 'c');
        return;
    }
    if (n >= 7 && memcmp(s, "rcalls=", 7) == 0) {
        reader_diag(r, DIAG_RCALLS, s, "'rcalls=' (recursive calls) taken as 'calls='");
        calls_line(r, s + 7, end);
        return;
    }
    if (n >= 5 && memcmp(s, "frfn=", 5) == 0) {
        reader_diag(r, DIAG_HIDDEN_SPEC, s, "undocumented 'frfn='; only its id is used");
        uint32_t unused;
        set_name(r, &unused, &r->fn_ids, s + 5, end);
        return;
    }
    if (end > s && end[-1] == '\r')
        n--;
    reader_header(r, s, n);
}

// A whole buffer of whole lines.
static void read_lines(struct reader *r, const char *s, const char *end)
{
    const char *eol;

    while (s < end && !r->stop) {
        unsigned char c = (unsigned char)*s;
        r->bol = s;
        r->line++;
        if (is_digit((char)c) || c == '+' || c == '*' || c == '-') {
            const char *next = NULL;
            if (__builtin_expect(r->fast, 1))
                next = r->pending == PENDING_JUMP ? jump_place(r, s) : fast_cost(r, s);
            if (__builtin_expect(next != NULL, 1)) {
                s = next;
                continue;
            }
            eol = memchr(s, '\n', (size_t)(end - s));
            slow_cost(r, s, eol);
            s = eol + 1;
            continue;
        }
        if (c == '\n') {
            s++;
            continue;
        }
        eol = memchr(s, '\n', (size_t)(end - s));
        if (eol[-1] == '\r') // s < eol here
            reader_diag(r, DIAG_CRLF, eol - 1, "line ends with CR LF");
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') {
            word_line(r, s, eol);
        } else if (c == '#') {
            if (r->line == 1 && eol - s >= 18 && memcmp(s, "# callgrind format", 18) == 0)
                r->callgrind = r->any_header = 1;
        } else {
            const char *t = s;
            while (t < eol && (is_blank(*t) || *t == '\r'))
                t++;
            if (t == eol)
                ;
            else if (t > s && (is_digit(*t) || *t == '+' || *t == '-' || *t == '*') && r->map_count)
                slow_cost(r, t, eol);
            else
                reader_junk(r, s, (size_t)(eol - s));
        }
        s = eol + 1;
    }
    r->bol = NULL;
}

// ---- Driver ----

static int fill(struct reader *r, int *eof)
{
    if (r->have == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : BUF_SIZE;
        char *b = realloc(r->buf, cap + 2);
        if (!b)
            return -ENOMEM;
        r->buf = b;
        r->cap = cap;
    }
    ssize_t n = input_read(&r->in, r->buf + r->have, r->cap - r->have);
    if (n < 0)
        return (int)n;
    if (n == 0)
        *eof = 1;
    r->have += (size_t)n;
    return 0;
}

static int run(struct reader *r)
{
    int eof = 0, rc;
    size_t scanned = 0, bytes = 0;

    while (!eof && !r->stop) {
        if ((rc = fill(r, &eof)) < 0) {
            quern_error_set(r->err, -rc, r->name, "cannot be read: %s", strerror(-rc));
            return rc;
        }
        if (eof && r->have && r->buf[r->have - 1] != '\n') {
            r->at_line = r->line + 1;
            reader_diag(r, DIAG_NO_FINAL_NEWLINE, NULL, "no newline at the end of the file");
            r->at_line = 0;
            r->buf[r->have++] = '\n'; // cap + 2 were allocated
        }
        const char *nl = r->have ? memrchr(r->buf + scanned, '\n', r->have - scanned) : NULL;
        if (!nl) {
            scanned = r->have;
            continue;
        }
        size_t whole = (size_t)(nl - r->buf) + 1;
        bytes += whole;
        read_lines(r, r->buf, r->buf + whole);
        memmove(r->buf, r->buf + whole, r->have - whole);
        r->have -= whole;
        scanned = r->have;
        if (r->opts->progress && r->opts->progress(r->opts->progress_ctx, r->in.done, r->in.size)) {
            quern_error_set(r->err, ECANCELED, r->name, "reading was cancelled");
            return -ECANCELED;
        }
    }
    if (r->stop)
        return r->stop;
    if (r->in.truncated)
        reader_diag(r, DIAG_TRUNCATED, NULL,
                    "the compressed data ends early or is damaged: what came before is used");
    if (!bytes)
        reader_diag(r, DIAG_EMPTY, NULL, "the file is empty");
    reader_end_part(r);
    if (r->stop)
        return r->stop;
    if (bytes && !r->p->event_count) {
        quern_error_set(r->err, EBADMSG, r->name,
                        "no 'events:' line: not a Cachegrind or Callgrind profile");
        return -EBADMSG;
    }
    for (size_t i = 0; i < r->p->event_count; i++)
        if (r->frac[i])
            r->p->event[i].scale = NANO;
    profile_compile_formulas(r->p);
    for (size_t i = 0; i < r->p->derived_count; i++)
        if (r->p->derived[i].formula && !r->p->derived[i].term_count)
            reader_diag(r, DIAG_BAD_FORMULA, NULL,
                        "the formula of event %s ('%s') is not understood", r->p->derived[i].name,
                        r->p->derived[i].formula);
    r->p->format = r->callgrind ? QUERN_FORMAT_CALLGRIND : QUERN_FORMAT_CACHEGRIND;
    return r->stop;
}

static struct quern_profile *read_all(struct reader *r)
{
    int rc = 0;

    r->p = quern_profile_new();
    if (!r->p) {
        rc = -ENOMEM;
    } else {
        r->ob = r->fl = r->src = r->fn = QUERN_NONE;
        r->cob = r->cfl = r->cfn = r->jfl = r->jfn = QUERN_NONE;
        r->dirty = 1;
        r->col[0] = COL_LINE;
        r->col_count = 1;
        r->mask = QUERN_HAS_LINE;
        r->fast = !r->opts->no_fast;
        rc = reader_prepare_counts(r);
    }
    if (!rc)
        rc = run(r);
    if (rc < 0 && r->err && !r->err->code)
        quern_error_set(r->err, -rc, r->name, "cannot be read: %s", strerror(-rc));
    input_close(&r->in);
    free(r->buf);
    free(r->map);
    free(r->base);
    free(r->base_nano);
    free(r->summary);
    free(r->totals);
    free(r->plain);
    free(r->wide);
    free(r->frac);
    struct idtab *tabs[] = { &r->ob_ids, &r->fl_ids, &r->fn_ids };
    for (int i = 0; i < 3; i++) {
        free(tabs[i]->dense);
        free(tabs[i]->sparse);
    }
    if (rc < 0) {
        quern_profile_free(r->p);
        errno = -rc;
        return NULL;
    }
    return r->p;
}

// Options of another version of the caller: what it does not know is zero.
static void take_opts(struct quern_read_opts *to, const struct quern_read_opts *from)
{
    memset(to, 0, sizeof(*to));
    if (from)
        memcpy(to, from, from->sz < sizeof(*to) ? from->sz : sizeof(*to));
}

struct quern_profile *quern_profile_read(const char *path, const struct quern_read_opts *opts,
                                         struct quern_error *err)
{
    struct quern_read_opts o;
    struct reader r = { .opts = &o, .err = err, .name = strcmp(path, "-") ? path : "<stdin>" };

    take_opts(&o, opts);
    if (err)
        memset(err, 0, sizeof(*err));
    int rc = input_open(&r.in, path);
    if (rc < 0) {
        quern_error_set(err, -rc, r.name, "cannot be opened: %s", strerror(-rc));
        errno = -rc;
        return NULL;
    }
    return read_all(&r);
}

struct quern_profile *quern_profile_read_mem(const char *text, size_t len, const char *name,
                                             const struct quern_read_opts *opts,
                                             struct quern_error *err)
{
    struct quern_read_opts o;
    struct reader r = { .opts = &o, .err = err, .name = name ? name : "<memory>" };

    take_opts(&o, opts);
    if (err)
        memset(err, 0, sizeof(*err));
    int rc = input_open_mem(&r.in, text, len);
    if (rc < 0) {
        quern_error_set(err, -rc, r.name, "cannot be read: %s", strerror(-rc));
        errno = -rc;
        return NULL;
    }
    return read_all(&r);
}
