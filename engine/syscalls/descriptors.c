// SPDX-License-Identifier: MIT
// The engine's descriptors in the client's calls (descriptors.h). Nearly all calls that take a
// descriptor go through the fast gate, which compares it with the two ends of the range of the
// engine's descriptors (fds_window) and comes here for those within.
//
// The kernel makes the call with a number that is never open instead of the descriptor. So the
// result is right even if the kernel finds another error first, or ignores the descriptor (a
// folder's with an absolute name). Only if a structure names the descriptor, the result is made
// here.
#include "engine/syscalls/descriptors.h"

#include "engine/base/clientmem.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"

#define CLOSED 0x7fffffff // above the maximum of fs.nr_open

// Which arguments are descriptors, or may be (arguments()): bit 0 is rdi. IN_MEMORY: descriptors
// are in memory.
#define FD(n)     (u8)(1u << (n))
#define IN_MEMORY (u8)0x80

// clang-format off
static const u8 fd_arguments[GATE_CALLS] = {
    [SYS_read] = FD(0), [SYS_write] = FD(0), [SYS_close] = FD(0), [SYS_fstat] = FD(0),
    [SYS_lseek] = FD(0), [SYS_mmap] = FD(4), [SYS_pread64] = FD(0),
    [SYS_pwrite64] = FD(0), [SYS_readv] = FD(0), [SYS_writev] = FD(0), [SYS_dup] = FD(0),
    [SYS_sendfile] = FD(0) | FD(1),
    [SYS_connect] = FD(0), [SYS_accept] = FD(0), [SYS_accept4] = FD(0), [SYS_sendto] = FD(0),
    [SYS_recvfrom] = FD(0), [SYS_recvmsg] = FD(0),
    [SYS_recvmmsg] = FD(0), [SYS_shutdown] = FD(0), [SYS_bind] = FD(0), [SYS_listen] = FD(0),
    [SYS_getsockname] = FD(0), [SYS_getpeername] = FD(0), [SYS_setsockopt] = FD(0),
    [SYS_getsockopt] = FD(0), [SYS_fcntl] = FD(0), [SYS_flock] = FD(0), [SYS_fsync] = FD(0),
    [SYS_fdatasync] = FD(0), [SYS_ftruncate] = FD(0), [SYS_getdents] = FD(0),
    [SYS_getdents64] = FD(0), [SYS_fchdir] = FD(0), [SYS_fchmod] = FD(0), [SYS_fchown] = FD(0),
    [SYS_fstatfs] = FD(0), [SYS_readahead] = FD(0), [SYS_fsetxattr] = FD(0),
    [SYS_fgetxattr] = FD(0), [SYS_flistxattr] = FD(0), [SYS_fremovexattr] = FD(0),
    [SYS_fadvise64] = FD(0), [SYS_epoll_wait] = FD(0), [SYS_epoll_pwait] = FD(0),
    [SYS_epoll_pwait2] = FD(0), [SYS_epoll_ctl] = FD(0) | FD(2), [SYS_mq_timedsend] = FD(0),
    [SYS_mq_timedreceive] = FD(0), [SYS_mq_notify] = FD(0), [SYS_mq_getsetattr] = FD(0),
    [SYS_inotify_add_watch] = FD(0), [SYS_inotify_rm_watch] = FD(0), [SYS_openat] = FD(0),
    [SYS_openat2] = FD(0), [SYS_mkdirat] = FD(0), [SYS_mknodat] = FD(0), [SYS_fchownat] = FD(0),
    [SYS_futimesat] = FD(0), [SYS_newfstatat] = FD(0), [SYS_unlinkat] = FD(0),
    [SYS_renameat] = FD(0) | FD(2), [SYS_renameat2] = FD(0) | FD(2),
    [SYS_linkat] = FD(0) | FD(2), [SYS_symlinkat] = FD(1), [SYS_readlinkat] = FD(0),
    [SYS_fchmodat] = FD(0), [SYS_fchmodat2] = FD(0), [SYS_faccessat] = FD(0),
    [SYS_faccessat2] = FD(0), [SYS_utimensat] = FD(0), [SYS_statx] = FD(0),
    [SYS_splice] = FD(0) | FD(2), [SYS_tee] = FD(0) | FD(1), [SYS_vmsplice] = FD(0),
    [SYS_sync_file_range] = FD(0), [SYS_copy_file_range] = FD(0) | FD(2), [SYS_signalfd] = FD(0),
    [SYS_signalfd4] = FD(0), [SYS_fallocate] = FD(0), [SYS_timerfd_settime] = FD(0),
    [SYS_timerfd_gettime] = FD(0), [SYS_preadv] = FD(0), [SYS_pwritev] = FD(0),
    [SYS_preadv2] = FD(0), [SYS_pwritev2] = FD(0), [SYS_perf_event_open] = FD(3),
    [SYS_fanotify_mark] = FD(0) | FD(3), [SYS_name_to_handle_at] = FD(0),
    [SYS_open_by_handle_at] = FD(0), [SYS_syncfs] = FD(0), [SYS_setns] = FD(0),
    [SYS_finit_module] = FD(0), [SYS_kexec_file_load] = FD(0) | FD(1), [SYS_execveat] = FD(0),
    [SYS_pidfd_send_signal] = FD(0), [SYS_pidfd_getfd] = FD(0) | FD(1),
    [SYS_process_madvise] = FD(0), [SYS_process_mrelease] = FD(0), [SYS_io_uring_enter] = FD(0),
    [SYS_open_tree] = FD(0), [SYS_move_mount] = FD(0) | FD(2),
    [SYS_fsconfig] = FD(0) | FD(4), [SYS_fsmount] = FD(0), [SYS_fspick] = FD(0),
    [SYS_mount_setattr] = FD(0), [SYS_quotactl_fd] = FD(0),
    [SYS_landlock_restrict_self] = FD(0), [SYS_cachestat] = FD(0), [SYS_setxattrat] = FD(0),
    [SYS_getxattrat] = FD(0), [SYS_listxattrat] = FD(0), [SYS_removexattrat] = FD(0),
    [SYS_open_tree_attr] = FD(0), [SYS_file_getattr] = FD(0), [SYS_file_setattr] = FD(0),
    [SYS_waitid] = FD(1),                           // only with P_PIDFD
    [SYS_kcmp] = FD(3) | FD(4),                     // of the process itself
    [SYS_ioctl] = FD(0) | FD(2),                    // with FICLONE the second
    [SYS_dup2] = FD(0) | FD(1),                     // the second becomes one
    [SYS_dup3] = FD(0) | FD(1),
    [SYS_poll] = IN_MEMORY, [SYS_ppoll] = IN_MEMORY, [SYS_select] = IN_MEMORY,
    [SYS_pselect6] = IN_MEMORY, [SYS_sendmsg] = FD(0) | IN_MEMORY,
    [SYS_sendmmsg] = FD(0) | IN_MEMORY, [SYS_io_submit] = IN_MEMORY,
    [SYS_io_uring_register] = FD(0) | IN_MEMORY,
    [SYS_landlock_add_rule] = FD(0) | IN_MEMORY,
};
// clang-format on

void descriptors_init(u8 table[GATE_CALLS])
{
    const u8 fast = FD(0) | FD(1) | FD(2); // the arguments that the gate can check

    for (u32 nr = 0; nr < GATE_CALLS; nr++)
        if (fd_arguments[nr] && table[nr] == GATE_FAST)
            table[nr] = fd_arguments[nr] == FD(0)      ? GATE_FD
                        : fd_arguments[nr] & (u8)~fast ? GATE_SLOW
                                                       : GATE_FDS;
    table[SYS_sendmsg] = GATE_MESSAGE;
    table[SYS_fcntl] = GATE_FCNTL;
    table[SYS_poll] = GATE_POLL;
}

// ---- Arguments ----

// Is the name absolute, so that the folder's descriptor is ignored? Then the call goes to its
// handler as usual.
static bool is_absolute(u64 path)
{
    char first;

    return clientmem_read(&first, path, 1) == 0 && first == '/';
}

#define KCMP_FILE      0
#define KCMP_EPOLL_TFD 7

// kcmp: whether two descriptors refer to one open file. Each is of the process in another argument.
static u32 compared(const u64 args[6])
{
    s32 self = sys_getpid();
    u32 which = 0;

    if ((u32)args[2] == KCMP_FILE || (u32)args[2] == KCMP_EPOLL_TFD)
        which |= (s32)args[0] == self ? FD(3) : 0;
    if ((u32)args[2] == KCMP_FILE)
        which |= (s32)args[1] == self ? FD(4) : 0;
    return which;
}

// Which of the call's arguments are descriptors.
static u32 arguments(const u64 args[6], u32 nr)
{
    switch (nr) {
    case SYS_mmap: return args[3] & MAP_ANONYMOUS ? 0 : FD(4);
    case SYS_waitid: return (u32)args[0] == P_PIDFD ? FD(1) : 0;
    case SYS_ioctl: return (u32)args[1] == FICLONE ? FD(0) | FD(2) : FD(0);
    case SYS_dup2:
    case SYS_dup3: return FD(0);
    case SYS_kcmp: return compared(args);
    case SYS_openat:
    case SYS_openat2:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_readlinkat:
    case SYS_execveat: return is_absolute(args[1]) ? 0 : FD(0);
    default: return fd_arguments[nr] & (u8)~IN_MEMORY;
    }
}

// Is a number in the range of the engine's descriptors? Nearly none is. Checked first, as all of
// these calls pay for it.
static bool in_window(u64 fd)
{
    u32 from = fds_window[0];

    return (u32)fd - from <= fds_window[1] - from;
}

static bool is_ours(s32 fd)
{
    return in_window((u32)fd) && fds_is_ours(fd);
}

u32 descriptors_ours(u32 nr, const u64 args[6])
{
    u32 which = nr < GATE_CALLS ? arguments(args, nr) : 0, ours = 0;

    for (u32 i = 0; i < 6; i++)
        if (which & FD(i) && is_ours((int)args[i]))
            ours |= FD(i);
    return ours;
}

// ---- Structures ----

// Sets POLLNVAL in every entry with a descriptor of ours. Returns how many of these had no event
// before; -EFAULT.
static long poll_mark(u64 at, u64 n)
{
    long silent = 0;

    for (u64 i = 0; i < n; i++) {
        struct k_pollfd p;

        if (clientmem_read(&p, at + i * sizeof(p), sizeof(p)))
            return -EFAULT;
        if (!is_ours(p.fd))
            continue;
        silent += !p.revents;
        p.revents = POLLNVAL;
        if (clientmem_write(at + i * sizeof(p), &p, sizeof(p)))
            return -EFAULT;
    }
    return silent;
}

static bool poll_names_ours(u64 at, u64 n)
{
    struct k_pollfd part[32];

    for (u64 i = 0, some; i < n; i += some) {
        some = n - i < ARRAY_SIZE(part) ? n - i : ARRAY_SIZE(part);
        if (clientmem_read(part, at + i * sizeof(*part), some * sizeof(*part)))
            return false; // the kernel reports it
        for (u64 k = 0; k < some; k++)
            if (is_ours(part[k].fd))
                return true;
    }
    return false;
}

bool descriptors_poll(u64 at, u64 n, long *ret)
{
    long silent;

    if (!poll_names_ours(at, n))
        return false;
    *ret = sys_call3(SYS_poll, at, n, 0);
    if (*ret >= 0) {
        silent = poll_mark(at, n);
        *ret = silent < 0 ? silent : *ret + silent;
    }
    return true;
}

static bool client_poll(struct thread *t)
{
    long ret;

    if (!descriptors_poll(t->regs[R_RDI], (u32)t->regs[R_RSI], &ret))
        return false;
    gate_return(t, ret);
    return true;
}

bool descriptors_select(s32 below, const u64 sets[3])
{
    u32 ours[FDS_MAX], n;

    if (below <= 0 || (u32)below <= fds_window[0])
        return false;
    n = fds_sorted(ours);
    for (u32 i = 0; i < n && (s32)ours[i] < below; i++)
        for (u32 k = 0; k < 3; k++) {
            u8 bits;

            if (sets[k] && clientmem_read(&bits, sets[k] + ours[i] / 8, 1) == 0 &&
                bits >> ours[i] % 8 & 1)
                return true;
        }
    return false;
}

static bool list_names_ours(u64 at, u64 n)
{
    for (u64 i = 0; i < n; i++) {
        s32 fd;

        if (clientmem_read(&fd, at + i * sizeof(fd), sizeof(fd)))
            return false;
        if (is_ours(fd))
            return true;
    }
    return false;
}

struct msghdr {
    u64 name, name_size, iov, iovs, control, control_size, flags;
};

struct cmsghdr {
    u64 size; // with this header
    s32 level, type;
};

// Does a message pass one of ours (SCM_RIGHTS)?
static bool message_names_ours(u64 at)
{
    struct msghdr m;
    struct cmsghdr c;

    if (clientmem_read(&m, at, sizeof(m)) || !m.control)
        return false;
    while (m.control_size >= sizeof(c) && clientmem_read(&c, m.control, sizeof(c)) == 0 &&
           c.size >= sizeof(c) && c.size <= m.control_size) {
        u64 step = (c.size + 7) & ~7ul;

        if (c.level == SOL_SOCKET && c.type == SCM_RIGHTS &&
            list_names_ours(m.control + sizeof(c), (c.size - sizeof(c)) / 4))
            return true;
        if (step >= m.control_size)
            break;
        m.control += step;
        m.control_size -= step;
    }
    return false;
}

#define MESSAGE_STEP (sizeof(struct msghdr) + 8) // struct mmsghdr

// The number of messages before the first that names one of ours: the call sends these, unless it
// is the first. n: none names one.
static u64 messages_before(u64 at, u64 n)
{
    for (u64 i = 0; i < n; i++)
        if (message_names_ours(at + i * MESSAGE_STEP))
            return i;
    return n;
}

#define IOCB_FD    20
#define IOCB_FLAGS 56
#define IOCB_RESFD 60

static bool iocb_names_ours(u64 at)
{
    u32 flags = 0;
    s32 fd;

    if (clientmem_read(&fd, at + IOCB_FD, sizeof(fd)) == 0 && is_ours(fd))
        return true;
    return clientmem_read(&flags, at + IOCB_FLAGS, sizeof(flags)) == 0 && (flags & 1) &&
           clientmem_read(&fd, at + IOCB_RESFD, sizeof(fd)) == 0 && is_ours(fd);
}

static u64 iocbs_before(u64 at, u64 n)
{
    u64 iocb;

    for (u64 i = 0; i < n; i++)
        if (clientmem_read_u64(at + i * 8, &iocb) == 0 && iocb_names_ours(iocb))
            return i;
    return n;
}

// Makes the call with argument number `which` reduced to `some`, if that is less than n.
static bool make_some(struct thread *t, u32 which, u64 n, u64 some)
{
    u64 args[6] = { t->regs[R_RDI], t->regs[R_RSI], t->regs[R_RDX],
                    t->regs[10],    t->regs[8],     t->regs[9] };

    if (some == n)
        return false;
    if (some == 0) {
        gate_return(t, -EBADF);
        return true;
    }
    args[which] = some;
    gate_call(t, args);
}

// Lists of files to register with a ring: the list itself, or a structure {u32 nr or offset, ...,
// u64 list at 16}.
static bool registers_ours(const u64 *r)
{
    u32 operation = (u32)r[R_RSI] & 0x7fffffff; // the ring may be a registered one
    u64 list = r[R_RDX], n = (u32)r[10];
    u32 head[8];

    switch (operation) {
    case 2: return list_names_ours(list, n); // IORING_REGISTER_FILES
    case 4:                                  // IORING_REGISTER_EVENTFD
    case 7: return list_names_ours(list, 1); // IORING_REGISTER_EVENTFD_ASYNC
    case 6:                                  // IORING_REGISTER_FILES_UPDATE: {offset, 0, list}
        return clientmem_read_u64(list + 8, &list) == 0 && list_names_ours(list, n);
    case 13: // IORING_REGISTER_FILES2: {nr, flags, 0, list, tags}
        return clientmem_read(head, list, sizeof(head)) == 0 &&
               clientmem_read_u64(list + 16, &list) == 0 && list_names_ours(list, head[0]);
    case 14: // IORING_REGISTER_FILES_UPDATE2: {offset, 0, list, tags, nr, 0}
        return clientmem_read(head, list, sizeof(head)) == 0 &&
               clientmem_read_u64(list + 8, &list) == 0 && list_names_ours(list, head[6]);
    default: return false;
    }
}

static bool rule_names_ours(const u64 *r)
{
    s32 parent; // after the rights that it grants

    return (u32)r[R_RSI] == LANDLOCK_RULE_PATH_BENEATH &&
           clientmem_read(&parent, r[R_RDX] + 8, sizeof(parent)) == 0 && is_ours(parent);
}

static bool answer(struct thread *t, bool ours)
{
    if (ours)
        gate_return(t, -EBADF);
    return ours;
}

static __attribute__((noinline)) bool call_in_memory(struct thread *t, u32 nr)
{
    const u64 *r = t->regs;
    u64 n;

    switch (nr) {
    case SYS_poll:
    case SYS_ppoll: return client_poll(t);
    case SYS_select:
    case SYS_pselect6:
        return answer(
            t, descriptors_select((s32)r[R_RDI], (const u64[]){ r[R_RSI], r[R_RDX], r[10] }));
    case SYS_sendmsg: return answer(t, message_names_ours(r[R_RSI]));
    case SYS_sendmmsg:
        n = (u32)r[R_RDX] < 1024 ? (u32)r[R_RDX] : 1024; // the kernel's maximum
        return make_some(t, 2, n, messages_before(r[R_RSI], n));
    case SYS_io_submit:
        n = (s64)r[R_RSI] > 0 ? r[R_RSI] : 0;
        return make_some(t, 1, n, iocbs_before(r[R_RDX], n < 0x10000 ? n : 0x10000));
    case SYS_io_uring_register: return answer(t, registers_ours(r));
    case SYS_landlock_add_rule: return answer(t, rule_names_ours(r));
    default: return false;
    }
}

// Makes the call with numbers that are never open instead of the engine's. False: there are none.
// (Not inlined: calls without descriptors would save the registers, too.)
static __attribute__((noinline)) bool call_arguments(struct thread *t, u32 nr)
{
    u64 args[6] = { t->regs[R_RDI], t->regs[R_RSI], t->regs[R_RDX],
                    t->regs[10],    t->regs[8],     t->regs[9] };
    u32 ours = descriptors_ours(nr, args);

    if (!ours)
        return false;
    for (u32 i = 0; i < 6; i++)
        if (ours & FD(i))
            args[i] = CLOSED;
    gate_call(t, args);
}

static bool has_near(const u64 *r, u32 may)
{
    static const u8 reg[6] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };
    bool near = false;

    for (; may; may &= may - 1)
        near |= in_window(r[reg[__builtin_ctz(may)]]);
    return near;
}

bool descriptors_call(struct thread *t, u32 nr)
{
    u32 what = nr < GATE_CALLS ? fd_arguments[nr] : 0, may = what & ~(u32)IN_MEMORY;

    if (UNLIKELY(may && has_near(t->regs, may)) && call_arguments(t, nr))
        return true;
    return what & IN_MEMORY && call_in_memory(t, nr);
}
