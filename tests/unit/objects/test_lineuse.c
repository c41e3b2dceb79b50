// SPDX-License-Identifier: MIT
// engine/objects/lineuse.c: which fetched lines are followed, which of their bytes are counted, for
// which object, and when a line is let go.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/layout.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/objtable.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;
static struct thread one, two;
static u64 gone; // line that is not in D1; 0: all are
static bool waits;

void objtable_lock(void) {}
void objtable_unlock(void) {}

struct spool_data_object *objtable_at(u32 object)
{
    return (struct spool_data_object *)DATA_BASE + object;
}

struct thread *threads_first(void); // not with its header: it defines what sys/mman.h does

struct thread *threads_first(void)
{
    return &one;
}

// Each page is an object.
static u32 find(const struct thread *t, u64 addr, bool *may)
{
    (void)t;
    *may = waits;
    return (u32)(addr / 0x1000);
}

static bool in_d1(const struct thread *t, u64 line)
{
    (void)t;
    return line != gone;
}

static int begin(void **state)
{
    (void)state;
    memset((void *)DATA_BASE, 0, 64 * sizeof(struct spool_data_object));
    tb_config = (struct tb_config){ .lineuse = 1, .d1_shift = 6 };
    header = (struct spool_header){ 0 };
    one = (struct thread){ .objects_number = 1, .next = &two };
    two = (struct thread){ .objects_number = 2 };
    gone = 0;
    waits = false;
    lineuse_thread_init(&one);
    return 0;
}

static void is(u32 object, u64 fetched, u64 used)
{
    assert_int_equal(objtable_at(object)->fetched, fetched);
    assert_int_equal(objtable_at(object)->used, used);
}

static void fetch(struct thread *t, u64 addr, u32 size)
{
    lineuse_missed(t, addr);
    lineuse_touched(t, addr, size, 1);
}

static void bytes(void **state)
{
    (void)state;
    fetch(&one, 0x1008, 8);
    is(1, 1, 8);
    lineuse_touched(&one, 0x100c, 8, 1); // half of it is new
    is(1, 1, 12);
    lineuse_touched(&one, 0x1008, 12, 1);
    is(1, 1, 12);
    lineuse_touched(&one, 0x1040, 8, 1); // a line that is not followed
    lineuse_touched(&one, 0x103c, 8, 1); // both
    is(1, 1, 16);
    lineuse_touched(&one, 0x0ffe, 8, 1);
    is(1, 1, 22);
    fetch(&one, 0x1048, 1); // a line has the object of its fetch
    is(1, 2, 23);
    // Fetched again: its bytes count again.
    fetch(&one, 0x1008, 8);
    is(1, 3, 31);
}

static void is_let_go(void **state)
{
    (void)state;
    fetch(&one, 0x1000, 64);
    is(1, 1, 64);
    assert_false(lineuse_is_for_c(&one, 0x1000 / 64));
    fetch(&one, 0x2000, 4);
    lineuse_touched(&one, 0x2000, 4, LINEUSE_QUIET - 1);
    assert_true(lineuse_is_for_c(&one, 0x2000 / 64));
    lineuse_touched(&one, 0x2004, 4, 1);
    lineuse_touched(&one, 0x2004, 4, LINEUSE_QUIET);
    assert_false(lineuse_is_for_c(&one, 0x2000 / 64));
    lineuse_touched(&one, 0x2008, 4, 1);
    is(2, 1, 8);
    // One that was evicted, and makes another one with its slot one for C.
    fetch(&one, 0x3000, 4);
    gone = 0x3000 / 64;
    assert_true(lineuse_is_for_c(&one, gone + LINEUSE_SLOTS));
    lineuse_touched(&one, 0x3000 + LINEUSE_SLOTS * 64, 4, 1);
    assert_false(lineuse_is_for_c(&one, gone));
    is(3, 1, 4);
}

// Of a set with lines of one slot, that which was referenced longest ago; first one that was
// evicted.
static void is_replaced(void **state)
{
    u64 apart = LINEUSE_SLOTS * 64;

    (void)state;
    for (u64 i = 0; i < LINEUSE_WAYS; i++)
        fetch(&one, 64 + i * apart, 1);
    lineuse_touched(&one, 64, 1, 1); // so the second one is the last
    gone = 1 + 3 * LINEUSE_SLOTS;
    fetch(&one, 64 + LINEUSE_WAYS * apart, 1); // in place of that
    gone = 0;
    fetch(&one, 64 + (LINEUSE_WAYS + 1) * apart, 1);
    assert_int_equal(one.lineuse->slot[1], LINEUSE_WAYS);
    is(0, 1, 1);
    lineuse_touched(&one, 64 + 8, 1, 1);
    is(0, 1, 2);
    for (u64 i = 0; i < LINEUSE_LINES; i++)
        assert_true(one.lineuse->line[i].line != 2 + LINEUSE_SLOTS &&
                    one.lineuse->line[i].line != 2 + 3 * LINEUSE_SLOTS);
}

// A line of 128 bytes has a bit for two of them; one of 32 has 32.
static void other_lines(void **state)
{
    (void)state;
    tb_config.d1_shift = 7;
    fetch(&one, 0x1001, 1);
    is(1, 1, 2);
    lineuse_touched(&one, 0x1000, 128, 1);
    is(1, 1, 128);
    assert_false(lineuse_is_for_c(&one, 0x1000 / 128));
    tb_config.d1_shift = 5;
    fetch(&one, 0x2001, 3);
    is(2, 1, 3);
    lineuse_touched(&one, 0x2000, 32, 1);
    is(2, 1, 32);
    assert_false(lineuse_is_for_c(&one, 0x2000 / 32));
}

// With --data-use=64: 32 to 96 misses from one to the next, as many as 64 on average.
static void sample(void **state)
{
    u64 last = 0, followed = 0;

    (void)state;
    tb_config.lineuse = 64;
    one.lineuse = NULL;
    lineuse_thread_init(&one);
    for (u64 i = 1; i <= 64000; i++) {
        u64 before = objtable_at(1)->fetched;

        lineuse_missed(&one, 0x1000 + i % 64 * 64);
        if (objtable_at(1)->fetched == before)
            continue;
        assert_in_range(i - last, 32, 96);
        last = i;
        followed++;
    }
    assert_in_range(followed, 950, 1050);
    // The same of each thread.
    lineuse_thread_init(&two);
    for (u64 i = 1; i <= 64000; i++)
        lineuse_missed(&two, 0x2000);
    is(2, followed, 0);
}

static void an_allocator(void **state)
{
    (void)state;
    waits = true;
    fetch(&one, 0x1000, 8);
    fetch(&one, 0x1040, 4);
    fetch(&one, 0x1100, 2); // not in the block
    is(1, 3, 14);
    assert_true(lineuse_waits(&one));
    lineuse_settle(&one, 0x1000, 0x1080, 9);
    assert_false(lineuse_waits(&one));
    is(9, 2, 12);
    is(1, 1, 2);
    lineuse_touched(&one, 0x1008, 1, 1);
    lineuse_touched(&one, 0x1108, 1, 1);
    is(9, 2, 13);
    is(1, 1, 3);
    // One that was let go, and one that returns nothing.
    fetch(&one, 0x2000, 64);
    lineuse_settle(&one, 0x2000, 0x2040, 8);
    is(8, 1, 64);
    is(2, 0, 0);
    fetch(&one, 0x3000, 8);
    lineuse_settle(&one, 0, 0, 0);
    is(3, 1, 8);
    assert_false(lineuse_waits(&one));
}

// ---- Where misses wait for their objects ----

static u64 queue[8]; // words
static u32 nqueued;
static bool emptied; // when the next one is there
static bool opened;  // then an allocator is open
static bool dies;    // its thread, when the queue is full
static jmp_buf killed;

static u64 *wait_in_queue(struct thread *t, u64 addr)
{
    u64 *word = &queue[nqueued++];

    assert_ptr_equal(t, &one);
    *word = 0;
    if (dies)
        longjmp(killed, 1);
    if (emptied && opened)
        lineuse_found_open(t, word, addr, (u32)(addr / 0x1000));
    else if (emptied)
        lineuse_found(word, (u32)(addr / 0x1000));
    return word;
}

static int begin_waiting(void **state)
{
    begin(state);
    lineuse_queue = wait_in_queue;
    nqueued = 0;
    emptied = dies = opened = false;
    return 0;
}

static int end_waiting(void **state)
{
    (void)state;
    lineuse_queue = NULL;
    return 0;
}

// What is referenced before the object is known is noted in the queue.
static void object_is_known_later(void **state)
{
    (void)state;
    fetch(&one, 0x1008, 8);
    fetch(&one, 0x2000, 64); // that is let go
    fetch(&one, 0x3000, 1);
    lineuse_touched(&one, 0x1010, 4, 1);
    assert_int_equal(queue[0] >> 32, 12);
    assert_int_equal(queue[1] >> 32, 64);
    assert_int_equal(queue[2] >> 32, 1);
    is(1, 0, 0);
    for (u32 i = 0; i < 3; i++)
        lineuse_found(&queue[i], i + 1);
    for (u32 i = 0; i < 3; i++) // after SIGKILL: nothing twice
        lineuse_found(&queue[i], i + 1);
    is(1, 1, 12);
    is(2, 1, 64);
    is(3, 1, 1);
    lineuse_touched(&one, 0x1014, 4, 1);
    is(1, 1, 16);
    // The words are used again.
    lineuse_collect(&one, (u64)queue, (u64)(queue + 3));
    memset(queue, 0, sizeof(queue));
    lineuse_touched(&one, 0x1018, 4, 1);
    lineuse_touched(&one, 0x3008, 2, 1);
    is(1, 1, 20);
    is(3, 1, 3);
    for (u32 i = 0; i < 3; i++)
        assert_int_equal(queue[i], 0);
}

// What is fetched while an allocator is open may be in its block, also if the queue is emptied
// meanwhile.
static void block_is_known_later(void **state)
{
    (void)state;
    tb_config.recording = true;
    lineuse_may_wait = true;
    one.lineuse->wait = NULL;
    lineuse_thread_init(&one);
    one.lineuse->left = 1;
    fetch(&one, 0x1008, 8);
    fetch(&one, 0x1100, 4);  // not in the block
    fetch(&one, 0x1040, 64); // that is let go
    for (u32 i = 0; i < 3; i++)
        lineuse_found_open(&one, &queue[i], (u64[]){ 0x1008, 0x1100, 0x1040 }[i], 1);
    is(1, 3, 76);
    lineuse_found_open(&one, &queue[0], 0x1008, 1); // after SIGKILL: nothing twice
    is(1, 3, 76);
    emptied = opened = true;
    fetch(&one, 0x1088, 2);
    is(1, 4, 78);
    lineuse_touched(&one, 0x1090, 2, 1);
    lineuse_settle(&one, 0x1000, 0x10c0, 9);
    is(9, 3, 8 + 2 + 64 + 2);
    is(1, 1, 4);
    assert_false(lineuse_waits(&one));
    lineuse_collect(&one, (u64)queue, (u64)(queue + 4));
    lineuse_touched(&one, 0x1014, 4, 1);
    lineuse_touched(&one, 0x1094, 1, 1);
    lineuse_touched(&one, 0x1108, 1, 1);
    is(9, 3, 8 + 2 + 64 + 2 + 5);
    is(1, 1, 5);
    tb_config.recording = lineuse_may_wait = false;
}

// The line itself may fill the queue, which is emptied then.
static void queue_is_emptied(void **state)
{
    (void)state;
    emptied = true;
    lineuse_missed(&one, 0x1000);
    queue[0] = 0;
    lineuse_touched(&one, 0x1000, 8, 1);
    is(1, 1, 8);
    assert_int_equal(queue[0], 0);
}

// Whoever goes on after SIGKILL follows no line without an object.
static void killed_in_queue(void **state)
{
    (void)state;
    dies = true;
    if (!setjmp(killed))
        lineuse_missed(&one, 0x1000);
    lineuse_touched(&one, 0x1000, 8, 1);
    is(0, 0, 0);
    assert_false(lineuse_is_for_c(&one, 0x1000 / 64));
}

// One state of all threads: an allocator of the second one settles its own fetches.
static void serialized(void **state)
{
    (void)state;
    header.flags = SPOOL_F_SERIALIZE;
    one.lineuse = NULL;
    lineuse_thread_init(&one);
    lineuse_thread_init(&two);
    assert_ptr_equal(one.lineuse, two.lineuse);
    waits = true;
    fetch(&one, 0x1000, 8);
    fetch(&two, 0x1040, 8);
    lineuse_settle(&two, 0x1000, 0x1080, 9);
    is(1, 1, 8);
    is(9, 1, 8);
    lineuse_settle(&one, 0x1000, 0x1080, 10);
    is(1, 0, 0);
    is(10, 1, 8);
    assert_false(lineuse_waits(&one));
}

static void zero(void **state)
{
    (void)state;
    waits = true;
    fetch(&one, 0x1000, 8);
    memset((void *)DATA_BASE, 0, 64 * sizeof(struct spool_data_object));
    lineuse_zero();
    lineuse_touched(&one, 0x1008, 8, 1);
    lineuse_settle(&one, 0x1000, 0x1080, 9);
    is(1, 0, 0);
    is(9, 0, 0);
    // A thread in the slot of another one, too, follows nothing yet.
    fetch(&one, 0x2000, 8);
    lineuse_thread_init(&one);
    lineuse_touched(&one, 0x2008, 8, 1);
    is(2, 1, 8);
}

static void off(void **state)
{
    (void)state;
    tb_config.lineuse = 0;
    lineuse_thread_init(&two);
    assert_null(two.lineuse);
    assert_false(lineuse_is_for_c(&two, 1));
    assert_false(lineuse_waits(&two));
}

static int setup(void **state)
{
    void *p = mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

    (void)state;
    lineuse_find = find;
    lineuse_in_d1 = in_d1;
    return p != (void *)DATA_BASE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bytes, begin),
        cmocka_unit_test_setup(is_let_go, begin),
        cmocka_unit_test_setup(is_replaced, begin),
        cmocka_unit_test_setup(other_lines, begin),
        cmocka_unit_test_setup(sample, begin),
        cmocka_unit_test_setup(an_allocator, begin),
        cmocka_unit_test_setup(zero, begin),
        cmocka_unit_test_setup(off, begin),
        cmocka_unit_test_setup_teardown(object_is_known_later, begin_waiting, end_waiting),
        cmocka_unit_test_setup_teardown(block_is_known_later, begin_waiting, end_waiting),
        cmocka_unit_test_setup_teardown(queue_is_emptied, begin_waiting, end_waiting),
        cmocka_unit_test_setup_teardown(killed_in_queue, begin_waiting, end_waiting),
        cmocka_unit_test_setup(serialized, begin), // the last: its state stays
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
