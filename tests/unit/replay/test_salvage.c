// SPDX-License-Identifier: MIT
// engine/replay/salvage.c: where the records of a killed thread's buffer end, the stack pointer
// there, and what is replayed. Expected values follow from record.h.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/count/caches.h"
#include "engine/objects/alloc.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/replay.h"
#include "engine/replay/salvage.h"

// -- fakes of what salvage.c calls --

#define A       RECORD_FIRST         // 3 words; leaves the stack pointer 8 less
#define B       (RECORD_FIRST + 16)  // 1 word; the stack pointer
#define C       (RECORD_FIRST + 32)  // 2 words; the stack pointer is slot 1, plus 16
#define S       (RECORD_FIRST + 48)  // a superblock of 5 words; the stack pointer is slot 4
#define SIDE(n) ((u64)(n) << 32 | S) // left after 2 words, 24 less, or after 3, slot 2

static const struct record_side sides[] = {
    { .slots = 2, .sp = RECORD_STACK_SLOT, .sp_add = -24 },
    { .slots = 3, .sp = 2, .sp_add = 8 },
};

static const struct record_block blocks[] = {
    { .slots = 3, .sp = RECORD_STACK_SLOT, .sp_add = -8 },
    { .slots = 1, .sp = RECORD_STACK_SLOT },
    { .slots = 2, .sp = 1, .sp_add = 16 },
    { .slots = 5, .sp = 4, .nsides = 2 },
};

static struct thread t;
static u32 clocks; // caches_restore_clock()
static struct {
    const u64 *from, *end;
    u64 sp;
} made[4];
static u32 nmade;

void caches_restore_clock(struct thread *of)
{
    assert_ptr_equal(of, &t);
    clocks++;
}

bool arena_has(u32 id)
{
    return id >= A && id <= S && !(id & 15);
}

void replay_records(struct thread *of, const u64 *from, const u64 *end)
{
    assert_int_equal(clocks, 1);
    made[nmade].from = from;
    made[nmade].end = end;
    made[nmade++].sp = of->replay_sp;
}

static u32 runs;

void replay_run(struct thread *of, const u64 *from, const u64 *end)
{
    runs++;
    replay_records(of, from, end);
}

// As in interpret.c.
u64 interpret_value(u64 sp, u32 slot, const u64 *record)
{
    return slot == RECORD_STACK_SLOT ? sp : slot == RECORD_NO_SLOT ? 0 : record[slot];
}

static void low_memory(void)
{
    struct record_block *b = (struct record_block *)(REPLAY_BASE + RECORD_FIRST + 128);

    // Where arena_head() and arena_block() find them.
    for (u32 i = 0; i < ARRAY_SIZE(blocks); i++) {
        b[i] = blocks[i];
        arena_head(RECORD_FIRST + 16 * i)->block = (u32)((u64)(b + i) - REPLAY_BASE);
    }
    memcpy((void *)record_sides(&b[3]), sides, sizeof(sides));
}

// -- the tests --

static const u64 complete[] = {
    RECORD_STACK, 0x1000, A, 7, 7, RECORD_TAKEN, B, C, 0x2000, A, 1, 2, 0, B
};
static const u64 inner[] = { A, 7, 7, RECORD_TAKEN, 0 };
static const u64 full[] = { B, B, B };
static const u64 wrong[] = { B, 5000, B };

// Entries of calls and returns between records: one word, two, one.
static const u64 calls[] = { RECORD_STACK,
                             0x1000,
                             B,
                             5ul << 32 | RECORD_ENTER,
                             A,
                             1,
                             2,
                             5ul << 32 | RECORD_LEAVE,
                             77,
                             9ul << 32 | RECORD_BACK,
                             C,
                             0x3000,
                             0 };

static int setup(void **state)
{
    (void)state;
    low_memory();
    memset(&t, 0, sizeof(t));
    clocks = nmade = runs = 0;
    return 0;
}

static void test_end(void **state)
{
    (void)state;
    // the word 0 ends it
    assert_ptr_equal(salvage_end(complete, complete + 14, false), complete + 12);
    // the last one, of three words, may be incomplete
    assert_ptr_equal(salvage_end(complete, complete + 14, true), complete + 9);
    // a word after it says that it is complete
    assert_ptr_equal(salvage_end(inner, inner + 5, true), inner + 4);
    assert_ptr_equal(salvage_end(full, full + 3, false), full + 3);
    assert_ptr_equal(salvage_end(full, full + 3, true), full + 2);
    // no id: it ends here
    assert_ptr_equal(salvage_end(wrong, wrong + 3, false), wrong + 1);
    assert_ptr_equal(salvage_end(wrong, wrong, true), wrong);
}

static void test_calls(void **state)
{
    (void)state;
    assert_ptr_equal(salvage_end(calls, calls + 13, false), calls + 12);
    assert_ptr_equal(salvage_end(calls, calls + 13, true), calls + 10);
    // an entry after a record says that it is complete
    assert_ptr_equal(salvage_end(calls, calls + 9, true), calls + 9);
    assert_ptr_equal(salvage_end(calls, calls + 10, true), calls + 10);
    assert_int_equal(salvage_stack(calls, calls + 10, 5), 0xff8);
    assert_int_equal(salvage_stack(calls, calls + 12, 5), 0x3010);
}

// The time of the maps of data, and changes of blocks.
static void test_objects(void **state)
{
    static const u64 words[] = { RECORD_OBJECTS,
                                 1,
                                 (u64)ALLOC_FREED << 32 | RECORD_OBJECTS,
                                 2,
                                 0x1000,
                                 (5ul << ALLOC_OBJECT_BIT | ALLOC_OPENED) << 32 | RECORD_OBJECTS,
                                 3,
                                 16,
                                 0,
                                 0,
                                 B,
                                 0 };

    (void)state;
    assert_int_equal(salvage_words(words), 2);
    assert_int_equal(salvage_words(words + 2), 3);
    assert_int_equal(salvage_words(words + 5), 5);
    assert_ptr_equal(salvage_end(words, words + 12, false), words + 11);
}

static void test_stack(void **state)
{
    (void)state;
    assert_int_equal(salvage_stack(complete, complete, 5), 5);
    assert_int_equal(salvage_stack(complete, complete + 2, 5), 0x1000);
    assert_int_equal(salvage_stack(complete, complete + 5, 5), 0xff8);
    assert_int_equal(salvage_stack(complete, complete + 7, 5), 0xff8);
    assert_int_equal(salvage_stack(complete, complete + 9, 5), 0x2010);
    assert_int_equal(salvage_stack(complete, complete + 12, 5), 0x2008);
}

// A superblock's record is as long as the part that was executed.
static void test_sides(void **state)
{
    static const u64 words[] = { S, 1, 2, 3, 0x4000, SIDE(1), 7, B, SIDE(2), 8, 0x5000, B, 0 };

    (void)state;
    assert_int_equal(salvage_words(words), 5);
    assert_int_equal(salvage_words(words + 5), 2);
    assert_int_equal(salvage_words(words + 8), 3);
    assert_ptr_equal(salvage_end(words, words + 13, false), words + 12);
    assert_ptr_equal(salvage_end(words, words + 11, true), words + 8);
    assert_ptr_equal(salvage_end(words, words + 7, true), words + 5);
    assert_int_equal(salvage_stack(words, words + 5, 5), 0x4000);
    assert_int_equal(salvage_stack(words, words + 8, 5), 0x3fe8);
    assert_int_equal(salvage_stack(words, words + 12, 5), 0x5008);
}

// Nothing was being replayed.
static void test_buffer(void **state)
{
    (void)state;
    t.state = TS_ENGINE;
    salvage_replay(&t, complete, sizeof(complete));
    assert_int_equal(nmade, 2);
    assert_null(made[0].from); // only the LL batch
    assert_null(made[0].end);
    assert_ptr_equal(made[1].from, complete);
    assert_ptr_equal(made[1].end, complete + 12);
    clocks = nmade = 0;
    t.state = TS_RUNNING;
    salvage_replay(&t, complete, sizeof(complete));
    assert_ptr_equal(made[1].end, complete + 9);
    clocks = nmade = 0;
    salvage_replay(&t, NULL, sizeof(complete));
    assert_int_equal(nmade, 1);
}

// The thread was replaying a buffer that it had handed over: from the current record on.
static void test_under_way(void **state)
{
    (void)state;
    t.replay_from = (u64)complete;
    t.replay_end = (u64)(complete + 12);
    t.record = (u64)(complete + 9);
    t.replay_from_sp = 3;
    t.replay_sp = 77; // of an earlier record
    salvage_replay(&t, full, sizeof(full));
    assert_int_equal(nmade, 2);
    assert_ptr_equal(made[0].from, complete + 9);
    assert_ptr_equal(made[0].end, complete + 12);
    assert_int_equal(made[0].sp, 0x2010);
    assert_ptr_equal(made[1].from, full);
    assert_ptr_equal(made[1].end, full + 3);
}

// Another process was replaying it.
static void test_resumed(void **state)
{
    (void)state;
    t.replay_from = (u64)complete;
    t.replay_end = (u64)(complete + 12);
    t.record = (u64)(complete + 7);
    t.replay_from_sp = 3;
    salvage_resume(&t);
    assert_int_equal(runs, 1); // with the client's vector registers saved
    assert_int_equal(nmade, 1);
    assert_ptr_equal(made[0].from, complete + 7);
    assert_ptr_equal(made[0].end, complete + 12);
    assert_int_equal(made[0].sp, 0xff8);
}

// The thread was replaying the buffer itself: once is enough.
static void test_own_buffer(void **state)
{
    (void)state;
    t.replay_from = (u64)complete;
    t.replay_end = (u64)(complete + 12);
    t.record = 0x1234; // not in the buffer yet
    t.replay_from_sp = 3;
    salvage_replay(&t, complete, sizeof(complete));
    assert_int_equal(nmade, 1);
    assert_ptr_equal(made[0].from, complete);
    assert_int_equal(made[0].sp, 3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_end, setup),
        cmocka_unit_test_setup(test_calls, setup),
        cmocka_unit_test_setup(test_objects, setup),
        cmocka_unit_test_setup(test_stack, setup),
        cmocka_unit_test_setup(test_sides, setup),
        cmocka_unit_test_setup(test_buffer, setup),
        cmocka_unit_test_setup(test_under_way, setup),
        cmocka_unit_test_setup(test_own_buffer, setup),
        cmocka_unit_test_setup(test_resumed, setup),
    };

    if (sys_failed(sys_mmap(REPLAY_BASE, PAGE_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)))
        return 1;
    return cmocka_run_group_tests_name("replay/salvage", tests, NULL, NULL);
}
