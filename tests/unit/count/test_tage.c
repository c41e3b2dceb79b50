// SPDX-License-Identifier: MIT
// engine/count/tage.S against sim/predict.c: the same entries, tags and history, branch by branch.
// Skipped where the processor has no AVX2.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/count/tage.h"

static struct sim_predict by_c, by_vectors;

static bool predicted(struct sim_predict *p, uint64_t pc, bool taken)
{
    struct sim_tage_places at;
    uint32_t found = tage_find(p, sim_tage_hash(pc), taken, &at);

    return sim_predict_learn(p, pc, taken, &at, found);
}

// 40 branches, each with a pattern of its own or random; the histories wrap around many times. With
// tables of each size.
static void same(uint32_t large)
{
    uint64_t seed = 1;
    uint32_t wrong = 0;

    memset(&by_c, 0, sizeof(by_c));
    memset(&by_vectors, 0, sizeof(by_vectors));
    by_c.large = by_vectors.large = large;
    for (uint32_t n = 0; n < 200000; n++) {
        uint64_t which, pc;
        bool taken;

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        which = seed >> 40 & 63;
        pc = 0x401000 + which * 0x123;
        taken = which < 20 ? n % (which + 2) != 0 : which < 30 ? (n >> 3) & 1 : seed >> 33 & 1;
        if (which >= 60) { // the histories have other bits, too
            assert_int_equal(sim_predict_indirect(&by_c, pc, seed >> 50),
                             sim_predict_indirect(&by_vectors, pc, seed >> 50));
            continue;
        }
        wrong += predicted(&by_vectors, pc, taken);
        wrong -= sim_predict_cond(&by_c, pc, taken);
        assert_int_equal(wrong, 0);
        assert_int_equal(by_c.time, by_vectors.time);
        assert_memory_equal(by_c.fold, by_vectors.fold, sizeof(by_c.fold));
    }
    assert_memory_equal(&by_c, &by_vectors, sizeof(by_c));
}

static void test_same(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2"))
        skip();
    for (uint32_t large = 0; large <= SIM_LARGE_MAX; large++)
        same(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
