// SPDX-License-Identifier: MIT
// The questions of signal handling about a host address: what runs there, what the client's state
// is there, and where its escape copy is. All of it is signal-safe: it reads the index of fragments
// without the lock.
#ifndef QUERN_ENGINE_WHERE_H
#define QUERN_ENGINE_WHERE_H

#include "engine/thread/thread.h"

// What an interrupted thread was doing there.
enum where {
    WHERE_OUTSIDE = 0, // engine C code, or not ours at all
    // Translated code: a fault is recovered, an asynchronous signal diverts to an escape copy.
    WHERE_FRAGMENT,
    // A thread's escape copy of a fragment: a fault is recovered, asynchronous ones are blocked.
    WHERE_ESCAPE,
    // A stub that saves client registers on the way out: an asynchronous signal is deferred.
    WHERE_EXIT,
    // One that loads them on the way in: regs[], rflags and pc are intact; redirect.
    WHERE_ENTER,
    // A stub that notes who goes into a fragment: the client is at its beginning.
    WHERE_WATCH,
    // A stub of the simulators; its return address is the first word of the engine's stack.
    WHERE_HELPER,
    // The gate, call not made yet or to be restarted: the client is at its syscall instruction.
    WHERE_GATE_BEFORE,
    // The call is complete, rax its result: the client is behind the instruction.
    WHERE_GATE_AFTER,
};

// Registers of an interrupted thread, as the kernel's signal context holds them, by hardware
// number.
struct host_regs {
    u64 r[16];
    u64 rip, rflags;
};

enum where where_of(u64 hpc);

// How far a fragment has come that is left in the middle.
struct where_left {
    u32 log;           // struct fragment
    u32 block, ninsns; // the same
    bool bumped;       // the block has been counted
    u32 insn;          // at this instruction
    bool open, closed; // its record has been begun, and has been ended: thread.log is behind it
    bool rep; // a string instruction has done part of its elements; h_save holds its registers
};

// A synchronous fault at u->rip in WHERE_FRAGMENT or WHERE_ESCAPE: writes the client's registers,
// flags and pc (the faulting instruction's address) to t, and corrects the counters: the
// instructions before the faulting one count, it and those behind it do not. `rep` is for
// strings_rep() to account for, the record for log_left().
struct where_left where_recover(struct thread *t, const struct host_regs *u);

// An interruption in WHERE_GATE_BEFORE: writes the client's state at its syscall instruction to t.
void where_gate_state(struct thread *t, const struct host_regs *u);

// The same in WHERE_WATCH.
void where_watch_state(struct thread *t, const struct host_regs *u);

// An asynchronous signal at hpc in WHERE_FRAGMENT: makes the escape copy and returns the address in
// it that corresponds to hpc. The copy runs to the end of the fragment and then enters the
// dispatcher.
u64 where_escape(struct thread *t, u64 hpc);

// The same of the fragment that a helper returns to, by the helper: *ret leads into the copy. A
// signal meanwhile makes no other (thread.leaving): the two were mixed.
void where_leave(struct thread *t, u64 *ret);

#endif
