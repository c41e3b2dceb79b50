// SPDX-License-Identifier: MIT
//
// A block begins at the function's first instruction, at a jump target, after an instruction
// that jumps or from which a jump was counted, and after a gap in the listing. The text (texts.h)
// and the counts name a jump's target; for a jump through a register only the counts do.
#include "report/core/flow.h"

#include "report/core/detail.h"
#include "report/core/heap.h"
#include "report/core/search.h"

struct maker {
    const struct texts_insn *insn;
    uint32_t insns;
    const struct detail *jumps;
    uint32_t func;
    uint8_t *leads;     // by instruction: it begins a block
    uint32_t *block_of; // by instruction
    struct flow *out;
    size_t edge_cap;
};

// ---- What instructions do ----

static bool begins(struct text t, const char *with, size_t n)
{
    return t.size >= n && __builtin_memcmp(t.at, with, n) == 0;
}

#define BEGINS(t, with) begins((t), (with), sizeof(with) - 1)

// Skips the prefixes of a jump or a return.
static struct text without_prefix(struct text t)
{
    for (size_t i = 0; i < t.size; i++) {
        if (t.at[i] != ' ')
            continue;
        struct text word = { t.at, i };
        if (!BEGINS(word, "bnd") && !BEGINS(word, "notrack") && !BEGINS(word, "rep"))
            break;
        t.at += i + 1;
        t.size -= i + 1;
        i = (size_t)-1;
    }
    return t;
}

enum flow_step flow_step(struct text insn)
{
    struct text t = without_prefix(insn);

    if (BEGINS(t, "jmp") || BEGINS(t, "ljmp") || BEGINS(t, "ret") || BEGINS(t, "lret") ||
        BEGINS(t, "iret") || BEGINS(t, "hlt") || BEGINS(t, "ud") || BEGINS(t, "sysret") ||
        BEGINS(t, "sysexit"))
        return FLOW_JUMPS;
    return BEGINS(t, "j") || BEGINS(t, "loop") || BEGINS(t, "xbegin") ? FLOW_MAY_JUMP
                                                                      : FLOW_GOES_ON;
}

// ---- Blocks ----

// The instruction at an address, or CORE_NONE.
static uint32_t insn_at(const struct maker *m, uint64_t addr)
{
    size_t i =
        search_lower(m->insn, m->insns, sizeof(*m->insn), offsetof(struct texts_insn, addr), addr);

    return i < m->insns && m->insn[i].addr == addr ? (uint32_t)i : CORE_NONE;
}

static bool goes_on(const struct maker *m, uint32_t i)
{
    return i + 1 < m->insns && m->insn[i].addr + m->insn[i].size == m->insn[i + 1].addr;
}

static void find_leads(struct maker *m)
{
    for (uint32_t i = 0; i < m->insns; i++) {
        bool jumps = flow_step(m->insn[i].intel) != FLOW_GOES_ON;
        uint32_t to = jumps && m->insn[i].target ? insn_at(m, m->insn[i].target) : CORE_NONE;
        if (to != CORE_NONE)
            m->leads[to] = 1;
        if (i == 0 || !goes_on(m, i - 1))
            m->leads[i] = 1;
        if (jumps && i + 1 < m->insns)
            m->leads[i + 1] = 1;
    }
    for (size_t k = 0; k < m->jumps->count; k++) {
        const struct detail_row *row = &m->jumps->row[k];
        uint32_t from = insn_at(m, row->addr);
        uint32_t to = row->callee == m->func ? insn_at(m, row->to_addr) : CORE_NONE;
        if (to != CORE_NONE)
            m->leads[to] = 1;
        if (from != CORE_NONE && from + 1 < m->insns)
            m->leads[from + 1] = 1;
    }
}

static int cut(struct maker *m)
{
    struct flow *out = m->out;
    uint32_t blocks = 0;

    for (uint32_t i = 0; i < m->insns; i++)
        blocks += m->leads[i];
    out->block = heap_array(blocks, sizeof(*out->block));
    if (!out->block)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < m->insns; i++) {
        if (m->leads[i])
            out->block[out->blocks++] = (struct flow_block){ i, 0 };
        out->block[out->blocks - 1].count++;
        m->block_of[i] = out->blocks - 1;
    }
    return 0;
}

// ---- Edges ----

static bool add_edge(struct maker *m, struct flow_edge e)
{
    if (!heap_room(m->out->edge, m->out->edges, m->edge_cap))
        return false;
    m->out->edge[m->out->edges++] = e;
    return true;
}

// Adds a counted jump to the block's edge, or to a new one.
static bool count_jump(struct maker *m, uint32_t first_edge, uint32_t from, uint32_t to,
                       const struct detail_row *row, bool may)
{
    uint32_t e = first_edge;

    while (e < m->out->edges && m->out->edge[e].to != to)
        e++;
    if (e == m->out->edges &&
        !add_edge(m, (struct flow_edge){ .from = from, .to = to, .kind = FLOW_JUMP }))
        return false;
    struct flow_edge *edge = &m->out->edge[e];
    for (unsigned s = 0; s < CORE_SIDES; s++) {
        if (!row->followed[s] && !row->calls[s])
            continue;
        edge->counted |= 1u << s;
        edge->taken[s] += row->followed[s];
        edge->executed[s] += may ? row->calls[s] : 0;
    }
    return true;
}

// The successors of a block, by its last instruction.
static bool connect(struct maker *m, uint32_t block)
{
    const struct flow_block *b = &m->out->block[block];
    uint32_t last = b->first + b->count - 1, first_edge = m->out->edges, jumps = 0, to;
    const struct texts_insn *insn = &m->insn[last];
    enum flow_step step = flow_step(insn->intel);
    struct flow_edge next = { .from = block, .to = block + 1, .kind = FLOW_NEXT };

    if (step != FLOW_GOES_ON && insn->target) {
        if ((to = insn_at(m, insn->target)) == CORE_NONE)
            m->out->leaving++;
        else if (!add_edge(m, (struct flow_edge){
                                  .from = block, .to = m->block_of[to], .kind = FLOW_JUMP }))
            return false;
    }
    for (size_t k = 0; k < m->jumps->count; k++) {
        const struct detail_row *row = &m->jumps->row[k];
        if (row->addr != insn->addr)
            continue;
        jumps++;
        to = row->callee == m->func ? insn_at(m, row->to_addr) : CORE_NONE;
        if (to != CORE_NONE &&
            !count_jump(m, first_edge, block, m->block_of[to], row, step == FLOW_MAY_JUMP))
            return false;
        if (to == CORE_NONE && !insn->target)
            m->out->leaving++;
        // Of a jump with one target: the executions not followed fall through.
        for (unsigned s = 0; s < CORE_SIDES; s++)
            if (row->calls[s] >= row->followed[s] && row->calls[s]) {
                next.counted |= 1u << s;
                next.taken[s] = row->calls[s] - row->followed[s];
                next.executed[s] = row->calls[s];
            }
    }
    if (step == FLOW_JUMPS || !goes_on(m, last))
        return true;
    if (jumps != 1 || step != FLOW_MAY_JUMP)
        next.counted = 0;
    return add_edge(m, next);
}

static int make(struct maker *m)
{
    for (uint32_t i = 1; i < m->insns; i++)
        if (m->insn[i].addr <= m->insn[i - 1].addr)
            return CORE_DAMAGED;
    m->leads = heap_get(m->insns);
    m->block_of = heap_array(m->insns, sizeof(*m->block_of));
    if (!m->leads || !m->block_of)
        return CORE_MEMORY;
    find_leads(m);
    int rc = cut(m);
    for (uint32_t b = 0; rc == 0 && b < m->out->blocks; b++)
        if (!connect(m, b))
            rc = CORE_MEMORY;
    return rc;
}

int flow_make(struct core *c, uint32_t func, struct flow *out)
{
    struct texts_code code = { 0 };
    struct detail *jumps = NULL;
    struct maker m = { .func = func, .out = out };

    *out = (struct flow){ 0 };
    int rc = func < c->funcs ? texts_code(c, func, &code) : CORE_WRONG;
    if (rc == 0)
        rc = code.count ? detail_jumps(c, func, &jumps) : CORE_WRONG;
    if (rc == 0) {
        m.insn = code.insn;
        m.insns = code.count;
        m.jumps = jumps;
        rc = make(&m);
    }
    heap_put(code.insn);
    if (jumps)
        detail_free(jumps);
    heap_put(m.leads);
    heap_put(m.block_of);
    if (rc < 0)
        flow_free(out);
    return rc;
}

void flow_free(struct flow *f)
{
    heap_put(f->block);
    heap_put(f->edge);
    *f = (struct flow){ 0 };
}
