// SPDX-License-Identifier: MIT
// Replays records (replay.h): by routines, or one reference after the other. A conditional branch
// at the end of a record is counted when the next record tells its outcome.
#include "engine/replay/replay.h"

#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/cores.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/count/vector.h"
#include "engine/objects/many.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/routine.h"
#include "engine/spool/config.h"

void replay_init(void)
{
    if (tb_config.calls)
        vector_sets.owner = calls_owner(&vector_sets.totals);
    if (tb_config.stamps)
        routine_init();
}

void replay_publish(const struct record_draft *d)
{
    const struct record_block *b;
    u8 *code = (u8 *)REPLAY_BASE + arena_next_id();

    b = arena_publish(d);
    if (tb_config.stamps)
        arena_code_ends(routine_begin(b, code));
}

// Replays an entry between records. Returns its number of words; 0: it is a fragment's record.
static u32 between(struct thread *t, const u64 *at)
{
    u32 frame = (u32)(*at >> 32);

    switch ((u32)*at) {
    case RECORD_STACK: t->replay_sp = at[1]; return 2;
    case RECORD_ENTER: interpret_frame(t, FRAMES_ENTER, frame, 0); return 1;
    case RECORD_LEAVE: interpret_frame(t, FRAMES_LEAVE, frame, (u32)at[1]); return 2;
    case RECORD_BACK: interpret_frame(t, FRAMES_BACK, frame, 0); return 1;
    case RECORD_OBJECTS: ll_drain_batch(t); return many_event(t, at);
    default: return 0;
    }
}

// Until the end, or until routines can go on. Returns where that is.
static const u64 *run_in_c(struct thread *t, const u64 *from, const u64 *end)
{
    while (from < end) {
        u32 n;

        t->record = (u64)from;
        from = interpret_branch(t, from);
        if (from == end || (tb_config.stamps && !cores_interpreted(t)))
            break;
        n = between(t, from);
        if (n) {
            from += n;
            continue;
        }
        from = interpret_record(t, from);
        t->clock += CACHES_TICK; // the first fetch of a routine does not tick
    }
    if (tb_config.core && !t->record_tail)
        cores_end(t);
    return from;
}

// The last record may be incomplete. Returns the end, or where records are to be interpreted.
static const u64 *run_routines(struct thread *t, const u64 *from, const u64 *end)
{
    u64 *stop = (u64 *)end, there = *stop;
    const u64 *at;

    from = interpret_branch(t, from);
    if (from == end)
        return end;
    if (there != RECORD_END)
        *stop = RECORD_END;
    at = routine_enter(t, from, arena_code(*(const u32 *)from));
    if (there != RECORD_END)
        *stop = there;
    if (at != end && !(tb_config.sampled && cores_interpreted(t)))
        engine_die("a replay ended at 0x%lx instead of 0x%lx", (u64)at, (u64)end);
    return at;
}

static bool is_interpreted(const struct thread *t)
{
    return !tb_config.stamps || (tb_config.core && cores_interpreted(t));
}

void replay_records(struct thread *t, const u64 *from, const u64 *end)
{
    if (from != end) {
        t->record = t->replay_from = (u64)from;
        t->replay_from_sp = t->replay_sp;
        t->replay_end = (u64)end;
        many_buffer_replays(t, (u64)from);
        caches_replays(t);
        reftrace_begin(t);
        do {
            from = is_interpreted(t) ? run_in_c(t, from, end) : run_routines(t, from, end);
        } while (from < end);
    }
    ll_replayed(t);
    if (t->is_ahead)
        ahead_note(t);
    else
        frames_late_fill(t);
    reftrace_end(t);
}

void replay_run(struct thread *t, const u64 *from, const u64 *end)
{
    if (from == end && !ll_has_pending(t))
        return;
    if (tb_config.vectors)
        vector_save(t);
    ll_beside(t, false);
    replay_records(t, from, end);
    if (tb_config.vectors)
        vector_restore(t);
}

void replay_part(struct thread *t, const u64 *from, u32 insn)
{
    const struct record_block *b = arena_block(*(const u32 *)from);

    reftrace_begin(t);
    interpret_branch(t, from);
    reftrace_code(b->map, b->pc);
    if (tb_config.core) {
        interpret_timed(t, b, b->nops, insn, from);
        cores_end(t);
    }
    for (u32 i = 0; i < b->nops && record_ops(b)[i].insn <= insn; i++) {
        if (tb_config.core && record_ops(b)[i].insn < insn)
            continue; // above
        if (record_ops(b)[i].kind != RECORD_REP || record_ops(b)[i].insn < insn)
            interpret_op(t, &record_ops(b)[i], from, record_ops(b)[i].insn == insn);
    }
    ll_drain(t);
    frames_late_fill(t);
    reftrace_end(t);
}
