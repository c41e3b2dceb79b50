// SPDX-License-Identifier: MIT
// The code cache. One region, filled from the bottom with consecutive fragments; `fragments` lists
// them by host address. An invalid fragment stays in place, unreachable, until the whole cache is
// flushed, so nobody executes freed bytes; a flush happens with the world stopped.
//
// Guarded by the translation lock, except functions marked @signal-safe: handlers read `fragments`
// without the lock. This works because entries are only appended (the entry before the count) while
// client code runs.
#include "engine/codecache/tcache.h"

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/codecache/hotblocks.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/region.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define HASH_BITS      17
#define HASH_BITS_MORE 3
#define VERSIONS_MAX   16 // of rewritten code: docs/design/035-translation.md
#define INDEX_MAX      FRAGMENTS_MAX

static struct lock lock;

static struct fragment **fragments; // by index, which is the order of host addresses
static u32 nfragments;
static u32 flushes;
static u32 *hash; // by client pc: numbers as in fragment.h
static u32 hash_mask, nhashed;

// Client pages with code: open addressing, page number + 1 -> list of fragments, numbers as well.
static struct {
    u64 *page;
    u32 *list;
    u32 *place; // indices of used entries: a large range is compared with these only
    u32 size, used;
} pages;

// Metadata of fragments: bump allocation, reset by a flush.
static u8 *arena, *arena_free, *arena_end;
static u8 *arena_chunks[4096];
static u32 narena_chunks, arena_chunk;
#define ARENA_CHUNK (1ul << 20)

void tcache_lock(void)
{
    lock_take(&lock);
}
bool tcache_try_lock(void)
{
    return lock_try(&lock);
}
void tcache_unlock(void)
{
    lock_drop(&lock);
}

static void *arena_alloc(u64 n)
{
    void *p;

    n = (n + 7) & ~7ul;
    if (arena_free + n > arena_end) {
        if (narena_chunks == arena_chunk) {
            if (narena_chunks == ARRAY_SIZE(arena_chunks))
                engine_die("out of memory for the descriptions of %u fragments", nfragments);
            arena_chunks[narena_chunks++] = heap_pages(ARENA_CHUNK);
        }
        arena = arena_chunks[arena_chunk++];
        arena_free = arena;
        arena_end = arena + ARENA_CHUNK;
    }
    p = arena_free;
    arena_free += n;
    return p;
}

static void *arena_copy(const void *from, u64 n)
{
    return memcpy(arena_alloc(n), from, n);
}

static u32 page_hash(u64 page)
{
    return (u32)((page * 0x9e3779b97f4a7c15ul) >> 32) & (pages.size - 1);
}

static void pages_alloc(u32 size)
{
    pages.size = size;
    pages.page = heap_alloc(size * sizeof(*pages.page));
    pages.list = heap_alloc(size * sizeof(*pages.list));
    pages.place = heap_alloc(size / 2 * sizeof(*pages.place));
}

int tcache_init(u64 limit, u32 kib, const void *const calls[STUB_COUNT])
{
    int r = region_init(limit, kib, stubs_size());

    if (r < 0)
        return r;
    stubs_copy(region_start(), calls, tb_config.recording);
    hash_mask = (1u << HASH_BITS) - 1;
    hash = heap_alloc(sizeof(*hash) << HASH_BITS);
    sys_populate((u64)hash, sizeof(*hash) << HASH_BITS); // /bin/true touches half of its pages
    fragments = links_table = heap_pages(INDEX_MAX * sizeof(*fragments));
    pages_alloc(4096);
    hotblocks_init(fragments);
    return 0;
}

int tcache_thread_init(struct thread *t)
{
    lock_take(&lock);
    if (!t->escape_buffer)
        t->escape_buffer = region_escape_take();
    if (!t->escape_buffer) {
        lock_drop(&lock);
        return -ENOMEM;
    }
    t->escape_fragment = 0;
    ibl_begin(t);
    hotblocks_begin(t);
    lock_drop(&lock);
    return 0;
}

void tcache_thread_fini(struct thread *t)
{
    lock_take(&lock);
    if (t->escape_buffer)
        region_escape_give(t->escape_buffer);
    t->escape_buffer = 0;
    ibl_end(t);
    lock_drop(&lock);
}

bool tcache_has_room(void)
{
    u64 room;

    region_space(&room);
    return room >= FRAGMENT_MAX && nfragments + 1 < INDEX_MAX;
}

u32 tcache_flushes(void)
{
    return flushes;
}

u32 tcache_next_index(void)
{
    return nfragments;
}

struct fragment *tcache_by_index(u32 i)
{
    return i < nfragments ? fragments[i] : NULL;
}

// 2 KiB of client code share 512 adjacent entries, half a page of the table. With scattered entries
// a short program touched a page (twice: read, then written) for nearly each of its blocks.
static u32 pc_hash(u64 pc)
{
    return ((u32)(((pc >> 11) * 0x9e3779b97f4a7c15ul) >> 40) << 9 | (u32)(pc >> 2 & 511)) &
           hash_mask;
}

static inline __attribute__((always_inline)) struct fragment *find(u64 pc)
{
    for (u32 n = hash[pc_hash(pc)]; n; n = fragments[n - 1]->hash_next) {
        if (fragments[n - 1]->pc == pc)
            return fragments[n - 1];
    }
    return NULL;
}

// A stepped instruction is executed in place, so no code checks its bytes.
static __attribute__((noinline)) bool step_changed(const struct fragment *f)
{
    const u8 *bytes = fragment_stepped(f);
    u8 now[STEPPED_BYTES_MAX];

    return clientmem_read(now, f->pc, bytes[0]) != 0 || memcmp(now, bytes + 1, bytes[0]) != 0;
}

struct fragment *tcache_lookup(u64 pc)
{
    struct fragment *f = find(pc);

    if (!f || !(f->flags & FRAGMENT_WRITABLE))
        return f;
    if (f->flags & FRAGMENT_STEP) {
        if (!step_changed(f))
            return f;
        tcache_kill(f);
        return NULL;
    }
    return f->versions.wanted ? NULL : f;
}

// Makes the table eight times as large if `many` fragments fill more than half of it. Of two
// fragments at one client address the later stays before the earlier.
static bool hash_grow(u32 many)
{
    u32 *old = hash, before = hash_mask + 1, size = before << HASH_BITS_MORE;

    if (many <= before / 2 || size - 1 <= hash_mask)
        return false;
    hash = heap_alloc(size * sizeof(*hash));
    pages_huge((u64)hash, size * sizeof(*hash)); // at least 4 MiB
    hash_mask = size - 1;
    for (u32 i = 0; i < before; i++) {
        u32 turned = 0;

        for (u32 n = old[i], next; n; n = next) {
            next = fragments[n - 1]->hash_next;
            fragments[n - 1]->hash_next = turned;
            turned = n;
        }
        for (u32 n = turned, next; n; n = next) {
            u32 *to = &hash[pc_hash(fragments[n - 1]->pc)];

            next = fragments[n - 1]->hash_next;
            fragments[n - 1]->hash_next = *to;
            *to = n;
        }
    }
    heap_free(old, before * sizeof(*old));
    return true;
}

void tcache_expect(u32 n)
{
    while (hash_grow(n))
        ;
}

static void hash_add(struct fragment *f)
{
    u32 *list;

    hash_grow(nhashed);
    list = &hash[pc_hash(f->pc)];
    f->hash_next = *list;
    *list = f->index + 1;
    nhashed++;
}

static void pages_grow(void)
{
    u64 *page = pages.page;
    u32 *list = pages.list, *place = pages.place, size = pages.size;

    pages_alloc(size * 2);
    for (u32 i = 0; i < pages.used; i++) {
        u32 k = page_hash(page[place[i]] - 1);

        while (pages.page[k])
            k = (k + 1) & (pages.size - 1);
        pages.page[k] = page[place[i]];
        pages.list[k] = list[place[i]];
        pages.place[i] = k;
    }
    heap_free(page, size * sizeof(*page));
    heap_free(list, size * sizeof(*list));
    heap_free(place, size / 2 * sizeof(*place));
}

static u32 *page_list(u64 page, bool make)
{
    u32 k;

    for (k = page_hash(page); pages.page[k]; k = (k + 1) & (pages.size - 1)) {
        if (pages.page[k] == page + 1)
            return &pages.list[k];
    }
    if (!make)
        return NULL;
    if (pages.used * 2 >= pages.size) {
        pages_grow();
        return page_list(page, true);
    }
    pages.page[k] = page + 1;
    pages.place[pages.used++] = k;
    return &pages.list[k];
}

#define PAGES_MAX (2 * FRAGMENT_BLOCKS_MAX)

// The pages of client code that f was made from; returns how many.
static u32 pages_of(const struct fragment *f, u64 *page)
{
    u32 n = 0;

    for (u32 i = 0; i <= f->nmore; i++) {
        u64 start = i ? f->more[i - 1].pc : f->pc, end = i ? f->more[i - 1].end : f->end;
        u64 two[2] = { start / PAGE_SIZE, (end - 1) / PAGE_SIZE };

        for (u32 k = 0; k < 2; k++) {
            u32 at = 0;

            while (at < n && page[at] != two[k])
                at++;
            page[at] = two[k];
            n += at == n;
        }
    }
    return n;
}

static u32 *next_on(const struct fragment *f, u64 page)
{
    u64 page_of[PAGES_MAX];
    u32 n = pages_of(f, page_of), k = 0;

    while (k + 1 < n && page_of[k] != page)
        k++;
    return fragment_next(f) + k;
}

static void list_by_page(struct fragment *f, const u64 *page)
{
    for (u32 i = 0; i < f->npages; i++) {
        u32 *list = page_list(page[i], true);

        fragment_next(f)[i] = *list;
        *list = f->index + 1;
    }
}

static void hash_remove(const struct fragment *f)
{
    u32 *p = &hash[pc_hash(f->pc)];

    while (*p != f->index + 1)
        p = &fragments[*p - 1]->hash_next;
    *p = f->hash_next;
    nhashed--;
}

static void kill(struct fragment *f)
{
    u64 page[PAGES_MAX];
    u32 *p;

    pages_of(f, page);
    f->flags |= FRAGMENT_DEAD;
    spool->n_invalidate++;
    for (u32 i = 0; i < f->npages; i++) {
        p = page_list(page[i], false);
        while (*p != f->index + 1)
            p = next_on(fragments[*p - 1], page[i]);
        *p = fragment_next(f)[i];
    }
    links_cut(f);
}

void tcache_kill(struct fragment *f)
{
    if (f->flags & FRAGMENT_DEAD)
        return;
    if (!fragment_has_versions(f)) {
        hash_remove(f);
        kill(f);
    } else {
        u32 n = f->versions.first;

        hash_remove(fragments[n - 1]);
        for (u32 next; n; n = next) {
            next = fragment_changed(fragments[n - 1])->to;
            kill(fragments[n - 1]);
        }
    }
    ibl_forget(f->pc);
}

static void add_version(struct fragment *first, struct fragment *f)
{
    links_version(fragments[first->versions.last - 1], f);
    f->versions.first = first->index + 1;
    first->versions.last = (f->index + 1) & 0xffffff;
    first->versions.n++;
    first->versions.wanted = false;
}

// Makes f reachable by its address, or as a version behind the fragment that is; returns that one.
// Versions stay only after code was seen to come back: where it is new every time, each entry would
// try them all in vain.
static struct fragment *make_reachable(struct fragment *f, bool again)
{
    struct fragment *first = find(f->pc);
    bool versions = fragment_has_versions(f);

    if (first && fragment_has_versions(first)) {
        if (versions && (again || first->versions.n > 1)) {
            add_version(first, f);
            return first;
        }
        if (versions)
            links_move(first, f);
        tcache_kill(first);
    }
    if (versions)
        f->versions = (struct fragment_versions){ .first = f->index + 1,
                                                  .last = (f->index + 1) & 0xffffff,
                                                  .n = 1 };
    hash_add(f);
    return f;
}

struct fragment *tcache_publish(const struct draft *d)
{
    u32 stepped = d->flags & FRAGMENT_STEP ? 1u + d->stepped[0] : 0;
    u64 page[PAGES_MAX];
    struct fragment *f, new = {
        .pc = d->pc,
        .end = d->end,
        .hpc = d->hpc,
        .index = nfragments,
        .block = d->block,
        .counter = d->counter,
        .own = d->own,
        .log = d->log,
        .size = (u16)d->size,
        .nrecipes = (u16)d->nrecipes,
        .nrelocs = (u16)d->nrelocs,
        .ibl_jmp = { (u16)d->ibl_jmp[0], (u16)d->ibl_jmp[1] },
        .sc_jmp = (u16)d->sc_jmp,
        .flags = (u8)d->flags,
        .nexits = (u8)d->nexits,
        .ninsns = (u8)d->ninsns,
        .nmore = (u8)d->nmore,
        .watch = d->watch,
        .more = (struct fragment_block *)d->more,
    };

    new.npages = (u8)pages_of(&new, page);
    f = arena_copy(&new, sizeof(new));
    if (d->nmore)
        f->more = arena_copy(d->more, d->nmore * sizeof(*f->more));
    f->exit = arena_alloc(d->nexits * sizeof(*f->exit) + new.npages * sizeof(u32) +
                          d->nrecipes * sizeof(d->recipe[0]) + d->nrelocs * sizeof(d->reloc[0]) +
                          d->ninsns * sizeof(d->len[0]) + stepped);
    for (u32 i = 0; i < d->nexits; i++) {
        f->exit[i] = (struct fragment_exit){ .rel32 = d->exit[i].rel32,
                                             .stub = d->exit[i].stub,
                                             .side = d->exit[i].side,
                                             .target = d->exit[i].target };
    }
    memcpy((void *)fragment_recipes(f), d->recipe, d->nrecipes * sizeof(d->recipe[0]));
    memcpy((void *)fragment_relocs(f), d->reloc, d->nrelocs * sizeof(d->reloc[0]));
    memcpy((void *)fragment_lens(f), d->len, d->ninsns * sizeof(d->len[0]));
    memcpy((void *)fragment_stepped(f), d->stepped, stepped);
    __atomic_store_n(&fragments[nfragments], f, __ATOMIC_RELEASE);
    __atomic_store_n(&nfragments, nfragments + 1, __ATOMIC_RELEASE);
    hotblocks_published(f);
    region_take(f->size);
    spool->code_bytes += f->size;

    list_by_page(f, page);
    return make_reachable(f, d->again);
}

void tcache_changed(struct fragment *f, bool keep)
{
    struct fragment *first = fragments[f->versions.first - 1];

    if (f->flags & FRAGMENT_DEAD)
        return;
    if (!keep || first->versions.n >= VERSIONS_MAX)
        tcache_kill(f);
    else if (first->versions.last == f->index + 1) // no other thread has been faster
        first->versions.wanted = true;
}

void tcache_take(struct fragment *f)
{
    fragments[nfragments] = f;
    nfragments++;
    hotblocks_published(f);
    region_take(f->size);
}

u32 tcache_pages(const struct fragment *f)
{
    u64 page[PAGES_MAX];

    return pages_of(f, page);
}

void tcache_revive(struct fragment *f)
{
    u64 page[PAGES_MAX];

    pages_of(f, page);
    f->flags &= (u8)~FRAGMENT_DEAD;
    hash_add(f);
    list_by_page(f, page);
    links_list(f);
}

static bool made_from(const struct fragment *f, u64 start, u64 end)
{
    if (f->pc < end && f->end > start)
        return true;
    for (u32 i = 0; i < f->nmore; i++) {
        if (f->more[i].pc < end && f->more[i].end > start)
            return true;
    }
    return false;
}

static void kill_page(u64 page, u64 start, u64 end)
{
    u32 *list = page_list(page, false), next;

    if (!list)
        return;
    for (u32 n = *list; n; n = next) {
        struct fragment *f = fragments[n - 1];

        next = *next_on(f, page);
        if (made_from(f, start, end))
            tcache_kill(f);
    }
}

void tcache_invalidate(u64 start, u64 end)
{
    u64 first = start / PAGE_SIZE, last = (end - 1) / PAGE_SIZE;

    if (start >= end)
        return;
    lock_take(&lock);
    if (last - first < pages.used) {
        for (u64 p = first; p <= last; p++)
            kill_page(p, start, end);
    } else {
        for (u32 i = 0; i < pages.used; i++) {
            u64 page = pages.page[pages.place[i]] - 1;

            if (page >= first && page <= last)
                kill_page(page, start, end);
        }
    }
    lock_drop(&lock);
}

void tcache_flush_all(void)
{
    lock_take(&lock);
    for (u32 i = 0; i < nfragments; i++)
        hash[pc_hash(fragments[i]->pc)] = 0;
    nfragments = nhashed = 0;
    flushes++;
    region_flush();
    memset(pages.page, 0, pages.size * sizeof(u64));
    memset(pages.list, 0, pages.size * sizeof(*pages.list));
    pages.used = 0;
    arena_chunk = 0;
    arena = arena_free = arena_end = NULL;
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next) {
        ibl_reset(t);
        hotblocks_begin(t);
        t->sc_cont = stubs_at(STUB_SYSCALL_DONE);
        t->escape_fragment = 0;
    }
    threads_unlock();
    spool->n_flush++;
    lock_drop(&lock);
}

void tcache_fork_child(void)
{
    lock.w = 0;
}

struct fragment *tcache_at(u64 hpc)
{
    u32 lo = 0, hi = __atomic_load_n(&nfragments, __ATOMIC_ACQUIRE);

    while (hi - lo > 1) {
        u32 mid = (lo + hi) / 2;

        if (fragments[mid]->hpc <= hpc)
            lo = mid;
        else
            hi = mid;
    }
    // The last at or below: a stepped block has no code and shares the address of the next.
    if (hpc - fragments[lo]->hpc >= fragments[lo]->size)
        engine_die("no fragment at host address 0x%lx", hpc);
    return fragments[lo];
}
