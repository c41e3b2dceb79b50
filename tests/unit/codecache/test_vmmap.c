// SPDX-License-Identifier: MIT
// engine/codecache/vmmap.c: the map of the client's memory, when the kernel is asked, which
// translations a change drops, and the spool's record of a mapping. The kernel's answers are
// fakes; vmmapset.c is the real one, and has a test of its own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/layout.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/codecache/vmmapfile.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "tests/unit/thread/waiter.h"

#define READ   1u
#define WRITE  2u
#define EXEC   4u
#define CACHE  0x7e0000000000ul
#define AREAS  (THREAD_AREA_BASE + 2 * THREAD_AREA_STRIDE)
#define CLIENT 0x400000ul

// -- fakes of what vmmap.c calls --

static struct vmmapfile_line line[8]; // the kernel's
static char path[8][64];
static u32 lines, asked;  // how often the kernel was asked
static char dropped[256]; // the arguments of tcache_invalidate()
static char recorded[512];
static u32 records;
static bool kept_deleted;
static bool other_waits; // what a second thread did while the kernel, or the spool, was asked
static void (*other)(void);

void *heap_alloc(u64 size)
{
    void *p = calloc(1, size);

    assert_non_null(p);
    return p;
}

void heap_free(void *p, u64 size)
{
    (void)size;
    free(p);
}

static u64 cache = CACHE;

u64 region_start(void)
{
    return cache;
}

u64 region_end(void)
{
    return cache + 0x1000000;
}

u64 threads_area_end(void)
{
    return AREAS;
}

void tcache_invalidate(u64 start, u64 end)
{
    snprintf(dropped + strlen(dropped), sizeof(dropped) - strlen(dropped), "%lx-%lx ", start, end);
}

static void try_other(void)
{
    if (other)
        other_waits = waiter_waits(other);
    other = NULL;
}

bool vmmapfile_walk(bool (*take)(const struct vmmapfile_line *, void *), void *arg)
{
    try_other();
    for (u32 i = 0; i < lines; i++)
        assert_false(take(&line[i], arg));
    return false;
}

bool vmmapfile_at(u64 addr, struct vmmapfile_line *out)
{
    asked++;
    try_other();
    for (u32 i = 0; i < lines; i++) {
        if (line[i].start <= addr && addr < line[i].end) {
            *out = line[i];
            return true;
        }
    }
    return false;
}

static struct modules_times times; // of the file

static char taken[256]; // the files that modules.c was asked to hold

static bool known;                   // files need not be looked up
static void (*meanwhile)(void);      // what another thread does while a file is looked up
static u32 looked, open_looks, used; // how often; not closed; passed on
static bool waits_for_look;

static void want(void)
{
    vmmap_gap(0x1000, CLIENT);
}

bool modules_known(struct vmmapfile_line *l)
{
    (void)l;
    try_other();
    return known;
}

// No other thread waits for it.
void modules_look(struct vmmapfile_line *l, bool deleted, struct modules_found *out)
{
    kept_deleted = deleted;
    looked++;
    open_looks++;
    waits_for_look |= waiter_waits(want);
    waiter_end();
    if (strchr(l->path, '/'))
        *strrchr(l->path, '/') = '|'; // it corrects the path
    *out = (struct modules_found){ .fd = (int)looked, .times = times };
    if (meanwhile)
        meanwhile();
}

void modules_looked(struct modules_found *found)
{
    assert_true(found->fd >= 0);
    found->fd = -1;
    open_looks--;
}

struct modules_times modules_hold(struct vmmapfile_line *l, const struct modules_found *found)
{
    try_other();
    assert_int_equal(!found, known);
    used = found ? (u32)found->fd : 0;
    snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s%s ", l->path,
             !found         ? "?"
             : kept_deleted ? "!"
                            : "");
    return found ? found->times : times;
}

void modules_hold_mapped(int fd, const struct k_stat *st)
{
    assert_null(st);
    try_other();
    snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%d ", fd);
}

u32 spooler_map_record(u64 start, u64 end, u64 offset, u64 dev, u64 ino, const char *of, u32 flags,
                       u64 mtime, u64 ctime)
{
    snprintf(recorded, sizeof(recorded), "%lx-%lx %lx %lx %lu '%s' %u %lu %lu", start, end, offset,
             dev, ino, of, flags, mtime, ctime);
    try_other();
    return records++;
}

// -- the test's side --

static void kernel_has(u64 start, u64 end, u32 prot, u64 ino, const char *of)
{
    snprintf(path[lines], sizeof(path[0]), "%s", of);
    line[lines] = (struct vmmapfile_line){
        .start = start,
        .end = end,
        .offset = 0x2000,
        .dev = 0x801,
        .ino = ino,
        .prot = prot,
        .path = path[lines],
    };
    lines++;
}

static int setup(void **state)
{
    (void)state;
    other = NULL;
    waiter_end();
    cache = CACHE;
    vmmap_remove(0, 1ul << 63);
    lines = asked = records = looked = open_looks = 0;
    known = waits_for_look = false;
    meanwhile = NULL;
    memset(dropped, 0, sizeof(dropped));
    memset(recorded, 0, sizeof(recorded));
    return 0;
}

static const char *what_was_dropped(void)
{
    static char last[sizeof(dropped)];

    memcpy(last, dropped, sizeof(last));
    memset(dropped, 0, sizeof(dropped));
    return last;
}

static void assert_known(u64 addr, u64 start, u64 end, u32 prot, u32 flags)
{
    struct vmmap_info info = { 0 };

    assert_true(vmmap_find(addr, &info));
    assert_int_equal(info.start, start);
    assert_int_equal(info.end, end);
    assert_int_equal(info.prot, prot);
    assert_int_equal(info.flags, flags);
}

// Mappings of the engine, or of nobody, are left out, at the start and later.
static void test_start(void **state)
{
    struct vmmap_info info;

    (void)state;
    kernel_has(CLIENT, CLIENT + 0x1000, READ | EXEC, 7, "/bin/x");
    kernel_has(CLIENT + 0x1000, CLIENT + 0x2000, READ | WRITE, 0, "[stack]");
    kernel_has(ENGINE_BASE, ENGINE_BASE + 0x1000, READ, 8, "/engine");
    kernel_has(THREAD_AREA_BASE - 0x1000, THREAD_AREA_BASE, READ, 0, "");
    assert_false(vmmap_has_vsyscall());
    kernel_has(~0xffful << 11, (~0xffful << 11) + 0x1000, EXEC, 0, "[vsyscall]");
    vmmap_init();
    assert_true(vmmap_has_vsyscall());
    assert_known(CLIENT, CLIENT, CLIENT + 0x1000, READ | EXEC, 0);
    assert_known(CLIENT + 0x1fff, CLIENT + 0x1000, CLIENT + 0x2000, READ | WRITE,
                 VMMAP_GROWS | VMMAP_WRITTEN);
    assert_int_equal(asked, 0);
    assert_false(vmmap_find(ENGINE_BASE, &info));
    assert_false(vmmap_find(THREAD_AREA_BASE - 1, &info));
    assert_false(vmmap_find(1ul << 63, &info));
    assert_int_equal(asked, 0);
}

static void test_engines(void **state)
{
    (void)state;
    assert_false(vmmap_is_engine(ENGINE_BASE - 1, ENGINE_BASE));
    assert_true(vmmap_is_engine(ENGINE_BASE - 1, ENGINE_BASE + 1));
    assert_true(vmmap_is_engine(AREAS - 1, AREAS));
    assert_false(vmmap_is_engine(AREAS, AREAS + 1));
    assert_false(vmmap_is_engine(REPLAY_BASE - 1, REPLAY_BASE));
    assert_true(vmmap_is_engine(REPLAY_BASE + REPLAY_SIZE - 1, REPLAY_BASE + REPLAY_SIZE));
    assert_false(vmmap_is_engine(REPLAY_BASE + REPLAY_SIZE, REPLAY_BASE + REPLAY_SIZE + 1));
    assert_false(vmmap_is_engine(CACHE - 1, CACHE));
    assert_true(vmmap_is_engine(CACHE, CACHE + 1));
    assert_true(vmmap_is_engine(CACHE + 0xffffff, CACHE + 0x2000000));
    assert_false(vmmap_is_engine(CACHE + 0x1000000, CACHE + 0x2000000));
}

// The kernel is asked for unknown addresses, once.
static void test_asked(void **state)
{
    struct vmmap_info info;

    (void)state;
    kernel_has(CLIENT, CLIENT + 0x3000, READ, 0, "[stack]");
    kernel_has(CACHE - 0x1000, CACHE + 0x1000, READ, 0, "");
    assert_known(CLIENT + 0x1234, CLIENT, CLIENT + 0x3000, READ, VMMAP_GROWS);
    assert_int_equal(asked, 1);
    assert_known(CLIENT, CLIENT, CLIENT + 0x3000, READ, VMMAP_GROWS);
    assert_int_equal(asked, 1);
    assert_false(vmmap_find(CLIENT + 0x3000, &info));
    assert_int_equal(asked, 2);
    assert_false(vmmap_find(CACHE - 1, &info)); // it reaches into the cache
    assert_int_equal(asked, 3);
    assert_false(vmmap_find(CACHE, &info));
    assert_int_equal(asked, 3);
}

// Translated code is dropped before it changes, and again by the change.
static void test_dropped(void **state)
{
    struct vmmap_info info;
    u64 end = CLIENT + 0x2000;

    (void)state;
    vmmap_add(CLIENT, end, READ | EXEC, 0);
    vmmap_before(CLIENT, end);
    vmmap_protect(CLIENT, end, READ | WRITE);
    vmmap_protect(CLIENT, end, READ | EXEC);
    assert_string_equal(what_was_dropped(), "");
    assert_true(vmmap_find_code(CLIENT + 1, &info));
    assert_true(info.flags & VMMAP_EXECUTED);
    assert_int_equal(info.prot, READ | EXEC);
    vmmap_before(end, end + 0x1000);
    vmmap_before(CLIENT - 0x1000, CLIENT);
    assert_string_equal(what_was_dropped(), "");
    vmmap_before(end - 0x1000, end + 0x1000);
    assert_string_equal(what_was_dropped(), "401000-403000 ");
    vmmap_protect(CLIENT, end, READ | EXEC);
    assert_string_equal(what_was_dropped(), "");
    vmmap_protect(CLIENT, end, READ | WRITE | EXEC);
    assert_string_equal(what_was_dropped(), "400000-402000 ");
    vmmap_protect(CLIENT, end, READ);
    assert_string_equal(what_was_dropped(), "400000-402000 ");
    vmmap_move(CLIENT, end, CLIENT + 0x10000, end + 0x10000, false);
    assert_string_equal(what_was_dropped(), "400000-402000 410000-412000 ");
    assert_known(CLIENT + 0x10000, CLIENT + 0x10000, end + 0x10000, READ, VMMAP_WRITTEN);
    assert_false(vmmap_find(CLIENT, &info));
    vmmap_move(CLIENT + 0x10000, end + 0x10000, CLIENT, end, true);
    assert_string_equal(what_was_dropped(), "");
    assert_true(vmmap_find_code(CLIENT, &info));
    vmmap_add(CLIENT, CLIENT + 0x1000, READ, VMMAP_ANON);
    assert_string_equal(what_was_dropped(), "400000-401000 ");
    vmmap_remove(CLIENT, CLIENT + 0x1000);
    assert_string_equal(what_was_dropped(), "");
    assert_true(vmmap_find_code(CLIENT + 0x1000, &info));
    vmmap_remove(CLIENT, end);
    assert_string_equal(what_was_dropped(), "400000-402000 ");
    assert_known(CLIENT + 0x10000, CLIENT + 0x10000, end + 0x10000, READ, VMMAP_WRITTEN);
}

static const char *what_was_held(void)
{
    static char last[sizeof(taken)];

    memcpy(last, taken, sizeof(last));
    memset(taken, 0, sizeof(taken));
    return last;
}

// As the system call does. Its result: where the search has ended.
static u64 protect_executable(u64 at, u64 end)
{
    struct modules_found found;
    struct vmmap_file file;

    vmmap_protect(at, end, READ | EXEC);
    while (vmmap_next_file(&at, end, &file)) {
        modules_look(&file.line, file.deleted, &found);
        vmmap_hold_file(&file, &found);
        modules_looked(&found);
    }
    return at;
}

// The file of a mapping that is made executable, once; both files of two mappings in one entry.
static void test_held(void **state)
{
    struct vmmap_info info;

    (void)state;
    what_was_held();
    vmmap_hold(17, NULL);
    assert_string_equal(what_was_held(), "17 ");
    kernel_has(CLIENT, CLIENT + 0x2000, READ, 7, "/lib/x");
    kernel_has(CLIENT + 0x2000, CLIENT + 0x4000, READ, 8, "/lib/y (deleted)");
    kernel_has(CLIENT + 0x4000, CLIENT + 0x5000, READ, 0, "");
    vmmap_add(CLIENT, CLIENT + 0x4000, READ, 0);
    vmmap_add(CLIENT + 0x4000, CLIENT + 0x5000, READ, VMMAP_ANON);
    vmmap_protect(CLIENT, CLIENT + 0x1000, READ | WRITE);
    assert_string_equal(what_was_held(), "");
    protect_executable(CLIENT, CLIENT + 0x1000);
    assert_string_equal(what_was_held(), "/lib|x ");
    assert_int_equal(asked, 1);
    vmmap_protect(CLIENT, CLIENT + 0x1000, READ);
    protect_executable(CLIENT, CLIENT + 0x1000);
    assert_string_equal(what_was_held(), "");
    protect_executable(CLIENT + 0x1000, CLIENT + 0x5000);
    assert_string_equal(what_was_held(), "/lib|x /lib|y! ");
    assert_int_equal(asked, 3);
    // The file of executed code is held since its record was made.
    vmmap_add(CLIENT, CLIENT + 0x2000, READ, 0);
    assert_true(vmmap_find_code(CLIENT, &info));
    protect_executable(CLIENT, CLIENT + 0x2000);
    assert_string_equal(what_was_held(), "");
    // One that is held already is not looked up.
    vmmap_add(CLIENT, CLIENT + 0x2000, READ, 0);
    known = true;
    looked = 0;
    assert_int_equal(protect_executable(CLIENT, CLIENT + 0x2000), CLIENT + 0x2000);
    known = false;
    protect_executable(CLIENT, CLIENT + 0x2000);
    assert_int_equal(looked, 0);
    assert_false(waits_for_look);
    what_was_held();
    what_was_dropped();
}

static void test_gap(void **state)
{
    (void)state;
    vmmap_add(CLIENT, CLIENT + 0x1000, READ, 0);
    assert_int_equal(vmmap_gap(0x1000, CLIENT + 0x2000), CLIENT + 0x1000);
    assert_int_equal(vmmap_gap(0x2000, CLIENT + 0x2000), CLIENT - 0x2000);
    // A gap that would touch an engine range is below that range.
    assert_int_equal(vmmap_gap(0x1000, CACHE + 0x2000), CACHE - 0x1000);
    assert_int_equal(vmmap_gap(0x1000, AREAS), ENGINE_BASE - 0x1000);
    assert_int_equal(vmmap_gap(0x1000, AREAS + 0x1000), AREAS);
    assert_int_equal(vmmap_gap(ENGINE_BASE - REPLAY_BASE, AREAS),
                     REPLAY_BASE - (ENGINE_BASE - REPLAY_BASE));
    assert_int_equal(vmmap_gap(CACHE - CLIENT, AREAS), 0);
}

static void assert_engine(u64 start, u64 end, u64 from, u64 to)
{
    u64 f = 0, t = 0;

    assert_true(vmmap_engine(start, end, &f, &t));
    assert_int_equal(f, from);
    assert_int_equal(t, to);
}

// The lowest engine range that is touched.
static void test_engine(void **state)
{
    u64 f, t;

    (void)state;
    assert_engine(0, ~0ul, CACHE, CACHE + 0x1000000);
    assert_engine(CACHE + 0x1000000, ~0ul, REPLAY_BASE, REPLAY_BASE + REPLAY_SIZE);
    assert_engine(REPLAY_BASE + REPLAY_SIZE, ~0ul, ENGINE_BASE, AREAS);
    assert_engine(AREAS - 1, AREAS, ENGINE_BASE, AREAS);
    assert_false(vmmap_engine(AREAS, ~0ul, &f, &t));
    assert_false(vmmap_engine(CACHE - 5, CACHE, &f, &t));
    // And rows of further areas, of 64 GiB each.
    slotmem_row[0] = 0x600000000000;
    slotmem_row[1] = 0x500000000000;
    slotmem_rows = 2;
    assert_engine(0, ~0ul, 0x500000000000, 0x502000000000);
    assert_engine(0x502000000000, ~0ul, 0x600000000000, 0x602000000000);
    assert_engine(0x602000000000 - 1, ~0ul, 0x600000000000, 0x602000000000);
    assert_engine(0x602000000000, ~0ul, CACHE, CACHE + 0x1000000);
    assert_int_equal(vmmap_gap(0x1000, 0x600000800000), 0x600000000000 - 0x1000);
    slotmem_rows = 0;
    cache = AREAS + 0x10000000;
    assert_engine(0, ~0ul, REPLAY_BASE, REPLAY_BASE + REPLAY_SIZE);
    assert_engine(AREAS, ~0ul, cache, cache + 0x1000000);
}

// The kernel places what fits between the reserved space (1120 thread areas and 1 GiB, or half of
// what there is) and the code cache or the lowest mapping above it; else what fits between two
// mappings higher up.
static void test_room(void **state)
{
    u64 reserved = THREAD_AREA_BASE + 1120ul * THREAD_AREA_STRIDE + 0x40000000, half;

    (void)state;
    assert_true(vmmap_has_room(1ul << 46)); // the kernel does not begin above the engine
    cache = reserved + 0x100000;
    half = THREAD_AREA_BASE + (cache - THREAD_AREA_BASE) / 2;
    assert_true(half < reserved);
    assert_true(vmmap_has_room(cache - half));
    assert_false(vmmap_has_room(cache - half + 1));
    cache = THREAD_AREA_BASE + 2 * (reserved - THREAD_AREA_BASE) + 0x100000;
    assert_true(vmmap_has_room(cache - reserved));
    assert_false(vmmap_has_room(cache - reserved + 1));
    vmmap_add(cache + 0x2000000, cache + 0x3000000, READ, 0); // above the cache
    assert_true(vmmap_has_room(cache - reserved));
    vmmap_add(cache - 0x200000, cache - 0x100000, READ, 0);
    assert_true(vmmap_has_room(cache - 0x200000 - reserved));
    assert_false(vmmap_has_room(cache - 0x200000 - reserved + 1));
    vmmap_add(reserved + 0x1000, reserved + 0x2000, READ, 0);
    assert_true(vmmap_has_room(cache - 0x200000 - reserved - 0x2000));
    assert_false(vmmap_has_room(cache - 0x200000 - reserved - 0x2000 + 1));
    vmmap_add(reserved - 0x1000, cache - 0x200000, READ, 0); // across the reserved space
    assert_true(vmmap_has_room(0x100000));
    assert_false(vmmap_has_room(0x100001));
    vmmap_add(cache - 0x100000, cache, READ, 0);
    assert_false(vmmap_has_room(0x1000));
}

// Mappings of the kernel are known afterwards: the missing pieces are added, known ones stay.
static void test_learn(void **state)
{
    struct vmmap_info info;

    (void)state;
    kernel_has(CLIENT - 0x4000, CLIENT - 0x3000, READ, 0, "");
    kernel_has(CLIENT, CLIENT + 0x8000, READ | EXEC, 7, "/lib/x");
    kernel_has(CACHE, CACHE + 0x1000, READ, 0, "");
    vmmap_add(CLIENT + 0x1000, CLIENT + 0x2000, READ, VMMAP_ANON);
    vmmap_add(CLIENT + 0x4000, CLIENT + 0x5000, READ, VMMAP_ANON);
    assert_true(vmmap_find_code(CLIENT + 0x1000, &info));
    vmmap_learn(CLIENT + 0x3000, CACHE + 0x2000);
    assert_int_equal(asked, 0);
    assert_known(CLIENT, CLIENT, CLIENT + 0x1000, READ | EXEC, 0);
    assert_known(CLIENT + 0x1000, CLIENT + 0x1000, CLIENT + 0x2000, READ,
                 VMMAP_ANON | VMMAP_EXECUTED);
    assert_known(CLIENT + 0x2000, CLIENT + 0x2000, CLIENT + 0x4000, READ | EXEC, 0);
    assert_known(CLIENT + 0x4000, CLIENT + 0x4000, CLIENT + 0x5000, READ, VMMAP_ANON);
    assert_known(CLIENT + 0x7000, CLIENT + 0x5000, CLIENT + 0x8000, READ | EXEC, 0);
    assert_int_equal(vmmap_gap(0x8000, CLIENT), CLIENT - 0x8000); // the first line is outside
    assert_string_equal(what_was_dropped(), "");
}

// The path tells the kind of a mapping; without a file it is anonymous.
static void test_records(void **state)
{
    (void)state;
    kernel_has(CLIENT, CLIENT + 0x1000, READ, 0, "[vdso]");
    kernel_has(CLIENT + 0x1000, CLIENT + 0x2000, READ, 0, "[heap]");
    kernel_has(CLIENT + 0x2000, CLIENT + 0x3000, READ, 5, "/lib/gone.so (deleted)");
    kernel_has(CLIENT + 0x3000, CLIENT + 0x4000, READ, 5, "/lib/no such file");
    kernel_has(CLIENT + 0x4000, CLIENT + 0x5000, READ, 5, " (deleted)");
    assert_int_equal(vmmap_spool_map(CLIENT), 0);
    assert_string_equal(recorded, "400000-401000 2000 801 0 '[vdso]' 1 0 0");
    assert_int_equal(SPOOL_MAP_VDSO, 1);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x1000), 1);
    assert_string_equal(recorded, "401000-402000 2000 801 0 '[heap]' 2 0 0");
    assert_int_equal(SPOOL_MAP_ANON, 2);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x2000), 2);
    assert_string_equal(recorded, "402000-403000 2000 801 5 '/lib|gone.so' 12 0 0");
    assert_int_equal(SPOOL_MAP_DELETED | SPOOL_MAP_LOST, 12);
    assert_true(kept_deleted);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x3000), 3);
    assert_string_equal(recorded, "403000-404000 2000 801 5 '/lib|no such file' 0 0 0");
    assert_false(kept_deleted);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x4000), 4);
    assert_string_equal(recorded, "404000-405000 2000 801 5 ' (deleted)' 0 0 0");
    // Nothing is mapped there: one page, or the range of our entry.
    assert_int_equal(vmmap_spool_map(CLIENT + 0x8123), 5);
    assert_string_equal(recorded, "408000-409000 0 0 0 '' 2 0 0");
    vmmap_add(CLIENT + 0x9000, CLIENT + 0xc000, READ, 0);
    assert_int_equal(vmmap_spool_map(CLIENT + 0xb000), 6);
    assert_string_equal(recorded, "409000-40c000 0 0 0 '' 2 0 0");
}

// One record is for all entries within its line, and is made once.
static void test_one_record(void **state)
{
    (void)state;
    kernel_has(CLIENT, CLIENT + 0x4000, READ, 0, "");
    vmmap_add(CLIENT, CLIENT + 0x1000, READ, 0);
    vmmap_add(CLIENT + 0x2000, CLIENT + 0x4000, READ | WRITE, 0);
    vmmap_add(CLIENT + 0x4000, CLIENT + 0x5000, READ, 0);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x3000), 0);
    assert_int_equal(vmmap_spool_map(CLIENT), 0);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x2fff), 0);
    assert_int_equal(asked, 1);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x4000), 1);
    // An entry that is larger than the kernel's line has the record, too.
    kernel_has(CLIENT + 0x8000, CLIENT + 0x9000, READ, 0, "");
    vmmap_add(CLIENT + 0x7000, CLIENT + 0x9000, READ, 0);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x8000), 2);
    assert_string_equal(recorded, "408000-409000 2000 801 0 '' 2 0 0");
    assert_int_equal(vmmap_spool_map(CLIENT + 0x7000), 2);
    // A mapping that replaces it, or its move elsewhere, gets another one.
    vmmap_move(CLIENT + 0x7000, CLIENT + 0x9000, CLIENT + 0x7000, CLIENT + 0xa000, false);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x7000), 2);
    vmmap_move(CLIENT + 0x7000, CLIENT + 0xa000, CLIENT + 0x17000, CLIENT + 0x1a000, false);
    assert_int_equal(vmmap_spool_map(CLIENT + 0x17000), 3);
}

// The record has the file's times. A removed file is lost if it is not held, unless the memory is
// shared.
static void test_times(void **state)
{
    (void)state;
    kernel_has(CLIENT, CLIENT + 0x1000, READ, 5, "/lib/x.so");
    kernel_has(CLIENT + 0x1000, CLIENT + 0x2000, READ, 5, "/lib/x.so (deleted)");
    kernel_has(CLIENT + 0x2000, CLIENT + 0x3000, READ, 5, "/memfd:x (deleted)");
    line[2].flags = VMMAP_SHARED;
    times = (struct modules_times){ 12, 34 };
    vmmap_spool_map(CLIENT);
    assert_string_equal(recorded, "400000-401000 2000 801 5 '/lib|x.so' 0 12 34");
    vmmap_spool_map(CLIENT + 0x1000);
    assert_string_equal(recorded, "401000-402000 2000 801 5 '/lib|x.so' 4 12 34");
    times = (struct modules_times){ 0, 0 };
    vmmap_spool_map(CLIENT + 0x2000);
    assert_string_equal(recorded, "402000-403000 2000 801 5 '|memfd:x' 4 0 0");
}

// Another file is mapped there while the first one is looked up.
static void replace(void)
{
    meanwhile = NULL;
    lines = 0;
    kernel_has(CLIENT, CLIENT + 0x1000, READ, 6, "/lib/other.so (deleted)");
}

static void unmap(void)
{
    meanwhile = NULL;
    lines = 0;
}

static void record_it(void)
{
    meanwhile = NULL;
    vmmap_spool_map(CLIENT);
}

// A file is looked up without the lock, and not at all if it is known. What is found is used for
// that mapping alone, and closed.
static void test_looked_up(void **state)
{
    (void)state;
    times = (struct modules_times){ 12, 34 };
    kernel_has(CLIENT, CLIENT + 0x1000, READ, 5, "/lib/x.so");
    vmmap_spool_map(CLIENT);
    assert_string_equal(recorded, "400000-401000 2000 801 5 '/lib|x.so' 0 12 34");
    assert_int_equal(looked, 1);
    assert_int_equal(used, 1);
    known = true;
    vmmap_spool_map(CLIENT);
    assert_string_equal(recorded, "400000-401000 2000 801 5 '/lib/x.so' 0 12 34");
    assert_int_equal(looked, 1);
    known = false;
    meanwhile = replace;
    vmmap_spool_map(CLIENT);
    assert_string_equal(recorded, "400000-401000 2000 801 6 '/lib|other.so' 4 12 34");
    assert_int_equal(looked, 3);
    assert_int_equal(used, 3);
    meanwhile = unmap;
    vmmap_spool_map(CLIENT);
    assert_string_equal(recorded, "400000-401000 0 0 0 '' 2 0 0");
    assert_int_equal(looked, 4);
    // Another thread has made the record.
    vmmap_add(CLIENT, CLIENT + 0x1000, READ, 0);
    kernel_has(CLIENT, CLIENT + 0x1000, READ, 5, "/lib/x.so");
    meanwhile = record_it;
    records = 40;
    assert_int_equal(vmmap_spool_map(CLIENT), 40);
    assert_int_equal(records, 41);
    assert_int_equal(open_looks, 0);
    assert_false(waits_for_look);
}

// A mapping has a file to be looked up while it has no record, if it is executable and of a file,
// and modules.c does not know that file.
static void test_unseen(void **state)
{
    struct vmmap_file file;

    (void)state;
    kernel_has(CLIENT, CLIENT + 0x1000, READ | EXEC, 5, "/lib/x.so (deleted)");
    kernel_has(CLIENT + 0x1000, CLIENT + 0x2000, READ, 5, "/lib/x.so");
    kernel_has(CLIENT + 0x2000, CLIENT + 0x3000, READ | EXEC, 0, "");
    kernel_has(CLIENT + 0x3000, CLIENT + 0x4000, READ | EXEC, 0, "[vdso]");
    vmmap_add(CLIENT, CLIENT + 0x1000, READ | EXEC, 0);
    vmmap_add(CLIENT + 0x1000, CLIENT + 0x2000, READ, 0);
    vmmap_add(CLIENT + 0x2000, CLIENT + 0x3000, READ | EXEC, VMMAP_ANON);
    vmmap_add(CLIENT + 0x3000, CLIENT + 0x4000, READ | EXEC, 0);
    assert_true(vmmap_unseen_file(CLIENT, &file));
    assert_int_equal(file.line.ino, 5);
    assert_true(file.deleted);
    assert_string_equal(file.line.path, "/lib/x.so");
    assert_int_equal(asked, 1);
    assert_false(vmmap_unseen_file(CLIENT + 0x1000, &file));
    assert_false(vmmap_unseen_file(CLIENT + 0x2000, &file));
    assert_false(vmmap_unseen_file(CLIENT + 0x4000, &file));
    assert_int_equal(asked, 1);
    assert_false(vmmap_unseen_file(CLIENT + 0x3000, &file));
    known = true;
    assert_false(vmmap_unseen_file(CLIENT, &file));
    known = false;
    vmmap_spool_map(CLIENT);
    asked = 0;
    assert_false(vmmap_unseen_file(CLIENT, &file));
    assert_int_equal(asked, 0);                         // the kernel is not asked for each block
    vmmap_add(CLIENT, CLIENT + 0x1000, READ | EXEC, 0); // another mapping
    assert_true(vmmap_unseen_file(CLIENT, &file));
    other = want;
    other_waits = false;
    vmmap_unseen_file(CLIENT, &file);
    assert_true(other_waits);
    waiter_end();
}

// One thread at a time uses the set and the kernel's buffer.
static void test_locked(void **state)
{
    struct vmmap_info info;

    (void)state;
    other = want;
    vmmap_init();
    assert_true(other_waits);
    waiter_end();
    other = want;
    other_waits = false;
    vmmap_find(CLIENT, &info);
    assert_true(other_waits);
    waiter_end();
    other = want;
    other_waits = false;
    kernel_has(CLIENT, CLIENT + 0x1000, READ, 0, "");
    vmmap_find(CLIENT, &info);
    other = want;
    vmmap_spool_map(CLIENT);
    assert_true(other_waits);
    waiter_end();
    other = want;
    other_waits = false;
    vmmap_learn(CLIENT, CLIENT + 0x1000);
    assert_true(other_waits);
    waiter_end();
    other = want;
    other_waits = false;
    vmmap_hold(17, NULL);
    assert_true(other_waits);
    waiter_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_start, setup),      cmocka_unit_test_setup(test_engines, setup),
        cmocka_unit_test_setup(test_asked, setup),      cmocka_unit_test_setup(test_dropped, setup),
        cmocka_unit_test_setup(test_held, setup),       cmocka_unit_test_setup(test_gap, setup),
        cmocka_unit_test_setup(test_engine, setup),     cmocka_unit_test_setup(test_room, setup),
        cmocka_unit_test_setup(test_learn, setup),      cmocka_unit_test_setup(test_records, setup),
        cmocka_unit_test_setup(test_one_record, setup), cmocka_unit_test_setup(test_times, setup),
        cmocka_unit_test_setup(test_looked_up, setup),  cmocka_unit_test_setup(test_locked, setup),
        cmocka_unit_test_setup(test_unseen, setup),
    };

    return cmocka_run_group_tests_name("codecache/vmmap", tests, NULL, NULL);
}
