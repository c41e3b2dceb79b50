// SPDX-License-Identifier: MIT
//
// Fields of objects of the data (fields.h).
#include "cli/profiles/fields.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/read.h"

static const char key[] = "Field: ", is_data[] = "Functions: objects of the data";

bool fields_are(const char *desc)
{
    return strncmp(desc, key, sizeof(key) - 1) == 0;
}

// Takes apart a copy of the line, which the field owns as its path. False: it is none.
static bool parse(struct field *f, char *line)
{
    char *number = util_column(&line), *end;

    if (*number < '0' || *number > '9')
        return false;
    f->addr = strtoull(number, &end, 10);
    f->path = util_column(&line);
    f->at = util_column(&line);
    f->object = util_column(&line);
    f->file = util_column(&line);
    if (f->file && strcmp(f->file, "???") == 0)
        f->file = ""; // as a profile has an unknown one
    f->inferred = line && strcmp(line, "inferred") == 0;
    if (*end || !f->file || !strrchr(f->at, ':'))
        return false;
    memmove(number, f->path, strlen(f->path) + 1); // the field owns its first byte
    f->path = number;
    return true;
}

static int compare(const void *x, const void *y)
{
    const struct field *a = x, *b = y;
    int rc = strcmp(a->object, b->object);

    if (!rc)
        rc = strcmp(a->file, b->file);
    return rc ? rc : a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void read_part(struct fields *f, const struct quern_part *part)
{
    f->field = xrealloc(f->field, (f->count + part->desc_count + 1) * sizeof(*f->field));
    for (size_t i = 0; i < part->desc_count; i++) {
        struct field one;
        char *copy;

        f->data |= strcmp(part->desc[i], is_data) == 0;
        if (!fields_are(part->desc[i]))
            continue;
        copy = xstrdup(part->desc[i] + sizeof(key) - 1);
        if (parse(&one, copy))
            f->field[f->count++] = one;
        else
            free(copy);
    }
}

void fields_read(struct fields *f, const struct quern_profile *p)
{
    struct quern_part part;

    *f = (struct fields){ 0 };
    for (size_t i = 0; i < quern_profile_part_count(p); i++)
        if (quern_profile_part(p, i, &part) == 0)
            read_part(f, &part);
    if (f->count)
        qsort(f->field, f->count, sizeof(*f->field), compare);
}

void fields_free(struct fields *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->field[i].path);
    free(f->field);
    *f = (struct fields){ 0 };
}

const struct field *fields_find(const struct fields *f, const struct quern_profile *p,
                                uint32_t func, uint64_t addr)
{
    struct quern_func of = quern_profile_func_get(p, func);
    struct field like = { .addr = addr,
                          .object = quern_profile_str(p, of.name),
                          .file = quern_profile_str(p, of.file) };

    return f->count ? bsearch(&like, f->field, f->count, sizeof(like), compare) : NULL;
}

char *fields_name(const struct field *f)
{
    return xasprintf("%s%s", f->path, f->inferred ? " (inferred)" : "");
}

// ---- Rows ----

static int compare_rows(const void *x, const void *y)
{
    const struct fields_row *a = x, *b = y;

    if (a->func != b->func)
        return a->func < b->func ? -1 : 1;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static struct fields_row *all_rows(const struct quern_profile *p, size_t *n)
{
    struct quern_cursor *cursor = read_cursor(p);
    size_t events = quern_profile_event_count(p), room = 0;
    struct fields_row *rows = NULL;
    struct quern_record r;

    *n = 0;
    while (quern_cursor_next(cursor, &r)) {
        if (r.kind != QUERN_REC_COST)
            continue;
        if (*n == room) {
            room = room ? room * 2 : 64;
            rows = xrealloc(rows, room * sizeof(*rows));
        }
        rows[*n] =
            (struct fields_row){ r.at.func, r.at.addr, xcalloc(events + 1, sizeof(*r.counts)) };
        memcpy(rows[(*n)++].counts, r.counts, events * sizeof(*r.counts));
    }
    quern_cursor_free(cursor);
    return rows;
}

struct fields_row *fields_rows(const struct fields *f, const struct quern_profile *p, size_t *n)
{
    size_t all = 0, kept = 0, events = quern_profile_event_count(p);
    struct fields_row *rows;

    *n = 0;
    if (!f->data || !(quern_profile_has(p) & QUERN_HAS_ADDR))
        return NULL;
    rows = all_rows(p, &all);
    if (all)
        qsort(rows, all, sizeof(*rows), compare_rows);
    for (size_t i = 0; i < all; i++) {
        if (!kept || compare_rows(&rows[kept - 1], &rows[i]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        for (size_t k = 0; k < events; k++)
            rows[kept - 1].counts[k] += rows[i].counts[k];
        free(rows[i].counts);
    }
    *n = kept;
    return rows;
}

void fields_rows_free(struct fields_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(rows[i].counts);
    free(rows);
}

char *fields_text(const struct fields *f, const struct quern_profile *p,
                  const struct fields_row *row)
{
    const struct field *named = fields_find(f, p, row->func, row->addr);

    if (!named)
        return xasprintf("+%llu", (unsigned long long)row->addr);
    if (strcmp(named->at, ":0") == 0)
        return fields_name(named);
    return xasprintf("%s (%s%s)", named->path, util_basename(named->at),
                     named->inferred ? ", inferred" : "");
}
