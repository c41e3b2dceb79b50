// SPDX-License-Identifier: MIT
//
// Estimated call stacks. A call graph has the cost of A when B called it, summed over all callers
// of B. So stacks are estimates: from the functions without a caller on, the cost of a function is
// divided among its callees in proportion to the cost of the calls, whatever led to it. Exact all
// the same: for every event, the stacks that end in a function sum up to its self cost.
//
// A path that returns to one of its functions is not followed (a cycle would never end), nor a path
// below a millionth of the total; its cost is divided among the other paths to the same leaf.
#include "cli/convert/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/base/json.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"

#define NODES_MAX 2000000u
#define DEPTH_MAX 500u
#define SMALLEST  1e-6

struct node {        // of the tree of stacks; the root's children are the outermost functions
    uint32_t parent; // node + 1; 0: none
    uint32_t func;
    uint32_t depth;
    double weight; // cost that arrives from the parent
    double self;   // the part that is not passed on
};

struct stacks {
    const struct convert *c;
    struct node *node;
    uint32_t count, cap;
    uint32_t *by_func; // nodes sorted by function, then number
    size_t *first;     // by function
};

static double value(const struct convert *c, const quern_count *v)
{
    return event_double(c->p, c->event, event_value(c->p, c->event, v));
}

static uint32_t add_node(struct stacks *s, uint32_t parent, uint32_t func, double weight)
{
    if (s->count == s->cap) {
        s->cap = s->cap * 2 + 1024;
        s->node = xrealloc(s->node, s->cap * sizeof(*s->node));
    }
    s->node[s->count] = (struct node){ .parent = parent,
                                       .func = func,
                                       .weight = weight,
                                       .depth = parent ? s->node[parent - 1].depth + 1 : 1 };
    return s->count++;
}

static int on_path(const struct stacks *s, uint32_t node, uint32_t func)
{
    for (uint32_t n = node + 1; n; n = s->node[n - 1].parent)
        if (s->node[n - 1].func == func)
            return 1;
    return 0;
}

// Roots are functions with a cost that no caller accounts for: entered from outside.
static void add_roots(struct stacks *s, double total)
{
    const struct convert *c = s->c;
    size_t n = quern_profile_func_count(c->p);
    double *open = xcalloc(n + 1, sizeof(*open)), *cycle = xcalloc(n + 1, sizeof(*cycle));
    uint32_t *head = xcalloc(n + 1, sizeof(*head)); // by cycle: the member to enter it by
    double sum = 0;

    for (uint32_t f = 0; f < n; f++) {
        uint32_t k = quern_costs_cycle(c->costs, f);
        double v = value(c, quern_costs_inclusive(c->costs, f));
        size_t count;
        const uint32_t *list = quern_costs_callers(c->costs, f, &count);
        double in = 0, inside = 0;
        for (size_t i = 0; i < count; i++) {
            struct quern_edge e = quern_costs_edge(c->costs, list[i]);
            if (e.caller == f)
                continue;
            if (k && quern_costs_cycle(c->costs, e.caller) == k)
                inside += value(c, e.counts);
            else
                in += value(c, e.counts);
        }
        if (!k) {
            open[f] = v - in;
            continue;
        }
        // A cycle is entered by the member that costs most without the calls from the others.
        if (!head[k] || v - in - inside > cycle[head[k] - 1])
            head[k] = f + 1;
        cycle[f] = v - in - inside;
        open[f] = -in;
    }
    for (uint32_t f = 0; f < n; f++) {
        uint32_t k = quern_costs_cycle(c->costs, f);
        if (k && head[k] != f + 1) {
            open[head[k] - 1] += open[f];
            open[f] = 0;
        }
    }
    for (uint32_t k = 1; k <= n && head[k]; k++)
        open[head[k] - 1] += value(c, quern_costs_inclusive(c->costs, head[k] - 1));
    for (uint32_t f = 0; f < n; f++)
        if (open[f] > fabs(total) * 1e-12)
            sum += open[f];
    for (uint32_t f = 0; f < n; f++)
        if (open[f] > fabs(total) * 1e-12)
            add_node(s, 0, f, sum > 0 ? open[f] * total / sum : open[f]);
    free(open);
    free(cycle);
    free(head);
}

static void expand(struct stacks *s, double total)
{
    const struct convert *c = s->c;

    for (uint32_t i = 0; i < s->count; i++) { // nodes are appended while this runs
        uint32_t f = s->node[i].func;
        double own = value(c, quern_costs_self(c->costs, f)), all = own > 0 ? own : 0;
        double weight = s->node[i].weight;
        size_t first, end;

        quern_costs_callees(c->costs, f, &first, &end);
        for (size_t e = first; e < end; e++) {
            struct quern_edge edge = quern_costs_edge(c->costs, e);
            double v = value(c, edge.counts);
            if (v > 0 && !on_path(s, i, edge.callee))
                all += v;
        }
        if (all <= 0 || s->count >= NODES_MAX || s->node[i].depth >= DEPTH_MAX) {
            s->node[i].self = weight;
            continue;
        }
        s->node[i].self = own > 0 ? weight * own / all : 0;
        for (size_t e = first; e < end; e++) {
            struct quern_edge edge = quern_costs_edge(c->costs, e);
            double v = value(c, edge.counts), share = weight * v / all;
            if (v <= 0 || share < total * SMALLEST || on_path(s, i, edge.callee))
                continue;
            add_node(s, i + 1, edge.callee, share);
        }
    }
}

static void build(struct stacks *s, const struct convert *c)
{
    size_t n = quern_profile_func_count(c->p);
    double total = value(c, quern_profile_totals(c->p));
    size_t *fill;

    memset(s, 0, sizeof(*s));
    s->c = c;
    if (!(quern_profile_has(c->p) & QUERN_HAS_CALL))
        warn("%s: the profile has no calls: every stack is one function", c->paths[0]);
    else
        warn("%s: call stacks are estimated from the call graph, which does not hold them",
             c->paths[0]);
    add_roots(s, total);
    expand(s, total);
    // A function with costs that no path reaches is a stack of its own.
    s->first = xcalloc(n + 2, sizeof(*s->first));
    for (uint32_t i = 0; i < s->count; i++)
        if (s->node[i].self > 0)
            s->first[s->node[i].func + 1]++;
    for (uint32_t f = 0; f < n; f++)
        if (!s->first[f + 1]) {
            const quern_count *v = quern_costs_self(c->costs, f);
            int any = 0;
            for (size_t i = 0; i < c->events; i++)
                any |= v[i] != 0;
            if (any) {
                uint32_t at = add_node(s, 0, f, 1); // which moves s->node
                s->node[at].self = 1;
                s->first[f + 1]++;
            }
        }
    for (size_t f = 0; f < n; f++)
        s->first[f + 1] += s->first[f];
    s->by_func = xcalloc(s->count + 1, sizeof(*s->by_func));
    fill = xmalloc((n + 2) * sizeof(*fill));
    memcpy(fill, s->first, (n + 2) * sizeof(*fill));
    for (uint32_t i = 0; i < s->count; i++)
        if (s->node[i].self > 0)
            s->by_func[fill[s->node[i].func]++] = i;
    free(fill);
}

static void unbuild(struct stacks *s)
{
    free(s->node);
    free(s->by_func);
    free(s->first);
}

// Distributes the self cost of a function over the stacks that end in it, in whole units with the
// exact sum.
static void deal(const struct stacks *s, uint32_t func, size_t event, quern_count *out)
{
    size_t first = s->first[func], end = s->first[func + 1];
    quern_count all = event_value(s->c->p, event, quern_costs_self(s->c->costs, func)), given = 0;
    double weights = 0, so_far = 0;

    for (size_t i = first; i < end; i++)
        weights += s->node[s->by_func[i]].self;
    for (size_t i = first; i < end; i++) {
        quern_count upto;
        so_far += s->node[s->by_func[i]].self;
        upto = i + 1 == end ? all : (quern_count)((double)all * (so_far / weights));
        out[i - first] = upto - given;
        given = upto;
    }
}

static const char *name_of(const struct convert *c, uint32_t func)
{
    const char *s = quern_profile_str(c->p, quern_profile_func_get(c->p, func).name);
    return *s ? s : "???";
}

// ---- Folded ----

// A semicolon separates frames: in a name it becomes a colon. Flame graphs are XML, which has no
// control characters.
static void put_frame(FILE *f, const char *name)
{
    char *clean = text_clean(name);

    for (const char *s = clean; *s; s++)
        putc(*s == ';' ? ':' : *s, f);
    free(clean);
}

static void put_stack(FILE *f, const struct stacks *s, uint32_t node)
{
    uint32_t path[DEPTH_MAX + 1], n = 0;

    for (uint32_t i = node + 1; i && n <= DEPTH_MAX; i = s->node[i - 1].parent)
        path[n++] = i - 1;
    while (n--) {
        put_frame(f, name_of(s->c, s->node[path[n]].func));
        if (n)
            putc(';', f);
    }
}

// Counts of the event shown, one for each of the s->count nodes.
static quern_count *node_counts(const struct stacks *s, size_t event)
{
    quern_count *of = xcalloc(s->count + 1, sizeof(*of)),
                *out = xcalloc(s->count + 1, sizeof(*out));

    for (uint32_t f = 0; f < quern_profile_func_count(s->c->p); f++) {
        size_t first = s->first[f], end = s->first[f + 1];
        if (first == end)
            continue;
        deal(s, f, event, out);
        for (size_t i = first; i < end; i++)
            of[s->by_func[i]] = out[i - first];
    }
    free(out);
    return of;
}

void convert_folded(FILE *f, const struct convert *c)
{
    struct stacks s;
    quern_count *v;
    char buf[64];

    build(&s, c);
    v = node_counts(&s, c->event);
    for (uint32_t i = 0; i < s.count; i++) {
        if (v[i] <= 0)
            continue;
        put_stack(f, &s, i);
        quern_count_format(buf, sizeof(buf), v[i], quern_profile_event_scale(c->p, c->event));
        fprintf(f, " %s\n", buf);
    }
    free(v);
    unbuild(&s);
}

// ---- Speedscope ----

void convert_speedscope(FILE *f, const struct convert *c)
{
    struct stacks s;
    quern_count *v, total = 0;
    int64_t scale = quern_profile_event_scale(c->p, c->event);
    char buf[64];
    int first = 1;

    build(&s, c);
    v = node_counts(&s, c->event);
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
          "\"exporter\":\"quern\",\n"
          "\"name\":",
          f);
    json_string(f, c->paths[0]);
    fputs(",\n\"shared\":{\"frames\":[", f);
    for (uint32_t i = 0; i < quern_profile_func_count(c->p); i++) {
        struct quern_func g = quern_profile_func_get(c->p, i);
        fputs(i ? ",\n{\"name\":" : "\n{\"name\":", f);
        json_string(f, name_of(c, i));
        if (*quern_profile_str(c->p, g.file)) {
            fputs(",\"file\":", f);
            json_string(f, quern_profile_str(c->p, g.file));
        }
        putc('}', f);
    }
    fputs("]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":", f);
    char *title = xasprintf("%s (stacks estimated from the call graph)",
                            quern_profile_event_name(c->p, c->event));
    json_string(f, title);
    free(title);
    fputs(",\"unit\":\"none\",\"startValue\":0,\n\"samples\":[", f);
    for (uint32_t i = 0; i < s.count; i++) {
        uint32_t path[DEPTH_MAX + 1], n = 0;
        if (v[i] <= 0)
            continue;
        for (uint32_t k = i + 1; k && n <= DEPTH_MAX; k = s.node[k - 1].parent)
            path[n++] = s.node[k - 1].func;
        fputs(first ? "\n[" : ",\n[", f);
        while (n--)
            fprintf(f, "%u%s", path[n], n ? "," : "]");
        first = 0;
    }
    fputs("],\n\"weights\":[", f);
    first = 1;
    for (uint32_t i = 0; i < s.count; i++) {
        if (v[i] <= 0)
            continue;
        total += v[i];
        quern_count_format(buf, sizeof(buf), v[i], scale);
        fprintf(f, "%s%s", first ? "" : ",", buf);
        first = 0;
    }
    quern_count_format(buf, sizeof(buf), total, scale);
    fprintf(f, "],\n\"endValue\":%s}]}\n", buf);
    free(v);
    unbuild(&s);
}

// ---- pprof: profile.proto, gzipped ----

struct bytes {
    uint8_t *data;
    size_t n, cap;
};

static void put_byte(struct bytes *b, uint8_t v)
{
    if (b->n == b->cap)
        b->data = xrealloc(b->data, b->cap = b->cap * 2 + 4096);
    b->data[b->n++] = v;
}

static void put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        put_byte(b, (uint8_t)(v | 0x80));
    put_byte(b, (uint8_t)v);
}

static void put_uint(struct bytes *b, unsigned field, uint64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_bytes(struct bytes *b, unsigned field, const void *data, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    for (size_t i = 0; i < n; i++)
        put_byte(b, ((const uint8_t *)data)[i]);
}

// Field numbers of profile.proto (github.com/google/pprof/proto/profile.proto).
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
};

// A string is UTF-8.
static void put_string(struct bytes *b, const char *s)
{
    char *clean = text_clean(s);

    put_bytes(b, PROFILE_STRING_TABLE, clean, strlen(clean));
    free(clean);
}

// String numbers: 0 is "", 1 "count", 2 the comment, then events, then name and file of functions.
static void pprof_strings(struct bytes *b, const struct convert *c)
{
    static const char note[] = "call stacks are estimated from a call graph";

    put_bytes(b, PROFILE_STRING_TABLE, "", 0);
    put_bytes(b, PROFILE_STRING_TABLE, "count", 5);
    put_bytes(b, PROFILE_STRING_TABLE, note, sizeof(note) - 1);
    for (size_t i = 0; i < c->events; i++)
        put_string(b, quern_profile_event_name(c->p, i));
    for (uint32_t i = 0; i < quern_profile_func_count(c->p); i++) {
        put_string(b, name_of(c, i));
        put_string(b, quern_profile_str(c->p, quern_profile_func_get(c->p, i).file));
    }
}

static void pprof_samples(struct bytes *b, const struct stacks *s)
{
    const struct convert *c = s->c;
    quern_count **v = xcalloc(c->events, sizeof(*v));
    struct bytes m = { NULL, 0, 0 }, list = { NULL, 0, 0 };

    for (size_t e = 0; e < c->events; e++)
        v[e] = node_counts(s, e);
    for (uint32_t i = 0; i < s->count; i++) {
        int any = 0;
        for (size_t e = 0; e < c->events; e++)
            any |= v[e][i] != 0;
        if (!any)
            continue;
        m.n = list.n = 0;
        for (uint32_t k = i + 1; k; k = s->node[k - 1].parent)
            put_varint(&list, s->node[k - 1].func + 1);
        put_bytes(&m, SAMPLE_LOCATION, list.data, list.n);
        list.n = 0;
        for (size_t e = 0; e < c->events; e++)
            put_varint(&list, (uint64_t)(int64_t)(v[e][i] / quern_profile_event_scale(c->p, e)));
        put_bytes(&m, SAMPLE_VALUE, list.data, list.n);
        put_bytes(b, PROFILE_SAMPLE, m.data, m.n);
    }
    for (size_t e = 0; e < c->events; e++)
        free(v[e]);
    free(v);
    free(m.data);
    free(list.data);
}

static void write_gzip(FILE *f, const struct bytes *b)
{
    z_stream z = { 0 };
    uint8_t out[65536];
    size_t given = 0;
    int rc = Z_OK;

    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die(UTIL_USAGE, "out of memory");
    while (rc != Z_STREAM_END) {
        if (!z.avail_in && given < b->n) {
            size_t n = b->n - given < (1u << 30) ? b->n - given : 1u << 30;
            z.next_in = b->data + given;
            z.avail_in = (uInt)n;
            given += n;
        }
        z.next_out = out;
        z.avail_out = sizeof(out);
        rc = deflate(&z, given == b->n ? Z_FINISH : Z_NO_FLUSH);
        fwrite(out, 1, sizeof(out) - z.avail_out, f);
    }
    deflateEnd(&z);
}

void convert_pprof(FILE *f, const struct convert *c)
{
    struct bytes b = { NULL, 0, 0 }, m = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    struct stacks s;

    build(&s, c);
    for (size_t e = 0; e < c->events; e++) {
        m.n = 0;
        put_uint(&m, VALUE_TYPE, 3 + e);
        put_uint(&m, VALUE_UNIT, 1);
        put_bytes(&b, PROFILE_SAMPLE_TYPE, m.data, m.n);
    }
    pprof_samples(&b, &s);
    for (uint32_t i = 0; i < quern_profile_func_count(c->p); i++) {
        uint64_t name = 3 + c->events + 2 * (uint64_t)i;
        m.n = line.n = 0;
        put_uint(&line, LINE_FUNCTION, i + 1);
        put_uint(&m, LOCATION_ID, i + 1);
        put_bytes(&m, LOCATION_LINE, line.data, line.n);
        put_bytes(&b, PROFILE_LOCATION, m.data, m.n);
        m.n = 0;
        put_uint(&m, FUNCTION_ID, i + 1);
        put_uint(&m, FUNCTION_NAME, name);
        put_uint(&m, FUNCTION_SYSTEM_NAME, name);
        put_uint(&m, FUNCTION_FILE, name + 1);
        put_bytes(&b, PROFILE_FUNCTION, m.data, m.n);
    }
    pprof_strings(&b, c);
    put_uint(&b, PROFILE_COMMENT, 2);
    // Without it readers begin with the last one.
    put_uint(&b, PROFILE_DEFAULT_SAMPLE_TYPE, 3 + (c->event < c->events ? c->event : 0));
    write_gzip(f, &b);
    free(b.data);
    free(m.data);
    free(line.data);
    unbuild(&s);
}
