// SPDX-License-Identifier: MIT
//
// Reads the records of both profiles into rows, sorted by part, function and place. Of the same
// place there may be several rows: pack_emit.c sums them.
#include <errno.h>
#include <stdlib.h>

#include "report/pack/pack_priv.h"

uint32_t pack_gather_string(struct pack *k, unsigned side, uint32_t s)
{
    if (s == QUERN_NONE)
        return QUERN_NONE;
    if (k->string[side][s] == 0) {
        const char *text = quern_profile_str(k->p[side], s);
        k->string[side][s] = pack_names_add(&k->names, text, strlen(text)) + 1;
    }
    return k->string[side][s] - 1;
}

static bool add_row(struct rows *r, struct row row)
{
    if (r->count == r->cap) {
        size_t cap = r->cap + r->cap / 2 + 1024;
        struct row *more = realloc(r->row, cap * sizeof(*more));
        if (!more)
            return false;
        r->row = more;
        r->cap = cap;
    }
    r->row[r->count++] = row;
    return true;
}

// Appends counts to the pool, without zeros at the end.
static size_t keep_counts(struct pack *k, const quern_count *v)
{
    size_t at = k->pool.size, n = k->events;

    while (n > 0 && v[n - 1] == 0)
        n--;
    buf_u(&k->pool, n);
    for (size_t i = 0; i < n; i++)
        buf_z(&k->pool, v[i]);
    return at;
}

static struct file *file_at(struct pack *k, uint32_t string, const char *name)
{
    if (string >= k->file_of_size) {
        uint32_t size = string + string / 2 + 64;
        uint32_t *more = realloc(k->file_of, size * sizeof(*more));
        if (!more)
            return NULL;
        memset(more + k->file_of_size, 0, (size - k->file_of_size) * sizeof(*more));
        k->file_of = more;
        k->file_of_size = size;
    }
    if (k->file_of[string] == 0) {
        if (k->files == k->file_cap) {
            uint32_t cap = k->file_cap * 2 + 64;
            struct file *more = realloc(k->file, cap * sizeof(*more));
            if (!more)
                return NULL;
            k->file = more;
            k->file_cap = cap;
        }
        k->file[k->files] = (struct file){ .string = string, .name = name };
        k->file_of[string] = ++k->files;
    }
    return &k->file[k->file_of[string] - 1];
}

static bool note_file(struct pack *k, unsigned side, uint32_t string,
                      const struct quern_record *rec)
{
    struct file *f;

    if (string == QUERN_NONE || rec->at.line == 0)
        return true;
    if (!(f = file_at(k, string, quern_profile_str(k->p[side], rec->at.file))))
        return false;
    if (rec->at.line > f->last_line[side])
        f->last_line[side] = rec->at.line;
    if (rec->kind == QUERN_REC_COST)
        f->cost[side] += k->order < k->events
                             ? rec->counts[k->order]
                             : quern_profile_derive(k->p[side], k->order, rec->counts);
    return true;
}

static bool add_jump(struct pack *k, unsigned side, const struct quern_record *rec, struct row row)
{
    if (k->targets == k->target_cap) {
        size_t cap = k->target_cap * 2 + 256;
        struct target *more = realloc(k->target, cap * sizeof(*more));
        if (!more)
            return false;
        k->target = more;
        k->target_cap = cap;
    }
    uint32_t file = pack_gather_string(k, side, rec->to.file);
    row.callee = rec->to.func == QUERN_NONE ? row.func : k->func_of[side][rec->to.func];
    k->target[k->targets] = (struct target){
        .line = rec->to.line,
        .addr = rec->to.addr,
        .executed = rec->kind == QUERN_REC_JCND ? rec->executed : 0,
        .file = file == k->func[row.callee].file ? QUERN_NONE : file,
    };
    row.calls = rec->calls;
    row.more = k->targets++;
    return add_row(&k->jump, row);
}

// A call enters its callee where that begins, as far as the profile has lines of its own file.
static void note_begin(struct pack *k, unsigned side, const struct quern_record *rec,
                       uint32_t callee)
{
    struct func *f = &k->func[callee];

    if (rec->to.line && rec->to.line < f->begin &&
        (rec->to.file == QUERN_NONE || pack_gather_string(k, side, rec->to.file) == f->file))
        f->begin = rec->to.line;
}

static bool add_record(struct pack *k, unsigned side, const struct quern_record *rec)
{
    uint32_t file = pack_gather_string(k, side, rec->at.file);
    struct row row = {
        .line = rec->at.line,
        .addr = rec->at.addr,
        .func = k->func_of[side][rec->at.func],
        .part = k->first_part[side] + rec->part,
        .callee = QUERN_NONE,
    };
    struct func *f = &k->func[row.func];

    row.file = file == f->file ? QUERN_NONE : file;
    if (!note_file(k, side, file, rec))
        return false;
    if (row.file == QUERN_NONE && row.line && row.line < f->line)
        f->line = row.line;
    if (row.addr && row.addr < f->addr) {
        f->addr = row.addr;
        f->addr_line = row.file == QUERN_NONE ? row.line : 0;
    }
    switch (rec->kind) {
    case QUERN_REC_NONE: return true;
    case QUERN_REC_COST:
        for (size_t i = 0; i < k->events; i++)
            k->total[row.part * k->events + i] += rec->counts[i];
        row.more = keep_counts(k, rec->counts);
        return add_row(&k->cost, row);
    case QUERN_REC_CALL:
        row.callee = k->func_of[side][rec->to.func];
        note_begin(k, side, rec, row.callee);
        row.calls = rec->calls;
        row.more = keep_counts(k, rec->counts);
        return add_row(&k->call, row);
    case QUERN_REC_JUMP:
    case QUERN_REC_JCND: return add_jump(k, side, rec, row);
    }
    return true;
}

static int compare(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    // The function's own file first: QUERN_NONE + 1 is 0.
    if (a->file != b->file)
        return a->file + 1 < b->file + 1 ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->callee + 1 < b->callee + 1 ? -1 : a->callee + 1 > b->callee + 1;
}

// By part and function (counted), then by place.
static bool sort_rows(const struct pack *k, struct rows *r)
{
    size_t slots = (size_t)k->parts * k->funcs;
    size_t *first = calloc(slots + 2, sizeof(*first));
    struct row *sorted = malloc((r->count + 1) * sizeof(*sorted));

    r->first = first;
    if (!first || !sorted) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < r->count; i++)
        first[pack_slot(k, r->row[i].part, r->row[i].func) + 2]++;
    for (size_t i = 2; i < slots + 2; i++)
        first[i] += first[i - 1];
    // Filling moves each start by one place to the left.
    for (size_t i = 0; i < r->count; i++)
        sorted[first[pack_slot(k, r->row[i].part, r->row[i].func) + 1]++] = r->row[i];
    free(r->row);
    r->row = sorted;
    for (size_t s = 0; s < slots; s++) {
        size_t n = first[s + 1] - first[s], i = 1;
        struct row *at = sorted + first[s];
        while (i < n && compare(at + i - 1, at + i) <= 0)
            i++;
        if (i < n)
            qsort(at, n, sizeof(*at), compare);
    }
    return true;
}

bool pack_gather(struct pack *k)
{
    for (unsigned side = 0; side < CORE_SIDES && k->p[side]; side++) {
        struct quern_cursor *c = quern_cursor_new(k->p[side]);
        struct quern_record rec;
        bool ok = c != NULL;
        while (ok && quern_cursor_next(c, &rec))
            ok = add_record(k, side, &rec);
        quern_cursor_free(c);
        if (!ok)
            return false;
    }
    return !k->pool.failed && !k->names.failed && sort_rows(k, &k->cost) &&
           sort_rows(k, &k->call) && sort_rows(k, &k->jump);
}
