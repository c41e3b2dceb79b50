// SPDX-License-Identifier: MIT
// The client's memory calls: made directly, with updates of vmmap before and after (vmmap.h says
// why both), and never on the engine's own memory. The engine's ranges are mapped as they are
// needed, so for the kernel they have gaps; if they were reserved, they would count against the
// client's limit on address space, and show in its size. If the client leaves the address open, the
// kernel chooses it only if there is free space above the engine; otherwise the engine chooses one
// below itself. For the client the engine's ranges are taken when it wants to map there, and empty
// otherwise.

#include "engine/syscalls/memory.h"

#include "engine/base/clientmem.h"
#include "engine/base/layout.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/codecache/gate.h"
#include "engine/codecache/modules.h"
#include "engine/codecache/vmmap.h"
#include "engine/objects/mappings.h"
#include "engine/thread/stopworld.h"

#define READ_IMPLIES_EXEC    0x0400000ul
#define MADV_GUARD_INSTALL   102
#define MADV_DONTNEED_LOCKED 24
#define MAP_HUGE_SHIFT       26
#define IPC_STAT             2
#define NOT_THERE            (-ENOMEM) // result of calls on a range without mappings

static struct lock brk_lock;
static bool brk_known;
static u64 brk_start, brk_now; // brk_start: 0 unless the break is emulated
static bool read_implies_exec;

static struct lock place_lock; // from the choice of an address to the update of the map
static u64 place_top;          // the engine chooses addresses below it; 0: the kernel chooses

void memory_init(u64 brk, u64 top)
{
    place_top = top;
    brk_start = PAGE_UP(brk);
    read_implies_exec = ((u64)sys_call1(SYS_personality, 0xffffffff) & READ_IMPLIES_EXEC) != 0;
}

// End of [addr, addr + len) in whole pages; 0 when it wraps around.
static u64 range_end(u64 addr, u64 len)
{
    u64 end = PAGE_UP(addr + len);

    return end < addr ? 0 : end;
}

static bool range_is_engine(u64 addr, u64 len)
{
    u64 end = range_end(addr, len);

    // The kernel refuses a range that wraps.
    return end > addr && vmmap_is_engine(addr, end);
}

static u32 map_flags(u64 flags)
{
    u32 type = flags & MAP_TYPE;

    return (type == MAP_SHARED || type == MAP_SHARED_VALIDATE ? VMMAP_SHARED : 0) |
           (flags & MAP_ANONYMOUS ? VMMAP_ANON : 0) | (flags & MAP_GROWSDOWN ? VMMAP_GROWS : 0);
}

static u32 map_prot(u64 prot)
{
    u32 p = prot & (PROT_READ | PROT_WRITE | PROT_EXEC);

    return read_implies_exec && (p & PROT_READ) ? p | PROT_EXEC : p;
}

// Makes execute-only memory readable: with protection keys it would not be, and the engine must
// read it.
static u64 readable(u64 prot)
{
    return (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_EXEC ? prot | PROT_READ : prot;
}

// ---- Choice of addresses ----

#define PLACE_TRIES 16
#define LARGE_PAGE  0x200000ul
#define STACK_GUARD 0x100000ul // the kernel keeps this free below a mapping that grows

// Maps `len` bytes with PROT_NONE outside the engine's ranges; 0: no space.
static u64 place_take(u64 len, u64 align)
{
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

    for (u32 i = 0; i < PLACE_TRIES; i++) {
        u64 at = vmmap_gap(len + align - PAGE_SIZE, place_top ? place_top : REPLAY_BASE);
        long ret;

        if (!at)
            return 0;
        at = (at + align - PAGE_SIZE) & ~(align - 1);
        ret = sys_mmap(at, len, PROT_NONE, (int)flags, -1, 0);
        if (ret == (long)at)
            return at;
        if (ret != -EEXIST)
            return 0;
        vmmap_learn(at, at + len); // mapped by another thread or by the kernel
    }
    return 0;
}

static u64 place_align(u64 len)
{
    return len >= LARGE_PAGE ? LARGE_PAGE : PAGE_SIZE; // like the kernel
}

// Moves a mapping that the kernel has placed in a range of the engine. Returns its new address, or
// -ENOMEM: it is unmapped.
static long place_leave(long at, u64 len)
{
    u64 to;
    long ret;

    if (sys_failed(at) || !vmmap_is_engine((u64)at, (u64)at + len))
        return at;
    to = place_take(len, place_align(len));
    ret =
        to ? sys_call5(SYS_mremap, (u64)at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) : -ENOMEM;
    if (!sys_failed(ret))
        return ret;
    if (to)
        sys_munmap(to, len);
    sys_munmap((u64)at, len);
    return -ENOMEM;
}

static long map_at(const u64 *r, u64 addr, u64 flags)
{
    return sys_mmap(addr, r[R_RSI], (int)readable(r[R_RDX]), (int)flags, (int)r[8], r[9]);
}

static long map_noted(const u64 *r, long ret)
{
    if (!sys_failed(ret))
        vmmap_add((u64)ret, PAGE_UP((u64)ret + r[R_RSI]), map_prot(r[R_RDX]), map_flags(r[10]));
    return ret;
}

// The client leaves the address open: takes the highest gap. The kernel does the same, but among
// its own mappings, which differ between versions.
static long mmap_placed(const u64 *r, u64 hint)
{
    u64 len = PAGE_UP(r[R_RSI]), fixed = r[10] | MAP_FIXED_NOREPLACE, gap;
    long ret = -EEXIST;

    lock_take(&place_lock);
    if (PAGE_DOWN(hint))
        ret = map_at(r, PAGE_DOWN(hint), fixed);
    if (sys_failed(ret) && (gap = vmmap_gap(len, place_top)) != 0)
        ret = map_at(r, gap, fixed);
    if (sys_failed(ret)) // the kernel has a mapping there, or a device chooses its own address
        ret = place_leave(map_at(r, 0, r[10]), len);
    map_noted(r, ret);
    lock_drop(&place_lock);
    return ret;
}

static bool is_placed(u64 len, u64 flags)
{
    return place_top && len && len < 1ul << 46 &&
           !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_HUGETLB | MAP_GROWSDOWN));
}

// If the kernel could choose a range of the engine, the engine chooses.
static long mmap_beside(const u64 *r, u64 hint)
{
    u64 len = PAGE_UP(r[R_RSI]), flags = r[10], huge = flags >> MAP_HUGE_SHIFT & 63;
    u64 align = place_align(len), guard = flags & MAP_GROWSDOWN ? STACK_GUARD : 0, at;
    long ret;

    if (flags & MAP_HUGETLB) {
        align = huge ? 1ul << huge : LARGE_PAGE;
        len = (len + align - 1) & ~(align - 1);
    }
    if (!len || len > 1ul << 47 || (flags & MAP_32BIT) || vmmap_has_room(len + align + guard))
        return place_leave(map_at(r, hint, flags), len);
    if (PAGE_DOWN(hint)) {
        ret = map_at(r, PAGE_DOWN(hint), flags | MAP_FIXED_NOREPLACE);
        if (!sys_failed(ret))
            return ret;
    }
    at = place_take(len + guard, align);
    if (at) {
        ret = map_at(r, at + guard, flags | MAP_FIXED);
        if (guard || sys_failed(ret))
            sys_munmap(at, sys_failed(ret) ? len + guard : guard);
        if (!sys_failed(ret))
            return ret;
    }
    return place_leave(map_at(r, 0, flags), len); // a device chooses, or no space
}

static long map_anywhere(struct thread *t)
{
    u64 addr = t->regs[R_RDI], len = t->regs[R_RSI], flags = t->regs[10];
    bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    long ret;

    if (fixed) {
        if (range_is_engine(addr, len))
            return flags & MAP_FIXED_NOREPLACE ? -EEXIST : -ENOMEM;
        if (!(flags & MAP_FIXED_NOREPLACE) && range_end(addr, len))
            vmmap_before(addr, range_end(addr, len));
    } else if (addr && range_is_engine(addr, len)) {
        addr = 0; // only a hint
    }
    if (is_placed(len, flags))
        return mmap_placed(t->regs, addr);
    stopworld_blocking_begin(t);
    ret = fixed ? map_at(t->regs, addr, flags) : mmap_beside(t->regs, addr);
    stopworld_blocking_end(t);
    return map_noted(t->regs, ret);
}

// Code is identified by the name of its file. When its first block is translated, the name may lead
// to another file.
static void keep_file(struct thread *t, int fd)
{
    struct k_stat st;
    bool is;

    stopworld_blocking_begin(t);
    is = modules_check(fd, &st);
    stopworld_blocking_end(t);
    if (is)
        vmmap_hold(fd, &st);
}

// The same for files that were mapped before: the client's descriptor may be gone. What takes long
// is the first look, and other threads do not wait for it; no descriptor is open then when they
// fork.
static void keep_files(struct thread *t, u64 at, u64 end)
{
    struct modules_found found;
    struct vmmap_file file;

    while (vmmap_next_file(&at, end, &file)) {
        stopworld_blocking_begin(t);
        modules_look(&file.line, file.deleted, &found);
        modules_looked(&found);
        stopworld_blocking_end(t);
        modules_look(&file.line, file.deleted, &found);
        vmmap_hold_file(&file, &found);
        modules_looked(&found);
    }
}

// A program that generates code and writes names to a file jit-PID.dump maps that file as
// executable to announce it: the finisher looks for it in the spool's records of mappings.
static bool is_jitdump(u32 fd)
{
    char link[32], path[4096];
    long n;

    nolibc_format(link, sizeof(link), "/proc/self/fd/%u", fd);
    n = sys_readlinkat(AT_FDCWD, link, path, sizeof(path));
    if (n <= 0 || n == sizeof(path))
        return false;
    path[n] = '\0';
    return nolibc_glob("jit-*.dump", nolibc_basename(path));
}

static void note_object(struct thread *t, u64 start)
{
    u64 end = PAGE_UP(start + t->regs[R_RSI]);

    if (t->regs[10] & MAP_ANONYMOUS)
        mappings_anonymous(t, start, end);
    else
        mappings_file(t, start, end, (int)t->regs[8], t->regs[9]);
}

static long client_mmap(struct thread *t)
{
    bool file = (map_prot(t->regs[R_RDX]) & PROT_EXEC) && !(t->regs[10] & MAP_ANONYMOUS);
    u32 fd = (u32)t->regs[8];
    long ret = map_anywhere(t);

    if (sys_failed(ret))
        return ret;
    note_object(t, (u64)ret);
    if (!file)
        return ret;
    keep_file(t, (int)fd);
    if (is_jitdump(fd))
        vmmap_spool_map((u64)ret);
    return ret;
}

// Unmaps what is around the engine's ranges.
static long munmap_around(u64 addr, u64 end)
{
    u64 from, to;
    long ret = 0;

    while (ret == 0 && addr < end) {
        if (!vmmap_engine(addr, end, &from, &to))
            return sys_munmap(addr, end - addr);
        if (addr < from)
            ret = sys_munmap(addr, from - addr);
        addr = to;
    }
    return ret;
}

static long client_munmap(struct thread *t)
{
    u64 addr = t->regs[R_RDI], len = t->regs[R_RSI], end = range_end(addr, len);
    bool around = addr == PAGE_DOWN(addr) && range_is_engine(addr, len);
    long ret;

    if (end)
        vmmap_before(addr, end);
    stopworld_blocking_begin(t);
    ret = around ? munmap_around(addr, end) : sys_munmap(addr, len);
    stopworld_blocking_end(t);
    if (ret == 0) {
        vmmap_remove(addr, end);
        mappings_removed(t, addr, end);
    }
    return ret;
}

static long client_mprotect(struct thread *t, bool pkey)
{
    u64 addr = t->regs[R_RDI], len = t->regs[R_RSI], prot = t->regs[R_RDX];
    u64 end = range_end(addr, len);
    struct vmmap_info info;
    long ret;

    if (range_is_engine(addr, len))
        return NOT_THERE;
    if (end > addr && ((prot & PROT_WRITE) || !(prot & PROT_EXEC)))
        vmmap_before(addr, end);
    ret = pkey ? sys_call4(SYS_pkey_mprotect, addr, len, readable(prot), t->regs[10])
               : sys_call3(SYS_mprotect, addr, len, readable(prot));
    if (ret != 0 || end <= addr)
        return ret;
    if ((prot & PROT_GROWSDOWN) && vmmap_find(addr, &info))
        vmmap_remove(info.start, info.end); // extended downwards: look it up again when needed
    else
        vmmap_protect(addr, end, map_prot(prot));
    if (map_prot(prot) & PROT_EXEC)
        keep_files(t, addr, end);
    return ret;
}

static bool keeps_old(u64 old_len, u64 flags)
{
    return old_len == 0 || (flags & MREMAP_DONTUNMAP);
}

// Whether the engine chooses the address if the mapping moves.
static bool is_beside(u64 old, u64 old_len, u64 new_len, u64 flags)
{
    if ((place_top && (flags & MREMAP_MAYMOVE)) || vmmap_is_engine(old, old + new_len))
        return true;
    return (new_len > old_len || keeps_old(old_len, flags)) &&
           !vmmap_has_room(new_len + LARGE_PAGE);
}

// Moves to an address that the engine chooses. Returns it, or -errno.
static long mremap_away(u64 old, u64 old_len, u64 new_len, u64 flags)
{
    u64 len = PAGE_UP(new_len), to = place_take(len, place_top ? PAGE_SIZE : place_align(len));
    long ret = -ENOMEM;

    if (to)
        ret = sys_call5(SYS_mremap, old, old_len, new_len, flags | MREMAP_FIXED, to);
    if (to && sys_failed(ret))
        sys_munmap(to, len);
    return ret;
}

// Grows in place, or moves.
static long mremap_beside(struct thread *t, u64 old, u64 old_len, u64 new_len, u64 flags)
{
    u64 old_end = old + PAGE_UP(old_len), len = PAGE_UP(new_len);
    bool keeps = keeps_old(old_len, flags);
    long ret = -ENOMEM;

    lock_take(&place_lock);
    if (!keeps && !vmmap_is_engine(old, old + len))
        ret = sys_call5(SYS_mremap, old, old_len, new_len, 0, 0);
    if (ret == -ENOMEM && (flags & MREMAP_MAYMOVE))
        ret = mremap_away(old, old_len, new_len, flags);
    if (!sys_failed(ret))
        vmmap_move(old, old_end, (u64)ret, (u64)ret + len, keeps);
    if (!sys_failed(ret))
        mappings_moved(t, old, old_end, (u64)ret, (u64)ret + len, keeps);
    lock_drop(&place_lock);
    return ret;
}

static long client_mremap(struct thread *t)
{
    u64 old = t->regs[R_RDI], old_len = PAGE_UP(t->regs[R_RSI]), new_len = PAGE_UP(t->regs[R_RDX]);
    u64 flags = t->regs[10], new_addr = t->regs[8];
    bool fixed = (flags & MREMAP_FIXED) != 0;
    long ret;

    if (range_is_engine(old, old_len ? old_len : 1))
        return -EFAULT;
    if (fixed && range_is_engine(new_addr, new_len))
        return -EINVAL;
    if (!fixed && (flags & MREMAP_DONTUNMAP) && range_is_engine(new_addr, new_len))
        new_addr = 0; // only a hint
    if (old_len)
        vmmap_before(old, old + old_len);
    if (fixed)
        vmmap_before(new_addr, new_addr + new_len);
    if (!(flags & MREMAP_DONTUNMAP))
        new_addr = fixed ? new_addr : 0; // ignored
    if (!fixed && new_len && new_addr == PAGE_DOWN(new_addr) &&
        is_beside(old, old_len, new_len, flags))
        return mremap_beside(t, old, t->regs[R_RSI], t->regs[R_RDX], flags);
    stopworld_blocking_begin(t);
    ret = sys_call5(SYS_mremap, old, t->regs[R_RSI], t->regs[R_RDX], flags, new_addr);
    if (new_len)
        ret = place_leave(ret, new_len);
    stopworld_blocking_end(t);
    if (sys_failed(ret))
        return ret;
    vmmap_move(old, old + old_len, (u64)ret, (u64)ret + new_len, keeps_old(old_len, flags));
    mappings_moved(t, old, old + old_len, (u64)ret, (u64)ret + new_len, keeps_old(old_len, flags));
    return ret;
}

// Grows or shrinks the emulated break. Returns the new one, or the old one if that is impossible.
// @holds(brk_lock)
static u64 emulated_brk(u64 want)
{
    u64 old_end = PAGE_UP(brk_now), new_end = PAGE_UP(want);

    if (want < brk_start || want > 1ul << 47)
        return brk_now;
    if (new_end > old_end) {
        long ret = sys_mmap(old_end, new_end - old_end, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        if (ret != (long)old_end) {
            if (!sys_failed(ret))
                sys_munmap((u64)ret, new_end - old_end);
            return brk_now;
        }
    } else if (new_end < old_end) {
        sys_munmap(new_end, old_end - new_end);
    }
    return want;
}

static long client_brk(struct thread *t)
{
    u64 want = t->regs[R_RDI], now, old;

    // The lock keeps the results of two threads and the map in the same order.
    lock_take(&brk_lock);
    if (!brk_known) {
        brk_now = brk_start ? brk_start : (u64)sys_call1(SYS_brk, 0);
        brk_known = true;
    }
    old = brk_now;
    if (want && want < old)
        vmmap_before(PAGE_UP(want), PAGE_UP(old));
    if (want > old && vmmap_is_engine(PAGE_DOWN(old), PAGE_UP(want)))
        want = 0;
    now = brk_start ? emulated_brk(want) : (u64)sys_call1(SYS_brk, want);
    brk_now = now;
    if (PAGE_UP(now) > PAGE_UP(old))
        vmmap_add(PAGE_UP(old), PAGE_UP(now), map_prot(PROT_READ | PROT_WRITE), VMMAP_ANON);
    else if (PAGE_UP(now) < PAGE_UP(old))
        vmmap_remove(PAGE_UP(now), PAGE_UP(old));
    lock_drop(&brk_lock);
    if (PAGE_UP(now) > PAGE_UP(old))
        mappings_break(t, PAGE_UP(old), PAGE_UP(now));
    else if (PAGE_UP(now) < PAGE_UP(old))
        mappings_removed(t, PAGE_UP(now), PAGE_UP(old));
    return (long)now;
}

// Attaches the segment outside the engine's ranges.
static long shmat_beside(u64 id, u64 size, u64 flags)
{
    u64 len = PAGE_UP(size), to = place_take(len, PAGE_SIZE);
    long ret = to ? sys_call3(SYS_shmat, id, to, flags | SHM_REMAP) : -ENOMEM;

    if (to && sys_failed(ret))
        sys_munmap(to, len);
    return ret;
}

static long client_shmat(struct thread *t)
{
    u64 id = t->regs[R_RDI], addr = t->regs[R_RSI], flags = t->regs[R_RDX], size = 0;
    u64 ds[32]; // struct shmid64_ds: ipc64_perm of 48 bytes, then shm_segsz
    long ret;

    if (sys_call3(SYS_shmctl, id, IPC_STAT, (u64)ds) == 0)
        size = ds[6];
    if (addr) {
        if (range_is_engine(PAGE_DOWN(addr), size ? size : 1))
            return -EINVAL;
        if (flags & SHM_REMAP)
            vmmap_before(PAGE_DOWN(addr), range_end(addr, size));
    }
    if (addr || !size || vmmap_has_room(size + LARGE_PAGE))
        ret = place_leave(sys_call3(SYS_shmat, id, addr, flags), PAGE_UP(size ? size : 1));
    else
        ret = shmat_beside(id, size, flags);
    if (!sys_failed(ret) && size)
        vmmap_add((u64)ret, PAGE_UP((u64)ret + size),
                  map_prot(PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) |
                           (flags & SHM_EXEC ? PROT_EXEC : 0)),
                  VMMAP_SHARED);
    if (!sys_failed(ret) && size)
        mappings_shared(t, (u64)ret, PAGE_UP((u64)ret + size));
    return ret;
}

static long client_shmdt(struct thread *t)
{
    u64 addr = t->regs[R_RDI];
    struct vmmap_info info;
    bool known = vmmap_find(addr, &info);
    long ret;

    if (vmmap_is_engine(addr, addr + 1))
        return -EINVAL;
    if (known)
        vmmap_before(addr, info.end);
    ret = sys_call1(SYS_shmdt, addr);
    if (ret != 0 || !known)
        return ret;
    vmmap_remove(addr, info.end); // another segment after it is looked up again when needed
    mappings_removed(t, addr, info.end);
    return ret;
}

static long client_remap_file_pages(struct thread *t)
{
    u64 addr = t->regs[R_RDI], end = range_end(addr, t->regs[R_RSI]);
    long ret;

    if (range_is_engine(addr, t->regs[R_RSI]))
        return -EINVAL;
    if (end)
        vmmap_before(addr, end);
    ret = sys_call5(SYS_remap_file_pages, addr, t->regs[R_RSI], t->regs[R_RDX], t->regs[10],
                    t->regs[8]);
    if (ret == 0)
        vmmap_remove(addr, end);
    return ret;
}

static long client_madvise(struct thread *t)
{
    u64 addr = t->regs[R_RDI], len = t->regs[R_RSI], end = range_end(addr, len);
    bool changes;
    long ret;

    if (range_is_engine(addr, len))
        return NOT_THERE;
    switch (t->regs[R_RDX]) {
    case MADV_DONTNEED:
    case MADV_FREE:
    case MADV_REMOVE:
    case MADV_DONTNEED_LOCKED:
    case MADV_GUARD_INSTALL: changes = end > addr; break;
    default: changes = false; break;
    }
    if (changes)
        vmmap_before(addr, end);
    stopworld_blocking_begin(t);
    ret = sys_call3(SYS_madvise, addr, len, t->regs[R_RDX]);
    stopworld_blocking_end(t);
    if (changes)
        vmmap_before(addr, end);
    return ret;
}

// Writes to the memory of a process: if it is this one, code may change.
static long client_process_vm_writev(struct thread *t)
{
    const u64 *r = t->regs;
    long ret;

    stopworld_blocking_begin(t);
    ret = sys_call6(SYS_process_vm_writev, r[R_RDI], r[R_RSI], r[R_RDX], r[10], r[8], r[9]);
    stopworld_blocking_end(t);
    if (ret > 0)
        for (u64 i = 0; i < r[8]; i++) {
            struct k_iovec v;

            if (clientmem_read(&v, r[10] + i * sizeof(v), sizeof(v)))
                break;
            if (range_end(v.base, v.len))
                vmmap_before(v.base, range_end(v.base, v.len));
        }
    return ret;
}

bool memory_call(struct thread *t, u32 nr)
{
    long ret;

    switch (nr) {
    case SYS_mmap: ret = client_mmap(t); break;
    case SYS_munmap: ret = client_munmap(t); break;
    case SYS_mprotect: ret = client_mprotect(t, false); break;
    case SYS_pkey_mprotect: ret = client_mprotect(t, true); break;
    case SYS_mremap: ret = client_mremap(t); break;
    case SYS_brk: ret = client_brk(t); break;
    case SYS_shmat: ret = client_shmat(t); break;
    case SYS_shmdt: ret = client_shmdt(t); break;
    case SYS_remap_file_pages: ret = client_remap_file_pages(t); break;
    case SYS_madvise: ret = client_madvise(t); break;
    case SYS_mseal:
        if (range_is_engine(t->regs[R_RDI], t->regs[R_RSI]))
            ret = NOT_THERE;
        else
            ret = sys_call3(SYS_mseal, t->regs[R_RDI], t->regs[R_RSI], t->regs[R_RDX]);
        break;
    case SYS_process_vm_writev: ret = client_process_vm_writev(t); break;
    case SYS_personality:
        ret = sys_call1(SYS_personality, t->regs[R_RDI]);
        if (ret >= 0 && (u32)t->regs[R_RDI] != 0xffffffff)
            read_implies_exec = (t->regs[R_RDI] & READ_IMPLIES_EXEC) != 0;
        break;
    default: return false;
    }
    gate_return(t, ret);
    return true;
}
