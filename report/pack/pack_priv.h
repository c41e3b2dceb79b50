// SPDX-License-Identifier: MIT
//
// What the files of report/pack share.
#ifndef QUERN_REPORT_PACK_PRIV_H
#define QUERN_REPORT_PACK_PRIV_H

#include "report/core/model.h"
#include "report/pack/pack.h"
#include "report/pack/pack_names.h"

// One record of a profile: a cost, a call site or a jump. Counts are in `pool`, encoded, since most
// are small.
struct row {
    uint64_t line, addr;
    uint32_t func;   // of the report
    uint32_t part;   // of the report
    uint32_t file;   // provisional string, or QUERN_NONE: the function's own
    uint32_t callee; // call sites and jumps
    uint64_t calls;  // jumps: followed
    size_t more;     // costs, call sites: counts in the pool; jumps: number in `target`
};

struct target { // of a jump
    uint64_t line, addr, executed;
    uint32_t file;
};

struct rows {
    struct row *row;
    size_t count, cap;
    size_t *first; // by (part, func): part * funcs + func; one more at the end
};

struct func {
    uint32_t object, file, name; // provisional strings
    uint32_t of[CORE_SIDES];     // the profiles' functions; QUERN_NONE
    uint64_t line, addr;         // the lowest; UINT64_MAX: none yet
    uint64_t begin;              // the lowest line that calls go to; UINT64_MAX: none yet
    uint64_t addr_line;          // the line at `addr`
};

struct file {
    uint32_t string; // provisional
    const char *name;
    quern_count cost[CORE_SIDES];
    uint64_t last_line[CORE_SIDES];
};

struct pack {
    struct quern_profile *p[CORE_SIDES];
    struct quern_costs *costs[CORE_SIDES];
    size_t events, order;
    unsigned has;

    struct pack_names names;
    uint32_t *string[CORE_SIDES]; // by string of a profile: provisional + 1; 0: not met

    struct func *func; // the most expensive first
    uint32_t funcs;
    uint32_t *func_of[CORE_SIDES]; // by function of a profile: its place in `func`

    struct part *part;
    uint32_t parts, first_part[CORE_SIDES];

    struct rows cost, call, jump;
    struct buf pool;
    struct target *target;
    size_t targets, target_cap;

    struct file *file;
    uint32_t files, file_cap;
    uint32_t *file_of; // by provisional string: file + 1
    uint32_t file_of_size;

    quern_count *total; // by part, event
    uint32_t top, top_full;

    uint64_t *address; // of pack_addresses
    size_t address_cap;

    struct buf texts, defined; // facts; further events
    struct blocks blocks;
    bool failed;
};

// pack_gather.c
uint32_t pack_gather_string(struct pack *k, unsigned side, uint32_t s);
bool pack_gather(struct pack *k); // all records, by part and function, sorted

// pack_emit.c: sections of rows. Rows of a range of functions in one part.
void pack_emit_self(struct pack *k, uint32_t part, uint32_t first, uint32_t end, struct buf *to);
void pack_emit_rows(struct pack *k, unsigned kind, uint32_t part, uint32_t first, uint32_t end);
size_t pack_emit_size(const struct pack *k, unsigned kind, uint32_t part, uint32_t func);

static inline size_t pack_slot(const struct pack *k, uint32_t part, uint32_t func)
{
    return (size_t)part * k->funcs + func;
}

#endif
