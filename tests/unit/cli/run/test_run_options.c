// SPDX-License-Identifier: MIT
//
// The flags of a run (share/options.def): which bit of the spool's `flags` each option sets, and
// what it is called. All bits and names here are stated by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "machines.h"

#define BIT(n) (UINT64_C(1) << (n))

// --cache-sim=yes and --replay=auto, the defaults.
#define DEFAULT (BIT(0) | BIT(21) | BIT(28))

static uint64_t read_flags(const char *option)
{
    char words[3][64] = { "run", "", "program" };
    char *argv[] = { words[0], words[1], words[2], NULL };
    struct run_options o;

    strcpy(words[1], option);
    assert_string_equal(run_options_read(&o, 3, argv)[0], "program");
    return o.flags;
}

// clang-format off
static const struct {
    const char *option;
    int bit;
    uint64_t flag;
} one_bit[] = {
    { "--branch-sim=yes",         1, SPOOL_F_BRANCH_SIM },
    { "--rep-count=cachegrind",   2, SPOOL_F_REP_CACHEGRIND },
    { "--serialize-threads=yes",  3, SPOOL_F_SERIALIZE },
    { "--aslr=yes",               4, SPOOL_F_ASLR },
    { "--trace-children=yes",     5, SPOOL_F_TRACE_CHILDREN },
    { "--quiet",                  6, SPOOL_F_QUIET },
    { "-q",                       6, SPOOL_F_QUIET },
    { "--verbose",                7, SPOOL_F_VERBOSE },
    { "-v",                       7, SPOOL_F_VERBOSE },
    { "--no-chain",               8, SPOOL_F_NO_CHAIN },
    { "--no-ibl",                 9, SPOOL_F_NO_IBL },
    { "--vdso=no",               10, SPOOL_F_NO_VDSO },
    { "--no-fast-tags",          11, SPOOL_F_NO_FASTTAGS },
    { "--native",                12, SPOOL_F_NATIVE },
    { "--at-random=kernel",      13, SPOOL_F_RANDOM },
    { "--calls=yes",             16, SPOOL_F_CALLS },
    { "--no-way-search",         17, SPOOL_F_NO_WAY_SEARCH },
    { "--no-narrow-tags",        18, SPOOL_F_NO_NARROW },
    { "--no-flag-probe",         19, SPOOL_F_NO_FLAG_PROBE },
    { "--demangle=no",           20, SPOOL_F_NO_DEMANGLE },
    { "--no-value-numbers",      22, SPOOL_F_NO_VALUES },
    { "--no-replay-code",        23, SPOOL_F_NO_ROUTINES },
    { "--no-vectors",            24, SPOOL_F_NO_VECTORS },
    { "--small-buffers",         25, SPOOL_F_SMALL_BUFFERS },
    { "--no-forms",              27, SPOOL_F_NO_FORMS },
    { "--tsc=counted",           30, SPOOL_F_COUNTED },
    { "--reproducible=yes",      31, SPOOL_F_REPRODUCIBLE },
    { "--no-avx512",             32, SPOOL_F_NO_AVX512 },
    { "--collect-jumps=yes",     33, SPOOL_F_JUMPS },
    { "--trace-jump=yes",        33, SPOOL_F_JUMPS },
    { "--collect-atstart=no",    35, SPOOL_F_NOT_COLLECTING },
    { "--skip-direct-rec=yes",   36, SPOOL_F_SKIP_DIRECT },
    { "--skip-plt=no",           37, SPOOL_F_SHOW_PLT },
    { "--separate-threads=yes",  38, SPOOL_F_BY_THREAD },
    { "--no-hints",         39, SPOOL_F_NO_HINTS },
    { "--client-requests=no",    40, SPOOL_F_NO_REQUESTS },
    { "--instr-at-start=no",     41, SPOOL_F_NOT_AT_START },
    { "--combine-dumps=yes",     43, SPOOL_F_COMBINE },
    { "--collect-systime=msec",  44, SPOOL_F_SYSTIME },
    { "--collect-bus=yes",       46, SPOOL_F_BUS },
    { "--no-early-copy",         47, SPOOL_F_LATE_COPY },
    { "--no-superblocks",        48, SPOOL_F_NO_SUPERBLOCKS },
    { "--no-pretranslate",              49, SPOOL_F_NO_PRETRANSLATE },
    { "--children=merge",        50, SPOOL_F_MERGE },
    { "--no-bgfinish",              51, SPOOL_F_NO_BGFINISH },
    // Only the finisher reads these.
    { "--dump-line=no",          56, SPOOL_F_NO_LINES },
    { "--dump-instr=yes",        57, SPOOL_F_INSTR },
    { "--inline=yes",            58, SPOOL_F_INLINE },
    { "--compress-strings=no",   59, SPOOL_F_NO_IDS },
    { "--compress-pos=no",       60, SPOOL_F_NO_RELATIVE },
    { "--summary=json",          61, SPOOL_F_JSON },
};
// clang-format on

static void test_one_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(one_bit) / sizeof(*one_bit); i++) {
        if (read_flags(one_bit[i].option) != (DEFAULT | BIT(one_bit[i].bit)))
            fail_msg("%s: not bit %d", one_bit[i].option, one_bit[i].bit);
        if (one_bit[i].flag != BIT(one_bit[i].bit))
            fail_msg("the flag of %s: not bit %d", one_bit[i].option, one_bit[i].bit);
    }
}

// What takes a bit away, and several at once.
static void test_other_bits(void **state)
{
    (void)state;
    assert_true(read_flags("--cache-sim=yes") == DEFAULT);
    assert_true(read_flags("--cache-sim=no") == (BIT(21) | BIT(28)));
    assert_true(read_flags("--replay=off") == BIT(0));
    assert_true(read_flags("--replay=inline") == (BIT(0) | BIT(21)));
    assert_true(read_flags("--replay=process") == (BIT(0) | BIT(28)));
    assert_true(read_flags("--replay=split") == (BIT(0) | BIT(28) | BIT(29)));
    assert_true(read_flags("--instr-at-start=inherit") == (DEFAULT | BIT(41) | BIT(42)));
    assert_true(read_flags("--collect-systime=nsec") == (DEFAULT | BIT(44) | BIT(45)));
}

// The flags that no option sets by itself.
static void test_no_option(void **state)
{
    (void)state;
    assert_true(SPOOL_F_FORKED == BIT(14));
    assert_true(SPOOL_F_EXECED == BIT(15));
    assert_true(SPOOL_F_STAT == BIT(26));
    assert_true(SPOOL_F_CONTEXTS == BIT(34));
    assert_true(SPOOL_F_L2 == BIT(52)); // a machine's
    assert_true(SPOOL_F_COLLECTED == BIT(62));
}

// All bits, in the order of the rows: 0 to 55 and 63 for the engine, the others for the finisher.
static void test_order(void **state)
{
    static const int bits[] = {
#define SPOOL_OPTION(bit, flag, option, reader) bit,
#include "share/options.def"
#undef SPOOL_OPTION
    };

    (void)state;
    assert_int_equal(sizeof(bits) / sizeof(*bits), 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(bits[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_bit),
        cmocka_unit_test(test_other_bits),
        cmocka_unit_test(test_no_option),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests_name("cli/run/run_options", tests, NULL, NULL);
}
