// SPDX-License-Identifier: MIT
//
// JSON, version 1 of the schema in docs/json-schema.md. A count is a JSON number with all its
// digits; readers that use doubles lose some above 2^53, as with any JSON.
#include "cli/convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/util.h"
#include "cli/profiles/fields.h"
#include "cli/profiles/lifetimes.h"
#include "cli/profiles/lineuse.h"
#include "cli/profiles/read.h"
#include "cli/profiles/sharing.h"
#include "cli/profiles/walks.h"

static void put_optional(FILE *f, const char *key, const char *s)
{
    fprintf(f, "\"%s\":", key);
    if (s && *s)
        json_string(f, s);
    else
        fputs("null", f);
}

static void put_counts(FILE *f, const struct convert *c, const quern_count *v)
{
    char buf[64];

    putc('[', f);
    for (size_t i = 0; i < c->events; i++) {
        quern_count_format(buf, sizeof(buf), v[i], quern_profile_event_scale(c->p, i));
        fprintf(f, "%s%s", i ? "," : "", buf);
    }
    putc(']', f);
}

static void put_number(FILE *f, const char *key, int has, uint64_t v)
{
    if (has)
        fprintf(f, "\"%s\":%llu,", key, (unsigned long long)v);
    else
        fprintf(f, "\"%s\":null,", key);
}

static void put_header(FILE *f, const struct convert *c)
{
    size_t all = c->events + quern_profile_derived_count(c->p);

    fputs("{\"format\":\"quern-profile\",\"version\":1,\n\"parts\":[", f);
    for (size_t i = 0; i < quern_profile_part_count(c->p); i++) {
        struct quern_part part;
        quern_profile_part(c->p, i, &part);
        fputs(i ? ",\n{" : "\n{", f);
        put_optional(f, "cmd", part.cmd);
        putc(',', f);
        put_optional(f, "creator", part.creator);
        putc(',', f);
        put_number(f, "pid", part.has_pid, part.pid);
        put_number(f, "part", part.has_part, part.part);
        put_number(f, "thread", part.has_thread, part.thread);
        fputs("\"desc\":[", f);
        for (size_t k = 0; k < part.desc_count; k++) {
            if (k)
                putc(',', f);
            json_string(f, part.desc[k]);
        }
        fputs("]}", f);
    }
    fputs("],\n\"events\":[", f);
    for (size_t i = 0; i < all; i++) {
        if (i >= c->events && !quern_profile_event_formula(c->p, i))
            continue; // named, but neither counted nor computed
        fputs(i ? "," : "", f);
        putc('{', f);
        put_optional(f, "name", quern_profile_event_name(c->p, i));
        putc(',', f);
        put_optional(f, "long_name", quern_profile_event_long_name(c->p, i));
        putc(',', f);
        put_optional(f, "formula", quern_profile_event_formula(c->p, i));
        putc('}', f);
    }
    fputs("],\n\"totals\":", f);
    put_counts(f, c, quern_profile_totals(c->p));
}

static void put_functions(FILE *f, const struct convert *c)
{
    fputs(",\n\"functions\":[", f);
    for (uint32_t i = 0; i < quern_profile_func_count(c->p); i++) {
        struct quern_func g = quern_profile_func_get(c->p, i);
        fputs(i ? ",\n{" : "\n{", f);
        put_optional(f, "object", quern_profile_str(c->p, g.object));
        putc(',', f);
        put_optional(f, "file", quern_profile_str(c->p, g.file));
        putc(',', f);
        put_optional(f, "name", quern_profile_str(c->p, g.name));
        fprintf(f, ",\"called\":%llu,\"cycle\":%u,\"self\":",
                (unsigned long long)quern_costs_called(c->costs, i),
                quern_costs_cycle(c->costs, i));
        put_counts(f, c, quern_costs_self(c->costs, i));
        fputs(",\"inclusive\":", f);
        put_counts(f, c, quern_costs_inclusive(c->costs, i));
        putc('}', f);
    }
    fputs("],\n\"edges\":[", f);
    for (size_t i = 0; i < quern_costs_edge_count(c->costs); i++) {
        struct quern_edge e = quern_costs_edge(c->costs, i);
        fprintf(f, "%s{\"caller\":%u,\"callee\":%u,\"calls\":%llu,\"inclusive\":", i ? ",\n" : "\n",
                e.caller, e.callee, (unsigned long long)e.calls);
        put_counts(f, c, e.counts);
        putc('}', f);
    }
    putc(']', f);
}

// How the program walks through objects of the data.
static void put_walks(FILE *f, const struct convert *c)
{
    struct walks w;

    walks_read(&w, c->p);
    for (size_t i = 0; i < w.count; i++) {
        const struct walk *walk = &w.walk[i];

        fputs(i ? ",\n{" : ",\n\"walks\":[\n{", f);
        put_optional(f, "object", walk->object);
        putc(',', f);
        if (walk->file) {
            put_optional(f, "function", walk->function);
            putc(',', f);
            put_optional(f, "file", walk->file);
            fprintf(f, ",\"line\":%llu,", (unsigned long long)walk->line);
        }
        put_optional(f, "how", walk->how);
        fprintf(f, ",\"count\":%llu,\"steps\":%llu}", (unsigned long long)walk->count,
                (unsigned long long)walk->steps);
    }
    if (w.count)
        putc(']', f);
    walks_free(&w);
}

// Its blocks of allocators over time.
static void put_blocks(FILE *f, const struct convert *c)
{
    struct lifetimes l;

    lifetimes_read(&l, c->p);
    for (size_t i = 0; i < l.count; i++) {
        const struct lifetime *b = &l.of[i];

        fputs(i ? ",\n{" : ",\n\"blocks\":[\n{", f);
        put_optional(f, "object", b->object);
        putc(',', f);
        put_optional(f, "object_file", b->file);
        for (int k = 0; k < LIFETIMES_COUNTS; k++)
            if (b->lost && k >= LIFETIMES_MISSED)
                fprintf(f, ",\"%s\":null", lifetimes_names[k]);
            else
                fprintf(f, ",\"%s\":%llu", lifetimes_names[k], (unsigned long long)b->n[k]);
        putc('}', f);
    }
    if (l.count)
        putc(']', f);
    lifetimes_free(&l);
}

// What is used of the lines that are fetched.
static void put_use(FILE *f, const struct convert *c)
{
    struct lineuses l;

    lineuse_read(&l, c->p);
    for (size_t i = 0; i < l.count; i++) {
        fputs(i ? ",\n{" : ",\n\"use\":[\n{", f);
        put_optional(f, "object", l.of[i].object);
        putc(',', f);
        put_optional(f, "object_file", l.of[i].file);
        fprintf(f, ",\"lines\":%llu,\"bytes\":%llu}", (unsigned long long)l.of[i].lines,
                (unsigned long long)l.of[i].bytes);
    }
    if (l.count)
        fprintf(f, "],\n\"use_sample\":{\"one_in\":%llu,\"line\":%llu}",
                (unsigned long long)l.one_in, (unsigned long long)l.line);
    lineuse_free(&l);
}

static void put_side(FILE *f, const struct sharing_side *side)
{
    putc('{', f);
    put_optional(f, "object", side->object);
    putc(',', f);
    put_optional(f, "object_file", side->object_file);
    putc(',', f);
    put_optional(f, "field", side->field);
    fprintf(f, ",\"writes\":%s,", side->writes ? "true" : "false");
    put_optional(f, "function", side->function);
    putc(',', f);
    put_optional(f, "file", side->file);
    fprintf(f, ",\"line\":%llu}", (unsigned long long)side->line);
}

// Lines of the cache that threads share.
static void put_sharing(FILE *f, const struct convert *c)
{
    struct sharing s;

    sharing_read(&s, c->p);
    for (size_t i = 0; i < s.count; i++) {
        const struct sharing_pair *pair = &s.pair[i];

        fprintf(f, "%s{\"kind\":\"%s\",\"invalidations\":%llu,\"most\":%llu,\"sides\":[",
                i ? ",\n" : ",\n\"sharing\":[\n", pair->is_true ? "true" : "false",
                (unsigned long long)pair->invalidations, (unsigned long long)pair->most);
        put_side(f, &pair->side[0]);
        putc(',', f);
        put_side(f, &pair->side[1]);
        fputs("]}", f);
    }
    if (s.count)
        fprintf(f, "],\n\"sharing_serialized\":%s", s.serialized ? "true" : "false");
    sharing_free(&s);
}

// The names of the rows of its objects.
static void put_fields(FILE *f, const struct convert *c)
{
    struct fields fields;

    fields_read(&fields, c->p);
    for (size_t i = 0; i < fields.count; i++) {
        const struct field *field = &fields.field[i];
        const char *colon = strrchr(field->at, ':');
        char *file = xasprintf("%.*s", (int)(colon - field->at), field->at);

        fputs(i ? ",\n{" : ",\n\"fields\":[\n{", f);
        put_optional(f, "object", field->object);
        putc(',', f);
        put_optional(f, "object_file", field->file);
        fprintf(f, ",\"addr\":%llu,", (unsigned long long)field->addr);
        put_optional(f, "field", field->path);
        putc(',', f);
        put_optional(f, "file", file);
        fprintf(f, ",\"line\":%llu%s}", strtoull(colon + 1, NULL, 10),
                field->inferred ? ",\"inferred\":true" : "");
        free(file);
    }
    if (fields.count)
        putc(']', f);
    fields_free(&fields);
}

static void put_lines(FILE *f, const struct convert *c)
{
    struct quern_cursor *cur = read_cursor(c->p);
    struct quern_record rec;
    unsigned has = quern_profile_has(c->p);
    int first = 1;

    fputs(",\n\"lines\":[", f);
    while (quern_cursor_next(cur, &rec)) {
        if (rec.kind != QUERN_REC_COST)
            continue;
        fprintf(f, "%s{\"part\":%u,\"function\":%u,", first ? "\n" : ",\n", rec.part, rec.at.func);
        put_optional(f, "file", quern_profile_str(c->p, rec.at.file));
        fprintf(f, ",\"line\":%llu,", (unsigned long long)rec.at.line);
        if (has & QUERN_HAS_ADDR)
            fprintf(f, "\"addr\":%llu,", (unsigned long long)rec.at.addr);
        fputs("\"self\":", f);
        put_counts(f, c, rec.counts);
        putc('}', f);
        first = 0;
    }
    quern_cursor_free(cur);
    putc(']', f);
}

void convert_json(FILE *f, const struct convert *c)
{
    put_header(f, c);
    put_functions(f, c);
    put_walks(f, c);
    put_blocks(f, c);
    put_use(f, c);
    put_sharing(f, c);
    put_fields(f, c);
    if (c->lines)
        put_lines(f, c);
    fputs("}\n", f);
}
