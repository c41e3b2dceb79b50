// SPDX-License-Identifier: MIT
// engine/process/procnames.c: which names lead to our own exe link. The kernel resolves them: /proc
// of this process, by all kinds of paths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/sys.h"
#include "engine/process/procnames.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;

static int spool_fd = -1;

int fds_spool(void)
{
    return spool_fd;
}

char *heap_strdup(const char *s)
{
    return strdup(s);
}

static bool at(int dirfd, const char *form, ...)
{
    char path[300];
    va_list ap;

    va_start(ap, form);
    vsnprintf(path, sizeof(path), form, ap);
    va_end(ap);
    return procnames_is_exe(dirfd, path);
}

static void test_own(void **state)
{
    int pid = (int)sys_getpid();

    (void)state;
    header.pid = 0x7fffffff; // no process
    assert_true(at(AT_FDCWD, "/proc/self/exe"));
    assert_true(at(AT_FDCWD, "/proc/%d/exe", pid));
    assert_true(at(AT_FDCWD, "//proc/./self/../self//exe"));
    assert_true(at(AT_FDCWD, "/proc/thread-self/exe"));
    assert_true(at(AT_FDCWD, "/proc/self/task/%d/exe", pid));
    assert_false(at(AT_FDCWD, "/proc/self/exe/"));
    assert_false(at(AT_FDCWD, "/proc/self/ex"));
    assert_false(at(AT_FDCWD, "/proc/self/exes"));
    assert_false(at(AT_FDCWD, "/proc/self/fd/exe"));
    assert_false(at(AT_FDCWD, "/proc/exe"));
    assert_false(at(AT_FDCWD, "/proc/1/exe"));
    assert_false(at(AT_FDCWD, "/proc/self/task/exe"));
    assert_false(at(AT_FDCWD, "exe"));
    assert_false(at(AT_FDCWD, ""));
    assert_false(at(AT_FDCWD, "/no/such/folder/exe"));
}

// The process whose memory this one shares, too; by its exact number, not by a prefix.
static void test_shared(void **state)
{
    (void)state;
    header.pid = 1;
    assert_true(at(AT_FDCWD, "/proc/1/exe"));
    assert_true(at(AT_FDCWD, "/proc/self/exe"));
    header.pid = 2;
    assert_false(at(AT_FDCWD, "/proc/1/exe"));
}

static void test_folder(void **state)
{
    long fd = sys_openat(AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    long tmp = sys_openat(AT_FDCWD, "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

    (void)state;
    assert_true(fd >= 0 && tmp >= 0);
    assert_true(at((int)fd, "exe"));
    assert_true(at((int)fd, "./exe"));
    assert_true(at((int)fd, "task/../exe"));
    assert_false(at((int)fd, "fd/exe"));
    assert_false(at((int)tmp, "exe"));
    assert_false(at(-1, "exe"));
    sys_close((int)tmp);
    sys_close((int)fd);
    // Every look-up closes its descriptor: the next one has the same number.
    long next = sys_openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
    assert_int_equal(next, fd);
    for (int i = 0; i < 3; i++)
        assert_true(at(AT_FDCWD, "/proc/self/exe"));
    long after = sys_openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
    assert_int_equal(after, tmp);
    sys_close((int)after);
    sys_close((int)next);
}

// With a spool no descriptor is opened; a process that has the spool is this one, or shares its
// memory.
static void test_none_left(void **state)
{
    struct k_rlimit limit, none = { 0, 0 };

    (void)state;
    header.pid = 0x7fffffff;
    spool_fd = (int)sys_call2(SYS_memfd_create, (u64) "spool", MFD_CLOEXEC);
    sys_prlimit(RLIMIT_NOFILE, NULL, &limit);
    none.max = limit.max;
    sys_prlimit(RLIMIT_NOFILE, &none, NULL);
    assert_int_equal(sys_open("/", O_PATH, 0), -EMFILE);
    assert_true(at(AT_FDCWD, "/proc/self/exe"));
    assert_true(at(AT_FDCWD, "/proc/thread-self/exe"));
    assert_false(at(AT_FDCWD, "/proc/1/exe"));
    assert_false(at(AT_FDCWD, "exe"));
    assert_false(at(AT_FDCWD, "/proc/self/fd/exe"));
    sys_prlimit(RLIMIT_NOFILE, &limit, NULL);
    test_own(NULL);
    test_folder(NULL);
    sys_close(spool_fd);
    spool_fd = -1;
}

// A folder's name may be 4095 characters, and no more.
static void test_long(void **state)
{
    char path[PATH_MAX + 20];
    u64 n = strlen("/proc/self");

    (void)state;
    memset(path, '/', sizeof(path));
    memcpy(path + PATH_MAX - 1 - n, "/proc/self", n);
    strcpy(path + PATH_MAX - 2, "/exe"); // the folder with its slash: 4095
    assert_int_equal(strlen(path) - 3, PATH_MAX - 1);
    memcpy(path + PATH_MAX - 2 - n, "/proc/self", n);
    assert_true(procnames_is_exe(AT_FDCWD, path));
    memmove(path + 1, path, strlen(path) + 1);
    assert_false(procnames_is_exe(AT_FDCWD, path));
}

static void test_program(void **state)
{
    char link[PATH_MAX];
    struct k_stat st, other;
    long fd = sys_openat(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
    long n = sys_readlinkat(AT_FDCWD, "/proc/self/exe", link, sizeof(link) - 1);

    (void)state;
    link[n] = 0;
    procnames_init((int)fd, "another");
    assert_string_equal(procnames_exe(), link);
    assert_int_equal(sys_fstat((int)fd, &st), 0);
    assert_true(procnames_is_program(&st));
    other = st;
    other.st_ino++;
    assert_false(procnames_is_program(&other));
    other = st;
    other.st_dev++;
    assert_false(procnames_is_program(&other));
    sys_close((int)fd);
    procnames_init(-1, "by name"); // no link can be read
    assert_string_equal(procnames_exe(), "by name");
    assert_true(procnames_is_program(&st)); // the known values stay
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),    cmocka_unit_test(test_shared),
        cmocka_unit_test(test_folder), cmocka_unit_test(test_none_left),
        cmocka_unit_test(test_long),   cmocka_unit_test(test_program),
    };

    return cmocka_run_group_tests_name("process/procnames", tests, NULL, NULL);
}
