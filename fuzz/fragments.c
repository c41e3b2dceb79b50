// SPDX-License-Identifier: MIT
//
// Fuzzer of packed fragments (engine/codecache/pack.h). The input is read as consecutive fragments
// twice: as it is, and with fields made valid that random bytes never are. Fragments found
// valid are installed, linked, removed, and packed again, which must
// be valid, too: nothing outside of the input may be read or written.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/pack.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// ---- Fakes that tcache.c needs ----

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    (void)bytes;
    free(p);
}

// Most of it is never touched.
void *heap_pages(u64 bytes)
{
    return (void *)sys_mmap(0, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// No client: its code cannot be read.
int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    (void)dst;
    (void)gaddr;
    (void)n;
    return -14; // EFAULT
}

void engine_die(const char *fmt, ...)
{
    (void)fmt;
    abort();
}

u64 stubs_size(void)
{
    return 1000;
}

void stubs_copy(u64 base, const void *const calls[STUB_COUNT], bool recording)
{
    (void)base;
    (void)calls;
    (void)recording;
}

u64 stubs_at(enum stub s)
{
    return s;
}

struct thread *threads_first(void)
{
    return NULL;
}

struct thread *threads_next_live(u32 *slot)
{
    (void)slot;
    return NULL;
}

void threads_lock(void) {}

void threads_unlock(void) {}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const void *const calls[STUB_COUNT];

    (void)argc;
    (void)argv;
    if (tcache_init(0x7e0000000000, 65536, calls))
        abort();
    return 0;
}

// ---- The test of valid fragments ----

// Stored, so that no compiler removes the reads.
static volatile u64 sink;

static void read_all(const struct fragment *f)
{
    u64 sum = 0;

    for (u32 i = 0; i < f->nmore; i++)
        sum += f->more[i].pc + f->more[i].insn;
    for (u32 i = 0; i < f->nexits; i++)
        sum += f->exit[i].target + f->exit[i].stub;
    for (u32 i = 0; i < f->npages; i++)
        sum += fragment_next(f)[i];
    for (u32 i = 0; i < f->nrecipes; i++)
        sum += fragment_recipes(f)[i].off;
    for (u32 i = 0; i < f->nrelocs; i++)
        sum += fragment_relocs(f)[i];
    for (u32 i = 0; i < f->ninsns; i++)
        sum += fragment_lens(f)[i];
    sink += sum;
}

static bool keep_all(const struct fragment *to)
{
    return to->index % 3 != 0;
}

static void pack_again(u32 n, u64 code_bytes)
{
    u8 *code = calloc(1, code_bytes + 1);

    for (u32 i = 0; i < n; i++) {
        const struct fragment *f = tcache_by_index(i);
        u64 bytes = pack_bytes(f);
        u8 *to = calloc(1, bytes);

        pack(f, to, code, keep_all);
        if (!pack_is_sound(to, bytes, i, n, f->hpc, code_bytes))
            abort();
        free(to);
    }
    free(code);
}

static void live(u32 n, const uint8_t *data, size_t size, u64 code_bytes)
{
    for (u32 i = 0; i < n; i++) {
        struct fragment *f = tcache_by_index(i);

        read_all(f);
        // Those are members of no group (pcache.c).
        if (!(data[i % size] & 1) ||
            (f->flags & (FRAGMENT_STEP | FRAGMENT_WRITABLE | FRAGMENT_UNCOUNTED)))
            continue;
        tcache_revive(f);
        if (tcache_lookup(f->pc) != f)
            abort();
    }
    for (u32 i = 0; i < n; i++) {
        struct fragment *f = tcache_by_index(i);

        for (u32 k = 0; k < f->nexits && k < 2; k++)
            links_make(f, k, tcache_by_index(data[(i + k) % size] % n));
        links_repatch(f);
    }
    pack_again(n, code_bytes);
    for (u32 i = 0; i < n; i += 2) {
        const struct fragment *f = tcache_by_index(i);

        if (f->pc != ~0ul)
            tcache_invalidate(f->pc, f->pc + 1);
        tcache_kill(tcache_by_index(i));
    }
    tcache_invalidate(0, ~0ul);
    pack_again(n, code_bytes);
    tcache_flush_all();
}

// Iterates as pcache.c does; their number, 0: invalid.
static u32 walk(const u8 *at, u64 room, u32 all, u64 code_bytes)
{
    u64 hpc = region_fragments();

    for (u32 i = 0; i < all; i++) {
        const struct fragment *f = (const struct fragment *)at;

        if (!pack_is_sound(at, room, i, all, hpc, code_bytes))
            return 0;
        hpc += (f->size + 15u) & ~15ul;
        room -= pack_bytes(f);
        at += pack_bytes(f);
    }
    return all;
}

static void try(u8 *at, u64 room, u32 all, u64 code_bytes, const uint8_t *data, size_t size)
{
    u32 n = walk(at, room, all, code_bytes);

    for (u32 i = 0; i < n; i++) {
        struct fragment *f = (struct fragment *)at;

        at += pack_bytes(f);
        tcache_take(pack_undo((u8 *)f));
    }
    if (n)
        live(n, data, size, code_bytes);
}

// Small numbers are the ones that fit. One field in some stays as it is.
static void repair_exits(struct fragment *f, u32 all)
{
    for (u32 i = 0; i < f->nexits; i++) {
        struct fragment_exit *x = &f->exit[i];

        if (x->target % 16 == 15)
            continue;
        x->to %= all + 1;
        x->rel32 = (u16)(f->size > 4 ? x->rel32 % (f->size - 3u) : 0);
        x->stub = (u16)(f->size ? x->stub % f->size : 0);
    }
}

static void repair_one(struct fragment *f, u32 index, u64 hpc, u64 room)
{
    u8 whole = f->seen;

    f->index = index;
    f->hpc = hpc;
    f->in = 0;
    f->size %= 512;
    f->nmore %= FRAGMENT_BLOCKS_MAX;
    f->nexits = f->size > 4 ? f->nexits % (FRAGMENT_EXITS_MAX + 1) : 0;
    f->ninsns %= FRAGMENT_INSNS_MAX + 1;
    f->nrecipes %= 8;
    f->nrelocs %= 8;
    f->flags = (u8)((f->flags & ~(FRAGMENT_WATCHED | FRAGMENT_PAST)) | FRAGMENT_DEAD);
    f->watch = f->sc_jmp = f->ibl_jmp[0] = f->ibl_jmp[1] = 0;
    if (sizeof(*f) + f->nmore * sizeof(*f->more) > room)
        f->nmore = 0;
    f->more = (struct fragment_block *)(f + 1);
    if (whole % 16 != 15)
        f->npages = (u8)tcache_pages(f);
}

// As many as fit.
static void repair(u8 *at, u64 room, u32 most, const uint8_t *data, size_t size)
{
    u64 hpc = region_fragments();
    u8 *p = at, *end = at + room;
    u32 all;

    for (all = 0; all < most && (u64)(end - p) >= sizeof(struct fragment); all++) {
        struct fragment *f = (struct fragment *)p;

        repair_one(f, all, hpc, (u64)(end - p));
        if (pack_bytes(f) > (u64)(end - p))
            break;
        hpc += (f->size + 15u) & ~15ul;
        p += pack_bytes(f);
    }
    p = at;
    for (u32 i = 0; i < all; i++) {
        struct fragment *f = pack_undo(p);

        repair_exits(f, all);
        p += pack_bytes(f);
    }
    try(at, room, all, hpc - region_fragments(), data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    u32 all;
    u8 *copy;

    if (size < 2)
        return 0;
    all = 1 + data[0] % 32u;
    // Exactly this size, aligned as a section is.
    copy = malloc(size - 1);
    memcpy(copy, data + 1, size - 1);
    try(copy, size - 1, all, 65536, data, size);
    memcpy(copy, data + 1, size - 1);
    repair(copy, size - 1, all, data, size);
    free(copy);
    return 0;
}
