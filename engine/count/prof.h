// SPDX-License-Identifier: MIT
// The profiler's side of a running thread: simulated caches and predictor, and the helpers that translated code calls when the
// inline check does not settle a reference. The helpers run with signals open and must not use string instructions
// (the client's direction flag may be set), take no lock but that of LL, and touch no client memory.
#ifndef QUERN_ENGINE_PROF_H
#define QUERN_ENGINE_PROF_H

#include "engine/thread/thread.h"
#include "sim/branch.h"
#include "sim/cache.h"

struct sim_state {
    struct sim_cache i1,
        d1; // d1's tags lie in the thread's area when translated code looks at them
    struct sim_branch *branch; // in the thread's area, where translated code finds it
    u32 *i1_ids;               // instead of i1: line ids, in the thread's area
};

// What a fragment leaves behind the jump that follows its call of a stub (see sim_call()), aligned to 4, which is what is read
// at a time: the client may run with alignment checks on.
#define PROF_DESC_AT 14u // from the return address: a load of rsp (9) and a jmp (5)
// D1 stubs: u32 counter; any: u32 counter, u32 size
// I1 stubs: u64 pc, u32 counter, u32 len; any: and u32 id of the first line, u32 id of the last (0: none)
// bc: u64 pc, u32 counter, u32 taken

enum prof_stub {
    PROF_STUB_D1_MISS, // h_addr: tag of a line that was not in D1 and is now
    PROF_STUB_D1_SLOW, // h_addr: tag of the last line referenced, h_desc: offset of the first line's set
    PROF_STUB_D1_ANY,  // h_addr: address
    PROF_STUB_I1_MISS, // the last line of the instruction was not in I1 and is now
    PROF_STUB_I1_ANY,
    PROF_STUB_BC,
    PROF_STUB_BI,  // h_addr: target; keeps the flags
    PROF_STUB_REP, // keeps the flags
    PROF_STUB_VEC, // keeps the flags
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

// The helpers, called by the stubs; arguments are in t->h_* and behind the return address.
void prof_d1_miss(struct thread *t, const u8 *ret);
void prof_d1_slow(struct thread *t, const u8 *ret);
void prof_d1_any(struct thread *t, const u8 *ret);
void prof_i1_miss(struct thread *t, const u8 *ret);
void prof_i1_any(struct thread *t, const u8 *ret);
void prof_bc(struct thread *t, const u8 *ret);
void prof_bi(struct thread *t);
void prof_rep(struct thread *t);
void prof_vec(struct thread *t);

#endif
