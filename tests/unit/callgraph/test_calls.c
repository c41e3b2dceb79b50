// SPDX-License-Identifier: MIT
// engine/callgraph/calls.c, with the real frames.c, edges.c and stacks.c: what is a call, which
// calls are open, and what each has cost. Open calls are compared as text, a letter for each
// function, outermost first. A called function returns to 0x10 after the caller's start.
#include <unistd.h>

#include "tests/unit/callgraph/calls_fakes.h"

// Five events: Ir, Bc and Bi, which blocks add to, Bcm and Bim, which are found later.
enum { FLAGS = SPOOL_F_CALLS | SPOOL_F_BRANCH_SIM, BCM = 3, OWN = 500 };

static void begin_with(u64 flags)
{
    const struct spool_counters c = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 1, ~0u, ~0u, ~0u, 2 };

    options(flags);
    calls_init();
    calls_own(&c, OWN - 1); // counter OWN is of Bcm
    t = new_thread(0, 'A');
    calls_thread_start(t);
}

static void begin(void)
{
    begin_with(FLAGS);
}

static void misses(struct thread *of, u64 n)
{
    calls_count(of, OWN, n);
}

static u64 known(const struct spool_edge *e)
{
    return calls_known[calls_place(e->site, e->target)] + (u64)&calls_unknown;
}

// -- totals of replays --

static struct {
    enum frames_late what;
    u64 frame;
    u32 counter;
} told_late[8];
static u32 told_n, simulated;

static void record_late(struct thread *of, enum frames_late what, const struct spool_frame *f,
                        u32 counter)
{
    assert_ptr_equal(of, t);
    assert_true(told_n < ARRAY_SIZE(told_late));
    told_late[told_n].what = what;
    told_late[told_n].frame = (u64)f - frames_base(0);
    told_late[told_n++].counter = counter;
    frames_replay(of, what, (u32)(u64)f, counter); // all entries before it have been replayed, too
}

static void simulate(struct thread *of)
{
    (void)of;
    simulated++;
}

static void expect_late(u32 i, enum frames_late what, u64 frame, u32 counter)
{
    assert_true(i < told_n);
    assert_int_equal(told_late[i].what, what);
    assert_int_equal(told_late[i].frame, frame * frames.frame);
    assert_int_equal(told_late[i].counter, counter);
}

// -- tests --

// A counter for the last frame, one for each total, and the slot of those of replays.
static void test_room(void **state)
{
    u64 totals;

    (void)state;
    options(FLAGS);
    tb_config.calls = false;
    calls_init();
    assert_int_equal(counters_used, FIRST);
    assert_int_equal(header.calls, 0);
    options(FLAGS);
    calls_init();
    assert_int_equal(counters_used, FIRST + 3 + 5);
    assert_int_equal(header.calls, FIRST);
    assert_int_equal(tb_config.calls_top, FIRST);
    assert_true(frames.top == FIRST && frames.late == FIRST + 6);
    assert_true(frames.events == 5 && frames.often == 3 && frames.frame == 64);
    assert_true(frames.place[SPOOL_E_IR] == 0 && frames.place[SPOOL_E_BC] == 1 &&
                frames.place[SPOOL_E_BI] == 2 && frames.place[SPOOL_E_BCM] == 3 &&
                frames.place[SPOOL_E_BIM] == 4);
    assert_false(frames.begins || frames.ends);
    assert_non_null(calls_owner(&totals));
    assert_int_equal(totals, FIRST + 1);
}

static void test_thread(void **state)
{
    const struct spool_frame *f;

    (void)state;
    begin();
    f = frames_top(t);
    assert_true((u64)f == frames_base(0));
    assert_true(f->sp == ~0ul && f->key == (FRAMES_KEY_NONE | SPOOL_FRAME_FILLED));
    assert_int_equal(t->calls_end, 0x100000);
    assert_int_equal(t->counters[frames.late], 0);
    works(t, 5);
    misses(t, 2);
    calls_thread_end(t);
    assert_int_equal(t->counters[frames.top], 0);
    expect_all(t, edge(SPOOL_EDGE_ROOT, 0, CODE('A')), 1, 5, BCM, 2);
    own[0].bridges = 1;
    calls_thread_end(t); // nothing is open
    assert_int_equal(own[0].bridges, 0);
    expect_all(t, edge(SPOOL_EDGE_ROOT, 0, CODE('A')), 1, 5, BCM, 2);
    // Counting starts in a linkage table: its entry has no caller.
    t = new_thread(0, 'P');
    t->pc += 0x20;
    own[0].bridges = 1; // of the slot's last thread
    calls_thread_start(t);
    assert_int_equal(own[0].bridges, 0);
    assert_int_equal(frames_top(t)->plt, 0);
    assert_true(frames_edge(frames_top(t))->plt == (0x20000000 | (PLT + 0x20)));
    // Without a call graph there are no frames.
    tb_config.calls = false;
    t = new_thread(0, 'A');
    calls_thread_start(t);
    assert_true(t->counters[frames.top] == 0 && t->calls_end == 0);
}

// A calls B, and that C: 2 and 4, then B again: 8.
static void test_calls(void **state)
{
    const struct spool_frame *f;
    u32 n;

    (void)state;
    begin();
    works(t, 1);
    calls(t, 'B', 0xff000);
    f = frames_top(t);
    assert_true(f->key == 0xff000 + CODE('A') + 0x10 && f->sp == 0xff000 && f->plt == 0);
    assert_true(f->counter == called('A', 'B')->counter);
    assert_true(known(called('A', 'B')) == (u64)called('A', 'B'));
    assert_int_equal(called('A', 'B')->len, 5);
    works(t, 2);
    calls(t, 'C', 0xfe000);
    assert_string_equal(open_calls(t), "ABC");
    works(t, 4);
    misses(t, 3);
    returns(t, 0xfe000, CODE('B') + 0x10);
    assert_string_equal(open_calls(t), "AB");
    expect_all(t, called('B', 'C'), 1, 4, BCM, 3);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_string_equal(open_calls(t), "A");
    expect_all(t, called('A', 'B'), 1, 6, BCM, 3);
    n = header.edges_used;
    calls(t, 'B', 0xff000);
    works(t, 8);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, called('A', 'B'), 2, 14, BCM, 3);
    assert_int_equal(header.edges_used, n);
    assert_int_equal(frames_totals(t)[0], 15);
}

// Frames of functions that were left are closed by the next call at their place, by a call that the
// engine makes, and by a return from further up.
static void test_saved(void **state)
{
    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    calls(t, 'C', 0xfe000);
    works(t, 3);
    t->client_sp = 0xff000;
    t->ibl_target = CODE('D');
    calls_call(t, told(CODE('A') + 0xb, 5, 0, NULL));
    assert_string_equal(open_calls(t), "AD");
    expect(t, called('A', 'B'), 1, 3);
    expect(t, called('B', 'C'), 1, 3);
    calls(t, 'E', 0xfe000);
    calls(t, 'F', 0xfd000);
    works(t, 2);
    t->regs[R_RSP] = 0xfe000;
    t->pc = CODE('G');
    words[0][0] = 0xfe000;
    words[0][1] = CODE('D') + 0x48;
    calls_called(t, CODE('D') + 0x42);
    assert_string_equal(open_calls(t), "ADG");
    assert_true(frames_top(t)->key == 0xfe000 + CODE('D') + 0x48);
    expect(t, called('D', 'E'), 1, 2);
    works(t, 5);
    t->regs[R_RSP] = 0xfe008;
    calls_returned(t, CODE('D') + 0x48);
    assert_string_equal(open_calls(t), "AD");
    expect(t, edge(SPOOL_EDGE_INDIRECT, CODE('D') + 0x42, CODE('G')), 1, 5);
    calls(t, 'E', 0xfe000);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_string_equal(open_calls(t), "A");
    expect(t, called('A', 'D'), 1, 7);
    // B returns to E, which has pushed the address and jumped there: a return like any other.
    t->regs[R_RSP] = 0xff000;
    t->pc = CODE('B');
    words[0][0] = 0xff000;
    words[0][1] = CODE('E') + 0x10;
    calls_called(t, CODE('A') + 0x42);
    calls(t, 'C', 0xfe000);
    returns(t, 0xff000, CODE('E') + 0x10);
    assert_string_equal(open_calls(t), "A");
    calls_called(t, CODE('A') + 0x42);
    t->regs[R_RSP] = 0xff008;
    calls_returned(t, CODE('E') + 0x10);
    assert_string_equal(open_calls(t), "A");
    // Without a call graph nothing happens.
    calls(t, 'B', 0xff000);
    tb_config.calls = false;
    calls_returned(t, CODE('D') + 0x48);
    calls_called(t, CODE('D') + 0x42);
    tb_config.calls = true;
    assert_string_equal(open_calls(t), "AB");
}

// A return to an address without a call is a jump.
static void test_returns_elsewhere(void **state)
{
    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    works(t, 3);
    returns(t, 0xfef00, CODE('D')); // a word that was pushed
    assert_string_equal(open_calls(t), "ABD");
    assert_true(frames_top(t)->plt == SPOOL_FRAME_JUMP);
    works(t, 2);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_string_equal(open_calls(t), "A");
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('B') + 0x30, CODE('D')), 1, 2);
    expect(t, called('A', 'B'), 1, 5);
    // into the caller, but not after its call
    calls(t, 'B', 0xff000);
    returns(t, 0xff000, CODE('A') + 0x80);
    assert_string_equal(open_calls(t), "A");
    assert_null(edge(SPOOL_EDGE_JUMP, CODE('B') + 0x30, CODE('D') + 0x80));
    // C, which B has called, leaves both for D: B's caller continues there
    calls(t, 'B', 0xff000);
    calls(t, 'C', 0xfe000);
    returns(t, 0xff700, CODE('D'));
    assert_string_equal(open_calls(t), "AD");
    assert_non_null(edge(SPOOL_EDGE_JUMP, CODE('A') + 0xb, CODE('D')));
}

// B, and with it E, to which it has jumped, ends by a return to an address that it has put in the
// place of its own: its caller continues there, and D returns to that.
static void test_returns_replaced(void **state)
{
    struct spool_edge *e;

    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    works(t, 3);
    jumps(t, CODE('E'), 0xff000);
    works(t, 4);
    returns(t, 0xff000, CODE('D'));
    assert_string_equal(open_calls(t), "AD");
    e = edge(SPOOL_EDGE_JUMP, CODE('A') + 0xb, CODE('D'));
    assert_non_null(e);
    assert_null(edge(SPOOL_EDGE_JUMP, CODE('E') + 0x30, CODE('D')));
    works(t, 2);
    returns(t, 0xff008, CODE('A') + 0x80);
    assert_string_equal(open_calls(t), "A");
    expect(t, called('A', 'B'), 1, 7);
    expect(t, e, 1, 2);
    // The same behind a function that B has left.
    calls(t, 'B', 0xff000);
    calls(t, 'C', 0xfe000);
    returns(t, 0xff000, CODE('D'));
    assert_string_equal(open_calls(t), "AD");
    expect(t, e, 2, 2);
    returns(t, 0xff008, CODE('A') + 0x80);
    assert_string_equal(open_calls(t), "A");
}

// B jumps to D: that is called by B, and ends with it.
static void test_jumps(void **state)
{
    struct spool_edge *e;

    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    works(t, 3);
    jumps(t, CODE('D'), 0xff000);
    assert_string_equal(open_calls(t), "ABD");
    e = edge(SPOOL_EDGE_JUMP, CODE('B') + 0x20, CODE('D'));
    assert_true(frames_top(t)->key == 0xff000 + CODE('A') + 0x10 && frames_top(t)->sp == 0xff000);
    assert_true(frames_top(t)->plt == SPOOL_FRAME_JUMP);
    assert_true(known(e) == (u64)e);
    works(t, 4);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_string_equal(open_calls(t), "A");
    expect(t, e, 1, 4);
    expect(t, called('A', 'B'), 1, 7);

    calls(t, 'B', 0xff000);
    jumps(t, CODE('B') + 0x40, 0xfef00); // within the function, to its beginning, too
    jumps(t, CODE('B'), 0xfef00);
    assert_string_equal(open_calls(t), "AB");
    jumps(t, CODE('D') + 0x40, 0xfef00); // into the middle of another one: not looked up
    assert_string_equal(open_calls(t), "ABD");
    e = edge(SPOOL_EDGE_JUMP, CODE('B') + 0x20, CODE('D') + 0x40);
    assert_true(known(e) != (u64)e);
    works(t, 1);
    jumps(t, CODE('B') + 0x60, 0xfef00); // and back
    assert_string_equal(open_calls(t), "AB");
    expect(t, e, 1, 1);
    jumps(t, CODE('D'), 0xfef00);
    jumps(t, CODE('E'), 0xfef00);
    jumps(t, CODE('D') + 0x60, 0xfef00);
    assert_string_equal(open_calls(t), "ABD");
    jumps(t, CODE('E'), 0xfef00);
    jumps(t, CODE('B') + 0x60, 0xfef00);
    assert_string_equal(open_calls(t), "AB");
    jumps(t, CODE('D'), 0xfef00);
    jumps(t, CODE('B'), 0xfef00); // its start is no way back
    assert_string_equal(open_calls(t), "ABDB");
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('D') + 0x20, CODE('E')), 2, 0);
}

// A chain ends after 32 jumps, and a new one starts with the next.
static void test_chain(void **state)
{
    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    for (u32 i = 0; i < 32; i++) {
        jumps(t, CODE(i % 2 ? 'E' : 'D'), 0xff000);
        works(t, 1);
        assert_true(t->counters[frames.top] == frames_base(0) + (2 + i) * frames.frame);
    }
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('B') + 0x20, CODE('D')), 1, 0);
    jumps(t, CODE('F'), 0xff000);
    assert_string_equal(open_calls(t), "ABF");
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('B') + 0x20, CODE('D')), 1, 32);
    // D to E 16 times, which cost 31, 29, ... 1; E to D 15 times: 30, 28, ... 2
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('D') + 0x20, CODE('E')), 16, 256);
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('E') + 0x20, CODE('D')), 15, 240);
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('E') + 0x20, CODE('F')), 1, 0);
}

// A chain of jumps ends where most threads have no more space, and only there; memory that is not
// for open calls does not matter.
static void full(u64 behind, u64 open, const char *calls_left)
{
    const u64 limit = frames_base(0) + SPOOL_STACK_SIZE - SPOOLER_STACK_GUARD;
    u64 frame;

    begin();
    t->counters[frames.top] = limit - (35 - behind) * frames.frame - frames.frame;
    frames_enter_root(t, CODE('A'), FRAMES_KEY_NONE, ~0ul);
    calls(t, 'B', 0xff000);
    for (u32 i = 0; i < 32; i++)
        jumps(t, CODE(i % 2 ? 'E' : 'D'), 0xff000);
    frame = t->counters[frames.top] + frames.frame;
    assert_true(frame == limit - (1 - behind) * frames.frame);
    reached[0] = 0;
    assert_true(calls_full(t, frame, &frame));
    assert_true(frame == limit - (1 - behind) * frames.frame - (32 - open) * frames.frame);
    assert_true(t->counters[frames.top] == frame - frames.frame);
    assert_true(reached[0] == frame + frames.frame - frames_base(0));
    assert_true(letter_of(here(t)) == *calls_left);
}

static void test_full(void **state)
{
    u64 base = frames_base(0), frame;

    (void)state;
    full(0, 32, "E");
    full(1, 0, "B");
    begin();
    frame = base + frames.frame;
    assert_false(calls_full(t, base - 1, &frame));
    assert_false(calls_full(t, base + SPOOL_DEEP_SIZE, &frame));
    assert_true(calls_full(t, base + SPOOL_DEEP_SIZE - 1, &frame));
    assert_true(calls_full(t, base, &frame));
    assert_true(frame == base + frames.frame);
    tb_config.calls = false;
    assert_false(calls_full(t, base, &frame));
}

// The message when the engine dies of it, in a child.
static const char *dies(long error)
{
    static char text[256];
    u64 frame = frames_base(0) + frames.frame;
    int fds[2], status;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (!pid) {
        dup2(fds[1], 2);
        no_room = error;
        calls_full(t, frames_base(0), &frame);
        _exit(0);
    }
    close(fds[1]);
    n = read(fds[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    close(fds[0]);
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    assert_int_equal(status, ENGINE_DIE_STATUS << 8);
    return strstr(text, "== ") ? strstr(text, "== ") + 3 : text;
}

static void test_no_room(void **state)
{
    (void)state;
    begin();
    assert_string_equal(dies(-28), // ENOSPC
                        "more than 16777216 calls are open in one thread (docs/limits.md)\n");
    assert_string_equal(dies(-12), "no memory for the calls that are open: error 12\n");
}

// The client leaves the linkage table from `at`, for target, with its stack pointer at sp.
static struct spool_edge *entry;

static void leaves(u64 at, u64 target, u64 sp)
{
    t->client_sp = sp;
    t->ibl_target = target;
    calls_leave_plt(t, told(at + 4, 0, edges_plt_number(at), entry));
}

// A calls an entry of the table, 0x20 after its start, by a direct call.
static struct spool_frame *calls_entry(u64 sp)
{
    const struct contexts_way w = { SPOOL_EDGE_CALL, CODE('A') + 0xb, PLT + 0x20, 5 };

    return frames_enter(t, &w, frames_edge_of(&w), sp + CODE('A') + 0x10, sp, 0);
}

static void expect_through(const struct spool_edge *e, u64 cost, u64 missed)
{
    const u64 *c = t->counters + e->counter + 1 + frames.events;

    for (u32 i = 0; i < frames.often; i++)
        assert_int_equal(c[i], (i + 1) * cost);
    assert_int_equal(c[BCM], missed);
}

// The call starts after the table; the caller pays for the table.
static void test_table(void **state)
{
    const struct spool_edge *e;
    struct spool_frame *f;

    (void)state;
    begin();
    entry = edges_of(SPOOL_EDGE_PLT, PLT + 0x20, 0, 0);
    assert_true(entry->target == 0);
    f = calls_entry(0xff000);
    e = frames_edge(f);
    assert_true(f->plt == edges_plt_number(PLT + 0x20) && f->plt == (0x20000000 | (PLT + 0x20)));
    assert_string_equal(open_calls(t), "AP");
    leaves(PLT + 0x20, PLT + 0x80, 0xff000); // within the table
    assert_true(f->plt == edges_plt_number(PLT + 0x20) && entry->target == 0);
    works(t, 1);
    leaves(PLT + 0x20, CODE('D'), 0xff000);
    assert_string_equal(open_calls(t), "AD");
    assert_true(f->plt == 0 && entry->target == CODE('D') && entry->function == CODE('D'));
    works(t, 4);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect(t, e, 1, 4);
    expect_through(e, 1, 0);
    // The entry leads there again, with a misprediction in it, and one after it.
    f = calls_entry(0xff000);
    works(t, 2);
    misses(t, 5);
    assert_true(f->plt == (edges_plt_number(PLT + 0x20) | SPOOL_FRAME_PLT_FILLED));
    leaves(PLT + 0x20, CODE('D'), 0xff000);
    assert_true(f->plt == 0 && f->key == 0xff000 + CODE('A') + 0x10);
    works(t, 8);
    misses(t, 7);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, e, 2, 12, BCM, 7);
    expect_through(e, 3, 5);
    // Next time elsewhere: another call.
    calls_entry(0xff000);
    works(t, 1);
    leaves(PLT + 0x20, CODE('E'), 0xff000);
    assert_string_equal(open_calls(t), "AE");
    works(t, 16);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, e, 2, 12, BCM, 7);
    expect_through(e, 4, 5);
    expect(t, called('A', 'E'), 1, 16);
    assert_true(entry->target == CODE('D'));
    // By a jump, not a call.
    calls(t, 'B', 0xff000);
    jumps(t, PLT + 0x20, 0xff000);
    e = edge(SPOOL_EDGE_JUMP, CODE('B') + 0x20, PLT + 0x20);
    assert_true(known(e) == (u64)e);
    works(t, 1);
    leaves(PLT + 0x20, CODE('E'), 0xff000);
    assert_string_equal(open_calls(t), "ABE");
    assert_true(frames_top(t)->plt == SPOOL_FRAME_JUMP);
    works(t, 2);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect(t, edge(SPOOL_EDGE_JUMP, CODE('B') + 0x20, CODE('E')), 1, 2);
    expect(t, called('A', 'B'), 1, 3);
    expect(t, e, 0, 0);
    expect_through(e, 1, 0);
}

// The table's lazy part leads to a resolver R, with a word on the stack: the caller of the entry
// calls T.
static void test_lazy(void **state)
{
    const struct spool_edge *e;
    struct spool_frame *f;

    (void)state;
    begin();
    entry = edges_of(SPOOL_EDGE_PLT, PLT, 0, 0);
    f = calls_entry(0xff000);
    e = frames_edge(f);
    works(t, 1);
    leaves(PLT, CODE('R'), 0xfeff0);
    assert_string_equal(open_calls(t), "AR");
    assert_true(f->key == ((0xff000 + CODE('A') + 0x10) | SPOOL_FRAME_LAZY));
    assert_true(entry->target == 0);
    expect(t, e, 0, 0);
    expect_through(e, 1, 0);
    works(t, 3);
    jumps(t, CODE('T'), 0xff000);
    assert_string_equal(open_calls(t), "AT");
    assert_true(f->key == 0xff000 + CODE('A') + 0x10 && f->plt == 0);
    expect(t, called('A', 'R'), 1, 3);
    works(t, 5);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect(t, called('A', 'T'), 1, 5);
    // At another stack pointer the resolver goes on itself.
    calls_entry(0xff000);
    leaves(PLT, CODE('R'), 0xfeff0);
    jumps(t, CODE('T'), 0xfe000);
    assert_string_equal(open_calls(t), "ART");
    assert_true((frames_top(t)->key & SPOOL_FRAME_FLAGS) == 0);
    // Without a word it is no resolver.
    begin();
    entry = edges_of(SPOOL_EDGE_PLT, PLT, 0, 0);
    f = calls_entry(0xff000);
    leaves(PLT, CODE('R'), 0xff000);
    assert_true(f->key == 0xff000 + CODE('A') + 0x10);
    // A frame that is not the table's: a jump.
    begin();
    leaves(PLT, CODE('D'), 0xfeff0);
    assert_string_equal(open_calls(t), "AD");
    assert_non_null(edge(SPOOL_EDGE_JUMP, PLT + 4, CODE('D')));
    // Counting started in the table: the caller is unknown.
    begin();
    t = new_thread(0, 'P');
    calls_thread_start(t);
    works(t, 2);
    leaves(PLT, CODE('D'), 0xff000);
    assert_string_equal(open_calls(t), "D");
    assert_true(frames_top(t)->sp == ~0ul && (u64)frames_top(t) == frames_base(0));
    expect(t, edge(SPOOL_EDGE_ROOT, 0, PLT), 1, 2);
}

static void signal_comes(u64 sp, char handler)
{
    t->regs[R_RSP] = sp;
    t->pc = CODE(handler);
    words[0][0] = sp;
    words[0][1] = CODE('R') + 0x10; // the restorer
    calls_signal(t);
}

// An interrupted function does not pay for the handler.
static void test_signals(void **state)
{
    const struct spool_frame *f;

    (void)state;
    begin();
    works(t, 5);
    misses(t, 1);
    signal_comes(0xfe000, 'H');
    assert_string_equal(open_calls(t), "ARH");
    f = frames_below(frames_top(t));
    assert_true(f->sp == 0xfe008 && (f->key & SPOOL_FRAME_SIGNAL));
    assert_true(frames_top(t)->key == 0xfe000 + CODE('R') + 0x10 && frames_top(t)->sp == 0xfe000);
    assert_int_equal(frames_top(t)->plt, 0);
    works(t, 7);
    misses(t, 2);
    signal_comes(0xfd000, 'I'); // a nested one
    assert_string_equal(open_calls(t), "ARHRI");
    works(t, 20);
    returns(t, 0xfd000, CODE('R') + 0x10);
    t->regs[R_RSP] = 0xfd800;
    t->pc = CODE('H') + 0x55;
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "ARH");
    expect(t, edge(SPOOL_EDGE_ROOT, 0, CODE('I')), 1, 20);
    assert_int_equal(frames_totals(t)[0], 12);
    returns(t, 0xfe000, CODE('R') + 0x10);
    works(t, 2); // the restorer
    t->regs[R_RSP] = 0xff000;
    t->pc = CODE('A') + 0x55;
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "A");
    expect_all(t, edge(SPOOL_EDGE_ROOT, 0, CODE('H')), 1, 7, BCM, 2);
    assert_int_equal(frames_totals(t)[0], 5);
    assert_int_equal(frames_totals(t)[BCM], 1);
    assert_int_equal(t->counters[frames.late], 0); // which follows them
    // the restorer's: 20 of the inner one, 7 and 2 of the outer one, which the inner is not part of
    expect_all(t, edge(SPOOL_EDGE_ROOT, 0, CODE('R') + 0x10), 2, 29, BCM, 2);
}

// A sigreturn without a handler; a handler that has gone further up has left functions; and one may
// have made the interrupted function call another.
static void test_signal_return(void **state)
{
    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    t->regs[R_RSP] = 0xfe000;
    t->pc = CODE('B') + 0x60;
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "AB");
    calls(t, 'C', 0xfd000);
    works(t, 3);
    signal_comes(0xfc000, 'H');
    works(t, 9);
    t->regs[R_RSP] = 0xfe800; // after C's frame
    t->pc = CODE('B') + 0x60;
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "AB");
    expect(t, called('B', 'C'), 1, 3);
    assert_int_equal(frames_totals(t)[0], 3);

    signal_comes(0xfc000, 'H');
    t->regs[R_RSP] = 0xfe000;
    t->pc = CODE('S');
    words[1][0] = 0xfe000;
    words[1][1] = CODE('B') + 0x61;
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "ABS");
    assert_true(frames_top(t)->sp == 0xfe000 && frames_top(t)->plt == 0 &&
                frames_top(t)->key == 0xfe000 + CODE('B') + 0x61);
    works(t, 2);
    // in the middle of the function that is on top, or at its own return address: none
    signal_comes(0xfc000, 'H');
    t->regs[R_RSP] = 0xfe000;
    t->pc = CODE('T');
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "ABS");
    returns(t, 0xfe000, CODE('B') + 0x61);
    expect(t, edge(SPOOL_EDGE_INDIRECT, CODE('B') + 0x61, CODE('S')), 1, 2);
    signal_comes(0xfc000, 'H');
    t->regs[R_RSP] = 0xfe000;
    words[1][1] = CODE('C') + 0x61; // not an address of the interrupted function
    t->pc = CODE('S');
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "AB");
    signal_comes(0xfc000, 'H');
    t->regs[R_RSP] = 0xfdff8; // nothing can be read
    calls_signal_return(t);
    assert_string_equal(open_calls(t), "AB");
    tb_config.calls = false;
    calls_signal(t);
    calls_signal_return(t);
    tb_config.calls = true;
    assert_string_equal(open_calls(t), "AB");
}

// A handler that ends by a return to an address that it has put in the place of its own has no
// caller that goes on: it leads there itself.
static void test_signal_replaced(void **state)
{
    (void)state;
    begin();
    signal_comes(0xfc000, 'H');
    assert_string_equal(open_calls(t), "ARH");
    returns(t, 0xfc000, CODE('D'));
    assert_string_equal(open_calls(t), "ARD");
    assert_non_null(edge(SPOOL_EDGE_JUMP, CODE('H') + 0x30, CODE('D')));
}

// A vfork child that ends in a function that it called; one that returns as its parent will; and
// one that returns further.
static void test_borrow(void **state)
{
    struct calls_save save;

    (void)state;
    begin();
    calls(t, 'B', 0xff000);
    works(t, 2);
    misses(t, 1);
    calls_borrow_begin(t, &save);
    calls(t, 'C', 0xfe000);
    works(t, 3);
    calls_borrow_end(t, &save);
    assert_string_equal(open_calls(t), "AB");
    expect(t, called('B', 'C'), 1, 3);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, called('A', 'B'), 1, 5, BCM, 1);

    begin();
    calls(t, 'B', 0xff000);
    works(t, 2);
    misses(t, 1);
    calls_borrow_begin(t, &save);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, called('A', 'B'), 1, 2, BCM, 1);
    t->client_sp = 0xfe000;
    t->ibl_target = CODE('X');
    calls_call(t, told(CODE('A') + 0x4b, 5, 0, NULL));
    works(t, 5);
    misses(t, 4);
    calls_borrow_end(t, &save);
    assert_string_equal(open_calls(t), "AB");
    assert_true(frames_top(t)->key == 0xff000 + CODE('A') + 0x10 && frames_top(t)->sp == 0xff000);
    assert_true(frames_top(t)->counter == called('A', 'B')->counter && frames_top(t)->plt == 0);
    expect_all(t, edge(SPOOL_EDGE_INDIRECT, CODE('A') + 0x4b, CODE('X')), 1, 5, BCM, 4);
    works(t, 7);
    misses(t, 2);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, called('A', 'B'), 1, 9, BCM, 3);

    begin();
    calls(t, 'B', 0xff000);
    calls(t, 'C', 0xfe000);
    calls_borrow_begin(t, &save);
    works(t, 1);
    returns(t, 0xfe000, CODE('B') + 0x10);
    returns(t, 0xff000, CODE('A') + 0x10);
    works(t, 6);
    calls_borrow_end(t, &save);
    assert_string_equal(open_calls(t), "ABC");
    works(t, 2);
    returns(t, 0xfe000, CODE('B') + 0x10);
    expect(t, called('B', 'C'), 1, 3);

    begin(); // the target of its jump
    calls(t, 'B', 0xff000);
    jumps(t, CODE('D'), 0xff000);
    calls_borrow_begin(t, &save);
    returns(t, 0xff000, CODE('A') + 0x10);
    calls_borrow_end(t, &save);
    assert_string_equal(open_calls(t), "ABD");
    assert_true(frames_top(t)->plt == SPOOL_FRAME_JUMP);
    tb_config.calls = false;
    save.top = 0;
    calls_borrow_begin(t, &save);
    calls_borrow_end(t, &save);
    tb_config.calls = true;
    assert_true(save.top == 0 && t->counters[frames.top] == frames_base(0) + 2 * frames.frame);
}

// With replays changes of frames are recorded in order.
static void test_late(void **state)
{
    struct calls_save save;
    const struct spool_edge *e;
    u32 first;

    (void)state;
    frames_record = record_late;
    frames_simulate = simulate;
    options(FLAGS);
    tb_config.recording = true;
    calls_init();
    t = new_thread(0, 'A');
    t->misses = new_thread(1, 'A')->counters;
    frames_thread_init(t);
    told_n = simulated = 0;
    calls_thread_start(t);
    assert_int_equal(t->counters[frames.late], 2); // slot 1, plus one
    expect_late(0, FRAMES_ENTER, 0, 0);
    assert_int_equal(frames_top(t)->key, FRAMES_KEY_NONE);
    entry = edges_of(SPOOL_EDGE_PLT, PLT + 0x20, 0, 0);
    e = frames_edge(calls_entry(0xff000));
    leaves(PLT + 0x20, CODE('D'), 0xff000);
    first = e->counter + 1;
    expect_late(1, FRAMES_ENTER, 1, 0);
    expect_late(2, FRAMES_LEAVE, 1, first + 5 + 3); // after the edge's events, those of misses
    expect_late(3, FRAMES_ENTER, 1, 0);
    calls_borrow_begin(t, &save);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_late(4, FRAMES_LEAVE, 1, first + 3);
    calls_borrow_end(t, &save);
    expect_late(5, FRAMES_ENTER, 1, 0);
    assert_int_equal(told_n, 6);
    assert_int_equal(simulated, 0);
    // Events that are found later, and when they are recorded.
    calls_elements(t, SPOOL_E_BC, 4);
    assert_int_equal(frames_totals(t)[1], 4);
    calls_elements(t, SPOOL_E_DR, 4); // caches are not simulated
    assert_int_equal(frames_totals(t)[1], 4);
    misses(t, 3);
    assert_int_equal(frames_late_totals(t)[BCM], 0); // the counter has no event yet
    calls_own(&(struct spool_counters){ ~0u, 2, ~0u, ~0u, ~0u, ~0u, ~0u, 1, ~0u, ~0u, ~0u, 3 },
              OWN - 1);
    misses(t, 3);
    assert_int_equal(frames_late_totals(t)[BCM], 3);
    assert_int_equal(frames_totals(t)[BCM], 0);
    calls_count(t, OWN + 1, 5);
    assert_int_equal(frames_totals(t)[1], 4); // by calls_elements()
    assert_int_equal(frames_late_totals(t)[1], 0);
    tb_config.recording = false;
    calls_elements(t, SPOOL_E_BC, 4);
    assert_int_equal(frames_totals(t)[1], 4);
    tb_config.recording = true;
    // The end: everything is simulated first, and then the costs are added.
    calls_thread_end(t);
    assert_int_equal(simulated, 1);
    assert_int_equal(told_n, 6);
    assert_int_equal(t->misses[first + 3], 3);
}

// The replay: a call costs the growth of the replay's totals, and a signal's totals are restored.
static void test_replayed(void **state)
{
    const u32 frame = (u32)frames_base(0) + 2 * frames.frame;
    u64 *totals;

    (void)state;
    options(FLAGS);
    tb_config.recording = true;
    calls_init();
    t = new_thread(0, 'A');
    t->misses = new_thread(2, 'A')->counters;
    frames_thread_init(t);
    assert_int_equal(frames_late_slot(t), 2);
    totals = frames_late_totals(t);
    for (u32 i = 0; i < 5; i++)
        totals[i] = 10 + i;
    frames_replay(t, FRAMES_ENTER, frame, 0);
    for (u32 i = 0; i < 5; i++)
        totals[i] += 100 * (i + 1);
    frames_replay(t, FRAMES_LEAVE, frame, 200);
    assert_true(t->misses[200] == 400 && t->misses[201] == 500 && t->misses[202] == 0);
    assert_true(totals[BCM] == 413 && totals[4] == 514);
    frames_replay(t, FRAMES_BACK, frame, 0);
    assert_true(totals[BCM] == 13 && totals[4] == 14 && totals[2] == 312);
    assert_true(((struct spool_frame *)(frames_base(2) + 2 * frames.frame))->before[BCM] == ~13ul);
}

// The same, lazily: three calls within each other, and a miss in the second. It has the miss, the
// third one has none and has noted nothing; what is noted at the end of a replay costs nothing.
static void test_replayed_lazily(void **state)
{
    u64 base = 0, *totals, *unwritten;

    (void)state;
    options(FLAGS);
    tb_config.recording = tb_config.calls_lazy = true;
    calls_init();
    t = new_thread(0, 'A');
    t->misses = new_thread(2, 'A')->counters;
    frames_thread_init(t);
    base = frames_base(0);
    totals = frames_late_totals(t);
    unwritten = t->misses + frames.late + 1;
    frames_late_settle(t, base - frames.frame);
    assert_true(*unwritten == base && t->late_top == t->late_last);
    for (u32 i = 0; i < 3; i++)
        frames_replay(t, FRAMES_ENTER, (u32)base + i * frames.frame, 0);
    assert_true(t->late_top == base + 2 * frames.frame && *unwritten == base);
    frames_replay(t, FRAMES_LEAVE, (u32)base + 2 * frames.frame, 200);
    frames_late_fill(t);
    assert_true(t->late_last == base + frames.frame && *unwritten == base + 2 * frames.frame);
    totals[BCM] += 7;
    frames_replay(t, FRAMES_ENTER, (u32)base + 2 * frames.frame, 0);
    frames_replay(t, FRAMES_LEAVE, (u32)base + 2 * frames.frame, 200);
    assert_int_equal(t->misses[200], 0);
    frames_replay(t, FRAMES_LEAVE, (u32)base + frames.frame, 200);
    assert_true(t->misses[200] == 7 && *unwritten == base + frames.frame);
    frames_replay(t, FRAMES_LEAVE, (u32)base + frames.frame, 200); // killed before it was noted
    assert_int_equal(t->misses[200], 7);
    // a handler without a miss changes no total, one with a miss does
    frames_replay(t, FRAMES_ENTER, (u32)base + frames.frame, 0);
    frames_replay(t, FRAMES_LEAVE, (u32)base + frames.frame, 300);
    frames_replay(t, FRAMES_BACK, (u32)base + frames.frame, 0);
    assert_int_equal(totals[BCM], 7);
    frames_replay(t, FRAMES_ENTER, (u32)base + frames.frame, 0);
    frames_late_fill(t);
    totals[BCM] += 2;
    frames_replay(t, FRAMES_LEAVE, (u32)base + frames.frame, 300);
    frames_replay(t, FRAMES_BACK, (u32)base + frames.frame, 0);
    assert_true(totals[BCM] == 7 && t->misses[300] == 2);
}

// Each kind of counter adds to its event.
static void test_counters(void **state)
{
    static const enum spool_event of[] = {
        SPOOL_E_IR,   SPOOL_E_BC,   SPOOL_E_I1MR, SPOOL_E_ILMR, SPOOL_E_DR,  SPOOL_E_DW,
        SPOOL_E_D1MR, SPOOL_E_DLMR, SPOOL_E_D1MW, SPOOL_E_DLMW, SPOOL_E_BCM, SPOOL_E_BIM,
        SPOOL_E_BRM,  SPOOL_E_CY,   SPOOL_E_CYBASE, SPOOL_E_CYFRONT, SPOOL_E_CYBAD,
        SPOOL_E_CYMEM, SPOOL_E_CYTLB, SPOOL_E_CYCORE,
    };
    const struct spool_counters all = { 0, 1, 2, 4, 5, 6, 8, 10, 11, 12, 13, 20 };
    const u64 flags = FLAGS | SPOOL_F_CACHE_SIM | SPOOL_F_PREDICTOR | SPOOL_F_CORE;

    (void)state;
    begin_with(flags);
    assert_true(frames.events == 21 && frames.often == 5);
    calls_own(&all, 600);
    calls(t, 'B', 0xff000);
    for (u32 i = 0; i < ARRAY_SIZE(of); i++) {
        u32 place = spool_event_index(of[i], flags);

        calls_count(t, 600 + i, 10 + i);
        assert_int_equal(t->counters[600 + i], 10 + i);
        assert_int_equal(frames_totals(t)[place], 10 + i);
        assert_true(!(frames_top(t)->key & SPOOL_FRAME_FILLED) == (i < 2));
    }
    assert_int_equal(frames_totals(t)[spool_event_index(SPOOL_E_BI, flags)], 0);
    t->counters[700] = 1;
    tb_config.calls = false;
    calls_own(&all, 700);
    calls_count(t, 600, 5);
    tb_config.calls = true;
    assert_int_equal(frames_totals(t)[0], 10);
    calls_count(t, 702, 1); // without an owner: the first event
    assert_int_equal(frames_totals(t)[0], 11);
    // A mispredicted branch names its counter.
    calls_miss(t, told(600 + 10, 0, 0, NULL));
    assert_int_equal(t->misses[610], 21);
    assert_int_equal(frames_totals(t)[spool_event_index(SPOOL_E_BCM, flags)], 21);
}

// A block of three: one reads once; one writes twice and is a branch; one jumps indirectly.
static void test_corrected(void **state)
{
    const u64 flags = FLAGS | SPOOL_F_CACHE_SIM | SPOOL_F_BUS;
    const u64 *totals;

    (void)state;
    begin_with(flags);
    totals = frames_totals(t);
    assert_int_equal(frames.often, 6); // Ir Dr Dw Bc Bi Ge
    works(t, 100);
    calls_corrected(t, 7, 2, -1);
    assert_int_equal(totals[0], 98);
    assert_int_equal(totals[1], 199);
    assert_int_equal(totals[2], 298);
    assert_int_equal(totals[3], 399);
    assert_int_equal(totals[4], 500);
    calls_corrected(t, 7, 9, 1);
    assert_int_equal(totals[0], 101);
    assert_int_equal(totals[1], 200);
    assert_int_equal(totals[2], 300);
    assert_int_equal(totals[3], 400);
    assert_int_equal(totals[4], 501);
    assert_int_equal(totals[5], 600);
    block.insn[0].flags = SPOOL_I_BUS;
    calls_corrected(t, 7, 1, 1);
    block.insn[0].flags = 0;
    assert_int_equal(totals[5], 601);
    assert_int_equal(totals[3], 400);
    // Events that are not counted have no total.
    begin();
    calls_corrected(t, 7, 3, 1);
    assert_true(totals[0] == 3 && totals[1] == 1 && totals[2] == 1 && totals[3] == 0);
    tb_config.calls = false;
    calls_corrected(t, 7, 3, 1);
    assert_int_equal(totals[0], 3);
}

// Each site has a record, and another one for each context.
static void test_syscalls(void **state)
{
    const u64 flags = SPOOL_F_CALLS | SPOOL_F_SYSTIME | SPOOL_F_SYSCPU;
    const u64 site = CODE('B') + 0x33;
    const struct spool_edge *e;

    (void)state;
    begin_with(flags);
    assert_true(frames.events == 4 && frames.often == 1);
    calls(t, 'B', 0xff000);
    calls_syscall(t, site, 30, 20);
    calls_syscall(t, site, 5, 4);
    e = edge(SPOOL_EDGE_SYSCALL, site, 0);
    assert_true(e->counter != 0 && e->to == 0);
    assert_int_equal(t->counters[e->counter + 2], 2);
    assert_int_equal(t->counters[e->counter + 3], 35);
    assert_int_equal(t->counters[e->counter + 4], 24);
    assert_int_equal(frames_totals(t)[1], 2);
    assert_int_equal(frames_totals(t)[3], 24);
    assert_int_equal(frames_totals(t)[0], 0);
    returns(t, 0xff000, CODE('A') + 0x10);
    assert_int_equal(t->counters[called('A', 'B')->counter + 2], 2);
    assert_int_equal(t->counters[called('A', 'B')->counter + 3], 35);
    t->calls_context = 5;
    calls_syscall(t, site, 7, 6);
    assert_int_equal(t->counters[e->counter + 3], 35);
    e = &record[header.edges_used - 1];
    assert_true(e->kind == SPOOL_EDGE_SYSCALL && e->site == site && e->to == 5);
    assert_int_equal(t->counters[e->counter + 2], 1);
    assert_int_equal(t->counters[e->counter + 3], 7);
    assert_int_equal(t->counters[e->counter + 4], 6);
    assert_int_equal(counters_used, e->counter + 5);
    t->calls_context = SPOOL_CONTEXT_OFF;
    calls_syscall(t, site, 1000, 1000);
    assert_int_equal(frames_totals(t)[2], 42);
    t->calls_context = 0;
    tb_config.calls = false;
    calls_syscall(t, site, 1000, 1000);
    assert_int_equal(frames_totals(t)[2], 42);
    // Without the processor's time there is no total for it.
    begin_with(SPOOL_F_CALLS | SPOOL_F_SYSTIME);
    calls_syscall(t, site, 30, 20);
    assert_int_equal(frames_totals(t)[1], 1);
    assert_int_equal(frames_totals(t)[2], 30);
    assert_int_equal(frames_totals(t)[3], 0);
}

// The table of translated code is cleared when other modules may be mapped there.
static void test_forgotten(void **state)
{
    (void)state;
    begin();
    spooler_maps_named = 7;
    calls_forget_unmapped();
    calls(t, 'B', 0xff000);
    calls_forget_unmapped();
    assert_true(known(called('A', 'B')) == (u64)called('A', 'B'));
    spooler_maps_named = 8;
    calls_forget_unmapped();
    for (u32 i = 0; i < CALLS_KNOWN; i++)
        assert_true(calls_known[i] == 0);
}

// A jump by a table within its function is counted, and is no call.
static void test_within(void **state)
{
    const struct spool_edge *e;

    (void)state;
    begin();
    t->ibl_target = CODE('A') + 0x200;
    for (u32 i = 1; i < 4; i++) {
        calls_table(t, told(CODE('A') + 0x50, 0, 0, NULL));
        e = edge(SPOOL_EDGE_TABLE, CODE('A') + 0x50, CODE('A') + 0x200);
        assert_int_equal(t->counters[e->counter], i);
    }
    assert_true(known(e) == (u64)e);
    assert_int_equal(counters_used, e->counter + 1);
    assert_string_equal(open_calls(t), "A");
}

// Calls of other threads end in the forked child, but not those of a slot that is free.
static void test_fork(void **state)
{
    struct thread *other, *gone;
    const struct spool_edge *e;

    (void)state;
    begin();
    works(t, 1);
    other = new_thread(2, 'E');
    calls_thread_start(other);
    works(other, 3);
    gone = new_thread(1, 'E');
    calls_thread_start(gone);
    own[2].bridges = own[0].bridges = 1;
    e = edge(SPOOL_EDGE_ROOT, 0, CODE('E'));
    tb_config.calls = false;
    calls_fork_child(t);
    assert_true(other->counters[frames.top] != 0);
    tb_config.calls = true;
    calls_fork_child(t);
    assert_int_equal(other->counters[frames.top], 0);
    assert_true(own[2].bridges == 0 && own[0].bridges == 1);
    expect(other, e, 1, 3);
    expect(gone, e, 1, 0);
    assert_true(gone->counters[frames.top] == frames_base(1));
    assert_string_equal(open_calls(t), "A");
}

// Open calls start to cost when all counters have become 0.
static void test_zero(void **state)
{
    struct calls_kept kept;

    (void)state;
    begin();
    works(t, 4);
    misses(t, 1);
    calls(t, 'B', 0xff000);
    works(t, 5);
    misses(t, 2);
    kept = calls_keep(t->counters);
    assert_true(kept.top == t->counters[frames.top] && kept.late == 0);
    memset(t->counters, 0, COUNTERS * 8);
    calls_zero(t->counters, 0, kept);
    assert_string_equal(open_calls(t), "AB");
    works(t, 3);
    misses(t, 1);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect_all(t, called('A', 'B'), 0, 3, BCM, 1);
    calls_thread_end(t);
    expect_all(t, edge(SPOOL_EDGE_ROOT, 0, CODE('A')), 0, 3, BCM, 1);
    // A slot without a thread has nothing open.
    kept = calls_keep(t->counters);
    t->counters[frames.top] = 1;
    calls_zero(t->counters, 0, kept);
    assert_int_equal(t->counters[frames.top], 1);
    t->counters[frames.top] = frames_base(0);
    tb_config.calls = false;
    kept = calls_keep(t->counters);
    assert_true(kept.top == 0 && kept.late == 0);
    assert_false(calls_toggle(t));
}

// The frames of replays are in the same slot, or in another one.
static void zero_late(u32 slot)
{
    struct calls_kept kept;
    struct spool_frame *late;

    frames_record = record_late;
    options(FLAGS);
    tb_config.recording = true;
    calls_init();
    t = new_thread(0, 'A');
    t->misses = slot ? new_thread(slot, 'A')->counters : t->counters;
    frames_thread_init(t);
    told_n = 0;
    calls_thread_start(t);
    calls(t, 'B', 0xff000);
    kept = calls_keep(t->counters);
    assert_int_equal(kept.late, slot + 1);
    assert_int_equal(reached[0], frames.frame); // more when a piece starts
    assert_int_equal(reached[slot], frames.frame);
    for (u32 i = 0; i < 3; i++) {
        late = (struct spool_frame *)(frames_base(slot) + i * frames.frame);
        late->before[BCM] = 1;
    }
    calls_zero(t->counters, 0, kept);
    assert_int_equal(t->counters[frames.late], slot + 1);
    for (u32 i = 0; i < 3; i++) {
        late = (struct spool_frame *)(frames_base(slot) + i * frames.frame);
        assert_true(late->before[BCM] == (i < 2 ? ~0ul : 1));
    }
}

static void test_zero_late(void **state)
{
    (void)state;
    zero_late(0);
    zero_late(2);
}

// The stack pointer is set in a block that calls, or stays: only the former is certain to have left
// functions, if none started exactly there.
static void sets(u64 sp, u32 then_calls, const char *open)
{
    begin();
    calls(t, 'B', 0xff000);
    calls(t, 'C', 0xfe000);
    t->calls_sp = 0xfd000;
    t->client_sp = sp;
    calls_stack(t, told(0, then_calls, 0, NULL));
    assert_string_equal(open_calls(t), open);
}

static void test_stack(void **state)
{
    (void)state;
    sets(0xff200, 1, "A");
    sets(0xff200, 0, "ABC");
    sets(0xff008, 0, "A");
    sets(0xfe008, 0, "AB");
}

// Up on the same stack, and a jump from there: to where a call would have returned to, whatever
// function that is, or to a function that is open around there.
static void leaps(u64 sp, u64 target, const char *open)
{
    begin();
    calls(t, 'B', 0xff000);
    calls(t, 'C', 0xfe000);
    t->calls_sp = 0xfd000;
    t->client_sp = sp;
    t->ibl_target = target;
    calls_jump(t, told(CODE('C') + 0x20, 0, 1, NULL));
    assert_string_equal(open_calls(t), open);
}

static void test_leaps(void **state)
{
    (void)state;
    leaps(0xff008, CODE('A') + 0x60, "A");
    leaps(0xff008, CODE('D'), "AD");
    leaps(0xfe800, CODE('B') + 0x60, "AB");
    leaps(0xfe800, CODE('D'), "D"); // neither: an unknown stack
}

// Control goes to another stack: its work there does not belong to the function that set the stack
// pointer.
static void goes(bool by_return, bool set, bool direct, u64 sp, const char *open)
{
    begin();
    calls(t, 'S', 0xff000);
    works(t, 3);
    t->calls_sp = 0xfeff0;
    t->client_sp = sp;
    t->ibl_target = CODE('B');
    if (by_return) {
        t->client_sp += 8;
        calls_return(t, told(CODE('S') + 0x30, 8, set, NULL));
    } else {
        calls_jump(t, told(CODE('S') + 0x20, direct, set, NULL));
    }
    assert_string_equal(open_calls(t), open);
}

static void test_stacks(void **state)
{
    u32 n;

    (void)state;
    goes(false, false, false, 0xfe000, "ASB");
    goes(true, false, false, 0xfe000, "ASB");
    goes(false, true, true, 0xfe000, "ASB"); // a direct jump has no other target
    goes(true, true, false, 0x60000, "B");
    goes(false, true, false, 0x50000, "B");
    // Saved stacks are cleared: S, to which control returns, costs 2 from there on.
    calls_zero_left();
    memset(t->counters + called('A', 'S')->counter, 0, 6 * 8);
    t->calls_sp = 0x4fff0;
    t->client_sp = 0xfeff0;
    t->ibl_target = CODE('S') + 0x40;
    calls_jump(t, told(CODE('B') + 0x20, 0, 1, NULL));
    assert_string_equal(open_calls(t), "AS");
    works(t, 2);
    returns(t, 0xff000, CODE('A') + 0x10);
    expect(t, called('A', 'S'), 0, 2);
    assert_int_equal(frames_totals(t)[0], 2);
    // Back to where S is, and from there at once to D, above S: the caller of S continues there.
    begin();
    calls(t, 'B', 0xff000);
    calls(t, 'S', 0xfe000);
    n = pieces;
    t->calls_sp = 0xfdff0;
    t->client_sp = 0x90000;
    t->ibl_target = CODE('C');
    calls_jump(t, told(CODE('S') + 0x20, 0, 1, NULL));
    assert_string_equal(open_calls(t), "C");
    t->calls_sp = 0x8fff0;
    t->client_sp = 0xfdff0;
    calls_stack(t, told(0, 0, 0, NULL));
    jumps(t, CODE('D'), 0xfe800);
    assert_string_equal(open_calls(t), "ABD");
    assert_non_null(edge(SPOOL_EDGE_JUMP, CODE('B') + 0xb, CODE('D')));
    assert_int_equal(pieces, n + 1); // of C's stack, which is saved now
    // A call on another stack belongs to the function as usual.
    begin();
    calls(t, 'S', 0xff000);
    t->calls_sp = 0xfeff0;
    t->client_sp = 0x250000;
    calls_stack(t, told(0, 1, 0, NULL));
    calls(t, 'C', 0x24fff8);
    assert_string_equal(open_calls(t), "ASC");
    returns(t, 0x24fff8, CODE('S') + 0x10);
    assert_string_equal(open_calls(t), "AS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_returns_elsewhere),
        cmocka_unit_test(test_signal_replaced),
        cmocka_unit_test(test_returns_replaced),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_signal_return),
        cmocka_unit_test(test_borrow),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_replayed),
        cmocka_unit_test(test_replayed_lazily),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_corrected),
        cmocka_unit_test(test_syscalls),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_zero_late),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_leaps),
    };

    return cmocka_run_group_tests_name("engine calls", tests, map_all, NULL);
}
