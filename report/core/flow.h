// SPDX-License-Identifier: MIT
//
// Control flow of a function: its instructions in basic blocks, and the edges between them, with
// counts where they exist.
#ifndef QUERN_REPORT_CORE_FLOW_H
#define QUERN_REPORT_CORE_FLOW_H

#include "report/core/texts.h"

struct flow_block {
    uint32_t first, count; // of the function's instructions
};

enum flow_kind {
    FLOW_NEXT, // the next instruction
    FLOW_JUMP,
};

struct flow_edge {
    uint32_t from, to; // blocks
    uint32_t kind;
    uint32_t counted; // a bit for each side: 1, 2
    // By side: how often it was taken; and how often it could have been, where a jump may be taken
    // or not, else 0.
    uint64_t taken[CORE_SIDES], executed[CORE_SIDES];
};

struct flow {
    struct flow_block *block; // by address
    uint32_t blocks;
    struct flow_edge *edge; // by block; first jumps, then the next instruction
    uint32_t edges;
    uint32_t leaving; // jumps to elsewhere
};

// The effect of an instruction on the next one, by its text.
enum flow_step {
    FLOW_GOES_ON,
    FLOW_MAY_JUMP,
    FLOW_JUMPS, // also returns and instructions that end the program
};
enum flow_step flow_step(struct text insn);

// 0 or an error; CORE_WRONG: there are no instructions. To be freed with flow_free().
int flow_make(struct core *c, uint32_t func, struct flow *out);
void flow_free(struct flow *f);

#endif
