// SPDX-License-Identifier: MIT
// engine/count/llfork.c: a child's view of the sets of a small cache, against the cache and a plain
// model of it. The child is this process: llfork_before_fork() and llfork_fork_child() are called,
// not fork().
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/count/llfork.h"
#include "engine/count/vector.h"
#include "engine/spool/spooler.h"
#include "tests/unit/objects/objects_none.h"

#define SETS   4096u
#define STRIDE 4u
#define REFS   8192u // as in llfork.c

static struct spool_header header;
struct spool_header *spool = &header;
struct vector_sets vector_sets;
static u32 tags[SETS * STRIDE], model[SETS * STRIDE];

static void *memory(u64 bytes, int how)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

void *heap_pages(u64 bytes)
{
    return memory(bytes, MAP_PRIVATE);
}

void *heap_shared(u64 bytes)
{
    return memory(bytes, MAP_SHARED);
}

static void forks(void)
{
    llfork_before_fork();
    llfork_fork_child();
    assert_true(llfork_is_on());
    assert_null(vector_sets.ll_tags);
}

// A reference that changes the set; true: the set was a gathered one.
static bool refers(u32 set)
{
    u32 *at = llfork_set(set), i = (u32)rand() % STRIDE;

    assert_memory_equal(at, model + set * STRIDE, STRIDE * sizeof(u32));
    at[i]++;
    model[set * STRIDE + i]++;
    return at < tags || at >= tags + SETS * STRIDE;
}

static void all_is_home(void)
{
    assert_false(llfork_is_on());
    assert_ptr_equal(vector_sets.ll_tags, tags);
    assert_memory_equal(tags, model, sizeof(tags));
}

static int setup(void **state)
{
    (void)state;
    for (u32 i = 0; i < SETS * STRIDE; i++)
        tags[i] = model[i] = i;
    llfork_init(tags, STRIDE, SETS);
    return 0;
}

// The sets of the first child are gathered for the second; the second's changes stay.
static void test_second_child(void **state)
{
    (void)state;
    forks();
    for (u32 set = 0; set < 500; set++)
        assert_false(refers(set * 8));
    llfork_end(true);
    all_is_home();
    forks();
    for (u32 set = 0; set < 500; set++)
        assert_true(refers(set * 8));
    assert_false(refers(3));
    assert_memory_not_equal(tags, model, sizeof(tags)); // the child has not touched LL's own
    llfork_end(true);
    all_is_home();
    forks();
    assert_true(refers(3));
    llfork_end(true);
}

// A child that forks writes its sets back first.
static void test_forks(void **state)
{
    (void)state;
    forks();
    assert_true(refers(8));
    llfork_before_fork();
    all_is_home();
    llfork_fork_child();
    assert_true(refers(8));
    llfork_end(true);
    all_is_home();
}

static void test_thrown_away(void **state)
{
    (void)state;
    forks();
    assert_true(refers(16));
    llfork_end(false);
    assert_false(llfork_is_on());
    assert_int_equal(tags[16 * STRIDE], 16 * STRIDE);
}

// The last reference of a short-lived child, and all later ones, use LL's own sets.
static void test_not_short(void **state)
{
    (void)state;
    forks();
    for (u32 i = 1; i < REFS; i++)
        refers((u32)rand() % SETS);
    assert_true(llfork_is_on());
    assert_false(refers(8));
    all_is_home();
}

// 1,024 sets fit. When children ask for more the buffer starts anew with those; invalid set numbers
// are ignored.
static void test_full(void **state)
{
    u32 together = 0;

    (void)state;
    forks();
    for (u32 i = 0; i < 2000; i++)
        refers(SETS - 1 - i);
    llfork_end(true);
    llfork_init(tags, STRIDE, SETS - 1); // the first of the list
    forks();
    for (u32 i = 1; i < 2000; i++)
        together += refers(SETS - 1 - i);
    llfork_end(true);
    assert_in_range(together, 1, 1024);
    all_is_home();
}

static void test_off(void **state)
{
    (void)state;
    llfork_init(NULL, 0, 0); // an LL whose tags are wide
    llfork_before_fork();
    llfork_fork_child();
    assert_false(llfork_is_on());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_second_child, setup),
        cmocka_unit_test_setup(test_forks, setup),
        cmocka_unit_test_setup(test_thrown_away, setup),
        cmocka_unit_test_setup(test_not_short, setup),
        cmocka_unit_test_setup(test_full, setup),
        cmocka_unit_test_setup(test_off, setup),
    };

    return cmocka_run_group_tests_name("count/llfork", tests, NULL, NULL);
}
