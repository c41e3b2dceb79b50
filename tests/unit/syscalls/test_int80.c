// SPDX-License-Identifier: MIT
// engine/syscalls/int80.c and vsyscall.c: the two ways into the kernel that are no syscall
// instruction. Calls of the 32-bit kind by their numbers (arch/x86/entry/syscalls/syscall_32.tbl of
// Linux); the vsyscall page's three entries are really made.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/base/sys.h"
#include "engine/count/calls.h"
#include "engine/process/end.h"
#include "engine/process/rights.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/int80.h"
#include "engine/syscalls/vsyscall.h"
#include "engine/thread/loop.h"
#include "engine/translate/timing.h"

_Noreturn void int80_go(struct thread *t);
_Noreturn void int80_done(struct thread *t);
_Noreturn void int80_fault(struct thread *t);

static u32 not_stepped;

void handler_not_stepped(struct thread *t)
{
    (void)t;
    not_stepped++;
}

static u32 forbidden;

void timing_forbidden(void)
{
    forbidden++;
}

static u32 forgone;

void rights_forgo(struct thread *t)
{
    (void)t;
    forgone++;
}

bool rights_is_int80(u32 nr, u64 arg)
{
    return nr == 213 && arg == 65534;
}

void calls_returned(struct thread *t, u64 target)
{
    assert_int_equal(target, t->pc);
}

// -- ways that do not come back --

enum { RETURNED, WENT, ENDED_THREAD, ENDED_PROCESS, LOOPED };

static jmp_buf back;
static int code;

_Noreturn void int80_go(struct thread *t)
{
    (void)t;
    longjmp(back, WENT);
}

_Noreturn void end_thread(struct thread *t, int with)
{
    (void)t;
    code = with;
    longjmp(back, ENDED_THREAD);
}

_Noreturn void end_process(struct thread *t, u32 kind, int with)
{
    (void)t;
    assert_int_equal(kind, SPOOL_END_EXIT);
    code = with;
    longjmp(back, ENDED_PROCESS);
}

static void loop(struct thread *t)
{
    (void)t;
    longjmp(back, LOOPED);
}

void (*loop_run)(struct thread *t) = loop;

static struct {
    int sig, code;
    u64 addr, trapno, err;
} fault;

void deliver_fault(struct thread *t, int sig, int with, u64 addr, u64 trapno, u64 err)
{
    (void)t;
    fault.sig = sig;
    fault.code = with;
    fault.addr = addr;
    fault.trapno = trapno;
    fault.err = err;
}

static bool unreadable;

int safe_read_u64(u64 gaddr, u64 *value)
{
    if (unreadable)
        return -EFAULT;
    *value = *(u64 *)gaddr;
    return 0;
}

// -- the test's side --

static struct thread thread, *const t = &thread;

static int setup(void **state)
{
    (void)state;
    memset(t, 0, sizeof(*t));
    memset(&fault, 0, sizeof(fault));
    unreadable = false;
    t->pc = 0x401000;
    engine_log_fd = -1; // what is refused is said there
    return 0;
}

static int call(u32 number)
{
    int how = setjmp(back);

    if (how == RETURNED) {
        t->pc = 0x401000;
        t->regs[R_RAX] = 0xffffffff00000000 | number; // only the lower half counts
        int80_call(t);
    }
    return how;
}

// Before the call, of which the number's and the argument's lower halves count.
static void test_rights(void **state)
{
    (void)state;
    t->regs[R_RBX] = 65534;
    assert_int_equal(call(23), WENT);
    assert_int_equal(forgone, 0);
    assert_int_equal(call(213), WENT);
    assert_int_equal(forgone, 1);
}

// Those that make or end threads, change the map, the mask or the handlers: all else goes.
static void test_refused(void **state)
{
    static const u16 refused[] = { 2,   11,  45,  48,  67,  72,  90,  91,  119, 120, 123, 125,
                                   126, 163, 173, 174, 175, 179, 186, 190, 192, 358, 435 };
    u32 k = 0, went = 0;

    (void)state;
    for (u32 n = 2; n < 460; n++) {
        int how;

        if (n == 252)
            continue;
        how = call(n);
        assert_int_equal(t->sc_next, 0x401002);
        if (k < ARRAY_SIZE(refused) && n == refused[k]) {
            assert_int_equal(how, RETURNED);
            assert_int_equal(t->regs[R_RAX], (u64)-ENOSYS);
            assert_int_equal(t->pc, 0x401002);
            k++;
        } else {
            assert_int_equal(how, WENT);
            assert_int_equal(t->pc, 0x401000); // still at it
            went++;
        }
    }
    assert_int_equal(k, 23);
    assert_int_equal(went, 458 - 1 - 23);
}

static void test_ends(void **state)
{
    (void)state;
    t->regs[R_RBX] = 0x1234;
    assert_int_equal(call(1), ENDED_THREAD);
    assert_int_equal(code, 0x1234);
    assert_int_equal(call(252), ENDED_PROCESS);
    assert_int_equal(code, 0x34);
}

static void test_done(void **state)
{
    (void)state;
    t->sc_next = 0x401002;
    t->state = TS_IN_SYSCALL;
    t->regs[R_RAX] = 7;
    if (!setjmp(back))
        int80_done(t);
    assert_int_equal(t->pc, 0x401002);
    assert_int_equal(t->state, TS_ENGINE);
    assert_int_equal(t->regs[R_RAX], 7);
}

// As natively: a general protection fault at the instruction, which has not been executed.
static void test_fault(void **state)
{
    (void)state;
    t->pc = 0x401000;
    t->sc_next = 0x401002;
    t->state = TS_IN_SYSCALL;
    not_stepped = 0;
    if (!setjmp(back))
        int80_fault(t);
    assert_int_equal(not_stepped, 1);
    assert_int_equal(t->pc, 0x401000);
    assert_int_equal(t->state, TS_ENGINE);
    assert_int_equal(fault.sig, SIGSEGV);
    assert_int_equal(fault.code, SI_KERNEL);
    assert_int_equal(fault.addr, 0);
    assert_int_equal(fault.trapno, 13);
    assert_int_equal(fault.err, 0x402);
}

static void test_vsyscall(void **state)
{
    u64 stack[2] = { 0x401234, 0x5678 }, when = 0;
    u32 cpu = 12345, node = 12345;
    struct k_timespec now, tv = { -1, -1 };

    (void)state;
    t->regs[R_RSP] = (u64)stack;
    t->regs[R_RDI] = (u64)&when;
    t->pc = VSYSCALL_PAGE + 0x400; // time
    assert_true(vsyscall_try(t));
    sys_clock_gettime(0 /* CLOCK_REALTIME */, &now);
    assert_in_range(when, (u64)now.sec - 2, (u64)now.sec);
    assert_int_equal(t->regs[R_RAX], when);
    assert_int_equal(t->pc, 0x401234); // it has returned
    assert_int_equal(t->regs[R_RSP], (u64)(stack + 1));

    t->pc = VSYSCALL_PAGE; // gettimeofday
    t->regs[R_RDI] = (u64)&tv;
    t->regs[R_RSI] = 0;
    assert_true(vsyscall_try(t));
    assert_int_equal(t->regs[R_RAX], 0);
    assert_in_range(tv.sec, now.sec, now.sec + 2);
    assert_in_range(tv.nsec, 0, 999999); // microseconds
    assert_int_equal(t->pc, 0x5678);

    t->regs[R_RSP] = (u64)stack;
    t->pc = VSYSCALL_PAGE + 0x800; // getcpu
    t->regs[R_RDI] = (u64)&cpu;
    t->regs[R_RSI] = (u64)&node;
    assert_true(vsyscall_try(t));
    assert_true(cpu < 12345 && node < 12345);
}

static void test_vsyscall_nowhere(void **state)
{
    static const u64 offsets[] = { 1, 0x3ff, 0x401, 0xc00, 0xfff };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(offsets); i++) {
        t->pc = VSYSCALL_PAGE + offsets[i];
        assert_false(vsyscall_try(t));
        assert_int_equal(t->pc, VSYSCALL_PAGE + offsets[i]);
    }
    unreadable = true; // the stack that the return address lies on
    t->regs[R_RSP] = 0x7777;
    t->pc = VSYSCALL_PAGE + 0x400;
    assert_true(vsyscall_try(t));
    assert_int_equal(fault.sig, SIGSEGV);
    assert_int_equal(fault.code, SEGV_MAPERR);
    assert_int_equal(fault.addr, 0x7777);
    assert_int_equal(fault.trapno, 14);
    assert_int_equal(fault.err, 4); // a read by the program
    assert_int_equal(t->pc, VSYSCALL_PAGE + 0x400);
}

// rdtsc is the engine's, too: prctl (172) may take it away, and give it back.
static void test_tsc(void **state)
{
    (void)state;
    forbidden = 0;
    t->regs[R_RBX] = PR_GET_TSC;
    t->regs[R_RCX] = 2;
    assert_int_equal(call(172), WENT);
    t->regs[R_RBX] = PR_SET_TSC;
    t->regs[R_RCX] = PR_TSC_ENABLE;
    assert_int_equal(call(172), WENT);
    assert_int_equal(forbidden, 0);
    t->regs[R_RCX] = 2;
    assert_int_equal(call(172), WENT);
    assert_int_equal(forbidden, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_tsc, setup),
        cmocka_unit_test_setup(test_rights, setup),
        cmocka_unit_test_setup(test_refused, setup),
        cmocka_unit_test_setup(test_ends, setup),
        cmocka_unit_test_setup(test_done, setup),
        cmocka_unit_test_setup(test_fault, setup),
        cmocka_unit_test_setup(test_vsyscall, setup),
        cmocka_unit_test_setup(test_vsyscall_nowhere, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
