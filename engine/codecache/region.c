// SPDX-License-Identifier: MIT
// The code cache's memory (region.h). Guarded by the translation lock.
#include "engine/codecache/region.h"

#include "engine/base/layout.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "share/spool.h"

#define STUBS_MADE (256ul << 10) // space for stubs generated at run time

// ESCAPES buffers have space of their own. Those of further threads follow, MORE_BYTES of address
// space, made writable in steps, unless address space is limited. When these are used up, buffers
// take the end of the fragments' space, at most half of it.
#define ESCAPES    2400u
#define MORE_BYTES 0xd000000ul
#define MORE_STEP  (64ul * FRAGMENT_MAX)
#define REGION_MAX (1ul << 30) // further buffers do not exceed it: operands would be out of reach

static u64 start, end;
static u64 made_free;             // behind the stubs made so far; they end at code_start
static u64 code_start, code_free; // fragments
static u64 asked;                 // of the kernel, for fragments (pages.h)
static u64 escape_start;          // fragments end here
static u64 escape_least;          // the lowest escape_start
static u64 escape_next, escape_writable; // next buffer behind escape_start; end of writable memory
static u64 free_escape[SPOOL_THREADS_MAX];
static u32 nfree_escape;

// Bytes for further buffers behind the ESCAPES. The region begins so much lower; its end does not
// change.
static u64 more_bytes(u64 limit, u64 total)
{
    struct k_rlimit as;
    u64 most = limit == PINNED_CACHE_END ? PINNED_CACHE_END - PINNED_TOP : REGION_MAX;
    u64 room = most > total ? (most - total) & ~(HUGE_PAGE - 1) : 0;

    if (sys_prlimit(RLIMIT_AS, NULL, &as) || as.cur != ~0ul)
        return 0;
    return room < MORE_BYTES ? room : MORE_BYTES;
}

// The last `more` bytes are not accessible yet. Returns the address, or -errno.
static s64 reserve(u64 at, u64 bytes, u64 more, u32 fixed)
{
    u32 prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    s64 r = sys_mmap(at, bytes, more ? PROT_NONE : prot, flags | fixed, -1, 0);

    if (more && r >= 0 && sys_mprotect((u64)r, bytes - more, prot)) {
        sys_munmap((u64)r, bytes);
        return -ENOMEM;
    }
    return r;
}

int region_init(u64 limit, u32 kib, u64 stubs)
{
    u64 size = PAGE_UP((u64)kib << 10), escapes = ESCAPES * (u64)FRAGMENT_MAX;
    u64 head = PAGE_UP(stubs + STUBS_MADE), total = head + size + escapes;
    u64 more = more_bytes(limit, total), low = (limit - total) & ~(HUGE_PAGE - 1);
    s64 r = more ? reserve(low - more, total + more, more, MAP_FIXED_NOREPLACE) : -ENOMEM;

    if (r < 0) {
        more = 0;
        r = reserve(low, total, 0, MAP_FIXED_NOREPLACE);
    }
    if (r < 0)
        r = reserve(0, total, 0, 0);
    if (r < 0)
        return (int)r;
    start = (u64)r;
    end = start + total + more;
    made_free = start + ((stubs + 63) & ~63ul);
    code_start = code_free = start + head;
    escape_start = escape_next = code_start + size;
    escape_writable = start + total;
    escape_least = code_start + size / 2;
    return 0;
}

u64 region_start(void)
{
    return start;
}

u64 region_end(void)
{
    return end;
}

u64 region_fragments(void)
{
    return code_start;
}

u64 region_escapes(void)
{
    return __atomic_load_n(&escape_start, __ATOMIC_RELAXED);
}

u8 *region_space(u64 *room)
{
    if (room)
        *room = escape_start - code_free;
    return (u8 *)code_free;
}

void region_take(u64 bytes)
{
    code_free += (bytes + 15) & ~15ul;
    pages_populate(&asked, code_free, escape_start);
}

void region_flush(void)
{
    code_free = code_start;
}

u8 *region_made_space(u64 *room)
{
    *room = code_start - made_free;
    return (u8 *)made_free;
}

void region_made(u64 made_end)
{
    made_free = (made_end + 15) & ~15ul;
}

u64 region_escape_take(void)
{
    u32 prot = PROT_READ | PROT_WRITE | PROT_EXEC;

    if (nfree_escape)
        return free_escape[--nfree_escape];
    if (escape_next == escape_writable && escape_writable < end) {
        u64 step = end - escape_writable < MORE_STEP ? end - escape_writable : MORE_STEP;

        if (!sys_mprotect(escape_writable, step, prot))
            escape_writable += step;
    }
    if (escape_next < escape_writable) {
        escape_next += FRAGMENT_MAX;
        return escape_next - FRAGMENT_MAX;
    }
    if (escape_start - FRAGMENT_MAX < escape_least || escape_start - code_free < 4 * FRAGMENT_MAX)
        return 0;
    __atomic_store_n(&escape_start, escape_start - FRAGMENT_MAX, __ATOMIC_RELAXED);
    return escape_start;
}

void region_escape_give(u64 buffer)
{
    free_escape[nfree_escape++] = buffer;
}

bool region_reaches(u64 target)
{
    s64 first = (s64)(target - start), last = (s64)(target - end);

    return first == (s64)(s32)first && last == (s64)(s32)last;
}
