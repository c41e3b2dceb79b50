// SPDX-License-Identifier: MIT
//
// Writes misses by object of the data (--data=yes), in Callgrind's format, through libquern. An
// object is a function, whose file, line and object file are those of its allocation; its self cost
// are the misses in it. A function of the program that misses in it calls it: the inclusive cost of
// the call are these misses, and their number is that of the calls. So the sum of all costs is that
// of the misses, once.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/base/version.h"
#include "finish/output/output.h"
#include "finish/sums/call_graph.h"
#include "quern/profile.h"
#include "symbols/demangle.h"

// The events, in Callgrind's order; two of them are there only with an L2.
enum event { D1MR, D1MW, D2MR, D2MW, DLMR, DLMW, EVENTS };

static const enum finish_event finish_of[EVENTS] = { FINISH_D1MR, FINISH_D1MW, FINISH_D2MR,
                                                     FINISH_D2MW, FINISH_DLMR, FINISH_DLMW };

struct spot {
    struct quern_site at;
    bool known;
    uint64_t counts[EVENTS];
};

struct data {
    const struct spool_file *s;
    struct places *places;
    struct call_graph *graph; // for the files of functions
    struct quern_profile *p;
    struct output_walks *walks;
    struct spool_data_file file;
    struct spot *object; // by number
    struct output_fields fields;
    uint64_t sum[EVENTS];
    bool lacking; // of memory
};

static void must(struct data *o, int rc)
{
    o->lacking |= rc != 0;
}

static uint32_t string_of(struct data *o, const char *s)
{
    return s && *s ? quern_profile_string(o->p, s, -1) : QUERN_NONE;
}

static const char *module_of(const struct data *o, uint32_t map)
{
    const struct spool_map *m = map < o->s->maps_used ? &o->s->maps[map] : NULL;

    if (!m || (m->flags & SPOOL_MAP_ANON))
        return NULL;
    return m->flags & SPOOL_MAP_VDSO ? "[vdso]" : spool_file_text(o->s, m->path);
}

// ---- Names ----

static void append(char **to, const char *text)
{
    char *all = xasprintf("%s%s", *to, text);

    free(*to);
    *to = all;
}

// "function (file:line)" of a call.
static char *caller_text(struct data *o, uint64_t site, struct symbols_place *at, uint32_t *map)
{
    const char *function, *file;

    *map = spool_file_map(o->s, site, UINT32_MAX);
    if (*map >= o->s->maps_used)
        return xasprintf("0x%llx", (unsigned long long)site);
    places_find(o->places, *map, site, at);
    function = places_text(o->places, at->function);
    file = places_text(o->places, at->file);
    if (!*function)
        function = "???";
    if (!at->line)
        return xstrdup(function);
    return xasprintf("%s (%s:%u)", function, util_basename(file), at->line);
}

// "heap: alloc (a.c:12) < main (m.c:40)": also where it is.
static char *allocation_name(struct data *o, const struct spool_data_object *b, const char *kind,
                             struct quern_site *at, uint32_t *module)
{
    uint32_t sites = b->sites < SPOOL_DATA_CALLERS_MAX ? b->sites : SPOOL_DATA_CALLERS_MAX;
    char *name = xstrdup(kind);

    for (uint32_t i = 0; i < sites; i++) {
        struct symbols_place place = { 0 };
        uint32_t map;
        char *caller = caller_text(o, b->site[i], &place, &map);

        append(&name, i ? " < " : ": ");
        append(&name, caller);
        free(caller);
        if (i)
            continue;
        at->line = place.line;
        at->file = string_of(o, places_text(o->places, place.file));
        *module = string_of(o, module_of(o, map));
    }
    return name;
}

static char *symbol_name(const struct data *o, const struct spool_data_object *b, const char *kind)
{
    const char *text = spool_data_name(&o->file, b->name);
    char *plain = text && !(o->s->h->flags & SPOOL_F_NO_DEMANGLE) ? demangle(text) : NULL;
    char *name = xasprintf("%s: %s", kind, plain ? plain : text ? text : "???");

    free(plain);
    return name;
}

static char *section_name(const char *text)
{
    if (text && strcmp(text, "code") == 0)
        return xstrdup("code");
    return xasprintf("section: %s", text ? text : "???");
}

static char *name_of(struct data *o, const struct spool_data_object *b, struct quern_site *at,
                     uint32_t *module)
{
    const char *path = spool_data_name(&o->file, b->module);

    *module = string_of(o, path);
    switch ((enum spool_data_kind)b->kind) {
    case SPOOL_DATA_STACK: return xstrdup("stack");
    case SPOOL_DATA_PROGRAM: return xstrdup("argv, environment, auxiliary vector");
    case SPOOL_DATA_BREAK: return xstrdup("break, outside of blocks");
    case SPOOL_DATA_VDSO: return xstrdup("vdso");
    case SPOOL_DATA_STATIC: return symbol_name(o, b, "static");
    case SPOOL_DATA_TLS: return b->name ? symbol_name(o, b, "TLS") : xstrdup("TLS");
    case SPOOL_DATA_SECTION: return section_name(spool_data_name(&o->file, b->name));
    case SPOOL_DATA_FILE: return xasprintf("file: %s", path ? path : "???");
    case SPOOL_DATA_SHARED: return xstrdup("shared memory segment");
    case SPOOL_DATA_ANON: return allocation_name(o, b, "mmap", at, module);
    case SPOOL_DATA_HEAP: return allocation_name(o, b, "heap", at, module);
    case SPOOL_DATA_UNKNOWN:
    default: return xstrdup("unknown");
    }
}

static const struct quern_site *object_of(struct data *o, uint32_t number)
{
    struct spot *spot = &o->object[number];
    uint32_t module = QUERN_NONE;
    char *name, *line;

    if (spot->known)
        return &spot->at;
    spot->known = true;
    spot->at.file = QUERN_NONE;
    if (o->fields.own[number].line) {
        spot->at.file = string_of(o, places_text(o->places, o->fields.own[number].file));
        spot->at.line = o->fields.own[number].line;
    }
    name = name_of(o, &o->file.object[number], &spot->at, &module);
    line = spool_file_line(name);
    spot->at.func = quern_profile_func(o->p, module, spot->at.file, string_of(o, line));
    must(o, spot->at.func == QUERN_NONE);
    free(line);
    free(name);
    return &spot->at;
}

// ---- Costs ----

// In the order of the profile's events; returns how many it has.
static size_t packed(const struct data *o, const uint64_t *counts, uint64_t *out)
{
    size_t n = 0;

    for (int i = 0; i < EVENTS; i++)
        if (finish_event_counted(finish_of[i], o->s->h->flags))
            out[n++] = counts[i];
    return n;
}

static void add_cost(struct data *o, const struct quern_site *at, const uint64_t *counts)
{
    uint64_t row[EVENTS];

    must(o, quern_profile_add_cost(o->p, at, row, packed(o, counts, row)));
    for (int i = 0; i < EVENTS; i++)
        o->sum[i] += counts[i];
}

static struct quern_site site_of(struct data *o, uint32_t map, uint64_t pc)
{
    struct symbols_place at = { 0 };
    uint32_t file;

    places_find(o->places, map, pc, &at);
    file = call_graph_file(o->graph, map, pc, &at);
    return (struct quern_site){
        .func = quern_profile_func(o->p, string_of(o, module_of(o, map)),
                                   string_of(o, places_text(o->places, file)),
                                   string_of(o, places_text(o->places, at.function))),
        .file = string_of(o, places_text(o->places, at.file)),
        .line = at.line,
    };
}

static void add_miss(struct data *o, const struct spool_data_miss *m)
{
    uint64_t counts[EVENTS] = { 0 }, row[EVENTS];
    const struct quern_site *object = object_of(o, m->object);
    struct quern_site from;

    counts[m->write ? D1MW : D1MR] = m->l1;
    counts[m->write ? D2MW : D2MR] = m->l2;
    counts[m->write ? DLMW : DLMR] = m->ll;
    for (int i = 0; i < EVENTS; i++)
        o->object[m->object].counts[i] += counts[i];
    from = site_of(o, m->map, m->pc);
    if (m->l1)
        must(o, quern_profile_add_call(o->p, &from, object->func, object->line, 0, m->l1, row,
                                       packed(o, counts, row)));
    output_walks_add(o->walks, object->func, &from, &m->walk);
}

// ---- Fields ----

static void field_counts(const struct output_field *f, uint64_t *counts)
{
    for (int write = 0; write < 2; write++) {
        counts[D1MR + write] = f->misses[OUTPUT_FIELD_L1][write];
        counts[D2MR + write] = f->misses[OUTPUT_FIELD_L2][write];
        counts[DLMR + write] = f->misses[OUTPUT_FIELD_LL][write];
    }
}

// Whether the fields have no more than all of them have to: those of a process that was killed may
// have less. Makes `rest` what they do not have.
static bool are_sound(const struct output_field *f, size_t n, uint64_t *rest)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t counts[EVENTS];

        field_counts(&f[i], counts);
        for (int k = 0; k < EVENTS; k++) {
            if (counts[k] > rest[k])
                return false;
            rest[k] -= counts[k];
        }
    }
    return true;
}

// "Field: OFFSET\tPATH\tFILE:LINE\tOBJECT\tFILE": the name of a row, where it is declared, and of
// which object it is; "\tinferred" if that is so.
static void name_field(struct data *o, const struct quern_site *at, const char *path,
                       const char *file, uint32_t line, bool inferred)
{
    struct quern_func f = quern_profile_func_get(o->p, at->func);
    char *plain = spool_file_line(path), *plain_file = spool_file_line(file);
    char *text = xasprintf("%llu\t%s\t%s:%u\t%s\t%s%s", (unsigned long long)at->addr, plain,
                           plain_file, line, quern_profile_str(o->p, f.name),
                           quern_profile_str(o->p, f.file), inferred ? "\tinferred" : "");

    must(o, quern_profile_add_desc(o->p, "Field", text));
    free(text);
    free(plain_file);
    free(plain);
}

static void add_field(struct data *o, const struct spot *spot, const struct output_field *f)
{
    struct quern_site at = spot->at;
    uint64_t counts[EVENTS];

    field_counts(f, counts);
    at.addr = f->offset;
    // All costs of an object are in its file: a line of another one would say something else there.
    if (f->line && string_of(o, places_text(o->places, f->file)) == at.file)
        at.line = f->line;
    if (f->path && (f->inferred || strpbrk(f->path, ".["))) // not the variable itself
        name_field(o, &at, f->path, places_text(o->places, f->file), f->line, f->inferred);
    add_cost(o, &at, counts);
}

// ---- All objects ----

struct sorted {
    const char *name, *file, *module;
    uint64_t start;
    uint32_t number;
};

static int compare_objects(const void *x, const void *y)
{
    const struct sorted *a = x, *b = y;
    int rc = strcmp(a->name, b->name);

    if (!rc)
        rc = strcmp(a->file, b->file);
    if (!rc)
        rc = strcmp(a->module, b->module);
    if (rc || a->start == b->start)
        return rc ? rc : a->number < b->number ? -1 : a->number > b->number;
    return a->start < b->start ? -1 : 1;
}

// The costs of n objects that are one function: their fields, then what is at no offset that is
// known. Returns how many records are damaged.
static uint64_t add_function(struct data *o, const struct sorted *list, size_t n)
{
    const struct spot *spot = &o->object[list[0].number];
    uint64_t rest[EVENTS] = { 0 }, all[EVENTS], any = 0, end = 0, bad = 0;
    struct output_field *field = NULL;
    struct quern_site at = spot->at;
    size_t fields = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t number = list[i].number;
        uint64_t behind = output_fields_end(&o->file.object[number]);
        size_t more;
        const struct output_field *of = output_fields_of(&o->fields, number, &more);

        field = xrealloc(field, (fields + more + 1) * sizeof(*field));
        memcpy(field + fields, of, more * sizeof(*field));
        fields += more;
        end = behind > end ? behind : end;
        for (int k = 0; k < EVENTS; k++)
            rest[k] += o->object[number].counts[k];
    }
    memcpy(all, rest, sizeof(all));
    fields = output_fields_join(field, fields, end);
    if (!are_sound(field, fields, rest)) {
        memcpy(rest, all, sizeof(rest));
        fields = 0;
        bad = 1;
    }
    for (size_t i = 0; i < fields; i++)
        add_field(o, spot, &field[i]);
    for (int i = 0; i < EVENTS; i++)
        any |= rest[i];
    if (any && fields) {
        at.addr = end;
        name_field(o, &at, "(elsewhere)", NULL, 0, false);
    }
    if (any)
        add_cost(o, &at, rest);
    free(field);
    return bad;
}

// In the order of names: the numbers of objects depend on the mode of --replay. Returns how many
// records are damaged.
static uint64_t add_objects(struct data *o)
{
    struct sorted *list = xcalloc(o->file.objects + 1, sizeof(*list));
    uint64_t bad = 0;
    size_t n = 0, same;

    for (uint32_t i = 0; i < o->file.objects; i++) {
        struct quern_func f;

        if (!o->object[i].known || o->object[i].at.func == QUERN_NONE)
            continue;
        f = quern_profile_func_get(o->p, o->object[i].at.func);
        list[n++] =
            (struct sorted){ quern_profile_str(o->p, f.name), quern_profile_str(o->p, f.file),
                             quern_profile_str(o->p, f.object), o->file.object[i].start, i };
    }
    if (n)
        qsort(list, n, sizeof(*list), compare_objects);
    for (size_t i = 0; i < n; i += same) {
        uint32_t func = o->object[list[i].number].at.func;

        for (same = 1; i + same < n && o->object[list[i + same].number].at.func == func; same++)
            ;
        bad += add_function(o, &list[i], same);
    }
    free(list);
    return bad;
}

// What the code has missed and no object has: there was no space for more counts, or the program
// was killed between the two.
static uint64_t add_rest(struct data *o, const struct finish_totals *totals)
{
    struct quern_site at = { .file = QUERN_NONE };
    uint64_t rest[EVENTS], bad = 0, any = 0;

    for (int i = 0; i < EVENTS; i++) {
        uint64_t all = totals->counts[finish_of[i]];

        rest[i] = all > o->sum[i] ? all - o->sum[i] : 0;
        bad += all < o->sum[i];
        any |= rest[i];
    }
    if (!any)
        return bad;
    at.func = quern_profile_func(o->p, QUERN_NONE, QUERN_NONE, string_of(o, "not attributed"));
    must(o, at.func == QUERN_NONE);
    add_cost(o, &at, rest);
    return bad;
}

// ---- Blocks over time ----

static int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

// "Blocks: ...": the counts of docs/format.md, the object and its file. lost: lines of blocks for
// which there was no space, so what depends on them is not known.
static char *blocks_line(struct data *o, const struct spool_data_object *b, bool lost)
{
    const uint64_t n[] = { b->blocks,        b->bytes,        b->gone_blocks,
                           b->gone_bytes,    b->peak_blocks,  b->peak_bytes,
                           b->missed_blocks, b->missed_bytes, b->cold };
    struct quern_site at = { .file = QUERN_NONE };
    uint32_t module;
    char *name = name_of(o, b, &at, &module), *plain = spool_file_line(name), *line = xstrdup("");

    for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
        char *more = lost && i > 5 ? xasprintf("%s-\t", line)
                                   : xasprintf("%s%llu\t", line, (unsigned long long)n[i]);

        free(line);
        line = more;
    }
    append(&line, plain);
    append(&line, "\t");
    append(&line, quern_profile_str(o->p, at.file));
    free(plain);
    free(name);
    return line;
}

// Also those of objects without a miss.
static void put_blocks(struct data *o)
{
    char **line = xcalloc(o->file.objects + 1, sizeof(*line));
    bool lost = o->s->h->data.lines_lost != 0;
    size_t n = 0;

    for (size_t i = 0; i < o->file.objects; i++)
        if (o->file.object[i].kind == SPOOL_DATA_HEAP && o->file.object[i].blocks)
            line[n++] = blocks_line(o, &o->file.object[i], lost);
    qsort(line, n, sizeof(*line), compare_lines);
    for (size_t i = 0; i < n; i++) {
        must(o, quern_profile_add_desc(o->p, "Blocks", line[i]));
        free(line[i]);
    }
    free(line);
}

// ---- Sharing between threads ----

static const char *text_of(struct data *o, uint32_t string)
{
    const char *text = quern_profile_str(o->p, string);

    return text && *text ? text : "???";
}

// Where a touch is: in the code, and the function that its object is.
struct touched {
    struct quern_site code;
    uint32_t object;
};

static void put_side(struct data *o, struct output_sharing_side *to,
                     const struct output_touch *touch, const struct touched *at)
{
    struct quern_func of = quern_profile_func_get(o->p, at->object);

    *to = (struct output_sharing_side){
        .object = text_of(o, of.name),
        .object_file = text_of(o, of.file),
        .offset = touch->offset,
        .field = touch->path,
        .function = text_of(o, quern_profile_func_get(o->p, at->code.func).name),
        .file = text_of(o, at->code.file),
        .line = at->code.line,
    };
}

// The two sides of each entry.
static struct output_touch *touches_of(const struct data *o)
{
    size_t n = 2 * o->file.shares;
    struct output_touch *touch = xcalloc(n + 1, sizeof(*touch));

    for (size_t i = 0; i < n; i++) {
        const struct spool_data_share *s = &o->file.shared[i / 2].share;
        const struct spool_data_touch *t = i % 2 ? &s->written : &s->touched;

        touch[i] = (struct output_touch){ .object = t->object, .offset = t->offset };
    }
    output_fields_name(touch, n, &o->file, o->places);
    return touch;
}

// "Use: ...": the counts of docs/format.md, the object and its file.
static char *use_line(struct data *o, uint32_t number)
{
    const struct spool_data_object *b = &o->file.object[number];
    struct quern_func of = quern_profile_func_get(o->p, object_of(o, number)->func);

    return xasprintf("%llu\t%llu\t%s\t%s", (unsigned long long)b->fetched,
                     (unsigned long long)b->used, text_of(o, of.name), text_of(o, of.file));
}

// What is used of the lines that are fetched. After the costs: an object that has none is no row.
static void put_use(struct data *o)
{
    char **line = xcalloc(o->file.objects + 1, sizeof(*line));
    char *sample = xasprintf("%u\t%u", o->s->h->data.use, o->s->h->d1.line);
    size_t n = 0;

    for (uint32_t i = 0; i < o->file.objects; i++)
        if (o->file.object[i].fetched)
            line[n++] = use_line(o, i);
    if (n)
        must(o, quern_profile_add_desc(o->p, "Use sample", sample));
    qsort(line, n, sizeof(*line), compare_lines);
    for (size_t i = 0; i < n; i++) {
        must(o, quern_profile_add_desc(o->p, "Use", line[i]));
        free(line[i]);
    }
    free(sample);
    free(line);
}

// After the costs: an object that has none is no row. Returns how many records are damaged.
static uint64_t put_sharing(struct data *o)
{
    size_t n = 0, shares = o->file.shares;
    struct output_touch *touch = touches_of(o);
    struct touched *at = xcalloc(2 * shares + 1, sizeof(*at));
    struct output_sharing *all = xcalloc(shares + 1, sizeof(*all));

    for (size_t i = 0; i < 2 * shares; i++) { // texts do not move any more then
        const struct spool_data_shared *from = &o->file.shared[i / 2];

        if (from->pc[i % 2])
            at[i].code = site_of(o, from->map[i % 2], from->pc[i % 2]);
        at[i].object = object_of(o, touch[i].object)->func;
    }
    for (size_t i = 0; i < shares; i++) {
        const struct spool_data_shared *from = &o->file.shared[i];

        if (!from->pc[0] || !from->pc[1]) {
            free(touch[2 * i].path);
            free(touch[2 * i + 1].path);
            continue;
        }
        for (size_t k = 0; k < 2; k++)
            put_side(o, &all[n].side[k], &touch[2 * i + k], &at[2 * i + k]);
        all[n].is_true = from->share.how & SPOOL_SHARE_TRUE;
        all[n].invalidations = from->share.invalidations;
        all[n].most = from->share.most;
        all[n].side[0].writes = from->share.how & SPOOL_SHARE_WRITES;
        all[n++].side[1].writes = true;
    }
    must(o, output_sharing_put(all, n, o->s->h->flags & SPOOL_F_SERIALIZE, o->p));
    free(all);
    free(at);
    free(touch);
    return shares - n;
}

static void put_header(struct data *o)
{
    const char *cmd = spool_file_text(o->s, o->s->h->s_cmd), *names[EVENTS];
    const char *desc = spool_file_text(o->s, o->s->h->s_desc);
    size_t n = 0;

    for (int i = 0; i < EVENTS; i++)
        if (finish_event_counted(finish_of[i], o->s->h->flags))
            names[n++] = finish_event_names[finish_of[i]];
    must(o, quern_profile_set_events(o->p, names, n));
    must(o, quern_profile_set_creator(o->p, "quern-" QUERN_VERSION));
    must(o, quern_profile_set_pid(o->p, (uint64_t)o->s->h->pid));
    must(o, quern_profile_set_cmd(o->p, cmd ? cmd : ""));
    while (desc && *desc) { // of the caches; not why a part was written
        size_t len = strcspn(desc, "\n");
        char *line = xasprintf("%.*s", (int)len, desc), *colon = strchr(line, ':');

        if (colon && strncmp(line, "Trigger", 7) != 0) {
            *colon++ = '\0';
            must(o, quern_profile_add_desc(o->p, line, colon + strspn(colon, " ")));
        }
        free(line);
        desc += desc[len] ? len + 1 : len;
    }
    must(o, quern_profile_add_desc(o->p, "Functions", "objects of the data"));
}

static int write_all(struct data *o, const struct finish_totals *totals, const char *output,
                     char *err, size_t err_size)
{
    struct quern_write_opts how = { .sz = sizeof(how), .format = QUERN_FORMAT_CALLGRIND };
    struct quern_error e = { 0 };
    uint64_t bad = o->file.bad;

    put_header(o);
    for (size_t i = 0; i < o->file.misses; i++) {
        if (o->file.miss[i].pc)
            add_miss(o, &o->file.miss[i]);
        else
            bad++;
    }
    bad += add_objects(o);
    put_blocks(o);
    bad += add_rest(o, totals);
    must(o, output_walks_put(o->walks, o->p));
    put_use(o);
    bad += put_sharing(o);
    if (bad)
        warn("%s: %llu records of misses by object are damaged", output, (unsigned long long)bad);
    if (o->lacking || symbols_is_short()) {
        snprintf(err, err_size, "%s: not written: out of memory", output);
        return -1;
    }
    if (quern_profile_write(o->p, output, &how, &e) == 0)
        return 0;
    snprintf(err, err_size, "%s: %s", output, e.msg[0] ? e.msg : "the profile cannot be written");
    return -1;
}

int output_data(const struct spool_file *s, struct places *places,
                const struct finish_totals *totals, const char *output, char *err, size_t err_size)
{
    struct data o = { .s = s, .places = places };
    struct finish_totals unused = { 0 };
    int rc;

    if (spool_data_read(s, &o.file) != 0) {
        snprintf(err, err_size, "%s: not written: its counts cannot be read: %s", output,
                 strerror(errno));
        return -1;
    }
    o.p = quern_profile_new();
    if (!o.p)
        die(UTIL_USAGE, "out of memory");
    o.graph = call_graph_new(s, places, &unused);
    o.walks = output_walks_new();
    o.object = xcalloc(o.file.objects + 1, sizeof(*o.object));
    output_fields_find(&o.fields, &o.file, places);
    rc = write_all(&o, totals, output, err, err_size);
    call_graph_free(o.graph);
    output_walks_free(o.walks);
    quern_profile_free(o.p);
    output_fields_free(&o.fields);
    spool_data_free(&o.file);
    free(o.object);
    return rc;
}
