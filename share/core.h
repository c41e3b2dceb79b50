// SPDX-License-Identifier: MIT
// A core's numbers and classes of execution (core.def): what a machine file says, `quern run` puts
// into the spool, and sim/core.c times by.
#ifndef QUERN_SHARE_CORE_H
#define QUERN_SHARE_CORE_H

#include <stdint.h>

enum core_class {
    CORE_C_NONE, // needs no unit: nop, and moves to and from memory
#define CORE_NUMBER(field, least, most, what)
#define CORE_CLASS(id, word, what) CORE_C_##id,
#include "share/core.def"
    CORE_CLASSES,
};

#define CORE_GROUPS 4u  // of micro-ops in a class
#define CORE_PORTS  16u // p0 to pF

// So many micro-ops, each by any port of the set; no port: by none.
struct core_uops {
    uint16_t n, ports;
};

// What a class costs: its result is there `latency` cycles after its operands; another of it on the
// same unit begins `busy` cycles later.
struct core_cost {
    uint16_t latency, busy;
    struct core_uops group[CORE_GROUPS]; // the first ones; the rest have n = 0
};

// Compare and branch that are one micro-op.
enum core_fusing {
    CORE_FUSE_NONE,
    CORE_FUSE_COMPARE,    // cmp and test with a conditional branch behind them
    CORE_FUSE_ARITHMETIC, // and add, sub, and, inc, dec
    CORE_FUSINGS,
};

// Loads that have a store's data at once because the expression of their address is the store's.
enum core_same {
    CORE_SAME_NONE,
    CORE_SAME_ANY,
    CORE_SAME_STACK, // the stack pointer's alone; and of loads, learnt ones too, plain moves alone
    CORE_SAMES,
};

struct core_machine {
#define CORE_NUMBER(field, least, most, what) uint16_t field;
#define CORE_CLASS(id, word, what)
#include "share/core.def"
    uint16_t eliminate;  // mov between registers needs no unit; 0 or 1
    uint16_t same_place; // enum core_same
    uint16_t any_base;   // so does one with another base register, if neither has an index
    uint16_t fuse;       // enum core_fusing
    uint16_t wide_ports; // of the ports of vector classes, those that take 512 bits; 0: all
    struct core_cost cost[CORE_CLASSES];
};

#endif
