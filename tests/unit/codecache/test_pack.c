// SPDX-License-Identifier: MIT
// engine/codecache/pack.c: fragments are packed and unpacked; the targets of their exits are read
// from the copy of the code; damage to each field is detected.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/codecache/pack.h"
#include "engine/codecache/region.h"
#include "engine/codecache/tcache.h"

// -- tcache.c, of three fragments --

static struct fragment f[3];

struct fragment *tcache_by_index(u32 i)
{
    assert_in_range(i, 0, 2);
    return &f[i];
}

// f[1] has three pages: its two blocks are on these. The others have one.
u32 tcache_pages(const struct fragment *of)
{
    u32 n = 1;

    for (u32 i = 0; i < of->nmore; i++)
        n += of->more[i].end > of->more[i].pc ? 2 : 100; // the blocks can be read
    return n;
}

// -- the test's side --

// The data behind the exits of f[1]; f[0] and f[2] have one exit each and no such data.
struct __attribute__((packed, aligned(8))) rest {
    struct fragment_exit exit[2];
    u32 next[3];
    struct recipe recipe[2];
    u16 reloc[2];
    u8 len[3];
};

static struct fragment_block more = { 0x402ff0, 0x403008, 21, 22, 2, 0 };
static struct rest rest;
static struct __attribute__((packed, aligned(8))) {
    struct fragment_exit exit[1];
    u32 next[1];
} small[3];

#define ONE 120 // bytes: 88 + 24 + 4, and 4 up to a multiple of 8
#define TWO 200 // 88 + 32 + 2 * 24 + 3 * 4 + 2 * 6 + 2 * 2 + 3 and 1

// 100, 200 and 16 bytes, at multiples of 16.
static const u32 at[] = { 0, 112, 320 };
static const u16 size[] = { 100, 200, 16 };
#define CODE 336
static u8 code[CODE];

static _Alignas(8) u8 packed[1024];

static int setup(void **state)
{
    (void)state;
    memset(code, 0xee, sizeof(code));
    memset(packed, 0, sizeof(packed));
    for (u32 i = 0; i < 3; i++) {
        f[i] = (struct fragment){ .pc = 0x401000 + i,
                                  .end = 0x401001 + i,
                                  .hpc = region_fragments() + at[i],
                                  .index = i,
                                  .block = 5 + i,
                                  .counter = 6 + i,
                                  .own = 7 + i,
                                  .log = 8 + i,
                                  .size = size[i],
                                  .nexits = 1,
                                  .npages = 1,
                                  .exit = small[i].exit };
        small[i].exit[0] = (struct fragment_exit){ .target = 1, .rel32 = 8, .stub = 12 };
        small[i].next[0] = 99;
    }
    f[1].flags = FRAGMENT_WATCHED | FRAGMENT_PAST | FRAGMENT_ALONE;
    f[1].watch = 190;
    f[1].sc_jmp = 180;
    f[1].ibl_jmp[0] = 170;
    f[1].ibl_jmp[1] = 175;
    f[1].hash_next = 3;
    f[1].in = 33;
    f[1].seen = 44;
    f[1].nmore = 1;
    f[1].nexits = f[1].nrecipes = f[1].nrelocs = 2;
    f[1].npages = f[1].ninsns = 3;
    f[1].more = &more;
    f[1].exit = rest.exit;
    rest = (struct rest){
        .exit = { { .target = 0x401000, .to = 1, .rel32 = 20, .stub = 150, .next_in = 5 },
                  { .target = 0x401002,
                    .to = 3,
                    .side = true,
                    .rel32 = 30,
                    .stub = 160,
                    .before_in = 6 } },
        .next = { 1, 2, 3 },
        .recipe = { { 1, 2, 3, 4 }, { 5, 1, 7, 8 } },
        .reloc = { 33, 44 },
        .len = { 4, 5, 6 },
    };
    return 0;
}

static const struct fragment *stays; // f[1] may lead there

static bool keep(const struct fragment *to)
{
    return to == stays;
}

// Packs f[i] and returns the result.
static struct fragment *pack_it(u32 i)
{
    pack(&f[i], packed, code, keep);
    return pack_undo(packed);
}

// The target of an exit of f[i] in the copy of the code.
static u64 leads(u32 i, u32 rel32)
{
    u64 host = f[i].hpc + rel32;
    s32 disp;

    memcpy(&disp, code + (host - region_fragments()), 4);
    return host + 4 + (u64)(s64)disp;
}

static void test_bytes(void **state)
{
    (void)state;
    assert_int_equal(pack_bytes(&f[0]), ONE);
    assert_int_equal(pack_bytes(&f[1]), TWO);
    f[0].nexits = f[0].npages = 0;
    assert_int_equal(pack_bytes(&f[0]), 88);
    for (u32 i = 1; i <= 8; i++) {
        f[0].ninsns = (u8)i;
        assert_int_equal(pack_bytes(&f[0]), 96);
    }
    f[0].ninsns = 9;
    assert_int_equal(pack_bytes(&f[0]), 104);
}

static void test_round(void **state)
{
    struct fragment *p = pack_it(1);

    (void)state;
    assert_ptr_equal(p, packed);
    assert_int_equal(p->pc, 0x401001);
    assert_int_equal(p->end, 0x401002);
    assert_int_equal(p->hpc, region_fragments() + 112);
    assert_int_equal(p->index, 1);
    assert_int_equal(p->block, 6);
    assert_int_equal(p->counter, 7);
    assert_int_equal(p->own, 8);
    assert_int_equal(p->log, 9);
    assert_int_equal(p->size, 200);
    assert_int_equal(p->watch, 190);
    assert_int_equal(p->sc_jmp, 180);
    assert_int_equal(p->ibl_jmp[0], 170);
    assert_int_equal(p->ibl_jmp[1], 175);
    // Nothing of the run's state remains.
    assert_int_equal(p->flags, FRAGMENT_DEAD | FRAGMENT_ALONE);
    assert_int_equal(p->hash_next, 0);
    assert_int_equal(p->in, 0);
    assert_int_equal(p->seen, 0);
    // And all that its pointers point to.
    assert_int_equal(p->nmore, 1);
    assert_ptr_equal(p->more, packed + 88);
    assert_memory_equal(p->more, &more, sizeof(more));
    assert_ptr_equal(p->exit, packed + 88 + 32);
    assert_int_equal(p->exit[0].target, 0x401000);
    assert_int_equal(p->exit[1].stub, 160);
    assert_true(p->exit[1].side);
    assert_false(p->exit[0].side);
    assert_memory_equal(fragment_recipes(p), rest.recipe, 12);
    assert_memory_equal(fragment_relocs(p), rest.reloc, 4);
    assert_memory_equal(fragment_lens(p), rest.len, 3);
    for (u32 i = TWO; i < sizeof(packed); i++)
        assert_int_equal(packed[i], 0);
    // The fragment itself has not changed.
    assert_int_equal(f[1].flags, FRAGMENT_WATCHED | FRAGMENT_PAST | FRAGMENT_ALONE);
    assert_int_equal(f[1].in, 33);
    assert_int_equal(rest.exit[0].to, 1);
    assert_int_equal(rest.exit[0].next_in, 5);
    assert_ptr_equal(f[1].more, &more);
}

static void test_exits(void **state)
{
    struct fragment *p;

    (void)state;
    stays = NULL;
    p = pack_it(1);
    for (u32 k = 0; k < 2; k++) {
        assert_int_equal(p->exit[k].to, 0);
        assert_int_equal(p->exit[k].next_in, 0);
        assert_int_equal(p->exit[k].before_in, 0);
    }
    assert_int_equal(leads(1, 20), f[1].hpc + 150);
    assert_int_equal(leads(1, 30), f[1].hpc + 160);
    stays = &f[2]; // the link leads to its beginning, although it is watched
    f[2].flags = FRAGMENT_WATCHED;
    f[2].watch = 9;
    p = pack_it(1);
    assert_int_equal(p->exit[0].to, 0);
    assert_int_equal(leads(1, 20), f[1].hpc + 150);
    assert_int_equal(p->exit[1].to, 3);
    assert_int_equal(p->exit[1].before_in, 0);
    assert_int_equal(leads(1, 30), f[2].hpc);
    stays = &f[0];
    p = pack_it(1);
    assert_int_equal(p->exit[0].to, 1);
    assert_int_equal(p->exit[1].to, 0);
    assert_int_equal(leads(1, 20), f[0].hpc);
    assert_int_equal(leads(1, 30), f[1].hpc + 160);
    for (u32 i = 0; i < sizeof(code); i++) { // nothing else of the code has changed
        if (i - (at[1] + 20) >= 4 && i - (at[1] + 30) >= 4)
            assert_int_equal(code[i], 0xee);
    }
}

static void test_exit_of_one(void **state)
{
    struct fragment *p;

    (void)state;
    small[0].exit[0].to = 1; // itself
    stays = &f[0];
    p = pack_it(0);
    assert_int_equal(p->exit[0].to, 1);
    assert_int_equal(leads(0, 8), f[0].hpc);
    small[2].exit[0].to = 0; // linked to nothing
    stays = &f[2];
    p = pack_it(2);
    assert_int_equal(p->exit[0].to, 0);
    assert_int_equal(leads(2, 8), f[2].hpc + 12);
}

// -- what is sound --

static bool is_sound(u64 room)
{
    return pack_is_sound(packed, room, 1, 3, region_fragments() + at[1], CODE);
}

static void test_sound(void **state)
{
    (void)state;
    stays = &f[2];
    pack_it(1);
    assert_true(is_sound(TWO));
    assert_true(is_sound(TWO + 8));
    for (u64 room = 0; room < TWO; room++)
        assert_false(is_sound(room));
    assert_false(pack_is_sound(packed, TWO, 0, 3, region_fragments() + 112, CODE));
    assert_false(pack_is_sound(packed, TWO, 1, 3, region_fragments() + 96, CODE));
    assert_true(pack_is_sound(packed, TWO, 1, 3, region_fragments() + 112, 112 + 200));
    assert_false(pack_is_sound(packed, TWO, 1, 3, region_fragments() + 112, 112 + 199));
    assert_false(pack_is_sound(packed, TWO, 1, 3, region_fragments() + 112, 111));
    assert_false(pack_is_sound(packed, TWO, 1, 2, region_fragments() + 112, CODE)); // leads to 3
}

#define DAMAGED(field, value)                         \
    do {                                              \
        pack_it(1);                                   \
        assert_true(is_sound(sizeof(packed)));        \
        ((struct fragment *)packed)->field = (value); \
        assert_false(is_sound(sizeof(packed)));       \
    } while (0)
#define STILL_SOUND(field, value)                     \
    do {                                              \
        pack_it(1);                                   \
        ((struct fragment *)packed)->field = (value); \
        assert_true(is_sound(sizeof(packed)));        \
    } while (0)

static void test_damaged(void **state)
{
    (void)state;
    stays = &f[2];
    DAMAGED(index, 0);
    DAMAGED(index, 2);
    DAMAGED(hpc, f[1].hpc + 16);
    DAMAGED(hpc, 0);
    DAMAGED(flags, FRAGMENT_ALONE); // alive
    DAMAGED(flags, FRAGMENT_DEAD | FRAGMENT_WATCHED);
    DAMAGED(flags, FRAGMENT_DEAD | FRAGMENT_PAST);
    DAMAGED(in, 1);
    DAMAGED(size, CODE - 112 + 1);
    DAMAGED(size, 0);
    DAMAGED(nmore, 0); // this changes its pages, too
    DAMAGED(nmore, FRAGMENT_BLOCKS_MAX);
    DAMAGED(nmore, 255);
    DAMAGED(npages, 2);
    DAMAGED(npages, 4);
    DAMAGED(npages, 255);
    DAMAGED(nexits, FRAGMENT_EXITS_MAX + 1);
    DAMAGED(nexits, 255);
    DAMAGED(ninsns, FRAGMENT_INSNS_MAX + 1);
    DAMAGED(nrecipes, 0xffff);
    DAMAGED(nrelocs, 0xffff);
    STILL_SOUND(ninsns, FRAGMENT_INSNS_MAX);
    DAMAGED(watch, 200);
    DAMAGED(sc_jmp, 200);
    DAMAGED(ibl_jmp[0], 200);
    DAMAGED(ibl_jmp[1], 200);
    STILL_SOUND(ibl_jmp[1], 199);
    STILL_SOUND(size, CODE - 112);
}

#define DAMAGED_EXIT(k, field, value)                         \
    do {                                                      \
        pack_it(1);                                           \
        ((struct fragment *)packed)->exit[k].field = (value); \
        assert_false(is_sound(TWO));                          \
    } while (0)

static void test_damaged_exit(void **state)
{
    struct fragment *p;

    (void)state;
    stays = &f[2];
    DAMAGED_EXIT(0, to, 4);
    DAMAGED_EXIT(1, to, 0x7fffffff);
    DAMAGED_EXIT(0, rel32, 197);
    DAMAGED_EXIT(1, rel32, 0xffff);
    DAMAGED_EXIT(0, stub, 200);
    DAMAGED_EXIT(1, stub, 0xffff);
    p = pack_it(1);
    p->exit[0].to = 3;
    p->exit[1].rel32 = 196;
    p->exit[1].stub = 199;
    assert_true(is_sound(TWO));
}

// Larger than an escape buffer.
static void test_too_large(void **state)
{
    (void)state;
    stays = NULL;
    f[1].size = FRAGMENT_MAX;
    pack_it(1);
    assert_true(pack_is_sound(packed, TWO, 1, 3, f[1].hpc, 2 * FRAGMENT_MAX));
    ((struct fragment *)packed)->size++;
    assert_false(pack_is_sound(packed, TWO, 1, 3, f[1].hpc, 2 * FRAGMENT_MAX));
}

// A fragment without code, as a stepped one.
static void test_without_code(void **state)
{
    (void)state;
    f[2].size = f[2].nexits = f[2].npages = 0;
    f[2].flags = FRAGMENT_STEP;
    pack_it(2);
    assert_int_equal(pack_undo(packed)->flags, FRAGMENT_STEP | FRAGMENT_DEAD);
    ((struct fragment *)packed)->npages = 1;
    assert_true(pack_is_sound(packed, ONE, 2, 3, f[2].hpc, f[2].hpc - region_fragments()));
    assert_false(pack_is_sound(packed, ONE, 2, 3, f[2].hpc, f[2].hpc - region_fragments() - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bytes, setup),
        cmocka_unit_test_setup(test_round, setup),
        cmocka_unit_test_setup(test_exits, setup),
        cmocka_unit_test_setup(test_exit_of_one, setup),
        cmocka_unit_test_setup(test_sound, setup),
        cmocka_unit_test_setup(test_damaged, setup),
        cmocka_unit_test_setup(test_damaged_exit, setup),
        cmocka_unit_test_setup(test_too_large, setup),
        cmocka_unit_test_setup(test_without_code, setup),
    };

    if (region_init(0x7f0000000000, 4096, 1000))
        return 1;
    return cmocka_run_group_tests_name("codecache/pack", tests, NULL, NULL);
}
