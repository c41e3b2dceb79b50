// SPDX-License-Identifier: MIT
//
// `quern diff --to=markdown`: a comment on a change, as GitHub and GitLab show it. Names are in
// code spans, where only the end of the span and of the cell have a meaning.
#include "cli/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

// A comment has at most 65,536 characters; the other rows are in the profiles.
enum { ROWS_MAX = 50 };

// A code span. In a cell of a table a bar needs a backslash, even here. The fence is longer than
// any in the text; one blank at both ends is not shown.
static void put_code(FILE *f, const char *raw, bool cell)
{
    char *text = text_clean(raw);
    size_t fence = 1, run = 0;

    for (const char *s = text; *s; s++) {
        run = *s == '`' ? run + 1 : 0;
        if (run >= fence)
            fence = run + 1;
    }
    for (size_t i = 0; i < fence; i++)
        putc('`', f);
    if (fence > 1)
        putc(' ', f);
    for (const char *s = text; *s; s++) {
        if (cell && *s == '|')
            putc('\\', f);
        putc(*s, f);
    }
    if (fence > 1)
        putc(' ', f);
    for (size_t i = 0; i < fence; i++)
        putc('`', f);
    free(text);
}

// Text outside of code, with a backslash before all that means something in Markdown, in HTML or to
// the server.
static void put_plain(FILE *f, const char *raw)
{
    char *text = text_clean(raw);

    for (const char *s = text; *s; s++)
        fprintf(f, "%s%c", strchr("\\`*_[]<>|&!#~@$", *s) ? "\\" : "", *s);
    free(text);
}

static void put_count(FILE *f, const struct diff *d, size_t event, quern_count v, bool sign)
{
    char buf[80];

    event_commas(buf, v, quern_profile_event_scale(d->old.p, event));
    fprintf(f, "%s%s", sign && v > 0 ? "+" : "", buf);
}

// What a cause of cycles is, behind its name.
static void put_meaning(FILE *f, const struct diff *d, size_t event)
{
    for (int i = -1; d->timed && i < KNOWN_CAUSES; i++)
        if (event == (i < 0 ? d->cycles.all : d->cycles.cause[i]))
            fprintf(f, " %s", event_meaning(i));
}

static void put_totals(FILE *f, const struct diff *d)
{
    fputs("| event | old | new | change | |\n| --- | ---: | ---: | ---: | ---: |\n", f);
    for (size_t i = 0; i < d->shown_count; i++) {
        size_t e = d->shown[i];
        quern_count old = event_value(d->old.p, e, d->old_totals);
        quern_count now = event_value(d->new_.p, e, d->new_totals);
        char percent[64];

        diff_percent(percent, old, now);
        fputs("| ", f);
        put_code(f, quern_profile_event_name(d->old.p, e), true);
        put_meaning(f, d, e);
        fputs(" | ", f);
        put_count(f, d, e, old, false);
        fputs(" | ", f);
        put_count(f, d, e, now, false);
        fputs(" | ", f);
        put_count(f, d, e, now - old, true);
        fprintf(f, " | %s |\n", old == now ? "" : *percent ? percent : "new");
    }
}

static void put_limits(FILE *f, const struct diff *d)
{
    if (!d->fail_if.count)
        return;
    fputs("\n| limit | | |\n| --- | --- | --- |\n", f);
    for (size_t i = 0; i < d->fail_if.count; i++) {
        char *sentence = diff_sentence(d, &d->limit[i]);

        fputs("| ", f);
        put_code(f, d->limit[i].text, true);
        fprintf(f, " | %s | ",
                d->limit[i].missing    ? "**missing**"
                : d->limit[i].exceeded ? "**exceeded**"
                                       : "within");
        put_plain(f, sentence);
        fputs(" |\n", f);
        free(sentence);
    }
}

static void put_functions(FILE *f, const struct diff *d)
{
    uint32_t *func;
    quern_count *delta;
    size_t n = diff_changed(d, &func, &delta);

    if (!n) {
        fprintf(f, "\nNo %s changed.\n", diff_noun(d));
        goto out;
    }
    fputs("\n|", f);
    for (size_t i = 0; i < d->shown_count; i++) {
        putc(' ', f);
        put_code(f, quern_profile_event_name(d->old.p, d->shown[i]), true);
        fputs(" |", f);
    }
    fprintf(f, " %s%s |\n|", diff_noun(d), d->inclusive ? ", with what it calls" : "");
    for (size_t i = 0; i < d->shown_count; i++)
        fputs(" ---: |", f);
    fputs(" --- |\n", f);
    for (size_t k = 0; k < n && k < ROWS_MAX; k++) {
        struct quern_func g = quern_profile_func_get(d->names, func[k]);
        const char *file = quern_profile_str(d->names, g.file);
        const char *name = quern_profile_str(d->names, g.name);
        char *both = xasprintf("%s:%s", *file ? file : "???", *name ? name : "???");

        putc('|', f);
        for (size_t i = 0; i < d->shown_count; i++) {
            size_t e = d->shown[i];

            putc(' ', f);
            put_count(f, d, e, event_value(d->old.p, e, delta + func[k] * d->events), true);
            fputs(" |", f);
        }
        putc(' ', f);
        put_code(f, both, true);
        fputs(d->in[func[k]] == 1 ? " (gone) |\n" : d->in[func[k]] == 2 ? " (new) |\n" : " |\n", f);
        free(both);
    }
    if (n > ROWS_MAX)
        fprintf(f, "\nand %zu more %ss\n", n - ROWS_MAX, diff_noun(d));
out:
    free(func);
    free(delta);
}

void diff_markdown(FILE *f, const void *ctx)
{
    const struct diff *d = ctx;

    fputs("### ", f);
    put_code(f, *read_command(d->new_.p) ? read_command(d->new_.p) : d->new_.path, false);
    fputs("\n\n", f);
    put_totals(f, d);
    put_limits(f, d);
    put_functions(f, d);
}
