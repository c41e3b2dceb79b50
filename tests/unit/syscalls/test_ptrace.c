// SPDX-License-Identifier: MIT
// engine/syscalls/ptrace.c: a child plays a tracee under its own engine: its base of %gs is a
// thread block, which has the client's base. All calls of ptrace are real. A tracee has 27
// registers, in the order of struct user_regs_struct; the base of %gs is the 23rd.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/syscalls/ptrace.h"
#include "engine/thread/threads.h"

#define TRACEME     0
#define PEEKDATA    2
#define PEEKUSER    3
#define POKEDATA    5
#define POKEUSER    6
#define KILL        8
#define GETREGS     12
#define SETREGS     13
#define GETREGSET   0x4204
#define SETREGSET   0x4205
#define NT_PRSTATUS 1
#define NT_FPREGSET 2

#define REGS    27
#define GS_BASE 22

#define FAR (THREAD_FAR_TOP - 3ul * THREAD_FAR_STRIDE)
#define R15     0 // index in struct user_regs_struct
#define CLIENT  0x123456789000ul

struct cpu cpu = { .address_bits = 48 };

// Nothing is mapped below the first page.
int clientmem_read(void *to, u64 from, u64 n)
{
    if (from < 4096)
        return -EFAULT;
    memcpy(to, (const void *)from, n);
    return 0;
}

int clientmem_write_u64(u64 to, u64 v)
{
    if (to < 4096)
        return -EFAULT;
    memcpy((void *)to, &v, sizeof(v));
    return 0;
}

static struct thread client;
static long returned;

void gate_return(struct thread *t, long ret)
{
    assert_ptr_equal(t, &client);
    returned = ret;
}

static long tracee;

static long raw(u64 request, u64 addr, u64 data)
{
    return sys_call4(SYS_ptrace, request, (u64)tracee, addr, data);
}

// A stopped child whose base of %gs is `base`; the page there is its own.
static void start(u64 base)
{
    int status;

    tracee = sys_call0(SYS_fork);
    if (tracee == 0) {
        if (base)
            sys_mmap(base, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0);
        sys_call2(SYS_arch_prctl, ARCH_SET_GS, base);
        if (base)
            *(u64 *)(base + TH_CLIENT_GS) = CLIENT;
        sys_call4(SYS_ptrace, TRACEME, 0, 0, 0);
        sys_tgkill(sys_getpid(), sys_gettid(), SIGSTOP);
        sys_exit_group(0);
    }
    assert_true(tracee > 0);
    assert_int_equal(sys_call4(SYS_wait4, (u64)tracee, (u64)&status, 0, 0), tracee);
    assert_int_equal(status, SIGSTOP << 8 | 0x7f);
}

static int stop(void **state)
{
    int status;

    (void)state;
    sys_tgkill((int)tracee, (int)tracee, SIGKILL);
    sys_call4(SYS_wait4, (u64)tracee, (u64)&status, 0, 0);
    return 0;
}

static int under_engine(void **state)
{
    (void)state;
    start(THREAD_AREA_BASE + THREAD_AREA_STRIDE);
    return 0;
}

// True: handled, with the result in `returned`.
static bool call(u64 request, u64 addr, u64 data)
{
    client.regs[R_RDI] = request;
    client.regs[R_RSI] = (u64)tracee;
    client.regs[R_RDX] = addr;
    client.regs[10] = data;
    returned = 99;
    return ptrace_call(&client);
}

static u64 block_base(void)
{
    u64 base = 0;

    assert_int_equal(raw(PEEKUSER, GS_BASE * 8, (u64)&base), 0);
    return base;
}

static void test_user(void **state)
{
    u64 base = 0;

    (void)state;
    assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&base));
    assert_int_equal(returned, 0);
    assert_int_equal(base, CLIENT);
    assert_true(call(POKEUSER, GS_BASE * 8, 0x7000));
    assert_int_equal(returned, 0);
    assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&base));
    assert_int_equal(base, 0x7000);
    // The highest address of user space, without its last page, and the next one
    assert_true(call(POKEUSER, GS_BASE * 8, (1ul << 47) - 4097));
    assert_int_equal(returned, 0);
    assert_true(call(POKEUSER, GS_BASE * 8, (1ul << 47) - 4096));
    assert_int_equal(returned, -EIO);
    assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&base));
    assert_int_equal(base, (1ul << 47) - 4097);
    assert_true(call(PEEKUSER, GS_BASE * 8, 8));
    assert_int_equal(returned, -EFAULT);
    // The engine's base has never changed.
    assert_int_equal(block_base(), THREAD_AREA_BASE + THREAD_AREA_STRIDE);
    // Other registers are left to the kernel.
    assert_false(call(PEEKUSER, (GS_BASE - 1) * 8, (u64)&base));
    assert_false(call(POKEUSER, (GS_BASE + 1) * 8, 0));
    assert_int_equal(returned, 99);
}

static void test_all(void **state)
{
    u64 plain[REGS], regs[REGS + 1] = { 0 };

    (void)state;
    assert_int_equal(raw(GETREGS, 0, (u64)plain), 0);
    regs[REGS] = 77;
    assert_true(call(GETREGS, 0, (u64)regs));
    assert_int_equal(returned, 0);
    assert_int_equal(plain[GS_BASE], THREAD_AREA_BASE + THREAD_AREA_STRIDE);
    assert_int_equal(regs[GS_BASE], CLIENT);
    assert_int_equal(regs[REGS], 77);
    plain[GS_BASE] = CLIENT;
    assert_memory_equal(regs, plain, sizeof(plain));

    regs[R15] = 0x1111;
    regs[GS_BASE] = 0x2000;
    assert_true(call(SETREGS, 0, (u64)regs));
    assert_int_equal(returned, 0);
    assert_int_equal(raw(GETREGS, 0, (u64)plain), 0);
    assert_int_equal(plain[R15], 0x1111);
    assert_int_equal(plain[GS_BASE], THREAD_AREA_BASE + THREAD_AREA_STRIDE);
    assert_true(call(GETREGS, 0, (u64)regs));
    assert_int_equal(regs[GS_BASE], 0x2000);
    // Refused: nothing has changed.
    regs[R15] = 0x3333;
    regs[GS_BASE] = 1ul << 47;
    assert_true(call(SETREGS, 0, (u64)regs));
    assert_int_equal(returned, -EIO);
    assert_true(call(SETREGS, 0, 8));
    assert_int_equal(returned, -EFAULT);
    assert_int_equal(raw(GETREGS, 0, (u64)plain), 0);
    assert_int_equal(plain[R15], 0x1111);
}

// As many registers as fit: the base is returned and set only if it is one of them.
static void test_some(void **state)
{
    u64 regs[REGS + 5] = { 0 };
    struct k_iovec v = { (u64)regs, sizeof(regs) };

    (void)state;
    assert_true(call(GETREGSET, NT_PRSTATUS, (u64)&v));
    assert_int_equal(returned, 0);
    assert_int_equal(v.len, REGS * 8); // the kernel says what there was
    assert_int_equal(regs[GS_BASE], CLIENT);
    assert_int_equal(regs[REGS], 0);
    for (u64 n = GS_BASE; n <= GS_BASE + 1; n++) {
        memset(regs, 0, sizeof(regs));
        v.len = n * 8;
        assert_true(call(GETREGSET, NT_PRSTATUS, (u64)&v));
        assert_int_equal(returned, 0);
        assert_int_equal(v.len, n * 8);
        assert_int_equal(regs[GS_BASE], n > GS_BASE ? CLIENT : 0);
    }
    regs[R15] = 0x4444;
    regs[GS_BASE] = 0x5000;
    v.len = GS_BASE * 8;
    assert_true(call(SETREGSET, NT_PRSTATUS, (u64)&v));
    assert_int_equal(returned, 0);
    u64 base;
    assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&base));
    assert_int_equal(base, CLIENT);
    v.len = (GS_BASE + 1) * 8;
    assert_true(call(SETREGSET, NT_PRSTATUS, (u64)&v));
    assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&base));
    assert_int_equal(base, 0x5000);
    v.len = sizeof(regs); // more than there are: those that there are
    assert_true(call(SETREGSET, NT_PRSTATUS, (u64)&v));
    assert_int_equal(returned, 0);
    v.len = 12;
    assert_true(call(SETREGSET, NT_PRSTATUS, (u64)&v));
    assert_int_equal(returned, -EINVAL);
    assert_int_equal(block_base(), THREAD_AREA_BASE + THREAD_AREA_STRIDE);
    assert_false(call(GETREGSET, NT_FPREGSET, (u64)&v));
    assert_false(call(GETREGSET, NT_PRSTATUS, 8));
}

static void test_not_ours(void **state)
{
    u64 word;

    (void)state;
    assert_false(call(PEEKDATA, (u64)&tracee, (u64)&word));
    assert_false(call(KILL, 0, 0));
    stop(NULL);
    // No block: below the areas, above them, between two, and no base at all
    static const u64 bases[] = { 0, THREAD_AREA_BASE - THREAD_AREA_STRIDE, THREAD_AREA_BASE + 4096,
                                 THREAD_AREA_BASE + 1120ul * THREAD_AREA_STRIDE };
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        start(bases[i]);
        assert_false(call(PEEKUSER, GS_BASE * 8, (u64)&word));
        assert_int_equal(block_base(), bases[i]);
        stop(NULL);
    }
    // The first and the last are.
    static const u64 blocks[] = { THREAD_AREA_BASE,
                                  THREAD_AREA_BASE + 1119ul * THREAD_AREA_STRIDE };
    for (size_t i = 0; i < 2; i++) {
        start(blocks[i]);
        assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&word));
        assert_int_equal(word, CLIENT);
        if (i == 0)
            stop(NULL);
    }
    stop(NULL);
    // A far block holds its own address.
    start(FAR);
    assert_false(call(PEEKUSER, GS_BASE * 8, (u64)&word));
    raw(POKEDATA, FAR + TH_SELF, FAR);
    assert_true(call(PEEKUSER, GS_BASE * 8, (u64)&word));
    assert_int_equal(word, CLIENT);
    // No such process: the kernel's error.
    long last = tracee;
    tracee = 0x3fffffff;
    assert_false(call(PEEKUSER, GS_BASE * 8, (u64)&word));
    tracee = last;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_user, under_engine, stop),
        cmocka_unit_test_setup_teardown(test_all, under_engine, stop),
        cmocka_unit_test_setup_teardown(test_some, under_engine, stop),
        cmocka_unit_test_setup_teardown(test_not_ours, under_engine, stop),
    };

    return cmocka_run_group_tests_name("syscalls/ptrace", tests, NULL, NULL);
}
