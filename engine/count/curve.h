// SPDX-License-Identifier: MIT
// --curve=yes: misses of caches of every size (sim/curve.h), and how the lines touched grow.
//
// Data references and fetches of a thread have stacks of their own, as L1D and L1I are its own;
// what misses these goes to one stack of the process, as to LL. Only lines of a sample are looked
// at: caches.c never hints at them, so code that is generated for hits passes each reference to one
// of them on to C, and costs nothing for all others.
#ifndef QUERN_ENGINE_CURVE_H
#define QUERN_ENGINE_CURVE_H

#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "sim/curve.h"

#define CURVE_RATE 5u // of the lines that are looked at

// After the spool is mapped, before the first thread. Does nothing without --curve, as all here.
void curve_init(void);
// A thread begins, in a slot that is new or was another thread's.
void curve_thread_init(struct thread *t);
// Frees a lock whose holder is dead.
void curve_forget_lock(void);
// As ll_is_orphan.
extern bool (*curve_is_orphan)(void);

// Whether a line, by its number, is in the sample.
static inline bool curve_samples(u64 line)
{
    return tb_config.curve && sim_curve_samples(line, CURVE_RATE);
}

// Whether routine.S may handle misses of lines that are not in the sample: all levels have lines of
// 64 bytes.
bool curve_lines_agree(void);

// With tb_config.curve: a data reference of at most a line of D1; a fetch. @signal-safe
void curve_data(struct thread *t, u64 addr, u32 size, bool write);
void curve_fetch(struct thread *t, u64 pc, u32 len);
// The same, if it has missed L1.
void curve_data_missed(struct thread *t, u64 addr, u32 size, bool write);
void curve_fetch_missed(struct thread *t, u64 pc, u32 len);

#endif
