// SPDX-License-Identifier: MIT
//
// The profile of the data of a report (--data, or data.out.PID beside callgrind.out.PID): its
// objects, the places in each, the lines of the code that miss in it, walks and advice, as JSON
// (docs/report-format.md). What a file contains is bounded here: those with most misses are kept,
// the rest is one sum.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/util.h"
#include "cli/profiles/advice.h"
#include "cli/profiles/lineuse.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "cli/profiles/sharing.h"
#include "cli/profiles/walks.h"
#include "cli/report/report.h"
#include "report/pack/deflate.h"

enum {
    OBJECTS = 2000,    // with most misses; the rest are one sum
    ROWS = 500,        // of an object: places, and lines that miss in it
    TEXT_MAX = 1000,   // bytes of a name
    DETAILS = 4 << 20, // bytes of JSON, above which no object has rows any longer
};

// ---- Which files ----

// data.out.X beside cachegrind.out.X or callgrind.out.X; NULL: the name does not fit.
static char *beside(const char *path)
{
    static const char *const begins[] = { "cachegrind.out.", "callgrind.out." };
    const char *name = util_basename(path);

    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return xasprintf("%.*sdata.out.%s", (int)(name - path), path, name + strlen(begins[i]));
    return NULL;
}

// The misses of all objects are those of the code.
static bool same_sums(const struct quern_profile *code, const struct quern_profile *data)
{
    for (size_t e = 0; e < quern_profile_event_count(data); e++) {
        int of = quern_profile_find_event(code, quern_profile_event_name(data, e));

        if (of < 0 || (size_t)of >= quern_profile_event_count(code) ||
            quern_profile_totals(code)[of] != quern_profile_totals(data)[e])
            return false;
    }
    return true;
}

// The one that --data names.
static struct quern_profile *given(struct report *r, int s, const char *option, const char *path)
{
    struct quern_profile *p = read_profile(path);

    if (!objects_are(p))
        die(UTIL_USAGE, "%s: %s: it is no profile of the data (quern run --data=yes)", path,
            option);
    if (!same_sums(r->side[s].p, p)) {
        char *text = xasprintf("%s: its misses are not those of %s: it is of another run", path,
                               r->side[s].paths[0]);

        warn("%s", text);
        options_add(&r->side[s].remark, text);
    }
    return p;
}

// The one beside the profile, if it is of the same run; NULL.
static struct quern_profile *found(const struct report *r, int s, char **path)
{
    struct quern_error err;
    struct quern_profile *p;

    *path = r->side[s].path_count == 1 && !r->series ? beside(r->side[s].paths[0]) : NULL;
    if (!*path || !objects_file(*path))
        return NULL;
    p = quern_profile_read(*path, NULL, &err);
    if (!p)
        warn("%s: not shown: %s", *path, err.msg);
    else if (objects_are(p) && same_sums(r->side[s].p, p))
        return p;
    else
        warn("%s: not shown: it is no profile of the data of %s", *path, r->side[s].paths[0]);
    quern_profile_free(p);
    return NULL;
}

// ---- JSON ----

struct put {
    const struct report *r;
    struct objects o;
    struct walks walks[2];
    struct lineuses use[2];
    struct sharing sharing; // of the profile, not of its base
    FILE *f;
    size_t texts;     // bytes of strings and functions
    uint32_t *string; // by string of the profile: its number in the page + 1
    uint32_t *strings;
    uint32_t string_count;
    uint32_t *func, *funcs, func_count; // the same for functions that miss
    uint32_t *number;                   // of the code's functions in the report
};

struct group {
    uint32_t object;
    size_t first, code, end; // rows: its places, then lines of the code
    quern_count *counts;     // both sides
    quern_count weight;      // the larger one of both sides
    uint32_t shown;          // number in the page
};

static quern_count magnitude(quern_count v)
{
    return v < 0 ? -v : v;
}

static quern_count weight_of(const struct objects *o, const quern_count *counts)
{
    quern_count now = magnitude(objects_weight(o, counts)),
                old = magnitude(objects_weight(o, counts + o->events));

    return now > old ? now : old;
}

static uint32_t string_of(struct put *t, uint32_t s)
{
    if (s == QUERN_NONE || !*quern_profile_str(t->o.p, s))
        return 0;
    if (!t->string[s]) {
        t->strings[t->string_count++] = s;
        t->string[s] = t->string_count;
        t->texts += strnlen(quern_profile_str(t->o.p, s), TEXT_MAX);
    }
    return t->string[s];
}

static uint32_t func_of(struct put *t, uint32_t func)
{
    struct quern_func f = quern_profile_func_get(t->o.p, func);

    if (!t->func[func]) {
        t->funcs[t->func_count++] = func;
        t->func[func] = t->func_count;
        string_of(t, f.name);
        string_of(t, f.file);
        string_of(t, f.object);
    }
    return t->func[func] - 1;
}

static void put_string(FILE *f, const char *text)
{
    size_t n = strnlen(text, TEXT_MAX + 1);
    char *cut = n > TEXT_MAX ? xasprintf("%.*s…", TEXT_MAX, text) : NULL;

    json_string(f, cut ? cut : text);
    free(cut);
}

// "1 2 3", of the profile, and of the base.
static void put_counts(const struct put *t, const quern_count *counts)
{
    for (int s = 0; s <= t->o.base; s++) {
        fputs(s ? ",\"" : "\"", t->f);
        for (size_t e = 0; e < t->o.events; e++) {
            char text[80];

            quern_count_format(text, sizeof(text), counts[(size_t)s * t->o.events + e], 1);
            fprintf(t->f, "%s%s", e ? " " : "", text);
        }
        putc('"', t->f);
    }
}

static void put_walk(const struct put *t, const struct walk *w)
{
    if (!w) {
        putc('0', t->f);
        return;
    }
    putc('[', t->f);
    put_string(t->f, w->how);
    fprintf(t->f, ",%llu,%llu]", (unsigned long long)w->count, (unsigned long long)w->steps);
}

static const struct walk *walk_at(const struct put *t, const struct objects_row *row)
{
    return walks_at(&t->walks[0], objects_name(&t->o, row->object), objects_name(&t->o, row->func),
                    quern_profile_str(t->o.p, row->file), row->line);
}

static void put_field(const struct put *t, const struct field *f)
{
    char *name = f ? fields_name(f) : NULL;

    if (name)
        put_string(t->f, name);
    else
        putc('0', t->f);
    free(name);
}

static void put_row(struct put *t, const struct objects_row *row)
{
    uint32_t file = string_of(t, row->file);

    fprintf(t->f, "[%lld,%u,%llu,\"%llu\",",
            row->func == QUERN_NONE ? -1LL : (long long)func_of(t, row->func), file,
            (unsigned long long)row->line, (unsigned long long)row->addr);
    // Of a place its name, of a line how it walks.
    if (row->func != QUERN_NONE)
        put_walk(t, walk_at(t, row));
    else
        put_field(t, objects_field(&t->o, row));
    putc(',', t->f);
    put_counts(t, t->o.counts + row->at);
    putc(']', t->f);
}

static const struct objects *sorting;

static int by_weight(const void *x, const void *y)
{
    const struct objects_row *a = *(const struct objects_row *const *)x,
                             *b = *(const struct objects_row *const *)y;
    quern_count v = weight_of(sorting, sorting->counts + a->at),
                w = weight_of(sorting, sorting->counts + b->at);

    return v != w ? (v > w ? -1 : 1) : a < b ? -1 : a > b;
}

static int by_place(const void *x, const void *y)
{
    const struct objects_row *a = *(const struct objects_row *const *)x,
                             *b = *(const struct objects_row *const *)y;

    return a < b ? -1 : a > b;
}

// Rows first to end: those with most misses, places in the order of their offsets; then how many
// are left out, and their sum.
static void put_rows(struct put *t, size_t first, size_t end, bool places)
{
    size_t n = end - first, shown = n < ROWS ? n : ROWS, each = 2 * t->o.events;
    const struct objects_row **row = xcalloc(n + 1, sizeof(*row));
    quern_count *left = xcalloc(each + 1, sizeof(*left));

    if ((size_t)ftell(t->f) + t->texts > DETAILS)
        shown = 0;
    for (size_t i = 0; i < n; i++)
        row[i] = &t->o.row[first + i];
    sorting = &t->o;
    qsort(row, n, sizeof(*row), by_weight);
    for (size_t i = shown; i < n; i++)
        for (size_t e = 0; e < each; e++)
            left[e] += t->o.counts[row[i]->at + e];
    if (places)
        qsort(row, shown, sizeof(*row), by_place);
    putc('[', t->f);
    for (size_t i = 0; i < shown; i++) {
        if (i)
            putc(',', t->f);
        put_row(t, row[i]);
    }
    fprintf(t->f, "],%zu,[", n - shown);
    put_counts(t, left);
    putc(']', t->f);
    free(row);
    free(left);
}

static void put_blocks(const struct put *t, const struct lifetime *b)
{
    if (!b) {
        fputs(",0", t->f);
        return;
    }
    fprintf(t->f, ",\"%llu %llu %llu\"", (unsigned long long)b->n[LIFETIMES_ALL],
            (unsigned long long)b->n[LIFETIMES_BYTES],
            (unsigned long long)b->n[LIFETIMES_PEAK_BYTES]);
}

static void put_use(const struct put *t, const struct lineuse *u)
{
    if (u)
        fprintf(t->f, ",\"%llu %llu\"", (unsigned long long)u->lines, (unsigned long long)u->bytes);
    else
        fputs(",0", t->f);
}

static void put_object(struct put *t, const struct group *g)
{
    struct quern_func f = quern_profile_func_get(t->o.p, g->object);
    const char *name = objects_name(&t->o, g->object);

    fprintf(
        t->f, "[%u,%u,%u,%llu,", string_of(t, f.name), string_of(t, f.file), string_of(t, f.object),
        (unsigned long long)(g->end > g->code ? t->o.row[g->code].begin : t->o.row[g->first].line));
    put_walk(t, walks_of_object(&t->walks[0], name));
    putc(',', t->f);
    put_walk(t, walks_of_object(&t->walks[1], name));
    fputs(",[", t->f);
    put_counts(t, g->counts);
    fputs("],", t->f);
    put_rows(t, g->first, g->code, true);
    putc(',', t->f);
    put_rows(t, g->code, g->end, false);
    for (int s = 0; s < 2; s++)
        put_blocks(t, lifetimes_find(&t->o.blocks[s], t->o.p, g->object));
    for (int s = 0; s < 2; s++)
        put_use(t, lineuse_find(&t->use[s], t->o.p, g->object));
    fputs("]", t->f);
}

static int by_group(const void *x, const void *y)
{
    const struct group *a = x, *b = y;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// The objects, most misses first. What has no misses of its own is none.
static struct group *group_rows(const struct objects *o, size_t *count, quern_count **counts)
{
    size_t n = 0, each = 2 * o->events;
    struct group *group;

    for (size_t i = 0; i < o->rows; i++)
        n += i == 0 || o->row[i].object != o->row[i - 1].object;
    group = xcalloc(n + 1, sizeof(*group));
    *counts = xcalloc(n * each + 1, sizeof(**counts));
    n = 0;
    for (size_t i = 0; i < o->rows;) {
        struct group g = { .object = o->row[i].object, .first = i, .counts = *counts + n * each };

        for (; i < o->rows && o->row[i].object == g.object && o->row[i].func == QUERN_NONE; i++)
            for (size_t e = 0; e < each; e++)
                g.counts[e] += o->counts[o->row[i].at + e];
        g.code = i;
        while (i < o->rows && o->row[i].object == g.object)
            i++;
        g.end = i;
        g.weight = weight_of(o, g.counts);
        if (g.code > g.first)
            group[n++] = g;
    }
    qsort(group, n, sizeof(*group), by_group);
    *count = n;
    return group;
}

static void put_objects(struct put *t, const struct group *group, size_t n)
{
    size_t shown = n < OBJECTS ? n : OBJECTS, each = 2 * t->o.events;
    quern_count *left = xcalloc(each + 1, sizeof(*left));

    fputs(",\n\"objects\":[", t->f);
    for (size_t i = 0; i < shown; i++) {
        fputs(i ? ",\n" : "\n", t->f);
        put_object(t, &group[i]);
    }
    for (size_t i = shown; i < n; i++)
        for (size_t e = 0; e < each; e++)
            left[e] += group[i].counts[e];
    fprintf(t->f, "],\n\"left\":[%zu,", n - shown);
    put_counts(t, left);
    putc(']', t->f);
    free(left);
}

static void put_advice(struct put *t, const struct group *group, size_t n)
{
    struct advices a;

    advice_find(&a, &t->o, &t->walks[0], &t->use[0], &t->sharing, t->r->side[0].p);
    fputs(",\n\"advice\":[", t->f);
    for (size_t i = 0; i < a.count; i++) {
        const struct objects_row *row = a.advice[i].row;
        size_t k = 0;

        while (k < n && (!row || group[k].object != row->object))
            k++;
        fputs(i ? ",\n[" : "[", t->f);
        put_string(t->f, a.advice[i].text);
        if (!row) { // numbers that nothing has
            fprintf(t->f, ",%zu,%u,0,0]", n, UINT32_MAX);
            continue;
        }
        fprintf(t->f, ",%zu,%u,%u,%llu]", k, func_of(t, row->func), string_of(t, row->file),
                (unsigned long long)row->line);
    }
    putc(']', t->f);
    advice_free(&a);
}

// ---- Sharing ----

// The number of a side's object; -1: it has no misses, or is left out.
static long long object_index(const struct put *t, const struct sharing_side *side,
                              const struct group *group, size_t n)
{
    for (size_t i = 0; i < n && i < OBJECTS; i++) {
        struct quern_func f = quern_profile_func_get(t->o.p, group[i].object);

        if (strcmp(quern_profile_str(t->o.p, f.name), side->object) == 0 &&
            strcmp(quern_profile_str(t->o.p, f.file), side->object_file) == 0)
            return (long long)i;
    }
    return -1;
}

static void put_side(struct put *t, const struct sharing_side *side, const struct group *group,
                     size_t n)
{
    char *place = sharing_place(side);

    fprintf(t->f, ",[%lld,", object_index(t, side, group, n));
    put_string(t->f, place);
    fprintf(t->f, ",%d,", side->writes);
    put_string(t->f, side->function);
    putc(',', t->f);
    put_string(t->f, side->file);
    fprintf(t->f, ",%llu]", (unsigned long long)side->line);
    free(place);
}

static void put_sharing(struct put *t, const struct group *group, size_t n)
{
    const struct sharing *s = &t->sharing;

    fprintf(t->f, ",\n\"serialized\":%d,\"sharing\":[", s->serialized);
    for (size_t i = 0; i < s->count && i < ROWS; i++) {
        const struct sharing_pair *pair = &s->pair[i];

        fprintf(t->f, "%s[%d,\"%llu\",\"%llu\"", i ? ",\n" : "\n", pair->is_true,
                (unsigned long long)pair->invalidations, (unsigned long long)pair->most);
        put_side(t, &pair->side[0], group, n);
        put_side(t, &pair->side[1], group, n);
        putc(']', t->f);
    }
    putc(']', t->f);
}

// ---- Functions: those of the data are functions of the report ----

static const struct put *naming;

static int compare_names(const char *name, const char *file, uint32_t func)
{
    struct quern_func f = quern_profile_func_get(naming->o.p, func);
    int rc = strcmp(name, quern_profile_str(naming->o.p, f.name));

    return rc ? rc : strcmp(file, quern_profile_str(naming->o.p, f.file));
}

static int by_name(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    struct quern_func f = quern_profile_func_get(naming->o.p, a);
    int rc = compare_names(quern_profile_str(naming->o.p, f.name),
                           quern_profile_str(naming->o.p, f.file), b);

    return rc ? rc : a < b ? -1 : a > b;
}

// By object, name and file, else by name and file.
static void number_funcs(struct put *t)
{
    uint32_t *sorted = xcalloc(t->func_count + 1, sizeof(*sorted));
    bool *exact = xcalloc(quern_profile_func_count(t->o.p) + 1, sizeof(*exact));

    memcpy(sorted, t->funcs, t->func_count * sizeof(*sorted));
    naming = t;
    qsort(sorted, t->func_count, sizeof(*sorted), by_name);
    for (uint32_t f = 0; f < pack_count(t->r->pack); f++) {
        struct pack_func is = pack_func(t->r->pack, f);
        const char *name = is.name ? is.name : "", *file = is.file ? is.file : "";
        uint32_t low = 0, high = t->func_count;

        while (low < high) {
            uint32_t mid = low + (high - low) / 2;

            if (compare_names(name, file, sorted[mid]) > 0)
                low = mid + 1;
            else
                high = mid;
        }
        for (; low < t->func_count && compare_names(name, file, sorted[low]) == 0; low++) {
            uint32_t of = sorted[low];
            const char *object =
                quern_profile_str(t->o.p, quern_profile_func_get(t->o.p, of).object);
            bool same = strcmp(object, is.object ? is.object : "") == 0;

            if (same ? !exact[of] : !t->number[of])
                t->number[of] = f + 1;
            exact[of] |= same;
        }
    }
    free(sorted);
    free(exact);
}

static void put_funcs(struct put *t)
{
    number_funcs(t);
    fputs(",\n\"funcs\":[", t->f);
    for (uint32_t i = 0; i < t->func_count; i++) {
        struct quern_func f = quern_profile_func_get(t->o.p, t->funcs[i]);

        fprintf(t->f, "%s[%u,%u,%u,%lld]", i ? ",\n" : "", string_of(t, f.name),
                string_of(t, f.file), string_of(t, f.object),
                (long long)t->number[t->funcs[i]] - 1);
    }
    fputs("],\n\"strings\":[", t->f);
    for (uint32_t i = 0; i < t->string_count; i++) {
        fputs(i ? ",\n" : "", t->f);
        put_string(t->f, quern_profile_str(t->o.p, t->strings[i]));
    }
    fputs("]}\n", t->f);
}

static void put_head(struct put *t, const char *path, const char *base)
{
    fputs("{\"files\":[", t->f);
    put_string(t->f, path);
    if (base) {
        putc(',', t->f);
        put_string(t->f, base);
    }
    fputs("],\"events\":[", t->f);
    for (size_t e = 0; e < t->o.events; e++) {
        fputs(e ? ",[" : "[", t->f);
        put_string(t->f, quern_profile_event_name(t->o.p, e));
        fprintf(t->f, ",%lld]", (long long)quern_profile_event_scale(t->o.p, e));
    }
    fprintf(t->f, "],\"addresses\":%d,\"use\":[%llu,%llu],\"total\":[",
            (quern_profile_has(t->o.p) & QUERN_HAS_ADDR) != 0, (unsigned long long)t->use[0].line,
            (unsigned long long)t->use[0].one_in);
    put_counts(t, t->o.total);
    putc(']', t->f);
}

static void put_all(struct put *t, const char *path, const char *base)
{
    size_t strings = quern_profile_str_count(t->o.p), funcs = quern_profile_func_count(t->o.p), n;
    quern_count *counts;
    struct group *group = group_rows(&t->o, &n, &counts);

    t->string = xcalloc(strings + 1, sizeof(*t->string));
    t->strings = xcalloc(strings + 1, sizeof(*t->strings));
    t->func = xcalloc(funcs + 1, sizeof(*t->func));
    t->funcs = xcalloc(funcs + 1, sizeof(*t->funcs));
    t->number = xcalloc(funcs + 1, sizeof(*t->number));
    put_head(t, path, base);
    put_objects(t, group, n);
    put_advice(t, group, n);
    put_sharing(t, group, n);
    put_funcs(t);
    free(t->string);
    free(t->strings);
    free(t->func);
    free(t->funcs);
    free(t->number);
    free(group);
    free(counts);
}

static void write_json(struct report *r, const struct quern_profile *p, const char *path,
                       const struct quern_profile *base, const char *base_path)
{
    struct put t = { .r = r };
    char *text = NULL;
    size_t size = 0;
    struct buf all;

    objects_read(&t.o, p, path, base, base_path);
    walks_read(&t.walks[0], p);
    sharing_read(&t.sharing, p);
    lineuse_read(&t.use[0], p);
    if (base) {
        walks_read(&t.walks[1], base);
        lineuse_read(&t.use[1], base);
    }
    t.f = open_memstream(&text, &size);
    if (!t.f)
        die(UTIL_USAGE, "out of memory");
    put_all(&t, path, base ? base_path : NULL);
    if (fclose(t.f) != 0)
        die(UTIL_USAGE, "out of memory");
    all = (struct buf){ .at = (uint8_t *)text, .size = size };
    if (!deflate_block(&r->data_block, &all, 9))
        die(UTIL_USAGE, "out of memory");
    free(text);
    walks_free(&t.walks[0]);
    sharing_free(&t.sharing);
    walks_free(&t.walks[1]);
    lineuse_free(&t.use[0]);
    lineuse_free(&t.use[1]);
    objects_free(&t.o);
}

// As the names of the code were.
static struct quern_profile *rename_all(const struct report *r, struct quern_profile *p)
{
    struct quern_rewrite *file = read_rewrite("--mod-filename", r->mod_file);
    struct quern_rewrite *func = read_rewrite("--mod-funcname", r->mod_func);

    p = read_renamed(p, file, func);
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    return p;
}

void report_data(struct report *r)
{
    static const char *const option[] = { "--data", "--base-data" };
    const char *name[] = { r->data, r->base_data };
    struct quern_profile *p[2] = { 0 };
    struct quern_error err;
    char *path[2] = { 0 };

    for (int s = 0; s < 2 && r->side[s].p; s++)
        p[s] = name[s] ? given(r, s, option[s], name[s]) : found(r, s, &path[s]);
    for (int s = 0; s < 2; s++)
        name[s] = name[s] ? name[s] : path[s];
    if (p[0] && p[1] && quern_profile_match_events(p[0], name[0], p[1], name[1], &err) < 0) {
        if (r->base_data)
            remark_die(&err);
        warn("%s: not shown: %s", name[1], err.msg);
        quern_profile_free(p[1]);
        p[1] = NULL;
    }
    for (int s = 0; s < 2; s++)
        p[s] = p[s] ? rename_all(r, p[s]) : NULL;
    if (p[0])
        write_json(r, p[0], name[0], p[1], name[1]);
    for (int s = 0; s < 2; s++) {
        quern_profile_free(p[s]);
        free(path[s]);
    }
}
