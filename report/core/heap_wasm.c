// SPDX-License-Identifier: MIT
//
// The core's memory in the page. Small blocks, up to 32 KiB, come in sizes of powers of two and
// halves between, each size with a free list. Large ones are pages of 64 KiB, in one
// list sorted by address, where neighbours are merged. The header of a block, 16 bytes before it,
// is its size; a block is aligned to 16.
//
// Also here: the functions that clang calls to copy and fill memory where it does not emit the
// instructions.
#include "report/core/base.h"
#include "report/core/heap.h"

enum {
    HEAD = 16,
    PAGE = 65536,
    SMALL = 32768, // with the head
    CLASSES = 23,  // 32, 48, 64, 96, ... 32768
};

struct head {
    size_t size; // with the head
    struct head *next;
};

extern char __heap_base;

static struct head *small[CLASSES];
static struct head *large;      // free pages, by address
static char *fresh, *fresh_end; // small blocks are cut from here

static unsigned class_of(size_t size)
{
    unsigned bit = 31u - (unsigned)__builtin_clz((uint32_t)size - 1);
    size_t low = (size_t)1 << bit;

    // low < size <= 2 * low
    return size <= 32 ? 0 : (bit - 5) * 2 + 1 + (size > low + low / 2);
}

static size_t class_size(unsigned class)
{
    return class == 0 ? 32 : (class & 1 ? (size_t)48 : (size_t)64) << ((class - 1) / 2);
}

// Whole pages; zero when they are new.
static struct head *pages_get(size_t size, bool *dirty)
{
    size = (size + PAGE - 1) / PAGE * PAGE;
    *dirty = true;
    for (struct head **at = &large; *at; at = &(*at)->next) {
        struct head *h = *at;
        if (h->size < size)
            continue;
        if (h->size > size) {
            struct head *rest = (struct head *)((char *)h + size);
            rest->size = h->size - size;
            rest->next = h->next;
            *at = rest;
        } else {
            *at = h->next;
        }
        h->size = size;
        return h;
    }
    size_t old = __builtin_wasm_memory_grow(0, size / PAGE);
    if (old == SIZE_MAX)
        return NULL;
    struct head *h = (struct head *)(old * PAGE);
    h->size = size;
    *dirty = false;
    return h;
}

static void pages_put(struct head *h)
{
    struct head **at = &large;
    struct head *before = NULL;

    for (; *at && *at < h; at = &(*at)->next)
        before = *at;
    h->next = *at;
    *at = h;
    if (h->next && (char *)h + h->size == (char *)h->next) {
        h->size += h->next->size;
        h->next = h->next->next;
    }
    if (before && (char *)before + before->size == (char *)h) {
        before->size += h->size;
        before->next = h->next;
    }
}

static void *small_get(size_t size)
{
    unsigned class = class_of(size);
    struct head *h = small[class];

    if (h) {
        small[class] = h->next;
    } else {
        bool dirty;
        size = class_size(class);
        if ((size_t)(fresh_end - fresh) < size) {
            struct head *page = pages_get(PAGE, &dirty);
            if (!page)
                return NULL;
            fresh = (char *)page;
            fresh_end = fresh + PAGE;
        }
        h = (struct head *)fresh;
        fresh += size;
    }
    h->size = class_size(class);
    core_zero((char *)h + HEAD, h->size - HEAD);
    return (char *)h + HEAD;
}

void *heap_get(size_t size)
{
    bool dirty;

    if (size > SIZE_MAX - HEAD - PAGE)
        return NULL;
    size += HEAD;
    if (size <= SMALL)
        return small_get(size);
    struct head *h = pages_get(size, &dirty);
    if (!h)
        return NULL;
    if (dirty)
        core_zero((char *)h + HEAD, h->size - HEAD);
    return (char *)h + HEAD;
}

void *heap_more(void *block, size_t old, size_t size)
{
    void *p = heap_get(size);

    if (!p)
        return NULL;
    if (block)
        core_copy(p, block, old < size ? old : size);
    heap_put(block);
    return p;
}

void heap_put(void *block)
{
    if (!block)
        return;
    struct head *h = (struct head *)((char *)block - HEAD);
    if (h->size > SMALL) {
        pages_put(h);
        return;
    }
    unsigned class = class_of(h->size);
    h->next = small[class];
    small[class] = h;
}

// ---- For the compiler: the builtins are single instructions (-mbulk-memory) ----

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *s);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    __builtin_memmove(to, from, size);
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    __builtin_memmove(to, from, size);
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    __builtin_memset(to, byte, size);
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const uint8_t *x = a, *y = b;

    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

size_t strlen(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

// Debian's compiler-rt, which multiplies and divides 128 bits, is built with stack protection.
extern uintptr_t __stack_chk_guard;
_Noreturn void __stack_chk_fail(void);
uintptr_t __stack_chk_guard = 0x5bd1e995;

_Noreturn void __stack_chk_fail(void)
{
    __builtin_trap();
}
