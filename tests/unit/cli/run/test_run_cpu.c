// SPDX-License-Identifier: MIT
//
// --cpu on processors of AMD and of Intel: the processor that a program is shown does not depend on
// the one that it runs on, and a message names missing features. tests/cli/540-cpu.bats checks
// every bit that is shown, and that a program sees it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machines.h"

// Memory of a child that ends early is not a leak.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

// The message where the value is refused; "" where it is accepted.
static const char *refusal(const struct processor *on, const char *value)
{
    static char text[1024];
    struct run_cpu cpu;
    int status, end[2];
    ssize_t n, used = 0;
    pid_t pid;

    assert_int_equal(pipe(end), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(end[1], STDERR_FILENO);
        machine = on;
        run_cpu_read(&cpu, "--cpu", value);
        _exit(0);
    }
    close(end[1]);
    while ((n = read(end[0], text + used, sizeof(text) - 1 - (size_t)used)) > 0)
        used += n;
    text[used] = '\0';
    close(end[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), used ? 2 : 0);
    return text;
}

static struct run_cpu shown(const struct processor *on, const char *value)
{
    struct run_cpu cpu;

    machine = on;
    run_cpu_read(&cpu, "--cpu", value);
    return cpu;
}

static struct spool_cpuid *find(struct run_cpu *cpu, uint32_t leaf, uint32_t sub)
{
    for (uint32_t i = 0; i < cpu->table.leaves; i++)
        if (cpu->table.leaf[i].leaf == leaf && cpu->table.leaf[i].sub == sub)
            return &cpu->table.leaf[i];
    fail_msg("no leaf 0x%x, %u", leaf, sub);
    return NULL;
}

static void assert_same(const struct run_cpu *a, const struct run_cpu *b)
{
    char *info_a = run_cpu_info(a), *info_b = run_cpu_info(b);

    assert_memory_equal(&a->table, &b->table, sizeof(a->table));
    assert_int_equal(a->max_leaf, b->max_leaf);
    assert_string_equal(info_a, info_b);
    free(info_a);
    free(info_b);
}

// Up to x86-64-v3 no bit that is shown comes from the machine.
static void test_same_on_all(void **state)
{
    static const char *const values[] = { "x86-64", "x86-64-v2", "x86-64-v3", "x86-64,popcnt,cx16",
                                          "x86-64-v2,aes,avx" };

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        struct run_cpu intel = shown(&emerald, values[i]), zen3 = shown(&vermeer, values[i]),
                       zen4 = shown(&raphael, values[i]);

        assert_same(&zen3, &intel);
        assert_same(&zen4, &intel);
    }
    struct run_cpu old = shown(&thuban, "x86-64,popcnt,cx16"),
                   new = shown(&vermeer, "x86-64,popcnt,cx16");

    assert_same(&old, &new);
}

// A Nehalem, on an AMD: the vendor in leaf 0 and in /proc/cpuinfo; no leaf of AMD's caches, for
// which glibc looks by the vendor.
static void test_vendor(void **state)
{
    struct run_cpu cpu = shown(&vermeer, "x86-64-v2");
    const struct spool_cpuid *zero = find(&cpu, 0, SPOOL_CPUID_ANY);
    char *info = run_cpu_info(&cpu);

    (void)state;
    assert_int_equal(zero->b, 0x756e6547); // "Genu"
    assert_int_equal(zero->d, 0x49656e69); // "ineI"
    assert_int_equal(zero->c, 0x6c65746e); // "ntel"
    assert_non_null(strstr(info, "vendor_id\t: GenuineIntel\n"));
    assert_null(strstr(info, "AMD"));
    free(info);
    for (uint32_t i = 0; i < cpu.table.leaves; i++)
        assert_true(cpu.table.leaf[i].leaf != 0x80000005 && cpu.table.leaf[i].leaf < 0x80000009);
}

// An x86-64-v4 is the same on all but for the offsets at which the processor's own xsave stores the
// states of AVX-512: from 832 on an AMD (832 + 64 + 512 + 1024 = 2432), from 1088 on an Intel
// (2688).
static void test_states(void **state)
{
    struct run_cpu intel = shown(&emerald, "x86-64-v4"), amd = shown(&raphael, "x86-64-v4");
    static const uint32_t at[][4] = { // subleaf, size, on an AMD, on an Intel
                                      { 5, 64, 832, 1088 },
                                      { 6, 512, 896, 1152 },
                                      { 7, 1024, 1408, 1664 }
    };

    struct run_cpu least = shown(&emerald, "x86-64-v2,xsave");

    (void)state;
    assert_int_equal(find(&least, 0xd, 0)->a, 3);
    assert_int_equal(find(&least, 0xd, 0)->b, 576); // 512 of fxsave, and the header
    assert_int_equal(find(&amd, 0xd, 0)->b, 2432);
    assert_int_equal(find(&intel, 0xd, 0)->b, 2688);
    assert_int_equal(find(&amd, 0xd, 0)->a, 0xe7);
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        assert_int_equal(find(&amd, 0xd, at[i][0])->a, at[i][1]);
        assert_int_equal(find(&amd, 0xd, at[i][0])->b, at[i][2]);
        assert_int_equal(find(&intel, 0xd, at[i][0])->b, at[i][3]);
    }
    for (uint32_t i = 0; i < amd.table.leaves; i++) {
        struct spool_cpuid *l = &amd.table.leaf[i];

        if (l->leaf == 0xd)
            *l = *find(&intel, 0xd, l->sub);
    }
    assert_same(&amd, &intel);
}

static void test_lacks(void **state)
{
    static const struct processor bare = { 3, { { 0, 0, 1, 0, 0, 0 } } };
    struct processor no_avx = vermeer;

    (void)state;
    assert_string_equal(refusal(&thuban, "x86-64-v2"),
                        "quern: --cpu=x86-64-v2: this machine's processor lacks ssse3, sse4_1, "
                        "sse4_2; it has x86-64\n");
    assert_string_equal(refusal(&vermeer, "x86-64-v4"),
                        "quern: --cpu=x86-64-v4: this machine's processor lacks avx512f, avx512dq, "
                        "avx512cd, avx512bw, avx512vl; it has x86-64-v3\n");
    assert_string_equal(refusal(&raphael, "x86-64-v4,avx_vnni"),
                        "quern: --cpu=x86-64-v4,avx_vnni: this machine's processor lacks avx_vnni; "
                        "it has x86-64-v4\n");
    assert_string_equal(refusal(&raphael, "x86-64-v4,sse4a,clzero,avx512_bf16"), "");
    assert_string_equal(refusal(&emerald, "x86-64-v4,sse4a"),
                        "quern: --cpu=x86-64-v4,sse4a: this machine's processor lacks sse4a; it "
                        "has x86-64-v4\n");
    assert_string_equal(refusal(&thuban, "sse4a,abm"), "");
    assert_string_equal(refusal(&bare, "pni"),
                        "quern: --cpu=pni: this machine's processor lacks pni; it has x86-64\n");
    no_avx.xcr0 = 3; // a kernel, or a hypervisor, that does not save AVX's registers
    assert_string_equal(refusal(&no_avx, "x86-64-v3"),
                        "quern: --cpu=x86-64-v3: this machine's processor lacks fma, avx, f16c, "
                        "avx2; it has x86-64-v2\n");
}

// The model's caches are simulated, except those that are given: the last level of an Opteron is
// its L2 of 1 MiB, that of a Haswell its L3.
static void test_caches(void **state)
{
    struct run_cpu opteron = shown(&vermeer, "x86-64"), haswell = shown(&vermeer, "x86-64-v3");
    struct run_caches two = { .ll_level = 7 }, three = { .ll_level = 7 },
                      given = { .ll = { .g = { 65536, 4, 64 }, .given = true }, .ll_level = 7 };

    (void)state;
    run_cpu_caches(&opteron, &two);
    assert_int_equal(two.ll_level, 2);
    assert_int_equal(two.ll.g.size, 1048576);
    run_cpu_caches(&haswell, &three);
    assert_int_equal(three.ll_level, 3);
    run_cpu_caches(&haswell, &given);
    assert_int_equal(given.ll_level, 7);
    assert_int_equal(given.ll.g.size, 65536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_on_all), cmocka_unit_test(test_vendor),
        cmocka_unit_test(test_states),      cmocka_unit_test(test_lacks),
        cmocka_unit_test(test_caches),
    };

    return cmocka_run_group_tests_name("run_cpu", tests, NULL, NULL);
}
