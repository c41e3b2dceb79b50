// SPDX-License-Identifier: MIT
//
// Fields of the objects of the data (--data=yes): from the offsets that the engine has noted to the
// members of variables, by the types in the debug information. Without a type the offsets stay, in
// cells. What is in no field that is known is left to the object itself (output_data.c).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/output/output.h"

// Of so many misses, one and more of an object are worth a look at its type; for a variable of a
// library it needs so many misses. Even /bin/true misses in a few of the C library, whose debug
// information takes 0.16 s (docs/design/092-fields.md).
#define TYPES_LEAST 1000u

#define CELL 8u // bytes; from SPOOL_DATA_EXACT on SPOOL_DATA_PIECE

// A cell of the engine's, and the question for its field.
struct asked {
    const struct spool_data_cell *cell;
    uint32_t module; // text among the names
    struct symbols_field q;
};

static int compare_asked(const void *x, const void *y)
{
    const struct asked *a = x, *b = y;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->q.local != b->q.local)
        return a->q.local ? 1 : -1;
    if (a->q.start != b->q.start)
        return a->q.start < b->q.start ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

// ---- Questions ----

static void ask_module(struct asked *asked, size_t n, const char *path, struct places *places)
{
    struct symbols_module *module = places_module(places, path);
    struct symbols_field *q = xcalloc(n + 1, sizeof(*q));

    for (size_t i = 0; i < n; i++)
        q[i] = asked[i].q;
    if (module)
        symbols_fields(module, q, n);
    for (size_t i = 0; i < n; i++)
        asked[i].q = q[i];
    free(q);
}

static void ask(struct asked *asked, size_t n, const struct spool_data_file *d,
                struct places *places)
{
    size_t count;

    if (n)
        qsort(asked, n, sizeof(*asked), compare_asked);
    for (size_t i = 0; i < n; i += count) {
        for (count = 1; i + count < n && asked[i + count].module == asked[i].module; count++)
            ;
        ask_module(asked + i, count, spool_data_name(d, asked[i].module), places);
    }
}

static bool is_variable(const struct spool_data_object *o)
{
    return o->kind == SPOOL_DATA_STATIC || (o->kind == SPOOL_DATA_TLS && o->name);
}

// As compilers name statics of functions: "table.0", "_ZZ1fvE5table".
static bool is_inner(const char *name)
{
    return name && (strchr(name, '.') || strncmp(name, "_ZZ", 3) == 0);
}

static struct asked question(const struct spool_data_file *d, const struct spool_data_cell *c)
{
    const struct spool_data_object *o = &d->object[c->object];

    return (struct asked){
        .cell = c,
        .module = o->module,
        .q = { .start = o->start,
               .size = o->size,
               .local = o->kind == SPOOL_DATA_TLS,
               .inner = is_inner(spool_data_name(d, o->name)),
               .low = c->low,
               .high = c->high,
               .step = c->step,
               .words = c->words[0] ? c->words : NULL },
    };
}

// ---- Fields ----

static void add_misses(struct output_field *f, const struct spool_data_cell *c)
{
    int write = (c->counter & SPOOL_DATA_CELL_WRITE) != 0;

    f->misses[OUTPUT_FIELD_L1][write] += c->l1;
    f->misses[OUTPUT_FIELD_L2][write] += c->l2;
    f->misses[OUTPUT_FIELD_LL][write] += c->ll;
}

// A field that has no name: false if its offset says nothing.
static bool by_offset(struct output_field *f, const struct spool_data_object *o,
                      const struct spool_data_cell *c)
{
    uint64_t bytes = c->low < SPOOL_DATA_EXACT ? CELL : SPOOL_DATA_PIECE;

    if (!is_variable(o) && o->least != o->most)
        return false;
    f->offset = c->low & -bytes;
    return c->high - f->offset < bytes;
}

static void add(struct output_fields *f, const struct spool_data_file *d,
                const struct spool_data_cell *c, struct symbols_field *q)
{
    struct output_field field = { .object = c->object };

    if (q && q->path) {
        field.inferred = !is_variable(&d->object[c->object]);
        field.path = q->path;
        field.offset = q->offset;
        field.whole = q->whole;
        field.file = q->file;
        field.line = q->line;
        q->path = NULL;
    } else if (!by_offset(&field, &d->object[c->object], c)) {
        return;
    }
    add_misses(&field, c);
    f->field[f->count++] = field;
}

static int compare_objects(const void *x, const void *y)
{
    const struct output_field *a = x, *b = y;

    return a->object < b->object ? -1 : a->object > b->object;
}

static int compare_fields(const void *x, const void *y)
{
    const struct output_field *a = x, *b = y;

    if (a->whole != b->whole)
        return a->whole ? 1 : -1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (!a->path != !b->path)
        return a->path ? -1 : 1;
    return a->path ? strcmp(a->path, b->path) : 0;
}

static bool is_same(const struct output_field *a, const struct output_field *b)
{
    return a->whole == b->whole && a->offset == b->offset && !a->path == !b->path &&
           (!a->path || strcmp(a->path, b->path) == 0);
}

size_t output_fields_join(struct output_field *f, size_t n, uint64_t end)
{
    size_t kept = 0;
    uint64_t last = 0;

    if (n)
        qsort(f, n, sizeof(*f), compare_fields);
    for (size_t i = 0; i < n; i++) {
        if (!kept || !is_same(&f[kept - 1], &f[i])) {
            f[kept++] = f[i];
            continue;
        }
        for (int level = 0; level < OUTPUT_FIELD_LEVELS; level++)
            for (int write = 0; write < 2; write++)
                f[kept - 1].misses[level][write] += f[i].misses[level][write];
    }
    // An offset says which row is which: of several at one offset the first has it.
    for (size_t i = 0; i < kept; i++) {
        if (f[i].whole || (i && f[i].offset == last))
            f[i].offset = ++end;
        else
            last = f[i].offset;
    }
    return kept;
}

// ---- Blocks ----

#define SOURCE_MAX (16l << 20) // bytes

// A line of the file, if that is not newer than what was made of it. NULL: it is, or there is none.
static char *source_line(const char *path, uint32_t line, uint64_t made)
{
    int fd = *path == '/' ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;
    char *text = NULL;
    size_t room = 0;
    struct stat st;
    ssize_t n = -1;
    FILE *f;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > SOURCE_MAX ||
        (made && (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec > made) ||
        !(f = fdopen(fd, "r"))) {
        close(fd);
        return NULL;
    }
    for (uint32_t i = 0; i < line; i++)
        if ((n = getline(&text, &room, f)) < 0)
            break;
    fclose(f);
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void ask_block(const struct spool_data_object *o, struct asked *asked, size_t n,
                      struct places *places)
{
    struct symbols_block b = { .least = o->least, .most = o->most, .fields = n };
    uint32_t map = o->sites ? spool_file_map(places->s, o->site[0], UINT32_MAX) : UINT32_MAX;
    struct symbols_place at = { 0 };
    char *text;

    if (map >= places->s->maps_used || !places->module[map])
        return;
    b.site = places_find(places, map, o->site[0], &at);
    if (!places->known)
        return;
    b.line = at.line;
    b.text = text = source_line(places_text(places, at.file), at.line, places->s->maps[map].mtime);
    b.field = xcalloc(n + 1, sizeof(*b.field));
    for (size_t i = 0; i < n; i++)
        b.field[i] = asked[i].q;
    symbols_block(places->module[map], &b);
    for (size_t i = 0; i < n; i++)
        asked[i].q = b.field[i];
    free(b.field);
    free(text);
}

static uint64_t misses_of(const struct spool_data_cell *c, size_t n)
{
    uint64_t misses = 0;

    for (size_t i = 0; i < n; i++)
        misses += c[i].l1;
    return misses;
}

static void add_untyped(struct output_fields *f, const struct spool_data_file *d, size_t first,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(f, d, &d->cell[first + i], NULL);
}

static bool is_dear(const struct spool_data_file *d, const struct spool_data_cell *c, size_t n,
                    uint64_t all, const struct places *places)
{
    const struct spool_data_object *o = &d->object[c->object];
    const char *program = spool_file_text(places->s, places->s->h->s_program);
    const char *module = spool_data_name(d, o->module);
    uint64_t misses = misses_of(c, n);

    return misses >= all / TYPES_LEAST && (!is_variable(o) || misses >= TYPES_LEAST ||
                                           (program && module && strcmp(program, module) == 0));
}

// The cells of one object of blocks.
static void add_blocks(struct output_fields *f, const struct spool_data_file *d, size_t first,
                       size_t n, struct places *places)
{
    struct asked *asked = xcalloc(n + 1, sizeof(*asked));

    for (size_t i = 0; i < n; i++)
        asked[i] = question(d, &d->cell[first + i]);
    ask_block(&d->object[d->cell[first].object], asked, n, places);
    for (size_t i = 0; i < n; i++)
        add(f, d, &d->cell[first + i], &asked[i].q);
    free(asked);
}

void output_fields_find(struct output_fields *f, const struct spool_data_file *d,
                        struct places *places)
{
    struct asked *asked = xcalloc(d->cells + 1, sizeof(*asked));
    uint64_t all = misses_of(d->cell, d->cells);
    size_t n = 0, count;

    f->field = xcalloc(d->cells + 1, sizeof(*f->field));
    f->own = xcalloc(d->objects + 1, sizeof(*f->own));
    for (size_t i = 0; i < d->cells; i += count) {
        for (count = 1; i + count < d->cells && d->cell[i + count].object == d->cell[i].object;
             count++)
            ;
        if (!is_dear(d, &d->cell[i], count, all, places))
            add_untyped(f, d, i, count);
        else if (is_variable(&d->object[d->cell[i].object]))
            for (size_t k = 0; k < count; k++)
                asked[n++] = question(d, &d->cell[i + k]);
        else
            add_blocks(f, d, i, count, places);
    }
    ask(asked, n, d, places);
    for (size_t i = 0; i < n; i++) {
        f->own[asked[i].cell->object] =
            (struct output_own){ asked[i].q.own_file, asked[i].q.own_line };
        add(f, d, asked[i].cell, &asked[i].q);
    }
    free(asked);
    if (f->count)
        qsort(f->field, f->count, sizeof(*f->field), compare_objects);
}

// ---- Names of single bytes ----

static int by_object(const void *x, const void *y)
{
    const struct output_touch *a = *(struct output_touch *const *)x,
                              *b = *(struct output_touch *const *)y;

    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void take_path(struct output_touch *t, const struct symbols_field *q)
{
    free(t->path);
    t->path = q->path;
}

void output_fields_name(struct output_touch *touch, size_t n, const struct spool_data_file *d,
                        struct places *places)
{
    struct output_touch **list = xcalloc(n + 1, sizeof(*list));
    struct spool_data_cell *cell = xcalloc(n + 1, sizeof(*cell));
    struct asked *asked = xcalloc(n + 1, sizeof(*asked));
    size_t known = 0, asking = 0, same;

    for (size_t i = 0; i < n; i++)
        if (touch[i].offset != SPOOL_DATA_NO_OFFSET)
            list[known++] = &touch[i];
    if (known)
        qsort(list, known, sizeof(*list), by_object);
    for (size_t i = 0; i < known; i++)
        cell[i] = (struct spool_data_cell){ .object = list[i]->object,
                                            .first = list[i]->offset,
                                            .low = list[i]->offset,
                                            .high = list[i]->offset };
    for (size_t i = 0; i < known; i += same) {
        const struct spool_data_object *b = &d->object[list[i]->object];

        for (same = 0; i + same < known && list[i + same]->object == list[i]->object; same++) {
            asked[asking + same] = question(d, &cell[i + same]);
            asked[asking + same].q.numbered = true;
        }
        if (is_variable(b)) {
            asking += same;
        } else if (b->kind == SPOOL_DATA_HEAP) {
            ask_block(b, &asked[asking], same, places);
            for (size_t k = 0; k < same; k++)
                take_path(list[i + k], &asked[asking + k].q);
        }
    }
    ask(asked, asking, d, places);
    for (size_t i = 0; i < asking; i++)
        take_path(list[asked[i].cell - cell], &asked[i].q);
    free(asked);
    free(cell);
    free(list);
}

void output_fields_free(struct output_fields *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->field[i].path);
    free(f->field);
    free(f->own);
    *f = (struct output_fields){ 0 };
}

const struct output_field *output_fields_of(const struct output_fields *f, uint32_t object,
                                            size_t *n)
{
    size_t lo = 0, hi = f->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (f->field[mid].object < object)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (*n = 0; lo + *n < f->count && f->field[lo + *n].object == object; ++*n)
        ;
    return f->field + lo;
}

uint64_t output_fields_end(const struct spool_data_object *o)
{
    uint64_t bytes = is_variable(o) ? o->size : o->most;

    return (bytes < UINT64_C(1) << 47 ? bytes : 0) + SPOOL_DATA_PIECE;
}
