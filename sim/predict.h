// SPDX-License-Identifier: MIT
//
// A branch predictor of today: for conditional branches TAGE with a loop predictor, for indirect
// jumps and calls ITTAGE, for returns a stack. After Seznec and Michaud, "A case for (partially)
// tagged geometric history length branch prediction", JILP 2006, and Seznec, "A 64-Kbytes ITTAGE
// indirect branch predictor", 2011; with sizes of the order of today's processors, which publish
// none.
//
// Conditional: a table of two-bit counters by address, and SIM_TAGE_TABLES tables of tagged entries
// by address and the last 4, 8, ... 256 outcomes. The entry with the longest history that matches
// predicts. A loop that was left after the same number of iterations three times is predicted to be
// left so again.
//
// Pure arithmetic, as cache.h. An all-zero state is the state at the start.
#ifndef QUERN_SIM_PREDICT_H
#define QUERN_SIM_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_TAGE_TABLES    8u
#define SIM_TAGE_ENTRIES   2048u
#define SIM_TAGE_BASE      16384u
#define SIM_TAGE_LOOPS     256u
#define SIM_TAGE_HISTORY   512u
#define SIM_ITTAGE_TABLES  5u
#define SIM_ITTAGE_ENTRIES 1024u
#define SIM_RETURNS        32u

struct sim_tage_entry {
    uint16_t tag;   // 0: empty
    int8_t counter; // -4 to 3: taken from 0 on
    uint8_t useful; // 0 to 3
};

struct sim_tage_loop {
    uint32_t tag;
    uint16_t now, count; // iterations so far, and when it was left last
    uint8_t sure, age;
    bool on; // the outcome of an iteration
};

struct sim_ittage_entry {
    uint64_t target;
    uint32_t tag;
    uint32_t sure; // 0 to 3
};

struct sim_predict {
    uint8_t history[SIM_TAGE_HISTORY]; // outcomes, the newest at (time - 1) % SIM_TAGE_HISTORY
    uint64_t path;                     // of addresses and targets
    uint32_t time, events;
    uint32_t fold[SIM_TAGE_TABLES]; // of the history that the table sees
    int8_t other;                   // whether new entries predict better than what they replace
    int8_t base[SIM_TAGE_BASE];     // -2 to 1: taken from 0 on
    struct sim_tage_entry table[SIM_TAGE_TABLES][SIM_TAGE_ENTRIES];
    struct sim_tage_loop loop[SIM_TAGE_LOOPS];
    struct sim_ittage_entry indirect[SIM_ITTAGE_TABLES][SIM_ITTAGE_ENTRIES];
    uint64_t returns[SIM_RETURNS];
    uint32_t depth;
};

// A branch at pc. True if it was mispredicted.
bool sim_predict_cond(struct sim_predict *p, uint64_t pc, bool taken);
bool sim_predict_indirect(struct sim_predict *p, uint64_t pc, uint64_t target);

// A call returns to `back`; an indirect call is an indirect branch first.
void sim_predict_call(struct sim_predict *p, uint64_t back);
bool sim_predict_return(struct sim_predict *p, uint64_t target);

#endif
