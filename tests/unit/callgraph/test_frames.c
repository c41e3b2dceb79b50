// SPDX-License-Identifier: MIT
// engine/callgraph/frames.c and contexts.c, through calls.c: the costs of calls where functions are
// hidden, grouped, told apart, or not collected, or have actions before or after them. Open calls
// are compared as text, outermost first.
#include "tests/unit/callgraph/calls_fakes.h"

// Five events: Ir, Bc and Bi, which blocks add to, Bcm and Bim, which are found later.
enum { FLAGS = SPOOL_F_CALLS | SPOOL_F_BRANCH_SIM | SPOOL_F_CONTEXTS, BCM = 3, OWN = 500 };

// Callers of D and levels of F are told apart; S is hidden, as is the linkage table; G and H are a
// group; T is not collected; dumps are written before and after X; Z clears all counters.
static const char rules[] = "c1 D\0r2 F\0s S\0g1 G\0g1 H\0t T\0b X\0a X\0z Z\0r2 Y\0c2 E";

static int begin_all(void **state)
{
    const struct spool_counters c = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 1, ~0u, ~0u, ~0u, 2 };

    map_all(state);
    options(FLAGS);
    rules_text = rules;
    header.patterns_bytes = sizeof(rules);
    calls_init();
    assert_int_equal(counters_used,
                     FIRST + 2 * (1 + 5)); // and the totals while nothing is collected
    assert_true(frames.begins && frames.ends && frames.frame == 128);
    calls_own(&c, OWN - 1);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    t = new_thread(0, 'A');
    t->engine_sp = (u64)&header;
    header.flags = FLAGS;
    fragments_left = 0;
    calls_thread_start(t);
    return 0;
}

static struct spool_frame_context *top(void)
{
    return contexts_of(frames_top(t));
}

// How often the top function is open.
static u64 open_now(void)
{
    return t->counters[top()->depth];
}

static void ends(u64 sp, char caller)
{
    returns(t, sp, CODE(caller) + 0x10);
    assert_true(t->calls_context == top()->context ||
                (top()->flags && t->calls_context >= SPOOL_CONTEXT_SKIPPED));
}

// The edge of the call on top.
static const struct spool_edge *edge_now(void)
{
    return frames_edge(frames_top(t));
}

// -- tests --

static void test_calls(void **state)
{
    const struct spool_edge *b, *c;

    (void)state;
    works(t, 1);
    assert_int_equal(t->calls_context, top()->context);
    calls(t, 'B', 0xff000);
    b = edge_now();
    assert_true(b->kind == SPOOL_EDGE_INDIRECT && b->site == CODE('A') + 0xb && b->len == 5);
    assert_true(b->function == CODE('B') && b->site_map == 3 && b->target_map == 3);
    assert_int_equal(t->calls_context, top()->context);
    assert_int_equal(record[top()->context - 1].function, CODE('B'));
    assert_int_equal(open_now(), 1);
    works(t, 2);
    calls(t, 'C', 0xfe000);
    c = edge_now();
    assert_int_equal(t->calls_context, top()->context);
    works(t, 4);
    calls_count(t, OWN, 3);
    ends(0xfe000, 'B');
    assert_string_equal(open_calls(t), "AB");
    expect_all(t, c, 1, 4, BCM, 3);
    ends(0xff000, 'A');
    expect_all(t, b, 1, 6, BCM, 3);
    assert_true(called('A', 'B') == b && calls_known[calls_place(b->site, b->target)] == 0);
    // A function that calls itself is open twice.
    calls(t, 'B', 0xff000);
    calls(t, 'B', 0xfe000);
    assert_int_equal(open_now(), 2);
    assert_true(edge_now() != b);
    ends(0xfe000, 'B');
    assert_int_equal(open_now(), 1);
    ends(0xff000, 'A');
    expect_all(t, b, 2, 6, BCM, 3);
    calls_thread_end(t);
    assert_int_equal(t->counters[frames.top], 0);
}

// The caller of S pays for S's own work; B is called by A, from the site that called S.
static void test_hidden(void **state)
{
    const struct spool_edge *s, *b, *v;
    u32 context = top()->context, n;

    works(t, 1);
    calls(t, 'S', 0xff000);
    s = edge_now();
    assert_true(s->kind == SPOOL_EDGE_SKIPPED && s->site == CODE('A') + 0xb && s->target == 0);
    assert_true(top()->context == context && top()->flags == SPOOL_FRAME_SKIPPED);
    assert_int_equal(t->calls_context, SPOOL_CONTEXT_SKIPPED);
    assert_int_equal(top()->depth, 0);
    works(t, 2);
    calls_count(t, OWN, 3);
    calls(t, 'B', 0xfe000);
    expect_all(t, s, 1, 2, BCM, 3);
    // for a salvage after SIGKILL: it has paid
    assert_true(frames_below(frames_top(t))->before[0] == ~frames_totals(t)[0]);
    b = edge_now();
    assert_true(b->site == CODE('A') + 0xb && b->from == context && b->function == CODE('B'));
    assert_int_equal(top()->flags, 0);
    works(t, 4);
    calls_count(t, OWN, 2);
    calls(t, 'V', 0xfd000);
    v = edge_now();
    works(t, 16);
    ends(0xfd000, 'B');
    ends(0xfe000, 'S');
    expect_all(t, b, 1, 20, BCM, 2);
    expect_all(t, v, 1, 16, NO_EVENT, 0);
    works(t, 8);
    calls_count(t, OWN, 5);
    ends(0xff000, 'A');
    expect_all(t, s, 1, 10, BCM, 8);
    assert_int_equal(t->calls_context, context);
    // The same way again is known.
    asked = 0;
    n = pieces;
    calls(t, 'S', 0xff000);
    works(t, 1);
    calls(t, 'B', 0xfe000);
    assert_true(edge_now() == b);
    ends(0xfe000, 'S');
    assert_string_equal(open_calls(t), "AS");
    calls_thread_end(t);
    expect_all(t, s, 2, 11, BCM, 8);
    assert_true(asked == 0 && pieces == n);
    // In the first slots there is no frame that would be another slot's first.
    begin(state);
    t->counters[frames.top] += SPOOL_STACK_SIZE - 3 * frames.frame;
    frames_enter_root(t, CODE('A'), FRAMES_KEY_NONE, ~0ul);
    calls(t, 'S', 0xff000);
    calls(t, 'B', 0xfe000);
    assert_true((u64)frames_top(t) == frames_base(0) + SPOOL_STACK_SIZE);
    works(t, 4);
    ends(0xfe000, 'S');
    works(t, 1);
    ends(0xff000, 'A');
    expect(t, s, 1, 1);
    // A thread that starts in it has no caller to pay.
    t = new_thread(0, 'S');
    calls_thread_start(t);
    assert_int_equal(top()->flags, 0);
    works(t, 1);
    calls_thread_end(t);
    expect(t, edge(SPOOL_EDGE_ROOT, 0, CODE('S')), 1, 1);
}

// The linkage table is hidden, too; the resolver of a name is replaced by the function that it
// finds.
static void test_table(void **state)
{
    const struct spool_edge *e;
    struct spool_frame *f;

    (void)state;
    calls(t, 'P', 0xff000);
    e = edge_now();
    assert_int_equal(e->kind, SPOOL_EDGE_SKIPPED);
    works(t, 1);
    jumps(t, CODE('D'), 0xff000);
    assert_string_equal(open_calls(t), "APD");
    assert_true(edge_now()->kind == SPOOL_EDGE_JUMP && edge_now()->site == CODE('A') + 0xb);
    assert_true((frames_top(t)->key & SPOOL_FRAME_FLAGS) == 0);
    works(t, 2);
    ends(0xff000, 'A');
    assert_string_equal(open_calls(t), "A");
    expect(t, e, 1, 1);
    calls(t, 'P', 0xff000);
    jumps(t, CODE('R'), 0xfeff0);
    f = frames_top(t);
    assert_true(f->key == ((0xff000 + CODE('A') + 0x10) | SPOOL_FRAME_LAZY));
    e = edge_now();
    works(t, 3);
    jumps(t, CODE('U'), 0xff000);
    assert_string_equal(open_calls(t), "APU");
    assert_true(f == frames_top(t) && f->key == 0xff000 + CODE('A') + 0x10);
    assert_true(f->plt == SPOOL_FRAME_JUMP && edge_now()->kind == SPOOL_EDGE_JUMP);
    expect(t, e, 1, 3);
    ends(0xff000, 'A');
    assert_string_equal(open_calls(t), "A");
    // A way back within a chain of jumps.
    calls(t, 'B', 0xff000);
    jumps(t, CODE('C') + 0x40, 0xfef00);
    assert_int_equal(t->calls_context, top()->context);
    jumps(t, CODE('B') + 0x60, 0xfef00);
    assert_string_equal(open_calls(t), "AB");
    assert_int_equal(t->calls_context, top()->context);
}

// Two levels of F are told apart, one of the others; G and H are one function.
static void test_levels(void **state)
{
    const struct function h = { .start = CODE('H'), .map = 3 };
    const struct spool_edge *piece;
    u32 context;

    (void)state;
    calls(t, 'B', 0xff000);
    calls(t, 'F', 0xfe000);
    assert_int_equal(record[top()->context - 1].to, 1);
    returns(t, 0xff000, CODE('A') + 0x10);
    calls(t, 'F', 0xff000);
    context = top()->context;
    assert_int_equal(record[context - 1].to, 1);
    assert_true(top()->own == 1 && top()->below == 0);
    calls(t, 'F', 0xfe000);
    assert_int_equal(record[top()->context - 1].to, 2);
    assert_true(top()->own == 1 && top()->below == 0);
    calls(t, 'F', 0xfd000);
    assert_int_equal(record[top()->context - 1].to, 2);
    calls(t, 'B', 0xfc000);
    assert_true(top()->own == 4 && top()->below == 1);
    context = top()->context;
    calls(t, 'F', 0xfb000);
    assert_int_equal(record[top()->context - 1].to, 2);
    calls(t, 'B', 0xfa000);
    assert_int_equal(top()->context, context);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_string_equal(open_calls(t), "A");

    calls(t, 'G', 0xff000);
    context = top()->context;
    calls(t, 'H', 0xfe000);
    assert_int_equal(top()->context, context);
    assert_true(top()->own == 1 && open_now() == 2);
    contexts_block(77, 600, 1, &h); // the counts of H's block belong to that context
    piece = &record[header.edges_used - 1];
    assert_true(piece->kind == SPOOL_EDGE_PIECE && piece->target == 77);
    assert_int_equal(t->counters[piece->to], context);
    calls(t, 'G', 0xfd000);
    assert_int_equal(top()->context, context);
    assert_int_equal(open_now(), 3);
    ends(0xfd000, 'H');
    calls(t, 'B', 0xfd000);
    assert_true(top()->below == 1);
    returns(t, 0xff000, CODE('A') + 0x10);
    calls(t, 'H', 0xff000);
    assert_true(top()->context != context && open_now() == 1);
}

// D has a context for each caller, E for each two.
static void test_callers(void **state)
{
    u32 by_a, by_b, by_ab, by_cb;

    (void)state;
    calls(t, 'D', 0xff000);
    by_a = top()->context;
    assert_true(record[record[by_a - 1].from - 1].function == CODE('A') &&
                record[by_a - 1].function == CODE('D'));
    ends(0xff000, 'A');
    calls(t, 'B', 0xff000);
    calls(t, 'D', 0xfe000);
    by_b = top()->context;
    assert_true(record[record[by_b - 1].from - 1].function == CODE('B'));
    assert_true(record[record[by_b - 1].from - 1].from == 0);
    ends(0xfe000, 'B');
    calls(t, 'E', 0xfe000);
    by_ab = top()->context;
    assert_true(record[record[by_ab - 1].from - 1].function == CODE('B'));
    assert_true(record[record[record[by_ab - 1].from - 1].from - 1].function == CODE('A'));
    ends(0xfe000, 'B');
    ends(0xff000, 'A');
    calls(t, 'C', 0xff000);
    calls(t, 'B', 0xfe000);
    calls(t, 'D', 0xfd000);
    assert_int_equal(top()->context, by_b);
    ends(0xfd000, 'B');
    calls(t, 'E', 0xfd000);
    by_cb = top()->context;
    assert_true(by_cb != by_ab);
    assert_true(record[record[record[by_cb - 1].from - 1].from - 1].function == CODE('C'));
    ends(0xfd000, 'B');
    ends(0xfe000, 'C');
    ends(0xff000, 'A');
    // And all of it the same the next time.
    calls(t, 'B', 0xff000);
    calls(t, 'E', 0xfe000);
    assert_int_equal(top()->context, by_ab);
}

static bool due(struct thread_due *d, char letter)
{
    bool is = d->is && d->map == 3 && d->at == CODE(letter);

    assert_true(is || !d->is);
    *d = (struct thread_due){ 0 };
    return is;
}

// Dumps are written before the outermost open call of X, and after it; the thread leaves its
// fragment for that, if it is in a helper.
static void test_parts(void **state)
{
    (void)state;
    t->state = TS_HELPER;
    calls(t, 'B', 0xff000);
    assert_true(t->stop == 0);
    calls(t, 'X', 0xfe000);
    assert_int_equal(t->stop, STOP_CONTROL);
    assert_int_equal(fragments_left, 1);
    assert_true(due(&own[0].dump_before, 'X'));
    calls(t, 'X', 0xfd000);
    calls(t, 'B', 0xfc000);
    ends(0xfc000, 'X');
    ends(0xfd000, 'X');
    assert_false(own[0].dump_before.is || own[0].dump_after.is || own[0].zero_before.is);
    t->stop = 0;
    t->state = TS_ENGINE;
    ends(0xfe000, 'B');
    assert_int_equal(t->stop, STOP_CONTROL);
    assert_int_equal(fragments_left, 1);
    assert_true(due(&own[0].dump_after, 'X'));
    calls(t, 'Z', 0xfe000);
    assert_true(due(&own[0].zero_before, 'Z'));
    assert_false(own[0].dump_before.is);
    ends(0xfe000, 'B');
    assert_false(own[0].dump_after.is);
    // X continues from stack to stack: nothing has ended.
    calls(t, 'X', 0xfe000);
    assert_true(due(&own[0].dump_before, 'X'));
    frames_end(t->counters, false, true);
    assert_false(own[0].dump_after.is);
}

// Nothing is collected within T: the totals stay as they were before.
static void expect_off(const char *open)
{
    assert_string_equal(open_calls(t), open);
    assert_int_equal(frames_totals(t)[0], 1);
    assert_int_equal(frames_totals(t)[BCM], 0);
    assert_int_equal(t->calls_context, SPOOL_CONTEXT_OFF);
    assert_int_equal(top()->flags & SPOOL_FRAME_OFF, SPOOL_FRAME_OFF);
    works(t, 10);
    frames_totals(t)[BCM] += 7;
}

static void test_not_collected(void **state)
{
    const struct spool_edge *e, *b;
    struct calls_save save;

    (void)state;
    works(t, 1);
    calls(t, 'T', 0xff000);
    e = edge_now();
    expect_off("AT");
    calls(t, 'B', 0xfe000);
    b = edge_now();
    expect_off("ATB");
    calls(t, 'T', 0xfd000); // it is open already
    expect_off("ATBT");
    returns(t, 0xfd000, CODE('B') + 0x10);
    expect_off("ATB");
    jumps(t, CODE('C'), 0xfe000);
    expect_off("ATBC");
    t->regs[R_RSP] = 0xfe008;
    calls_returned(t, CODE('T') + 0x10);
    expect_off("AT");
    t->regs[R_RSP] = 0xfe000;
    t->pc = CODE('D');
    words[0][0] = 0xfe000;
    words[0][1] = CODE('T') + 0x48;
    calls_called(t, CODE('T') + 0x42);
    expect_off("ATD");
    t->calls_sp = 0xfd000;
    t->client_sp = 0xfe808;
    calls_stack(t, told(0, 1, 0, NULL));
    expect_off("AT");
    t->regs[R_RSP] = 0xfc000;
    t->pc = CODE('K');
    words[0][0] = 0xfc000;
    words[0][1] = CODE('R') + 0x10;
    calls_signal(t);
    expect_off("ATRK");
    t->regs[R_RSP] = 0xfe000;
    t->pc = CODE('T') + 0x50;
    calls_signal_return(t);
    expect_off("AT");
    calls_borrow_begin(t, &save);
    calls(t, 'B', 0xfe000);
    expect_off("ATB");
    calls_borrow_end(t, &save);
    expect_off("AT");
    calls(t, 'B', 0xfe000);
    expect_off("ATB");
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_int_equal(frames_totals(t)[0], 1);
    assert_int_equal(t->calls_context, top()->context);
    works(t, 2);
    assert_true(calls_toggle(t));
    expect_all(t, e, 1, 0, NO_EVENT, 0);
    expect_all(t, b, 3, 0, NO_EVENT, 0);
    assert_int_equal(t->calls_context, SPOOL_CONTEXT_OFF);
    works(t, 5);
    calls_thread_end(t);
    expect_all(t, edge(SPOOL_EDGE_ROOT, 0, CODE('A')), 1, 3, NO_EVENT, 0);
    // Nothing is collected at first: T is.
    header.flags |= SPOOL_F_NOT_COLLECTING;
    t = new_thread(0, 'A');
    calls_thread_start(t);
    works(t, 3);
    calls(t, 'T', 0xff000);
    assert_int_equal(top()->flags, 0);
    works(t, 4);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_int_equal(frames_totals(t)[0], 4);
    expect_all(t, e, 1, 4, NO_EVENT, 0);
}

// What vfork's child has returned from is open again, in its context.
static void test_borrow(void **state)
{
    struct calls_save save;
    struct spool_frame_context before;

    (void)state;
    calls(t, 'B', 0xff000);
    before = *top();
    calls_borrow_begin(t, &save);
    ends(0xff000, 'A');
    assert_int_equal(t->counters[before.depth], 0);
    calls_borrow_end(t, &save);
    assert_string_equal(open_calls(t), "AB");
    assert_memory_equal(top(), &before, sizeof(before));
    assert_int_equal(t->counters[before.depth], 1);
    assert_int_equal(t->calls_context, before.context);
    calls(t, 'S', 0xfe000); // a hidden function is not open
    calls_borrow_begin(t, &save);
    ends(0xfe000, 'B');
    calls_borrow_end(t, &save);
    assert_string_equal(open_calls(t), "ABS");
    assert_int_equal(t->counters[0], 0);
}

// Functions of a saved stack are not open, and are open again when it is restored.
static void test_stacks(void **state)
{
    u32 a = contexts_of(frames_top(t))->depth, b;

    (void)state;
    calls(t, 'B', 0xff000);
    b = top()->depth;
    calls(t, 'S', 0xfe000);
    t->calls_sp = 0xfdff0;
    t->client_sp = 0x70000;
    t->ibl_target = CODE('C');
    calls_jump(t, told(CODE('S') + 0x20, 0, 1, NULL));
    assert_string_equal(open_calls(t), "C");
    assert_true(t->counters[a] == 0 && t->counters[b] == 0 && t->counters[0] == 0);
    assert_int_equal(t->calls_context, top()->context);
    t->calls_sp = 0x6fff0;
    t->client_sp = 0xfdff0;
    t->ibl_target = CODE('S') + 0x40;
    calls_jump(t, told(CODE('C') + 0x20, 0, 1, NULL));
    assert_string_equal(open_calls(t), "ABS");
    assert_true(t->counters[a] == 1 && t->counters[b] == 1 && t->counters[0] == 0);
    calls_thread_end(t);
    assert_true(t->counters[a] == 0 && t->counters[b] == 0);
}

// Another thread of the parent held the lock; and other modules may be mapped there now.
static void test_forgotten(void **state)
{
    u32 n, made = header.edges_used, used = counters_used;

    (void)state;
    calls_fork_child(t);
    calls(t, 'W', 0xff000);
    assert_int_equal(header.edges_used, made + 2); // its context, and the call
    assert_int_equal(counters_used, used + 2 + 6);
    ends(0xff000, 'A');
    n = pieces;
    asked = 0;
    assert_true(contexts_function_at(CODE('W') + 4) == CODE('W'));
    assert_true(contexts_function_at(CODE('W') + 4) == CODE('W'));
    assert_int_equal(asked, 1);
    spooler_maps_named++;
    assert_true(contexts_function_at(CODE('W') + 4) == CODE('W'));
    assert_int_equal(asked, 2);
    // 2000 addresses in 20 functions are found again, and their old tables are freed
    for (u32 again = 0; again < 2; again++) {
        asked = 0;
        for (u32 i = 0; i < 2000; i++)
            assert_true(contexts_function_at(CODE('A') + i * 41) ==
                        ((CODE('A') + i * 41) & ~0xffful));
        assert_int_equal(asked, again ? 0 : 2000);
    }
    assert_int_equal(pieces, n);
    // The same call is a different one, because its functions are of other maps.
    module = 4;
    spooler_maps_named++;
    calls(t, 'W', 0xff000);
    assert_true(edge_now()->target_map == 4 && edge_now()->site_map == 4);
    assert_int_equal(contexts_map(frames_top(t)), 4);
    module = 3;
    spooler_maps_named++;
}

// The counters of a thread's state: whether it collects, and for each function its owner and its
// depth.
static void test_state(void **state)
{
    u64 first, end;
    u32 n = 0, mine = 0;

    (void)state;
    assert_true(contexts_state(0, &first, &end));
    assert_true(first == FIRST + 1 + 5 && end == first + 1);
    for (u32 i = 1; contexts_state(i, &first, &end); i++, n++) {
        assert_int_equal(end, first + 2);
        mine += first + 1 == top()->depth;
    }
    assert_int_equal(mine, 1);
    calls(t, (char)('A' + 60), 0xff000); // a function that was never called
    ends(0xff000, 'A');
    assert_true(contexts_state(n + 1, &first, &end));
    assert_false(contexts_state(n + 2, &first, &end));
    tb_config.contexts = false;
    assert_false(contexts_state(0, &first, &end));
    tb_config.contexts = true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_calls, begin),
        cmocka_unit_test_setup(test_hidden, begin),
        cmocka_unit_test_setup(test_table, begin),
        cmocka_unit_test_setup(test_levels, begin),
        cmocka_unit_test_setup(test_callers, begin),
        cmocka_unit_test_setup(test_parts, begin),
        cmocka_unit_test_setup(test_not_collected, begin),
        cmocka_unit_test_setup(test_borrow, begin),
        cmocka_unit_test_setup(test_stacks, begin),
        cmocka_unit_test_setup(test_forgotten, begin),
        cmocka_unit_test_setup(test_state, begin),
    };

    return cmocka_run_group_tests_name("engine frames", tests, begin_all, NULL);
}
