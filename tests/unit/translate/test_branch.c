// SPDX-License-Identifier: MIT
// engine/translate/branch.c: which branches are predicted, and the words for caches_indirect().
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/count/caches.h"
#include "engine/emit/tb.h"
#include "engine/spool/config.h"
#include "engine/translate/branch.h"

struct tb_config tb_config;

static const struct insn jump = { .pc = 0x123456789a, .len = 2, .kind = INSN_JMP_IND },
                         call_ind = { .pc = 0x123456789a, .len = 6, .kind = INSN_CALL_IND },
                         call = { .pc = 0x123456789a, .len = 5, .kind = INSN_CALL },
                         ret = { .pc = 0x123456789a, .len = 1, .kind = INSN_RET },
                         cond = { .pc = 0x123456789a, .len = 2, .kind = INSN_JCC };

static void test_which(void **state)
{
    (void)state;
    tb_config = (struct tb_config){ 0 };
    assert_false(branch_is_indirect(&jump)); // no branch is predicted
    tb_config.branch = true;
    assert_true(branch_is_indirect(&jump));
    assert_true(branch_is_indirect(&call_ind));
    assert_false(branch_is_indirect(&ret));
    tb_config.predictor = true;
    assert_true(branch_is_indirect(&ret));
    assert_false(branch_is_indirect(&call));
    assert_false(branch_is_indirect(&cond));
}

static void test_words(void **state)
{
    (void)state;
    tb_config = (struct tb_config){ .branch = true };
    assert_int_equal(branch_word(&call_ind), 0x3456789a);
    tb_config.predictor = true;
    assert_int_equal(branch_word(&jump), 0x3456789a);
    assert_int_equal(branch_word(&call_ind), 0x63456789a);
    assert_int_equal(branch_word(&call), 0x153456789a);
    assert_int_equal(branch_word(&ret), 0x103456789a);
    // with the largest counter, as two words, and back
    for (u32 i = 0; i < 4; i++) {
        u64 word = branch_word((const struct insn *[]){ &jump, &call_ind, &call, &ret }[i]);
        u32 low = caches_branch_low(word, SPOOL_COUNTERS_MAX - 1);

        assert_int_equal(caches_branch_of(low, (u32)word), word);
        assert_int_equal(caches_counter_of(low), SPOOL_COUNTERS_MAX - 1);
    }
}

static void test_counters(void **state)
{
    static struct tb b;

    (void)state;
    b.first[3] = 100;
    b.cnt[3] = (struct spool_counters){ .bim = 4, .brm = 7 };
    b.insn[3] = jump;
    assert_int_equal(branch_counter(&b, 3), 104);
    b.insn[3] = ret;
    assert_int_equal(branch_counter(&b, 3), 107);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
