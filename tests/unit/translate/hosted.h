// SPDX-License-Identifier: MIT
//
// Fakes of what the translator uses, and its code read with Zydis: for the tests of
// engine/translate that translate a block given as bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/contexts.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/region.h"
#include "engine/codecache/stubs.h"
#include "engine/codecache/tcache.h"
#include "engine/codecache/vmmap.h"
#include "engine/count/lineids.h"
#include "engine/objects/alloc.h"
#include "engine/objects/walks.h"
#include "engine/replay/recordbuf.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"
#include "engine/translate/blockrecord.h"
#include "engine/translate/cpucheck.h"
#include "engine/translate/pcache.h"
#include "engine/translate/timing.h"
#include "engine/translate/translate.h"
#include "engine/x86/decode.h"
#include "tests/unit/count/reftrace_none.h"

#define PC 0x401000ul

// -- fakes of what the translator uses --

static struct spool_header header;
struct spool_header *spool = &header;
static u8 client[256]; // the client's code at PC, or at client_at
static u64 client_at = PC;
static u32 client_size, client_prot;
static u64 writable_from; // the client's code is writable from there on, 0: nowhere
static struct draft published;
static struct record_draft recorded;
static struct fragment fragment;
static u64 blocks[65536];
static struct spool_insn described[128]; // of the last record appended
static u32 spool_map;                    // of all code
const char reentry_resume[1];

static u64 point_at; // an allocator's

u32 alloc_point(u64 pc)
{
    return pc == point_at ? 0x80000000u : 0;
}

bool insnids_on(void)
{
    return tb_config.data;
}

void insnids_note(u64 number, u32 counter)
{
    (void)number, (void)counter;
    fail(); // without --data=yes
}

// Memory is freed with the size of its allocation, which is stored before it.
void *heap_alloc(u64 bytes)
{
    u64 *p = calloc(1, bytes + 16);

    assert_non_null(p);
    *p = bytes;
    return p + 2;
}

void heap_free(void *p, u64 bytes)
{
    if (!p)
        return;
    assert_int_equal(((u64 *)p)[-2], bytes);
    free((u64 *)p - 2);
}

bool vmmap_find_code(u64 addr, struct vmmap_info *out)
{
    *out = (struct vmmap_info){ client_at, client_at + client_size, client_prot, 0 };
    if (writable_from && addr < writable_from) {
        out->end = writable_from;
    } else if (writable_from) {
        out->start = writable_from;
        out->prot |= 2;
    }
    return addr >= out->start && addr < out->end;
}

u32 fds_window[3]; // the gate's

u32 vmmap_spool_map(u64 addr)
{
    (void)addr;
    return spool_map;
}

u64 clientmem_read_some(void *dst, u64 addr, u64 n)
{
    memcpy(dst, client + (addr - client_at), n);
    return n;
}

static s64 room_takes_ns; // so long the translation is held up

bool tcache_has_room(void)
{
    if (room_takes_ns)
        sys_call2(SYS_nanosleep, (u64) & (struct k_timespec){ 0, room_takes_ns }, 0);
    return true;
}

u32 tcache_next_index(void)
{
    return 7;
}

struct fragment *tcache_publish(const struct draft *d)
{
    published = *d;
    region_take(d->size);
    return &fragment;
}

static u64 revived_at; // a fragment of an earlier run is revived when this address is asked for

bool pcache_revive(u64 pc)
{
    return pc == revived_at;
}

struct fragment *tcache_lookup(u64 pc)
{
    assert_int_equal(pc, revived_at);
    return &fragment;
}

// With a call graph, 256 bytes from the client's code on are one function, and any other address is
// the start of one.
u64 calls_known[CALLS_KNOWN];
const struct spool_edge calls_unknown;

void calls_forget_unmapped(void)
{
    if (!tb_config.calls)
        fail_msg("asked for the call graph's edges");
}

void calls_own(const struct spool_counters *c, u32 first)
{
    assert_true(c && first);
}

void contexts_block(u32 block, u32 first, u32 counters, const struct function *f)
{
    assert_false(tb_config.contexts);
    assert_non_null(f);
    assert_true(counters > 0);
    (void)block;
    (void)first;
}

static u32 plt_number; // of the linkage table's entry at PC; 0: none

u32 edges_plt_number(u64 entry)
{
    if (!plt_number || entry != PC)
        fail_msg("asked for an entry of a linkage table: %lx", entry);
    return plt_number;
}

static struct spool_edge edge; // all of them

struct spool_edge *edges_get(enum spool_edge_kind kind, u64 site, u32 len, u64 target)
{
    if (!tb_config.calls)
        fail_msg("asked for an edge: kind %d, from %lx (%u) to %lx", kind, site, len, target);
    return &edge;
}

struct function functions_at(u64 addr)
{
    if (!tb_config.calls)
        fail_msg("asked for the function at %lx", addr);
    if (addr - client_at >= 0x100)
        return (struct function){ .start = addr, .end = addr + 0x10 };
    return (
        struct function){ .start = client_at, .end = client_at + 0x100, .plt = plt_number != 0 };
}

bool recordbuf_has_space(void)
{
    return true;
}

u32 recordbuf_next_id(void)
{
    return 0x1234;
}

void recordbuf_publish(const struct record_draft *d)
{
    recorded = *d;
}

// Records are consecutive.
struct spool_block *spooler_block_append(u64 pc, u32 map, u32 flags, u32 hash,
                                         const struct spool_insn *insns, u32 n, u32 n_counters,
                                         u32 *first_counter)
{
    static u32 used, counters;
    struct spool_block *s = (struct spool_block *)&blocks[used];

    assert_in_range(used + sizeof(*s) / 8 + (n + 1) / 2, 1, ARRAY_SIZE(blocks));
    memcpy(described, insns, n * sizeof(*insns));
    memcpy(s + 1, insns, n * sizeof(*insns));
    used += sizeof(*s) / 8 + (n + 1) / 2;
    *s = (struct spool_block){ .pc = pc,
                               .counter = counters,
                               .own = counters + 1,
                               .hash = hash,
                               .map = map & 0x1ffff,
                               .insns = n & 0x7ff,
                               .flags = flags & 0xf };
    *first_counter = counters;
    counters += n_counters;
    return s;
}

u32 spooler_block_index(const struct spool_block *block)
{
    return (u32)((const u64 *)block - blocks);
}

struct spool_block *spooler_block_at(u32 index)
{
    return (struct spool_block *)&blocks[index];
}

const char *spooler_string(u32 offset)
{
    (void)offset;
    return "";
}

// -- the test's side --

static ZydisDecoder decoder;
static char text[4096]; // mnemonics of the code, up to the first cold part or exit stub

static inline void mode(u64 flags)
{
    header = (struct spool_header){
        .flags = flags, .i1 = { 32768, 8, 64 }, .d1 = { 32768, 8, 64 }, .ll = { 8388608, 16, 64 }
    };
    tb_config = (struct tb_config){ 0 };
    config_init(0x50000, 0x1000000);
    tb_config.chain = true;
}

static inline u32 decode_at(u32 off, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
    assert_true(ZYAN_SUCCESS(
        ZydisDecoderDecodeFull(&decoder, (u8 *)published.hpc + off, published.size - off, zi, op)));
    return zi->length;
}

// The main path, as mnemonics without padding.
static inline void read_code(u32 end)
{
    text[0] = 0;
    for (u32 off = 0; off < end;) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

        off += decode_at(off, &zi, op);
        if (zi.mnemonic == ZYDIS_MNEMONIC_NOP) // an exit is aligned
            continue;
        strcat(text, ZydisMnemonicGetString(zi.mnemonic));
        strcat(text, " ");
    }
}

#define TRANSLATE(bytes) translate((const u8 *)(bytes), sizeof(bytes) - 1)

static inline void translate(const u8 *bytes, u32 n)
{
    u64 fault;

    client_prot = 5; // read, execute
    client_size = n;
    memcpy(client, bytes, n);
    published = (struct draft){ 0 };
    assert_ptr_equal(translate_block(client_at, &fault), &fragment);
    assert_int_equal(published.pc, client_at);
    assert_int_equal(published.end, client_at + n);
}

// Translates a superblock of `size` bytes of code along pc[0..n). Whether there is one.
static inline bool join(const u8 *bytes, u32 size, const u64 *pc, u32 n)
{
    client_prot = 5;
    client_size = size;
    memcpy(client, bytes, size);
    published = (struct draft){ 0 };
    return translate_superblock(pc, n) == &fragment;
}

// Exit k: its displacement leads to its stub, which passes its number to the dispatcher.
static inline void is_exit(u32 k, u64 target)
{
    const struct fragment_exit *x = &published.exit[k];
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    u64 to;
    s32 rel;
    u32 n;

    assert_int_equal(x->target, target);
    memcpy(&rel, (u8 *)published.hpc + x->rel32, 4);
    assert_int_equal(x->rel32 + 4 + rel, x->stub);
    assert_true(((published.hpc + x->rel32) & 63) <= 60); // within a cache line of the host
    n = decode_at(x->stub, &zi, op);
    assert_int_equal(zi.mnemonic, ZYDIS_MNEMONIC_MOV);
    assert_int_equal(op[1].imm.value.u, fragment_exit_id(7, k));
    decode_at(x->stub + n, &zi, op);
    assert_true(
        ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&zi, &op[0], published.hpc + x->stub + n, &to)));
    assert_int_equal(to, stubs_at(STUB_EXIT));
}

// Decodes the instruction at `off`; advances `off`.
static struct {
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
} at;

static inline u32 step(u32 off)
{
    return off + decode_at(off, &at.zi, at.op);
}

// The target of the jump that ends at `behind`.
static inline u32 leads_to(u32 behind)
{
    u64 pc = published.hpc + behind - at.zi.length, to;

    assert_true(ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&at.zi, &at.op[0], pc, &to)));
    return (u32)(to - published.hpc);
}

static inline bool is_r11(s64 disp)
{
    return at.op[0].type == ZYDIS_OPERAND_TYPE_MEMORY && at.op[0].mem.base == ZYDIS_REGISTER_R11 &&
           at.op[0].mem.disp.value == disp;
}

static inline int hosted_init(void)
{
    static const void *calls[STUB_COUNT];

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    header.flags = SPOOL_F_NO_FLAG_PROBE;
    cpu_init(0, 0);
    lineids_init();
    if (region_init(0x7f0000000000, 4096, stubs_size()))
        return 1;
    stubs_copy(region_start(), calls, false);
    translate_init();
    return 0;
}
