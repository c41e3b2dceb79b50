// SPDX-License-Identifier: MIT
//
// A branch predictor of today: for conditional branches TAGE with a loop predictor, for indirect
// jumps and calls ITTAGE, for returns a stack. After Seznec and Michaud, "A case for (partially)
// tagged geometric history length branch prediction", JILP 2006, and Seznec, "A 64-Kbytes ITTAGE
// indirect branch predictor", 2011; with sizes of the order of today's processors, which publish
// none.
//
// Conditional: a table of two-bit counters by address, and SIM_TAGE_TABLES tables of tagged entries
// by address and the last 4, 8, ... 256 outcomes; of 2048 entries each, or 2 or 4 times as many.
// The entry with the longest history that matches predicts. A loop that was left after the same
// number of iterations three times is predicted to be left so again.
//
// Indirect: tables by address and the last 0, 9 and 64 branches that were taken (of those that are
// given here), of 2048 targets each, or 2 or 4 times as many. A branch may be told from others by
// the low bits of its address and its target alone, as some processors do; then 40 sequences are
// known by all bits, as of a Zen 4 that was measured. The lengths and sizes are those with which
// sequences of jumps are predicted as often as by a Golden Cove core that was measured:
// docs/design/072.
//
// Pure arithmetic, as cache.h. An all-zero state is the state at the start.
#ifndef QUERN_SIM_PREDICT_H
#define QUERN_SIM_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/recent.h"

#define SIM_TAGE_TABLES   8u
#define SIM_TAGE_ENTRIES  2048u
#define SIM_TAGE_BITS     11u // of their number
#define SIM_LARGE_MAX     2u  // tables of up to 1 << SIM_LARGE_MAX times as many entries
#define SIM_TAGE_BASE     16384u
#define SIM_TAGE_LOOPS    256u
#define SIM_TAGE_HISTORY  512u
#define SIM_ITTAGE_TABLES 3u
#define SIM_ITTAGE_SETS   1024u
#define SIM_ITTAGE_WAYS   2u
#define SIM_PATH          64u
#define SIM_NEAR          40u  // sequences that are known by whole addresses, with path_less
#define SIM_NEAR_WORDS    210u // of sim_recent_bytes()
#define SIM_RETURNS       32u

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
    uint32_t target; // the low half of its address
    uint32_t tag;    // 0: empty; the lowest two bits: how often it was right, up to 3
};

// The order of the first members is known to engine/count/tage.S.
struct sim_predict {
    struct sim_tage_entry table[SIM_TAGE_TABLES * SIM_TAGE_ENTRIES << SIM_LARGE_MAX];
    uint32_t fold[SIM_TAGE_TABLES]; // of the history that the table sees
    // Outcomes, the newest at (time - 1) % SIM_TAGE_HISTORY; each twice, so that the latest ones
    // are in a row below time % SIM_TAGE_HISTORY in the second half.
    uint8_t history[2 * SIM_TAGE_HISTORY];
    uint32_t time, large; // large: the tables have 1 << large times as many entries (the owner's)
    uint32_t events;
    // Of the last SIM_PATH branches that were taken, each by 16 bits of its address and target, and
    // folded for each table of targets.
    uint16_t path[SIM_PATH];
    uint64_t path_fold[SIM_ITTAGE_TABLES];
    uint32_t taken;             // so many have been
    int8_t other;               // whether new entries predict better than what they replace
    int8_t base[SIM_TAGE_BASE]; // -2 to 1: taken from 0 on
    struct sim_tage_loop loop[SIM_TAGE_LOOPS];
    struct sim_ittage_entry indirect[SIM_ITTAGE_TABLES][SIM_ITTAGE_SETS << SIM_LARGE_MAX]
                                    [SIM_ITTAGE_WAYS];
    uint64_t returns[SIM_RETURNS];
    uint32_t depth, kept; // kept: of the last calls, those that have not returned
    // Set by the owner.
    bool deep_returns; // other returns are predicted as indirect jumps
    uint32_t large_indirect;
    uint64_t path_less; // bits of addresses and targets that the path does not have
    // With path_less: of the last SIM_NEAR jumps, by their address and the last four that were
    // taken, with all bits, the targets.
    struct sim_recent near;
    uint64_t near_storage[SIM_NEAR_WORDS];
    uint32_t near_target[SIM_NEAR];
    uint64_t near_path;
};

// Outcomes that each table sees: about twice as many as the one before. They are folded: xored in
// groups of SIM_TAGE_FOLD bits.
#define SIM_TAGE_LENGTHS 4, 8, 14, 24, 42, 76, 140, 256
#define SIM_TAGE_FOLD    22
// By what the place of an entry is multiplied.
#define SIM_TAGE_FIRST  0x9e3779b1u
#define SIM_TAGE_SECOND 0x85ebca6bu

// For each table the number of the entry, counted through all tables, and its tag.
struct sim_tage_places {
    uint32_t entry[SIM_TAGE_TABLES], tag[SIM_TAGE_TABLES];
};

// sim_predict_cond() in steps, for callers that do the first one in another way: finds the entries
// of a branch, returns a bit for each table whose entry has the tag, and adds the outcome to the
// history; then predicts and learns from these.
uint32_t sim_tage_find(struct sim_predict *p, uint32_t hash, bool taken,
                       struct sim_tage_places *at);
bool sim_predict_learn(struct sim_predict *p, uint64_t pc, bool taken,
                       const struct sim_tage_places *at, uint32_t found);

static inline uint32_t sim_tage_hash(uint64_t pc)
{
    return (uint32_t)(pc ^ pc >> 19);
}

// A branch at pc. True if it was mispredicted.
bool sim_predict_cond(struct sim_predict *p, uint64_t pc, bool taken);
bool sim_predict_indirect(struct sim_predict *p, uint64_t pc, uint64_t target);

// A call returns to `back`; an indirect call is an indirect branch first.
void sim_predict_call(struct sim_predict *p, uint64_t back);
bool sim_predict_return(struct sim_predict *p, uint64_t pc, uint64_t target);
// Calls and returns that the predictor did not see were made: a return of an earlier call is taken
// to be right.
#define SIM_RETURN_UNKNOWN UINT64_MAX
void sim_predict_forget_calls(struct sim_predict *p);

#endif
