// SPDX-License-Identifier: MIT
// engine/codecache/vmmapset.c: the sorted array of ranges, against hand-made cases and against a
// page table filled by the same random calls.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/codecache/vmmapset.h"

// The engine's allocator, hosted.
void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    (void)bytes;
    free(p);
}

#define P(n) ((u64)(n)*4096)
enum { RO = 1, RW = 3, RX = 5 };

static void add(struct vmmapset *s, u64 from, u64 to, u32 prot, u32 flags)
{
    struct vmmap_entry e = { P(from), P(to), prot, flags, 0, 0 };

    vmmapset_add(s, e);
}

static void is(struct vmmapset *s, u32 i, u64 from, u64 to, u32 prot, u32 flags)
{
    assert_true(i < s->n);
    assert_int_equal(s->e[i].start, P(from));
    assert_int_equal(s->e[i].end, P(to));
    assert_int_equal(s->e[i].prot, prot);
    assert_int_equal(s->e[i].flags, flags);
}

static void test_add_joins(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    assert_null(vmmapset_find(&s, 0));
    add(&s, 10, 20, RO, 0);
    add(&s, 30, 40, RO, 0);
    assert_int_equal(s.n, 2);
    add(&s, 20, 30, RO, 0); // fills the gap: one
    assert_int_equal(s.n, 1);
    is(&s, 0, 10, 40, RO, 0);
    add(&s, 40, 50, RX, 0); // another protection: stays apart
    assert_int_equal(s.n, 2);
    assert_ptr_equal(vmmapset_find(&s, P(40)), &s.e[1]);
    assert_ptr_equal(vmmapset_find(&s, P(40) - 1), &s.e[0]);
    assert_null(vmmapset_find(&s, P(50)));
    assert_null(vmmapset_find(&s, P(10) - 1));
    add(&s, 15, 45, RW, VMMAP_ANON); // over both
    assert_int_equal(s.n, 3);
    is(&s, 0, 10, 15, RO, 0);
    is(&s, 1, 15, 45, RW, VMMAP_ANON | VMMAP_WRITTEN);
    is(&s, 2, 45, 50, RX, 0);
    free(s.e);
}

static void test_remove(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    add(&s, 10, 40, RO, 0);
    vmmapset_remove(&s, P(20), P(30)); // out of the middle
    assert_int_equal(s.n, 2);
    is(&s, 0, 10, 20, RO, 0);
    is(&s, 1, 30, 40, RO, 0);
    vmmapset_remove(&s, P(0), P(15));
    is(&s, 0, 15, 20, RO, 0);
    vmmapset_remove(&s, P(35), P(100));
    is(&s, 1, 30, 35, RO, 0);
    vmmapset_remove(&s, P(20), P(30)); // nothing there
    assert_int_equal(s.n, 2);
    vmmapset_remove(&s, P(7), P(7)); // empty
    vmmapset_remove(&s, 0, ~0ul);
    assert_int_equal(s.n, 0);
    free(s.e);
}

static void test_protect(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    add(&s, 10, 40, RX, 0);
    s.e[0].map_plus_one = 7;
    vmmapset_protect(&s, P(20), P(30), RW);
    assert_int_equal(s.n, 3);
    is(&s, 1, 20, 30, RW, VMMAP_WRITTEN);
    assert_int_equal(s.e[0].map_plus_one, 7);
    assert_int_equal(s.e[1].map_plus_one, 7);
    assert_int_equal(s.e[2].map_plus_one, 7);
    vmmapset_protect(&s, P(20), P(30), RX); // back again, but it has been writable
    assert_int_equal(s.n, 3);
    is(&s, 1, 20, 30, RX, VMMAP_WRITTEN);
    // an arena whose writable part grows stays two entries
    add(&s, 100, 110, RW, VMMAP_ANON);
    add(&s, 110, 200, 0, VMMAP_ANON);
    for (u64 i = 110; i < 190; i++)
        vmmapset_protect(&s, P(i), P(i + 1), RW);
    assert_int_equal(s.n, 5);
    is(&s, 3, 100, 190, RW, VMMAP_ANON | VMMAP_WRITTEN);
    is(&s, 4, 190, 200, 0, VMMAP_ANON);
    free(s.e);
}

// 20,000 random calls on 256 pages; after each, every page's entry agrees with a table of pages.
static void test_random(void **state)
{
    enum { PAGES = 256 };
    struct vmmapset s = { 0 };
    struct {
        int there;
        u32 prot, flags;
    } page[PAGES] = { { 0 } };
    u32 seed = 12345;

    (void)state;
    for (int step = 0; step < 20000; step++) {
        u32 from, to, what, prot;

        seed = seed * 1664525 + 1013904223;
        from = seed >> 8 & 255;
        to = from + 1 + (seed >> 16 & 15);
        what = seed >> 24 & 3;
        prot = (seed >> 26 & 1) ? RW : RX;
        if (to > PAGES)
            to = PAGES;
        if (what == 0)
            vmmapset_remove(&s, P(from), P(to));
        else if (what == 1)
            vmmapset_protect(&s, P(from), P(to), prot);
        else
            add(&s, from, to, prot, what == 2 ? VMMAP_SHARED : 0);
        for (u32 i = from; i < to; i++) {
            u32 written = prot == RW ? VMMAP_WRITTEN : 0;

            if (what == 0) {
                page[i].there = 0;
            } else if (what == 1) {
                if (page[i].there) {
                    page[i].prot = prot;
                    page[i].flags |= written;
                }
            } else {
                page[i].there = 1;
                page[i].prot = prot;
                page[i].flags = (what == 2 ? VMMAP_SHARED : 0) | written;
            }
        }
        for (u32 i = 0; i < PAGES; i++) {
            struct vmmap_entry *e = vmmapset_find(&s, P(i) + 77);

            assert_int_equal(e != NULL, page[i].there);
            if (e) {
                assert_int_equal(e->prot, page[i].prot);
                assert_int_equal(e->flags, page[i].flags);
            }
        }
        for (u32 i = 0; i + 1 < s.n; i++) {
            assert_true(s.e[i].start < s.e[i].end && s.e[i].end <= s.e[i + 1].start);
            // neighbours that are the same are one
            assert_false(s.e[i].end == s.e[i + 1].start && s.e[i].prot == s.e[i + 1].prot &&
                         s.e[i].flags == s.e[i + 1].flags);
        }
    }
    free(s.e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_joins),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_protect),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("vmmapset", tests, NULL, NULL);
}
