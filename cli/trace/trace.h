// SPDX-License-Identifier: MIT
//
// What the files of `quern trace` share, and offer each other: each uses only those above it.
#ifndef QUERN_CLI_TRACE_H
#define QUERN_CLI_TRACE_H

#include "cli/run/run.h"
#include "cli/trace/trace_read.h"

struct trace_options {
    uint64_t flags;           // SPOOL_F_BRANCH_SIM
    struct run_caches caches; // --I1, --D1, --LL
    bool simulate;
    bool totals; // print totals only
    uint64_t skip, limit, thread;
    bool limited;
    uint32_t to; // enum trace_to; 0: none
    const char *out;
};

// The formats of --to, in the order of its help.
enum trace_to { TRACE_TO_LACKEY = 1, TRACE_TO_DINERO, TRACE_TO_CHAMPSIM };

// trace_remark.c: ends the process with the error of the reader.
_Noreturn void trace_remark_die(const char *path, const struct trace_reader *r);
// Warns of a trace without its end mark.
void trace_remark_end(const char *path, const struct trace_reader *r);

// trace_list.c: the items of the open trace as lines.
void trace_list(const struct trace_options *o, const char *path, struct trace_reader *r);

// trace_convert.c, trace_champsim.c: for other simulators, to a stream.
void trace_convert(const struct trace_options *o, const char *path, struct trace_reader *r,
                   FILE *to);
void trace_champsim(const struct trace_options *o, const char *path, struct trace_reader *r,
                    FILE *to);

// trace_simulate.c: the counts of every instruction, and their totals. The traces that this one
// continues are read first.
void trace_simulate(struct trace_options *o, const char *path, struct trace_reader *r);

#endif
