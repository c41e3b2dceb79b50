// SPDX-License-Identifier: MIT
// engine/run/stack.c: where the kernel's strings are, and the stack that --reproducible makes
// instead: at a fixed address, with everything from the kernel's, each string in a page of its own
// as long as there is space.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/run/stack.h"

#define END PINNED_STACK_END

static char strings[] = "prog\0-x\0A=1\0B=22";
static char random_bytes[16] = "sixteen letters";
static char *vector[8];
static struct k_auxv auxv[] = {
    { AT_PHNUM, 9 }, { AT_RANDOM, (u64)random_bytes }, { AT_MINSIGSTKSZ, 3000 },
    { AT_ENTRY, 0x401000 }, { AT_SYSINFO_EHDR, 0x7000 }, { AT_NULL, 0 },
};
static struct start s;
static int messages[2];

static const char *message(void)
{
    static char told[512];
    ssize_t n = sys_read(messages[0], told, sizeof(told) - 1);
    const char *behind_pid;

    told[n > 0 ? n : 0] = '\0';
    behind_pid = strchr(told, ' ');
    return behind_pid ? behind_pid + 1 : "";
}

static int setup(void **state)
{
    (void)state;
    vector[0] = strings;
    vector[1] = strings + 5;
    vector[2] = NULL;
    vector[3] = strings + 8;
    vector[4] = strings + 12;
    vector[5] = NULL;
    memset(&s, 0, sizeof(s));
    s.argv = vector;
    s.argc = 2;
    s.envp = vector + 3;
    s.auxv = auxv;
    s.auxv_count = 6;
    s.execfn = "/bin/prog";
    message();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return (int)sys_munmap(END - 8 * PINNED_STACK, 8 * PINNED_STACK);
}

static void test_ranges(void **state)
{
    (void)state;
    stack_ranges(&s);
    assert_int_equal(s.arg_start, (u64)strings);
    assert_int_equal(s.arg_end, (u64)strings + 8);
    assert_int_equal(s.env_start, (u64)strings + 8);
    assert_int_equal(s.env_end, (u64)strings + 17);
    s.envp = vector + 5; // no environment
    stack_ranges(&s);
    assert_int_equal(s.env_start, (u64)strings + 8);
    assert_int_equal(s.env_end, (u64)strings + 8);
}

static u64 value_of(u64 type)
{
    for (const struct k_auxv *a = s.auxv; a->type != AT_NULL; a++)
        if (a->type == type)
            return a->value;
    fail_msg("no entry %lu", type);
    return 0;
}

// The strings in their order: each is a page after the previous one, at an offset 64 bytes larger.
static void test_pinned(void **state)
{
    static const char *const texts[] = { "x86_64", "/bin/prog", "prog", "-x", "A=1", "B=22" };
    const char *at[6];

    (void)state;
    stack_pin(&s, NULL, 0);
    assert_string_equal(message(), "");
    assert_int_equal((u64)s.sp, END - PINNED_STACK);
    assert_int_equal(s.sp[0], 2);
    assert_ptr_equal(s.argv, s.sp + 1);
    assert_null(s.argv[2]);
    assert_ptr_equal(s.envp, s.argv + 3);
    assert_null(s.envp[2]);
    assert_ptr_equal(s.auxv, s.envp + 3);
    assert_int_equal(s.auxv_count, 20);
    assert_int_equal(s.auxv[19].type, AT_NULL);
    assert_int_equal(s.auxv[0].type, AT_HWCAP);
    assert_int_equal(value_of(AT_PHNUM), 9);
    assert_int_equal(value_of(AT_ENTRY), 0x401000);
    assert_int_equal(value_of(AT_MINSIGSTKSZ), 3000);
    assert_int_equal(value_of(AT_PAGESZ), 4096); // the kernel gave none
    assert_int_equal(value_of(AT_CLKTCK), 100);
    assert_int_equal(value_of(AT_BASE), 0);
    assert_memory_equal((const char *)value_of(AT_RANDOM), random_bytes, 16);
    assert_int_equal(value_of(AT_RANDOM), (u64)s.sp + 0x10000);
    at[0] = (const char *)value_of(AT_PLATFORM);
    at[1] = s.execfn;
    at[2] = s.argv[0];
    at[3] = s.argv[1];
    at[4] = s.envp[0];
    at[5] = s.envp[1];
    for (u32 i = 0; i < 6; i++) {
        assert_string_equal(at[i], texts[i]);
        assert_int_equal((u64)at[i], (u64)s.sp + 0x10000 + (i + 1) * (PAGE_SIZE + 64));
    }
}

// An environment that replaces the kernel's: its strings, and a copy of all of it for the kernel.
static void test_environment(void **state)
{
    static const char env[] = "C=3\0DD=4\0E=";

    (void)state;
    stack_pin(&s, env, sizeof(env));
    assert_ptr_equal(s.envp, s.argv + 3);
    assert_string_equal(s.envp[0], "C=3");
    assert_string_equal(s.envp[1], "DD=4");
    assert_string_equal(s.envp[2], "E=");
    assert_null(s.envp[3]);
    assert_ptr_equal(s.auxv, s.envp + 4);
    assert_int_equal(s.env_end - s.env_start, sizeof(env));
    assert_memory_equal((const char *)s.env_start, env, sizeof(env));
    assert_int_equal(s.env_start & (PAGE_SIZE - 1), 0);
    assert_true(s.env_start > (u64)s.envp[2]);
    assert_int_equal((u64)s.sp, END - PINNED_STACK);
}

// An empty environment.
static void test_no_environment(void **state)
{
    (void)state;
    stack_pin(&s, "", 0);
    assert_null(s.envp[0]);
    assert_int_equal(s.env_start, s.env_end);
}

// Where not all of them can have a page, the stack is larger, and the last ones are packed.
static void test_many(void **state)
{
    static char text[2000][8], *many[2003];
    u64 dense = 0;

    (void)state;
    many[0] = strings;
    many[2] = NULL;
    for (u32 i = 0; i < 2000; i++) {
        sprintf(text[i], "%u", i);
        many[i] = text[i];
    }
    many[2000] = many[2001] = many[2002] = NULL;
    s.argv = many;
    s.argc = 2000;
    s.envp = many + 2001;
    stack_pin(&s, NULL, 0);
    assert_string_equal(message(), "");
    assert_int_equal(s.sp[0], 2000);
    for (u32 i = 0; i < 2000; i++) {
        assert_string_equal(s.argv[i], text[i]);
        assert_true((u64)s.argv[i] + strlen(text[i]) < END);
        if (i)
            dense += (u64)s.argv[i] - (u64)s.argv[i - 1] == 64;
    }
    assert_in_range(dense, 1, 1998);
}

// A mapping that is there already stays, and the stack is the kernel's.
static void test_in_the_way(void **state)
{
    u64 there = END - PAGE_SIZE;

    (void)state;
    assert_int_equal(sys_mmap(there, PAGE_SIZE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                     (long)there);
    *(u64 *)there = 4711;
    stack_pin(&s, NULL, 0);
    assert_string_equal(message(), "warning: the stack cannot have a fixed address: its addresses "
                                   "are already mapped\n");
    assert_ptr_equal(s.argv, vector);
    assert_null(s.sp);
    assert_int_equal(*(u64 *)there, 4711);
}

static int first(void **state)
{
    (void)state;
    if (sys_call2(SYS_pipe2, (u64)messages, O_NONBLOCK))
        return -1;
    engine_log_fd = messages[1];
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pinned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_the_way, setup, teardown),
    };

    return cmocka_run_group_tests_name("run/stack", tests, first, NULL);
}
