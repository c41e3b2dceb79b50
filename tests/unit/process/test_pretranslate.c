// SPDX-License-Identifier: MIT
// engine/process/pretranslate.c: what two children did, their parent does before its next fork,
// once; what one alone did, what is impossible, and code written at run time is left out. The
// children are real; the fakes below log their arguments.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/sys.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/codecache/tcache.h"
#include "engine/process/pretranslate.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/translate/translate.h"

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;
static struct thread block, *const t = &block;

// The log: "t1" translated, "l12" linked, "i1" entered, by the fragments' numbers.
static char asked[64];
static int locked;
static bool full, fetched = true;
static bool known[4];
static struct fragment_exit exits[4][2];
static struct fragment fragment[4];

static void note(char what, u64 a, u64 b)
{
    size_t n = strlen(asked);

    assert_int_equal(locked, 1);
    asked[n++] = what;
    asked[n++] = (char)('0' + a);
    if (b < 10)
        asked[n] = (char)('0' + b);
}

void *heap_shared(u64 bytes)
{
    static int times;

    assert_int_equal(times++, 0);
    return (void *)sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void tcache_lock(void)
{
    assert_int_equal(locked++, 0);
}

void tcache_unlock(void)
{
    assert_int_equal(locked--, 1);
}

struct fragment *tcache_lookup(u64 pc)
{
    for (u32 i = 0; i < 4; i++)
        if (known[i] && fragment[i].pc == pc)
            return &fragment[i];
    return NULL;
}

struct fragment *translate_block(u64 pc, u64 *fault)
{
    *fault = fetched ? TRANSLATE_NO_FAULT : pc;
    if (full || !fetched)
        return NULL;
    for (u32 i = 0; i < 4; i++)
        if (fragment[i].pc == pc) {
            known[i] = true;
            note('t', i, 10);
            return &fragment[i];
        }
    fail();
    return NULL;
}

void links_make(struct fragment *from, u32 k, struct fragment *to)
{
    assert_int_equal(from->exit[k].target, to->pc);
    note('l', (u64)(from - fragment), (u64)(to - fragment));
}

void ibl_fill(struct thread *of, const struct fragment *f)
{
    assert_ptr_equal(of, t);
    note('i', (u64)(f - fragment), 10);
}

// -- the tests --

static int setup(void **state)
{
    (void)state;
    memset(asked, 0, sizeof(asked));
    memset(known, 0, sizeof(known));
    full = false;
    fetched = true;
    tb_config.chain = tb_config.ibl = true;
    tb_config.each_block = false;
    header.flags = 0;
    return 0;
}

// Each test has its own addresses, as notes are never removed. They have 56 bits, as with LA57.
// Fragment 0 leads to 1 and 2.
static void make_fragments(u64 at)
{
    memset(known, 0, sizeof(known));
    for (u32 i = 0; i < 4; i++) {
        fragment[i] = (struct fragment){ .pc = at + 16 * i, .nexits = 2, .exit = exits[i] };
        exits[i][0].target = at + 16;
        exits[i][1].target = at + 32;
    }
}

static void in_child(void (*what)(void))
{
    int status;
    long pid = sys_call0(SYS_fork);

    if (pid == 0) {
        pretranslate_fork_child();
        what();
        sys_exit_group(0);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)pid, (u64)&status, 0, 0), pid);
    assert_int_equal(status, 0);
}

static const char *before_fork(void)
{
    memset(asked, 0, sizeof(asked));
    pretranslate_before_fork(t);
    assert_int_equal(locked, 0);
    return asked;
}

static void block_1(void)
{
    pretranslate_note_block(&fragment[1]);
}

static void test_two_children(void **state)
{
    (void)state;
    make_fragments(0x00ff000000400000);
    assert_string_equal(before_fork(), "");
    in_child(block_1);
    assert_string_equal(before_fork(), "");
    in_child(block_1);
    assert_string_equal(before_fork(), "t1");
    in_child(block_1); // a third one, whose parent had no space for it
    known[1] = false;
    assert_string_equal(before_fork(), "");
}

// The first process notes nothing: its children inherit what it translates.
static void test_no_child(void **state)
{
    (void)state;
    make_fragments(0x410000);
    assert_string_equal(before_fork(), "");
    block_1();
    block_1();
    assert_string_equal(before_fork(), "");
}

static void all_of_0(void)
{
    pretranslate_note_block(&fragment[0]);
    pretranslate_note_block(&fragment[2]);
    pretranslate_note_link(&fragment[0], 1);
    pretranslate_note_target(&fragment[2]);
    pretranslate_note_link(&fragment[0], 0); // to a fragment that does not exist
    pretranslate_note_target(&fragment[3]);  // nor does this one
}

static void test_links_and_targets(void **state)
{
    (void)state;
    make_fragments(0x420000);
    before_fork();
    in_child(all_of_0);
    in_child(all_of_0);
    assert_string_equal(before_fork(), "t0t2l02i2");
    make_fragments(0x430000);
    tb_config.chain = tb_config.ibl = false;
    in_child(all_of_0);
    in_child(all_of_0);
    assert_string_equal(before_fork(), "t0t2");
}

// The parent's code at the address may differ from the child's.
static void beyond_exits(void)
{
    pretranslate_note_link(&fragment[1], 1);
}

static void test_other_exits(void **state)
{
    (void)state;
    make_fragments(0x440000);
    in_child(beyond_exits);
    in_child(beyond_exits);
    known[1] = known[2] = true;
    fragment[1].nexits = 1;
    assert_string_equal(before_fork(), "");
}

static void written(void)
{
    fragment[1].flags = FRAGMENT_WRITABLE;
    block_1();
}

static void test_written_code(void **state)
{
    (void)state;
    make_fragments(0x450000);
    in_child(written);
    in_child(written);
    assert_string_equal(before_fork(), "");
}

static void block_2(void)
{
    pretranslate_note_block(&fragment[2]);
}

// Without space the rest waits for the next fork; addresses that cannot be fetched are skipped.
static void test_no_room(void **state)
{
    (void)state;
    make_fragments(0x460000);
    in_child(block_1);
    in_child(block_1);
    in_child(block_2);
    in_child(block_2);
    full = true;
    assert_string_equal(before_fork(), "");
    full = false;
    assert_string_equal(before_fork(), "t1t2");
    make_fragments(0x470000);
    in_child(block_1);
    in_child(block_1);
    fetched = false;
    assert_string_equal(before_fork(), "");
    fetched = true;
    in_child(block_2);
    in_child(block_2);
    assert_string_equal(before_fork(), "t2");
}

// --no-pretranslate, and --dump-every-bb, which needs every block in the dispatcher.
static void test_off(void **state)
{
    (void)state;
    make_fragments(0x480000);
    in_child(block_1);
    in_child(block_1);
    header.flags = SPOOL_F_NO_PRETRANSLATE;
    assert_string_equal(before_fork(), "");
    header.flags = 0;
    tb_config.each_block = true;
    assert_string_equal(before_fork(), "");
    tb_config.each_block = false;
    assert_string_equal(before_fork(), "t1");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_two_children, setup),
        cmocka_unit_test_setup(test_no_child, setup),
        cmocka_unit_test_setup(test_links_and_targets, setup),
        cmocka_unit_test_setup(test_other_exits, setup),
        cmocka_unit_test_setup(test_written_code, setup),
        cmocka_unit_test_setup(test_no_room, setup),
        cmocka_unit_test_setup(test_off, setup),
    };

    return cmocka_run_group_tests_name("process/pretranslate", tests, NULL, NULL);
}
