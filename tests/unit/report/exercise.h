// SPDX-License-Identifier: MIT
//
// Asks a core for everything, whatever its blocks contain: damaged ones must be
// refused or answered without a fault. Used by test_damage.c and fuzz/report_pack.c, under
// AddressSanitizer.
#ifndef QUERN_TESTS_REPORT_EXERCISE_H
#define QUERN_TESTS_REPORT_EXERCISE_H

#include <string.h>

#include "report/core/cluster.h"
#include "report/core/costs.h"
#include "report/core/detail.h"
#include "report/core/flame.h"
#include "report/core/flow.h"
#include "report/core/graph.h"
#include "report/core/group.h"
#include "report/core/heap.h"
#include "report/core/layered.h"
#include "report/core/link.h"
#include "report/core/load.h"
#include "report/core/names.h"
#include "report/core/reach.h"
#include "report/core/rows.h"
#include "report/core/select.h"
#include "report/core/texts.h"
#include "report/core/top.h"

static inline void exercise_function(struct core *c, uint32_t f, struct formula *formula)
{
    struct detail *d;
    struct texts_code code;
    struct flow flow;
    uint32_t *func = heap_array(c->funcs, 4), *distance = heap_array(c->funcs, 4), edge[20];

    if (detail_places(c, f, CORE_NONE, DETAIL_LINE | DETAIL_ADDR, NULL, &d) == 0) {
        for (size_t i = 0; i < d->count; i++)
            detail_value(d, formula, VALUES_DIFFERENCE, i);
        uint32_t *order = heap_array(d->count, sizeof(*order));
        if (order)
            detail_order(d, formula, VALUES_FACTOR, order);
        heap_put(order);
        detail_free(d);
    }
    if (detail_calls(c, f, CORE_NONE, DETAIL_LINE, formula, &d) == 0)
        detail_free(d);
    if (detail_calls(c, CORE_NONE, c->file[f], DETAIL_LINE, formula, &d) == 0)
        detail_free(d);
    if (detail_places(c, CORE_NONE, c->file[f], DETAIL_LINE, formula, &d) == 0)
        detail_free(d);
    if (detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE | DETAIL_ALIGN, formula, &d) == 0)
        detail_free(d);
    if (detail_jumps(c, f, &d) == 0)
        detail_free(d);
    if (texts_code(c, f, &code) == 0)
        heap_put(code.insn);
    if (flow_make(c, f, &flow) == 0)
        flow_free(&flow);
    uint32_t *alike;
    if (names_alike(c, c->name[f], &alike) >= 0)
        heap_put(alike);
    if (func && distance) {
        reach_all(c, f, REACH_CALLERS, VALUES_DIFFERENCE, func, distance);
        reach_path(c, f, formula, VALUES_NEW, edge, 20);
        uint8_t *mask = (uint8_t *)distance;
        memset(mask, 0, c->funcs);
        mask[f] = 1;
        reach_both(c, VALUES_DIFFERENCE, mask);
    }
    heap_put(func);
    heap_put(distance);
    rows_find(c, rows_hash(c, f));
}

static inline void exercise_pictures(struct core *c, struct formula *formula, uint32_t focus)
{
    struct flame flame;
    struct select_graph graph;
    struct select_wish wish = {
        .formula = formula, .focus = focus, .up = 3, .down = 3, .most = 50, .fold = focus % 5
    };

    for (unsigned kind = FLAME_DOWN; kind <= FLAME_UP_SELF; kind++) {
        const struct flame_wish w = { .formula = formula,
                                      .root = focus,
                                      .kind = kind,
                                      .least = 1e-3,
                                      .fine = 1e-5,
                                      .from = 0.2,
                                      .to = 0.4,
                                      .most = 500 };
        if (flame_make(c, &w, &flame) == 0)
            heap_put(flame.box);
    }
    if (select_make(c, &wish, &graph) < 0)
        return;
    struct layered_node *node = heap_array(graph.nodes, sizeof(*node));
    struct layered_edge *edge = heap_array(graph.edges, sizeof(*edge));
    struct layered l = { .node = node, .nodes = graph.nodes, .edge = edge, .edges = graph.edges };
    for (uint32_t i = 0; edge && i < graph.edges; i++)
        edge[i] = (struct layered_edge){ graph.edge[i].from, graph.edge[i].to, 1, 0, 0 };
    if (node && edge && layered_make(&l) == 0)
        heap_put(l.point);
    uint32_t *group = heap_array(graph.nodes, sizeof(*group));
    struct cluster_box box[3] = { { .w = 0 } };
    for (uint32_t i = 0; group && i < graph.nodes; i++)
        group[i] = i % 4 < 3 ? i % 4 : CORE_NONE;
    if (node && edge && group &&
        cluster_make(&l, group, box, 3, (struct cluster_edge){ 1, 2, 3, 4 }) == 0)
        heap_put(l.point);
    heap_put(group);
    heap_put(node);
    heap_put(edge);
    select_free(&graph);
}

static inline void exercise_event(struct core *c, uint32_t e)
{
    struct formula *formula = formula_event(c, e);
    uint32_t *row = heap_array(c->funcs, sizeof(*row));
    uint32_t few = c->funcs < 20 ? c->funcs : 20;

    for (uint32_t i = 0; row && i < c->funcs; i++)
        row[i] = i;
    for (unsigned side = 0; formula && row && side <= VALUES_FACTOR; side++) {
        rows_sort(c, row, c->funcs,
                  &(struct rows_key){ .of = VALUES_INCLUSIVE, .side = side, .formula = formula });
        rows_sort(c, row, c->funcs,
                  &(struct rows_key){ .of = VALUES_CALLED, .side = side, .descending = true });
        rows_sort(c, row, c->funcs,
                  &(struct rows_key){
                      .of = VALUES_PER_CALL, .side = side, .formula = formula, .magnitude = true });
    }
    for (uint32_t f = 0; formula && f < few; f++)
        exercise_function(c, f, formula);
    if (formula && !formula_is_ratio(formula)) {
        exercise_pictures(c, formula, CORE_NONE);
        if (c->funcs)
            exercise_pictures(c, formula, 0);
    }
    formula_free(formula);
    heap_put(row);
}

static inline void exercise(struct core *c)
{
    struct text text;
    uint8_t *mask;

    if (!c->head)
        return;
    for (uint32_t n = 0; load_text(c, "remark", n, &text);)
        n++;
    for (uint32_t e = 0; e < c->event_count && e < 3; e++)
        exercise_event(c, e); // before the edges: the values of TOP
    if (link_edges(c) < 0)
        return;
    for (uint32_t e = 0; e < c->event_count && e < 8; e++)
        exercise_event(c, e);
    graph_detect(c, false);
    graph_inclusive(c, 0, 0);
    if ((mask = heap_get((size_t)c->funcs + c->parts))) {
        rows_match(c, (const uint8_t *)"a", 1, ROWS_NAME | ROWS_FILE | ROWS_OBJECT, mask);
        mask[0] = 1;
        costs_select(c, mask);
        exercise_event(c, 0);
    }
    heap_put(mask);
    for (unsigned by = 0; by <= GROUP_CYCLE; by++) {
        struct group_tree tree;
        if (group_make(c, (enum group_by)by, &tree) == 0) {
            heap_put(tree.item);
            heap_put(tree.of);
        }
    }
    uint32_t *row = heap_array(c->funcs, sizeof(*row));
    rows_sort(c, row, row ? c->funcs : 0, &(struct rows_key){ .field = ROWS_FILE });
    heap_put(row);
    for (uint32_t s = 0; s < c->strings && s < 50; s++)
        for (unsigned side = 0; side < CORE_SIDES; side++) {
            struct texts_source source;
            struct texts_run *run;
            uint32_t n;
            if (texts_source(c, s, side, &source) == 0)
                heap_put(source.piece);
            if (texts_align(c, s, &run, &n) == 0)
                heap_put(run);
        }
}

#endif
