// SPDX-License-Identifier: MIT
// The engine's own memory (heap.h). Two kinds: blocks below 32 KiB come from size classes with free
// lists and are carved from runs of 64 KiB; larger ones are runs of pages, first fit among the
// freed ones. Only the contents of freed runs are ever returned to the kernel.
//
// The region is not reserved in advance: it is mapped in steps, each with MAP_FIXED_NOREPLACE where
// the last one ended. A reservation would count against RLIMIT_AS, and nothing else is mapped
// there: syscalls/memory.c keeps the client away. A limit that the client sets itself does not
// apply to this memory (limits.h); where the engine cannot lift it again, it uses a piece that was
// mapped before the limit was set.
#include "engine/base/heap.h"

#include "engine/base/layout.h"
#include "engine/base/limits.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"

#define STEP 0x40000ul // the least that is mapped at a time
// Without a limit on memory, the region ends on a multiple of this: then /proc/self/maps does not
// depend on how much the engine needs. libsigsegv relies on its contents.
#define REGION_ALIGN 0x2000000ul
#define RESERVE      0x1000000ul // before the client limits its memory
#define SHARED_MAX 8u // pieces that are shared with children
#define CHUNK 0x10000ul // small blocks are carved from runs of this size
#define SMALL 0x8000ul  // blocks of this size and more are runs of pages

// Classes: multiples of 16 up to 128, then four to each doubling up to 32 KiB.
#define CLASSES (8 + 4 * 8)

struct free_block {
    struct free_block *next;
};

struct free_run {
    struct free_run *next;
    u64 bytes;
};

static struct lock heap_lock;
static struct free_block *free_blocks[CLASSES];
static struct free_run *free_runs;
static u64 heap_top = ENGINE_HEAP_BASE;    // first byte never allocated
static u64 heap_mapped = ENGINE_HEAP_BASE; // end of the mapped part
static u64 chunk_at, chunk_end;            // rest of the current chunk

static u32 class_of(u64 bytes, u64 *size)
{
    if (bytes <= 128) {
        u64 units = bytes ? (bytes + 15) / 16 : 1;
        *size = units * 16;
        return (u32)units - 1;
    }

    u32 doubling = 63 - (u32)__builtin_clzl(bytes - 1); // 2^doubling < bytes <= 2^(doubling+1)
    u64 quarter = 1ul << (doubling - 2);
    u64 units = (bytes - (1ul << doubling) + quarter - 1) / quarter; // 1..4
    *size = (1ul << doubling) + units * quarter;
    return 8 + (doubling - 7) * 4 + (u32)units - 1;
}

// Maps `bytes` more. 0 or -errno. @holds(heap_lock)
static long grow(u64 bytes)
{
    long got =
        limits_mmap(heap_mapped, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

    if (sys_failed(got))
        return got;
    if ((u64)got != heap_mapped)
        engine_die("address 0x%lx is taken by something else", heap_mapped);
    // Memory that every process touches is at the beginning.
    if (bytes >= HUGE_PAGE && heap_mapped < ENGINE_HEAP_BASE + 3 * REGION_ALIGN)
        pages_huge(heap_mapped, bytes);
    heap_mapped += bytes;
    return 0;
}

static bool is_unlimited(int which)
{
    struct k_rlimit limit;

    return sys_prlimit(which, NULL, &limit) == 0 && !~limit.cur;
}

// How much to map when `need` bytes are needed.
static u64 step_for(u64 need)
{
    if (is_unlimited(RLIMIT_AS) && is_unlimited(RLIMIT_DATA))
        return ((heap_mapped + need + REGION_ALIGN - 1) & ~(REGION_ALIGN - 1)) - heap_mapped;
    return need < STEP ? STEP : PAGE_UP(need);
}

// Zeroed pages from the top of the region. @holds(heap_lock)
static u64 take_top(u64 bytes)
{
    u64 start = heap_top;

    if (heap_top + bytes > heap_mapped) {
        u64 step = step_for(heap_top + bytes - heap_mapped);

        if (heap_mapped + step > ENGINE_HEAP_BASE + ENGINE_HEAP_SIZE)
            engine_die("engine memory is used up: more than %lu GiB", ENGINE_HEAP_SIZE >> 30);
        long r = grow(step);
        if (r)
            limits_die("the engine's memory", step >> 10, r);
    }
    heap_top += bytes;
    return start;
}

static struct {
    u64 at, bytes;
} shared[SHARED_MAX];
static u32 shared_count;

bool heap_share(void *p, u64 bytes)
{
    long got;

    if (shared_count == SHARED_MAX)
        return false;
    got = limits_mmap((u64)p, PAGE_UP(bytes), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (sys_failed(got))
        return false;
    shared[shared_count].at = (u64)p;
    shared[shared_count++].bytes = PAGE_UP(bytes);
    return true;
}

void *heap_shared(u64 bytes)
{
    void *p = heap_pages(bytes); // reserves the addresses

    return heap_share(p, bytes) ? p : NULL;
}

void heap_unshare(void)
{
    for (u32 i = 0; i < shared_count; i++) {
        long got = limits_mmap(shared[i].at, shared[i].bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

        if (sys_failed(got))
            engine_die("cannot leave the memory that forked processes share: error %ld", -got);
    }
    shared_count = 0;
}

void heap_reserve(void)
{
    lock_take(&heap_lock);
    if (heap_mapped - heap_top < RESERVE / 2)
        grow(RESERVE);
    lock_drop(&heap_lock);
}

// @holds(heap_lock)
static void *take_run(u64 bytes)
{
    bytes = PAGE_UP(bytes);
    for (struct free_run **link = &free_runs; *link; link = &(*link)->next) {
        struct free_run *run = *link;
        if (run->bytes < bytes)
            continue;
        if (run->bytes == bytes) {
            *link = run->next;
            memset(run, 0, sizeof(*run));
            return run;
        }
        // Takes the run's end: its head stays in the list.
        run->bytes -= bytes;
        return (u8 *)run + run->bytes;
    }
    return (void *)take_top(bytes);
}

static void free_pages(void *p, u64 bytes)
{
    struct free_run *run = p;

    bytes = PAGE_UP(bytes);
    sys_madvise((u64)p, bytes, MADV_DONTNEED); // zeroed when it is reused
    run->bytes = bytes;
    run->next = free_runs;
    free_runs = run;
}

static void *take_small(u64 bytes)
{
    u64 size;
    u32 class = class_of(bytes, &size);
    struct free_block *block = free_blocks[class];

    if (block) {
        free_blocks[class] = block->next;
        memset(block, 0, size);
        return block;
    }
    if (chunk_end - chunk_at < size) {
        chunk_at = (u64)take_run(CHUNK);
        chunk_end = chunk_at + CHUNK;
        pages_ask_up(&(u64){ 0 }, chunk_at, chunk_end);
    }
    block = (struct free_block *)chunk_at;
    chunk_at += size;
    return block;
}

void heap_forget_lock(void)
{
    heap_lock = (struct lock){ 0 };
}

void *heap_alloc(u64 bytes)
{
    lock_take(&heap_lock);
    void *p = bytes >= SMALL ? take_run(bytes) : take_small(bytes);
    lock_drop(&heap_lock);
    return p;
}

void *heap_pages(u64 bytes)
{
    lock_take(&heap_lock);
    void *p = take_run(bytes);
    lock_drop(&heap_lock);
    return p;
}

void *heap_large(u64 bytes)
{
    u64 at;

    if (bytes < HUGE_PAGE)
        return heap_pages(bytes);
    at = ((u64)heap_pages(bytes + HUGE_PAGE) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    pages_huge(at, bytes);
    return (void *)at;
}

void heap_free(void *p, u64 bytes)
{
    if (!p)
        return;
    lock_take(&heap_lock);
    if (bytes >= SMALL) {
        free_pages(p, bytes);
    } else {
        u64 size;
        u32 class = class_of(bytes, &size);
        struct free_block *block = p;
        block->next = free_blocks[class];
        free_blocks[class] = block;
    }
    lock_drop(&heap_lock);
}

void *heap_grown(void *old, u64 used, u64 more, u64 *capacity)
{
    u64 want = *capacity ? *capacity : 4096;
    void *p;

    if (used + more <= *capacity)
        return old;
    while (want < used + more)
        want *= 2;
    p = heap_alloc(want);
    if (used)
        memcpy(p, old, used);
    heap_free(old, *capacity);
    *capacity = want;
    return p;
}

char *heap_strdup(const char *s)
{
    u64 size = strlen(s) + 1;

    return memcpy(heap_alloc(size), s, size);
}
