// SPDX-License-Identifier: MIT
//
// sim/core.c: entries of the cache of micro-ops, lines of code behind a misprediction, repeated
// string instructions, and micro-ops that are bound to a port (sim_core.h). Run by `make
// check-sim`.
#include "tests/unit/sim_core.h"

static struct core_machine entries;

// An instruction of a round; a jump goes to the next one of the list, the last one to the first.
struct step {
    uint64_t pc;
    uint8_t constants;
    bool jumps;
};

// Cycles, in eighths, of ten rounds after ten.
static uint64_t rounds(const struct step *s, size_t n)
{
    begin_with(&entries);
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        for (size_t k = 0; k < n; k++) {
            struct core_op op = { .class = CORE_C_NONE, .bytes = 1, .constants = s[k].constants };
            struct core_exec e = { .op = &op, .pc = s[k].pc, .taken = s[k].jumps };

            if (s[k].jumps)
                op.flags = CORE_F_BRANCH;
            run(&e);
        }
    }
    return all();
}

#define OP(at, ...)                             \
    {                                           \
        .pc = (at), .jumps = false, __VA_ARGS__ \
    }
#define JUMP(at, ...)                          \
    {                                          \
        .pc = (at), .jumps = true, __VA_ARGS__ \
    }
#define ROUNDS(...)                              \
    rounds((const struct step[]){ __VA_ARGS__ }, \
           sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step))

// Entries of two micro-ops, two in a cycle, two windows of branches; of more entries of a window
// those behind the second come two cycles later.
static int setup(void **state)
{
    (void)state;
    entries = machine;
    entries.width = 8;
    entries.cached_entry = 2;
    entries.cached_more = 2;
    entries.blocks = 2;
    return 0;
}

static void test_entries(void **state)
{
    (void)state;
    // two entries; three, the third of which two cycles later; four
    assert_int_equal(ROUNDS(OP(0x1000), OP(0x1001), OP(0x1002), JUMP(0x1003)), 10 * 8);
    assert_int_equal(ROUNDS(OP(0x1000), OP(0x1001), OP(0x1002), OP(0x1003), JUMP(0x1004)),
                     10 * 3 * 8);
    assert_int_equal(ROUNDS(OP(0x1000), OP(0x1001), OP(0x1002), OP(0x1003), OP(0x1004), OP(0x1005),
                            JUMP(0x1006)),
                     10 * 3 * 8);
    entries.cached_more = 0; // three entries, two in a cycle
    assert_int_equal(ROUNDS(OP(0x1000), OP(0x1001), OP(0x1002), OP(0x1003), JUMP(0x1004)), 15 * 8);
}

// Ten rounds after ten of four additions, each of which waits for the one before it, and a jump;
// the first one of a round, too, if `carried`.
static void additions_in_turn(bool carried)
{
    begin_with(&entries);
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        for (uint64_t k = 0; k < 5; k++) {
            struct core_op op = { .class = CORE_C_ALU, .bytes = 1, .sources = 1, .results = 1 };
            struct core_exec e = { .op = &op, .pc = 0x1000 + k };

            if (k == 0 && !carried)
                op.sources = 0;
            if (k == 4) {
                op = (struct core_op){ .class = CORE_C_NONE, .bytes = 1, .flags = CORE_F_BRANCH };
                e.taken = true;
            }
            run(&e);
        }
    }
}

// Who waits for an instruction that the front end has brought late is late for the same reason.
static void test_front_cause(void **state)
{
    (void)state;
    entries.cached_more = 4; // three entries, the third of which four cycles later: five in all
    additions_in_turn(false);
    expect(50, 10 * 5 * 8 - 50, 0, 0, 0, 0);
    entries.cached_more = 2; // the front end takes three cycles for a round, the additions four
    additions_in_turn(true);
    expect(50, 0, 0, 0, 0, 10 * 4 * 8 - 50);
}

static void test_constants(void **state)
{
    (void)state;
    entries.cached_constants = 2;
    assert_int_equal(ROUNDS(OP(0x1000, .constants = 1), OP(0x1001, .constants = 1),
                            OP(0x1002, .constants = 1), JUMP(0x1003, .constants = 1)),
                     10 * 8);
    // each of the first three fills an entry, and the jump is in the third
    assert_int_equal(ROUNDS(OP(0x1000, .constants = 2), OP(0x1001, .constants = 2),
                            OP(0x1002, .constants = 2), JUMP(0x1003)),
                     10 * 3 * 8);
    entries.cached_constants = 0;
    assert_int_equal(ROUNDS(OP(0x1000, .constants = 2), OP(0x1001, .constants = 2),
                            OP(0x1002, .constants = 2), JUMP(0x1003)),
                     10 * 8);
}

static void test_windows(void **state)
{
    (void)state;
    // two blocks of an entry each, in two lines: a cycle
    assert_int_equal(ROUNDS(OP(0x1000), JUMP(0x1001), OP(0x1100), JUMP(0x1101)), 10 * 8);
    // a block of two entries that crosses the end of a line: a cycle for each of both
    assert_int_equal(ROUNDS(OP(0x103e), OP(0x103f), OP(0x1040), JUMP(0x1041)), 10 * 2 * 8);
    // the same in a loop that is one entry: two rounds in a cycle, as in one line
    assert_int_equal(ROUNDS(OP(0x103f), JUMP(0x1040)), 5 * 8);
    assert_int_equal(ROUNDS(OP(0x1010), JUMP(0x1011)), 5 * 8);
    // one that crosses, behind another block: they do not share a cycle
    assert_int_equal(ROUNDS(OP(0x1000), JUMP(0x1001), OP(0x113f), JUMP(0x1140)), 10 * 2 * 8);
}

// A string instruction takes the front end 18 cycles, where it has more than four lines of each
// operand 40; the second part of one nothing. Four micro-ops come in a cycle: of two parts there
// are five, with the other instruction.
static uint64_t repeated(uint32_t refs, int parts)
{
    static const struct core_op other = { .class = CORE_C_NONE, .bytes = 1 };
    static const struct core_op repeat = {
        .class = CORE_C_NONE, .bytes = 2, .flags = CORE_F_LOAD | CORE_F_STORE, .repeats = true
    };
    struct core_ref ref[16] = { { 0 } };
    struct core_exec first = { .op = &other, .pc = 0x1000 };
    struct core_exec e = { .op = &repeat, .pc = 0x1001, .ref = ref, .refs = refs };

    for (uint32_t i = 0; i < refs; i++)
        ref[i] = (struct core_ref){ .addr = 0x2000 + 64 * i, .size = 8, .reads = true };
    begin_with(&entries);
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            forget_sum();
        run(&first);
        for (int k = 0; k < parts; k++)
            run(&e);
    }
    return all();
}

static void test_repeated(void **state)
{
    (void)state;
    entries.cached_entry = 0; // the code here goes back without a branch
    entries.repeat = 18;
    entries.repeat_lines = 4;
    entries.repeat_long = 40;
    assert_int_equal(repeated(2, 1), 10 * 18 * 8);
    assert_int_equal(repeated(8, 1), 10 * 18 * 8);
    assert_int_equal(repeated(9, 1), 10 * 40 * 8);
    assert_int_equal(repeated(9, 2), 10 * 41 * 8);
}

// When the front end has the last of so many lines of L2, behind a misprediction.
static uint64_t last_line(uint8_t again, uint64_t lines)
{
    struct core_op op = { .class = CORE_C_NONE, .bytes = 1 };
    struct core_op jump = { .class = CORE_C_BRANCH,
                            .flags = CORE_F_COND | CORE_F_BRANCH,
                            .bytes = 2 };
    struct core_exec e = { .op = &jump, .pc = 0x1000, .mispredicted = true };
    uint64_t from;

    entries.ahead = 24;
    entries.code_line = 1;
    entries.ahead_again = again;
    begin_with(&entries);
    run(&e);
    from = core->front;
    for (uint64_t i = 0; i < lines; i++) {
        struct core_exec next = {
            .op = &op, .pc = 0x2000 + 64 * i, .fetches = true, .level = CORE_AT_L2
        };

        run(&next);
    }
    return core->front - from;
}

// L2 takes 14 cycles, and one from line to line. The first two are requested at once, the others
// when the first one is there.
static void test_ahead_again(void **state)
{
    (void)state;
    // more or less two, for decoding and the places on the path from L2
    assert_in_range(last_line(0, 1), 14, 14 + 2);
    assert_in_range(last_line(0, 3), 14 + 2, 14 + 4);
    assert_in_range(last_line(2, 1), 14, 14 + 2);
    assert_in_range(last_line(2, 2), 14 + 1, 14 + 3);
    assert_in_range(last_line(2, 3), 14 + 14, 14 + 14 + 2);
    assert_in_range(last_line(2, 5), 14 + 14 + 2, 14 + 14 + 4);
}

// The cycles of 4000 additions, each by one of two ports.
static uint64_t additions(uint8_t choice)
{
    struct core_op op = { .class = CORE_C_ALU, .results = 1, .bytes = 1 };

    entries.port_choice = choice;
    begin_with(&entries);
    for (int i = 0; i < 4000; i++)
        execute(op);
    return core->retired;
}

// Both, or any one: then the port that has more takes longer, for the scheduler holds few of the
// other's. Of numbers that are drawn alike 16 sets are used, every second one of which is port 0.
static void test_port_choice(void **state)
{
    uint32_t number = 0, waits[2] = { 0 };

    (void)state;
    assert_in_range(additions(0), 2000, 2005);
    assert_in_range(additions(2), 2000, 2005);
    for (int i = 0; i < 4000; i++) {
        number = number * 1664525 + 1013904223;
        waits[number >> 28 & 1]++;
    }
    assert_in_range(waits[0], 1900, 2100); // both are used
    assert_in_range(additions(1), waits[0] > waits[1] ? waits[0] : waits[1], 2600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_entries, setup),
        cmocka_unit_test_setup(test_front_cause, setup),
        cmocka_unit_test_setup(test_constants, setup),
        cmocka_unit_test_setup(test_windows, setup),
        cmocka_unit_test_setup(test_repeated, setup),
        cmocka_unit_test_setup(test_ahead_again, setup),
        cmocka_unit_test_setup(test_port_choice, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
