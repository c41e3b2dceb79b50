// SPDX-License-Identifier: MIT
//
// Advice on data that misses (advice.h). There are two kinds.
//
// *Stride*: a line that walks with a stride of many lines of the cache through much more than D1,
// and misses most of an object so. What the sentence claims is in the profiles: the shares, the
// stride, and how far it leads. What may be gained depends on one thing that is not, whether the
// program uses what lies between, so the sentence says "if". It is not said where it would mislead:
//
// - one walk through the object, or few (structures with one member in use): each line is fetched
//   once or nearly so, and no order of the loops changes that;
// - a line of the code with many references for each miss: it uses what it fetched;
// - a stride of a few lines: that is an array of structures, walked in the order of memory already;
// - addresses that come from memory: the order of a list is not that of a loop;
// - an object that is little larger than D1, or not known to be: it may miss for another reason;
// - objects without an order: stacks, what is unknown;
// - small shares, of the object or of the program.
//
// *Sharing*: two fields of which different threads use one each, in one line. Not said
//
// - if the line went from one thread to the other few times: it was handed over;
// - if it could hardly have done so more often than once in a thousand references;
// - if one of them is also used by both threads as often: that the line moves remains;
// - of what has no name, or one name.
#include "cli/profiles/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

enum {
    OF_OBJECT = 2,  // at least half of the object's misses
    OF_PROGRAM = 4, // and a quarter of the program's
    OF_REFS = 4,    // and of the references of the line
    REGULAR = 90,   // per cent of the steps are the stride
    APART = 8,      // so many lines of D1
    PASSES = 8,     // so many walks from one end to the other
    PER_START = 4,  // and so many times those that begin anew, of a thread or an instruction
    OVER_D1 = 4,    // times the size of D1 from end to end
    MOVED = 32,     // invalidations
    OF_ALL = 1000,  // and at most so many of the references
    TRUE_PART = 2,  // and true ones of the same fields less than half as many
    LOOKED_AT = 16, // lines whose references are looked up: profiles in order have fewer
};

struct machine {
    uint64_t size, line; // of D1, bytes
};

struct search {
    const struct objects *o;
    const struct walks *w;
    const struct quern_profile *code;
    struct machine d1;
    int event[2], refs[2]; // D1mr, D1mw; of the code Dr, Dw
    struct advices *to;
    unsigned looked_at;
};

static bool machine_of(const struct quern_profile *p, struct machine *m)
{
    struct quern_part part;
    unsigned long long size, line;

    if (quern_profile_part(p, 0, &part) != 0)
        return false;
    for (size_t i = 0; i < part.desc_count; i++)
        if (sscanf(part.desc[i], "D1 cache: %18llu B, %18llu B", &size, &line) == 2 && line) {
            *m = (struct machine){ .size = size, .line = line };
            return true;
        }
    return false;
}

// Are the sums of the misses those of the code?
static bool same_run(const struct search *s)
{
    size_t events = quern_profile_event_count(s->code);

    for (int k = 0; k < 2; k++) {
        int e = quern_profile_find_event(s->code, k ? "D1mw" : "D1mr");

        if (s->event[k] < 0 || (size_t)s->event[k] >= s->o->events || s->refs[k] < 0 ||
            (size_t)s->refs[k] >= events || e < 0 || (size_t)e >= events ||
            quern_profile_totals(s->code)[e] != s->o->total[s->event[k]])
            return false;
    }
    return true;
}

// References of a kind of a line of a function.
static quern_count references(const struct search *s, const struct objects_row *row, int kind)
{
    const struct quern_profile *p = s->o->p;
    const char *name = objects_name(s->o, row->func), *file = quern_profile_str(p, row->file);
    struct quern_cursor *c = read_cursor(s->code);
    struct quern_record rec;
    quern_count sum = 0;

    while (quern_cursor_next(c, &rec)) {
        struct quern_func f = quern_profile_func_get(s->code, rec.at.func);
        uint32_t at = rec.at.file == QUERN_NONE ? f.file : rec.at.file;

        if (rec.kind == QUERN_REC_COST && rec.at.line == row->line &&
            strcmp(quern_profile_str(s->code, f.name), name) == 0 &&
            strcmp(quern_profile_str(s->code, at), file) == 0)
            sum += rec.counts[s->refs[kind]];
    }
    quern_cursor_free(c);
    return sum;
}

// "stride N" and nothing behind it: its bytes without the sign; 0: another walk.
static uint64_t stride_of(const struct walk *w)
{
    long long n;
    int end = 0;

    if (sscanf(w->how, "stride %11lld%n", &n, &end) != 1 || w->how[end])
        return 0;
    return (uint64_t)(n < 0 ? -n : n);
}

static bool has_order(const char *object)
{
    static const char *const kinds[] = { "heap: ", "static: ", "mmap: ", "file: ", "TLS: " };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strncmp(object, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return strcmp(object, "shared memory segment") == 0;
}

// From the first miss of a walk to its last one, on average; 0: it does not go back and forth often
// enough. Each miss ends a step or begins a walk of its own, so of m misses, n of whose steps are
// the stride, m - n begin one.
static uint64_t extent_of(const struct walk *w, quern_count misses, uint64_t stride)
{
    quern_count walks = misses - (quern_count)w->count, starts = misses - (quern_count)w->steps;
    quern_count extent;

    if (starts < 0 || walks < PASSES || walks - starts < PER_START * starts)
        return 0;
    extent = (quern_count)stride * w->count / walks;
    return extent > INT64_MAX ? 0 : (uint64_t)extent;
}

// To the nearest; 100 is all.
static unsigned percent_of(quern_count part, quern_count all)
{
    quern_count share = (part * 200 + all) / (all * 2);

    return share == 100 && part < all ? 99 : (unsigned)share;
}

static void look_at(struct search *s, const struct objects_row *row, const quern_count *of_object)
{
    const quern_count *miss = objects_counts(s->o, row, 0), *total = s->o->total;
    quern_count misses = miss[s->event[0]] + miss[s->event[1]];
    int kind = miss[s->event[1]] > miss[s->event[0]], e = s->event[kind];
    const char *object = objects_name(s->o, row->object);
    const struct walk *w;
    uint64_t stride, extent;
    char steps[80], bytes[80];

    if (miss[e] <= 0 || miss[e] > of_object[e] || miss[e] > total[e] ||
        miss[e] * OF_OBJECT < of_object[e] ||
        miss[e] * OF_PROGRAM < total[s->event[0]] + total[s->event[1]] || !row->line ||
        !has_order(object) ||
        !(w = walks_at(s->w, object, objects_name(s->o, row->func),
                       quern_profile_str(s->o->p, row->file), row->line)) ||
        !(stride = stride_of(w)) || stride / APART < s->d1.line ||
        (unsigned __int128)w->count * 100 < (unsigned __int128)w->steps * REGULAR)
        return;
    extent = extent_of(w, misses, stride);
    if (extent / OVER_D1 < s->d1.size || s->looked_at++ >= LOOKED_AT ||
        miss[e] * OF_REFS < references(s, row, kind))
        return;
    event_commas(steps, stride, 1);
    event_commas(bytes, extent, 1);
    s->to->advice = xrealloc(s->to->advice, (s->to->count + 1) * sizeof(*s->to->advice));
    s->to->advice[s->to->count++] = (struct advice){
        .text = xasprintf(
            "%u %% of the %s of %s, %u %% of the program's, come from %s (%s:%llu), which steps %s "
            "bytes from one miss to the next, across at least %s; if it uses what lies between, "
            "too, a loop in the order of memory would miss once in %llu bytes.",
            percent_of(miss[e], of_object[e]), quern_profile_event_name(s->o->p, (size_t)e), object,
            percent_of(miss[e], total[e]), objects_name(s->o, row->func),
            util_basename(quern_profile_str(s->o->p, row->file)), (unsigned long long)row->line,
            steps, bytes, (unsigned long long)s->d1.line),
        .row = row,
    };
}

// ---- Sharing ----

static bool is_same_field(const struct sharing_side *a, const struct sharing_side *b)
{
    return strcmp(a->object, b->object) == 0 && strcmp(a->object_file, b->object_file) == 0 &&
           strcmp(a->field, b->field) == 0;
}

// What both threads use of these two fields.
static uint64_t true_sharing(const struct sharing *shared, const struct sharing_pair *pair)
{
    uint64_t most = 0;

    for (size_t i = 0; i < shared->count; i++) {
        const struct sharing_pair *other = &shared->pair[i];

        for (int k = 0; k < 4 && other->is_true; k++)
            if (is_same_field(&pair->side[k / 2], &other->side[k % 2])) {
                most += other->most;
                break;
            }
    }
    return most;
}

// That of the line in its object; else some line in it. NULL: neither has misses.
static const struct objects_row *row_of(const struct objects *o, const struct sharing_side *side)
{
    const struct objects_row *found = NULL;

    for (size_t i = 0; i < o->rows; i++) {
        const struct objects_row *row = &o->row[i];
        struct quern_func f = quern_profile_func_get(o->p, row->object);

        if (row->func == QUERN_NONE || strcmp(objects_name(o, row->object), side->object) != 0 ||
            strcmp(quern_profile_str(o->p, f.file), side->object_file) != 0)
            continue;
        if (!found)
            found = row;
        if (row->line == side->line && strcmp(objects_name(o, row->func), side->function) == 0)
            return row;
    }
    return found;
}

static quern_count all_references(const struct search *s)
{
    const quern_count *total = quern_profile_totals(s->code);

    return total[s->refs[0]] + total[s->refs[1]];
}

static void look_at_pair(struct search *s, const struct sharing *shared,
                         const struct sharing_pair *pair)
{
    const struct sharing_side *one = &pair->side[0], *two = &pair->side[1];
    char n[80], most[80], *first, *second;

    if (pair->is_true || pair->invalidations < MOVED || !*one->field || !*two->field ||
        is_same_field(one, two) || (quern_count)pair->most * OF_ALL < all_references(s) ||
        true_sharing(shared, pair) >= pair->most / TRUE_PART)
        return;
    event_commas(n, pair->invalidations, 1);
    event_commas(most, pair->most, 1);
    first = sharing_place(one);
    second = sharing_place(two);
    s->to->advice = xrealloc(s->to->advice, (s->to->count + 1) * sizeof(*s->to->advice));
    s->to->advice[s->to->count++] = (struct advice){
        .text = xasprintf(
            "%s and %s share a line of the cache, and different threads use them: %s invalidations "
            "by %s (%s:%llu) and %s (%s:%llu), at most %s%s; in lines of their own there would be "
            "none.",
            first, second, n, one->function, util_basename(one->file),
            (unsigned long long)one->line, two->function, util_basename(two->file),
            (unsigned long long)two->line, most,
            shared->serialized ? "" : ", which depends on timing"),
        .row = row_of(s->o, one),
    };
    free(second);
    free(first);
}

static const struct objects *sorting;

static int by_weight(const void *x, const void *y)
{
    const struct objects_row *a = ((const struct advice *)x)->row,
                             *b = ((const struct advice *)y)->row;
    quern_count v = objects_weight(sorting, objects_counts(sorting, a, 0)),
                w = objects_weight(sorting, objects_counts(sorting, b, 0));

    return v != w ? (v > w ? -1 : 1) : a < b ? -1 : a > b;
}

void advice_find(struct advices *a, const struct objects *o, const struct walks *w,
                 const struct sharing *shared, const struct quern_profile *code)
{
    struct search s = { .o = o, .w = w, .code = code, .to = a };
    quern_count *of_object;

    *a = (struct advices){ 0 };
    for (int k = 0; k < 2; k++) {
        s.event[k] = quern_profile_find_event(o->p, k ? "D1mw" : "D1mr");
        s.refs[k] = quern_profile_find_event(code, k ? "Dw" : "Dr");
    }
    if ((!w->count && !shared->count) || !machine_of(o->p, &s.d1) || !same_run(&s))
        return;
    of_object = xcalloc(o->events + 1, sizeof(*of_object));
    for (size_t i = 0; i < o->rows; i++) {
        const struct objects_row *row = &o->row[i];
        const quern_count *counts = objects_counts(o, row, 0);

        if (i == 0 || row->object != row[-1].object)
            memset(of_object, 0, o->events * sizeof(*of_object));
        if (row->func != QUERN_NONE) {
            look_at(&s, row, of_object);
            continue;
        }
        for (size_t e = 0; e < o->events; e++)
            of_object[e] += counts[e];
    }
    free(of_object);
    sorting = o;
    if (a->count)
        qsort(a->advice, a->count, sizeof(*a->advice), by_weight);
    for (size_t i = 0; i < shared->count; i++)
        look_at_pair(&s, shared, &shared->pair[i]);
}

void advice_free(struct advices *a)
{
    for (size_t i = 0; i < a->count; i++)
        free(a->advice[i].text);
    free(a->advice);
    *a = (struct advices){ 0 };
}
