// SPDX-License-Identifier: MIT
//
// The record stream: what is written is read back, at every border of its form. Lengths in bytes
// are counted from the drawing in stream.h.
#include "tests/unit/profile/text.h"

#include "profile/model/walk.h"

// A profile of n events, E0 to E<n-1>, and one function.
static struct quern_profile *with_events(size_t n)
{
    struct quern_profile *p = quern_profile_new();
    char names[80][24];
    const char *list[80];

    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof(names[i]), "E%zu", i);
        list[i] = names[i];
    }
    assert_int_equal(quern_profile_set_events(p, list, n), 0);
    assert_int_equal(quern_profile_func(p, QUERN_NONE, QUERN_NONE, QUERN_NONE), 0);
    return p;
}

static size_t used(const struct quern_profile *p)
{
    return p->out ? (size_t)(p->out - p->last->data) : 0;
}

// Up to 14 counts the number is in the op; from 15 on it follows the op.
static void test_number_of_counts(void **state)
{
    struct quern_profile *p = with_events(66);
    struct quern_site at = { .func = 0, .file = QUERN_NONE, .line = 1 };
    uint64_t counts[66];
    static const size_t n[] = { 0, 1, 14, 15, 16, 63, 64, 66 };
    // op, line (1 after 0 once, then the same), counts of one byte, and from 15 on their number
    static const size_t bytes[] = { 2, 3, 16, 18, 19, 66, 67, 69 };
    struct walk w;

    (void)state;
    for (size_t i = 0; i < 66; i++)
        counts[i] = i + 1;
    assert_int_equal(quern_profile_add_cost(p, &at, counts, 0), 0); // also writes the context
    for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
        size_t before = used(p);
        assert_int_equal(quern_profile_add_cost(p, &at, counts, n[i]), 0);
        assert_int_equal(used(p) - before, bytes[i]);
    }
    walk_init(&w, p);
    assert_int_equal(walk_next(&w), 1);
    walk_skip(&w);
    for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
        uint64_t v[66] = { 0 };
        assert_int_equal(walk_next(&w), 1);
        assert_int_equal(w.op, OP_COST);
        assert_int_equal(w.ncounts, n[i]);
        assert_true(w.present == (n[i] >= 64 ? UINT64_MAX : ((uint64_t)1 << n[i]) - 1));
        assert_int_equal(w.at.line, 1);
        walk_counts(&w, v);
        for (size_t k = 0; k < n[i]; k++)
            assert_int_equal(v[k], k + 1);
    }
    assert_int_equal(walk_next(&w), 0);
    assert_int_equal(walk_next(&w), 0); // and stays at the end
    assert_int_equal(total(p, 0), 7);   // all but those without counts
    assert_int_equal(total(p, 13), 14 * 6);
    assert_int_equal(total(p, 65), 66);
    quern_profile_free(p);
}

// Positions and targets of every kind, at the ends of their range.
static void test_places(void **state)
{
    struct quern_profile *p = with_events(1);
    const uint64_t max = UINT64_MAX;
    struct quern_site a = { .func = 0, .file = 1, .line = max, .addr = 0, .bb = 3 };
    struct quern_site b = { .func = 0, .file = QUERN_NONE, .line = 0, .addr = max, .bb = 0 };
    struct quern_site to = { .func = 0, .file = QUERN_NONE, .line = 9, .addr = 1 };
    struct quern_cursor *c;
    struct quern_record r;

    (void)state;
    assert_int_equal(quern_profile_add_cost(p, &a, (uint64_t[]){ max }, 1), 0);
    assert_int_equal(quern_profile_add_call(p, &b, 0, 7, 5, max, (uint64_t[]){ 2 }, 1), 0);
    assert_int_equal(quern_profile_add_jump(p, &a, &to, 0, 4), 0);
    assert_int_equal(quern_profile_add_jump(p, &b, &to, 6, 1), 0);
    assert_int_equal(quern_profile_add_jump(p, &b, &to, 0, 2), 0);
    c = quern_cursor_new(p);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.kind, QUERN_REC_COST);
    assert_true(r.at.line == max && r.at.addr == 0 && r.at.bb == 3);
    assert_int_equal(r.at.file, QUERN_NONE); // "???" is no name
    assert_true(r.counts[0] == (quern_count)max);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.kind, QUERN_REC_CALL);
    assert_true(r.at.line == 0 && r.at.addr == max && r.at.bb == 0);
    assert_true(r.to.line == 7 && r.to.addr == 5 && r.calls == max && r.executed == 0);
    assert_true(r.counts[0] == 2);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.kind, QUERN_REC_JUMP);
    assert_true(r.calls == 4 && r.executed == 0 && r.to.line == 9 && r.to.addr == 1);
    assert_true(r.counts[0] == 0); // not that of the record before
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.kind, QUERN_REC_JCND);
    assert_true(r.calls == 1 && r.executed == 6);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_true(r.calls == 2 && r.executed == 0); // not that of the one before
    assert_int_equal(quern_cursor_next(c, &r), 0);
    quern_cursor_free(c);
    assert_int_equal(quern_profile_has(p), QUERN_HAS_LINE | QUERN_HAS_ADDR | QUERN_HAS_BB |
                                               QUERN_HAS_CALL | QUERN_HAS_JUMP);
    // the call's cost is inclusive: not part of the total
    assert_true(quern_profile_totals(p)[0] == (quern_count)max);
    quern_profile_free(p);
}

// Special counts: negative, of more than 64 bits, of events with fractions.
static void test_special(void **state)
{
    struct quern_profile *p = with_events(2);
    quern_count nano = NANO, v[2] = { -3, (quern_count)UINT64_MAX + 1 };
    struct quern_record rec = { .kind = QUERN_REC_COST,
                                .at = { .func = 0, .file = QUERN_NONE },
                                .counts = v };
    struct walk w;
    quern_count out[2];

    (void)state;
    assert_int_equal(stream_add(p, &rec, 2), 0);
    v[1] = 8;
    assert_int_equal(stream_add(p, &rec, 2), 0);
    v[0] = (quern_count)UINT64_MAX; // the largest that is not special
    assert_int_equal(stream_add(p, &rec, 1), 0);
    v[0]++; // the smallest positive one that is
    assert_int_equal(stream_add(p, &rec, 1), 0);
    walk_init(&w, p);
    assert_int_equal(walk_next(&w), 1);
    assert_true(w.special != 0);
    walk_scaled(&w, p->event, out);
    assert_true(out[0] == -3 && out[1] == (quern_count)UINT64_MAX + 1);
    assert_int_equal(walk_next(&w), 1);
    assert_true(w.special != 0); // for its first count
    walk_skip(&w);
    assert_int_equal(walk_next(&w), 1);
    assert_true(w.special == 0);
    walk_scaled(&w, p->event, out);
    assert_true(out[0] == (quern_count)UINT64_MAX);
    assert_int_equal(walk_next(&w), 1);
    assert_true(w.special != 0);
    walk_scaled(&w, p->event, out);
    assert_true(out[0] == (quern_count)UINT64_MAX + 1);
    assert_int_equal(walk_next(&w), 0);
    assert_true(quern_profile_totals(p)[0] == 2 * (quern_count)UINT64_MAX - 5);
    assert_true(quern_profile_totals(p)[1] == (quern_count)UINT64_MAX + 9);
    p->event[0].scale = NANO; // as if a fraction had been seen since
    walk_init(&w, p);
    walk_next(&w);
    walk_scaled(&w, p->event, out);
    assert_true(out[0] == -3 * nano);
    walk_next(&w);
    walk_skip(&w);
    walk_next(&w);
    walk_scaled(&w, p->event, out);
    assert_true(out[0] == (quern_count)UINT64_MAX * nano);
    assert_true(quern_profile_totals(p)[0] == (2 * (quern_count)UINT64_MAX - 5) * nano);
    quern_profile_free(p);
}

// Records do not cross chunks: the first is of 16 KB, the others of 256 KB.
static void test_chunks(void **state)
{
    struct quern_profile *p = with_events(3);
    enum { N = 300000 };
    struct quern_cursor *c;
    struct quern_record r;
    uint64_t n = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        struct quern_site at = { .func = 0, .file = QUERN_NONE, .line = i * 1000003 % 977 };
        assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1, i, i << 40 }, 3), 0);
    }
    assert_int_equal(p->record_count, N);
    assert_int_equal(p->first->size, 1 << 14);
    assert_int_equal(p->first->next->size, 1 << 18);
    assert_true(p->first->used <= p->first->size);
    c = quern_cursor_new(p);
    while (quern_cursor_next(c, &r)) {
        assert_true(r.at.line == n * 1000003 % 977);
        assert_true(r.counts[0] == 1 && r.counts[1] == (quern_count)n &&
                    r.counts[2] == (quern_count)(n << 40));
        n++;
    }
    assert_int_equal(n, N);
    quern_cursor_free(c);
    quern_profile_free(p);
}

// A new context is written only when one of its fields changes.
static void test_context(void **state)
{
    struct quern_profile *p = with_events(1);
    struct quern_site at = { .func = 0, .file = QUERN_NONE, .line = 1 };

    (void)state;
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1), 0);
    size_t before = used(p);
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1), 0);
    assert_int_equal(used(p) - before, 3); // op, line, count
    assert_int_equal(quern_profile_begin_part(p), 0);
    before = used(p);
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1), 0);
    // op, mask, function 0, no file (2^32 - 1: five bytes), part 1, and the record
    assert_int_equal(used(p) - before, 9 + 3);
    struct walk w;
    walk_init(&w, p);
    for (uint32_t part = 0; walk_next(&w); part++) {
        assert_int_equal(w.at.part, part / 2);
        assert_int_equal(w.at.mask, QUERN_HAS_LINE);
        walk_skip(&w);
    }
    quern_profile_free(p);
}

static void test_empty(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_cursor *c = quern_cursor_new(p);
    struct quern_record r;

    (void)state;
    assert_int_equal(quern_cursor_next(c, &r), 0);
    quern_cursor_free(c);
    quern_cursor_free(NULL);
    quern_profile_free(p);
    quern_profile_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_of_counts), cmocka_unit_test(test_places),
        cmocka_unit_test(test_special),          cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_context),          cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests_name("profile stream", tests, NULL, NULL);
}
