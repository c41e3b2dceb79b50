// SPDX-License-Identifier: MIT
// Records of a killed process (salvage.h).
//
// A fragment stores an end mark after its record's space before it begins the record, so that the
// records of a buffer can be walked at any time. While records are replayed the thread's block says
// which one is next (routine.c). Registers of routines are lost: the stack pointer follows from the
// records, the clock continues past the latest stamp, and the history of branches, seven bits, is
// soon right again.
#include "engine/replay/salvage.h"

#include "engine/count/caches.h"
#include "engine/objects/alloc.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/replay.h"

u32 salvage_words(const u64 *at)
{
    u32 id = *(const u32 *)at;

    if (id == RECORD_TAKEN || id == RECORD_NOT_TAKEN)
        return 1;
    if (id == RECORD_ENTER || id == RECORD_BACK)
        return 1;
    if (id == RECORD_STACK || id == RECORD_LEAVE)
        return 2;
    if (id == RECORD_OBJECTS)
        return alloc_words((u32)(*at >> 32));
    return arena_has(id) ? arena_extent(arena_block(id), at).slots : 0;
}

const u64 *salvage_end(const u64 *from, const u64 *end, bool inside)
{
    const u64 *last = NULL;

    for (u32 n; from < end && (n = salvage_words(from)); from += n)
        last = *(const u32 *)from >= RECORD_FIRST ? from : NULL;
    return inside && last ? last : from;
}

u64 salvage_stack(const u64 *from, const u64 *to, u64 sp)
{
    for (u32 n; from < to && (n = salvage_words(from)); from += n) {
        u32 id = *(const u32 *)from;

        if (id == RECORD_STACK) {
            sp = from[1];
        } else if (id >= RECORD_FIRST) {
            struct record_side e = arena_extent(arena_block(id), from);

            sp = interpret_value(sp, e.sp, from) + (u64)e.sp_add;
        }
    }
    return sp;
}

// The next record of an interrupted replay.
static const u64 *interrupted_at(struct thread *t)
{
    const u64 *from = (const u64 *)t->replay_from, *at = (const u64 *)t->record;

    caches_restore_clock(t);
    if (!t->replay_end)
        return NULL;
    if (at < from || at > (const u64 *)t->replay_end)
        at = from;
    t->replay_sp = salvage_stack(from, at, t->replay_from_sp);
    return at;
}

void salvage_resume(struct thread *t)
{
    const u64 *at = interrupted_at(t);

    replay_run(t, at, (const u64 *)t->replay_end);
}

void salvage_replay(struct thread *t, const u64 *buffer, u64 bytes)
{
    const u64 *from = (const u64 *)t->replay_from, *end = (const u64 *)t->replay_end;
    bool inside = t->state == TS_RUNNING || t->state == TS_HELPER;

    replay_records(t, interrupted_at(t), end);
    // The interrupted replay may have been of this buffer.
    if (!buffer || (end && from >= buffer && from < buffer + bytes / 8))
        return;
    replay_records(t, buffer, salvage_end(buffer, buffer + bytes / 8, inside));
}
