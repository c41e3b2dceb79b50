// SPDX-License-Identifier: MIT
//
// The functions that the page calls, by name; report/core/README.md describes them. Numbers are 32
// bits, doubles, or (hashes) 64 bits; larger data goes through memory that the page allocates with
// `get`. Handles are addresses. Compiled only to wasm32.
#include "report/core/cluster.h"
#include "report/core/costs.h"
#include "report/core/detail.h"
#include "report/core/flame.h"
#include "report/core/flow.h"
#include "report/core/graph.h"
#include "report/core/group.h"
#include "report/core/heap.h"
#include "report/core/inflate.h"
#include "report/core/layered.h"
#include "report/core/link.h"
#include "report/core/load.h"
#include "report/core/names.h"
#include "report/core/reach.h"
#include "report/core/rows.h"
#include "report/core/select.h"
#include "report/core/texts.h"
#include "report/core/top.h"
#include "report/core/treemap.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

// A value as the page reads it: 32 bytes.
struct out_value {
    core_count exact;
    double approx;
    uint32_t is_exact, zero;
};

struct out_text {
    const uint8_t *at;
    uint32_t size;
};

_Static_assert(sizeof(struct out_value) == 32, "the page reads values of 32 bytes");
_Static_assert(sizeof(struct out_text) == 8, "the page reads texts of 8 bytes");
_Static_assert(sizeof(struct detail_row) == 80, "the page reads rows of 80 bytes");
_Static_assert(sizeof(struct flame_box) == 64, "the page reads boxes of 64 bytes");
_Static_assert(sizeof(struct group_item) == 20, "the page reads groups of 20 bytes");
_Static_assert(sizeof(struct texts_insn) == 48, "the page reads instructions of 48 bytes");

static struct out_value out_value(struct value v)
{
    return (struct out_value){ v.is_exact ? v.exact : 0, v.approx, v.is_exact, 0 };
}

static void put_text(struct out_text *out, struct text t)
{
    out->at = t.at;
    out->size = (uint32_t)t.size;
}

// ---- Memory ----

void *EXPORT(get)(uint32_t size);
void *get(uint32_t size)
{
    return heap_get(size);
}

void EXPORT(put)(void *block);
void put(void *block)
{
    heap_put(block);
}

// ---- Loading ----

struct core *EXPORT(open)(void);
struct core *open(void)
{
    return load_new();
}

void EXPORT(close)(struct core *c);
void close(struct core *c)
{
    load_free(c);
}

uint32_t EXPORT(crc)(const void *bytes, uint32_t size);
uint32_t crc(const void *bytes, uint32_t size)
{
    return load_crc(bytes, size);
}

int EXPORT(inflate)(const uint8_t *from, uint32_t from_size, uint8_t *out, uint32_t size);
int inflate(const uint8_t *from, uint32_t from_size, uint8_t *out, uint32_t size)
{
    return inflate_raw(from, from_size, out, size);
}

int EXPORT(load)(struct core *c, uint8_t *block, uint32_t size);
int load(struct core *c, uint8_t *block, uint32_t size)
{
    return load_block(c, block, size);
}

// By block: 1 where `link` needs it.
void EXPORT(needed)(const struct core *c, uint8_t *needed, uint32_t blocks);
void needed(const struct core *c, uint8_t *needed, uint32_t blocks)
{
    load_needed(c, needed, blocks);
}

int EXPORT(link)(struct core *c);
int link(struct core *c)
{
    return link_edges(c);
}

// ---- Facts ----

uint32_t EXPORT(number)(const struct core *c, uint32_t what);
uint32_t number(const struct core *c, uint32_t what)
{
    const uint32_t all[] = { c->funcs,        c->strings,
                             c->parts,        c->events,
                             c->event_count,  c->order,
                             c->has,          c->blocks,
                             top_count(c),    c->edges,
                             c->sites,        c->linked,
                             c->funcs_loaded, top_inclusive_count(c) };

    return what < sizeof(all) / sizeof(*all) ? all[what] : 0;
}

void EXPORT(string)(const struct core *c, uint32_t s, struct out_text *out);
void string(const struct core *c, uint32_t s, struct out_text *out)
{
    put_text(out, core_string(c, s));
}

uint32_t EXPORT(fact)(const struct core *c, const char *key, uint32_t n, struct out_text *out);
uint32_t fact(const struct core *c, const char *key, uint32_t n, struct out_text *out)
{
    struct text value = { 0 };
    bool found = load_text(c, key, n, &value);

    put_text(out, value);
    return found;
}

int EXPORT(event)(const struct core *c, uint32_t e, struct out_text *out);
int event(const struct core *c, uint32_t e, struct out_text *out)
{
    if (e >= c->event_count)
        return CORE_WRONG;
    put_text(&out[0], c->event[e].name);
    put_text(&out[1], c->event[e].long_name);
    put_text(&out[2], c->event[e].formula);
    return e < c->events || c->event[e].made;
}

struct out_part {
    uint64_t pid, part, thread;
    struct out_text cmd, creator;
    uint32_t side, descs;
};

int EXPORT(part)(const struct core *c, uint32_t i, struct out_part *out);
int part(const struct core *c, uint32_t i, struct out_part *out)
{
    if (i >= c->parts)
        return CORE_WRONG;
    const struct part *p = &c->part[i];
    *out = (struct out_part){
        .pid = p->pid, .part = p->part, .thread = p->thread, .side = p->side, .descs = p->desc_count
    };
    put_text(&out->cmd, p->cmd);
    put_text(&out->creator, p->creator);
    return 0;
}

int EXPORT(desc)(const struct core *c, uint32_t i, uint32_t n, struct out_text *out);
int desc(const struct core *c, uint32_t i, uint32_t n, struct out_text *out)
{
    if (i >= c->parts || n >= c->part[i].desc_count)
        return CORE_WRONG;
    put_text(out, c->part[i].desc[n]);
    return 0;
}

// A part's total of an event.
int EXPORT(total)(const struct core *c, uint32_t i, uint32_t e, struct out_value *out);
int total(const struct core *c, uint32_t i, uint32_t e, struct out_value *out)
{
    if (i >= c->parts || e >= c->events)
        return CORE_WRONG;
    core_count v = c->total[(size_t)i * c->events + e];
    *out = out_value((struct value){ v, (double)v / (double)c->event[e].scale, true });
    return 0;
}

struct out_func {
    uint64_t line, addr, hash;
    uint32_t object, file, name, cycle[CORE_SIDES], zero;
};

int EXPORT(func)(const struct core *c, uint32_t f, struct out_func *out);
int func(const struct core *c, uint32_t f, struct out_func *out)
{
    if (f >= c->funcs)
        return CORE_WRONG;
    *out = (struct out_func){ .line = c->line[f],
                              .addr = c->addr[f],
                              .hash = rows_hash(c, f),
                              .object = c->object[f],
                              .file = c->file[f],
                              .name = c->name[f] };
    for (int s = 0; s < CORE_SIDES; s++)
        out->cycle[s] = c->graph[s].ready ? c->graph[s].cycle[f] : 0;
    return 0;
}

// Arrays of 32 bits: of each function its object, file, name; its cycle in the profile, in the
// base.
const uint32_t *EXPORT(array)(struct core *c, uint32_t what);
const uint32_t *array(struct core *c, uint32_t what)
{
    switch (what) {
    case 0: return c->object;
    case 1: return c->file;
    case 2: return c->name;
    case 3:
    case 4: return graph_cycles(c, what - 3) == 0 ? c->graph[what - 3].cycle : NULL;
    case 5: return rows_rank(c);
    case 6: return c->edge_caller;
    case 7: return c->edge_callee;
    case 8: return c->callee_first;
    case 9: return c->caller_first;
    case 10: return c->caller_edge;
    default: return NULL;
    }
}

// ---- Selection ----

int EXPORT(choose)(struct core *c, const uint8_t *parts);
int choose(struct core *c, const uint8_t *parts)
{
    return costs_select(c, parts);
}

void EXPORT(cycles)(struct core *c, uint32_t on);
void cycles(struct core *c, uint32_t on)
{
    graph_detect(c, on);
}

// ---- Formulas and values ----

struct formula *EXPORT(formula)(const struct core *c, const uint8_t *text, uint32_t size,
                                uint32_t *at);
struct formula *formula(const struct core *c, const uint8_t *text, uint32_t size, uint32_t *at)
{
    size_t where = 0;
    struct formula *f = formula_new(c, c->event_count, text, size, &where);

    *at = (uint32_t)where;
    return f;
}

struct formula *EXPORT(formula_of)(const struct core *c, uint32_t e);
struct formula *formula_of(const struct core *c, uint32_t e)
{
    return formula_event(c, e);
}

void EXPORT(formula_put)(struct formula *f);
void formula_put(struct formula *f)
{
    formula_free(f);
}

// 1 or 10^9; with bit 31: a ratio
uint32_t EXPORT(formula_kind)(const struct formula *f);
uint32_t formula_kind(const struct formula *f)
{
    return (uint32_t)formula_scale(f) | (formula_is_ratio(f) ? 1u << 31 : 0);
}

int EXPORT(values)(struct core *c, struct formula *f, uint32_t of, uint32_t side,
                   const uint32_t *index, uint32_t n, struct out_value *out);
int values(struct core *c, struct formula *f, uint32_t of, uint32_t side, const uint32_t *index,
           uint32_t n, struct out_value *out)
{
    bool edges = of == VALUES_EDGE || of == VALUES_CALLS;
    int rc = of > VALUES_PER_CALL || side > VALUES_FACTOR || (edges && !c->linked)
                 ? CORE_WRONG
                 : values_prepare(c, f, of, side);

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (of != VALUES_TOTAL && index[i] >= (edges ? c->edges : c->funcs))
            rc = CORE_WRONG;
        else
            out[i] = out_value(values_get(c, f, of, side, index[i]));
    }
    return rc;
}

int EXPORT(groups)(struct core *c, struct formula *f, uint32_t side, const uint32_t *group,
                   const uint32_t *parent, uint32_t n, struct out_value *out);
int groups(struct core *c, struct formula *f, uint32_t side, const uint32_t *group,
           const uint32_t *parent, uint32_t n, struct out_value *out)
{
    struct value *v = heap_array(n, sizeof(*v));
    int rc = side > VALUES_FACTOR ? CORE_WRONG
             : v                  ? values_groups(c, f, side, group, parent, n, v)
                                  : CORE_MEMORY;

    for (uint32_t i = 0; rc == 0 && i < n; i++)
        out[i] = out_value(v[i]);
    heap_put(v);
    return rc;
}

// A tree of groups by enum group_by. Groups are 20 bytes: parent, string, from, size, functions;
// group[f] is the group of a function. The page puts both back.
struct group_item *EXPORT(tree)(struct core *c, uint32_t by, uint32_t *count, uint32_t **group,
                                int *rc);
struct group_item *tree(struct core *c, uint32_t by, uint32_t *count, uint32_t **group, int *rc)
{
    struct group_tree t = { 0 };

    *rc = by > GROUP_CYCLE ? CORE_WRONG : group_make(c, (enum group_by)by, &t);
    *count = t.count;
    *group = t.of;
    return t.item;
}

// ---- Rows ----

int EXPORT(match)(const struct core *c, const uint8_t *text, uint32_t size, uint32_t fields,
                  uint8_t *mask);
int match(const struct core *c, const uint8_t *text, uint32_t size, uint32_t fields, uint8_t *mask)
{
    return rows_match(c, text, size, fields, mask);
}

uint32_t EXPORT(string_of)(const struct core *c, const uint8_t *text, uint32_t size);
uint32_t string_of(const struct core *c, const uint8_t *text, uint32_t size)
{
    return rows_string(c, text, size);
}

// *rc is their number, or an error.
uint32_t *EXPORT(alike)(struct core *c, uint32_t string, int *rc);
uint32_t *alike(struct core *c, uint32_t string, int *rc)
{
    uint32_t *list;

    *rc = (int)names_alike(c, string, &list);
    return list;
}

// how: 1: descending, 2: whatever the sign
int EXPORT(sort)(struct core *c, uint32_t *row, uint32_t n, uint32_t of, uint32_t field,
                 uint32_t side, struct formula *f, uint32_t how);
int sort(struct core *c, uint32_t *row, uint32_t n, uint32_t of, uint32_t field, uint32_t side,
         struct formula *f, uint32_t how)
{
    if (of > VALUES_PER_CALL || side > VALUES_FACTOR)
        return CORE_WRONG;
    return rows_sort(c, row, n,
                     &(struct rows_key){ .of = of,
                                         .field = field,
                                         .side = side,
                                         .formula = f,
                                         .descending = how & 1,
                                         .magnitude = how & 2 });
}

uint32_t EXPORT(find)(const struct core *c, uint64_t hash);
uint32_t find(const struct core *c, uint64_t hash)
{
    return rows_find(c, hash);
}

// ---- Around a function ----

int EXPORT(reach)(struct core *c, uint32_t f, uint32_t direction, uint32_t side, uint32_t *funcs,
                  uint32_t *distance);
int reach(struct core *c, uint32_t f, uint32_t direction, uint32_t side, uint32_t *funcs,
          uint32_t *distance)
{
    return (int)reach_all(c, f, direction, side, funcs, distance);
}

int EXPORT(around)(struct core *c, uint32_t side, uint8_t *mask);
int around(struct core *c, uint32_t side, uint8_t *mask)
{
    return reach_both(c, side, mask);
}

int EXPORT(path)(struct core *c, uint32_t f, struct formula *by, uint32_t side, uint32_t *edge,
                 uint32_t max);
int path(struct core *c, uint32_t f, struct formula *by, uint32_t side, uint32_t *edge,
         uint32_t max)
{
    return (int)reach_path(c, f, by, side, edge, max);
}

// ---- Details ----

// kind 0: places, 1: call sites, 2: jumps. *rc is 0 or an error.
struct detail *EXPORT(detail)(struct core *c, uint32_t kind, uint32_t f, uint32_t file, uint32_t by,
                              const struct formula *wanted, int *rc);
struct detail *detail(struct core *c, uint32_t kind, uint32_t f, uint32_t file, uint32_t by,
                      const struct formula *wanted, int *rc)
{
    struct detail *d = NULL;

    *rc = kind == 0   ? detail_places(c, f, file, by, wanted, &d)
          : kind == 1 ? detail_calls(c, f, file, by, wanted, &d)
                      : detail_jumps(c, f, &d);
    return d;
}

const struct detail_row *EXPORT(detail_rows)(const struct detail *d, uint32_t *count);
const struct detail_row *detail_rows(const struct detail *d, uint32_t *count)
{
    *count = (uint32_t)d->count;
    return d->row;
}

int EXPORT(detail_values)(const struct detail *d, struct formula *f, uint32_t side, uint32_t first,
                          uint32_t n, struct out_value *out);
int detail_values(const struct detail *d, struct formula *f, uint32_t side, uint32_t first,
                  uint32_t n, struct out_value *out)
{
    if (side > VALUES_FACTOR || first > d->count || n > d->count - first)
        return CORE_WRONG;
    for (uint32_t i = 0; i < n; i++)
        out[i] = out_value(detail_value(d, f, side, first + i));
    return 0;
}

int EXPORT(detail_sort)(const struct detail *d, struct formula *f, uint32_t side, uint32_t *order);
int detail_sort(const struct detail *d, struct formula *f, uint32_t side, uint32_t *order)
{
    return side > VALUES_FACTOR ? CORE_WRONG : (int)detail_order(d, f, side, order);
}

void EXPORT(detail_put)(struct detail *d);
void detail_put(struct detail *d)
{
    detail_free(d);
}

// ---- Sources and code ----

struct out_source {
    uint32_t state, lines, pieces;
    struct texts_piece *piece; // 16 bytes each: first, count, text; the page puts it back
    struct out_text path;
};

int EXPORT(source)(const struct core *c, uint32_t file, uint32_t side, struct out_source *out);
int source(const struct core *c, uint32_t file, uint32_t side, struct out_source *out)
{
    struct texts_source s;
    int rc = side >= CORE_SIDES ? CORE_WRONG : texts_source(c, file, side, &s);

    if (rc == 0) {
        *out = (struct out_source){ s.state, s.lines, s.pieces, s.piece, { 0 } };
        put_text(&out->path, s.path);
    }
    return rc;
}

// Runs of 12 bytes, which the page puts back.
struct texts_run *EXPORT(align)(const struct core *c, uint32_t file, uint32_t *count, int *rc);
struct texts_run *align(const struct core *c, uint32_t file, uint32_t *count, int *rc)
{
    struct texts_run *run = NULL;

    *rc = texts_align(c, file, &run, count);
    return run;
}

struct texts_insn *EXPORT(code)(const struct core *c, uint32_t f, uint32_t *state, uint32_t *count,
                                int *rc);
struct texts_insn *code(const struct core *c, uint32_t f, uint32_t *state, uint32_t *count, int *rc)
{
    struct texts_code out = { 0 };

    *rc = texts_code(c, f, &out);
    *state = out.state;
    *count = out.count;
    return out.insn;
}

_Static_assert(sizeof(struct flow_block) == 8, "the page reads blocks of 8 bytes");
_Static_assert(sizeof(struct flow_edge) == 48, "the page reads edges of 48 bytes");

// Basic blocks of 8 bytes; *edge, of 48 bytes each. `numbers`: blocks, edges, jumps that leave. The
// page puts both back.
struct flow_block *EXPORT(flow)(struct core *c, uint32_t f, uint32_t *numbers,
                                struct flow_edge **edge, int *rc);
struct flow_block *flow(struct core *c, uint32_t f, uint32_t *numbers, struct flow_edge **edge,
                        int *rc)
{
    struct flow out;

    *rc = flow_make(c, f, &out);
    numbers[0] = out.blocks;
    numbers[1] = out.edges;
    numbers[2] = out.leaving;
    *edge = out.edge;
    return out.block;
}

// ---- Pictures ----

// Boxes of 64 bytes, which the page puts back.
// limits: least, fine, from, to of flame_wish; *rest: the cost left out, and of how many functions.
struct flame_box *EXPORT(flame)(struct core *c, struct formula *f, uint32_t side, uint32_t root,
                                uint32_t kind, const double *limits, uint32_t most,
                                const uint8_t *mask, uint32_t *count, struct out_value *whole,
                                struct out_value *rest, int *rc);
struct flame_box *flame(struct core *c, struct formula *f, uint32_t side, uint32_t root,
                        uint32_t kind, const double *limits, uint32_t most, const uint8_t *mask,
                        uint32_t *count, struct out_value *whole, struct out_value *rest, int *rc)
{
    const struct flame_wish w = { .formula = f,
                                  .side = side,
                                  .root = root,
                                  .kind = kind,
                                  .least = limits[0],
                                  .fine = limits[1],
                                  .from = limits[2],
                                  .to = limits[3],
                                  .most = most,
                                  .mask = mask };
    double scale = (double)formula_scale(f);
    struct flame out = { 0 };

    *rc = kind > FLAME_UP_SELF ? CORE_WRONG : flame_make(c, &w, &out);
    count[0] = out.count;
    count[1] = out.rest_count;
    *whole = out_value((struct value){ out.total, (double)out.total / scale, true });
    *rest = out_value((struct value){ out.rest, (double)out.rest / scale, true });
    return out.box;
}

void EXPORT(squarify)(const double *value, uint32_t n, double whole, double x, double y, double w,
                      double h, struct treemap_rect *out);
void squarify(const double *value, uint32_t n, double whole, double x, double y, double w, double h,
              struct treemap_rect *out)
{
    treemap_squarify(value, n, whole, (struct treemap_rect){ x, y, w, h }, out);
}

// Boxes in boxes; style: head, edge, least.
int EXPORT(nest)(const double *value, const uint32_t *parent, uint32_t n, double whole, double w,
                 double h, double head, double edge, double least, struct treemap_rect *out);
int nest(const double *value, const uint32_t *parent, uint32_t n, double whole, double w, double h,
         double head, double edge, double least, struct treemap_rect *out)
{
    return treemap_nest(value, parent, n, whole, (struct treemap_rect){ 0, 0, w, h },
                        (struct treemap_style){ head, edge, least }, out);
}

// What a call graph shows: nodes of 12 bytes, edges of 80; the page frees it with graph_put.
struct select_graph *EXPORT(graph)(struct core *c, struct formula *f, uint32_t side, uint32_t focus,
                                   uint32_t up, uint32_t down, double least_node, double least_edge,
                                   uint32_t most, const uint8_t *mask, uint32_t fold, int *rc);
struct select_graph *graph(struct core *c, struct formula *f, uint32_t side, uint32_t focus,
                           uint32_t up, uint32_t down, double least_node, double least_edge,
                           uint32_t most, const uint8_t *mask, uint32_t fold, int *rc)
{
    struct select_graph *g = heap_get(sizeof(*g));
    const struct select_wish w = { .formula = f,
                                   .side = side,
                                   .focus = focus,
                                   .up = up,
                                   .down = down,
                                   .least_node = least_node,
                                   .least_edge = least_edge,
                                   .most = most,
                                   .mask = mask,
                                   .fold = fold };

    *rc = g ? side > VALUES_DIFFERENCE ? CORE_WRONG : select_make(c, &w, g) : CORE_MEMORY;
    if (*rc < 0) {
        heap_put(g);
        return NULL;
    }
    return g;
}

struct out_edge {
    struct out_value value, calls;
    uint32_t from, to, edge, zero;
};
_Static_assert(sizeof(struct out_edge) == 80, "the page reads edges of 80 bytes");

// nodes: function, depth, cycle; edges: of 80 bytes. Without space (NULL) only the numbers,
// three of 32 bits: nodes, edges, left out.
void EXPORT(graph_read)(const struct select_graph *g, uint32_t *numbers, struct select_node *nodes,
                        struct out_edge *edges);
void graph_read(const struct select_graph *g, uint32_t *numbers, struct select_node *nodes,
                struct out_edge *edges)
{
    numbers[0] = g->nodes;
    numbers[1] = g->edges;
    numbers[2] = g->left_out;
    for (uint32_t i = 0; nodes && i < g->nodes; i++)
        nodes[i] = g->node[i];
    for (uint32_t i = 0; edges && i < g->edges; i++)
        edges[i] = (struct out_edge){ out_value(g->edge[i].value),
                                      out_value(g->edge[i].calls),
                                      g->edge[i].from,
                                      g->edge[i].to,
                                      g->edge[i].edge,
                                      0 };
}

void EXPORT(graph_put)(struct select_graph *g);
void graph_put(struct select_graph *g)
{
    if (g)
        select_free(g);
    heap_put(g);
}

_Static_assert(sizeof(struct layered_node) == 40, "the page writes nodes of 40 bytes");
_Static_assert(sizeof(struct layered_edge) == 24, "the page writes edges of 24 bytes");
_Static_assert(sizeof(struct cluster_box) == 32, "the page writes boxes of 32 bytes");

// Lays out nodes and edges in place. `size`: width and height; *points, of 16 bytes each, are put
// back by the page. Crossings, or an error. With boxes (of 32 bytes: w, h, x, y) each node is in
// one or (CORE_NONE) in none, and `edge` says what they keep free: left, top, right, bottom.
int EXPORT(layered)(struct layered_node *node, uint32_t nodes, struct layered_edge *edge,
                    uint32_t edges, double gap_x, double gap_y, const uint32_t *group,
                    struct cluster_box *box, uint32_t boxes, const struct cluster_edge *pad,
                    double *size, struct layered_point **points);
int layered(struct layered_node *node, uint32_t nodes, struct layered_edge *edge, uint32_t edges,
            double gap_x, double gap_y, const uint32_t *group, struct cluster_box *box,
            uint32_t boxes, const struct cluster_edge *pad, double *size,
            struct layered_point **points)
{
    struct layered l = {
        .node = node, .nodes = nodes, .edge = edge, .edges = edges, .gap_x = gap_x, .gap_y = gap_y
    };
    int rc = boxes ? cluster_make(&l, group, box, boxes, *pad) : layered_make(&l);

    *points = l.point;
    size[0] = l.width;
    size[1] = l.height;
    return rc < 0 ? rc : (int)l.crossings;
}
