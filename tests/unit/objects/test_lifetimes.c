// SPDX-License-Identifier: MIT
// engine/objects/lifetimes.c: blocks that come and go, and which of their lines have missed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/objects/lifetimes.h"
#include "engine/objects/pages.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;

static struct ranges blocks = { .granules = true };
static u64 now;

static struct spool_data_object *object(u32 i)
{
    return (struct spool_data_object *)DATA_BASE + i;
}

static void make(u32 of, u64 start, u64 bytes)
{
    ranges_put(&blocks, start, start + bytes, of, ++now, 3);
    lifetimes_block(object(of), bytes);
}

static void clear(u64 start, u64 bytes)
{
    ranges_clear(&blocks, start, start + bytes, ++now);
}

// A miss as of a time. Returns where the block is said to begin.
static u64 miss_at(u64 addr, u64 at)
{
    struct found found;

    assert_int_not_equal(ranges_find(&blocks, addr, at, 3, &found), 0);
    lifetimes_missed(&found, addr);
    return lifetimes_start(&found);
}

static void peaks(void **state)
{
    struct spool_data_object *o = object(1);

    (void)state;
    make(1, 0x10000, 100);
    make(1, 0x20000, 50);
    clear(0x10000, 100);
    make(1, 0x30000, 99);
    assert_int_equal(o->blocks, 3);
    assert_int_equal(o->bytes, 249);
    assert_int_equal(o->gone_blocks, 1);
    assert_int_equal(o->gone_bytes, 100);
    assert_int_equal(o->peak_blocks, 2);
    assert_int_equal(o->peak_bytes, 150);
    assert_int_equal(o->least, 50);
    assert_int_equal(o->most, 100);
    lifetimes_grown(o, 2);
    assert_int_equal(o->peak_bytes, 151);
    make(2, 0x20000, 50); // another one has its memory
    assert_int_equal(o->gone_blocks, 2);
    assert_int_equal(o->gone_bytes, 150);
}

static void small(void **state)
{
    struct spool_data_object *o = object(3);
    u64 before;

    (void)state;
    make(3, 0x40020, 14 * 64 - 32); // 14 lines, the first one not from its beginning
    before = now;
    miss_at(0x40020, now);
    miss_at(0x4003f, now);
    miss_at(0x40040, now);
    miss_at(0x40000 + 13 * 64, now);
    assert_int_equal(o->cold, 3);
    assert_int_equal(o->missed_blocks, 1);
    assert_int_equal(o->missed_bytes, 14 * 64 - 32);
    clear(0x40020, 14 * 64 - 32);
    make(3, 0x40020, 64); // the same memory: another block
    miss_at(0x40020, now);
    assert_int_equal(o->cold, 4);
    miss_at(0x40080, before); // as of then: of the first one
    miss_at(0x40020, before);
    assert_int_equal(o->cold, 5);
    assert_int_equal(o->missed_blocks, 2);
}

static void large(void **state)
{
    struct spool_data_object *o = object(4);
    u64 size = 3 * 4096, before;

    (void)state;
    make(4, 0x50000, size);
    before = now;
    for (int pass = 0; pass < 2; pass++)
        for (u64 at = 0; at < size; at += 64)
            miss_at(0x50000 + at, now);
    assert_int_equal(o->cold, size / 64);
    assert_int_equal(o->missed_blocks, 1);
    clear(0x50000, size);
    make(4, 0x50000, size);
    miss_at(0x50000, before);
    assert_int_equal(o->cold, size / 64);
    miss_at(0x50000, now);
    assert_int_equal(o->cold, size / 64 + 1);
    assert_int_equal(o->missed_blocks, 2);
    assert_int_equal(o->missed_bytes, 2 * size);
}

// Another block takes a part of it, before the misses that came earlier are known.
static void in_pieces(void **state)
{
    u64 sizes[] = { 10 * 64, 100 * 64 };

    (void)state;
    for (u32 i = 0; i < 2; i++) {
        struct spool_data_object *o = object(5 + i);
        u64 start = 0x60000 + i * 0x10000, before;

        make(5 + i, start, sizes[i]);
        before = now;
        make(7, start + 128, 128);
        assert_int_equal(miss_at(start, before), start);
        assert_int_equal(miss_at(start + 128, before), start);
        assert_int_equal(miss_at(start + 320, before), start);
        assert_int_equal(miss_at(start + 320, before), start);
        assert_int_equal(o->cold, 3);
        assert_int_equal(o->missed_blocks, 1);
        assert_int_equal(o->missed_bytes, sizes[i]);
        assert_int_equal(miss_at(start + 128, now), start + 128);
        make(7, start, 64); // and its beginning
        assert_int_equal(miss_at(start + 64, now), start);
        assert_int_equal(o->cold, 4);
        assert_int_equal(o->missed_blocks, 1);
    }
}

// The table has 786,432 entries at most, and those of blocks that are forgotten are used again.
static void many(void **state)
{
    (void)state;
    for (u64 i = 0; i < 1200000; i++) {
        make(8, 0x100000, 16 * 64);
        miss_at(0x100000, now);
    }
    assert_int_equal(object(8)->cold, 1200000);
    assert_int_equal(header.data.lines_lost, 0);
    for (u64 i = 0; i < 400000; i++) {
        make(9, 0x10000000 + i * 4096, 16 * 64);
        miss_at(0x10000000 + i * 4096, now);
    }
    assert_in_range(header.data.lines_lost, 1, 300000);
    assert_int_equal(object(9)->cold + header.data.lines_lost, 400000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(peaks), cmocka_unit_test(small),
                                        cmocka_unit_test(large), cmocka_unit_test(in_pieces),
                                        cmocka_unit_test(many) };
    pid_t child;
    int status, failed;

    // Notes of blocks that were cut are looked for always; without the flag where there are any.
    child = fork();
    header.flags = child ? 0 : SPOOL_F_NO_HINTS;
    if (mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
             0) != (void *)DATA_BASE)
        return 1;
    pages_init();
    ranges_init();
    lifetimes_init();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!child)
        return failed;
    if (waitpid(child, &status, 0) != child)
        return 1;
    return failed + (status != 0);
}
