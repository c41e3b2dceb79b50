// SPDX-License-Identifier: MIT
//
// engine/base/cpu.c, the object that the engine is linked from, compared with this processor's
// cpuid, by the names of the compiler's cpuid.h, and with the kernel.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cpuid.h>
#include <string.h>
#include <sys/auxv.h>

#include "engine/base/cpu.h"
#include "engine/base/sys.h"

#define TILEDATA (UINT64_C(1) << 18)

static unsigned a, b, c, d;

static uint64_t xcr0(void)
{
    unsigned low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int setup(void **state)
{
    (void)state;
    memset(&cpu, 0x55, sizeof(cpu)); // every field has to be set
    cpu.xsave_features = 0;
    cpu.xsave_size = 0;
    cpu_init(getauxval(AT_HWCAP2), 3000);
    return 0;
}

static void test_features(void **state)
{
    char vendor[13] = "";

    (void)state;
    __cpuid(0, a, b, c, d);
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    assert_int_equal(cpu.amd, !strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine"));
    __cpuid_count(7, 0, a, b, c, d);
    assert_int_equal(cpu.bmi1, (b & bit_BMI) != 0);
    assert_int_equal(cpu.bmi2, (b & bit_BMI2) != 0);
    assert_int_equal(cpu.rtm, (b & bit_RTM) != 0);
    assert_int_equal(cpu.pku, (c & bit_OSPKE) != 0);
    // Bit 1 of AT_HWCAP2 is FSGSBASE: without it the instruction faults on every processor.
    assert_int_equal(cpu.fsgsbase, (b & bit_FSGSBASE) && (getauxval(AT_HWCAP2) & 2));
    __cpuid(0x80000001, a, b, c, d);
    assert_int_equal(cpu.lzcnt, (c & bit_LZCNT) != 0);
    assert_int_equal(cpu.frame_size, 3000);
    __cpuid_count(7, 0, a, b, c, d);
    bool wide = (b & bit_AVX512F) && (b & bit_AVX512DQ) && (b & bit_AVX512BW) &&
                (b & bit_AVX512VL) && cpu.bmi1 && cpu.bmi2;
    assert_int_equal(cpu.avx512, wide && cpu.xsave && (xcr0() & 0xe6) == 0xe6);
    __cpuid(0x80000008, a, b, c, d);
    assert_true(cpu.address_bits == 48 || (cpu.address_bits == 57 && (a >> 8 & 0xff) == 57));
    cpu_init(0, 0);
    assert_false(cpu.fsgsbase);
    assert_int_equal(cpu.frame_size, 0);
}

// Leaf 0xd has the size of the area of all enabled components, with the AMX tiles if those are
// enabled: they are the last component.
static void test_xsave(void **state)
{
    (void)state;
    __cpuid(1, a, b, c, d);
    assert_int_equal(cpu.xsave, (c & bit_OSXSAVE) != 0);
    if (!cpu.xsave) {
        assert_true(cpu.xsave_features == 0 && cpu.xsave_size == 0);
        return;
    }
    assert_true(cpu.xsave_features == (xcr0() & ~TILEDATA));
    __cpuid_count(0xd, 0, a, b, c, d);
    if (xcr0() & TILEDATA)
        __cpuid_count(0xd, 18, a, b, c, d); // offset in ebx
    assert_int_equal(cpu.xsave_size, b);
    assert_true(cpu.shown_all);
    assert_true(cpu.shown_features == cpu.xsave_features);
    assert_int_equal(cpu.shown_size, cpu.xsave_size);
}

// 512 bytes without xsave, 64 more with its header, 256 more with AVX; plus 936, rounded up to 16.
static void test_shown(void **state)
{
    (void)state;
    assert_int_equal(cpu_show(0), 1456); // 1448
    assert_false(cpu.shown_all);
    assert_true(cpu.shown_features == 0);
    assert_int_equal(cpu.shown_size, 512);
    assert_int_equal(cpu_show(3), 1520); // 1512
    assert_true(cpu.shown_features == (cpu.xsave_features & 3));
    assert_int_equal(cpu.shown_size, 576);
    __cpuid_count(0xd, 2, a, b, c, d);
    if (cpu.xsave && a == 256 && b == 576) { // there is AVX
        assert_int_equal(cpu_show(7), 1776); // 1768
        assert_true(cpu.shown_features == (cpu.xsave_features & 7));
        assert_int_equal(cpu.shown_size, 832);
    }
    cpu_show_all();
    assert_true(cpu.shown_all);
    assert_true(cpu.shown_features == cpu.xsave_features);
    assert_int_equal(cpu.shown_size, cpu.xsave_size);
}

// The kernel's errors are -1 to -4095: an address in the last page but one is no error.
static void test_failed(void **state)
{
    (void)state;
    assert_false(sys_failed(0));
    assert_false(sys_failed(1));
    assert_true(sys_failed(-1));
    assert_true(sys_failed(-4095));
    assert_false(sys_failed(-4096));
    assert_false(sys_failed(INT64_MIN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_features, setup),
        cmocka_unit_test_setup(test_xsave, setup),
        cmocka_unit_test_setup(test_shown, setup),
        cmocka_unit_test(test_failed),
    };

    return cmocka_run_group_tests_name("engine/base/cpu.c", tests, NULL, NULL);
}
