// SPDX-License-Identifier: MIT
// The vsyscall page (vsyscall.h). The kernel emulates its three entries when they are executed;
// here they are ordinary system calls with the same result, none of which blocks.

#include "engine/syscalls/vsyscall.h"

#include "engine/base/clientmem.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/signal/deliver.h"

bool vsyscall_try(struct thread *t)
{
    static const u16 numbers[] = { SYS_gettimeofday, SYS_time, SYS_getcpu };
    u64 off = t->pc - VSYSCALL_PAGE, back;

    if (off >= ARRAY_SIZE(numbers) * 0x400 || off % 0x400)
        return false;
    if (clientmem_read_u64(t->regs[R_RSP], &back)) {
        deliver_fault(t, SIGSEGV, SEGV_MAPERR, t->regs[R_RSP], 14, 4);
        return true;
    }
    t->regs[R_RAX] = (u64)sys_call3(numbers[off / 0x400], t->regs[R_RDI], t->regs[R_RSI], 0);
    t->regs[R_RSP] += 8;
    t->pc = back;
    calls_returned(t, back);
    return true;
}
