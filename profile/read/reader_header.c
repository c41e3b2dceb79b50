// SPDX-License-Identifier: MIT
//
// The rare part of reading: headers, remarks, totals, and numbers that are not plain decimal. Cold:
// a well-formed file comes here a few dozen times. Called by reader.c only.
#include "profile/read/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind;
    enum quern_severity severity;
} diag_table[DIAG_COUNT] = {
#define DIAG(name, text, sev) [DIAG_##name] = { text, QUERN_##sev },
#include "profile/read/diag.def"
#undef DIAG
};

// The line as a string of at most max bytes, NUL bytes shown as '?'.
static size_t line_text(const struct reader *r, char *out, size_t max)
{
    const char *s = r->bol;
    size_t n = 0;

    if (s) {
        while (n < max && s[n] != '\n') {
            out[n] = s[n] ? s[n] : '?';
            n++;
        }
        if (n && n < max && out[n - 1] == '\r')
            n--;
    }
    out[n] = 0;
    return n;
}

void reader_diag(struct reader *r, enum diag_kind kind, const char *at, const char *fmt, ...)
{
    struct quern_diag d = { .severity = diag_table[kind].severity,
                            .kind = diag_table[kind].kind,
                            .count = 1 };
    struct quern_profile *p = r->p;
    char msg[512], text[256];
    va_list ap;
    int first = !r->diag_slot[kind];

    if (!first)
        p->diag[r->diag_slot[kind] - 1].count++;
    if (r->stop || (!first && !(r->opts->every_diag && r->opts->diag)))
        return;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    d.msg = msg;
    d.line = r->bol ? r->line : r->at_line;
    d.col = r->bol && at && at >= r->bol ? (uint32_t)(at - r->bol) + 1 : 0;
    line_text(r, text, 200);
    d.text = text;
    d.file = NULL;
    if (first) {
        struct quern_diag *q = realloc(p->diag, (p->diag_count + 1) * sizeof(*q));
        if (!q) {
            r->stop = -ENOMEM;
            return;
        }
        p->diag = q;
        q += p->diag_count;
        *q = d;
        q->msg = profile_dup(msg, strlen(msg));
        q->text = profile_dup(text, strlen(text));
        p->diag_count++;
        r->diag_slot[kind] = p->diag_count;
        if (!q->msg || !q->text) {
            r->stop = -ENOMEM;
            return;
        }
    }
    d.file = r->name;
    if (r->opts->diag)
        r->opts->diag(r->opts->diag_ctx, &d);
    if (r->opts->strict && d.severity != QUERN_NOTE) {
        r->stop = -EBADMSG;
        quern_error_set(r->err, EBADMSG, r->name, "%s", msg);
        if (r->err) {
            r->err->line = d.line;
            r->err->col = d.col;
            snprintf(r->err->text, sizeof(r->err->text), "%s", text);
        }
    }
}

// ---- Numbers ----

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Largest magnitude kept, 10^20: above 2^64, and 10^9 records of it in units of 10^-9 still sum to
// less than 2^127.
#define WIDE_MAX ((quern_count)1000000000000000000 * 100 * NANO)

const char *reader_number(struct reader *r, const char *s, const char *end, quern_count *nano)
{
    const char *start = s;
    quern_count v = 0;
    int neg = 0, digits = 0, over = 0, lost = 0, exponent = 0;
    int point = -1; // digits after the point so far, -1 before it

    if (s < end && (*s == '-' || *s == '+'))
        neg = *s++ == '-';
    if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' && hex_digit(s[2]) >= 0) {
        for (s += 2; s < end && hex_digit(*s) >= 0; s++) {
            if (v > WIDE_MAX / NANO / 16 - 1)
                over = 1;
            else
                v = v * 16 + hex_digit(*s);
        }
        v *= NANO;
        reader_diag(r, DIAG_HEX_COUNT, start, "hexadecimal count");
    } else {
        // v collects the digits; only 9 of those behind the point are kept
        for (; s < end; s++) {
            if (*s == '.' && point < 0) {
                point = 0;
                continue;
            }
            if (!is_digit(*s))
                break;
            digits++;
            if (point >= 9 || over) {
                lost |= *s != '0';
                continue;
            }
            if (v > WIDE_MAX / 10 - 1)
                over = 1;
            else
                v = v * 10 + (*s - '0');
            if (point >= 0)
                point++;
        }
        if (!digits)
            return NULL;
        if (s < end && (*s | 0x20) == 'e' && end - s > 1 &&
            (is_digit(s[1]) || (end - s > 2 && (s[1] == '-' || s[1] == '+') && is_digit(s[2])))) {
            int eneg = 0;
            s++;
            if (*s == '-' || *s == '+')
                eneg = *s++ == '-';
            for (; s < end && is_digit(*s); s++)
                if (exponent < 10000)
                    exponent = exponent * 10 + (*s - '0');
            if (eneg)
                exponent = -exponent;
        }
        // v * 10^(9 - point + exponent)
        int scale = 9 - (point > 0 ? point : 0) + exponent;
        for (; scale > 0 && v && !over; scale--) {
            if (v > WIDE_MAX / 10)
                over = 1;
            else
                v *= 10;
        }
        for (; scale < 0 && v; scale++) {
            lost |= v % 10 != 0;
            v /= 10;
        }
    }
    if (over) {
        reader_diag(r, DIAG_TOO_LARGE, start, "number too large: taken as 10^20");
        v = WIDE_MAX;
    } else if (lost) {
        reader_diag(r, DIAG_ROUNDED, start, "fraction cut to nine digits");
    }
    *nano = neg ? -v : v;
    return s;
}

const char *reader_count(struct reader *r, const char *s, const char *end, quern_count *nano,
                         uint32_t event)
{
    const char *start = s;

    if (*s == '.' && (s + 1 == end || is_blank(s[1]))) {
        *nano = 0;
        reader_diag(r, DIAG_DOT_COUNT, s, "'.' for a zero count");
        return s + 1;
    }
    s = reader_number(r, s, end, nano);
    if (!s || (s < end && !is_blank(*s))) {
        reader_diag(r, DIAG_BAD_NUMBER, start, "not a number; the rest of the line is ignored");
        return NULL;
    }
    if (*nano < 0)
        reader_diag(r, DIAG_NEGATIVE, start, "negative count");
    if (*nano % NANO) {
        reader_diag(r, DIAG_FRACTION, start, "count with a fraction");
        if (event < r->p->event_count)
            r->frac[event] = 1;
    }
    return s;
}

// ---- Header lines ----

static const char *skip_blanks(const char *s, const char *end)
{
    while (s < end && is_blank(*s))
        s++;
    return s;
}

static char *text_dup(struct reader *r, const char *s, const char *end)
{
    char *d = profile_dup(s, (size_t)(end - s));
    if (!d)
        r->stop = -ENOMEM;
    return d;
}

static uint64_t header_number(struct reader *r, const char *s, const char *end, int *has)
{
    s = skip_blanks(s, end);
    quern_count v;
    const char *q = s < end ? reader_number(r, s, end, &v) : NULL;
    if (!q || skip_blanks(q, end) != end || v < 0 || v / NANO > UINT64_MAX) {
        reader_diag(r, DIAG_BAD_HEADER_NUMBER, s, "a number was expected here");
        return 0;
    }
    *has = 1;
    return (uint64_t)(v / NANO);
}

// Totals as they stand now become the start of the next part.
static void mark_base(struct reader *r)
{
    for (size_t i = 0; i < r->p->event_count; i++) {
        r->base[i] = r->p->total[i];
        r->base_nano[i] = r->p->total_nano[i];
    }
}

static void check_totals(struct reader *r, const char *what, const quern_count *written, size_t n,
                         uint64_t line, int in_header)
{
    const struct quern_profile *p = r->p;
    const char *bol = r->bol;
    char a[64], b[64];

    r->bol = NULL;
    r->at_line = line;
    for (size_t i = 0; i < n && i < r->map_count; i++) {
        uint32_t e = r->map[i];
        quern_count sum = (p->total[e] - r->base[e]) * NANO + p->total_nano[e] - r->base_nano[e];
        if (sum == written[i])
            continue;
        quern_count_format(a, sizeof(a), written[i], NANO);
        quern_count_format(b, sizeof(b), sum, NANO);
        if (in_header && written[i] / NANO > INT64_MAX)
            reader_diag(r, DIAG_SUMMARY_WRAPPED, NULL,
                        "%s of %s is %s, which wrapped below zero; the lines sum to %s", what,
                        p->event[e].name, a, b);
        else if (in_header && written[i] > sum && !r->totals && p->part[0].creator &&
                 strncmp(p->part[0].creator, "callgrind-", 10) == 0)
            // Callgrind ends each part with its totals.
            reader_diag(
                r, DIAG_CUT_OFF, NULL,
                "%s of %s is %s, the lines sum to only %s, and no 'totals:' line follows them: the "
                "file may have been cut off",
                what, p->event[e].name, a, b);
        else if (in_header && r->callgrind && written[i] > sum)
            reader_diag(r, DIAG_SUMMARY_LARGER, NULL, "%s of %s is %s, the lines sum to only %s",
                        what, p->event[e].name, a, b);
        else
            reader_diag(r, in_header && r->callgrind ? DIAG_SUMMARY_MISMATCH : DIAG_TOTALS_MISMATCH,
                        NULL, "%s of %s is %s, but the lines sum to %s", what, p->event[e].name, a,
                        b);
        break;
    }
    r->bol = bol;
    r->at_line = 0;
}

void reader_end_part(struct reader *r)
{
    reader_finish_pending(r);
    if (r->summary)
        check_totals(r, "summary", r->summary, r->summary_count, r->summary_line, 1);
    if (r->totals)
        check_totals(r, "totals", r->totals, r->totals_count, r->totals_line, 0);
    if (!r->callgrind && r->part_body && !r->summary && !r->totals) {
        const char *bol = r->bol;
        r->bol = NULL;
        reader_diag(r, DIAG_SUMMARY_MISSING, NULL,
                    "no 'summary:' line: the file may have been cut off");
        r->bol = bol;
    }
    free(r->summary);
    free(r->totals);
    r->summary = r->totals = NULL;
    mark_base(r);
}

static void new_part(struct reader *r)
{
    reader_end_part(r);
    if (profile_part_add(r->p) < 0) {
        r->stop = -ENOMEM;
        return;
    }
    r->part_body = r->part_events = 0;
    memset(r->pos, 0, sizeof(r->pos));
    r->ob = r->fl = r->src = r->fn = QUERN_NONE;
    r->cob = r->cfl = r->cfn = r->jfl = r->jfn = QUERN_NONE;
    r->dirty = 1;
}

int reader_prepare_counts(struct reader *r)
{
    size_t n = r->p->event_count > r->map_count ? r->p->event_count : r->map_count;
    void *q;

    n++;
#define GROW(field)                                          \
    do {                                                     \
        if (!(q = realloc(r->field, n * sizeof(*r->field)))) \
            return -ENOMEM;                                  \
        r->field = q;                                        \
    } while (0)
    GROW(plain);
    GROW(wide);
    GROW(frac);
    GROW(base);
    GROW(base_nano);
#undef GROW
    return 0;
}

static void header_events(struct reader *r, const char *s, const char *end)
{
    struct quern_profile *p = r->p;
    size_t known = p->event_count;

    if (r->part_events) {
        if (r->part_body || r->map_count) {
            reader_diag(r, DIAG_SECOND_EVENTS, r->bol, "second 'events:' line: a new part begins");
            new_part(r);
            if (r->stop)
                return;
        }
    }
    r->map_count = 0;
    r->identity = 1;
    for (s = skip_blanks(s, end); s < end; s = skip_blanks(s, end)) {
        const char *e = s;
        while (e < end && !is_blank(*e))
            e++;
        char *name = text_dup(r, s, e);
        if (!name)
            return;
        for (char *c = name; c < name + (e - s); c++) {
            if (!*c)
                reader_diag(r, DIAG_NUL, s + (c - name), "NUL byte in the name of an event");
            if ((unsigned char)*c < 0x20 || *c == 0x7f)
                *c = '?'; // so that it can be shown and written
        }
        int n = profile_event_add(p, name, (size_t)(e - s));
        free(name);
        if (n < 0) {
            r->stop = n;
            return;
        }
        for (size_t i = 0; i < r->map_count; i++)
            if (r->map[i] == (uint32_t)n)
                reader_diag(r, DIAG_EVENT_TWICE, s, "event %s named twice: its counts are added",
                            p->event[n].name);
        uint32_t *m = realloc(r->map, (r->map_count + 1) * sizeof(*m));
        if (!m) {
            r->stop = -ENOMEM;
            return;
        }
        r->map = m;
        if ((size_t)n != r->map_count)
            r->identity = 0;
        m[r->map_count++] = (uint32_t)n;
        s = e;
        if (r->map_count > EVENTS_MAX) {
            r->stop = -E2BIG;
            return;
        }
    }
    if (!r->map_count)
        reader_diag(r, DIAG_EVENTS_EMPTY, r->bol, "no event is named");
    if (reader_prepare_counts(r) < 0) {
        r->stop = -ENOMEM;
        return;
    }
    memset(r->frac + known, 0, p->event_count - known);
    for (size_t i = known; i < p->event_count; i++)
        r->base[i] = r->base_nano[i] = 0;
    r->part_events = 1;
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
            reader_diag(r, DIAG_POSITIONS_UNKNOWN, s,
                        "unknown position '%.*s': its column is skipped",
                        (int)(e - s > 40 ? 40 : e - s), s);
        if (r->col_count && (col == COL_ADDR || (col == COL_BB && r->col[0] == COL_LINE)))
            reader_diag(r, DIAG_POSITIONS_ORDER, s,
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
    r->dirty = 1;
    r->callgrind = 1;
}

// event: NAME [= formula] [: long name]
static void header_event(struct reader *r, const char *s, const char *end)
{
    char *formula = NULL, *e;

    s = skip_blanks(s, end);
    char *text;
    if (!(text = text_dup(r, s, end)))
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
        int rc =
            profile_define_event(r->p, name, formula, long_name && *long_name ? long_name : NULL);
        if (rc < 0)
            r->stop = rc;
    } else {
        reader_diag(r, DIAG_BAD_FORMULA, s, "an event name was expected here");
    }
    free(text);
}

static void header_sums(struct reader *r, const char *s, const char *end, quern_count **sums,
                        size_t *count, uint64_t *line)
{
    size_t n = 0;

    if (!r->map_count) {
        reader_diag(r, DIAG_COST_BEFORE_EVENTS, s, "counts before the 'events:' line are ignored");
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
            s = reader_number(r, s, end, &x);
        }
        if (!s || (s < end && !is_blank(*s))) {
            reader_diag(r, DIAG_BAD_NUMBER, start, "not a number; the rest of the line is ignored");
            break;
        }
        if (n == r->map_count) {
            reader_diag(r, DIAG_TOO_MANY, start, "more counts than events");
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

void reader_junk(struct reader *r, const char *s, size_t n)
{
    if (n >= 4 && memcmp(s, "====", 4) == 0)
        reader_diag(r, DIAG_SEPARATOR, s, "a separator between glued profiles");
    else if (!r->any_header)
        reader_diag(r, DIAG_TEXT_BEFORE, s, "text before the first header line");
    else
        reader_diag(r, DIAG_JUNK, s, "not a line of the format; ignored");
}

void reader_header(struct reader *r, const char *s, size_t n)
{
    const char *end = s + n, *v = s;
    int has, rc = 0;
    char *text;

    while (v < end && ((*v | 0x20) >= 'a' && (*v | 0x20) <= 'z'))
        v++;
    if (v == s || v == end || (*v != ':' && !(*v == '=' && memcmp(s, "totals", 6) == 0))) {
        reader_junk(r, s, n);
        return;
    }
    enum key key = find_key(s, (size_t)(v - s));
    if (key == K_NONE) {
        if (!r->any_header)
            reader_junk(r, s, n);
        else
            reader_diag(r, DIAG_UNKNOWN_HEADER, s, "unknown header '%.*s:'; ignored",
                        (int)(v - s > 40 ? 40 : v - s), s);
        return;
    }
    if (*v == '=')
        reader_diag(r, DIAG_TOTALS_EQUALS, v, "'totals=' instead of 'totals:'");
    v++;
    r->any_header = 1;
    reader_finish_pending(r);
    if (r->stop)
        return;
    if (r->part_body && (key == K_VERSION || key == K_THREAD || key == K_PART || key == K_PID)) {
        new_part(r);
        if (r->stop)
            return;
    } else if (r->part_body && key != K_SUMMARY && key != K_TOTALS && key != K_EVENTS) {
        reader_diag(r, DIAG_HEADER_IN_BODY, s, "header line among the costs");
    } else if (r->part_events && key != K_SUMMARY && key != K_TOTALS && key != K_EVENTS) {
        reader_diag(r, DIAG_HEADER_AFTER_EVENTS, s,
                    "header line behind 'events:', which should be the last");
    }
    if (r->stop)
        return;
    struct part *part = &r->p->part[r->p->part_count - 1];
    switch (key) {
    case K_VERSION:
        r->callgrind = 1;
        has = 0;
        if (header_number(r, v, end, &has) > 1 && has)
            reader_diag(r, DIAG_VERSION, v, "version above 1: read as if it were 1");
        break;
    case K_CREATOR:
    case K_CMD:
        v = skip_blanks(v, end);
        if (!(text = text_dup(r, v, end)))
            break;
        if (key == K_CREATOR) {
            r->callgrind = 1;
            free(part->creator);
            part->creator = text;
        } else {
            free(part->cmd);
            part->cmd = text;
        }
        break;
    case K_PID: part->pid = header_number(r, v, end, &part->has_pid); break;
    case K_THREAD: part->thread = header_number(r, v, end, &part->has_thread); break;
    case K_PART: part->part = header_number(r, v, end, &part->has_part); break;
    case K_DESC:
        v = skip_blanks(v, end);
        rc = profile_desc_add(r->p, v, (size_t)(end - v));
        break;
    case K_POSITIONS: header_positions(r, v, end); break;
    case K_EVENT:
        r->callgrind = 1;
        header_event(r, v, end);
        break;
    case K_EVENTS: header_events(r, v, end); break;
    case K_SUMMARY: header_sums(r, v, end, &r->summary, &r->summary_count, &r->summary_line); break;
    case K_TOTALS: header_sums(r, v, end, &r->totals, &r->totals_count, &r->totals_line); break;
    case K_ARCH:
    case K_NONE: break;
    }
    if (rc < 0)
        r->stop = rc;
}
