// SPDX-License-Identifier: MIT
//
// For tests of the call graph: fakes of what it calls, and a client whose functions are a letter
// each, 0x1000 bytes from 'A' on; 'P' is a linkage table. Records, counters and memory are counted
// by hand. The translation lock must be held where the fakes of other layers are called.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/functions.h"
#include "engine/callgraph/patterns.h"
#include "engine/codecache/helperdesc.h"
#include "engine/codecache/restore.h"
#include "engine/thread/stop.h"
#include "engine/thread/threads.h"
#include "tests/unit/callgraph/edges_fakes.h"

enum { FIRST = 16, SLOTS = 3, COUNTERS = 4096, ROOM = 0x100000 };

u64 spooler_maps_named;

static u64 reached[SLOTS + 1];  // bytes of open calls that were mapped; the last: of saved stacks
static u64 words[16][2];        // the client's memory: address and value
static const char *rules_text;  // without the last NUL
static long no_room;            // an error
static u32 pieces;              // of the heap
static u32 asked;               // calls of functions_at()

#define CODE(letter) ((u64)((letter) - 'A' + 1) * 0x1000)
#define PLT          CODE('P')

static char letter_of(u64 addr)
{
    return (char)('A' - 1 + (addr >> 12));
}

bool spooler_slot_in_use(u32 slot)
{
    assert_true(slot < header.threads_used);
    return slot != 1; // its thread has ended
}

long spooler_stack_reach(u32 slot, u64 bytes)
{
    u64 *at = &reached[slot < SLOTS ? slot : SLOTS];

    if (bytes > *at)
        *at = bytes;
    return no_room;
}

static struct {
    struct spool_block head;
    struct spool_insn insn[3];
} block = {
    .head = { .insns = 3 },
    .insn = { { .reads = 1 }, { .writes = 2, .flags = SPOOL_I_BC }, { .flags = SPOOL_I_BI } },
};

struct spool_block *spooler_block_at(u32 index)
{
    assert_int_equal(index, 7);
    return &block.head;
}

const char *spooler_string(u32 at)
{
    (void)at;
    return rules_text;
}

void *heap_pages(u64 bytes)
{
    return calloc(1, bytes);
}

// The size precedes each piece.
void *heap_alloc(u64 bytes)
{
    u64 *p = calloc(1, bytes + 64);

    assert_non_null(p);
    *p = bytes;
    pieces++;
    return p + 8;
}

void heap_free(void *p, u64 bytes)
{
    if (!p)
        return;
    assert_int_equal(((u64 *)p)[-8], bytes);
    pieces--;
    free((u64 *)p - 8);
}

struct function functions_at(u64 addr)
{
    const char name[2] = { letter_of(addr), 0 };
    struct function f = { .start = addr & ~0xffful, .end = (addr | 0xfff) + 1, .map = module };

    assert_int_equal(locked, 1);
    asked++;
    f.plt = f.start == PLT && !tb_config.contexts;
    f.skip = f.start == PLT && tb_config.contexts;
    f.rules = patterns_match(name);
    return f;
}

int clientmem_read_u64(u64 addr, u64 *out)
{
    for (u32 i = 0; i < ARRAY_SIZE(words); i++) {
        if (words[i][0] != addr)
            continue;
        *out = words[i][1];
        return 0;
    }
    return -14; // EFAULT
}

static u32 fragments_left;

void restore_leave(struct thread *t, u64 *ret)
{
    assert_ptr_equal(ret, (u64 *)t->engine_sp - 1);
    fragments_left++;
}

// -- the spool, and threads --

static struct thread *t; // slot 0's
static struct thread_own own[SLOTS];

static void map_memory(u64 at, u64 size)
{
    long got = sys_mmap(at, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    assert_true((u64)got == at);
}

static int map_all(void **state)
{
    (void)state;
    for (u32 slot = 0; slot < SLOTS; slot++) {
        map_memory((u64)thread_at_slot(slot), TA_COUNTERS + COUNTERS * 8);
        map_memory(frames_base(slot), slot ? ROOM : SPOOL_STACK_SIZE + ROOM);
    }
    map_memory(frames_base(SPOOL_THREADS_MAX), ROOM);
    return 0;
}

// A new thread, at the first instruction of `letter`.
static struct thread *new_thread(u32 slot, char letter)
{
    struct thread *of = thread_at_slot(slot);

    memset(of, 0, sizeof(*of));
    own[slot] = (struct thread_own){ 0 };
    of->slot = slot;
    of->own = &own[slot];
    of->counters = (u64 *)((u64)of + TA_COUNTERS);
    memset(of->counters, 0, COUNTERS * 8);
    of->misses = of->counters;
    of->pc = CODE(letter);
    of->regs[R_RSP] = 0x100000;
    frames_thread_init(of);
    return of;
}

static void options(u64 flags)
{
    header = (struct spool_header){ .flags = flags };
    tb_config = (struct tb_config){
        .calls = true,
        .contexts = flags & SPOOL_F_CONTEXTS,
        .flags = flags,
        .calls_events = spool_event_index(SPOOL_EVENTS, flags),
        .calls_often = spool_event_index(SPOOL_E_I1MR, flags),
        .calls_frame = spool_frame_bytes(flags),
    };
    header.threads_used = SLOTS;
    counters_used = FIRST;
    module = 3;
    no_room = 0;
    memset(reached, 0, sizeof(reached));
    memset(words, 0, sizeof(words));
}

// -- actions of the client --

// The arguments of helpers, laid out as in a fragment.
static const u8 *told(u64 site, u32 len, u32 plt, const void *cell)
{
    static _Alignas(4) u8 text[2 + HELPERDESC_AT + 24];
    const u32 d[] = {
        (u32)site, (u32)(site >> 32), len, plt, (u32)(u64)cell, (u32)((u64)cell >> 32)
    };

    memcpy(text + 2 + HELPERDESC_AT, d, sizeof(d));
    return text + 2;
}

static u64 here(const struct thread *of)
{
    return frames_callee(frames_top(of));
}

// A call through a register, 5 bytes at 0xb; the return address is at sp.
static void calls(struct thread *of, char callee, u64 sp)
{
    of->client_sp = sp;
    of->ibl_target = CODE(callee);
    calls_call(of, told(here(of) + 0xb, 5, 0, NULL));
}

// A return whose address was at sp.
static void returns(struct thread *of, u64 sp, u64 target)
{
    of->client_sp = sp + 8;
    of->ibl_target = target;
    calls_return(of, told(here(of) + 0x30, 8, 0, NULL));
}

static void jumps(struct thread *of, u64 target, u64 sp)
{
    of->client_sp = sp;
    of->ibl_target = target;
    calls_jump(of, told(here(of) + 0x20, 0, 0, NULL));
}

// Executes blocks: each adds i + 1 to its event i.
static void works(struct thread *of, u64 n)
{
    for (u32 i = 0; i < frames.often; i++)
        frames_totals(of)[i] += (i + 1) * n;
}

static const char *open_calls(const struct thread *of)
{
    static char text[64];
    u32 n = 0;

    for (u64 at = frames_base(of->slot); at <= of->counters[frames.top]; at += frames.frame)
        text[n++] = letter_of(frames_callee((struct spool_frame *)at));
    text[n] = '\0';
    return text;
}

static struct spool_edge *edge(enum spool_edge_kind kind, u64 site, u64 target)
{
    for (u32 i = 0; i < header.edges_used; i++)
        if (record[i].kind == kind && record[i].site == site && record[i].target == target)
            return &record[i];
    return NULL;
}

// How often control went there, and its cost, by works() and in event `seldom`.
#define NO_EVENT 99u
static void expect_all(const struct thread *of, const struct spool_edge *e, u64 n, u64 cost,
                       u32 seldom, u64 misses)
{
    const u64 *c;

    assert_non_null(e);
    c = of->counters + e->counter;
    assert_int_equal(c[0], n);
    for (u32 i = 0; i < frames.often; i++)
        assert_int_equal(c[1 + i], (i + 1) * cost);
    for (u32 i = frames.often; i < frames.events; i++)
        assert_int_equal(c[1 + i], i == seldom ? misses : 0);
}

static void expect(const struct thread *of, const struct spool_edge *e, u64 n, u64 cost)
{
    expect_all(of, e, n, cost, NO_EVENT, 0);
}

// Of a call by calls().
static struct spool_edge *called(char caller, char callee)
{
    return edge(SPOOL_EDGE_INDIRECT, CODE(caller) + 0xb, CODE(callee));
}
