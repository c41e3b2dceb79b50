// SPDX-License-Identifier: MIT
//
// Advice on data that misses (advice.h). There are three kinds.
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
// *Use*: an array of structures, walked in the order of memory, of which few bytes of each line are
// used. The sentence says what is in the profiles, and that so many bytes fit into so many lines.
// Not said
//
// - of a small sample, or small shares of the program;
// - where the misses are not in a few members that have names: an array of numbers has none that
//   could be kept apart, and an object without a type has no members;
// - of irregular walks: what a hash table uses of a line lies where its order puts it;
// - of strides of many lines, and of objects with advice on their stride: the order of loops first;
// - of lines of which a quarter or more is used.
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
    LINES = 256,    // followed, of an object of whose lines
    UNUSED = 4,     // at most a quarter is used
    MEMBERS = 3,    // at most, that have ...
    IN_THEM = 90,   // per cent of the object's misses
    LOOKED_AT = 16, // lines whose references are looked up: profiles in order have fewer
};

struct machine {
    uint64_t size, line; // of D1, bytes
};

struct search {
    const struct objects *o;
    const struct walks *w;
    const struct lineuses *use;
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

// Misses of a kind of a row's line in other objects.
static quern_count elsewhere(const struct search *s, const struct objects_row *row, int kind)
{
    const struct objects *o = s->o;
    quern_count sum = 0;

    for (size_t i = 0; i < o->rows; i++) {
        const struct objects_row *other = &o->row[i];

        if (other->object != row->object && other->func == row->func && other->file == row->file &&
            other->line == row->line)
            sum += objects_counts(o, other, 0)[s->event[kind]];
    }
    return sum;
}

// References of a kind of a line of a function to the row's object, at most: a profile does not
// tell objects that hit, but each miss in another object is a reference that was not to this one.
// So the columns of two matrices that one line reads, a getter's that is inlined, are not taken for
// references that find what the one before has fetched. Fewer than the misses: the profiles
// contradict each other.
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
    return sum - elsewhere(s, row, kind);
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
    quern_count refs;
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
    if (extent / OVER_D1 < s->d1.size || s->looked_at++ >= LOOKED_AT)
        return;
    refs = references(s, row, kind);
    if (refs < miss[e] || refs > miss[e] * OF_REFS) // fewer: the profiles contradict each other
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

// ---- Use ----

// An object: its places, the lines that miss in it, and all of its D1 misses.
struct extent {
    const struct objects_row *row, *code, *end;
    quern_count misses;
};

static quern_count misses_of(const struct search *s, const struct objects_row *row)
{
    const quern_count *counts = objects_counts(s->o, row, 0);

    return counts[s->event[0]] + counts[s->event[1]];
}

static struct extent extent_from(const struct search *s, size_t first)
{
    const struct objects *o = s->o;
    struct extent x = { &o->row[first], NULL, &o->row[first], 0 };

    while (x.end < o->row + o->rows && x.end->object == x.row->object) {
        if (x.end->func == QUERN_NONE)
            x.misses += misses_of(s, x.end);
        else if (!x.code)
            x.code = x.end;
        x.end++;
    }
    if (!x.code)
        x.code = x.end;
    return x;
}

static const struct objects_row *most_of(const struct search *s, const struct objects_row *row,
                                         const struct objects_row *end,
                                         const struct objects_row *const *but, size_t n)
{
    const struct objects_row *most = NULL;

    for (; row < end; row++) {
        bool taken = false;

        for (size_t i = 0; i < n; i++)
            taken |= but[i] == row;
        if (!taken && (!most || misses_of(s, row) > misses_of(s, most)))
            most = row;
    }
    return most;
}

// Whether a place is a member of the elements of an array, or of blocks: "nodes[].left",
// "node.left"; not "m[]", "m[].x[]" or "(elsewhere)".
static bool is_member(const struct field *f)
{
    const char *dot = f ? strrchr(f->path, '.') : NULL;

    return dot && dot[1] && !strchr(dot, '[') && !strchr(f->path, '{');
}

// Whether a part is so many per cent of all.
static bool is_part(quern_count part, quern_count all, int percent)
{
    return (__int128)part * 100 >= (__int128)all * percent;
}

// "a", "a and b", "a, b and c", to be freed: members that have most of the misses, which are added
// to *in. NULL: there are no such.
static char *members_of(const struct search *s, const struct extent *x, quern_count *in)
{
    const struct objects_row *row[MEMBERS];
    char *text = NULL;
    size_t n = 0;

    for (*in = 0; n < MEMBERS && !is_part(*in, x->misses, IN_THEM); n++) {
        row[n] = most_of(s, x->row, x->code, row, n);
        if (!row[n] || misses_of(s, row[n]) <= 0 || !is_member(objects_field(s->o, row[n])))
            return NULL;
        *in += misses_of(s, row[n]);
    }
    if (!is_part(*in, x->misses, IN_THEM))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        char *name = fields_name(objects_field(s->o, row[i]));
        char *more = xasprintf("%s%s%s", text ? text : "",
                               !i          ? ""
                               : i + 1 < n ? ", "
                                           : " and ",
                               name);

        free(text);
        free(name);
        text = more;
    }
    return text;
}

// In the order of memory, and through nearly all of what misses.
static bool is_in_order(const struct search *s, const struct walk *w, quern_count misses)
{
    uint64_t stride;
    bool one_by_one = w && strcmp(w->how, "sequential") == 0;

    if (!w || w->count > INT64_MAX || !is_part((quern_count)w->count, misses, REGULAR))
        return false;
    stride = stride_of(w);
    return one_by_one || strcmp(w->how, "backward") == 0 || (stride && stride / APART < s->d1.line);
}

static bool has_advice(const struct search *s, uint32_t object)
{
    for (size_t i = 0; i < s->to->count; i++)
        if (s->to->advice[i].row && s->to->advice[i].row->object == object)
            return true;
    return false;
}

static void look_at_use(struct search *s, const struct extent *x)
{
    const struct lineuse *u = lineuse_find(s->use, s->o->p, x->row->object);
    const char *object = objects_name(s->o, x->row->object);
    quern_count all = s->o->total[s->event[0]] + s->o->total[s->event[1]], in;
    char lines[80], *members, *average;

    if (!u || u->lines < LINES || u->bytes * UNUSED > u->lines * s->use->line || x->misses <= 0 ||
        x->misses > all || !is_part(x->misses, all, 100 / OF_PROGRAM) || x->code == x->end ||
        has_advice(s, x->row->object) || !has_order(object) ||
        !is_in_order(s, walks_of_object(s->w, object), x->misses) ||
        !(members = members_of(s, x, &in)))
        return;
    average = lineuse_average(u);
    event_commas(lines, u->lines, 1);
    s->to->advice = xrealloc(s->to->advice, (s->to->count + 1) * sizeof(*s->to->advice));
    s->to->advice[s->to->count++] = (struct advice){
        .text = xasprintf(
            "%s of %llu bytes of each line fetched for %s are used, by %s%s lines; %u %% of its D1 "
            "misses, which are %u %% of the program's, are in %s: kept apart from the rest, what "
            "is used of %llu lines would fit into one.",
            average, (unsigned long long)s->use->line, object,
            s->use->one_in > 1 ? "a sample of " : "", lines, percent_of(in, x->misses),
            percent_of(x->misses, all), members,
            (unsigned long long)(s->use->line * u->lines / u->bytes)),
        .row = most_of(s, x->code, x->end, NULL, 0),
    };
    free(average);
    free(members);
}

static void find_use(struct search *s)
{
    for (size_t i = 0; i < s->o->rows;) {
        struct extent x = extent_from(s, i);

        look_at_use(s, &x);
        i += (size_t)(x.end - x.row);
    }
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
                 const struct lineuses *use, const struct sharing *shared,
                 const struct quern_profile *code)
{
    struct search s = { .o = o, .w = w, .use = use, .code = code, .to = a };
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
    find_use(&s);
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
