// SPDX-License-Identifier: MIT
// engine/objects/statics.c reads this program: its symbols are where the compiler has put them.
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/objects/objtable.h"
#include "engine/objects/statics.h"

char probe_array[1000] = { 1 };
char probe_zeroed[5000];
extern char probe_alias[1000] __attribute__((alias("probe_array")));
static const char constant[] = "a string in .rodata that no symbol has";

static struct spool_data_object objects[64];
static char names[64][64];
static u32 used = 1;

void objtable_lock(void) {}
void objtable_unlock(void) {}

u32 objtable_name(const char *text)
{
    assert_string_equal(text, "/probe");
    return 77;
}

u32 objtable_get(const struct spool_data_object *like, const char *name)
{
    for (u32 i = 1; i < used; i++)
        if (memcmp(&objects[i], like, sizeof(*like)) == 0)
            return i;
    assert_true(used < ARRAY_SIZE(objects));
    objects[used] = *like;
    strncpy(names[used], name, sizeof(names[0]) - 1);
    return used++;
}

static u64 start; // of the first segment in memory

static int first_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    u64 low = ~0ul;

    (void)size, (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr < low)
            low = info->dlpi_phdr[i].p_vaddr & ~0xffful;
    start = info->dlpi_addr + low;
    return 1;
}

static u32 load(u64 bytes, u64 *low, u64 *high)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    u32 module;

    assert_true(fd >= 0);
    module = statics_load(fd, "/probe", start, bytes, low, high);
    close(fd);
    return module;
}

static u64 begins;

static void symbols(void **state)
{
    u64 low, high;
    u32 module, array, zeroed, section;

    (void)state;
    dl_iterate_phdr(first_module, NULL);
    module = load(1ul << 40, &low, &high);
    assert_int_equal(module, 1);
    assert_int_equal(low, start);
    assert_int_equal(load(1ul << 40, &low, &high), module); // again: it is read once
    assert_int_equal(low, start);
    assert_in_range((u64)probe_zeroed, low, high - sizeof(probe_zeroed));
    array = statics_at(module, (u64)probe_array, &begins);
    assert_int_equal(objects[array].kind, SPOOL_DATA_STATIC);
    assert_int_equal(objects[array].size, 1000);
    assert_int_equal(begins, (u64)probe_array);
    assert_int_equal(objects[array].module, 77);
    // of two names the shorter one
    assert_string_equal(names[array], "probe_alias");
    assert_int_equal(statics_at(module, (u64)probe_array + 999, &begins), array);
    assert_int_not_equal(statics_at(module, (u64)probe_array + 1000, &begins), array);
    zeroed = statics_at(module, (u64)probe_zeroed + 4999, &begins);
    assert_string_equal(names[zeroed], "probe_zeroed");
    assert_int_equal(objects[zeroed].size, 5000);
    section = statics_at(module, (u64)(uintptr_t)symbols, &begins);
    assert_string_equal(names[section], "code");
    assert_int_equal(objects[section].kind, SPOOL_DATA_SECTION);
    section = statics_at(module, low, &begins);
    assert_string_equal(names[section], "headers");
    assert_int_equal(begins, FOUND_UNKNOWN);
    assert_int_equal(constant[0], 'a');
}

// A mapping that is smaller than the module is one of a file.
static _Thread_local char probe_local[300];

// Below the thread pointer, where the compiler finds them.
static void locals(void **state)
{
    u64 fs, below, size;
    u32 object;
    bool found = false;

    (void)state;
    __asm__("mov %%fs:0, %0" : "=r"(fs));
    probe_local[0] = 1;
    for (u32 i = 0; statics_tls(i, &below, &size, &object); i++) {
        assert_int_equal(objects[object].kind, SPOOL_DATA_TLS);
        if (strcmp(names[object], "probe_local") == 0) {
            assert_int_equal(fs - below, (u64)probe_local);
            assert_int_equal(size, 300);
            found = true;
        }
    }
    assert_true(found);
    assert_in_range(statics_tls_bytes(), 300, 100000);
}

static void no_module(void **state)
{
    u64 low, high;
    int fd = open("/proc/self/exe", O_RDONLY), other = open("/proc/self/maps", O_RDONLY);

    (void)state;
    assert_true(statics_is_module(fd));
    assert_false(statics_is_module(other));
    close(fd);
    close(other);
    assert_false(statics_is_module(fd));
    assert_int_equal(load(0x1000, &low, &high), 0);
    assert_int_equal(statics_at(0, 0, &begins), 0);
    assert_int_equal(statics_at(99, 0, &begins), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(symbols), cmocka_unit_test(locals),
                                        cmocka_unit_test(no_module) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
