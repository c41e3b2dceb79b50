// SPDX-License-Identifier: MIT
// engine/objects/alloc.c, mappings.c and objects.c: which object is where after calls of allocators
// and changes of mappings. The table of objects is this file's: an object's number is that of its
// first site, or 10000 plus its kind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/frames.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/tcache.h"
#include "engine/objects/alloc.h"
#include "engine/objects/cells.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/mappings.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/ranges.h"
#include "engine/objects/sharing.h"
#include "engine/objects/statics.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "tests/unit/objects/lineuse_none.h"

// fcntl.h has other names of what base/sys.h has.
int open(const char *path, int flags, ...);

#define OF(kind) (10000u + SPOOL_DATA_##kind)
#define PATH     5000u // number of a file's name
#define MODULE   6000u // object of an address of the module

// ---- What is not under test ----

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config = { .data = true, .recording = true, .counts = true };
struct frames frames;
u32 (*functions_mark)(const char *name);
static u8 owner[16];

static struct {
    u32 counter, object, l2, ll, times;
} counted;
static struct spool_data_object made[20000];
static u64 now, stamps, site, returned_at, dropped;
static char own_functions[] = "a2:3 take\0f1:0 give\0f2:0 give_second\0a1:0 pool_*";

const char *spooler_string(u32 offset)
{
    return offset == 1 ? own_functions : "";
}

const u8 *calls_owner(u64 *totals)
{
    *totals = 0;
    return owner;
}

void objtable_init(void) {}
void objtable_lock(void) {}
void objtable_unlock(void) {}
void objtable_thread_init(struct thread *t)
{
    (void)t;
}

u64 objtable_now(void)
{
    return now;
}

u64 objtable_tick_alone(void)
{
    assert_true(alloc_in_order);
    return ++now;
}

u64 objtable_tick(void)
{
    return ++now;
}

void objtable_stamp(struct thread *t)
{
    t->objects_at = now;
    stamps++;
}

u32 objtable_name(const char *text)
{
    assert_non_null(strstr(text, "test_alloc"));
    return PATH;
}

u32 objtable_known(const struct spool_data_object *like)
{
    (void)like;
    return 0;
}

u32 objtable_get(const struct spool_data_object *like, const char *name)
{
    (void)name;
    return like->sites ? (u32)like->site[0] : like->module ? like->module : 10000 + like->kind;
}

struct spool_data_object *objtable_at(u32 object)
{
    return &made[object];
}

void objtable_sites(const struct thread *t, u64 first, struct spool_data_object *o)
{
    (void)t;
    o->sites = site || first;
    o->site[0] = first ? first : site;
}

static struct spool_data_count entry;

struct spool_data_count *objtable_count(u32 counter, u32 object, u32 l2, u32 ll)
{
    counted.counter = counter;
    counted.object = object;
    counted.l2 = l2;
    counted.ll = ll;
    counted.times++;
    entry.object = object;
    return &entry;
}

struct spool_data_count *objtable_walk(struct spool_data_count *c)
{
    return c;
}

static struct {
    u64 addr;
    u32 object, times;
} walked;

void walks_step(const struct thread *t, struct spool_data_count *c, u64 addr)
{
    (void)t;
    assert_ptr_equal(c, &entry);
    walked.addr = addr;
    walked.object = c->object;
    walked.times++;
}

static struct {
    u32 counter, from, to, ll, times;
} moved;

struct spool_data_count *objtable_move(u32 counter, u32 from, u32 to, u32 l2, u32 ll)
{
    (void)l2;
    moved.counter = counter;
    moved.from = from;
    moved.to = to;
    moved.ll = ll;
    moved.times++;
    entry.object = to;
    return &entry;
}

static u32 missed;

void lifetimes_init(void) {}

u32 (*sharing_find)(const struct thread *t, u64 addr, u64 *start);
void sharing_init(void) {}

void lifetimes_block(struct spool_data_object *o, u64 bytes)
{
    o->blocks++;
    o->bytes += bytes;
}

void lifetimes_grown(struct spool_data_object *o, u64 bytes)
{
    o->bytes += bytes;
}

void lifetimes_missed(const struct found *block, u64 addr)
{
    assert_in_range(addr, block->start, block->end - 1);
    missed++;
}

u64 lifetimes_start(const struct found *block)
{
    return block->start;
}

static struct cells_miss in_cell;
static u32 in_cells;

void cells_init(void) {}

void cells_count(const struct cells_miss *miss)
{
    in_cell = *miss;
    in_cells++;
}

static u32 blocking;

void stopworld_blocking_begin(struct thread *t)
{
    (void)t;
    assert_int_equal(blocking++, 0);
}

void stopworld_blocking_end(struct thread *t)
{
    (void)t;
    assert_int_equal(--blocking, 0);
}

bool statics_is_module(int fd)
{
    assert_int_equal(fd < 0, 0);
    return blocking == 1; // another thread may serve its file system
}

u32 statics_load(int fd, const char *path, u64 start, u64 bytes, u64 *low, u64 *high)
{
    (void)fd, (void)path;
    assert_int_equal(blocking, 0);
    *low = start;
    *high = start + 0x8000;
    return bytes >= 0x8000;
}

u64 statics_tls_bytes(void)
{
    return 0x100;
}

bool statics_tls(u32 i, u64 *below, u64 *size, u32 *object)
{
    *below = 0x40;
    *size = 8;
    *object = 7000;
    return i == 0;
}

u32 statics_at(u32 module, u64 addr, u64 *start)
{
    assert_int_equal(module, 1);
    *start = addr - 5;
    return MODULE;
}

void statics_span(u32 module, u64 addr, struct ranges_span *span)
{
    (void)module;
    span->start = span->end = addr;
}

static u32 mark_of_pc; // of every function

struct function functions_at(u64 addr)
{
    return (struct function){ .start = addr & ~0xffful, .mark = mark_of_pc };
}

int clientmem_read(void *to, u64 addr, u64 n)
{
    assert_int_equal(n, 8);
    if (addr == 0xbad)
        return -1;
    *(u64 *)to = returned_at;
    return 0;
}

void tcache_lock(void) {}
void tcache_unlock(void) {}
void tcache_invalidate(u64 start, u64 end)
{
    assert_int_equal(end, start + 1);
    dropped = start;
}

// ---- Calls ----

static struct thread main_thread, other = { .slot = 1 };

// t calls a function of this name from `from`, with the stack pointer sp at its first instruction.
static void enter(struct thread *t, const char *name, u64 from, u64 sp, u64 a, u64 b, u64 c)
{
    u32 point;

    mark_of_pc = functions_mark(name);
    assert_int_not_equal(mark_of_pc, 0);
    site = from;
    returned_at = from + 5;
    t->pc = 0x1000ul * mark_of_pc;
    t->regs[R_RSP] = sp;
    t->regs[R_RDI] = a;
    t->regs[R_RSI] = b;
    t->regs[R_RDX] = c;
    point = alloc_point(t->pc);
    assert_int_not_equal(point, 0);
    assert_int_equal(alloc_point(t->pc + 1), 0); // not its first instruction
    alloc_reached(t, point);
}

static void leave(struct thread *t, u64 from, u64 sp, u64 result)
{
    mark_of_pc = 0;
    t->pc = from + 5;
    t->regs[R_RSP] = sp + 8;
    t->regs[R_RAX] = result;
    alloc_reached(t, alloc_point(t->pc));
}

static void call(const char *name, u64 from, u64 a, u64 b, u64 c, u64 result)
{
    enter(&main_thread, name, from, 0x90000, a, b, c);
    leave(&main_thread, from, 0x90000, result);
}

static u32 at(u64 addr)
{
    return alloc_find(addr, now, 0, NULL);
}

static void is_block(u64 start, u64 bytes, u32 object)
{
    assert_int_equal(at(start), object);
    assert_int_equal(at(start + bytes - 1), object);
    assert_int_not_equal(at(start + bytes), object);
    assert_int_not_equal(at(start - 1), object);
}

static void sizes(void **state)
{
    (void)state;
    call("malloc", 100, 40, 0, 0, 0x10000);
    is_block(0x10000, 40, 100);
    assert_int_equal(dropped, 105); // where it returns to
    call("calloc", 200, 10, 7, 0, 0x11000);
    is_block(0x11000, 70, 200);
    call("memalign", 300, 64, 100, 0, 0x12000);
    is_block(0x12000, 100, 300);
    call("_Znwm", 400, 24, 0, 0, 0x13000);
    is_block(0x13000, 24, 400);
    call("_ZnamSt11align_val_tRKSt9nothrow_t", 500, 32, 64, 0, 0x14000);
    is_block(0x14000, 32, 500);
    call("malloc", 600, 0, 0, 0, 0x15000); // has an address
    is_block(0x15000, 1, 600);
    call("take", 700, 99, 3, 5, 0x16000); // --data-alloc=take:2:3
    is_block(0x16000, 15, 700);
    call("pool_get", 800, 8, 0, 0, 0x17000); // pool_*:1
    is_block(0x17000, 8, 800);
    call("_RNvCsabc_7___rustc12___rust_alloc", 900, 56, 8, 0, 0x18000);
    is_block(0x18000, 56, 900);
    assert_int_equal(made[900].blocks, 1);
    assert_int_equal(made[900].bytes, 56);
    call("malloc", 1000, 64, 0, 0, 0); // fails
    assert_int_equal(made[1000].blocks, 0);
    call("calloc", 1100, 1ul << 40, 1ul << 40, 0, 0); // overflows
    assert_int_equal(functions_mark("malloc_usable_size"), 0);
    assert_int_equal(functions_mark("xmalloc"), 0);
    assert_int_equal(functions_mark("_Znwx"), 0);
    assert_int_equal(functions_mark("_ZnwmPv"), 0); // at a place that is there
}

static void frees(void **state)
{
    (void)state;
    call("malloc", 100, 40, 0, 0, 0x20000);
    enter(&main_thread, "free", 120, 0x90000, 0x20010, 0, 0); // inside of the block: not its
    is_block(0x20000, 40, 100);
    enter(&main_thread, "free", 120, 0x90000, 0x20000, 0, 0);
    assert_int_equal(at(0x20000), 0);
    assert_int_equal(alloc_find(0x20000, now - 1, 0, NULL), 100); // as of then
    enter(&main_thread, "free", 120, 0x90000, 0x20000, 0, 0);     // again
    enter(&main_thread, "free", 120, 0x90000, 0, 0, 0);
    call("malloc", 100, 40, 0, 0, 0x20000);
    enter(&main_thread, "give_second", 130, 0x90000, 1, 0x20000, 0);
    assert_int_equal(at(0x20000), 0);
    call("malloc", 100, 40, 0, 0, 0x20000);
    enter(&other, "_ZdlPvm", 130, 0x80000, 0x20000, 40, 0); // in another thread
    assert_int_equal(at(0x20000), 0);
}

static void again(void **state)
{
    (void)state;
    call("malloc", 100, 40, 0, 0, 0x30000);
    call("realloc", 110, 0x30000, 80, 0, 0x30000); // grows in place
    is_block(0x30000, 80, 110);
    call("realloc", 115, 0x30000, 60, 0, 0x30000); // shrinks
    is_block(0x30000, 60, 115);
    assert_int_equal(at(0x30000 + 70), 0);
    call("realloc", 110, 0x30000, 80, 0, 0x30000);
    call("realloc", 120, 0x30000, 200, 0, 0x31000); // moves
    is_block(0x31000, 200, 120);
    assert_int_equal(at(0x30000), 0);
    call("realloc", 130, 0x31000, 300, 0, 0); // fails: the old one stays
    is_block(0x31000, 200, 120);
    call("reallocarray", 140, 0x31000, 10, 9, 0x32000);
    is_block(0x32000, 90, 140);
    call("realloc", 150, 0x32000, 0, 0, 0); // frees
    assert_int_equal(at(0x32000), 0);
    call("realloc", 160, 0, 16, 0, 0x33000); // malloc
    is_block(0x33000, 16, 160);
    // another thread gets the old address before realloc returns
    call("malloc", 100, 40, 0, 0, 0x34000);
    enter(&main_thread, "realloc", 170, 0x90000, 0x34000, 400, 0);
    enter(&other, "malloc", 180, 0x80000, 40, 0, 0);
    leave(&other, 180, 0x80000, 0x34000);
    leave(&main_thread, 170, 0x90000, 0x35000);
    is_block(0x34000, 40, 180);
    is_block(0x35000, 400, 170);
}

// The outermost call counts; free of the old block inside of realloc is realloc's.
static void nested(void **state)
{
    (void)state;
    enter(&main_thread, "_Znwm", 100, 0x90000, 48, 0, 0);
    enter(&main_thread, "malloc", 110, 0x8ff00, 64, 0, 0);
    leave(&main_thread, 110, 0x8ff00, 0x40000);
    leave(&main_thread, 100, 0x90000, 0x40000);
    is_block(0x40000, 48, 100);
    enter(&main_thread, "realloc", 120, 0x90000, 0x40000, 500, 0);
    enter(&main_thread, "free", 130, 0x8ff00, 0x40000, 0, 0);
    is_block(0x40000, 48, 100); // it is read until realloc has returned
    leave(&main_thread, 120, 0x90000, 0x41000);
    assert_int_equal(at(0x40000), 0);
    is_block(0x41000, 500, 120);
    // a longjmp out of malloc: the next call is above it
    enter(&main_thread, "malloc", 140, 0x8f000, 64, 0, 0);
    call("malloc", 150, 24, 0, 0, 0x42000);
    is_block(0x42000, 24, 150);
    // or its caller's caller returns to where malloc would
    enter(&main_thread, "malloc", 140, 0x8f000, 64, 0, 0);
    leave(&main_thread, 140, 0x90000, 0x43000);
    assert_int_equal(at(0x43000), 0);
}

static void requests(void **state)
{
    (void)state;
    alloc_block(&main_thread, 100, 0x50000, 100);
    is_block(0x50000, 100, 100);
    alloc_resized(&main_thread, 0x50000, 50);
    is_block(0x50000, 50, 100);
    alloc_resized(&main_thread, 0x50000, 150);
    is_block(0x50000, 150, 100);
    alloc_resized(&main_thread, 0x50010, 10); // no block begins there
    is_block(0x50000, 150, 100);
    // a block inside of a block
    alloc_block(&main_thread, 110, 0x50040, 16);
    is_block(0x50040, 16, 110);
    assert_int_equal(at(0x50050), 100);
    alloc_freed(&main_thread, 0x50000);
    assert_int_equal(at(0x50000), 0);
}

// ---- Mappings ----

static struct found found;

static u32 map(u64 addr)
{
    return mappings_find(addr, now, 0, &found);
}

static void mappings(void **state)
{
    int fd = open("/proc/self/exe", O_RDONLY);

    (void)state;
    mappings_stack(0x7f0000, 0x7ff000, 0x800000);
    assert_int_equal(map(0x7f0000), OF(STACK));
    assert_int_equal(map(0x7fefff), OF(STACK));
    assert_int_equal(map(0x7ff000), OF(PROGRAM));
    assert_int_equal(map(0x800000), 0);
    mappings_break(&main_thread, 0x400000, 0x420000);
    assert_int_equal(map(0x41ffff), OF(BREAK));
    mappings_removed(&main_thread, 0x410000, 0x420000);
    assert_int_equal(map(0x40ffff), OF(BREAK));
    assert_int_equal(map(0x410000), 0);
    site = 42;
    mappings_anonymous(&main_thread, 0x500000, 0x504000);
    assert_int_equal(map(0x500000), 42);
    assert_int_equal(made[42].bytes, 0x4000);
    mappings_moved(&main_thread, 0x500000, 0x504000, 0x600000, 0x608000, false);
    assert_int_equal(map(0x500000), 0);
    assert_int_equal(map(0x607fff), 42);
    mappings_moved(&main_thread, 0x600000, 0x608000, 0x600000, 0x602000, false); // shrinks
    assert_int_equal(map(0x601fff), 42);
    assert_int_equal(map(0x602000), 0);
    mappings_moved(&main_thread, 0x600000, 0x602000, 0x700000, 0x702000, true);
    assert_int_equal(map(0x600000), 42);
    assert_int_equal(map(0x700000), 42);
    mappings_shared(&main_thread, 0x900000, 0x901000);
    assert_int_equal(map(0x900000), OF(SHARED));
    // a file, and a module: from its beginning, as a whole; what is mapped inside belongs to it
    mappings_file(&main_thread, 0xa00000, 0xa01000, fd, 0);
    assert_int_equal(map(0xa00000), PATH);
    mappings_file(&main_thread, 0xb00000, 0xb08000, fd, 0);
    mappings_file(&main_thread, 0xb02000, 0xb04000, fd, 0x2000);
    mappings_anonymous(&main_thread, 0xb07000, 0xb08000);
    assert_int_equal(map(0xb00000), MODULE);
    assert_int_equal(map(0xb07fff), MODULE);
    mappings_removed(&main_thread, 0xb00000, 0xb08000);
    assert_int_equal(map(0xb00000), 0);
    // a thread's stack is all of its mapping
    mappings_anonymous(&main_thread, 0xc00000, 0xc80000);
    mappings_thread_stack(&main_thread, 0xc7f000);
    assert_int_equal(map(0xc00000), OF(STACK));
    assert_int_equal(map(0xc7ffff), OF(STACK));
    // its thread-local variables, of which one has a name, and the C library's data above them
    mappings_tls(&main_thread, 0xc7f000);
    assert_int_equal(map(0xc7eeff), OF(STACK));
    assert_int_equal(map(0xc7ef00), OF(TLS));
    assert_int_equal(map(0xc7efbf), OF(TLS));
    assert_int_equal(map(0xc7efc0), 7000);
    assert_int_equal(map(0xc7efc7), 7000);
    assert_int_equal(map(0xc7efc8), OF(TLS));
    assert_int_equal(map(0xc7f8ff), OF(TLS));
    assert_int_equal(map(0xc7f900), OF(STACK));
    // a stack inside of a mapping is none: 64 KiB are above it, and 256 bytes of variables
    mappings_anonymous(&main_thread, 0xe00000, 0xe80000);
    mappings_thread_stack(&main_thread, 0xe80000 - 0x10000 - 0x101);
    assert_int_equal(map(0xe00000), site);
    mappings_thread_stack(&main_thread, 0xe80000 - 0x10000 - 0x100);
    assert_int_equal(map(0xe00000), OF(STACK));
    mappings_tls(&main_thread, 0xd00000); // nothing is mapped there
    assert_int_equal(map(0xcfffff), 0);
    close(fd);
}

// ---- Misses ----

static void misses(void **state)
{
    u32 before;

    (void)state;
    frames.place[SPOOL_E_D1MR] = 3;
    frames.place[SPOOL_E_D1MW] = 4;
    owner[1] = 3;
    owner[2] = 4;
    owner[5] = 9; // of a fetch
    call("malloc", 100, 40, 0, 0, 0x60000);
    before = counted.times;
    main_thread.objects_at = now;
    objects_missed(&main_thread, 0x60010, 1, 1, 0);
    assert_int_equal(counted.object, 100);
    assert_int_equal(counted.counter, 1);
    assert_int_equal(counted.l2, 1);
    assert_int_equal(counted.ll, 0);
    objects_missed(&main_thread, 0x61000, 2, 1, 1);
    assert_int_equal(counted.object, 0);
    assert_int_equal(counted.ll, 1);
    objects_missed(&main_thread, 0x60010, 5, 0, 0);
    assert_int_equal(counted.times, before + 2);
    // as of the reference, not of its simulation
    enter(&main_thread, "free", 120, 0x90000, 0x60000, 0, 0);
    main_thread.objects_at = now - 1;
    objects_missed(&main_thread, 0x60010, 1, 0, 0);
    assert_int_equal(counted.object, 100);
    tb_config.recording = false; // simulated at once
    objects_missed(&main_thread, 0x60010, 1, 0, 0);
    assert_int_equal(counted.object, 0);
    tb_config.recording = true;
    tb_config.data = false;
    before = counted.times;
    objects_missed(&main_thread, 0x60010, 1, 0, 0);
    assert_int_equal(counted.times, before);
    tb_config.data = true;
}

// What an allocator touches of the block that it returns is in that block.
static void touched(void **state)
{
    static struct thread alone = { .slot = 2 };
    u64 time;

    (void)state;
    enter(&main_thread, "calloc", 100, 0x90000, 10, 64, 0);
    time = main_thread.objects_at;
    leave(&main_thread, 100, 0x90000, 0x70000);
    assert_int_equal(alloc_find(0x70000, time, 0, NULL), 100);
    assert_int_equal(alloc_find(0x70000, time - 1, 0, NULL), 0);
    // without records
    tb_config.recording = false;
    objects_thread_init(&alone);
    in_cells = missed = 0;
    objects_missed(&alone, 0x74000, 1, 0, 1); // before the call
    enter(&alone, "calloc", 200, 0x90000, 10, 64, 0);
    objects_missed(&alone, 0x74000, 1, 0, 1);
    objects_missed(&alone, 0x74000 + 640, 1, 0, 1); // behind it
    walked.times = 0;
    objects_missed(&alone, 0x70000, 1, 0, 1); // in another block
    assert_int_equal(moved.times, 0);
    assert_int_equal(walked.times, 1); // the walk of the others is not known yet
    assert_int_equal(walked.object, 100);
    leave(&alone, 200, 0x90000, 0x74000);
    assert_int_equal(moved.times, 2); // the second one stays where it was
    assert_int_equal(moved.counter, 1);
    assert_int_equal(moved.from, 0);
    assert_int_equal(moved.to, 0);
    assert_int_equal(moved.ll, 1);
    assert_int_equal(missed, 2);   // in another block, and in this one
    assert_int_equal(in_cells, 4); // before the call, in another block; then these
    assert_int_equal(in_cell.addr, 0x74000 + 640);
    assert_int_equal(in_cell.object, 0);
    assert_int_equal(walked.times, 3);
    assert_int_equal(walked.addr, 0x74000 + 640);
    assert_int_equal(walked.object, 0);
    // a call that returns nothing, and one that is left: they are where they were
    enter(&alone, "malloc", 210, 0x90000, 64, 0, 0);
    objects_missed(&alone, 0x75000, 1, 0, 1);
    leave(&alone, 210, 0x90000, 0);
    assert_int_equal(walked.times, 4);
    assert_int_equal(walked.addr, 0x75000);
    enter(&alone, "malloc", 210, 0x90000, 64, 0, 0);
    objects_missed(&alone, 0x76000, 1, 0, 1);
    assert_int_equal(walked.times, 4);
    enter(&alone, "malloc", 210, 0x91000, 64, 0, 0);
    assert_int_equal(walked.times, 5);
    assert_int_equal(walked.addr, 0x76000);
    tb_config.recording = true;
}

// ---- In the order of the references ----

static struct thread single = { .slot = 3 };
static u64 recorded[64][5];
static u32 nrecorded, replayed;

static u64 *record(struct thread *t, const u64 *words, u32 n)
{
    assert_ptr_equal(t, &single);
    assert_int_equal(n, alloc_words((u32)(words[0] >> 32)));
    assert_int_equal((u32)words[0], 0);
    return memcpy(recorded[nrecorded++], words, n * sizeof(*words));
}

static void replay(u32 n)
{
    for (; n && replayed < nrecorded; n--, replayed++) {
        const u64 *w = recorded[replayed];
        struct alloc_event e = { (u32)(w[0] >> 32), w[1], w[2], w[3], w[4] };

        single.objects_at = e.time;
        alloc_apply(&single, &e);
    }
}

static void drain(struct thread *t)
{
    assert_ptr_equal(t, &single);
    replay(~0u);
}

static int begin_in_order(void **state)
{
    (void)state;
    alloc_in_order = true;
    alloc_record = record;
    alloc_drain = drain;
    objects_thread_init(&single);
    stamps = nrecorded = replayed = 0;
    memset(recorded, 0, sizeof(recorded));
    made[100].blocks = made[110].blocks = 0;
    return 0;
}

// A block is in the event of its call's beginning, if it is known when that is replayed: there is
// nothing to move then.
static void known_early(void **state)
{
    (void)state;
    enter(&single, "calloc", 100, 0x90000, 10, 64, 0);
    leave(&single, 100, 0x90000, 0x88000);
    enter(&single, "realloc", 110, 0x90000, 0x88000, 700, 0);
    leave(&single, 110, 0x90000, 0x89000);
    assert_int_equal(recorded[0][4], 0x88000);
    replay(1);
    is_block(0x88000, 640, 100);
    assert_int_equal(made[100].blocks, 0); // it has not returned
    moved.times = 0;
    objects_missed(&single, 0x88000, 1, 0, 1);
    assert_int_equal(counted.object, 100);
    assert_int_equal(moved.times, 0);
    replay(1);
    is_block(0x88000, 640, 100);
    assert_int_equal(made[100].blocks, 1);
    replay(1);
    is_block(0x88000, 640, 100); // it is read until realloc has returned
    is_block(0x89000, 700, 110);
    replay(1);
    assert_int_equal(at(0x88000), 0);
    is_block(0x89000, 700, 110);
    assert_int_equal(made[110].blocks, 1);
    // in its place, and to a place that the old one has a part of
    enter(&single, "realloc", 120, 0x90000, 0x89000, 800, 0);
    leave(&single, 120, 0x90000, 0x89000);
    enter(&single, "realloc", 130, 0x90000, 0x89000, 900, 0);
    leave(&single, 130, 0x90000, 0x89100);
    replay(1);
    is_block(0x89000, 700, 110);
    replay(1);
    is_block(0x89000, 800, 120);
    replay(1);
    is_block(0x89000, 800, 120);
    replay(1);
    is_block(0x89100, 900, 130);
    assert_int_equal(at(0x89000), 0);
    // its beginning has been replayed, and the buffer is used again
    enter(&single, "malloc", 140, 0x90000, 64, 0, 0);
    replay(1);
    single.objects_buffers++;
    recorded[nrecorded - 1][4] = 77;
    leave(&single, 140, 0x90000, 0x8a000);
    assert_int_equal(recorded[nrecorded - 2][4], 77);
    replay(1);
    is_block(0x8a000, 64, 140);
    alloc_second_thread(&single);
}

// Names of calls that were kept are those of the same calls.
static void same_sites(void **state)
{
    (void)state;
    for (u32 twice = 0; twice < 2; twice++)
        for (site = 1; site < 9000; site++) {
            nrecorded = 0;
            alloc_block(&single, 0, 0x8b000, 8);
            assert_int_equal(recorded[0][0] >> 32 >> ALLOC_OBJECT_BIT, site);
        }
    site = nrecorded = 0; // no call is open
    alloc_block(&single, 0, 0x8b000, 8);
    assert_int_equal(recorded[0][0] >> 32 >> ALLOC_OBJECT_BIT, OF(HEAP));
    replayed = nrecorded = 0;
    alloc_second_thread(&single);
}

// Else what an allocator touches of the block is moved to it when it is known. With a second
// thread, all is done at once.
static void in_order(void **state)
{
    (void)state;
    enter(&single, "calloc", 100, 0x90000, 10, 64, 0);
    leave(&single, 100, 0x90000, 0x80000);
    enter(&single, "realloc", 110, 0x90000, 0x80000, 700, 0);
    leave(&single, 110, 0x90000, 0x81000);
    enter(&single, "free", 120, 0x90000, 0x81000, 0, 0);
    assert_int_equal(nrecorded, 5);
    recorded[0][4] = recorded[2][4] = 0; // as if they had been replayed before the returns
    assert_int_equal(at(0x80000), 0);
    replay(1);
    missed = moved.times = 0;
    objects_missed(&single, 0x80000, 1, 0, 1);
    objects_missed(&single, 0x80280, 1, 0, 1); // behind it
    assert_int_equal(moved.times, 0);
    replay(1);
    assert_int_equal(moved.times, 2);
    assert_int_equal(missed, 1);
    is_block(0x80000, 640, 100);
    replay(1);
    objects_missed(&single, 0x80000, 1, 0, 1);
    assert_int_equal(counted.object, 100);
    is_block(0x80000, 640, 100); // it is read until realloc has returned
    replay(1);
    assert_int_equal(at(0x80000), 0);
    is_block(0x81000, 700, 110);
    replay(1);
    assert_int_equal(at(0x81000), 0);
    assert_int_equal(replayed, 5);
    assert_int_equal(made[110].blocks, 1);
    replayed = 3; // a replay that was killed begins before what it has done
    replay(2);
    assert_int_equal(made[110].blocks, 1);
    assert_int_equal(at(0x81000), 0);
    // a call that is left, requests
    enter(&single, "malloc", 140, 0x8f000, 64, 0, 0);
    leave(&single, 140, 0x90000, 0x82000);
    alloc_block(&single, 150, 0x82000, 100);
    alloc_resized(&single, 0x82000, 150);
    alloc_cleared(&single, 0x82010, 0x82020);
    assert_int_equal(at(0x82000), 0);
    replay(~0u);
    assert_int_equal(at(0x82010), 0);
    is_block(0x82020, 150 - 0x20, 150);
    // where nothing is recorded, behind what was
    alloc_freed(&single, 0x82000);
    tb_config.counts = false;
    alloc_block(&single, 160, 0x82000, 100);
    tb_config.counts = true;
    is_block(0x82000, 100, 160);
    assert_int_equal(replayed, nrecorded);
    assert_int_equal(stamps, 1);
    // a call that is open when the second thread begins
    enter(&single, "malloc", 170, 0x90000, 64, 0, 0);
    alloc_second_thread(&single);
    assert_int_equal(replayed, nrecorded);
    moved.times = 0;
    objects_missed(&single, 0x83000, 1, 0, 1);
    leave(&single, 170, 0x90000, 0x83000);
    assert_int_equal(moved.times, 0);
    assert_int_equal(replayed, nrecorded);
    is_block(0x83000, 64, 170);
    alloc_second_thread(&single); // a third one
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(frees),
        cmocka_unit_test(again),
        cmocka_unit_test(nested),
        cmocka_unit_test(requests),
        cmocka_unit_test(mappings),
        cmocka_unit_test(misses),
        cmocka_unit_test(touched),
        cmocka_unit_test_setup(known_early, begin_in_order),
        cmocka_unit_test_setup(same_sites, begin_in_order),
        cmocka_unit_test_setup(in_order, begin_in_order),
    };

    header.data.callers = 3;
    header.data.s_functions = 1;
    header.data.functions_bytes = sizeof(own_functions);
    objects_init();
    assert_true(alloc_in_order); // while there is one thread
    objects_thread_init(&main_thread);
    alloc_drain = objtable_stamp; // nothing is recorded
    alloc_second_thread(&main_thread);
    objects_thread_init(&other);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
