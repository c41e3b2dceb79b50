// SPDX-License-Identifier: MIT
// The memory at REPLAY_BASE: what records mean. From its end downwards a struct log_block for each
// fragment; from its beginning what an id leads to, whose offset it is: a struct area_head, and
// behind that the fragment's routine (routine.c), if there are routines. @holds(translation lock),
// but for area_block().
#ifndef QUERN_ENGINE_AREA_H
#define QUERN_ENGINE_AREA_H

#include "engine/base/layout.h"
#include "engine/replay/record.h"

struct area_head {
    const struct log_block *block;
    u32 line;  // id of the line that it fetches first, if it is the only one of its instruction
    u32 after; // where that has been seen to, from the routine on; 0: nowhere
};

// 0 or -errno.
long area_init(void);
bool area_has_room(void);
u32 area_next_id(void);
void area_flush(void);

// Room for something that a routine refers to, by its offset.
void *area_take(u64 bytes);
// The next id's. Its code ends at `end`.
struct log_block *area_publish(const struct log_draft *d);
void area_code_ends(const u8 *end);
#define AREA_CODE_MAX 131072u

static inline struct area_head *area_head(u32 id)
{
    return (struct area_head *)(REPLAY_BASE + id) - 1;
}

static inline const struct log_block *area_block(u32 id)
{
    return area_head(id)->block;
}

// How much of a block a record is.
static inline struct log_side area_extent(const struct log_block *b, const u64 *record)
{
    u32 side = b->nsides ? (u32)(*record >> 32) : 0;

    if (side)
        return b->side[side - 1];
    return (struct log_side){
        .slots = b->slots, .nops = b->nops, .sp = b->sp, .sp_add = b->sp_add, .blocks = b->blocks
    };
}

// Whether there is such an id.
bool area_has(u32 id);

#endif
