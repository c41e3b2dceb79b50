// SPDX-License-Identifier: MIT
// engine/process/threadstart.c: what a new thread gets, in which order, and that everything is
// released if a part fails. Fakes of the functions that it calls log a letter each. The kernel
// tells the base of %gs; a hosted program does not use it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/tcache.h"
#include "engine/count/caches.h"
#include "engine/count/vtsc.h"
#include "engine/process/threadstart.h"
#include "engine/replay/recordbuf.h"
#include "engine/replay/replayer.h"
#include "engine/signal/setup.h"
#include "engine/thread/sampler.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"
#include "tests/unit/objects/objects_none.h"

static char text[64];
static size_t length;
static struct thread block, parent;
static struct thread_own own;
static bool no_area, no_tables, no_caches;
static s32 profiled;
static jmp_buf back;
static char said[100];

static void note(char letter)
{
    text[length++] = letter;
    text[length] = 0;
}

struct thread *threads_new(struct thread *of)
{
    assert_true(!of || of == &parent);
    note('n');
    return no_area ? NULL : &block;
}

void threads_free(struct thread *t)
{
    assert_ptr_equal(t, &block);
    note('f');
}

void threads_list_add(struct thread *t)
{
    assert_ptr_equal(t, &block);
    note('+');
}

void threads_set_profiled(s32 pid)
{
    profiled = pid;
    note('p');
}

void gate_thread_init(struct thread *t)
{
    (void)t;
    note('g');
}

int tcache_thread_init(struct thread *t)
{
    (void)t;
    note('t');
    return no_tables ? -ENOMEM : 0;
}

void tcache_thread_fini(struct thread *t)
{
    (void)t;
    note('T');
}

int caches_thread_init(struct thread *t)
{
    (void)t;
    note('c');
    return no_caches ? -ENOMEM : 0;
}

void caches_thread_fini(struct thread *t)
{
    (void)t;
    note('C');
}

void replayer_settle(struct thread *t)
{
    assert_ptr_not_equal(t, &block); // the parent's
    note('r');
}

void recordbuf_thread_init(struct thread *t)
{
    (void)t;
    note('l');
}

void vtsc_thread_init(struct thread *t, struct thread *of)
{
    assert_ptr_equal(t, &block);
    assert_ptr_equal(of, &parent);
    note('k');
}

void setup_thread(struct thread *t, struct thread *of, bool share)
{
    assert_ptr_equal(t, &block);
    assert_null(of);
    assert_true(share);
    note('s');
}

void setup_thread_start(struct thread *t)
{
    (void)t;
    note('a');
}

void setup_thread_end(struct thread *t)
{
    (void)t;
    note('S');
}

void stress_start(struct thread *t)
{
    (void)t;
    note('x');
}

void sampler_start(struct thread *t)
{
    (void)t;
    note('X');
}

void stopworld_init(void)
{
    note('w');
}

void stopworld_turn_take(struct thread *t)
{
    (void)t;
    note('!');
}

_Noreturn void engine_die(const char *form, ...)
{
    strcpy(said, form);
    longjmp(back, 1);
}

static int setup(void **state)
{
    (void)state;
    memset(&block, 0, sizeof(block));
    memset(&own, 0, sizeof(own));
    block.own = &own;
    length = 0;
    text[0] = said[0] = 0;
    no_area = no_tables = no_caches = false;
    profiled = 0;
    return 0;
}

static void test_new(void **state)
{
    (void)state;
    assert_ptr_equal(threadstart_new(&parent), &block);
    assert_string_equal(text, "ngtrclk");
    setup(NULL);
    assert_ptr_equal(threadstart_new(NULL), &block); // there is no time before the first thread's
    assert_string_equal(text, "ngtcl");
}

static void test_not_enough(void **state)
{
    (void)state;
    no_area = true;
    assert_null(threadstart_new(&parent));
    assert_string_equal(text, "n");
    setup(NULL);
    no_tables = true;
    assert_null(threadstart_new(&parent));
    assert_string_equal(text, "ngtf");
    setup(NULL);
    no_caches = true;
    assert_null(threadstart_new(&parent));
    assert_string_equal(text, "ngtrcTf");
    setup(NULL);
    threadstart_abort(&block); // the kernel created no thread
    assert_string_equal(text, "SCTf");
}

static u64 gs(void)
{
    u64 base = 0;

    assert_int_equal(sys_call2(SYS_arch_prctl, ARCH_GET_GS, (u64)&base), 0);
    return base;
}

static void test_start(void **state)
{
    u64 before = gs();

    (void)state;
    threadstart_start(&block);
    u64 now = gs();
    sys_call2(SYS_arch_prctl, ARCH_SET_GS, before);
    assert_int_equal(now, (u64)&block);
    assert_int_equal(block.tid, sys_gettid());
    assert_int_equal(own.tgid, sys_getpid());
    assert_string_equal(text, "axX");
}

void (*signal(int sig, void (*how)(int)))(int); // its header conflicts with sys.h

static struct thread_own *watched;
static s32 tid_then = -1;

static void on_write(int sig)
{
    (void)sig;
    tid_then = block.tid;
    assert_int_equal(sys_mprotect((u64)watched, PAGE_SIZE, PROT_READ | PROT_WRITE), 0);
}

// If a thread's tid were set before its tgid, it would be taken for dead meanwhile: a child of
// clone(CLONE_VM), whose block starts with its parent's tgid, was removed from the list, and then
// stopping the world waited for ever.
static void test_process_first(void **state)
{
    u64 before = gs();

    (void)state;
    watched = (struct thread_own *)sys_mmap(0, PAGE_SIZE, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    watched->tgid = 1; // the parent's
    block.own = watched;
    assert_int_equal(sys_mprotect((u64)watched, PAGE_SIZE, PROT_READ), 0);
    signal(SIGSEGV, on_write);
    threadstart_start(&block);
    sys_call2(SYS_arch_prctl, ARCH_SET_GS, before);
    signal(SIGSEGV, (void (*)(int))SIG_DFL);
    assert_int_equal(tid_then, 0);
    assert_int_equal(watched->tgid, sys_getpid());
    assert_int_equal(block.tid, sys_gettid());
    sys_munmap((u64)watched, PAGE_SIZE);
}

static void test_main(void **state)
{
    u64 before = gs();

    (void)state;
    assert_ptr_equal(threadstart_main(), &block);
    sys_call2(SYS_arch_prctl, ARCH_SET_GS, before);
    // It is in the list before it takes its turn.
    assert_string_equal(text, "wngtclpsaxX+!");
    assert_int_equal(profiled, sys_getpid());
    setup(NULL);
    no_caches = true;
    if (!setjmp(back))
        threadstart_main();
    assert_string_equal(said, "not enough memory for the first thread's tables");
    assert_string_equal(text, "wngtcTf");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_new, setup),
        cmocka_unit_test_setup(test_not_enough, setup),
        cmocka_unit_test_setup(test_start, setup),
        cmocka_unit_test_setup(test_process_first, setup),
        cmocka_unit_test_setup(test_main, setup),
    };

    return cmocka_run_group_tests_name("process/threadstart", tests, NULL, NULL);
}
