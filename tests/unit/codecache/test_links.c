// SPDX-License-Identifier: MIT
// engine/codecache/links.c: three fragments in an array of bytes; the displacements of their exits
// decide where the code continues.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/codecache/links.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;

static _Alignas(4) u8 code[3][64];
static struct fragment f[3], *table[3];
static struct fragment_exit exits[3][2];

// Each with two exits, their displacements at 4 and 12, their stubs at 40 and 50.
static int setup(void **state)
{
    (void)state;
    memset(code, 0, sizeof(code));
    memset(f, 0, sizeof(f));
    header.n_links = 0;
    links_table = table;
    for (u32 i = 0; i < 3; i++) {
        table[i] = &f[i];
        f[i].index = i;
        f[i].hpc = (u64)code[i];
        f[i].nexits = 2;
        f[i].exit = exits[i];
        f[i].exit[0] = (struct fragment_exit){ .rel32 = 4, .stub = 40 };
        f[i].exit[1] = (struct fragment_exit){ .rel32 = 12, .stub = 50 };
    }
    return 0;
}

// The target of exit k of fragment i.
static u64 goes(u32 i, u32 k)
{
    s32 rel;

    memcpy(&rel, code[i] + f[i].exit[k].rel32, 4);
    return (u64)code[i] + f[i].exit[k].rel32 + 4 + (u64)(s64)rel;
}

static void test_make(void **state)
{
    (void)state;
    links_make(&f[0], 1, &f[2]);
    assert_int_equal(goes(0, 1), f[2].hpc);
    assert_int_equal(f[0].exit[1].to, 3); // by its number
    assert_int_equal(header.n_links, 1);
    links_make(&f[0], 1, &f[1]); // is linked already
    assert_int_equal(goes(0, 1), f[2].hpc);
    f[1].flags = FRAGMENT_STEP;
    links_make(&f[0], 0, &f[1]); // has no code
    assert_int_equal(f[0].exit[0].to, 0);
    f[1].flags = FRAGMENT_DEAD;
    links_make(&f[1], 0, &f[0]);
    assert_int_equal(f[1].exit[0].to, 0);
    assert_int_equal(header.n_links, 1);
}

// Links to a fragment lead to its second entry while it is watched, also those made meanwhile; then
// back.
static void test_again(void **state)
{
    (void)state;
    links_make(&f[0], 0, &f[1]);
    links_make(&f[2], 1, &f[1]);
    links_make(&f[1], 0, &f[1]);
    links_make(&f[1], 1, &f[2]);
    f[1].watch = 33;
    f[1].flags = FRAGMENT_WATCHED;
    links_repatch(&f[1]);
    assert_int_equal(goes(0, 0), f[1].hpc + 33);
    assert_int_equal(goes(2, 1), f[1].hpc + 33);
    assert_int_equal(goes(1, 0), f[1].hpc + 33);
    assert_int_equal(goes(1, 1), f[2].hpc);
    links_make(&f[0], 1, &f[1]);
    assert_int_equal(goes(0, 1), f[1].hpc + 33);
    f[1].flags = 0;
    links_repatch(&f[1]);
    assert_int_equal(goes(0, 0), f[1].hpc);
    assert_int_equal(goes(0, 1), f[1].hpc);
    assert_int_equal(goes(2, 1), f[1].hpc);
    assert_int_equal(goes(1, 0), f[1].hpc);
    links_repatch(&f[0]); // nothing leads there
}

// 0 -> 1, 0 -> 2, 2 -> 1, 1 -> 1: the code is linked already, nothing is written there. Then 1
// goes.
static void test_list(void **state)
{
    static const struct {
        u32 i, k, to;
    } link[] = { { 0, 0, 1 }, { 0, 1, 2 }, { 2, 1, 1 }, { 1, 0, 1 } };

    (void)state;
    for (u32 n = 0; n < ARRAY_SIZE(link); n++)
        f[link[n].i].exit[link[n].k].to = link[n].to + 1;
    for (u32 i = 0; i < 3; i++)
        links_list(&f[i]);
    for (u32 i = 0; i < 3; i++) {
        for (u32 at = 0; at < sizeof(code[i]); at++)
            assert_int_equal(code[i][at], 0);
    }
    assert_int_equal(header.n_links, 0);
    links_repatch(&f[1]);
    links_repatch(&f[2]);
    for (u32 n = 0; n < ARRAY_SIZE(link); n++)
        assert_int_equal(goes(link[n].i, link[n].k), f[link[n].to].hpc);
    assert_int_equal(f[0].in, 0);
    links_cut(&f[1]);
    assert_int_equal(goes(0, 0), f[0].hpc + 40);
    assert_int_equal(goes(0, 1), f[2].hpc);
    assert_int_equal(goes(2, 1), f[2].hpc + 50);
    assert_int_equal(goes(1, 0), f[1].hpc + 40);
    assert_int_equal(f[1].in, 0);
    assert_int_equal(f[2].in, fragment_exit_id(0, 1) + 1);
}

// 0 -> 1, 2 -> 1 (both exits), 1 -> 1, 1 -> 2; then 1 goes.
static void test_cut(void **state)
{
    (void)state;
    links_make(&f[0], 0, &f[1]);
    links_make(&f[2], 0, &f[1]);
    links_make(&f[2], 1, &f[1]);
    links_make(&f[1], 0, &f[1]);
    links_make(&f[1], 1, &f[2]);
    links_cut(&f[1]);
    assert_int_equal(goes(0, 0), f[0].hpc + 40);
    assert_int_equal(goes(2, 0), f[2].hpc + 40);
    assert_int_equal(goes(2, 1), f[2].hpc + 50);
    assert_int_equal(goes(1, 0), f[1].hpc + 40);
    assert_int_equal(goes(1, 1), f[1].hpc + 50);
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(f[i].in, 0);
        assert_int_equal(f[i].exit[0].to, 0);
        assert_int_equal(f[i].exit[1].to, 0);
    }
}

// The list of exits to a fragment stays whole when one in its middle goes.
static void test_cut_one(void **state)
{
    (void)state;
    links_make(&f[0], 0, &f[2]);
    links_make(&f[1], 0, &f[2]);
    links_make(&f[0], 1, &f[2]);
    links_cut(&f[1]);
    assert_int_equal(goes(0, 0), f[2].hpc);
    assert_int_equal(goes(0, 1), f[2].hpc);
    links_cut(&f[2]);
    assert_int_equal(goes(0, 0), f[0].hpc + 40);
    assert_int_equal(goes(0, 1), f[0].hpc + 50);
}

// The same for its first one, and for its last: the newest link is the first.
static void test_cut_ends(void **state)
{
    for (u32 gone = 0; gone < 2; gone++) {
        u32 stays = 1 - gone;

        setup(state);
        links_make(&f[0], 0, &f[2]);
        links_make(&f[1], 1, &f[2]);
        links_cut(&f[gone]);
        assert_int_equal(goes(gone, gone), f[gone].hpc + f[gone].exit[gone].stub);
        assert_int_equal(goes(stays, stays), f[2].hpc);
        links_make(&f[stays], 1 - stays, &f[2]); // the list is whole
        links_cut(&f[2]);
        assert_int_equal(f[2].in, 0);
        assert_int_equal(goes(stays, 0), f[stays].hpc + 40);
        assert_int_equal(goes(stays, 1), f[stays].hpc + 50);
    }
}

// 0 -> 1, 2 -> 1 and 1 -> 1 then lead to 2, and can be cut there; the targets of 1 stay.
static void test_move(void **state)
{
    (void)state;
    links_make(&f[0], 0, &f[1]);
    links_make(&f[2], 1, &f[1]);
    links_make(&f[1], 0, &f[1]);
    links_make(&f[1], 1, &f[0]);
    links_move(&f[1], &f[2]);
    assert_int_equal(header.n_links, 4);
    assert_int_equal(f[1].in, 0);
    assert_int_equal(goes(0, 0), f[2].hpc);
    assert_int_equal(goes(2, 1), f[2].hpc);
    assert_int_equal(goes(1, 0), f[2].hpc);
    assert_int_equal(goes(1, 1), f[0].hpc);
    assert_int_equal(f[0].exit[0].to, 3);
    links_cut(&f[2]);
    assert_int_equal(f[2].in, 0);
    assert_int_equal(goes(0, 0), f[0].hpc + 40);
    assert_int_equal(goes(2, 1), f[2].hpc + 50);
    assert_int_equal(goes(1, 0), f[1].hpc + 40);
    assert_int_equal(goes(1, 1), f[0].hpc);
}

// The last exit of a self-checking fragment leads only to another version, whatever the flags allow
// the other exits.
static void test_version(void **state)
{
    (void)state;
    f[0].flags = f[1].flags = FRAGMENT_WRITABLE | FRAGMENT_ALONE;
    links_version(&f[0], &f[1]);
    assert_int_equal(header.n_links, 1);
    assert_int_equal(goes(0, 1), f[1].hpc);
    assert_int_equal(f[1].in, fragment_exit_id(0, 1) + 1);
    links_cut(&f[1]);
    assert_int_equal(goes(0, 1), f[0].hpc + 50);
    f[0].flags = FRAGMENT_WRITABLE;
    links_make(&f[0], 1, &f[0]);
    assert_int_equal(f[0].exit[1].to, 0);
    links_make(&f[0], 0, &f[0]);
    assert_int_equal(goes(0, 0), f[0].hpc);
    assert_int_equal(header.n_links, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_make, setup),     cmocka_unit_test_setup(test_list, setup),
        cmocka_unit_test_setup(test_cut, setup),      cmocka_unit_test_setup(test_cut_one, setup),
        cmocka_unit_test_setup(test_cut_ends, setup), cmocka_unit_test_setup(test_move, setup),
        cmocka_unit_test_setup(test_again, setup),    cmocka_unit_test_setup(test_version, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
