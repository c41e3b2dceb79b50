// SPDX-License-Identifier: MIT
// The code cache's memory (region.h). Guarded by the translation lock.
#include "engine/codecache/region.h"

#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "share/spool.h"

#define STUBS_MADE (256ul << 10) // room for stubs that are made while running

static u64 start, end;
static u64 made_free;             // behind the stubs made so far; they end at code_start
static u64 code_start, code_free; // fragments
static u64 asked;                 // of the kernel, for fragments (pages.h)
static u64 escape_start, escapes_used;
static u64 free_escape[SPOOL_THREADS_MAX];
static u32 nfree_escape;

int region_init(u64 limit, u32 kib, u64 stubs)
{
    u64 size = PAGE_UP((u64)kib << 10), escapes = SPOOL_THREADS_MAX * (u64)FRAGMENT_MAX;
    u64 head = PAGE_UP(stubs + STUBS_MADE), total = head + size + escapes;
    u32 prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    u32 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    s64 r =
        sys_mmap((limit - total) & ~0x1ffffful, total, prot, flags | MAP_FIXED_NOREPLACE, -1, 0);

    if (r < 0)
        r = sys_mmap(0, total, prot, flags, -1, 0);
    if (r < 0)
        return (int)r;
    start = (u64)r;
    end = start + total;
    made_free = start + ((stubs + 63) & ~63ul);
    code_start = code_free = start + head;
    escape_start = code_start + size;
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
    return escape_start;
}

u8 *region_room(u64 *room)
{
    if (room)
        *room = escape_start - code_free;
    return (u8 *)code_free;
}

void region_take(u64 bytes)
{
    code_free += (bytes + 15) & ~15ul;
    pages_ahead(&asked, code_free, escape_start);
}

void region_flush(void)
{
    code_free = code_start;
}

u8 *region_made_room(u64 *room)
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
    if (nfree_escape)
        return free_escape[--nfree_escape];
    return escape_start + escapes_used++ * FRAGMENT_MAX;
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
