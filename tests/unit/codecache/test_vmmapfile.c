// SPDX-License-Identifier: MIT
// engine/codecache/vmmapfile.c: the kernel's list of mappings, from texts in the kernel's format
// (fs/proc/task_mmu.c), and of this process, by line and by address.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/codecache/vmmapfile.h"
#include "engine/codecache/vmmapset.h"
#include "engine/spool/fds.h"

static const char *content; // of the file that is opened; NULL: the real one

int fds_open(const char *path, int flags, u32 mode)
{
    assert_string_equal(path, "/proc/thread-self/maps");
    assert_int_equal(flags, O_RDONLY | O_CLOEXEC);
    assert_int_equal(mode, 0);
    if (!content)
        return open(path, flags);
    if (!*content)
        return -24;
    int fd = memfd_create("maps", 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static struct vmmapfile_line line[64];
static char path_of[64][5000];
static size_t lines;

static bool keep(const struct vmmapfile_line *l, void *arg)
{
    assert_true(lines < 64);
    line[lines] = *l;
    snprintf(path_of[lines++], sizeof(path_of[0]), "%s", l->path);
    return arg && lines == *(size_t *)arg;
}

static void test_lines(void **state)
{
    size_t second = 2;

    (void)state;
    content =
        "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a b\n"
        "7f00deadb000-7f00deadc000 rw-s 00abc000 321fe:12345 18446744073709551615 /x (deleted)\n"
        "7ffc0000-7ffe0000 ---p 00000000 00:00 0 \n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
    lines = 0;
    assert_false(vmmapfile_walk(keep, NULL));
    assert_int_equal(lines, 4);
    assert_true(line[0].start == 0x400000 && line[0].end == 0x452000 && line[0].offset == 0x1000);
    assert_int_equal(line[0].prot, PROT_READ | PROT_EXEC);
    assert_int_equal(line[0].flags, 0);
    assert_true(line[0].dev == makedev(8, 2) && line[0].ino == 173521);
    assert_string_equal(path_of[0], "/usr/bin/a b");
    assert_true(line[1].start == 0x7f00deadb000 && line[1].end == 0x7f00deadc000);
    assert_true(line[1].offset == 0xabc000 && line[1].ino == UINT64_MAX);
    assert_int_equal(line[1].prot, PROT_READ | PROT_WRITE);
    assert_int_equal(line[1].flags, VMMAP_SHARED);
    assert_true(line[1].dev == makedev(0x321fe, 0x12345));
    assert_string_equal(path_of[1], "/x (deleted)");
    assert_int_equal(line[2].prot, PROT_NONE);
    assert_int_equal(line[2].flags, VMMAP_ANON);
    assert_string_equal(path_of[2], "");
    assert_true(line[3].start == 0xffffffffff600000 && line[3].prot == PROT_EXEC);
    assert_string_equal(path_of[3], "[vsyscall]");
    // Only as many as wanted are read; and the file is closed.
    int free = dup(0);
    close(free);
    lines = 0;
    assert_true(vmmapfile_walk(keep, &second));
    assert_int_equal(lines, 2);
    assert_int_equal(dup(0), free);
    close(free);
    content = "";
    lines = 0;
    assert_false(vmmapfile_walk(keep, NULL)); // it cannot be opened
    assert_int_equal(lines, 0);
}

// Malformed lines are skipped, and a last line without its newline is not complete yet.
static void test_what_is_no_line(void **state)
{
    (void)state;
    content = "1000 2000 r--p 0 0:0 0\n1000-2000\n1000-2000 r--\n1000-2000 r--p 0-0:0 0\n"
              "1000-2000 r--p 0 00.00 0\n\n5000-6000 rwxs 0 00:01 7 y\n9000-a000 r--p 0 0:0 0";
    lines = 0;
    assert_false(vmmapfile_walk(keep, NULL));
    assert_int_equal(lines, 1);
    assert_true(line[0].start == 0x5000 && line[0].end == 0x6000 && line[0].ino == 7);
    assert_int_equal(line[0].prot, PROT_READ | PROT_WRITE | PROT_EXEC);
    assert_string_equal(path_of[0], "y");
}

// Paths of 4000 characters: lines cross the buffer's end. One that is longer than the buffer is
// left out, and the next one is found.
static void test_long_lines(void **state)
{
    static char text[60000];
    char *o = text;

    (void)state;
    for (int i = 0; i < 8; i++) {
        o += sprintf(o, "%x000-%x000 r--p 0 0:1 %d ", i + 1, i + 2, i + 1);
        int n = i == 5 ? 20000 : 3990 + i;
        memset(o, 'a' + i, (size_t)n);
        o += n;
        *o++ = '\n';
    }
    *o = '\0';
    content = text;
    lines = 0;
    assert_false(vmmapfile_walk(keep, NULL));
    assert_int_equal(lines, 7);
    for (int i = 0; i < 7; i++) {
        int was = i < 5 ? i : i + 1;

        assert_int_equal(line[i].ino, was + 1);
        assert_int_equal(strlen(path_of[i]), 3990 + was);
        assert_int_equal(path_of[i][3989], 'a' + was);
    }
}

static void test_at(void **state)
{
    struct vmmapfile_line l;

    (void)state;
    content = "1000-2000 r--p 0 0:1 1 one\n4000-5000 r--p 0 0:1 2 two\n";
    assert_false(vmmapfile_at(0xfff, &l));
    assert_true(vmmapfile_at(0x1000, &l));
    assert_string_equal(l.path, "one");
    assert_true(vmmapfile_at(0x1fff, &l));
    assert_int_equal(l.ino, 1);
    assert_false(vmmapfile_at(0x2000, &l));
    assert_false(vmmapfile_at(0x3fff, &l));
    assert_true(vmmapfile_at(0x4000, &l));
    assert_string_equal(l.path, "two");
    assert_false(vmmapfile_at(0x5000, &l));
    content = "";
    assert_false(vmmapfile_at(0x1000, &l));
}

// Both interfaces of the kernel, the ioctl and the text, give the same for a file's page. Not for a
// file of an overlay: the kernel shows the device of the layer here, stat() that of the overlay.
static void test_of_this_process(void **state)
{
    struct vmmapfile_line l, walked = { 0 };
    char name[] = "/dev/shm/quern-vmmapfile.XXXXXX";
    int fd = mkstemp(name);
    struct stat st;

    (void)state;
    content = NULL;
    assert_int_equal(ftruncate(fd, 3 * 4096), 0);
    assert_int_equal(fstat(fd, &st), 0);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(vmmapfile_at((u64)p + 17, &l));
    assert_true(l.start == (u64)p && l.end == (u64)p + 4096 && l.offset == 4096);
    assert_int_equal(l.prot, PROT_READ | PROT_EXEC);
    assert_int_equal(l.flags, 0);
    assert_true(l.ino == st.st_ino && l.dev == st.st_dev);
    assert_string_equal(l.path, name);
    assert_true(vmmapfile_at((u64)shared, &l));
    assert_int_equal(l.prot, PROT_READ | PROT_WRITE);
    assert_int_equal(l.flags, VMMAP_SHARED);
    munmap(shared, 4096);
    assert_true(vmmapfile_at((u64)&fd, &l));
    assert_string_equal(l.path, "[stack]");
    assert_int_equal(l.flags, VMMAP_ANON);
    assert_int_equal(l.prot & (PROT_READ | PROT_WRITE), PROT_READ | PROT_WRITE);
    munmap(p, 4096);
    assert_false(vmmapfile_at((u64)p, &walked));
    close(fd);
    unlink(name);
}

// The file escapes a newline in a name, the ioctl does not: the answer is always the escaped form.
static void test_line_end_in_name(void **state)
{
    char folder[] = "/dev/shm/quern-vmmapfile.XXXXXX", name[64], shown[64];
    struct vmmapfile_line l;
    char *p;
    int fd;

    (void)state;
    content = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof(name), "%s/a\nb", folder);
    snprintf(shown, sizeof(shown), "%s/a\\012b", folder);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, 4096), 0);
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(vmmapfile_at((u64)p, &l));
    assert_true(l.start == (u64)p && l.end == (u64)p + 4096);
    assert_string_equal(l.path, shown);
    munmap(p, 4096);
    close(fd);
    unlink(name);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_what_is_no_line),
        cmocka_unit_test(test_long_lines),      cmocka_unit_test(test_at),
        cmocka_unit_test(test_of_this_process), cmocka_unit_test(test_line_end_in_name),
    };

    return cmocka_run_group_tests_name("engine/codecache/vmmapfile.c", tests, NULL, NULL);
}
