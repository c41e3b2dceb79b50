// SPDX-License-Identifier: MIT
// The block under translation: its instructions, the code made so far, the state of scratch
// registers and flags at the point of emission, and the cold parts that follow the main path. One
// block is translated at a time, under the translation lock.
#ifndef QUERN_ENGINE_TB_H
#define QUERN_ENGINE_TB_H

#include "engine/callgraph/functions.h"
#include "engine/codecache/fragment.h"
#include "engine/codecache/helperdesc.h"
#include "engine/replay/record.h"
#include "engine/x86/asm.h"
#include "engine/x86/insn.h"
#include "share/spool.h"

#define TB_INSNS_MAX FRAGMENT_INSNS_MAX
#define TB_COLD_MAX  512
#define TB_LINES_MAX 64
#define TB_CHECKS_MAX \
    (TB_INSNS_MAX * INSN_BYTES_MAX / 8 + 8) // one for each 8 bytes, fewer at the ends
#define TB_PARTS_MAX (TB_INSNS_MAX + 3 * TB_COLD_MAX + 4)

enum cold_kind {
    COLD_DREF,
    COLD_IREF,
    COLD_BC,
    COLD_BI,
    COLD_EDGE,
    COLD_SIDE,
    COLD_SMC,
    COLD_CALLS
};

// The check of a data reference has failed.
struct cold_dref {
    u8 set, tag; // registers
    u16 size;
    u32 counter;
    struct memref ref;
};

// The check of a fetch has failed.
struct cold_iref {
    struct x86_label second; // jumps here, too, if it has bytes
    bool both;               // both lines were checked
    u32 counter;
};

// The predictor's counter of a conditional branch is not saturated.
struct cold_bc {
    u8 history; // register
    bool taken;
    u32 counter;
};

// An indirect branch went to another target than last time.
struct cold_bi {
    u32 pc, counter; // the low half of its address
};

// The other direction of a conditional branch.
struct cold_edge {
    bool taken;
};

// A side exit: a superblock is left between two of its blocks.
struct cold_side {
    u32 number; // of the side exit in the record, from 1 on; 0: nothing is recorded
    u32 blocks; // executed until then
    u32 summed; // --calls=yes: of these the running totals have so many
    u64 target; // of an indirect branch: the expected target, which it did not take
    bool indirect;
};

// A helper of the call graph.
struct cold_calls {
    u8 stub; // enum stub
    struct helperdesc_calls desc;
    u64 target;    // of a direct jump; 0: it was noted already
    bool indirect; // a jump that may be noted as a tail call
};

// Code that is emitted after the block's main path.
struct cold {
    u8 kind; // enum cold_kind
    bool flags_saved;
    u16 spilled, insn;     // the state at the jump, and the instruction
    struct x86_label from; // the jump
    u64 back;              // where it returns to
    union {
        struct cold_dref dref;
        struct cold_iref iref;
        struct cold_bc bc;
        struct cold_bi bi;
        struct cold_edge edge;
        struct cold_side side;
        struct cold_calls calls;
    };
};

// The value of a register, if known: the word recorded in a slot, plus a constant.
struct value {
    u16 slot; // RECORD_NO_SLOT: only the constant
    bool known;
    s64 add;
};

// A basic block of the client; a superblock has several.
struct tb_block {
    u64 pc, end;
    u32 first, n;             // its instructions
    u32 counter, record;      // its counter, and its number in the spool
    struct function function; // --calls=yes: where it begins; it does not leave it
    u32 summed;               // the same: blocks that the running totals have when it begins
};

struct tb {
    u64 pc, end; // client range, of the first block and of the last
    struct insn insn[TB_INSNS_MAX];
    u32 n;
    struct tb_block block[FRAGMENT_BLOCKS_MAX];
    u32 nblocks, at;            // at: the one that is being emitted
    bool writable;              // from writable or shared memory: self-checking
    bool step;                  // a single instruction that is stepped
    bool again;                 // the last block that got a spool record had one before
    u32 summed;                 // --calls=yes: blocks that the running totals have
    u16 live[TB_INSNS_MAX + 1]; // arithmetic flags live before instruction i
    struct spool_insn rec[TB_INSNS_MAX];
    struct spool_counters cnt[TB_INSNS_MAX];
    u32 first[TB_INSNS_MAX]; // index of the instruction's first counter
    u32 counter, record;     // of the block that is being emitted

    struct x86 code;
    u32 cur;          // instruction being emitted
    u16 spilled;      // client registers in the thread block; the host register is free
    u16 given;        // reserved: r11, t->record_at where it is spilled (recording.h); or none
    bool given_dirty; // it is not spilled, and the client has changed it
    bool alone;       // FRAGMENT_ALONE
    bool log_stored;  // t->record_at was stored
    u64 side_look_up; // code that looks up the target in rcx at a side exit; 0: not emitted yet
    bool joined;      // no fetch was recorded since the superblock's last block began
    u32 log_ends;     // offset of the displacement that is the end of the record
    u32 log_asked;    // words of the record, a multiple of 8, whose line ahead has been asked for
    u8 log_state;     // RECIPE_OPEN, RECIPE_CLOSED or neither
    bool flags_saved; // client flags are in flags_save
    bool bumped;      // the block's counter was incremented
    bool in_rep;
    struct x86_label pushed[FRAGMENT_BLOCKS_MAX]; // references to pushed_value
    u64 pushed_value[FRAGMENT_BLOCKS_MAX];
    u32 npushed;
    bool stack_set;          // an instruction has set the stack pointer to something new
    bool overflow;           // of anything but the code
    u64 iline;               // I1 line touched last
    u64 lines[TB_LINES_MAX]; // those that a superblock has touched, least recent first
    u32 nlines;
    u64 core_line; // of an instruction's end, as sim/core.h has lines: that of the last fetch

    struct cold cold[TB_COLD_MAX];
    u32 ncold;
    struct x86_label changed[TB_CHECKS_MAX]; // lead to the same code as the first of `cold`
    u32 nchanged;
    bool dumped; // note the parts
    struct spool_code_part part[TB_PARTS_MAX];
    u32 nparts;
    struct draft draft;
    struct record_draft log;
    struct value value[16];
};

static inline u32 tb_off(const struct tb *b)
{
    return (u32)(b->code.p - b->code.start);
}

// Adds a recipe for the code from here on, if the state has changed.
void tb_mark(struct tb *b);

// The displacement at `off` leads out of the fragment: a copy has to relocate it.
void tb_reloc(struct tb *b, u32 off);
void tb_jmp_out(struct tb *b, u64 target);
void tb_call_out(struct tb *b, u64 target);

// For --dump-code: what the following code is.
void tb_part(struct tb *b, enum spool_code_kind kind, u32 insn);

// Adds a cold part, with the current state.
struct cold *tb_cold(struct tb *b, enum cold_kind kind, struct x86_label from);
// Starts its code: `from` leads here, and the state is the stored one.
void tb_cold_begin(struct tb *b, const struct cold *c);

#endif
