// SPDX-License-Identifier: MIT
// Walks: how the address of a miss follows from that of the one before, of the same instruction, in
// the same object, by the same thread (struct spool_data_count). An instruction may be in several
// blocks, as the first time that a loop is executed: its walk is with its first counter.
#ifndef QUERN_ENGINE_WALKS_H
#define QUERN_ENGINE_WALKS_H

#include "engine/thread/thread.h"
#include "share/spool.h"

void walks_init(void);

// A miss at addr of t, which c counts. c may be NULL. @holds(objtable's lock) @signal-safe
void walks_step(const struct thread *t, struct spool_data_count *c, u64 addr);

// The same of a step whose stride is the first of c, by the thread whose last address c has; c is
// not NULL. False: it is none, and nothing has changed. @holds(objtable's lock) @signal-safe
static inline bool walks_step_again(const struct thread *t, struct spool_data_count *c, u64 addr,
                                    u32 line_shift)
{
    s64 step = (s64)(addr - c->last);

    if (c->thread != t->objects_number || !step || c->stride[0].step != step || line_shift > 11)
        return false; // with longer lines the next one may not be near
    c->steps++;
    if (step < (s64)SPOOL_DATA_NEAR && step > -(s64)SPOOL_DATA_NEAR) {
        u64 lines = (addr >> line_shift) - (c->last >> line_shift);

        c->near++;
        c->ahead += lines == 1;
        c->back += lines == ~0ul;
    }
    c->last = addr;
    c->stride[0].count++;
    c->stride[0].weight += c->stride[0].weight != ~0u;
    return true;
}

// The steps become 0; the next one begins where the last miss was. @holds(objtable's lock)
void walks_zero(struct spool_data_count *c);

#endif
