// SPDX-License-Identifier: MIT
// Searches of a cache set by AVX-512 or AVX2 (vector.S). For replays only: these run in the
// thread's signal handler, or between vector_save() and vector_restore(). A miss costs a third of
// what it costs in C.
#ifndef QUERN_ENGINE_VECTOR_H
#define QUERN_ENGINE_VECTOR_H

#include "engine/thread/thread.h"

// Offsets in struct vector_sets.
#define VS_LL_TAGS      0
#define VS_D1_SHIFT     8
#define VS_I1_SHIFT     16
#define VS_LL_SHIFT     24
#define VS_LL_TAG_SHIFT 32
#define VS_D1_LOW       40
#define VS_D1_MASK      44
#define VS_D1_STRIDE    48 // ways from set to set
#define VS_I1_MASK      52
#define VS_I1_ASSOC     56
#define VS_LL_MASK      60
#define VS_LL_ASSOC     64
#define VS_D1_WAYS      68 // a mask
#define VS_I1_WAYS      72
#define VS_LL_STRIDE    76 // tags from set to set
#define VS_LL_LAST      80 // the bit of the last way
#define VS_LL_BATCH     84 // these bits clear in the batch's end: the batch is full; 0: no batch
#define VS_D1_LINE      88 // mask: address -> address of its line
#define VS_LL_SETS      96 // mask: address -> offset of its set; lines and sets have 64 bytes
#define VS_LL_SHIFTS    104 // 0, and ll_tag_shift
#define VS_LL_ADDS      120 // 0, 1
#define VS_LL_MASKS     136 // ll_sets, all
#define VS_D1_ASSOC     152
#define VS_OWNER        160 // with --calls=yes: of each counter the place of its event ...
#define VS_TOTALS       168 // ... among the totals, whose first this is
#define VS_SIZE         176
#define VS_HINTS        8192

#define LL_BATCH_OWN    0xff       // 16 references
#define LL_BATCH_SHARED 0xffff     // 4096
#define LL_DONE         0xffffffff // size of a reference that has been simulated

#ifdef __ASSEMBLER__

// xmm1 := the least of the eight words of zmm1. Changes zmm2.
    .macro LEAST_OF_8
    vextracti64x4 ymm2, zmm1, 1
    vpminuq ymm1, ymm1, ymm2
    vextracti128 xmm2, ymm1, 1
    vpminuq xmm1, xmm1, xmm2
    vpshufd xmm2, xmm1, 0x4e
    vpminuq xmm1, xmm1, xmm2
    .endm

#else

#    include "sim/stamps.h"

#    define VECTOR_WAYS 32u // at most

// As sim_stamps_touch_id(), of the set whose first way these are. now: a multiple of 32.
struct sim_stamps_way vector_touch64(u64 *tags, u64 *stamps, u32 assoc, u64 tag, u64 now);
struct sim_stamps_way vector_touch32(u32 *tags, u64 *stamps, u32 assoc, u32 tag, u64 now);

// As sim_narrow_search(), way 0 included. A set of 9 to 16 ways owns all of its 64 bytes.
bool vector_order(u32 *ways, u32 tag, u32 assoc);

// By AVX2 and by AVX-512: simulates the batched LL references from `from` on (ll.c) and counts at
// `misses`. Sets have 9 to 16 ways, lines 64 bytes. Stops at `end`, or at a reference whose tag
// does not fit a narrow LL; returns where.
void *vector_waiting(void *from, void *end, u64 *misses);
void *vector_waiting64(void *from, void *end, u64 *misses);

// What routine.S knows of the caches. caches.c and ll.c fill it in.
struct vector_sets {
    u32 *ll_tags;
    u64 d1_shift, i1_shift, ll_shift, ll_tag_shift;
    u32 d1_low, d1_mask, d1_stride, i1_mask, i1_assoc, ll_mask, ll_assoc, d1_ways, i1_ways;
    u32 ll_stride, ll_last, ll_batch;
    u64 d1_line, ll_sets, ll_shifts[2], ll_adds[2], ll_masks[2];
    u32 d1_assoc;
    const u8 *owner;
    u64 totals;
};
extern struct vector_sets vector_sets;

_Static_assert(offsetof(struct vector_sets, ll_tag_shift) == VS_LL_TAG_SHIFT, "asm offset");
_Static_assert(offsetof(struct vector_sets, d1_low) == VS_D1_LOW, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_assoc) == VS_LL_ASSOC, "asm offset");
_Static_assert(offsetof(struct vector_sets, d1_ways) == VS_D1_WAYS, "asm offset");
_Static_assert(offsetof(struct vector_sets, i1_ways) == VS_I1_WAYS, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_stride) == VS_LL_STRIDE, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_last) == VS_LL_LAST, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_batch) == VS_LL_BATCH, "asm offset");
_Static_assert(offsetof(struct vector_sets, owner) == VS_OWNER, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_sets) == VS_LL_SETS, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_masks) == VS_LL_MASKS, "asm offset");
_Static_assert(offsetof(struct vector_sets, d1_assoc) == VS_D1_ASSOC, "asm offset");
_Static_assert(offsetof(struct vector_sets, totals) == VS_TOTALS, "asm offset");
_Static_assert(sizeof(struct vector_sets) == VS_SIZE, "asm size");
_Static_assert(SIM_STAMPS_HINTS == VS_HINTS, "in vector.S, too");

void vector_save(struct thread *t);
void vector_restore(struct thread *t);

#endif
#endif
