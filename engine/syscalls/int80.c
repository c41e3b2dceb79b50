// SPDX-License-Identifier: MIT
// int $0x80, the 32-bit system call instruction (int80.h).
#include "engine/syscalls/int80.h"

#include "engine/base/clientmem.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/process/exit.h"
#include "engine/process/rights.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/signal/mask.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/descriptors.h"
#include "engine/syscalls/files.h"
#include "engine/syscalls/syscalls.h"
#include "engine/thread/reentry.h"
#include "engine/thread/selector.h"
#include "engine/translate/timing.h"

// int80.S
_Noreturn void int80_go(struct thread *t);
_Noreturn void int80_done(struct thread *t);
_Noreturn void int80_fault(struct thread *t);
long int80_make(u64 number, u64 rbx);

#define TRAP_GP    13
#define FOR_VECTOR (0x80u << 3 | 2) // the fault's error code: the table's entry 0x80

#define NO_INT80   (-4096) // int80_make: the kernel does not support it
#define AREA_FIRST 12      // first GDT entry that belongs to the thread
#define IPC_SHMAT  21
#define IPC_SHMDT  22
#define SUD        59 // PR_SET_SYSCALL_USER_DISPATCH

// set_thread_area: the kernel reloads segment registers that use the entry. True: made.
static bool area(struct thread *t)
{
    long ret;
    u64 entry;

    mask_close(t);
    ret = int80_make((u32)t->regs[R_RAX], (u32)t->regs[R_RBX]);
    if (ret == NO_INT80)
        return false;
    if (ret == 0 && t->client_gs > 3 && clientmem_read_u64((u32)t->regs[R_RBX], &entry) == 0 &&
        (u32)entry >= AREA_FIRST && t->client_gs == ((u32)entry << 3 | 3))
        selector_reload(t);
    t->regs[R_RAX] = (u64)ret;
    t->pc += 2;
    return true;
}

// For the 32-bit number of a call with descriptors or names: a 64-bit call that has them in the
// same arguments. From COMMON on the numbers are equal.
#define COMMON 424
// clang-format off
static const u16 same[COMMON] = {
    [3] = SYS_read + 1, [4] = SYS_write + 1, [5] = SYS_open + 1, [6] = SYS_close + 1,
    [8] = SYS_creat + 1, [9] = SYS_link + 1, [12] = SYS_chdir + 1, [15] = SYS_chmod + 1,
    [16] = SYS_lchown + 1, [18] = SYS_stat + 1, [19] = SYS_lseek + 1, [28] = SYS_fstat + 1,
    [30] = SYS_utime + 1, [33] = SYS_access + 1, [41] = SYS_dup + 1, [51] = SYS_acct + 1,
    [54] = SYS_ioctl + 1, [55] = SYS_fcntl + 1, [61] = SYS_chroot + 1, [63] = SYS_dup2 + 1,
    [84] = SYS_lstat + 1, [85] = SYS_readlink + 1, [87] = SYS_swapon + 1, [92] = SYS_truncate + 1,
    [93] = SYS_ftruncate + 1, [94] = SYS_fchmod + 1, [95] = SYS_fchown + 1, [99] = SYS_statfs + 1,
    [100] = SYS_fstatfs + 1, [106] = SYS_stat + 1, [107] = SYS_lstat + 1, [108] = SYS_fstat + 1,
    [115] = SYS_swapoff + 1, [118] = SYS_fsync + 1, [133] = SYS_fchdir + 1, [140] = SYS_lseek + 1,
    [141] = SYS_getdents + 1, [143] = SYS_flock + 1, [145] = SYS_readv + 1, [146] = SYS_writev + 1,
    [148] = SYS_fdatasync + 1, [180] = SYS_pread64 + 1, [181] = SYS_pwrite64 + 1,
    [182] = SYS_chown + 1, [187] = SYS_sendfile + 1, [193] = SYS_truncate + 1,
    [194] = SYS_ftruncate + 1, [195] = SYS_stat + 1, [196] = SYS_lstat + 1, [197] = SYS_fstat + 1,
    [198] = SYS_lchown + 1, [207] = SYS_fchown + 1, [212] = SYS_chown + 1,
    [220] = SYS_getdents64 + 1, [221] = SYS_fcntl + 1, [225] = SYS_readahead + 1,
    [226] = SYS_setxattr + 1, [227] = SYS_lsetxattr + 1, [228] = SYS_fsetxattr + 1,
    [229] = SYS_getxattr + 1, [230] = SYS_lgetxattr + 1, [231] = SYS_fgetxattr + 1,
    [232] = SYS_listxattr + 1, [233] = SYS_llistxattr + 1, [234] = SYS_flistxattr + 1,
    [235] = SYS_removexattr + 1, [236] = SYS_lremovexattr + 1, [237] = SYS_fremovexattr + 1,
    [239] = SYS_sendfile + 1, [250] = SYS_fadvise64 + 1, [255] = SYS_epoll_ctl + 1,
    [256] = SYS_epoll_wait + 1, [268] = SYS_statfs + 1, [269] = SYS_fstatfs + 1,
    [271] = SYS_utimes + 1, [272] = SYS_fadvise64 + 1, [279] = SYS_mq_timedsend + 1,
    [280] = SYS_mq_timedreceive + 1, [281] = SYS_mq_notify + 1, [282] = SYS_mq_getsetattr + 1,
    [292] = SYS_inotify_add_watch + 1, [293] = SYS_inotify_rm_watch + 1, [295] = SYS_openat + 1,
    [296] = SYS_mkdirat + 1, [297] = SYS_mknodat + 1, [298] = SYS_fchownat + 1,
    [299] = SYS_futimesat + 1, [300] = SYS_newfstatat + 1, [301] = SYS_unlinkat + 1,
    [302] = SYS_renameat + 1, [303] = SYS_linkat + 1, [304] = SYS_symlinkat + 1,
    [305] = SYS_readlinkat + 1, [306] = SYS_fchmodat + 1, [307] = SYS_faccessat + 1,
    [313] = SYS_splice + 1, [314] = SYS_sync_file_range + 1, [315] = SYS_tee + 1,
    [316] = SYS_vmsplice + 1, [319] = SYS_epoll_pwait + 1, [320] = SYS_utimensat + 1,
    [321] = SYS_signalfd + 1, [324] = SYS_fallocate + 1, [325] = SYS_timerfd_settime + 1,
    [326] = SYS_timerfd_gettime + 1, [327] = SYS_signalfd4 + 1, [330] = SYS_dup3 + 1,
    [333] = SYS_preadv + 1, [334] = SYS_pwritev + 1, [336] = SYS_perf_event_open + 1,
    [337] = SYS_recvmmsg + 1, [341] = SYS_name_to_handle_at + 1,
    [342] = SYS_open_by_handle_at + 1, [344] = SYS_syncfs + 1, [345] = SYS_sendmmsg + 1,
    [346] = SYS_setns + 1, [349] = SYS_kcmp + 1, [350] = SYS_finit_module + 1,
    [353] = SYS_renameat2 + 1, [361] = SYS_bind + 1, [362] = SYS_connect + 1,
    [363] = SYS_listen + 1, [364] = SYS_accept4 + 1, [365] = SYS_getsockopt + 1,
    [366] = SYS_setsockopt + 1, [367] = SYS_getsockname + 1, [368] = SYS_getpeername + 1,
    [369] = SYS_sendto + 1, [370] = SYS_sendmsg + 1, [371] = SYS_recvfrom + 1,
    [372] = SYS_recvmsg + 1, [373] = SYS_shutdown + 1, [377] = SYS_copy_file_range + 1,
    [378] = SYS_preadv2 + 1, [379] = SYS_pwritev2 + 1, [383] = SYS_statx + 1,
    [410] = SYS_timerfd_gettime + 1, [411] = SYS_timerfd_settime + 1, [412] = SYS_utimensat + 1,
    [417] = SYS_recvmmsg + 1, [418] = SYS_mq_timedsend + 1, [419] = SYS_mq_timedreceive + 1,
};
// clang-format on

#define SOCKETCALL_SOCKET     1
#define SOCKETCALL_SOCKETPAIR 8

// For the client, the engine's descriptors do not exist, and the running program is its own. True:
// the call is handled, with the result in *ret.
static bool names_ours(const struct thread *t, long *ret)
{
    u32 nr = (u32)t->regs[R_RAX], as = nr < COMMON ? same[nr] - 1u : nr, fd;
    const u64 args[6] = { (u32)t->regs[R_RBX], (u32)t->regs[R_RCX], (u32)t->regs[R_RDX],
                          (u32)t->regs[R_RSI], (u32)t->regs[R_RDI], (u32)t->regs[R_RBP] };

    *ret = -EBADF;
    switch (nr) {
    case 102: // socketcall
        return (u32)args[0] != SOCKETCALL_SOCKET && (u32)args[0] != SOCKETCALL_SOCKETPAIR &&
               clientmem_read_u32(args[1], &fd) == 0 && fds_is_ours((int)fd);
    case 142: // _newselect
    case 308: // pselect6
    case 413: // pselect6_time64
        return descriptors_select((s32)args[0], args + 1);
    case 168: // poll
    case 309: // ppoll
    case 414: // ppoll_time64
        return descriptors_poll(args[0], args[1], ret);
    case 63:  // dup2
    case 330: // dup3: give up the wanted number
        if (!fds_is_ours((int)args[0]) && fds_is_ours((int)args[1])) {
            *ret = fds_evict((int)args[1]);
            return *ret != 0;
        }
    }
    if (descriptors_ours(as, args))
        return true;
    *ret = -ENOENT;
    return files_names_ours(as, args) || files_answers(as, args, ret);
}

// The 32-bit calls that would change the process without the engine's knowledge.
static bool refused(const struct thread *t)
{
    u32 first = (u32)t->regs[R_RBX];

    switch ((u32)t->regs[R_RAX]) {
    case 2:   // fork
    case 11:  // execve
    case 45:  // brk
    case 48:  // signal
    case 67:  // sigaction
    case 72:  // sigsuspend
    case 90:  // mmap
    case 91:  // munmap
    case 119: // sigreturn
    case 120: // clone
    case 125: // mprotect
    case 126: // sigprocmask
    case 163: // mremap
    case 173: // rt_sigreturn
    case 174: // rt_sigaction
    case 175: // rt_sigprocmask
    case 179: // rt_sigsuspend
    case 186: // sigaltstack
    case 190: // vfork
    case 192: // mmap2
    case 358: // execveat
    case 435: // clone3
    case 257: // remap_file_pages
    case 380: // pkey_mprotect
    case 386: // rseq
    case 397: // shmat
    case 398: // shmdt
        return true;
    case 117: return (u16)first == IPC_SHMAT || (u16)first == IPC_SHMDT; // ipc
    case 172: return first == SUD;                                       // prctl
    default: return false;
    }
}

static bool answer(struct thread *t, long ret)
{
    t->regs[R_RAX] = (u64)ret;
    t->pc += 2;
    return false;
}

// False: the call is handled.
static bool allowed(struct thread *t)
{
    u64 ecx = (u32)t->regs[R_RCX], edx = (u32)t->regs[R_RDX];
    long ret;

    if (rights_is_int80((u32)t->regs[R_RAX], t->regs[R_RBX]))
        rights_forgo(t);
    if (refused(t)) {
        engine_msg("int 0x80 with call %u at 0x%lx is refused: use syscall", (u32)t->regs[R_RAX],
                   t->pc);
        return answer(t, -ENOSYS);
    }
    if (names_ours(t, &ret))
        return answer(t, ret);
    switch ((u32)t->regs[R_RAX]) {
    case 1: // exit
        exit_thread(t, (int)t->regs[R_RBX]);
    case 123: // modify_ldt: the kernel returns only the lower half
        return answer(t, syscalls_modify_ldt(t, (u32)t->regs[R_RBX], ecx, edx));
    case 172: // prctl
        if ((u32)t->regs[R_RBX] == PR_SET_TSC && (u32)t->regs[R_RCX] != PR_TSC_ENABLE)
            timing_forbidden();
        return true;
    case 243: // set_thread_area
        return !area(t);
    case 252: // exit_group
        exit_process(t, SPOOL_END_EXIT, (int)(t->regs[R_RBX] & 0xff));
    default: return true;
    }
}

_Noreturn void int80_done(struct thread *t)
{
    // rax is already in regs[]; int 0x80 changes no other register.
    __atomic_store_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    t->pc = t->sc_next;
    reentry_continue(t);
}

// The kernel does not support int $0x80 (ia32_emulation=off). No register has changed.
_Noreturn void int80_fault(struct thread *t)
{
    __atomic_store_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    handler_not_stepped(t);
    deliver_fault(t, SIGSEGV, SI_KERNEL, 0, TRAP_GP, FOR_VECTOR);
    reentry_continue(t);
}

void int80_call(struct thread *t)
{
    t->sc_next = t->pc + 2;
    t->sc_post = 0;
    if (allowed(t))
        int80_go(t);
}
