// SPDX-License-Identifier: MIT
// Blocks of allocators (alloc.h).
//
// An allocator may call another one: the outermost call makes the block, so its caller is the first
// in the name of the object. The return of a call is found by its address: where a call returns to
// is noted once, and that block is not linked from then on. A call that is left by longjmp is
// forgotten when its thread is above it.
//
// A block is there from the call on: what calloc() clears and realloc() writes is in it. While
// there is one thread, its calls and frees are events among its records, and whoever replays these
// changes the blocks, in the order of its references (alloc_in_order; without records both happen
// at once). When the call returns its block is put into the event of its beginning, if that has not
// been replayed; else references of the call that are in no block are noted, and moved to the block
// when it is known. With more threads a change is made at once, and the block's time is that of the
// call.
#include "engine/objects/alloc.h"

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/tcache.h"
#include "engine/objects/cells.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/mappings.h"
#include "engine/objects/objtable.h"
#include "engine/objects/ranges.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

enum what {
    ALLOC_NEW,         // returns a block
    ALLOC_BY_POINTER,  // stores its address where the first argument points, and returns 0
    ALLOC_AGAIN,       // replaces the block in the first argument
    ALLOC_FREE,        // the first argument
    ALLOC_FREE_SECOND, // glib's
};

struct row {
    const char *name;
    u8 what, size, count;
};

#define ROWS_MAX 256u

static struct row row[ROWS_MAX] = {
#define ALLOC(name, what, size, count) { name, what, size, count },
#include "engine/objects/alloc.def"
#undef ALLOC
};
static u32 rows;

// A call that has not returned: what the thread knows of it, and what the changes of the blocks
// need of it, which may come later.
struct alloc_call {
    bool open;
    u8 what;
    u64 sp, ret; // at its first instruction
    u64 old, pointer;
    u64 *record; // of its beginning, NULL: not recorded ...
    u64 buffers; // ... in the buffer with this number

    struct {
        bool open __attribute__((aligned(64))); // in lines of its own: another process may use it
        bool noted;                             // references of it that are in no block are noted
        u8 what;
        u64 size, old, old_born;
        u64 early; // the block is there already, 0: it is not
        u64 time;  // of the call
        u64 last;  // of the last change
        u32 object;
        u32 touches;
        struct cells_miss *touch;
    } change;
};

#define TOUCHES 0x10000u // further ones stay where they are

static struct ranges blocks; // set 0

bool alloc_in_order;
u64 *(*alloc_record)(struct thread *t, const u64 *words, u32 n);
void (*alloc_drain)(struct thread *t);

// Where calls return to. @guarded(the translation lock)
static struct {
    u64 *at;
    u32 size, used;
} returns;

#define POINT_RETURN 0x80000000u // else a row plus one

// ---- Names ----

static bool matches(const char *pattern, const char *name)
{
    for (; *pattern && *pattern != '*'; pattern++, name++)
        if (*pattern != *name)
            return false;
    return *pattern || !*name;
}

static u32 mark(const char *name)
{
    static const char rust[] = "7___rustc";
    const char *end = NULL;

    // Mangled shims of Rust: _RNvCs..._7___rustc12___rust_alloc
    if (name[0] == '_' && name[1] == 'R')
        for (const char *p = name; (p = strchr(p, rust[0])) && !end; p++)
            if (strncmp(p, rust, sizeof(rust) - 1) == 0)
                end = p + sizeof(rust) - 1;
    if (end) {
        while (*end >= '0' && *end <= '9')
            end++;
        name = *end == '_' ? end + 1 : end;
    }
    for (u32 i = 0; i < rows; i++)
        if (matches(row[i].name, name))
            return i + 1;
    return 0;
}

static u32 number(const char **s)
{
    u32 n = 0;

    for (; **s >= '0' && **s <= '9'; (*s)++)
        n = n * 10 + (u32)(**s - '0');
    if (**s == ':')
        (*s)++;
    return n;
}

// The program's own, as the spool has them. They come first: a name may be that of a known one.
static void add_own(void)
{
    const char *s = spooler_string(spool->data.s_functions), *end = s + spool->data.functions_bytes;

    for (; s < end && rows < ROWS_MAX; s += strlen(s) + 1) {
        struct row own = { .what = *s++ == SPOOL_DATA_FREE ? ALLOC_FREE : ALLOC_NEW };

        own.size = (u8)number(&s);
        own.count = (u8)number(&s);
        if (own.what == ALLOC_FREE && own.size == 2)
            own.what = ALLOC_FREE_SECOND;
        own.name = *s == ' ' ? s + 1 : s;
        memmove(row + 1, row, rows * sizeof(*row));
        row[0] = own;
        rows++;
    }
}

void alloc_init(void)
{
    while (rows < ROWS_MAX && row[rows].name)
        rows++;
    add_own();
    functions_mark = mark;
    blocks.granules = !(spool->flags & SPOOL_F_NO_HINTS);
    alloc_in_order = tb_config.recording && !(spool->flags & SPOOL_F_NO_HINTS);
    blocks.present = lineuse_may_wait = alloc_in_order;
    returns.size = 1024;
    returns.at = heap_alloc(returns.size * sizeof(u64));
}

void alloc_thread_init(struct thread *t)
{
    if (!t->alloc)
        t->alloc = heap_pages(sizeof(*t->alloc));
    t->alloc->open = t->alloc->change.open = false;
    t->alloc->change.touches = 0;
    t->alloc->change.noted = alloc_in_order || !tb_config.recording;
    if (t->alloc->change.noted && !t->alloc->change.touch)
        t->alloc->change.touch = heap_pages(TOUCHES * sizeof(struct cells_miss));
}

// ---- Blocks ----

bool alloc_waits(const struct thread *t)
{
    return t->alloc->change.open && t->alloc->change.noted;
}

bool alloc_missed(const struct thread *t, const struct cells_miss *miss)
{
    struct alloc_call *c = t->alloc;

    if (!alloc_waits(t) || c->change.touches == TOUCHES)
        return false;
    c->change.touch[c->change.touches++] = *miss;
    return true;
}

// The misses of the call are known to be in the block [start, end), or where they were found.
// @holds(objtable's lock)
static void settle_touches(const struct thread *t, u64 start, u64 end, u32 object)
{
    struct alloc_call *c = t->alloc;

    for (u32 i = 0; i < c->change.touches; i++) {
        struct cells_miss *w = &c->change.touch[i];
        bool inside = w->addr - start < end - start;
        u32 to = inside ? object : w->object;
        struct spool_data_count *e = objtable_move(w->counter, w->object, to, w->l2, w->ll);

        struct found block;

        if (inside) {
            w->object = object;
            w->start = start;
            if (ranges_find(&blocks, w->addr, ~0ul, t->slot, &block))
                lifetimes_missed(&block, w->addr);
        }
        walks_step(t, objtable_walk(e), w->addr);
        cells_count(w);
    }
    c->change.touches = 0;
    lineuse_settle(t, start, end, object);
}

static bool has_touches(const struct thread *t)
{
    return t->alloc->change.touches || lineuse_waits(t);
}

static u64 end_of(u64 start, u64 bytes)
{
    return start + (bytes ? bytes : 1);
}

static void put(const struct thread *t, u64 start, u64 bytes, u32 object, u64 born)
{
    ranges_put(&blocks, start, end_of(start, bytes), object, born, t->slot);
}

static void note_block(u32 object, u64 bytes)
{
    if (object)
        lifetimes_block(objtable_at(object), bytes);
}

// A block that begins there. born: only if it has been there since; 0: in any case.
static void clear(u64 start, u64 born, u64 now)
{
    struct ranges_range in;

    if (ranges_now(&blocks, start, &in) && in.start == start && (!born || in.born == born))
        ranges_clear(&blocks, in.start, in.end, now);
}

static void open(struct thread *t, const struct alloc_event *e)
{
    struct alloc_call *c = t->alloc;
    struct ranges_range in = { 0 };

    if (has_touches(t))
        settle_touches(t, 0, 0, 0);
    c->change.open = true;
    c->change.what = (u8)(e->word >> ALLOC_WHAT_BIT & 15);
    c->change.object = e->word >> ALLOC_OBJECT_BIT;
    c->change.size = e->a;
    c->change.old = e->b;
    c->change.old_born = c->change.early = 0;
    c->change.time = e->time;
    if (e->b && ranges_now(&blocks, e->b, &in) && in.start == e->b)
        c->change.old_born = in.born;
    // What is replaced is read until the call has returned.
    if (!e->c || (c->change.old_born && e->c < in.end && in.start < end_of(e->c, e->a)))
        return;
    c->change.open = false;
    c->change.early = e->c;
    put(t, e->c, e->a, c->change.object, e->time);
}

static void ended(struct thread *t, u64 block, u64 now)
{
    struct alloc_call *c = t->alloc;
    bool again = c->change.what == ALLOC_AGAIN, in_place = again && block == c->change.old;

    c->change.open = false;
    // In its place it may be smaller: the rest is in no block.
    if (again && c->change.old_born && (block || !c->change.size))
        clear(c->change.old, c->change.old_born, now);
    if (block && block != c->change.early)
        put(t, block, c->change.size, c->change.object, in_place ? now : c->change.time);
    if (block)
        note_block(c->change.object, c->change.size);
    if (!has_touches(t))
        return;
    if (block && !in_place)
        settle_touches(t, block, end_of(block, c->change.size), c->change.object);
    settle_touches(t, 0, 0, 0);
}

static void resize(const struct thread *t, u64 start, u64 end, u64 now)
{
    struct ranges_range in;

    if (!ranges_now(&blocks, start, &in) || in.start != start)
        return;
    if (end < in.end) {
        ranges_clear(&blocks, end, in.end, now);
    } else if (end > in.end) {
        ranges_put(&blocks, in.end, end, in.object, now, t->slot | RANGES_PART);
        lifetimes_grown(objtable_at(in.object), end - in.end);
    }
}

void alloc_apply(struct thread *t, const struct alloc_event *e)
{
    if (e->time <= t->alloc->change.last) // a replay that was killed has done it
        return;
    t->alloc->change.last = e->time;
    switch ((enum alloc_kind)(e->word & ALLOC_KIND_MASK)) {
    case ALLOC_OPENED: open(t, e); break;
    case ALLOC_RETURNED: ended(t, e->a, e->time); break;
    case ALLOC_LEFT:
        t->alloc->change.open = false;
        if (has_touches(t))
            settle_touches(t, 0, 0, 0);
        break;
    case ALLOC_FREED: clear(e->a, 0, e->time); break;
    case ALLOC_BLOCK:
        put(t, e->a, e->b, e->word >> ALLOC_OBJECT_BIT, e->time);
        note_block(e->word >> ALLOC_OBJECT_BIT, e->b);
        break;
    case ALLOC_RESIZED: resize(t, e->a, e->a + e->b, e->time); break;
    case ALLOC_CLEARED: ranges_clear(&blocks, e->a, e->b, e->time); break;
    }
}

// Now, or when the records so far have been replayed: then returns where it is in the records.
static u64 *happens(struct thread *t, enum alloc_kind kind, u32 more, u64 a, u64 b)
{
    struct alloc_event e = { .word = more | kind, .a = a, .b = b };

    if (alloc_in_order && tb_config.counts) {
        u64 words[5] = { (u64)e.word << 32, objtable_tick_alone(), a, b, 0 };

        return alloc_record(t, words, alloc_words(e.word));
    }
    if (alloc_in_order)
        alloc_drain(t);
    if (kind == ALLOC_OPENED && !b && !has_touches(t)) { // changes no block
        e.time = objtable_tick();
        open(t, &e);
    } else {
        objtable_lock();
        e.time = objtable_tick();
        alloc_apply(t, &e);
        objtable_unlock();
    }
    objtable_stamp(t);
    return NULL;
}

void alloc_second_thread(struct thread *t)
{
    if (!tb_config.data || !alloc_in_order)
        return;
    alloc_drain(t);
    alloc_in_order = blocks.present = false;
    objtable_lock();
    settle_touches(t, 0, 0, 0);
    t->alloc->change.noted = false;
    objtable_unlock();
}

static u32 object_of(const struct spool_data_object *o)
{
    u32 object = objtable_known(o);

    if (object)
        return object;
    objtable_lock();
    object = objtable_get(o, NULL);
    objtable_unlock();
    return object;
}

// Objects of some calls, while there is one thread: their counts are in the lines that
// objtable_known() compares, and the process that replays changes them.
#define SITES 512u

static struct {
    u64 site[SPOOL_DATA_CALLERS_MAX];
    u32 sites, object; // 0: none
} sites_of[SITES];

static u32 kept_object_of(const struct spool_data_object *o)
{
    u64 h = 0, bytes = o->sites * sizeof(o->site[0]);

    for (u32 i = 0; i < o->sites; i++)
        h = (h ^ o->site[i]) * 0x9e3779b97f4a7c15ul;
    h = h >> 32 & (SITES - 1);
    if (!sites_of[h].object || sites_of[h].sites != o->sites ||
        memcmp(sites_of[h].site, o->site, bytes)) {
        sites_of[h].sites = o->sites;
        memcpy(sites_of[h].site, o->site, bytes);
        sites_of[h].object = object_of(o);
    }
    return sites_of[h].object;
}

static u32 object_here(struct thread *t, u64 site)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_HEAP };

    objtable_sites(t, site, &o);
    return alloc_in_order ? kept_object_of(&o) : object_of(&o);
}

u32 alloc_find(u64 addr, u64 at, u32 who, struct found *out)
{
    return ranges_find(&blocks, addr, at, who, out);
}

void alloc_span(u64 addr, struct ranges_span *span)
{
    ranges_span(&blocks, addr, span);
}

// ---- Points ----

static u64 *return_at(u64 *at, u32 size, u64 pc)
{
    u32 i = (u32)(pc * 0x9e3779b97f4a7c15ul >> 40) & (size - 1);

    while (at[i] && at[i] != pc)
        i = (i + 1) & (size - 1);
    return &at[i];
}

static void returns_grow(void)
{
    u32 size = returns.size * 2;
    u64 *at = heap_alloc(size * sizeof(u64));

    for (u32 i = 0; i < returns.size; i++)
        if (returns.at[i])
            *return_at(at, size, returns.at[i]) = returns.at[i];
    heap_free(returns.at, returns.size * sizeof(u64));
    returns.at = at;
    returns.size = size;
}

// Fragments that are linked to the block there are left by no link from now on.
static void note_return(u64 pc)
{
    static u64 last[256]; // some that have been noted: these need no lock
    u64 *known = &last[(pc * 0x9e3779b97f4a7c15ul >> 40) % ARRAY_SIZE(last)], *at;
    bool is_new;

    if (__atomic_load_n(known, __ATOMIC_RELAXED) == pc)
        return;
    tcache_lock();
    at = return_at(returns.at, returns.size, pc);
    is_new = *at != pc;
    if (is_new) {
        *at = pc;
        if (++returns.used > returns.size / 2)
            returns_grow();
    }
    tcache_unlock();
    if (is_new)
        tcache_invalidate(pc, pc + 1);
    __atomic_store_n(known, pc, __ATOMIC_RELAXED);
}

// What the functions at some addresses are, as of a number of mappings_changes.
#define KNOWN 4096u

static struct {
    u64 pc, changes;
    u32 mark;
} points[KNOWN]; // @guarded(the translation lock)

u32 alloc_point(u64 pc)
{
    u64 changes = __atomic_load_n(&mappings_changes, __ATOMIC_ACQUIRE) + 1;
    u32 i = (u32)(pc * 0x9e3779b97f4a7c15ul >> 40) % KNOWN;
    struct function f;

    if (*return_at(returns.at, returns.size, pc) == pc)
        return POINT_RETURN;
    if (points[i].pc == pc && points[i].changes == changes)
        return points[i].mark;
    f = functions_at(pc);
    points[i].pc = pc;
    points[i].changes = changes;
    points[i].mark = f.start == pc ? f.mark : 0;
    return points[i].mark;
}

static u64 argument(const struct thread *t, u32 number)
{
    return number && number <= 6 ? thread_call_arg(t, number - 1) : 1;
}

// What does not fit into the address space cannot be allocated.
static u64 size_of(const struct thread *t, const struct row *r)
{
    u64 size = argument(t, r->size), count = argument(t, r->count);

    return __builtin_mul_overflow(size, count, &size) || size >> 47 ? 0 : size;
}

static void open_call(struct thread *t, const struct row *r)
{
    struct alloc_call *c = t->alloc;

    c->open = false;
    c->what = r->what;
    c->sp = thread_sp(t);
    c->pointer = r->what == ALLOC_BY_POINTER ? thread_call_arg(t, 0) : 0;
    c->old = r->what == ALLOC_AGAIN ? thread_call_arg(t, 0) : 0;
    if (clientmem_read(&c->ret, c->sp, sizeof(c->ret))) {
        happens(t, ALLOC_LEFT, 0, 0, 0);
        return;
    }
    c->open = true;
    c->record = happens(t, ALLOC_OPENED,
                        object_here(t, 0) << ALLOC_OBJECT_BIT | (u32)r->what << ALLOC_WHAT_BIT,
                        size_of(t, r), c->old);
    c->buffers = t->objects_buffers;
    note_return(c->ret);
}

static void entered(struct thread *t, const struct row *r)
{
    struct alloc_call *c = t->alloc;
    bool inside = c->open && thread_sp(t) < c->sp;
    u64 block;

    switch (r->what) {
    case ALLOC_FREE:
    case ALLOC_FREE_SECOND:
        block = thread_call_arg(t, r->what == ALLOC_FREE_SECOND);
        if (block && !(inside && c->what == ALLOC_AGAIN && c->old == block))
            happens(t, ALLOC_FREED, 0, block, 0);
        break;
    default:
        if (!inside)
            open_call(t, r);
    }
}

// Whether the call has returned to its caller, and the block that it has made; 0: none.
static bool has_returned(const struct thread *t, u64 *block)
{
    const struct alloc_call *c = t->alloc;

    *block = thread_call_result(t);
    if (t->pc != c->ret || thread_sp(t) != c->sp + sizeof(u64))
        return false;
    if (c->what == ALLOC_BY_POINTER &&
        ((u32)*block || clientmem_read(block, c->pointer, sizeof(*block))))
        return false;
    return !(*block >> 47);
}

static void call_ended(struct thread *t)
{
    struct alloc_call *c = t->alloc;
    u64 block;

    if (!c->open || thread_sp(t) <= c->sp)
        return;
    c->open = false;
    if (has_returned(t, &block)) {
        if (c->record && c->buffers == t->objects_buffers) // it has not been replayed
            __atomic_store_n(&c->record[4], block, __ATOMIC_RELAXED);
        happens(t, ALLOC_RETURNED, 0, block, 0);
    } else {
        happens(t, ALLOC_LEFT, 0, 0, 0);
    }
}

void alloc_reached(struct thread *t, u32 point)
{
    if (point == POINT_RETURN)
        call_ended(t);
    else
        entered(t, &row[point - 1]);
}

// ---- Requests ----

void alloc_block(struct thread *t, u64 at, u64 start, u64 bytes)
{
    if (tb_config.data && start && !(start >> 47) && !(bytes >> 47))
        happens(t, ALLOC_BLOCK, object_here(t, at) << ALLOC_OBJECT_BIT, start, bytes);
}

void alloc_resized(struct thread *t, u64 start, u64 bytes)
{
    if (tb_config.data && !(bytes >> 47))
        happens(t, ALLOC_RESIZED, 0, start, bytes);
}

void alloc_freed(struct thread *t, u64 start)
{
    if (tb_config.data)
        happens(t, ALLOC_FREED, 0, start, 0);
}

void alloc_cleared(struct thread *t, u64 start, u64 end)
{
    if (tb_config.data)
        happens(t, ALLOC_CLEARED, 0, start, end);
}
