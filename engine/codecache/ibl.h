// SPDX-License-Identifier: MIT
// IBL: each thread's table of indirect branch targets (TA_IBL). An entry is the negated client
// address and the host address. Translated code searches it (translate/exits.c).
#ifndef QUERN_ENGINE_IBL_H
#define QUERN_ENGINE_IBL_H

#include "engine/base/cpu.h"
#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// Index of a client address. With BMI2 the emitted look-up mixes higher bits in: addresses of hot
// code often have the same low 16 bits (sqlite: 9.4 M misses for 14,684 blocks without).
static inline u32 ibl_index(u64 pc)
{
    u32 lo = (u32)pc;

    return cpu.bmi2 ? (lo + (lo >> 13 | lo << 19)) & 0xffff : lo & 0xffff;
}

// All functions here: @holds(translation lock). A new thread gets its table; a thread that ends
// leaves it to the next one in its slot.
void ibl_begin(struct thread *t);
void ibl_end(struct thread *t);
// Empties the table of a thread that is not in a look-up.
void ibl_reset(struct thread *t);
// Enters `f`; by the thread itself.
void ibl_fill(struct thread *t, const struct fragment *f);
// Whether t's table has f's block. By the thread itself.
bool ibl_has(const struct thread *t, const struct fragment *f);
// Redirects the entries for f's client address in all threads to f, which is made of the same code.
void ibl_move(const struct fragment *f);
// Redirects the entries for `pc` in all threads to the miss path.
void ibl_forget(u64 pc);

#endif
