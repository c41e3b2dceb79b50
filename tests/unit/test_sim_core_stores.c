// SPDX-License-Identifier: MIT
//
// sim/core.c: what stores cost, and loads of what was just stored: forwarding, renaming, commits,
// lines that are written back (sim_core.h).
// Run by `make check-sim`.
#include "tests/unit/sim_core.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forwarding),     cmocka_unit_test(test_stores),
        cmocka_unit_test(test_overlaps),       cmocka_unit_test(test_two_stores),
        cmocka_unit_test(test_memory_back),    cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_scaled),         cmocka_unit_test(test_early_stores),
        cmocka_unit_test(test_commit_lines),   cmocka_unit_test(test_back_line),
        cmocka_unit_test(test_renaming),       cmocka_unit_test(test_sets),
        cmocka_unit_test(test_renamed_stores), cmocka_unit_test(test_renamed_base),
        cmocka_unit_test(test_renamed_index),  cmocka_unit_test(test_stack_alone),
        cmocka_unit_test(test_learnt),         cmocka_unit_test(test_learnt_places),
        cmocka_unit_test(test_replayed),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);

    free(core);
    return status;
}
