// SPDX-License-Identifier: MIT
// engine/thread/selector.c, with this process's own %gs, which the C library does not use: the
// client's values are loaded and saved, and the engine's remain. (Selectors that fault:
// tests/guest-state/odd-selectors.c.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/thread/selector.h"

#define FLAT        0x2b // user data of Linux, its base 0
#define HWCAP2_FSGS 2    // arch/x86/include/uapi/asm/hwcap2.h

struct cpu cpu;
static struct thread thread, *const t = &thread;

static u16 selector(void)
{
    u32 s;

    __asm__ volatile("mov %%gs, %0" : "=r"(s));
    return (u16)s;
}

static u64 base(void)
{
    u64 b = 0;

    assert_int_equal(sys_call2(SYS_arch_prctl, ARCH_GET_GS, (u64)&b), 0);
    return b;
}

static int setup(void **state)
{
    (void)state;
    memset(t, 0, sizeof(*t));
    sys_call2(SYS_arch_prctl, ARCH_SET_GS, (u64)t);
    return 0;
}

static void assert_engine(void)
{
    assert_int_equal(selector(), 0);
    assert_int_equal(base(), (u64)t);
}

static void test_there_and_back(void **state)
{
    (void)state;
    t->client_gs_base = 0x65000;
    selector_client(t);
    assert_int_equal(selector(), 0);
    assert_int_equal(base(), 0x65000);
    __asm__ volatile("mov %0, %%gs" : : "r"(FLAT));
    selector_engine(t);
    assert_int_equal(t->client_gs, FLAT);
    assert_int_equal(t->client_gs_base, 0);
    assert_engine();
    selector_client(t);
    assert_int_equal(selector(), FLAT);
    assert_int_equal(base(), 0);
    __asm__ volatile("mov %0, %%gs" : : "r"(0));
    selector_engine(t);
    assert_int_equal(t->client_gs, 0);
    assert_engine();
}

// The result does not depend on interrupts in between.
static void test_null(void **state)
{
    (void)state;
    for (u16 s = 1; s <= 3; s++) {
        t->client_gs_base = 0x65000;
        assert_true(selector_set(t, s));
        assert_int_equal(t->client_gs, s);
        assert_engine();
        selector_client(t);
        sys_call0(SYS_getpid);
        selector_engine(t);
        assert_int_equal(t->client_gs, s);
        assert_engine();
    }
    assert_true(selector_set(t, 0));
    assert_int_equal(t->client_gs, 0);
    assert_engine();
}

static void test_again(void **state)
{
    (void)state;
    t->client_gs = FLAT;
    t->client_gs_base = 0x65000;
    selector_reload(t);
    assert_int_equal(t->client_gs, FLAT);
    assert_int_equal(t->client_gs_base, 0);
    assert_engine();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_there_and_back, setup),
        cmocka_unit_test_setup(test_null, setup),
        cmocka_unit_test_setup(test_again, setup),
    };
    int failed = cmocka_run_group_tests_name("by calls", tests, NULL, NULL);

    if (getauxval(AT_HWCAP2) & HWCAP2_FSGS) {
        cpu.fsgsbase = true;
        failed += cmocka_run_group_tests_name("by instructions", tests, NULL, NULL);
    }
    return failed;
}
