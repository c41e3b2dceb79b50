// SPDX-License-Identifier: MIT
//
// sim/recent.c: by hand, and against a list that is searched from its beginning.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/recent.h"

static struct sim_recent make(uint32_t slots)
{
    struct sim_recent r;

    sim_recent_init_zeroed(&r, slots, calloc(1, sim_recent_bytes(slots)));
    return r;
}

static void test_by_hand(void **state)
{
    struct sim_recent r = make(3);
    uint64_t old = 9;

    (void)state;
    assert_int_equal(sim_recent_bytes(3) % 8, 0);
    assert_int_equal(sim_recent_find(&r, 5), 3);
    assert_int_equal(sim_recent_put(&r, 5, &old), 0);
    assert_int_equal(old, 0);
    assert_int_equal(sim_recent_put(&r, 6, &old), 1);
    assert_int_equal(sim_recent_put(&r, 7, &old), 2);
    assert_int_equal(old, 0);
    assert_int_equal(sim_recent_find(&r, 5), 0);
    sim_recent_touch(&r, 0);                          // 5 7 6
    assert_int_equal(sim_recent_put(&r, 8, &old), 1); // 8 5 7
    assert_int_equal(old, 6);
    assert_int_equal(sim_recent_find(&r, 6), 3);
    sim_recent_take(&r, 0); // 8 7 and an empty slot, the one of 5
    assert_int_equal(sim_recent_find(&r, 5), 3);
    assert_int_equal(sim_recent_put(&r, 9, &old), 0);
    assert_int_equal(old, 0);
    assert_int_equal(sim_recent_put(&r, 10, &old), 2); // 10 9 8
    assert_int_equal(old, 7);
    free(r.slot);
}

static void test_one_slot(void **state)
{
    struct sim_recent r = make(1);
    uint64_t old;

    (void)state;
    for (uint64_t key = 1; key < 100; key++) {
        assert_int_equal(sim_recent_put(&r, key, &old), 0);
        assert_int_equal(old, key - 1);
        assert_int_equal(sim_recent_find(&r, key), 0);
        sim_recent_touch(&r, 0);
        assert_int_equal(sim_recent_find(&r, key + 1), 1);
    }
    sim_recent_take(&r, 0);
    assert_int_equal(sim_recent_find(&r, 99), 1);
    assert_int_equal(sim_recent_put(&r, 7, &old), 0);
    assert_int_equal(old, 0);
    free(r.slot);
}

// The keys in order of use, and their slots.
struct model {
    uint64_t key[128];
    uint32_t slot[128], n;
};

static uint32_t place(const struct model *m, uint64_t key)
{
    uint32_t i = 0;

    while (i < m->n && m->key[i] != key)
        i++;
    return i;
}

static void move_first(struct model *m, uint32_t from, uint64_t key, uint32_t slot)
{
    memmove(m->key + 1, m->key, from * sizeof(*m->key));
    memmove(m->slot + 1, m->slot, from * sizeof(*m->slot));
    m->key[0] = key;
    m->slot[0] = slot;
}

static void remove_at(struct model *m, uint32_t i)
{
    m->n--;
    memmove(m->key + i, m->key + i + 1, (m->n - i) * sizeof(*m->key));
    memmove(m->slot + i, m->slot + i + 1, (m->n - i) * sizeof(*m->slot));
}

static void step(struct sim_recent *r, struct model *m, uint64_t key, bool take)
{
    uint32_t i = place(m, key), slot = sim_recent_find(r, key);
    uint64_t old, expected = 0;

    if (i < m->n) {
        assert_int_equal(slot, m->slot[i]);
        if (take) {
            sim_recent_take(r, slot);
            remove_at(m, i);
        } else {
            sim_recent_touch(r, slot);
            move_first(m, i, key, slot);
        }
        return;
    }
    assert_int_equal(slot, r->slots);
    if (m->n == r->slots)
        expected = m->key[--m->n];
    slot = sim_recent_put(r, key, &old);
    assert_int_equal(old, expected);
    for (i = 0; i < m->n; i++)
        assert_int_not_equal(m->slot[i], slot);
    move_first(m, m->n++, key, slot);
}

static void test_model(void **state)
{
    static const uint32_t sizes[] = { 1, 2, 17, 64, 72, 96 };

    (void)state;
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        struct sim_recent r = make(sizes[k]);
        struct model m = { .n = 0 };
        uint32_t seed = 1;

        for (int i = 0; i < 20000; i++) {
            seed = seed * 1664525 + 1013904223;
            // twice as many keys as slots; at times a key is taken out
            step(&r, &m, 1 + (seed >> 8) % (2 * sizes[k]), (seed >> 4) % 8 == 0);
        }
        free(r.slot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_one_slot),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
