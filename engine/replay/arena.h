// SPDX-License-Identifier: MIT
// The memory at REPLAY_BASE: what records mean. From the end of its first half downwards a struct
// record_block for each fragment; from its beginning what an id leads to, whose offset it is: a struct
// arena_head, and behind that the routine (routine.c) of some fragments, as superblocks. Routines
// that are made while records are replayed lie in the second half: whoever makes them may
// be killed at it, and what others translate meanwhile must not meet that. @holds(translation
// lock), but for arena_block() and what is said of the second half.
#ifndef QUERN_ENGINE_ARENA_H
#define QUERN_ENGINE_ARENA_H

#include "engine/base/layout.h"
#include "engine/replay/record.h"

struct arena_head {
    u32 block;   // struct record_block, by its offset
    u32 routine; // where that is, by its offset: ROUTINE_COLD until there is one
};

// What is free of a half, as offsets.
struct arena_room {
    u64 low, high;
};
extern struct arena_room arena_first, arena_second;

// 0 or -errno.
long arena_init(void);
// Whether there is room for any block, its routine, and others' routines.
bool arena_has_room(void);
u32 arena_next_id(void);
void arena_flush(void);

// Room for something that a routine refers to, by its offset, from the room's high end.
void *arena_take(struct arena_room *room, u64 bytes);
// The next id's. Its code ends at `end`.
struct record_block *arena_publish(const struct record_draft *d);
void arena_code_ends(const u8 *end);
// The same for code in the second half.
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

// What replays a record with this id, or what stands between records, with routines.
static inline u64 arena_code(u32 id)
{
    return REPLAY_BASE + __atomic_load_n(&arena_head(id)->routine, __ATOMIC_ACQUIRE);
}

// How much of a block a record is.
static inline struct record_side arena_extent(const struct record_block *b, const u64 *record)
{
    u32 side = b->nsides ? (u32)(*record >> 32) : 0;

    if (side)
        return record_sides(b)[side - 1];
    return (struct record_side){
        .slots = b->slots, .nops = b->nops, .sp = b->sp, .sp_add = b->sp_add, .blocks = b->blocks
    };
}

// All that there is, for later runs: pieces that follow from the rooms alone.
#define ARENA_PIECES 4
struct arena_piece {
    u64 at, bytes; // offset
};
void arena_pieces(const struct arena_room *first, const struct arena_room *second,
                  struct arena_piece piece[ARENA_PIECES]);
// What another run's arena_first and arena_second were, when the pieces are where they were.
void arena_take_over(const struct arena_room *first, const struct arena_room *second);
// Whether they can have been.
bool arena_rooms_are_sound(const struct arena_room *first, const struct arena_room *second);

// Whether there is such an id. arena_check() gives up where there is none: the client can write to
// what was recorded.
bool arena_has(u32 id);
_Noreturn void arena_refuse(u32 id);
static inline void arena_check(u32 id)
{
    if (UNLIKELY(!arena_has(id)))
        arena_refuse(id);
}

#endif
