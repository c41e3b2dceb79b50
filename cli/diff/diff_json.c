// SPDX-License-Identifier: MIT
//
// `quern diff --to=json`: all of the text, for programs. Counts are whole, with all their digits;
// readers compute shares themselves. quern-diff(1) describes the members.
#include "cli/diff/diff.h"

#include <stdlib.h>

#include "cli/base/json.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

static void put_count(FILE *f, quern_count v, int64_t scale)
{
    char buf[64];

    quern_count_format(buf, sizeof(buf), v, scale);
    fputs(buf, f);
}

static void put_side(FILE *f, const char *key, const struct diff_side *s)
{
    fprintf(f, "\"%s\":{\"file\":", key);
    json_string(f, s->path);
    fputs(",\"command\":", f);
    json_string(f, read_command(s->p));
    fputs("},\n", f);
}

static void put_totals(FILE *f, const struct diff *d)
{
    fputs("\"events\":[", f);
    for (size_t i = 0; i < d->shown_count; i++) {
        size_t e = d->shown[i];
        int64_t scale = quern_profile_event_scale(d->old.p, e);

        fprintf(f, "%s{\"event\":", i ? ",\n" : "\n");
        json_string(f, quern_profile_event_name(d->old.p, e));
        fputs(",\"old\":", f);
        put_count(f, event_value(d->old.p, e, d->old_totals), scale);
        fputs(",\"new\":", f);
        put_count(f, event_value(d->new_.p, e, d->new_totals), scale);
        putc('}', f);
    }
    fputs("],\n", f);
}

// Two counts as the last members of an object.
static void put_both(FILE *f, quern_count old, quern_count now, int64_t scale)
{
    fputs(",\"old\":", f);
    put_count(f, old, scale);
    fputs(",\"new\":", f);
    put_count(f, now, scale);
}

// The cause that changed most, of cycles.
static void put_cause(FILE *f, const struct diff *d, const struct diff_cause *c)
{
    if (c->cause < 0)
        return;
    fputs(",\"cause\":{\"event\":", f);
    json_string(f, quern_profile_event_name(d->old.p, c->event));
    put_both(f, c->old, c->now, quern_profile_event_scale(d->old.p, c->event));
    putc('}', f);
}

static void put_where(FILE *f, const struct diff *d, const struct diff_limit *l)
{
    for (size_t i = 0; i < l->shown; i++) {
        const struct diff_place *p = &l->place[i];
        struct quern_func g = quern_profile_func_get(d->names, p->func);

        fputs(i ? ",{\"file\":" : "{\"file\":", f);
        json_string(f, quern_profile_str(d->names, g.file));
        fputs(",\"function\":", f);
        json_string(f, quern_profile_str(d->names, g.name));
        put_both(f, p->old, p->now, l->scale);
        put_cause(f, d, &p->cause);
        fputs(",\"lines\":[", f);
        for (size_t k = 0; k < p->lines; k++) {
            fputs(k ? ",{\"file\":" : "{\"file\":", f);
            json_string(f, quern_profile_str(d->names, p->line[k].file));
            fprintf(f, ",\"line\":%llu", (unsigned long long)p->line[k].line);
            put_both(f, p->line[k].old, p->line[k].now, l->scale);
            put_cause(f, d, &p->line[k].cause);
            putc('}', f);
        }
        fputs("]}", f);
    }
}

static void put_limits(FILE *f, const struct diff *d)
{
    fputs("\"limits\":[", f);
    for (size_t i = 0; i < d->fail_if.count; i++) {
        const struct diff_limit *l = &d->limit[i];

        fprintf(f, "%s{\"limit\":", i ? ",\n" : "\n");
        json_string(f, l->text);
        fputs(",\"function\":", f);
        if (l->func)
            json_string(f, l->func);
        else
            fputs("null", f);
        fputs(",\"event\":", f);
        json_string(f, l->event);
        put_both(f, l->old, l->now, l->scale);
        put_cause(f, d, &l->cause);
        fprintf(f, ",\"exceeded\":%s,\"missing\":%s,\"where\":[", l->exceeded ? "true" : "false",
                l->missing ? "true" : "false");
        put_where(f, d, l);
        fputs("]}", f);
    }
    fputs("],\n", f);
}

static void put_counts(FILE *f, const struct diff *d, const char *key, const quern_count *v)
{
    fprintf(f, ",\"%s\":[", key);
    for (size_t i = 0; i < d->shown_count; i++) {
        size_t e = d->shown[i];

        if (i)
            putc(',', f);
        put_count(f, event_value(d->old.p, e, v), quern_profile_event_scale(d->old.p, e));
    }
    putc(']', f);
}

static void put_functions(FILE *f, const struct diff *d)
{
    uint32_t *func;
    quern_count *delta;
    size_t n = diff_changed(d, &func, &delta);

    fputs("\"functions\":[", f);
    for (size_t i = 0; i < n; i++) {
        struct quern_func g = quern_profile_func_get(d->names, func[i]);

        fprintf(f, "%s{\"file\":", i ? ",\n" : "\n");
        json_string(f, quern_profile_str(d->names, g.file));
        fputs(",\"function\":", f);
        json_string(f, quern_profile_str(d->names, g.name));
        if (g.object != QUERN_NONE) {
            fputs(",\"object\":", f);
            json_string(f, quern_profile_str(d->names, g.object));
        }
        put_counts(f, d, "old", d->old_costs + func[i] * d->events);
        put_counts(f, d, "new", d->new_costs + func[i] * d->events);
        putc('}', f);
    }
    fputs("]}\n", f);
    free(func);
    free(delta);
}

void diff_json(FILE *f, const void *ctx)
{
    const struct diff *d = ctx;

    fputs("{\"format\":\"quern-diff\",\"version\":1,\n", f);
    put_side(f, "old", &d->old);
    put_side(f, "new", &d->new_);
    put_totals(f, d);
    put_limits(f, d);
    fprintf(f, "\"inclusive\":%s,\n", d->inclusive ? "true" : "false");
    put_functions(f, d);
}
