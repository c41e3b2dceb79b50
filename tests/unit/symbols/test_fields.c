// SPDX-License-Identifier: MIT
//
// symbols/fields.c on debug information that no compiler writes: types that contain themselves, of
// any size, with members outside. tests/data has the answers for what compilers write. The program
// is assembled in TEST_FOLDER.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbols/symbols.h"

// Variables of 64 bytes, from DATA on, each of a type of its own.
#define DATA 0x600000ul
enum { CYCLE, SELF, ARRAY, OUTSIDE, HUGE, UNBOUNDED, PRODUCT, SOUND, VARIABLES };

static const char source[] =
    "    .text\n"
    "    .file 1 \"x.c\"\n"
    "    .globl _start\n"
    "_start:\n"
    "    .loc 1 1\n"
    "    nop\n"
    "    .section .debug_abbrev,\"\",@progbits\n"
    "    .uleb128 1, 0x11; .byte 1; .uleb128 0x03, 0x08, 0, 0\n" // unit: name
    "    .uleb128 2, 0x34; .byte 0; .uleb128 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0\n" // variable
    "    .uleb128 3, 0x16; .byte 0; .uleb128 0x49, 0x13, 0, 0\n"                         // typedef
    "    .uleb128 4, 0x13; .byte 1; .uleb128 0x0b, 0x0f, 0, 0\n" // structure: size
    "    .uleb128 5, 0x0d; .byte 0; .uleb128 0x03, 0x08, 0x49, 0x13, 0x38, 0x0f, 0, 0\n" // member
    "    .uleb128 6, 0x24; .byte 0; .uleb128 0x03, 0x08, 0x0b, 0x0f, 0, 0\n" // base type
    "    .uleb128 7, 0x01; .byte 1; .uleb128 0x49, 0x13, 0, 0\n"             // array
    "    .uleb128 8, 0x21; .byte 0; .uleb128 0x37, 0x0f, 0, 0\n"             // its count
    "    .uleb128 9, 0x0d; .byte 0; .uleb128 0x03, 0x08, 0x49, 0x13, 0x38, 0x0d, 0, 0\n" // signed
    "    .byte 0\n"
    "    .macro variable name, type\n"
    "    .uleb128 2; .asciz \"\\name\"; .long \\type - unit\n"
    "    .byte 9, 3; .quad variables + 64 * number\n"
    "    .set number, number + 1\n"
    "    .endm\n"
    "    .macro member name, type, at\n"
    "    .uleb128 5; .asciz \"\\name\"; .long \\type - unit; .uleb128 \\at\n"
    "    .endm\n"
    "    .set number, 0\n"
    "    .section .debug_info,\"\",@progbits\n"
    "unit: .long end - 1f\n"
    "1:  .short 4; .long 0; .byte 8\n"
    "    .uleb128 1; .asciz \"x.c\"\n"
    "    variable cycle, t1\n"
    "    variable self, s\n"
    "    variable array, a\n"
    "    variable outside, o\n"
    "    variable huge, h\n"
    "    variable unbounded, u\n"
    "    variable product, p\n"
    "    variable sound, g\n"
    "int: .uleb128 6; .asciz \"int\"; .uleb128 4\n"
    "t1: .uleb128 3; .long t2 - unit\n"
    "t2: .uleb128 3; .long t1 - unit\n"
    "s:  .uleb128 4, 64\n" // a structure that is its own member
    "    member s, s, 0\n"
    "    .byte 0\n"
    "a:  .uleb128 7; .long a - unit\n" // an array of itself
    "    .uleb128 8, 1\n"
    "    .byte 0\n"
    "o:  .uleb128 4, 64\n" // members far behind, before, half outside; one that is in it
    "    member far, int, 0x4000000000000000\n"
    "    .uleb128 9; .asciz \"before\"; .long int - unit; .sleb128 -8\n"
    "    member half, int, 62\n"
    "    member x, int, 8\n"
    "    .byte 0\n"
    "h:  .uleb128 4, 0x8000000000000000\n"
    "    member x, int, 8\n"
    "    .byte 0\n"
    "u:  .uleb128 7; .long e - unit\n" // elements without a size
    "    .uleb128 8, 64\n"
    "    .byte 0\n"
    "e:  .uleb128 4, 0\n"
    "    .byte 0\n"
    "p:  .uleb128 7; .long int - unit\n" // 2^32 x 2^31 x 4 = 2^65
    "    .uleb128 8, 0x100000000\n"
    "    .uleb128 8, 0x80000000\n"
    "    .byte 0\n"
    "g:  .uleb128 4, 64\n"
    "    member x, int, 8\n"
    "    member y, l, 16\n"
    "    .byte 0\n"
    "l:  .uleb128 7; .long int - unit\n"
    "    .uleb128 8, 12\n"
    "    .byte 0\n"
    "    .byte 0\n"
    "end:\n"
    "    .data\n"
    "variables: .fill 512\n";

static struct symbols *symbols;
static struct symbols_module *module;
static char folder[4096];

static int assemble(void **state)
{
    const char *base = getenv("TEST_FOLDER");
    struct symbols_options options = { .no_demangle = true };
    struct symbols_file file = { 0 };
    char text[9000];
    FILE *f;

    (void)state;
    snprintf(folder, sizeof(folder), "%s/fields-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(text, sizeof(text), "%s/x.s", folder);
    f = fopen(text, "w");
    if (!f || fputs(source, f) < 0 || fclose(f) != 0)
        return -1;
    snprintf(text, sizeof(text),
             "cd '%s' && gcc -nostdlib -static -no-pie -Wl,-Tdata=0x%lx,--build-id=none -o x x.s",
             folder, DATA);
    if (system(text) != 0)
        return -1;
    snprintf(text, sizeof(text), "%s/x", folder);
    symbols = symbols_new(&options);
    file.path = text;
    module = symbols_file(symbols, &file);
    return 0;
}

static int clean_up(void **state)
{
    char command[4200];

    (void)state;
    symbols_free(symbols);
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

static struct symbols_field ask(int variable, uint64_t low, uint64_t high, uint64_t step)
{
    struct symbols_field q = { .start = DATA + 64ul * (unsigned)variable,
                               .size = 64,
                               .low = low,
                               .high = high,
                               .step = step };

    symbols_fields(module, &q, 1);
    return q;
}

static void no_answer(void **state)
{
    static const int odd[] = { CYCLE, SELF, ARRAY, HUGE, UNBOUNDED, PRODUCT };

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        assert_null(ask(odd[i], 0, 0, 0).path);
        assert_null(ask(odd[i], 8, 56, 4).path);
    }
    assert_null(ask(SOUND, 64, 64, 0).path); // behind it
    assert_null(ask(SOUND, 0, UINT64_MAX, 1).path);
    assert_null(ask(VARIABLES, 0, 0, 0).path); // no variable
}

static void check(struct symbols_field q, const char *path, uint64_t offset, bool whole)
{
    assert_non_null(q.path);
    assert_string_equal(q.path, path);
    assert_int_equal(q.offset, offset);
    assert_int_equal(q.whole, whole);
    free(q.path);
}

static void answers(void **state)
{
    (void)state;
    check(ask(SOUND, 8, 8, 0), "sound.x", 8, false);
    check(ask(SOUND, 11, 11, 0), "sound.x", 8, false);
    check(ask(SOUND, 12, 12, 0), "sound.(padding)", 12, false);
    check(ask(SOUND, 20, 60, 4), "sound.y[]", 16, false);
    check(ask(SOUND, 8, 60, 4), "sound", 0, true);
    // by steps of 8 from 8 on x, y[0], y[2]; of 16 from 8 to 24 x and y
    check(ask(SOUND, 8, 24, 16), "sound", 0, true);
    // what is certain beside what is not
    check(ask(OUTSIDE, 8, 8, 0), "outside.x", 8, false);
    check(ask(OUTSIDE, 0, 0, 0), "outside", 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_answer), cmocka_unit_test(answers) };

    return cmocka_run_group_tests(tests, assemble, clean_up);
}
