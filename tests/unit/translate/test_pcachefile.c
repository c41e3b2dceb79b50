// SPDX-License-Identifier: MIT
// engine/translate/pcachefile.c on real files: written data is read again; damaged files, and those
// that others may have written, are refused; a failure leaves nothing behind.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/translate/pcachefile.h"

// Padded to 0, 8, 8, 8, 16, 32, 32, 40, 104, 8, 16 and 8.
static const u64 bytes[PCACHEFILE_SECTIONS] = { 0, 1, 7, 8, 9, 31, 32, 33, 100, 5, 12, 3 };
#define HEAD   272
#define PADDED 280
#define WHOLE  (HEAD + PADDED)

static const u64 key[2] = { 0x1234, 0x5678 }, another[2] = { 0x1235, 0x5678 };
static const u64 same_name[2] = { 0x1234, 0x5679 };
static char folder[] = "/tmp/quern-pcachefile.XXXXXX";
static char path[64]; // of the key's file
static u8 content[PCACHEFILE_SECTIONS][128];

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/0000000000001234.code", folder);
    for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++) {
        for (u32 i = 0; i < bytes[s]; i++)
            content[s][i] = (u8)(s * 16 + i * 3);
    }
    return 0;
}

static int finish(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static u32 files(void)
{
    DIR *d = opendir(folder);
    u32 n = 0;

    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static struct pcachefile_head described(const u64 of[2])
{
    struct pcachefile_head h = { .key = { of[0], of[1] },
                                 .fragments = 17,
                                 .grouped = 11,
                                 .counters = 4711,
                                 .first = { 1536, 5000 },
                                 .second = { 6000, 7000 } };

    memcpy(h.bytes, bytes, sizeof(bytes));
    return h;
}

static long put(const u64 of[2])
{
    struct pcachefile_head h = described(of);
    const void *from[PCACHEFILE_SECTIONS];

    for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++)
        from[s] = content[s];
    return pcachefile_write(folder, &h, from, NULL);
}

// Each test starts with the file of the key only.
static int setup(void **state)
{
    (void)state;
    if (chmod(folder, 0700))
        return -1;
    remove(path);
    return put(key) || files() != 1;
}

// Which sections can be read and are unchanged, a bit for each.
static u32 readable(int fd, const struct pcachefile_head *h)
{
    u32 good = 0;

    for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++) {
        u8 to[128] = { 0 };

        if (pcachefile_read(fd, h, s, to) && !memcmp(to, content[s], bytes[s]))
            good |= 1u << s;
    }
    return good;
}

#define ALL ((1u << PCACHEFILE_SECTIONS) - 1)

static int open_it(struct pcachefile_head *h)
{
    return pcachefile_open(folder, key, h);
}

static int refused(void)
{
    struct pcachefile_head h;
    int fd = open_it(&h);

    if (fd >= 0)
        close(fd);
    return fd;
}

// -- sums --

// Sums in existing files: a change of the sum needs another magic. Computed by another program.
static void test_sum_is_known(void **state)
{
    u8 some[100];

    (void)state;
    for (u32 i = 0; i < sizeof(some); i++)
        some[i] = (u8)(i * 7 + 1);
    assert_int_equal(pcachefile_sum(0, some, 0), 0xde65d651d14f9530ul);
    assert_int_equal(pcachefile_sum(5, some, 32), 0x5c1cfccf22d178beul);
    assert_int_equal(pcachefile_sum(5, some, 100), 0xd1d829d0b14353cful);
}

static void test_sum(void **state)
{
    u8 some[101] = { 0 };
    u64 of_zeros[101];

    (void)state;
    for (u32 n = 0; n <= 100; n++) {
        of_zeros[n] = pcachefile_sum(1, some, n);
        for (u32 i = 0; i < n; i++)
            assert_int_not_equal(of_zeros[n], of_zeros[i]); // the length is part of the sum
        assert_int_not_equal(of_zeros[n], pcachefile_sum(2, some, n));
        for (u32 bit = 0; bit < n * 8; bit++) {
            some[bit / 8] ^= (u8)(1u << bit % 8);
            assert_int_not_equal(of_zeros[n], pcachefile_sum(1, some, n));
            some[bit / 8] = 0;
        }
        some[n] = 0xff; // behind them
        assert_int_equal(of_zeros[n], pcachefile_sum(1, some, n));
        some[n] = 0;
    }
}

// Swapped bytes: within a lane, between lanes, and at the end.
static void test_sum_of_order(void **state)
{
    u8 some[75];

    (void)state;
    for (u32 i = 0; i < sizeof(some); i++)
        some[i] = (u8)i;
    u64 sum = pcachefile_sum(0, some, sizeof(some));
    for (u32 i = 0; i < sizeof(some); i++) {
        for (u32 k = 0; k < i; k++) {
            some[i] = (u8)k;
            some[k] = (u8)i;
            assert_int_not_equal(pcachefile_sum(0, some, sizeof(some)), sum);
            some[i] = (u8)i;
            some[k] = (u8)k;
        }
    }
}

// -- writing --

static void test_round(void **state)
{
    struct pcachefile_head h;
    struct stat st;
    int fd = open_it(&h);

    (void)state;
    assert_int_equal(sizeof(h), HEAD);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, WHOLE);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(h.fragments, 17);
    assert_int_equal(h.grouped, 11);
    assert_int_equal(h.counters, 4711);
    assert_int_equal(h.first.low, 1536);
    assert_int_equal(h.second.high, 7000);
    assert_memory_equal(h.bytes, bytes, sizeof(bytes));
    assert_int_equal(readable(fd, &h), ALL);
    close(fd);
}

// A new file of the same name replaces it as a whole; who has the old one open can still read it.
static void test_again(void **state)
{
    struct pcachefile_head h, h2;
    int fd = open_it(&h), fd2;
    u8 to[128];

    (void)state;
    content[PCACHEFILE_BLOCKS][0]++;
    assert_int_equal(put(key), 0);
    assert_int_equal(files(), 1);
    fd2 = open_it(&h2);
    assert_int_equal(readable(fd2, &h2), ALL);
    assert_true(pcachefile_read(fd, &h, PCACHEFILE_BLOCKS, to));
    assert_int_equal(to[0], PCACHEFILE_BLOCKS * 16);
    content[PCACHEFILE_BLOCKS][0]--;
    close(fd);
    close(fd2);
}

static void test_keys(void **state)
{
    struct pcachefile_head h;

    (void)state;
    assert_int_equal(pcachefile_open(folder, another, &h), -ENOENT);
    assert_int_equal(pcachefile_open(folder, same_name, &h), -EINVAL);
    assert_int_equal(put(another), 0);
    assert_int_equal(files(), 2);
    pcachefile_remove(folder, another);
    assert_int_equal(files(), 1);
    pcachefile_remove(folder, another); // there is none
    pcachefile_remove(folder, key);
    assert_int_equal(files(), 0);
    assert_int_equal(refused(), -ENOENT);
    pcachefile_remove("/nowhere", key);
}

// -- damage --

static void cut(long size)
{
    assert_int_equal(truncate(path, size), 0);
}

static void test_cut(void **state)
{
    struct pcachefile_head h;
    int fd;

    for (long size = WHOLE + 1; size >= 0; size--) {
        setup(state);
        cut(size);
        if (size == WHOLE)
            assert_true(refused() >= 0);
        else
            assert_int_equal(refused(), -EINVAL);
    }
    // While it is open: the last section is missing, then all but the empty one.
    setup(state);
    fd = open_it(&h);
    cut(WHOLE - 8);
    assert_int_equal(readable(fd, &h), ALL & ~(1u << PCACHEFILE_EDGE_MEMBERS));
    cut(HEAD);
    assert_int_equal(readable(fd, &h), 1);
    close(fd);
}

// The section of a byte of the file; ALL: none, it is padding.
static u32 sections_without(long at)
{
    long from = HEAD;

    for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++) {
        if (at >= from && at < from + (long)bytes[s])
            return ALL & ~(1u << s);
        from += ((long)bytes[s] + 7) & ~7l;
    }
    return ALL;
}

static void flip(long at)
{
    int fd = open(path, O_RDWR);
    u8 was;

    assert_int_equal(pread(fd, &was, 1, at), 1);
    was ^= 0x10;
    assert_int_equal(pwrite(fd, &was, 1, at), 1);
    close(fd);
}

// 272 bytes of the head, 241 of sections, 39 between them.
static void test_flip(void **state)
{
    u32 of_head = 0, of_sections = 0;

    (void)state;
    for (long at = 0; at < WHOLE; at++) {
        struct pcachefile_head h;
        int fd;

        flip(at);
        fd = open_it(&h);
        if (fd < 0) {
            assert_int_equal(fd, -EINVAL);
            of_head++;
        } else {
            u32 good = readable(fd, &h);

            assert_int_equal(good, sections_without(at));
            of_sections += good != ALL;
            close(fd);
        }
        flip(at);
    }
    assert_int_equal(of_head, 272);
    assert_int_equal(of_sections, 241);
}

static u32 filled, fills;

static void fill(u8 *to, u64 n)
{
    fills++;
    while (n--)
        *to++ = (u8)(filled++ * 7 >> 3);
}

// A section that is nowhere in memory as a whole is written in pieces of 256 KiB; its sum is the
// same.
static void test_filled(void **state)
{
    const u64 to[2] = { 79, 80 };
    static u8 whole[2 * 0x40000 + 100], read[sizeof(whole)];
    const void *from[PCACHEFILE_SECTIONS] = { [3] = "next" };
    struct pcachefile_head h = { .key = { 79, 80 }, .bytes = { [2] = sizeof(whole), [3] = 4 } };
    u64 sum;
    int fd;

    (void)state;
    filled = fills = 0;
    assert_int_equal(pcachefile_write(folder, &h, from, fill), 0);
    assert_int_equal(filled, sizeof(whole));
    assert_int_equal(fills, 3);
    fd = pcachefile_open(folder, to, &h);
    assert_true(fd >= 0);
    filled = 0;
    fill(whole, sizeof(whole));
    assert_true(pcachefile_read(fd, &h, 2, read));
    assert_memory_equal(read, whole, sizeof(whole));
    assert_true(pcachefile_read(fd, &h, 3, read));
    assert_memory_equal(read, "next", 4);
    assert_true(pcachefile_read(fd, &h, 4, read));
    close(fd);
    sum = h.sum[2];
    from[2] = whole;
    assert_int_equal(pcachefile_write(folder, &h, from, NULL), 0);
    assert_int_equal(h.sum[2], sum);
    pcachefile_remove(folder, to);
}

// A section swapped for another one of the same length: each has a sum of its own.
static void test_moved(void **state)
{
    const u64 to[2] = { 77, 78 };
    const void *from[PCACHEFILE_SECTIONS];
    struct pcachefile_head h = { .key = { 77, 78 }, .bytes = { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 } };
    u8 read[8];
    u64 sum;
    int fd;

    (void)state;
    for (u32 s = 0; s < PCACHEFILE_SECTIONS; s++)
        from[s] = content[3];
    assert_int_equal(pcachefile_write(folder, &h, from, NULL), 0);
    fd = pcachefile_open(folder, to, &h);
    assert_true(fd >= 0);
    sum = h.sum[4];
    h.sum[4] = h.sum[5];
    assert_false(pcachefile_read(fd, &h, 4, read));
    h.sum[4] = sum;
    assert_true(pcachefile_read(fd, &h, 4, read));
    close(fd);
    pcachefile_remove(folder, to);
}

// -- files that others may have written --

static void test_file_of_others(void **state)
{
    (void)state;
    assert_true(refused() >= 0);
    for (u32 mode = 0; mode < 0100; mode++) {
        assert_int_equal(chmod(path, 0600 | mode), 0);
        if (mode & 022)
            assert_int_equal(refused(), -EINVAL);
        else
            assert_true(refused() >= 0);
    }
    chmod(path, 0600);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 1, 1), 0);
        assert_int_equal(refused(), -EINVAL);
        assert_int_equal(chown(path, 0, 1), 0);
        assert_true(refused() >= 0);
    }
}

static void test_folder_of_others(void **state)
{
    static const u32 modes[] = { 0720, 0702, 0777, 01777 };
    char other[64], to[64];
    struct pcachefile_head h;

    (void)state;
    for (u32 i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(chmod(folder, modes[i]), 0);
        assert_int_equal(refused(), -EACCES);
        assert_int_equal(put(another), -EACCES);
        pcachefile_remove(folder, key);
        assert_int_equal(files(), 1);
    }
    assert_int_equal(chmod(folder, 0755), 0);
    assert_true(refused() >= 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(folder, 1, 0), 0);
        assert_int_equal(refused(), -EACCES);
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    // A link to it, a file, nothing.
    snprintf(other, sizeof(other), "%s-link", folder);
    assert_int_equal(symlink(folder, other), 0);
    assert_int_equal(pcachefile_open(other, key, &h), -ENOTDIR);
    unlink(other);
    snprintf(to, sizeof(to), "%s/none", folder);
    assert_int_equal(pcachefile_open(to, key, &h), -ENOENT);
    assert_int_equal(pcachefile_open(path, key, &h), -ENOTDIR);
    assert_int_equal(pcachefile_open("", key, &h), -ENOENT);
}

// A link to a good file is not followed, and a fifo does not block.
static void test_other_kinds(void **state)
{
    char away[64];

    (void)state;
    snprintf(away, sizeof(away), "%s/away", folder);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(symlink(away, path), 0);
    assert_int_equal(refused(), -ELOOP);
    // A new file replaces the link, not its target.
    assert_int_equal(put(key), 0);
    assert_true(refused() >= 0);
    unlink(path);
    unlink(away);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(refused(), -EINVAL);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(refused(), -EINVAL);
    assert_int_equal(put(key), -EISDIR);
    assert_int_equal(files(), 1); // no other file
    assert_int_equal(rmdir(path), 0);
}

// -- failures --

// The limit sends no signal; the old file stays.
static void test_limit(void **state)
{
    struct rlimit old, low;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &old);
    low = (struct rlimit){ WHOLE - 1, old.rlim_max };
    setrlimit(RLIMIT_FSIZE, &low);
    assert_int_equal(put(key), -EFBIG);
    assert_int_equal(put(another), -EFBIG);
    assert_int_equal(files(), 1);
    low.rlim_cur++;
    setrlimit(RLIMIT_FSIZE, &low);
    assert_int_equal(put(another), 0);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(refused() >= 0);
    pcachefile_remove(folder, another);
}

static void test_no_room_in_folder(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0500), 0);
    if (geteuid()) { // root can write there
        assert_int_equal(put(another), -EACCES);
        assert_int_equal(files(), 1);
    }
    chmod(folder, 0700);
}

// A file left by a process with the same number does not disturb, not even if it is a link.
static void test_left_behind(void **state)
{
    char beside[96], victim[64];
    struct stat st;

    (void)state;
    snprintf(beside, sizeof(beside), "%s.%d.new", path, getpid());
    snprintf(victim, sizeof(victim), "%s/victim", folder);
    close(open(victim, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink(victim, beside), 0);
    assert_int_equal(put(key), 0);
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(files(), 2);
    unlink(victim);
}

// -- time of use --

// time() is that of the last tick; a file's time may be later.
static s64 now(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &t), 0);
    return t.tv_sec;
}

static s64 used_before(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return now() - st.st_mtime;
}

static void make_older(s64 seconds)
{
    const struct timespec when[2] = { { now() - seconds, 0 }, { now() - seconds, 0 } };

    assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
}

// An hour is 3600 seconds; half a minute more or less allows for slow machines.
static void test_used(void **state)
{
    (void)state;
    make_older(3570);
    assert_true(refused() >= 0);
    assert_in_range(used_before(), 3570, 3600);
    make_older(3630);
    assert_true(refused() >= 0);
    assert_in_range(used_before(), 0, 30);
    make_older(-7200); // by a clock that was wrong
    assert_true(refused() >= 0);
    assert_true(used_before() < -7000);
    flip(0); // a refused file has not been used
    make_older(7200);
    assert_int_equal(refused(), -EINVAL);
    assert_in_range(used_before(), 7200, 7230);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_is_known),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_sum_of_order),
        cmocka_unit_test_setup(test_round, setup),
        cmocka_unit_test_setup(test_again, setup),
        cmocka_unit_test_setup(test_keys, setup),
        cmocka_unit_test_setup(test_cut, setup),
        cmocka_unit_test_setup(test_flip, setup),
        cmocka_unit_test_setup(test_moved, setup),
        cmocka_unit_test_setup(test_filled, setup),
        cmocka_unit_test_setup(test_file_of_others, setup),
        cmocka_unit_test_setup(test_folder_of_others, setup),
        cmocka_unit_test_setup(test_other_kinds, setup),
        cmocka_unit_test_setup(test_limit, setup),
        cmocka_unit_test_setup(test_no_room_in_folder, setup),
        cmocka_unit_test_setup(test_left_behind, setup),
        cmocka_unit_test_setup(test_used, setup),
    };

    return cmocka_run_group_tests_name("translate/pcachefile", tests, begin, finish);
}
