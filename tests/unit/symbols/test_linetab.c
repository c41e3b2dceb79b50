// SPDX-License-Identifier: MIT
//
// The reader of DWARF 5 line tables on a program written byte by byte: every opcode that changes
// the registers, every border of a row and of a sequence, every truncation. test_symbols.c compares
// it with libdw on compilers' output.
#include "tests/unit/symbols/elf_image.h"

#include <dwarf.h>
#include <stdio.h>

#include "symbols/linetab.h"

// opcode_base 13, line_base -5, line_range 14: opcode 13 + (line + 5) + 14 * address.
#define SPECIAL(address, line) (13 + (line) + 5 + 14 * (address))
#define EXTENDED(size, opcode) 0, (size), (opcode)
#define ADDRESS(low, high)     EXTENDED(9, DW_LNE_set_address), (low), (high), 0, 0, 0, 0, 0, 0
#define END                    EXTENDED(1, DW_LNE_end_sequence)

static const unsigned char header[] = {
    // instruction length, operations, is_stmt, line base and
    // range, opcode base
    1, 1, 1, (unsigned char)-5, 14, 13,
    // operands of opcodes 1 to 12
    0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1,
    // folders: one format, a path in place; "/src" and "inc"
    1, DW_LNCT_path, DW_FORM_string, 2, '/', 's', 'r', 'c', 0, 'i', 'n', 'c', 0,
    // files: a path, a block of a kind that is not known, and a folder; a.c in 0, b.h in 1, /c.c in
    // 1
    3, DW_LNCT_path, DW_FORM_string, 0x81, 0x40, DW_FORM_block, DW_LNCT_directory_index,
    DW_FORM_udata, 3, //
    'a', '.', 'c', 0, 2, 7, 7, 0, 'b', '.', 'h', 0, 0, 1, '/', 'c', '.', 'c', 0, 1, 7, 1
};

static const unsigned char program[] = {
    // [0x1000, 0x1043)
    ADDRESS(0x00, 0x10), DW_LNS_set_file, 0, DW_LNS_advance_line, 9, DW_LNS_copy, // 1000: a.c:10
    SPECIAL(2, 1),                                                                // 1002: a.c:11
    DW_LNS_const_add_pc, DW_LNS_set_file, 1, DW_LNS_copy, // 242 / 14 = 17: 1013: b.h:11
    DW_LNS_set_column, 0x85, 0x01, DW_LNS_negate_stmt, DW_LNS_set_isa, 7, // not asked for
    DW_LNS_fixed_advance_pc, 0x20, 0x00, DW_LNS_advance_line, 0x74,
    DW_LNS_copy, // -12: 1033: line -1, which is invalid
    DW_LNS_advance_pc, 0x10, END,
    // [0x2000, 0x2001): of two rows at one address the last counts; file 9 is invalid
    ADDRESS(0x00, 0x20), DW_LNS_set_file, 9, DW_LNS_copy, DW_LNS_advance_line, 4, DW_LNS_set_file,
    2, DW_LNS_copy, DW_LNS_advance_pc, 1, END,
    // a removed section, and an empty one
    ADDRESS(0x00, 0x00), DW_LNS_copy, DW_LNS_advance_pc, 8, END, //
    ADDRESS(0x00, 0x30), DW_LNS_copy, END,
    // [0x1020, 0x1030), inside the first: file 3, one past the last
    ADDRESS(0x20, 0x10), DW_LNS_set_file, 3, DW_LNS_copy, DW_LNS_advance_pc, 0x90, 0x00, END
};

static unsigned char unit[400];
static size_t unit_size;

static void make_unit(void)
{
    uint32_t n = 2 + 1 + 1 + 4 + sizeof(header) + sizeof(program), head = sizeof(header);
    unsigned char *o = unit;

    memcpy(o, &n, 4);
    memcpy(o + 4, (unsigned char[]){ 5, 0, 8, 0 }, 4); // version, sizes of address and selector
    memcpy(o + 8, &head, 4);
    memcpy(o + 12, header, sizeof(header));
    memcpy(o + 12 + sizeof(header), program, sizeof(program));
    unit_size = n + 4;
}

static struct strings strings;

static struct linetab *table_of(const void *content, size_t size, struct elf_image *image,
                                Elf **elf)
{
    elf_image_init(image);
    elf_image_add(image, ".debug_line", SHT_PROGBITS, content, size);
    *elf = elf_image_open(image);
    return linetab_new(*elf, &strings);
}

static void row_is(struct linetab *t, uint64_t address, uint64_t start, uint64_t end,
                   const char *file, uint32_t line)
{
    struct lines_row r;

    linetab_find(t, address, &r);
    if (r.start != start || r.end != end || r.line != line ||
        strcmp(strings.text[r.file], file) != 0)
        fail_msg("0x%llx: [0x%llx, 0x%llx) %s:%u", (unsigned long long)address,
                 (unsigned long long)r.start, (unsigned long long)r.end, strings.text[r.file],
                 r.line);
}

static void test_rows(void **state)
{
    struct elf_image image;
    Elf *elf;

    (void)state;
    strings_init(&strings);
    make_unit();
    struct linetab *t = table_of(unit, unit_size, &image, &elf);
    assert_non_null(t);
    row_is(t, 0, 0, 0x1000, "???", 0);
    row_is(t, 0xfff, 0xfff, 0x1000, "???", 0);
    row_is(t, 0x1000, 0x1000, 0x1002, "/src/a.c", 10);
    row_is(t, 0x1001, 0x1000, 0x1002, "/src/a.c", 10);
    row_is(t, 0x1002, 0x1002, 0x1013, "/src/a.c", 11);
    row_is(t, 0x1012, 0x1002, 0x1013, "/src/a.c", 11);
    row_is(t, 0x1013, 0x1013, 0x1020, "/src/inc/b.h", 11); // up to the inner sequence
    row_is(t, 0x101f, 0x1013, 0x1020, "/src/inc/b.h", 11);
    row_is(t, 0x1020, 0x1020, 0x1030, "???", 1);
    row_is(t, 0x102f, 0x1020, 0x1030, "???", 1);
    row_is(t, 0x1030, 0x1030, 0x1033, "/src/inc/b.h", 11); // and after it again
    row_is(t, 0x1032, 0x1030, 0x1033, "/src/inc/b.h", 11);
    row_is(t, 0x1033, 0x1033, 0x1043, "/src/inc/b.h", 0);
    row_is(t, 0x1043, 0x1043, 0x2000, "???", 0);
    row_is(t, 0x1fff, 0x1fff, 0x2000, "???", 0);
    row_is(t, 0x2000, 0x2000, 0x2001, "/c.c", 5);
    row_is(t, 0x2001, 0x2001, 0x2002, "???", 0);
    row_is(t, 0x3000, 0x3000, 0x3001, "???", 0);
    linetab_free(t);
    linetab_free(NULL);
    elf_image_close(&image, elf);
    strings_fini(&strings);
}

// Without the inner sequence the first one is contiguous; line 0 is not a line, but a row.
static void test_line_zero(void **state)
{
    struct elf_image image;
    Elf *elf;

    (void)state;
    strings_init(&strings);
    make_unit();
    unit[4 + 4 + 4 + sizeof(header) + sizeof(program) - 16] = 0x40; // 0x4020 now
    struct linetab *t = table_of(unit, unit_size, &image, &elf);
    assert_non_null(t);
    row_is(t, 0x1013, 0x1013, 0x1033, "/src/inc/b.h", 11);
    row_is(t, 0x1032, 0x1013, 0x1033, "/src/inc/b.h", 11);
    row_is(t, 0x1033, 0x1033, 0x1043, "/src/inc/b.h", 0);
    row_is(t, 0x1042, 0x1033, 0x1043, "/src/inc/b.h", 0);
    row_is(t, 0x1043, 0x1043, 0x2000, "???", 0);
    linetab_free(t);
    elf_image_close(&image, elf);
    strings_fini(&strings);
}

static bool is_read(size_t size)
{
    struct elf_image image;
    Elf *elf;
    unsigned char *copy = malloc(size ? size : 1); // makes an access past the end visible

    memcpy(copy, unit, size);
    struct linetab *t = table_of(copy, size, &image, &elf);
    bool got = t != NULL;
    linetab_free(t);
    elf_image_close(&image, elf);
    free(copy);
    return got;
}

// Truncated anywhere, or of a form that libdw must read.
static void test_refused(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
    } damage[] = {
        { 4, 4 },                       // version 4
        { 4, 6 },                       // and a future one
        { 6, 4 },                       // addresses of 4 bytes
        { 7, 1 },                       // segments
        { 13, 2 },                      // two operations in an instruction
        { 16, 0 },                      // a range of no lines
        { 17, 0 },                      // no opcodes
        { 8, 255 },                     // a header longer than the unit
        { 0, 255 },                     // a unit longer than the section
        { 12 + sizeof(header) + 1, 8 }, // an address of 7 bytes
        { 12 + sizeof(header) + 1, 0 }, // an opcode of none
    };

    (void)state;
    strings_init(&strings);
    make_unit();
    assert_true(is_read(unit_size));
    for (size_t n = 0; n < unit_size; n++)
        assert_false(is_read(n));
    for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
        make_unit();
        unit[damage[i].at] = damage[i].value;
        if (is_read(unit_size))
            fail_msg("damage %zu is not seen", i);
    }
    strings_fini(&strings);
}

// A header that ends within the lengths of the opcodes: 13 opcodes have 12 of them.
static void test_short_header(void **state)
{
    static const unsigned char rest[] = { ADDRESS(0x00, 0x10), DW_LNS_copy, DW_LNS_advance_pc, 8,
                                          END };

    (void)state;
    strings_init(&strings);
    for (uint32_t lengths = 10; lengths <= 12; lengths++) {
        uint32_t head = 6 + lengths, n = 2 + 1 + 1 + 4 + head + sizeof(rest);

        make_unit();
        memcpy(unit, &n, 4);
        memcpy(unit + 8, &head, 4);
        memcpy(unit + 12 + head, rest, sizeof(rest));
        assert_int_equal(is_read(n + 4), lengths == 12);
    }
    strings_fini(&strings);
}

// Two units, the second equal to the first; if one is of version 4, libdw reads all.
static void test_two_units(void **state)
{
    struct elf_image image;
    Elf *elf;
    unsigned char two[2 * sizeof(unit)];

    (void)state;
    strings_init(&strings);
    make_unit();
    memcpy(two, unit, unit_size);
    memcpy(two + unit_size, unit, unit_size);
    two[unit_size + 4 + 4 + 4 + sizeof(header) + 4] = 0x50; // its first sequence is at 0x5000
    struct linetab *t = table_of(two, 2 * unit_size, &image, &elf);
    assert_non_null(t);
    row_is(t, 0x1000, 0x1000, 0x1002, "/src/a.c", 10);
    row_is(t, 0x5013, 0x5013, 0x5033, "/src/inc/b.h", 11);
    row_is(t, 0x5042, 0x5033, 0x5043, "/src/inc/b.h", 0);
    row_is(t, 0x5043, 0x5043, 0x5044, "???", 0);
    linetab_free(t);
    elf_image_close(&image, elf);
    two[unit_size + 4] = 4;
    t = table_of(two, 2 * unit_size, &image, &elf);
    assert_null(t);
    elf_image_close(&image, elf);
    strings_fini(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_line_zero),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_short_header),
        cmocka_unit_test(test_two_units),
    };
    return cmocka_run_group_tests_name("symbols line tables", tests, NULL, NULL);
}
