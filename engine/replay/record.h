// SPDX-License-Identifier: MIT
// What a fragment's records hold (log.h), and what they stand for: made once, by translate/defer.c.
#ifndef QUERN_ENGINE_COUNT_RECORD_H
#define QUERN_ENGINE_COUNT_RECORD_H

#include "engine/base/types.h"

enum log_kind {
    LOG_FETCH,  // of an instruction
    LOG_REF,    // a data reference
    LOG_REP,    // a string instruction: strings_log()
    LOG_VEC,    // a gather or masked move: prof_log_vec()
    LOG_LOCKED, // a conditional branch in Cachegrind's count, not taken
    LOG_JOINT,  // a branch at which a superblock goes on, or is left
    LOG_SAME,   // a fetch that hits, in a line that has just been fetched: for --trace-refs alone
};

enum log_joint { LOG_JOINT_NOT_TAKEN, LOG_JOINT_TAKEN, LOG_JOINT_INDIRECT, LOG_JOINT_RETURN };

#define LOG_NO_SLOT 0xffffu
// In place of a slot: the stack pointer as it was when the record began, which replays keep.
#define LOG_STACK_SLOT 0xfffeu

struct log_op {
    u8 kind, insn;
    union {
        u8 scale; // LOG_REF: log2
        u8 bytes; // LOG_FETCH, LOG_SAME
        u8 side;  // LOG_JOINT: its number, from 1 on
    };
    u8 way;      // LOG_REF: enum reftrace_item; LOG_FETCH: the first behind a joint;
                 // LOG_JOINT: enum log_joint
    u32 counter; // of its misses; of LOG_REP and LOG_VEC, the instruction's first
    union {
        struct {
            u16 base,
                index; // LOG_REF: slots of values that are added, the second scaled; else the first
            union {
                u16 size; // LOG_REF: bytes, clipped; with --trace-refs, all
                u32 what; // LOG_REP, LOG_VEC: struct desc_rep, desc_vec
            };
        };
        struct {
            u32 first, last; // LOG_FETCH: ids of the lines, 0: none; LOG_JOINT: halves of where an
                             // indirect one goes on
        };
    };
    u64 add; // to the address; of others, the instruction's own
};

_Static_assert(sizeof(struct log_op) == 24, "several for each block of the client's");

enum log_tail {
    LOG_NEXT,     // nothing depends on how it ends
    LOG_COND,     // a conditional branch: what comes next says which way it went
    LOG_INDIRECT, // an indirect one, whose target is in the last slot
};

// How a superblock is left at a joint. Its record is then the beginning of the whole's, and has the
// side's number in the high half of its first word, which is 0 otherwise.
struct log_side {
    u16 slots, nops, sp; // as in struct log_block
    s64 sp_add;
    u8 nexts, blocks;
    bool indirect; // the target is in its last slot
};

struct log_block {
    u64 pc, taken;
    u64 branch;  // address of what the tail is about
    u32 counter; // of its mispredictions
    u16 slots;   // words of a record
    u16 nops;
    u8 tail;
    u8 nexts;  // how many places it goes on at are known: 0 where that is looked up
    u8 blocks; // of the client's: a superblock has more than one
    u8 nsides;
    bool said;  // of LOG_COND: LOG_TAKEN or LOG_NOT_TAKEN follow, whatever comes then
    u8 after;   // its routine's fetch of the line that it begins in ends so far from its beginning;
                // 0: nowhere
    u16 call;   // LOG_ENTER, LOG_LEAVE: what is most likely to follow; 0: neither
    u16 sp;     // slot of the stack pointer as it is behind it ...
    s64 sp_add; // ... but for this, which is added
};              // log_ops() and log_sides() lie behind it, but for a draft's

// In place of an id: how the conditional branch before it ended, from who knows.
#define LOG_NOT_TAKEN 1u
#define LOG_TAKEN     2u
// Behind the last record.
#define LOG_END 64u
// Two words: the stack pointer of a thread that comes from the dispatcher.
#define LOG_STACK 80u
// A call of --calls=yes has begun, ended, or was a handler's (enum frames_late): in the high half
// is the low one of its frame's address; of one that ends, in a second word, where its misses
// belong.
#define LOG_ENTER 128u
#define LOG_LEAVE 512u
#define LOG_BACK  1024u
// Ids of fragments are not less; what replays those above begins at theirs, too.
#define LOG_FIRST 1408u

#define LOG_OPS_MAX    320
#define LOG_SIDES_MAX  16
#define LOG_RECORD_MAX 1024 // words of a record

static inline const struct log_op *log_ops(const struct log_block *b)
{
    return (const struct log_op *)(b + 1);
}

static inline const struct log_side *log_sides(const struct log_block *b)
{
    return (const struct log_side *)(log_ops(b) + b->nops);
}

// What translate/ hands over.
struct log_draft {
    struct log_block block;
    struct log_op op[LOG_OPS_MAX];
    struct log_side side[LOG_SIDES_MAX];
};

#endif
