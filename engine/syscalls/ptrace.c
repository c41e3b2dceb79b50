// SPDX-License-Identifier: MIT
// The client traces a process that runs under its own engine: one that was forked, not executed
// (ptrace.h). The tracee's registers are those of its engine. One of them must not be changed: the
// base of %gs, by which the engine finds its data. The client's base and selector of %gs are in the
// tracee's thread block; reads and writes go there.
#include "engine/syscalls/ptrace.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/sys.h"
#include "engine/codecache/gate.h"
#include "engine/thread/threads.h"
#include "share/spool.h"

#define PTRACE_PEEKDATA  2
#define PTRACE_PEEKUSER  3
#define PTRACE_POKEDATA  5
#define PTRACE_POKEUSER  6
#define PTRACE_GETREGS   12
#define PTRACE_SETREGS   13
#define PTRACE_GETREGSET 0x4204
#define PTRACE_SETREGSET 0x4205
#define NT_PRSTATUS      1

#define REG_GS_BASE 22 // index in struct user_regs_struct
#define REG_GS      26
#define REGS        27

static long raw(u64 request, u64 pid, u64 addr, u64 data)
{
    return sys_call4(SYS_ptrace, request, pid, addr, data);
}

// The thread block of a tracee that runs under an engine; 0 for all others.
static u64 block_of(u64 pid)
{
    u64 base, self;

    if (raw(PTRACE_PEEKUSER, pid, REG_GS_BASE * 8, (u64)&base))
        return 0;
    if (base - THREAD_AREA_BASE < SPOOL_THREADS_FIXED * (u64)THREAD_AREA_STRIDE)
        return (base - THREAD_AREA_BASE) % THREAD_AREA_STRIDE == 0 ? base : 0;
    // Where that process has its further slots is not known here.
    if (!base || base % THREAD_FAR_STRIDE ||
        raw(PTRACE_PEEKDATA, pid, base + TH_SELF, (u64)&self) || self != base)
        return 0;
    return base;
}

// Offset of the client's register number `reg` in its thread block; 0: it is not there.
static u64 place_of(u64 reg)
{
    return reg == REG_GS_BASE ? TH_CLIENT_GS : reg == REG_GS ? TH_CLIENT_SEL : 0;
}

static long get_one(u64 pid, u64 block, u64 reg, u64 *value)
{
    return raw(PTRACE_PEEKDATA, pid, block + place_of(reg), (u64)value);
}

// As in the kernel's putreg(): a selector has 16 bits and user privilege.
static bool is_valid(u64 reg, u64 value)
{
    if (reg == REG_GS_BASE)
        return value < cpu_task_size();
    return (u16)value == 0 || (value & 3) == 3;
}

static long set_one(u64 pid, u64 block, u64 reg, u64 value)
{
    if (!is_valid(reg, value))
        return -EIO;
    return raw(PTRACE_POKEDATA, pid, block + place_of(reg), reg == REG_GS ? (u16)value : value);
}

// For the first n registers at addr: replaces the engine's values by the client's, and the reverse.
static long get_regs(u64 pid, u64 block, u64 addr, u64 n)
{
    for (u64 reg = REG_GS_BASE; reg < n && reg < REGS; reg++) {
        u64 value;

        if (place_of(reg) && !get_one(pid, block, reg, &value) &&
            clientmem_write_u64(addr + reg * 8, value))
            return -EFAULT;
    }
    return 0;
}

static long set_regs(u64 pid, u64 block, u64 addr, u64 n)
{
    struct k_iovec v;
    u64 regs[REGS];

    if (n > REGS)
        n = REGS;
    if (clientmem_read(regs, addr, n * 8))
        return -EFAULT;
    for (u64 reg = REG_GS_BASE; reg < n; reg++)
        if (place_of(reg)) {
            if (set_one(pid, block, reg, regs[reg]))
                return -EIO;
            regs[reg] = reg == REG_GS_BASE ? block : 0;
        }
    v = (struct k_iovec){ (u64)regs, n * 8 };
    return raw(PTRACE_SETREGSET, pid, NT_PRSTATUS, (u64)&v);
}

bool ptrace_call(struct thread *t)
{
    u64 request = t->regs[R_RDI], pid = t->regs[R_RSI], addr = t->regs[R_RDX], data = t->regs[10];
    struct k_iovec v = { 0, 0 };
    u64 block, value;
    long ret;

    switch (request) {
    case PTRACE_PEEKUSER:
    case PTRACE_POKEUSER:
        if (addr % 8 || !place_of(addr / 8))
            return false;
        break;
    case PTRACE_GETREGS:
    case PTRACE_SETREGS: v = (struct k_iovec){ data, REGS * 8 }; break;
    case PTRACE_GETREGSET:
    case PTRACE_SETREGSET:
        if (addr != NT_PRSTATUS || clientmem_read(&v, data, sizeof(v)))
            return false;
        break;
    default: return false;
    }
    block = block_of(pid);
    if (!block)
        return false;
    switch (request) {
    case PTRACE_PEEKUSER:
        ret = get_one(pid, block, addr / 8, &value);
        if (!ret)
            ret = clientmem_write_u64(data, value);
        break;
    case PTRACE_POKEUSER: ret = set_one(pid, block, addr / 8, data); break;
    case PTRACE_SETREGS: ret = set_regs(pid, block, v.base, REGS); break;
    case PTRACE_SETREGSET:
        ret = v.len % 8 ? -EINVAL : set_regs(pid, block, v.base, v.len / 8);
        break;
    case PTRACE_GETREGS:
        ret = raw(request, pid, addr, data);
        if (!ret)
            ret = get_regs(pid, block, v.base, REGS);
        break;
    default:
        ret = raw(request, pid, addr, data);
        if (!ret && clientmem_read(&v, data, sizeof(v)) == 0) // v.len: what the kernel wrote
            ret = get_regs(pid, block, v.base, v.len / 8);
        break;
    }
    gate_return(t, ret);
    return true;
}
