// SPDX-License-Identifier: MIT
//
// Which symbol covers an address: at every border, for symbols that follow, touch, overlap and
// nest, with and without a size.
#include "tests/unit/symbols/elf_image.h"

#include <stdio.h>

#include "symbols/elfsym.h"
#include "symbols/search.h"
#include "symbols/strings.h"

// The name at an address; "-": none.
static const char *name_at(struct elfsym_table *t, uint64_t address)
{
    struct elfsym *e = elfsym_find(t, address);

    return !e ? "-" : e->name ? e->name : "frame";
}

static void at_is(struct elfsym_table *t, uint64_t address, const char *name)
{
    const char *got = name_at(t, address);

    if (strcmp(got, name) != 0)
        fail_msg("0x%llx: expected %s, got %s", (unsigned long long)address, name, got);
}

// From the address on the answer is the same up to `next`, and not further; the table must not
// report a shorter range either.
static void next_is(struct elfsym_table *t, uint64_t address, uint64_t next)
{
    assert_true(elfsym_next_change(t, address) == next);
}

static void test_search(void **state)
{
    static const struct {
        uint64_t address, other;
    } e[] = { { 10, 0 }, { 20, 0 }, { 20, 0 }, { 30, 0 } };

    (void)state;
    assert_int_equal(search_upper(e, 0, sizeof(*e), 99), 0);
    assert_int_equal(search_upper(e, 4, sizeof(*e), 9), 0);
    assert_int_equal(search_upper(e, 4, sizeof(*e), 10), 1);
    assert_int_equal(search_upper(e, 4, sizeof(*e), 19), 1);
    assert_int_equal(search_upper(e, 4, sizeof(*e), 20), 3);
    assert_int_equal(search_upper(e, 4, sizeof(*e), 29), 3);
    assert_int_equal(search_upper(e, 4, sizeof(*e), 30), 4);
    assert_int_equal(search_upper(e, 4, sizeof(*e), UINT64_MAX), 4);
}

// a [10, 20), b [20, 28), a gap, c [30, 40): entered in reverse order.
static void test_side_by_side(void **state)
{
    struct elfsym_table t = { 0 };

    (void)state;
    elfsym_sort(&t);
    at_is(&t, 0, "-");
    next_is(&t, 0, UINT64_MAX);
    elfsym_add_one(&t, 0x30, 0x10, "c");
    elfsym_add_one(&t, 0x20, 0x8, "b");
    elfsym_add_one(&t, 0x10, 0x10, "a");
    elfsym_sort(&t);
    at_is(&t, 0xf, "-");
    at_is(&t, 0x10, "a");
    at_is(&t, 0x1f, "a");
    at_is(&t, 0x20, "b");
    at_is(&t, 0x27, "b");
    at_is(&t, 0x28, "-");
    at_is(&t, 0x2f, "-");
    at_is(&t, 0x30, "c");
    at_is(&t, 0x3f, "c");
    at_is(&t, 0x40, "-");
    next_is(&t, 0, 0x10);
    next_is(&t, 0x10, 0x20);
    next_is(&t, 0x20, 0x28);
    next_is(&t, 0x28, 0x30);
    next_is(&t, 0x3f, 0x40);
    next_is(&t, 0x40, UINT64_MAX);
    elfsym_fini(&t);
}

// in [20, 30) and deep [24, 28) are inside out [10, 50): from the end of one the next outer one is
// shown.
static void test_nested(void **state)
{
    struct elfsym_table t = { 0 };

    (void)state;
    elfsym_add_one(&t, 0x10, 0x40, "out");
    elfsym_add_one(&t, 0x20, 0x10, "in");
    elfsym_add_one(&t, 0x24, 0x4, "deep");
    elfsym_sort(&t);
    at_is(&t, 0x1f, "out");
    at_is(&t, 0x20, "in");
    at_is(&t, 0x23, "in");
    at_is(&t, 0x24, "deep");
    at_is(&t, 0x27, "deep");
    at_is(&t, 0x28, "in");
    at_is(&t, 0x2f, "in");
    at_is(&t, 0x30, "out");
    at_is(&t, 0x4f, "out");
    at_is(&t, 0x50, "-");
    next_is(&t, 0x10, 0x20);
    next_is(&t, 0x20, 0x24);
    next_is(&t, 0x24, 0x28);
    next_is(&t, 0x28, 0x30);
    next_is(&t, 0x30, 0x50);
    elfsym_fini(&t);
}

// Two at one address: the larger size, and the preferred name: the shorter one, of equal length one
// with a version, then the alphabetically first; a version does not count as length.
static void test_same_start(void **state)
{
    static const char *const pairs[][3] = {
        { "ab", "abc", "ab" },         { "b", "a", "a" },
        { "ab@V1", "abc", "ab@V1" },   { "ab@V1", "aa", "ab@V1" },
        { "ab@V2", "ab@V1", "ab@V1" }, { "x@@VERSION", "yy", "x@@VERSION" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        for (int swap = 0; swap < 2; swap++) {
            struct elfsym_table t = { 0 };
            elfsym_add_one(&t, 0x10, 0x8, pairs[i][swap]);
            elfsym_add_one(&t, 0x10, 0x10, pairs[i][!swap]);
            elfsym_sort(&t);
            assert_int_equal(t.count, 1);
            at_is(&t, 0x10, pairs[i][2]);
            at_is(&t, 0x1f, pairs[i][2]);
            at_is(&t, 0x20, "-");
            elfsym_fini(&t);
        }
}

// A symbol of an ELF file: 16 bytes of name and attributes.
static Elf64_Sym symbol(uint32_t name, unsigned type, uint16_t section, uint64_t value,
                        uint64_t size)
{
    return (Elf64_Sym){ .st_name = name,
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                        .st_shndx = section,
                        .st_value = value,
                        .st_size = size };
}

// .text is [0x1000, 0x1100), .data is not code. Typed symbols and labels in code count; a label
// extends to the next symbol, and a function with a size takes precedence.
static void test_symbol_table(void **state)
{
    static const char names[] = "\0func\0label\0data\0undef\0file\0beyond\0last\0nosize\0";
    //                            1    6      12    17     23    28      35    40
    static const char code[0x100];
    const Elf64_Sym sym[] = {
        { 0 },
        symbol(1, STT_FUNC, 1, 0x1010, 0x20),
        symbol(6, STT_NOTYPE, 1, 0x1018, 0),
        symbol(6, STT_NOTYPE, 1, 0x1040, 0),
        symbol(12, STT_OBJECT, 2, 0x2000, 8),       // not in code
        symbol(17, STT_FUNC, SHN_UNDEF, 0x1050, 8), // elsewhere
        symbol(23, STT_FILE, 1, 0x1050, 8),
        symbol(28, STT_FUNC, 1, 0x1100, 8), // the section ends there
        symbol(0, STT_FUNC, 1, 0x1060, 8),  // no name
        symbol(40, STT_FUNC, 1, 0x1080, 0), // to the next symbol
        symbol(35, STT_FUNC, 1, 0x10f0, 0), // to the section's end
        symbol(12, STT_FUNC, 1, 0x10a0, 8), // and nothing after it
    };
    struct elf_image image;

    (void)state;
    elf_image_init(&image);
    Elf64_Shdr *text = elf_image_add(&image, ".text", SHT_PROGBITS, code, sizeof(code));
    text->sh_addr = 0x1000;
    text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    Elf64_Shdr *data = elf_image_add(&image, ".data", SHT_PROGBITS, code, 16);
    data->sh_addr = 0x2000;
    elf_image_add(&image, ".strtab", SHT_STRTAB, names, sizeof(names));
    Elf64_Shdr *table = elf_image_add(&image, ".symtab", SHT_SYMTAB, sym, sizeof(sym));
    table->sh_entsize = sizeof(*sym);
    table->sh_link = 3;
    Elf *elf = elf_image_open(&image);
    struct elfsym_table t = { 0 };

    assert_false(elfsym_add(&t, elf, SHT_DYNSYM));
    assert_int_equal(t.count, 0);
    assert_true(elfsym_add(&t, elf, SHT_SYMTAB));
    elfsym_sort(&t);
    assert_int_equal(t.count, 6);
    at_is(&t, 0x100f, "-");
    at_is(&t, 0x1010, "func");
    at_is(&t, 0x1018, "func"); // its size is known
    at_is(&t, 0x102f, "func");
    at_is(&t, 0x1030, "label");
    at_is(&t, 0x103f, "label"); // the one at 0x1018
    at_is(&t, 0x1040, "label");
    at_is(&t, 0x107f, "label");
    at_is(&t, 0x1080, "nosize");
    at_is(&t, 0x109f, "nosize");
    at_is(&t, 0x10a0, "data");
    at_is(&t, 0x10a7, "data");
    at_is(&t, 0x10a8, "-"); // the one without a size ended where another begins
    at_is(&t, 0x10ef, "-");
    at_is(&t, 0x10f0, "last");
    at_is(&t, 0x10ff, "last");
    at_is(&t, 0x1100, "-");
    assert_true(elfsym_find(&t, 0x1030)->start == 0x1018);
    elfsym_fini(&t);
    elf_image_close(&image, elf);
}

// .eh_frame_hdr at 0x5000 with four functions, their FDEs in .eh_frame at 0x6000: one has a symbol,
// one is in .plt, two get ranges without a name. A count that is too large is cut to the table's
// size.
static void test_eh_frame(void **state)
{
    static const char code[0x100];
    int32_t frame[4][4] = { { 0 } };
    struct {
        uint8_t form[4];
        int32_t frame;
        uint32_t count;
        int32_t row[4][2];
    } hdr = { { 1, 0x1b, 0x03, 0x3b }, 0, 99, { { 0 } } };
    const uint64_t start[4] = { 0x1010, 0x1040, 0x2000, 0x2100 };
    struct elf_image image;

    (void)state;
    for (int i = 0; i < 4; i++) {
        uint64_t fde = 0x6000 + (uint64_t)i * 16;
        frame[i][0] = 12;
        frame[i][2] = (int32_t)(start[i] - (fde + 8));
        frame[i][3] = 0x20;
        hdr.row[i][0] = (int32_t)(start[i] - 0x5000);
        hdr.row[i][1] = (int32_t)(fde - 0x5000);
    }
    for (int broken = 0; broken < 3; broken++) {
        elf_image_init(&image);
        Elf64_Shdr *s = elf_image_add(&image, ".text", SHT_PROGBITS, code, sizeof(code));
        s->sh_addr = 0x1000;
        s->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
        s = elf_image_add(&image, ".plt.sec", SHT_PROGBITS, code, sizeof(code));
        s->sh_addr = 0x2000;
        s->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
        s = elf_image_add(&image, ".fini", SHT_PROGBITS, code, sizeof(code));
        s->sh_addr = 0x2100;
        s->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
        if (broken == 1)
            frame[1][2]++; // the FDE is of another function than in the table
        if (broken == 2)
            hdr.form[3] = 0x1b; // another form than linkers write
        elf_image_add(&image, ".eh_frame_hdr", SHT_PROGBITS, &hdr, sizeof(hdr))->sh_addr = 0x5000;
        elf_image_add(&image, ".eh_frame", SHT_PROGBITS, frame, sizeof(frame))->sh_addr = 0x6000;
        Elf *elf = elf_image_open(&image);
        struct elfsym_table t = { 0 };
        elfsym_add_one(&t, 0x1008, 0x10, "named");
        elfsym_sort(&t);
        elfsym_add_eh_frame(&t, elf);
        elfsym_sort(&t);
        at_is(&t, 0x1017, "named");
        at_is(&t, 0x1018, "-"); // the range that begins in it is omitted
        at_is(&t, 0x103f, "-");
        at_is(&t, 0x1040, broken ? "-" : "frame");
        at_is(&t, 0x105f, broken ? "-" : "frame");
        at_is(&t, 0x1060, "-");
        at_is(&t, 0x2000, "-");
        at_is(&t, 0x20ff, "-");
        at_is(&t, 0x2100, broken == 2 ? "-" : "frame"); // right after the PLT
        at_is(&t, 0x2120, "-");
        elfsym_fini(&t);
        elf_image_close(&image, elf);
    }
}

// 1500 texts: the table grows at 512 and 1024. Number 0 is "???".
static void test_strings(void **state)
{
    struct strings s;
    char text[20];

    (void)state;
    strings_init(&s);
    assert_int_equal(strings_add(&s, "???", 3), 0);
    assert_int_equal(strings_add(&s, "main", 4), 1);
    assert_int_equal(strings_add(&s, "mai", 3), 2);
    assert_int_equal(strings_add(&s, "mainly", 4), 1);
    assert_int_equal(strings_add(&s, "", 0), 3);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 4; i < 1500; i++) {
            int n = snprintf(text, sizeof(text), "t%u", i);
            assert_int_equal(strings_add(&s, text, (size_t)n), i);
        }
    assert_int_equal(s.count, 1500);
    assert_string_equal(s.text[1], "main");
    assert_string_equal(s.text[1499], "t1499");
    strings_fini(&s);
}

// The search for "main39" and "main" begins at slot 520 of 1024, from their hashes (FNV-1a): the
// shorter one does not match the longer.
static void test_strings_in_one_slot(void **state)
{
    struct strings s;

    (void)state;
    strings_init(&s);
    assert_int_equal(strings_add(&s, "main39", 6), 1);
    assert_int_equal(s.table.slot[520], 1 + 1);
    assert_int_equal(strings_add(&s, "main", 4), 2);
    assert_int_equal(s.table.slot[521], 2 + 1);
    assert_int_equal(strings_add(&s, "main39", 6), 1);
    assert_int_equal(strings_add(&s, "main", 4), 2);
    strings_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),       cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_nested),       cmocka_unit_test(test_same_start),
        cmocka_unit_test(test_symbol_table), cmocka_unit_test(test_eh_frame),
        cmocka_unit_test(test_strings),      cmocka_unit_test(test_strings_in_one_slot),
    };
    return cmocka_run_group_tests_name("symbols of an ELF file", tests, NULL, NULL);
}
