// SPDX-License-Identifier: MIT
//
// Header lines. Cold: a well-formed file has a few dozen.
#include "profile/read/header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/events.h"
#include "profile/model/parts.h"
#include "profile/model/text.h"
#include "profile/read/number.h"
#include "profile/read/part.h"
#include "profile/read/record.h"

// A copy, which the caller frees; NULL: no memory, and r->stop is set.
static char *copy(struct reader *r, const char *s, const char *end)
{
    char *d = text_dup(s, (size_t)(end - s));

    if (!d)
        r->stop = -ENOMEM;
    return d;
}

// If it is not a number, *out and *has do not change.
static void header_number(struct reader *r, const char *s, const char *end, uint64_t *out,
                          bool *has)
{
    s = skip_blanks(s, end);
    quern_count v;
    const char *q = s < end ? number_any(r, s, end, &v) : NULL;
    if (!q || skip_blanks(q, end) != end || v < 0 || v / NANO > UINT64_MAX) {
        remark(r, DIAG_BAD_HEADER_NUMBER, s, "a number was expected here");
        return;
    }
    *has = true;
    *out = (uint64_t)(v / NANO);
}

// One name of an 'events:' line; false: no more are read.
static bool header_event_name(struct reader *r, const char *s, const char *e)
{
    struct quern_profile *p = r->p;
    char *name = copy(r, s, e);

    if (!name)
        return false;
    for (char *c = name; c < name + (e - s); c++) {
        if (!*c)
            remark(r, DIAG_NUL, s + (c - name), "NUL byte in the name of an event");
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?'; // so that it can be shown and written
    }
    int n = events_add(p, name, (size_t)(e - s));
    free(name);
    if (n < 0) {
        r->stop = n;
        return false;
    }
    for (size_t i = 0; i < r->map_count; i++)
        if (r->map[i] == (uint32_t)n)
            remark(r, DIAG_EVENT_TWICE, s, "event %s named twice: its counts are added",
                   p->event[n].name);
    uint32_t *m = realloc(r->map, (r->map_count + 1) * sizeof(*m));
    if (!m) {
        r->stop = -ENOMEM;
        return false;
    }
    r->map = m;
    if ((size_t)n != r->map_count)
        r->identity = false;
    m[r->map_count++] = (uint32_t)n;
    if (r->map_count > EVENTS_MAX) {
        r->stop = -E2BIG;
        return false;
    }
    return true;
}

static void header_events(struct reader *r, const char *s, const char *end)
{
    struct quern_profile *p = r->p;
    size_t known = p->event_count;

    if (r->part_events) {
        if (r->part_body || r->map_count) {
            remark(r, DIAG_SECOND_EVENTS, r->bol, "second 'events:' line: a new part begins");
            part_begin(r);
            if (r->stop)
                return;
        }
    }
    r->map_count = 0;
    r->identity = true;
    for (s = skip_blanks(s, end); s < end; s = skip_blanks(s, end)) {
        const char *e = s;
        while (e < end && !is_blank(*e))
            e++;
        if (!header_event_name(r, s, e))
            return;
        s = e;
    }
    if (!r->map_count)
        remark(r, DIAG_EVENTS_EMPTY, r->bol, "no event is named");
    if (part_prepare_counts(r) < 0) {
        r->stop = -ENOMEM;
        return;
    }
    memset(r->frac + known, 0, p->event_count - known);
    for (size_t i = known; i < p->event_count; i++)
        r->base[i] = r->base_nano[i] = 0;
    r->part_events = true;
    r->plain_names = !r->callgrind && parts_have_description(p);
}

static void header_positions(struct reader *r, const char *s, const char *end)
{
    static const struct {
        const char *name;
        enum column col;
    } names[] = {
        { "line", COL_LINE }, { "instr", COL_ADDR }, { "addr", COL_ADDR }, { "bb", COL_BB }
    };

    r->col_count = 0;
    r->mask = 0;
    for (s = skip_blanks(s, end); s < end; s = skip_blanks(s, end)) {
        const char *e = s;
        enum column col = COL_UNKNOWN;
        while (e < end && !is_blank(*e))
            e++;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            if (strlen(names[i].name) == (size_t)(e - s) && memcmp(names[i].name, s, e - s) == 0)
                col = names[i].col;
        if (col == COL_UNKNOWN)
            remark(r, DIAG_POSITIONS_UNKNOWN, s, "unknown position '%.*s': its column is skipped",
                   (int)(e - s > 40 ? 40 : e - s), s);
        if (r->col_count && (col == COL_ADDR || (col == COL_BB && r->col[0] == COL_LINE)))
            remark(r, DIAG_POSITIONS_ORDER, s,
                   "positions out of the usual order (instr bb line): read as written");
        if (r->col_count < COLUMNS_MAX)
            r->col[r->col_count++] = col;
        s = e;
    }
    if (!r->col_count)
        r->col[r->col_count++] = COL_LINE;
    for (unsigned i = 0; i < r->col_count; i++)
        r->mask |= r->col[i] == COL_LINE   ? QUERN_HAS_LINE
                   : r->col[i] == COL_ADDR ? QUERN_HAS_ADDR
                   : r->col[i] == COL_BB   ? QUERN_HAS_BB
                                           : 0;
    r->dirty = true;
    r->callgrind = true;
}

// event: NAME [= formula] [: long name]
static void header_event(struct reader *r, const char *s, const char *end)
{
    char *formula = NULL, *e;

    s = skip_blanks(s, end);
    char *text;
    if (!(text = copy(r, s, end)))
        return;
    char *name = text;
    char *long_name = strchr(text, ':');
    if (long_name) {
        *long_name++ = 0;
        long_name += strspn(long_name, " \t");
    }
    formula = strchr(text, '=');
    if (formula) {
        *formula++ = 0;
        formula += strspn(formula, " \t");
        e = formula + strlen(formula);
        while (e > formula && is_blank(e[-1]))
            *--e = 0;
        if (!*formula)
            formula = NULL;
    }
    e = name + strlen(name);
    while (e > name && is_blank(e[-1]))
        *--e = 0;
    if (*name) {
        int rc = events_define(r->p, name, formula, long_name && *long_name ? long_name : NULL);
        if (rc < 0)
            r->stop = rc;
    } else {
        remark(r, DIAG_BAD_FORMULA, s, "an event name was expected here");
    }
    free(text);
}

static void header_sums(struct reader *r, const char *s, const char *end, quern_count **sums,
                        size_t *count, uint64_t *line)
{
    size_t n = 0;

    if (!r->map_count) {
        remark(r, DIAG_COST_BEFORE_EVENTS, s, "counts before the 'events:' line are ignored");
        return;
    }
    quern_count *v;
    if (!(v = calloc(r->map_count, sizeof(*v)))) {
        r->stop = -ENOMEM;
        return;
    }
    for (s = skip_blanks(s, end); s < end; s = skip_blanks(s, end)) {
        quern_count x;
        const char *start = s;
        if (*s == '.' && (s + 1 == end || is_blank(s[1]))) {
            x = 0;
            s++;
        } else {
            s = number_any(r, s, end, &x);
        }
        if (!s || (s < end && !is_blank(*s))) {
            remark(r, DIAG_BAD_NUMBER, start, "not a number; the rest of the line is ignored");
            break;
        }
        if (n == r->map_count) {
            remark(r, DIAG_TOO_MANY, start, "more counts than events");
            break;
        }
        v[n++] = x;
    }
    free(*sums);
    *sums = v;
    *count = r->map_count;
    *line = r->line;
}

enum key {
    K_NONE,
    K_VERSION,
    K_CREATOR,
    K_CMD,
    K_PID,
    K_THREAD,
    K_PART,
    K_DESC,
    K_POSITIONS,
    K_EVENT,
    K_EVENTS,
    K_SUMMARY,
    K_TOTALS,
    K_ARCH
};

static enum key find_key(const char *s, size_t n)
{
    static const struct {
        const char *name;
        enum key key;
    } keys[] = { { "version", K_VERSION }, { "creator", K_CREATOR },     { "cmd", K_CMD },
                 { "pid", K_PID },         { "thread", K_THREAD },       { "part", K_PART },
                 { "desc", K_DESC },       { "positions", K_POSITIONS }, { "event", K_EVENT },
                 { "events", K_EVENTS },   { "summary", K_SUMMARY },     { "totals", K_TOTALS },
                 { "arch", K_ARCH } };

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strlen(keys[i].name) == n && memcmp(keys[i].name, s, n) == 0)
            return keys[i].key;
    return K_NONE;
}

void header_junk(struct reader *r, const char *s, size_t n)
{
    if (n >= 4 && memcmp(s, "====", 4) == 0)
        remark(r, DIAG_SEPARATOR, s, "a separator between glued profiles");
    else if (!r->any_header)
        remark(r, DIAG_TEXT_BEFORE, s, "text before the first header line");
    else
        remark(r, DIAG_JUNK, s, "not a line of the format; ignored");
}

// A header must be at its place or begin a part; otherwise makes a remark. s: its line.
static void place_header(struct reader *r, enum key key, const char *s)
{
    bool anywhere = key == K_SUMMARY || key == K_TOTALS || key == K_EVENTS;

    if (r->part_body && (key == K_VERSION || key == K_THREAD || key == K_PART || key == K_PID))
        part_begin(r);
    else if (r->part_body && !anywhere)
        remark(r, DIAG_HEADER_IN_BODY, s, "header line among the costs");
    else if (r->part_events && !anywhere)
        remark(r, DIAG_HEADER_AFTER_EVENTS, s,
               "header line after 'events:', which should be the last");
}

static void header_text(struct reader *r, char **field, const char *s, const char *end)
{
    char *text = copy(r, skip_blanks(s, end), end);

    if (!text)
        return;
    free(*field);
    *field = text;
}

static void header_version(struct reader *r, const char *s, const char *end)
{
    uint64_t version = 0;
    bool has = false;

    header_number(r, s, end, &version, &has);
    if (version > 1)
        remark(r, DIAG_VERSION, s, "version above 1: read as if it were 1");
}

// The text after the colon.
static void take_header(struct reader *r, enum key key, const char *s, const char *end)
{
    struct part *part = &r->p->part[r->p->part_count - 1];
    int rc = 0;

    r->callgrind |= key == K_VERSION || key == K_CREATOR || key == K_EVENT;
    switch (key) {
    case K_VERSION: header_version(r, s, end); break;
    case K_CREATOR: header_text(r, &part->creator, s, end); break;
    case K_CMD: header_text(r, &part->cmd, s, end); break;
    case K_PID: header_number(r, s, end, &part->pid, &part->has_pid); break;
    case K_THREAD: header_number(r, s, end, &part->thread, &part->has_thread); break;
    case K_PART: header_number(r, s, end, &part->part, &part->has_part); break;
    case K_DESC:
        s = skip_blanks(s, end);
        rc = parts_add_desc(r->p, s, (size_t)(end - s));
        break;
    case K_POSITIONS: header_positions(r, s, end); break;
    case K_EVENT: header_event(r, s, end); break;
    case K_EVENTS: header_events(r, s, end); break;
    case K_SUMMARY: header_sums(r, s, end, &r->summary, &r->summary_count, &r->summary_line); break;
    case K_TOTALS: header_sums(r, s, end, &r->totals, &r->totals_count, &r->totals_line); break;
    case K_ARCH:
    case K_NONE: break;
    }
    if (rc < 0)
        r->stop = rc;
}

void header_line(struct reader *r, const char *s, size_t n)
{
    const char *end = s + n, *v = s;

    while (v < end && ((*v | 0x20) >= 'a' && (*v | 0x20) <= 'z'))
        v++;
    size_t word = (size_t)(v - s);
    enum key key = find_key(s, word);
    if (word == 0 || v == end ||
        (*v != ':' && (*v != '=' || word < 6 || memcmp(s, "totals", 6) != 0))) {
        header_junk(r, s, n);
        return;
    }
    if (key == K_NONE && !r->any_header) {
        header_junk(r, s, n);
        return;
    }
    if (key == K_NONE) {
        remark(r, DIAG_UNKNOWN_HEADER, s, "unknown header '%.*s:'; ignored",
               (int)(word > 40 ? 40 : word), s);
        return;
    }
    bool sums = key == K_SUMMARY || key == K_TOTALS;
    if (r->half && (r->follows ? r->part_body : !sums)) {
        r->stop = -EAGAIN; // only the first of the pair handles parts
        return;
    }
    if (*v == '=')
        remark(r, DIAG_TOTALS_EQUALS, v, "'totals=' instead of 'totals:'");
    r->any_header = true;
    record_finish_pending(r);
    if (r->stop == 0)
        place_header(r, key, s);
    if (r->stop == 0)
        take_header(r, key, v + 1, end);
}
