// SPDX-License-Identifier: MIT
// The code cache. One region, filled from the bottom; fragments lie in it one behind the other and `index` lists them by host
// address. A fragment that has become invalid stays where it is, unreachable, until the whole cache is flushed, so
// nobody ever executes freed bytes; a flush happens with the world stopped.
//
// Guarded by the translation lock, except what says @signal-safe: handlers read `index` without the lock, which works because it
// is only appended to (the entry before the count) while client code runs.
#include "engine/codecache/tcache.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/codecache/tcache_priv.h"
#include "engine/count/prof.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

#define HASH_BITS    20
#define INDEX_MAX    (8u << 20)
#define ESCAPE_SLOTS SPOOL_THREADS_MAX
#define STUBS_MADE   (256ul << 10) // room for stubs that are made while running

extern const char stubs_begin[], stubs_end[];
extern const char stubs_ibl_miss[], stubs_exit[], stubs_exit_end[];
extern const char stubs_enter[], stubs_enter_end[], stubs_gate_from_c[];
extern const char stubs_gate[], stubs_gate_flags[], stubs_gate_go[], stubs_gate_call[];
extern const char stubs_gate_after[], stubs_gate_after_end[];
extern const char stubs_syscall_done[], stubs_syscall_escaped[];
extern const char stubs_helper_begin[];
extern const char stubs_d1_miss[], stubs_d1_slow[], stubs_d1_any[], stubs_i1_miss[], stubs_i1_any[];
extern const char stubs_bc[], stubs_bi[], stubs_rep[], stubs_vec[];

static struct lock lock;
static u64 cache_base, cache_end; // the whole reservation
static u64 made_free;             // behind the stubs made so far; they end at code_start
static u64 code_start, code_free; // fragments
static u64 escape_base;           // escape buffers, behind the fragments
static u64 escape_used;
static u64 free_escape[ESCAPE_SLOTS];
static u32 nfree_escape;

static struct fragment **fragments; // by index, which is by host address
static u32 nfragments;
static struct fragment **hash; // by client pc
static u32 hash_mask;

// Client pages with code on them: open addressing, page number + 1 -> list of fragments.
static struct {
    u64 *page;
    struct fragment **list;
    u32 size, used;
} pages;

// Metadata of fragments: bump allocation, reset by a flush.
static u8 *arena, *arena_free, *arena_end;
static u8 *arena_chunks[4096];
static u32 narena_chunks, arena_chunk;
#define ARENA_CHUNK (1ul << 20)

static u64 stub_at(const char *label)
{
    return cache_base + (u64)(label - stubs_begin);
}

u64 tcache_stub_ibl_miss(void)
{
    return stub_at(stubs_ibl_miss);
}
u64 tcache_stub_exit(void)
{
    return stub_at(stubs_exit);
}
u64 tcache_stub_gate(void)
{
    return stub_at(stubs_gate);
}
bool tcache_reaches(u64 target)
{
    s64 first = (s64)(target - cache_base), last = (s64)(target - cache_end);

    return first == (s64)(s32)first && last == (s64)(s32)last;
}

u64 tcache_stub_enter(void)
{
    return stub_at(stubs_enter);
}
u64 tcache_stub_gate_from_c(void)
{
    return stub_at(stubs_gate_from_c);
}
u64 tcache_stub_syscall_done(void)
{
    return stub_at(stubs_syscall_done);
}
u64 tcache_stub_syscall_escaped(void)
{
    return stub_at(stubs_syscall_escaped);
}

u64 prof_stub(enum prof_stub which)
{
    static const char *const label[] = { stubs_d1_miss, stubs_d1_slow, stubs_d1_any,
                                         stubs_i1_miss, stubs_i1_any,  stubs_bc,
                                         stubs_bi,      stubs_rep,     stubs_vec };

    return stub_at(label[which]);
}

u8 *tcache_made_room(u64 *room)
{
    *room = code_start - made_free;
    return (u8 *)made_free;
}

void tcache_made(u64 end)
{
    made_free = (end + 15) & ~15ul;
}

u64 tcache_start(void)
{
    return cache_base;
}
u64 tcache_end(void)
{
    return cache_end;
}
void tcache_lock(void)
{
    lock_take(&lock);
}
void tcache_unlock(void)
{
    lock_drop(&lock);
}

// -- memory -------------------------------------------------------------------------------------------------

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

int tcache_init(u64 limit, u32 kib)
{
    u64 size = PAGE_UP((u64)kib << 10), escape = ESCAPE_SLOTS * (u64)FRAGMENT_MAX;
    u64 stubs = PAGE_UP((u64)(stubs_end - stubs_begin) + STUBS_MADE);
    u64 total = stubs + size + escape;
    u64 at = (limit - total) & ~0x1ffffful;
    s64 r;

    r = sys_mmap(at, total, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (r < 0)
        r = sys_mmap(0, total, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r < 0)
        return (int)r;
    cache_base = (u64)r;
    cache_end = cache_base + total;
    memcpy((void *)cache_base, stubs_begin, (u64)(stubs_end - stubs_begin));
    made_free = cache_base + (((u64)(stubs_end - stubs_begin) + 63) & ~63ul);
    code_start = code_free = cache_base + stubs;
    escape_base = code_start + size;
    hash_mask = (1u << HASH_BITS) - 1;
    hash = heap_pages(sizeof(*hash) << HASH_BITS);
    fragments = heap_pages(INDEX_MAX * sizeof(*fragments));
    pages.size = 4096;
    pages.page = heap_alloc(pages.size * sizeof(u64));
    pages.list = heap_alloc(pages.size * sizeof(*pages.list));
    return 0;
}

static void ibl_reset(struct thread *t)
{
    u64 *table = (u64 *)((u8 *)t->self + TA_IBL);

    sys_madvise((u64)table, TA_IBL_ENTRIES * 16, MADV_DONTNEED);
    // Entry 0 is the only one whose empty key (0) can match a target (0): it leads to the miss path.
    table[1] = tcache_stub_ibl_miss();
}

int tcache_thread_init(struct thread *t)
{
    lock_take(&lock);
    if (!t->escape_buffer) {
        if (nfree_escape)
            t->escape_buffer = free_escape[--nfree_escape];
        else
            t->escape_buffer = escape_base + escape_used++ * FRAGMENT_MAX;
    }
    t->escape_fragment = 0;
    ibl_reset(t);
    lock_drop(&lock);
    return 0;
}

void tcache_thread_fini(struct thread *t)
{
    lock_take(&lock);
    if (t->escape_buffer)
        free_escape[nfree_escape++] = t->escape_buffer;
    t->escape_buffer = 0;
    lock_drop(&lock);
}

u8 *tcache_room(u64 *room)
{
    if (room)
        *room = escape_base - code_free;
    return (u8 *)code_free;
}

bool tcache_has_room(u32 n)
{
    (void)n;
    return code_free + FRAGMENT_MAX <= escape_base && nfragments + 1 < INDEX_MAX;
}

u32 tcache_next_index(void)
{
    return nfragments;
}

struct fragment *tcache_by_index(u32 i)
{
    return i < nfragments ? fragments[i] : NULL;
}

// 2 KiB of client code share 512 neighbouring entries, one page of the table: with entries all over it a short program touched
// a page (twice: read, then written) for nearly each of its blocks.
static u32 pc_hash(u64 pc)
{
    return ((u32)(((pc >> 11) * 0x9e3779b97f4a7c15ul) >> 40) << 9 | (u32)(pc >> 2 & 511)) &
           hash_mask;
}

struct fragment *tcache_lookup(u64 pc)
{
    for (struct fragment *f = hash[pc_hash(pc)]; f; f = f->hash_next) {
        if (f->pc == pc)
            return f;
    }
    return NULL;
}

static struct fragment **page_list(u64 page, bool make)
{
    u32 k;

    for (k = (u32)((page * 0x9e3779b97f4a7c15ul) >> 32) & (pages.size - 1); pages.page[k];
         k = (k + 1) & (pages.size - 1)) {
        if (pages.page[k] == page + 1)
            return &pages.list[k];
    }
    if (!make)
        return NULL;
    if (pages.used * 2 >= pages.size) {
        u32 size = pages.size * 2;
        u64 *page2 = heap_alloc(size * sizeof(u64));
        struct fragment **list2 = heap_alloc(size * sizeof(*list2));

        for (u32 i = 0; i < pages.size; i++) {
            u32 j;

            if (!pages.page[i])
                continue;
            for (j = (u32)(((pages.page[i] - 1) * 0x9e3779b97f4a7c15ul) >> 32) & (size - 1);
                 page2[j]; j = (j + 1) & (size - 1))
                ;
            page2[j] = pages.page[i];
            list2[j] = pages.list[i];
        }
        heap_free(pages.page, pages.size * sizeof(u64));
        heap_free(pages.list, pages.size * sizeof(*pages.list));
        pages.page = page2;
        pages.list = list2;
        pages.size = size;
        return page_list(page, true);
    }
    pages.page[k] = page + 1;
    pages.used++;
    return &pages.list[k];
}

struct fragment *tcache_publish(struct tb *b, u32 block)
{
    struct fragment *f = arena_alloc(sizeof(*f));
    struct fragment **list;
    u32 h = pc_hash(b->pc);
    u64 page0 = b->pc / PAGE_SIZE, page1 = (b->end - 1) / PAGE_SIZE;

    memset(f, 0, sizeof(*f));
    f->pc = b->pc;
    f->end = b->end;
    f->hpc = (u64)b->code.start;
    f->size = b->step ? 0 : (u32)(b->code.p - b->code.start);
    f->flags = (b->step ? FRAGMENT_STEP : 0) | (b->writable ? FRAGMENT_WRITABLE : 0);
    f->block = block;
    f->counter = b->counter;
    f->ninsns = b->n;
    f->ibl_jmp = b->ibl_jmp;
    f->sc_jmp = b->sc_jmp;
    f->nrecipes = b->nrecipes;
    f->nrelocs = b->nrelocs;
    f->nexits = b->nexits;
    f->recipes = arena_alloc(b->nrecipes * sizeof(*f->recipes));
    memcpy(f->recipes, b->recipe, b->nrecipes * sizeof(*f->recipes));
    f->relocs = arena_alloc(b->nrelocs * sizeof(*f->relocs));
    memcpy(f->relocs, b->reloc, b->nrelocs * sizeof(*f->relocs));
    f->lens = arena_alloc(b->n);
    for (u32 i = 0; i < b->n; i++)
        f->lens[i] = b->insn[i].len;
    memcpy(f->exit, b->exit, b->nexits * sizeof(f->exit[0]));
    for (u32 i = 0; i < f->nexits; i++) {
        f->exit[i].to = NULL;
        f->exit[i].next_in = NULL;
    }
    f->index = nfragments;
    __atomic_store_n(&fragments[nfragments], f, __ATOMIC_RELEASE);
    __atomic_store_n(&nfragments, nfragments + 1, __ATOMIC_RELEASE);
    code_free += (f->size + 15) & ~15u;
    spool->code_bytes += f->size;

    f->hash_next = hash[h];
    hash[h] = f;
    list = page_list(page0, true);
    f->page_next[0] = *list;
    *list = f;
    if (page1 != page0) {
        list = page_list(page1, true);
        f->page_next[1] = *list;
        *list = f;
    }
    return f;
}

// -- links --------------------------------------------------------------------------------------------------

static void patch_rel32(u64 at, u64 target)
{
    __atomic_store_n((u32 *)at, (u32)(target - (at + 4)), __ATOMIC_RELEASE);
}

void tcache_link(struct fragment *from, u32 k, struct fragment *to)
{
    struct fragment_exit *x = &from->exit[k];

    if (x->to || ((from->flags | to->flags) & (FRAGMENT_DEAD | FRAGMENT_STEP)))
        return;
    x->to = to;
    x->next_in = to->in;
    x->next_in_exit = to->in_exit;
    to->in = from;
    to->in_exit = k;
    patch_rel32(from->hpc + x->rel32, to->hpc);
    spool->n_links++;
}

static void unlink_in(struct fragment *f)
{
    struct fragment *g = f->in;
    u32 k = f->in_exit;

    while (g) {
        struct fragment_exit *x = &g->exit[k];

        patch_rel32(g->hpc + x->rel32, g->hpc + x->stub);
        g = x->next_in;
        k = x->next_in_exit;
        x->to = NULL;
        x->next_in = NULL;
    }
    f->in = NULL;
}

static void unlink_out(struct fragment *f)
{
    for (u32 i = 0; i < f->nexits; i++) {
        struct fragment_exit *x = &f->exit[i];
        struct fragment **g, *to = x->to;
        u32 *k;

        if (!to)
            continue;
        g = &to->in;
        k = &to->in_exit;
        while (*g && !(*g == f && *k == i)) {
            struct fragment_exit *y = &(*g)->exit[*k];

            g = &y->next_in;
            k = &y->next_in_exit;
        }
        if (*g) {
            *g = x->next_in;
            *k = x->next_in_exit;
        }
        x->to = NULL;
        x->next_in = NULL;
        patch_rel32(f->hpc + x->rel32, f->hpc + x->stub);
    }
}

void tcache_ibl_fill(struct thread *t, const struct fragment *f)
{
    u64 *e = (u64 *)((u8 *)t->self + TA_IBL) + tcache_ibl_index(f->pc) * 2;

    if (f->flags & (FRAGMENT_STEP | FRAGMENT_DEAD))
        return;
    // the thread itself writes; it is not in the lookup now
    e[0] = -f->pc;
    e[1] = f->hpc;
}

void tcache_kill(struct fragment *f)
{
    struct fragment **p;
    u64 pg[2] = { f->pc / PAGE_SIZE, (f->end - 1) / PAGE_SIZE };

    if (f->flags & FRAGMENT_DEAD)
        return;
    f->flags |= FRAGMENT_DEAD;
    spool->n_invalidate++;
    for (p = &hash[pc_hash(f->pc)]; *p != f; p = &(*p)->hash_next)
        ;
    *p = f->hash_next;
    for (u32 i = 0; i < 2; i++) {
        if (i && pg[1] == pg[0])
            break;
        p = page_list(pg[i], false);
        while (*p != f)
            p = (*p)->pc / PAGE_SIZE == pg[i] ? &(*p)->page_next[0] : &(*p)->page_next[1];
        *p = f->page_next[i];
    }
    unlink_in(f);
    unlink_out(f);
    // every thread's table of indirect targets: the entry keeps its key and leads to the miss path
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next) {
        u64 *e = (u64 *)((u8 *)t->self + TA_IBL) + tcache_ibl_index(f->pc) * 2;

        if (e[0] == -f->pc)
            __atomic_store_n(&e[1], tcache_stub_ibl_miss(), __ATOMIC_RELEASE);
    }
    threads_unlock();
}

static void kill_page(u64 page, u64 start, u64 end)
{
    struct fragment **l = page_list(page, false), *f, *next;

    if (!l)
        return;
    for (f = *l; f; f = next) {
        next = f->pc / PAGE_SIZE == page ? f->page_next[0] : f->page_next[1];
        if (f->pc < end && f->end > start)
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
        for (u32 i = 0; i < pages.size; i++) {
            if (pages.page[i] && pages.page[i] - 1 >= first && pages.page[i] - 1 <= last)
                kill_page(pages.page[i] - 1, start, end);
        }
    }
    lock_drop(&lock);
}

void tcache_flush_all(void)
{
    lock_take(&lock);
    for (u32 i = 0; i < nfragments; i++)
        hash[pc_hash(fragments[i]->pc)] = NULL;
    nfragments = 0;
    code_free = code_start;
    memset(pages.page, 0, pages.size * sizeof(u64));
    memset(pages.list, 0, pages.size * sizeof(*pages.list));
    pages.used = 0;
    arena_chunk = 0;
    arena = arena_free = arena_end = NULL;
    threads_lock();
    for (struct thread *t = threads_first(); t; t = t->next) {
        ibl_reset(t);
        t->sc_cont = tcache_stub_syscall_done();
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

// -- questions of signal handling -----------------------------------------------------------------------------

static bool between(u64 hpc, const char *from, const char *to)
{
    u64 off = hpc - cache_base;

    return off >= (u64)(from - stubs_begin) && off < (u64)(to - stubs_begin);
}

enum tcache_where tcache_where(u64 hpc)
{
    if (hpc < cache_base || hpc >= cache_end)
        return TCACHE_OUTSIDE;
    if (hpc >= escape_base)
        return TCACHE_ESCAPE;
    if (hpc >= code_start)
        return TCACHE_FRAGMENT;
    if (between(hpc, stubs_ibl_miss, stubs_exit_end))
        return TCACHE_EXIT;
    if (between(hpc, stubs_enter, stubs_enter_end))
        return TCACHE_ENTER;
    if (between(hpc, stubs_gate, stubs_gate_after))
        return TCACHE_GATE_BEFORE;
    if (between(hpc, stubs_gate_after, stubs_gate_after_end))
        return TCACHE_GATE_AFTER;
    if (hpc - cache_base >= (u64)(stubs_helper_begin - stubs_begin))
        return TCACHE_HELPER;
    return TCACHE_OUTSIDE;
}

// @signal-safe
static struct fragment *fragment_at(u64 hpc)
{
    u32 lo = 0, hi = __atomic_load_n(&nfragments, __ATOMIC_ACQUIRE);

    while (hi - lo > 1) {
        u32 mid = (lo + hi) / 2;

        if (fragments[mid]->hpc <= hpc)
            lo = mid;
        else
            hi = mid;
    }
    // stepped blocks take no room and share their address with the fragment behind them
    while (lo + 1 < nfragments && fragments[lo]->size == 0 &&
           fragments[lo + 1]->hpc == fragments[lo]->hpc)
        lo++;
    if (hpc - fragments[lo]->hpc >= fragments[lo]->size)
        engine_die("no fragment at host address 0x%lx", hpc);
    return fragments[lo];
}

static void merge_flags(struct thread *t, u64 rflags, bool saved)
{
    if (saved) {
        u64 ah = t->flags_save >> 8 & 0xff, al = t->flags_save & 0xff;

        rflags &= ~(u64)FLAGS_ARITH;
        rflags |= ah & (FLAG_SF | FLAG_ZF | FLAG_AF | FLAG_PF | FLAG_CF);
        if (al & 1)
            rflags |= FLAG_OF;
    }
    t->rflags = rflags;
}

void tcache_recover(struct thread *t, const struct host_regs *u)
{
    struct fragment *f;
    struct recipe *r;
    u64 hpc = u->rip, pc;
    u32 off, lo, hi;

    if (tcache_where(hpc) == TCACHE_ESCAPE) {
        f = (struct fragment *)t->escape_fragment;
        if (!f)
            engine_die("fault at host address 0x%lx in an escape buffer that is not in use", hpc);
        off = (u32)(hpc - t->escape_buffer);
    } else {
        f = fragment_at(hpc);
        off = (u32)(hpc - f->hpc);
    }
    lo = 0;
    hi = f->nrecipes;
    if (hi == 0 || off < f->recipes[0].off)
        engine_die("no recipe for host address 0x%lx (block 0x%lx + %u)", hpc, f->pc, off);
    while (hi - lo > 1) {
        u32 mid = (lo + hi) / 2;

        if (f->recipes[mid].off <= off)
            lo = mid;
        else
            hi = mid;
    }
    r = &f->recipes[lo];
    for (u32 i = 0; i < 16; i++) {
        if (!(r->spilled & 1u << i))
            t->regs[i] = u->r[i];
    }
    merge_flags(t, u->rflags, r->flags & RECIPE_FLAGS_SAVED);
    pc = f->pc;
    for (u32 i = 0; i < r->insn; i++)
        pc += f->lens[i];
    t->pc = pc;
    if (r->flags & RECIPE_REP) {
        // the elements that were done count
        t->h_save[1] = u->r[R_RCX];
        t->h_save[3] = u->r[R_RSI];
        t->h_save[4] = u->r[R_RDI];
        t->h_save[9] = (u->rflags & 0xff) << 8;
        prof_rep(t);
    }
    if (r->flags & RECIPE_BUMPED)
        t->counters[f->counter]--;
    if (r->insn)
        spooler_partial(f->block, r->insn);
}

void tcache_gate_state(struct thread *t, const struct host_regs *u)
{
    bool engine_stack = between(u->rip, stubs_gate, stubs_gate_go) && u->r[R_RSP] != t->regs[R_RSP];
    u64 rcx = t->regs[R_RCX], rsp = t->regs[R_RSP];

    memcpy(t->regs, u->r, sizeof(t->regs));
    t->regs[R_RCX] = rcx;
    if (engine_stack)
        t->regs[R_RSP] = rsp;
    if (!between(u->rip, stubs_gate_flags, stubs_gate_go))
        t->rflags = u->rflags;
    t->pc = t->sc_next - 2;
}

u64 tcache_escape(struct thread *t, u64 hpc)
{
    struct fragment *f = fragment_at(hpc);
    u8 *copy = (u8 *)t->escape_buffer;
    u64 delta = t->escape_buffer - f->hpc;

    memcpy(copy, (const void *)f->hpc, f->size);
    for (u32 i = 0; i < f->nrelocs; i++) {
        u32 rel;

        memcpy(&rel, copy + f->relocs[i], 4);
        rel -= (u32)delta;
        memcpy(copy + f->relocs[i], &rel, 4);
    }
    for (u32 i = 0; i < f->nexits; i++) {
        u32 rel = f->exit[i].stub - (f->exit[i].rel32 + 4u);

        memcpy(copy + f->exit[i].rel32, &rel, 4);
    }
    if (f->ibl_jmp) {
        // to the miss path instead of to the target
        u32 rel = (u32)(tcache_stub_ibl_miss() - ((u64)copy + f->ibl_jmp + 5));

        copy[f->ibl_jmp] = 0xe9;
        memcpy(copy + f->ibl_jmp + 1, &rel, 4);
    }
    if (f->sc_jmp) {
        // back to the dispatcher at the syscall instruction instead of into the gate
        u32 rel = (u32)(tcache_stub_syscall_escaped() - ((u64)copy + f->sc_jmp + 4));

        memcpy(copy + f->sc_jmp, &rel, 4);
    }
    t->escape_fragment = (u64)f;
    t->escape_delta = (s64)delta;
    return hpc + delta;
}
