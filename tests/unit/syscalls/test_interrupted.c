// SPDX-License-Identifier: MIT
// engine/syscalls/interrupted.c: the rest of a call that was cut short, for each call, on
// descriptors of the kernel; and the calls that are not continued, since their result may be
// partial natively. tests/guest/711-cut-calls tests that the parts do the same as the whole call.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/sys.h"
#include "engine/syscalls/interrupted.h"

#define AF_UNIX_     1
#define STREAM       1
#define DATAGRAM     2
#define MSG_PEEK     0x2
#define MSG_DONTWAIT 0x40
#define MSG_WAITALL  0x100
#define MSG_NOSIGNAL 0x4000
#define WAITFORONE   0x10000
#define MSG_ZEROCOPY 0x4000000
#define NONBLOCK     2 // of splice()

static struct thread_own own;
static struct thread thread = { .own = &own };
static struct thread *const t = &thread;
static const u32 reg[] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };
static const char bad[1]; // memory that is not there

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    if (gaddr == (u64)bad)
        return -EFAULT;
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

int clientmem_read_u32(u64 gaddr, u32 *value)
{
    return clientmem_read(value, gaddr, sizeof(*value));
}

int clientmem_write_u32(u64 gaddr, u32 value)
{
    memcpy((void *)gaddr, &value, sizeof(value));
    return 0;
}

// -- helpers of the tests --

static int setup(void **state)
{
    (void)state;
    memset(&own, 0, sizeof(own));
    memset(thread.regs, 0, sizeof(thread.regs));
    own.again = AGAIN_CUT;
    return 0;
}

static u64 arg(u32 i)
{
    return t->regs[reg[i]];
}

// The call was made, and is cut when it has done so much. Is there a rest?
static bool cut(u32 nr, s64 done, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    u64 args[] = { a, b, c, d, e, f };

    own.cut.begun = false;
    for (int i = 0; i < 6; i++)
        t->regs[reg[i]] = args[i];
    t->regs[R_RAX] = nr;
    own.cut.result = done;
    own.cut.broken = true;
    return interrupted_next(t);
}

// A part has ended, by itself or cut short.
static bool then(s64 result, bool broken)
{
    own.cut.result = result;
    own.cut.broken = broken;
    return interrupted_next(t);
}

// There is no rest; the arguments are those of the call.
static void over(s64 done, u64 a, u64 b, u64 c)
{
    assert_int_equal(interrupted_result(t), done);
    assert_false(own.cut.begun);
    assert_int_equal(arg(0), a);
    assert_int_equal(arg(1), b);
    assert_int_equal(arg(2), c);
}

static void is(u32 nr, u64 a, u64 b, u64 c)
{
    assert_int_equal(t->regs[R_RAX], nr);
    assert_int_equal(arg(0), a);
    assert_int_equal(arg(1), b);
    assert_int_equal(arg(2), c);
}

static int ends[2];

static u64 made(u32 family, u32 type)
{
    assert_int_equal(family ? sys_call4(SYS_socketpair, family, type, 0, (u64)ends)
                            : sys_call2(SYS_pipe2, (u64)ends, 0),
                     0);
    return (u64)ends[1];
}

static void close_ends(void)
{
    sys_close(ends[0]);
    sys_close(ends[1]);
}

static void do_not_block(int fd)
{
    assert_int_equal(sys_fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK), 0);
}

// One buffer: the bytes after those that were done. A part that is cut short has a rest; one that
// ended by itself and is incomplete ends the call.
static void test_write(void **state)
{
    u64 fd = made(0, 0);

    (void)state;
    assert_true(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    is(SYS_write, fd, 0x100a, 90);
    assert_true(then(30, true));
    is(SYS_write, fd, 0x1028, 60);
    assert_false(then(60, false));
    over(100, fd, 0x1000, 100);
    assert_true(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    assert_false(then(-EPIPE, false));
    over(10, fd, 0x1000, 100);
    assert_true(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    assert_false(then(20, false));
    over(30, fd, 0x1000, 100);
    // It was complete; or it did the maximum of one call.
    assert_false(cut(SYS_write, 100, fd, 0x1000, 100, 0, 0, 0));
    over(100, fd, 0x1000, 100);
    assert_false(cut(SYS_write, 0x7ffff000, fd, 0x1000, 1ul << 40, 0, 0, 0));
    assert_true(cut(SYS_write, 0x7fffefff, fd, 0x1000, 1ul << 40, 0, 0, 0));
    assert_int_equal(arg(2), 1);
    do_not_block(ends[1]);
    assert_false(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    over(10, fd, 0x1000, 100);
    close_ends();
    assert_false(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0)); // closed meanwhile
    fd = made(AF_UNIX_, STREAM);
    assert_true(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    close_ends();
    fd = made(AF_UNIX_, DATAGRAM);
    assert_false(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    close_ends();
    fd = (u64)sys_call2(SYS_memfd_create, (u64) "f", 0);
    assert_false(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0)); // a limit sends a signal
    sys_close((int)fd);
    fd = (u64)sys_open("/dev/urandom", O_WRONLY, 0);
    assert_true(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    sys_close((int)fd);
}

// Several buffers: the rest of the half-done one, then one by one.
static void test_buffers(void **state)
{
    u64 iov[][2] = { { 0x1000, 5 }, { 0x2000, 0 }, { 0x3000, 20 }, { 0x4000, 7 } };
    u64 fd = made(0, 0), at = (u64)iov, mine = (u64)own.cut.iov;

    (void)state;
    assert_true(cut(SYS_writev, 12, fd, at, 4, 0, 0, 0));
    is(SYS_writev, fd, mine, 1);
    assert_int_equal(own.cut.iov[0], 0x3007);
    assert_int_equal(own.cut.iov[1], 13);
    assert_true(then(13, false));
    is(SYS_writev, fd, mine, 1);
    assert_int_equal(own.cut.iov[0], 0x4000);
    assert_int_equal(own.cut.iov[1], 7);
    assert_false(then(7, false));
    over(32, fd, at, 4);
    assert_true(cut(SYS_writev, 5, fd, at, 4, 0, 0, 0)); // between two
    assert_int_equal(own.cut.iov[0], 0x3000);
    assert_int_equal(own.cut.iov[1], 20);
    assert_false(cut(SYS_writev, 5, fd, (u64)bad, 4, 0, 0, 0)); // gone meanwhile
    over(5, fd, (u64)bad, 4);
    assert_true(cut(SYS_pwritev2, 5, fd, at, 4, ~0ul, ~0ul, 0));
    assert_int_equal(arg(3), ~0ul);
    assert_false(cut(SYS_pwritev2, 5, fd, at, 4, 0, 0, 0));
    assert_false(cut(SYS_pwritev2, 5, fd, at, 4, ~0ul, ~0ul, 8)); // RWF_NOWAIT
    iov[3][1] = 1ul << 31;
    assert_false(cut(SYS_writev, 5, fd, at, 4, 0, 0, 0));
    close_ends();
}

// A device that returns as much as requested, and files; not pipes, which return what they have.
static void test_read(void **state)
{
    u64 iov[][2] = { { 0x1000, 5 }, { 0x3000, 20 } };
    u64 fd = (u64)sys_open("/dev/zero", O_RDONLY, 0);

    (void)state;
    assert_true(cut(SYS_read, 10, fd, 0x1000, 100, 0, 0, 0));
    is(SYS_read, fd, 0x100a, 90);
    assert_true(cut(SYS_pread64, 10, fd, 0x1000, 100, 7, 0, 0));
    is(SYS_pread64, fd, 0x100a, 90);
    assert_int_equal(arg(3), 17);
    assert_true(cut(SYS_readv, 6, fd, (u64)iov, 2, 33, 0, 0));
    assert_int_equal(own.cut.iov[0], 0x3001);
    assert_int_equal(arg(3), 33);
    assert_true(cut(SYS_preadv, 6, fd, (u64)iov, 2, 7, 0, 0));
    assert_int_equal(arg(3), 13);
    assert_true(cut(SYS_preadv2, 6, fd, (u64)iov, 2, 7, 0, 0));
    assert_int_equal(arg(3), 13);
    assert_true(cut(SYS_preadv2, 6, fd, (u64)iov, 2, ~0ul, ~0ul, 0));
    assert_int_equal(arg(3), ~0ul);
    assert_false(cut(SYS_preadv2, 6, fd, (u64)iov, 2, 7, 0, 8));
    sys_close((int)fd);
    fd = (u64)sys_call2(SYS_memfd_create, (u64) "f", 0);
    assert_true(cut(SYS_read, 10, fd, 0x1000, 100, 0, 0, 0));
    sys_close((int)fd);
    made(0, 0);
    assert_false(cut(SYS_read, 10, (u64)ends[0], 0x1000, 100, 0, 0, 0));
    close_ends();
}

static void test_send(void **state)
{
    u64 iov[][2] = { { 0x1000, 5 }, { 0x3000, 20 } };
    u64 msg[7] = { 0x99, 8, (u64)iov, 2, 0x98, 16, 0 }, *mine = own.cut.message;
    u64 fd = made(AF_UNIX_, STREAM);

    (void)state;
    assert_true(cut(SYS_sendto, 10, fd, 0x1000, 100, MSG_ZEROCOPY | 1, 0x99, 8));
    is(SYS_sendto, fd, 0x100a, 90);
    assert_int_equal(arg(3), MSG_NOSIGNAL | 1);
    assert_int_equal(arg(4), 0);
    assert_int_equal(arg(5), 0);
    assert_false(cut(SYS_sendto, 10, fd, 0x1000, 100, MSG_DONTWAIT, 0, 0));
    // Neither the address nor ancillary data is sent again.
    assert_true(cut(SYS_sendmsg, 7, fd, (u64)msg, 0, 0, 0, 0));
    is(SYS_sendmsg, fd, (u64)mine, MSG_NOSIGNAL);
    assert_int_equal(mine[2], (u64)own.cut.iov);
    assert_int_equal(mine[3], 1);
    assert_true(!mine[0] && !mine[1] && !mine[4] && !mine[5] && !mine[6]);
    assert_int_equal(own.cut.iov[0], 0x3002);
    assert_false(then(18, false));
    over(25, fd, (u64)msg, 0);
    assert_false(cut(SYS_sendmsg, 7, fd, (u64)msg, MSG_DONTWAIT, 0, 0, 0));
    assert_false(cut(SYS_sendmsg, 7, fd, (u64)bad, 0, 0, 0, 0));
    close_ends();
}

// Messages: the last one that was begun, then the others. Its length is added in the client's
// memory.
static void test_messages(void **state)
{
    u64 iov[][2] = { { 0x1000, 5 }, { 0x3000, 20 } };
    u64 all[3][8], *mine = own.cut.message, fd = made(AF_UNIX_, STREAM);

    (void)state;
    memset(all, 0, sizeof(all));
    for (int i = 0; i < 3; i++) {
        all[i][2] = (u64)iov;
        all[i][3] = 2;
        all[i][7] = 25;
    }
    all[1][7] = 4;
    assert_true(cut(SYS_sendmmsg, 2, fd, (u64)all, 3, 0, 0, 0));
    is(SYS_sendmmsg, fd, (u64)mine, 1);
    assert_int_equal(arg(3), MSG_NOSIGNAL);
    assert_int_equal(own.cut.iov[0], 0x1004);
    assert_int_equal(own.cut.iov[1], 1);
    mine[7] = 1;
    assert_true(then(1, false));
    assert_int_equal(all[1][7], 5);
    is(SYS_sendmmsg, fd, (u64)mine, 1);
    assert_int_equal(own.cut.iov[1], 20);
    mine[7] = 3;
    assert_true(then(1, true));
    assert_int_equal(all[1][7], 8);
    assert_int_equal(own.cut.iov[0], 0x3003);
    mine[7] = 17;
    assert_true(then(1, false));
    assert_int_equal(all[1][7], 25);
    is(SYS_sendmmsg, fd, (u64)all[2], 1);
    assert_false(then(1, false));
    over(3, fd, (u64)all, 3);
    all[1][7] = 4;
    assert_true(cut(SYS_sendmmsg, 2, fd, (u64)all, 3, 0, 0, 0));
    assert_false(then(-EPIPE, false));
    over(2, fd, (u64)all, 3);
    assert_false(cut(SYS_sendmmsg, 3, fd, (u64)all, 3, 0, 0, 0));
    assert_false(cut(SYS_sendmmsg, 2, fd, (u64)all, 3, MSG_DONTWAIT, 0, 0));
    do_not_block(ends[1]);
    assert_false(cut(SYS_sendmmsg, 2, fd, (u64)all, 3, 0, 0, 0));
    close_ends();
}

static void test_receive_messages(void **state)
{
    u64 fd = made(AF_UNIX_, DATAGRAM);
    s64 left[2] = { 0, 5 };

    (void)state;
    assert_true(cut(SYS_recvmmsg, 2, fd, 0x1000, 5, 0, 0, 0));
    is(SYS_recvmmsg, fd, 0x1080, 3);
    // The kernel reports to the next call that a signal has ended one.
    assert_true(then(-ERESTARTSYS, false));
    is(SYS_recvmmsg, fd, 0x1080, 3);
    assert_true(then(-EINTR, false));
    assert_true(then(1, true));
    is(SYS_recvmmsg, fd, 0x10c0, 2);
    assert_false(then(-EAGAIN, false));
    over(3, fd, 0x1000, 5);
    assert_true(cut(SYS_recvmmsg, 2, fd, 0x1000, 5, 0, (u64)left, 0));
    assert_int_equal(arg(4), (u64)left);
    left[1] = 0; // its time is over
    assert_false(cut(SYS_recvmmsg, 2, fd, 0x1000, 5, 0, (u64)left, 0));
    assert_false(cut(SYS_recvmmsg, 2, fd, 0x1000, 5, WAITFORONE, 0, 0));
    assert_false(cut(SYS_recvmmsg, 2, fd, 0x1000, 5, MSG_DONTWAIT, 0, 0));
    assert_false(cut(SYS_recvmmsg, 5, fd, 0x1000, 5, 0, 0, 0));
    do_not_block(ends[1]);
    assert_false(cut(SYS_recvmmsg, 2, fd, 0x1000, 5, 0, 0, 0));
    close_ends();
}

static void test_receive(void **state)
{
    u64 iov[][2] = { { 0x1000, 5 }, { 0x3000, 20 } };
    u64 msg[7] = { 0, 0, (u64)iov, 2, 0, 0, 0 };
    u64 fd = made(AF_UNIX_, STREAM);
    u32 low = 50;

    (void)state;
    assert_true(cut(SYS_recvfrom, 10, fd, 0x1000, 100, MSG_WAITALL, 0x99, 0x98));
    is(SYS_recvfrom, fd, 0x100a, 90);
    assert_int_equal(arg(3), MSG_WAITALL);
    assert_int_equal(arg(4), 0);
    assert_false(cut(SYS_recvfrom, 10, fd, 0x1000, 100, MSG_WAITALL | MSG_DONTWAIT, 0, 0));
    assert_false(cut(SYS_recvfrom, 10, fd, 0x1000, 100, 0, 0, 0)); // what was there
    // Peeked data stays.
    assert_true(cut(SYS_recvfrom, 10, fd, 0x1000, 100, MSG_WAITALL | MSG_PEEK, 0, 0));
    is(SYS_recvfrom, fd, 0x1000, 100);
    assert_true(then(12, true));
    is(SYS_recvfrom, fd, 0x1000, 100);
    assert_false(then(-EINTR, false));
    over(12, fd, 0x1000, 100);
    assert_true(cut(SYS_recvmsg, 7, fd, (u64)msg, MSG_WAITALL, 0, 0, 0));
    is(SYS_recvmsg, fd, (u64)own.cut.message, MSG_WAITALL);
    assert_int_equal(own.cut.iov[0], 0x3002);
    msg[4] = 0x99; // descriptors may come with the bytes
    assert_false(cut(SYS_recvmsg, 7, fd, (u64)msg, MSG_WAITALL, 0, 0, 0));
    // At least that much, and more if available.
    assert_int_equal(sys_call5(SYS_setsockopt, fd, 1, 18, (u64)&low, sizeof(low)), 0);
    assert_true(cut(SYS_read, 10, fd, 0x1000, 100, 0, 0, 0));
    is(SYS_read, fd, 0x100a, 40);
    assert_int_equal(sys_write(ends[0], "1234567", 7), 7);
    assert_true(then(40, false));
    is(SYS_read, fd, 0x1032, 7);
    assert_int_equal(sys_read((int)fd, msg, 7), 7);
    assert_false(then(7, false));
    over(57, fd, 0x1000, 100);
    assert_int_equal(sys_write(ends[0], "1", 1), 1);
    assert_false(cut(SYS_read, 50, fd, 0x1000, 100, 0, 0, 0)); // it had that: no signal cut it
    close_ends();
    fd = made(AF_UNIX_, DATAGRAM);
    assert_false(cut(SYS_recvfrom, 10, fd, 0x1000, 100, MSG_WAITALL, 0, 0));
    close_ends();
}

// A terminal returns what it has, unless it was set to wait for more.
static void test_terminal(void **state)
{
    struct {
        u32 flags[4];
        u8 line, cc[19];
    } mode;
    u32 zero = 0;
    u64 master = (u64)sys_open("/dev/ptmx", O_RDWR, 0), fd;

    (void)state;
    assert_int_equal(sys_call3(SYS_ioctl, master, 0x40045431, (u64)&zero), 0); // TIOCSPTLCK
    fd = (u64)sys_call3(SYS_ioctl, master, 0x5441, O_RDWR | 0400);             // TIOCGPTPEER
    assert_false(sys_failed((long)fd));
    assert_true(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    assert_false(cut(SYS_read, 10, fd, 0x1000, 100, 0, 0, 0)); // lines
    assert_int_equal(sys_call3(SYS_ioctl, fd, 0x5401, (u64)&mode), 0);
    mode.flags[3] &= ~2u; // ICANON
    mode.cc[5] = 0;
    mode.cc[6] = 50;
    assert_int_equal(sys_call3(SYS_ioctl, fd, 0x5402, (u64)&mode), 0);
    assert_true(cut(SYS_read, 10, fd, 0x1000, 100, 0, 0, 0));
    is(SYS_read, fd, 0x100a, 40);
    mode.cc[5] = 1; // or for a time
    assert_int_equal(sys_call3(SYS_ioctl, fd, 0x5402, (u64)&mode), 0);
    assert_false(cut(SYS_read, 10, fd, 0x1000, 100, 0, 0, 0));
    do_not_block((int)fd);
    assert_false(cut(SYS_write, 10, fd, 0x1000, 100, 0, 0, 0));
    sys_close((int)fd);
    sys_close((int)master);
}

static void test_copies(void **state)
{
    u64 iov[][2] = { { 0x1000, 5 }, { 0x3000, 20 } };
    u64 file = (u64)sys_call2(SYS_memfd_create, (u64) "f", 0), to;
    int in[2];

    (void)state;
    assert_int_equal(sys_call2(SYS_pipe2, (u64)in, 0), 0);
    to = made(AF_UNIX_, STREAM);
    assert_true(cut(SYS_sendfile, 10, to, file, 0x99, 100, 0, 0));
    is(SYS_sendfile, to, file, 0x99);
    assert_int_equal(arg(3), 90);
    assert_false(cut(SYS_sendfile, 100, to, file, 0x99, 100, 0, 0));
    assert_true(cut(SYS_sendfile, 10, file, file, 0x99, 100, 0, 0));
    assert_false(cut(SYS_sendfile, 10, (u64)in[1], file, 0x99, 100, 0, 0)); // as much as fits
    assert_true(cut(SYS_copy_file_range, 10, file, 0x99, file, 0x98, 100, 0));
    is(SYS_copy_file_range, file, 0x99, file);
    assert_int_equal(arg(4), 90);
    // An empty pipe ends it.
    assert_true(cut(SYS_splice, 10, (u64)in[0], 0, to, 0, 100, 4));
    is(SYS_splice, (u64)in[0], 0, to);
    assert_int_equal(arg(4), 90);
    assert_int_equal(arg(5), NONBLOCK | 4);
    assert_false(cut(SYS_splice, 10, file, 0, (u64)in[1], 0, 100, 0));
    assert_true(cut(SYS_vmsplice, 7, (u64)in[0], (u64)iov, 2, 0, 0, 0));
    assert_int_equal(own.cut.iov[0], 0x3002);
    assert_int_equal(arg(3), NONBLOCK);
    assert_false(cut(SYS_vmsplice, 7, (u64)in[1], (u64)iov, 2, 0, 0, 0));
    do_not_block(ends[1]);
    assert_false(cut(SYS_sendfile, 10, to, file, 0x99, 100, 0, 0));
    assert_false(cut(SYS_splice, 10, (u64)in[0], 0, to, 0, 100, 0));
    close_ends();
    sys_close(in[0]);
    sys_close(in[1]);
    sys_close((int)file);
}

static void test_others(void **state)
{
    (void)state;
    assert_true(cut(SYS_getrandom, 10, 0x1000, 100, 3, 0, 0, 0));
    is(SYS_getrandom, 0x100a, 90, 3);
    assert_false(then(90, false));
    over(100, 0x1000, 100, 3);
    assert_true(cut(SYS_getdents64, 48, 3, 0x1000, 100, 0, 0, 0));
    is(SYS_getdents64, 3, 0x1030, 52);
    assert_false(then(-EINVAL, false)); // no space for one more
    over(48, 3, 0x1000, 100);
    assert_true(cut(SYS_getdents, 48, 3, 0x1000, 100, 0, 0, 0));
    // Not a call that got as many as it waited for.
    assert_true(cut(SYS_io_getevents, 2, 7, 5, 8, 0x1000, 0x99, 0));
    is(SYS_io_getevents, 7, 3, 6);
    assert_int_equal(arg(3), 0x1040);
    assert_int_equal(arg(4), 0x99);
    assert_false(then(0, false)); // its time was over
    over(2, 7, 5, 8);
    assert_false(cut(SYS_io_pgetevents, 5, 7, 5, 8, 0x1000, 0x99, 0));
    assert_true(cut(SYS_io_pgetevents, 4, 7, 5, 8, 0x1000, 0x99, 0));
    assert_false(then(3, false));
    over(7, 7, 5, 8);
    // Calls that are not in the table, whatever their result.
    assert_false(cut(SYS_mmap, 0x7f0000001000, 1, 2, 3, 4, 5, 6));
    over(0x7f0000001000, 1, 2, 3);
}

// Everything is submitted; the result of the wait is not the call's result.
static void test_uring(void **state)
{
    (void)state;
    assert_true(cut(SYS_io_uring_enter, 64, 3, 64, 10, 1 | 8, 0x99, 24));
    is(SYS_io_uring_enter, 3, 0, 10);
    assert_int_equal(arg(3), 1 | 8);
    assert_int_equal(arg(4), 0x99);
    assert_int_equal(arg(5), 24);
    assert_false(then(0, false));
    over(64, 3, 64, 10);
    assert_true(cut(SYS_io_uring_enter, 64, 3, 64, 10, 1, 0, 8));
    assert_false(then(-62, false)); // ETIME
    over(64, 3, 64, 10);
    // It does not wait, or had not submitted everything.
    assert_false(cut(SYS_io_uring_enter, 64, 3, 64, 10, 0, 0, 8));
    assert_false(cut(SYS_io_uring_enter, 64, 3, 64, 0, 1, 0, 8));
    assert_false(cut(SYS_io_uring_enter, 63, 3, 64, 10, 1, 0, 8));
    over(63, 3, 64, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_write, setup),
        cmocka_unit_test_setup(test_buffers, setup),
        cmocka_unit_test_setup(test_read, setup),
        cmocka_unit_test_setup(test_send, setup),
        cmocka_unit_test_setup(test_messages, setup),
        cmocka_unit_test_setup(test_receive_messages, setup),
        cmocka_unit_test_setup(test_receive, setup),
        cmocka_unit_test_setup(test_terminal, setup),
        cmocka_unit_test_setup(test_copies, setup),
        cmocka_unit_test_setup(test_others, setup),
        cmocka_unit_test_setup(test_uring, setup),
    };

    return cmocka_run_group_tests_name("syscalls/interrupted", tests, NULL, NULL);
}
