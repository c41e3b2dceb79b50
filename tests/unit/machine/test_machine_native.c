// SPDX-License-Identifier: MIT
//
// Which shipped file is that of a processor, and which caches of CPUID are taken. The processors
// are data (tests/unit/cli/run/machines.h); numbers are counted by hand from their leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>

#include "machine/machine.h"
#include "tests/unit/cli/run/machines.h"

static void ask(const void *of, uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    assert_ptr_equal(of, machine);
    run_machine_cpuid(leaf, sub, r);
}

static void read_processor(const struct processor *on, struct machine_cpuid *p)
{
    machine = on;
    machine_cpuid(p, ask, on);
}

static void read_shipped(const char *name, struct machine *m)
{
    struct machine_error e;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.machine", getenv("TEST_MACHINES"), name);
    if (!machine_file(m, path, &e))
        fail_msg("%s:%u:%u: %s", path, e.line, e.column, e.text);
    assert_string_equal(m->name, name);
}

static void is_geometry(const struct spool_geometry *g, uint32_t size, uint32_t ways)
{
    assert_int_equal(g->size, size);
    assert_int_equal(g->assoc, ways);
    assert_int_equal(g->line, 64);
}

static void test_native_cpuid(void **state)
{
    struct machine_cpuid p;

    (void)state;
    read_processor(&emerald, &p);
    assert_string_equal(p.vendor, "GenuineIntel");
    assert_int_equal(p.family, 6);
    assert_int_equal(p.model, 207);
    assert_true(p.guest);
    assert_false(p.hybrid);
    is_geometry(&p.i1, 32768, 8);
    is_geometry(&p.d1, 49152, 12);
    is_geometry(&p.l2, 2097152, 16);
    is_geometry(&p.ll, 314572800, 20);
    assert_int_equal(p.ll_level, 3);
    assert_int_equal(p.sharers, 2);
    read_processor(&raphael, &p);
    assert_string_equal(p.vendor, "AuthenticAMD");
    assert_int_equal(p.family, 25);
    assert_int_equal(p.model, 0x61);
    assert_false(p.guest);
    is_geometry(&p.l2, 1048576, 8);
    is_geometry(&p.ll, 33554432, 16);
    assert_int_equal(p.sharers, 16);
    read_processor(&thuban, &p); // leaves that are not read here
    assert_int_equal(p.family, 16);
    assert_int_equal(p.model, 10);
    assert_int_equal(p.d1.size, 0);
    assert_int_equal(p.ll_level, 0);
}

// One L1 for both, 8 KiB of 4 ways; an L2 without sets, 1 MiB: 16384 ways; shared by 4096 at most.
static const struct processor odd = { 0,
                                      {
                                          { 0, 0, 4, 0, 0, 0 },
                                          { 1, 0, 0x00000f40, 0, 0, 0 }, // family 15, model 4
                                          { 4, 0, 0x00000023, 0x00c0003f, 31, 0 },
                                          { 4, 1, 0x03ffc243, 0x0000003f, 16383, 0 },
                                      } };
// The same leaf 4, which is above the highest.
static const struct processor limited = { 0,
                                          {
                                              { 0, 0, 3, 0, 0, 0 },
                                              { 1, 0, 0x000106a5, 0, 0, 0 },
                                              { 4, 0, 0x00000023, 0x00c0003f, 31, 0 },
                                          } };

// Of cores of two kinds: leaf 7, edx, bit 15.
static const struct processor hybrid = { 0,
                                         {
                                             { 0, 0, 7, 0, 0, 0 },
                                             { 1, 0, 0x00090672, 0, 0, 0 },
                                             { 7, 0, 0, 0, 0, 0x8000 },
                                         } };

static void test_native_odd(void **state)
{
    struct machine_cpuid p;

    (void)state;
    read_processor(&odd, &p);
    assert_int_equal(p.family, 15);
    assert_int_equal(p.model, 4);
    is_geometry(&p.i1, 8192, 4);
    is_geometry(&p.d1, 8192, 4);
    is_geometry(&p.l2, 1048576, 16384);
    is_geometry(&p.ll, 1048576, 16384);
    assert_int_equal(p.ll_level, 2);
    assert_int_equal(p.sharers, 4096);
    read_processor(&hybrid, &p);
    assert_int_equal(p.model, 0x97);
    assert_true(p.hybrid);
    read_processor(&limited, &p);
    assert_int_equal(p.model, 26);
    assert_int_equal(p.d1.size, 0);
}

// The names of all files, sorted; in TEST_MACHINES.
static int list_files(struct dirent ***e)
{
    int n = scandir(getenv("TEST_MACHINES"), e, NULL, alphasort), kept = 0;

    for (int i = 0; i < n; i++) {
        char *suffix = strstr((*e)[i]->d_name, MACHINE_SUFFIX);

        if (!suffix) {
            free((*e)[i]);
            continue;
        }
        *suffix = '\0';
        (*e)[kept++] = (*e)[i];
    }
    return kept;
}

// Every file is valid, and no processor has two.
static void test_native_shipped(void **state)
{
    static const char *const names[] = {
        "alder-lake-p", "cachegrind", "granite-rapids", "ice-lake-sp", "sapphire-rapids",
        "skylake-sp",   "zen2",       "zen3",           "zen4",        "zen5"
    };
    enum { NAMES = sizeof(names) / sizeof(*names) };
    struct machine m[NAMES];
    struct dirent **e;
    int n = list_files(&e);

    (void)state;
    assert_int_equal(n, NAMES);
    for (int i = 0; i < NAMES; i++) {
        assert_string_equal(e[i]->d_name, names[i]);
        read_shipped(names[i], &m[i]);
        free(e[i]);
    }
    free(e);
    for (int i = 0; i < NAMES; i++)
        for (int k = 0; k < i; k++)
            for (int model = 0; model < MACHINE_MODELS; model++)
                if (m[i].match.models[model] && m[k].match.models[model] &&
                    m[i].match.family == m[k].match.family)
                    assert_string_not_equal(m[i].match.vendor, m[k].match.vendor);
}

static void test_native_fits(void **state)
{
    static const struct {
        const char *name;
        const struct processor *is;
    } of[] = { { "zen3", &vermeer }, { "zen4", &raphael }, { "sapphire-rapids", &emerald } };
    static const struct processor *const all[] = { &vermeer, &raphael, &emerald, &thuban };

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct machine m;

        read_shipped(of[i].name, &m);
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
            struct machine_cpuid p;

            read_processor(all[k], &p);
            assert_int_equal(machine_native(&m, &p), all[k] == of[i].is);
        }
    }
}

// The file's, where it names the same sizes: nothing is left out.
static void test_native_same(void **state)
{
    struct machine_cpuid p;
    struct machine m;

    (void)state;
    read_processor(&raphael, &p);
    read_shipped("zen4", &m);
    assert_int_equal(machine_native_caches(&m, &p, 32), 0);
    is_geometry(&m.i1, 32768, 8);
    is_geometry(&m.d1, 32768, 8);
    is_geometry(&m.l2, 1048576, 8);
    is_geometry(&m.ll, 33554432, 16);
}

// 300 MiB of a host, for two processors of a guest: the file's 60 MiB. The guest's share, of any
// number of processors, counts when it is more: 1.875 MiB each, 160 of them have 300 MiB.
static void test_native_guest(void **state)
{
    struct machine_cpuid p;
    struct machine m;

    (void)state;
    read_processor(&emerald, &p);
    read_shipped("sapphire-rapids", &m);
    assert_int_equal(machine_native_caches(&m, &p, 2), 1u << MACHINE_LL);
    is_geometry(&m.ll, 62914560, 15);
    p.sharers = 160;
    assert_int_equal(machine_native_caches(&m, &p, 159), 1u << MACHINE_LL);
    is_geometry(&m.ll, 62914560, 15);
    assert_int_equal(machine_native_caches(&m, &p, 160), 0);
    is_geometry(&m.ll, 314572800, 20);
    // as much as the file has, then less, for two processors
    read_shipped("sapphire-rapids", &m);
    p.sharers = 2;
    p.ll = (struct spool_geometry){ 62914560, 20, 64 };
    assert_int_equal(machine_native_caches(&m, &p, 2), 0);
    is_geometry(&m.ll, 62914560, 20);
    read_shipped("sapphire-rapids", &m);
    p.sharers = 2;
    p.ll = (struct spool_geometry){ 47185920, 15, 64 };
    assert_int_equal(machine_native_caches(&m, &p, 2), 0);
    is_geometry(&m.ll, 47185920, 15);
    // not a guest: what the product has
    read_processor(&emerald, &p);
    p.guest = false;
    read_shipped("sapphire-rapids", &m);
    assert_int_equal(machine_native_caches(&m, &p, 2), 0);
    is_geometry(&m.ll, 314572800, 20);
}

// L1 and L2 of another processor, as hypervisors invent them: up to half and up to twice the file's
// are taken.
static void test_native_core(void **state)
{
    struct machine_cpuid p;
    struct machine m;

    (void)state;
    read_processor(&raphael, &p);
    p.l2 = (struct spool_geometry){ 4194304, 16, 64 };
    p.d1 = (struct spool_geometry){ 65536, 2, 64 };
    p.i1 = (struct spool_geometry){ 16384, 4, 64 };
    read_shipped("zen4", &m);
    assert_int_equal(machine_native_caches(&m, &p, 16), 1u << MACHINE_L2);
    is_geometry(&m.l2, 1048576, 8);
    is_geometry(&m.d1, 65536, 2);
    is_geometry(&m.i1, 16384, 4);
    p.l2.size = 524288; // half; of 16 ways
    p.i1.size = 8192;   // a quarter
    read_shipped("zen4", &m);
    assert_int_equal(machine_native_caches(&m, &p, 16), 1u << MACHINE_L1I);
    is_geometry(&m.l2, 524288, 16);
    is_geometry(&m.i1, 32768, 8);
}

// What cannot be simulated with the file's replacement: 12 ways of a tree.
static void test_native_impossible(void **state)
{
    struct machine_cpuid p;
    struct machine m;

    (void)state;
    read_processor(&raphael, &p);
    p.ll = (struct spool_geometry){ 25165824, 12, 64 };
    p.d1.assoc = 3; // a number of sets that is no power of two
    read_shipped("zen4", &m);
    assert_int_equal(machine_native_caches(&m, &p, 16), 1u << MACHINE_LL | 1u << MACHINE_L1D);
    is_geometry(&m.ll, 33554432, 16);
    is_geometry(&m.d1, 32768, 8);
}

// A processor without an L3; one that describes nothing; one with cores of two kinds.
static void test_native_missing(void **state)
{
    struct machine_cpuid p;
    struct machine m;

    (void)state;
    read_processor(&raphael, &p);
    p.ll = p.l2;
    p.ll_level = 2;
    read_shipped("zen4", &m);
    assert_int_equal(machine_native_caches(&m, &p, 16), 0);
    is_geometry(&m.ll, 33554432, 16);
    memset(&p, 0, sizeof(p));
    assert_int_equal(machine_native_caches(&m, &p, 16), 0);
    is_geometry(&m.i1, 32768, 8);
    read_processor(&emerald, &p);
    p.hybrid = true;
    p.guest = false;
    p.l2 = (struct spool_geometry){ 2097152, 16, 64 };
    p.ll = (struct spool_geometry){ 25165824, 12, 64 };
    read_shipped("alder-lake-p", &m);
    assert_int_equal(machine_native_caches(&m, &p, 24), 0);
    is_geometry(&m.l2, 1310720, 10);
    is_geometry(&m.ll, 25165824, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_cpuid),   cmocka_unit_test(test_native_odd),
        cmocka_unit_test(test_native_shipped), cmocka_unit_test(test_native_fits),
        cmocka_unit_test(test_native_same),    cmocka_unit_test(test_native_guest),
        cmocka_unit_test(test_native_core),    cmocka_unit_test(test_native_impossible),
        cmocka_unit_test(test_native_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
