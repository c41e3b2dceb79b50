// SPDX-License-Identifier: MIT
//
// Names of generated code: which of several functions covers an address, and lines without a
// function.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>

#include "symbols/perfmap.h"

static struct perfmap *map_of(const char *text)
{
    char path[] = "/tmp/test_perfmap.XXXXXX";
    int fd = mkstemp(path);
    struct perfmap *m = perfmap_new();

    assert_non_null(m);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    perfmap_read(m, path, 0);
    unlink(path);
    return m;
}

static void expect(struct perfmap *m, uint64_t addr, const char *name)
{
    size_t len = 0;
    const char *found = perfmap_find(m, addr, &len);

    if (!name) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(len, strlen(name));
    assert_memory_equal(found, name, len);
}

static void bounds(void **state)
{
    struct perfmap *m = map_of("1000 10 first function\n0x2000 0x20 second");

    (void)state;
    assert_non_null(m);
    expect(m, 0xfff, NULL);
    expect(m, 0x1000, "first function");
    expect(m, 0x100f, "first function");
    expect(m, 0x1010, NULL);
    expect(m, 0x201f, "second");
    expect(m, 0x2020, NULL);
    expect(m, UINT64_MAX, NULL);
    perfmap_free(m);
}

// Addresses are reused: the last line counts, as far as it extends.
static void again(void **state)
{
    struct perfmap *m = map_of("1000 100 old\n1040 10 inner\n1000 20 new\n2000 10 x\n2000 10 y\n");

    (void)state;
    assert_non_null(m);
    expect(m, 0x1000, "new");
    expect(m, 0x101f, "new");
    expect(m, 0x1020, "old");
    expect(m, 0x1045, "inner");
    expect(m, 0x1050, "old");
    expect(m, 0x10ff, "old");
    expect(m, 0x2005, "y");
    perfmap_free(m);
}

// More entries, and more text, than fit at first: 256 of each.
static void many(void **state)
{
    enum { LINES = 1000 };
    char *text = malloc(LINES * 32), *o = text;
    struct perfmap *m;

    (void)state;
    for (int i = 0; i < LINES; i++)
        o += sprintf(o, "%x 10 name%d\n", 0x1000 + i * 16, i);
    m = map_of(text);
    for (int i = 0; i < LINES; i++) {
        snprintf(text, 32, "name%d", i);
        expect(m, 0x100f + (uint64_t)i * 16, text);
    }
    expect(m, 0x1000 + LINES * 16, NULL);
    perfmap_free(m);
    free(text);
}

static void damaged(void **state)
{
    struct perfmap *m = map_of("\n \nxyz 10 a\n1000\n1000 \n1000 0 empty\n1000 10 \n1000 zz b\n"
                               "ffffffffffffffff 10 over\n-1 10 minus\n3000 4 good\n");

    (void)state;
    assert_non_null(m);
    expect(m, 0x1000, NULL);
    expect(m, 0xffffffffffffffff, NULL);
    expect(m, 0x3003, "good");
    perfmap_free(m);
    m = map_of("");
    assert_true(perfmap_is_empty(m));
    perfmap_read(m, "/nowhere/perf-1.map", 0);
    assert_true(perfmap_is_empty(m));
    perfmap_free(m);
}

// A file descriptor is not inherited by other programs, and opening does not block; a symbolic link
// and a folder are not opened at all.
static void opened(void **state)
{
    char folder[] = "/tmp/test_perfmap.XXXXXX", path[64], link[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/map", folder);
    snprintf(link, sizeof(link), "%s/link", folder);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(symlink("map", link), 0);
    FILE *f = perfmap_open(path, 0);
    assert_non_null(f);
    assert_int_equal(fcntl(fileno(f), F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fileno(f), F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    fclose(f);
    // one that an earlier process with this id has left, more than a second ago
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){ { 5, 0 }, { 5, 7 } }, 0), 0);
    f = perfmap_open(path, 6000000007);
    assert_non_null(f);
    fclose(f);
    assert_null(perfmap_open(path, 6000000008));
    assert_null(perfmap_open(link, 0));
    assert_null(perfmap_open(folder, 0));
    unlink(link);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),  cmocka_unit_test(again),  cmocka_unit_test(many),
        cmocka_unit_test(damaged), cmocka_unit_test(opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
