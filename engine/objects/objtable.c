// SPDX-License-Identifier: MIT
// Objects of the data and their counts (objtable.h).
#include "engine/objects/objtable.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/frames.h"
#include "engine/objects/cells.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"

#define INDEX           0x80000u  // twice as many as objects
#define COUNTS          0x200000u // twice as many as counts: at most
#define COUNTS_AT_FIRST 0x1000u
#define NAMES           0x10000u // texts that are found again
#define NAMES_TRY       16u
#define SPINS           1000u // on the lock, before sleeping: 10 to 50 us
#define MOMENT          20u   // in which one that waits so takes it

static struct {
    struct lock lock;
    u64 now __attribute__((aligned(64))); // whoever changes it may be another one than has the lock
    u32 threads;                          // that ever were
    u32 *index;                           // of objects, plus one
    u32 *counts; // their numbers, plus one; the part that is used is a multiple of what is in it,
    u32 counts_size, counts_room; // so that it fits into the host's caches
    u32 *names;                   // offsets of texts
} table;

struct objtable_pair *objtable_pairs;
u32 objtable_waiting;

void (*objtable_record)(struct thread *t, u64 now);

// ---- Time ----

bool (*objtable_is_orphan)(void);

void objtable_lock(void)
{
    if (lock_try(&table.lock))
        return;
    __atomic_add_fetch(&objtable_waiting, 1, __ATOMIC_RELAXED);
    if (!lock_try_again(&table.lock, SPINS))
        lock_take_of_dead(&table.lock, objtable_is_orphan);
    __atomic_sub_fetch(&objtable_waiting, 1, __ATOMIC_RELAXED);
}

bool objtable_try_lock(void)
{
    return lock_try(&table.lock);
}

void objtable_let_others(void)
{
    objtable_unlock();
    for (u32 i = 0; i < MOMENT && !__atomic_load_n(&table.lock.w, __ATOMIC_RELAXED); i++)
        __builtin_ia32_pause();
    objtable_lock();
}

void objtable_unlock(void)
{
    lock_drop(&table.lock);
}

void objtable_forget_lock(void)
{
    table.lock = (struct lock){ 0 };
    objtable_waiting = 0;
}

u64 objtable_now(void)
{
    return table.now;
}

u64 objtable_tick(void)
{
    return __atomic_add_fetch(&table.now, 1, __ATOMIC_SEQ_CST);
}

u64 objtable_tick_alone(void)
{
    u64 now = table.now + 1;

    __atomic_store_n(&table.now, now, __ATOMIC_RELEASE);
    return now;
}

static u64 present(void)
{
    return __atomic_load_n(&table.now, __ATOMIC_ACQUIRE);
}

void objtable_stamp(struct thread *t)
{
    if (tb_config.recording && tb_config.counts && objtable_record)
        objtable_record(t, present());
}

void objtable_thread_init(struct thread *t)
{
    t->objects_number = __atomic_add_fetch(&table.threads, 1, __ATOMIC_RELAXED);
    t->objects_at = present();
    for (u32 i = 0; i < ARRAY_SIZE(t->objects_begin); i++)
        t->objects_begin[i] = t->objects_at;
}

static u64 *begin_of(struct thread *t, u64 at)
{
    u64 buffer = (at - (u64)t->self - TA_RECORDS) / TA_RECORD_STRIDE;

    return buffer < ARRAY_SIZE(t->objects_begin) ? &t->objects_begin[buffer] : NULL;
}

void objtable_buffer_begins(struct thread *t, u64 at)
{
    u64 *begin = begin_of(t, at);

    t->objects_buffers++;
    if (begin)
        *begin = present();
}

void objtable_buffer_replays(struct thread *t, u64 at)
{
    const u64 *begin = begin_of(t, at);

    if (begin && t->objects_at < *begin)
        t->objects_at = *begin;
}

// ---- Objects ----

struct spool_data_object *objtable_at(u32 object)
{
    return (struct spool_data_object *)DATA_BASE + object;
}

static u64 mixed(u64 h, u64 value)
{
    return (h ^ value) * 0x9e3779b97f4a7c15ul ^ h >> 29;
}

static u32 place_of(const struct spool_data_object *o)
{
    u64 h = mixed(mixed(o->kind, o->module), o->start);

    for (u32 i = 0; i < o->sites; i++)
        h = mixed(h, o->site[i]);
    return (u32)(h >> 40) & (INDEX - 1);
}

static bool is_same(const struct spool_data_object *a, const struct spool_data_object *b)
{
    if (a->kind != b->kind || a->module != b->module || a->start != b->start ||
        a->size != b->size || a->sites != b->sites)
        return false;
    for (u32 i = 0; i < a->sites; i++)
        if (a->site[i] != b->site[i])
            return false;
    return true;
}

static u32 append(const struct spool_data_object *like, const char *name)
{
    u32 object = spool->data.objects_used;

    if (object >= SPOOL_DATA_OBJECTS_MAX)
        return 0;
    *objtable_at(object) = *like;
    if (name)
        objtable_at(object)->name = objtable_name(name);
    __atomic_store_n(&spool->data.objects_used, object + 1, __ATOMIC_RELEASE);
    return object;
}

// The number of such an object plus one, and in *place where that is or would be noted. Entries are
// never removed, so without the lock it may miss a new one.
static u32 look_up(const struct spool_data_object *like, u32 *place)
{
    u32 object, i = 0;

    for (*place = place_of(like);
         (object = __atomic_load_n(&table.index[*place], __ATOMIC_ACQUIRE)) && i <= INDEX; i++) {
        if (is_same(objtable_at((object - 1) % SPOOL_DATA_OBJECTS_MAX), like))
            return object;
        *place = (*place + 1) & (INDEX - 1);
    }
    return 0;
}

u32 objtable_known(const struct spool_data_object *like)
{
    u32 place, object = look_up(like, &place);

    return object ? object - 1 : 0;
}

u32 objtable_get(const struct spool_data_object *like, const char *name)
{
    u32 place, object = look_up(like, &place);

    if (object)
        return object - 1;
    if (table.index[place])
        return 0; // the program has written there
    object = append(like, name);
    if (object)
        __atomic_store_n(&table.index[place], object + 1, __ATOMIC_RELEASE);
    return object;
}

static const char *name_at(u32 offset)
{
    return (const char *)(DATA_BASE + SPOOL_DATA_NAMES_OFF + offset);
}

u32 objtable_name(const char *text)
{
    u64 n = strlen(text) + 1, used = spool->data.names_used, h = n;
    u32 *place = NULL;

    for (u64 i = 0; i + 1 < n; i++)
        h = mixed(h, (u8)text[i]);
    for (u32 i = 0; i < NAMES_TRY; i++) {
        place = &table.names[((h >> 40) + i) % NAMES];
        if (!*place)
            break;
        if (strcmp(name_at(*place), text) == 0)
            return *place;
    }
    if (used >= SPOOL_DATA_NAMES_SIZE || n > SPOOL_DATA_NAMES_SIZE - used)
        return 0;
    memcpy((char *)name_at((u32)used), text, n);
    if (!*place)
        *place = (u32)used;
    __atomic_store_n(&spool->data.names_used, used + n, __ATOMIC_RELEASE);
    return (u32)used;
}

void objtable_sites(const struct thread *t, u64 first, struct spool_data_object *o)
{
    const struct spool_frame *f = frames_top(t);
    u64 base = frames_base(t->slot);
    u32 want = spool->data.callers;

    if (first)
        o->site[o->sites++] = first;
    for (; (u64)f >= base && (u64)f - base < SPOOL_DEEP_SIZE && o->sites < want;
         f = frames_below(f)) {
        u64 site = frames_edge(f)->site;

        if (site)
            o->site[o->sites++] = site;
    }
}

// ---- Counts ----

static struct spool_data_count *count_at(u32 i)
{
    return objtable_count_at(i);
}

static u32 count_place(u32 counter, u32 object)
{
    return objtable_place(counter, object) & (table.counts_size - 1);
}

// NULL: there is no space.
static struct spool_data_count *count_append(u32 counter, u32 object)
{
    u32 n = spool->data.counts_used;
    struct spool_data_count *c = count_at(n);

    if (n >= SPOOL_DATA_COUNTS_MAX)
        return NULL;
    *c = (struct spool_data_count){ .counter = counter + 1, .object = object };
    __atomic_store_n(&spool->data.counts_used, n + 1, __ATOMIC_RELEASE);
    return c;
}

// Twice as many places, or more. Whoever is killed meanwhile leaves it to the next one: it has no
// more room than before.
static __attribute__((noinline)) void counts_grow(void)
{
    u32 used = spool->data.counts_used, size = table.counts_size, mask;

    while (size < COUNTS && used > size / 4)
        size *= 2;
    mask = size - 1;
    memset(table.counts, 0, size * sizeof(*table.counts));
    for (u32 i = 0; i < used && i < SPOOL_DATA_COUNTS_MAX; i++) {
        const struct spool_data_count *c = count_at(i);
        u32 place = objtable_place(c->counter - 1, c->object) & mask;

        if (!c->counter)
            continue; // the program has written there
        while (table.counts[place])
            place = (place + 1) & mask;
        table.counts[place] = i + 1;
    }
    table.counts_size = size;
    __atomic_store_n(&table.counts_room, size == COUNTS ? ~0u : size / 2, __ATOMIC_RELEASE);
}

static struct spool_data_count *count_of(u32 counter, u32 object)
{
    struct spool_data_count *c;
    u32 place, mask;

    if (UNLIKELY(spool->data.counts_used > table.counts_room))
        counts_grow();
    place = count_place(counter, object);
    mask = table.counts_size - 1;
    for (u32 i = 0; table.counts[place]; i++, place = (place + 1) & mask) {
        c = count_at((table.counts[place] - 1) % SPOOL_DATA_COUNTS_MAX);
        if (c->counter == counter + 1 && c->object == object)
            return c;
        if (i == COUNTS)
            return NULL; // the program has written there
    }
    c = count_append(counter, object);
    if (c)
        table.counts[place] = (u32)(c - count_at(0)) + 1;
    return c;
}

struct spool_data_count *objtable_count(u32 counter, u32 object, u32 l2, u32 ll)
{
    struct spool_data_count *c = count_of(counter, object);

    if (!c)
        return NULL;
    c->l1++;
    c->l2 += l2;
    c->ll += ll;
    return c;
}

struct spool_data_count *objtable_walk(struct spool_data_count *c)
{
    struct spool_data_count *walk;

    if (!c)
        return NULL;
    if (c->walk && c->walk <= SPOOL_DATA_COUNTS_MAX)
        return count_at(c->walk - 1);
    walk = count_of(insnids_first(c->counter - 1), c->object);
    if (walk)
        c->walk = (u32)(walk - count_at(0)) + 1;
    return walk;
}

// ---- Pairs that have missed lately ----

bool objtable_keep(struct objtable_pair *p, u32 counter, u32 object)
{
    struct spool_data_count *c;

    __atomic_store_n(&p->counter, 0, __ATOMIC_RELEASE);
    c = count_of(counter, object);
    if (!c)
        return false;
    *p = (struct objtable_pair){ .object = object, .count = (u32)(c - count_at(0)) + 1 };
    cells_kind(object, &p->cell.has, &p->cell.large);
    __atomic_store_n(&p->counter, counter + 1, __ATOMIC_RELEASE);
    return true;
}

struct spool_data_count *objtable_add(struct objtable_pair *p, u32 ll)
{
    struct spool_data_count *c = count_at((p->count - 1) % SPOOL_DATA_COUNTS_MAX), *walk;

    c->l1++;
    c->ll += ll;
    if (p->walk)
        return count_at((p->walk - 1) % SPOOL_DATA_COUNTS_MAX);
    walk = objtable_walk(c);
    if (walk)
        p->walk = (u32)(walk - count_at(0)) + 1;
    return walk;
}

void objtable_prefetch(u32 counter, u32 object)
{
    __builtin_prefetch(&table.counts[count_place(counter, object)]);
}

void objtable_prefetch_count(u32 counter, u32 object)
{
    u32 n = table.counts[count_place(counter, object)];
    const u8 *c = (const u8 *)count_at((n - 1) % SPOOL_DATA_COUNTS_MAX);

    for (u64 i = 0; n && i < sizeof(struct spool_data_count); i += 64)
        __builtin_prefetch(c + i, 1);
}

// The other one gets it last: a process that is killed loses it rather than counting it twice.
struct spool_data_count *objtable_move(u32 counter, u32 from, u32 to, u32 l2, u32 ll)
{
    struct spool_data_count *c = count_of(counter, from);

    if (!c || !c->l1 || from == to) // zeroed since
        return c;
    c->l1--;
    c->l2 -= l2;
    c->ll -= ll;
    return objtable_count(counter, to, l2, ll);
}

void objtable_zero(void)
{
    for (u32 i = 0; i < spool->data.counts_used && i < SPOOL_DATA_COUNTS_MAX; i++) {
        struct spool_data_count *c = count_at(i);

        c->l1 = c->l2 = c->ll = 0;
        walks_zero(c);
    }
    cells_zero();
    memset(objtable_pairs, 0, OBJTABLE_PAIRS * sizeof(*objtable_pairs));
    for (u32 i = 0; i < spool->data.objects_used && i < SPOOL_DATA_OBJECTS_MAX; i++)
        objtable_at(i)->cold = objtable_at(i)->fetched = objtable_at(i)->used = 0;
}

void objtable_init(void)
{
    struct spool_data_object unknown = { .kind = SPOOL_DATA_UNKNOWN };

    if (spool->data.callers > SPOOL_DATA_CALLERS_MAX)
        spool->data.callers = SPOOL_DATA_CALLERS_MAX;
    spooler_data_map();
    table.index = heap_pages(INDEX * sizeof(u32));
    table.counts = heap_pages(COUNTS * sizeof(u32));
    table.counts_size = spool->flags & SPOOL_F_NO_HINTS ? COUNTS : COUNTS_AT_FIRST;
    table.counts_room = table.counts_size / 2;
    table.names = heap_pages(NAMES * sizeof(u32));
    objtable_pairs = heap_pages(OBJTABLE_PAIRS * sizeof(*objtable_pairs));
    walks_init();
    spool->data.names_used = 1; // offset 0: none
    append(&unknown, NULL);
}
