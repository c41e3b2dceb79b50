// SPDX-License-Identifier: MIT
// engine/process/rights.c: which calls give up rights, and what is stopped before them. Fakes of
// the functions that it calls log a letter each; the system calls are real, with arguments that the
// kernel refuses, or that change nothing. Numbers of 32-bit calls are those of
// arch/x86/entry/syscalls/syscall_32.tbl of Linux.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/modules.h"
#include "engine/process/bgfinish.h"
#include "engine/process/rights.h"
#include "engine/replay/replayer.h"
#include "engine/spool/fds.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/threads.h"
#include "engine/translate/pcache.h"

static char did[64];
static struct thread block;
static struct thread_own own = { .tgid = 7 };
static struct thread *const t = &block;
static bool profiled;
static long answer;

static void note(char letter)
{
    did[strlen(did)] = letter;
}

#define ASKED(function, letter) \
    void function(void)         \
    {                           \
        note(letter);           \
    }
ASKED(heap_unshare, 'h')
ASKED(modules_drop_private, 'm')
ASKED(bgfinish_leave, 'c')
ASKED(bgfinish_allow, 'C')
ASKED(replayer_stop, 'r')
ASKED(replayer_allow, 'R')
ASKED(pcache_never, 'k')
ASKED(fds_leave_root, '/')

#define ASKED_OF(function, letter)   \
    void function(struct thread *of) \
    {                                \
        assert_ptr_equal(of, t);     \
        note(letter);                \
    }
ASKED_OF(stopworld_stop, '[')
ASKED_OF(stopworld_resume, ']')
ASKED_OF(stopworld_blocking_begin, '{')
ASKED_OF(stopworld_blocking_end, '}')

bool threads_is_profiled(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return profiled;
}

static struct thread other;
static struct thread_own others = { .tgid = 7 };

void threads_lock(void)
{
}

void threads_unlock(void)
{
}

struct thread *threads_first(void)
{
    return t;
}

void gate_return(struct thread *of, long ret)
{
    assert_ptr_equal(of, t);
    answer = ret;
}

static int setup(void **state)
{
    (void)state;
    memset(did, 0, sizeof(did));
    t->own = &own;
    own.borrowed = false;
    profiled = true;
    answer = -1000;
    return 0;
}

static bool call(u32 nr, u64 a, u64 b, u64 c)
{
    memset(did, 0, sizeof(did));
    memset(t->regs, 0, sizeof(t->regs));
    t->regs[R_RDI] = a;
    t->regs[R_RSI] = b;
    t->regs[R_RDX] = c;
    return rights_call(t, nr);
}

// Everything is stopped before the call, with the world stopped, and allowed again after it.
static void test_order(void **state)
{
    (void)state;
    assert_true(call(SYS_setuid, (u64)sys_call0(SYS_getuid), 0, 0));
    assert_int_equal(answer, 0);
    assert_string_equal(did, "[krchm]/{}RC");
    // The descriptor of the old root is for a process that changes its root, and stays open.
    assert_true(call(SYS_chroot, (u64) "/no such folder", 0, 0));
    assert_int_equal(answer, -ENOENT);
    assert_string_equal(did, "[krchm]{}RC");
}

static void test_calls(void **state)
{
    static const u32 calls[] = {
        SYS_setuid,    SYS_setgid,    SYS_setreuid, SYS_setregid,
        SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
    };
    u64 same = ~0ul; // means no change, or no user

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(calls); i++)
        assert_true(call(calls[i], same, same, same));
    assert_true(call(SYS_setgroups, ~0ul, 0, 0));
    assert_true(call(SYS_capset, 0, 0, 0));
    assert_int_equal(answer, -EFAULT);
    assert_true(call(SYS_pivot_root, 0, 0, 0));
    assert_true(call(SYS_landlock_restrict_self, ~0ul, 0, 0));
    assert_true(call(SYS_lsm_set_self_attr, 0, 0, 0));
    assert_true(call(SYS_iopl, 4, 0, 0)); // not every kernel has it
    assert_true(call(SYS_ioperm, 0, 0, 0));
    assert_true(call(SYS_keyctl, 1, 1, 0)); // join a session keyring; its name cannot be read
    assert_false(call(SYS_keyctl, 0, 0, 0));
    assert_true(call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 0, 0));
    assert_int_equal(answer, -EINVAL);
    assert_true(call(SYS_prctl, PR_CAPBSET_DROP, 1000, 0));
    assert_true(call(SYS_prctl, PR_SET_SECUREBITS, ~0ul, 0));
    assert_true(call(SYS_prctl, PR_CAP_AMBIENT, 1000, 0));
    assert_false(call(SYS_prctl, PR_SET_NAME, 0, 0));
    assert_true(call(SYS_unshare, CLONE_NEWNS | CLONE_FILES | 1, 0, 0)); // 1 is no flag
    assert_int_equal(answer, -EINVAL);
    assert_false(call(SYS_unshare, CLONE_FILES, 0, 0));
    assert_false(call(SYS_getuid, 0, 0, 0));
    assert_string_equal(did, "");
}

// A process in borrowed or shared memory: its rights are not those of the profiled process.
static void test_others(void **state)
{
    (void)state;
    own.borrowed = true;
    assert_false(call(SYS_setuid, 0, 0, 0));
    own.borrowed = false;
    profiled = false;
    assert_false(call(SYS_setuid, 0, 0, 0));
    rights_begin(t);
    rights_end(t);
    rights_forgo(t);
    assert_string_equal(did, "");
}

// The client's filters apply to the client only: no background finisher from then on.
static void test_seccomp(void **state)
{
    (void)state;
    rights_begin(t);
    assert_string_equal(did, "[krchm]/");
    rights_end(t);
    assert_string_equal(did, "[krchm]/R");
    assert_true(call(SYS_setuid, (u64)sys_call0(SYS_getuid), 0, 0));
    assert_string_equal(did, "[krchm]/{}R");
    memset(did, 0, sizeof(did));
    rights_judged();
    assert_string_equal(did, "kc");
}

static void test_int80(void **state)
{
    static const u32 calls[] = { 23,  46,  61,  70,  71,  81,  101, 110, 138,
                                 139, 164, 170, 185, 203, 204, 206, 208, 210,
                                 213, 214, 215, 216, 217, 346, 354, 446, 460 };
    u32 k = 0;

    (void)state;
    for (u32 nr = 0; nr < 470; nr++) {
        bool one = k < ARRAY_SIZE(calls) && calls[k] == nr;

        assert_int_equal(rights_is_int80(nr, 0), one);
        k += one;
    }
    assert_true(rights_is_int80(172, 1ul << 40 | PR_SET_NO_NEW_PRIVS)); // lower half only
    assert_true(rights_is_int80(172, PR_SET_SECCOMP));
    assert_true(rights_is_int80(288, 1));
    assert_true(rights_is_int80(310, CLONE_NEWUSER));
    assert_false(rights_is_int80(310, CLONE_FILES));
}

static void test_files(void **state)
{
    (void)state;
    assert_true(rights_is_file("/proc/self/attr/current"));
    assert_true(rights_is_file("/proc/thread-self/attr/apparmor/exec"));
    assert_true(rights_is_file("/proc/123/task/124/attr/current"));
    assert_false(rights_is_file("/proc/self/comm"));
    assert_false(rights_is_file("attr/current"));
}

static void test_fork(void **state)
{
    (void)state;
    rights_fork_child(SIGCHLD | CLONE_FILES | CLONE_FS);
    assert_string_equal(did, "");
    rights_fork_child(SIGCHLD | CLONE_NEWUSER);
    assert_string_equal(did, "kchC");
}

// A thread that ends may be the last with rights that the others have given up.
static void test_thread_ends(void **state)
{
    (void)state;
    t->next = &other;
    other.own = &others;
    rights_inherit(&other, t);
    rights_thread_ends(t);
    assert_string_equal(did, "");
    assert_true(call(SYS_setuid, (u64)sys_call0(SYS_getuid), 0, 0));
    memset(did, 0, sizeof(did));
    rights_thread_ends(t); // it has fewer rights itself
    assert_string_equal(did, "");
    others.given_up += 2;
    rights_thread_ends(t);
    assert_string_equal(did, "[krchm]RC");
    t->next = NULL;
}

// The first child in another PID namespace must be one of the client's: permanent, like calls whose
// end is not seen.
static void test_forgone(void **state)
{
    (void)state;
    assert_true(call(SYS_setns, ~0ul, CLONE_NEWNS, 0));
    assert_int_equal(answer, -EBADF);
    assert_string_equal(did, "[krchm]{}R");
    assert_true(call(SYS_setns, ~0ul, CLONE_NEWPID, 0));
    assert_string_equal(did, "[krchm]{}");
    rights_end(t);
    assert_string_equal(did, "[krchm]{}");
    assert_true(call(SYS_setuid, (u64)sys_call0(SYS_getuid), 0, 0));
    assert_string_equal(did, "[krchm]/{}");
    memset(did, 0, sizeof(did));
    rights_forgo(t);
    assert_string_equal(did, "[krchm]/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, setup),
        cmocka_unit_test_setup(test_calls, setup),
        cmocka_unit_test_setup(test_others, setup),
        cmocka_unit_test_setup(test_int80, setup),
        cmocka_unit_test_setup(test_files, setup),
        cmocka_unit_test_setup(test_fork, setup),
        // these change the state for later calls
        cmocka_unit_test_setup(test_thread_ends, setup),
        cmocka_unit_test_setup(test_seccomp, setup),
        cmocka_unit_test_setup(test_forgone, setup),
    };

    return cmocka_run_group_tests_name("process/rights", tests, NULL, NULL);
}
