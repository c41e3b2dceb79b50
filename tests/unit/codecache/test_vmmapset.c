// SPDX-License-Identifier: MIT
// engine/codecache/vmmapset.c: the tree of ranges, against hand-made cases and, in millions of
// random calls, against a plain model; and the limit of its depth.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/codecache/vmmapset.h"

// The engine's allocator, hosted; how many blocks are in use.
static long blocks;

void *heap_alloc(u64 bytes)
{
    blocks++;
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    assert_int_equal(bytes, sizeof(struct vmmap_entry));
    blocks--;
    free(p);
}

#define P(n) ((u64)(n)*4096)
enum { RO = 1, RW = 3, RX = 5 };

static void add(struct vmmapset *s, u64 from, u64 to, u32 prot, u32 flags)
{
    struct vmmap_entry e = { .start = P(from), .end = P(to), .prot = prot, .flags = flags };

    vmmapset_add(s, e);
}

static u32 count(struct vmmapset *s)
{
    u32 n = 0;

    for (struct vmmap_entry *e = vmmapset_above(s, 0); e; e = vmmapset_next(e))
        n++;
    assert_int_equal(blocks, n);
    return n;
}

static struct vmmap_entry *entry(struct vmmapset *s, u32 i)
{
    struct vmmap_entry *e = vmmapset_above(s, 0);

    while (e && i--)
        e = vmmapset_next(e);
    assert_non_null(e);
    return e;
}

static void clear(struct vmmapset *s)
{
    vmmapset_remove(s, 0, ~0ul);
    assert_int_equal(count(s), 0);
}

static void is(struct vmmapset *s, u32 i, u64 from, u64 to, u32 prot, u32 flags)
{
    struct vmmap_entry *e = entry(s, i);

    assert_int_equal(e->start, P(from));
    assert_int_equal(e->end, P(to));
    assert_int_equal(e->prot, prot);
    assert_int_equal(e->flags, flags);
}

static void test_add_joins(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    assert_null(vmmapset_find(&s, 0));
    add(&s, 10, 20, RO, 0);
    add(&s, 30, 40, RO, 0);
    assert_int_equal(count(&s), 2);
    add(&s, 20, 30, RO, 0); // fills the gap: one
    assert_int_equal(count(&s), 1);
    is(&s, 0, 10, 40, RO, 0);
    add(&s, 40, 50, RX, 0); // another protection: stays apart
    assert_int_equal(count(&s), 2);
    assert_ptr_equal(vmmapset_find(&s, P(40)), entry(&s, 1));
    assert_ptr_equal(vmmapset_find(&s, P(40) - 1), entry(&s, 0));
    assert_null(vmmapset_find(&s, P(50)));
    assert_null(vmmapset_find(&s, P(10) - 1));
    add(&s, 15, 45, RW, VMMAP_ANON); // over both
    assert_int_equal(count(&s), 3);
    is(&s, 0, 10, 15, RO, 0);
    is(&s, 1, 15, 45, RW, VMMAP_ANON | VMMAP_WRITTEN);
    is(&s, 2, 45, 50, RX, 0);
    clear(&s);
}

static void test_remove(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    add(&s, 10, 40, RO, 0);
    vmmapset_remove(&s, P(20), P(30)); // out of the middle
    assert_int_equal(count(&s), 2);
    is(&s, 0, 10, 20, RO, 0);
    is(&s, 1, 30, 40, RO, 0);
    vmmapset_remove(&s, P(0), P(15));
    is(&s, 0, 15, 20, RO, 0);
    vmmapset_remove(&s, P(35), P(100));
    is(&s, 1, 30, 35, RO, 0);
    vmmapset_remove(&s, P(20), P(30)); // nothing there
    assert_int_equal(count(&s), 2);
    vmmapset_remove(&s, P(7), P(7)); // empty
    vmmapset_remove(&s, 0, ~0ul);
    assert_int_equal(count(&s), 0);
    clear(&s);
}

static void test_protect(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    add(&s, 10, 40, RX, 0);
    entry(&s, 0)->map_plus_one = 7;
    vmmapset_protect(&s, P(20), P(30), RW);
    assert_int_equal(count(&s), 3);
    is(&s, 1, 20, 30, RW, VMMAP_WRITTEN);
    assert_int_equal(entry(&s, 0)->map_plus_one, 7);
    assert_int_equal(entry(&s, 1)->map_plus_one, 7);
    assert_int_equal(entry(&s, 2)->map_plus_one, 7);
    vmmapset_protect(&s, P(20), P(30), RX); // back again, but it has been writable
    assert_int_equal(count(&s), 3);
    is(&s, 1, 20, 30, RX, VMMAP_WRITTEN);
    // an arena whose writable part grows stays two entries
    add(&s, 100, 110, RW, VMMAP_ANON);
    add(&s, 110, 200, 0, VMMAP_ANON);
    for (u64 i = 110; i < 190; i++)
        vmmapset_protect(&s, P(i), P(i + 1), RW);
    assert_int_equal(count(&s), 5);
    is(&s, 3, 100, 190, RW, VMMAP_ANON | VMMAP_WRITTEN);
    is(&s, 4, 190, 200, 0, VMMAP_ANON);
    clear(&s);
}

// Look-ups at the ends of the address space.
static void test_ends(void **state)
{
    struct vmmapset s = { 0 };
    struct vmmap_entry last = { .start = ~0xffful, .end = ~0ul, .prot = RO };

    (void)state;
    assert_null(vmmapset_above(&s, 0));
    assert_null(vmmapset_above(&s, ~0ul));
    add(&s, 0, 1, RO, 0);
    vmmapset_add(&s, last);
    assert_int_equal(count(&s), 2);
    assert_ptr_equal(vmmapset_find(&s, 0), entry(&s, 0));
    assert_ptr_equal(vmmapset_above(&s, P(1) - 1), entry(&s, 0));
    assert_ptr_equal(vmmapset_above(&s, P(1)), entry(&s, 1));
    assert_ptr_equal(vmmapset_find(&s, ~0ul - 1), entry(&s, 1));
    assert_null(vmmapset_find(&s, ~0ul));
    assert_null(vmmapset_above(&s, ~0ul));
    assert_null(vmmapset_next(entry(&s, 1)));
    vmmapset_remove(&s, 0, P(1));
    assert_int_equal(count(&s), 1);
    clear(&s);
}

// The highest gap of a size below an address: pages 16 to 31 and 48 to 63 are taken.
static void test_gap(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    assert_int_equal(vmmapset_gap(&s, P(4), P(80)), P(76));
    add(&s, 16, 32, RO, 0);
    add(&s, 48, 64, RO, 0);
    assert_int_equal(vmmapset_gap(&s, P(16), P(80)), P(64)); // all of it
    assert_int_equal(vmmapset_gap(&s, P(16), P(79)), P(32));
    assert_int_equal(vmmapset_gap(&s, P(9), P(72)), P(39));
    assert_int_equal(vmmapset_gap(&s, P(17), P(80)), 0);
    assert_int_equal(vmmapset_gap(&s, P(15), P(48)), P(33));
    assert_int_equal(vmmapset_gap(&s, P(15), P(40)), P(1));
    assert_int_equal(vmmapset_gap(&s, P(4), P(56)), P(44)); // below the entry that holds 56
    assert_int_equal(vmmapset_gap(&s, P(4), P(31)), P(12));
    assert_int_equal(vmmapset_gap(&s, P(16), P(40)), 0); // address 0 is none
    clear(&s);
}

static u32 depth(const struct vmmap_entry *e)
{
    u32 left, right;

    if (!e)
        return 0;
    left = depth(RB_LEFT(e, node));
    right = depth(RB_RIGHT(e, node));
    return 1 + (left > right ? left : right);
}

// 65,535 entries made in order, the worst case for an unbalanced tree, are at most 2 * log2(65536)
// = 32 deep; after every second one is removed, at most 2 * log2(32768) = 30.
static void test_depth(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    for (u64 i = 0; i < 65535; i++)
        add(&s, 2 * i, 2 * i + 1, RO, 0);
    assert_int_equal(count(&s), 65535);
    assert_in_range(depth(RB_ROOT(&s)), 16, 32);
    for (u64 i = 0; i < 65535; i += 2)
        vmmapset_remove(&s, P(2 * i), P(2 * i + 1));
    assert_int_equal(count(&s), 32767);
    assert_in_range(depth(RB_ROOT(&s)), 15, 30);
    // filled page by page, what remains becomes one
    for (u64 i = 0; i < 131072; i++)
        if (!vmmapset_find(&s, P(i)))
            add(&s, i, i + 1, RO, 0);
    assert_int_equal(count(&s), 1);
    is(&s, 0, 0, 131072, RO, 0);
    clear(&s);
}

// ---- The model: a table of pages, and where an entry begins ----

#define PAGES 4096u

struct page {
    bool there, begins;
    u32 prot, flags, map_plus_one;
};

static struct page model[PAGES + 1]; // behind the last: nothing

static void model_cut(u32 at)
{
    if (model[at].there)
        model[at].begins = true;
}

static u32 model_end(u32 at) // of the entry that `at` is in
{
    do
        at++;
    while (model[at].there && !model[at].begins);
    return at;
}

static u32 model_above(u32 at) // first page of the first entry that ends above `at`; PAGES: none
{
    while (at < PAGES && !model[at].there)
        at++;
    while (at < PAGES && !model[at].begins)
        at--;
    return at;
}

static bool same(const struct page *a, const struct page *b)
{
    return a->prot == b->prot && a->flags == b->flags && a->map_plus_one == b->map_plus_one;
}

static void model_join(u32 from, u32 to)
{
    u32 at = model_above(from ? from - 1 : 0);

    while (at <= to && at < PAGES) {
        u32 end = model_end(at);

        if (model[end].there && same(&model[end], &model[end - 1]))
            model[end].begins = false;
        else
            at = model_above(end);
    }
}

static void model_set(u32 from, u32 to, const struct page *to_be)
{
    model_cut(to);
    for (u32 i = from; i < to; i++)
        model[i] = *to_be;
    model[from].begins = to_be->there;
    if (to_be->there)
        model_join(from, to);
}

static void model_protect(u32 from, u32 to, u32 prot)
{
    model_cut(from);
    model_cut(to);
    for (u32 i = from; i < to; i++)
        if (model[i].there) {
            model[i].prot = prot;
            model[i].flags |= prot == RW ? VMMAP_WRITTEN : 0;
        }
    model_join(from, to);
}

static void agrees(const struct vmmap_entry *e, u32 at)
{
    if (at >= PAGES) {
        assert_null(e);
        return;
    }
    assert_non_null(e);
    assert_int_equal(e->start, P(at));
    assert_int_equal(e->end, P(model_end(at)));
    assert_int_equal(e->prot, model[at].prot);
    assert_int_equal(e->flags, model[at].flags);
    assert_int_equal(e->map_plus_one, model[at].map_plus_one);
}

static u64 random_state = 88172645463325252u;

static u32 pick(u32 below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (u32)((random_state >> 11) % below);
}

// What vmmap.c does besides the calls: it notes something in one entry.
static void random_note(struct vmmapset *s, u32 at)
{
    struct vmmap_entry *e = vmmapset_find(s, P(at) + 77);

    assert_int_equal(e != NULL, model[at].there);
    if (!e)
        return;
    if (pick(2))
        e->flags |= VMMAP_EXECUTED;
    else
        e->map_plus_one = pick(3);
    for (u32 i = (u32)(e->start / 4096); i < e->end / 4096; i++) {
        model[i].flags = e->flags;
        model[i].map_plus_one = e->map_plus_one;
    }
}

static void random_call(struct vmmapset *s, u32 longest)
{
    static const u32 prots[3] = { RO, RW, RX };
    u32 from = pick(PAGES), to = from + 1 + pick(longest), prot = prots[pick(3)];
    struct page p = { true, false, prot, pick(2) ? VMMAP_ANON : 0, 0 };

    if (to > PAGES)
        to = PAGES;
    switch (pick(8)) {
    case 0: random_note(s, from); break;
    case 1:
    case 2:
        vmmapset_remove(s, P(from), P(to));
        model_set(from, to, &(struct page){ false, false, 0, 0, 0 });
        break;
    case 3:
    case 4:
        vmmapset_protect(s, P(from), P(to), prot);
        model_protect(from, to, prot);
        break;
    default:
        add(s, from, to, prot, p.flags);
        p.flags |= prot == RW ? VMMAP_WRITTEN : 0;
        model_set(from, to, &p);
    }
    // entries around the range
    for (u32 at = from ? from - 1 : 0, i = 0; i < 3 && at < PAGES; i++) {
        u32 e = model_above(at);

        agrees(vmmapset_above(s, P(at) + 4095), e);
        at = e < PAGES ? model_end(e) : PAGES;
    }
}

// Three million random calls on 4096 pages: 2 million with ranges of up to 4 pages, then 1 million
// with up to 64. After each, three entries around its range are those of the model; after every
// 20,000, all are.
static void test_random(void **state)
{
    struct vmmapset s = { 0 };

    (void)state;
    for (u32 step = 0; step < 3000000; step++) {
        random_call(&s, step < 2000000 ? 4 : 64);
        if (step % 20000 == 0) {
            u32 at = model_above(0), n = 0;

            for (struct vmmap_entry *e = vmmapset_above(&s, 0);; e = vmmapset_next(e)) {
                agrees(e, at);
                if (!e)
                    break;
                n++;
                at = model_above(model_end(at));
            }
            assert_int_equal(blocks, n);
        }
    }
    clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_joins), cmocka_unit_test(test_remove),
        cmocka_unit_test(test_protect),   cmocka_unit_test(test_ends),
        cmocka_unit_test(test_gap),       cmocka_unit_test(test_depth),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("vmmapset", tests, NULL, NULL);
}
