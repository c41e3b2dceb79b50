// SPDX-License-Identifier: MIT
// engine/x86/forms.c: whatever was decoded before, forms_decode returns the same as decode_insn,
// field for field. Tested with every opcode of each map, every modrm byte, random bytes around
// them, at random addresses; and with forms with other numbers, which must be found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/x86/decode.h"
#include "engine/x86/forms.h"

#define PC 0x401000ul

static uint64_t seed = 0x9e3779b97f4a7c15;
static uint32_t nfound; // since the start of a test

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

// All fields that decode_insn has written, without the padding.
static void is_same(const struct insn *a, const struct insn *b)
{
    struct insn x, y;

    memset(&x, 0, sizeof(x));
    memset(&y, 0, sizeof(y));
    memcpy(&x, a, offsetof(struct insn, refs));
    memcpy(&y, b, offsetof(struct insn, refs));
    memset(&x.sum, 0, sizeof(x.sum));
    memset(&y.sum, 0, sizeof(y.sum));
    assert_memory_equal(&x, &y, sizeof(x));
    assert_int_equal(a->sum.to, b->sum.to);
    assert_int_equal(a->sum.from, b->sum.from);
    assert_int_equal(a->sum.add, b->sum.add);
    assert_memory_equal(a->refs, b->refs, a->nrefs * sizeof(a->refs[0]));
}

// Both on the same 19 bytes: the same length, and if that is valid the same fields.
static int both(uint64_t pc, const uint8_t *code, bool refs)
{
    struct insn plain, known;
    int n;

    memset(&plain, 0x5a, sizeof(plain));
    memset(&known, 0xa5, sizeof(known));
    n = decode_insn(&plain, pc, code, 19, refs);
    assert_int_equal(forms_decode(&known, pc, code, 19, refs), n);
    nfound += forms_found();
    if (n > 0)
        is_same(&known, &plain);
    return n;
}

static void fill(uint8_t *code, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        code[i] = (uint8_t)(next_random() >> 24);
}

// Some bytes before an opcode, as in programs and otherwise.
static const struct {
    const char *bytes;
    uint32_t n;
} before[] = {
    { "", 0 },         { "\x48", 1 },         { "\x41", 1 },     { "\x4f", 1 },
    { "\x66", 1 },     { "\xf3", 1 },         { "\xf2", 1 },     { "\x66\x48", 2 },
    { "\x64", 1 },     { "\x65", 1 },         { "\x67", 1 },     { "\xf0", 1 },
    { "\x48\x66", 2 }, { "\x48\x41", 2 },     { "\xf3\x41", 2 }, { "\x64\x48", 2 },
    { "\x67\x44", 2 }, { "\x66\x66\x2e", 3 }, { "\x3e", 1 },     { "\x2e\x66", 2 },
};

static const struct {
    const char *bytes;
    uint32_t n;
} maps[] = {
    { "", 0 },         { "\x0f", 1 },         { "\x0f\x38", 2 },     { "\x0f\x3a", 2 },
    { "\xc5\xf9", 2 }, { "\xc4\xe2\x79", 3 }, { "\xc4\x41\xfd", 3 }, { "\xc4\xe3\x7d", 3 },
};

// Each opcode and modrm byte with random numbers, four times: the second time the form is learned,
// with what follows from its numbers.
static void every_opcode(bool refs)
{
    uint8_t code[19];

    for (uint32_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
        for (uint32_t p = 0; p < (m < 4 ? sizeof(before) / sizeof(before[0]) : 1); p++) {
            for (uint32_t i = 0; i < 0x10000; i += p ? 11 : 1) {
                uint32_t n = before[p].n + maps[m].n;

                for (uint32_t again = 0; again < 4; again++) {
                    fill(code, sizeof(code));
                    memcpy(code, before[p].bytes, before[p].n);
                    memcpy(code + before[p].n, maps[m].bytes, maps[m].n);
                    code[n] = (uint8_t)(i >> 8);
                    code[n + 1] = (uint8_t)i;
                    if ((code[n + 1] & 7) == 4) // with few SIB bytes forms repeat
                        code[n + 2] = (uint8_t)(again ? 0x24 : 0x25 | (code[n + 2] & 0xc8));
                    both(PC + (next_random() >> 20), code, refs);
                }
            }
        }
    }
}

static void test_same(void **state)
{
    (void)state;
    nfound = 0;
    every_opcode(true);
    assert_true(nfound > 300000); // of about 2 million
}

static void test_same_without(void **state)
{
    (void)state;
    nfound = 0;
    every_opcode(false);
    assert_true(nfound > 300000);
}

// Random bytes: sequences that nobody thought of.
static void test_random(void **state)
{
    uint8_t code[19];

    (void)state;
    for (uint32_t i = 0; i < 1000000; i++) {
        fill(code, sizeof(code));
        both(next_random() >> 16, code, i & 1);
        fill(code + 4 + i % 8, sizeof(code) - 4 - i % 8);
        both(next_random() >> 16, code, i & 1);
    }
}

// An instruction, and another of its form.
static void of_one_form(const char *a, const char *b, uint32_t n)
{
    uint8_t code[19];

    memset(code, 0x90, sizeof(code));
    memcpy(code, a, n);
    assert_int_equal(both(PC, code, true), n);
    assert_int_equal(both(PC, code, true), n); // a form that is seen once is not learned
    memcpy(code, b, n);
    assert_int_equal(both(PC + 0x1234567, code, true), n);
    assert_true(forms_found());
}

static void test_found(void **state)
{
    struct insn in;
    uint8_t code[19] = { 0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x80 }; // sub $-0x7ffff000, %rsp

    (void)state;
    of_one_form("\xe8\x00\x00\x00\x00", "\xe8\xff\xff\xff\x80", 5);                 // call
    of_one_form("\x74\x10", "\x74\x90", 2);                                         // je
    of_one_form("\x48\x8b\x45\xf8", "\x48\x8b\x45\x08", 4);                         // mov d8(%rbp)
    of_one_form("\x48\x8d\x05\x11\x11\x11\x11", "\x48\x8d\x05\x11\x11\x11\x99", 7); // lea (%rip)
    of_one_form("\xb8\x01\x00\x00\x00", "\xb8\x01\x00\x00\x80", 5);                 // mov $, %eax
    of_one_form("\x48\xb8\x01\x00\x00\x00\x02\x00\x00\x00",
                "\x48\xb8\x01\x00\x00\x00\x02\x00\x00\xf0", 10);                    // mov $, %rax
    of_one_form("\x83\x3d\x11\x11\x11\x11\x05", "\x83\x3d\x11\x11\x11\x91\x85", 7); // cmpl (%rip)
    of_one_form("\x48\x81\xec\x00\x01\x00\x00", "\x48\x81\xec\x00\x01\x00\xf0", 7); // sub $, %rsp

    // the fields of one that was found
    assert_int_equal(forms_decode(&in, PC, code, 19, true), 7);
    assert_true(forms_found());
    assert_int_equal(in.sum.to, R_RSP);
    assert_int_equal(in.sum.from, R_RSP);
    assert_int_equal(in.sum.add, 0x7ffff000);
    assert_memory_equal(in.bytes, code, 7);
}

// A shift by 0 preserves the flags; a client request starts like a decoded shift; bytes after the
// last available one are not read.
static void test_not_found(void **state)
{
    static const uint8_t shift[19] = { 0xc1, 0xe0, 3 }, none[19] = { 0xc1, 0xe0, 0 };
    static const uint8_t other[19] = { 0x48, 0xc1, 0xc7, 0x03, 0x90 };
    static const uint8_t request[19] = { 0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1,
                                         0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87, 0xdb };
    static const uint8_t jmp[5] = { 0xe9, 1, 2, 3, 4 };
    struct insn in;

    (void)state;
    assert_int_equal(both(PC, shift, true), 3);
    assert_int_equal(both(PC, shift, true), 3);
    assert_int_equal(both(PC, none, true), 3);
    assert_false(forms_found());
    assert_int_equal(both(PC, other, true), 4);
    assert_int_equal(both(PC, other, true), 4);
    assert_int_equal(both(PC, request, true), 19);
    assert_int_equal(forms_decode(&in, PC, jmp, 5, true), 5);
    assert_int_equal(forms_decode(&in, PC, jmp, 4, true), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),      cmocka_unit_test(test_same_without),
        cmocka_unit_test(test_random),    cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_found),
    };

    cpu_init(0, 0);
    decode_init(false);
    decode_requests();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
