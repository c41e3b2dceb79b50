// SPDX-License-Identifier: MIT
// Blocks of allocators (alloc.h).
//
// An allocator may call another one: the outermost call makes the block, so its caller is the first
// in the name of the object. The return of a call is found by its address: where a call returns to
// is noted once, and that block is not linked from then on. A call that is left by longjmp is
// forgotten when its thread is above it.
//
// A block is there from the call on: what calloc() clears and realloc() writes is in it. With
// records its time is that of the call. Without, references are looked up at once: those of a call
// that are in no block are noted, and moved to the block when it is known.
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

// A call that has not returned.
struct alloc_call {
    bool open;
    u8 what;
    u64 sp, ret; // at its first instruction
    u64 size, old, old_born, pointer;
    u64 time;
    u32 object;
    u32 touches;
    struct cells_miss *touch; // NULL with records
};

#define TOUCHES 0x10000u // further ones stay where they are

static struct ranges blocks; // set 0

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
    returns.size = 1024;
    returns.at = heap_alloc(returns.size * sizeof(u64));
}

void alloc_thread_init(struct thread *t)
{
    if (!t->alloc)
        t->alloc = heap_alloc(sizeof(*t->alloc));
    if (!tb_config.recording && !t->alloc->touch)
        t->alloc->touch = heap_pages(TOUCHES * sizeof(struct cells_miss));
    t->alloc->open = false;
    t->alloc->touches = 0;
}

// ---- Blocks ----

bool alloc_waits(const struct thread *t)
{
    return t->alloc->touch && t->alloc->open;
}

bool alloc_missed(const struct thread *t, const struct cells_miss *miss)
{
    struct alloc_call *c = t->alloc;

    if (!alloc_waits(t) || c->touches == TOUCHES)
        return false;
    c->touch[c->touches++] = *miss;
    return true;
}

// The misses of the call are known to be in the block [start, end), or where they were found.
// @holds(objtable's lock)
static void settle_touches(const struct thread *t, u64 start, u64 end, u32 object)
{
    struct alloc_call *c = t->alloc;

    for (u32 i = 0; i < c->touches; i++) {
        struct cells_miss *w = &c->touch[i];
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
    c->touches = 0;
    lineuse_settle(t, start, end, object);
}

static void touches_in_no_block(const struct thread *t)
{
    if (!t->alloc->touches && !lineuse_waits(t))
        return;
    objtable_lock();
    settle_touches(t, 0, 0, 0);
    objtable_unlock();
}

// time: since when it is there; 0: from now on.
static void block_put(struct thread *t, u64 start, u64 bytes, u32 object, u64 time)
{
    u64 now, end = start + (bytes ? bytes : 1);

    objtable_lock();
    now = objtable_tick();
    ranges_put(&blocks, start, end, object, time ? time : now, t->slot);
    if (object)
        lifetimes_block(objtable_at(object), bytes);
    if (time)
        settle_touches(t, start, end, object);
    objtable_unlock();
    objtable_stamp(t);
}

// A block that begins there. born: only if it has been there since; 0: in any case.
static void block_clear(struct thread *t, u64 start, u64 born)
{
    struct ranges_range in;
    bool known;

    objtable_lock();
    known = ranges_now(&blocks, start, &in) && in.start == start && (!born || in.born == born);
    if (known)
        ranges_clear(&blocks, in.start, in.end, objtable_tick());
    objtable_unlock();
    if (known)
        objtable_stamp(t);
}

static u32 object_here(struct thread *t, u64 site)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_HEAP };
    u32 object;

    objtable_sites(t, site, &o);
    objtable_lock();
    object = objtable_get(&o, NULL);
    objtable_unlock();
    return object;
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
    struct spool_data_object o = { .kind = SPOOL_DATA_HEAP };
    struct alloc_call *c = t->alloc;
    struct ranges_range in;

    touches_in_no_block(t);
    *c = (struct alloc_call){
        .what = r->what, .sp = thread_sp(t), .size = size_of(t, r), .touch = c->touch
    };
    if (clientmem_read(&c->ret, c->sp, sizeof(c->ret)))
        return;
    if (r->what == ALLOC_BY_POINTER)
        c->pointer = thread_call_arg(t, 0);
    if (r->what == ALLOC_AGAIN)
        c->old = thread_call_arg(t, 0);
    objtable_sites(t, 0, &o);
    c->object = objtable_known(&o);
    if (!c->object || c->old) {
        objtable_lock();
        if (c->old && ranges_now(&blocks, c->old, &in) && in.start == c->old)
            c->old_born = in.born;
        c->object = objtable_get(&o, NULL);
        objtable_unlock();
    }
    c->time = objtable_tick();
    objtable_stamp(t);
    c->open = true;
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
            block_clear(t, block, 0);
        break;
    default:
        if (!inside)
            open_call(t, r);
    }
}

static void replaced(struct thread *t, const struct alloc_call *c, u64 block)
{
    if (c->old_born && (block ? block != c->old : !c->size))
        block_clear(t, c->old, c->old_born);
    if (block)
        block_put(t, block, c->size, c->object, block == c->old ? 0 : c->time);
}

static void returned(struct thread *t)
{
    struct alloc_call *c = t->alloc;
    u64 block = thread_call_result(t);

    if (!c->open || thread_sp(t) <= c->sp)
        return;
    c->open = false;
    if (t->pc != c->ret || thread_sp(t) != c->sp + sizeof(u64))
        return;
    if (c->what == ALLOC_BY_POINTER &&
        ((u32)block || clientmem_read(&block, c->pointer, sizeof(block))))
        return;
    if (block >> 47)
        return;
    if (c->what == ALLOC_AGAIN)
        replaced(t, c, block);
    else if (block)
        block_put(t, block, c->size, c->object, c->time);
}

static void call_ended(struct thread *t)
{
    returned(t);
    if (!t->alloc->open)
        touches_in_no_block(t);
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
        block_put(t, start, bytes, object_here(t, at), 0);
}

// @holds(objtable's lock)
static void put_more(const struct thread *t, const struct ranges_range *block, u64 end)
{
    if (end <= block->end)
        return;
    ranges_put(&blocks, block->end, end, block->object, objtable_tick(), t->slot | RANGES_PART);
    lifetimes_grown(objtable_at(block->object), end - block->end);
}

void alloc_resized(struct thread *t, u64 start, u64 bytes)
{
    struct ranges_range in;
    bool known;

    if (!tb_config.data || bytes >> 47)
        return;
    objtable_lock();
    known = ranges_now(&blocks, start, &in) && in.start == start;
    if (known && start + bytes < in.end)
        ranges_clear(&blocks, start + bytes, in.end, objtable_tick());
    else if (known)
        put_more(t, &in, start + bytes);
    objtable_unlock();
    if (known)
        objtable_stamp(t);
}

void alloc_freed(struct thread *t, u64 start)
{
    if (tb_config.data)
        block_clear(t, start, 0);
}

void alloc_cleared(struct thread *t, u64 start, u64 end)
{
    if (!tb_config.data)
        return;
    objtable_lock();
    ranges_clear(&blocks, start, end, objtable_tick());
    objtable_unlock();
    objtable_stamp(t);
}
