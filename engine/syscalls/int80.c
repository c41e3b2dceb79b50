// SPDX-License-Identifier: MIT
// int $0x80, the 32-bit way into the kernel (int80.h).
#include "engine/syscalls/int80.h"

#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/process/end.h"
#include "engine/process/rights.h"
#include "engine/signal/deliver.h"
#include "engine/signal/handler.h"
#include "engine/spool/spooler.h"
#include "engine/thread/loop.h"
#include "engine/translate/timing.h"

// int80.S
_Noreturn void int80_go(struct thread *t);
_Noreturn void int80_done(struct thread *t);
_Noreturn void int80_fault(struct thread *t);

#define TRAP_GP    13
#define FOR_VECTOR (0x80u << 3 | 2) // the fault's error code: the table's entry 0x80

// The 32-bit calls that would change the process behind the engine's back.
static bool allowed(struct thread *t)
{
    if (rights_is_int80((u32)t->regs[R_RAX], t->regs[R_RBX]))
        rights_forgo(t);
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
    case 123: // modify_ldt
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
        engine_msg("int 0x80 with call %u at 0x%lx is refused: use syscall", (u32)t->regs[R_RAX],
                   t->pc);
        t->regs[R_RAX] = (u64)-ENOSYS;
        t->pc += 2;
        return false;
    case 1: // exit
        end_thread(t, (int)t->regs[R_RBX]);
    case 172: // prctl
        if ((u32)t->regs[R_RBX] == PR_SET_TSC && (u32)t->regs[R_RCX] != PR_TSC_ENABLE)
            timing_forbidden();
        return true;
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
