// SPDX-License-Identifier: MIT
// engine/replay/arena.c with the persistent cache: the saved pieces have everything that was
// allocated, and with them and the two rooms every id means the same. test_replay.c tests
// allocation.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/replay/arena.h"

#define HALF (REPLAY_SIZE / 2)

static int setup(void **state)
{
    (void)state;
    arena_flush();
    return 0;
}

static void is_piece(const struct arena_piece *p, u64 at, u64 bytes)
{
    assert_int_equal(p->at, at);
    assert_int_equal(p->bytes, bytes);
}

// Nothing was allocated: nothing is saved.
static void test_empty(void **state)
{
    struct arena_piece piece[ARENA_PIECES];

    (void)state;
    assert_int_equal(ARENA_PIECES, 4);
    arena_pieces(&arena_first, &arena_second, piece);
    is_piece(&piece[0], 3504, 0);
    is_piece(&piece[1], 0x10000000, 0);
    is_piece(&piece[2], 0x10000000, 0);
    is_piece(&piece[3], 0x20000000, 0);
    assert_true(arena_is_sound(&arena_first, &arena_second));
}

static struct record_draft draft;

// A record whose routine has 100 bytes; and 24 bytes of the second half's high end, 40 of its low.
static u32 publish(u64 pc)
{
    u32 id = arena_next_id();

    draft.block.pc = pc;
    draft.block.nops = 2;
    arena_publish(&draft);
    memset((u8 *)REPLAY_BASE + id, (int)pc, 100);
    arena_code_ends((u8 *)REPLAY_BASE + id + 100);
    memset(arena_take(&arena_second, 20), (int)pc, 20);
    memset((u8 *)REPLAY_BASE + arena_second.low, (int)pc, 40);
    arena_second.low += 40;
    return id;
}

static void test_taken(void **state)
{
    struct arena_space first, second;
    struct arena_piece piece[ARENA_PIECES];
    const u64 block = sizeof(struct record_block) + 2 * sizeof(struct record_op);
    static u8 kept[ARENA_PIECES][4096];
    u32 a, b;

    (void)state;
    a = publish(0x11);
    b = publish(0x22);
    // A head of 8 bytes, up to a multiple of 16.
    assert_int_equal(a, 3520);
    assert_int_equal(b, 3520 + 100 + 12); // the head fits: 3620 + 8, up to 3632
    first = arena_first;
    second = arena_second;
    arena_pieces(&first, &second, piece);
    is_piece(&piece[0], 3504, b + 100 - 3504);
    is_piece(&piece[1], HALF - 2 * ((block + 7) & ~7ul), 2 * ((block + 7) & ~7ul));
    is_piece(&piece[2], HALF, 80);
    is_piece(&piece[3], REPLAY_SIZE - 48, 48);
    for (u32 i = 0; i < ARENA_PIECES; i++) {
        void *at = (void *)(REPLAY_BASE + piece[i].at);

        memcpy(kept[i], at, piece[i].bytes);
        memset(at, 0, piece[i].bytes);
    }
    arena_flush();
    assert_false(arena_has(a));
    assert_false(arena_has(b));
    // The next run.
    for (u32 i = 0; i < ARENA_PIECES; i++)
        memcpy((void *)(REPLAY_BASE + piece[i].at), kept[i], piece[i].bytes);
    arena_restore(&first, &second);
    assert_true(arena_has(a));
    assert_true(arena_has(b));
    assert_int_equal(arena_block(a)->pc, 0x11);
    assert_int_equal(arena_block(b)->pc, 0x22);
    assert_int_equal(*(u8 *)(REPLAY_BASE + b + 99), 0x22);
    assert_int_equal(*(u8 *)(REPLAY_BASE + HALF + 79), 0x22);
    assert_int_equal(*(u8 *)(REPLAY_BASE + REPLAY_SIZE - 48), 0x22);
    assert_int_equal(arena_next_id(), (b + 100 + 8 + 15) & ~15u);
    assert_int_equal(publish(0x33), (b + 100 + 8 + 15) & ~15u);
    assert_int_equal(arena_block(a)->pc, 0x11);
    assert_true(arena_has_space());
}

static void test_sound(void **state)
{
    // Rooms of the first half, then of the second: valid and invalid ones.
    static const struct arena_space good[2][5] = {
        { { 3504, HALF }, { 3504, 3504 }, { HALF, HALF }, { 5000, 5000 }, { 5000, 6000 } },
        { { HALF, REPLAY_SIZE },
          { HALF, HALF },
          { REPLAY_SIZE, REPLAY_SIZE },
          { HALF + 9, HALF + 9 },
          { HALF + 9, REPLAY_SIZE - 9 } },
    };
    static const struct arena_space bad[2][6] = {
        { { 1407, HALF },
          { 0, 0 },
          { 3504, HALF + 1 },
          { 6000, 5999 },
          { 3504, ~0ul },
          { ~0ul, 0 } },
        { { HALF - 1, REPLAY_SIZE },
          { HALF, REPLAY_SIZE + 1 },
          { HALF + 9, HALF + 8 },
          { HALF, ~0ul },
          { ~0ul, ~0ul },
          { 0, 0 } },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(good[0]); i++) {
        for (u32 k = 0; k < ARRAY_SIZE(good[1]); k++)
            assert_true(arena_is_sound(&good[0][i], &good[1][k]));
        for (u32 k = 0; k < ARRAY_SIZE(bad[1]); k++)
            assert_false(arena_is_sound(&good[0][i], &bad[1][k]));
    }
    for (u32 i = 0; i < ARRAY_SIZE(bad[0]); i++) {
        for (u32 k = 0; k < ARRAY_SIZE(good[1]); k++)
            assert_false(arena_is_sound(&bad[0][i], &good[1][k]));
    }
}

// The four pieces of valid rooms are inside the arena and no larger than it.
static void test_pieces_are_within(void **state)
{
    const struct arena_space first = { 3504, 3504 }, second = { HALF, HALF };
    struct arena_piece piece[ARENA_PIECES];
    u64 bytes = 0;

    (void)state;
    arena_pieces(&first, &second, piece);
    for (u32 i = 0; i < ARENA_PIECES; i++) {
        assert_true(piece[i].at + piece[i].bytes <= REPLAY_SIZE);
        bytes += piece[i].bytes;
    }
    assert_int_equal(bytes, REPLAY_SIZE - 3504);
}

static int begin(void **state)
{
    (void)state;
    return (int)arena_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_empty, setup),
        cmocka_unit_test_setup(test_taken, setup),
        cmocka_unit_test_setup(test_sound, setup),
        cmocka_unit_test_setup(test_pieces_are_within, setup),
    };

    return cmocka_run_group_tests_name("replay/arena", tests, begin, NULL);
}
