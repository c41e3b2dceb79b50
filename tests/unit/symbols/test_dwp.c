// SPDX-License-Identifier: MIT
//
// Packages of split debug information, byte by byte: the index, the choice of the unit, and what is
// refused. The unit of version 5 has one inlined body, whose addresses are index 1 of the program's
// and 8 bytes, or a list relative to the unit's base.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <dwarf.h>

#include "symbols/dwp.h"
#include "tests/unit/symbols/elf_image.h"

#define ID 0x1122334455667788

// clang-format off
// version 5: length, version, DW_UT_split_compile, 8, abbreviations at 0, id
static const unsigned char info5[] = {
    40, 0, 0, 0, 5, 0, 5, 8, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
    1, 0,          // a compilation unit, name: string 0
    2, 1,          // a function, name: string 1
    0x83, 0,       // at 24: a body of it, by a code of two bytes: origin, low_pc, high_pc, ...
    22, 0, 0, 0, 1, 8, 0, 0, 0,
    4, 22, 0, 0, 0, 0, // at 35: another one: origin, ranges: list 0
    0, 0, 0
};
static const unsigned char abbrev5[] = {
    1, 0x11, 1, 0x03, 0x1a, 0, 0,                                 // compile_unit: name strx
    2, 0x2e, 0, 0x03, 0x1a, 0, 0,                                 // subprogram: name strx
    3, 0x1d, 0, 0x31, 0x13, 0x11, 0x1b, 0x12, 0x06, 0, 0,         // inlined: ref4, addrx, data4
    4, 0x1d, 0, 0x31, 0x13, 0x55, 0x23, 0, 0,                     // inlined: ref4, rnglistx
    0
};
static const unsigned char offsets5[] = { 12, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0 };
// one list, of one pair from the base: 0x10 to 0x18
static const unsigned char lists5[] = {
    16, 0, 0, 0, 5, 0, 8, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4, 0x10, 0x18, 0
};
static const char strings[] = "unit\0body";
// clang-format on

static const uint64_t addr[] = { 1, 0x2000 };

// An index of version 5 with two slots for one unit, whose parts follow a byte that is not theirs.
struct index {
    uint32_t version, columns, units, slots;
    uint64_t id[2];
    uint32_t row[2], column[4], offset[4], size[4];
};

static const struct index index5 = { 5,
                                     4,
                                     1,
                                     2,
                                     { ID, 0 }, // even: the first slot
                                     { 1, 0 },
                                     { 1, 3, 6, 8 },
                                     { 1, 1, 1, 1 },
                                     { sizeof(info5), sizeof(abbrev5), sizeof(offsets5),
                                       sizeof(lists5) } };

static unsigned char *behind_a_byte(const void *p, size_t size)
{
    unsigned char *out = calloc(1, size + 1);

    memcpy(out + 1, p, size);
    return out;
}

struct package {
    struct elf_image image;
    unsigned char *part[4];
    int fd;
    struct dwp *dwp;
    const char *damage;
};

// `cut`: how many bytes are missing at the end of the file.
static void make(struct package *p, const struct index *index, const unsigned char *info,
                 size_t info_size, size_t cut)
{
    static const char *const name[] = { ".debug_info.dwo", ".debug_abbrev.dwo",
                                        ".debug_str_offsets.dwo", ".debug_rnglists.dwo" };
    const void *part[] = { info, abbrev5, offsets5, lists5 };
    const size_t size[] = { info_size, sizeof(abbrev5), sizeof(offsets5), sizeof(lists5) };
    size_t whole;

    elf_image_init(&p->image);
    for (unsigned i = 0; i < 4; i++) {
        p->part[i] = behind_a_byte(part[i], size[i]);
        elf_image_add(&p->image, name[i], SHT_PROGBITS, p->part[i], size[i] + 1);
    }
    elf_image_add(&p->image, ".debug_str.dwo", SHT_PROGBITS, strings, sizeof(strings));
    elf_image_add(&p->image, ".debug_cu_index", SHT_PROGBITS, index, sizeof(*index));
    Elf *elf = elf_image_open(&p->image);
    const char *bytes = elf_rawfile(elf, &whole);
    p->fd = memfd_create("package", MFD_CLOEXEC);
    assert_true(cut < whole);
    assert_int_equal(write(p->fd, bytes, whole - cut), whole - cut);
    elf_image_close(&p->image, elf);
    p->damage = NULL;
    p->dwp = dwp_new(p->fd, &p->damage);
}

static void end(struct package *p)
{
    dwp_free(p->dwp);
    close(p->fd);
    for (unsigned i = 0; i < 4; i++)
        free(p->part[i]);
}

static enum dwp_answer ask(struct package *p, uint64_t id, Dwarf_Die *unit)
{
    const struct dwp_skeleton s = {
        .id = id, .low_pc = 0x5000, .addr = (const unsigned char *)addr, .addr_size = sizeof(addr)
    };

    return dwp_unit(p->dwp, &s, unit, &p->damage);
}

static void expect_body(Dwarf_Die *die, Dwarf_Addr from, Dwarf_Addr to)
{
    Dwarf_Attribute attr;
    Dwarf_Addr base, start = 0, stop = 0;

    assert_int_equal(dwarf_tag(die), DW_TAG_inlined_subroutine);
    assert_non_null(dwarf_attr_integrate(die, DW_AT_name, &attr));
    assert_string_equal(dwarf_formstring(&attr), "body");
    assert_true(dwarf_ranges(die, 0, &base, &start, &stop) > 0);
    assert_int_equal(start, from);
    assert_int_equal(stop, to);
}

static void test_unit(void **state)
{
    struct package p;
    Dwarf_Die unit, die;

    (void)state;
    make(&p, &index5, info5, sizeof(info5), 0);
    assert_non_null(p.dwp);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(ask(&p, ID + 2, &unit), DWP_ABSENT); // the same slot
        assert_int_equal(ask(&p, ID, &unit), DWP_FOUND);
        assert_string_equal(dwarf_diename(&unit), "unit");
        assert_int_equal(dwarf_child(&unit, &die), 0);
        assert_string_equal(dwarf_diename(&die), "body");
        assert_int_equal(dwarf_siblingof(&die, &die), 0);
        expect_body(&die, 0x2000, 0x2008);
        assert_int_equal(dwarf_siblingof(&die, &die), 0);
        expect_body(&die, 0x5010, 0x5018);
    }
    end(&p);
}

// For an index with one number changed.
static enum dwp_answer with_index(size_t offset, uint32_t value, const char **damage)
{
    struct index index = index5;
    struct package p;
    Dwarf_Die unit;
    enum dwp_answer answer = DWP_DAMAGED;

    memcpy((char *)&index + offset, &value, sizeof(value));
    make(&p, &index, info5, sizeof(info5), 0);
    if (p.dwp)
        answer = ask(&p, ID, &unit);
    *damage = p.damage;
    end(&p);
    return answer;
}

static void test_index(void **state)
{
    static const struct {
        size_t offset;
        uint32_t value;
        enum dwp_answer answer;
    } expected[] = {
        { 0, 5, DWP_FOUND },
        { 0, 0x10005, DWP_FOUND }, // padding
        { 0, 3, DWP_DAMAGED },
        { 0, 0, DWP_DAMAGED },
        { 4, 0, DWP_DAMAGED },  // no columns: the unit has no parts
        { 4, 17, DWP_DAMAGED }, // more than the known kinds
        { 8, 2, DWP_DAMAGED },  // the table is longer than the section
        { 8, UINT32_MAX, DWP_DAMAGED },
        { 8, 0, DWP_DAMAGED }, // a row of no unit
        { 12, 3, DWP_DAMAGED },
        { 12, 0, DWP_ABSENT },
        { 12, 1u << 31, DWP_DAMAGED },
        { offsetof(struct index, id), 0x55667789, DWP_ABSENT },
        { offsetof(struct index, row), 0, DWP_ABSENT },
        { offsetof(struct index, row), 2, DWP_DAMAGED },
        { offsetof(struct index, row), UINT32_MAX, DWP_DAMAGED },
        { offsetof(struct index, column), 9, DWP_DAMAGED },
        { offsetof(struct index, offset), 0, DWP_DAMAGED }, // the byte before its part
        { offsetof(struct index, offset), 2, DWP_DAMAGED },
        { offsetof(struct index, offset), UINT32_MAX, DWP_DAMAGED },
        { offsetof(struct index, size), UINT32_MAX, DWP_DAMAGED },
        { offsetof(struct index, size), sizeof(info5) - 1, DWP_DAMAGED },
        { offsetof(struct index, size), 3, DWP_DAMAGED },
        { offsetof(struct index, size) + 4, sizeof(abbrev5) + 1, DWP_DAMAGED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        const char *damage;

        if (with_index(expected[i].offset, expected[i].value, &damage) != expected[i].answer)
            fail_msg("line %zu", i + 1);
        if (expected[i].answer == DWP_DAMAGED)
            assert_non_null(damage);
    }
}

// Every other byte of the unit's header matters, or changes nothing.
static void test_header(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        unsigned char info[sizeof(info5)];
        struct package p;
        Dwarf_Die unit;

        memcpy(info, info5, sizeof(info));
        info[i] ^= 0x80;
        make(&p, &index5, info, sizeof(info), 0);
        assert_non_null(p.dwp);
        assert_int_equal(ask(&p, ID, &unit), DWP_DAMAGED);
        assert_string_equal(p.damage, "a unit of it is damaged");
        end(&p);
    }
}

// Truncated anywhere: refused, or absent, never read past the end.
static void test_cut_off(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < 400; cut++) {
        struct package p;

        make(&p, &index5, info5, sizeof(info5), cut);
        assert_null(p.dwp);
        assert_non_null(p.damage);
        end(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_cut_off),
    };

    return cmocka_run_group_tests_name("symbols packages", tests, NULL, NULL);
}
