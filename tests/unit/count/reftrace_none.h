// SPDX-License-Identifier: MIT
//
// For tests of files that call count/reftrace.c: makes no trace, but counts the references and
// remembers the last one. Included by one file of a program.
#include "engine/count/reftrace.h"

bool reftrace_on;

struct reftrace_told {
    u32 ats, refs;   // how many
    u32 ends;
    u64 at, addr;    // the last ones
    u32 size, depth; // depth: of nested reftrace_begin()
    enum reftrace_item kind;
    bool undone;
} reftrace_told;

void reftrace_init(void) {}

void reftrace_begin(struct thread *t)
{
    (void)t;
    reftrace_told.depth++;
}

void reftrace_end(struct thread *t)
{
    (void)t;
    reftrace_told.depth--;
}

void reftrace_at(u64 pc)
{
    reftrace_told.ats++;
    reftrace_told.at = pc;
}

void reftrace_ref(enum reftrace_item kind, u64 addr, u32 size, bool undone)
{
    reftrace_told.refs++;
    reftrace_told.addr = addr;
    reftrace_told.size = size;
    reftrace_told.kind = kind;
    reftrace_told.undone = undone;
}

void reftrace_cond(u64 pc, bool taken, bool undone)
{
    (void)pc, (void)taken, (void)undone;
}

void reftrace_again(void) {}

void reftrace_code(u32 map, u64 pc)
{
    (void)map, (void)pc;
}

void reftrace_take_back(struct thread *t, u32 map, u64 pc)
{
    (void)t, (void)map, (void)pc;
}

void reftrace_step(struct thread *t, u32 map, u64 pc)
{
    (void)t, (void)map, (void)pc;
}

void reftrace_history(struct thread *t, u64 history)
{
    (void)t, (void)history;
}

void reftrace_flush(void) {}

void reftrace_ends(void)
{
    reftrace_told.ends++;
}

void reftrace_fork_child(bool shares_fds)
{
    (void)shares_fds;
}

void reftrace_stop(void) {}
