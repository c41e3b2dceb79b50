// SPDX-License-Identifier: MIT
// The code that replays changes of frames, which routines call (routine.c), and what it shares with
// them. routine.S describes the registers.
#ifndef QUERN_ENGINE_REPLAY_ROUTINECALLS_H
#define QUERN_ENGINE_REPLAY_ROUTINECALLS_H

#include "engine/base/types.h"
#include "engine/replay/arena.h"
#include "engine/replay/record.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "engine/x86/asm.h"

#define R8  8u
#define R9  9u
#define R10 10u
#define R11 11u
#define R12 12u
#define R13 13u
#define R14 14u
#define R15 15u

// Code of routine.S, which calls what is made here.
struct routinecalls_asm {
    const char *to_ll, *drain; // drain: one call further from a routine than to_ll
    const char *begin_frame, *end_frame, *renew_frame; // by AVX-512
    // Of a second state of caches (count/ahead.h), in place of routinecalls.note, and of what a
    // frame's end does.
    const char *ahead_note, *ahead_left, *ahead_back;
};

// Total i, at the counters in reg.
static inline struct x86_mem routinecalls_total(u32 reg, u32 i)
{
    return MEM(reg, (s64)(tb_config.calls_top + 1 + i) * 8);
}

// Misses before an entry are simulated before it, by the code at to_ll.
static inline void routinecalls_drain(struct x86 *a, const char *to_ll)
{
    struct x86_label none;

    x86_movzx16_rm(a, R_RAX, MEM(R12, TH_LL));
    x86_test32_rr(a, R_RAX, R_RAX);
    none = x86_jcc8(a, CC_E);
    x86_fix(a, x86_call(a), (u64)to_ll);
    x86_land(a, none);
}

// Skips `words` words; eax := the next id.
static inline void routinecalls_skip(struct x86 *a, u32 words)
{
    x86_mov32(a, R_RAX, MEM(R_RBX, words * 8));
    x86_lea(a, R_RBX, MEM(R_RBX, words * 8));
    x86_mov(a, MEM(R12, TH_RECORD), R_RBX);
}

// Jumps to the code of id eax.
static inline void routinecalls_look_up(struct x86 *a)
{
    x86_mov32(a, R_RAX,
              MEM_X(R14, R_RAX, 0,
                    (s64)offsetof(struct arena_head, routine) - (s64)sizeof(struct arena_head)));
    x86_add_rr(a, R_RAX, R14);
    x86_jmp_r(a, R_RAX);
}

// The code of an entry between records, at its own number; ends before the next one's head.
static inline struct x86 routinecalls_between(u32 id, u32 next)
{
    u8 *at = (u8 *)REPLAY_BASE + id;

    arena_head(id)->routine = id;
    return (struct x86){ at, at, (u8 *)REPLAY_BASE + next, false };
}

// Of changes between records (enter, leave, back) and within one (entered, left). `note`, with
// tb_config.calls_lazy: all frames that have not noted the totals of misses do; keeps rax.
extern struct routinecalls {
    const u8 *enter, *leave, *back;
    const u8 *entered, *left, *note;
} routinecalls;

// Makes them, with --calls=yes.
void routinecalls_make(const struct routinecalls_asm *code);

#endif
