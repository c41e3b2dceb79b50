// SPDX-License-Identifier: MIT
//
// The data of a report in memory. Blocks stay as bytes; tables are made from them:
// names and functions when they are loaded (load.c), edges when all call sites are loaded (link.c),
// costs of functions and edges event by event on demand (costs.c, graph.c). So a
// million functions with nine events take little more memory than the events that are used.
#ifndef QUERN_REPORT_CORE_MODEL_H
#define QUERN_REPORT_CORE_MODEL_H

#include "report/core/base.h"

enum { CORE_SIDES = 2 };

// ORDER docs/report-format.md
enum section_kind {
    SECTION_NONE,
    SECTION_HEAD,
    SECTION_TEXTS,
    SECTION_EVENTS,
    SECTION_PARTS,
    SECTION_TOTALS,
    SECTION_STRINGS,
    SECTION_FUNCTIONS,
    SECTION_TOP,
    SECTION_SELF,
    SECTION_CALLS,
    SECTION_PLACES,
    SECTION_JUMPS,
    SECTION_SOURCE,
    SECTION_ALIGN,
    SECTION_CODE,
    SECTION_INDEX,
    SECTION_COUNT,
};

enum core_has {
    CORE_HAS_LINE = 1,
    CORE_HAS_ADDR = 2,
    CORE_HAS_CALL = 4,
    CORE_HAS_JUMP = 8,
    CORE_HAS_BASE = 16,
};

enum section_flag { SECTION_LINE = 1, SECTION_ADDR = 2, SECTION_REMAINDER = 4 };

// One section of a block: what its head says, and the bytes behind that.
struct section {
    const uint8_t *at;
    size_t size;
    uint32_t block;
    uint32_t first, count; // functions
    uint32_t part, flags;
    uint32_t base; // CALLS: sites in the sections before; SOURCE, ALIGN: the file
    uint32_t side;
};

struct section_list {
    struct section *item;
    size_t count, cap;
};

struct text {
    const uint8_t *at;
    size_t size;
};

struct event {
    struct text name, long_name, formula;
    int64_t scale;
    struct formula *made; // of events with a formula that could be read
};

struct part {
    uint32_t side;
    struct text cmd, creator;
    uint64_t pid, part, thread; // + 1; 0: not known
    struct text *desc;
    uint32_t desc_count;
    bool selected;
};

// Numbers of functions or edges: 64 bits each until one does not fit, then 128 for all.
struct column {
    int64_t *narrow;
    core_count *wide;
    uint32_t count;
};

// Of one side: who calls whom in the parts that are selected, and which functions are a cycle.
struct side_graph {
    uint8_t *there;  // by edge: a bit
    uint8_t *inside; // by edge: a bit where it stays in a cycle, or in a function
    uint32_t *cycle; // by function: 0, or the number of its cycle
    uint32_t cycles; // how many
    bool ready;
};

// Names by what is outside of their brackets: names.c.
struct string_run {
    uint32_t first, count;
};
struct alike {
    uint32_t *hash; // by string: 0, not asked for yet; 1, none
    struct string_run *run;
    size_t runs, cap;
};

struct core {
    // From HEAD
    uint32_t funcs, strings, parts, events, order, has, blocks;
    bool head;

    uint8_t **block; // their bytes, ours
    size_t *block_size;
    size_t block_count, block_cap;

    struct section_list list[SECTION_COUNT]; // those that are read when asked for
    struct section top;

    struct event *event; // counted, then derived
    uint32_t event_count, event_cap;
    struct part *part;
    core_count *total; // by part, event

    uint8_t *pool; // strings, consecutive
    size_t pool_size, pool_cap;
    size_t *string_at; // by string; behind the end: not loaded
    uint32_t *string_size;
    uint32_t *string_rank; // by bytes; made when first asked for
    struct alike alike;
    uint32_t strings_loaded;

    uint32_t *object, *file, *name; // by function: strings or CORE_NONE
    uint64_t *line, *addr;
    uint32_t funcs_loaded;

    // Made by link.c
    bool linked;
    uint32_t sites, edges;
    uint32_t *site_edge;    // by site
    uint32_t *callee_first; // by caller: its first edge; funcs + 1
    uint32_t *edge_caller, *edge_callee;
    uint32_t *caller_first, *caller_edge; // by callee: edges in caller_edge
    struct side_graph graph[CORE_SIDES];

    // By side and event, made when asked for; the event `events` is the number of calls.
    struct column *self[CORE_SIDES], *edge[CORE_SIDES], *inclusive[CORE_SIDES];
    bool no_cycles; // functions of a cycle are taken one by one
};

static inline bool core_has_string(const struct core *c, uint32_t s)
{
    return s < c->strings && c->string_size && c->string_at[s] != SIZE_MAX;
}

static inline struct text core_string(const struct core *c, uint32_t s)
{
    if (!core_has_string(c, s))
        return (struct text){ NULL, 0 };
    return (struct text){ c->pool + c->string_at[s], c->string_size[s] };
}

#endif
