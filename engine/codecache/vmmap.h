// SPDX-License-Identifier: MIT
// The map of client memory: what lies where, with which protection, whether code was translated
// from it, and which spool_map record describes it. The kernel's own map is the truth; this one
// answers quickly and is never trusted for safety (every read of client memory goes through
// safemem.h). A miss looks at /proc/thread-self/maps before it says no.
//
// Order of every change of client memory: vmmap_before() while the old mapping still stands, the
// kernel's call, then vmmap_add/remove/protect/move with its result. Both halves drop the
// translations of the range, so a block that another thread translates between them does not
// survive. Nothing here is called with the vmmap lock held, and not from signal handlers.
#ifndef QUERN_ENGINE_VMMAP_H
#define QUERN_ENGINE_VMMAP_H

#include "engine/codecache/vmmapset.h"

struct k_stat;

struct vmmap_info {
    u64 start, end;
    u32 prot;  // PROT_READ | PROT_WRITE | PROT_EXEC
    u32 flags; // enum vmmap_flag
};

// Reads /proc/thread-self/maps. What lies in the engine's part of the address space is left out.
void vmmap_init(void);

// Whether the kernel answers the calls of the vsyscall page (vsyscall=none in its command line, and
// Debian's and other's defaults, take it away).
bool vmmap_has_vsyscall(void);

// The mapping that holds addr (neighbours with the same properties may be one). Takes the vmmap
// lock.
bool vmmap_find(u64 addr, struct vmmap_info *out);

// The same for the translator, which is about to read code there: also notes VMMAP_EXECUTED. Call
// it with the translation lock held, before the first byte is read.
bool vmmap_find_code(u64 addr, struct vmmap_info *out);

// The client's memory in [start, end) is about to be unmapped, replaced, made writable or made
// unexecutable.
void vmmap_before(u64 start, u64 end);

// What the kernel has done. flags: VMMAP_SHARED, VMMAP_ANON, VMMAP_GROWS.
void vmmap_add(u64 start, u64 end, u32 prot, u32 flags);
void vmmap_remove(u64 start, u64 end);
void vmmap_protect(u64 start, u64 end, u32 prot);
void vmmap_move(u64 old_start, u64 old_end, u64 new_start, u64 new_end, bool keep_old);

// A file has been mapped to be executed, by a descriptor that modules_look() knows: it is kept.
void vmmap_keep(int fd, const struct k_stat *st);

// Index of the spool_map record for the mapping that holds addr, made at the first question. Called
// with the translation lock held.
u32 vmmap_spool_map(u64 addr);

// The highest free room of `len` bytes below `top`, as far as is known here, that touches nothing
// of the engine's; 0: there is none.
u64 vmmap_gap(u64 len, u64 top);

// Whether the kernel, which takes the highest gap, finds `len` bytes above what is kept for thread
// areas. Elsewhere its choice may lie in the engine's ranges, whose gaps it does not know of.
bool vmmap_has_room(u64 len);

// Looks for what the kernel has in [start, end) and the map does not know.
void vmmap_learn(u64 start, u64 end);

// Does [start, end) touch memory that belongs to the engine (image, heap, spool, thread areas, code
// cache)? Most of it is not mapped until it is needed.
bool vmmap_is_engine(u64 start, u64 end);
// And the lowest such range.
bool vmmap_engine(u64 start, u64 end, u64 *from, u64 *to);

#endif
