// SPDX-License-Identifier: MIT
// engine/process/exit.c: the end of threads and processes, in which order their data is released,
// and the exit code. Fakes of the functions that it calls log a letter each; the end of a kernel
// thread ends a child of the test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/callgraph/calls.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/process/bgfinish.h"
#include "engine/process/exit.h"
#include "engine/process/finisher.h"
#include "engine/process/rights.h"
#include "engine/process/tracer.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/common.h"
#include "engine/signal/die.h"
#include "engine/signal/mask.h"
#include "engine/signal/setup.h"
#include "engine/signal/state.h"
#include "engine/spool/spooler.h"
#include "engine/thread/reentry.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/translate/pcache.h"
#include "tests/unit/count/reftrace_none.h"

// -- fakes of what exit.c calls --

static struct {
    char text[64];
    size_t n;
    s32 drained, forgotten, removed;
    u32 kind;
    int code;
} * did; // shared with children

static struct thread block[3];
static struct thread_own own[3];
static struct thread *const t = &block[0];
static bool profiled, due, traced, core, ending, stops, child_fails;
static u32 threads, others;
static jmp_buf back, saved_at;
static enum { STAYS, LEAVES } left;
enum { LOOPED = 1, FINISHED, DIED_NATIVELY, DIED_AS_CLIENT };

static void note(char letter)
{
    did->text[did->n++] = letter;
}

void rights_thread_ends(struct thread *of)
{
    (void)of;
    note('^');
}

void mask_close(struct thread *of)
{
    assert_int_equal(of->own->tgid, 7);
    note('m');
}

bool mask_is_due(const struct thread *of)
{
    (void)of;
    return due;
}

void mask_pass_on(struct thread *of)
{
    (void)of;
    note('p');
}

static void run(struct thread *of)
{
    (void)of;
    longjmp(back, LOOPED);
}

void (*reentry_run)(struct thread *of) = run;

bool threads_is_profiled(const struct thread *of)
{
    (void)of;
    return profiled;
}

struct thread *threads_first(void)
{
    return &block[0];
}

void threads_lock(void)
{
    note('[');
}

void threads_unlock(void)
{
    note(']');
}

u32 threads_count_of(s32 tgid)
{
    assert_int_equal(tgid, 7);
    return threads;
}

void threads_remove(struct thread *of)
{
    (void)of;
    note('r');
}

void threads_remove_process(s32 tgid)
{
    did->removed = tgid;
    note('R');
}

void threads_slot_dying(struct thread *of)
{
    (void)of;
    note('d');
    if (left == LEAVES)
        longjmp(saved_at, 1);
}

void recordbuf_drain(struct thread *of)
{
    (void)of;
    note('l');
}

void recordbuf_drain_all(s32 stopped)
{
    did->drained = stopped;
    note('L');
}

static s32 bound;

s32 replayer_bound(const struct thread *of)
{
    (void)of;
    return bound = 17;
}

void replayer_bound_over(s32 timer)
{
    assert_int_equal(timer, bound);
}

void replayer_stop(void)
{
    note('q');
}

void bgfinish_stop(void)
{
    note('k');
}

// Threads of this process, and all threads that share its memory.
u32 threads_count(void)
{
    return threads + others;
}

void pcache_save(void)
{
    note('K');
}

void calls_thread_end(struct thread *of)
{
    (void)of;
    note('c');
}

void caches_thread_fini(struct thread *of)
{
    (void)of;
    note('h');
}

void sampler_end(struct thread *of)
{
    (void)of;
    note('o');
}

void tcache_thread_fini(struct thread *of)
{
    (void)of;
    note('t');
}

void setup_thread_end(struct thread *of)
{
    (void)of;
    note('s');
}

void stopworld_turn_give(struct thread *of)
{
    (void)of;
    note('g');
}

void stopworld_left(void)
{
    note('w');
}

bool stopworld_is_ending(void)
{
    return ending;
}

bool stopworld_stop_for_end(struct thread *of)
{
    (void)of;
    note('S');
    return stops;
}

void common_forget(s32 tgid)
{
    did->forgotten = tgid;
    note('f');
}

bool die_leaves_core(int sig)
{
    assert_int_equal(sig, 11);
    return core;
}

bool tracer_is_there(void)
{
    return traced;
}

void spooler_say_held(void)
{
    note('?');
}

int finisher_in_child(u32 kind, s32 code)
{
    did->kind = kind;
    did->code = code;
    note('C');
    return child_fails;
}

void engine_msg(const char *form, ...)
{
    assert_non_null(strstr(form, "not written"));
    note('!');
}

_Noreturn void finisher_process(u32 kind, s32 code)
{
    did->kind = kind;
    did->code = code;
    longjmp(back, FINISHED);
}

_Noreturn void die_natively(int sig)
{
    did->code = sig;
    longjmp(back, DIED_NATIVELY);
}

_Noreturn void die_as_client(struct thread *of, int sig)
{
    (void)of;
    did->code = sig;
    longjmp(back, DIED_AS_CLIENT);
}

// -- helpers of the tests --

static int setup(void **state)
{
    (void)state;
    if (!did)
        did = (void *)sys_mmap(0, sizeof(*did), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                               -1, 0);
    memset(did, 0, sizeof(*did));
    memset(block, 0, sizeof(block));
    memset(own, 0, sizeof(own));
    memset(&reftrace_told, 0, sizeof(reftrace_told));
    for (int i = 0; i < 3; i++) {
        block[i].own = &own[i];
        block[i].next = i < 2 ? &block[i + 1] : NULL;
        block[i].tid = 7 + i;
        own[i].tgid = 7;
    }
    profiled = stops = true;
    due = traced = core = ending = child_fails = false;
    threads = 1;
    others = 0;
    exit_fork_child(SIGCHLD); // forgets what the tests before left
    return 0;
}

static int thread_ends(int code)
{
    int how = setjmp(back);

    if (!how)
        exit_thread(t, code);
    return how;
}

static int process_ends(u32 kind, int code)
{
    int how = setjmp(back);

    if (!how)
        exit_process(t, kind, code);
    return how;
}

// Runs in a child, which ends: its status. The log is in *did, which is shared.
static int in_child(void (*end)(int code), int code)
{
    int status;

    long pid = sys_call0(SYS_fork);
    if (pid == 0) {
        end(code);
        sys_exit_group(99);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    assert_int_equal(status & 0x7f, 0); // it exited
    return status >> 8;
}

// -- a thread --

static void test_due(void **state)
{
    (void)state;
    due = true;
    assert_int_equal(thread_ends(1), LOOPED); // a thread that ends all the same ends this program
    assert_string_equal(did->text, "m");
    assert_false(own[0].exiting);
}

// The last thread of a profiled process ends the process, with the code of the main thread if that
// has ended before.
static void test_last(void **state)
{
    (void)state;
    own[1].exiting = own[2].exiting = true;
    assert_int_equal(thread_ends(0x1ff), FINISHED);
    assert_int_equal(did->kind, SPOOL_END_EXIT);
    assert_int_equal(did->code, 0xff);
    assert_string_equal(did->text, "m^[]mlLqkK");
    assert_int_equal(did->drained, 7);
    assert_true(own[0].exiting);
}

static void test_other_processes_do_not_count(void **state)
{
    (void)state;
    own[1].tgid = own[2].tgid = 8;
    block[0].tid = 9; // not the first thread: its own code
    assert_int_equal(thread_ends(3), FINISHED);
    assert_int_equal(did->code, 3);
}

static void leave(int code)
{
    exit_thread(t, code);
}

static void test_borrowed(void **state)
{
    (void)state;
    own[0].borrowed = true; // the parent goes on with the block: nothing is given back
    assert_int_equal(in_child(leave, 5), 5);
    assert_string_equal(did->text, "m");
}

static void test_not_last(void **state)
{
    (void)state;
    own[1].exiting = true; // the third one goes on
    assert_int_equal(in_child(leave, 6), 6);
    // Everything that takes locks while the thread is in the list; the slot last.
    assert_string_equal(did->text, "m^[]lchgotpsrwd");
    profiled = false; // the last of a process that only shares the memory
    own[2].exiting = true;
    assert_int_equal(in_child(leave, 8), 8);
}

// The first thread's code is kept until the last one leaves.
static void both(int code)
{
    int how = setjmp(back);

    if (how == FINISHED)
        sys_exit_group(did->code == code ? 44 : did->code);
    left = LEAVES; // the first one ends no further than there
    if (!setjmp(saved_at))
        exit_thread(t, code);
    own[1].exiting = true;
    block[2].tid = 9;
    exit_thread(&block[2], 1);
}

static void test_leader_first(void **state)
{
    (void)state;
    assert_int_equal(in_child(both, 0x23), 44);
}

// -- a process --

static void test_process(void **state)
{
    (void)state;
    assert_int_equal(process_ends(SPOOL_END_EXIT, 300), FINISHED);
    assert_int_equal(did->code, 300);
    assert_string_equal(did->text, "mlLqkK");
    assert_int_equal(reftrace_told.ends, 1);
    setup(NULL);
    threads = 2;
    assert_int_equal(process_ends(SPOOL_END_EXIT, 1), FINISHED);
    assert_string_equal(did->text, "mlSLqkK");
    assert_int_equal(did->drained, 7);
    setup(NULL);
    others = 1; // it may be at a translation
    assert_int_equal(process_ends(SPOOL_END_EXIT, 1), FINISHED);
    assert_string_equal(did->text, "mlLqk");
    setup(NULL);
    ending = true;
    stops = false; // another thread ends the process, too, or one could not be stopped
    assert_int_equal(process_ends(SPOOL_END_SIGNAL, 11), FINISHED);
    assert_string_equal(did->text, "mlSLqk");
    assert_int_equal(did->drained, RECORDBUF_NONE_STOPPED);
    assert_int_equal(did->kind, SPOOL_END_SIGNAL);
    assert_int_equal(did->code, 11);
}

// A process that leaves a core or is traced dies itself; a child writes its profile.
static void test_finished_by_a_child(void **state)
{
    (void)state;
    core = true;
    assert_int_equal(process_ends(SPOOL_END_SIGNAL, 11), DIED_AS_CLIENT);
    assert_string_equal(did->text, "mlLqkKC");
    assert_int_equal(did->code, 11);
    setup(NULL);
    traced = child_fails = true;
    assert_int_equal(process_ends(SPOOL_END_SIGNAL, 11), DIED_AS_CLIENT);
    assert_string_equal(did->text, "mlLqkKC!?");
    setup(NULL);
    core = true; // an exit leaves none
    assert_int_equal(process_ends(SPOOL_END_EXIT, 3), FINISHED);
}

static void ends(int code)
{
    exit_process(t, SPOOL_END_EXIT, code);
}

static void test_exit_with_child(void **state)
{
    (void)state;
    traced = true;
    assert_int_equal(in_child(ends, 17), 17);
    setup(NULL);
    exit_fork_child(SIGUSR1); // the parent waits for another signal than SIGCHLD
    assert_int_equal(in_child(ends, 18), 18);
    exit_fork_child(SIGCHLD);
    assert_int_equal(process_ends(SPOOL_END_EXIT, 1), FINISHED);
}

static void test_not_profiled(void **state)
{
    (void)state;
    profiled = false;
    assert_int_equal(process_ends(SPOOL_END_SIGNAL, 11), DIED_NATIVELY);
    assert_string_equal(did->text, "mlRfg");
    assert_int_equal(did->removed, 7);
    assert_int_equal(did->forgotten, 7);
    assert_int_equal(did->code, 11);
    setup(NULL);
    profiled = false;
    own[0].borrowed = true;
    assert_int_equal(process_ends(SPOOL_END_SIGNAL, 11), DIED_NATIVELY);
    assert_string_equal(did->text, "mlfg");
    setup(NULL);
    profiled = false;
    assert_int_equal(in_child(ends, 19), 19);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_due, setup),
        cmocka_unit_test_setup(test_last, setup),
        cmocka_unit_test_setup(test_other_processes_do_not_count, setup),
        cmocka_unit_test_setup(test_borrowed, setup),
        cmocka_unit_test_setup(test_not_last, setup),
        cmocka_unit_test_setup(test_leader_first, setup),
        cmocka_unit_test_setup(test_process, setup),
        cmocka_unit_test_setup(test_finished_by_a_child, setup),
        cmocka_unit_test_setup(test_exit_with_child, setup),
        cmocka_unit_test_setup(test_not_profiled, setup),
    };

    return cmocka_run_group_tests_name("process/exit", tests, NULL, NULL);
}
