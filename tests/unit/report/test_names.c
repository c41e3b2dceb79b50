// SPDX-License-Identifier: MIT
//
// report/core/names.c: names with the same text outside of their brackets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/core/heap.h"
#include "report/core/link.h"
#include "report/core/load.h"
#include "report/core/names.h"
#include "tests/unit/report/unpack.h"

static uint32_t hash(const char *name)
{
    return names_hash((struct text){ (const uint8_t *)name, strlen(name) });
}

static void brackets(void **state)
{
    // Without brackets, or with some that do not match.
    static const char *const none[] = { "",        "main",          "a->b",      "f<int",
                                        "f>",      "f(int",         "operator<", "operator >>=",
                                        "f<(int>", "X::operator->", "f)" };
    // The pairs that become the same when what is in the brackets is not shown, and others.
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        { "f<int>(int)", "f<long>(a<b>, c)", true },
        { "f<int>(int)", "f<int>", false },
        { "f<int>", "f(int)", false },
        { "f<a>()", "g<a>()", false },
        { "f<a>::x", "f<a>::y", false },
        { "operator<< <char>(int)", "operator<< <long>(int)", true },
        { "operator<< <char>(int)", "operator< <char>(int)", false },
        { "f<(a > b)>()", "f<(1 > 2)>()", true },
        { "f<a->b>()", "f<c>()", true },
        { "<Vec<u8> as Drop>::drop", "<Box<u8> as Drop>::drop", true },
        { "py::<lambda>", "py::<module>", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_int_equal(hash(none[i]), 0);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        uint32_t a = hash(pairs[i].a), b = hash(pairs[i].b);
        assert_true(a != 0 && b != 0);
        if ((a == b) != pairs[i].same)
            fail_msg("%s, %s", pairs[i].a, pairs[i].b);
    }
}

// 64 brackets in one another are read, 65 are not.
static void deep(void **state)
{
    char name[2 * 65 + 2] = "f";

    (void)state;
    memset(name + 1, '<', 64);
    memset(name + 65, '>', 64);
    assert_int_equal(hash(name), hash("f<int>"));
    memset(name + 1, '<', 65);
    memset(name + 66, '>', 65);
    assert_int_equal(hash(name), 0);
}

// 20,000 functions f0(int), f1(int), ...; and, cheaper than all of these, three of t<...>(int).
static void alike(void **state)
{
    static const char *const t[] = { "t<int>(int)", "t<long>(int)", "t<char>(int)" };
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    unsigned found = 0;

    (void)state;
    quern_profile_set_events(p, events, 1);
    uint32_t file = quern_profile_string(p, "t<file>(int)", -1);
    for (unsigned i = 0; i < 20003; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f%u(int)", i);
        uint32_t f = quern_profile_func(
            p, QUERN_NONE, file, quern_profile_string(p, i < 20000 ? name : t[i - 20000], -1));
        quern_profile_add_cost(p, &(struct quern_site){ .func = f, .file = file, .line = 1 },
                               &(uint64_t){ i < 20000 ? 9 : 1 }, 1);
    }
    struct pack *k = pack_everything(p, NULL);
    struct core *c = unpack(k);
    assert_non_null(c);
    for (int linked = 0; linked < 2; linked++) {
        found = 0;
        if (linked)
            assert_int_equal(link_edges(c), 0);
        for (uint32_t f = 0; f < c->funcs; f++) {
            uint32_t *list;
            int64_t n = names_alike(c, c->name[f], &list);
            struct text name = core_string(c, c->name[f]);
            assert_int_equal(n, name.at[0] == 't' ? 4 : 1); // and the file
            for (int64_t i = 0; i < n; i++)
                found += name.at[0] == 't' && core_string(c, list[i]).at[0] == 't';
            heap_put(list);
        }
        assert_int_equal(found, 12);
    }
    uint32_t *list;
    assert_int_equal(names_alike(c, c->strings, &list), CORE_WRONG);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(brackets), cmocka_unit_test(deep),
                                        cmocka_unit_test(alike) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
