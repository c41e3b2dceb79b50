// SPDX-License-Identifier: MIT
//
// The output of `quern stat`: a line for each event, or one line of JSON; and the stored totals, a
// profile with a single function.
#include "cli/stat/stat.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/base/json.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/remark.h"
#include "cli/terminal/colour.h"
#include "finish/end/end.h"

bool stat_counted(const struct tally *s, int event)
{
    return finish_event_counted((enum finish_event)event, s->run_options.flags);
}

// A difference, always with its sign.
static void put_change(char *buf, quern_count d)
{
    *buf = '+';
    event_commas(d < 0 ? buf : buf + 1, d, 1);
}

struct widths {
    int name, count, baseline, change;
};

static int wider(int w, const char *text)
{
    int n = (int)strlen(text);

    return n > w ? n : w;
}

// The causes of cycles are printed below them.
static int indent(int event)
{
    return event >= FINISH_CYBASE && event <= FINISH_CYCORE ? 2 : 0;
}

static struct widths measure(const struct tally *s)
{
    struct widths w = { .name = (int)strlen("D1mr") };
    char buf[80];

    if (s->base) {
        w.count = (int)strlen("now");
        w.baseline = (int)strlen("baseline");
        w.change = (int)strlen("change");
    }
    for (int e = 0; e < FINISH_EVENTS; e++) {
        if (!stat_counted(s, e))
            continue;
        event_commas(buf, s->event[e].least, 1);
        w.name = wider(w.name - indent(e), finish_event_names[e]) + indent(e);
        w.count = wider(w.count, buf);
        if (s->base) {
            event_commas(buf, s->event[e].baseline, 1);
            w.baseline = wider(w.baseline, buf);
            put_change(buf, (quern_count)s->event[e].least - s->event[e].baseline);
            w.change = wider(w.change, buf);
        }
    }
    return w;
}

static void put_repeats(FILE *f, const struct stat_event *v)
{
    bool varies = v->least != v->greatest;
    enum colour c = varies ? COLOUR_WARN : COLOUR_PLAIN;
    char a[80], b[80];

    fputs("  ", f);
    colour_begin(f, c);
    if (!varies) {
        fputs("repeats", f);
    } else {
        event_commas(a, v->greatest, 1);
        text_print(f, "varies, up to %s", a);
    }
    if (v->vary.function) {
        event_commas(a, v->vary.least, 1);
        event_commas(b, v->vary.greatest, 1);
        text_print(f, ": %s (%s, %s)", v->vary.function, a, b);
        if (v->vary.others)
            text_print(f, " and %zu more function%s", v->vary.others,
                       v->vary.others == 1 ? "" : "s");
    }
    colour_end(f, c);
}

// The part of the cycles that has this cause.
static void put_share(FILE *f, const struct tally *s, const struct stat_event *v)
{
    uint64_t all = s->event[FINISH_CY].least;

    fprintf(f, "  %5.1f%%", all ? 100 * (double)v->least / (double)all : 0);
}

static void put_event(FILE *f, const struct tally *s, const struct stat_event *v,
                      const struct widths *w)
{
    quern_count d = (quern_count)v->least - v->baseline;
    char buf[80];

    if (s->base) {
        event_commas(buf, v->baseline, 1);
        text_print(f, "  %*s", w->baseline, buf);
    }
    event_commas(buf, v->least, 1);
    text_print(f, "  %*s", w->count, buf);
    if (!s->base && indent((int)(v - s->event)))
        put_share(f, s, v);
    if (s->base) {
        enum colour c = colour_of_change(d > 0 ? 1 : d < 0 ? -1 : 0);

        put_change(buf, d);
        fprintf(f, "  ");
        colour_begin(f, c);
        text_print(f, "%*s", w->change, d ? buf : "0");
        if (v->baseline)
            fprintf(f, "  %+7.2f%%", 100 * (double)d / (double)v->baseline);
        else
            text_print(f, "  %8s", d ? "new" : "");
        colour_end(f, c);
    }
    if (s->done > 1)
        put_repeats(f, v);
    putc('\n', f);
}

void stat_print(FILE *f, const void *tally)
{
    const struct tally *s = tally;
    struct widths w = measure(s);

    if (s->done > 1)
        fprintf(f, "%zu runs\n\n", s->done);
    if (s->base) {
        colour_begin(f, COLOUR_HEAD);
        text_print(f, "%-*s  %*s  %*s  %*s", w.name, "", w.baseline, "baseline", w.count, "now",
                   w.change, "change");
        colour_end(f, COLOUR_HEAD);
        putc('\n', f);
    }
    for (int e = 0; e < FINISH_EVENTS; e++) {
        if (!stat_counted(s, e))
            continue;
        colour_begin(f, COLOUR_HEAD);
        text_print(f, "%*s%-*s", indent(e), "", w.name - indent(e), finish_event_names[e]);
        colour_end(f, COLOUR_HEAD);
        put_event(f, s, &s->event[e], &w);
    }
    stat_curve(f, s);
}

// ---- JSON ----

static void put_number(FILE *f, const char *key, quern_count v)
{
    char buf[64];

    quern_count_format(buf, sizeof(buf), v, 1);
    text_print(f, ",\"%s\":%s", key, buf);
}

static void json_event(FILE *f, const struct tally *s, const struct stat_event *v)
{
    fprintf(f, "{\"count\":%llu", (unsigned long long)v->least);
    if (s->done > 1) {
        text_print(f, ",\"repeats\":%s", v->least == v->greatest ? "true" : "false");
        put_number(f, "greatest", v->greatest);
    }
    if (s->base)
        put_number(f, "baseline", v->baseline);
    if (v->vary.function) {
        fputs(",\"varies\":{\"function\":", f);
        json_string(f, v->vary.function);
        put_number(f, "least", v->vary.least);
        put_number(f, "greatest", v->vary.greatest);
        fprintf(f, ",\"others\":%zu}", v->vary.others);
    }
    putc('}', f);
}

void stat_print_json(FILE *f, const void *tally)
{
    const struct tally *s = tally;
    const char *comma = "";

    putc('{', f);
    summary_json_run(f, &s->run[0].spool);
    fprintf(f, "\"runs\":%zu,", s->done);
    if (WIFSIGNALED(s->status))
        summary_json_end(f, SPOOL_END_SIGNAL, WTERMSIG(s->status));
    else
        summary_json_end(f, SPOOL_END_EXIT, WEXITSTATUS(s->status));
    fputs(",\"events\":{", f);
    for (int e = 0; e < FINISH_EVENTS; e++) {
        if (!stat_counted(s, e))
            continue;
        text_print(f, "%s\"%s\":", comma, finish_event_names[e]);
        json_event(f, s, &s->event[e]);
        comma = ",";
    }
    putc('}', f);
    summary_json_curve(f, &s->run[0].spool);
    fputs("}\n", f);
}

// ---- The totals as a profile ----

// Only a lack of memory can make building the profile fail.
static void must(int rc)
{
    if (rc != 0)
        die(UTIL_USAGE, "out of memory");
}

static void add_descs(struct quern_profile *p, const char *desc)
{
    while (desc && *desc) {
        size_t n = strcspn(desc, "\n");
        char *line = xasprintf("%.*s", (int)n, desc);
        char *colon = strchr(line, ':');

        if (colon) {
            *colon = '\0';
            must(quern_profile_add_desc(p, line, colon[1] == ' ' ? colon + 2 : colon + 1));
        }
        free(line);
        desc += n + (desc[n] != '\0');
    }
}

void stat_save(const struct tally *s)
{
    const struct spool_file *spool = &s->run[0].spool;
    const char *cmd = spool_file_text(spool, spool->h->s_cmd);
    struct quern_write_opts wo = { .sz = sizeof(wo), .format = QUERN_FORMAT_CACHEGRIND };
    struct quern_profile *p = quern_profile_new();
    struct quern_error err = { 0 };
    struct quern_site at = { .file = QUERN_NONE };
    const char *names[FINISH_EVENTS];
    uint64_t counts[FINISH_EVENTS];
    size_t n = 0;

    if (!p)
        die(UTIL_USAGE, "out of memory");
    for (int e = 0; e < FINISH_EVENTS; e++) {
        if (!stat_counted(s, e))
            continue;
        names[n] = finish_event_names[e];
        counts[n++] = s->event[e].least;
    }
    must(quern_profile_set_events(p, names, n));
    must(quern_profile_set_cmd(p, cmd ? cmd : ""));
    add_descs(p, spool_file_text(spool, spool->h->s_desc));
    at.func = quern_profile_func(p, QUERN_NONE, quern_profile_string(p, "???", -1),
                                 quern_profile_string(p, "(total)", -1));
    must(quern_profile_add_cost(p, &at, counts, n));
    if (quern_profile_write(p, s->save, &wo, &err) < 0)
        remark_die(&err);
    quern_profile_free(p);
}
