// SPDX-License-Identifier: MIT
//
// Damaged blocks: every byte of a small report is changed in turn, and its blocks are cut at every
// length. The core must refuse or answer; AddressSanitizer and UBSan check. Some kinds of damage
// must be refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report/exercise.h"
#include "tests/unit/report/unpack.h"

static void golden_report(struct pack **k, struct quern_profile **p)
{
    *p = quern_profile_read("tests/golden/jumps.callgrind", NULL, NULL);
    assert_non_null(*p);
    *k = pack_new(*p, NULL, 0);
    assert_non_null(*k);
    pack_functions(*k);
    for (uint32_t f = 0; f < pack_count(*k);)
        f = pack_places(*k, f);
    // A source, an alignment and code, by hand: file 0; function 0 has two instructions of one
    // word.
    struct buf b = { 0 };
    buf_u(&b, 0);
    buf_u(&b, 0);
    buf_u(&b, 0);
    buf_text(&b, "a.c", 3);
    buf_u(&b, 2);
    buf_u(&b, 1);
    buf_u(&b, 1);
    buf_u(&b, 2);
    buf_text(&b, "x\ny\n", 4);
    pack_section(*k, SECTION_SOURCE, 0, 0, &b);
    b.size = 0;
    buf_bytes(&b, (uint8_t[]){ 0, 1, 1, 2, 3 }, 5);
    pack_section(*k, SECTION_ALIGN, 0, 0, &b);
    b.size = 0;
    buf_bytes(&b, (uint8_t[]){ 0, 1, 0, 2 }, 4); // function 0: here, two
    buf_text(&b, "\0\0", 2);                     // addresses
    buf_text(&b, "\0\0", 2);                     // words
    buf_u(&b, 1);
    buf_text(&b, "\2", 1);
    buf_text(&b, "\xeb\xfe", 2);
    buf_text(&b, "jmp +0x00\n", 10);
    buf_text(&b, "jmp +0x00\n", 10);
    pack_section(*k, SECTION_CODE, 0, 1, &b);
    buf_free(&b);
    assert_int_equal(pack_finish(*k), 0);
}

// The blocks with one changed.
static struct core *load_changed(const struct pack *k, size_t block, size_t at, int how, size_t cut,
                                 int *rc)
{
    struct core *c = load_new();

    for (size_t i = 0; i < pack_block_count(k); i++) {
        uint8_t *bytes = unpack_block(pack_block(k, i));
        size_t size = pack_block(k, i)->size;
        if (i == block) {
            bytes[at] = how == 0   ? (uint8_t)(bytes[at] + 1)
                        : how == 1 ? 255
                        : how == 2 ? 0
                                   : bytes[at] ^ 128;
            size = cut;
            // Under AddressSanitizer a cut block must really end there.
            uint8_t *exact = heap_get(size);
            memcpy(exact, bytes, size);
            heap_put(bytes);
            bytes = exact;
        }
        *rc = load_block(c, bytes, size);
    }
    return c;
}

static void whole(void **state)
{
    struct quern_profile *p;
    struct pack *k;
    struct texts_source source;
    struct texts_code code;
    struct texts_run *run;
    uint32_t n;

    (void)state;
    golden_report(&k, &p);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(texts_source(c, 0, 0, &source), 0);
    assert_int_equal(source.state, TEXTS_HERE);
    assert_int_equal(source.pieces, 1);
    assert_memory_equal(source.piece[0].text.at, "x\ny\n", 4);
    heap_put(source.piece);
    assert_int_equal(texts_source(c, 0, 1, &source), 0);
    assert_int_equal(source.state, TEXTS_NONE);
    assert_int_equal(texts_align(c, 0, &run, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(run[0].equal, 3);
    heap_put(run);
    assert_int_equal(texts_code(c, 0, &code), 0);
    assert_int_equal(code.count, 2);
    assert_true(code.insn[0].addr == c->addr[0] && code.insn[1].addr == c->addr[0] + 2);
    assert_true(code.insn[1].target == c->addr[0] + 2); // jmp to itself
    heap_put(code.insn);
    exercise(c);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

// An alignment without stretches is valid; one with more stretches than bytes is found damaged
// before memory is allocated for it.
static void alignments(void **state)
{
    static const uint8_t bytes[2][5] = { { 0, 0 }, { 0, 4, 1, 1, 2 } }; // file 0, how many

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct quern_profile *p = quern_profile_read("tests/golden/jumps.callgrind", NULL, NULL);
        struct pack *k = pack_new(p, NULL, 0);
        struct buf b = { 0 };
        struct texts_run *run;
        uint32_t n = 7;

        pack_functions(k);
        for (uint32_t f = 0; f < pack_count(k);)
            f = pack_places(k, f);
        buf_bytes(&b, bytes[i], i ? 5 : 2);
        pack_section(k, SECTION_ALIGN, 0, 0, &b);
        buf_free(&b);
        assert_int_equal(pack_finish(k), 0);
        struct core *c = unpack(k);
        assert_non_null(c);
        assert_int_equal(texts_align(c, 0, &run, &n), i ? CORE_DAMAGED : 0);
        assert_int_equal(n, 0);
        heap_put(run);
        load_free(c);
        pack_free(k);
        quern_profile_free(p);
    }
}

static void changed(void **state)
{
    struct quern_profile *p;
    struct pack *k;
    size_t refused = 0, all = 0;
    int rc;

    (void)state;
    golden_report(&k, &p);
    for (size_t i = 0; i < pack_block_count(k); i++)
        for (size_t at = 0; at < pack_block(k, i)->size; at++)
            for (int how = 0; how < 4; how++) {
                struct core *c = load_changed(k, i, at, how, pack_block(k, i)->size, &rc);
                all++;
                refused += !c->head || c->list[SECTION_CALLS].count == 0;
                exercise(c);
                load_free(c);
            }
    // Most of a block is numbers, which may have any value; lengths may not.
    assert_true(refused > all / 20);
    pack_free(k);
    quern_profile_free(p);
}

static void cut(void **state)
{
    struct quern_profile *p;
    struct pack *k;
    int rc;

    (void)state;
    golden_report(&k, &p);
    size_t last = pack_block_count(k) - 1;
    for (size_t n = 1; n < pack_block(k, last)->size; n++) {
        struct core *c = load_changed(k, last, 0, 2 + 1, n, &rc);
        exercise(c);
        load_free(c);
    }
    // A block that is cut inside its last section is refused, and nothing of it is used.
    struct core *c = load_new();
    uint8_t *bytes = unpack_block(pack_block(k, 0));
    assert_int_equal(load_block(c, bytes, pack_block(k, 0)->size - 1), CORE_DAMAGED);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

static int load_bytes(const char *bytes, size_t n)
{
    struct core *c = load_new();
    uint8_t *copy = heap_get(n);

    memcpy(copy, bytes, n);
    int rc = load_block(c, copy, n);
    load_free(c);
    return rc;
}

static void refusals(void **state)
{
    (void)state;
    // HEAD: version, functions, strings, parts, events, order, flags, blocks
    assert_int_equal(load_bytes("\1\10\1\0\0\1\1\0\0\1", 10), 0);
    assert_int_equal(load_bytes("\1\10\2\0\0\1\1\0\0\1", 10), CORE_VERSION);
    assert_int_equal(load_bytes("\1\10\1\0\0\0\1\0\0\1", 10), CORE_DAMAGED); // no part
    assert_int_equal(load_bytes("\1\10\1\0\0\1\0\0\0\1", 10), CORE_DAMAGED); // no event
    assert_int_equal(load_bytes("\1\10\1\0\0\1\1\0\0\1\1\10\1\0\0\1\1\0\0\1", 20),
                     CORE_DAMAGED);                              // twice
    assert_int_equal(load_bytes("\6\3\0\0\0", 5), CORE_DAMAGED); // before HEAD
    assert_int_equal(load_bytes("\1\10\1\0\0\1\1\0\0\1\6\3\0\1\0", 15),
                     CORE_DAMAGED); // a string too many
    assert_int_equal(load_bytes("\1\10\1\0\1\1\1\0\0\1\6\5\0\1\1\1x", 17),
                     CORE_DAMAGED); // common prefix with none
    assert_int_equal(load_bytes("\1\10\1\0\1\1\1\0\0\1\6\5\0\1\0\1x", 17), 0);
    assert_int_equal(load_bytes("\1\10\1\0\0\1\1\0\0\1\77\1x", 13), 0); // of a later writer
}

// The only string is empty, so there is no memory for strings: the fuzzer saw the core add to a
// null pointer.
static void nameless(void **state)
{
    static const uint8_t block[] = { SECTION_HEAD,    8, 1, 0, 1, 1, 1, 0, 0, 1,
                                     SECTION_STRINGS, 4, 0, 1, 0, 0 };
    struct core *c = load_new();
    uint8_t *bytes = heap_get(sizeof(block));

    (void)state;
    memcpy(bytes, block, sizeof(block));
    load_block(c, bytes, sizeof(block));
    assert_int_equal(c->strings, 1);
    assert_true(core_has_string(c, 0));
    assert_int_equal(core_string(c, 0).size, 0);
    assert_non_null(core_string(c, 0).at);
    load_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nameless), cmocka_unit_test(whole), cmocka_unit_test(alignments),
        cmocka_unit_test(changed),  cmocka_unit_test(cut),   cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
