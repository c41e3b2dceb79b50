// SPDX-License-Identifier: MIT
// Each thread's table of indirect branch targets (TA_IBL): client address, negated, and host
// address. Translated code looks it up (translate/exits.c).
#ifndef QUERN_ENGINE_IBL_H
#define QUERN_ENGINE_IBL_H

#include "engine/base/cpu.h"
#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// Index of a client address. With BMI2 the emitted lookup mixes higher bits in: hot code lies at
// addresses that agree in their low 16 bits often enough (sqlite: 9.4 M misses for 14,684 blocks
// without).
static inline u32 ibl_index(u64 pc)
{
    u32 lo = (u32)pc;

    return cpu.bmi2 ? (lo + (lo >> 13 | lo << 19)) & 0xffff : lo & 0xffff;
}

// All of these with the translation lock held. A thread that has not run yet gets its table; one
// that runs no more leaves it to the next one in its slot.
void ibl_begin(struct thread *t);
void ibl_end(struct thread *t);
// Empties the table of a thread that is not in it.
void ibl_reset(struct thread *t);
// Enters `f`; by the thread itself.
void ibl_fill(struct thread *t, const struct fragment *f);
// Whether t's table has f's block. By the thread itself.
bool ibl_leads(const struct thread *t, const struct fragment *f);
// Leads every thread that has been to `pc` to where f is, which is made of the same code.
void ibl_move(const struct fragment *f);
// Leads every thread that looks `pc` up to the miss path.
void ibl_forget(u64 pc);

#endif
