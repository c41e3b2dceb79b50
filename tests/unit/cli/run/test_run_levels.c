// SPDX-License-Identifier: MIT
//
// --machine=native on processors that this machine does not have: what is simulated, and what the
// run says of caches that it does not take. The shipped files are those of the build.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"
#include "machines.h"

// Frees what run_levels_set() allocated. "": no message.
static void is_message(char *messages[RUN_LEVELS], int level, const char *want)
{
    for (int i = 0; i < RUN_LEVELS; i++) {
        assert_string_equal(messages[i] ? messages[i] : "", i == level ? want : "");
        free(messages[i]);
    }
}

static void forget(struct run_options *o)
{
    free((char *)o->caches.source);
    free((void *)o->caches.machine);
}

// 300 MiB of the host, for the two processors of a guest.
static void test_levels_guest(void **state)
{
    struct run_options o = { .machine = "native", .flags = SPOOL_F_CACHE_SIM };
    char *messages[RUN_LEVELS];

    (void)state;
    machine = &emerald;
    run_levels_set(&o, messages);
    is_message(messages, MACHINE_LL,
               "LL cache of 314,572,800 B, 20-way, 64 B lines, by CPUID, is more than a virtual "
               "machine has for its processors; simulating that of machine sapphire-rapids: "
               "62,914,560 B, 15-way, 64 B lines");
    assert_true(o.flags == (SPOOL_F_CACHE_SIM | SPOOL_F_L2 | SPOOL_F_TLB | SPOOL_F_PREFETCH |
                            SPOOL_F_CORE | SPOOL_F_BRANCH_SIM | SPOOL_F_PREDICTOR));
    assert_int_equal(o.sampling.interval, 2000000);
    assert_int_equal(o.caches.i1.g.size, 32768);
    assert_int_equal(o.caches.d1.g.size, 49152);
    assert_int_equal(o.caches.ll.g.size, 62914560);
    assert_int_equal(o.caches.machine->l2.size, 2097152);
    assert_string_equal(o.caches.source, "machine sapphire-rapids and CPUID");
    forget(&o);
}

// An option says which LL is meant: nothing is to be said of CPUID's.
static void test_levels_given(void **state)
{
    struct run_options o = { .machine = "native", .flags = SPOOL_F_CACHE_SIM };
    char *messages[RUN_LEVELS];

    (void)state;
    machine = &emerald;
    o.caches.ll.given = true;
    o.caches.ll.g = (struct spool_geometry){ 8388608, 16, 64 };
    run_levels_set(&o, messages);
    is_message(messages, RUN_LEVELS, "");
    assert_int_equal(o.caches.ll.g.size, 8388608);
    assert_int_equal(o.caches.machine->ll.size, 8388608);
    forget(&o);
}

static void test_levels_real(void **state)
{
    struct run_options o = { .machine = "native", .flags = SPOOL_F_CACHE_SIM };
    char *messages[RUN_LEVELS];

    (void)state;
    machine = &raphael;
    run_levels_set(&o, messages);
    is_message(messages, RUN_LEVELS, "");
    assert_string_equal(o.caches.source, "machine zen4 and CPUID");
    assert_int_equal(o.caches.ll.g.size, 33554432);
    forget(&o);
}

// What `quern doctor` shows.
static void test_levels_native(void **state)
{
    char *messages[RUN_LEVELS], *which;

    (void)state;
    machine = &vermeer;
    assert_true(run_levels_native(&which, messages));
    assert_string_equal(which, "zen3: AMD Zen 3 (EPYC 7003, Ryzen 5000)");
    is_message(messages, RUN_LEVELS, "");
    free(which);
    machine = &thuban;
    assert_false(run_levels_native(&which, messages));
    assert_string_equal(which, "none fits this processor (AuthenticAMD, family 16, model 10); "
                               "--machine=list has others");
    is_message(messages, RUN_LEVELS, "");
    free(which);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_guest),
        cmocka_unit_test(test_levels_given),
        cmocka_unit_test(test_levels_real),
        cmocka_unit_test(test_levels_native),
    };

    return cmocka_run_group_tests_name("cli/run/run_levels", tests, NULL, NULL);
}
