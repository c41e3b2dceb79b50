// SPDX-License-Identifier: MIT
// engine/objects/sharing.c: which references are invalidations, false or true, by whom; what is
// watched, and when it is let go. engine/replay/routineseen.S leaves to it what it must.
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
#include "engine/count/vector.h"
#include "engine/objects/found.h"
#include "engine/objects/objtable.h"
#include "engine/objects/sharing.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config = {
    .data = true, .cache = true, .recording = true, .stamps = true, .d1_shift = 6
};
static struct thread one = { .objects_number = 1 }, two = { .objects_number = 2 };
static struct thread three = { .objects_number = 3 };
static const struct spool_data_share *share = (void *)(DATA_BASE + SPOOL_DATA_SHARES_OFF);

bool (*objtable_is_orphan)(void);
static u32 nlocks;
static bool is_locked;

void objtable_lock(void)
{
    assert_false(is_locked);
    is_locked = true;
    nlocks++;
}

void objtable_unlock(void)
{
    assert_true(is_locked);
    is_locked = false;
}

u32 insnids_first(u32 counter)
{
    return counter;
}

// Each page is an object; the first one's beginning is not known.
static u32 find(const struct thread *t, u64 addr, u64 *start)
{
    (void)t;
    assert_true(is_locked);
    *start = addr < 0x2000 ? FOUND_UNKNOWN : addr & -0x1000ul;
    return (u32)(addr / 0x1000);
}

// The entry of these two counters: invalidations, at most.
static void is(u32 touched, u32 written, u32 how, u64 n, u64 most)
{
    for (u64 i = 0; i < header.data.shares_used; i++) {
        if (share[i].touched.counter != touched + 1 || share[i].written.counter != written + 1 ||
            share[i].how != how)
            continue;
        assert_int_equal(share[i].invalidations, n);
        assert_int_equal(share[i].most, most);
        return;
    }
    assert_int_equal(n, 0);
}

static void read8(struct thread *t, u64 addr, u32 counter)
{
    sharing_ref(t, addr, 8, false, counter);
}

static void write8(struct thread *t, u64 addr, u32 counter)
{
    sharing_ref(t, addr, 8, true, counter);
}

static void false_and_true(void **state)
{
    (void)state;
    write8(&one, 0x2000, 10);
    write8(&two, 0x2008, 20); // it has not had the line
    assert_true(sharing_watches(0x2000 >> 6));
    assert_int_equal(header.data.shares_used, 0);
    write8(&one, 0x2000, 10); // one turn of one reference each
    is(10, 20, SPOOL_SHARE_WRITES, 1, 1);
    assert_int_equal(share[0].touched.object, 2);
    assert_int_equal(share[0].touched.offset, 0);
    assert_int_equal(share[0].written.offset, 8);
    read8(&two, 0x2000, 21);
    is(21, 10, SPOOL_SHARE_TRUE, 1, 1);
    nlocks = 0;
    read8(&one, 0x2000, 11); // the other one has only read
    read8(&two, 0x2000, 21);
    assert_int_equal(nlocks, 0); // what invalidates nothing waits for no one
    assert_int_equal(header.data.shares_used, 2);
    // False until it uses what was written: 24, then 23 takes it.
    write8(&one, 0x2000, 10);
    write8(&one, 0x2000, 10);
    write8(&one, 0x2000, 10);
    read8(&two, 0x2010, 24);
    is(24, 10, 0, 1, 1);
    read8(&two, 0x2018, 24);
    is(24, 10, 0, 1, 2);
    read8(&two, 0x2000, 23);
    is(24, 10, 0, 0, 0);
    is(23, 10, SPOOL_SHARE_TRUE, 1, 3);
    read8(&two, 0x2000, 23); // no more than the turn before had
    is(23, 10, SPOOL_SHARE_TRUE, 1, 3);
    // Across the end of the line: bytes 60 to 67 are 4 of each
    write8(&one, 0x203c, 12);
    read8(&two, 0x2038, 25);
    is(25, 12, SPOOL_SHARE_TRUE, 1, 1);
}

// What others than the last one have written counts, too, and by whom.
static void three_threads(void **state)
{
    u64 used = header.data.shares_used;

    (void)state;
    read8(&one, 0x1000, 30);
    read8(&two, 0x1000, 30);
    read8(&three, 0x1000, 30);
    write8(&one, 0x1000, 31);
    write8(&two, 0x1008, 32);
    assert_int_equal(header.data.shares_used, used + 1); // 31's write is two's first one
    is(32, 31, SPOOL_SHARE_WRITES, 1, 1);
    read8(&three, 0x1000, 33);
    is(33, 31, SPOOL_SHARE_TRUE, 1, 1);
    assert_int_equal(share[used + 1].touched.offset, SPOOL_DATA_NO_OFFSET);
    sharing_zero();
    is(33, 31, SPOOL_SHARE_TRUE, 0, 0);
}

static void is_let_go(void **state)
{
    (void)state;
    read8(&one, 0x3000, 40);
    assert_false(sharing_watches(0x3000 >> 6));
    read8(&two, 0x3000, 40);
    for (u32 i = 1; i < 1024; i++) {
        assert_true(sharing_watches(0x3000 >> 6));
        read8(&one, 0x3000, 40);
    }
    assert_false(sharing_watches(0x3000 >> 6));
    // A thread alone, which writes
    read8(&two, 0x3040, 40);
    for (u32 i = 0; i < 0x40000; i++)
        write8(&one, 0x3040, 41);
    assert_false(sharing_watches(0x3040 >> 6));
    read8(&two, 0x3040, 40); // from here on it is again
    assert_true(sharing_watches(0x3040 >> 6));
}

// Of more lines than there is space for the ones that are used stay.
static void is_replaced(void **state)
{
    (void)state;
    read8(&one, 0x4000, 50);
    read8(&two, 0x4000, 50);
    for (u64 line = 1; line <= 2 * SHARING_LINES; line++) {
        u64 at = 0x100000 + line * 64;

        write8(&one, at, 51);
        write8(&two, at, 51);
        write8(&one, 0x4000, 50);
        write8(&two, 0x4000, 50);
        assert_true(sharing_watches(0x4000 >> 6));
    }
}

// Who had a line last; routine.S looks there whether a miss is for C. Of a watched line it is
// nobody.
static void is_seen_by(u64 addr, u64 thread)
{
    u64 line = addr >> 6;

    assert_int_equal(sharing_seen[sharing_seen_place(line)],
                     thread ? line << SHARING_THREAD_BITS | thread : 0);
}

static void is_seen(void **state)
{
    (void)state;
    read8(&one, 0x6000, 70);
    is_seen_by(0x6000, one.objects_number);
    read8(&two, 0x6000, 70);
    is_seen_by(0x6000, 0);
    read8(&two, 0x6000, 70);
    is_seen_by(0x6000, 0);
    for (u32 i = 0; i < 1024; i++)
        read8(&two, 0x6000, 70);
    is_seen_by(0x6000, two.objects_number); // it is let go
    // Neighbours have neighbouring entries, in groups of eight
    assert_int_equal(sharing_seen_place(0x187), sharing_seen_place(0x180) + 7);
    // A line that another one replaces is the last thread's again.
    for (u64 line = 0x10000, n = 0; n <= SHARING_WAYS; line++) {
        if (sharing_set(line) != sharing_set(0x10000))
            continue;
        read8(&one, line << 6, 71);
        read8(&two, line << 6, 71);
        n++;
    }
    is_seen_by(0x10000 << 6, two.objects_number);
}

struct vector_sets vector_sets = { .d1_low = 63, .d1_shift = 6 };

// Whether a routine leaves the reference to C. A routine's registers: routine.S.
static bool is_for_c(u8 *area, u64 addr, u64 size)
{
    register u64 r12 __asm__("r12") = (u64)area;
    register u64 rax __asm__("rax") = addr - 0x40; // less the tag of way 3
    register u64 rcx __asm__("rcx") = 3;
    register u64 rdx __asm__("rdx") = size;
    register u64 r8 __asm__("r8") = (u64)area + TA_D1_STAMPS;
    u64 hints, is;
    bool kept;

    *(u64 *)(area + TA_D1_TAGS + 3 * 8) = 0x40;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tcall routineseen_other\n\t"
                     "sete %b0\n\tmovzbl %b0, %k0\n\tlea 128(%%rsp), %%rsp"
                     : "=&S"(is), "=&D"(hints), "+r"(r12), "+r"(rax), "+r"(rcx), "+r"(rdx),
                       "+r"(r8)
                     :
                     : "r10", "r11", "cc", "memory");
    // Before a call: these are the caller's to keep.
    kept = rax == addr - 0x40 && rcx == 3 && rdx == size && r8 == (u64)area + TA_D1_STAMPS;
    assert_true(kept);
    assert_int_equal(hints, (u64)area + TA_D1_HINTS);
    return is != 0;
}

// References of three threads to more lines than the table has, some of them by two.
static void refer(bool by_routines, u8 *area)
{
    struct thread *threads[] = { &one, &two, &three };
    u32 seed = 7, in_c = 0, refs = 400000;

    header.data.shares_used = 0;
    memset((void *)share, 0, SPOOL_DATA_SHARES_MAX * sizeof(*share));
    sharing_init();
    sharing_begin();
    for (u32 i = 0; i < refs; i++) {
        struct thread *t = threads[i / 5 % 3];
        u64 line, addr;

        seed = seed * 1664525u + 1013904223u;
        line = seed >> 12 & 0xffff;
        line = i % 64 == 0 ? line % 2048 : line + 0x10000 * (1ul + t->objects_number);
        addr = line << 6 | (seed >> 8 & 0x38);
        memcpy(area + TH_NUMBER, &t->objects_number, sizeof(t->objects_number));
        if (by_routines && !is_for_c(area, addr, 8 + (i % 1000 == 0) * 60))
            continue;
        in_c++;
        sharing_ref(t, addr, 8 + (i % 1000 == 0) * 60, i % 3 == 0, seed >> 30);
    }
    if (by_routines)
        assert_in_range(in_c, 1, refs / 2);
}

static void by_routines(void **state)
{
    u64 seen = SHARING_SEEN * sizeof(*sharing_seen), lines = SHARING_LINES * sizeof(u64), shares;
    void *a = malloc(seen), *b = malloc(lines), *c;
    u8 *area = mmap(NULL, THREAD_AREA_STRIDE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)state;
    assert_ptr_not_equal(area, MAP_FAILED);
    refer(false, area);
    memcpy(a, sharing_seen, seen);
    memcpy(b, sharing_lines, lines);
    shares = header.data.shares_used * sizeof(*share);
    assert_true(shares > 0);
    c = malloc(shares);
    memcpy(c, share, shares);
    refer(true, area);
    assert_memory_equal(sharing_seen, a, seen);
    assert_memory_equal(sharing_lines, b, lines);
    assert_int_equal(header.data.shares_used * sizeof(*share), shares);
    assert_memory_equal(share, c, shares);
    // what is no user address is C's in any case
    assert_true(is_for_c(area, 1ul << 47 | 0x80000, 8));
    free(a);
    free(b);
    free(c);
}

static void no_space(void **state)
{
    u64 used = header.data.shares_used;

    (void)state;
    header.data.shares_used = SPOOL_DATA_SHARES_MAX;
    write8(&one, 0x5000, 60);
    write8(&two, 0x5000, 61);
    write8(&one, 0x5000, 62);
    assert_int_equal(header.data.shares_lost, 1);
    header.data.shares_used = used;
}

static void a_child_has_one_thread(void **state)
{
    (void)state;
    sharing_fork_child();
    assert_false(sharing_is_on());
    for (u32 i = 0; i < SHARING_LINES; i++)
        assert_true(sharing_line(i) == SHARING_NONE);
}

static int setup(void **state)
{
    void *p = mmap((void *)DATA_BASE, SPOOL_DATA_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

    (void)state;
    sharing_find = find;
    sharing_init();
    assert_false(sharing_is_on());
    sharing_begin();
    assert_true(sharing_is_on());
    return p != (void *)DATA_BASE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(false_and_true),
        cmocka_unit_test(three_threads),
        cmocka_unit_test(is_let_go),
        cmocka_unit_test(is_replaced),
        cmocka_unit_test(is_seen),
        cmocka_unit_test(by_routines),
        cmocka_unit_test(no_space),
        cmocka_unit_test(a_child_has_one_thread),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
