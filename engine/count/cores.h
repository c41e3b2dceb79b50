// SPDX-License-Identifier: MIT
// Each thread's core (sim/core.h): collects what an instruction does, and counts its cycles. Only
// with tb_config.core. Replays call it (replay/interpret.c): begin, the fetch, references and
// branch of the instruction, end.
#ifndef QUERN_ENGINE_CORES_H
#define QUERN_ENGINE_CORES_H

#include "engine/callgraph/calls.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "sim/core.h"

// What is known of an instruction before it is executed. Records have one for each of theirs, to
// which the ops with its number belong (replay/record.h).
struct cores_insn {
    u64 pc;
    u32 counter; // of its cycles
    u32 writes; // first counter of writes; ~0u: what it writes counts as read, or it writes nothing
    struct core_op op;
    u8 insn; // number
};

// With tb_config.sampled a core times windows of the instructions that its thread executes. A phase
// ends after a number of instructions, so windows are the same in every run and mode.
enum cores_phase {
    CORES_OFF,    // the caches see everything; nothing else happens
    CORES_LEARN,  // the predictor sees branches
    CORES_RUN_IN, // instructions are timed, and not counted
    CORES_TIMED,  // counted
};

// Routines replay no record that may be beyond a phase: more than the instructions of a record.
#define CORES_MARGIN 256

// Whether records are to be interpreted. Routines have branches seen by a predictor of today alone.
static inline bool cores_interpreted(const struct thread *t)
{
    u32 last = tb_config.predictor ? CORES_LEARN : CORES_OFF;

    return !tb_config.sampled || t->core_phase > last || t->core_left < 0;
}

// Whether the predictor sees branches.
static inline bool cores_predicted(const struct thread *t)
{
    return !tb_config.learns || t->core_phase != CORES_OFF;
}

enum cores_branch_kind { CORES_BCM, CORES_BIM, CORES_BRM };

void cores_weigh_branch(struct thread *t, u32 counter, enum cores_branch_kind kind, bool missed);
// A branch has been predicted: counts it at `counter` if it was wrong.
static inline void cores_count_branch(struct thread *t, u32 counter, enum cores_branch_kind kind,
                                      bool missed)
{
    if (tb_config.learns)
        cores_weigh_branch(t, counter, kind, missed);
    else if (missed)
        calls_count(t, counter, 1);
}

// In CORES_LEARN the front end learns, too: of the fetch of an instruction, and of a taken branch,
// by the low half of its address. A fetch of the line that was fetched last changes nothing.
void cores_learn_fetch(struct thread *t, u64 pc, u32 bytes);
void cores_learn_branch(struct thread *t, u32 pc);

// n instructions are replayed, all of them in a phase for routines.
static inline void cores_skip(struct thread *t, u32 n)
{
    t->core_left -= n;
}

// For count/ahead.h: a second state begins. It has no core, and is in CORES_OFF all the time.
void cores_ahead_begin(struct thread *a);
// How many instructions it has executed since.
u64 cores_ahead_insns(const struct thread *a);
// Whether t is in CORES_OFF, and is for n more instructions and CORES_MARGIN.
static inline bool cores_stays_off(const struct thread *t, u64 n)
{
    return __atomic_load_n(&t->core_phase, __ATOMIC_RELAXED) == CORES_OFF &&
           __atomic_load_n(&t->core_left, __ATOMIC_RELAXED) > (s64)n;
}

// A thread begins: a core that has executed nothing. With --serialize-threads all have the same.
void cores_thread_init(struct thread *t);

// An instruction; the one before it ends. Returns the phases that begin with it, a bit for each:
// the caller tells the predictor (caches_branches_begin) and drains what LL has not simulated yet.
u32 cores_begin(struct thread *t, const struct cores_insn *i);
// Its line of code has been fetched.
void cores_fetch(struct thread *t, bool missed);
// A data reference, whose misses are counted at `counter`.
void cores_ref(struct thread *t, u64 addr, u32 size, u32 counter, bool missed);
// The outcome of its branch.
void cores_branch(struct thread *t, bool taken, bool mispredicted);
// It has been executed, if one has begun.
void cores_end(struct thread *t);

#endif
