// SPDX-License-Identifier: MIT
// The format of a fragment's records (recordbuf.h), and the static description of a block:
// translate/recording.c makes it once.
#ifndef QUERN_ENGINE_REPLAY_RECORD_H
#define QUERN_ENGINE_REPLAY_RECORD_H

#include "engine/base/types.h"
#include "engine/codecache/fragment.h"
#include "engine/count/cores.h"

enum record_kind {
    RECORD_FETCH,   // of an instruction
    RECORD_REF,     // a data reference
    RECORD_REP,     // a string instruction: rep_record()
    RECORD_VEC,     // a gather or masked move: helpers_record_vec()
    RECORD_LOCKED,  // a conditional branch in Cachegrind's count, not taken
    RECORD_JOINT,   // a branch inside a superblock, which continues there or is left
    RECORD_CALL,    // a direct call, for the predictor of returns; add: of caches_indirect()
    RECORD_ENTERED, // a frame was made within a superblock: as the entry RECORD_ENTER
    RECORD_LEFT,    // it has ended: as RECORD_LEAVE
    RECORD_SAME, // a fetch that hits, in a line that has been fetched: for --trace-refs, and in
                 // CORES_LEARN (count/cores.h)
};

enum record_joint {
    RECORD_JOINT_NOT_TAKEN,
    RECORD_JOINT_TAKEN,
    RECORD_JOINT_INDIRECT,
    RECORD_JOINT_UNPREDICTED
};

#define RECORD_NO_SLOT 0xffffu
// In place of a slot: the stack pointer at the record's beginning, which replays keep.
#define RECORD_STACK_SLOT 0xfffeu

struct record_op {
    u8 kind, insn;
    union {
        u8 scale; // RECORD_REF: log2
        u8 bytes; // RECORD_FETCH, RECORD_SAME
        u8 side;  // RECORD_JOINT: its number, from 1 on
    };
    u8 way;      // RECORD_REF: enum reftrace_item; RECORD_FETCH: the first after a joint;
                 // RECORD_JOINT: enum record_joint
    u32 counter; // of its misses; of RECORD_REP and RECORD_VEC, the instruction's first
    union {
        struct {
            u16 base,
                index; // RECORD_REF: slots of the added values, the second scaled; RECORD_LEFT: of
                       // the frame and the counters; else the first
            union {
                u16 size; // RECORD_REF: bytes, clipped; with --trace-refs, all
                u32 what; // RECORD_REP, RECORD_VEC: struct helperdesc_rep, helperdesc_vec
            };
        };
        struct {
            u32 first,
                last; // RECORD_FETCH: ids of the lines, 0: none; RECORD_JOINT: halves of where an
                      // indirect one goes on
        };
    };
    u64 add; // to the address; of others, the instruction's own; of an indirect branch,
             // caches_indirect()'s word
};

_Static_assert(sizeof(struct record_op) == 24, "several for each block of the client's");

enum record_tail {
    RECORD_NEXT,     // the end does not matter
    RECORD_COND,     // a conditional branch: the next record tells its outcome
    RECORD_INDIRECT, // an indirect branch, whose target is in the last slot
};

// A side exit of a superblock, at a joint. Its record is a prefix of the whole record, and has the
// side's number in the high half of its first word, which is 0 otherwise.
struct record_side {
    u16 slots, nops, sp; // as in struct record_block
    s64 sp_add;
    u8 nexts, blocks;
    bool indirect; // the target is in its last slot
};

struct record_block {
    u64 pc, taken;
    u64 branch;  // address of the branch that ends it; of an indirect one, caches_indirect()'s
    u32 counter; // of its mispredictions
    u16 slots;   // words of a record
    u16 nops;
    u8 tail;
    u8 nexts;  // number of known successors; 0: they are looked up
    u8 blocks; // client blocks: a superblock has more than one
    u8 nsides;
    u8 ncores;  // instructions, with a core
    bool said;  // of RECORD_COND: RECORD_TAKEN or RECORD_NOT_TAKEN always follows
    u8 after;   // its routine's fetch of the line that it begins in ends so far from its beginning;
                // 0: nowhere
    u16 call;   // RECORD_ENTER, RECORD_LEAVE: likely to follow; 0: neither
    u16 sp;     // slot of the stack pointer after the record ...
    u32 map;    // its mapping in this run's spool: for --trace-refs alone
    s64 sp_add; // ... to which this is added
};              // record_ops(), record_sides() and record_cores() follow it, except in a draft

// In place of an id: the outcome of the conditional branch before it.
#define RECORD_NOT_TAKEN 1u
#define RECORD_TAKEN     2u
// After the last record.
#define RECORD_END 64u
// Two words: the stack pointer of a thread that enters from the dispatcher.
#define RECORD_STACK 80u
// With --calls=yes: a call has begun, has ended, or was a handler's (enum frames_late). The high
// half is the low half of its frame's address; for a call that ends, a second word says where its
// misses belong.
#define RECORD_ENTER 128u
#define RECORD_LEAVE 1088u
#define RECORD_BACK  2848u
// With --data=yes: the second word is the time of the maps of data from here on
// (objects/objtable.h). The high half of the first is 0, or an event's word, and further words
// follow (objects/alloc.h).
#define RECORD_OBJECTS 3376u
// Ids of fragments start here; the code that replays the entries above starts at their own numbers.
#define RECORD_FIRST 3504u

#define RECORD_OPS_MAX   320
#define RECORD_SIDES_MAX 16
#define RECORD_WORDS_MAX 1024 // words of a record

static inline const struct record_op *record_ops(const struct record_block *b)
{
    return (const struct record_op *)(b + 1);
}

static inline const struct record_side *record_sides(const struct record_block *b)
{
    return (const struct record_side *)(record_ops(b) + b->nops);
}

static inline const struct cores_insn *record_cores(const struct record_block *b)
{
    return (const struct cores_insn *)(record_sides(b) + b->nsides);
}

// What translate/ passes on.
struct record_draft {
    struct record_block block;
    struct record_op op[RECORD_OPS_MAX];
    struct record_side side[RECORD_SIDES_MAX];
    struct cores_insn core[FRAGMENT_INSNS_MAX];
};

#endif
