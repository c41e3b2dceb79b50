// SPDX-License-Identifier: MIT
// The slow system calls: the table, entry and return, and the calls that concern processes, signals
// and the processor's state. Memory is in memory.c, files and names in files.c, int 0x80 in
// int80.c.
//
// Invariants: no engine lock is held across a client's call. A handler that ends in a gated call
// changes registers only through gate_call(), which saves the client's. They are restored by the
// signal handler when the call is interrupted, and by syscalls_done() when it is complete.

#include "engine/syscalls/syscalls.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/count/vtsc.h"
#include "engine/objects/mappings.h"
#include "engine/process/bgfinish.h"
#include "engine/process/exec.h"
#include "engine/process/exit.h"
#include "engine/process/fork.h"
#include "engine/process/rights.h"
#include "engine/process/seccomp.h"
#include "engine/replay/replayer.h"
#include "engine/signal/mask.h"
#include "engine/signal/sigcalls.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/descriptors.h"
#include "engine/syscalls/files.h"
#include "engine/syscalls/memory.h"
#include "engine/syscalls/ptrace.h"
#include "engine/syscalls/waits.h"
#include "engine/thread/reentry.h"
#include "engine/thread/stop.h"
#include "engine/thread/stopworld.h"
#include "engine/thread/stress.h"
#include "engine/translate/timing.h"

// By number: 1 leaves the fast gate. descriptors.c and files.c add more.
static const u8 slow_table[GATE_CALLS] = {
    // Processes and threads
    [SYS_clone] = 1,
    [SYS_clone3] = 1,
    [SYS_fork] = 1,
    [SYS_vfork] = 1,
    [SYS_execve] = 1,
    [SYS_execveat] = 1,
    [SYS_exit] = 1,
    [SYS_exit_group] = 1,
    [SYS_arch_prctl] = 1,
    [SYS_prctl] = 1,
    [SYS_setrlimit] = 1,
    [SYS_prlimit64] = 1,
    [SYS_seccomp] = 1,
    [SYS_personality] = 1,
    [SYS_modify_ldt] = 1,
    [SYS_rseq] = 1,
    [SYS_ptrace] = 1,
    // Rights
    [SYS_setuid] = 1,
    [SYS_setgid] = 1,
    [SYS_setreuid] = 1,
    [SYS_setregid] = 1,
    [SYS_setresuid] = 1,
    [SYS_setresgid] = 1,
    [SYS_setfsuid] = 1,
    [SYS_setfsgid] = 1,
    [SYS_setgroups] = 1,
    [SYS_capset] = 1,
    [SYS_chroot] = 1,
    [SYS_pivot_root] = 1,
    [SYS_unshare] = 1,
    [SYS_setns] = 1,
    [SYS_landlock_restrict_self] = 1,
    [SYS_lsm_set_self_attr] = 1,
    [SYS_keyctl] = 1,
    [SYS_iopl] = 1,
    [SYS_ioperm] = 1,
    // Signals
    [SYS_rt_sigaction] = 1,
    [SYS_rt_sigprocmask] = 1,
    [SYS_rt_sigreturn] = 1,
    [SYS_rt_sigpending] = 1,
    [SYS_rt_sigtimedwait] = 1,
    [SYS_rt_sigsuspend] = 1,
    [SYS_sigaltstack] = 1,
    [SYS_ppoll] = 1,
    [SYS_pselect6] = 1,
    [SYS_epoll_pwait] = 1,
    [SYS_epoll_pwait2] = 1,
    [SYS_io_pgetevents] = 1,
    [SYS_io_uring_enter] = 1,
    // Calls whose time goes on while they are interrupted
    [SYS_nanosleep] = 1,
    [SYS_clock_nanosleep] = 1,
    [SYS_select] = 1,
    [SYS_semtimedop] = 1,
    [SYS_io_getevents] = 1,
    [SYS_epoll_wait] = 1,
    // Memory
    [SYS_mmap] = 1,
    [SYS_munmap] = 1,
    [SYS_mremap] = 1,
    [SYS_mprotect] = 1,
    [SYS_pkey_mprotect] = 1,
    [SYS_brk] = 1,
    [SYS_shmat] = 1,
    [SYS_shmdt] = 1,
    [SYS_remap_file_pages] = 1,
    [SYS_madvise] = 1,
    [SYS_mseal] = 1,
    [SYS_process_vm_writev] = 1,
    // Files
    [SYS_openat2] = 1,
    [SYS_creat] = 1,
    [SYS_truncate] = 1,
    [SYS_open_by_handle_at] = 1,
    [SYS_close_range] = 1,
    [SYS_getdents] = 1,
    [SYS_getdents64] = 1,
};

_Static_assert(GATE_FUTEX_WAIT == FUTEX_WAIT && !FUTEX_WAIT, "stubs_gate");

void syscalls_init(u64 brk, u64 top)
{
    static u8 table[GATE_CALLS];

    memcpy(table, slow_table, sizeof(table));
    table[SYS_getrandom] = (spool->flags & SPOOL_F_REPRODUCIBLE) != 0;
    table[SYS_wait4] = table[SYS_waitid] = tb_config.watched;
    table[SYS_pkey_alloc] = !cpu.shown_all;
    table[SYS_futex] = GATE_FUTEX;
    descriptors_init(table);
    files_init(table);
    gate_init(table);
    memory_init(brk, top);
}

static _Noreturn void gate(struct thread *t)
{
    gate_call(t, NULL);
}

// The call waits with another signal mask, with which a handler that ends it starts.
static _Noreturn void gate_with_mask(struct thread *t, u64 mask_addr, u64 size)
{
    u64 mask;

    if (mask_addr && size == 8 && clientmem_read(&mask, mask_addr, 8) == 0) {
        struct k_siginfo held;

        __atomic_store_n(&t->sig->temp_mask, mask, __ATOMIC_RELAXED);
        // Before the check: a thread that finds no thread for a signal keeps it, and checks again.
        __atomic_store_n(&t->sig->temp_mask_set, true, __ATOMIC_SEQ_CST);
        // A signal that only the engine holds would not end the kernel's wait.
        if ((mask_held(t) & ~mask) && mask_take_held(t, ~mask, &held)) {
            t->sig->temp_mask_set = false;
            mask_note_held(t, &held);
            gate_return(t, -EINTR);
            reentry_continue(t);
        }
    }
    gate(t);
}

static long arch_prctl(struct thread *t, u64 code, u64 addr)
{
    long ret;

    switch (code) {
    case ARCH_SET_GS:
        if (addr >= cpu_task_size())
            return -EPERM;
        t->client_gs = 0;
        t->client_gs_base = addr;
        return 0;
    case ARCH_GET_GS: return clientmem_write_u64(addr, t->client_gs_base);
    case ARCH_SET_FS:
        ret = sys_call2(SYS_arch_prctl, code, addr);
        if (ret == 0) {
            t->client_fs_base = addr;
            mappings_tls(t, addr);
        }
        return ret;
    case ARCH_REQ_XCOMP_PERM:
        if (!cpu.shown_all && addr < 64 && !(cpu.shown_features & 1ul << addr))
            return -EOPNOTSUPP;
        return sigcalls_xcomp_perm(t, code, addr);
    case ARCH_GET_XCOMP_SUPP:
    case ARCH_GET_XCOMP_PERM:
        if (!cpu.shown_all)
            return clientmem_write_u64(addr, cpu.shown_features | 3);
        return sys_call2(SYS_arch_prctl, code, addr);
    // ARCH_SHSTK_ENABLE, _DISABLE, _LOCK, _UNLOCK, _STATUS: the engine does not check return
    // addresses
    case 0x5001:
    case 0x5002:
    case 0x5003:
    case 0x5004:
    case 0x5005: return -EINVAL;
    default: return sys_call2(SYS_arch_prctl, code, addr);
    }
}

// --reproducible: a sequence that is always the same. With unknown flags, the kernel's result.
static long client_getrandom(struct thread *t, u64 to, u64 len, u64 flags)
{
    if (!(spool->flags & SPOOL_F_REPRODUCIBLE) || flags > 7)
        return sys_call3(SYS_getrandom, to, len, flags);
    len = len > 0x1ffffff ? 0x1ffffff : len; // the kernel's maximum for one call
    for (u64 done = 0, n; done < len; done += n) {
        u64 word = vtsc_random(t);

        n = len - done < 8 ? len - done : 8;
        if (clientmem_write(to + done, &word, n))
            return done ? (long)done : -EFAULT;
    }
    return (long)len;
}

// If a selector is removed while the kernel enters another thread's handler, with SIGSEGV blocked,
// the process dies: no thread may be in that state when the LDT is written.
long syscalls_modify_ldt(struct thread *t, u64 func, u64 at, u64 bytes)
{
    long ret;

    stopworld_stop(t);
    ret = sys_call3(SYS_modify_ldt, func, at, bytes);
    stopworld_resume(t);
    return ret;
}

static void client_prctl(struct thread *t)
{
    switch (t->regs[R_RDI]) {
    case PR_SET_SECCOMP:
        rights_begin(t);
        gate_return(t, seccomp_sys_prctl(t, t->regs[R_RSI], t->regs[R_RDX]));
        rights_end(t);
        return;
    case PR_GET_SECCOMP: gate_return(t, seccomp_mode(t)); return;
    case PR_SET_SYSCALL_USER_DISPATCH:
        // Its selector would apply to the engine's own calls. A kernel without the feature returns
        // the same.
        gate_return(t, -EINVAL);
        return;
    case PR_SET_TSC:
        if ((u32)t->regs[R_RSI] != PR_TSC_ENABLE)
            timing_forbidden();
        gate(t);
    default:
        if (!rights_call(t, SYS_prctl))
            gate(t);
    }
}

// Only the operations that set something.
static void client_seccomp(struct thread *t, u32 operation)
{
    bool sets = operation < 2;

    if (sets)
        rights_begin(t);
    gate_return(t, seccomp_sys(t, operation, (u32)t->regs[R_RSI], t->regs[R_RDX]));
    if (sets)
        rights_end(t);
}

static _Noreturn void gate_limit(struct thread *t, u64 which, bool sets)
{
    if (sets && (which == RLIMIT_AS || which == RLIMIT_DATA))
        heap_reserve();
    gate(t);
}

static void client_sigtimedwait(struct thread *t)
{
    struct k_siginfo info;
    u64 set;

    if (t->regs[10] == 8 && clientmem_read(&set, t->regs[R_RDI], 8) == 0) {
        __atomic_store_n(&t->sig->awaited, set, __ATOMIC_SEQ_CST);
        if ((mask_held(t) & set) && mask_take_held(t, set, &info)) {
            long ret = info.signo;

            t->sig->awaited = 0;
            if (t->regs[R_RSI] && clientmem_write(t->regs[R_RSI], &info, sizeof(info)))
                ret = -EFAULT;
            gate_return(t, ret);
            return;
        }
    }
    waits_note(t, SYS_rt_sigtimedwait);
    gate(t);
}

static void client_exec(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags)
{
    const u64 name[6] = { (u64)dirfd, path };
    long ret = -ENOENT;

    if (!files_names_ours(SYS_execveat, name))
        ret = exec_handle(t, dirfd, path, argv, envp, flags);
    mask_exec_failed(t);
    gate_return(t, ret);
}

// pselect6 and io_pgetevents take {mask address, size} by reference.
static _Noreturn void gate_with_mask_pair(struct thread *t, u64 pair_addr)
{
    u64 pair[2] = { 0, 0 };

    if (pair_addr && clientmem_read(pair, pair_addr, sizeof(pair)))
        pair[0] = 0;
    gate_with_mask(t, pair[0], pair[1]);
}

// io_uring_enter takes the mask and its size, or, with this flag, the address of a structure that
// begins with the mask's address and size.
#define IORING_ENTER_EXT_ARG (1u << 3)

static _Noreturn void gate_uring(struct thread *t)
{
    struct {
        u64 mask;
        u32 size, pad;
    } ext = { 0, 0, 0 };

    waits_note(t, SYS_io_uring_enter);
    if (!(t->regs[10] & IORING_ENTER_EXT_ARG))
        gate_with_mask(t, t->regs[8], t->regs[9]);
    if (clientmem_read(&ext, t->regs[8], sizeof(ext)))
        ext.mask = 0;
    gate_with_mask(t, ext.mask, ext.size);
}

// The replayer is a child, too, of a kind for which programs rarely wait.
static _Noreturn void gate_wait(struct thread *t, u64 options)
{
    if ((options & (__WALL | __WCLONE)) && threads_is_profiled(t)) {
        replayer_stop();
        replayer_allow();
        bgfinish_stop();
    }
    gate(t);
}

void syscalls_slow(struct thread *t)
{
    const u64 *r = t->regs;
    u32 nr = (u32)r[R_RAX];

    t->sc_post = 0;
    // Noted signals are delivered first; then the call is repeated, with signals unblocked.
    if (t->stop)
        return;
    if (gate_all_slow && !seccomp_check(t))
        return;
    if (descriptors_call(t, nr))
        return;

    switch (nr) {
    case SYS_clone: fork_sys_clone(t); return;
    case SYS_clone3: fork_sys_clone3(t); return;
    case SYS_fork: fork_sys_fork(t); return;
    case SYS_vfork: fork_sys_vfork(t); return;
    case SYS_execve: client_exec(t, AT_FDCWD, r[R_RDI], r[R_RSI], r[R_RDX], 0); return;
    case SYS_execveat: client_exec(t, (int)r[R_RDI], r[R_RSI], r[R_RDX], r[10], (int)r[8]); return;
    case SYS_exit: exit_thread(t, (int)r[R_RDI]);
    case SYS_exit_group: exit_process(t, SPOOL_END_EXIT, (int)(r[R_RDI] & 0xff));
    case SYS_arch_prctl: gate_return(t, arch_prctl(t, r[R_RDI], r[R_RSI])); return;
    case SYS_modify_ldt:
        gate_return(t, syscalls_modify_ldt(t, r[R_RDI], r[R_RSI], r[R_RDX]));
        return;
    case SYS_prctl: client_prctl(t); return;
    case SYS_setrlimit: gate_limit(t, r[R_RDI], true);
    case SYS_prlimit64: gate_limit(t, r[R_RSI], r[R_RDX] != 0);
    case SYS_seccomp: client_seccomp(t, (u32)r[R_RDI]); return;
    case SYS_pkey_alloc: // the shown processor has no keys
        if (cpu.shown_all)
            gate(t);
        gate_return(t, -ENOSPC);
        return;
    case SYS_getrandom: gate_return(t, client_getrandom(t, r[R_RDI], r[R_RSI], r[R_RDX])); return;
    case SYS_rseq: gate_return(t, -ENOSYS); return; // docs/limits.md

    case SYS_rt_sigaction:
        gate_return(t, sigcalls_action(t, (int)r[R_RDI], r[R_RSI], r[R_RDX], r[10]));
        return;
    case SYS_rt_sigprocmask: sigcalls_procmask(t); return;
    case SYS_rt_sigreturn: sigcalls_return(t); return;
    case SYS_rt_sigpending: gate_return(t, sigcalls_pending(t, r[R_RDI], r[R_RSI])); return;
    case SYS_sigaltstack: gate_return(t, sigcalls_altstack(t, r[R_RDI], r[R_RSI])); return;
    case SYS_rt_sigtimedwait: client_sigtimedwait(t); return;
    case SYS_rt_sigsuspend: gate_with_mask(t, r[R_RDI], r[R_RSI]);
    case SYS_ppoll: waits_note(t, nr); gate_with_mask(t, r[10], r[8]);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: waits_note(t, nr); gate_with_mask(t, r[8], r[9]);
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_semtimedop:
    case SYS_io_getevents:
    case SYS_futex: waits_note(t, nr); gate(t);
    case SYS_io_pgetevents: waits_note(t, nr); gate_with_mask_pair(t, r[9]);
    case SYS_pselect6: waits_note(t, nr); gate_with_mask_pair(t, r[9]);
    case SYS_io_uring_enter: gate_uring(t);
    case SYS_wait4: gate_wait(t, r[R_RDX]);
    case SYS_waitid: gate_wait(t, r[10]);

    default:
        if (memory_call(t, nr) || files_call(t, nr) || rights_call(t, nr) ||
            (nr == SYS_ptrace && ptrace_call(t)))
            return;
        gate(t);
    }
}

// Restores the si_code of a signal that another thread has passed on.
static void awaited_came(const struct thread *t)
{
    u64 at = t->regs[R_RSI] + offsetof(struct k_siginfo, code);
    s32 code, sent = SI_USER;

    if ((s64)t->regs[R_RAX] > 0 && t->regs[R_RSI] && clientmem_read(&code, at, sizeof(code)) == 0 &&
        code == MASK_GIVEN_AWAY)
        clientmem_write(at, &sent, sizeof(sent));
}

// The kernel may wake one thread for a signal of the process and give it to another one that
// returns to the client first. It does so for threads that both let the signal in: for SIGNAL_SYNC
// all of them, also where the client blocks it and natively none would have been woken. A wait that
// the kernel does not restart by itself then fails without a signal: sigtimedwait, epoll_wait,
// semtimedop, io_getevents, io_uring_enter.
bool syscalls_woken_in_vain(const struct thread *t)
{
    const struct signal_state *s = t->sig;

    if (!t->sc_post || t->regs[R_RAX] != (u64)-EINTR || t->sc_post - 1 == SYS_close)
        return false;
    return ((s->temp_mask_set ? s->temp_mask : s->mask) & SIGNAL_SYNC) && !mask_is_due(t);
}

void syscalls_done(struct thread *t)
{
    u32 nr = (u32)(t->sc_post - 1);
    u64 post = t->sc_post;

    if (t->stop & (STOP_PARK | STOP_YIELD))
        stopworld_park(t);
    stopworld_turn_take(t);
    stress_resume(t);
    if (post) {
        gate_args_restore(t);
        t->sig->temp_mask_set = false;
        t->sig->awaited = 0;
        if (nr == SYS_rt_sigtimedwait)
            awaited_came(t);
        files_done(t, nr);
    }
    t->regs[R_RCX] = t->sc_next;
    t->regs[11] = t->rflags;
    t->pc = t->sc_next;
}
