// SPDX-License-Identifier: MIT
// engine/signal/setup.c: the initial state of a process and of a thread, and which tables they
// share. The kernel's mask and alternate stack are read back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/layout.h"
#include "engine/base/nolibc.h"
#include "engine/signal/action.h"
#include "engine/signal/frame.h"
#include "engine/signal/handler.h"
#include "engine/signal/setup.h"
#include "engine/signal/state.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

static struct spool_header header;
struct spool_header *spool = &header;

const char frame_restorer[1];

void handler_entry(int number, struct k_siginfo *info, struct k_ucontext *uc)
{
    (void)number, (void)info, (void)uc;
}

static struct {
    int frames, actions, inherited, copies, drops;
    u64 handler, restorer;
} did;

static struct signal_table inherited, copy;

void frame_init(void)
{
    did.frames++;
}

void action_init(u64 handler, u64 restorer)
{
    assert_int_equal(did.frames, 1);
    did.actions++;
    did.handler = handler;
    did.restorer = restorer;
}

struct signal_table *action_table_inherited(void)
{
    assert_int_equal(did.actions, 1);
    did.inherited++;
    return &inherited;
}

struct signal_table *action_table_copy(struct signal_table *of)
{
    assert_ptr_equal(of, &inherited);
    did.copies++;
    return &copy;
}

void action_table_drop(struct signal_table *of)
{
    assert_ptr_equal(of, &copy);
    did.drops++;
}

static u64 asked;

void *heap_alloc(u64 size)
{
    asked = size;
    return calloc(1, size);
}

#define INITIAL (SIGBIT(SIGUSR1) | SIGBIT(SIGSEGV))

// All but the synchronous signals are blocked at once; the client's mask is the one that the
// process had at its start.
static void test_process(void **state)
{
    u64 before, now;

    (void)state;
    header.start_mask = INITIAL;
    sys_sigprocmask(SIG_BLOCK, NULL, &before);
    setup_process();
    sys_sigprocmask(SIG_SETMASK, &before, &now);
    // SIGKILL (9) and SIGSTOP (19) cannot be; SEGV BUS ILL TRAP FPE SYS are not.
    assert_int_equal(now, ~(1ul << 8 | 1ul << 18 | 1ul << 10 | 1ul << 6 | 1ul << 3 | 1ul << 4 |
                            1ul << 7 | 1ul << 30));
    assert_int_equal(did.inherited, 1);
    assert_int_equal(did.handler, (u64)handler_entry);
    assert_int_equal(did.restorer, (u64)frame_restorer);
    header.start_mask = 0; // it was noted
}

static void test_first_thread(void **state)
{
    struct thread t = { .stop = STOP_SIGNAL << 1 };

    (void)state;
    setup_thread(&t, NULL, true);
    assert_int_equal(asked, sizeof(struct signal_state));
    assert_int_equal(t.sig->mask, INITIAL);
    assert_ptr_equal(t.sig->table, &inherited);
    assert_int_equal(t.sig->alt.flags, 0);
    assert_true(t.sig->blocked);
    assert_int_equal(t.stop, STOP_SIGNAL | STOP_SIGNAL << 1);
    assert_int_equal(inherited.refs, 0);
    free(t.sig);
}

// A new thread has its parent's mask, no alternate stack and no noted signal, also in a reused
// block; its table is the parent's, or a copy (without CLONE_SIGHAND).
static void test_new_thread(void **state)
{
    struct signal_state of_parent = { .mask = 5, .table = &inherited, .alt = { 1, 0, 0, 4096 } };
    struct signal_state used = { .held_count = 3, .async = { .full = true }, .mask = 9 };
    struct thread parent = { .sig = &of_parent }, t = { .sig = &used };

    (void)state;
    inherited.refs = 1;
    asked = 0;
    setup_thread(&t, &parent, true);
    assert_int_equal(asked, 0);
    assert_ptr_equal(t.sig, &used);
    assert_int_equal(used.mask, 5);
    assert_int_equal(used.held_count, 0);
    assert_false(used.async.full);
    assert_int_equal(used.alt.flags, SS_DISABLE);
    assert_int_equal(used.alt.size, 0);
    assert_ptr_equal(used.table, &inherited);
    assert_int_equal(inherited.refs, 2);
    assert_true(used.blocked);

    setup_thread(&t, &parent, false);
    assert_ptr_equal(used.table, &copy);
    assert_int_equal(inherited.refs, 2);
    assert_int_equal(did.copies, 1);
    setup_thread_end(&t);
    assert_int_equal(did.drops, 1);
    assert_null(used.table);
}

// The kernel's alternate stack is in the thread's area, above its guard page.
static void test_stack(void **state)
{
    u8 *area = (void *)sys_mmap(0, TA_SIGNAL_STACK_TOP, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct k_stack before, now, none = { 0, SS_DISABLE, 0, 0 };

    (void)state;
    assert_int_equal(sys_call2(SYS_sigaltstack, 0, (u64)&before), 0);
    setup_thread_start((struct thread *)area);
    assert_int_equal(sys_call2(SYS_sigaltstack, (u64)&none, (u64)&now), 0);
    assert_int_equal(now.sp, (u64)area + TA_SIGNAL_STACK + 4096);
    assert_int_equal(now.sp + now.size, (u64)area + TA_SIGNAL_STACK_TOP);
    assert_int_equal(now.flags, 0);
    if (!(before.flags & SS_DISABLE))
        sys_call2(SYS_sigaltstack, (u64)&before, 0);
    sys_munmap((u64)area, TA_SIGNAL_STACK_TOP);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_first_thread),
        cmocka_unit_test(test_new_thread),
        cmocka_unit_test(test_stack),
    };

    return cmocka_run_group_tests_name("signal/setup", tests, NULL, NULL);
}
