// SPDX-License-Identifier: MIT
// engine/codecache/gate.c: which calls go to the dispatcher, in each thread's own table, and the
// registers before and after a call that is made from C. tests/guest executes the gate's code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/codecache/gate.h"
#include "engine/codecache/stubs.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"
#include "engine/thread/threads.h"

static struct spool_header header;
struct spool_header *spool = &header;
static _Alignas(4096) u8 area[2][0x10000];
static struct thread *const t = (struct thread *)area[0], *const u = (struct thread *)area[1];
static u8 table[GATE_CALLS];
static char did[64];
static jmp_buf left;
static u64 entered_at;
static u32 locked;

static void note(const char *what)
{
    assert_true(strlen(did) + strlen(what) < sizeof(did));
    strcat(did, what);
}

u64 stubs_at(enum stub s)
{
    return 0x1000 + (u64)s;
}

void stopworld_turn_give(struct thread *of)
{
    assert_ptr_equal(of, t);
    note("give ");
}

void stress_pause(struct thread *of)
{
    assert_ptr_equal(of, t);
    note("pause ");
}

void reentry_enter(u64 stub)
{
    entered_at = stub;
    note("enter");
    longjmp(left, 1);
}

void threads_lock(void)
{
    locked++;
}

void threads_unlock(void)
{
    locked--;
}

struct thread *threads_first(void)
{
    assert_int_equal(locked, 1);
    return t;
}

static const u8 *table_of(const struct thread *of)
{
    return (const u8 *)of + TA_SLOW_TABLE;
}

static void all_are(const struct thread *of, u8 is)
{
    for (u32 i = 0; i < GATE_CALLS; i++)
        assert_int_equal(table_of(of)[i], is);
    assert_int_equal(table_of(of)[GATE_CALLS], 0); // nothing is written behind the table
}

static int setup(void **state)
{
    (void)state;
    memset(area, 0, sizeof(area));
    memset(&header, 0, sizeof(header));
    gate_all_slow = false;
    did[0] = '\0';
    t->next = u;
    for (u32 i = 0; i < GATE_CALLS; i++)
        table[i] = (u8)(i % 5);
    return 0;
}

static void test_tables(void **state)
{
    (void)state;
    header.flags = ~(u64)(SPOOL_F_SERIALIZE | SPOOL_F_SYSTIME);
    gate_init(table);
    assert_false(gate_all_slow);
    gate_thread_init(t);
    assert_memory_equal(table_of(t), table, GATE_CALLS);
    assert_int_equal(table_of(t)[GATE_CALLS], 0);
    assert_int_equal(table_of(u)[1], 0); // not asked for yet
    gate_thread_init(u);
    // From now on, in every thread, new ones included.
    gate_make_all_slow();
    assert_true(gate_all_slow);
    assert_int_equal(locked, 0);
    all_are(t, GATE_SLOW);
    all_are(u, GATE_SLOW);
    memset(area[1] + TA_SLOW_TABLE, 0, GATE_CALLS);
    gate_thread_init(u);
    all_are(u, GATE_SLOW);
}

static void test_all_slow(void **state)
{
    (void)state;
    for (u32 i = 0; i < 3; i++) {
        setup(NULL);
        header.flags = i == 0 ? SPOOL_F_SERIALIZE : i == 1 ? SPOOL_F_SYSTIME : 0;
        header.stress_us = i == 2;
        gate_init(table);
        assert_true(gate_all_slow);
        gate_thread_init(t);
        all_are(t, GATE_SLOW);
    }
}

static void test_return(void **state)
{
    (void)state;
    t->sc_next = 0x401002, t->rflags = 0x246;
    gate_return(t, -14);
    assert_int_equal(t->regs[R_RAX], (u64)-14);
    assert_int_equal(t->regs[R_RCX], 0x401002);
    assert_int_equal(t->regs[11], 0x246);
    assert_int_equal(t->pc, 0x401002);
}

static void set_registers(void)
{
    for (u32 i = 0; i < 16; i++)
        t->regs[i] = 100 + i;
}

// Other arguments replace the client's, which are saved until they are restored.
static void test_call(void **state)
{
    static const u64 args[6] = { 1, 2, 3, 4, 5, 6 };
    static const u8 reg[6] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };

    (void)state;
    for (u32 own = 0; own < 2; own++) {
        setup(NULL);
        set_registers();
        if (!setjmp(left))
            gate_call(t, own ? NULL : args);
        assert_string_equal(did, "give pause enter");
        assert_int_equal(entered_at, stubs_at(STUB_GATE_FROM_C));
        assert_int_equal(t->sc_cont, stubs_at(STUB_SYSCALL_DONE));
        assert_int_equal(t->sc_post, 101 + R_RAX);
        assert_int_equal(t->sc_args[6], 1);
        for (u32 i = 0; i < 6; i++) {
            assert_int_equal(t->regs[reg[i]], own ? 100u + reg[i] : i + 1);
            assert_int_equal(t->sc_args[i], 100 + reg[i]);
        }
        assert_int_equal(t->regs[R_RAX], 100 + R_RAX);
        gate_args_restore(t);
        for (u32 i = 0; i < 16; i++)
            assert_int_equal(t->regs[i], 100 + i);
        assert_int_equal(t->sc_args[6], 0);
        assert_int_equal(t->sc_post, 0);
    }
}

static void test_again(void **state)
{
    (void)state;
    set_registers();
    t->sc_post = 9;
    t->sc_args[6] = 1;
    if (!setjmp(left))
        gate_restart(t);
    assert_string_equal(did, "give enter");
    assert_int_equal(entered_at, stubs_at(STUB_GATE_FROM_C));
    assert_int_equal(t->sc_cont, stubs_at(STUB_SYSCALL_DONE));
    assert_int_equal(t->sc_post, 9);
    assert_int_equal(t->sc_args[6], 1);
    for (u32 i = 0; i < 16; i++)
        assert_int_equal(t->regs[i], 100 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_tables, setup), cmocka_unit_test_setup(test_all_slow, setup),
        cmocka_unit_test_setup(test_return, setup), cmocka_unit_test_setup(test_call, setup),
        cmocka_unit_test_setup(test_again, setup),
    };

    return cmocka_run_group_tests_name("engine/codecache/gate.c", tests, NULL, NULL);
}
