// SPDX-License-Identifier: MIT
// Bytes of fetched lines that are referenced (lineuse.h).
#include "engine/objects/lineuse.h"

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/objects/objtable.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "sim/stamps.h"

_Static_assert(LINEUSE_SLOTS == SIM_STAMPS_HINTS, "by the same remainder");
_Static_assert(offsetof(struct lineuse, left) == LINEUSE_LEFT, "asm offset");

u32 (*lineuse_find)(const struct thread *t, u64 addr, bool *waits);
bool (*lineuse_in_d1)(const struct thread *t, u64 line);
u64 *(*lineuse_queue)(struct thread *t, u64 addr);
bool lineuse_may_wait;

static struct lineuse *serial; // --serialize-threads: of all threads

// ---- Which lines are followed ----

// Misses up to the next line that is followed: from half of --data-use to one and a half, so that
// no order of misses in a loop is hit again and again.
static u32 gap(struct lineuse *u)
{
    u32 half = tb_config.lineuse / 2;

    u->random = u->random * 1664525u + 1013904223u;
    return tb_config.lineuse - half + (u->random >> 8) % (2 * half + 1);
}

void lineuse_thread_init(struct thread *t)
{
    struct lineuse *u = serial ? serial : t->lineuse;

    if (!tb_config.lineuse)
        return;
    if (!u)
        u = heap_pages(sizeof(*u));
    else if (!serial)
        memset(u, 0, offsetof(struct lineuse, wait));
    if (!u->wait && (!tb_config.recording || lineuse_may_wait))
        u->wait = heap_pages(LINEUSE_WAITS * sizeof(*u->wait));
    if (!u->left)
        u->left = gap(u);
    t->lineuse = u;
    if (spool->flags & SPOOL_F_SERIALIZE)
        serial = u;
}

// All lines of one slot are in one set.
static struct lineuse_line *set_of(struct lineuse *u, u64 line)
{
    u32 slot = line % LINEUSE_SLOTS;

    return &u->line[(slot ^ slot / LINEUSE_SETS) % LINEUSE_SETS * LINEUSE_WAYS];
}

// NULL: it is not followed.
static struct lineuse_line *find(struct lineuse *u, u64 line)
{
    struct lineuse_line *l = set_of(u, line);

    if (!u->slot[line % LINEUSE_SLOTS])
        return NULL;
    for (u32 i = 0; i < LINEUSE_WAYS; i++)
        if (l[i].line == line + 1)
            return &l[i];
    return NULL;
}

static void let_go(struct lineuse *u, struct lineuse_line *l)
{
    u->slot[(l->line - 1) % LINEUSE_SLOTS]--;
    l->line = 0;
}

// Lets go of those in the set of a line that have been evicted. With `mates` only of those that
// have the line's slot, and make each reference to it one for C.
static void sweep(struct thread *t, u64 line, bool mates)
{
    struct lineuse_line *set = set_of(t->lineuse, line);

    for (u32 i = 0; i < LINEUSE_WAYS; i++)
        if (set[i].line && !(mates && (set[i].line - 1 - line) % LINEUSE_SLOTS) &&
            !lineuse_in_d1(t, set[i].line - 1))
            let_go(t->lineuse, &set[i]);
}

// A free one, or that which was referenced longest ago. Those that have been evicted are not there
// then, whenever that was found out: so it is the same one in all modes of --replay.
static struct lineuse_line *take(struct thread *t, u64 line)
{
    struct lineuse *u = t->lineuse;
    struct lineuse_line *set = set_of(u, line), *last = set;

    sweep(t, line, false);
    for (u32 i = 0; i < LINEUSE_WAYS && last->line; i++)
        if (!set[i].line || u->now - set[i].used > u->now - last->used) // the clock may wrap
            last = &set[i];
    if (last->line)
        let_go(u, last);
    return last;
}

// ---- Counts ----

static void add(u64 *to, u64 n)
{
    __atomic_add_fetch(to, n, __ATOMIC_RELAXED); // other threads do, too
}

static u32 wait_for(struct lineuse *u, u64 addr, u32 object, u32 thread)
{
    if (!u->wait || u->waits >= LINEUSE_WAITS)
        return 0;
    u->wait[u->waits] = (struct lineuse_wait){ addr, 0, object, thread };
    return ++u->waits;
}

static bool is_found(u64 word)
{
    return word >> 32 == LINEUSE_FOUND;
}

void lineuse_found(u64 *word, u32 object)
{
    u64 was = __atomic_exchange_n(word, (u64)LINEUSE_FOUND << 32 | object, __ATOMIC_ACQ_REL);

    if (is_found(was))
        return;
    add(&objtable_at(object)->fetched, 1);
    add(&objtable_at(object)->used, was >> 32);
}

void lineuse_found_open(const struct thread *t, u64 *word, u64 addr, u32 object)
{
    struct lineuse *u = t->lineuse;
    struct lineuse_line *l = find(u, addr >> tb_config.d1_shift);
    u64 was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    u32 wait;

    lineuse_found(word, object);
    if (is_found(was))
        return;
    wait = wait_for(u, addr, object, t->objects_number);
    if (!wait)
        return;
    u->wait[wait - 1].bytes = was >> 32;
    if (l && l->queued == word)
        l->wait = wait;
}

// Whether the bytes wait for the object, too.
static bool adds_there(struct lineuse_line *l, u64 bytes)
{
    u64 was = __atomic_load_n(l->queued, __ATOMIC_ACQUIRE);

    while (!is_found(was))
        if (__atomic_compare_exchange_n(l->queued, &was, was + (bytes << 32), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
    l->object = (u32)was;
    l->queued = NULL;
    return false;
}

// Of the line of addr that was found last, if it waits; else 0.
static u32 last_wait(const struct lineuse *u, u64 addr)
{
    const struct lineuse_wait *w = u->waits ? &u->wait[u->waits - 1] : NULL;

    return w && w->addr == addr && w->thread ? u->waits : 0;
}

static void find_object(struct thread *t, struct lineuse_line *l, u64 addr)
{
    struct lineuse *u = t->lineuse;
    bool waits = false;

    objtable_lock();
    l->object = lineuse_find(t, addr, &waits);
    if (waits)
        l->wait = wait_for(u, addr, l->object, t->objects_number);
    add(&objtable_at(l->object)->fetched, 1);
    objtable_unlock();
}

// Apart, so that no initializer of it comes before the direction flag is cleared. Whoever is killed
// here follows no line yet: one without an object would be counted as used, and not as fetched.
static __attribute__((noinline)) void begin(struct thread *t, u64 addr)
{
    struct lineuse *u = t->lineuse;
    u64 line = addr >> tb_config.d1_shift;
    struct lineuse_line *l = take(t, line), new = { .used = ++u->now };

    if (lineuse_queue) {
        new.queued = lineuse_queue(t, addr);
        u->queued++;
    } else {
        find_object(t, &new, addr);
    }
    *l = new;
    u->slot[line % LINEUSE_SLOTS]++;
    __atomic_store_n(&l->line, line + 1, __ATOMIC_RELEASE);
    if (l->queued && !adds_there(l, 0)) // that has emptied the queue
        l->wait = last_wait(u, addr);
}

void lineuse_collect(struct thread *t, u64 from, u64 end)
{
    struct lineuse *u = t->lineuse;

    if (!u || !u->queued)
        return;
    for (u32 i = 0; i < LINEUSE_LINES; i++)
        if (u->line[i].queued && (u64)u->line[i].queued - from < end - from)
            adds_there(&u->line[i], 0);
    if (!serial) // else others may have some
        u->queued = 0;
}

void lineuse_missed(struct thread *t, u64 addr)
{
    struct lineuse *u = t->lineuse;
    struct lineuse_line *l = find(u, addr >> tb_config.d1_shift);
    bool direction = false;

    if (l) // it had been evicted
        let_go(u, l);
    if (u->left > 1) {
        u->left--;
        return;
    }
    u->left = gap(u);
    if (!tb_config.recording) // else it is a replay's call, no helper's
        direction = cpu_clear_direction();
    begin(t, addr);
    cpu_restore_direction(direction);
}

static void count(struct lineuse *u, struct lineuse_line *l, u64 bits)
{
    u64 bytes = 0;

    for (; bits; bits &= bits - 1)
        bytes++;
    if (tb_config.d1_shift > 6)
        bytes <<= tb_config.d1_shift - 6;
    if (l->queued && adds_there(l, bytes))
        return;
    add(&objtable_at(l->object % SPOOL_DATA_OBJECTS_MAX)->used, bytes);
    if (l->wait && l->wait <= u->waits)
        u->wait[l->wait - 1].bytes += bytes;
}

// Of bytes first to last of a line.
static u64 bits_of(u64 first, u64 last)
{
    u32 shift = tb_config.d1_shift > 6 ? tb_config.d1_shift - 6 : 0;

    return (~0ul << (first >> shift)) & (~0ul >> (63 - (last >> shift)));
}

static void touch(struct thread *t, u64 line, u64 bits, u32 refs)
{
    u64 low = (1ul << tb_config.d1_shift) - 1;
    struct lineuse *u = t->lineuse;
    struct lineuse_line *l = find(u, line);

    if (!l) {
        sweep(t, line, true);
        return;
    }
    l->used = ++u->now;
    bits &= ~l->touched;
    l->touched |= bits;
    l->quiet = bits ? 0 : l->quiet + refs;
    if (bits)
        count(u, l, bits);
    if (l->touched == bits_of(0, low) || l->quiet >= LINEUSE_QUIET)
        let_go(u, l);
}

void lineuse_touched(struct thread *t, u64 addr, u32 size, u32 refs)
{
    u64 low = (1ul << tb_config.d1_shift) - 1, end = addr + size - 1;
    u64 first = addr >> tb_config.d1_shift, last = end >> tb_config.d1_shift;
    struct lineuse *u = t->lineuse;

    if (u->slot[first % LINEUSE_SLOTS])
        touch(t, first, bits_of(addr & low, first == last ? end & low : low), refs);
    if (first != last && u->slot[last % LINEUSE_SLOTS])
        touch(t, last, bits_of(0, end & low), refs);
}

static void move(const struct lineuse_wait *w, u32 object)
{
    struct spool_data_object *from = objtable_at(w->object % SPOOL_DATA_OBJECTS_MAX);

    add(&from->fetched, ~0ul); // minus one
    add(&from->used, -w->bytes);
    add(&objtable_at(object)->fetched, 1);
    add(&objtable_at(object)->used, w->bytes);
}

void lineuse_settle(const struct thread *t, u64 start, u64 end, u32 object)
{
    struct lineuse *u = t->lineuse;
    u32 others = 0;

    if (!lineuse_waits(t))
        return;
    for (u32 i = 0; i < LINEUSE_LINES; i++) {
        struct lineuse_line *l = &u->line[i];
        const struct lineuse_wait *w =
            l->wait && l->wait <= u->waits ? &u->wait[l->wait - 1] : NULL;

        if (!w || w->thread != t->objects_number)
            continue;
        if (l->queued)
            adds_there(l, 0); // its word is known
        if (w->addr - start < end - start)
            l->object = object;
        l->wait = 0;
    }
    for (u32 i = 0; i < u->waits; i++) {
        struct lineuse_wait *w = &u->wait[i];

        if (w->thread == t->objects_number) {
            if (w->addr - start < end - start)
                move(w, object);
            w->thread = 0;
        }
        others |= w->thread;
    }
    if (!others)
        u->waits = 0;
}

void lineuse_zero(void)
{
    for (struct thread *t = threads_first(); t; t = t->next) {
        struct lineuse *u = t->lineuse;

        if (!u)
            continue;
        memset(u->slot, 0, sizeof(u->slot));
        memset(u->line, 0, sizeof(u->line));
        u->waits = 0;
    }
}
