// SPDX-License-Identifier: MIT
// engine/objects/objtable.c: records, counts and times, in a spool's part that is plain memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/callgraph/frames.h"
#include "engine/objects/cells.h"
#include "engine/objects/found.h"
#include "engine/objects/objtable.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;
struct frames frames = { .top = 0, .frame = 64 };
static struct spool_edge edges[8];

void spooler_data_map(void)
{
    void *p = mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

    assert_ptr_equal(p, (void *)DATA_BASE);
}

struct spool_edge *frames_edge(const struct spool_frame *f)
{
    return &edges[f->counter];
}

static const char *text_of(u32 object)
{
    return (const char *)(DATA_BASE + SPOOL_DATA_NAMES_OFF) + objtable_at(object)->name;
}

static void objects_are_found_again(void **state)
{
    struct spool_data_object a = { .kind = SPOOL_DATA_STATIC, .start = 0x10, .size = 8 };
    struct spool_data_object b = { .kind = SPOOL_DATA_HEAP, .sites = 2, .site = { 1, 2 } };
    u32 first, second;

    (void)state;
    assert_int_equal(objtable_known(&a), 0);
    first = objtable_get(&a, "a");
    assert_int_equal(objtable_known(&a), first);
    assert_int_equal(first, 1); // 0: unknown
    assert_string_equal(text_of(first), "a");
    second = objtable_get(&b, NULL);
    assert_int_equal(second, 2);
    assert_int_equal(objtable_get(&a, "other"), first);
    assert_int_equal(objtable_get(&b, NULL), second);
    b.site[1] = 3;
    assert_int_equal(objtable_get(&b, NULL), 3);
    b.sites = 1;
    assert_int_equal(objtable_get(&b, NULL), 4);
    a.size = 9;
    assert_int_equal(objtable_get(&a, "a"), 5);
    assert_int_equal(objtable_at(5)->name, objtable_at(first)->name); // one text
    assert_int_equal(header.data.objects_used, 6);
}

static u64 counted(u32 counter, u32 object, u64 *l2, u64 *ll)
{
    const struct spool_data_count *c = (void *)(DATA_BASE + SPOOL_DATA_COUNTS_OFF);
    u64 found = 0;

    for (u32 i = 0; i < SPOOL_DATA_COUNTS_MAX; i++)
        if (c[i].counter == counter + 1 && c[i].object == object) {
            found++;
            *l2 = c[i].l2;
            *ll = c[i].ll;
            assert_in_range(c[i].l1, 0, 1000);
            found = found > 1 ? 0 : c[i].l1 + 1;
        }
    return found ? found - 1 : ~0ul;
}

static void misses_add_up(void **state)
{
    u64 l2, ll;

    (void)state;
    for (u32 i = 0; i < 30; i++)
        objtable_count(0, 1, i % 2, i % 3 == 0);
    objtable_count(0, 2, 1, 1);
    objtable_count(1, 1, 0, 1);
    assert_int_equal(counted(0, 1, &l2, &ll), 30);
    assert_int_equal(l2, 15);
    assert_int_equal(ll, 10);
    assert_int_equal(counted(0, 2, &l2, &ll), 1);
    assert_int_equal(counted(1, 1, &l2, &ll), 1);
    assert_int_equal(l2, 0);
    assert_int_equal(ll, 1);
    assert_int_equal(counted(1, 2, &l2, &ll), ~0ul);
    assert_int_equal(header.data.counts_used, 3);
    objtable_move(0, 1, 2, 1, 0);
    assert_int_equal(counted(0, 1, &l2, &ll), 29);
    assert_int_equal(l2, 14);
    assert_int_equal(ll, 10);
    assert_int_equal(counted(0, 2, &l2, &ll), 2);
    assert_int_equal(l2, 2);
    assert_int_equal(ll, 1);
    objtable_zero();
    objtable_move(0, 1, 2, 0, 0); // nothing is left to be moved
    assert_int_equal(counted(0, 2, &l2, &ll), 0);
    assert_int_equal(counted(0, 1, &l2, &ll), 0);
    assert_int_equal(header.data.counts_used, 3);
}

static const struct spool_data_cell *only_cell(u32 object)
{
    const struct spool_data_cell *c = (void *)(DATA_BASE + SPOOL_DATA_CELLS_OFF), *found = NULL;

    for (u32 i = 0; i < header.data.cells_used; i++) {
        if (c[i].object != object)
            continue;
        assert_null(found);
        found = &c[i];
    }
    assert_non_null(found);
    return found;
}

static void miss_at(u32 object, u64 offset, u32 ll)
{
    struct cells_miss miss = {
        .addr = 0x10000 + offset, .start = 0x10000, .counter = 77, .object = object, .ll = (u8)ll
    };

    cells_count(&miss);
}

static u32 variable(u64 start, u64 size)
{
    struct spool_data_object o = { .kind = SPOOL_DATA_STATIC, .start = start, .size = size };

    return objtable_get(&o, "v");
}

static void cells(void **state)
{
    u32 large = variable(1, 1 << 20), small = variable(2, 16384), page = variable(3, 4096);
    struct spool_data_object stack = { .kind = SPOOL_DATA_STACK };
    const struct spool_data_cell *c;
    u64 used;

    (void)state;
    cells_init();
    // elements of 24 bytes, member at 16: each third, each fifth, backwards
    miss_at(large, 16 + 24 * 3000, 1);
    miss_at(large, 16 + 24 * 3015, 0);
    miss_at(large, 16 + 24 * 2980, 1);
    c = only_cell(large);
    assert_int_equal(c->step, 24 * 5);
    // words 18004, 18094, 17884: by 64 20, 46, 28; by 60, which 24 bytes divide, 4, 34, 4
    assert_int_equal(c->words[0], 1ul << 20 | 1ul << 46 | 1ul << 28);
    assert_int_equal(c->words[1], 1ul << 4 | 1ul << 34);
    assert_int_equal(c->low, 16 + 24 * 2980);
    assert_int_equal(c->high, 16 + 24 * 3015);
    assert_int_equal(c->l1, 3);
    assert_int_equal(c->l2, 0);
    assert_int_equal(c->ll, 2);
    miss_at(large, 16 + 24 * 2983, 0);
    assert_int_equal(c->step, 24);
    assert_int_equal(c->counter, 78);
    // below 4 KiB each offset, then each line
    miss_at(page, 4095, 0);
    miss_at(page, 4095, 0);
    assert_int_equal(only_cell(page)->l1, 2);
    assert_int_equal(only_cell(page)->step, 0);
    miss_at(small, 4096 + 63, 0);
    miss_at(small, 4096 + 3, 0);
    assert_int_equal(only_cell(small)->step, 60);
    used = header.data.cells_used;
    miss_at(small, 4096 + 64, 0);
    miss_at(page, 0, 0);
    miss_at(page, 1, 0);
    assert_int_equal(header.data.cells_used, used + 3);
    // of a stack no beginning is known; an address before the beginning is none
    miss_at(objtable_get(&stack, NULL), 8, 0);
    cells_count(&(struct cells_miss){ .addr = 5, .start = 6, .object = page });
    cells_count(&(struct cells_miss){ .addr = 5, .start = FOUND_UNKNOWN, .object = page });
    assert_int_equal(header.data.cells_used, used + 3);
    // zeroed: what comes then has nothing to do with what was
    objtable_zero();
    miss_at(large, 100000, 1);
    c = only_cell(large);
    assert_int_equal(c->l1, 1);
    assert_int_equal(c->low, 100000);
    assert_int_equal(c->high, 100000);
    assert_int_equal(c->words[1], 1ul << 40); // word 25000
    assert_int_equal(c->step, 0);
    header.data.cells_used = SPOOL_DATA_CELLS_MAX; // full
    miss_at(variable(9, 64), 0, 0);
    assert_int_equal(header.data.cells_used, SPOOL_DATA_CELLS_MAX);
}

// A miss of an element, once in a cell whose state is kept, once found anew.
static void element(u32 a, u32 b, u64 offset, struct cells_kept *k)
{
    struct cells_miss miss = {
        .addr = 0x10000 + offset, .start = 0x10000, .counter = 78, .object = a
    };
    struct cells_at at;

    cells_place(&miss, &at);
    if (!k->counter)
        cells_keep(k, &at);
    if (!cells_add_again(k, at.offset, 0))
        cells_add(k, at.offset, 0, 0);
    miss.object = b;
    cells_count(&miss);
}

// Once all words that can be are noted, no more is; until there are others.
static void words(void **state)
{
    u32 a = variable(11, 1 << 20), b = variable(12, 1 << 20);
    struct cells_kept k = { 0 };

    (void)state;
    cells_init();
    for (u32 i = 0; i < 256; i++)
        element(a, b, 8 * i, &k);
    assert_true(k.full);
    assert_int_equal(k.step, 8);
    assert_int_equal(only_cell(a)->words[0], 0x5555555555555555); // the even ones of 64
    assert_int_equal(only_cell(a)->words[7], 0x555555555);        // of 36
    assert_memory_equal(only_cell(a)->words, only_cell(b)->words, sizeof(only_cell(a)->words));
    for (u32 i = 0; i < 200; i++)
        element(a, b, 4 + 8 * i, &k);
    assert_false(k.full); // of another step
    assert_int_equal(only_cell(a)->step, 4);
    assert_int_equal(only_cell(a)->words[7], 0xfffffffff);
    assert_memory_equal(only_cell(a)->words, only_cell(b)->words, sizeof(only_cell(a)->words));
    for (u32 i = 0; i < 56; i++)
        element(a, b, 8 * i, &k);
    assert_true(k.full);
    assert_int_equal(k.step, 4);
    assert_int_equal(only_cell(a)->l1, 512);
    assert_int_equal(only_cell(b)->l1, 512);
}

// A pair that is kept counts where others do.
static void pairs(void **state)
{
    struct objtable_pair *p = objtable_pair(600, 1);
    u64 l2, ll;

    (void)state;
    assert_false(objtable_is_pair(p, 600, 1));
    assert_true(objtable_keep(p, 600, 1));
    assert_true(objtable_is_pair(p, 600, 1));
    assert_false(objtable_is_pair(p, 600, 2));
    assert_int_equal(objtable_add(p, 1)->counter, 601); // plus one
    objtable_count(600, 1, 0, 0);
    assert_ptr_equal(objtable_add(p, 0), objtable_walk(objtable_count(600, 1, 0, 1)));
    assert_int_equal(counted(600, 1, &l2, &ll), 4);
    assert_int_equal(l2, 0);
    assert_int_equal(ll, 2);
    objtable_zero();
    assert_false(objtable_is_pair(p, 600, 1));
}

// The walk is with the first counter of the instruction.
static void walks(void **state)
{
    struct spool_data_count *first = objtable_count(500, 1, 0, 0), *second;

    (void)state;
    assert_ptr_equal(objtable_walk(first), first);
    insnids_note(42, 501);
    insnids_note(42, 502);
    second = objtable_count(502, 1, 0, 0);
    assert_ptr_equal(objtable_walk(second), objtable_walk(second));
    assert_int_equal(objtable_walk(second)->counter, 502); // plus one
    assert_int_equal(objtable_walk(second)->l1, 0);
    assert_int_equal(objtable_walk(objtable_count(502, 2, 0, 0))->object, 2);
}

// What is known goes on, the rest is not counted.
static void full(void **state)
{
    u64 l2, ll, max = SPOOL_DATA_COUNTS_MAX;

    (void)state;
    for (u32 i = 0; i < max + 1000; i++)
        objtable_count(1000 + i, 3, 0, 0);
    assert_int_equal(header.data.counts_used, max);
    assert_null(objtable_count(1000 + (u32)max + 999, 3, 0, 0));
    assert_null(objtable_walk(NULL));
    assert_false(objtable_keep(objtable_pair(900, 3), 900, 3));
    assert_false(objtable_is_pair(objtable_pair(900, 3), 900, 3));
    objtable_count(1000, 3, 0, 1);
    assert_int_equal(counted(1000, 3, &l2, &ll), 2);
    assert_int_equal(counted(1000 + (u32)max + 999, 3, &l2, &ll), ~0ul);
}

static u64 stamped;

static void stamp(struct thread *t, u64 now)
{
    (void)t;
    stamped = now;
}

static void times(void **state)
{
    static struct thread area;
    struct thread *t = &area;
    u64 base = (u64)t + TA_RECORDS;

    (void)state;
    area.self = t;
    objtable_record = stamp;
    assert_int_equal(objtable_tick(), 1);
    objtable_thread_init(t);
    assert_int_equal(t->objects_at, 1);
    objtable_stamp(t); // nothing is recorded
    assert_int_equal(stamped, 0);
    tb_config.recording = tb_config.counts = true;
    objtable_stamp(t);
    assert_int_equal(stamped, 1);
    assert_int_equal(objtable_tick(), 2);
    // what other threads have done until a buffer is begun comes before what is in it
    objtable_buffer_begins(t, base + TA_RECORD_STRIDE);
    assert_int_equal(objtable_tick(), 3);
    objtable_buffer_replays(t, base);
    assert_int_equal(t->objects_at, 1);
    objtable_buffer_replays(t, base + TA_RECORD_STRIDE + 0x1000);
    assert_int_equal(t->objects_at, 2);
    t->objects_at = 3;
    objtable_buffer_replays(t, base + TA_RECORD_STRIDE);
    assert_int_equal(t->objects_at, 3);                      // never back
    objtable_buffer_replays(t, base + 4 * TA_RECORD_STRIDE); // no buffer
    objtable_buffer_begins(t, 0);
}

// The open calls from the last one on; the first has no caller.
static void sites(void **state)
{
    static u64 counters[1];
    static struct thread area;
    struct spool_data_object o = { 0 }, p = { 0 };
    u64 base = CALLS_BASE;

    (void)state;
    assert_ptr_equal(mmap((void *)base, 0x1000, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     (void *)base);
    for (u32 i = 0; i < 4; i++) {
        ((struct spool_frame *)(base + 64 * i))->counter = i;
        edges[i].site = i * 100;
    }
    area.counters = counters;
    counters[0] = base + 3 * 64;
    header.data.callers = 3;
    objtable_sites(&area, 0, &o);
    assert_int_equal(o.sites, 3);
    assert_int_equal(o.site[0], 300);
    assert_int_equal(o.site[1], 200);
    assert_int_equal(o.site[2], 100);
    counters[0] = base + 64;
    objtable_sites(&area, 7, &p);
    assert_int_equal(p.sites, 2);
    assert_int_equal(p.site[0], 7);
    assert_int_equal(p.site[1], 100);
}

static u32 asked;

static bool is_orphan(void)
{
    return ++asked == 2;
}

// The lock's holder was killed: a survivor asks from time to time, and takes it.
static void orphaned(void **state)
{
    (void)state;
    objtable_is_orphan = is_orphan;
    objtable_lock();
    assert_int_equal(asked, 0);
    objtable_lock(); // of the dead
    assert_int_equal(asked, 2);
    objtable_unlock();
    objtable_lock();
    objtable_unlock();
    assert_int_equal(asked, 2);
    objtable_is_orphan = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_found_again),
        cmocka_unit_test(misses_add_up),
        cmocka_unit_test(pairs),
        cmocka_unit_test(words),
        cmocka_unit_test(cells),
        cmocka_unit_test(walks),
        cmocka_unit_test(full),
        cmocka_unit_test(times),
        cmocka_unit_test(sites),
        cmocka_unit_test(orphaned),
    };

    header.data.callers = 3;
    objtable_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
