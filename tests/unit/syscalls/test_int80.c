// SPDX-License-Identifier: MIT
// engine/syscalls/int80.c and vsyscall.c: the two kinds of system calls without a syscall
// instruction. 32-bit calls by their numbers (arch/x86/entry/syscalls/syscall_32.tbl of Linux); the
// calls of the vsyscall page's three entries are real.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/process/exit.h"
#include "engine/process/rights.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/signal/mask.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/descriptors.h"
#include "engine/syscalls/files.h"
#include "engine/syscalls/int80.h"
#include "engine/syscalls/syscalls.h"
#include "engine/syscalls/vsyscall.h"
#include "engine/thread/reentry.h"
#include "engine/thread/selector.h"
#include "engine/translate/timing.h"

_Noreturn void int80_go(struct thread *t);
_Noreturn void int80_done(struct thread *t);
_Noreturn void int80_fault(struct thread *t);

static struct thread thread;
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

static u64 ldt[3];

long syscalls_modify_ldt(struct thread *of, u64 func, u64 at, u64 bytes)
{
    assert_ptr_equal(of, &thread);
    ldt[0] = func;
    ldt[1] = at;
    ldt[2] = bytes;
    return -38;
}

bool fds_is_ours(int fd)
{
    return fd == 4081;
}

// Nothing else is mapped; arguments in memory and names are at these addresses.
#define OURS 0x804081

static int evicted;
static long evict_error;

int fds_evict(int fd)
{
    evicted = fd;
    return (int)evict_error;
}

// The 64-bit call as which it was checked.
static u32 looked_at;

u32 descriptors_ours(u32 nr, const u64 args[6])
{
    looked_at = nr;
    return args[0] == 4081;
}

bool descriptors_poll(u64 at, u64 n, long *ret)
{
    *ret = 7;
    return at == OURS && n == 3;
}

bool descriptors_select(s32 below, const u64 sets[3])
{
    return below == 4082 && sets[0] == OURS && sets[1] == 1 && sets[2] == 2;
}

bool files_names_ours(u32 nr, const u64 args[6])
{
    return nr == SYS_openat ? args[1] == OURS : nr == SYS_open && args[0] == OURS;
}

bool files_answers(u32 nr, const u64 args[6], long *ret)
{
    *ret = 44;
    return nr == SYS_readlink && args[1] == 45;
}

int clientmem_read_u32(u64 gaddr, u32 *value)
{
    *value = gaddr == OURS ? 4081 : 4082;
    return 0;
}

static bool closed;

void mask_close(struct thread *of)
{
    assert_ptr_equal(of, &thread);
    closed = true;
}

static u32 again;

void selector_reload(struct thread *of)
{
    assert_ptr_equal(of, &thread);
    again++;
}

// The result of set_thread_area, and its argument.
static long made;
static u64 made_of;

long int80_make(u64 number, u64 rbx);
long int80_make(u64 number, u64 rbx)
{
    assert_int_equal(number, 243);
    assert_true(closed);
    made_of = rbx;
    return made;
}

void calls_returned(struct thread *t, u64 target)
{
    assert_int_equal(target, t->pc);
}

// -- functions that do not return --

enum { RETURNED, WENT, ENDED_THREAD, ENDED_PROCESS, LOOPED };

static jmp_buf back;
static int code;

_Noreturn void int80_go(struct thread *t)
{
    (void)t;
    longjmp(back, WENT);
}

_Noreturn void exit_thread(struct thread *t, int with)
{
    (void)t;
    code = with;
    longjmp(back, ENDED_THREAD);
}

_Noreturn void exit_process(struct thread *t, u32 kind, int with)
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

void (*reentry_run)(struct thread *t) = loop;

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
static u64 readable; // what is read; 0: what is there

int clientmem_read_u64(u64 gaddr, u64 *value)
{
    if (unreadable)
        return -EFAULT;
    *value = readable ? readable : *(u64 *)gaddr;
    return 0;
}

// -- helpers of the tests --

static struct thread *const t = &thread;

static int setup(void **state)
{
    (void)state;
    memset(t, 0, sizeof(*t));
    memset(&fault, 0, sizeof(fault));
    unreadable = false;
    readable = 0;
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

// Before the call. Only the lower halves of number and argument count.
static void test_rights(void **state)
{
    (void)state;
    t->regs[R_RBX] = 65534;
    assert_int_equal(call(23), WENT);
    assert_int_equal(forgone, 0);
    assert_int_equal(call(213), WENT);
    assert_int_equal(forgone, 1);
}

// Calls that create or end threads, or change the map, the mask or the handlers are refused.
static void test_refused(void **state)
{
    static const u16 refused[] = { 2,   11,  45,  48,  67,  72,  90,  91,  119,
                                   120, 125, 126, 163, 173, 174, 175, 179, 186,
                                   190, 192, 257, 358, 380, 386, 397, 398, 435 };
    u32 k = 0, went = 0;

    (void)state;
    for (u32 n = 2; n < 460; n++) {
        int how;

        if (n == 123 || n == 243 || n == 252)
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
    assert_int_equal(k, 27);
    assert_int_equal(went, 458 - 3 - 27);
}

static int call_with(u32 number, u64 rbx, u64 rcx)
{
    t->regs[R_RBX] = rbx;
    t->regs[R_RCX] = rcx;
    return call(number);
}

// Calls that are refused by their first argument: shared memory, the dispatch of calls.
static void test_parts(void **state)
{
    (void)state;
    assert_int_equal(call_with(117, 20, 0), WENT);
    assert_int_equal(call_with(117, 0x10015, 0), RETURNED); // shmat, of version 1
    assert_int_equal(t->regs[R_RAX], (u64)-ENOSYS);
    assert_int_equal(call_with(117, 22, 0), RETURNED);
    assert_int_equal(call_with(117, 23, 0), WENT);
    assert_int_equal(call_with(172, 59, 0), RETURNED);
    assert_int_equal(t->regs[R_RAX], (u64)-ENOSYS);
    assert_int_equal(call_with(172, 58, 0), WENT);
}

// Checked as the 64-bit call that has the same arguments.
static void test_descriptors(void **state)
{
    static const struct {
        u16 number, as;
    } calls[] = { { 3, SYS_read },    { 6, SYS_close },     { 41, SYS_dup },
                  { 55, SYS_fcntl },  { 63, SYS_dup2 },     { 140, SYS_lseek },
                  { 197, SYS_fstat }, { 221, SYS_fcntl },   { 295, SYS_openat },
                  { 330, SYS_dup3 },  { 372, SYS_recvmsg }, { 419, SYS_mq_timedreceive },
                  { 434, 434 },       { 437, SYS_openat2 }, { 349, SYS_kcmp } };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(calls); i++) {
        assert_int_equal(call_with(calls[i].number, 4081, 5), RETURNED);
        assert_int_equal(t->regs[R_RAX], (u64)-EBADF);
        assert_int_equal(t->pc, 0x401002);
        assert_int_equal(looked_at, calls[i].as);
        assert_int_equal(call_with(calls[i].number, 4080, 4082), WENT);
    }
    assert_int_equal(call_with(20, 4080, 0), WENT); // getpid has none
    assert_true(looked_at >= 512);
    // The wanted number is given up.
    assert_int_equal(call_with(63, 4080, 4081), WENT);
    assert_int_equal(evicted, 4081);
    evict_error = -EMFILE;
    assert_int_equal(call_with(330, 4080, 4081), RETURNED);
    assert_int_equal(t->regs[R_RAX], (u64)-EMFILE);
}

static void test_in_memory(void **state)
{
    static const u16 polls[] = { 168, 309, 414 }, selects[] = { 142, 308, 413 };

    (void)state;
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(call_with(polls[i], OURS, 3), RETURNED);
        assert_int_equal(t->regs[R_RAX], 7);
        assert_int_equal(call_with(polls[i], OURS, 2), WENT);
        t->regs[R_RDX] = 1;
        t->regs[R_RSI] = 2;
        assert_int_equal(call_with(selects[i], 4082, OURS), RETURNED);
        assert_int_equal(t->regs[R_RAX], (u64)-EBADF);
        assert_int_equal(call_with(selects[i], 4081, OURS), WENT);
    }
    assert_int_equal(call_with(102, 9, OURS), RETURNED); // socketcall: send
    assert_int_equal(t->regs[R_RAX], (u64)-EBADF);
    assert_int_equal(call_with(102, 9, OURS + 4), WENT);
    assert_int_equal(call_with(102, 1, OURS), WENT); // socket: a family
    assert_int_equal(call_with(102, 8, OURS), WENT);
    assert_int_equal(call_with(5, OURS, 0), RETURNED); // open
    assert_int_equal(t->regs[R_RAX], (u64)-ENOENT);
    assert_int_equal(call_with(295, 0, OURS), RETURNED); // openat
    assert_int_equal(t->regs[R_RAX], (u64)-ENOENT);
    assert_int_equal(call_with(5, OURS + 1, 0), WENT);
    assert_int_equal(call_with(85, 1, 45), RETURNED); // readlink
    assert_int_equal(t->regs[R_RAX], 44);
    assert_int_equal(call_with(85, 1, 46), WENT);
}

static void test_tables(void **state)
{
    u64 entry = 0x500000000000000d;

    (void)state;
    t->regs[R_RDX] = 0xffff00000010;
    assert_int_equal(call_with(123, 0x500000001, 0x700002000), RETURNED);
    assert_int_equal(ldt[0], 1);
    assert_int_equal(ldt[1], 0x2000);
    assert_int_equal(ldt[2], 0x10);
    assert_int_equal(t->regs[R_RAX], (u64)-38);
    assert_int_equal(t->pc, 0x401002);

    readable = entry;
    made = 0;
    for (u64 gs = 0; gs < 0x100; gs++) { // the selector of entry 13 alone is loaded again
        t->client_gs = gs;
        again = 0;
        closed = false;
        assert_int_equal(call_with(243, 0x700003000, 0), RETURNED);
        assert_int_equal(made_of, 0x3000);
        assert_int_equal(again, gs == 0x6b);
        assert_int_equal(t->regs[R_RAX], 0);
        assert_int_equal(t->pc, 0x401002);
    }
    t->client_gs = 0x6b;
    again = 0;
    made = -22;
    assert_int_equal(call_with(243, 0x3000, 0), RETURNED);
    assert_int_equal(t->regs[R_RAX], (u64)-22);
    assert_int_equal(again, 0);
    made = -4096; // the kernel has no such way: as for any other call
    assert_int_equal(call_with(243, 0x3000, 0), WENT);
    assert_int_equal(t->pc, 0x401000);
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
    unreadable = true; // the stack with the return address
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
        cmocka_unit_test_setup(test_parts, setup),
        cmocka_unit_test_setup(test_descriptors, setup),
        cmocka_unit_test_setup(test_in_memory, setup),
        cmocka_unit_test_setup(test_tables, setup),
        cmocka_unit_test_setup(test_ends, setup),
        cmocka_unit_test_setup(test_done, setup),
        cmocka_unit_test_setup(test_fault, setup),
        cmocka_unit_test_setup(test_vsyscall, setup),
        cmocka_unit_test_setup(test_vsyscall_nowhere, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
