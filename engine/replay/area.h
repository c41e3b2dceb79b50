// SPDX-License-Identifier: MIT
// The memory at REPLAY_BASE: what records mean. From the end of its first half downwards a struct
// log_block for each fragment; from its beginning what an id leads to, whose offset it is: a struct
// area_head, and behind that the routine (routine.c) of some fragments, as superblocks. Routines
// that are made while records are replayed lie in the second half: whoever makes them may
// be killed at it, and what others translate meanwhile must not meet that. @holds(translation
// lock), but for area_block() and what is said of the second half.
#ifndef QUERN_ENGINE_AREA_H
#define QUERN_ENGINE_AREA_H

#include "engine/base/layout.h"
#include "engine/replay/record.h"

struct area_head {
    u32 block;   // struct log_block, by its offset
    u32 routine; // where that is, by its offset: ROUTINE_COLD until there is one
};

// What is free of a half, as offsets.
struct area_room {
    u64 low, high;
};
extern struct area_room area_first, area_second;

// 0 or -errno.
long area_init(void);
// Whether there is room for any block, its routine, and others' routines.
bool area_has_room(void);
u32 area_next_id(void);
void area_flush(void);

// Room for something that a routine refers to, by its offset, from the room's high end.
void *area_take(struct area_room *room, u64 bytes);
// The next id's. Its code ends at `end`.
struct log_block *area_publish(const struct log_draft *d);
void area_code_ends(const u8 *end);
// The same for code in the second half.
void area_late_ends(const u8 *end);
#define AREA_CODE_MAX 131072u

static inline struct area_head *area_head(u32 id)
{
    return (struct area_head *)(REPLAY_BASE + id) - 1;
}

static inline const struct log_block *area_block(u32 id)
{
    return (const struct log_block *)(REPLAY_BASE + area_head(id)->block);
}

// What replays a record with this id, or what stands between records, with routines.
static inline u64 area_code(u32 id)
{
    return REPLAY_BASE + __atomic_load_n(&area_head(id)->routine, __ATOMIC_ACQUIRE);
}

// How much of a block a record is.
static inline struct log_side area_extent(const struct log_block *b, const u64 *record)
{
    u32 side = b->nsides ? (u32)(*record >> 32) : 0;

    if (side)
        return log_sides(b)[side - 1];
    return (struct log_side){
        .slots = b->slots, .nops = b->nops, .sp = b->sp, .sp_add = b->sp_add, .blocks = b->blocks
    };
}

// All that there is, for later runs: pieces that follow from the rooms alone.
#define AREA_PIECES 4
struct area_piece {
    u64 at, bytes; // offset
};
void area_pieces(const struct area_room *first, const struct area_room *second,
                 struct area_piece piece[AREA_PIECES]);
// What another run's area_first and area_second were, when the pieces are where they were.
void area_take_over(const struct area_room *first, const struct area_room *second);
// Whether they can have been.
bool area_rooms_are_sound(const struct area_room *first, const struct area_room *second);

// Whether there is such an id. area_check() gives up where there is none: the client can write to
// what was recorded.
bool area_has(u32 id);
_Noreturn void area_refuse(u32 id);
static inline void area_check(u32 id)
{
    if (UNLIKELY(!area_has(id)))
        area_refuse(id);
}

#endif
