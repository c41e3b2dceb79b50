// SPDX-License-Identifier: MIT
//
// Whether the addresses that an instruction refers to come from memory, from what the code of
// blocks does with registers (struct spool_data_flow). Where several blocks lead to one, the one
// that was executed most counts: in a loop, its end rather than what is before it. Trusts nothing
// in the spool.
#include "finish/spool/spool_pointers.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

#define CHAIN_MAX  16 // loads from one to the next
#define BLOCKS_MAX 64 // through which one value is followed

struct flow {
    const struct spool_block *block;
    struct spool_data_flow f;
    uint64_t end;
    uint32_t before; // the block that leads here, plus one; 0: not looked for, UINT32_MAX: none
    bool returned;   // it calls a function, which has returned
};

struct spool_pointers {
    const struct spool_file *s;
    struct flow *flow; // by place
    uint32_t *by_end, *by_target;
    size_t flows;
};

// The value that a register or an address has in a block.
struct value {
    uint32_t flow;
    uint8_t from;
};

static const struct spool_insn *insns_of(const struct flow *f)
{
    return (const struct spool_insn *)(f->block + 1);
}

static uint64_t counted(const struct spool_pointers *p, uint64_t counter)
{
    return counter < p->s->counters_used ? p->s->counters[counter] : 0;
}

static int compare_ends(const void *x, const void *y, void *flows)
{
    const struct flow *a = (const struct flow *)flows + *(const uint32_t *)x;
    const struct flow *b = (const struct flow *)flows + *(const uint32_t *)y;

    return a->end < b->end ? -1 : a->end > b->end;
}

static int compare_targets(const void *x, const void *y, void *flows)
{
    const struct flow *a = (const struct flow *)flows + *(const uint32_t *)x;
    const struct flow *b = (const struct flow *)flows + *(const uint32_t *)y;

    return a->f.target < b->f.target ? -1 : a->f.target > b->f.target;
}

static void add_flow(struct spool_pointers *p, const struct spool_block *b,
                     const struct spool_data_flow *f)
{
    struct flow *to = &p->flow[p->flows];

    *to = (struct flow){ .block = b, .f = *f, .end = b->pc };
    for (uint32_t i = 0; i < b->insns; i++)
        to->end += insns_of(to)[i].len;
    p->by_end[p->flows] = p->by_target[p->flows] = (uint32_t)p->flows;
    p->flows++;
}

struct spool_pointers *spool_pointers_new(const struct spool_file *s,
                                          const struct spool_data_flow *flow, size_t n)
{
    struct spool_pointers *p = xcalloc(1, sizeof(*p));
    size_t next = 0;
    uint64_t size;

    p->s = s;
    p->flow = xcalloc(n + 1, sizeof(*p->flow));
    p->by_end = xcalloc(n + 1, sizeof(*p->by_end));
    p->by_target = xcalloc(n + 1, sizeof(*p->by_target));
    for (uint64_t at = 0; at + sizeof(struct spool_block) <= s->blocks_used; at += size) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + at);

        size = spool_read_block_size(b);
        if (size > s->blocks_used - at || spool_read_is_empty(b))
            break;
        while (next < n && flow[next].block < at / 8)
            next++;
        if (next < n && flow[next].block == at / 8 && !(b->flags & SPOOL_B_SUM))
            add_flow(p, b, &flow[next++]);
    }
    qsort_r(p->by_end, p->flows, sizeof(*p->by_end), compare_ends, p->flow);
    qsort_r(p->by_target, p->flows, sizeof(*p->by_target), compare_targets, p->flow);
    return p;
}

void spool_pointers_free(struct spool_pointers *p)
{
    free(p->flow);
    free(p->by_end);
    free(p->by_target);
    free(p);
}

// ---- The block before ----

static uint64_t key_of(const struct flow *f, bool target)
{
    return target ? f->f.target : f->end;
}

static bool leads(const struct flow *f, bool target)
{
    switch (f->f.end) {
    case SPOOL_FLOW_GOES_ON: return !target;
    case SPOOL_FLOW_MAY_JUMP:
    case SPOOL_FLOW_CALLS: return true;
    case SPOOL_FLOW_JUMPS: return target;
    default: return false;
    }
}

// The first of those in order that have the key or more.
static size_t first_of(const struct spool_pointers *p, const uint32_t *order, uint64_t key,
                       bool target)
{
    size_t lo = 0, hi = p->flows;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (key_of(&p->flow[order[mid]], target) < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void find_before(const struct spool_pointers *p, struct flow *f, bool target, uint64_t *most)
{
    const uint32_t *order = target ? p->by_target : p->by_end;
    size_t i = first_of(p, order, f->block->pc, target);

    for (; i < p->flows && key_of(&p->flow[order[i]], target) == f->block->pc; i++) {
        const struct flow *b = &p->flow[order[i]];
        uint64_t executed = counted(p, b->block->counter);

        if (!leads(b, target) || executed <= *most)
            continue;
        *most = executed;
        f->before = order[i] + 1;
        f->returned = !target && b->f.end == SPOOL_FLOW_CALLS;
    }
}

// False: there is none.
static bool go_back(const struct spool_pointers *p, struct value *v)
{
    // ORDER of registers: rax rcx rdx rbx rsp rbp rsi rdi, r8 to r15. A call keeps these.
    static const uint32_t kept = 1u << 3 | 1u << 4 | 1u << 5 | 0xf000u;
    struct flow *f = &p->flow[v->flow];
    uint8_t reg = v->from & 15;
    uint64_t most = 0;

    if (!f->before) {
        find_before(p, f, false, &most);
        find_before(p, f, true, &most);
        if (!f->before)
            f->before = UINT32_MAX;
    }
    if (f->before == UINT32_MAX || (f->returned && !(kept & 1u << reg)))
        return false;
    v->flow = f->before - 1;
    v->from = p->flow[v->flow].f.reg[reg];
    return true;
}

// ---- Loads ----

// The load that has brought it. False: it is not known, or there is none.
static bool find_load(const struct spool_pointers *p, struct value *v)
{
    for (int i = 0; i < BLOCKS_MAX && v->from & SPOOL_FROM_REGISTER; i++)
        if (!go_back(p, v))
            return false;
    return v->from && !(v->from & SPOOL_FROM_REGISTER) && v->from <= p->flow[v->flow].block->insns;
}

static uint64_t misses_of(const struct spool_pointers *p, const struct value *load)
{
    const struct flow *f = &p->flow[load->flow];
    const struct spool_insn *in = insns_of(f);
    uint64_t counter = f->block->own;
    struct spool_counters c;

    for (uint32_t i = 0; i + 1u < load->from; i++)
        counter += spool_insn_counters(in[i], p->s->h->flags).count;
    c = spool_insn_counters(in[load->from - 1], p->s->h->flags);
    return c.d1mr == ~0u ? 0 : counted(p, counter + c.d1mr);
}

static bool flow_of(const struct spool_pointers *p, const struct spool_block *b, uint32_t *flow)
{
    size_t lo = 0, hi = p->flows;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (p->flow[mid].block < b)
            lo = mid + 1;
        else
            hi = mid;
    }
    *flow = (uint32_t)lo;
    return lo < p->flows && p->flow[lo].block == b;
}

bool spool_pointers_bring(const struct spool_pointers *p, const struct spool_block *b,
                          uint32_t insn, uint64_t misses)
{
    struct value chain[CHAIN_MAX], v = { 0 };
    int n = 0;

    if (!flow_of(p, b, &v.flow))
        return false;
    v.from = insns_of(&p->flow[v.flow])[insn].from;
    while (n < CHAIN_MAX && find_load(p, &v)) {
        for (int i = 0; i < n; i++)
            if (chain[i].flow == v.flow && chain[i].from == v.from)
                return true;
        chain[n++] = v;
        v.from = insns_of(&p->flow[v.flow])[v.from - 1].from;
    }
    return n && misses_of(p, &chain[0]) >= misses - misses / 2;
}
