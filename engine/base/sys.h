// SPDX-License-Identifier: MIT
// All system calls of the engine go through this file: raw calls that return the kernel's result
// (-errno on failure), and the constants of the kernel's interface that engine files need. No
// state, no decisions.
//
// Constants are the kernel's (include/uapi); structures have the prefix k_ because they are the
// kernel's, not a libc's.
#ifndef QUERN_ENGINE_SYS_H
#define QUERN_ENGINE_SYS_H

#include "engine/base/sysnr.h"
#include "engine/base/types.h"

static inline long sys_call0(long n)
{
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n) : "rcx", "r11", "memory");
    return ret;
}

static inline long sys_call1(long n, u64 a)
{
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a) : "rcx", "r11", "memory");
    return ret;
}

static inline long sys_call2(long n, u64 a, u64 b)
{
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return ret;
}

static inline long sys_call3(long n, u64 a, u64 b, u64 c)
{
    long ret;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return ret;
}

static inline long sys_call4(long n, u64 a, u64 b, u64 c, u64 d)
{
    long ret;
    register u64 r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return ret;
}

static inline long sys_call5(long n, u64 a, u64 b, u64 c, u64 d, u64 e)
{
    long ret;
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return ret;
}

static inline long sys_call6(long n, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    long ret;
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    register u64 r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

// True for a result in the range that the kernel uses for errors.
static inline bool sys_failed(long ret)
{
    return (u64)ret > -4096ul;
}

// ---- Error numbers ----

#define EPERM          1
#define ENOENT         2
#define ESRCH          3
#define EINTR          4
#define EIO            5
#define ENXIO          6
#define E2BIG          7
#define ENOEXEC        8
#define EBADF          9
#define ECHILD         10
#define EAGAIN         11
#define ENOMEM         12
#define EACCES         13
#define EFAULT         14
#define ENOTBLK        15
#define EBUSY          16
#define EEXIST         17
#define EXDEV          18
#define ENODEV         19
#define ENOTDIR        20
#define EISDIR         21
#define EINVAL         22
#define ENFILE         23
#define EMFILE         24
#define ENOTTY         25
#define ETXTBSY        26
#define EFBIG          27
#define ENOSPC         28
#define ESPIPE         29
#define EROFS          30
#define EMLINK         31
#define EPIPE          32
#define ERANGE         34
#define EDEADLK        35
#define ENAMETOOLONG   36
#define ENOSYS         38
#define ENOTEMPTY      39
#define ELOOP          40
#define ELIBBAD        80
#define EOVERFLOW      75
#define EOPNOTSUPP     95
#define ETIMEDOUT      110
#define ERESTARTSYS    512
#define ERESTARTNOINTR 513

// ---- Files ----

#define PATH_MAX 4096 // linux/limits.h

#define AT_FDCWD            (-100)
#define RENAME_NOREPLACE    (1 << 0)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_SYMLINK_FOLLOW   0x400
#define AT_EMPTY_PATH       0x1000
#define AT_EACCESS          0x200

#define O_RDONLY    0x0
#define O_WRONLY    0x1
#define O_RDWR      0x2
#define O_ACCMODE   0x3
#define O_CREAT     0x40
#define O_EXCL      0x80
#define O_TRUNC     0x200
#define O_APPEND    0x400
#define O_NONBLOCK  0x800
#define O_DIRECTORY 0x10000
#define O_NOFOLLOW  0x20000
#define O_CLOEXEC   0x80000
#define O_PATH      0x200000
#define MFD_CLOEXEC 1

#define F_DUPFD         0
#define F_GETFD         1
#define F_SETFD         2
#define F_GETFL         3
#define F_SETFL         4
#define F_SETLEASE      1024
#define F_DUPFD_CLOEXEC 1030
#define F_RDLCK         0
#define F_UNLCK         2
#define FD_CLOEXEC      1

#define R_OK 4
#define W_OK 2
#define X_OK 1

#define S_IFMT  0xf000
#define S_IFDIR 0x4000
#define S_IFREG 0x8000
#define S_IROTH 4
#define S_ISUID 0x800
#define S_ISGID 0x400

#define CLOSE_RANGE_UNSHARE (1U << 1)
#define CLOSE_RANGE_CLOEXEC (1U << 2)

struct k_stat {
    u64 st_dev;
    u64 st_ino;
    u64 st_nlink;
    u32 st_mode;
    u32 st_uid;
    u32 st_gid;
    u32 pad0;
    u64 st_rdev;
    s64 st_size;
    s64 st_blksize;
    s64 st_blocks;
    u64 st_atime_sec, st_atime_nsec;
    u64 st_mtime_sec, st_mtime_nsec;
    u64 st_ctime_sec, st_ctime_nsec;
    s64 unused[3];
};

struct k_dirent64 {
    u64 d_ino;
    s64 d_off;
    u16 d_reclen;
    u8 d_type;
    char d_name[];
};

#define RESOLVE_CACHED 0x20

struct k_open_how {
    u64 flags, mode, resolve;
};

struct k_iovec {
    u64 base, len;
};

// ---- Memory ----

#define PROT_NONE      0x0
#define PROT_READ      0x1
#define PROT_WRITE     0x2
#define PROT_EXEC      0x4
#define PROT_GROWSDOWN 0x01000000
#define PROT_GROWSUP   0x02000000

#define MAP_SHARED          0x01
#define MAP_PRIVATE         0x02
#define MAP_SHARED_VALIDATE 0x03
#define MAP_TYPE            0x0f
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_32BIT           0x40
#define MAP_HUGETLB         0x40000
#define MAP_GROWSDOWN       0x0100
#define MAP_NORESERVE       0x4000
#define MAP_POPULATE        0x8000
#define MAP_STACK           0x20000
#define MAP_FIXED_NOREPLACE 0x100000

#define MREMAP_MAYMOVE   1
#define MREMAP_FIXED     2
#define MREMAP_DONTUNMAP 4

#define MADV_RANDOM         1
#define MADV_DONTNEED       4
#define MADV_FREE           8
#define MADV_REMOVE         9
#define MADV_DONTFORK       10
#define MADV_DOFORK         11
#define MADV_HUGEPAGE       14
#define MADV_NOHUGEPAGE     15
#define MADV_DONTDUMP       16
#define MADV_WIPEONFORK     18
#define MADV_POPULATE_WRITE 23
#define MADV_GUARD_INSTALL  102
#define MADV_GUARD_REMOVE   103

#define SHM_RDONLY 010000
#define SHM_RND    020000
#define SHM_REMAP  040000
#define SHM_EXEC   0100000

// ---- Processes, threads, time ----

#define CLONE_VM             0x00000100
#define CLONE_FS             0x00000200
#define CLONE_FILES          0x00000400
#define CLONE_SIGHAND        0x00000800
#define CLONE_PIDFD          0x00001000
#define CLONE_PTRACE         0x00002000
#define CLONE_VFORK          0x00004000
#define CLONE_PARENT         0x00008000
#define CLONE_THREAD         0x00010000
#define CLONE_NEWNS          0x00020000
#define CLONE_SYSVSEM        0x00040000
#define CLONE_SETTLS         0x00080000
#define CLONE_PARENT_SETTID  0x00100000
#define CLONE_CHILD_CLEARTID 0x00200000
#define CLONE_DETACHED       0x00400000
#define CLONE_UNTRACED       0x00800000
#define CLONE_CHILD_SETTID   0x01000000
#define CLONE_NEWTIME        0x00000080
#define CLONE_NEWCGROUP      0x02000000
#define CLONE_NEWUTS         0x04000000
#define CLONE_NEWIPC         0x08000000
#define CLONE_NEWUSER        0x10000000
#define CLONE_NEWPID         0x20000000
#define CLONE_NEWNET         0x40000000
#define CLONE_CLEAR_SIGHAND  0x100000000
#define CLONE_INTO_CGROUP    0x200000000
#define CSIGNAL              0xff

#define WNOHANG  1
#define __WALL   0x40000000
#define __WCLONE 0x80000000

#define POLLIN   1
#define POLLNVAL 0x20

#define SOL_SOCKET 1
#define SCM_RIGHTS 1
#define P_PIDFD    3
#define FICLONE    0x40049409

#define LANDLOCK_RULE_PATH_BENEATH 1

struct k_pollfd {
    s32 fd;
    s16 events, revents;
};

#define FUTEX_WAIT         0
#define FUTEX_WAKE         1
#define FUTEX_PRIVATE_FLAG 128

#define CLOCK_REALTIME          0
#define CLOCK_MONOTONIC         1
#define CLOCK_THREAD_CPUTIME_ID 3

// The clock of another process's processor time (posix-timers_types.h).
#define CLOCK_CPU_OF(pid) ((s32)(~(u32)(pid) << 3 | 2))

#define ITIMER_REAL    0
#define ITIMER_VIRTUAL 1
#define ITIMER_PROF    2

#define RLIMIT_CPU     0
#define RLIMIT_FSIZE   1
#define RLIMIT_DATA    2
#define RLIMIT_STACK   3
#define RLIMIT_CORE    4
#define RLIMIT_NOFILE  7
#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS      9
#define RLIM_INFINITY (~0ul)

#define ARCH_SET_GS         0x1001
#define ARCH_SET_FS         0x1002
#define ARCH_GET_FS         0x1003
#define ARCH_GET_GS         0x1004
#define ARCH_GET_XCOMP_SUPP 0x1021
#define ARCH_GET_XCOMP_PERM 0x1022
#define ARCH_REQ_XCOMP_PERM 0x1023

#define PR_SET_PDEATHSIG             1
#define PR_GET_DUMPABLE              3
#define PR_SET_DUMPABLE              4
#define PR_SET_NAME                  15
#define PR_GET_NAME                  16
#define PR_GET_SECCOMP               21
#define PR_SET_SECCOMP               22
#define PR_CAPBSET_DROP              24
#define PR_GET_TSC                   25
#define PR_SET_TSC                   26
#define PR_TSC_ENABLE                1
#define PR_SET_SECUREBITS            28
#define PR_SET_MM                    35
#define PR_GET_CHILD_SUBREAPER       37
#define PR_SET_MM_MAP                14
#define PR_SET_NO_NEW_PRIVS          38
#define PR_GET_NO_NEW_PRIVS          39
#define PR_CAP_AMBIENT               47
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SET_VMA                   0x53564d41

#define ADDR_NO_RANDOMIZE 0x0040000

struct k_siginfo {
    s32 signo, err, code, pad0;
    union {
        struct {
            s32 pid;
            u32 uid;
            u64 value;
        };
        struct { // SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTRAP
            u64 addr;
        };
        struct { // SI_TIMER
            s32 timer;
            s32 overrun;
            u64 timer_value;
        };
        u8 raw[112];
    };
};

// sigaltstack
#define SS_ONSTACK    1
#define SS_DISABLE    2
#define SS_AUTODISARM ((s32)(1u << 31))
#define MINSIGSTKSZ   2048

struct k_stack {
    u64 sp;
    s32 flags;
    s32 pad;
    u64 size;
};

struct k_timespec {
    s64 sec, nsec;
};

struct k_itimerval {
    s64 interval_sec, interval_usec, value_sec, value_usec;
};

// An instruction of classic BPF, and the data that a seccomp filter reads.
struct k_bpf_insn {
    u16 code;
    u8 jt, jf;
    u32 k;
};

struct k_seccomp_data {
    s32 nr;
    u32 arch;
    u64 pc;
    u64 args[6];
};

#define AUDIT_ARCH_X86_64 0xc000003eu

struct k_rlimit {
    u64 cur, max;
};

struct k_mm_map {
    u64 start_code, end_code, start_data, end_data, start_brk, brk, start_stack;
    u64 arg_start, arg_end, env_start, env_end;
    u64 auxv;
    u32 auxv_size;
    s32 exe_fd;
};

// ---- Auxiliary vector ----

#define AT_NULL              0
#define AT_PHDR              3
#define AT_PHENT             4
#define AT_PHNUM             5
#define AT_PAGESZ            6
#define AT_BASE              7
#define AT_FLAGS             8
#define AT_ENTRY             9
#define AT_UID               11
#define AT_EUID              12
#define AT_GID               13
#define AT_EGID              14
#define AT_PLATFORM          15
#define AT_HWCAP             16
#define AT_CLKTCK            17
#define AT_SECURE            23
#define AT_RANDOM            25
#define AT_RSEQ_FEATURE_SIZE 27
#define AT_RSEQ_ALIGN        28
#define AT_HWCAP2            26
#define AT_EXECFN            31
#define AT_SYSINFO_EHDR      33
#define AT_MINSIGSTKSZ       51

struct k_auxv {
    u64 type, value;
};

// ---- Signals ----

#define SIGHUP    1
#define SIGINT    2
#define SIGQUIT   3
#define SIGILL    4
#define SIGTRAP   5
#define SIGABRT   6
#define SIGBUS    7
#define SIGFPE    8
#define SIGKILL   9
#define SIGUSR1   10
#define SIGSEGV   11
#define SIGUSR2   12
#define SIGPIPE   13
#define SIGALRM   14
#define SIGTERM   15
#define SIGSTKFLT 16
#define SIGCHLD   17
#define SIGCONT   18
#define SIGSTOP   19
#define SIGTSTP   20
#define SIGTTIN   21
#define SIGTTOU   22
#define SIGURG    23
#define SIGXCPU   24
#define SIGXFSZ   25
#define SIGVTALRM 26
#define SIGPROF   27
#define SIGWINCH  28
#define SIGIO     29
#define SIGPWR    30
#define SIGSYS    31
#define SIGRTMIN  32
#define SIGRTMAX  64

#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SIG_DFL 0ul
#define SIG_IGN 1ul

#define SA_NOCLDSTOP      0x00000001
#define SA_NOCLDWAIT      0x00000002
#define SA_SIGINFO        0x00000004
#define SA_UNSUPPORTED    0x00000400
#define SA_EXPOSE_TAGBITS 0x00000800
#define SA_RESTORER       0x04000000
#define SA_ONSTACK        0x08000000
#define SA_RESTART        0x10000000
#define SA_NODEFER        0x40000000
#define SA_RESETHAND      0x80000000

// si_code
#define SI_USER     0
#define SI_KERNEL   0x80
#define SI_QUEUE    (-1)
#define SI_TIMER    (-2)
#define SI_TKILL    (-6)
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2

// What the kernel passes to a handler.
struct k_sigcontext {
    // r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp: see frame_regs_*() in signal/frame.c
    u64 gpr[16];
    u64 ip, flags;
    u16 cs, gs, fs, ss;
    u64 err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct k_ucontext {
    u64 flags, link;
    struct k_stack stack;
    struct k_sigcontext mc;
    u64 sigmask;
};

// Bit of a signal in a mask.
#define SIGBIT(sig) (1ul << ((sig)-1))

struct k_sigaction {
    u64 handler, flags, restorer, mask;
};

// ---- Typed calls ----

static inline long sys_read(int fd, void *buf, u64 n)
{
    return sys_call3(SYS_read, (u64)fd, (u64)buf, n);
}

static inline long sys_write(int fd, const void *buf, u64 n)
{
    return sys_call3(SYS_write, (u64)fd, (u64)buf, n);
}

static inline long sys_pread(int fd, void *buf, u64 n, u64 off)
{
    return sys_call4(SYS_pread64, (u64)fd, (u64)buf, n, off);
}

static inline long sys_pwrite(int fd, const void *buf, u64 n, u64 off)
{
    return sys_call4(SYS_pwrite64, (u64)fd, (u64)buf, n, off);
}

static inline long sys_openat(int dir, const char *path, int flags, u32 mode)
{
    return sys_call4(SYS_openat, (u64)dir, (u64)path, (u64)flags, mode);
}

static inline long sys_open(const char *path, int flags, u32 mode)
{
    return sys_openat(AT_FDCWD, path, flags, mode);
}

static inline long sys_close(int fd)
{
    return sys_call1(SYS_close, (u64)fd);
}

static inline long sys_fcntl(int fd, int cmd, u64 arg)
{
    return sys_call3(SYS_fcntl, (u64)fd, (u64)cmd, arg);
}

static inline long sys_ftruncate(int fd, u64 size)
{
    return sys_call2(SYS_ftruncate, (u64)fd, size);
}

static inline long sys_fstat(int fd, struct k_stat *st)
{
    return sys_call2(SYS_fstat, (u64)fd, (u64)st);
}

static inline long sys_fstatat(int dir, const char *path, struct k_stat *st, int flags)
{
    return sys_call4(SYS_newfstatat, (u64)dir, (u64)path, (u64)st, (u64)flags);
}

static inline long sys_unlink(const char *path)
{
    return sys_call1(SYS_unlink, (u64)path);
}

static inline long sys_readlinkat(int dir, const char *path, char *buf, u64 size)
{
    return sys_call4(SYS_readlinkat, (u64)dir, (u64)path, (u64)buf, size);
}

static inline long sys_faccessat2(int dir, const char *path, int mode, int flags)
{
    return sys_call4(SYS_faccessat2, (u64)dir, (u64)path, (u64)mode, (u64)flags);
}

static inline long sys_mmap(u64 addr, u64 len, int prot, int flags, int fd, u64 off)
{
    return sys_call6(SYS_mmap, addr, len, (u64)prot, (u64)flags, (u64)fd, off);
}

static inline long sys_munmap(u64 addr, u64 len)
{
    return sys_call2(SYS_munmap, addr, len);
}

static inline long sys_mprotect(u64 addr, u64 len, int prot)
{
    return sys_call3(SYS_mprotect, addr, len, (u64)prot);
}

static inline long sys_madvise(u64 addr, u64 len, int advice)
{
    return sys_call3(SYS_madvise, addr, len, (u64)advice);
}

// Populates memory that is about to be written completely: one call in place of all page faults.
// Kernels before 5.14 do not have it.
static inline void sys_populate(u64 start, u64 bytes)
{
    u64 from = PAGE_DOWN(start);

    sys_madvise(from, PAGE_UP(start + bytes) - from, MADV_POPULATE_WRITE);
}

static inline s32 sys_getpid(void)
{
    return (s32)sys_call0(SYS_getpid);
}

static inline s32 sys_gettid(void)
{
    return (s32)sys_call0(SYS_gettid);
}

static inline long sys_tgkill(s32 tgid, s32 tid, int sig)
{
    return sys_call3(SYS_tgkill, (u64)tgid, (u64)tid, (u64)sig);
}

static inline long sys_futex(u32 *word, int op, u32 val, const struct k_timespec *timeout)
{
    return sys_call4(SYS_futex, (u64)word, (u64)op, val, (u64)timeout);
}

static inline long sys_sigaction(int sig, const struct k_sigaction *act, struct k_sigaction *old)
{
    return sys_call4(SYS_rt_sigaction, (u64)sig, (u64)act, (u64)old, 8);
}

static inline long sys_sigprocmask(int how, const u64 *set, u64 *old)
{
    return sys_call4(SYS_rt_sigprocmask, (u64)how, (u64)set, (u64)old, 8);
}

static inline long sys_prlimit(int which, const struct k_rlimit *new_limit, struct k_rlimit *old)
{
    return sys_call4(SYS_prlimit64, 0, (u64)which, (u64)new_limit, (u64)old);
}

static inline long sys_clock_gettime(int clock, struct k_timespec *ts)
{
    return sys_call2(SYS_clock_gettime, (u64)clock, (u64)ts);
}

// Allows rdtsc again: a client can forbid it, and its processes inherit that, also over an exec.
static inline void sys_allow_tsc(void)
{
    sys_call5(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
}

static inline long sys_execve(const char *path, char *const *argv, char *const *envp)
{
    return sys_call3(SYS_execve, (u64)path, (u64)argv, (u64)envp);
}

static inline _Noreturn void sys_exit_group(int status)
{
    for (;;)
        sys_call1(SYS_exit_group, (u64)status);
}

#endif
