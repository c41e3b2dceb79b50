// SPDX-License-Identifier: MIT
//
// Source listings of `quern annotate`: each line of a file with its cost, gaps where there is none,
// and below a line its calls. Files are those that the user names and, with --auto=yes, those of
// the functions shown.
#include "cli/annotate/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/files/source.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

struct listed {
    uint32_t file;    // string number; QUERN_NONE: nothing was recorded for it
    const char *name; // as shown
    const char *dir;  // the include directory it was found in, or NULL
    char *path;       // where it is; NULL: not found
    int user;
    bool given;        // the path comes from the user, not from the profile
    size_t first, end; // its lines in `lines`, sorted
    size_t calls, calls_end;
};

struct line {
    uint32_t source;
    uint64_t line;
    size_t counts;
    uint64_t present;
};

struct call {
    uint32_t source, callee;
    uint64_t line, calls;
    size_t counts;
};

struct listing {
    struct annotate *a;
    struct listed *source;
    size_t source_count;
    struct line *line;
    size_t line_count, line_cap;
    struct call *call;
    size_t call_count, call_cap;
    quern_count *counts; // event_count for each line and call
    size_t used, cap;
    uint32_t *slot; // (source, line, callee) -> number, open addressing
    size_t mask;
    quern_count *annotated;
    uint64_t annotated_present;
    size_t annotated_files;
    uint8_t *top; // by function, with AUTO_TOP: is its source shown? NULL: all are
    bool all_missing;
};

// ---- Which files, and where ----

static void locate(const struct annotate *a, struct listed *s)
{
    if (source_is_there(s->name, s->given))
        s->path = xstrdup(s->name);
    else
        s->path = source_search(&a->include, s->name, s->given, &s->dir);
}

// Does path end in name, at a slash?
static int ends_in(const char *path, const char *name)
{
    size_t p = strlen(path), n = strlen(name);
    return p > n && path[p - n - 1] == '/' && !strcmp(path + p - n, name);
}

// The file of the profile for a name of the user: the same name, or the one that ends in it and
// costs most.
static uint32_t match_user(const struct annotate *a, const char *name)
{
    uint32_t tail = QUERN_NONE;
    const quern_count *best = NULL;

    while (strncmp(name, "./", 2) == 0)
        name += 2;
    for (size_t i = 0; i < a->pieces.count; i++) {
        const char *s = quern_profile_str(a->p, a->pieces.row[i].file);
        const quern_count *v = a->pieces.row[i].counts;
        if (strcmp(s, name) == 0 || strcmp(annotate_file_name(a, a->pieces.row[i].file), name) == 0)
            return a->pieces.row[i].file;
        if (ends_in(s, name) && (!best || annotate_compare(a, v, best) < 0)) {
            tail = a->pieces.row[i].file;
            best = v;
        }
    }
    return tail;
}

static int chosen(const struct listing *l, uint32_t file)
{
    for (size_t i = 0; i < l->source_count; i++)
        if (l->source[i].file == file)
            return 1;
    return 0;
}

// Which rows of a->list have a source that is there.
static uint8_t *rows_with_source(const struct annotate *a)
{
    uint8_t *has = xcalloc(a->list.count + 1, 1);
    uint8_t *known = xcalloc(quern_profile_str_count(a->p) + 1, 1); // 1: not there, 2: there

    for (size_t k = 0; k < a->pieces.order_count; k++) {
        size_t at = a->pieces.order[k];
        const struct annotate_row *r = &a->pieces.row[at];

        if (r->file == QUERN_NONE)
            continue;
        if (!known[r->file]) {
            struct listed s = { .name = quern_profile_str(a->p, r->file) };

            locate(a, &s);
            known[r->file] = s.path ? 2 : 1;
            free(s.path);
        }
        if (known[r->file] == 2)
            has[a->row_of_func ? a->row_of_func[r->func] : at] = 1;
    }
    free(known);
    return has;
}

// The most expensive functions that have a source; if there is no source at all, the most expensive
// ones, whose files are then listed as missing.
static void choose_top(struct listing *l)
{
    const struct annotate *a = l->a;
    const struct annotate_list *list = &a->list;
    size_t funcs = quern_profile_func_count(a->p), n = 0;
    uint8_t *has = rows_with_source(a);
    bool any = memchr(has, 1, list->count) != NULL;

    l->top = xcalloc(funcs + 1, 1);
    for (size_t k = 0; k < list->order_count && n < ANNOTATE_TOP; k++) {
        size_t row = list->order[k];

        if (any && !has[row])
            continue;
        n++;
        l->top[list->row[row].func] = 1;
        for (size_t f = 0; a->row_of_func && f < funcs; f++)
            if (a->row_of_func[f] == row)
                l->top[f] = 1;
    }
    free(has);
    l->all_missing = !any;
}

static void choose(struct listing *l)
{
    struct annotate *a = l->a;
    uint8_t *seen = xcalloc(quern_profile_str_count(a->p) + 1, 1);

    l->source = xcalloc(a->user_count + a->pieces.order_count + 1, sizeof(*l->source));
    for (size_t i = 0; i < a->user_count; i++) {
        struct listed *s = &l->source[l->source_count];
        uint32_t file = match_user(a, a->user[i]);
        if (file != QUERN_NONE && chosen(l, file))
            continue;
        *s = (struct listed){ .name = a->user[i], .user = 1, .given = true, .file = file };
        locate(a, s);
        if (!s->path && file != QUERN_NONE) {
            s->name = quern_profile_str(a->p, file);
            s->given = false;
            locate(a, s);
            if (!s->path)
                s->name = a->user[i];
        }
        if (file != QUERN_NONE)
            seen[file] = 1;
        l->source_count++;
    }
    if (a->source == AUTO_TOP)
        choose_top(l);
    for (size_t k = 0; a->source != AUTO_NO && k < a->pieces.order_count; k++) {
        const struct annotate_row *r = &a->pieces.row[a->pieces.order[k]];
        uint32_t file = r->file;
        if (file == QUERN_NONE || seen[file] || (l->top && !l->top[r->func]))
            continue;
        seen[file] = 1;
        l->source[l->source_count] =
            (struct listed){ .name = quern_profile_str(a->p, file), .file = file };
        locate(a, &l->source[l->source_count++]);
    }
    free(seen);
}

// ---- Counts by line ----

static size_t hash(uint32_t source, uint64_t line, uint32_t callee)
{
    uint64_t h = ((uint64_t)source << 40 ^ line) * 0x9e3779b97f4a7c15u;
    return (size_t)((h ^ h >> 31 ^ callee) * 0xff51afd7ed558ccdu >> 20);
}

static void rehash(struct listing *l)
{
    l->mask = l->mask ? l->mask * 2 + 1 : 4095;
    free(l->slot);
    l->slot = xcalloc(l->mask + 1, sizeof(*l->slot));
    for (size_t i = 0; i < l->line_count; i++) {
        size_t h = hash(l->line[i].source, l->line[i].line, QUERN_NONE) & l->mask;
        while (l->slot[h])
            h = (h + 1) & l->mask;
        l->slot[h] = (uint32_t)i * 2 + 2;
    }
    for (size_t i = 0; i < l->call_count; i++) {
        size_t h = hash(l->call[i].source, l->call[i].line, l->call[i].callee) & l->mask;
        while (l->slot[h])
            h = (h + 1) & l->mask;
        l->slot[h] = (uint32_t)i * 2 + 3;
    }
}

static size_t new_counts(struct listing *l)
{
    size_t n = l->a->events, at = l->used;

    if (l->used + n > l->cap) {
        l->cap = (l->cap + n) * 2;
        l->counts = xrealloc(l->counts, l->cap * sizeof(*l->counts));
    }
    memset(l->counts + at, 0, n * sizeof(*l->counts));
    l->used += n;
    return at;
}

static struct line *find_line(struct listing *l, uint32_t source, uint64_t line)
{
    size_t h;

    if ((l->line_count + l->call_count) * 2 >= l->mask)
        rehash(l);
    for (h = hash(source, line, QUERN_NONE) & l->mask; l->slot[h]; h = (h + 1) & l->mask) {
        uint32_t i = l->slot[h];
        if (!(i & 1) && l->line[i / 2 - 1].source == source && l->line[i / 2 - 1].line == line)
            return &l->line[i / 2 - 1];
    }
    if (l->line_count == l->line_cap) {
        l->line_cap = l->line_cap * 2 + 256;
        l->line = xrealloc(l->line, l->line_cap * sizeof(*l->line));
    }
    l->line[l->line_count] =
        (struct line){ .source = source, .line = line, .counts = new_counts(l) };
    l->slot[h] = (uint32_t)l->line_count * 2 + 2;
    return &l->line[l->line_count++];
}

static struct call *find_call(struct listing *l, uint32_t source, uint64_t line, uint32_t callee)
{
    size_t h;

    if ((l->line_count + l->call_count) * 2 >= l->mask)
        rehash(l);
    for (h = hash(source, line, callee) & l->mask; l->slot[h]; h = (h + 1) & l->mask) {
        uint32_t i = l->slot[h];
        struct call *c = &l->call[i / 2 - 1];
        if (i & 1 && c->source == source && c->line == line && c->callee == callee)
            return c;
    }
    if (l->call_count == l->call_cap) {
        l->call_cap = l->call_cap * 2 + 256;
        l->call = xrealloc(l->call, l->call_cap * sizeof(*l->call));
    }
    l->call[l->call_count] =
        (struct call){ .source = source, .line = line, .callee = callee, .counts = new_counts(l) };
    l->slot[h] = (uint32_t)l->call_count * 2 + 3;
    return &l->call[l->call_count++];
}

static const struct listing *sorting;

static int cmp_line(const void *pa, const void *pb)
{
    const struct line *x = pa, *y = pb;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int cmp_call(const void *pa, const void *pb)
{
    const struct call *x = pa, *y = pb;
    int c;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    c = annotate_compare(sorting->a, sorting->counts + x->counts, sorting->counts + y->counts);
    return c ? c : x->callee < y->callee ? -1 : x->callee > y->callee;
}

static void collect(struct listing *l)
{
    struct annotate *a = l->a;
    uint32_t *of_file = xcalloc(quern_profile_str_count(a->p) + 1, sizeof(*of_file));
    struct quern_cursor *c;
    struct quern_record rec;
    int any = 0;

    for (size_t i = 0; i < l->source_count; i++)
        if (l->source[i].path && l->source[i].file != QUERN_NONE) {
            of_file[l->source[i].file] = (uint32_t)i + 1;
            any = 1;
        }
    if (!any) {
        free(of_file);
        return;
    }
    c = read_cursor(a->p);
    while (quern_cursor_next(c, &rec)) {
        quern_count *v;
        uint32_t s = rec.at.file == QUERN_NONE ? 0 : of_file[rec.at.file];
        if (!s || rec.kind > QUERN_REC_CALL)
            continue;
        if (l->top && !l->top[rec.at.func] && !l->source[s - 1].user)
            continue;
        if (rec.kind == QUERN_REC_COST) {
            struct line *line = find_line(l, s - 1, rec.at.line);
            line->present |= rec.present;
            v = l->counts + line->counts;
        } else {
            struct call *call = find_call(l, s - 1, rec.at.line, rec.to.func);
            call->calls += rec.calls;
            v = l->counts + call->counts;
        }
        for (size_t i = 0; i < a->events; i++)
            v[i] += rec.counts[i];
    }
    quern_cursor_free(c);
    free(of_file);
    sorting = l;
    if (l->line_count)
        qsort(l->line, l->line_count, sizeof(*l->line), cmp_line);
    if (l->call_count)
        qsort(l->call, l->call_count, sizeof(*l->call), cmp_call);
    for (size_t i = 0, n = 0, m = 0; i < l->source_count; i++) {
        l->source[i].first = n;
        while (n < l->line_count && l->line[n].source == i)
            n++;
        l->source[i].end = n;
        l->source[i].calls = m;
        while (m < l->call_count && l->call[m].source == i)
            m++;
        l->source[i].calls_end = m;
    }
}

// ---- Printing ----

#define BOX_RULE "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
#define BOX_HEAD \
    BOX_RULE     \
    "@@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@\n" BOX_RULE

static void put_counts(struct listing *l, const quern_count *v, uint64_t present)
{
    table_row(&l->a->table, v, present);
    putchar_unlocked(' ');
}

static void put_calls(struct listing *l, const struct listed *s, uint64_t line, size_t *next)
{
    char calls[80];

    for (; *next < s->calls_end && l->call[*next].line <= line; ++*next) {
        const struct call *c = &l->call[*next];
        if (c->line != line)
            continue;
        put_counts(l, l->counts + c->counts, UINT64_MAX);
        fputs("=> ", stdout);
        annotate_put_func(l->a, quern_profile_func_get(l->a->p, c->callee).file, c->callee);
        event_commas(calls, c->calls, 1);
        text_print(stdout, " (%sx)\n", calls);
    }
}

static void marker(uint64_t line)
{
    printf("-- line %llu ----------------------------------------\n", (unsigned long long)line);
}

// The next line at or after `line` that has a cost or a call.
static uint64_t next_marked(const struct listing *l, const struct listed *s, uint64_t line)
{
    size_t lo = s->first, hi = s->end;
    uint64_t best = UINT64_MAX;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->line[mid].line < line)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->end)
        best = l->line[lo].line;
    lo = s->calls;
    hi = s->calls_end;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->call[mid].line < line)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->calls_end && l->call[lo].line < best)
        best = l->call[lo].line;
    return best;
}

static void warn_bogus(const struct listed *s, int is_newer)
{
    text_print(stdout,
               "\n" BOX_HEAD "@@\n@@ Counts were recorded for lines past the end of '%s'.\n@@\n",
               s->path);
    if (is_newer)
        fputs("@@ The file was changed after the profile was written: profile the program again.\n",
              stdout);
    else
        fputs("@@ This may be another version of the file, or the debug information is wrong.\n",
              stdout);
    fputs("@@\n" BOX_RULE, stdout);
}

static void list_head(struct listing *l, const struct listed *s, int is_newer)
{
    struct annotate *a = l->a;

    if (is_newer)
        text_print(stdout,
                   BOX_HEAD "@ Source file '%s' is more recent than input file '%s'.\n"
                            "@ Annotations may not be correct.\n" BOX_RULE "\n",
                   s->path, a->files[0]);
    table_reset(&a->table);
    for (size_t i = s->first; i < s->end; i++)
        table_fit(&a->table, l->counts + l->line[i].counts, l->line[i].present);
    for (size_t i = s->calls; i < s->calls_end; i++)
        table_fit(&a->table, l->counts + l->call[i].counts, UINT64_MAX);
    table_head(&a->table);
    fputs("\n\n", stdout);
}

// Costs of lines past the end of the file, and costs without a line.
static void list_rest(struct listing *l, const struct listed *s, size_t next, int is_newer)
{
    if (next < s->end) {
        for (; next < s->end; next++) {
            put_counts(l, l->counts + l->line[next].counts, l->line[next].present);
            printf("<bogus line %llu>\n", (unsigned long long)l->line[next].line);
        }
        warn_bogus(s, is_newer);
    }
    if (s->first < s->end && l->line[s->first].line == 0) {
        const struct line *x = &l->line[s->first];
        putchar('\n');
        put_counts(l, l->counts + x->counts, x->present);
        text_print(stdout, "<counts for unidentified lines in %s>\n", s->path);
    }
    putchar('\n');
}

// How a line walks through the object in which it misses most.
static void put_walk(const struct annotate *a, const char *file, uint64_t line)
{
    size_t n;
    const struct walk **walk = walks_of_line(&a->by_line, file, line, &n);
    char *text;

    if (!walk)
        return;
    text = walks_text(walk[0]);
    text_print(stdout, "  [walks %s: %s]", walk[0]->object, text);
    if (n > 1)
        printf(" and %zu more", n - 1);
    free(text);
    free(walk);
}

// One line of the file, with its costs when it is that of l->line[*next].
//
// DIFFERS: cg_annotate and callgrind_annotate print a line unchanged, with the carriage return of
// CR LF and what a terminal obeys.
static void list_line(struct listing *l, const struct listed *s, uint64_t line, const char *text,
                      size_t n, size_t *next)
{
    static const quern_count none[1];

    if (*next < s->end && l->line[*next].line == line) {
        const struct line *x = &l->line[(*next)++];
        put_counts(l, l->counts + x->counts, x->present);
        for (size_t i = 0; i < l->a->events; i++)
            l->annotated[i] += l->counts[x->counts + i];
        l->annotated_present |= x->present;
    } else {
        put_counts(l, none, 0);
    }
    text_put_line(stdout, text, n);
    put_walk(l->a, s->name, line);
    putchar_unlocked('\n');
}

static void list_file(struct listing *l, struct listed *s)
{
    struct annotate *a = l->a;
    struct source file = source_read(s->path, s->given, a->mtime);
    size_t next = s->first, calls = s->calls;
    uint64_t line = 0, end = 0, mark;
    int open = 0;

    if (!file.path)
        return;
    list_head(l, s, file.changed);
    if (next < s->end && l->line[next].line == 0)
        next++;
    mark = next_marked(l, s, 1);
    while (line < file.lines) {
        const char *text = file.text + file.start[line];
        size_t n = file.start[line + 1] - file.start[line];
        line++;
        // A range begins `context` lines before a marked line and ends as many after the last.
        if (!open && mark != UINT64_MAX && (mark <= a->context || line >= mark - a->context)) {
            open = 1;
            if (line > 1)
                marker(line);
        }
        if (!open)
            continue;
        list_line(l, s, line, text, n, &next);
        put_calls(l, s, line, &calls);
        if (line >= mark) {
            end = a->context > UINT64_MAX - line ? UINT64_MAX : line + a->context;
            mark = next_marked(l, s, line + 1);
        }
        // Does the next range begin before this one ends?
        if (line >= end && line + 1 > end && mark != UINT64_MAX && mark > a->context &&
            mark - a->context > line + 1) {
            marker(line);
            open = 0;
        } else if (line >= end && mark == UINT64_MAX) {
            marker(line);
            open = 0;
        }
    }
    l->annotated_files++;
    list_rest(l, s, next, file.changed);
    source_put(&file);
}

static int cmp_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_missing(const struct listing *l)
{
    const char **names = xcalloc(l->source_count + 1, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; i < l->source_count; i++)
        if (!l->source[i].path && !l->source[i].user)
            names[n++] = annotate_file_name(l->a, l->source[i].file);
    // With AUTO_TOP most functions are left out anyway.
    if (n && (!l->top || l->all_missing)) {
        qsort(names, n, sizeof(*names), cmp_name);
        fputs(TABLE_RULE, stdout);
        fputs("The following files chosen for auto-annotation could not be found:\n", stdout);
        fputs(TABLE_RULE, stdout);
        for (size_t i = 0; i < n; i++)
            text_print(stdout, "  %s\n", names[i]);
        putchar('\n');
    }
    free(names);
}

static void put_title(const struct annotate *a, const struct listed *s)
{
    const char *name = s->name;

    if (s->file != QUERN_NONE && !s->user)
        name = annotate_file_name(a, s->file);
    if (s->dir && strcmp(s->path + strlen(s->dir), s->name) != 0)
        name = s->path + strlen(s->dir); // found without the first folders of its name
    text_print(stdout, TABLE_RULE "-- %s-annotated source: %s%s%s\n" TABLE_RULE,
               s->user ? "User" : "Auto", s->dir ? s->dir : "", s->dir ? " + " : "", name);
}

size_t annotate_sources(struct annotate *a)
{
    struct listing l = { .a = a };
    size_t missing = 0;

    choose(&l);
    collect(&l);
    l.annotated = xcalloc(a->events + 1, sizeof(*l.annotated));
    for (size_t i = 0; i < l.source_count; i++) {
        struct listed *s = &l.source[i];
        if (!s->path) {
            if (s->user) {
                warn("%s: no such source file, neither here nor below an --include directory",
                     s->name);
                missing++;
            }
            continue;
        }
        put_title(a, s);
        if (s->file == QUERN_NONE || (s->first == s->end && s->calls == s->calls_end))
            text_print(stdout, "  No information has been collected for %s\n\n", s->name);
        else
            list_file(&l, s);
    }
    list_missing(&l);
    if (l.annotated_files) {
        table_reset(&a->table);
        table_fit(&a->table, l.annotated, l.annotated_present);
        fputs(TABLE_RULE, stdout);
        table_head(&a->table);
        putchar('\n');
        fputs(TABLE_RULE, stdout);
        table_row(&a->table, l.annotated, l.annotated_present);
        fputs(" events annotated\n\n", stdout);
    }
    for (size_t i = 0; i < l.source_count; i++)
        free(l.source[i].path);
    free(l.source);
    free(l.line);
    free(l.call);
    free(l.counts);
    free(l.slot);
    free(l.annotated);
    free(l.top);
    return missing;
}
