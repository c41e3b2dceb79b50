// SPDX-License-Identifier: MIT
//
// sim/core.c: what an instruction costs in each situation, and to which cause it goes. The machine
// below has small numbers; a cost is that of each further instruction of a loop that has run for a
// while, in quarters of a cycle (width is 4), by hand.
// Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core.h"

#define P(n) (1u << (n))

// clang-format off
static const struct core_machine machine = {
    .width = 4, .rob = 64, .scheduler = 40, .loads = 32, .stores = 16, .queue = 16,
    .decode = 4, .decode_bytes = 16, .cached = 4, .cached_lines = 16, .ahead = 2,
    .targets = 16, .target_miss = 5, .near_targets = 16, .taken = 1, .depth = 2, .resteer = 10,
    .l2 = 14, .ll = 50, .memory = 200, .l2_line = 2, .back_line = 2, .code_line = 2, .ll_line = 8,
    .memory_line = 20, .l1_buffers = 4, .l2_buffers = 8, .stlb = 7, .walk = 30, .walkers = 2,
    .forward = 5, .forward_fail = 12, .commits = 1, .commit_lines = 1, .near_places = 8,
    .eliminate = 1, .same_place = 1,
    .cost = {
        [CORE_C_LOAD] = { 4, 1, { { 1, P(2) | P(3) } } },
        [CORE_C_STORE_ADDRESS] = { 1, 1, { { 1, P(4) } } },
        [CORE_C_STORE_DATA] = { 1, 1, { { 1, P(5) } } },
        [CORE_C_STORE_VECTOR] = { 1, 1, { { 1, P(5) } } },
        [CORE_C_ALU] = { 1, 1, { { 1, P(0) | P(1) } } },
        [CORE_C_MOVE] = { 1, 1, { { 1, P(0) | P(1) } } },
        [CORE_C_MUL] = { 3, 1, { { 1, P(1) } } },
        [CORE_C_MUL_WIDE] = { 4, 1, { { 1, P(1) }, { 1, P(0) } } },
        [CORE_C_DIV32] = { 12, 6, { { 1, P(0) } } },
        [CORE_C_FDIV64] = { 10, 4, { { 1, P(0) } } },
        [CORE_C_BRANCH] = { 1, 1, { { 1, P(0) } } },
        [CORE_C_JUMP] = { 1, 1, { { 1, P(0) } } },
        [CORE_C_LOCK] = { 15, 1, { { 2, 0 } } },
        [CORE_C_SERIALIZE] = { 20, 1, { { 1, 0 } } },
        [CORE_C_VALU] = { 1, 1, { { 1, P(0) | P(1) } } },
    },
};
// clang-format on

static struct core *core;
static struct core_machine changed;
static uint64_t sum[CORE_CAUSES];

// A core that the previous test has not used.
static void begin_with(const struct core_machine *m)
{
    free(core);
    core = calloc(1, sizeof(*core));
    assert_non_null(core);
    core_init(core, m);
}

static void begin(void)
{
    begin_with(&machine);
}

// In parts of a cycle.
static uint64_t retired(void)
{
    return core->retired * core->m->width + core->retired_parts;
}

static void run(const struct core_exec *e)
{
    uint64_t parts[CORE_CAUSES], before = retired(), all = 0;

    core_run(core, e, parts);
    for (int i = 0; i < CORE_CAUSES; i++) {
        sum[i] += parts[i];
        all += parts[i];
    }
    assert_int_equal(all, retired() - before); // all that retirement grows by has a cause
}

static void execute(struct core_op op)
{
    struct core_exec e = { .op = &op, .pc = 0x1000 };

    op.bytes = 1;
    run(&e);
}

static void refer(struct core_op op, struct core_ref ref)
{
    struct core_exec e = { .op = &op, .pc = 0x1000, .ref = &ref, .refs = 1 };

    op.bytes = 1;
    run(&e);
}

static void forget_sum(void)
{
    memset(sum, 0, sizeof(sum));
}

static uint64_t all(void)
{
    uint64_t n = 0;

    for (int i = 0; i < CORE_CAUSES; i++)
        n += sum[i];
    return n;
}

static void expect(uint64_t base, uint64_t front, uint64_t bad, uint64_t mem, uint64_t tlb,
                   uint64_t units)
{
    assert_int_equal(sum[CORE_BASE], base);
    assert_int_equal(sum[CORE_FRONT], front);
    assert_int_equal(sum[CORE_BAD], bad);
    assert_int_equal(sum[CORE_MEM], mem);
    assert_int_equal(sum[CORE_TLB], tlb);
    assert_int_equal(sum[CORE_CORE], units);
}

// rax = rax op rax
static struct core_op chain(enum core_class class)
{
    return (struct core_op){ .class = (uint8_t) class, .sources = 1, .results = 1 };
}

// rax = constant
static struct core_op alone(enum core_class class)
{
    return (struct core_op){ .class = (uint8_t) class, .results = 1 };
}

// The cost of 120 further ones.
static void loop(struct core_op op)
{
    begin();
    for (int i = 0; i < 240; i++) {
        if (i == 120)
            forget_sum();
        execute(op);
    }
}

static void test_latency(void **state)
{
    (void)state;
    loop(chain(CORE_C_ALU)); // 1 cycle each: a quarter of it is work
    expect(120, 0, 0, 0, 0, 120 * 3);
    loop(chain(CORE_C_MUL)); // 3 cycles
    expect(120, 0, 0, 0, 0, 120 * 11);
    loop(chain(CORE_C_MUL_WIDE)); // 4 cycles, two micro-ops
    expect(240, 0, 0, 0, 0, 120 * 14);
    loop(chain(CORE_C_DIV32)); // 12 cycles
    expect(120, 0, 0, 0, 0, 120 * 47);
}

static void test_throughput(void **state)
{
    struct core_op wide = alone(CORE_C_FDIV64);

    (void)state;
    loop(alone(CORE_C_NONE)); // four in a cycle
    expect(120, 0, 0, 0, 0, 0);
    loop(alone(CORE_C_ALU)); // two ports
    expect(120, 0, 0, 0, 0, 120);
    loop(alone(CORE_C_MUL)); // one port
    expect(120, 0, 0, 0, 0, 120 * 3);
    loop(alone(CORE_C_DIV32)); // 6 cycles for each
    expect(120, 0, 0, 0, 0, 120 * 23);
    loop(wide); // 4
    expect(120, 0, 0, 0, 0, 120 * 15);
    wide.flags = CORE_F_256; // 8
    loop(wide);
    expect(120, 0, 0, 0, 0, 120 * 31);
    wide.flags = CORE_F_512; // 16
    loop(wide);
    expect(120, 0, 0, 0, 0, 120 * 63);
}

// Vectors of 512 bits have port 0 alone.
static void test_wide_ports(void **state)
{
    struct core_op op = alone(CORE_C_VALU);

    (void)state;
    op.flags = CORE_F_512;
    loop(op);
    expect(120, 0, 0, 0, 0, 120);
    changed = machine;
    changed.wide_ports = P(0) | P(6);
    begin_with(&changed);
    for (int i = 0; i < 240; i++) {
        if (i == 120)
            forget_sum();
        execute(op);
    }
    expect(120, 0, 0, 0, 0, 120 * 3);
}

// Those that need no unit: a move costs a chain nothing, and a zero ends it.
static void test_no_unit(void **state)
{
    struct core_op move = chain(CORE_C_MOVE), zero = chain(CORE_C_ALU);

    (void)state;
    move.flags = CORE_F_MOVE;
    loop(move);
    expect(120, 0, 0, 0, 0, 0);
    zero.flags = CORE_F_ZERO;
    loop(zero);
    expect(120, 0, 0, 0, 0, 0);
    changed = machine;
    changed.eliminate = 0;
    begin_with(&changed);
    for (int i = 0; i < 240; i++) {
        if (i == 120)
            forget_sum();
        execute(move);
    }
    expect(120, 0, 0, 0, 0, 120 * 3);
}

// cmp rax, then the branch behind it: one micro-op for two instructions, if it has a condition that
// fuses.
static void pairs(const struct core_machine *m, uint16_t fuses, uint64_t apart)
{
    struct core_op compare = {
        .class = CORE_C_ALU, .fuses = fuses, .results = 1, .result = { CORE_FLAGS }
    };
    struct core_op jump = { .class = CORE_C_BRANCH,
                            .flags = CORE_F_COND | CORE_F_BRANCH,
                            .fuses = 1u << 4,
                            .sources = 1,
                            .source = { CORE_FLAGS } };
    struct core_exec e = { .pc = 0x1000 };

    compare.bytes = jump.bytes = 1;
    begin_with(m);
    for (int i = 0; i < 240; i++) {
        if (i == 120)
            forget_sum();
        e.op = &compare;
        e.pc = 0x1000;
        run(&e);
        e.op = &jump;
        e.pc = 0x1001 + apart;
        run(&e);
    }
}

static void test_fused(void **state)
{
    (void)state;
    pairs(&machine, 0x30, 0); // port 0 has the branches, and with them the compares: 120 cycles
    expect(120, 0, 0, 0, 0, 360);
    pairs(&machine, 0x30, 1);     // not behind it
    expect(240, 0, 0, 0, 0, 240); // port 0 for the branches, and one for the compares
    pairs(&machine, 0xffcf, 0);   // another condition
    expect(240, 0, 0, 0, 0, 240);
    changed = machine;
    changed.cost[CORE_C_BRANCH].group[0].ports = P(0) | P(1);
    pairs(&changed, 0x30, 0); // two in a cycle
    expect(120, 0, 0, 0, 0, 120);
}

// 120 further ones of these two in turn.
static void turns(const struct core_machine *m, struct core_op a, struct core_op b)
{
    begin_with(m);
    for (int i = 0; i < 240; i++) {
        if (i == 120)
            forget_sum();
        execute(a);
        execute(b);
    }
}

// An addition of a constant takes a cycle, or none, and no port: four in a cycle. A branch that
// fuses with it takes a port of its own.
static void test_add_constants(void **state)
{
    struct core_op op = chain(CORE_C_ALU);

    (void)state;
    op.flags = CORE_F_CONSTANT;
    loop(op);
    expect(120, 0, 0, 0, 0, 120 * 3);
    changed = machine;
    changed.add_constants = 1;
    turns(&changed, op, op);
    expect(240, 0, 0, 0, 0, 0);
    turns(&changed, op, chain(CORE_C_MUL)); // 3 cycles, and no more
    expect(240, 0, 0, 0, 0, 120 * 10);
}

// A floating-point addition takes three cycles, and two to the next one; not to another operation.
static void test_fadd_chain(void **state)
{
    struct core_op add = chain(CORE_C_FADD), other = chain(CORE_C_VALU);

    (void)state;
    add.source[0] = add.result[0] = other.source[0] = other.result[0] = CORE_VECTOR + 2;
    changed = machine;
    changed.cost[CORE_C_FADD] = (struct core_cost){ 3, 1, { { 1, P(0) | P(1) } } };
    turns(&changed, add, add);
    expect(240, 0, 0, 0, 0, 240 * 11);
    turns(&changed, add, other);
    expect(240, 0, 0, 0, 0, 120 * 14);
    changed.fadd_chain = 1;
    turns(&changed, add, add);
    expect(240, 0, 0, 0, 0, 240 * 7);
    turns(&changed, add, other);
    expect(240, 0, 0, 0, 0, 120 * 14);
}

// ---- Memory ----

// rax = [rax]
static const struct core_op chase = {
    .class = CORE_C_NONE, .flags = CORE_F_LOAD, .results = 1, .addresses = 1
};
// rax = [rbx]
static const struct core_op get = {
    .class = CORE_C_NONE, .flags = CORE_F_LOAD, .results = 1, .addresses = 1, .address = { 3 }
};

// 100 loads of lines of their own after 100.
static void loads(const struct core_op *op, enum core_level level, enum core_translation tlb)
{
    begin();
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer(*op, (struct core_ref){ .addr = (i + 1) * 64,
                                      .size = 8,
                                      .level = (uint8_t)level,
                                      .translation = (uint8_t)tlb,
                                      .reads = true });
    }
}

static void test_chase(void **state)
{
    (void)state;
    loads(&chase, CORE_AT_L1, CORE_TLB_HIT); // 4 cycles
    expect(100, 0, 0, 0, 0, 100 * 15);
    loads(&chase, CORE_AT_L2, CORE_TLB_HIT); // 14: 10 more than L1
    expect(100, 0, 0, 100 * 40, 0, 100 * 15);
    loads(&chase, CORE_AT_L2, CORE_TLB_SECOND); // 7 more
    expect(100, 0, 0, 100 * 40, 100 * 28, 100 * 15);
}

static void test_chase_far(void **state)
{
    (void)state;
    loads(&chase, CORE_AT_LL, CORE_TLB_HIT); // 50
    expect(100, 0, 0, 100 * 46 * 4, 0, 100 * 15);
    loads(&chase, CORE_AT_MEMORY, CORE_TLB_HIT); // 200
    expect(100, 0, 0, 100 * 196 * 4, 0, 100 * 15);
    loads(&chase, CORE_AT_L1, CORE_TLB_WALK); // 30 + 7 + 4
    expect(100, 0, 0, 0, 100 * 37 * 4, 100 * 15);
}

static void test_bandwidth(void **state)
{
    (void)state;
    loads(&get, CORE_AT_L1, CORE_TLB_HIT); // two ports
    expect(100, 0, 0, 0, 0, 100);
    loads(&get, CORE_AT_MEMORY, CORE_TLB_HIT); // 4 lines on their way in 200 cycles: 50 each, and
    assert_int_equal(sum[CORE_BASE], 100);     // to a multiple of 20
    assert_in_range(sum[CORE_MEM] + sum[CORE_CORE] + 100, 100 * 200, 100 * 240);
}

// The second load of a line that is on its way waits for it, too.
static void test_on_way(void **state)
{
    struct core_ref r = { .addr = 0x4000, .size = 8, .level = CORE_AT_MEMORY, .reads = true };

    (void)state;
    begin();
    refer(get, r);
    r.level = CORE_AT_L1;
    r.addr += 8;
    forget_sum();
    refer(get, r); // arrives with the first one
    expect(1, 0, 0, 0, 0, 0);
    assert_in_range(core->retired, 200, 210);
    for (int i = 0; i < 300; i++)
        execute(alone(CORE_C_NONE));
    forget_sum();
    refer(get, r); // has been there for long
    assert_int_equal(sum[CORE_MEM], 0);
}

// A line that was loaded ahead, and not early enough.
static void test_ahead(void **state)
{
    struct core_ref r = { .addr = 0x4040, .size = 8, .level = CORE_AT_L2, .reads = true };

    (void)state;
    begin();
    core_ahead(core, 0x4040, CORE_AT_MEMORY); // at cycle 0: there at 200
    refer(get, r);
    assert_in_range(core->retired, 200, 203);
    begin();
    core_ahead(core, 0x4080, CORE_AT_MEMORY); // another one
    refer(get, r);
    assert_in_range(core->retired, 14, 25);
}

// ---- Stores ----

// rax = [rbx + offset], and the store of rax to it
static struct core_op put(int32_t offset)
{
    return (struct core_op){ .class = CORE_C_NONE,
                             .flags = CORE_F_STORE,
                             .sources = 1,
                             .addresses = 1,
                             .address = { 3 },
                             .place = 4,
                             .offset = offset };
}

// 200 rounds of a store and a load, of which the last 100 count.
static void rounds_through(int32_t put_at, struct core_ref to, int32_t get_at, struct core_ref from)
{
    struct core_op load = get;

    load.place = 4;
    load.offset = get_at;
    to.writes = from.reads = true;
    begin();
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer(put(put_at), to);
        refer(load, from);
    }
}

static void through_memory(int32_t put_at, uint16_t put_size, int32_t get_at, uint16_t get_size)
{
    rounds_through(put_at, (struct core_ref){ .addr = 0x8000, .size = put_size }, get_at,
                   (struct core_ref){ .addr = 0x8000, .size = get_size });
}

static void test_forwarding(void **state)
{
    (void)state;
    through_memory(8, 8, 16, 8); // another expression of the same address: 5 cycles
    expect(200, 0, 0, 0, 0, 100 * 18);
    // More than was stored: 12 after its commit, which is two cycles after its data.
    through_memory(8, 4, 16, 8);
    expect(200, 0, 0, 0, 0, 100 * (14 * 4 - 2));
    through_memory(8, 8, 8, 8); // the same expression: the store's port alone, one in a cycle
    expect(200, 0, 0, 0, 0, 100 * 2);
    through_memory(8, 8, 8, 4); // the first half of them
    expect(200, 0, 0, 0, 0, 100 * 2);
}

// Which bytes a load and the store before it have in common: 18 more parts in a round where all are
// the store's (above), 54 where some are, none but the store's port where none is.
static void test_overlaps(void **state)
{
    static const struct {
        uint64_t put, get;
        uint16_t put_size, get_size;
        uint32_t parts;
    } row[] = {
        { 0x8000, 0x8004, 8, 4, 18 },   // the last half
        { 0x8000, 0x8004, 8, 8, 54 },   // and four bytes behind it
        { 0x8004, 0x8000, 8, 8, 54 },   // four bytes before it
        { 0x8000, 0x8004, 4, 4, 2 },    // the other half of the word
        { 0x8004, 0x8000, 4, 4, 2 },    //
        { 0x8001, 0x8000, 1, 1, 2 },    // the byte before it
        { 0x8004, 0x8008, 8, 4, 18 },   // in the second word of the store
        { 0x8004, 0x800c, 8, 4, 2 },    // behind the store
        { 0x8004, 0x8008, 8, 8, 54 },   // some of them behind it
        { 0x8008, 0x8000, 8, 16, 54 },  // its second half
        { 0x8008, 0x8004, 8, 8, 54 },   // in the second word of the load
        { 0x8010, 0x8004, 8, 8, 2 },    // before the store
        { 0x8003, 0x8004, 16, 12, 18 }, // within three words
        { 0x8003, 0x8004, 16, 16, 54 },
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof row / sizeof *row; i++) {
        rounds_through(8, (struct core_ref){ .addr = row[i].put, .size = row[i].put_size }, 16,
                       (struct core_ref){ .addr = row[i].get, .size = row[i].get_size });
        expect(200, 0, 0, 0, 0, 100 * row[i].parts);
    }
}

// Two stores of four bytes each, and a load of both: it waits for the second one.
static void test_two_stores(void **state)
{
    struct core_op load = get;

    (void)state;
    load.place = 4;
    load.offset = 16;
    begin();
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer(put(8), (struct core_ref){ .addr = 0x8000, .size = 8, .writes = true });
        refer(put(8), (struct core_ref){ .addr = 0x8008, .size = 8, .writes = true });
        refer(load, (struct core_ref){ .addr = 0x8004, .size = 8, .reads = true });
    }
    expect(300, 0, 0, 0, 0, 100 * (15 * 4 - 3));
}

// A chain of loads of L1, 4 cycles: by an index that is scaled one more, and two more with a sign.
static void test_scaled(void **state)
{
    static const uint16_t flags[] = { 0, CORE_F_SCALED, CORE_F_SIGNED,
                                      CORE_F_SCALED | CORE_F_SIGNED };
    static const uint64_t cycles[] = { 4, 5, 6, 7 };
    struct core_machine m = machine;

    (void)state;
    m.scaled = 1;
    m.signed_load = 2;
    for (uint32_t k = 0; k < 4; k++) {
        struct core_op op = chase;

        op.flags |= flags[k];
        begin_with(&m);
        for (int i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            refer(op, (struct core_ref){ .addr = 0x8000, .size = 8, .reads = true });
        }
        expect(100, 0, 0, 0, 0, 100 * (cycles[k] * 4 - 1));
    }
}

// What is renamed begins where the store does, and is for a general register. A vector's load takes
// two cycles more, here from the store, 5 and 2, as from L1.
static void test_renaming(void **state)
{
    struct core_op to = { .class = CORE_C_NONE, .flags = CORE_F_STORE, .place = 8, .bytes = 4 };
    struct core_op from = { .class = CORE_C_NONE, .flags = CORE_F_LOAD, .place = 8, .bytes = 4 };
    struct core_machine m = machine;

    (void)state;
    m.any_base = 1;
    m.cost[CORE_C_LOAD_VECTOR] = m.cost[CORE_C_LOAD];
    m.cost[CORE_C_LOAD_VECTOR].latency += 2;
    to.sources = to.source[0] = from.results = from.result[0] = 1;
    for (uint32_t k = 0; k < 3; k++) {
        static const uint64_t cycles[] = { 1, 5, 7 };

        from.flags = k == 2 ? CORE_F_LOAD | CORE_F_VECTOR : CORE_F_LOAD;
        begin_with(&m);
        for (uint64_t i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            refer(to, (struct core_ref){ .addr = 0x8000, .size = 8, .writes = true });
            refer(from,
                  (struct core_ref){ .addr = 0x8000 + 4 * (k == 1), .size = 4, .reads = true });
        }
        assert_int_equal(all(), 100 * 4 * cycles[k]);
    }
}

// Two stores are kept, and one load is learnt.
static struct core_machine renaming(void)
{
    struct core_machine m = machine;

    m.rename_stores = 2;
    m.rename_loads = 1;
    return m;
}

static void refer_at(struct core_op op, uint64_t pc, uint64_t addr)
{
    struct core_ref ref = { .addr = addr, .size = 8 };
    struct core_exec e = { .op = &op, .pc = pc, .ref = &ref, .refs = 1 };

    ref.reads = (op.flags & CORE_F_LOAD) != 0;
    ref.writes = !ref.reads;
    op.bytes = 1;
    run(&e);
}

// [rbx + 8] = rax; then rax = [rbx + 8], from there
static struct core_op get_again(void)
{
    struct core_op from = get;

    from.addresses = 1;
    from.address[0] = 3;
    from.place = 4;
    from.offset = 8;
    return from;
}

// `others` stores between the store and its load, in cycles. One store in a cycle has a port.
static uint64_t with_others(const struct core_machine *m, uint32_t others)
{
    struct core_op other = put(64);

    other.source[0] = 5;
    begin_with(m);
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer_at(put(8), 0x1000, 0x8000);
        for (uint32_t k = 0; k < others; k++)
            refer_at(other, 0x1010, 0x9000);
        refer_at(get_again(), 0x1020, 0x8000);
    }
    return all();
}

// The last two are kept: behind two others the store is the third, and its data take 5 cycles.
static void test_renamed_stores(void **state)
{
    struct core_machine m = renaming();

    (void)state;
    assert_int_equal(with_others(&m, 0), 100 * 4);
    assert_int_equal(with_others(&m, 1), 100 * 4 * 2);
    assert_int_equal(with_others(&m, 2), 100 * 4 * 5);
    m.rename_stores = 0; // all that are not in L1
    assert_int_equal(with_others(&m, 2), 100 * 4 * 3);
}

// The base register is written between the two: the expression says nothing then, 5 cycles. That of
// the stack is followed.
static uint64_t written_between(uint32_t base)
{
    struct core_machine m = renaming();
    struct core_op change = { .class = CORE_C_NONE, .results = 1, .result = { (uint8_t)base } };
    struct core_op to = put(8), from = get_again();

    to.place = from.place = (uint8_t)(base + 1);
    begin_with(&m);
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer_at(to, 0x1000, 0x8000);
        execute(change);
        refer_at(from, 0x1020, 0x8000);
    }
    return all();
}

static void test_renamed_base(void **state)
{
    (void)state;
    assert_int_equal(written_between(7), 100 * 4 * 5);
    assert_int_equal(written_between(4), 100 * 4);
}

// The same index and scale are the same expression; without rename_stores none with an index is.
static void test_renamed_index(void **state)
{
    static const uint8_t index[] = { 6 + 1, 6 + 1 + 32, 6 + 1 };
    static const uint64_t cycles[] = { 1, 5, 5 };

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        struct core_machine m = renaming();
        struct core_op to = put(8), from = get_again();

        if (k == 2)
            m.rename_stores = 0;
        to.index = 6 + 1;
        from.index = index[k];
        begin_with(&m);
        for (int i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            refer_at(to, 0x1000, 0x8000);
            refer_at(from, 0x1020, 0x8000);
        }
        assert_int_equal(all(), 100 * 4 * cycles[k]);
    }
}

// Rounds of a store and a load of another base register, from one to the other, at one address
// each.
static void rounds(uint32_t n, uint64_t store, uint64_t load)
{
    struct core_op from = get_again();

    from.place = 8;
    for (uint32_t i = 0; i < n; i++) {
        refer_at(put(8), store, 0x8000);
        refer_at(from, load, 0x8000);
    }
}

// By the stack pointer alone: 4 is rsp. Other registers, loads that compute or extend the sign, and
// an addition to memory, whose load is renamed: it has the cycle of the addition.
static void test_stack_alone(void **state)
{
    static const struct {
        uint8_t base, class;
        uint16_t flags;
        uint64_t cycles;
    } of[] = {
        { 4, CORE_C_NONE, 0, 1 },
        { 3, CORE_C_NONE, 0, 5 },
        { 4, CORE_C_ALU, 0, 6 },
        { 4, CORE_C_NONE, CORE_F_SIGNED, 5 },
        { 4, CORE_C_ALU, CORE_F_STORE, 1 },
    };

    (void)state;
    for (uint32_t k = 0; k < sizeof(of) / sizeof(*of); k++) {
        struct core_machine m = renaming();
        struct core_op to = put(8), from = get_again();

        m.same_place = CORE_SAME_STACK;
        to.place = from.place = (uint8_t)(of[k].base + 1);
        from.class = of[k].class;
        from.flags |= of[k].flags;
        begin_with(&m);
        for (int i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            refer_at(to, 0x1000, 0x8000);
            refer_at(from, 0x1020, 0x8000);
        }
        assert_int_equal(all(), 100 * 4 * of[k].cycles);
    }
}

// A load with another expression is foreseen when it has had the same store's data 72 times since
// the first time: 5 cycles in 73 rounds, the last of which waits for the first that does not.
static void test_learnt(void **state)
{
    struct core_machine m = renaming();

    (void)state;
    m.any_base = 1;
    begin_with(&m);
    rounds(63, 0x1000, 0x1020);
    forget_sum();
    rounds(10, 0x1000, 0x1020);
    assert_int_equal(all(), 10 * 4 * 5);
    rounds(10, 0x1000, 0x1020);
    forget_sum();
    rounds(100, 0x1000, 0x1020);
    assert_int_equal(all(), 100 * 4);
}

// One load is kept: two in turn are never learnt. With room for two, and with none to learn.
static void test_learnt_places(void **state)
{
    static const uint16_t loads[] = { 1, 2, 0 };
    static const uint64_t cycles[] = { 5, 1, 5 };

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        struct core_machine m = renaming();

        m.any_base = 1;
        m.rename_loads = loads[k];
        begin_with(&m);
        for (uint32_t i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            rounds(1, 0x1000, 0x1020);
            rounds(1, 0x1040, 0x1060);
        }
        assert_int_equal(all(), 200 * 4 * cycles[k]);
    }
}

// After 200 rounds the load is as sure as it can be, 127, and has another store's data: the front
// end begins anew when it has been retired. The next instruction is retired 15 cycles later: 10
// until it is there, 1 to allocation, 2 to execution, and 2; one part of the last is its own. At
// 103 it is sure still; the second and third time make it 79 and 55: the fourth costs nothing, and
// so do those that follow until it is sure again.
static void test_replayed(void **state)
{
    struct core_machine m = renaming();
    uint64_t bad[5];

    (void)state;
    m.any_base = 1;
    begin_with(&m);
    rounds(200, 0x1000, 0x1020);
    for (uint32_t k = 0; k < 5; k++) {
        forget_sum();
        rounds(1, 0x1000 + (k < 4) * 0x40, 0x1020);
        execute(chain(CORE_C_ALU));
        bad[k] = sum[CORE_BAD];
    }
    assert_int_equal(bad[0], bad[1]);
    assert_int_equal(bad[0], bad[2]);
    assert_int_equal(bad[0], 15 * 4 - 1);
    assert_int_equal(bad[3], 0);
    assert_int_equal(bad[4], 0);
}

// Lines of L2 that do not wait for each other, one in two cycles; of one set of L1 one in six.
static void test_sets(void **state)
{
    struct core_op from = { .class = CORE_C_NONE, .flags = CORE_F_LOAD, .bytes = 4 };
    struct core_machine m = machine;

    (void)state;
    m.set_line = 6;
    m.l1_buffers = 64;
    for (uint64_t step = 64; step <= 4096; step *= 64) {
        begin_with(&m);
        for (uint64_t i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            refer(from, (struct core_ref){
                            .addr = i * step, .size = 8, .level = CORE_AT_L2, .reads = true });
        }
        assert_int_equal(all(), 100 * 4 * (step == 64 ? 2 : 6));
    }
}

// Stores that L1 takes one by one, and whose lines are far: the store queue is full.
static void test_stores(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer(put(0), (struct core_ref){ .addr = 0x8000 + 8 * i, .size = 8, .writes = true });
    }
    expect(100, 0, 0, 0, 0, 100 * 3); // a port, and a store in a cycle
    begin();
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer(put(0),
              (struct core_ref){
                  .addr = 0x8000 + 64 * i, .size = 8, .level = CORE_AT_MEMORY, .writes = true });
    }
    // 4 lines on their way at a time, each for 200 cycles, and the path from L2 to write one back
    expect(100, 0, 0, 25 * 202 * 4 - 100, 0, 0);
}

// The parts of 100 stores, the i-th of which is to `step` * (i % 2) behind the first.
static uint64_t stores_to(const struct core_machine *m, uint64_t first, uint64_t step,
                          uint16_t flags)
{
    struct core_op to = put(0);

    to.flags |= flags;
    begin_with(m);
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        refer(to, (struct core_ref){ .addr = first + step * (i % 2), .size = 8, .writes = true });
    }
    return all();
}

// Two ports for data and addresses, and two stores in a cycle to one line: of two lines in turn one
// in a cycle, if there is one line in a cycle; two of 8 bytes in two lines each take two. Data of
// vectors have one port.
static void test_commit_lines(void **state)
{
    struct core_machine m = machine;

    (void)state;
    m.cost[CORE_C_STORE_ADDRESS].group[0].ports = P(4) | P(6);
    m.cost[CORE_C_STORE_DATA].group[0].ports = P(5) | P(7);
    m.commits = 2;
    assert_int_equal(stores_to(&m, 0x8000, 8, 0), 100 * 2);
    assert_int_equal(stores_to(&m, 0x8000, 64, 0), 100 * 4);
    assert_int_equal(stores_to(&m, 0x803c, 0, 0), 100 * 8);
    assert_int_equal(stores_to(&m, 0x8000, 8, CORE_F_VECTOR), 100 * 4);
    m.commit_lines = 2;
    assert_int_equal(stores_to(&m, 0x8000, 64, 0), 100 * 2);
    assert_int_equal(stores_to(&m, 0x803c, 0, 0), 100 * 4);
}

// A line of L2 that is written takes the way between for two cycles, and again when it is written
// back, if that takes the same way.
static void test_back_line(void **state)
{
    struct core_machine m = machine;

    (void)state;
    m.l1_buffers = 64;
    for (uint16_t back = 0; back <= 2; back += 2) {
        m.back_line = back;
        begin_with(&m);
        for (uint64_t i = 0; i < 400; i++) {
            if (i == 200)
                forget_sum();
            refer(put(0),
                  (struct core_ref){
                      .addr = 0x8000 + 64 * i, .size = 8, .level = CORE_AT_L2, .writes = true });
        }
        assert_in_range(all(), 200 * 4 * (2u + back) - 32, 200 * 4 * (2u + back));
    }
}

// A load of memory, 200 cycles, and a store of its data to another line: the line is requested when
// the load has retired, or, early, at the same time.
static void test_early_stores(void **state)
{
    struct core_machine m = machine;

    (void)state;
    for (uint16_t early = 0; early <= 1; early++) {
        m.early_stores = early;
        begin_with(&m);
        refer(get, (struct core_ref){
                       .addr = 0x4000, .size = 8, .level = CORE_AT_MEMORY, .reads = true });
        refer(put(8), (struct core_ref){
                          .addr = 0x8000, .size = 8, .level = CORE_AT_MEMORY, .writes = true });
        assert_in_range(core->committed, early ? 200 : 400, early ? 230 : 415);
    }
}

// Lines of memory that are written take the path for 20 cycles, and for as many when they are
// written back, whether a store brought them or they had been loaded ahead; once each.
static void written(const struct core_machine *m, bool ahead, uint64_t times)
{
    begin_with(m);
    for (uint64_t i = 0; i < 400 * times; i++) {
        uint64_t addr = 0x8000 + 64 * (i / times);
        struct core_ref ref = { .addr = addr, .size = 8, .writes = true };

        if (i == 200 * times)
            forget_sum();
        if (i % times == 0 && ahead)
            core_ahead(core, addr, CORE_AT_MEMORY);
        if (i % times == 0)
            ref.level = ahead ? CORE_AT_L2 : CORE_AT_MEMORY;
        refer(put(0), ref);
    }
}

static void test_memory_back(void **state)
{
    struct core_machine m = machine;

    (void)state;
    m.l1_buffers = m.l2_buffers = 64;
    m.back_line = 0;
    m.stores = 64;
    for (uint16_t back = 0; back <= 20; back += 20) {
        m.memory_back = back;
        for (int ahead = 0; ahead < 2; ahead++)
            for (uint64_t times = 1; times <= 2; times++) {
                written(&m, ahead, times);
                assert_in_range(all(), 200 * 4 * (20u + back) - 1600,
                                200 * 4 * (20u + back) + 1600);
            }
    }
}

// A chain of loads that are in two lines: 4 cycles, and these for the second one.
static void test_crossing(void **state)
{
    struct core_machine m = machine;

    (void)state;
    for (uint16_t more = 0; more <= 7; more += 7) {
        m.crossing = more;
        begin_with(&m);
        for (int i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            refer(chase, (struct core_ref){ .addr = 0x803c, .size = 8, .reads = true });
        }
        expect(100, 0, 0, 100u * more * 4, 0, 100 * (4 * 4 - 1));
    }
}

// ---- The window ----

// A load from memory, then 63 instructions that do not wait for it: as many as the reorder buffer
// has. Two such loads do not overlap; with 31 they do.
static void groups(int others)
{
    begin();
    for (uint64_t i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        refer(get, (struct core_ref){
                       .addr = (i + 1) * 64, .size = 8, .level = CORE_AT_MEMORY, .reads = true });
        for (int k = 0; k < others; k++)
            execute(alone(CORE_C_NONE));
    }
}

static void test_window(void **state)
{
    (void)state;
    groups(63);
    assert_in_range(all(), 10 * 200 * 4, 10 * 225 * 4);
    groups(31);
    assert_in_range(all(), 5 * 200 * 4, 5 * 225 * 4);
}

// A chain of 12 cycles each, and a scheduler of 40: only 40 wait. Those that need no unit pass.
static void test_scheduler(void **state)
{
    (void)state;
    changed = machine;
    changed.scheduler = 4;
    begin_with(&changed);
    for (int i = 0; i < 8; i++)
        execute(chain(CORE_C_DIV32));
    assert_true(core->alloc >= 12 * 3); // the fourth one before it has begun
    begin();
    for (int i = 0; i < 8; i++)
        execute(chain(CORE_C_DIV32));
    assert_true(core->alloc < 12);
}

// ---- The front end ----

static void test_mispredicted(void **state)
{
    struct core_op jump = { .class = CORE_C_BRANCH,
                            .flags = CORE_F_COND | CORE_F_BRANCH,
                            .bytes = 2 };
    struct core_exec e = { .op = &jump, .pc = 0x1000, .mispredicted = true };

    (void)state;
    begin();
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        run(&e);
    }
    // done; 10 until micro-ops arrive, 1 to allocation, 2 to execution, 1 to be done: 14 cycles
    expect(10, 0, 10 * (14 * 4 - 1), 0, 0, 0);
}

// Code that is decoded: 16 bytes in a cycle. Cached micro-ops: 4.
static void test_decoding(void **state)
{
    struct core_op op = { .class = CORE_C_NONE, .bytes = 8 };
    struct core_exec e = { .op = &op };

    (void)state;
    begin();
    for (uint64_t i = 0; i < 320; i++) { // 40 lines: more than are cached
        if (i == 160)
            forget_sum();
        e.pc = i * 8;
        run(&e);
    }
    // a line: 8 instructions, 2 in a cycle
    expect(160, 20 * (4 * 4 - 8), 0, 0, 0, 0);
    begin();
    for (uint64_t i = 0; i < 320; i++) { // two lines, again and again
        if (i == 160)
            forget_sum();
        e.pc = i % 16 * 8;
        run(&e);
    }
    expect(160, 0, 0, 0, 0, 0);
}

// The parts of 10 rounds, after 10, of a loop of n instructions of one byte, from 0x1000 + begin
// on; the last one jumps back.
static uint64_t line_loop(uint16_t more, uint64_t begin, uint64_t n)
{
    struct core_op op = { .class = CORE_C_NONE, .bytes = 1 };
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 1 };

    changed = machine;
    changed.decode = 1;
    changed.cached_more = more;
    begin_with(&changed);
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        for (uint64_t k = 0; k < n; k++) {
            struct core_exec e = { .op = k + 1 < n ? &op : &jump, .pc = 0x1000 + begin + k };

            e.taken = k + 1 == n;
            run(&e);
        }
    }
    return all();
}

// A loop within one line is decoded once, though it never comes to another line. Cached micro-ops:
// 4 in a cycle, and the jump ends one. Of one line there are more only 2 cycles later, and these
// come alone. A cycle has four parts.
static void test_cached_loop(void **state)
{
    (void)state;
    assert_int_equal(line_loop(0, 0, 12), 10 * 3 * 4);
    assert_int_equal(line_loop(2, 0, 4), 10 * 1 * 4);
    assert_int_equal(line_loop(2, 0, 12), 10 * 5 * 4); // cycles 0, 2 and 4
    assert_int_equal(line_loop(0, 58, 8), 10 * 2 * 4);
    assert_int_equal(line_loop(2, 58, 8), 10 * 4 * 4); // 0 and 2, then two of the next line at 3
    assert_int_equal(line_loop(2, 60, 8), 10 * 2 * 4); // four of each line
}

// A taken branch costs the front end a cycle, one of which the target is not known five more.
static void test_taken(void **state)
{
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
    struct core_exec e = { .op = &jump, .taken = true };

    (void)state;
    begin();
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        e.pc = 0x1000;
        run(&e);
    }
    assert_int_equal(all(), 400);
    begin();
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        e.pc = 0x1000 + i % 64; // more branches than it knows, in one line
        run(&e);
    }
    assert_int_equal(all(), 6 * 400);
}

// The parts of 100 taken branches, of so many in turn, all of one line.
static uint64_t jumps_of(const struct core_machine *m, uint16_t flags, uint64_t branches)
{
    struct core_op jump = { .class = CORE_C_JUMP, .flags = flags, .bytes = 2 };
    struct core_exec e = { .op = &jump, .taken = true };

    begin();
    memset(core, 0, sizeof(*core));
    core_init(core, m);
    for (uint64_t i = 0; i < 200; i++) {
        if (i == 100)
            forget_sum();
        e.pc = 0x1000 + i % branches;
        run(&e);
    }
    return all();
}

// Eight near targets; of nine in turn each was replaced last, and takes two cycles more. An
// indirect jump and a return take three more. The width is 4: a cycle has four parts.
static void test_near_targets(void **state)
{
    struct core_machine m = machine;

    (void)state;
    m.near_targets = 8;
    m.far_target = 2;
    m.indirect = 3;
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH, 8), 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH, 9), 3 * 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH | CORE_F_INDIRECT, 8), 4 * 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH | CORE_F_INDIRECT, 9), 6 * 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH | CORE_F_RETURN, 8), 4 * 400);
}

// A direct jump behind an indirect one, or a return, that goes to places in turn: known near, it
// takes a cycle, and two more behind another place than the last time, if the way matters.
static void test_near_path(void **state)
{
    static const uint16_t flag[] = { CORE_F_INDIRECT, CORE_F_RETURN };
    struct core_machine m = machine;

    (void)state;
    m.far_target = 2;
    for (uint32_t k = 0; k < 8; k++) {
        uint64_t places = 1 + k % 2, path = k / 2 % 2;
        struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
        struct core_op goes = jump;
        struct core_exec e = { .taken = true };

        m.near_path = (uint16_t)path;
        goes.flags |= flag[k / 4];
        begin_with(&m);
        for (uint64_t i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            e.op = &goes;
            e.pc = 0x1000;
            run(&e);
            e.op = &jump;
            e.pc = 0x1010 + i % places * 2;
            run(&e);
        }
        assert_int_equal(all(), 100 * 4 * (2 + (places == 2 && path ? 2 : 0)));
    }
}

// Jumps in lines whose micro-ops are not cached, to far targets: a cycle, one for the target, and
// one for the change to another line, unless the target hides it.
static void test_far_hides(void **state)
{
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
    struct core_exec e = { .op = &jump, .taken = true };
    struct core_machine m = machine;

    (void)state;
    m.targets = 256;
    m.near_targets = 8;
    m.far_target = 1;
    for (uint16_t hides = 0; hides < 2; hides++) {
        m.far_hides = hides;
        begin_with(&m);
        for (uint64_t i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            e.pc = 0x1000 + i % 40 * 64;
            run(&e);
        }
        assert_int_equal(all(), 100 * 4 * (3u - hides));
    }
}

// A jump to the next line, in L2, whose target was not known: its line has been requested with the
// one before it, and comes in the 20 cycles that the target takes; or it
// is requested when the target is known, and takes 14 more.
static uint64_t jump_to_far(uint16_t stops)
{
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
    struct core_op there = { .class = CORE_C_NONE, .bytes = 1 };
    struct core_exec e = { .op = &jump, .pc = 0x1000, .fetches = true, .taken = true };
    struct core_machine m = machine;
    uint64_t from;

    m.miss_stops = stops;
    m.target_miss = 20;
    begin_with(&m);
    run(&e);
    from = core->front;
    e = (struct core_exec){ .op = &there, .pc = 0x1040, .fetches = true, .level = CORE_AT_L2 };
    run(&e);
    return core->front - from;
}

static void test_miss_stops(void **state)
{
    (void)state;
    assert_int_equal(jump_to_far(0), 1);
    assert_int_equal(jump_to_far(1), 15);
}

// Two near targets in a cycle: the 100 branches take 50. One that is not near is the cycle's last;
// of nine in turn none is: 100 cycles. An indirect jump and a return end theirs.
static void test_blocks(void **state)
{
    struct core_machine m = machine;

    (void)state;
    m.near_targets = 8;
    m.blocks = 2;
    m.cost[CORE_C_JUMP].group[0].ports = P(0) | P(1);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH, 8), 200);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH, 9), 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH | CORE_F_INDIRECT, 8), 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH | CORE_F_RETURN, 8), 400);
    assert_int_equal(jumps_of(&m, CORE_F_BRANCH | CORE_F_STORE, 8), 400); // and a call
}

// An indirect jump that goes to places in turn: to another one than the last time it takes two
// cycles more. Of the 200 branches every second one is it: 100 cycles, and 200 more; a return as
// well, wherever it goes.
static void test_varied(void **state)
{
    static const uint16_t flag[] = { CORE_F_INDIRECT, CORE_F_INDIRECT, CORE_F_RETURN };
    static const uint64_t places[] = { 1, 2, 1 }, expected[] = { 200 * 4, 400 * 4, 400 * 4 };
    struct core_machine m = machine;

    (void)state;
    m.varied = m.returns = 2;
    for (uint32_t k = 0; k < 3; k++) {
        struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
        struct core_op goes = jump;
        struct core_exec e = { .op = &jump, .taken = true };

        goes.flags |= flag[k];
        begin_with(&m);
        for (uint64_t i = 0; i < 300; i++) {
            if (i == 100)
                forget_sum();
            e.op = &goes;
            e.pc = 0x1000;
            run(&e);
            e.op = &jump;
            e.pc = 0x1010 + i % places[k] * 2;
            run(&e);
            if (i == 199)
                assert_int_equal(all(), expected[k]);
        }
    }
}

// An indirect jump that goes to as many places in turn: with eight that are near none takes three
// cycles more, with more of them each does. To the same place again nothing is waited for.
static void test_near_places(void **state)
{
    static const uint64_t places[] = { 1, 2, 30 }, expected[] = { 200 * 4, 200 * 4, 500 * 4 };
    struct core_op goes = { .class = CORE_C_JUMP,
                            .flags = CORE_F_BRANCH | CORE_F_INDIRECT,
                            .bytes = 2 };
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
    struct core_machine m = machine;

    (void)state;
    m.far_place = 3;
    m.targets = m.near_targets = 256;
    for (uint32_t k = 0; k < 3; k++) {
        struct core_exec e = { .taken = true };

        begin_with(&m);
        for (uint64_t i = 0; i < 200; i++) {
            if (i == 100)
                forget_sum();
            e.op = &goes;
            e.pc = 0x1000;
            run(&e);
            e.op = &jump;
            e.pc = 0x1004 + i % places[k] * 2;
            run(&e);
        }
        assert_int_equal(all(), expected[k]);
    }
}

// 4000 targets in steps of six bytes have their places in a table of 8704, but for those of sets
// that more than eight share by chance: 4 in 100. One that is missed takes five cycles more.
static void test_target_places(void **state)
{
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
    struct core_exec e = { .op = &jump, .taken = true };
    struct core_machine m = machine;

    (void)state;
    m.targets = 8704;
    m.cached_lines = 1024;
    begin_with(&m);
    for (uint64_t i = 0; i < 8000; i++) {
        if (i == 4000)
            forget_sum();
        e.pc = 0x1000 + i % 4000 * 6;
        run(&e);
    }
    assert_in_range(all(), 4000 * 4, 4000 * 4 + 160 * 5 * 4);
}

static void test_far_code(void **state)
{
    struct core_op op = { .class = CORE_C_NONE, .bytes = 64 };
    struct core_exec e = { .op = &op, .fetches = true, .level = CORE_AT_MEMORY };

    (void)state;
    begin();
    for (uint64_t i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        e.pc = i * 64;
        run(&e);
    }
    assert_int_equal(sum[CORE_MEM] + sum[CORE_BAD] + sum[CORE_TLB], 0);
    assert_in_range(all(), 10 * 60 * 4, 10 * 110 * 4); // two ahead: three at a time in 200 cycles
    e.level = CORE_AT_L1;
    e.translation = CORE_TLB_WALK;
    begin();
    for (uint64_t i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        e.pc = i * 64;
        run(&e);
    }
    // 37 cycles, 1 to change the line, 4 cycles for its bytes (64 at 16): as its one instruction
    // is longer than a cycle's bytes, it is alone in one
    assert_int_equal(sum[CORE_TLB], 10 * 37 * 4);
}

// Two instructions in each line, from memory. Cycles after 40, with the second one's fetch or
// without.
static uint64_t two_in_a_line(bool again)
{
    struct core_op op = { .class = CORE_C_NONE, .bytes = 32 };
    struct core_exec e = { .op = &op };

    begin();
    for (uint64_t i = 0; i < 40; i++) {
        e.pc = i * 32;
        e.fetches = i % 2 == 0 || again;
        e.level = i % 2 == 0 ? CORE_AT_MEMORY : CORE_AT_L1;
        run(&e);
    }
    return retired();
}

static void test_fetched_again(void **state)
{
    (void)state;
    assert_int_equal(two_in_a_line(true), two_in_a_line(false));
}

// The front end's cycle behind a jump, after it has learnt its line, its target, both or none.
static uint64_t first_jump(bool line, bool target)
{
    struct core_op jump = { .class = CORE_C_JUMP, .flags = CORE_F_BRANCH, .bytes = 2 };
    struct core_exec e = { .op = &jump, .pc = 0x1000, .taken = true };

    begin();
    if (line)
        core_learn_line(core, 0x1000);
    if (target)
        core_learn_branch(core, 0x1000);
    core->line = UINT64_MAX; // it comes from elsewhere
    run(&e);
    return core->front;
}

// A target that is known saves the five cycles, and a line that is known the decoders' one. What is
// learnt twice is learnt once.
static void test_learning(void **state)
{
    struct core *once = malloc(sizeof(*once));

    (void)state;
    assert_int_equal(first_jump(false, false) - first_jump(false, true), 5);
    assert_int_equal(first_jump(false, true) - first_jump(true, true), 1);
    begin();
    core_learn_line(core, 0x103e); // an instruction in two lines
    core_learn_line(core, 0x1042);
    memcpy(once, core, sizeof(*once));
    core_learn_line(core, 0x103e);
    core_learn_line(core, 0x1042);
    assert_memory_equal(once, core, sizeof(*once));
    free(once);
}

// ---- Waiting for all ----

static void test_barriers(void **state)
{
    struct core_op lock = { .class = CORE_C_ALU, .flags = CORE_F_LOCKED };
    struct core_op fence = { .class = CORE_C_SERIALIZE, .flags = CORE_F_SERIAL };

    (void)state;
    loop(lock); // 15 cycles after the one before has retired, a cycle later: 16; three micro-ops
    expect(360, 0, 0, 0, 0, 120 * (16 * 4 - 3));
    loop(fence); // 20, and 2 from its allocation, for which it waited
    expect(120, 0, 0, 0, 0, 120 * (22 * 4 - 1));
}

// ---- Whole cycles ----

static void test_cycles(void **state)
{
    struct core_op op = alone(CORE_C_NONE), far = chase;
    uint64_t parts[CORE_CAUSES], cycles[CORE_CAUSES], got[CORE_CAUSES] = { 0 };
    uint64_t of[4] = { 0 }, exact[CORE_CAUSES] = { 0 };
    struct core_ref r = { .size = 8, .reads = true };
    struct core_exec e = { .op = &op, .pc = 0x1000 }, m = { .op = &far, .pc = 0x1000, .refs = 1 };

    (void)state;
    op.bytes = far.bytes = 1;
    m.ref = &r;
    begin();
    for (uint64_t i = 0; i < 40000; i++) {
        r.addr = i * 4096;
        r.level = (uint8_t)(i % 4);
        r.translation = (uint8_t)(i % 3);
        core_run(core, i % 1000 == 7 ? &m : &e, parts);
        core_cycles(core, parts, cycles);
        for (int k = 0; k < CORE_CAUSES; k++) {
            exact[k] += parts[k];
            got[k] += cycles[k];
            assert_in_range(got[k] * 4 + 4 - exact[k], 1, 7); // less than a cycle apart
        }
        of[i % 4] += cycles[CORE_BASE];
    }
    // a loop of four: each of them gets a quarter of the cycles of useful work, not one of them all
    for (int k = 0; k < 4; k++)
        assert_in_range(of[k], 2500 - 250, 2500 + 250);
    assert_int_equal(of[0] + of[1] + of[2] + of[3], got[CORE_BASE]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency),       cmocka_unit_test(test_throughput),
        cmocka_unit_test(test_wide_ports),    cmocka_unit_test(test_no_unit),
        cmocka_unit_test(test_fused),         cmocka_unit_test(test_chase),
        cmocka_unit_test(test_chase_far),     cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_on_way),        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_forwarding),    cmocka_unit_test(test_stores),
        cmocka_unit_test(test_overlaps),      cmocka_unit_test(test_two_stores),
        cmocka_unit_test(test_window),        cmocka_unit_test(test_scheduler),
        cmocka_unit_test(test_mispredicted),  cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_cached_loop),   cmocka_unit_test(test_taken),
        cmocka_unit_test(test_near_targets),  cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_miss_stops),    cmocka_unit_test(test_near_path),
        cmocka_unit_test(test_far_hides),     cmocka_unit_test(test_add_constants),
        cmocka_unit_test(test_fadd_chain),    cmocka_unit_test(test_memory_back),
        cmocka_unit_test(test_crossing),      cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_early_stores),  cmocka_unit_test(test_commit_lines),
        cmocka_unit_test(test_back_line),     cmocka_unit_test(test_near_places),
        cmocka_unit_test(test_target_places), cmocka_unit_test(test_varied),
        cmocka_unit_test(test_renaming),      cmocka_unit_test(test_sets),
        cmocka_unit_test(test_far_code),      cmocka_unit_test(test_fetched_again),
        cmocka_unit_test(test_learning),      cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_cycles),        cmocka_unit_test(test_renamed_stores),
        cmocka_unit_test(test_renamed_base),  cmocka_unit_test(test_renamed_index),
        cmocka_unit_test(test_stack_alone),   cmocka_unit_test(test_learnt),
        cmocka_unit_test(test_learnt_places), cmocka_unit_test(test_replayed),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);

    free(core);
    return status;
}
