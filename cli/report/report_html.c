// SPDX-License-Identifier: MIT
//
// The HTML file: the page, which the build embedded, with its marks filled in: the title, the
// content without JavaScript, the first block, the other blocks. All data of a profile is escaped
// here, or is base64.
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/report/report.h"

enum {
    FUNCTIONS = 50,  // rows of the table without JavaScript
    NAME_BYTES = 300 // of a name in it; the page itself shows whole names
};

// Symbols from `ld -r -b binary`; where the tools for the page were missing, their addresses are 0.
extern const char _binary_quern_page_html_start[] __attribute__((weak));
extern const char _binary_quern_page_html_end[] __attribute__((weak));
extern const char _binary_quern_reader_base64_start[] __attribute__((weak));
extern const char _binary_quern_reader_base64_end[] __attribute__((weak));

bool report_html_there(void)
{
    return _binary_quern_page_html_start != NULL;
}

bool report_html_reader(void)
{
    return _binary_quern_reader_base64_start != NULL;
}

size_t report_html_size(void)
{
    return (size_t)(_binary_quern_page_html_end - _binary_quern_page_html_start);
}

// ---- Text ----

// Length of the well-formed UTF-8 sequence at s, which has n bytes, or 0.
static size_t utf8(const unsigned char *s, size_t n)
{
    static const struct {
        unsigned char first, last, low, high;
        size_t size;
    } kind[] = {
        { 0x20, 0x7e, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
        if (s[0] < kind[i].first || s[0] > kind[i].last || kind[i].size > n)
            continue;
        if (kind[i].size > 1 && (s[1] < kind[i].low || s[1] > kind[i].high))
            return 0;
        for (size_t k = 2; k < kind[i].size; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return kind[i].size;
    }
    return 0;
}

// Escaped text; bytes that are not UTF-8 become U+FFFD; long text is cut.
static void put_text(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t left = strlen(text), shown = 0;

    while (left > 0 && shown < NAME_BYTES) {
        size_t n = utf8(s, left);
        if (strchr("&<>\"'", *s))
            fprintf(f, "&#%d;", *s);
        else if (n == 0)
            fputs("\xef\xbf\xbd", f);
        else
            fwrite(s, 1, n, f);
        n = n ? n : 1;
        s += n;
        left -= n;
        shown += n;
    }
    if (left > 0)
        fputs("\xe2\x80\xa6", f);
}

// A name, isolated so that it cannot change the direction of the text around it.
static void put_name(FILE *f, const char *text)
{
    fputs("<bdi>", f);
    put_text(f, text);
    fputs("</bdi>", f);
}

// ---- Without JavaScript ----

static void put_number(FILE *f, const struct report *r, size_t event, quern_count v)
{
    char buf[80];

    event_commas(buf, v, quern_profile_event_scale(r->side[0].p, event));
    fprintf(f, "<td>%s", buf);
}

static void put_totals(FILE *f, const struct report *r)
{
    const struct quern_profile *p = r->side[0].p, *base = r->side[1].p;
    size_t all = quern_profile_event_count(p) + quern_profile_derived_count(p);

    fprintf(f, "<table><tr><th class=name>Event<th>Total%s\n",
            base ? "<th>Base<th>Difference" : "");
    for (size_t e = 0; e < all; e++) {
        if (e >= quern_profile_event_count(p) && !quern_profile_event_formula(p, e))
            continue;
        quern_count v = event_value(p, e, quern_profile_totals(p));
        fputs("<tr><td class=name>", f);
        put_name(f, quern_profile_event_name(p, e));
        put_number(f, r, e, v);
        if (base) {
            quern_count old = event_value(base, e, quern_profile_totals(base));
            put_number(f, r, e, old);
            put_number(f, r, e, v - old);
        }
        fputc('\n', f);
    }
    fputs("</table>\n", f);
}

static quern_count cost_of(const struct report *r, unsigned side, const quern_count *v)
{
    return v ? event_value(r->side[side].p, r->event, v) : 0;
}

static void put_functions(FILE *f, const struct report *r)
{
    bool base = r->side[1].p != NULL;
    uint32_t n = pack_count(r->pack);

    fputs("<p>The most expensive functions, with what they call (incl.) and alone (self), in ", f);
    put_name(f, quern_profile_event_name(r->side[0].p, r->event));
    fprintf(f, ":</p>\n<table><tr><th>Incl.<th>Self%s<th class=name>Function\n",
            base ? "<th>Incl., base<th>Self, base" : "");
    for (uint32_t i = 0; i < n && i < FUNCTIONS; i++) {
        struct pack_func x = pack_func(r->pack, i);
        fputs("<tr>", f);
        for (unsigned s = 0; s <= base; s++) {
            put_number(f, r, r->event, cost_of(r, s, x.inclusive[s]));
            put_number(f, r, r->event, cost_of(r, s, x.self[s]));
        }
        fputs("<td class=name>", f);
        put_name(f, x.name ? x.name : "???");
        fputs(" (", f);
        put_name(f, x.file ? x.file : "???");
        fputs(x.object ? ") [" : ")", f);
        if (x.object) {
            put_name(f, x.object);
            fputc(']', f);
        }
        fputc('\n', f);
    }
    fputs("</table>\n", f);
    if (n > FUNCTIONS)
        fprintf(f, "<p>%u more are in this file.</p>\n", n - FUNCTIONS);
}

static void put_static(FILE *f, const struct report *r)
{
    fputs("<h1>", f);
    put_name(f, r->title);
    if (r->empty) {
        fputs("</h1>\n<p>This page shows Callgrind and Cachegrind profiles, which it reads itself. "
              "It needs JavaScript.</p>",
              f);
        return;
    }
    fputs("</h1>\n<noscript><p>The interactive report needs JavaScript. This is its summary.</p>"
          "</noscript>\n<p>",
          f);
    put_name(f, read_command(r->side[0].p));
    fputs("</p>\n", f);
    put_totals(f, r);
    put_functions(f, r);
}

// ---- Blocks ----

static void put_base64(FILE *f, const uint8_t *at, size_t size)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[4096];
    size_t n = 0;

    for (size_t i = 0; i < size; i += 3) {
        uint32_t v = (uint32_t)at[i] << 16 | (i + 1 < size ? (uint32_t)at[i + 1] << 8 : 0) |
                     (i + 2 < size ? at[i + 2] : 0u);
        out[n++] = digit[v >> 18];
        out[n++] = digit[v >> 12 & 63];
        out[n++] = i + 1 < size ? digit[v >> 6 & 63] : '=';
        out[n++] = i + 2 < size ? digit[v & 63] : '=';
        if (n == sizeof(out)) {
            fwrite(out, 1, n, f);
            n = 0;
        }
    }
    fwrite(out, 1, n, f);
}

static void put_block(FILE *f, const struct report *r, size_t i)
{
    const struct block *b = pack_block(r->pack, i);

    fprintf(f,
            "<script type=\"application/quern\" data-block=\"%zu\" data-size=\"%zu\" "
            "data-crc=\"%08x\">",
            i, b->size, b->crc);
    put_base64(f, b->deflated, b->deflated_size);
    fputs("</script>\n", f);
}

static void put_data(FILE *f, const struct block *b)
{
    if (!b->deflated)
        return;
    fprintf(f,
            "<script type=\"application/quern-data\" id=\"quern-data\" data-size=\"%zu\" "
            "data-crc=\"%08x\">",
            b->size, b->crc);
    put_base64(f, b->deflated, b->deflated_size);
    fputs("</script>\n", f);
}

// The objects of the data are there before the page is ready, which may need block 0 alone.
static void put_first(FILE *f, const struct report *r)
{
    if (!r->empty) {
        put_data(f, &r->data_block);
        put_block(f, r, 0);
        return;
    }
    fputs("<script type=\"application/quern-reader\" id=\"quern-reader\">", f);
    fwrite(_binary_quern_reader_base64_start, 1,
           (size_t)(_binary_quern_reader_base64_end - _binary_quern_reader_base64_start), f);
    fputs("</script>\n", f);
}

static void put_rest(FILE *f, const struct report *r)
{
    size_t n = r->empty ? 0 : pack_block_count(r->pack);

    for (size_t i = 1; i < n; i++)
        put_block(f, r, i);
    fprintf(f,
            "<script type=\"application/quern-end\" id=\"quern-end\" data-blocks=\"%zu\"></script>",
            n);
}

static void put_title(FILE *f, const struct report *r)
{
    put_text(f, r->title);
}

void report_html_write(FILE *f, const void *report)
{
    static const struct {
        const char *mark;
        void (*put)(FILE *, const struct report *);
    } marks[] = {
        { "@QUERN_TITLE@", put_title },
        { "@QUERN_STATIC@", put_static },
        { "@QUERN_FIRST@", put_first },
        { "@QUERN_REST@", put_rest },
    };
    const struct report *r = report;
    const char *at = _binary_quern_page_html_start, *end = _binary_quern_page_html_end;

    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        const char *mark = memmem(at, (size_t)(end - at), marks[i].mark, strlen(marks[i].mark));
        if (!mark)
            die(UTIL_USAGE, "the page in this program has no %s; build quern again", marks[i].mark);
        fwrite(at, 1, (size_t)(mark - at), f);
        marks[i].put(f, r);
        at = mark + strlen(marks[i].mark);
    }
    fwrite(at, 1, (size_t)(end - at), f);
}
