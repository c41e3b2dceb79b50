// SPDX-License-Identifier: MIT
// Records and their buffers (recordbuf.h).
#include "engine/replay/recordbuf.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/restore.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/objects/alloc.h"
#include "engine/objects/objtable.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/replay.h"
#include "engine/replay/replayer.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/threads.h"

// The number of the buffer that is being filled.
static u64 number_of(const struct thread *t)
{
    return (t->recordbuf_begin - (u64)t->self - TA_RECORDS) / TA_RECORD_STRIDE;
}

// The thread's buffer i: they differ in where they begin.
static u64 end_of(const struct thread *t, u64 i)
{
    return (u64)t->self + TA_RECORDS + i * TA_RECORD_STRIDE + TA_RECORD_SIZE;
}

static u64 begin_of(const struct thread *t, u64 i, u32 size)
{
    return end_of(t, i) - size;
}

// The thread fills the buffer that begins there from now on. In this order: the process that
// replays what is left after SIGKILL never looks behind the buffer's end.
static void fill(struct thread *t, u64 begin, u32 size)
{
    if (size < t->recordbuf_size)
        __atomic_store_n(&t->recordbuf_size, size, __ATOMIC_RELEASE);
    __atomic_store_n(&t->recordbuf_begin, begin, __ATOMIC_RELEASE);
    __atomic_store_n(&t->recordbuf_size, size, __ATOMIC_RELEASE);
}

// Makes the guard page after the buffer; it stays readable, because the replay of a full buffer
// reads a word there. A buffer that an earlier thread had in this area stays as it is.
static void make_buffer(const struct thread *t, u64 i)
{
    u64 end = end_of(t, i);

    if (threads_has_guards(t) || *(const u64 *)end == RECORD_END)
        return;
    *(u64 *)end = RECORD_END;
    if (sys_mprotect(end, PAGE_SIZE, PROT_READ))
        engine_die("cannot protect the end of a thread's buffer");
    // Records have been replayed before a fork: a child does not need these pages, which the parent
    // would otherwise copy, nor their page tables. An old kernel shares them.
    sys_madvise(end - TA_RECORD_SIZE, TA_RECORD_SIZE, MADV_WIPEONFORK);
}

// The buffer after the one that is being filled.
static u64 next_of(const struct thread *t, u32 size)
{
    u64 i = (number_of(t) + 1) % TA_RECORD_BUFFERS;

    make_buffer(t, i);
    return begin_of(t, i, size);
}

// The turn moves from thread to thread, and the caches with it: the last owner's records are
// replayed first.
static void turn(struct thread *t)
{
    struct thread *before = caches_holder();

    if (before && before != t)
        recordbuf_drain(before);
    caches_turn(t);
}

void recordbuf_reserve(void)
{
    long ret;

    if (!tb_config.recording)
        return;
    ret = arena_init();
    if (ret && !config_no_replay())
        engine_die("no memory for the description of records: error %ld; --replay=off needs none",
                   -ret);
}

// Makes space for `words` words and the end mark after them.
static void make_space(struct thread *t, u32 words)
{
    if (t->record_at + 8 * words + 8 > end_of(t, number_of(t)))
        recordbuf_drain(t);
    ((u64 *)t->record_at)[words] = 0;
}

static void append(struct thread *t, u64 word)
{
    *(u64 *)t->record_at = word;
    t->record_at += 8;
}

// frames_record
static void call(struct thread *t, enum frames_late what, const struct spool_frame *f, u32 counter)
{
    static const u32 id[] = {
        [FRAMES_ENTER] = RECORD_ENTER, [FRAMES_LEAVE] = RECORD_LEAVE, [FRAMES_BACK] = RECORD_BACK
    };
    u32 words = what == FRAMES_LEAVE ? 2 : 1;

    // The id is stored last: a thread that is killed leaves all of it or nothing.
    make_space(t, words);
    if (words == 2)
        ((u64 *)t->record_at)[1] = counter;
    append(t, (u64)(u32)(u64)f << 32 | id[what]);
    t->record_at += 8 * (words - 1);
}

// alloc_record
static u64 *event(struct thread *t, const u64 *words, u32 n)
{
    u64 *at;

    make_space(t, n);
    at = (u64 *)t->record_at;
    if (tb_config.record_ahead)
        __builtin_prefetch((const u8 *)at + RECORDBUF_AHEAD, 1);
    for (u32 i = 1; i < n; i++)
        at[i] = words[i];
    append(t, words[0] | RECORD_OBJECTS);
    t->record_at += 8 * (n - 1);
    return at;
}

// objtable_record
static void time(struct thread *t, u64 now)
{
    make_space(t, 2);
    ((u64 *)t->record_at)[1] = now;
    append(t, RECORD_OBJECTS);
    t->record_at += 8;
}

void recordbuf_init(void)
{
    if (!tb_config.recording)
        return;
    frames_record = call;
    frames_simulate = recordbuf_drain;
    objtable_record = time;
    alloc_record = event;
    alloc_drain = recordbuf_drain;
    replay_init();
    replayer_init();
    replayer_start();
    stopworld_on_turn = turn;
}

static void buffers_init(struct thread *t)
{
    t->recordbuf_size = tb_config.recordbuf_size;
    t->recordbuf_filled = 0;
    t->record_at = t->recordbuf_begin = begin_of(t, 0, t->recordbuf_size);
    make_buffer(t, 0);
    if (t->slot == 0)
        sys_populate(t->recordbuf_begin, t->recordbuf_size);
    *(u64 *)t->recordbuf_begin = 0;
}

void recordbuf_thread_init(struct thread *t)
{
    t->record_tail = NULL;
    if (tb_config.recording)
        buffers_init(t);
    replayer_thread_init(t);
    frames_thread_init(t);
}

bool recordbuf_has_space(void)
{
    return !tb_config.recording || arena_has_space();
}

u32 recordbuf_next_id(void)
{
    return arena_next_id();
}

void recordbuf_publish(const struct record_draft *d)
{
    replay_publish(d);
}

void recordbuf_flush(void)
{
    if (tb_config.recording)
        arena_flush();
}

// Replays the buffer, which keeps its contents.
static void replay_all(struct thread *t)
{
    u64 begin = t->recordbuf_begin, end = t->record_at;

    replayer_settle(t);
    t->record_at = begin;
    replay_run(t, (const u64 *)begin, (const u64 *)end);
}

// In this order: a salvage after SIGKILL replays neither twice.
static void emptied(struct thread *t)
{
    t->recordbuf_sp_known = false;
    objtable_buffer_begins(t, t->recordbuf_begin);
    __atomic_store_n((u64 *)t->recordbuf_begin, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&t->replay_end, 0, __ATOMIC_RELEASE);
}

void recordbuf_drain(struct thread *t)
{
    if (!tb_config.recording)
        return;
    replay_all(t);
    emptied(t);
}

void recordbuf_drain_all(s32 stopped)
{
    if (!tb_config.recording)
        return;
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next) {
        u32 state = __atomic_load_n(&t->state, __ATOMIC_SEQ_CST);

        // A stopped thread may return from a system call and check its stop word now, for which it
        // runs for a moment. Of the others, one that runs records.
        if (!stopped || thread_own(t)->tgid == stopped ||
            (state != TS_RUNNING && state != TS_HELPER))
            recordbuf_drain(t);
    }
    threads_unlock();
}

void recordbuf_edge(struct thread *t, u32 id, u32 k)
{
    if (recordbuf_is_told(id))
        return;
    make_space(t, 1);
    append(t, k ? RECORD_NOT_TAKEN : RECORD_TAKEN);
}

bool recordbuf_is_told(u32 id)
{
    return !id || arena_block(id)->tail != RECORD_COND || arena_block(id)->said;
}

void recordbuf_enter(struct thread *t)
{
    if (!tb_config.recording || !tb_config.counts)
        return;
    make_space(t, 2);
    ((u64 *)t->record_at)[1] = thread_sp(t);
    *(u64 *)t->record_at = RECORD_STACK;
    t->record_at += 16;
}

void recordbuf_continue_at(struct thread *t, u64 pc)
{
    if (!tb_config.recording)
        return;
    recordbuf_drain(t);
    interpret_came(t, pc);
}

void recordbuf_interrupted(struct thread *t, const struct restore_progress *left)
{
    u64 start = t->record_at;

    if (!left->open && !left->closed) {
        recordbuf_continue_at(t, t->pc);
        return;
    }
    if (left->closed)
        start -= arena_block(left->log)->slots * 8ul;
    t->record_at = start;
    replay_all(t);
    replay_part(t, (const u64 *)start, left->insn);
    emptied(t);
}

void (*recordbuf_on_full)(const u64 *from, const u64 *end);

// A buffer is full: the size of the next one.
static u32 next_size(struct thread *t)
{
    if (t->recordbuf_filled < RECORDBUF_GROWS)
        t->recordbuf_filled++;
    return tb_config.recordbuf_grows && t->recordbuf_filled == RECORDBUF_GROWS &&
                   threads_count() == 1
               ? TA_RECORD_SIZE
               : tb_config.recordbuf_size;
}

bool recordbuf_full(struct thread *t, u64 addr, u64 *r11, u64 sp)
{
    u64 end = end_of(t, number_of(t)), start = *r11, next;
    u32 size;
    bool pays;

    if (!tb_config.recording || addr - end >= RECORD_WORDS_MAX * 8ul ||
        start - t->recordbuf_begin > t->recordbuf_size)
        return false;
    if (recordbuf_on_full)
        recordbuf_on_full((const u64 *)t->recordbuf_begin, (const u64 *)start);
    size = next_size(t);
    // The store after a record is the first of the next record: nothing of that is in the buffer
    // yet.
    replayer_start();
    pays = replayer_is_there() && replayer_pays(t);
    if (pays && replayer_ahead(t, (const u64 *)t->recordbuf_begin, (const u64 *)start)) {
        next = ahead_keeps() ? next_of(t, size) : begin_of(t, number_of(t), size);
        *(u64 *)next = 0;
        if (!ahead_keeps()) {
            *(u64 *)t->recordbuf_begin = 0;
            replayer_ahead_over(t, (const u64 *)t->recordbuf_begin);
        }
    } else if (pays) {
        next = next_of(t, size);
        *(u64 *)next = 0;
        replayer_hand_over(t, (const u64 *)t->recordbuf_begin, (const u64 *)start);
        __atomic_fetch_add(&spool->n_handed, 1, __ATOMIC_RELAXED);
    } else {
        t->record_at = start;
        recordbuf_drain(t);
        next = begin_of(t, number_of(t), size);
        *(u64 *)next = 0;
        __atomic_fetch_add(&spool->n_replayed, 1, __ATOMIC_RELAXED);
    }
    fill(t, next, size);
    t->recordbuf_sp = sp;
    t->recordbuf_sp_known = true;
    if (tb_config.calls)
        t->recordbuf_top = (u64)frames_top(t);
    objtable_buffer_begins(t, next);
    t->record_at = *r11 = t->recordbuf_begin;
    return true;
}
