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
#define VS_D1_LOW       32
#define VS_D1_MASK      36
#define VS_D1_STRIDE    40 // ways from set to set
#define VS_I1_MASK      44
#define VS_I1_ASSOC     48
#define VS_LL_ASSOC     52
#define VS_D1_WAYS      56 // a mask
#define VS_I1_WAYS      60
#define VS_LL_LAST      64 // the bit of the last way
#define VS_LL_BATCH     68 // these bits clear in the batch's end: the batch is full; 0: no batch
#define VS_D1_LINE      72 // mask: address -> address of its line
#define VS_LL_AHEAD     80 // mask: address -> offset of its set, where that is so simple; else 0
#define VS_LL_HIGH      88 // as struct sim_narrow: high_shift
#define VS_LL_MAGIC     96
#define VS_LL_DIVIDE    104 // magic_shift
#define VS_LL_ODD       112
#define VS_LL_LOW       120 // low_mask
#define VS_LL_UPPER     128 // k
#define VS_LL_SET       136 // log2 of the bytes from set to set; 0: no vectors for them
#define VS_D1_ASSOC     144
#define VS_OWNER        152 // with --calls=yes: of each counter the place of its event ...
#define VS_TOTALS       160 // ... among the totals, whose first this is
#define VS_AT_MISS_MASK 168 // VS_LL_AHEAD where a miss of an L1 loads its set ahead, else 0
#define VS_LL_BITS      176 // of a size: clear if the reference lies within a line, and waits
#define VS_SIZE         184
#define VS_HINTS        8192

#define LL_BATCH_OWN    0xff       // 16 references
#define LL_BATCH_SHARED 0xffff     // 4096
#define LL_FETCH        0x40000000 // in the size of a reference: of an instruction (levels.h)
#define LL_DONE         0xffffffff // size of a reference that has been simulated
// In the size, too, of which that has 8 bits: what has been asked beforehand (levels_priv.h). Of
// TLBs: the first one missed, the second one, too. Of streams: which lines of L2 each of a
// reference's lines loads ahead, with 9 bits each.
#define LL_TLB_ASKED     0x20000000
#define LL_TLB_MISSED    0x10000000
#define LL_TLB_WALKED    0x08000000
#define LL_STREAMS_ASKED 0x04000000
#define LL_STREAM_BIT    8
#define LL_STREAM_BITS   9
#define LL_FLAGS         0x7fffff00
// Beside it, of regions, 11 bits of each of the two lines.
#define LL_REGION_BITS 11
#define LL_REGION_MASK 0x7ff
// With tb_config.ahead a size has 8 bits, too, and a fetch has its last line's id (0: none) in the
// bits above them. LL_OPEN is for ahead.c alone: whether it has missed is not known.
#define LL_BYTES      0xff
#define LL_ID_SHIFT   8
#define LL_ID_LEVELS  0x20000 // with levels.h, ids below this: LL_STREAMS_ASKED is above them
#define LL_OPEN       0x80000000
#define LL_ONE_MISSED 0x20000000 // of what has two lines, one has missed

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

// As sim_narrow_search(), way 0 included. A set of up to 16 ways owns 64 bytes.
bool vector_order(u32 *ways, u32 tag, u32 assoc);

// By AVX2 and by AVX-512: simulates the batched LL references from `from` on (ll.c) and counts at
// `misses`. Sets have up to 16 ways, by AVX-512 32. Stops at `end`, or at a reference whose tag
// does not fit a narrow LL; returns where.
void *vector_waiting(void *from, void *end, u64 *misses);
void *vector_waiting64(void *from, void *end, u64 *misses);

// As vector_waiting64(), with --data=yes: what has missed is put into the queue whose end is there
// (objects/many.h).
void *vector_waits64(void *from, void *end, u64 *misses, u64 *queue);

// What routine.S knows of the caches. caches.c and ll.c fill it in.
struct vector_sets {
    u32 *ll_tags;
    u64 d1_shift, i1_shift, ll_shift;
    u32 d1_low, d1_mask, d1_stride, i1_mask, i1_assoc, ll_assoc, d1_ways, i1_ways;
    u32 ll_last, ll_batch;
    u64 d1_line, ll_ahead;
    u64 ll_high, ll_magic, ll_divide, ll_odd, ll_low, ll_upper, ll_set;
    u32 d1_assoc;
    const u8 *owner;
    u64 totals;
    u64 at_miss_mask;
    u64 ll_bits;
};
extern struct vector_sets vector_sets;
// vector_sets.ll_bits of the sizes of four references.
extern u32 vector_not_simple[16];

_Static_assert(offsetof(struct vector_sets, d1_low) == VS_D1_LOW, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_assoc) == VS_LL_ASSOC, "asm offset");
_Static_assert(offsetof(struct vector_sets, d1_ways) == VS_D1_WAYS, "asm offset");
_Static_assert(offsetof(struct vector_sets, i1_ways) == VS_I1_WAYS, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_last) == VS_LL_LAST, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_batch) == VS_LL_BATCH, "asm offset");
_Static_assert(offsetof(struct vector_sets, owner) == VS_OWNER, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_ahead) == VS_LL_AHEAD, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_set) == VS_LL_SET, "asm offset");
_Static_assert(offsetof(struct vector_sets, d1_assoc) == VS_D1_ASSOC, "asm offset");
_Static_assert(offsetof(struct vector_sets, totals) == VS_TOTALS, "asm offset");
_Static_assert(offsetof(struct vector_sets, at_miss_mask) == VS_AT_MISS_MASK, "asm offset");
_Static_assert(offsetof(struct vector_sets, ll_bits) == VS_LL_BITS, "asm offset");
_Static_assert(sizeof(struct vector_sets) == VS_SIZE, "asm size");
_Static_assert(SIM_STAMPS_HINTS == VS_HINTS, "in vector.S, too");

// By AVX-512, as vector_order(): whether the line of addr, whose tag fits a narrow LL, misses LL.
bool vector_refer(u64 addr);

void vector_save(struct thread *t);
void vector_restore(struct thread *t);

#endif
#endif
