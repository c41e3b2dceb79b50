// SPDX-License-Identifier: MIT
//
// finish/spool/spool_counters.c: whose records a slot's counters count.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "finish/spool/spool.h"

#define OWNER 5u // the number of the counter that says it

// Slots 0 and 2 are threads, slot 3 counts what is replayed of slot 2; what slot 4 says is damaged,
// and so is slot 5's, which names a slot that cannot be.
static void owner_of_slot(void **state)
{
    struct spool_header h = { .owner = OWNER };
    uint32_t owner[SPOOL_THREADS_MAX] = { 0 };
    struct spool_file s = { .h = &h, .counters_used = 8, .owner = owner };
    const uint64_t says[] = { 1, 0, 3, 3, SPOOL_THREADS_MAX + 1, SPOOL_THREADS_MAX };
    const uint32_t is[] = { 0, 1, 2, 2, 4, SPOOL_THREADS_MAX - 1 };

    (void)state;
    s.fd = memfd_create("spool", 0);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(pwrite(s.fd, &says[i], 8, (off_t)(spool_counters_at(i) + OWNER * 8)), 8);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(spool_counters_owner(&s, i), is[i]);
        assert_int_equal(spool_counters_owner(&s, i), is[i]); // remembered
    }
    assert_int_equal(spool_counters_owner(&s, SPOOL_THREADS_MAX), SPOOL_THREADS_MAX);
    s.slot = 2;
    assert_true(spool_counters_wanted(&s, 2));
    assert_true(spool_counters_wanted(&s, 3));
    assert_false(spool_counters_wanted(&s, 0));
    s.slot = SPOOL_ALL_THREADS;
    assert_true(spool_counters_wanted(&s, 0));
    h.owner = 0; // there is no such counter
    assert_int_equal(spool_counters_owner(&s, 3), 3);
    close(s.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(owner_of_slot) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
