// SPDX-License-Identifier: MIT
//
// Hot: plain_lines() and fast_cost(). They parse and encode plain cost lines in one step, without a
// function call: the first handles consecutive ones, the second those of calls, and of profiles
// with rarer columns. A line that they do not understand at once goes, from its start, to
// cost_line(), which understands everything; with quern_read_opts.no_fast all of them do.
// Experiments to make it faster: docs/design/020-reading.md. bench: make bench-tools, "read".
#include "profile/read/cost.h"

#include <string.h>

#include "profile/model/self.h"
#include "profile/read/number.h"
#include "profile/read/position.h"
#include "profile/read/record.h"

// A plain cost line. Returns the byte after its newline, or NULL for cost_line(). @hot
static inline const char *fast_cost(struct reader *r, const char *s)
{
    struct quern_profile *p = r->p;
    uint64_t pos[COLUMNS_MAX], v;
    uint64_t *plain = r->plain;
    quern_count *sum = r->sum;
    size_t n = 0, max = r->map_count;
    unsigned kind = OP_COST;
    bool ok = true;

    if (__builtin_expect(!r->identity || r->pending == PENDING_JUMP || !max, 0))
        return NULL;
    memcpy(pos, r->pos, sizeof(pos));
    for (unsigned i = 0; i < r->col_count; i++) {
        s = position_fast(s, &pos[r->col[i]], &ok);
        if (!ok || *s != ' ')
            return NULL;
        s++;
    }
    while (is_digit(*s)) {
        if (n == max)
            return NULL;
        s = number_fast(s, &v, &ok);
        plain[n++] = v;
        if (*s == ' ')
            s++;
    }
    if (!ok || *s != '\n' || n == 0)
        return NULL;
    if ((r->dirty && !record_resolve(r)) || !record_room(r, n))
        return s + 1;
    memcpy(r->pos, pos, sizeof(pos));
    if (r->pending == PENDING_CALL)
        kind = OP_CALL;
    uint8_t *o = p->out;
    o = put_op(o, kind, n);
    o = record_put_site(r, o);
    if (kind == OP_CALL) {
        o = record_put_target(r, o);
        r->pending = PENDING_NONE;
        p->has |= QUERN_HAS_CALL;
        for (size_t i = 0; i < n; i++)
            o = put_varint(o, plain[i]);
    } else {
        for (size_t i = 0; i < n; i++) {
            o = put_varint(o, plain[i]);
            sum[i] += plain[i];
        }
        if (n > r->sum_widest)
            r->sum_widest = n;
    }
    p->out = o;
    p->record_count++;
    r->part_body = true;
    return s + 1;
}

// The columns before the counts that plain_lines() knows.
enum layout { LAYOUT_OTHER, LAYOUT_LINE, LAYOUT_ADDR, LAYOUT_ADDR_LINE };

static enum layout layout_of(const struct reader *r)
{
    if (!r->identity || !r->map_count || r->map_count >= OP_COUNT_MORE)
        return LAYOUT_OTHER;
    if (r->col_count == 1 && r->mask == QUERN_HAS_LINE)
        return LAYOUT_LINE;
    if (r->col_count == 1 && r->mask == QUERN_HAS_ADDR)
        return LAYOUT_ADDR;
    if (r->col_count == 2 && r->mask == (QUERN_HAS_ADDR | QUERN_HAS_LINE) && r->col[0] == COL_ADDR)
        return LAYOUT_ADDR_LINE;
    return LAYOUT_OTHER;
}

// A column and the blank after it: advances *pos and writes the difference. NULL: not plain. @hot
static inline __attribute__((always_inline)) const char *plain_column(const char *s, uint64_t *pos,
                                                                      uint64_t *zigzag)
{
    uint64_t before = *pos, d;
    bool ok = true;

    if (*s == '*') {
        *zigzag = 0;
        return s[1] == ' ' ? s + 2 : NULL;
    }
    if (*s == '+' && (d = (unsigned char)(s[1] - '0')) < 10 && s[2] == ' ') {
        *zigzag = d << 1;
        *pos = before + d;
        return s + 3;
    }
    s = position_fast(s, pos, &ok);
    if (!ok || *s != ' ')
        return NULL;
    d = *pos - before;
    *zigzag = d << 1 ^ (0 - (d >> 63));
    return s + 1;
}

// A plain line: adds its counts from s on to sum and writes them to *out; *n: their number. Returns
// the newline after them, or NULL with nothing added. @hot
static inline __attribute__((always_inline)) const char *plain_counts(const char *s, size_t max,
                                                                      quern_count *sum,
                                                                      uint8_t **out, size_t *n)
{
    const uint8_t *added = *out;
    uint8_t *o = *out;
    bool ok = true;
    uint64_t v;
    size_t k = 0;

    while (k < max && (v = (unsigned char)(*s - '0')) < 10) {
        if (s[1] == ' ') { // three in four
            *o++ = (uint8_t)v;
            s += 2;
        } else {
            s = number_fast(s, &v, &ok);
            if (!ok)
                break;
            o = put_varint(o, v);
            if (*s == ' ')
                s++;
        }
        sum[k++] += v;
    }
    if (ok && k && *s == '\n') {
        *out = o;
        *n = k;
        return s;
    }
    for (size_t i = 0; i < k; i++) {
        added = get_varint(added, &v);
        sum[i] -= v;
    }
    return NULL;
}

// Plain cost lines, none of a call, from s to the first line that is something else, is not plain,
// or does not fit. *last: the start of the last of them, or NULL. The state of reader and profile
// is the same as if each line had been read alone. @hot
static inline __attribute__((always_inline)) const char *plain_lines_of(
    struct reader *r, const char *s, const char *end, const char **last, bool has_addr,
    bool has_line)
{
    struct quern_profile *p = r->p;
    uint64_t line = r->pos[COL_LINE], addr = r->pos[COL_ADDR], lines = 0;
    uint64_t line_zigzag = line - p->enc.line, addr_zigzag = addr - p->enc.addr;
    size_t max = r->map_count, widest = r->sum_widest, room = ROOM_NEEDED(max);
    const uint8_t *limit = p->out_end;
    quern_count *sum = r->sum;
    uint8_t *out = p->out;

    *last = NULL;
    // The differences in the text do not include the moves by jumps and calls.
    if (!out || (has_line && line_zigzag) || (has_addr && addr_zigzag))
        return s;
    while (s < end && cost_begins(*s) && (size_t)(limit - out) >= room) {
        uint64_t next_line = line, next_addr = addr;
        const char *t = s;
        uint8_t *o = out + 1;
        size_t n;

        if (has_addr && !(t = plain_column(t, &next_addr, &addr_zigzag)))
            break;
        if (has_line && !(t = plain_column(t, &next_line, &line_zigzag)))
            break;
        if (has_line)
            o = put_varint(o, line_zigzag);
        if (has_addr)
            o = put_varint(o, addr_zigzag);
        if (!(t = plain_counts(t, max, sum, &o, &n)))
            break;
        *out = (uint8_t)(OP_COST | n << OP_COUNT_SHIFT);
        out = o;
        line = next_line;
        addr = next_addr;
        widest = widest < n ? n : widest;
        lines++;
        *last = s;
        s = t + 1;
    }
    if (!lines)
        return s;
    r->line += lines - 1; // the caller has counted the first
    r->sum_widest = widest;
    r->part_body = true;
    if (has_line)
        r->pos[COL_LINE] = p->enc.line = line;
    if (has_addr)
        r->pos[COL_ADDR] = p->enc.addr = addr;
    p->out = out;
    p->record_count += lines;
    return s;
}

static const char *plain_lines(struct reader *r, const char *s, const char *end, const char **last)
{
    *last = NULL;
    if (r->pending != PENDING_NONE || r->dirty)
        return s;
    switch (layout_of(r)) {
    case LAYOUT_LINE: return plain_lines_of(r, s, end, last, false, true);
    case LAYOUT_ADDR: return plain_lines_of(r, s, end, last, true, false);
    case LAYOUT_ADDR_LINE: return plain_lines_of(r, s, end, last, true, true);
    case LAYOUT_OTHER: break;
    }
    return s;
}

// After a jump the line with its place: "* *" or "*" if that is the place of the line before,
// "* 0 " where no lines are known. Returns the byte after its newline, or NULL for cost_line().
static const char *jump_place(struct reader *r, const char *s)
{
    uint64_t pos[COLUMNS_MAX];
    bool ok = true;

    if (!r->map_count)
        return NULL;
    memcpy(pos, r->pos, sizeof(pos));
    for (unsigned i = 0; i < r->col_count; i++) {
        s = position_fast(s, &pos[r->col[i]], &ok);
        if (*s == ' ')
            s++;
        else if (i + 1 < r->col_count)
            return NULL;
    }
    if (!ok || *s != '\n')
        return NULL;
    memcpy(r->pos, pos, sizeof(pos));
    record_finish_pending(r);
    return s + 1;
}

// The counts of a line, summed by event in r->wide. *present: bit i is event i. Returns how many
// events have or could have a count: later ones have none.
static size_t get_counts(struct reader *r, const char *s, const char *end, uint64_t *present)
{
    size_t n = 0, used = 0;

    *present = 0;
    for (size_t i = 0; i < r->p->event_count; i++)
        r->wide[i] = 0;
    for (; s < end; s = position_blanks(r, s, end), n++) {
        if (n == r->map_count) {
            remark(r, DIAG_TOO_MANY, s, "more counts than events; the rest is ignored");
            break;
        }
        uint32_t event = r->map[n];
        quern_count nano;
        if (used < event + 1)
            used = event + 1;
        if (event < 64 && *s != '.')
            *present |= (uint64_t)1 << event;
        if (!(s = number_count(r, s, end, &nano, event)))
            break;
        r->wide[event] += nano;
    }
    if (n == 0)
        remark(r, DIAG_NO_COUNTS, r->bol, "cost line without a count");
    return used;
}

// Writes the record of a line with these counts; that of a call if one is pending.
static void put_counts(struct reader *r, size_t used, uint64_t present)
{
    struct quern_profile *p = r->p;
    unsigned special = 0, kind = OP_COST;

    for (size_t i = 0; i < p->event_count; i++)
        if (r->wide[i] < 0 || r->wide[i] % NANO != 0 || r->wide[i] / NANO > UINT64_MAX)
            special = OP_SPECIAL;
    if (!record_room(r, used))
        return;
    if (r->pending == PENDING_CALL) {
        kind = OP_CALL;
        p->has |= QUERN_HAS_CALL;
    } else if (used < 64 && present != ((uint64_t)1 << used) - 1) {
        kind = OP_DOTTED;
    }
    uint8_t *o = put_op(p->out, kind | special, used);
    o = record_put_site(r, o);
    if (kind == OP_CALL)
        o = record_put_target(r, o);
    else if (kind == OP_DOTTED)
        o = put_varint(o, present);
    for (size_t i = 0; i < used; i++) {
        o = special ? put_varint_wide(o, r->wide[i]) : put_varint(o, (uint64_t)(r->wide[i] / NANO));
        if (kind != OP_CALL)
            p->total_nano[i] += r->wide[i];
    }
    p->out = o;
    if (kind != OP_CALL && p->rows) {
        if (special)
            self_drop(p);
        for (size_t i = 0; i < used; i++)
            r->wide[i] /= NANO;
        self_keep(p, p->enc.func, p->enc.file, kind == OP_COST ? self_present(used) : present,
                  r->wide, used);
    }
    p->record_count++;
    r->pending = PENDING_NONE;
    r->part_body = true;
}

void cost_line(struct reader *r, const char *s, const char *end)
{
    uint64_t pos[COLUMNS_MAX], present;

    if (r->map_count == 0) {
        remark(r, DIAG_COST_BEFORE_EVENTS, s, "cost line before any 'events:' line; ignored");
        return;
    }
    if (end > s && end[-1] == '\r')
        end--;
    memcpy(pos, r->pos, sizeof(pos));
    for (unsigned i = 0; i < r->col_count; i++) {
        const char *q = s < end ? position_any(r, s, end, &pos[r->col[i]]) : NULL;
        if (!q) {
            remark(r, DIAG_BAD_NUMBER, s, "a position was expected here; line ignored");
            return;
        }
        s = position_blanks(r, q, end);
    }
    if (r->pending == PENDING_JUMP) {
        if (s == end) { // Callgrind's form: the jump's own place on a line of its own
            memcpy(r->pos, pos, sizeof(pos));
            record_finish_pending(r);
            return;
        }
        remark(r, DIAG_JUMP_FORM, r->bol, "jump without a position line of its own");
        record_finish_pending(r);
    }
    memcpy(r->pos, pos, sizeof(pos));
    size_t used = get_counts(r, s, end, &present);
    if (r->stop == 0 && (!r->dirty || record_resolve(r)))
        put_counts(r, used, present);
}

const char *cost_lines(struct reader *r, const char *s, const char *end)
{
    for (;;) {
        const char *next = NULL, *last = NULL;
        if (__builtin_expect(r->fast, 1)) {
            next = plain_lines(r, s, end, &last);
            if (last)
                r->bol = last;
            else
                next = r->pending == PENDING_JUMP ? jump_place(r, s) : fast_cost(r, s);
        }
        if (__builtin_expect(!next, 0)) {
            const char *eol = memchr(s, '\n', (size_t)(end - s));
            cost_line(r, s, eol);
            next = eol + 1;
        }
        s = next;
        if (s == end || !cost_begins(*s) || r->stop != 0)
            return s;
        r->bol = s;
        r->line++;
    }
}

// Sets bit 7 of each of the eight bytes at s that is a newline.
static inline uint64_t newlines(const char *s)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t x;

    memcpy(&x, s, sizeof(x));
    x ^= 0x0a0a0a0a0a0a0a0au;
    return ~(((x & low) + low) | x | low);
}

// Returns the byte after the next newline.
static inline const char *next_line(const char *s)
{
    uint64_t found;

    for (; !(found = newlines(s)); s += sizeof(found))
        ;
    return s + __builtin_ctzll(found) / 8 + 1;
}

// Gives the lines after s their function, without their records. False: the line at s is for
// cost_line().
static bool belongs(struct reader *r)
{
    if (!r->map_count || (r->dirty && !record_resolve(r)))
        return false;
    r->pending = PENDING_NONE;
    r->part_body = true;
    return true;
}

// Plain cost lines without their counts: from s to the first line that is something else or not
// plain. *last: the start of the last of them, or NULL. @hot
static const char *follow_plain(struct reader *r, const char *s, const char *end, const char **last)
{
    struct place *enc = &r->p->enc;
    uint64_t pos[COLUMNS_MAX], next[COLUMNS_MAX];
    uint64_t lines = 0;
    bool ok = true;

    memcpy(pos, r->pos, sizeof(pos));
    *last = NULL;
    while (s < end && cost_begins(*s)) {
        const char *t = s;
        memcpy(next, pos, sizeof(pos));
        for (unsigned i = 0; i < r->col_count; i++) {
            t = position_fast(t, &next[r->col[i]], &ok);
            ok &= *t == ' ';
            if (!ok)
                break;
            t++;
        }
        if (!ok || !is_digit(*t))
            break;
        memcpy(pos, next, sizeof(pos));
        *last = s;
        lines++;
        s = next_line(t);
    }
    if (!lines)
        return s;
    r->line += lines - 1; // the caller has counted the first
    memcpy(r->pos, pos, sizeof(pos));
    if (r->mask & QUERN_HAS_LINE)
        enc->line = pos[COL_LINE];
    if (r->mask & QUERN_HAS_ADDR)
        enc->addr = pos[COL_ADDR];
    if (r->mask & QUERN_HAS_BB)
        enc->bb = pos[COL_BB];
    return s;
}

const char *cost_follow(struct reader *r, const char *s, const char *end)
{
    for (;;) {
        const char *next = NULL, *last;
        if (r->pending == PENDING_JUMP) {
            next = jump_place(r, s);
        } else if (belongs(r)) {
            next = follow_plain(r, s, end, &last);
            if (last)
                r->bol = last;
            else
                next = NULL;
        }
        if (!next && r->stop == 0) {
            const char *eol = memchr(s, '\n', (size_t)(end - s));
            cost_line(r, s, eol);
            next = eol + 1;
        }
        if (r->stop != 0)
            return s;
        s = next;
        if (s == end || !cost_begins(*s))
            return s;
        r->bol = s;
        r->line++;
    }
}

const char *cost_pass(struct reader *r, const char *s, const char *end)
{
    if (!belongs(r))
        return cost_follow(r, s, end);
    for (;; s += sizeof(uint64_t))
        for (uint64_t found = newlines(s); found; found &= found - 1) {
            const char *next = s + __builtin_ctzll(found) / 8 + 1;
            if (next == end || !cost_begins(*next))
                return next;
            r->line++;
        }
}
