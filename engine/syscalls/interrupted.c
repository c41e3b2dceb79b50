// SPDX-License-Identifier: MIT
// Makes the rest of calls that were cut short (interrupted.h). The table has each call that checks
// for signals and then returns a partial result, by its manual page or by observation
// (docs/design/044). A call whose result could be partial natively, too, is not continued: a call
// on a descriptor that does not block, a read from a pipe.
//
// For a call on several buffers a part is one buffer: the first may be half done, and the client's
// list must not change.
#include "engine/syscalls/interrupted.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"

#define AT_ONCE_MAX 0x7ffff000ul // bytes; the kernel's MAX_RW_COUNT
#define IOV_MAX     1024

#define S_IFIFO     0x1000 // include/uapi/linux/stat.h
#define S_IFCHR     0x2000
#define S_IFSOCK    0xc000
#define MEM_MAJOR   1 // /dev/zero, /dev/urandom and similar
#define TCGETS      0x5401
#define ICANON      0x2
#define VTIME       5
#define VMIN        6
#define FIONREAD    0x541b
#define SIOCATMARK  0x8905
#define SOL_SOCKET  1
#define SO_TYPE     3
#define SO_RCVLOWAT 18
#define SO_DOMAIN   39
#define SOCK_STREAM 1
#define AF_UNIX     1

#define MSG_PEEK       0x2
#define MSG_DONTWAIT   0x40
#define MSG_WAITALL    0x100
#define MSG_NOSIGNAL   0x4000
#define MSG_WAITFORONE 0x10000
#define MSG_ZEROCOPY   0x4000000
#define MSG_FASTOPEN   0x20000000

#define RWF_NOWAIT        0x8
#define SPLICE_F_NONBLOCK 0x2
#define IORING_GETEVENTS  0x1
#define IO_EVENT          32 // bytes of struct io_event

// struct msghdr in words, and struct mmsghdr
enum { MSG_IOV = 2, MSG_IOVLEN, MSG_CONTROL, MSG_WORDS = 7, MMSG_LEN = 7, MMSG_WORDS };

static const u8 reg[6] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };

static void ask(struct thread *t, u32 arg, u64 value)
{
    t->regs[reg[arg]] = value;
}

static u64 least(u64 a, u64 b)
{
    return a < b ? a : b;
}

// ---- Kinds of descriptors ----

static u32 kind(u64 fd, u32 *major)
{
    struct k_stat st;

    if (sys_fstat((int)fd, &st))
        return 0;
    *major = (u32)(st.st_rdev >> 8 & 0xfff);
    return st.st_mode & S_IFMT;
}

static bool blocks(u64 fd)
{
    long flags = sys_fcntl((int)fd, F_GETFL, 0);

    return flags >= 0 && !(flags & O_NONBLOCK);
}

static u32 socket_says(u64 fd, u64 what)
{
    u32 value = 0, size = sizeof(value);

    return sys_call5(SYS_getsockopt, fd, SOL_SOCKET, what, (u64)&value, (u64)&size) ? 0 : value;
}

struct terminal {
    u32 iflag, oflag, cflag, lflag;
    u8 line, cc[19];
};

static bool is_terminal(u64 fd, struct terminal *mode)
{
    return sys_call3(SYS_ioctl, fd, TCGETS, (u64)mode) == 0;
}

// How many of the requested bytes a call waits for; 0: not known.
static u64 to_write(u64 fd, u64 asked)
{
    struct terminal mode;
    u32 major = 0;

    switch (kind(fd, &major)) {
    case S_IFIFO: return blocks(fd) ? asked : 0;
    case S_IFSOCK: return blocks(fd) && socket_says(fd, SO_TYPE) == SOCK_STREAM ? asked : 0;
    case S_IFCHR:
        if (major == MEM_MAJOR)
            return asked;
        return is_terminal(fd, &mode) && blocks(fd) ? asked : 0;
    default: return 0; // files: only a fatal signal interrupts; a limit sends one
    }
}

// For a call that waits for `few` bytes and takes more if available. If it got those, no signal has
// cut it.
static u64 at_least(const struct thread_cut *c, u64 few, u64 asked)
{
    s32 there = 0;

    if (!c->part && c->done >= few)
        return 0;
    if (c->done >= few && sys_call3(SYS_ioctl, c->args[0], FIONREAD, (u64)&there))
        return 0;
    return least(c->done < few ? few : c->done + (u32)there, asked);
}

static u64 to_receive(const struct thread_cut *c, u64 asked, u64 flags)
{
    u64 fd = c->args[0];
    s32 at_mark = 0;

    if ((flags & MSG_DONTWAIT) || !blocks(fd) || socket_says(fd, SO_TYPE) != SOCK_STREAM)
        return 0;
    if (sys_call3(SYS_ioctl, fd, SIOCATMARK, (u64)&at_mark) == 0 && at_mark)
        return 0; // it ends there
    return at_least(c, flags & MSG_WAITALL ? asked : socket_says(fd, SO_RCVLOWAT), asked);
}

static u64 to_read(const struct thread_cut *c, u64 asked)
{
    u64 fd = c->args[0];
    struct terminal mode;
    u32 major = 0;

    switch (kind(fd, &major)) {
    case S_IFREG: return asked; // FUSE
    case S_IFSOCK: return to_receive(c, asked, 0);
    case S_IFCHR:
        if (major == MEM_MAJOR)
            return asked;
        if (!is_terminal(fd, &mode) || (mode.lflag & ICANON) || mode.cc[VTIME] || !blocks(fd))
            return 0;
        return at_least(c, mode.cc[VMIN], asked);
    default: return 0;
    }
}

// ---- Buffers ----

// Sets c->iov to the rest of the buffer at offset `skip` of a list. Returns the bytes of the whole
// list, or 0.
static u64 find_buffer(struct thread_cut *c, u64 list, u64 count, u64 skip)
{
    u64 all = 0, iov[2];

    c->iov[1] = 0;
    for (u64 i = 0; i < count; i++) {
        if (i == IOV_MAX || clientmem_read(iov, list + i * sizeof(iov), sizeof(iov)) ||
            iov[1] > AT_ONCE_MAX)
            return 0;
        all += iov[1];
        if (all > skip && !c->iov[1]) {
            c->iov[1] = all - skip;
            c->iov[0] = iov[0] + iov[1] - c->iov[1];
        }
    }
    return all > AT_ONCE_MAX ? 0 : all;
}

// The next part of one buffer with `whole` bytes to transfer.
static u64 bytes(struct thread *t, u32 arg, u64 whole)
{
    struct thread_cut *c = &thread_own(t)->cut;

    if (whole <= c->done)
        return 0;
    ask(t, arg, c->args[arg] + c->done);
    ask(t, arg + 1, whole - c->done);
    return whole - c->done;
}

// The same for c->iov.
static u64 buffer(struct thread *t, u32 arg, u64 whole)
{
    struct thread_cut *c = &thread_own(t)->cut;

    if (whole <= c->done)
        return 0;
    c->iov[1] = least(c->iov[1], whole - c->done);
    ask(t, arg, (u64)c->iov);
    ask(t, arg + 1, 1);
    return c->iov[1];
}

static void make_message(struct thread_cut *c)
{
    memset(c->message, 0, sizeof(c->message));
    c->message[MSG_IOV] = (u64)c->iov;
    c->message[MSG_IOVLEN] = 1;
}

// The same in a message. Ancillary data was sent with the first bytes.
static u64 message(struct thread *t, u64 whole)
{
    struct thread_cut *c = &thread_own(t)->cut;

    if (whole <= c->done)
        return 0;
    c->iov[1] = least(c->iov[1], whole - c->done);
    make_message(c);
    ask(t, 1, (u64)c->message);
    return c->iov[1];
}

static u64 flags_to_send(u64 flags)
{
    return (flags & ~(u64)(MSG_FASTOPEN | MSG_ZEROCOPY)) | MSG_NOSIGNAL;
}

// ---- The calls, by their arguments: each returns the size of the next part; 0: there is none

static u64 next_read(struct thread *t, struct thread_cut *c)
{
    u64 all = c->nr == SYS_read || c->nr == SYS_pread64
                  ? least(c->args[2], AT_ONCE_MAX)
                  : find_buffer(c, c->args[1], c->args[2], c->done);
    u64 whole = to_read(c, all);

    if (c->nr == SYS_preadv2 && (c->args[5] & RWF_NOWAIT))
        return 0;
    if (c->nr == SYS_pread64 || c->nr == SYS_preadv || (c->nr == SYS_preadv2 && c->args[3] != ~0ul))
        ask(t, 3, c->args[3] + c->done);
    return c->nr == SYS_read || c->nr == SYS_pread64 ? bytes(t, 1, whole) : buffer(t, 1, whole);
}

static u64 next_write(struct thread *t, struct thread_cut *c)
{
    u64 all = c->nr == SYS_write ? least(c->args[2], AT_ONCE_MAX)
                                 : find_buffer(c, c->args[1], c->args[2], c->done);
    u64 whole = to_write(c->args[0], all);

    if (c->nr == SYS_pwritev2 && (c->args[3] != ~0ul || (c->args[5] & RWF_NOWAIT)))
        return 0;
    return c->nr == SYS_write ? bytes(t, 1, whole) : buffer(t, 1, whole);
}

static u64 next_sendto(struct thread *t, struct thread_cut *c)
{
    if (c->args[3] & MSG_DONTWAIT)
        return 0;
    ask(t, 3, flags_to_send(c->args[3]));
    ask(t, 4, 0);
    ask(t, 5, 0);
    return bytes(t, 1, to_write(c->args[0], least(c->args[2], AT_ONCE_MAX)));
}

static u64 next_sendmsg(struct thread *t, struct thread_cut *c)
{
    u64 msg[MSG_WORDS], all;

    if ((c->args[2] & MSG_DONTWAIT) || clientmem_read(msg, c->args[1], sizeof(msg)))
        return 0;
    ask(t, 2, flags_to_send(c->args[2]));
    all = find_buffer(c, msg[MSG_IOV], msg[MSG_IOVLEN], c->done);
    return message(t, to_write(c->args[0], all));
}

static u64 next_recvfrom(struct thread *t, struct thread_cut *c)
{
    u64 whole = to_receive(c, least(c->args[2], AT_ONCE_MAX), c->args[3]);

    if (c->args[3] & MSG_PEEK) // from the start
        return whole > c->done ? whole : 0;
    ask(t, 4, 0);
    ask(t, 5, 0);
    ask(t, 3, c->args[3] | MSG_WAITALL);
    return bytes(t, 1, whole);
}

static u64 next_recvmsg(struct thread *t, struct thread_cut *c)
{
    u64 msg[MSG_WORDS], all, whole;

    // On a local socket ancillary data ends a call, and would be lost.
    if (clientmem_read(msg, c->args[1], sizeof(msg)) ||
        (msg[MSG_CONTROL] && socket_says(c->args[0], SO_DOMAIN) == AF_UNIX))
        return 0;
    all = find_buffer(c, msg[MSG_IOV], msg[MSG_IOVLEN], c->done);
    whole = to_receive(c, all, c->args[2]);
    if (c->args[2] & MSG_PEEK)
        return whole > c->done ? whole : 0;
    ask(t, 2, c->args[2] | MSG_WAITALL);
    return message(t, whole);
}

// Several messages: the last one sent may be half sent, and is the first of the next part.
static u64 next_sendmmsg(struct thread *t, struct thread_cut *c)
{
    u64 last = c->args[1] + (c->done - 1) * sizeof(c->message), msg[MMSG_WORDS], all;

    if ((c->args[3] & MSG_DONTWAIT) || !blocks(c->args[0]) ||
        clientmem_read(msg, last, sizeof(msg)))
        return 0;
    ask(t, 3, flags_to_send(c->args[3]));
    all = find_buffer(c, msg[MSG_IOV], msg[MSG_IOVLEN], (u32)msg[MMSG_LEN]);
    if (c->iov[1] && !all)
        return 0;
    c->half = c->iov[1] != 0;
    if (c->half) {
        make_message(c);
        ask(t, 1, (u64)c->message);
        ask(t, 2, 1);
        return 1;
    }
    if (c->done >= (u32)c->args[2])
        return 0;
    ask(t, 1, last + sizeof(c->message));
    ask(t, 2, (u32)c->args[2] - c->done);
    return (u32)c->args[2] - c->done;
}

static u64 next_recvmmsg(struct thread *t, struct thread_cut *c)
{
    s64 left[2];

    if ((c->args[3] & (MSG_DONTWAIT | MSG_WAITFORONE)) || !blocks(c->args[0]) ||
        c->done >= (u32)c->args[2])
        return 0;
    // The kernel returns how much is left.
    if (c->args[4] &&
        (clientmem_read(left, c->args[4], sizeof(left)) || (left[0] == 0 && left[1] == 0)))
        return 0;
    ask(t, 1, c->args[1] + c->done * sizeof(c->message));
    ask(t, 2, (u32)c->args[2] - c->done);
    return (u32)c->args[2] - c->done;
}

// From file to file or socket, where the call would go on; a pipe takes all that it can at once.
static u64 next_copy(struct thread *t, struct thread_cut *c, u64 to, u32 arg)
{
    u64 whole = least(c->args[arg], AT_ONCE_MAX);
    u32 major = 0, what = kind(to, &major);

    if (what == S_IFIFO || (what == S_IFSOCK && !blocks(to)) || whole <= c->done)
        return 0;
    ask(t, arg, whole - c->done);
    return whole - c->done;
}

// From a pipe: as long as it is not empty.
static u64 next_splice(struct thread *t, struct thread_cut *c)
{
    u32 major = 0;

    if (kind(c->args[0], &major) != S_IFIFO)
        return 0;
    ask(t, 5, c->args[5] | SPLICE_F_NONBLOCK);
    return next_copy(t, c, c->args[2], 4);
}

static u64 next_vmsplice(struct thread *t, struct thread_cut *c)
{
    long flags = sys_fcntl((int)c->args[0], F_GETFL, 0);

    if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY) // into a pipe
        return 0;
    ask(t, 3, c->args[3] | SPLICE_F_NONBLOCK);
    return buffer(t, 1, find_buffer(c, c->args[1], c->args[2], c->done));
}

static u64 next_getdents(struct thread *t, struct thread_cut *c)
{
    return bytes(t, 1, (u32)c->args[2]);
}

static u64 next_getevents(struct thread *t, struct thread_cut *c)
{
    if ((s64)c->args[1] <= (s64)c->done)
        return 0;
    ask(t, 1, c->args[1] - c->done);
    ask(t, 2, c->args[2] - c->done);
    ask(t, 3, c->args[3] + c->done * IO_EVENT);
    return c->args[1] - c->done;
}

// Everything is submitted; the number of completions to wait for stays the same.
static u64 next_uring(struct thread *t, struct thread_cut *c)
{
    if ((u32)c->args[1] != c->done || !(c->args[3] & IORING_GETEVENTS) || !(u32)c->args[2])
        return 0;
    ask(t, 1, 0);
    return 1;
}

static u64 next_part(struct thread *t, struct thread_cut *c)
{
    switch (c->nr) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2: return next_read(t, c);
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev2: return next_write(t, c);
    case SYS_sendto: return next_sendto(t, c);
    case SYS_sendmsg: return next_sendmsg(t, c);
    case SYS_sendmmsg: return next_sendmmsg(t, c);
    case SYS_recvfrom: return next_recvfrom(t, c);
    case SYS_recvmsg: return next_recvmsg(t, c);
    case SYS_recvmmsg: return next_recvmmsg(t, c);
    case SYS_sendfile: return next_copy(t, c, c->args[0], 3);
    case SYS_copy_file_range: return next_copy(t, c, c->args[2], 4);
    case SYS_splice: return next_splice(t, c);
    case SYS_vmsplice: return next_vmsplice(t, c);
    case SYS_getrandom: return bytes(t, 0, least(c->args[1], AT_ONCE_MAX));
    case SYS_getdents:
    case SYS_getdents64: return next_getdents(t, c);
    case SYS_io_getevents:
    case SYS_io_pgetevents: return next_getevents(t, c);
    case SYS_io_uring_enter: return next_uring(t, c);
    default: return 0;
    }
}

static bool peeks(const struct thread_cut *c)
{
    return (c->nr == SYS_recvfrom && (c->args[3] & MSG_PEEK)) ||
           (c->nr == SYS_recvmsg && (c->args[2] & MSG_PEEK));
}

// Adds to the length of one message of several.
static void add_to_message(struct thread_cut *c)
{
    u64 at = c->args[1] + (c->done - 1) * sizeof(c->message) + MMSG_LEN * sizeof(u64);
    u32 sent;

    if (clientmem_read_u32(at, &sent) == 0)
        clientmem_write_u32(at, sent + (u32)c->message[MMSG_LEN]);
}

// Adds the result of the current part. False: it ended by itself and is incomplete.
static bool add(struct thread_cut *c)
{
    bool half = c->half;
    u64 did = c->result > 0 ? (u64)c->result : 0;

    c->half = false;
    if (half) {
        if (did)
            add_to_message(c);
        return did && (c->broken || (u32)c->message[MMSG_LEN] == c->iov[1]);
    }
    // The kernel saves the error of recvmmsg(), even that of a signal, for the next call on the
    // socket.
    if (c->nr == SYS_recvmmsg && (c->result == -ERESTARTSYS || c->result == -EINTR))
        return true;
    if (c->nr != SYS_io_uring_enter)
        c->done = !peeks(c) ? c->done + did : did ? did : c->done;
    return did && (c->broken || did == c->part);
}

bool interrupted_next(struct thread *t)
{
    struct thread_cut *c = &thread_own(t)->cut;

    if (!c->begun) {
        c->begun = true;
        c->half = false;
        c->part = 0;
        c->nr = (u32)t->regs[R_RAX];
        c->done = (u64)c->result;
        for (u32 i = 0; i < ARRAY_SIZE(reg); i++)
            c->args[i] = t->regs[reg[i]];
    } else if (!add(c)) {
        return false;
    }
    for (u32 i = 0; i < ARRAY_SIZE(reg); i++)
        ask(t, i, c->args[i]);
    t->regs[R_RAX] = c->nr;
    c->part = next_part(t, c);
    return c->part != 0;
}

s64 interrupted_result(struct thread *t)
{
    struct thread_cut *c = &thread_own(t)->cut;

    for (u32 i = 0; i < ARRAY_SIZE(reg); i++)
        ask(t, i, c->args[i]);
    c->begun = false;
    return (s64)c->done;
}
