// SPDX-License-Identifier: MIT
// engine/objects/walks.c: steps from miss to miss, by thread.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"

struct tb_config tb_config = { .d1_shift = 6 };
static struct thread one = { .objects_number = 1 }, two = { .objects_number = 2 };
static struct spool_data_count *entry = (void *)(DATA_BASE + SPOOL_DATA_COUNTS_OFF);

static void walk(const struct thread *t, struct spool_data_count *c, const u64 *addr, u32 n)
{
    for (u32 i = 0; i < n; i++)
        walks_step(t, c, addr[i]);
}

#define WALK(t, c, ...) \
    walk(t, c, (const u64[]){ __VA_ARGS__ }, sizeof((u64[]){ __VA_ARGS__ }) / sizeof(u64))

static void is(const struct spool_data_count *c, u64 steps, u64 ahead, u64 back, u64 near)
{
    assert_int_equal(c->steps, steps);
    assert_int_equal(c->ahead, ahead);
    assert_int_equal(c->back, back);
    assert_int_equal(c->near, near);
}

static void kinds(void **state)
{
    struct spool_data_count *c = &entry[0];

    (void)state;
    walks_step(&one, NULL, 0x1000); // there was no space
    WALK(&one, c, 0x1000);
    is(c, 0, 0, 0, 0);
    WALK(&one, c, 0x1078, 0x1080, 0x10bf); // 1, 1 and 0 lines
    is(c, 3, 2, 0, 3);
    WALK(&one, c, 0x10bf - 0x40, 0x2000, 0x3000); // 1 line back; far by less than 4 KiB; by 4 KiB
    is(c, 6, 2, 1, 5);
    WALK(&one, c, 0x2000);
    is(c, 7, 2, 1, 5);
    walks_zero(c);
    is(c, 0, 0, 0, 0);
    assert_int_equal(c->stride[0].count, 0);
    WALK(&one, c, 0x2040); // from where it was
    is(c, 1, 1, 0, 1);
    assert_int_equal(c->stride[0].step, 0x40);
}

static void strides(void **state)
{
    struct spool_data_count *c = &entry[1];
    u64 at = 0x100000;

    (void)state;
    WALK(&one, c, at);
    for (u32 i = 0; i < 1000; i++) { // every second step is 5,600; the others are all different
        at += i % 2 ? 10000 + i * 16 : 5600;
        WALK(&one, c, at);
    }
    for (u32 i = 0; i < SPOOL_DATA_STRIDES; i++)
        if (c->stride[i].step == 5600) {
            assert_int_equal(c->stride[i].count, 500);
            at = 0;
        }
    assert_int_equal(at, 0);
    // one that does not fit is none
    c = &entry[2];
    WALK(&one, c, 0, 1ul << 40, 0);
    is(c, 2, 0, 0, 0);
    assert_int_equal(c->stride[0].count, 0);
}

static void threads(void **state)
{
    struct spool_data_count *c = &entry[3];

    (void)state;
    for (u64 i = 0; i < 100; i++) {
        WALK(&one, c, 0x10000 + i * 0x40);
        WALK(&two, c, 0x90000 - i * 0x40);
    }
    is(c, 198, 99, 99, 198);
    // a cache: an entry that is replaced begins again
    for (u32 number = 3; number < 3 + 0x80000; number++) {
        struct thread t = { .objects_number = number };

        WALK(&t, c, 0x5000);
    }
    is(c, 198, 99, 99, 198);
    WALK(&one, c, 0x10000 + 100 * 0x40); // its own is in the entry
    is(c, 199, 100, 99, 199);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(strides),
        cmocka_unit_test(threads),
    };

    if (mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
             0) != (void *)DATA_BASE)
        return 1;
    walks_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
