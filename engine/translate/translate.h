// SPDX-License-Identifier: MIT
// What the files of the translator share: the block under translation, the code buffer, and the
// state of scratch registers and flags at the point of emission. One block is translated at a time,
// under the translation lock.
#ifndef QUERN_ENGINE_TRANSLATE_H
#define QUERN_ENGINE_TRANSLATE_H

#include "engine/codecache/fragment.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "engine/x86/asm.h"
#include "engine/x86/decode.h"
#include "share/spool.h"

#define TB_INSNS_MAX   64
#define TB_COLD_MAX    512
#define TB_RECIPES_MAX 1024
#define TB_RELOCS_MAX  1024

// Code that is emitted behind the block's main path.
struct cold {
    u8 kind;                      // enum cold_kind
    u8 taken;                     // COLD_BC
    u16 insn;                     // index of the instruction
    struct x86_label from, from2; // jumps that lead here; from2.bytes is 0 if there is one only
    u64 back;                     // where it returns to
    u32 counter;                  // of the helper's descriptor
    u32 high;                     // upper half of the descriptor
    u16 spilled;                  // state at the jump
    bool flags_saved;
    struct memref ref; // COLD_DREF
};

enum cold_kind { COLD_DREF, COLD_IREF, COLD_BC, COLD_BI, COLD_EDGE, COLD_SMC };

struct tb {
    struct thread *t;
    u64 pc, end; // client range
    u64 map_end; // first address behind the mapping
    struct insn *insn;
    u32 n;
    bool writable;              // from writable or shared memory: self-checking
    bool step;                  // a single instruction that is stepped
    u16 live[TB_INSNS_MAX + 1]; // arithmetic flags live before instruction i
    struct spool_insn rec[TB_INSNS_MAX];
    struct spool_counters cnt[TB_INSNS_MAX];
    u32 first[TB_INSNS_MAX]; // index of the instruction's first counter
    u32 counter;             // the block's own

    struct x86 code;  // the fragment
    u32 cur;          // instruction being emitted
    u16 spilled;      // client registers that are in their slots, the host register being free
    bool flags_saved; // client flags are in flags_save
    bool bumped;      // the block's counter has been incremented
    bool in_rep;
    u64 iline; // I1 line touched last
    u32 icounts;

    struct recipe recipe[TB_RECIPES_MAX];
    u32 nrecipes;
    u16 reloc[TB_RELOCS_MAX];
    u32 nrelocs;
    struct cold cold[TB_COLD_MAX];
    u32 ncold;
    struct fragment_exit exit[2];
    u32 nexits;
    u32 ibl_jmp;
    u32 sc_jmp; // offset of the rel32 that jumps to the gate, 0 if none
    bool overflow;
};

void translate_init(void);

// Translates the block at pc. Holds the translation lock. Returns NULL when there is no room (flush
// and try again). A block that cannot be fetched sets *fault to the address that cannot and returns
// NULL; else it is TRANSLATE_NO_FAULT, which is no canonical address.
#define TRANSLATE_NO_FAULT (1ul << 63)
struct fragment *translate_block(struct thread *t, u64 pc, u64 *fault);

// -- scratch registers and flags (translate_regs.c) --

void tb_mark(struct tb *b); // the recipe from here on
u32 tb_scratch(struct tb *b,
               u32 avoid); // a register outside `avoid` whose client value is in its slot
void tb_spill(struct tb *b, u32 reg);
void tb_unspill(struct tb *b, u32 reg);
void tb_unspill_mask(struct tb *b, u32 mask);
void tb_flags_free(struct tb *b, u32 live); // the flags may be clobbered from here on
void tb_flags_restore(struct tb *b);
void tb_clean(struct tb *b); // every client register and flag in its place
u32 tb_off(const struct tb *b);
void tb_reloc(struct tb *b, u32 off); // the rel32 at off points outside the fragment
void tb_jmp_out(struct tb *b, u64 target);
void tb_call_out(struct tb *b, u64 target);
struct cold *tb_cold(struct tb *b, u32 kind);

// -- instructions (rewrite.c) --

// Emits the client instruction with its memory operand made reachable. Registers it uses have been
// unspilled.
void rewrite_insn(struct tb *b, const struct insn *in);
// mov of an indirect branch's target to rcx, which has been spilled
void rewrite_target(struct tb *b, const struct insn *in, u32 reg);
// jrcxz, loop and their like, to a label of their own.
struct x86_label rewrite_loop(struct tb *b, const struct insn *in);
// Pushes a constant (a return address).
void rewrite_push(struct tb *b, u64 value);

// -- references (translate_sim.c) --

void sim_insn_before(struct tb *b, u32 i);      // fetch and data references of instruction i
void sim_string(struct tb *b, u32 i);           // emits a string instruction and its accounting
void sim_edge(struct tb *b, u32 i, bool taken); // predictor update on an edge
void sim_indirect(struct tb *b, u32 i);         // predictor update; target in rcx
void sim_cold(struct tb *b, struct cold *c);

// -- stubs that search a set behind its first way (translate_ways.c) --

u64 ways_d1(u32 r1, u32 r2); // r1: offset of the set, r2: tag; both survive
u64 ways_i1(void); // rax: offset of the set, rcx: line id; 0: there is none, call PROF_STUB_I1_ANY

#endif
