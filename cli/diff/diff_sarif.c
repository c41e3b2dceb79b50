// SPDX-License-Identifier: MIT
//
// `quern diff --to=sarif`: SARIF 2.1.0, which code scanners show beside the source. A limit that
// was exceeded is an error, at the line that changed most in the function that did; functions that
// cost more than before are notes. The line of a function is the first one of its own file that has
// a cost in the new profile.
#include "cli/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/util.h"
#include "cli/base/version.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

enum { NOTES_MAX = 50 };

struct sarif {
    FILE *f;
    const struct diff *d;
    uint64_t *line; // by function of d->names; 0: unknown
    uint32_t *func; // those that differ
    quern_count *delta;
    size_t funcs;
    char *cwd; // with a final slash
    bool any;  // a result was written
};

static uint64_t *first_lines(const struct diff *d)
{
    uint64_t *line = xcalloc(d->funcs, sizeof(*line));
    struct quern_cursor *c = read_cursor(d->new_.p);
    struct quern_record rec;

    while (quern_cursor_next(c, &rec)) {
        uint32_t f = d->new_.func[rec.at.func];

        // Code inlined from another file has line numbers of that file.
        if (rec.kind == QUERN_REC_COST && rec.at.line &&
            (rec.at.file == QUERN_NONE ||
             rec.at.file == quern_profile_func_get(d->new_.p, rec.at.func).file) &&
            (!line[f] || rec.at.line < line[f]))
            line[f] = rec.at.line;
    }
    quern_cursor_free(c);
    return line;
}

// A path as a URI reference of RFC 3986: all but unreserved characters are percent-encoded. An
// absolute path begins with the scheme; others are relative to the sources.
static void put_uri(FILE *f, const char *path)
{
    fputs(*path == '/' ? "\"file://" : "\"", f);
    for (const unsigned char *s = (const unsigned char *)path; *s; s++) {
        if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
            strchr("-._~/", *s))
            putc(*s, f);
        else
            fprintf(f, "%%%02X", *s);
    }
    putc('"', f);
}

struct location {
    uint32_t func; // QUERN_NONE: no location
    uint32_t file;
    uint64_t line; // 0: unknown
};

static struct location location_of(const struct sarif *s, uint32_t func)
{
    return (struct location){ func, quern_profile_func_get(s->d->names, func).file, s->line[func] };
}

static void put_location(const struct sarif *s, struct location at)
{
    struct quern_func g = quern_profile_func_get(s->d->names, at.func);
    const char *file = quern_profile_str(s->d->names, at.file);
    const char *name = quern_profile_str(s->d->names, g.name);
    size_t n = strlen(s->cwd);

    fputs(",\n\"locations\":[{", s->f);
    if (*file && strcmp(file, "???") != 0) {
        fputs("\"physicalLocation\":{\"artifactLocation\":{\"uri\":", s->f);
        put_uri(s->f, strncmp(file, s->cwd, n) == 0 ? file + n : file);
        putc('}', s->f);
        if (at.line)
            fprintf(s->f, ",\"region\":{\"startLine\":%llu}", (unsigned long long)at.line);
        fputs("},", s->f);
    }
    fputs("\"logicalLocations\":[{\"kind\":\"function\",\"fullyQualifiedName\":", s->f);
    json_string(s->f, *name ? name : "???");
    fputs("}]}]", s->f);
}

static void put_result(struct sarif *s, const char *rule, const char *level, const char *text,
                       struct location at)
{
    fprintf(s->f,
            "%s{\"ruleId\":\"%s\",\"level\":\"%s\",\"message\":{\"text\":", s->any ? ",\n" : "\n",
            rule, level);
    json_string(s->f, text);
    putc('}', s->f);
    if (at.func != QUERN_NONE)
        put_location(s, at);
    putc('}', s->f);
    s->any = true;
}

// Where a limit was exceeded; for the whole program even if no function changed in its direction:
// at the function that grew most.
static struct location place_of(const struct sarif *s, const struct diff_limit *l)
{
    const struct diff *d = s->d;
    struct location at = { .func = QUERN_NONE };
    quern_count most = 0;

    if (l->shown) {
        const struct diff_place *p = &l->place[0];

        at = location_of(s, p->func);
        if (p->lines)
            at = (struct location){ p->func, p->line[0].file, p->line[0].line };
        return at;
    }
    if (l->missing && l->gone != QUERN_NONE)
        return location_of(s, l->gone);
    for (size_t i = 0; i < s->funcs && !l->func; i++) {
        uint32_t f = s->func[i];
        quern_count v = event_value(d->old.p, l->event_number, s->delta + f * d->events);

        if (at.func != QUERN_NONE && v <= most)
            continue;
        at = location_of(s, f);
        most = v;
    }
    return at;
}

static void put_limits(struct sarif *s)
{
    for (size_t i = 0; i < s->d->fail_if.count; i++) {
        const struct diff_limit *l = &s->d->limit[i];
        char *sentence, *text;

        if (!l->exceeded && !l->missing)
            continue;
        sentence = diff_sentence(s->d, l);
        text = xasprintf("Limit %s: %s: %s.", l->missing ? "not checked" : "exceeded", l->text,
                         sentence);
        put_result(s, "limit", "error", text, place_of(s, l));
        free(text);
        free(sentence);
    }
}

static void put_grown(struct sarif *s)
{
    const struct diff *d = s->d;
    size_t e = d->sorted[0];
    int64_t scale = quern_profile_event_scale(d->old.p, e);
    size_t notes = 0;

    for (size_t i = 0; i < s->funcs && notes < NOTES_MAX; i++) {
        uint32_t f = s->func[i];
        quern_count old = event_value(d->old.p, e, d->old_costs + f * d->events);
        quern_count now = event_value(d->old.p, e, d->new_costs + f * d->events);
        const char *name = quern_profile_str(d->names, quern_profile_func_get(d->names, f).name);
        char was[80], is[80], percent[64];
        char *text;

        if (now <= old)
            continue;
        event_commas(was, old, scale);
        event_commas(is, now, scale);
        diff_percent(percent, old, now);
        text = xasprintf("%s: %s was %s and is %s%s%s%s.", *name ? name : "???",
                         quern_profile_event_name(d->old.p, e), was, is, *percent ? " (" : "",
                         percent, *percent ? ")" : "");
        put_result(s, "increase", "note", text, location_of(s, f));
        free(text);
        notes++;
    }
}

void diff_sarif(FILE *f, const void *ctx)
{
    const struct diff *d = ctx;
    struct sarif s = { .f = f, .d = d, .line = first_lines(d) };
    char *cwd = util_cwd();

    s.funcs = diff_changed(d, &s.func, &s.delta);
    s.cwd = xasprintf("%s/", cwd);
    fputs(
        "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\n\"version\":\"2.1.0\",\n"
        "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"quern\",\"version\":",
        f);
    json_string(f, QUERN_VERSION);
    fputs(",\n\"rules\":[{\"id\":\"limit\",\"shortDescription\":{\"text\":\"A limit on a count was "
          "exceeded\"}},\n{\"id\":\"increase\",\"shortDescription\":{\"text\":\"A function costs "
          "more than before\"}}]}},\n\"columnKind\":\"utf16CodeUnits\",\n\"results\":[",
          f);
    put_limits(&s);
    put_grown(&s);
    fputs("]}]}\n", f);
    free(cwd);
    free(s.cwd);
    free(s.line);
    free(s.func);
    free(s.delta);
}
