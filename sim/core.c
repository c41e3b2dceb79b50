// SPDX-License-Identifier: MIT
//
// The time of instructions on a core (core.h).
#include "sim/core.h"

#include <stddef.h>

// An instruction on its way.
struct flow {
    const struct core_exec *e;
    const struct core_op *op;
    const struct core_cost *cost;
    uint32_t slots;                  // micro-ops, in allocation and retirement
    uint64_t start;                  // the first cycle in which it may execute
    uint64_t addresses;              // when the registers of addresses are there
    uint64_t issued;                 // of the first micro-op
    uint64_t loaded;                 // its data are there
    uint64_t memory, translation;    // of the time until then: waiting
    uint64_t code_translation;       // waiting of the front end
    uint64_t front_late, store_late; // cycles by which these made it be allocated later
    uint64_t bad_late;               // of front_late: after a misprediction
    uint64_t
        slack; // cycles that it waited for operands and ports: earlier allocation saves no more
    uint64_t done, written;
    uint64_t earlier; // cycles by which it would have begun had the front end not been late
    enum core_cause store_cause;
    bool fused;
    bool full;     // the core had no room for it, in anything but the reorder buffer
    bool free;     // needs no unit, or is fused
    bool replayed; // it got another store's data first
};

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Adds micro-ops to those of a cycle, which is full from `full` on. Returns how many cycles later
// that is; the first one without a branch, since it is not to be predicted.
static uint64_t cycles_full(uint32_t *used, uint32_t n, uint32_t width, uint32_t full)
{
    uint64_t cycles;

    *used += n;
    cycles = *used >= full;
    *used -= width & -(uint32_t)cycles;
    for (; *used >= full; *used -= width)
        cycles++;
    return cycles;
}

// ---- The machine ----

// Ports by the classes that can use them: a micro-op takes the one of its ports that fewest want.
static void order_of_ports(const struct core_machine *m, uint8_t order[CORE_PORTS])
{
    uint32_t wanted[CORE_PORTS] = { 0 };

    for (uint32_t i = 0; i < CORE_CLASSES * CORE_GROUPS; i++)
        for (uint32_t p = 0; p < CORE_PORTS; p++)
            wanted[p] += m->cost[i / CORE_GROUPS].group[i % CORE_GROUPS].ports >> p & 1;
    for (uint32_t p = 0; p < CORE_PORTS; p++) {
        uint32_t at = p;

        for (; at > 0 && wanted[order[at - 1]] > wanted[p]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)p;
    }
}

static uint16_t renumbered(uint16_t ports, const uint8_t order[CORE_PORTS])
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < CORE_PORTS; i++)
        set |= (uint32_t)(ports >> order[i] & 1) << i;
    return (uint16_t)set;
}

static uint32_t random_below(struct core *c, uint32_t n)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 17;
    c->random ^= c->random << 5;
    return (uint32_t)((uint64_t)c->random * n >> 32);
}

// The micro-ops of an instruction by its class and flags, in allocation and retirement: doubled,
// plus one if it needs no unit.
static uint16_t shape_of(const struct core *c, uint32_t class, uint32_t flags)
{
    uint32_t computes = c->micro_ops[class], slots = computes;

    if ((flags & CORE_F_ZERO) || ((flags & CORE_F_MOVE) && c->m->eliminate) ||
        ((flags & CORE_F_CONSTANT) && c->m->add_constants) ||
        (class == CORE_C_NONE && !(flags & (CORE_F_LOAD | CORE_F_STORE))))
        return 2 * 1 + 1;
    if ((flags & CORE_F_LOAD) && !computes)
        slots++;
    if (flags & CORE_F_STORE)
        slots++;
    if (flags & CORE_F_LOCKED)
        slots += c->micro_ops[CORE_C_LOCK];
    return (uint16_t)(2 * (slots ? slots : 1));
}

static uint32_t bits_in(uint32_t set)
{
    uint32_t n = 0;

    for (; set; set &= set - 1)
        n++;
    return n;
}

// Which port a micro-op waits for is decided before it is known when each of them is free: by
// port_choice it is any one of so many. All such sets of the ports, as often as there is room.
static void choices_of_ports(uint16_t ports, uint32_t choice, uint16_t some[CORE_CHOICES])
{
    bool all = !choice || bits_in(ports) <= choice;
    uint32_t n = 0, set = all ? ports : 0;

    while (n < CORE_CHOICES) {
        if (all || bits_in(set) == choice)
            some[n++] = (uint16_t)set;
        if (!all)
            set = (set - ports) & ports; // the next set of these
    }
}

void core_init(struct core *c, const struct core_machine *m)
{
    uint8_t order[CORE_PORTS] = { 0 };

    c->m = m;
    order_of_ports(m, order);
    for (uint32_t i = 0; i < CORE_CLASSES; i++) {
        for (uint32_t g = 0; g < CORE_GROUPS; g++) {
            c->ports[i][g] = renumbered(m->cost[i].group[g].ports, order);
            c->micro_ops[i] += m->cost[i].group[g].n;
        }
        c->single[i] = c->micro_ops[i] == 1 && m->cost[i].group[0].n == 1;
        choices_of_ports(c->ports[i][0], m->port_choice, c->some[i]);
    }
    for (uint32_t i = 0; i < CORE_CLASSES; i++)
        for (uint32_t flags = 0; flags < CORE_SHAPES; flags++)
            c->shape[i][flags] = shape_of(c, i, flags);
    c->wide = renumbered(m->wide_ports ? m->wide_ports : UINT16_MAX, order);
    c->line = c->fetched = UINT64_MAX;
    c->random = 1;
    for (uint32_t i = 0; i < CORE_CAUSES; i++)
        c->due[i] = 1 + random_below(c, m->width);
}

// ---- Lines ----

// When a line that is requested at t is there; level is not L1.
static uint64_t arrival(struct core *c, uint64_t t, enum core_level level)
{
    const struct core_machine *m = c->m;
    uint64_t there;

    if (level == CORE_AT_L2)
        return t + m->l2;
    t = units_path(&c->ll, m->ll_line, units_buffer_free(&c->l2_buffers, m->l2_buffers, t));
    if (level == CORE_AT_MEMORY)
        t = units_path(&c->memory, m->memory_line, t);
    there = t + (level == CORE_AT_LL ? m->ll : m->memory);
    units_buffer_take(&c->l2_buffers, t, there);
    return there;
}

static void on_way(struct core *c, uint64_t line, uint64_t ready, enum core_level level)
{
    c->on_way[line % CORE_LINES].line = line;
    c->on_way[line % CORE_LINES].ready = ready;
    c->on_way[line % CORE_LINES].clean = level == CORE_AT_MEMORY;
}

// A line that will be written back takes a path for so many cycles, of those on which each line
// takes `every`.
static void takes_back(struct units_path *p, uint32_t every, uint32_t cycles, uint64_t t)
{
    for (uint32_t i = 0; i < cycles; i += every)
        units_path(p, every, t);
}

// The line is written at t. One of memory that is still remembered: for the first time?
static void written_back(struct core *c, uint64_t line, uint64_t t)
{
    if (c->on_way[line % CORE_LINES].line != line || !c->on_way[line % CORE_LINES].clean)
        return;
    c->on_way[line % CORE_LINES].clean = false;
    takes_back(&c->memory, c->m->memory_line, c->m->memory_back, t);
}

static uint64_t data_arrival(struct core *c, uint64_t t, enum core_level level)
{
    return arrival(c, units_path(&c->l2, c->m->l2_line, t), level);
}

static uint64_t code_arrival(struct core *c, uint64_t t, enum core_level level)
{
    return arrival(c, units_path(&c->code, c->m->code_line, t), level);
}

void core_ahead(struct core *c, uint64_t addr, enum core_level level)
{
    on_way(c, addr / CORE_LINE, arrival(c, c->last, level), level);
}

static uint64_t translated(struct core *c, uint64_t t, uint8_t translation)
{
    const struct core_machine *m = c->m;

    if (translation == CORE_TLB_WALK)
        t = units_first(c->walker, m->walkers, t, m->walk) + m->walk;
    return translation == CORE_TLB_HIT ? t : t + m->stlb;
}

// When the data of a reference are there whose translated address is there at t.
static uint64_t data(struct core *c, const struct core_ref *r, uint64_t t)
{
    uint64_t line = r->addr / CORE_LINE, there = t + c->m->cost[CORE_C_LOAD].latency;

    c->last = t;
    if (r->level != CORE_AT_L1) {
        uint64_t from = units_buffer_free(&c->l1_buffers, c->m->l1_buffers, t);

        there = max(there, data_arrival(c, from, (enum core_level)r->level));
        there = units_first(&c->set[line % CORE_SETS], 1, there, c->m->set_line);
        units_buffer_take(&c->l1_buffers, from, there);
        if (r->writes)
            takes_back(&c->l2, c->m->l2_line, c->m->back_line, there);
    }
    if (r->level <= CORE_AT_L2 && c->on_way[line % CORE_LINES].line == line)
        there = max(there, c->on_way[line % CORE_LINES].ready);
    if (r->level != CORE_AT_L1) {
        enum core_level from = (enum core_level)r->level;

        if (c->on_way[line % CORE_LINES].line == line && c->on_way[line % CORE_LINES].clean)
            from = CORE_AT_MEMORY; // it was loaded ahead
        on_way(c, line, there, from);
    }
    return there;
}

static bool crosses(const struct core_ref *r)
{
    return r->addr / CORE_LINE != (r->addr + r->size - 1) / CORE_LINE;
}

// ---- The front end ----

// The line is another one than that of the instruction before it. Which fetches are said depends on
// how the program was recorded; where they miss does not.
static void fetch(struct core *c, struct flow *f)
{
    const struct core_machine *m = c->m;
    uint64_t asked, there;

    if (f->e->fetches && f->e->translation != CORE_TLB_HIT) {
        there = c->front + m->stlb + (f->e->translation == CORE_TLB_WALK ? m->walk : 0u);
        f->code_translation = there - c->front;
        c->code_wait += f->code_translation;
        c->front = there;
        c->front_used = 0;
    }
    // It was asked for when the line `ahead` lines before it was fetched.
    asked = max(c->resteered, c->asked[(c->lines - m->ahead) % CORE_AHEAD]);
    asked = max(asked, c->stopped);
    if (m->ahead_again && c->again++ >= m->ahead_again)
        asked = max(asked, c->again_there);
    c->asked[c->lines++ % CORE_AHEAD] = c->front;
    if (!f->e->fetches || f->e->level == CORE_AT_L1)
        return;
    there = code_arrival(c, min(asked, c->front), (enum core_level)f->e->level);
    if (!c->again_there)
        c->again_there = there;
    if (there > c->front) {
        c->code_wait += there - c->front;
        c->front = there;
        c->front_used = 0;
    }
}

#define NO_LINE UINT64_MAX

// Whether its micro-ops are in the cache; they are, from now on.
static bool is_cached(struct core *c, uint64_t line)
{
    uint32_t sets = c->m->cached_lines / UNITS_WAYS;

    c->line = line;
    return units_known(c->cached, sets, (uint32_t)line + 1, (uint32_t)line);
}

static void another_line(struct core *c, uint64_t line)
{
    bool decoding = !is_cached(c, line);

    // A cycle to change over.
    if ((decoding || c->decoding) && !c->gap) {
        c->front++;
        c->front_used = c->front_bytes = 0;
    }
    c->decoding = decoding;
    c->gap = false;
}

// ---- Entries of the cache of micro-ops ----

// The front end fetches windows of code: from a target, or a line's beginning, up to a taken branch
// or the line's end; one in a cycle, or `blocks` that near branches end. The cache has their
// micro-ops in entries of up to `cached_entry`, the first of which begins at a target; they go on
// behind the end of a line. In a cycle come as many entries as `cached` micro-ops fill. Of those
// that begin in one window so many come at once, and as many `cached_more` cycles later.

// Windows and entries of the front end's cycle: it may have gone on.
static void this_cycle(struct core *c)
{
    if (c->window_cycle != c->front)
        c->windows = c->entries = 0;
    c->window_cycle = c->front;
}

static void next_cycle(struct core *c, uint32_t cycles)
{
    c->front += cycles;
    c->window_cycle = c->front;
    c->windows = 1;
    c->entries = 0;
}

// A branch that has fused has no slot of its own, but a displacement.
static bool joins_entry(const struct core *c, const struct flow *f)
{
    uint32_t most = c->m->cached_constants;

    return c->entry_used && c->entry_used + f->slots <= c->m->cached_entry &&
           (!most || c->entry_constants + f->op->constants <= most);
}

static void begin_block(struct core *c, uint64_t pc)
{
    c->windows++;
    c->entry_used = 0;
    c->block_entries = 0;
    c->loops = c->block == pc;
    c->block = pc;
    c->crossed = false;
}

// A window that a line ends does not come in the cycle of another one before it. What goes on in
// the next line takes another cycle; but not in a loop that is one entry.
static void begin_window(struct core *c, const struct flow *f, bool behind_branch)
{
    this_cycle(c);
    c->window_entries = 0;
    if (behind_branch)
        begin_block(c, f->e->pc);
    else if (c->loops && c->block_entries == 1 && joins_entry(c, f))
        c->crossed = true;
    else
        next_cycle(c, c->windows > 1 ? 2 : 1);
}

static void begin_entry(struct core *c)
{
    uint32_t most = c->m->cached / c->m->cached_entry;

    c->window_entries++;
    c->block_entries++;
    if (c->crossed)
        next_cycle(c, 1);
    else if (c->m->cached_more && c->window_entries > most && c->window_entries % most == 1)
        next_cycle(c, c->m->cached_more);
    else if (c->entries >= most)
        next_cycle(c, 1);
    c->crossed = false;
    c->entries++;
    c->entry_used = c->entry_constants = 0;
}

static void take_entries(struct core *c, const struct flow *f)
{
    uint32_t slots = f->slots, room = c->m->cached_entry;

    this_cycle(c);
    if (!joins_entry(c, f))
        begin_entry(c);
    for (; slots > room; slots -= room) // microcode
        begin_entry(c);
    c->entry_used += slots;
    c->entry_constants += f->op->constants;
}

void core_learn_line(struct core *c, uint64_t addr)
{
    if (addr / CORE_LINE != c->line)
        is_cached(c, addr / CORE_LINE);
    c->decoding = false; // nothing waits for it; a fetch that is learnt twice changes nothing
}

// A string instruction's micro-ops come from elsewhere, which takes a while. What it refers to
// comes in parts, if it is much: the others follow at once.
static void begin_repeated(struct core *c, const struct flow *f)
{
    const struct core_machine *m = c->m;
    uint32_t operands = (f->op->flags & CORE_F_LOAD) && (f->op->flags & CORE_F_STORE) ? 2 : 1;

    if (c->end == f->e->pc + f->op->bytes)
        return;
    c->front += f->e->refs > operands * m->repeat_lines ? m->repeat_long : m->repeat;
    c->front_used = c->front_bytes = 0;
}

// c->front: the cycle in which its micro-ops are in the queue.
static void front(struct core *c, struct flow *f)
{
    const struct core_machine *m = c->m;
    uint32_t most = c->decoding ? m->decode : m->cached;
    uint64_t last = (f->e->pc + f->op->bytes - 1) / CORE_LINE;

    if (last != c->fetched)
        fetch(c, f);
    c->fetched = last;
    if (f->e->pc / CORE_LINE != c->line) {
        bool behind_branch = c->line == NO_LINE;

        another_line(c, f->e->pc / CORE_LINE);
        most = c->decoding ? m->decode : m->cached;
        if (m->cached_entry && !c->decoding)
            begin_window(c, f, behind_branch);
    }
    if (f->op->repeats)
        begin_repeated(c, f);
    if (m->cached_entry && !c->decoding) {
        take_entries(c, f);
        return;
    }
    c->front_bytes += f->op->bytes;
    c->front_used += f->slots;
    if (c->front_used > most || (c->decoding && c->front_bytes > m->decode_bytes)) {
        c->front++;
        c->front_bytes = f->op->bytes;
        c->front_used = f->slots;
    }
    while (c->front_used > most) { // microcode
        c->front++;
        c->front_used -= most;
    }
}

// ---- Allocation ----

// Returns the cycles by which t is later.
static uint64_t wait_until(struct core *c, uint64_t t, enum core_cause cause)
{
    uint64_t late = t - c->alloc;

    if (t <= c->alloc)
        return 0;
    c->alloc = t;
    c->alloc_used = 0;
    c->waited = cause;
    return late;
}

// Takes those off the scheduler that have left it by now.
static void leave_until(struct core *c, uint64_t t)
{
    if (t > c->scheduled + UNITS_CYCLES) // all have
        for (uint32_t i = 0; i < UNITS_CYCLES; i++)
            c->leave[i] = 0;
    if (t > c->scheduled + UNITS_CYCLES) {
        c->waiting = 0;
        c->scheduled = t;
    }
    for (; c->scheduled < t; c->scheduled++) {
        c->waiting -= c->leave[c->scheduled % UNITS_CYCLES];
        c->leave[c->scheduled % UNITS_CYCLES] = 0;
    }
}

static void leaves_scheduler(struct core *c, uint64_t t)
{
    if (t < c->scheduled)
        return;
    t = min(t, c->scheduled + UNITS_CYCLES - 1);
    c->leave[t % UNITS_CYCLES]++;
    c->waiting++;
}

static void wait_for_scheduler(struct core *c, struct flow *f)
{
    leave_until(c, c->alloc);
    while (c->waiting >= c->m->scheduler) {
        c->alloc++;
        c->alloc_used = f->slots;
        c->waited = CORE_CORE;
        f->full = true;
        leave_until(c, c->alloc);
    }
}

// What the instructions before it hold comes first: the front end is late only by what it is later.
static void wait_for_space(struct core *c, struct flow *f)
{
    const struct core_machine *m = c->m;
    uint64_t full = 0; // but for the reorder buffer

    if (f->slots)
        wait_until(c, c->rob[(c->rob_next + min(f->slots, m->rob) - m->rob) % CORE_ROB], CORE_CORE);
    if (f->op->flags & CORE_F_LOAD)
        full += wait_until(c, c->loads[(c->loads_next - m->loads) % CORE_QUEUE], CORE_CORE);
    full += wait_until(c, c->barrier, CORE_CORE);
    if (c->resteered >= c->alloc)
        f->bad_late = c->resteered + 1 - c->alloc;
    f->front_late = wait_until(c, c->front + 1, CORE_FRONT);
    if (f->op->flags & CORE_F_STORE) {
        uint64_t left = c->stores[(c->stores_next - m->stores) % CORE_QUEUE];

        f->store_cause = left % 2 ? CORE_MEM : CORE_CORE;
        f->store_late = wait_until(c, left / 2, f->store_cause);
    }
    f->full = full + f->store_late > 0;
}

// By how many cycles instructions would have retired earlier, had the front end not been late.
static uint64_t retires_earlier(const struct core *c)
{
    return c->retired - min(c->early_retired / c->m->width, c->retired);
}

// When an instruction would have been allocated, had the front end not been late but for
// mispredictions and code that it waits for: as long as there is room in the reorder buffer. What
// else is full is so as much earlier as instructions retire.
static void allocate_early(struct core *c, struct flow *f)
{
    const struct core_machine *m = c->m;
    uint64_t t = c->early_alloc + c->code_wait;

    c->code_wait = 0;
    if (f->slots)
        t = max(t, c->early_rob[(c->rob_next + min(f->slots, m->rob) - m->rob) % CORE_ROB]);
    if (f->full)
        t = max(t, c->alloc - min(c->alloc, retires_earlier(c)));
    t = min(t, c->alloc);
    if (t > c->early_alloc)
        c->early_used = 0;
    c->early_alloc = max(t, c->early_alloc);
    c->early_alloc += cycles_full(&c->early_used, f->slots, m->width, m->width + 1u);
}

static void allocate(struct core *c, struct flow *f)
{
    const struct core_machine *m = c->m;
    uint64_t full;

    wait_for_space(c, f);
    c->alloc += cycles_full(&c->alloc_used, f->slots, m->width, m->width + 1u);
    if (!f->free)
        wait_for_scheduler(c, f);
    c->queue[c->queue_next++ % CORE_QUEUE] = c->alloc;
    full = c->queue[(c->queue_next - m->queue) % CORE_QUEUE];
    if (c->front < full) {
        c->front = full;
        c->front_used = 0;
    }
    f->start = c->alloc + m->depth;
    allocate_early(c, f);
}

// ---- Execution ----

// When all of these registers are there: ready or, as if the front end had not been late, early.
static uint64_t registers(const uint64_t there[CORE_REGISTERS], const uint8_t *r, uint32_t n,
                          uint64_t t)
{
    // Two without branches: their number differs from instruction to instruction.
    t = max(t, n > 0 ? there[r[0]] : 0);
    t = max(t, n > 1 ? there[r[1]] : 0);
    for (uint32_t i = 2; i < n; i++)
        t = max(t, there[r[i]]);
    return t;
}

// t: when the operands are there.
static void note_earlier(const struct core *c, struct flow *f, uint64_t t)
{
    uint64_t start = min(c->early_alloc + c->m->depth, f->start);
    uint64_t address = registers(c->early, f->op->address, f->op->addresses, start), early = start;

    if (f->loaded)
        early = max(early, f->loaded - (f->addresses - min(address, f->addresses)));
    early = registers(c->early, f->op->source, f->op->sources, early);
    f->earlier = t - min(early, t);
}

static uint64_t vector_bit(uint8_t reg)
{
    return reg >= CORE_VECTOR && reg < CORE_MASKS ? UINT64_C(1) << (reg - CORE_VECTOR) : 0;
}

// The same of a floating-point addition, to which the result of another one goes a shorter way.
static uint64_t terms(const struct core *c, const struct core_op *op, uint64_t t)
{
    for (uint32_t i = 0; i < op->sources; i++) {
        uint64_t less = c->added & vector_bit(op->source[i]) ? c->m->fadd_chain : 0;

        t = max(t, c->ready[op->source[i]] - min(less, c->ready[op->source[i]]));
    }
    return t;
}

static void note_additions(struct core *c, const struct core_op *op)
{
    uint64_t results = 0;

    for (uint32_t i = 0; i < op->results; i++)
        results |= vector_bit(op->result[i]);
    c->added = op->class == CORE_C_FADD ? c->added | results : c->added & ~results;
}

static uint32_t allowed(uint16_t set, uint16_t ports)
{
    return set & ports ? set & ports : set;
}

static uint64_t issue_many(struct core *c, uint32_t class, uint64_t t, uint16_t ports)
{
    const struct core_uops *group = c->m->cost[class].group;
    uint64_t first = t;

    for (uint32_t g = 0; g < CORE_GROUPS; g++) {
        uint32_t set = allowed(c->ports[class][g], ports);

        for (uint32_t i = 0; i < group[g].n; i++) {
            uint64_t at = units_port(&c->port, t, set);

            if (g == 0 && i == 0)
                first = at;
        }
    }
    return first;
}

// The micro-ops of a class, whose operands are there at t: the cycle of the first.
static inline uint64_t issue(struct core *c, uint32_t class, uint64_t t, uint16_t ports)
{
    if (c->single[class]) {
        uint16_t set = c->ports[class][0];

        c->choice = c->choice * 1664525 + 1013904223;
        if (ports == UINT16_MAX)
            set = c->some[class][c->choice / CORE_CHOICE_PART];
        return units_port(&c->port, t, allowed(set, ports));
    }
    return issue_many(c, class, t, ports);
}

// A unit that takes another operation only after `busy` cycles; wider vectors take it longer.
static uint64_t unit(struct core *c, const struct flow *f, uint64_t t)
{
    uint16_t set = c->ports[f->op->class][0];
    uint64_t busy = f->cost->busy;

    if (busy <= 1 || !set)
        return t;
    if (f->op->flags & CORE_F_512)
        busy *= 4;
    else if (f->op->flags & CORE_F_256)
        busy *= 2;
    return units_first(&c->unit[__builtin_ctz(set)], 1, t, busy);
}

static struct core_store *store_of(struct core *c, uint64_t word)
{
    return &c->store[word % CORE_LINES];
}

// ---- Renaming of loads ----

// A load that is foreseen to get a store's data, in a general register, has them when the store
// has. Which store: one with the same expression; or, with any_base, the one that it was before. A
// machine with rename_stores keeps that many stores, takes an expression only while its registers
// hold what they did, and has to learn the others. How sure it is: counted as measured
// (docs/design/072-core.md).
enum { LEARNT_SURE = 72, LEARNT_MOST = 127, LEARNT_FAULT = 24 };
enum { STACK_PLACE = 5 }; // rsp

static uint32_t mixed(uint32_t pc);

static bool written_since(const struct core *c, uint8_t reg, uint64_t insn)
{
    return reg && reg <= CORE_FLAGS && c->wrote[reg - 1] >= insn;
}

// The stack pointer is followed.
static bool same_expression(const struct core *c, const struct core_op *load,
                            const struct core_store *s)
{
    if (s->place != load->place || s->index != load->index)
        return false;
    if (c->m->same_place == CORE_SAME_STACK && load->place != STACK_PLACE)
        return false;
    if (!c->m->rename_stores)
        return s->offset == load->offset;
    if (load->place == STACK_PLACE)
        return !load->index;
    return s->offset == load->offset && !written_since(c, load->place, s->insn) &&
           !written_since(c, load->index % 32, s->insn);
}

static struct core_learnt *learnt_slot(struct core *c, uint32_t pc)
{
    uint8_t slot = c->learnt_at[mixed(pc) % CORE_LINES];

    return slot && c->learnt[slot - 1].load == pc ? &c->learnt[slot - 1] : NULL;
}

// In place of the one that was used least recently.
static void begin_to_learn(struct core *c, uint32_t pc, uint32_t store)
{
    uint32_t at = 0;

    for (uint32_t i = 1; i < c->m->rename_loads; i++)
        if (c->learnt[i].used < c->learnt[at].used)
            at = i;
    c->learnt[at] = (struct core_learnt){ pc, store, ++c->learnt_used, 0 };
    c->learnt_at[mixed(pc) % CORE_LINES] = (uint8_t)(at + 1);
}

// Whether it was foreseen that the load gets the data of s, or NULL: of no store. If another one's
// were, the instructions from the load on are executed again.
static bool learnt(struct core *c, struct flow *f, const struct core_store *s)
{
    struct core_learnt *l = learnt_slot(c, (uint32_t)f->e->pc);
    bool sure = l && l->sure >= LEARNT_SURE;

    if (!l && s && c->m->rename_loads)
        begin_to_learn(c, (uint32_t)f->e->pc, s->pc);
    if (!l)
        return false;
    if (s && s->pc == l->store) {
        l->used = ++c->learnt_used;
        l->sure += l->sure < LEARNT_MOST;
        return sure;
    }
    f->replayed = sure;
    l->sure -= l->sure < LEARNT_FAULT ? l->sure : LEARNT_FAULT;
    if (s && !l->sure)
        l->store = s->pc;
    return false;
}

// Neither computes with what it loads, unless it stores the result there, nor extends its sign.
static bool moves_alone(const struct core_op *load)
{
    return (load->flags & CORE_F_STORE) ||
           (load->class == CORE_C_NONE && !(load->flags & CORE_F_SIGNED));
}

// s: the latest store to the word.
static bool renamed(struct core *c, struct flow *f, const struct core_ref *r,
                    const struct core_store *s)
{
    const struct core_op *load = f->op;
    bool kept = s->addr == r->addr / 8 && s->place && s->from == r->addr % 8 &&
                s->end >= r->addr % 8 + r->size;

    if (!load->place || (load->flags & CORE_F_VECTOR) ||
        (c->m->same_place == CORE_SAME_STACK && !moves_alone(load)))
        return false;
    if (!c->m->rename_stores)
        return kept && !load->index && !s->index &&
               (c->m->any_base || (c->m->same_place && same_expression(c, load, s)));
    kept = kept && c->stores_next - s->number <= c->m->rename_stores && r->size >= 4;
    if (kept && c->m->same_place && same_expression(c, load, s))
        return true;
    return c->m->any_base && learnt(c, f, kept ? s : NULL);
}

// The store that a load at t meets in a word, or NULL: one that has not been committed and has
// written some of its bytes. The load's first byte, and behind its last one: from the word's first.
static const struct core_store *met(struct core *c, uint64_t word, uint64_t from, uint64_t end,
                                    uint64_t t)
{
    const struct core_store *s = store_of(c, word);
    uint64_t begin = s->from == FROM_BEFORE ? 0 : s->from;

    return s->addr == word && s->committed > t && begin < end && from < s->end ? s : NULL;
}

// When a load at t has the data of stores before it that have not been committed. False: of none.
// Its first word and its last one are looked at.
static bool forwarded(struct core *c, struct flow *f, const struct core_ref *r, uint64_t t,
                      uint64_t *there)
{
    uint64_t word = r->addr / 8, from = r->addr % 8, end = from + r->size, last = (end - 1) / 8;
    bool at_once = renamed(c, f, r, store_of(c, word));
    const struct core_store *s = met(c, word, from, end, t), *other = NULL;
    bool whole = s && (s->from == FROM_BEFORE || s->from <= from) && s->end >= end;

    if (last)
        other = met(c, word + last, 0, end - 8 * last, t);
    if (!s && !other)
        return false;
    if (!whole || (other && other->number != s->number))
        *there = max(*there,
                     max(s ? s->committed : 0, other ? other->committed : 0) + c->m->forward_fail);
    else if (at_once)
        *there = max(s->data, f->start);
    else
        *there = max(t + c->m->cost[CORE_C_LOAD].latency, s->data + c->m->forward);
    return true;
}

// Vectors take as much longer as L1 takes for them, wherever they come from.
static void load(struct core *c, struct flow *f, const struct core_ref *r)
{
    uint32_t class = f->op->flags & CORE_F_VECTOR ? CORE_C_LOAD_VECTOR : CORE_C_LOAD;
    uint64_t more = f->op->flags & CORE_F_SCALED ? c->m->scaled : 0;
    uint64_t at = issue(c, class, f->addresses, UINT16_MAX) + more;
    uint64_t known = translated(c, at, r->translation), there = data(c, r, known);
    uint64_t memory;
    bool waits = !forwarded(c, f, r, at, &there);

    if (crosses(r)) {
        issue(c, class, at + 1, UINT16_MAX);
        there += c->m->crossing;
    }
    memory = waits ? there - known - c->m->cost[CORE_C_LOAD].latency : 0;
    there += c->m->cost[class].latency - c->m->cost[CORE_C_LOAD].latency;
    if (f->op->flags & CORE_F_SIGNED)
        there += c->m->signed_load;
    if (!f->issued)
        f->issued = at;
    if (there < f->loaded)
        return;
    f->loaded = there;
    f->slack = at - f->start;
    f->translation = waits ? known - at : 0;
    f->memory = memory;
}

// A branch that has fused with the instruction before it: both are one micro-op, on a port that
// takes branches.
static void fused(struct core *c, struct flow *f)
{
    uint32_t set = c->ports[CORE_C_BRANCH][0];
    uint64_t t;

    if (!c->fuses_added && (!c->fuses_port || (c->fuses_port & set)))
        return;
    if (!c->fuses_added)
        units_port_leave(&c->port, c->fuses_at, c->fuses_port);
    t = units_port(&c->port, c->fuses_at, set);
    f->done = max(f->done, t + c->m->cost[CORE_C_BRANCH].latency);
}

static void compute(struct core *c, struct flow *f)
{
    uint64_t from = max(f->start, f->loaded);
    uint64_t t = c->m->fadd_chain && f->op->class == CORE_C_FADD
                     ? terms(c, f->op, from)
                     : registers(c->ready, f->op->source, f->op->sources, from);

    note_earlier(c, f, t);
    f->done = t;
    f->slack += t - from;
    if (f->fused)
        fused(c, f);
    c->fuses_port = 0;
    c->fuses_added = (f->op->flags & CORE_F_CONSTANT) && c->m->add_constants;
    c->fuses_at = t;
    if (f->free || f->op->class == CORE_C_NONE)
        return;
    from = t;
    t = issue(c, f->op->class, t, f->op->flags & CORE_F_512 ? c->wide : UINT16_MAX);
    c->fuses_port = c->single[f->op->class] ? c->port.latest : 0;
    c->fuses_at = t;
    t = unit(c, f, t);
    f->slack += t - from;
    f->issued = t;
    f->done = t + f->cost->latency;
}

static void remember(struct core *c, const struct flow *f, const struct core_ref *r, uint64_t at)
{
    uint32_t from = (uint32_t)(r->addr % 8), end = from + r->size;

    for (uint32_t i = 0; 8 * i < end && i <= CORE_LINE / 8; i++) {
        struct core_store *s = store_of(c, r->addr / 8 + i);

        s->addr = r->addr / 8 + i;
        s->data = at;
        s->committed = c->committed;
        s->end = (uint16_t)(end - 8 * i);
        s->from = (uint8_t)(i == 0 ? from : FROM_BEFORE);
        s->number = c->stores_next;
        s->insn = c->insns;
        s->pc = (uint32_t)f->e->pc;
        s->place = f->op->flags & CORE_F_VECTOR ? 0 : f->op->place;
        s->index = f->op->index;
        s->offset = f->op->offset;
    }
}

// Stores go to L1 in order, after their retirement. there: when L1 has the line.
static void commit(struct core *c, uint64_t t, uint64_t line, uint64_t there)
{
    bool apart = line != c->commit_line;

    if (max(t, there) > c->committed) {
        c->committed = max(t, there);
        c->commits = c->commit_lines = 0;
        c->committed_late = there > t;
    }
    c->commit_lines += apart || !c->commits;
    if (++c->commits > c->m->commits || c->commit_lines > c->m->commit_lines) {
        c->committed++;
        c->commits = c->commit_lines = 1;
    }
    c->commit_line = line;
}

static void store(struct core *c, struct flow *f, const struct core_ref *r)
{
    uint64_t retired = c->retired;
    uint64_t address = issue(c, CORE_C_STORE_ADDRESS, f->addresses, UINT16_MAX);
    uint32_t class = f->op->flags & CORE_F_VECTOR ? CORE_C_STORE_VECTOR : CORE_C_STORE_DATA;
    uint64_t value = issue(c, class, f->done, UINT16_MAX);
    uint64_t from = c->m->early_stores ? address : max(address, retired), there = from;

    f->written = max(f->written, max(address, value) + 1);
    if (!f->issued)
        f->issued = max(address, value);
    if (r->level != CORE_AT_L1 || r->translation != CORE_TLB_HIT)
        there = data(c, r, translated(c, from, r->translation));
    else if (c->on_way[r->addr / CORE_LINE % CORE_LINES].line == r->addr / CORE_LINE)
        there = c->on_way[r->addr / CORE_LINE % CORE_LINES].ready;
    if (c->m->memory_back)
        written_back(c, r->addr / CORE_LINE, there);
    commit(c, max(f->written, retired) + 1, r->addr / CORE_LINE, there);
    if (crosses(r))
        commit(c, c->committed, r->addr / CORE_LINE + 1, there);
    remember(c, f, r, value);
}

static void execute(struct core *c, struct flow *f)
{
    const struct core_exec *e = f->e;

    f->addresses = registers(c->ready, f->op->address, f->op->addresses, f->start);
    for (uint32_t i = 0; i < e->refs; i++)
        if (e->ref[i].reads)
            load(c, f, &e->ref[i]);
    compute(c, f);
    for (uint32_t i = 0; i < e->refs; i++)
        if (e->ref[i].writes)
            store(c, f, &e->ref[i]);
    if (f->op->flags & CORE_F_LOCKED) {
        issue(c, CORE_C_LOCK, f->done, UINT16_MAX);
        f->done = max(max(f->done, f->written), c->retired) + c->m->cost[CORE_C_LOCK].latency;
    }
    if (f->op->flags & CORE_F_SERIAL) {
        f->done = max(max(f->done, f->written), c->retired + f->cost->latency);
        c->barrier = f->done;
    }
    if (f->op->flags & (CORE_F_LOCKED | CORE_F_SERIAL)) // they wait for retirement
        f->earlier = min(f->earlier, retires_earlier(c));
    for (uint32_t i = 0; i < f->op->results; i++) {
        c->ready[f->op->result[i]] = f->done;
        c->early[f->op->result[i]] = f->done - min(f->earlier, f->done);
        if (f->op->result[i] < CORE_FLAGS)
            c->wrote[f->op->result[i]] = c->insns;
    }
    if (c->m->fadd_chain)
        note_additions(c, f->op);
    c->insns++;
    if (!f->free)
        leaves_scheduler(c, f->issued);
}

// ---- Retirement ----

// Takes up to n of the parts that have no cause yet.
static void due_to(uint64_t parts[CORE_CAUSES], enum core_cause cause, uint64_t *left, uint64_t n)
{
    n = min(n, *left);
    parts[cause] += n;
    *left -= n;
}

// Of the parts for which retirement waits: what it would not have waited if the instruction had
// been allocated earlier.
static void causes_before(const struct core *c, const struct flow *f, uint64_t *left,
                          uint64_t parts[CORE_CAUSES])
{
    uint64_t width = c->m->width, late = f->front_late + f->store_late;
    uint64_t saved = late > f->slack ? min((late - f->slack) * width, *left) : 0;

    *left -= saved;
    due_to(parts, f->store_cause, &saved, f->store_late * width);
    due_to(parts, CORE_BAD, &saved, f->bad_late * width);
    due_to(parts, CORE_TLB, &saved, f->code_translation * width);
    due_to(parts, CORE_FRONT, &saved, saved);
}

// Of the rest: by how much more than before retirement is later than if the front end had not been.
// early: when this instruction would have ended.
static void causes_front(struct core *c, uint64_t early, uint64_t *left, uint64_t slots,
                         uint64_t parts[CORE_CAUSES])
{
    uint64_t width = c->m->width, now = c->retired * width + c->retired_parts, later;

    c->early_retired = max(c->early_retired + slots, early * width);
    later = now - min(c->early_retired, now);
    c->early_charged = min(c->early_charged + parts[CORE_FRONT], later);
    later = min(later - c->early_charged, *left);
    c->early_charged += later;
    due_to(parts, CORE_FRONT, left, later);
}

// And of that: from the instruction's end backwards.
static void causes_within(const struct core *c, const struct flow *f, uint64_t end, uint64_t left,
                          uint64_t parts[CORE_CAUSES])
{
    uint64_t width = c->m->width;

    due_to(parts, CORE_CORE, &left, (end - max(f->start, f->loaded)) * width);
    if (f->loaded > f->start) {
        due_to(parts, CORE_MEM, &left, f->memory * width);
        due_to(parts, CORE_TLB, &left, f->translation * width);
        due_to(parts, CORE_CORE, &left,
               (f->loaded - f->memory - f->translation - f->start) * width);
    }
    due_to(parts, c->waited, &left, left);
}

static void retire(struct core *c, struct flow *f, uint64_t parts[CORE_CAUSES])
{
    uint64_t end = max(f->done, f->written) + 1, width = c->m->width, left = 0, cycle;

    for (uint32_t i = 0; i < CORE_CAUSES; i++)
        parts[i] = 0;
    parts[CORE_BASE] = f->slots;
    c->retired += cycles_full(&c->retired_parts, f->slots, (uint32_t)width, (uint32_t)width);
    if (end > c->retired) {
        left = (end - c->retired) * width - c->retired_parts;
        c->retired = end;
        c->retired_parts = 0;
        causes_before(c, f, &left, parts);
    }
    causes_front(c, end - min(f->earlier, end), &left, f->slots, parts);
    if (left)
        causes_within(c, f, end, left, parts);
    cycle = c->retired + (c->retired_parts != 0);
    for (uint32_t i = 0; i < f->slots; i++) {
        c->early_rob[c->rob_next % CORE_ROB] = (c->early_retired + width - 1) / width;
        c->rob[c->rob_next++ % CORE_ROB] = cycle;
    }
    if (f->op->flags & CORE_F_LOAD)
        c->loads[c->loads_next++ % CORE_QUEUE] = cycle;
    if (f->op->flags & CORE_F_STORE)
        c->stores[c->stores_next++ % CORE_QUEUE] = c->committed * 2 + c->committed_late;
}

// ---- Branches ----

// Branches are often at the same place of lines, and in steps of a few bytes: one product alone put
// 4000 of them, 6 bytes apart, into a third of the sets.
static uint32_t mixed(uint32_t pc)
{
    pc *= UINT32_C(0x9e3779b1);
    return (pc ^ pc >> 15) * UINT32_C(0x85ebca6b) >> 12;
}

// Whether its target is known; it is, from now on. By the low half of its address, which is all
// that core_learn_branch() gets.
static bool has_target(struct core *c, uint32_t pc)
{
    return units_known(c->target, c->m->targets / UNITS_WAYS, pc + 1, mixed(pc));
}

// A taken branch that was foreseen: cycles until the front end goes on at its target. *again: it
// can in the same one. *miss: the target was not known.
static uint32_t until_target(struct core *c, const struct flow *f, bool *again, bool *miss)
{
    const struct core_machine *m = c->m;
    uint32_t pc = (uint32_t)f->e->pc, cycles = m->taken;
    bool near = units_known(c->near, m->near_targets / UNITS_WAYS, pc + 1, mixed(pc));
    bool known = has_target(c, pc);

    near &= !c->strayed || (f->op->flags & CORE_F_INDIRECT);
    c->strayed = false;
    // Not so of a call: it was measured to take a cycle where a jump takes half of one.
    *again = near && known && !(f->op->flags & (CORE_F_INDIRECT | CORE_F_RETURN | CORE_F_STORE));
    if (f->op->flags & (CORE_F_INDIRECT | CORE_F_RETURN))
        cycles += m->indirect;
    *miss = !known && !(f->op->flags & CORE_F_RETURN);
    if (*miss)
        cycles += m->target_miss;
    else if (!near)
        cycles += m->far_target;
    return cycles;
}

void core_learn_branch(struct core *c, uint32_t pc)
{
    has_target(c, pc);
}

// Whether the branch before it went to another place, pc, than the last time.
static bool another_place(struct core *c, uint32_t from, uint32_t pc)
{
    uint32_t *last = &c->last_target[from % CORE_LINES];
    bool another = *last != pc;

    *last = pc;
    c->strayed = another && c->m->near_path;
    return another;
}

// Cycles until the target, pc, of the indirect jump or call before it is known.
static uint32_t until_place(struct core *c, uint32_t from, uint32_t pc)
{
    uint32_t key = mixed(from + pc) ^ c->way, cycles = c->m->varied;

    if (!another_place(c, from, pc))
        return 0;
    c->way = c->way << 10 ^ mixed(pc) % 1024;
    if (c->m->far_place &&
        !units_known(c->place, c->m->near_places / UNITS_WAYS, key + !key, mixed(key)))
        cycles += c->m->far_place;
    return cycles;
}

// The target of the return, indirect jump or call before it is pc.
static void reached(struct core *c, uint64_t pc)
{
    bool returned = c->came == CORE_F_RETURN;
    uint32_t from = mixed((uint32_t)c->from), cycles;

    if (returned && c->m->near_path)
        another_place(c, from, (uint32_t)pc);
    cycles = returned ? c->m->returns : until_place(c, from, (uint32_t)pc);
    c->came = 0;
    if (!cycles)
        return;
    c->front += cycles;
    c->front_used = c->front_bytes = 0;
}

// The front end goes on at the target: in the same cycle, if not so many blocks were before it.
static void taken(struct core *c, const struct flow *f)
{
    bool again, miss;
    uint32_t cycles = until_target(c, f, &again, &miss);

    c->from = f->e->pc;
    c->came = f->op->flags & (CORE_F_INDIRECT | CORE_F_RETURN);
    if (c->block_cycle != c->front) {
        c->block_cycle = c->front;
        c->blocks = 0;
    }
    c->front_bytes = 0;
    c->line = NO_LINE; // what was decoded may be cached now
    if (again && ++c->blocks < c->m->blocks)
        return;
    c->front += cycles;
    c->front_used = 0;
    c->gap = c->m->far_hides && cycles > c->m->taken;
    if (miss && c->m->miss_stops)
        c->stopped = c->front;
}

// The front end begins anew after t.
static void resteer(struct core *c, uint64_t t)
{
    c->came = 0;
    c->front = max(c->front, t + c->m->resteer);
    c->front_used = c->front_bytes = 0;
    c->resteered = c->front;
    c->again = c->again_there = 0;
    if (c->m->cached_entry)
        c->line = NO_LINE;
}

// What comes after c->front came so many cycles earlier.
static void allocates_early_from(struct core *c, uint64_t earlier)
{
    c->early_alloc = max(c->early_alloc, c->front + 1 - min(earlier, c->front));
}

static void branch(struct core *c, const struct flow *f)
{
    const struct core_exec *e = f->e;

    if (e->taken)
        taken(c, f);
    if (e->mispredicted) {
        resteer(c, f->done);
        allocates_early_from(c, f->earlier);
    }
}

// ---- All of it ----

// Member by member: compilers clear and copy as much as this by string instructions, which were
// 45 % of core_run().
static void flow_begin(struct flow *f, const struct core *c, const struct core_exec *e)
{
    const struct core_op *op = e->op;
    uint32_t shape = c->shape[op->class][op->flags % CORE_SHAPES];

    f->e = e;
    f->op = op;
    f->cost = &c->m->cost[op->class];
    f->fused = (op->flags & CORE_F_COND) && (op->fuses & c->fuses) && e->pc == c->end;
    f->free = f->fused || shape % 2;
    f->slots = f->fused ? 0 : shape / 2;
    f->issued = f->loaded = f->memory = f->translation = f->code_translation = 0;
    f->store_late = f->bad_late = f->slack = f->written = f->earlier = 0;
    f->store_cause = CORE_BASE;
    f->replayed = false;
}

void core_run(struct core *c, const struct core_exec *e, uint64_t parts[CORE_CAUSES])
{
    struct flow f;

    flow_begin(&f, c, e);
    if (c->came)
        reached(c, e->pc);
    front(c, &f);
    allocate(c, &f);
    execute(c, &f);
    retire(c, &f, parts);
    if (e->op->flags & CORE_F_BRANCH)
        branch(c, &f);
    if (f.replayed) {
        resteer(c, c->retired);
        allocates_early_from(c, retires_earlier(c));
    }
    c->end = e->pc + e->op->bytes;
    c->fuses = e->op->flags & CORE_F_COND ? 0 : e->op->fuses;
}

// Without branches, since it is not to be predicted which instruction gets a cycle of useful work.
static uint64_t base_cycle(struct core *c, uint64_t parts)
{
    int64_t owed = c->owed[CORE_BASE] + (int64_t)parts;
    uint32_t random = c->random, width = c->m->width, due = c->due[CORE_BASE], gets, next;

    gets = owed >= (int64_t)due;
    next = 1 + random_below(c, width);
    c->random = random ^ ((random ^ c->random) & -gets);
    c->due[CORE_BASE] = due ^ ((due ^ next) & -gets);
    c->owed[CORE_BASE] = owed - (int64_t)(width & -gets);
    return gets;
}

static uint64_t cycles_of(struct core *c, uint32_t cause, uint64_t parts)
{
    uint32_t width = c->m->width;
    uint64_t n;

    c->owed[cause] += (int64_t)parts;
    if (c->owed[cause] < (int64_t)c->due[cause])
        return 0;
    n = (uint64_t)(c->owed[cause] - c->due[cause]) / width + 1;
    c->owed[cause] -= (int64_t)(n * width);
    c->due[cause] = 1 + random_below(c, width);
    return n;
}

void core_cycles(struct core *c, const uint64_t parts[CORE_CAUSES], uint64_t cycles[CORE_CAUSES])
{
    uint64_t others = c->due_now;

    // one cycle at most
    if (c->owed[CORE_BASE] + (int64_t)parts[CORE_BASE] - c->due[CORE_BASE] < c->m->width)
        cycles[CORE_BASE] = base_cycle(c, parts[CORE_BASE]);
    else
        cycles[CORE_BASE] = cycles_of(c, CORE_BASE, parts[CORE_BASE]);
    for (uint32_t i = CORE_BASE + 1; i < CORE_CAUSES; i++) {
        others |= parts[i];
        cycles[i] = 0;
    }
    if (!others)
        return;
    c->due_now = false;
    for (uint32_t i = CORE_BASE + 1; i < CORE_CAUSES; i++) {
        cycles[i] = cycles_of(c, i, parts[i]);
        c->due_now |= c->owed[i] >= (int64_t)c->due[i];
    }
}
