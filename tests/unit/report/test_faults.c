// SPDX-License-Identifier: MIT
//
// Packing and querying a report when memory is short: each allocation fails in turn, alone and with
// all later ones. A pack is not made, or is the same as without the fault; the core refuses or
// answers; nothing leaks. The allocations are those of our own objects
// (tests/faults/inject.h).
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/faults/inject.h"
#include "tests/unit/report/exercise.h"
#include "tests/unit/report/unpack.h"

static const char *const inputs[] = { "tests/golden/calls.callgrind",
                                      "tests/golden/jumps.callgrind",
                                      "tests/golden/parts.callgrind",
                                      "tests/golden/all-positions.callgrind" };
#define INPUTS (sizeof(inputs) / sizeof(*inputs))

// A column that is not written needs no memory: the blocks are those of the whole report.
static bool same(const struct pack *a, const struct pack *b)
{
    bool equal = a && pack_block_count(a) == pack_block_count(b);

    for (size_t i = 0; equal && i < pack_block_count(a); i++) {
        const struct block *x = pack_block(a, i), *y = pack_block(b, i);
        equal = x->size == y->size && x->crc == y->crc && x->kinds == y->kinds &&
                x->first == y->first && x->end == y->end;
    }
    return equal;
}

static void test_pack(void **state)
{
    (void)state;
    for (size_t i = 0; i < INPUTS; i++) {
        struct quern_profile *p = quern_profile_read(inputs[i], NULL, NULL);
        struct pack *whole = pack_everything(p, NULL);
        assert_non_null(whole);
        for (int on = 0; on < 2; on++)
            for (long n = 1;; n++) {
                inject_begin(INJECT_MEMORY, n, ENOMEM, on);
                struct pack *k = pack_everything(p, NULL);
                struct inject was = inject;
                inject_end();
                if ((k || !was.hit) && !same(k, whole))
                    fail_msg("%s: allocation %ld of %s is not missed", inputs[i], n,
                             on ? "all" : "one");
                if (!k)
                    assert_int_equal(was.blocks, 0);
                pack_free(k);
                if (!was.hit)
                    break;
            }
        pack_free(whole);
        quern_profile_free(p);
    }
}

// Loads the blocks and queries everything. The loader owns its input.
static void ask(uint8_t *const *bytes, const size_t *size, size_t blocks)
{
    struct core *c = load_new();

    for (size_t i = 0; c && i < blocks; i++) {
        uint8_t *copy = heap_get(size[i]);
        if (!copy) {
            load_free(c);
            return;
        }
        memcpy(copy, bytes[i], size[i]);
        if (load_block(c, copy, size[i]) < 0) {
            load_free(c);
            return;
        }
    }
    if (!c)
        return;
    exercise(c);
    load_free(c);
}

static void test_core(void **state)
{
    enum { MOST = 64 };
    uint8_t *bytes[MOST];
    size_t size[MOST];

    (void)state;
    for (size_t i = 0; i < INPUTS; i++) {
        struct quern_profile *p = quern_profile_read(inputs[i], NULL, NULL);
        struct pack *k = pack_everything(p, NULL);
        assert_non_null(k);
        size_t blocks = pack_block_count(k);
        assert_true(blocks <= MOST);
        for (size_t b = 0; b < blocks; b++) {
            bytes[b] = unpack_block(pack_block(k, b));
            size[b] = pack_block(k, b)->size;
        }
        for (int on = 0; on < 2; on++)
            // Many are of the same place: the later ones by steps.
            for (long n = 1;; n += 1 + n / 64) {
                inject_begin(INJECT_MEMORY, n, ENOMEM, on);
                ask(bytes, size, blocks);
                struct inject was = inject;
                inject_end();
                if (was.blocks)
                    fail_msg("%s: allocation %ld: %ld blocks left", inputs[i], n, was.blocks);
                if (!was.hit)
                    break;
            }
        for (size_t b = 0; b < blocks; b++)
            heap_put(bytes[b]);
        pack_free(k);
        quern_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_core),
    };
    return cmocka_run_group_tests_name("report faults", tests, NULL, NULL);
}
