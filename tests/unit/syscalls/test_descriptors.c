// SPDX-License-Identifier: MIT
// engine/syscalls/descriptors.c: descriptors 803 and 805 are the engine's own. The kernel gets
// another number instead of them; for descriptors in memory the result is made here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sys.h"
#include "engine/spool/fds.h"
#include "engine/syscalls/descriptors.h"

// -- fakes --

static jmp_buf back;
static u64 gated[6];

u32 fds_window[3] = { 803, 805, 3 };

bool fds_is_ours(int fd)
{
    return fd == 803 || fd == 805;
}

u32 fds_sorted(u32 numbers[FDS_MAX])
{
    numbers[0] = 803;
    numbers[1] = 805;
    return 2;
}

void gate_return(struct thread *t, long ret)
{
    t->regs[R_RAX] = (u64)ret;
}

_Noreturn void gate_call(struct thread *t, const u64 args[6])
{
    (void)t;
    memcpy(gated, args, sizeof(gated));
    longjmp(back, 2);
}

// -- helpers of the tests --

enum { LEFT, HANDLED, GATED };

static struct thread thread, *const t = &thread;

static int call(u32 nr, u64 a, u64 b, u64 c, u64 d, u64 e)
{
    if (setjmp(back))
        return GATED;
    t->regs[R_RDI] = a;
    t->regs[R_RSI] = b;
    t->regs[R_RDX] = c;
    t->regs[10] = d;
    t->regs[8] = e;
    return descriptors_call(t, nr) ? HANDLED : LEFT;
}

static long result(void)
{
    return (long)t->regs[R_RAX];
}

#define CLOSED 0x7fffffff

static void test_arguments(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_read, 803, 1, 2, 3, 4), GATED);
    assert_int_equal(gated[0], CLOSED);
    assert_int_equal(gated[1], 1);
    assert_int_equal(gated[4], 4);
    assert_int_equal(call(SYS_read, 804, 803, 805, 803, 805), LEFT);
    assert_int_equal(call(SYS_read, 0x100000000 + 803, 0, 0, 0, 0), GATED); // the kernel cuts it
    assert_int_equal(call(SYS_getpid, 803, 803, 803, 803, 803), LEFT);
    assert_int_equal(call(511, 803, 803, 803, 803, 803), LEFT);
    assert_int_equal(call(70000, 803, 803, 803, 803, 803), LEFT);
    assert_int_equal(call(SYS_splice, 803, 0, 805, 0, 0), GATED);
    assert_int_equal(gated[0], CLOSED);
    assert_int_equal(gated[2], CLOSED);
    assert_int_equal(call(SYS_symlinkat, 803, 805, 0, 0, 0), GATED);
    assert_int_equal(gated[0], 803); // a name
    assert_int_equal(gated[1], CLOSED);
    assert_int_equal(call(SYS_epoll_ctl, 5, 1, 805, 0, 0), GATED);
    assert_int_equal(gated[2], CLOSED);
    assert_int_equal(call(SYS_dup2, 803, 805, 0, 0, 0), GATED);
    assert_int_equal(gated[1], 805); // is to become one, and is given up
    assert_int_equal(call(SYS_dup2, 1, 805, 0, 0, 0), LEFT);
}

// Arguments that are descriptors only in some cases.
static void test_conditions(void **state)
{
    (void)state;
    assert_int_equal(call(SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED, 803), GATED);
    assert_int_equal(gated[4], CLOSED);
    assert_int_equal(call(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 803), LEFT);
    assert_int_equal(call(SYS_ioctl, 5, FICLONE, 803, 0, 0), GATED);
    assert_int_equal(gated[2], CLOSED);
    assert_int_equal(call(SYS_ioctl, 5, FICLONE + 1, 803, 0, 0), LEFT);
    assert_int_equal(call(SYS_waitid, P_PIDFD, 803, 0, 0, 0), GATED);
    assert_int_equal(gated[1], CLOSED);
    assert_int_equal(call(SYS_waitid, 1, 803, 0, 0, 0), LEFT); // a process
    assert_int_equal(call(SYS_openat, 803, (u64) "x", 0, 0, 0), GATED);
    assert_int_equal(gated[0], CLOSED);
    assert_int_equal(call(SYS_openat, 803, (u64) "/x", 0, 0, 0), LEFT);
    assert_int_equal(call(SYS_execveat, 803, (u64) "", 0, 0, 0), GATED);
}

// kcmp: only descriptors of this process count.
static void test_compared(void **state)
{
    const u64 self = (u64)sys_getpid();

    (void)state;
    assert_int_equal(call(SYS_kcmp, self, self, 0, 803, 805), GATED);
    assert_int_equal(gated[3], CLOSED);
    assert_int_equal(gated[4], CLOSED);
    assert_int_equal(call(SYS_kcmp, 1, self, 0, 803, 805), GATED);
    assert_int_equal(gated[3], 803);
    assert_int_equal(gated[4], CLOSED);
    assert_int_equal(call(SYS_kcmp, self, 1, 7, 803, 805),
                     GATED); // an epoll descriptor; then an address
    assert_int_equal(gated[3], CLOSED);
    assert_int_equal(gated[4], 805);
    assert_int_equal(call(SYS_kcmp, self, self, 1, 803, 805), LEFT); // memory
    assert_int_equal(call(SYS_kcmp, self, self, 0, 802, 806), LEFT);
}

static void test_poll(void **state)
{
    struct k_pollfd p[40] = { [37] = { 803, POLLIN, 0 } };
    struct k_pollfd none = { 804, POLLIN, 0 };

    (void)state;
    for (int i = 0; i < 40; i++)
        p[i].fd = i == 37 ? 803 : -1;
    assert_int_equal(call(SYS_poll, (u64)p, 40, (u64)-1, 0, 0), HANDLED);
    assert_int_equal(result(), 1);
    assert_int_equal(p[37].revents, POLLNVAL);
    assert_int_equal(p[36].revents, 0);
    p[37].revents = 0;
    assert_int_equal(call(SYS_ppoll, (u64)p, 40, 0, 0, 0), HANDLED);
    assert_int_equal(result(), 1);
    assert_int_equal(call(SYS_poll, (u64)p, 37, 0, 0, 0), LEFT); // beyond the end
    assert_int_equal(call(SYS_poll, (u64)&none, 1, 0, 0, 0), LEFT);
}

static void test_select(void **state)
{
    static u8 set[128], other[128];

    (void)state;
    set[803 / 8] = 1 << 803 % 8;
    other[804 / 8] = 1 << 804 % 8;
    assert_int_equal(call(SYS_select, 804, (u64)set, 0, 0, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
    assert_int_equal(call(SYS_select, 803, (u64)set, 0, 0, 0), LEFT); // not asked for
    assert_int_equal(call(SYS_pselect6, 900, 0, 0, (u64)set, 0), HANDLED);
    assert_int_equal(call(SYS_pselect6, 900, (u64)other, (u64)other, (u64)other, 0), LEFT);
    assert_int_equal(call(SYS_select, (u64)-1, (u64)set, 0, 0, 0), LEFT);
}

struct message {
    u64 name, name_size, iov, iovs, control, control_size, flags;
    u64 len; // of struct mmsghdr
};

struct control {
    u64 size;
    s32 level, type;
    s32 fd[2];
};

static void test_messages(void **state)
{
    struct control two[2] = { { 20, SOL_SOCKET, 2, { 803, 0 } },
                              { 24, SOL_SOCKET, SCM_RIGHTS, { 1, 805 } } };
    struct message m[3] = { { 0 }, { 0 }, { .control = (u64)two, .control_size = sizeof(two) } };

    (void)state;
    assert_int_equal(call(SYS_sendmsg, 5, (u64)&m[0], 0, 0, 0), LEFT);
    assert_int_equal(call(SYS_sendmsg, 5, (u64)&m[2], 0, 0, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
    assert_int_equal(call(SYS_sendmmsg, 5, (u64)m, 3, 0, 0), GATED);
    assert_int_equal(gated[2], 2); // as many as the kernel sends before it
    assert_int_equal(call(SYS_sendmmsg, 5, (u64)m, 2, 0, 0), LEFT);
    assert_int_equal(call(SYS_sendmmsg, 5, (u64)&m[2], 1, 0, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
    two[1].size = 20; // only the first of the two
    assert_int_equal(call(SYS_sendmsg, 5, (u64)&m[2], 0, 0, 0), LEFT);
    two[1].size = 15; // no header
    assert_int_equal(call(SYS_sendmsg, 5, (u64)&m[2], 0, 0, 0), LEFT);
    two[1] = (struct control){ 4000, SOL_SOCKET, SCM_RIGHTS, { 1, 805 } }; // beyond the end
    assert_int_equal(call(SYS_sendmsg, 5, (u64)&m[2], 0, 0, 0), LEFT);
    two[0].size = 0; // no way on
    assert_int_equal(call(SYS_sendmsg, 5, (u64)&m[2], 0, 0, 0), LEFT);
}

static void test_submissions(void **state)
{
    struct {
        u64 data;
        u32 key, flags16;
        u16 op, prio;
        u32 fd;
        u64 buf, bytes, offset, reserved;
        u32 flags, resfd;
    } cb[2] = { { .fd = 5 }, { .fd = 5, .flags = 1, .resfd = 803 } };
    u64 list[2] = { (u64)&cb[0], (u64)&cb[1] };

    (void)state;
    assert_int_equal(sizeof(cb[0]), 64);
    assert_int_equal(call(SYS_io_submit, 0, 2, (u64)list, 0, 0), GATED);
    assert_int_equal(gated[1], 1);
    cb[1].flags = 0;
    assert_int_equal(call(SYS_io_submit, 0, 2, (u64)list, 0, 0), LEFT);
    cb[0].fd = 805;
    assert_int_equal(call(SYS_io_submit, 0, 2, (u64)list, 0, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
}

static void test_registers(void **state)
{
    s32 files[3] = { 1, -1, 805 };
    u64 update[2] = { 0, (u64)files };
    struct {
        u32 nr, flags;
        u64 reserved, data, tags;
    } files2 = { 3, 0, 0, (u64)files, 0 };
    struct {
        u32 offset, pad;
        u64 data, tags;
        u32 nr, pad2;
    } update2 = { 0, 0, (u64)files, 0, 3, 0 };
    struct {
        u64 rights;
        s32 parent;
    } rule = { 1, 803 };

    (void)state;
    assert_int_equal(call(SYS_io_uring_register, 5, 2, (u64)files, 3, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
    assert_int_equal(call(SYS_io_uring_register, 5, 2, (u64)files, 2, 0), LEFT);
    assert_int_equal(call(SYS_io_uring_register, 5, 6, (u64)update, 3, 0), HANDLED);
    assert_int_equal(call(SYS_io_uring_register, 5, 4, (u64)&files[2], 1, 0), HANDLED);
    assert_int_equal(call(SYS_io_uring_register, 5, 13, (u64)&files2, sizeof(files2), 0), HANDLED);
    assert_int_equal(call(SYS_io_uring_register, 5, 14, (u64)&update2, sizeof(update2), 0),
                     HANDLED);
    assert_int_equal(call(SYS_io_uring_register, 0, 2 | 1u << 31, (u64)files, 3, 0), HANDLED);
    assert_int_equal(call(SYS_io_uring_register, 805, 0, 0, 0, 0), GATED);
    assert_int_equal(call(SYS_landlock_add_rule, 5, 1, (u64)&rule, 0, 0), HANDLED);
    assert_int_equal(result(), -EBADF);
    assert_int_equal(call(SYS_landlock_add_rule, 5, 2, (u64)&rule, 0, 0), LEFT);
}

// Which calls leave the fast gate, and for which arguments.
static void test_table(void **state)
{
    static u8 table[GATE_CALLS];

    (void)state;
    table[SYS_openat] = GATE_SLOW;
    descriptors_init(table);
    assert_int_equal(table[SYS_getppid], GATE_FAST);
    assert_int_equal(table[SYS_read], GATE_FD);
    assert_int_equal(table[SYS_splice], GATE_FDS);
    assert_int_equal(table[SYS_symlinkat], GATE_FDS);
    assert_int_equal(table[SYS_fsconfig], GATE_SLOW); // the fifth
    assert_int_equal(table[SYS_kcmp], GATE_SLOW);
    assert_int_equal(table[SYS_dup2], GATE_FDS);
    assert_int_equal(table[SYS_select], GATE_SLOW);
    assert_int_equal(table[SYS_landlock_add_rule], GATE_SLOW);
    assert_int_equal(table[SYS_sendmsg], GATE_MESSAGE);
    assert_int_equal(table[SYS_poll], GATE_POLL);
    assert_int_equal(table[SYS_fcntl], GATE_FCNTL);
    assert_int_equal(table[SYS_openat], GATE_SLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),   cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_compared),    cmocka_unit_test(test_poll),
        cmocka_unit_test(test_select),      cmocka_unit_test(test_messages),
        cmocka_unit_test(test_submissions), cmocka_unit_test(test_registers),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
