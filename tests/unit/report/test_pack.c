// SPDX-License-Identifier: MIT
//
// What goes into a report comes out of it: every golden profile is packed, loaded into the core,
// and compared number by number with libquern, which read it.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/core/column.h"
#include "report/core/costs.h"
#include "report/core/detail.h"
#include "report/core/graph.h"
#include "report/core/rows.h"
#include "report/core/top.h"
#include "tests/unit/report/unpack.h"

static struct text text(const char *s)
{
    return (struct text){ (const uint8_t *)s, strlen(s) };
}

static bool same_text(struct text a, const char *b)
{
    return a.size == strlen(b) && (a.size == 0 || memcmp(a.at, b, a.size) == 0);
}

// By object, file and name; of a base (`sides`) else by file and name.
static uint32_t find(const struct core *c, const struct quern_profile *p, uint32_t func)
{
    struct quern_func g = quern_profile_func_get(p, func);
    uint32_t other = CORE_NONE;

    for (uint32_t f = 0; f < c->funcs; f++) {
        if (!same_text(core_string(c, c->file[f]), quern_profile_str(p, g.file)) ||
            !same_text(core_string(c, c->name[f]), quern_profile_str(p, g.name)))
            continue;
        if (same_text(core_string(c, c->object[f]), quern_profile_str(p, g.object)))
            return f;
        other = f;
    }
    return other;
}

static void compare_functions(struct core *c, unsigned side, struct quern_profile *p)
{
    struct quern_costs *costs = quern_costs_new(p);
    uint32_t edges = 0;

    assert_non_null(costs);
    assert_int_equal(costs_self(c, side, c->events), 0);
    for (uint32_t e = 0; e < c->events; e++) {
        assert_int_equal(graph_inclusive(c, side, e), 0);
        assert_true(costs_total(c, side, e) == quern_profile_totals(p)[e]);
        for (uint32_t i = 0; i < quern_profile_func_count(p); i++) {
            uint32_t f = find(c, p, i);
            assert_int_not_equal(f, CORE_NONE);
            assert_true(column_get(&c->self[side][e], f) == quern_costs_self(costs, i)[e]);
            assert_true(column_get(&c->inclusive[side][e], f) ==
                        quern_costs_inclusive(costs, i)[e]);
            assert_true((uint64_t)column_get(&c->self[side][c->events], f) ==
                        quern_costs_called(costs, i));
            assert_int_equal(c->graph[side].cycle[f] != 0, quern_costs_cycle(costs, i) != 0);
        }
        for (size_t i = 0; i < quern_costs_edge_count(costs); i++) {
            struct quern_edge q = quern_costs_edge(costs, i);
            uint32_t edge = link_find(c, find(c, p, q.caller), find(c, p, q.callee));
            assert_int_not_equal(edge, CORE_NONE);
            assert_true(column_get(&c->edge[side][e], edge) == q.counts[e]);
            assert_true((uint64_t)column_get(&c->edge[side][c->events], edge) == q.calls);
        }
    }
    for (uint32_t e = 0; e < c->edges; e++)
        edges += c->graph[side].there[e / 8] >> e % 8 & 1;
    assert_int_equal(edges, quern_costs_edge_count(costs));
    quern_costs_free(costs);
}

// Every line of the profile is a row, and there are no others.
static void compare_lines(struct core *c, unsigned side, struct quern_profile *p)
{
    struct detail *d;
    struct quern_cursor *cursor = quern_cursor_new(p);
    struct quern_record rec;

    assert_int_equal(
        detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE | DETAIL_ADDR | DETAIL_FUNC, NULL, &d),
        0);
    while (quern_cursor_next(cursor, &rec) == 1) {
        if (rec.kind != QUERN_REC_COST)
            continue;
        uint32_t f = find(c, p, rec.at.func);
        size_t hits = 0;
        for (size_t i = 0; i < d->count; i++) {
            const struct detail_row *r = &d->row[i];
            if (r->func != f || r->line != rec.at.line || r->addr != rec.at.addr ||
                !same_text(core_string(c, r->file), quern_profile_str(p, rec.at.file)))
                continue;
            hits++;
            for (uint32_t e = 0; e < c->events; e++)
                d->counts[(i * d->sides + side) * d->events + e] -= rec.counts[e];
        }
        assert_int_equal(hits, 1);
    }
    for (size_t i = 0; i < d->count; i++)
        for (uint32_t e = 0; e < c->events; e++)
            assert_true(d->counts[(i * d->sides + side) * d->events + e] == 0);
    quern_cursor_free(cursor);
    detail_free(d);
}

// Before the edges are loaded the first block's numbers are valid: of these profiles, all of them.
static void compare_top(struct core *c, struct quern_profile *p)
{
    struct quern_costs *costs = quern_costs_new(p);

    assert_int_equal(top_count(c), c->funcs < 2000 ? c->funcs : 2000);
    for (uint32_t e = 0; e < c->events; e++) {
        assert_int_equal(graph_inclusive(c, 0, e), 0);
        assert_int_equal(costs_self(c, 0, e), 0);
        for (uint32_t i = 0; i < quern_profile_func_count(p); i++) {
            uint32_t f = find(c, p, i);
            assert_true(column_get(&c->self[0][e], f) == quern_costs_self(costs, i)[e]);
            if (f < top_inclusive_count(c) || e == c->order)
                assert_true(column_get(&c->inclusive[0][e], f) ==
                            quern_costs_inclusive(costs, i)[e]);
        }
    }
    quern_costs_free(costs);
}

static struct quern_profile *read_golden(const char *name)
{
    char path[300];

    snprintf(path, sizeof(path), "tests/golden/%s", name);
    struct quern_profile *p = quern_profile_read(path, NULL, NULL);
    if (p && quern_profile_event_count(p) == 0) {
        quern_profile_free(p);
        return NULL;
    }
    return p;
}

static void golden(void **state)
{
    DIR *dir = opendir("tests/golden");
    size_t profiles = 0;

    (void)state;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        struct quern_profile *p = strstr(e->d_name, "grind") ? read_golden(e->d_name) : NULL;
        if (!p)
            continue;
        struct pack *k = pack_everything(p, NULL);
        assert_non_null(k);
        struct core *c = unpack(k);
        assert_non_null(c);
        assert_int_equal(c->funcs_loaded, c->funcs);
        assert_int_equal(c->strings_loaded, c->strings);
        compare_top(c, p);
        assert_int_equal(link_edges(c), 0);
        compare_functions(c, 0, p);
        compare_lines(c, 0, p);
        load_free(c);
        pack_free(k);
        quern_profile_free(p);
        profiles++;
    }
    closedir(dir);
    assert_true(profiles >= 82); // those of tests/golden that have events; more may come
    assert_true(profiles >= 70);
}

// Two profiles in one report are separate: each side's numbers are those of its own profile.
static void sides(void **state)
{
    struct quern_profile *a = read_golden("calls-zero.callgrind"),
                         *b = read_golden("cfn-reset.callgrind");
    struct quern_error err;

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    if (quern_profile_match_events(a, "a", b, "b", &err) < 0)
        fail_msg("%s", err.msg);
    struct pack *k = pack_everything(a, b);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    compare_functions(c, 0, a);
    compare_functions(c, 1, b);
    compare_lines(c, 0, a);
    compare_lines(c, 1, b);
    load_free(c);
    pack_free(k);
    quern_profile_free(a);
    quern_profile_free(b);
}

struct moved {
    const char *object, *file, *name;
    uint64_t self;
};

static struct quern_profile *profile_of(const struct moved *func, size_t n)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };

    quern_profile_set_events(p, events, 1);
    for (size_t i = 0; i < n; i++) {
        const char *text[] = { func[i].object, func[i].file, func[i].name };
        uint32_t s[3];
        for (int k = 0; k < 3; k++)
            s[k] =
                text[k] ? quern_profile_string(p, text[k], (ptrdiff_t)strlen(text[k])) : QUERN_NONE;
        quern_profile_add_cost(
            p,
            &(struct quern_site){
                .func = quern_profile_func(p, s[0], s[1], s[2]), .file = s[1], .line = 1 },
            &func[i].self, 1);
    }
    return p;
}

// Functions of another object are the same when file and name are; without a file, when the
// objects' names and the functions' are. A match in the same object has priority, so /old/lib's s
// is that of /new/lib only because /both/lib's has its own.
static void moved(void **state)
{
    static const struct moved new[] = {
        { "/new/prog", "a.c", "f", 1 },    { "/new/lib.so", NULL, "g", 2 },
        { "/new/other.so", NULL, "h", 4 }, { "/new/lib", "s.h", "s", 8 },
        { "/both/lib", "s.h", "s", 16 },
    };
    static const struct moved old[] = {
        { "/old/prog", "a.c", "f", 100 },     { "/old/lib.so", NULL, "g", 200 },
        { "/old/mother.so", NULL, "h", 400 }, { "/old/lib", "s.h", "s", 800 },
        { "/both/lib", "s.h", "s", 1600 },
    };
    struct quern_profile *a = profile_of(new, 5), *b = profile_of(old, 5);
    struct pack *k = pack_everything(a, b);
    struct core *c = unpack(k);
    core_count sum[6][2] = { { 0 } };

    (void)state;
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    assert_int_equal(c->funcs, 6); // h is two
    for (unsigned s = 0; s < 2; s++) {
        assert_int_equal(costs_self(c, s, 0), 0);
        for (uint32_t f = 0; f < c->funcs; f++)
            sum[f][s] = column_get(&c->self[s][0], f);
    }
    static const int wanted[6][2] = { { 1, 100 }, { 2, 200 }, { 4, 0 },
                                      { 0, 400 }, { 8, 800 }, { 16, 1600 } };
    for (int i = 0; i < 6; i++) {
        int hits = 0;
        for (uint32_t f = 0; f < 6; f++)
            hits += sum[f][0] == wanted[i][0] && sum[f][1] == wanted[i][1];
        assert_int_equal(hits, 1);
    }
    load_free(c);
    pack_free(k);
    quern_profile_free(a);
    quern_profile_free(b);
}

// parts.callgrind: its parts alone add up to the whole.
static void parts(void **state)
{
    struct quern_profile *p = read_golden("parts.callgrind");
    struct pack *k = pack_everything(p, NULL);
    struct core *c = unpack(k);
    core_count sum = 0;

    (void)state;
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    assert_true(c->parts >= 2);
    for (uint32_t i = 0; i < c->parts; i++) {
        uint8_t *only = calloc(c->parts, 1);
        struct detail *d;
        core_count lines = 0, self = 0;
        only[i] = 1;
        assert_int_equal(costs_select(c, only), 0);
        assert_int_equal(costs_self(c, 0, 0), 0);
        for (uint32_t f = 0; f < c->funcs; f++)
            self += column_get(&c->self[0][0], f);
        assert_int_equal(detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE, NULL, &d), 0);
        for (size_t r = 0; r < d->count; r++)
            lines += d->counts[r * d->sides * d->events];
        assert_true(self == costs_total(c, 0, 0));
        assert_true(lines == self);
        sum += self;
        detail_free(d);
        free(only);
    }
    assert_true(sum == quern_profile_totals(p)[0]);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

// A function with 30,000 lines of counts near 2^64 does not fit a block: it takes several sections.
static void giant(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M" };
    uint64_t counts[13];

    (void)state;
    quern_profile_set_events(p, events, 13);
    uint32_t file = quern_profile_string(p, "f.c", -1);
    uint32_t fn = quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, "f", -1));
    uint32_t small = quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, "g", -1));
    for (int i = 0; i < 13; i++)
        counts[i] = UINT64_MAX - (uint64_t)i;
    for (uint64_t line = 1; line <= 30000; line++)
        quern_profile_add_cost(p, &(struct quern_site){ .func = fn, .file = file, .line = line },
                               counts, 13);
    quern_profile_add_cost(p, &(struct quern_site){ .func = small, .file = file, .line = 7 },
                           counts, 1);
    struct pack *k = pack_everything(p, NULL);
    assert_non_null(k);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    struct detail *d;
    assert_int_equal(detail_places(c, 0, CORE_NONE, DETAIL_LINE, NULL, &d), 0);
    assert_int_equal(d->count, 30000);
    for (size_t i = 0; i < d->count; i++) {
        assert_int_equal(d->row[i].line, i + 1);
        for (uint32_t e = 0; e < 13; e++)
            assert_true(d->counts[i * d->sides * 13 + e] == (core_count)UINT64_MAX - e);
    }
    detail_free(d);
    assert_int_equal(costs_self(c, 0, 12), 0);
    assert_true(column_get(&c->self[0][12], 0) == 30000 * ((core_count)UINT64_MAX - 12));
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

// Names of every length and byte, up to the limit of a name.
static void names(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    uint64_t one = 1;
    char *huge = malloc((2 << 20) + 1);

    (void)state;
    memset(huge, 'x', 2 << 20);
    huge[2 << 20] = 0;
    quern_profile_set_events(p, events, 1);
    const char *name[] = { "a", "ab", "ab</script>", "\xff\xfe", "\xe2\x80\xae", huge };
    for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
        uint32_t fn =
            quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, name[i], -1));
        quern_profile_add_cost(p, &(struct quern_site){ .func = fn, .file = QUERN_NONE, .line = 1 },
                               &one, 1);
    }
    struct pack *k = pack_everything(p, NULL);
    assert_non_null(k);
    assert_int_equal(pack_cut(k), 1);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(c->funcs, 6);
    for (uint32_t f = 0; f < 5; f++)
        assert_true(same_text(core_string(c, c->name[f]), name[f]));
    assert_int_equal(core_string(c, c->name[5]).size, 1 << 20);
    uint8_t mask[6];
    assert_int_equal(rows_match(c, text("AB").at, 2, ROWS_NAME, mask), 0);
    assert_memory_equal(mask, ((uint8_t[]){ 0, 1, 1, 0, 0, 0 }), 6);
    assert_int_equal(rows_match(c, text("AB").at, 2, ROWS_NAME | ROWS_CASE, mask), 0);
    assert_memory_equal(mask, ((uint8_t[]){ 0, 0, 0, 0, 0, 0 }), 6);
    assert_int_equal(rows_match(c, text("</script").at, 8, ROWS_NAME, mask), 0);
    assert_memory_equal(mask, ((uint8_t[]){ 0, 0, 1, 0, 0, 0 }), 6);
    for (uint32_t f = 0; f < 6; f++)
        assert_int_equal(rows_find(c, rows_hash(c, f)), f);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
    free(huge);
}

// Three functions with lines 5 and 9, the lower one inlined: "a" is called at 9 and at 8; "b" is
// not called, and 9 is at its lowest address; "c" has neither, so its lowest line has to do.
static void begins(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" }, *name[] = { "a", "b", "c" };
    uint64_t one[] = { 1 }, line[] = { 8, 9, 5 };
    uint32_t file, func[3];

    (void)state;
    quern_profile_set_events(p, events, 1);
    file = quern_profile_string(p, "f.c", -1);
    for (uint32_t i = 0; i < 3; i++) {
        func[i] = quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, name[i], -1));
        for (uint64_t k = 0; k < 2; k++)
            quern_profile_add_cost(p,
                                   &(struct quern_site){ .func = func[i],
                                                         .file = file,
                                                         .line = k ? 5 : 9,
                                                         .addr = i == 1 ? 0x10 + k : 0 },
                                   one, 1);
    }
    for (uint64_t k = 8; k < 10; k++)
        quern_profile_add_call(p, &(struct quern_site){ .func = func[1], .file = file, .line = 9 },
                               func[0], k, 0, 1, one, 1);
    struct pack *k = pack_everything(p, NULL);
    assert_non_null(k);
    struct core *c = unpack(k);
    assert_non_null(c);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(c->line[find(c, p, func[i])], line[i]);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden), cmocka_unit_test(sides), cmocka_unit_test(moved),
        cmocka_unit_test(parts),  cmocka_unit_test(giant), cmocka_unit_test(names),
        cmocka_unit_test(begins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
