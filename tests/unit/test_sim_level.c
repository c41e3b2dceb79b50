// SPDX-License-Identifier: MIT
//
// sim/level.c: least recently used as sim/cache.c has it, reference by reference; the tree and the
// predictions by hand, and against lists of their own over long random sequences; any number of
// sets; lines that are taken out.
// Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/level.h"

#define NONE UINT64_MAX

static bool small; // no line's number reaches above(): tags of 32 bits, else of 64

static uint64_t above(uint32_t sets)
{
    return small ? UINT64_C(0xffffffff) * sets : UINT64_MAX;
}

static struct sim_level make(uint32_t sets, uint32_t assoc, enum sim_replacement r)
{
    struct sim_geometry g = { sets * assoc * 64, assoc, 64 };
    struct sim_level l;

    assert_int_equal(sim_geometry_check_last(&g), SIM_GEOMETRY_OK);
    assert_true(sim_level_can(&g, r));
    sim_level_init_zeroed(&l, &g, r, above(sets), calloc(1, sim_level_bytes(&g, r, above(sets))));
    if (r != SIM_LRU || assoc <= SIM_LEVEL_ORDERED)
        assert_int_equal(l.tag_bytes, small ? 4 : 8);
    assert_int_equal(l.sets, sets);
    assert_int_equal(l.line_shift, 6);
    return l;
}

// Uses or fills; what was replaced: NONE for a hit, 0 for none, else the line plus one.
static uint64_t refer(struct sim_level *l, uint64_t line)
{
    return sim_level_use(l, line) ? NONE : sim_level_fill(l, line, 0);
}

static uint64_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 33;
}

static void test_can(void **state)
{
    struct sim_geometry g = { 12 * 64, 12, 64 };

    (void)state;
    assert_true(sim_level_can(&g, SIM_LRU));
    assert_false(sim_level_can(&g, SIM_PLRU));
    assert_true(sim_level_can(&g, SIM_SRRIP));
    g = (struct sim_geometry){ 64 * 64, 64, 64 };
    assert_true(sim_level_can(&g, SIM_LRU));
    assert_false(sim_level_can(&g, SIM_PLRU));
    assert_false(sim_level_can(&g, SIM_SRRIP));
    g.assoc = 32;
    assert_true(sim_level_can(&g, SIM_PLRU));
    assert_true(sim_level_can(&g, SIM_SRRIP));
    // two sets of 32 ways, each with two words of state
    assert_int_equal(sim_level_bytes(&g, SIM_LRU, UINT64_MAX), 64 * 8);
    assert_int_equal(sim_level_bytes(&g, SIM_PLRU, UINT64_MAX), 64 * 8 + 2 * 16);
    assert_int_equal(sim_level_bytes(&g, SIM_PLRU, (UINT64_C(1) << 33) - 1), 64 * 8 + 2 * 16);
    assert_int_equal(sim_level_bytes(&g, SIM_PLRU, (UINT64_C(1) << 33) - 2), 64 * 4 + 2 * 16);
    // 64 sets of 12 ways, which have room for 16: a word of state each
    g = (struct sim_geometry){ 64 * 12 * 64, 12, 64 };
    assert_int_equal(sim_level_bytes(&g, SIM_SRRIP, UINT64_C(1) << 37), 64 * (16 * 4 + 8));
    assert_int_equal(sim_level_bytes(&g, SIM_SRRIP, UINT64_MAX), 64 * (16 * 8 + 8));
}

static void test_lru(void **state)
{
    static const struct {
        uint32_t sets, assoc;
    } cases[] = { { 1, 1 },  { 1, 4 },   { 3, 5 },  { 8, 20 }, { 12, 16 },
                  { 7, 15 }, { 64, 33 }, { 1, 17 }, { 1, 72 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sim_level l = make(cases[i].sets, cases[i].assoc, SIM_LRU);
        struct sim_geometry g = { cases[i].sets * cases[i].assoc * 64, cases[i].assoc, 64 };
        uint64_t s = i, n_lines = cases[i].sets * cases[i].assoc * 3 / 2 + 2;
        struct sim_cache c;

        sim_cache_init(&c, &g, malloc(sim_cache_bytes(&g)));
        for (int n = 0; n < 20000; n++) {
            uint64_t far = small ? above(cases[i].sets) - n_lines : UINT64_C(1) << 57;
            uint64_t line = next_random(&s) % n_lines + (n % 7 ? 0 : far);

            assert_int_equal(refer(&l, line) != NONE, sim_cache_touch_last(&c, line << 6));
        }
        free(c.tags);
        free(l.tags);
    }
}

// Four ways, one set.
static void test_tree_by_hand(void **state)
{
    struct sim_level l = make(1, 4, SIM_PLRU);

    (void)state;
    for (uint64_t line = 10; line < 14; line++)
        assert_int_equal(refer(&l, line), 0); // ways 0 to 3: the root points to 0 and 1, these to 0
    assert_int_equal(refer(&l, 20), 11);      // way 0: the root points to 2 and 3, these to 2
    assert_int_equal(refer(&l, 21), 13);      // way 2
    assert_int_equal(refer(&l, 11), NONE);    // way 1: the root points to 2 and 3, these to 3
    assert_int_equal(refer(&l, 22), 14);      // way 3, which LRU would have replaced later
    assert_int_equal(refer(&l, 23), 21);      // way 0
    assert_int_equal(refer(&l, 11), NONE);
    assert_int_equal(refer(&l, 24), 22); // way 2
    free(l.tags);
}

// The example of the paper: a1 a2 a2 a1 b1 b2 b3 b4 a1 a2. The two lines that were used twice stay,
// which LRU would have replaced.
static void test_predictions_by_hand(void **state)
{
    enum { A1 = 101, A2, B1, B2, B3, B4 };
    static const uint64_t line[] = { A1, A2, A2, A1, B1, B2, B3, B4, A1, A2 };
    static const uint64_t old[] = { 0, 0, NONE, NONE, 0, 0, B1 + 1, B2 + 1, NONE, NONE };
    struct sim_level l = make(1, 4, SIM_SRRIP);

    (void)state;
    for (size_t i = 0; i < sizeof(line) / sizeof(*line); i++)
        assert_int_equal(refer(&l, line[i]), old[i]);
    free(l.tags);
}

// Laps of twice as many lines as there is room for: none is ever there by the one policy, and by
// the other 15 of the 32 of a set, less those that take a place now and then: two fifths of a lap.
// The sets that lead have the one, so the other is found. Half as many lines as there is room for
// stay, but for those of the four sets that always have the other policy.
static void test_duel(void **state)
{
    enum { SETS = 256, ASSOC = 16, LINES = 2 * SETS * ASSOC };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct sim_level l = make(SETS, ASSOC, k ? SIM_DRRIP : SIM_SRRIP);
        uint32_t hits = 0;

        for (uint64_t i = 0; i < 60 * LINES; i++) {
            bool there = refer(&l, i % LINES) == NONE;

            hits += i >= 50 * LINES && there;
        }
        if (k)
            assert_in_range(hits, 10 * LINES * 2 / 5, 10 * LINES / 2);
        else
            assert_int_equal(hits, 0);
        hits = 0;
        for (uint64_t i = 0; i < 100 * (LINES / 4); i++) {
            bool there = refer(&l, i % (LINES / 4)) == NONE;

            hits += i >= 90 * (LINES / 4) && there;
        }
        assert_in_range(hits, 10 * (LINES / 4) - (k ? 10 * 4 * 8 : 0), 10 * (LINES / 4));
        free(l.tags);
    }
}

// ---- Against other ways to say the same ----

struct model {
    uint32_t assoc;
    uint64_t line[32]; // plus one
    uint64_t used[32]; // tree: when; predictions: these
    uint64_t now;
};

// The tree's victim: of the half whose latest use is earlier, and so on. Of halves that were not
// used since they were last both pointed at there is none: all ways are in use.
static uint32_t model_tree(const struct model *m)
{
    uint32_t at = 0, n = m->assoc;

    while (n > 1) {
        uint64_t latest[2] = { 0, 0 };

        n /= 2;
        for (uint32_t i = 0; i < 2 * n; i++)
            if (m->used[at + i] > latest[i / n])
                latest[i / n] = m->used[at + i];
        at += latest[1] < latest[0] ? n : 0;
    }
    return at;
}

static uint32_t model_predictions(struct model *m)
{
    for (;;) {
        for (uint32_t i = 0; i < m->assoc; i++)
            if (m->used[i] == 3)
                return i;
        for (uint32_t i = 0; i < m->assoc; i++)
            m->used[i]++;
    }
}

static uint64_t model_refer(struct model *m, uint64_t line, bool tree)
{
    uint32_t way = m->assoc;
    uint64_t old = NONE;

    m->now++;
    for (uint32_t i = 0; i < m->assoc; i++)
        if (m->line[i] == line + 1)
            way = i;
    if (way == m->assoc) {
        for (uint32_t i = m->assoc; i-- > 0;)
            if (!m->line[i])
                way = i;
        if (way == m->assoc)
            way = tree ? model_tree(m) : model_predictions(m);
        old = m->line[way];
        m->line[way] = line + 1;
    }
    m->used[way] = tree ? m->now : old == NONE ? 0 : 2;
    return old;
}

static void against_model(enum sim_replacement r, uint32_t assoc, uint32_t sets)
{
    struct sim_level l = make(sets, assoc, r);
    struct model *m = calloc(sets, sizeof(*m));
    uint64_t s = assoc;

    for (uint32_t i = 0; i < sets; i++)
        m[i].assoc = assoc;
    for (int n = 0; n < 30000; n++) {
        uint64_t line = next_random(&s) % (sets * assoc * 3 / 2 + 1);
        struct model *set = &m[line % sets];

        assert_int_equal(refer(&l, line), model_refer(set, line, r == SIM_PLRU));
        if (n % 16 == 0) {
            bool there = false;

            line = next_random(&s) % (sets * assoc * 3 / 2 + 1);
            set = &m[line % sets];
            for (uint32_t i = 0; i < assoc; i++)
                if (set->line[i] == line + 1) {
                    there = true;
                    set->line[i] = 0;
                }
            assert_int_equal(sim_level_take(&l, line), there);
        }
    }
    free(m);
    free(l.tags);
}

static void test_models(void **state)
{
    (void)state;
    for (uint32_t assoc = 1; assoc <= 32; assoc *= 2)
        against_model(SIM_PLRU, assoc, 5);
    for (uint32_t assoc = 1; assoc <= 32; assoc++)
        against_model(SIM_SRRIP, assoc, assoc % 2 ? 4 : 3);
}

static void test_take(void **state)
{
    static const enum sim_replacement all[] = { SIM_LRU, SIM_PLRU, SIM_SRRIP, SIM_DRRIP };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct sim_level l = make(1, 4, all[i]);

        for (uint64_t line = 0; line < 4; line++)
            assert_int_equal(refer(&l, line), 0);
        assert_false(sim_level_take(&l, 4));
        assert_true(sim_level_take(&l, 2));
        assert_false(sim_level_use(&l, 2));
        assert_int_equal(sim_level_fill(&l, 7, 0), 0); // its way is empty
        for (uint64_t line = 0; line < 8; line++)
            assert_int_equal(sim_level_use(&l, line), line < 2 || line == 3 || line == 7);
        free(l.tags);
    }
}

// A mark goes with the first use, or with the line.
static void test_marks(void **state)
{
    static const enum sim_replacement all[] = { SIM_LRU, SIM_PLRU, SIM_SRRIP, SIM_DRRIP };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct sim_level l = make(1, 2, all[i]);

        assert_int_equal(sim_level_fill(&l, 0, SIM_LEVEL_MARK), 0);
        assert_int_equal(sim_level_fill(&l, 1, SIM_LEVEL_MARK), 0);
        assert_true(sim_level_has(&l, 0));
        assert_false(sim_level_has(&l, 2));
        assert_int_equal(sim_level_use(&l, 1), SIM_FIRST_USE);
        assert_int_equal(sim_level_use(&l, 1), SIM_PRESENT);
        assert_int_equal(sim_level_fill(&l, 5, 0), 1 | SIM_LEVEL_MARK); // 0, never used
        assert_int_equal(sim_level_line(1 | SIM_LEVEL_MARK), 0);
        assert_int_equal(sim_level_use(&l, 0), SIM_ABSENT);
        assert_true(sim_level_take(&l, 1));
        assert_int_equal(sim_level_fill(&l, 9, SIM_LEVEL_MARK), 0);
        assert_true(sim_level_take(&l, 9));
        assert_false(sim_level_has(&l, 9));
        free(l.tags);
    }
}

// What is done in one step is what the steps do.
static void test_steps(void **state)
{
    static const struct {
        uint32_t sets, assoc;
        enum sim_replacement r;
    } cases[] = { { 4, 8, SIM_LRU },    { 3, 15, SIM_LRU },   { 1, 40, SIM_LRU },
                  { 2, 20, SIM_LRU },   { 4, 16, SIM_PLRU },  { 5, 15, SIM_SRRIP },
                  { 2, 32, SIM_SRRIP }, { 64, 1, SIM_SRRIP }, { 64, 1, SIM_LRU },
                  { 64, 15, SIM_DRRIP } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sim_level a = make(cases[i].sets, cases[i].assoc, cases[i].r);
        struct sim_level b = make(cases[i].sets, cases[i].assoc, cases[i].r);
        uint64_t s = i, n_lines = cases[i].sets * cases[i].assoc * 3 / 2 + 2;

        for (int n = 0; n < 20000; n++) {
            uint64_t line = next_random(&s) % n_lines, old = 77, replaced = 0;
            enum sim_use used;

            switch (next_random(&s) % 4) {
            case 0:
                used = sim_level_use(&b, line);
                if (used == SIM_ABSENT)
                    replaced = sim_level_fill(&b, line, 0);
                assert_int_equal(sim_level_refer(&a, line, &old), used);
                assert_int_equal(old, replaced);
                break;
            case 1:
                if (!sim_level_use(&b, line))
                    sim_level_fill(&b, line, 0);
                sim_level_put(&a, line);
                break;
            case 2:
                if (sim_level_has(&b, line)) {
                    assert_false(sim_level_load(&a, line, &old));
                    break;
                }
                replaced = sim_level_fill(&b, line, SIM_LEVEL_MARK);
                assert_true(sim_level_load(&a, line, &old));
                assert_int_equal(old, replaced);
                break;
            default: assert_int_equal(sim_level_take(&a, line), sim_level_take(&b, line)); break;
            }
        }
        free(a.tags);
        free(b.tags);
    }
}

// Lines that are taken out of sets in order of use, against a list.
static void test_lru_take(void **state)
{
    (void)state;
    for (uint32_t assoc = 1; assoc <= 20; assoc++) {
        struct sim_level l = make(1, assoc, SIM_LRU);
        uint64_t list[20] = { 0 }, s = assoc; // plus one, the last used first

        for (int n = 0; n < 20000; n++) {
            uint64_t line = next_random(&s) % (assoc * 3 / 2 + 1), at = 0, old;
            bool takes = n % 5 == 0, there;

            while (at < assoc && list[at] != line + 1)
                at++;
            there = at < assoc;
            if (takes) {
                assert_int_equal(sim_level_take(&l, line), there);
                if (!there)
                    continue;
                memmove(list + at, list + at + 1, (assoc - 1 - at) * sizeof(*list));
                list[assoc - 1] = 0;
                continue;
            }
            old = there ? NONE : list[assoc - 1];
            at = there ? at : assoc - 1;
            memmove(list + 1, list, at * sizeof(*list));
            list[0] = line + 1;
            assert_int_equal(refer(&l, line), old);
        }
        free(l.tags);
    }
}

// A tag that is larger by one than the one beside it must not look like it; and the smallest and
// the largest lines that tags of 32 bits are for.
static void test_neighbours(void **state)
{
    static const enum sim_replacement all[] = { SIM_LRU, SIM_PLRU, SIM_SRRIP };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (uint32_t assoc = 2; assoc <= 16; assoc *= 2) {
            struct sim_level l = make(4, assoc, all[i]);
            uint64_t last = (small ? above(4) - 1 : UINT64_C(1) << 58) / 4 * 4;

            for (uint32_t way = 0; way < assoc; way++)
                assert_int_equal(refer(&l, 4 * way), 0);
            for (uint32_t n = 0; n < 2 * assoc; n++)
                assert_int_equal(sim_level_has(&l, 4 * n), n < assoc);
            assert_false(sim_level_has(&l, last));
            assert_in_range(refer(&l, last), 1, 4 * assoc); // one of these
            assert_true(sim_level_has(&l, last));
            assert_false(sim_level_has(&l, last - 4));
            for (uint32_t n = 1; n <= assoc; n++)
                refer(&l, last - 4 * n);
            assert_int_equal(sim_level_use(&l, last - 4), SIM_PRESENT);
            assert_true(sim_level_take(&l, last - 4));
            free(l.tags);
        }
}

static int with_64_bits(void **state)
{
    (void)state;
    small = false;
    return 0;
}

static int with_32_bits(void **state)
{
    (void)state;
    small = true;
    return 0;
}

#define BOTH(test) \
    cmocka_unit_test_setup(test, with_64_bits), cmocka_unit_test_setup(test, with_32_bits)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_can),
        BOTH(test_lru),
        BOTH(test_tree_by_hand),
        BOTH(test_predictions_by_hand),
        BOTH(test_models),
        BOTH(test_take),
        BOTH(test_marks),
        BOTH(test_steps),
        BOTH(test_lru_take),
        BOTH(test_neighbours),
        BOTH(test_duel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
