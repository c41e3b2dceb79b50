// SPDX-License-Identifier: MIT
// The code cache: fragments (translated blocks), their links, their recovery recipes, and the questions that signal handling asks
// about a host address. translate.c fills it, dispatch.c runs it.
#ifndef QUERN_ENGINE_TCACHE_H
#define QUERN_ENGINE_TCACHE_H

#include "engine/thread/thread.h"

// Where a host address lies. signal.c decides by this what an interrupted thread was doing.
enum tcache_where {
    TCACHE_OUTSIDE = 0, // engine C code, or not ours at all
    TCACHE_FRAGMENT, // translated code: a fault is recovered, an asynchronous signal diverts to an escape copy
    TCACHE_ESCAPE, // a thread's escape copy of a fragment: a fault is recovered, asynchronous ones are blocked
    TCACHE_EXIT, // stub that saves client registers on the way out: an asynchronous signal is deferred
    TCACHE_ENTER, // stub that loads client registers on the way in: regs[], rflags and pc are intact; redirect
    TCACHE_HELPER, // stub of the simulators; its return address is the first word of the engine's stack
    TCACHE_GATE_BEFORE, // system call gate, call not made yet or to be restarted: client is at its syscall instruction
    TCACHE_GATE_AFTER, // call completed, rax is its result: client is behind the instruction
};

// Registers of an interrupted thread, as the kernel's signal context holds them, by hardware number.
struct host_regs {
    u64 r[16];
    u64 rip, rflags;
};

// Reserves the code cache (kib KiB, rounded up) so that it ends at or below `limit`, copies the stubs to its head, and makes
// the tables. Returns 0 or -errno. Called once, before anything is translated.
int tcache_init(u64 limit, u32 kib);

// Start and end of the reserved range, for vmmap.c to defend.
u64 tcache_start(void);
u64 tcache_end(void);

// Makes what a new thread needs in the cache (escape buffer). Returns 0 or -errno.
int tcache_thread_init(struct thread *t);
void tcache_thread_fini(struct thread *t);

enum tcache_where tcache_where(u64 hpc);

// A synchronous fault at u->rip in TCACHE_FRAGMENT or TCACHE_ESCAPE: writes the client's registers, flags and pc (the
// faulting instruction's address) to t, and corrects the counters: the instructions before the faulting one count,
// it and those behind it do not. @signal-safe
void tcache_recover(struct thread *t, const struct host_regs *u);

// An interruption in TCACHE_GATE_BEFORE: writes the client's state, as it is at its syscall instruction, to t. @signal-safe
void tcache_gate_state(struct thread *t, const struct host_regs *u);

// An asynchronous signal at hpc in TCACHE_FRAGMENT: makes the escape copy and returns the address in it that corresponds to hpc.
// Runs to the next client instruction boundary that ends the fragment and then enters the dispatcher. @signal-safe
u64 tcache_escape(struct thread *t, u64 hpc);

// The client's bytes in [start, end) are gone or may change: every fragment made from them becomes unreachable. Threads
// that are inside such a fragment leave it at its next exit. Takes the translation lock.
void tcache_invalidate(u64 start, u64 end);

// Drops every fragment. The caller has stopped the world (thread_stop_world) or is the only thread.
void tcache_flush_all(void);

// After fork, in the child.
void tcache_fork_child(void);

// The translation lock, for fork (taken first, released last).
void tcache_lock(void);
void tcache_unlock(void);

// Host addresses of stubs.
u64 tcache_stub_syscall_done(void); // = where sc_cont points when a post handler or a stop is due

#endif
