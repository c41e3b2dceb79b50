// SPDX-License-Identifier: MIT
// The profiler's side of a running thread: simulated caches and predictor, and the helpers that translated code calls when the
// inline check does not settle a reference. The helpers run with signals open and must not use string instructions
// (the client's direction flag may be set), take no lock but that of LL, and touch no client memory.
#ifndef QUERN_ENGINE_PROF_H
#define QUERN_ENGINE_PROF_H

#include "engine/thread.h"
#include "sim/branch.h"
#include "sim/cache.h"

struct sim_state {
    struct sim_cache i1, d1;
    struct sim_branch *branch; // in the thread's area, where translated code finds it
    u32 *i1_fast;              // line ids of the most recently used lines
    u8 *d1_fast;               // u64 line addresses at a stride of the line size
};

enum prof_stub {
    PROF_STUB_DREF,
    PROF_STUB_IREF,
    PROF_STUB_BC,
    PROF_STUB_BI,
    PROF_STUB_REP,
    PROF_STUB_VEC,
};

// Reads the geometries and makes LL. Once, after spooler_map.
void prof_init(void);

// Empty caches and predictor for a thread that begins. t->counters must be mapped. Returns 0 or -errno.
int prof_thread_init(struct thread *t);
void prof_thread_fini(struct thread *t);
void prof_fork_child(void);

// --serialize-threads: t has the turn, and sees the caches and the predictor as the thread before it left them.
void prof_turn(struct thread *t);

// Address of a helper's stub in the code cache (tcache.c).
u64 prof_stub(enum prof_stub which);

// A dense number, from 1, for an I1 line (address >> shift). @holds(translation lock)
u32 prof_line_id(u64 line);

// The helpers, called by the stubs; arguments are in t->h_*.
void prof_dref(struct thread *t);
void prof_iref(struct thread *t);
void prof_bc(struct thread *t);
void prof_bi(struct thread *t);
void prof_rep(struct thread *t);
void prof_vec(struct thread *t);

#endif
