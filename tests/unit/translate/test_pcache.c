// SPDX-License-Identifier: MIT
// engine/translate/pcache.c with the real code cache, arena, line ids and files. Each run is a
// process of its own, which ends before the next begins. Its client is an array of bytes; a block
// of it becomes a fragment without being decoded. A run checks its results by IS(), which ends it
// on failure.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/links.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/caches.h"
#include "engine/count/lineids.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "engine/translate/blockrecord.h"
#include "engine/translate/cpucheck.h"
#include "engine/translate/pcache.h"
#include "engine/translate/pcachefile.h"
#include "tests/unit/spool/insnids_none.h"

#define A    0x400000ul     // a mapping of two pages
#define PLT  (A + 0x1f00ul) // its linkage table
#define B    0x7000000ul    // of one
#define MAPS 10u            // A's number in the spool

#define IS(got, wanted) is((u64)(got), (u64)(wanted), #got, __LINE__)

static void is(u64 got, u64 wanted, const char *what, int line)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s:%d: %s is 0x%lx, not 0x%lx\n", __FILE__, line, what, got, wanted);
    sys_exit_group(1);
}

// ---- Fakes of what pcache.c calls ----

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
static char folder[] = "/tmp/quern-pcache.XXXXXX";
static u64 blocks[32768];
static u32 records_taken, records_expected;
static struct spool_edge edge[64];
static u32 forgotten;                                // how often edges of modules were
static u32 start[2][3] = { { 16, 32, 48 }, { 64 } }; // of functions
static u32 starts = 3;
static bool told, by_vectors;

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
    long p = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);

    IS(sys_failed(p), false);
    return (void *)p;
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
    return 0x1000 + s;
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

bool cpucheck_warned(void)
{
    return told;
}

bool caches_by_vectors(void)
{
    return by_vectors;
}

u32 blockrecord_hash(const u8 *code, u32 bytes, u32 n)
{
    u32 h = n;

    for (u32 i = 0; i < bytes; i++)
        h = h * 31 + code[i];
    return h;
}

void blockrecord_take(const struct spool_block *s)
{
    IS(s->flags & SPOOL_B_DORMANT, 0);
    records_taken++;
}

const char *spooler_string(u32 offset)
{
    IS(offset, 1);
    return folder;
}

struct spool_block *spooler_block_at(u32 index)
{
    return (struct spool_block *)&blocks[index];
}

void blockrecord_expect(u32 n)
{
    records_expected = n;
}

void *spooler_blocks_room(u64 bytes)
{
    return bytes <= sizeof(blocks) ? blocks : NULL;
}

void spooler_blocks_take(u64 bytes, u64 counters)
{
    IS(bytes <= sizeof(blocks), true);
    header.blocks_used = bytes;
    header.counters_used = counters;
}

struct spool_edge *spooler_edge_at(u32 index)
{
    return &edge[index];
}

struct spool_edge *spooler_edges_room(u32 n)
{
    return n <= ARRAY_SIZE(edge) ? edge : NULL;
}

void spooler_edges_take(u32 n)
{
    IS(header.edges_used, 0);
    header.edges_used = n;
}

struct spool_edge *spooler_edge_append(const struct spool_edge *e, u32 n_counters)
{
    struct spool_edge *mine = &edge[header.edges_used++];

    IS(header.edges_used <= ARRAY_SIZE(edge), true);
    *mine = *e;
    mine->counter = (u32)header.counters_used;
    header.counters_used += n_counters;
    return mine;
}

void calls_forget_unmapped(void)
{
    forgotten++;
}

const u32 *functions_starts(u32 map, u32 *n)
{
    *n = starts;
    return start[map - MAPS];
}

// Those of 256 bytes each; the last of A is a linkage table.
struct function functions_at(u64 addr)
{
    return (struct function){ .start = addr & ~0xfful,
                              .map = vmmap_spool_map(addr),
                              .plt = addr >= PLT && addr < PLT + 0x100 };
}

// -- the client --

static struct {
    u64 start, end;
    u32 prot, flags; // enum vmmap_flag
    u32 map_flags;   // enum spool_map_flag
    u8 memory[2 * PAGE_SIZE];
} client[2];
static u64 writable_at; // a page of the client's that has become so; 0: none

static int client_at(u64 addr)
{
    for (int i = 0; i < 2; i++) {
        if (addr >= client[i].start && addr < client[i].end)
            return i;
    }
    return -1;
}

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    int i = client_at(gaddr);

    if (i < 0 || gaddr + n > client[i].end)
        return -EFAULT;
    memcpy(dst, client[i].memory + (gaddr - client[i].start), n);
    return 0;
}

bool vmmap_find_code(u64 addr, struct vmmap_info *out)
{
    int i = client_at(addr);

    if (i < 0)
        return false;
    *out = (struct vmmap_info){ client[i].start, client[i].end, client[i].prot, client[i].flags };
    if (writable_at && addr < writable_at) {
        out->end = writable_at;
    } else if (writable_at && addr < writable_at + PAGE_SIZE) {
        *out = (struct vmmap_info){ writable_at, writable_at + PAGE_SIZE,
                                    client[i].prot | PROT_WRITE, client[i].flags };
    } else if (writable_at) {
        out->start = writable_at + PAGE_SIZE;
    }
    return true;
}

u32 vmmap_spool_map(u64 addr)
{
    return MAPS + (u32)client_at(addr);
}

const struct spool_map *spooler_map_at(u32 index)
{
    static struct spool_map map[2];
    u32 i = index - MAPS;

    IS(i < 2, true);
    map[i] = (struct spool_map){ .start = client[i].start,
                                 .end = client[i].end,
                                 .flags = client[i].map_flags };
    return &map[i];
}

// ---- Runs ----

// What differs in the next runs, before they load the file.
static void (*unlike)(void);
static u64 program;
static bool at_random;

static void begin_run(void)
{
    static const void *const calls[STUB_COUNT];

    header = (struct spool_header){ .s_translations = 1,
                                    .flags = SPOOL_F_CACHE_SIM,
                                    .cache_kib = 4096,
                                    .counters_used = 5,
                                    .i1 = { 32768, 8, 64 } };
    tb_config = (struct tb_config){ .counts = true, .chain = true };
    for (int i = 0; i < 2; i++) {
        client[i].start = i ? B : A;
        client[i].end = i ? B + PAGE_SIZE : A + 2 * PAGE_SIZE;
        client[i].prot = PROT_READ | PROT_EXEC;
        for (u32 k = 0; k < sizeof(client[i].memory); k++)
            client[i].memory[k] = (u8)(k * 7 + (k >> 8) + (u32)i);
    }
    program = 4711;
    if (unlike)
        unlike();
    if (tb_config.recording)
        IS(arena_init(), 0);
    lineids_init();
    if (tb_config.calls)
        edges_init();
    IS(tcache_init(0x7e0000000000, header.cache_kib, calls), 0);
    pcache_init(program, !at_random);
}

static void run(void (*what)(void))
{
    const struct k_sigaction by_default = { 0 };
    u32 status = 1;
    s32 pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        // The test's runner must not catch a fault: it would continue in this process.
        for (int sig = 1; sig < 32; sig++)
            sys_sigaction(sig, &by_default, NULL);
        begin_run();
        what();
        sys_exit_group(0);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    assert_int_equal(status, 0);
}

static u32 files(void)
{
    char command[64];

    snprintf(command, sizeof(command), "exit $(ls -A %s | wc -l)", folder);
    return (u32)system(command) >> 8;
}

static int setup(void **state)
{
    char command[64];

    (void)state;
    unlike = NULL;
    at_random = false;
    snprintf(command, sizeof(command), "rm -f %s/*", folder);
    return system(command);
}

// ---- What a run does ----

#define BYTES 8u // of each block

static u32 spool_block(u64 pc, u32 *counter)
{
    u32 index = (u32)(header.blocks_used / 8);
    int i = client_at(pc);

    *counter = (u32)header.counters_used;
    *spooler_block_at(index) =
        (struct spool_block){ .pc = pc,
                              .map = MAPS + (u32)i,
                              .counter = *counter,
                              .own = *counter + 1,
                              .insns = 2,
                              .hash = blockrecord_hash(client[i].memory + (pc - client[i].start),
                                                       BYTES, 2) };
    header.blocks_used += sizeof(struct spool_block) + 2 * sizeof(struct spool_insn);
    header.counters_used += 3;
    header.block_count++;
    return index;
}

static struct draft d;
static u64 exit_to; // the target of second exits

// Two exits, which lead to their stubs; 64 bytes, filled with its number.
static struct fragment *translate(u64 pc)
{
    struct fragment *f;

    d.pc = pc;
    d.end = pc + BYTES;
    d.hpc = (u64)region_space(NULL);
    d.size = 64;
    d.ninsns = 2;
    d.len[0] = d.len[1] = 4;
    d.nexits = 2;
    d.exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40, .target = pc + BYTES };
    d.exit[1] = (struct fragment_exit){ .rel32 = 12, .stub = 50, .target = exit_to };
    d.block = spool_block(pc, &d.counter);
    memset((void *)d.hpc, (int)tcache_next_index(), 64);
    f = tcache_publish(&d);
    *(u32 *)(f->hpc + 4) = 40 - 8;
    *(u32 *)(f->hpc + 12) = 50 - 16;
    return f;
}

static void translate_many(u64 from, u32 n)
{
    for (u32 i = 0; i < n; i++)
        translate(from + i * BYTES);
}

// The target of exit k of f.
static u64 leads(const struct fragment *f, u32 k)
{
    u64 at = f->hpc + f->exit[k].rel32;

    return at + 4 + (u64)(s64)(*(s32 *)at);
}

// Pages that this process has mapped.
static u64 mapped(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    char line[100] = "";

    if (!f || !fgets(line, sizeof(line), f))
        exit(1);
    fclose(f);
    return strtoul(line, NULL, 10);
}

static void save_so_many(u32 n)
{
    u64 before = mapped();

    header.n_pcache_saved = 0;
    pcache_save();
    IS(header.n_pcache_saved, n);
    IS(mapped(), before); // it unmaps the memory that it used
}

// 40 fragments of A and 30 of B; the first leads to the second, and that to the first of B's.
static void first_run(void)
{
    IS(pcache_revive(A), false);
    translate_many(A, 40);
    translate_many(B, 30);
    links_make(tcache_by_index(0), 0, tcache_by_index(1));
    links_make(tcache_by_index(1), 1, tcache_by_index(40));
    lineids_of(77);
    lineids_of(55);
    save_so_many(70);
}

static void nothing_is_there(void)
{
    IS(tcache_next_index(), 0);
    IS(header.blocks_used, 0);
    IS(header.counters_used, 5);
    IS(lineids_count(), 0);
    IS(pcache_revive(A), false);
    IS(pcache_revive(B), false);
    for (u32 i = 0; i < ARRAY_SIZE(blocks); i++)
        IS(blocks[i], 0); // blocks were read before the file turned out to be unsound
}

// ---- Saved and loaded ----

static void is_there(void)
{
    const struct fragment *f;

    // Unchanged, but nothing is alive.
    IS(tcache_next_index(), 70);
    IS((u64)region_space(NULL), region_fragments() + 70 * 64);
    IS(header.blocks_used, 70 * 32);
    IS(header.counters_used, 5 + 70 * 3);
    IS(header.block_count, 0);
    IS(lineids_count(), 2);
    IS(lineids_of(55), 2);
    IS(lineids_of(77), 1);
    for (u32 i = 0; i < 70; i++) {
        f = tcache_by_index(i);
        IS(f->flags, FRAGMENT_DEAD);
        IS(*(u8 *)(f->hpc + 63), i);
        IS(tcache_lookup(f->pc) == NULL, true);
        IS(spooler_block_at(f->block)->flags, SPOOL_B_DORMANT);
        IS(spooler_block_at(f->block)->map, 0);
        IS(spooler_block_at(f->block)->counter, 5 + i * 3);
    }
    // Not outside the groups.
    IS(pcache_revive(A - 1), false);
    IS(pcache_revive(A + 2 * PAGE_SIZE), false);
    IS(pcache_revive(B + PAGE_SIZE), false);
    IS(header.n_pcache_revived, 0);
    // By any address of the mapping.
    IS(pcache_revive(A + 2 * PAGE_SIZE - 1), true);
    IS(header.n_pcache_revived, 40);
    IS(header.block_count, 40);
    IS(records_taken, 40);
    IS(records_expected, 70);
    for (u32 i = 0; i < 70; i++) {
        f = tcache_by_index(i);
        IS(f->flags, i < 40 ? 0 : FRAGMENT_DEAD);
        IS(tcache_lookup(f->pc) == f, i < 40);
        IS(spooler_block_at(f->block)->flags, i < 40 ? 0 : SPOOL_B_DORMANT);
        IS(spooler_block_at(f->block)->map, i < 40 ? MAPS : 0);
    }
    f = tcache_by_index(0);
    IS(leads(f, 0), tcache_by_index(1)->hpc);
    IS(f->exit[0].to, 2);
    IS(leads(f, 1), f->hpc + 50);
    f = tcache_by_index(1); // an exit to another mapping leads to its stub
    IS(leads(f, 1), f->hpc + 50);
    IS(f->exit[1].to, 0);
    IS(pcache_revive(A), false); // it is alive
    IS(pcache_revive(B), true);
    IS(header.n_pcache_revived, 70);
    IS(header.block_count, 70);
    IS(spooler_block_at(tcache_by_index(69)->block)->map, MAPS + 1);
    tcache_kill(tcache_by_index(1));
    IS(leads(tcache_by_index(0), 0), tcache_by_index(0)->hpc + 40);
    save_so_many(0);
}

static void test_there(void **state)
{
    (void)state;
    run(nothing_is_there);
    assert_int_equal(files(), 0);
    run(first_run);
    assert_int_equal(files(), 1);
    run(is_there);
    run(is_there); // nothing has changed
}

// A run that saves other fragments keeps the groups that it did not revive.
static void more_of_a(void)
{
    IS(pcache_revive(A), true);
    translate_many(A + 0x800, 64 + 40 / 16 + 2); // one too few
    save_so_many(0);
    translate_many(A + 0xc00, 3);
    save_so_many(70 + 68 + 3);
}

static void more_is_there(void)
{
    IS(tcache_next_index(), 141);
    IS(pcache_revive(B), true);
    IS(header.n_pcache_revived, 30);
    IS(pcache_revive(A), true);
    IS(header.n_pcache_revived, 141);
    IS(tcache_lookup(A + 0xc00)->index, 138);
    IS(tcache_lookup(B)->index, 40);
}

static void test_asleep(void **state)
{
    (void)state;
    run(first_run);
    run(more_of_a);
    assert_int_equal(files(), 1);
    run(more_is_there);
}

// ---- Not revived ----

static void try_again(void)
{
    IS(header.n_pcache_revived, 0);
    IS(pcache_revive(A), true);
    IS(header.n_pcache_revived, 40);
}

#define NOT_WHILE(field, value)                                  \
    do {                                                         \
        const __typeof__(client[0].field) was = client[0].field; \
                                                                 \
        client[0].field = (value);                               \
        IS(pcache_revive(A + PAGE_SIZE), false);                 \
        client[0].field = was;                                   \
    } while (0)

static void another_mapping(void)
{
    NOT_WHILE(start, A + PAGE_SIZE);
    NOT_WHILE(end, A + 2 * PAGE_SIZE - 1);
    NOT_WHILE(end, A + 3 * PAGE_SIZE);
    NOT_WHILE(end, A); // none
    NOT_WHILE(prot, PROT_READ | PROT_WRITE | PROT_EXEC);
    NOT_WHILE(prot, PROT_READ);
    NOT_WHILE(flags, VMMAP_SHARED);
    NOT_WHILE(map_flags, SPOOL_MAP_VDSO);
    NOT_WHILE(map_flags, SPOOL_MAP_DELETED);
    writable_at = A + PAGE_SIZE;
    IS(pcache_revive(A), false);
    writable_at = A;
    IS(pcache_revive(A + PAGE_SIZE), false);
    writable_at = 0;
    tb_config.counts = false;
    IS(pcache_revive(A), false);
    tb_config.counts = true;
    client[0].flags = VMMAP_WRITTEN; // as relocations are
    try_again();
}

static void other_code(void)
{
    u8 *last = &client[0].memory[40 * BYTES - 1];

    *last ^= 1;
    IS(pcache_revive(A), false);
    *last ^= 1;
    IS(pcache_revive(A), false); // it was checked
    IS(header.n_pcache_revived, 0);
    IS(pcache_revive(B), true);
    translate_many(A, 100);
    save_so_many(0); // but the file goes
}

static void other_bytes(void)
{
    for (u32 i = 40 * BYTES; i < 2 * PAGE_SIZE; i++)
        client[0].memory[i] ^= 0x55;
    try_again();
}

static void test_another_mapping(void **state)
{
    (void)state;
    run(first_run);
    run(another_mapping);
    run(another_mapping);
    run(other_bytes); // of bytes that no fragment was made from
    assert_int_equal(files(), 1);
    run(other_code);
    assert_int_equal(files(), 0);
    run(nothing_is_there);
}

static void flushed(void)
{
    tcache_flush_all();
    IS(pcache_revive(A), false);
    translate_many(A, 200);
    save_so_many(0);
}

static void test_flush(void **state)
{
    (void)state;
    run(first_run);
    run(flushed);
    assert_int_equal(files(), 1);
    run(is_there);
}

// ---- Not saved ----

static void too_few(void)
{
    translate_many(A, 64);
    save_so_many(0);
    tb_config.counts = false;
    translate(A + 0x1000);
    save_so_many(0);
    tb_config.counts = true;
    told = true;
    save_so_many(0);
    told = false;
    header.flags |= SPOOL_F_FORKED;
    save_so_many(0);
    header.flags &= ~(u64)SPOOL_F_FORKED;
    tcache_lock(); // by a thread that was killed
    save_so_many(0);
    tcache_unlock();
    save_so_many(65);
}

// pcache_never(): nothing is written.
static void never_saved(void)
{
    translate_many(A, 40);
    translate_many(B, 30);
    pcache_never();
    save_so_many(0);
}

static void test_never(void **state)
{
    (void)state;
    run(never_saved);
    IS(files(), 0);
    run(nothing_is_there);
}

static void test_too_few(void **state)
{
    (void)state;
    run(too_few);
    assert_int_equal(files(), 1);
}

// 66 that are dead and as many that live.
static void dead(void)
{
    translate_many(A, 66);
    tcache_invalidate(A, A + 66 * BYTES);
    translate_many(A + 0x800, 65);
    save_so_many(0);
    translate(A + 0xc00);
    save_so_many(66);
}

// More dead ones than live ones, and half of the loaded ones: the file is removed.
static void more_dead(void)
{
    IS(pcache_revive(A), true);
    IS(header.n_pcache_revived, 66);
    translate_many(B, 69); // enough for a file
    tcache_invalidate(A, A + 2 * PAGE_SIZE);
    save_so_many(0);
}

static void test_dead(void **state)
{
    (void)state;
    run(dead);
    assert_int_equal(files(), 1);
    run(more_dead);
    assert_int_equal(files(), 0);
}

// Which of many fragments are stored: two of A are left out.
static void some(void)
{
    static const u32 flags[] = { FRAGMENT_STEP,  FRAGMENT_WRITABLE, FRAGMENT_UNCOUNTED,
                                 FRAGMENT_ALONE, FRAGMENT_REQUEST,  FRAGMENT_PAST };

    translate_many(A, 70);
    for (u32 i = 0; i < ARRAY_SIZE(flags); i++)
        tcache_by_index(10 + i)->flags = (u8)flags[i]; // the first three are not
    client[0].memory[20 * BYTES] ^= 1;                 // nor the 20th, of other code
    links_make(tcache_by_index(19), 0, tcache_by_index(20));
    links_make(tcache_by_index(20), 0, tcache_by_index(21));
    links_make(tcache_by_index(21), 0, tcache_by_index(22));
    client[1].map_flags = SPOOL_MAP_ANON;
    translate_many(B, 3);
    tcache_kill(tcache_by_index(30));
    save_so_many(70 - 3 - 1 - 1);
}

static void some_are_there(void)
{
    client[0].memory[20 * BYTES] ^= 1;
    IS(tcache_next_index(), 73);
    IS(pcache_revive(A), true);
    IS(pcache_revive(B), false);
    IS(header.n_pcache_revived, 65);
    for (u32 i = 0; i < 73; i++) {
        const struct fragment *f = tcache_by_index(i);
        bool there = i != 20 && i != 30 && i < 70 && (i < 10 || i > 12);

        IS(tcache_lookup(f->pc) == f, there);
    }
    IS(tcache_by_index(13)->flags, FRAGMENT_ALONE);
    IS(tcache_by_index(14)->flags, FRAGMENT_REQUEST);
    IS(tcache_by_index(15)->flags, 0);
    IS(leads(tcache_by_index(19), 0), tcache_by_index(19)->hpc + 40);
    IS(leads(tcache_by_index(20), 0), tcache_by_index(20)->hpc + 40);
    IS(leads(tcache_by_index(21), 0), tcache_by_index(22)->hpc);
}

static void test_some(void **state)
{
    (void)state;
    run(some);
    run(some_are_there);
}

// A superblock depends on all of its blocks: one is in A only, one in A and B, one has a second
// block that has changed.
static struct fragment *superblock(u64 pc, u64 second)
{
    struct fragment *f;

    d.nmore = 1;
    d.more[0] = (struct fragment_block){ .pc = second, .end = second + BYTES, .insn = 1 };
    d.more[0].block = spool_block(second, &d.more[0].counter);
    f = translate(pc);
    d.nmore = 0;
    return f;
}

static void superblocks(void)
{
    translate_many(A, 70);
    superblock(A, A + 0x800);
    superblock(A + BYTES, B);
    superblock(A + 2 * BYTES, A + 0x900);
    client[0].memory[0x900] ^= 1;
    save_so_many(71);
}

static void superblocks_are_there(void)
{
    client[0].memory[0x900] ^= 1;
    client[0].memory[0x807] ^= 1; // in the one that is stored
    IS(pcache_revive(A), false);
}

static void superblocks_live(void)
{
    const struct fragment *f;

    client[0].memory[0x900] ^= 1;
    IS(pcache_revive(A), true);
    IS(header.n_pcache_revived, 71);
    IS(header.block_count, 72); // one of them is in a superblock only
    f = tcache_lookup(A);
    IS(f->index, 70);
    IS(f->nmore, 1);
    IS(f->more[0].pc, A + 0x800);
    IS(tcache_lookup(A + BYTES)->index, 1);
    IS(tcache_lookup(A + 2 * BYTES)->index, 2);
    tcache_invalidate(A + 0x800, A + 0x801);
    IS(tcache_lookup(A)->index, 0);
}

static void test_superblocks(void **state)
{
    (void)state;
    run(superblocks);
    run(superblocks_are_there);
    run(superblocks_live);
}

// ---- The key ----

static void of_no_account(void)
{
    header.flags |= SPOOL_F_QUIET | SPOOL_F_VERBOSE | SPOOL_F_TRACE_CHILDREN | SPOOL_F_EXECED |
                    SPOOL_F_STAT | SPOOL_F_JSON | SPOOL_F_MERGE | SPOOL_F_COMBINE |
                    SPOOL_F_NO_BGFINISH | SPOOL_F_NO_PRETRANSLATE | SPOOL_F_RANDOM |
                    SPOOL_F_NO_DEMANGLE | SPOOL_F_NO_LINES | SPOOL_F_INSTR | SPOOL_F_NO_IDS |
                    SPOOL_F_NO_RELATIVE | SPOOL_F_BY_THREAD | SPOOL_F_INLINE | SPOOL_F_NO_HINTS |
                    SPOOL_F_LATE_COPY;
    tb_config.flags = header.flags & ~(u64)SPOOL_F_CACHE_SIM;
    tb_config.bgfinish = true;
    header.n_flush = 5;
    header.log_fd = 7;
    header.s_cmd = 100;
}

static u32 which;

#define OTHERS 19

static void another_key(void)
{
    switch (which) {
    case 0: program++; break;
    case 1: header.flags |= SPOOL_F_BRANCH_SIM; break;
    case 2: header.flags |= SPOOL_F_BUS; break;
    case 3: header.cache_kib = 8192; break;
    case 4: header.counters_used++; break;
    case 5: by_vectors = true; break;
    case 6: header.i1.size = 65536; break;
    case 7: header.d1.assoc = 1; break;
    case 8: header.ll.line = 128; break;
    case 9: header.cpu.leaves = 1; break;
    case 10: header.cpu.leaf[63].d = 1; break;
    case 11: cpu.bmi2 = true; break;
    case 12: cpu.address_bits = 57; break;
    case 13: tb_config.branch = true; break;
    case 14: tb_config.i1_shift = 6; break;
    case 15: tb_config.xstate_mask = 7; break;
    case 16: tb_config.flags |= SPOOL_F_REP_CACHEGRIND; break;
    case 17: tb_config.superblocks = true; break;
    case 18: tb_config.sink = 1; break;
    }
}

// Another size of the spool's blocks gives another key, too.
static void with_a_block(void)
{
    u32 counter;

    spool_block(A, &counter);
    header.counters_used = 5;
}

static void only_a_block_is_there(void)
{
    IS(tcache_next_index(), 0);
    IS(header.blocks_used, 32);
}

static void none_is_taken(void)
{
    IS(tcache_next_index(), 0);
    IS(header.n_pcache_revived, 0);
    IS(pcache_revive(A), false);
}

static void test_key(void **state)
{
    (void)state;
    run(first_run);
    unlike = of_no_account;
    run(is_there);
    unlike = another_key;
    for (which = 0; which < OTHERS; which++)
        run(none_is_taken);
    unlike = with_a_block;
    run(only_a_block_is_there);
    assert_int_equal(files(), 1);
    // Each has its own file.
    unlike = another_key;
    for (which = 0; which < 3; which++)
        run(first_run);
    assert_int_equal(files(), 4);
    for (which = 0; which < 3; which++)
        run(is_there);
}

// ---- Conditions for a persistent cache ----

#define REASONS 16

static void forbid(void)
{
    const struct k_rlimit as = { 1ul << 46, RLIM_INFINITY };

    switch (which) {
    case 0: header.s_translations = 0; break;
    case 1: tb_config.counts = false; break;
    case 2: tb_config.contexts = true; break;
    case 3: tb_config.each_block = true; break;
    case 4: tb_config.hotblocks_all = true; break;
    case 5: tb_config.cache = true; break; // without recording
    case 6: header.s_trace = 1; break;
    case 7: header.s_dump_code = 1; break;
    case 8: header.stress_flush = 1; break;
    case 9: header.flags |= SPOOL_F_NOT_AT_START; break;
    case 10: header.flags |= SPOOL_F_NATIVE; break;
    case 11: header.flags |= SPOOL_F_SMALL_BUFFERS; break;
    case 12: IS(sys_prlimit(RLIMIT_AS, &as, NULL), 0); break;
    case 13: at_random = true; break;
    case 14: tb_config.data = true; break;
    case 15: header.edges_used = 1; break;
    }
}

static void nothing_persists(void)
{
    none_is_taken();
    tb_config.counts = true;
    translate_many(A, 100);
    save_so_many(0);
}

static void test_conditions(void **state)
{
    (void)state;
    unlike = forbid;
    for (which = 0; which < REASONS; which++)
        run(nothing_persists);
    assert_int_equal(files(), 0);
    unlike = NULL;
    run(first_run);
    unlike = forbid;
    for (which = 0; which < REASONS; which++)
        run(nothing_persists);
    assert_int_equal(files(), 1);
    unlike = NULL;
    run(is_there);
}

// ---- With recording ----

static void records(void)
{
    tb_config.cache = tb_config.recording = true;
}

static struct record_draft record;

static void first_records(void)
{
    for (u32 i = 0; i < 70; i++) {
        d.log = arena_next_id();
        record.block.pc = A + i * BYTES;
        arena_publish(&record);
        translate(A + i * BYTES);
    }
    d.log = 0;
    *(u8 *)arena_take(&arena_second, 1) = 42;
    save_so_many(70);
}

static void records_are_there(void)
{
    IS(pcache_revive(A), true);
    for (u32 i = 0; i < 70; i++) {
        const struct fragment *f = tcache_by_index(i);

        IS(arena_has(f->log), true);
        IS(arena_block(f->log)->pc, f->pc);
    }
    IS(arena_next_id() > tcache_by_index(69)->log, true);
    IS(arena_second.high, REPLAY_SIZE - 8);
    IS(*(u8 *)(REPLAY_BASE + arena_second.high), 42);
}

static void test_records(void **state)
{
    (void)state;
    unlike = records;
    run(first_records);
    run(records_are_there);
    unlike = NULL;
    run(none_is_taken);
}

// ---- With calls ----

static void with_calls(void)
{
    tb_config.calls = true;
    tb_config.calls_events = 2;
    exit_to = A + 0x100;
}

static struct spool_edge *edge_of(enum spool_edge_kind kind, u64 site, u64 target)
{
    return edges_get(kind, site, 5, target);
}

enum { CALL, THROUGH, ENTRY, OUT, ROOT, TABLE, OF_B, EDGES };

// 40 fragments of A and 30 of B, and an edge of each sort; three counters each, five through the
// linkage table, none for its entry, and one for the jump through a table.
static void first_calls(void)
{
    static const u32 counters[EDGES] = { 3, 5, 0, 3, 3, 1, 3 };
    u32 before = (u32)header.counters_used;

    translate_many(A, 40);
    exit_to = B;
    translate_many(B, 30);
    edge_of(SPOOL_EDGE_CALL, A + 4, A + 0x100);
    edge_of(SPOOL_EDGE_CALL, A + 12, PLT);
    edges_plt_known(edge_of(SPOOL_EDGE_PLT, PLT, 0), B, B);
    edge_of(SPOOL_EDGE_INDIRECT, A + 20, B);
    edge_of(SPOOL_EDGE_ROOT, 0, A);
    edge_of(SPOOL_EDGE_TABLE, A + 28, A + 40);
    edge_of(SPOOL_EDGE_JUMP, B + 4, B + 0x100);
    IS(header.edges_used, EDGES);
    before += 70 * 3;
    for (u32 i = 0; i < EDGES; i++) {
        IS(edge[i].counter, before);
        before += counters[i];
    }
    IS(header.counters_used, before);
    save_so_many(70);
}

static void edges_are_asleep(u32 from, u32 end)
{
    for (u32 i = from; i < end; i++) {
        IS(edge[i].kind, SPOOL_EDGE_DORMANT);
        IS(edge[i].site_map, 0);
        IS(edge[i].target_map, 0);
    }
}

static void is_awake(u32 i, enum spool_edge_kind kind, u32 map)
{
    IS(edge[i].kind, kind);
    IS(edge[i].site_map, map);
    IS(edge[i].target_map, kind == SPOOL_EDGE_PLT ? 0 : map);
}

// What calls code of A may refer to is awake together with it; the rest only keeps its place.
static void calls_are_there(void)
{
    u32 counters = (u32)header.counters_used;

    IS(header.edges_used, EDGES);
    IS(counters, 5 + 70 * 3 + 18);
    IS(tcache_next_index(), 70);
    edges_are_asleep(0, EDGES);
    IS(forgotten, 0);
    IS(pcache_revive(A), true);
    IS(header.n_pcache_revived, 40);
    IS(forgotten, 1);
    is_awake(CALL, SPOOL_EDGE_CALL, MAPS);
    is_awake(THROUGH, SPOOL_EDGE_CALL, MAPS);
    is_awake(ENTRY, SPOOL_EDGE_PLT, MAPS);
    IS(edge[ENTRY].target, 0); // not called yet in this run
    IS(edge[ENTRY].function, 0);
    edges_are_asleep(OUT, EDGES);
    IS(edge_of(SPOOL_EDGE_CALL, A + 4, A + 0x100) == &edge[CALL], true);
    IS(edge_of(SPOOL_EDGE_CALL, A + 12, PLT) == &edge[THROUGH], true);
    IS(edge_of(SPOOL_EDGE_PLT, PLT, 0) == &edge[ENTRY], true);
    IS(edges_at(edge[THROUGH].counter + 4) == &edge[THROUGH], true);
    IS(header.edges_used, EDGES);
    // Others are made anew.
    IS(edge_of(SPOOL_EDGE_INDIRECT, A + 20, B) == &edge[EDGES], true);
    IS(edge[EDGES].counter, counters);
    IS(edge_of(SPOOL_EDGE_TABLE, A + 28, A + 40) == &edge[EDGES + 1], true);
    IS(pcache_revive(B), true);
    is_awake(OF_B, SPOOL_EDGE_JUMP, MAPS + 1);
    IS(forgotten, 2);
    edges_are_asleep(OUT, OF_B);
    save_so_many(0);
}

static void test_calls(void **state)
{
    (void)state;
    unlike = with_calls;
    run(first_calls);
    assert_int_equal(files(), 1);
    run(calls_are_there);
    run(calls_are_there);
    unlike = NULL;
    run(none_is_taken); // of another key
}

// The group that is asleep keeps its edges.
static void more_calls(void)
{
    IS(pcache_revive(A), true);
    translate_many(A + 0x800, 80);
    edge_of(SPOOL_EDGE_CALL, A + 0x800, A + 0x100);
    IS(header.edges_used, EDGES + 1);
    save_so_many(150);
}

static void more_calls_are_there(void)
{
    IS(header.edges_used, EDGES + 1);
    IS(pcache_revive(B), true);
    is_awake(OF_B, SPOOL_EDGE_JUMP, MAPS + 1);
    edges_are_asleep(0, OF_B);
    edges_are_asleep(EDGES, EDGES + 1);
    IS(pcache_revive(A), true);
    is_awake(CALL, SPOOL_EDGE_CALL, MAPS);
    is_awake(EDGES, SPOOL_EDGE_CALL, MAPS);
    IS(header.n_pcache_revived, 150);
}

static void test_calls_asleep(void **state)
{
    (void)state;
    unlike = with_calls;
    run(first_calls);
    run(more_calls);
    run(more_calls_are_there);
}

// Code of A was translated while it could not be revived: it is not afterwards. An edge without a
// site is of no code.
static void translated_meanwhile(void)
{
    client[0].prot |= PROT_WRITE;
    IS(pcache_revive(A), false);
    edge_of(SPOOL_EDGE_ROOT, 0, B);
    edge_of(SPOOL_EDGE_INDIRECT, A + 20, B);
    client[0].prot &= ~(u32)PROT_WRITE;
    IS(pcache_revive(A), false);
    edges_are_asleep(0, EDGES);
    IS(pcache_revive(B), true);
    is_awake(OF_B, SPOOL_EDGE_JUMP, MAPS + 1);
    IS(pcache_revive(A), false);
    IS(header.n_pcache_revived, 30);
}

static void test_meanwhile(void **state)
{
    (void)state;
    unlike = with_calls;
    run(first_calls);
    run(translated_meanwhile);
    assert_int_equal(files(), 1);
}

// Of equal edges, since another module was mapped there in between, only the last one is of code.
static void mapped_again(void)
{
    edge_of(SPOOL_EDGE_CALL, A + 4, A + 0x100);
    edge[0].site_map++; // then it was the other one's
    edge_of(SPOOL_EDGE_CALL, A + 4, A + 0x100);
    edge[0].site_map--;
    IS(header.edges_used, 2);
    IS(edge[0].site_map, edge[1].site_map);
    translate_many(A, 70);
    save_so_many(70);
}

static void last_one_is_there(void)
{
    IS(pcache_revive(A), true);
    edges_are_asleep(0, 1);
    is_awake(1, SPOOL_EDGE_CALL, MAPS);
}

static void test_mapped_again(void **state)
{
    (void)state;
    unlike = with_calls;
    run(mapped_again);
    run(last_one_is_there);
}

// Functions start elsewhere: a file with symbols has been installed.
static void other_functions(void)
{
    start[0][2] += 16;
    IS(pcache_revive(A), false);
    edges_are_asleep(0, EDGES);
    start[0][2] -= 16;
    IS(pcache_revive(A), false); // it was checked
    IS(pcache_revive(B), true);
    save_so_many(0);
}

static void more_functions(void)
{
    starts = 2;
    IS(pcache_revive(A), false);
    IS(pcache_revive(B), false);
    save_so_many(0);
}

static void test_functions(void **state)
{
    void (*const others[])(void) = { other_functions, more_functions };

    (void)state;
    unlike = with_calls;
    for (u32 i = 0; i < ARRAY_SIZE(others); i++) {
        run(first_calls);
        run(others[i]);
        assert_int_equal(files(), 0);
    }
}

// Code that depends on the functions of another mapping, and superblocks that continue after a
// linkage table, are not stored: three, and two of four superblocks.
static void depending(void)
{
    translate_many(A, 70);
    exit_to = A - 1;
    translate(A + 0x400);
    exit_to = A + 2 * PAGE_SIZE;
    translate(A + 0x408);
    exit_to = 0;
    translate(A + 0x410);
    exit_to = A;
    translate(A + 0x418);
    superblock(A, A + 0x500);
    superblock(A + 8, A + 0x508);
    spooler_block_at(tcache_by_index(75)->block)->flags = SPOOL_B_PLT; // the first block
    superblock(A + 16, A + 0x510);
    spooler_block_at(tcache_by_index(76)->more[0].block)->flags = SPOOL_B_PLT; // the last one
    save_so_many(70 + 1 + 2);
}

static void depending_are_there(void)
{
    static const u32 gone[] = { 70, 71, 72, 75 };

    IS(pcache_revive(A), true);
    IS(tcache_next_index(), 77);
    IS(header.n_pcache_revived, 73);
    for (u32 i = 0; i < ARRAY_SIZE(gone); i++)
        IS(tcache_by_index(gone[i])->flags, FRAGMENT_DEAD);
    IS(tcache_lookup(A)->index, 74);
    IS(tcache_lookup(A + 8)->index, 1);
    IS(tcache_lookup(A + 16)->index, 76);
}

static void test_depending(void **state)
{
    (void)state;
    unlike = with_calls;
    run(depending);
    run(depending_are_there);
}

// ---- Files with right checksums and wrong content ----

static struct pcachefile_head h;
static void *from[PCACHEFILE_SECTIONS];

static void read_file(void)
{
    char command[64], name[20];
    u64 key[2];
    FILE *f;
    int fd;

    snprintf(command, sizeof(command), "ls %s", folder);
    f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(name, sizeof(name), f));
    pclose(f);
    // The other half of the key is in the head.
    snprintf(command, sizeof(command), "%s/%.16s.code", folder, name);
    fd = (int)sys_open(command, O_RDONLY, 0);
    assert_int_equal(sys_pread(fd, &h, sizeof(h), 0), sizeof(h));
    sys_close(fd);
    memcpy(key, h.key, sizeof(key));
    fd = pcachefile_open(folder, key, &h);
    assert_true(fd >= 0);
    for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++) {
        from[s] = calloc(1, h.bytes[s] + 64);
        assert_true(pcachefile_read(fd, &h, s, from[s]));
    }
    sys_close(fd);
}

#define DAMAGES 22

static void damage(u32 n)
{
    struct fragment *f = from[PCACHEFILE_FRAGMENTS];

    switch (n) {
    case 0: ((u16 *)from[PCACHEFILE_MEMBERS])[69] = 3; break;
    case 1: f->npages = 9; break;
    case 2: f->block = (u32)(h.bytes[PCACHEFILE_BLOCKS] / 8) - 2; break;
    case 3: f->counter = (u32)h.counters; break;
    case 4: f->own = (u32)h.counters; break;
    case 5: h.fragments = 69; break;
    case 6: h.fragments = 71; break;
    case 7: h.bytes[PCACHEFILE_CODE] -= 1; break;
    case 8: h.bytes[PCACHEFILE_FRAGMENTS] -= 8; break;
    case 9: h.bytes[PCACHEFILE_FRAGMENTS] += 8; break;
    case 10: h.bytes[PCACHEFILE_MEMBERS] += 2; break;
    case 11: h.counters = 4; break;
    case 12: h.counters = SPOOL_COUNTERS_MAX; break;
    case 13: h.bytes[PCACHEFILE_BLOCKS] = 0; break;
    case 14: h.bytes[PCACHEFILE_ARENA] = 8; break; // without recording
    case 15: f->size = 0x8000; break;
    case 16: f->index = 1; break;
    case 17: h.bytes[PCACHEFILE_GROUPS] = sizeof(u64); break; // members have none
    case 18: f->flags |= FRAGMENT_STEP; break;                // the first fragment is a member
    case 19: f->flags |= FRAGMENT_WRITABLE; break;
    case 20: f->flags |= FRAGMENT_UNCOUNTED; break;
    case 21: h.grouped = 71; break;
    }
}

static void test_unsound(void **state)
{
    for (u32 n = 0; n < DAMAGES; n++) {
        setup(state);
        run(first_run);
        read_file();
        damage(n);
        assert_int_equal(pcachefile_write(folder, &h, (const void *const *)from, NULL), 0);
        run(nothing_is_there);
        if (files())
            fail_msg("the file is there still: %u", n);
        run(first_run); // as if there were no file
        run(is_there);
        for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++)
            free(from[s]);
    }
}

static void no_edges_are_there(void)
{
    nothing_is_there();
    IS(header.edges_used, 0);
    edge_of(SPOOL_EDGE_CALL, A + 4, A + 0x100);
    is_awake(0, SPOOL_EDGE_CALL, MAPS);
}

#define EDGE_DAMAGES 12

static void damage_edges(u32 n)
{
    struct spool_edge *e = from[PCACHEFILE_EDGES];
    u16 *member = from[PCACHEFILE_EDGE_MEMBERS];

    switch (n) {
    case 0: e[CALL].kind = SPOOL_EDGE_CALL; break; // awake
    case 1: e[CALL].awake = SPOOL_EDGE_ROOT; break;
    case 2: e[CALL].awake = SPOOL_EDGE_TABLE; break;
    case 3: e[CALL].from = 1; break;
    case 4: e[CALL].to = 1; break;
    case 5: e[THROUGH].counter = e[OUT].counter + 1; break; // not in order
    case 6: e[OF_B].counter++; break;                       // its last counter is beyond the end
    case 7: e[OF_B].plt = 1; break;                         // with more counters than there are
    case 8: member[OF_B] = 3; break;
    case 9: member[ROOT] = 1; break;
    case 10: h.bytes[PCACHEFILE_EDGES] -= sizeof(*e); break;
    case 11: h.bytes[PCACHEFILE_EDGE_MEMBERS] += 2; break;
    }
}

static void test_unsound_edges(void **state)
{
    for (u32 n = 0; n <= EDGE_DAMAGES; n++) {
        setup(state);
        unlike = with_calls;
        run(first_calls);
        read_file();
        damage_edges(n); // the last time none
        assert_int_equal(pcachefile_write(folder, &h, (const void *const *)from, NULL), 0);
        run(n == EDGE_DAMAGES ? calls_are_there : no_edges_are_there);
        assert_int_equal(files(), n == EDGE_DAMAGES);
        for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++)
            free(from[s]);
    }
}

// An unchanged file is loaded: the harness above damages nothing by itself.
static void test_written_again(void **state)
{
    (void)state;
    run(first_run);
    read_file();
    assert_int_equal(pcachefile_write(folder, &h, (const void *const *)from, NULL), 0);
    run(is_there);
}

static void test_unsound_area(void **state)
{
    for (u32 n = 0; n < 4; n++) {
        setup(state);
        unlike = records;
        run(first_records);
        read_file();
        switch (n) {
        case 0: h.first.low += 8; break; // not the section's size
        case 1: h.first.high -= 8; break;
        case 2: h.second.low--; break;
        case 3: h.second.high += 8; break;
        }
        assert_int_equal(pcachefile_write(folder, &h, (const void *const *)from, NULL), 0);
        run(none_is_taken);
        assert_int_equal(files(), 0);
    }
}

static int begin(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int finish(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_there, setup),
        cmocka_unit_test_setup(test_asleep, setup),
        cmocka_unit_test_setup(test_another_mapping, setup),
        cmocka_unit_test_setup(test_flush, setup),
        cmocka_unit_test_setup(test_never, setup),
        cmocka_unit_test_setup(test_too_few, setup),
        cmocka_unit_test_setup(test_dead, setup),
        cmocka_unit_test_setup(test_some, setup),
        cmocka_unit_test_setup(test_superblocks, setup),
        cmocka_unit_test_setup(test_key, setup),
        cmocka_unit_test_setup(test_conditions, setup),
        cmocka_unit_test_setup(test_records, setup),
        cmocka_unit_test_setup(test_unsound, setup),
        cmocka_unit_test_setup(test_written_again, setup),
        cmocka_unit_test_setup(test_unsound_area, setup),
        cmocka_unit_test_setup(test_calls, setup),
        cmocka_unit_test_setup(test_calls_asleep, setup),
        cmocka_unit_test_setup(test_meanwhile, setup),
        cmocka_unit_test_setup(test_mapped_again, setup),
        cmocka_unit_test_setup(test_functions, setup),
        cmocka_unit_test_setup(test_depending, setup),
        cmocka_unit_test_setup(test_unsound_edges, setup),
    };

    return cmocka_run_group_tests_name("translate/pcache", tests, begin, finish);
}
