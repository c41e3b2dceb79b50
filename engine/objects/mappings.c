// SPDX-License-Identifier: MIT
// Mappings as objects (mappings.h).
//
// A module is a range of its own: the linker maps its file, and anonymous memory for the rest of
// its data, in pieces inside of it.
#include "engine/objects/mappings.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/objects/objtable.h"
#include "engine/objects/ranges.h"
#include "engine/objects/statics.h"
#include "engine/spool/config.h"
#include "engine/thread/stopworld.h"

static struct ranges modules = { .set = 1 }, regions = { .set = 2 };
static u32 stack, program, brk, vdso, shared, tls; // objects

u64 mappings_changes;

static u32 only(enum spool_data_kind kind)
{
    return objtable_get(&(struct spool_data_object){ .kind = kind }, NULL);
}

void mappings_init(void)
{
    stack = only(SPOOL_DATA_STACK);
    program = only(SPOOL_DATA_PROGRAM);
    brk = only(SPOOL_DATA_BREAK);
    vdso = only(SPOOL_DATA_VDSO);
    shared = only(SPOOL_DATA_SHARED);
    tls = only(SPOOL_DATA_TLS);
}

// t: whose record gets the new time; NULL: it is there before a thread can refer to it.
static void put(struct thread *t, struct ranges *r, u64 start, u64 end, u32 object)
{
    objtable_lock();
    ranges_put(r, start, end, object, objtable_tick(), t ? t->slot : RANGES_NOBODY);
    objtable_unlock();
    if (t)
        objtable_stamp(t);
}

// ---- Files ----

// The name of the file in fd. False: it has none.
static bool path_of(int fd, char *path, u64 size)
{
    char link[32];
    long n;

    nolibc_format(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = sys_readlinkat(AT_FDCWD, link, path, size - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return true;
}

// A module covers all of its addresses, and stays where later mappings are inside of it. Whether a
// file is one is asked as in a system call: another thread may serve its file system.
static bool put_module(struct thread *t, int fd, const char *path, u64 start, u64 bytes)
{
    u64 low, high;
    u32 module;
    bool is;

    if (t)
        stopworld_blocking_begin(t);
    is = statics_is_module(fd);
    if (t)
        stopworld_blocking_end(t);
    module = is ? statics_load(fd, path, start, bytes, &low, &high) : 0;
    if (module)
        put(t, &modules, low, high, module);
    return module != 0;
}

void mappings_program(int fd, const char *path, u64 start, u64 bytes)
{
    if (tb_config.data)
        put_module(NULL, fd, path, start, bytes);
}

// A descriptor of a file without a name (memfd) has a name in /proc that says so.
void mappings_file(struct thread *t, u64 start, u64 end, int fd, u64 offset)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_FILE };
    struct ranges_range in;
    char path[4096];
    bool inside;
    u32 object;

    if (!tb_config.data)
        return;
    if (!path_of(fd, path, sizeof(path)))
        nolibc_format(path, sizeof(path), "unnamed file");
    objtable_lock();
    inside = ranges_now(&modules, start, &in) && end <= PAGE_UP(in.end);
    o.module = objtable_name(path);
    object = objtable_get(&o, NULL);
    objtable_unlock();
    if (!inside && !offset)
        put_module(t, fd, path, start, end - start);
    put(t, &regions, start, end, object);
    __atomic_add_fetch(&mappings_changes, 1, __ATOMIC_RELEASE);
}

// ---- Other memory ----

void mappings_stack(u64 low, u64 sp, u64 end)
{
    if (!tb_config.data)
        return;
    put(NULL, &regions, low, sp, stack);
    put(NULL, &regions, sp, end, program);
}

// In the mapping of a stack, at most so much is above it, beside the program's thread-local
// variables: those of libraries, and the C library's data.
#define STACK_ABOVE 0x10000u

// A stack with more above it is a piece of something else, and stays that: of what is below it,
// nobody knows where it ends. Threads of Go have theirs in its heap.
void mappings_thread_stack(struct thread *t, u64 sp)
{
    struct ranges_range in;
    bool known;

    if (!tb_config.data)
        return;
    objtable_lock();
    known = ranges_now(&regions, sp - 1, &in);
    objtable_unlock();
    if (known && in.object != stack && in.end - sp <= STACK_ABOVE + statics_tls_bytes())
        put(t, &regions, in.start, in.end, stack);
}

#define TLS_VARIABLES 256u   // of the program; the others have no names
#define TLS_ABOVE     0x900u // glibc's struct pthread; others have less

void mappings_tls(struct thread *t, u64 fs)
{
    u64 low = fs - statics_tls_bytes(), high = fs + TLS_ABOVE, below, size;
    struct ranges_range in;
    u32 object;

    if (!tb_config.data || !statics_tls_bytes())
        return;
    objtable_lock();
    if (ranges_now(&regions, fs - 1, &in)) {
        ranges_put(&regions, low < in.start ? in.start : low, high > in.end ? in.end : high, tls,
                   objtable_tick(), t->slot);
        for (u32 i = 0; i < TLS_VARIABLES && statics_tls(i, &below, &size, &object); i++)
            if (fs - below >= in.start)
                ranges_put(&regions, fs - below, fs - below + size, object, objtable_tick(),
                           t->slot);
    }
    objtable_unlock();
    objtable_stamp(t);
}

void mappings_vdso(u64 start, u64 end)
{
    if (tb_config.data)
        put(NULL, &regions, start, end, vdso);
}

void mappings_anonymous(struct thread *t, u64 start, u64 end)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_ANON };
    u32 object;

    if (!tb_config.data)
        return;
    objtable_sites(t, 0, &o);
    objtable_lock();
    object = objtable_get(&o, NULL);
    objtable_at(object)->blocks++;
    objtable_at(object)->bytes += end - start;
    objtable_unlock();
    put(t, &regions, start, end, object);
}

void mappings_shared(struct thread *t, u64 start, u64 end)
{
    if (tb_config.data)
        put(t, &regions, start, end, shared);
}

void mappings_break(struct thread *t, u64 start, u64 end)
{
    if (tb_config.data)
        put(t, &regions, start, end, brk);
}

void mappings_removed(struct thread *t, u64 start, u64 end)
{
    u64 now;

    if (!tb_config.data)
        return;
    objtable_lock();
    now = objtable_tick();
    ranges_clear(&modules, start, end, now);
    ranges_clear(&regions, start, end, now);
    objtable_unlock();
    objtable_stamp(t);
    __atomic_add_fetch(&mappings_changes, 1, __ATOMIC_RELEASE);
}

// What is moved keeps the object of its beginning.
void mappings_moved(struct thread *t, u64 old, u64 old_end, u64 to, u64 to_end, bool keeps)
{
    struct ranges_range in;
    u64 now;
    u32 object = 0;

    if (!tb_config.data)
        return;
    objtable_lock();
    now = objtable_tick();
    if (ranges_now(&regions, old, &in))
        object = in.object;
    if (old != to && !keeps)
        ranges_clear(&regions, old, old_end, now);
    else if (old == to && to_end < old_end)
        ranges_clear(&regions, to_end, old_end, now);
    ranges_put(&regions, to, to_end, object, now, t->slot);
    objtable_unlock();
    objtable_stamp(t);
}

u32 mappings_find(u64 addr, u64 at, u32 who, struct found *out)
{
    u32 module = ranges_find(&modules, addr, at, who, NULL);

    if (!module)
        return ranges_find(&regions, addr, at, who, out);
    *out = (struct found){ 0 };
    out->object = statics_at(module, addr, &out->start);
    return out->object;
}

void mappings_span(u64 addr, struct ranges_span *span)
{
    struct ranges_range in;

    ranges_span(&modules, addr, span);
    if (ranges_now(&modules, addr, &in))
        statics_span(in.object, addr, span);
    else
        ranges_span(&regions, addr, span);
}
