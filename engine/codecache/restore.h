// SPDX-License-Identifier: MIT
// For signal handling: what runs at a host address, the client's state there, and the escape copy.
// All of it is signal-safe: it reads the index of fragments without the lock.
#ifndef QUERN_ENGINE_RESTORE_H
#define QUERN_ENGINE_RESTORE_H

#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// What an interrupted thread was doing at a host address.
enum restore_where {
    RESTORE_OUTSIDE = 0, // engine C code, or not ours at all
    // Translated code: a fault is recovered, an asynchronous signal diverts to an escape copy.
    RESTORE_FRAGMENT,
    // A thread's escape copy of a fragment: a fault is recovered, asynchronous ones are blocked.
    RESTORE_ESCAPE,
    // A stub that saves client registers on the way out: an asynchronous signal is deferred.
    RESTORE_EXIT,
    // One that loads them on the way in: regs[], rflags and pc are intact; redirect.
    RESTORE_ENTER,
    // The stub that notes an entry into a watched fragment: the client is at the fragment's start.
    RESTORE_WATCH,
    // A stub that calls a helper; its return address is the first word of the engine's stack.
    RESTORE_HELPER,
    // The gate, call not made yet or to be restarted: the client is at its syscall instruction.
    RESTORE_GATE_BEFORE,
    // The call is complete, rax its result: the client is behind the instruction.
    RESTORE_GATE_AFTER,
};

// Registers of an interrupted thread, as the kernel's signal context holds them, by hardware
// number.
struct host_regs {
    u64 r[16];
    u64 rip, rflags;
};

enum restore_where restore_find(u64 hpc);

// How far a fragment was executed that is left in the middle.
struct restore_progress {
    u32 log;  // struct fragment
    u32 insn; // at this instruction
    // --calls=yes: what the running totals lack, or have too much
    struct {
        u32 block, insns; // in the spool; its first instructions
        s32 by;
    } total[FRAGMENT_BLOCKS_MAX + 1];
    u32 ntotals;
    bool open, closed; // its record has begun; it has ended, and thread.record_at points behind it
    bool rep; // a string instruction has done part of its elements; h_save holds its registers
};

// A synchronous fault at u->rip in RESTORE_FRAGMENT or RESTORE_ESCAPE: writes the client's
// registers, flags and pc (the faulting instruction's address) to t, and corrects the counters: the
// instructions before the faulting one count, it and those behind it do not. rep_simulate()
// accounts for `rep`, recordbuf_interrupted() for the record.
struct restore_progress restore_recover(struct thread *t, const struct host_regs *u);

// An interruption in RESTORE_GATE_BEFORE: writes the client's state at its syscall instruction to
// t.
void restore_gate_state(struct thread *t, const struct host_regs *u);

// The same in RESTORE_WATCH.
void restore_watch_state(struct thread *t, const struct host_regs *u);

// An asynchronous signal at hpc in RESTORE_FRAGMENT: makes the escape copy and returns the address
// in it that corresponds to hpc. The copy runs to the end of the fragment and then enters the
// dispatcher.
u64 restore_escape(struct thread *t, u64 hpc);

// The same for the fragment that a helper returns to, called by the helper: redirects *ret into the
// copy. A signal meanwhile makes no second copy (thread.leaving): the two would mix.
void restore_leave(struct thread *t, u64 *ret);

#endif
