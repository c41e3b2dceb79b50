// SPDX-License-Identifier: MIT
// The code cache as the translator and the dispatcher see it; everybody else includes tcache.h. All functions here are called with
// the translation lock held, except where said.
#ifndef QUERN_ENGINE_TCACHE_PRIV_H
#define QUERN_ENGINE_TCACHE_PRIV_H

#include "engine/base/cpu.h"
#include "engine/codecache/fragment.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/translate/translate.h"

#define FRAGMENT_MAX 16384u // bytes; an escape buffer holds one

// Where the next fragment goes, and how much room is left there (room may be NULL).
u8 *tcache_room(u64 *room);
// Whether a block of n instructions is sure to fit.
bool tcache_has_room(u32 n);
u32 tcache_next_index(void);

// Where the next stub that is made while running goes; tcache_made says where it ended.
u8 *tcache_made_room(u64 *room);
void tcache_made(u64 end);

// Makes the emitted block a fragment that can be found.
struct fragment *tcache_publish(struct tb *b, u32 block);

struct fragment *tcache_lookup(u64 pc);
struct fragment *tcache_by_index(u32 index);

// Patches exit k of `from` to go straight to `to`.
void tcache_link(struct fragment *from, u32 k, struct fragment *to);
// Index of a client address in the table of indirect targets. With BMI2 the emitted lookup mixes higher bits in: hot code
// lies at addresses that agree in their low 16 bits often enough (sqlite: 9.4 M misses for 14,684 blocks without).
static inline u32 tcache_ibl_index(u64 pc)
{
    u32 lo = (u32)pc;

    return cpu.bmi2 ? (lo + (lo >> 13 | lo << 19)) & 0xffff : lo & 0xffff;
}

// Enters `f` in the thread's table of indirect branch targets.
void tcache_ibl_fill(struct thread *t, const struct fragment *f);
// Makes one fragment unreachable.
void tcache_kill(struct fragment *f);

// Whether a 32-bit displacement leads to `target` from everywhere in the cache: from the fragment and from its escape copies,
// which lie as far behind it as the cache is large.
bool tcache_reaches(u64 target);

u64 tcache_stub_ibl_miss(void);
u64 tcache_stub_exit(void);
u64 tcache_stub_gate(void);
u64 tcache_stub_enter(void);
u64 tcache_stub_gate_from_c(void);
u64 tcache_stub_syscall_escaped(void);

#endif
