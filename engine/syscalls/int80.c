// SPDX-License-Identifier: MIT
// int $0x80, the 32-bit way into the kernel (int80.h).
#include "engine/syscalls/int80.h"

#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/base/sys.h"
#include "engine/process/end.h"
#include "engine/process/rights.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/signal/mask.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"
#include "engine/syscalls/syscalls.h"
#include "engine/thread/loop.h"
#include "engine/thread/selector.h"
#include "engine/translate/timing.h"

// int80.S
_Noreturn void int80_go(struct thread *t);
_Noreturn void int80_done(struct thread *t);
_Noreturn void int80_fault(struct thread *t);
long int80_make(u64 number, u64 rbx);

#define TRAP_GP    13
#define FOR_VECTOR (0x80u << 3 | 2) // the fault's error code: the table's entry 0x80

#define NO_WAY     (-4096) // int80_make: the kernel has none
#define AREA_FIRST 12      // entries of the global table that are a thread's own
#define IPC_SHMAT  21
#define IPC_SHMDT  22
#define SUD        59 // PR_SET_SYSCALL_USER_DISPATCH

// set_thread_area: the kernel loads anew what a segment register has of that entry. True: made.
static bool area(struct thread *t)
{
    long ret;
    u64 entry;

    mask_close(t);
    ret = int80_make((u32)t->regs[R_RAX], (u32)t->regs[R_RBX]);
    if (ret == NO_WAY)
        return false;
    if (ret == 0 && t->client_gs > 3 && safe_read_u64((u32)t->regs[R_RBX], &entry) == 0 &&
        (u32)entry >= AREA_FIRST && t->client_gs == ((u32)entry << 3 | 3))
        selector_again(t);
    t->regs[R_RAX] = (u64)ret;
    t->pc += 2;
    return true;
}

// Descriptors of the engine's do not exist for the client. True: it is told so.
static bool names_ours(const struct thread *t)
{
    switch ((u32)t->regs[R_RAX]) {
    case 63:  // dup2
    case 330: // dup3
        if (fds_is_ours((int)t->regs[R_RCX]))
            return true; // fall through
    case 6:              // close
    case 41:             // dup
    case 55:             // fcntl
    case 221:            // fcntl64
        return fds_is_ours((int)t->regs[R_RBX]);
    default: return false;
    }
}

// The 32-bit calls that would change the process behind the engine's back.
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

// False: it is answered.
static bool allowed(struct thread *t)
{
    u64 ecx = (u32)t->regs[R_RCX], edx = (u32)t->regs[R_RDX];

    if (rights_is_int80((u32)t->regs[R_RAX], t->regs[R_RBX]))
        rights_forgo(t);
    if (refused(t)) {
        engine_msg("int 0x80 with call %u at 0x%lx is refused: use syscall", (u32)t->regs[R_RAX],
                   t->pc);
        return answer(t, -ENOSYS);
    }
    if (names_ours(t))
        return answer(t, -EBADF);
    switch ((u32)t->regs[R_RAX]) {
    case 1: // exit
        end_thread(t, (int)t->regs[R_RBX]);
    case 123: // modify_ldt, of which the kernel gives the lower half alone
        return answer(t, syscalls_modify_ldt(t, (u32)t->regs[R_RBX], ecx, edx));
    case 172: // prctl
        if ((u32)t->regs[R_RBX] == PR_SET_TSC && (u32)t->regs[R_RCX] != PR_TSC_ENABLE)
            timing_forbidden();
        return true;
    case 243: // set_thread_area
        return !area(t);
    case 252: // exit_group
        end_process(t, SPOOL_END_EXIT, (int)(t->regs[R_RBX] & 0xff));
    default: return true;
    }
}

_Noreturn void int80_done(struct thread *t)
{
    // rax is in regs[] already; int 0x80 leaves every other register alone.
    __atomic_store_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    t->pc = t->sc_next;
    loop_continue(t);
}

// The kernel has no such way (ia32_emulation=off). No register has changed.
_Noreturn void int80_fault(struct thread *t)
{
    __atomic_store_n(&t->state, TS_ENGINE, __ATOMIC_SEQ_CST);
    handler_not_stepped(t);
    deliver_fault(t, SIGSEGV, SI_KERNEL, 0, TRAP_GP, FOR_VECTOR);
    loop_continue(t);
}

void int80_call(struct thread *t)
{
    t->sc_next = t->pc + 2;
    t->sc_post = 0;
    if (allowed(t))
        int80_go(t);
}
