// SPDX-License-Identifier: MIT
// engine/codecache/tcache.c: fragments by client address, page and host address, with their links
// and indirect targets. Fragments have no code: only their place in the region matters.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/sys.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;

// -- fakes of what tcache.c uses --

static struct thread *t; // the one thread

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    (void)bytes;
    free(p);
}

void *heap_pages(u64 bytes)
{
    return (void *)sys_mmap(0, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static u8 client[4]; // the client's code at 0x401000
static u32 client_size;

int clientmem_read(void *dst, u64 addr, u64 n)
{
    assert_int_equal(addr, 0x401000);
    if (n > client_size)
        return -EFAULT;
    memcpy(dst, client, n);
    return 0;
}

u64 stubs_size(void)
{
    return 1000;
}

void stubs_copy(u64 base, const void *const calls[STUB_COUNT], bool recording)
{
    assert_int_equal(base, region_start());
    assert_non_null(calls);
    assert_false(recording);
}

u64 stubs_at(enum stub s)
{
    return 0x1000 + s;
}

struct thread *threads_first(void)
{
    return t;
}

struct thread *threads_next_live(u32 *slot)
{
    return (*slot)++ == 0 ? t : NULL;
}

void threads_lock(void) {}

void threads_unlock(void) {}

// -- the test's side --

static const void *const calls[STUB_COUNT];

static int begin(void **state)
{
    u8 *area = heap_pages(TA_IBL + TA_IBL_ENTRIES * 16);

    (void)state;
    t = (struct thread *)area;
    t->self = t;
    assert_int_equal(tcache_init(0x7e0000000000, 4096, calls), 0);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    tcache_flush_all();
    memset(&header, 0, sizeof(header));
    return 0;
}

static struct draft d; // of tens of KiB

// A fragment of the client's [pc, end) with `size` bytes of code, at the next free address.
static struct fragment *publish(u64 pc, u64 end, u32 size)
{
    d.pc = pc;
    d.end = end;
    d.hpc = (u64)region_space(NULL);
    d.size = size;
    return tcache_publish(&d);
}

static void test_found(void **state)
{
    struct fragment *a, *b;

    (void)state;
    d = (struct draft){ .flags = FRAGMENT_ALONE,
                        .block = 5,
                        .counter = 6,
                        .log = 7,
                        .nrecipes = 2,
                        .nrelocs = 1,
                        .nexits = 1,
                        .ninsns = 3,
                        .ibl_jmp = { 8, 12 },
                        .sc_jmp = 9,
                        .recipe = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } },
                        .reloc = { 33 },
                        .len = { 4, 5, 6 },
                        .exit = { { .rel32 = 10, .stub = 11, .side = true, .target = 0x405000 } } };
    a = publish(0x401000, 0x40100f, 100);
    memset(&d, 0, sizeof(d)); // everything was copied
    b = publish(0x40100f, 0x401010, 30);
    assert_ptr_equal(tcache_lookup(0x401000), a);
    assert_ptr_equal(tcache_lookup(0x40100f), b);
    assert_null(tcache_lookup(0x401001));
    assert_ptr_equal(tcache_by_index(0), a);
    assert_ptr_equal(tcache_by_index(1), b);
    assert_null(tcache_by_index(2));
    assert_int_equal(tcache_next_index(), 2);
    assert_int_equal(a->hpc, region_fragments());
    assert_int_equal(b->hpc, region_fragments() + 112); // on 16 bytes
    assert_int_equal(header.code_bytes, 130);
    assert_int_equal(a->block, 5);
    assert_int_equal(a->counter, 6);
    assert_int_equal(a->log, 7);
    assert_int_equal(a->flags, FRAGMENT_ALONE);
    assert_int_equal(a->ibl_jmp[0], 8);
    assert_int_equal(a->ibl_jmp[1], 12);
    assert_int_equal(a->sc_jmp, 9);
    assert_int_equal(fragment_recipes(a)[1].spilled, 7);
    assert_int_equal(fragment_relocs(a)[0], 33);
    assert_int_equal(fragment_lens(a)[2], 6);
    assert_int_equal(a->exit[0].rel32, 10);
    assert_int_equal(a->exit[0].stub, 11);
    assert_int_equal(a->exit[0].target, 0x405000);
    assert_true(a->exit[0].side);
    assert_int_equal(a->exit[0].to, 0);
}

static void test_by_host_address(void **state)
{
    struct fragment *a = publish(0x401000, 0x401001, 64), *s = publish(0x402000, 0x402001, 0);
    struct fragment *b = publish(0x403000, 0x403001, 32), *c = publish(0x404000, 0x404001, 16);

    (void)state;
    assert_int_equal(s->hpc, b->hpc); // a stepped one has no code
    assert_ptr_equal(tcache_at(a->hpc), a);
    assert_ptr_equal(tcache_at(a->hpc + 63), a);
    assert_ptr_equal(tcache_at(b->hpc), b);
    assert_ptr_equal(tcache_at(c->hpc - 1), b);
    assert_ptr_equal(tcache_at(c->hpc + 15), c);
    tcache_kill(b); // threads may still be in it
    assert_ptr_equal(tcache_at(b->hpc + 5), b);
}

// 0x401000 to 0x401003 share an entry of the table: the low two bits are ignored.
static void test_kill(void **state)
{
    struct fragment *f[4];

    (void)state;
    for (u64 i = 0; i < 4; i++)
        f[i] = publish(0x401000 + i, 0x401001 + i, 16);
    for (u64 i = 0; i < 4; i++)
        assert_ptr_equal(tcache_lookup(0x401000 + i), f[i]);
    tcache_kill(f[2]);
    tcache_kill(f[2]);
    assert_int_equal(header.n_invalidate, 1);
    assert_true(f[2]->flags & FRAGMENT_DEAD);
    assert_null(tcache_lookup(0x401002));
    assert_ptr_equal(tcache_lookup(0x401000), f[0]);
    assert_ptr_equal(tcache_lookup(0x401001), f[1]);
    assert_ptr_equal(tcache_lookup(0x401003), f[3]);
    tcache_kill(f[0]);
    tcache_kill(f[3]);
    assert_ptr_equal(tcache_lookup(0x401001), f[1]);
    f[2] = publish(0x401002, 0x401003, 16); // translated again
    assert_ptr_equal(tcache_lookup(0x401002), f[2]);
    assert_int_equal(f[2]->index, 4);
}

// With a fragment go the links to it, and its entry in the table of indirect targets.
static void test_kill_cuts(void **state)
{
    struct fragment *a, *b;
    u64 *entry;

    (void)state;
    d.nexits = 1;
    d.exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40, .target = 0x402000 };
    a = publish(0x401000, 0x401001, 64);
    d.nexits = 0;
    b = publish(0x402000, 0x402001, 64);
    entry = (u64 *)((u8 *)t + TA_IBL) + ibl_index(0x402000) * 2;
    links_make(a, 0, b);
    ibl_fill(t, b);
    assert_int_equal(*(s32 *)(a->hpc + 4), (s32)(b->hpc - a->hpc - 8));
    assert_int_equal(entry[1], b->hpc);
    tcache_kill(b);
    assert_int_equal(*(s32 *)(a->hpc + 4), 40 - 8);
    assert_int_equal(entry[1], stubs_at(STUB_IBL_MISS));
}

// Fragments on pages 0x401 and 0x402, and one on both.
static void test_invalidate(void **state)
{
    struct fragment *a, *both, *c;

    (void)state;
    a = publish(0x401f00, 0x401f10, 16);
    both = publish(0x401ff0, 0x402008, 16);
    c = publish(0x402010, 0x402020, 16);
    tcache_invalidate(0x402008, 0x402010); // between two of them
    tcache_invalidate(0x401f10, 0x401ff0);
    tcache_invalidate(0x402010, 0x402010); // nothing
    assert_int_equal(header.n_invalidate, 0);
    tcache_invalidate(0x402007, 0x402008); // the last byte of the one on both pages
    assert_int_equal(header.n_invalidate, 1);
    assert_true(both->flags & FRAGMENT_DEAD);
    assert_ptr_equal(tcache_lookup(0x401f00), a);
    tcache_invalidate(0x401000, 0x402000); // its other page's list is whole
    assert_null(tcache_lookup(0x401f00));
    assert_ptr_equal(tcache_lookup(0x402010), c);
    tcache_invalidate(0, 1ul << 47); // more pages than there are in the table
    assert_null(tcache_lookup(0x402010));
    assert_int_equal(header.n_invalidate, 3);
}

// The lists of a fragment's two pages are not mixed up: on each there is another one behind it.
static void test_invalidate_both(void **state)
{
    struct fragment *first, *second;

    (void)state;
    first = publish(0x401f00, 0x401f10, 16);
    second = publish(0x402010, 0x402020, 16);
    publish(0x401ff0, 0x402008, 16);
    publish(0x401ff4, 0x402004, 16);
    tcache_invalidate(0x402010, 0x402011);
    assert_true(second->flags & FRAGMENT_DEAD);
    assert_false(first->flags & FRAGMENT_DEAD);
    assert_non_null(tcache_lookup(0x401ff0));
    second = publish(0x402018, 0x402028, 16);
    tcache_invalidate(0x402000, 0x403000);
    assert_int_equal(header.n_invalidate, 4); // fragments
    assert_null(tcache_lookup(0x401ff0));
    assert_null(tcache_lookup(0x401ff4));
    assert_null(tcache_lookup(0x402018));
    assert_ptr_equal(tcache_lookup(0x401f00), first);
}

// A superblock of five blocks: two on page 0x401, one on 0x403 and 0x404, another on 0x404 and
// one on 0x409, with a fragment of one block before it and one behind it in the lists of both ends.
static struct fragment *superblock(struct fragment *beside[4])
{
    static const struct fragment_block more[4] = {
        { .pc = 0x403ff8, .end = 0x404008, .block = 21, .counter = 31, .insn = 3 },
        { .pc = 0x401f20, .end = 0x401f30, .block = 22, .counter = 32, .insn = 4 },
        { .pc = 0x404100, .end = 0x404110, .block = 23, .counter = 33, .insn = 6 },
        { .pc = 0x409000, .end = 0x409001, .block = 24, .counter = 34, .insn = 7 },
    };
    struct fragment *f;

    beside[0] = publish(0x404800, 0x404801, 16);
    beside[1] = publish(0x401800, 0x401801, 16);
    memcpy(d.more, more, sizeof(more));
    d.nmore = 4;
    f = publish(0x401f00, 0x401f10, 64);
    memset(d.more, 0, sizeof(d.more));
    d.nmore = 0;
    beside[2] = publish(0x404900, 0x404901, 16);
    beside[3] = publish(0x401900, 0x401901, 16);
    return f;
}

// If any part of it goes, all of it goes, from the lists of all its pages; these stay whole.
static void test_invalidate_superblock(void **state)
{
    static const struct {
        u64 start, end;
    } of[] = {
        { 0x401f0f, 0x401f10 }, { 0x403ff8, 0x403ff9 }, { 0x404007, 0x404008 },
        { 0x401f2f, 0x401f30 }, { 0x409000, 0x40a000 }, { 0x40410f, 0x404110 },
        { 0x403000, 0x405000 }, { 0x400000, 0x401f01 },
    }, between[] = {
        { 0x401801, 0x401900 }, { 0x401901, 0x401f00 }, { 0x401f10, 0x401f20 },
        { 0x401f30, 0x403ff8 }, { 0x402000, 0x403000 }, { 0x404008, 0x404100 },
        { 0x404110, 0x404800 }, { 0x404901, 0x409000 }, { 0x409001, 0x410000 },
    };
    struct fragment *beside[4], *f;

    (void)state;
    f = superblock(beside);
    assert_int_equal(f->end, 0x401f10);
    assert_int_equal(f->nmore, 4);
    assert_int_equal(f->more[1].pc, 0x401f20);
    assert_int_equal(f->more[3].end, 0x409001);
    assert_int_equal(f->more[2].block, 23);
    assert_int_equal(f->more[0].counter, 31);
    assert_int_equal(f->more[3].insn, 7);
    assert_int_equal(f->npages, 4);
    for (u32 i = 0; i < ARRAY_SIZE(between); i++)
        tcache_invalidate(between[i].start, between[i].end);
    assert_int_equal(header.n_invalidate, 0);
    for (u32 i = 0; i < ARRAY_SIZE(of); i++) {
        tcache_invalidate(of[i].start, of[i].end);
        assert_true(f->flags & FRAGMENT_DEAD);
        assert_null(tcache_lookup(0x401f00));
        // the range from 0x400000 on has the two on page 0x401 in it, that of two pages the others
        tcache_invalidate(0x401000, 0x402000);
        tcache_invalidate(0x404000, 0x405000);
        for (u32 k = 0; k < 4; k++)
            assert_true(beside[k]->flags & FRAGMENT_DEAD);
        assert_int_equal(header.n_invalidate, 5 * (i + 1));
        f = superblock(beside);
    }
}

// It begins at a block that has a fragment of its own, and is found in its place. Each can go
// without the other; then the other is found.
static void test_superblock_found(void **state)
{
    struct fragment *beside[4], *alone, *f;

    (void)state;
    alone = publish(0x401f00, 0x401f10, 16);
    f = superblock(beside);
    assert_ptr_equal(tcache_lookup(0x401f00), f);
    assert_null(tcache_lookup(0x401f20)); // its other blocks are not found
    tcache_invalidate(0x409000, 0x409001);
    assert_int_equal(header.n_invalidate, 1);
    assert_ptr_equal(tcache_lookup(0x401f00), alone);
    f = superblock(beside);
    tcache_kill(alone);
    assert_ptr_equal(tcache_lookup(0x401f00), f);
    tcache_invalidate(0x401f00, 0x401f10);
    assert_null(tcache_lookup(0x401f00));
}

// An entry of the table of indirect targets leads to the superblock; the entry of another address
// at the same index stays.
static void test_ibl_move(void **state)
{
    struct fragment *alone = publish(0x401f00, 0x401f10, 16), *beside[4], *f, *other;
    u64 *entry = (u64 *)((u8 *)t + TA_IBL) + ibl_index(0x401f00) * 2, pc = 0x500000;

    (void)state;
    f = superblock(beside);
    ibl_fill(t, alone);
    assert_int_equal(entry[1], alone->hpc);
    ibl_move(f);
    assert_int_equal(entry[0], (u64)-0x401f00);
    assert_int_equal(entry[1], f->hpc);
    tcache_kill(f);
    assert_int_equal(entry[1], stubs_at(STUB_IBL_MISS));
    while (ibl_index(pc) != ibl_index(0x401f00))
        pc++;
    other = publish(pc, pc + 1, 16);
    assert_true(ibl_has(t, alone)); // to the miss path, but it has been a target
    assert_false(ibl_has(t, other));
    ibl_fill(t, other);
    assert_true(ibl_has(t, other));
    assert_false(ibl_has(t, alone));
    ibl_move(superblock(beside));
    assert_int_equal(entry[0], -pc);
    assert_int_equal(entry[1], other->hpc);
}

// The entry of a watched fragment leads to its second entry, until it is not watched any more.
static void test_ibl_watched(void **state)
{
    struct fragment *f = publish(0x401f00, 0x401f10, 64);
    u64 *entry = (u64 *)((u8 *)t + TA_IBL) + ibl_index(0x401f00) * 2;

    (void)state;
    f->watch = 40;
    f->flags |= FRAGMENT_WATCHED;
    ibl_fill(t, f);
    assert_int_equal(entry[1], f->hpc + 40);
    f->flags = 0;
    ibl_move(f);
    assert_int_equal(entry[1], f->hpc);
}

// 5000 pages: the table of 4096 grows when it is half full (twice), and loses none.
static void test_many_pages(void **state)
{
    (void)state;
    for (u64 i = 0; i < 5000; i++)
        publish(0x10000000 + i * 0x3000, 0x10000001 + i * 0x3000, 16);
    for (u64 i = 0; i < 5000; i += 2)
        tcache_invalidate(0x10000000 + i * 0x3000, 0x10000001 + i * 0x3000);
    assert_int_equal(header.n_invalidate, 2500);
    for (u64 i = 0; i < 5000; i++) {
        struct fragment *f = tcache_lookup(0x10000000 + i * 0x3000);

        if (i & 1)
            assert_int_equal(f->index, i);
        else
            assert_null(f);
    }
    // Of many pages only those in the range go: 1000 of odd i below 2000.
    tcache_invalidate(0x10000000, 0x10000000 + 2000 * 0x3000);
    assert_int_equal(header.n_invalidate, 3500);
}

// 150,000 fragments in 2,400 pages: more than the 65,536 that the first table takes, and one
// address that comes again. Some die before the table grows, some after.
static void test_many(void **state)
{
    enum { MANY = 150000, AGAIN = 60000, DEAD = 70 };
    struct fragment *again = NULL;

    (void)state;
    for (u32 i = 0; i < MANY; i++) {
        publish(0x400000 + i * 64ul, 0x400000 + i * 64ul + 9, 16);
        if (i == AGAIN)
            again = publish(0x400000, 0x400009, 16);
        if (i % 1000 == 999)
            tcache_kill(tcache_by_index(i - DEAD));
    }
    assert_ptr_equal(tcache_lookup(0x400000), again);
    assert_ptr_not_equal(again, tcache_by_index(0));
    tcache_kill(again);
    assert_ptr_equal(tcache_lookup(0x400000), tcache_by_index(0));
    for (u32 i = 0; i < MANY; i++) {
        u32 index = i <= AGAIN ? i : i + 1; // of the other one is one more
        struct fragment *f = tcache_by_index(index), *found = tcache_lookup(f->pc);

        assert_int_equal(f->pc, 0x400000 + i * 64ul);
        if (f->flags & FRAGMENT_DEAD)
            assert_null(found);
        else
            assert_ptr_equal(found, f);
        assert_null(tcache_lookup(f->pc + 1));
    }
    // Emptied, and filled once more.
    tcache_flush_all();
    assert_null(tcache_lookup(0x400040));
    publish(0x400040, 0x400049, 16);
    assert_ptr_equal(tcache_lookup(0x400040), tcache_by_index(0));
    assert_null(tcache_lookup(0x400080));
}

// With room made before, look-ups find what was there and what comes; less room than there is
// changes nothing.
static void test_expected(void **state)
{
    (void)state;
    for (u32 i = 0; i < 10; i++)
        publish(0x400000 + i * 64ul, 0x400000 + i * 64ul + 9, 16);
    tcache_expect(150000);
    tcache_expect(1);
    for (u32 i = 10; i < 20; i++)
        publish(0x400000 + i * 64ul, 0x400000 + i * 64ul + 9, 16);
    for (u32 i = 0; i < 20; i++)
        assert_ptr_equal(tcache_lookup(0x400000 + i * 64ul), tcache_by_index(i));
    assert_null(tcache_lookup(0x400000 + 20 * 64ul));
}

static void test_flush(void **state)
{
    struct fragment *a = publish(0x401000, 0x401001, 64);

    (void)state;
    ibl_fill(t, a);
    t->escape_fragment = (u64)a;
    t->sc_cont = 1;
    tcache_flush_all();
    assert_int_equal(header.n_flush, 1);
    assert_null(tcache_lookup(0x401000));
    assert_null(tcache_by_index(0));
    assert_int_equal(tcache_next_index(), 0);
    assert_int_equal(t->escape_fragment, 0);
    assert_int_equal(t->sc_cont, stubs_at(STUB_SYSCALL_DONE));
    assert_int_equal(((u64 *)((u8 *)t + TA_IBL))[ibl_index(0x401000) * 2], 0);
    tcache_invalidate(0x401000, 0x402000); // nothing is listed any more
    assert_int_equal(header.n_invalidate, 0);
    assert_ptr_equal(publish(0x402000, 0x402001, 16), a); // the memory is used again
    assert_int_equal(a->hpc, region_fragments());
}

// As pack.c makes it: its data follow it, and it is dead.
struct taken {
    struct fragment f;
    struct fragment_block more[1];
    struct fragment_exit exit[2];
    u32 next[4];
};

static void take(struct taken *p, u64 pc, u64 end)
{
    p->f = (struct fragment){ .pc = pc,
                              .end = end,
                              .hpc = (u64)region_space(NULL),
                              .index = tcache_next_index(),
                              .size = 64,
                              .flags = FRAGMENT_DEAD,
                              .npages = 1,
                              .nexits = 2,
                              .more = p->more,
                              .exit = p->exit };
    p->exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40 };
    p->exit[1] = (struct fragment_exit){ .rel32 = 12, .stub = 50 };
    tcache_take(&p->f);
}

// The target of exit k.
static u64 leads(const struct fragment *f, u32 k)
{
    u64 at = f->hpc + f->exit[k].rel32;

    return at + 4 + (u64)(s64)(*(s32 *)at);
}

// Taken fragments have their index and host address, and look-ups do not find them; the next
// fragment follows them.
static void test_take(void **state)
{
    static struct taken p[2];
    struct fragment *after;

    (void)state;
    take(&p[0], 0x401000, 0x401001);
    take(&p[1], 0x402000, 0x402001);
    assert_int_equal(tcache_next_index(), 2);
    assert_ptr_equal(tcache_by_index(0), &p[0].f);
    assert_ptr_equal(tcache_by_index(1), &p[1].f);
    assert_ptr_equal(tcache_at(region_fragments() + 64), &p[1].f);
    assert_null(tcache_lookup(0x401000));
    tcache_invalidate(0x401000, 0x403000);
    assert_int_equal(header.n_invalidate, 0);
    after = publish(0x401000, 0x401001, 16);
    assert_int_equal(after->index, 2);
    assert_int_equal(after->hpc, region_fragments() + 128);
    assert_int_equal(header.code_bytes, 16); // the others do not count
    tcache_flush_all();
    assert_null(tcache_by_index(0));
    assert_ptr_equal(region_space(NULL), region_fragments());
}

// A leads to B and to C, B to itself and to A; C is still dead. Then A, which has two blocks on
// three pages, goes.
static void test_revive(void **state)
{
    static struct taken a, b, c;

    (void)state;
    take(&a, 0x401000, 0x401001);
    a.f.nmore = 1;
    a.more[0] = (struct fragment_block){ .pc = 0x403ff8, .end = 0x404008 };
    a.f.npages = 3;
    assert_int_equal(tcache_pages(&a.f), 3);
    take(&b, 0x402000, 0x402001);
    assert_int_equal(tcache_pages(&b.f), 1);
    take(&c, 0x402800, 0x402801);
    a.exit[0].to = b.exit[0].to = 2; // numbers: 1 more than the index
    a.exit[1].to = 3;
    b.exit[1].to = 1;
    tcache_revive(&a.f);
    tcache_revive(&b.f);
    assert_ptr_equal(tcache_lookup(0x401000), &a.f);
    assert_ptr_equal(tcache_lookup(0x402000), &b.f);
    assert_null(tcache_lookup(0x402800));
    assert_int_equal(a.f.flags | b.f.flags, 0);
    assert_int_equal(b.f.in, fragment_exit_id(1, 0) + 1); // the last that was listed
    assert_int_equal(b.exit[0].next_in, fragment_exit_id(0, 0) + 1);
    assert_int_equal(a.exit[0].before_in, fragment_exit_id(1, 0) + 1);
    assert_int_equal(c.f.in, fragment_exit_id(0, 1) + 1);
    assert_int_equal(header.n_links, 0);   // they were made by others
    tcache_invalidate(0x401001, 0x402000); // neither of its blocks, nor a dead fragment
    tcache_invalidate(0x402001, 0x403ff8);
    tcache_invalidate(0x404008, 0x409000);
    assert_int_equal(header.n_invalidate, 0);
    tcache_invalidate(0x404007, 0x404008);
    assert_int_equal(header.n_invalidate, 1);
    assert_int_equal(a.f.flags, FRAGMENT_DEAD);
    assert_null(tcache_lookup(0x401000));
    assert_ptr_equal(tcache_lookup(0x402000), &b.f);
    assert_int_equal(leads(&a.f, 0), a.f.hpc + 40);
    assert_int_equal(leads(&a.f, 1), a.f.hpc + 50);
    assert_int_equal(leads(&b.f, 1), b.f.hpc + 50);
    assert_int_equal(b.exit[0].to, 2);
    assert_int_equal(b.f.in, fragment_exit_id(1, 0) + 1);
    assert_int_equal(b.exit[0].next_in, 0);
    assert_int_equal(c.f.in, 0);
    tcache_invalidate(0x401000, 0x402000); // from the lists of its other pages, too
    tcache_invalidate(0x403000, 0x404000);
    assert_int_equal(header.n_invalidate, 1);
    tcache_invalidate(0x402000, 0x402001);
    assert_int_equal(header.n_invalidate, 2);
    assert_int_equal(leads(&b.f, 0), b.f.hpc + 40);
}

// Of two at one address the last revived is found, and after it the other. New fragments are linked
// to it as to any.
static void test_revived_and_made(void **state)
{
    static struct taken alone, all;
    struct fragment *new;

    (void)state;
    take(&alone, 0x401000, 0x401001);
    take(&all, 0x401000, 0x401009);
    tcache_revive(&alone.f);
    tcache_revive(&all.f);
    assert_ptr_equal(tcache_lookup(0x401000), &all.f);
    d.nexits = 1;
    d.exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40, .target = 0x401000 };
    new = publish(0x405000, 0x405001, 64);
    d.nexits = 0;
    assert_int_equal(new->index, 2);
    links_make(new, 0, &all.f);
    assert_int_equal(leads(new, 0), all.f.hpc);
    links_make(&all.f, 0, new);
    assert_int_equal(leads(&all.f, 0), new->hpc);
    tcache_kill(&all.f);
    assert_ptr_equal(tcache_lookup(0x401000), &alone.f);
    assert_int_equal(leads(new, 0), new->hpc + 40);
    assert_int_equal(new->in, 0);
}

// A fragment of code at 0x401000 that may be rewritten; its one exit is that of its check.
static struct fragment *found;

static struct fragment *version(u64 end, bool again)
{
    struct fragment *f;

    d.flags = FRAGMENT_WRITABLE;
    d.nexits = 1;
    d.exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40, .side = true, .target = 0x401000 };
    d.again = again;
    found = publish(0x401000, end, 64);
    f = tcache_by_index(tcache_next_index() - 1);
    memset(&d, 0, sizeof(d));
    *(s32 *)(f->hpc + 4) = 40 - 8;
    return f;
}

// None of them is found while one more is wanted; then the first is, which leads to the others. If
// one goes, all go, even those that are not on the invalidated page.
static void test_versions(void **state)
{
    struct fragment *a = version(0x401005, false), *b, *c;
    u64 *entry = (u64 *)((u8 *)t + TA_IBL) + ibl_index(0x401000) * 2;

    (void)state;
    ibl_fill(t, a);
    tcache_changed(a, true);
    assert_null(tcache_lookup(0x401000));
    assert_int_equal(leads(a, 0), a->hpc + 40);
    b = version(0x402005, true);
    assert_ptr_equal(found, a);
    assert_ptr_equal(tcache_lookup(0x401000), a);
    assert_int_equal(leads(a, 0), b->hpc);
    assert_int_equal(leads(b, 0), b->hpc + 40);
    tcache_changed(a, true); // from a thread that was in a while b was made
    assert_ptr_equal(tcache_lookup(0x401000), a);
    tcache_changed(b, true);
    assert_null(tcache_lookup(0x401000));
    c = version(0x401005, false); // other code has come back
    assert_ptr_equal(tcache_lookup(0x401000), a);
    assert_int_equal(leads(b, 0), c->hpc);
    assert_int_equal(header.n_invalidate, 0);
    assert_int_equal(entry[1], a->hpc);
    tcache_invalidate(0x402000, 0x403000);
    assert_int_equal(header.n_invalidate, 3);
    assert_null(tcache_lookup(0x401000));
    assert_int_equal(leads(a, 0), a->hpc + 40);
    assert_int_equal(leads(b, 0), b->hpc + 40);
    assert_int_equal(entry[1], stubs_at(STUB_IBL_MISS));
    tcache_invalidate(0x401000, 0x402000);
    tcache_changed(c, true); // from a thread that is still in it
    assert_int_equal(header.n_invalidate, 3);
    a = version(0x401005, true);
    assert_ptr_equal(tcache_lookup(0x401000), a);
}

// Invalidated by the page of all of them, with another fragment listed before and one after them.
static void test_versions_on_a_page(void **state)
{
    (void)state;
    publish(0x401800, 0x401801, 16);
    for (u32 i = 0; i < 5; i++)
        tcache_changed(version(0x401005, true), true);
    publish(0x401900, 0x401901, 16);
    tcache_invalidate(0x401000, 0x402000);
    assert_int_equal(header.n_invalidate, 7);
    tcache_invalidate(0x401000, 0x402000);
    assert_int_equal(header.n_invalidate, 7);
}

// Code that is new every time replaces what was there; so do unlinked code, the 17th version, and
// fragments that do not check themselves or have no code.
static void test_versions_go(void **state)
{
    struct fragment *a = version(0x401005, false), *b, *from;

    (void)state;
    d.nexits = 1;
    d.exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40, .target = 0x401000 };
    from = publish(0x402000, 0x402001, 64);
    links_make(from, 0, a);
    tcache_changed(a, true);
    b = version(0x401005, false);
    assert_true(a->flags & FRAGMENT_DEAD);
    assert_int_equal(leads(from, 0), b->hpc);
    assert_ptr_equal(tcache_lookup(0x401000), b);
    tcache_changed(b, false);
    assert_true(b->flags & FRAGMENT_DEAD);
    assert_int_equal(header.n_invalidate, 2);
    for (u32 i = 0; i < 15; i++)
        tcache_changed(version(0x401005, true), true);
    a = version(0x401005, true);
    assert_int_equal(header.n_invalidate, 2);
    assert_non_null(tcache_lookup(0x401000));
    tcache_changed(a, true);
    assert_int_equal(header.n_invalidate, 18);
    assert_null(tcache_lookup(0x401000));
    for (u32 flags = 0; flags <= FRAGMENT_STEP; flags += FRAGMENT_STEP) {
        tcache_changed(a = version(0x401005, true), true);
        d.flags = flags;
        b = publish(0x401000, 0x401001, 16);
        assert_true(a->flags & FRAGMENT_DEAD);
        assert_ptr_equal(tcache_lookup(0x401000), b);
        tcache_kill(b);
    }
}

// A stepped instruction is found while its bytes are in memory.
static void test_stepped(void **state)
{
    struct fragment *f;

    (void)state;
    for (u32 i = 0; i < 2; i++) {
        memcpy(client, "\x8c\xe8", 2); // mov %gs, %eax
        client_size = 2;
        d.flags = FRAGMENT_STEP | FRAGMENT_WRITABLE;
        d.ninsns = 1;
        d.len[0] = 2;
        memcpy(d.stepped, "\2\x8c\xe8", 3);
        f = publish(0x401000, 0x401002, 0);
        memset(&d, 0, sizeof(d));
        assert_ptr_equal(tcache_lookup(0x401000), f);
        client[1] ^= (u8)i; // rewritten, or unmapped
        client_size = i ? 2 : 1;
        assert_null(tcache_lookup(0x401000));
        assert_true(f->flags & FRAGMENT_DEAD);
        assert_int_equal(header.n_invalidate, i + 1);
    }
    d.flags = FRAGMENT_STEP; // nobody can rewrite it
    f = publish(0x401000, 0x401002, 0);
    memset(&d, 0, sizeof(d));
    client_size = 0;
    assert_ptr_equal(tcache_lookup(0x401000), f);
}

static void test_flushes(void **state)
{
    u32 before = tcache_flushes();

    (void)state;
    publish(0x401000, 0x401001, 16);
    tcache_invalidate(0x401000, 0x401001);
    assert_int_equal(tcache_flushes(), before);
    tcache_flush_all();
    tcache_flush_all();
    assert_int_equal(tcache_flushes(), before + 2);
    tcache_fork_child();
    assert_int_equal(tcache_flushes(), before + 2);
}

static void test_try_lock(void **state)
{
    (void)state;
    assert_true(tcache_try_lock());
    assert_false(tcache_try_lock());
    tcache_unlock();
    assert_true(tcache_try_lock());
    tcache_unlock();
}

// 4 MiB for fragments, each at most 16 KiB: full when less than that is left.
static void test_room(void **state)
{
    u32 n = 0;

    (void)state;
    for (; tcache_has_room(); n++)
        publish(0x401000 + n, 0x401001 + n, FRAGMENT_MAX);
    assert_int_equal(n, 256);
    tcache_flush_all();
    assert_true(tcache_has_room());
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(tcache_thread_init(t), 0);
    u64 first = t->escape_buffer;

    assert_int_equal(first, region_escapes());
    assert_int_equal(((u64 *)((u8 *)t + TA_IBL))[1], stubs_at(STUB_IBL_MISS));
    tcache_thread_fini(t);
    assert_int_equal(t->escape_buffer, 0);
    tcache_thread_init(t);
    assert_int_equal(t->escape_buffer, first); // the buffer is used again
    t->escape_buffer = 0;
    tcache_thread_init(t);
    assert_int_equal(t->escape_buffer, first + FRAGMENT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_found, setup),
        cmocka_unit_test_setup(test_by_host_address, setup),
        cmocka_unit_test_setup(test_kill, setup),
        cmocka_unit_test_setup(test_kill_cuts, setup),
        cmocka_unit_test_setup(test_invalidate, setup),
        cmocka_unit_test_setup(test_invalidate_superblock, setup),
        cmocka_unit_test_setup(test_superblock_found, setup),
        cmocka_unit_test_setup(test_ibl_move, setup),
        cmocka_unit_test_setup(test_ibl_watched, setup),
        cmocka_unit_test_setup(test_many_pages, setup),
        cmocka_unit_test_setup(test_invalidate_both, setup),
        cmocka_unit_test_setup(test_many, setup),
        cmocka_unit_test_setup(test_expected, setup),
        cmocka_unit_test_setup(test_flush, setup),
        cmocka_unit_test_setup(test_take, setup),
        cmocka_unit_test_setup(test_revive, setup),
        cmocka_unit_test_setup(test_revived_and_made, setup),
        cmocka_unit_test_setup(test_versions, setup),
        cmocka_unit_test_setup(test_versions_on_a_page, setup),
        cmocka_unit_test_setup(test_versions_go, setup),
        cmocka_unit_test_setup(test_stepped, setup),
        cmocka_unit_test_setup(test_flushes, setup),
        cmocka_unit_test_setup(test_try_lock, setup),
        cmocka_unit_test_setup(test_room, setup),
        cmocka_unit_test_setup(test_threads, setup),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
