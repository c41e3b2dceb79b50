// SPDX-License-Identifier: MIT
// engine/thread/threads.c: areas, slots and the list, with areas at their real addresses. A thread
// "lives" when its id is this process's, and is gone when it is that of a child that was waited
// for: the kernel is asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "tests/unit/thread/waiter.h"

static struct spool_header header;
struct spool_header *spool = &header;

static int slot_error;
static u32 taken_slot = ~0u; // a mapping of the client is where its counters would be

int spooler_thread_slot(u32 slot)
{
    return slot == taken_slot ? -EEXIST : slot_error;
}

// -- the test's side --

static s32 me, gone;

static int begin(void **state)
{
    long child = sys_call5(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);

    (void)state;
    if (child == 0)
        sys_exit_group(0);
    sys_call4(SYS_wait4, (u64)child, 0, 0, 0);
    gone = (s32)child;
    me = sys_getpid();
    return 0;
}

// The kernel says whether a page may be read: 0 or -EFAULT.
static long readable(u64 addr)
{
    int fd[2];
    long ret;

    sys_call2(SYS_pipe2, (u64)fd, 0);
    ret = sys_call3(SYS_write, (u64)fd[1], addr, 1);
    sys_close(fd[0]);
    sys_close(fd[1]);
    return ret == 1 ? 0 : ret;
}

// Cleans up after a test: every slot that has an area is free again.
static int end(void **state)
{
    u64 used = (threads_area_end() - THREAD_AREA_BASE) / THREAD_AREA_STRIDE;

    (void)state;
    slot_error = 0;
    while (threads_first())
        threads_free(threads_first());
    for (u32 i = 0; i < used; i++)
        if (readable((u64)thread_at_slot(i)) == 0)
            threads_free(&(struct thread){ .slot = i });
    header.threads_used = 0;
    return 0;
}

static struct thread *add(struct thread *parent)
{
    struct thread *t = threads_new(parent);

    assert_non_null(t);
    t->tid = me;
    threads_list_add(t);
    return t;
}

static void test_arena(void **state)
{
    struct thread *t = threads_new(NULL);
    u64 base = (u64)t;

    (void)state;
    assert_int_equal(base, THREAD_AREA_BASE);
    assert_ptr_equal(t->self, t);
    assert_int_equal(t->slot, 0);
    assert_int_equal((u64)t->counters, base + 0x2000000);
    assert_int_equal(t->engine_sp, base + 0x240000 - 64);
    assert_int_equal(t->state, TS_ENGINE);
    assert_int_equal(thread_own(t)->tgid, me);
    // Each stack has a guard page below it, each record buffer a read-only one behind it.
    assert_int_equal(readable(base + TA_ENGINE_STACK), -EFAULT);
    assert_int_equal(readable(base + TA_ENGINE_STACK + PAGE_SIZE), 0);
    assert_int_equal(readable(base + TA_ENGINE_STACK_TOP - 1), 0);
    assert_int_equal(readable(base + TA_SIGNAL_STACK), -EFAULT);
    assert_int_equal(readable(base + TA_SIGNAL_STACK + PAGE_SIZE), 0);
    assert_int_equal(readable(base + TA_D1 + TA_D1_SIZE - 1), 0);
    assert_int_equal(readable(base + TA_COUNTERS), -EFAULT); // the spooler's
    assert_ptr_equal(threads_of_address(base), t);
    assert_ptr_equal(threads_of_address(base + TA_COUNTERS - 1), t);
    assert_null(threads_of_address(base + TA_COUNTERS));
    assert_null(threads_of_address(base - 1));
    assert_null(threads_of_address(threads_area_end()));
    assert_int_equal(threads_count(), 0); // not in the list yet
}

static void test_list(void **state)
{
    struct thread *a = add(NULL), *b = add(a), *c = add(a);

    (void)state;
    thread_own(c)->tgid = gone; // of another process that shares the memory
    assert_int_equal((u64)b - (u64)a, THREAD_AREA_STRIDE);
    assert_int_equal(threads_count(), 3);
    assert_int_equal(threads_count_of(me), 2);
    assert_int_equal(threads_count_of(gone), 1);
    assert_int_equal(header.threads_used, 3);
    assert_ptr_equal(threads_first(), c);
    assert_ptr_equal(c->next, b);
    threads_remove(b);
    assert_ptr_equal(c->next, a);
    assert_int_equal(b->state, TS_DEAD);
    assert_int_equal(threads_count(), 2);
    threads_remove_process(me);
    assert_int_equal(threads_count(), 1);
    assert_ptr_equal(threads_first(), c);
    assert_null(c->next);
    assert_int_equal(a->state, TS_DEAD);
    threads_remove_gone(c);
    assert_null(threads_first());
    assert_int_equal(header.threads_used, 3); // the highest ever
}

// A slot is reused when the kernel no longer knows its thread, and not before.
static void test_reuse(void **state)
{
    struct thread *a = add(NULL), *b, *c;
    struct sim_state *sim = (struct sim_state *)0x1234;
    struct signal_state *sig = (struct signal_state *)0x5678;

    (void)state;
    a->sim = sim;
    a->sig = sig;
    a->pc = 99;
    thread_own(a)->seccomp_mode = 2;
    threads_remove(a);
    b = threads_new(NULL); // it still runs its last instructions
    assert_int_equal(b->slot, 1);
    threads_slot_dying(a);
    c = threads_new(NULL);
    assert_int_equal(c->slot, 2);
    thread_own(a)->tgid = gone;
    thread_own(a)->dying_tid = gone;
    assert_ptr_equal(threads_new(b), a);
    assert_ptr_equal(a->sim, sim); // reused
    assert_ptr_equal(a->sig, sig);
    assert_int_equal(a->pc, 0); // the rest is cleared
    assert_int_equal(thread_own(a)->seccomp_mode, 0);
    assert_int_equal(thread_own(a)->tgid, me); // its parent's
}

static void test_live(void **state)
{
    struct thread *a = add(NULL), *b = add(NULL), *c = add(NULL);
    u32 slot = 0;

    (void)state;
    threads_remove(b);
    threads_slot_dying(b);
    assert_ptr_equal(threads_next_live(&slot), a);
    assert_ptr_equal(threads_next_live(&slot), c);
    assert_null(threads_next_live(&slot));
}

// Counting, adding or removing threads waits while another thread walks the list.
static struct thread *victim;

static void count_of(void)
{
    threads_count_of(me);
}

static void remove_one(void)
{
    threads_remove(victim);
}

static void remove_all(void)
{
    threads_remove_process(me);
}

static void test_locked(void **state)
{
    static void (*const calls[])(void) = { count_of, remove_one, remove_all };

    (void)state;
    victim = add(NULL);
    for (u32 i = 0; i < ARRAY_SIZE(calls); i++) {
        threads_lock();
        assert_true(waiter_waits(calls[i]));
        threads_unlock();
        waiter_end();
    }
}

// Without counters there is no thread; the next thread takes the slot.
static void test_no_counters(void **state)
{
    (void)state;
    slot_error = -ENOMEM;
    assert_null(threads_new(NULL));
    slot_error = 0;
    assert_int_equal(threads_new(NULL)->slot, 0);
}

static void test_fork(void **state)
{
    struct thread *a = add(NULL), *b = add(NULL), *c = add(NULL);

    (void)state;
    threads_remove(c);
    threads_slot_dying(c);
    threads_set_profiled(gone);
    thread_own(b)->tgid = gone;
    assert_true(threads_is_profiled(b));
    threads_lock(); // another thread had it when this one forked
    threads_fork_child(b);
    assert_ptr_equal(threads_first(), b);
    assert_null(b->next);
    assert_int_equal(threads_count(), 1);
    assert_int_equal(thread_own(b)->tgid, me);
    assert_int_equal(b->tid, me);
    assert_true(threads_is_profiled(b));
    assert_ptr_equal(threads_new(NULL), a);
    assert_ptr_equal(threads_new(NULL), c);
}

// A mapping that is where an area would be stays; the slot is skipped. Slots 0 to 2 have areas by
// now.
static void test_taken(void **state)
{
    u64 there = (u64)thread_at_slot(3) + TA_D1, end_before = threads_area_end();
    struct thread *t[4];

    (void)state;
    assert_int_equal(end_before, (u64)thread_at_slot(3));
    assert_int_equal(sys_mmap(there, PAGE_SIZE, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     there);
    for (u32 i = 0; i < 4; i++)
        t[i] = threads_new(NULL);
    assert_int_equal(t[2]->slot, 2);
    assert_int_equal(t[3]->slot, 4);
    assert_int_equal(readable(there), 0);
    assert_int_equal(threads_area_end(), (u64)thread_at_slot(5));
}

static void test_taken_counters(void **state)
{
    struct thread *t[5];

    (void)state;
    taken_slot = 5;
    for (u32 i = 0; i < 5; i++)
        t[i] = threads_new(NULL);
    assert_int_equal(t[3]->slot, 4);
    assert_int_equal(t[4]->slot, 6);
    taken_slot = ~0u;
    assert_int_equal(threads_new(NULL)->slot, 7);
}

// From the middle, from both ends, and a thread that is not in it.
static void test_list_remove(void **state)
{
    struct thread *a = add(NULL), *b = add(NULL), *c = add(NULL), *d = add(NULL);

    (void)state;
    threads_remove(b);
    threads_remove(b);
    assert_int_equal(threads_count(), 3);
    assert_ptr_equal(c->next, a);
    threads_remove(d);
    assert_ptr_equal(threads_first(), c);
    threads_remove(a);
    assert_null(c->next);
    threads_list_add(d);
    assert_ptr_equal(threads_first(), d);
    assert_ptr_equal(d->next, c);
    threads_remove(c);
    assert_null(d->next);
    assert_int_equal(threads_count(), 1);
}

// ---- Many ----

#define SYS_SECCOMP_CALL 317

// Lines of the kernel's map that begin in [from, to).
static u32 mappings(u64 from, u64 to)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    u32 n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        u64 start = strtoul(line, NULL, 16);

        n += start >= from && start < to;
    }
    fclose(f);
    return n;
}

static bool has_guard_regions(void)
{
    u64 page = (u64)sys_mmap(0, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool has = sys_madvise(page, PAGE_SIZE, MADV_GUARD_INSTALL) == 0;

    sys_munmap(page, PAGE_SIZE);
    return has;
}

// What a thread may touch: all but each stack's lowest page and what is behind a record buffer.
static void assert_guarded(const struct thread *t)
{
    u64 base = (u64)t;

    assert_int_equal(readable(base), 0);
    assert_int_equal(readable(base + TA_ENGINE_STACK - 1), 0);
    assert_int_equal(readable(base + TA_ENGINE_STACK), -EFAULT);
    assert_int_equal(readable(base + TA_ENGINE_STACK + PAGE_SIZE), 0);
    assert_int_equal(readable(base + TA_SIGNAL_STACK), -EFAULT);
    assert_int_equal(readable(base + TA_SIGNAL_STACK + PAGE_SIZE), 0);
    for (u32 i = 0; i < TA_RECORD_BUFFERS; i++) {
        u64 end = base + TA_RECORDS + i * TA_RECORD_STRIDE + TA_RECORD_SIZE;

        assert_int_equal(readable(end - 1), 0);
        assert_int_equal(readable(end), -EFAULT);
        assert_int_equal(readable(end + 8191), -EFAULT); // as far as a record reaches
    }
    assert_int_equal(readable(base + TA_REPLAY), 0);
    assert_int_equal(readable(base + TA_COUNTERS - 1), 0);
}

// In a child, as its slots end with it: makes threads up to this slot; the last one in `last`.
static void many(u32 slot, struct thread **last)
{
    do
        *last = add(NULL);
    while ((*last)->slot < slot);
    assert_int_equal((*last)->slot, slot);
}

static void in_child(void (*body)(void))
{
    s64 child = sys_call5(SYS_clone, 17, 0, 0, 0, 0);
    int status = -1;

    if (child == 0) {
        me = sys_getpid();
        body();
        sys_exit_group(0);
    }
    sys_call4(SYS_wait4, (u64)child, (u64)&status, 0, 0);
    assert_int_equal(status, 0);
}

// The area of each of the first 32 slots is many mappings; of others one, with guard regions.
static void lean(void)
{
    struct thread *t;

    many(31, &t);
    if (threads_has_guards(t) || mappings((u64)t, (u64)t + TA_COUNTERS) != 14)
        sys_exit_group(1);
    many(40, &t);
    if (!threads_has_guards(t) || mappings((u64)t, (u64)t + TA_COUNTERS) != 1)
        sys_exit_group(2);
    assert_guarded(t);
}

static void test_lean(void **state)
{
    (void)state;
    if (!has_guard_regions()) {
        print_message("# SKIP: the kernel has no guard regions (Linux 6.13)\n");
        skip();
    }
    in_child(lean);
}

// madvise(x, x, 102) is EINVAL, as of a kernel that does not know it.
static void old_kernel(void)
{
    static const struct {
        u16 code;
        u8 jt, jf;
        u32 k;
    } filter[] = {
        { 0x20, 0, 0, 0 },   { 0x15, 0, 3, SYS_madvise },      { 0x20, 0, 0, 32 },
        { 0x15, 0, 1, 102 }, { 0x06, 0, 0, 0x50000 | EINVAL }, { 0x06, 0, 0, 0x7fff0000 }
    };
    const struct {
        u16 n;
        u64 at;
    } prog = { ARRAY_SIZE(filter), (u64)filter };
    struct thread *t;

    sys_call5(SYS_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0);
    if (sys_call3(SYS_SECCOMP_CALL, 1, 0, (u64)&prog))
        sys_exit_group(3);
    many(40, &t);
    if (threads_has_guards(t) || mappings((u64)t, (u64)t + TA_COUNTERS) != 14)
        sys_exit_group(4);
    assert_int_equal(readable((u64)t + TA_ENGINE_STACK), -EFAULT);
    assert_int_equal(readable((u64)t + TA_SIGNAL_STACK), -EFAULT);
}

static void test_old_kernel(void **state)
{
    (void)state;
    in_child(old_kernel);
}

static u64 room(u64 len, u64 top)
{
    (void)len;
    return top - (100ul << 30);
}

// How many of the first 1120 slots have no thread because something of this process is mapped
// there: slot 3, by test_taken(), and one time in 25 a library, whose place is random.
static u32 occupied(void)
{
    static bool used[1120];
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    u32 slot = 0, n = 0;

    while (threads_next_live(&slot)) {
        if (slot <= 1120)
            used[slot - 1] = true;
    }
    used[1118] = true; // the second counters
    while (f && fgets(line, sizeof(line), f)) {
        char *rest;
        u64 start = strtoul(line, &rest, 16), end = strtoul(rest + 1, NULL, 16);

        for (u32 i = 0; i < 1120; i++) {
            u64 area = THREAD_AREA_BASE + i * (u64)THREAD_AREA_STRIDE;

            if (!used[i] && start < area + TA_COUNTERS && end > area) {
                used[i] = true;
                n++;
            }
        }
    }
    if (f)
        fclose(f);
    return n;
}

// After the first 1120 slots there are those of one row, and then -- nothing more is asked for here
// -- no further thread. Only the first ones provide a second set of counters.
static void far(void)
{
    struct thread *t, *first;
    u64 offset;

    many(1117, &t);
    threads_more_counters(t); // 1118
    if ((u64)t->misses != (u64)thread_at_slot(1118) + TA_COUNTERS)
        sys_exit_group(1);
    many(1119, &t);
    threads_more_counters(t);
    if (t->misses != t->counters || threads_new(NULL))
        sys_exit_group(2);
    slotmem_find = room;
    many(1120, &first);
    if ((u64)first < THREAD_FAR_TOP - (100ul << 30) || (u64)first >= THREAD_FAR_TOP)
        sys_exit_group(3);
    threads_more_counters(first);
    many(1375, &t);
    if (first->misses != first->counters || (u64)t != (u64)first + 255 * (512ul << 20))
        sys_exit_group(4);
    if (slotmem_slot_of((u64)t->counters, &offset) != 1375 || offset != TA_COUNTERS ||
        threads_of_address((u64)t + 77) != t || threads_of_address((u64)t->counters))
        sys_exit_group(5);
    if (threads_area_end() != THREAD_AREA_BASE + 1120ul * THREAD_AREA_STRIDE)
        sys_exit_group(6);
    // Less the second counters.
    if (header.threads_used != 1376 || threads_count() != 1375 - occupied())
        sys_exit_group(7);
    threads_free(first);
    if (threads_new(NULL) != first)
        sys_exit_group(8);
}

static void test_far(void **state)
{
    (void)state;
    if (!has_guard_regions()) {
        print_message("# SKIP: so many areas need guard regions (Linux 6.13)\n");
        skip();
    }
    in_child(far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_arena, end),
        cmocka_unit_test_teardown(test_list, end),
        cmocka_unit_test_teardown(test_reuse, end),
        cmocka_unit_test_teardown(test_live, end),
        cmocka_unit_test_teardown(test_locked, end),
        cmocka_unit_test_teardown(test_no_counters, end),
        cmocka_unit_test_teardown(test_fork, end),
        cmocka_unit_test_teardown(test_taken, end),
        cmocka_unit_test_teardown(test_taken_counters, end),
        cmocka_unit_test_teardown(test_list_remove, end),
        cmocka_unit_test_teardown(test_lean, end),
        cmocka_unit_test_teardown(test_old_kernel, end),
        cmocka_unit_test_teardown(test_far, end),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
