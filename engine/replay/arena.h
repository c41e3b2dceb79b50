// SPDX-License-Identifier: MIT
// The memory at REPLAY_BASE, which describes records. From the end of its first half downwards: a
// struct record_block for each fragment. From its beginning upwards: for each id, which is its
// offset, a struct arena_head, followed for some fragments (superblocks) by the routine
// (routine.c). Routines made during replays are in the second half: whoever makes one may be killed
// half-way, and must not meet what others translate meanwhile. @holds(translation lock), except for
// arena_block() and where the second half is named.
#ifndef QUERN_ENGINE_ARENA_H
#define QUERN_ENGINE_ARENA_H

#include "engine/base/layout.h"
#include "engine/replay/record.h"

struct arena_head {
    u32 block;   // struct record_block, by its offset
    u32 routine; // its offset: ROUTINE_COLD until there is one
};

// The free part of a half, as offsets.
struct arena_space {
    u64 low, high;
};
extern struct arena_space arena_first, arena_second;

// 0 or -errno.
long arena_init(void);
// Whether there is space for any block, its routine, and others' routines.
bool arena_has_space(void);
u32 arena_next_id(void);
void arena_flush(void);

// Takes `bytes` from the high end, for data that a routine refers to by its offset.
void *arena_take(struct arena_space *room, u64 bytes);
// Adds a block, with the next id. Its code ends at `end`.
struct record_block *arena_publish(const struct record_draft *d);
void arena_code_ends(const u8 *end);
// The end of code in the second half.
void arena_late_ends(const u8 *end);
#define ARENA_CODE_MAX 131072u

static inline struct arena_head *arena_head(u32 id)
{
    return (struct arena_head *)(REPLAY_BASE + id) - 1;
}

static inline const struct record_block *arena_block(u32 id)
{
    return (const struct record_block *)(REPLAY_BASE + arena_head(id)->block);
}

// The code that replays a record with this id, or an entry between records.
static inline u64 arena_code(u32 id)
{
    return REPLAY_BASE + __atomic_load_n(&arena_head(id)->routine, __ATOMIC_ACQUIRE);
}

// The part of a block that a record covers.
static inline struct record_side arena_extent(const struct record_block *b, const u64 *record)
{
    u32 side = b->nsides ? (u32)(*record >> 32) : 0;

    if (side)
        return record_sides(b)[side - 1];
    return (struct record_side){
        .slots = b->slots, .nops = b->nops, .sp = b->sp, .sp_add = b->sp_add, .blocks = b->blocks
    };
}

// All contents, for the persistent cache: pieces whose bounds follow from the two rooms.
#define ARENA_PIECES 4
struct arena_piece {
    u64 at, bytes; // offset
};
void arena_pieces(const struct arena_space *first, const struct arena_space *second,
                  struct arena_piece piece[ARENA_PIECES]);
// Restores arena_first and arena_second of an earlier run, whose pieces are in place.
void arena_restore(const struct arena_space *first, const struct arena_space *second);
// Whether these can be an earlier run's.
bool arena_is_sound(const struct arena_space *first, const struct arena_space *second);

// Whether the id exists. arena_check() ends the run if it does not: the client can write to
// records.
bool arena_has(u32 id);
_Noreturn void arena_refuse(u32 id);
static inline void arena_check(u32 id)
{
    if (UNLIKELY(!arena_has(id)))
        arena_refuse(id);
}

#endif
