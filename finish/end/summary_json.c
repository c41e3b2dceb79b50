// SPDX-License-Identifier: MIT
//
// The summary of a run for programs (--summary=json), and what `quern stat` puts into its own JSON.
// One line for each process, so that the lines of several do not mix.
#include "finish/end/end.h"

#include <stdlib.h>

#include "cli/base/json.h"
#include "cli/base/version.h"

static void cache(FILE *f, const char *name, struct spool_geometry g, const char *behind)
{
    fprintf(f, "\"%s\":{\"size\":%u,\"associativity\":%u,\"line\":%u}%s", name, g.size, g.assoc,
            g.line, behind);
}

void summary_json_run(FILE *f, const struct spool_file *s)
{
    const char *cmd = spool_file_text(s, s->h->s_cmd);

    fputs("\"quern\":", f);
    json_string(f, QUERN_VERSION);
    fputs(",\"command\":", f);
    json_string(f, cmd ? cmd : "");
    if (s->h->flags & SPOOL_F_CACHE_SIM) {
        fputs(",\"caches\":{", f);
        cache(f, "I1", s->h->i1, ",");
        cache(f, "D1", s->h->d1, ",");
        cache(f, "LL", s->h->ll, "}");
    }
    putc(',', f);
}

void summary_json_end(FILE *f, uint32_t kind, int32_t code)
{
    switch (kind) {
    case SPOOL_END_EXIT: fprintf(f, "\"exit\":%d", code); break;
    case SPOOL_END_SIGNAL: fprintf(f, "\"signal\":%d", code); break;
    default: fputs("\"end\":null", f);
    }
}

static void numbers(FILE *f, const char *name, const uint64_t *n, size_t count)
{
    fprintf(f, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%s%llu", i ? "," : "", (unsigned long long)n[i]);
    putc(']', f);
}

void summary_json_curve(FILE *f, const struct spool_file *s)
{
    struct spool_curve_file c;

    if (!spool_curve_read(s, &c))
        return;
    fprintf(f, ",\"curve\":{\"sample\":%llu", 1ull << c.rate);
    numbers(f, "sizes", c.size, SPOOL_CURVE_SIZES);
    for (uint32_t i = 0; i < SPOOL_CURVE_SERIES; i++)
        numbers(f, spool_curve_names[i], c.misses[i], SPOOL_CURVE_SIZES);
    fprintf(f, ",\"interval\":%llu", (unsigned long long)c.interval);
    numbers(f, "lines_of_data", c.lines[0], c.points);
    numbers(f, "lines_of_code", c.lines[1], c.points);
    putc('}', f);
}

void summary_json(FILE *f, const struct spool_file *s, const char *output, const uint64_t *counts)
{
    const char *comma = "";

    putc('{', f);
    summary_json_run(f, s);
    fprintf(f, "\"pid\":%d,", s->h->pid);
    summary_json_end(f, s->h->end_kind, s->h->end_code);
    fputs(",\"profile\":", f);
    if (s->h->flags & SPOOL_F_BY_THREAD) { // that of the first thread
        char *first = output_names_thread(output, 0);

        json_string(f, first);
        free(first);
    } else {
        json_string(f, output);
    }
    fputs(",\"events\":{", f);
    for (int e = 0; e < FINISH_EVENTS; e++) {
        if (!finish_event_counted((enum finish_event)e, s->h->flags))
            continue;
        fprintf(f, "%s\"%s\":%llu", comma, finish_event_names[e], (unsigned long long)counts[e]);
        comma = ",";
    }
    putc('}', f);
    summary_json_curve(f, s);
    fputs("}\n", f);
}
