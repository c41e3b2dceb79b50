// SPDX-License-Identifier: MIT
// The descriptors that translated code passes to helpers (count/helpers.h): written by
// translate/refs.c, read here. A descriptor is in the fragment, behind the jump that follows the
// call of the helper's stub. It consists of aligned words that are read one at a time: the client
// may run with alignment checks on. Those of strings and vectors, whose stubs preserve the flags,
// are stored to h_desc.
#ifndef QUERN_ENGINE_HELPERDESC_H
#define QUERN_ENGINE_HELPERDESC_H

#include "engine/base/types.h"

#define HELPERDESC_AT 14u // from the return address: a load of rsp (9) and a jmp (5)

// STUB_D1_MISS and STUB_D1_SLOW have no size.
struct helperdesc_d1 {
    u32 counter; // of the misses of D1; the next counter is that of LL
    u32 size;
};

// STUB_I1_MISS has no ids.
struct helperdesc_i1 {
    u32 pc[2]; // low half first
    u32 counter, len;
    u32 first, last; // ids of the lines; 0: none
};

struct helperdesc_bc {
    u32 pc[2];
    u32 counter, taken;
};

// STUB_CALLS_CALL, _RETURN, _JUMP, _TABLE, _LEAVE_PLT; the others have none.
struct helperdesc_calls {
    u32 site[2];
    // call: its length; return: the bytes that it pops; jump: whether it is direct;
    // STUB_CALLS_STACK: whether a call follows
    u32 len;
    u32 plt;     // _LEAVE_PLT: the number of the entry; _RETURN, _JUMP: the stack pointer was set
    u32 cell[2]; // _LEAVE_PLT: the entry's edge; _JUMP: the jump's, if it is known; else 0
};

// The second word of h_desc for STUB_REP; the first is the instruction's first counter.
struct helperdesc_rep {
    u32 op       : 3; // enum str_op
    u32 size_log : 2; // of an element
    u32 a32      : 1;
    u32 fetch    : 1; // it has a counter of I1 misses
    u32 unused   : 4;
    u32 repne    : 1; // ends on equality
    u32 fs : 1, gs : 1;
};

// The same for STUB_VEC.
struct helperdesc_vec {
    u32 kind      : 3; // enum vec_kind
    u32 esize_log : 3; // of an element; of a tile, its number
    u32 isize_log : 3; // of an index
    u32 last      : 6; // number of the last element
    u32 scale_log : 3;
    u32 write     : 1;
    u32 a32       : 1;  // of a tile: addresses of its rows have 32 bits
    u32 dyn       : 12; // spool_counters.dyn_r
};

// A descriptor as the word in h_desc.
union helperdesc_word {
    u32 word;
    struct helperdesc_rep rep;
    struct helperdesc_vec vec;
};

_Static_assert(sizeof(union helperdesc_word) == 4, "half of h_desc");

// Reads the first `words` words of the descriptor at a return address; volatile, or the compiler
// merges two into one access of 8 bytes.
static inline void helperdesc_read(void *to, const u8 *ret, u32 words)
{
    const volatile u32 *from = (const volatile u32 *)(ret + HELPERDESC_AT);

    for (u32 i = 0; i < words; i++)
        ((u32 *)to)[i] = from[i];
}

#define HELPERDESC_WORDS(type, upto) (offsetof(type, upto) / 4)

static inline u64 helperdesc_u64(const u32 half[2])
{
    return half[0] | (u64)half[1] << 32;
}

#endif
