// SPDX-License-Identifier: MIT
// engine/codecache/modules.c: which files are held, and what is written of them at the end. The
// spool's records are fakes; the files are mapped where the engine maps them.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/layout.h"
#include "engine/codecache/modules.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;
static struct spool_map map[8];
static char text[8][5000];
static u32 opened;

int fds_open(const char *path, int flags, u32 mode)
{
    assert_int_equal(flags, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(mode, 0);
    opened++;
    return open(path, flags);
}

const struct spool_map *spooler_map_at(u32 index)
{
    return &map[index];
}

const char *spooler_string(u32 offset)
{
    return text[offset - 1];
}

// The kernel's map of a held file: its inode, and the device number of the map. The path of the
// query before is overwritten.
static u64 map_dev = 99;
static u32 asked;

bool vmmapfile_at(u64 addr, struct vmmapfile_line *out)
{
    char line[4500];
    unsigned long start, end, ino;
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");

    asked++;
    while (!found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &ino) == 3 && start <= addr &&
                addr < end;
    fclose(maps);
    *out = (struct vmmapfile_line){ .start = start, .end = end, .dev = map_dev, .ino = ino };
    for (u32 i = 0; i < 8; i++)
        memset(text[i], '?', 20);
    return found;
}

// -- the test's side --

static char folder[] = "/tmp/quern-modules-XXXXXX";

static const char *in(const char *name)
{
    static char path[3][4096];
    static u32 turn;

    snprintf(path[turn = (turn + 1) % 3], sizeof(path[0]), "%s/%s", folder, name);
    return path[turn];
}

// A file of `size` bytes that begins with `magic`.
static struct stat make(const char *name, const char *magic, size_t size)
{
    int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char *bytes = calloc(1, size);
    struct stat st;

    memset(bytes, *magic + 1, size);
    memcpy(bytes, magic, strlen(magic));
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(fstat(fd, &st), 0);
    free(bytes);
    close(fd);
    return st;
}

// The engine records a mapping of it, under that path. The record's path is in `text`.
static struct modules_times record(const char *path, const struct stat *st, bool deleted)
{
    struct vmmapfile_line l = { .dev = 99, .ino = st->st_ino };
    u32 i = (u32)header.maps_used++;

    snprintf(text[i], sizeof(text[0]), "%s", path);
    l.path = text[i];
    // As vmmap.c does: what is not known is looked up.
    struct modules_found found;
    bool known = modules_known(&l);

    if (!known)
        modules_look(&l, deleted, &found);
    struct modules_times times = modules_hold(&l, known ? NULL : &found);
    if (!known)
        modules_looked(&found);
    map[i] = (struct spool_map){
        .dev = 99, .ino = st->st_ino, .path = i + 1, .flags = deleted ? SPOOL_MAP_DELETED : 0
    };
    return times;
}

// In a process of its own, because held files stay for good.
static void apart(void (*what)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        what();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define CHECK(ok)                                              \
    do {                                                       \
        if (!(ok)) {                                           \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #ok); \
            _exit(1);                                          \
        }                                                      \
    } while (0)

// "MAP:SIZE:BYTE " for each file in the spool: its size, and its byte behind the magic.
static const char *saved(int fd)
{
    static char out[256];
    struct spool_held k;
    char bytes[5];

    *out = '\0';
    for (u64 at = SPOOL_HELD_OFF; pread(fd, &k, sizeof(k), (off_t)at) == sizeof(k) && k.at;
         at += sizeof(k)) {
        CHECK(k.at >= SPOOL_HELD_OFF + SPOOL_HELD_TABLE && k.at % 4096 == 0);
        CHECK(pread(fd, bytes, 5, (off_t)k.at) == 5);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%u:%lu:%c ", k.map, k.size,
                 bytes[4]);
    }
    return out;
}

static int new_spool(void)
{
    int fd = open(in("spool"), O_RDWR | O_CREAT | O_TRUNC, 0600);

    CHECK(fd >= 0);
    return fd;
}

#define ELF "\177ELF"

static void what_is_gone(void)
{
    struct stat a = make("a", ELF, 5000), b = make("b", ELF, 300), c = make("c", ELF, 100),
                no = make("no", "text", 5000);
    int fd = new_spool();

    memset(&map, 0, sizeof(map));
    // Nothing of the file that still exists; never anything of a file that is not ELF.
    struct modules_times t = record(in("a"), &a, false);
    CHECK(t.mtime == (u64)a.st_mtim.tv_sec * 1000000000 + (u64)a.st_mtim.tv_nsec);
    CHECK(t.ctime == (u64)a.st_ctim.tv_sec * 1000000000 + (u64)a.st_ctim.tv_nsec);
    record(in("no"), &no, false);
    record(in("b"), &b, false);
    record(in("c"), &c, false);
    CHECK(opened == 4);
    record(in("b"), &b, false); // once for a file
    CHECK(opened == 4);
    CHECK(unlink(in("no")) == 0 && unlink(in("b")) == 0 && unlink(in("c")) == 0);
    make("c", ELF, 50); // another one, while the first is held
    // It was removed before it was mapped again.
    t = record(in("b"), &b, true);
    CHECK(opened == 4 && t.mtime != 0);
    modules_save(fd);
    CHECK(strcmp(saved(fd), "2:300:\200 3:100:\200 4:300:\200 5:300:\200 ") == 0);
    // Once.
    CHECK(unlink(in("a")) == 0);
    modules_save(fd);
    CHECK(strcmp(saved(fd), "2:300:\200 3:100:\200 4:300:\200 5:300:\200 ") == 0);
}

static void test_gone(void **state)
{
    (void)state;
    apart(what_is_gone);
}

// The mappings are consecutive, in the engine's range for modules.
static void places(void)
{
    struct stat a = make("a", ELF, 5000), b = make("b", ELF, 4096), c = make("c", ELF, 1);
    const char *at = (const char *)MODULES_BASE;

    memset(&map, 0, sizeof(map));
    make("c", ELF "c", 4097);
    record(in("a"), &a, false);
    record(in("b"), &b, false);
    record(in("c"), &c, false);
    CHECK(memcmp(at, ELF "\200", 5) == 0 && at[4999] == '\200' && at[5000] == '\0');
    CHECK(memcmp(at + 8192, ELF "\200", 5) == 0 && at[8192 + 4095] == '\200');
    CHECK(memcmp(at + 12288, ELF "c\200", 6) == 0 && at[12288 + 4096] == '\200');
    CHECK(unlink(in("a")) == 0 && unlink(in("b")) == 0 && unlink(in("c")) == 0);
}

static void test_addresses(void **state)
{
    (void)state;
    apart(places);
}

static void newlines(void)
{
    struct stat two = make("two\nlines", ELF, 500), literal = make("a\\012b", ELF, 500);
    int fd = new_spool();

    record(in("two\\012lines"), &two, false);
    CHECK(strcmp(text[0], in("two\nlines")) == 0);
    record(in("a\\012b"), &literal, false);
    CHECK(strcmp(text[1], in("a\\012b")) == 0);
    modules_save(fd);
    CHECK(strcmp(saved(fd), "") == 0);
    CHECK(unlink(in("two\nlines")) == 0 && unlink(in("a\\012b")) == 0);
    modules_save(fd);
    CHECK(strcmp(saved(fd), "0:500:\200 1:500:\200 ") == 0);
}

static void test_newlines(void **state)
{
    (void)state;
    apart(newlines);
}

// Overwritten, and truncated: what cannot be read any more is missing.
static void cut_off(void)
{
    struct stat a = make("a", ELF, 9000), b = make("b", ELF, 300);
    int fd = new_spool();

    record(in("a"), &a, false);
    record(in("b"), &b, false);
    make("a", ELF, 10); // the same file
    CHECK(unlink(in("a")) == 0 && unlink(in("b")) == 0);
    modules_save(fd);
    CHECK(strcmp(saved(fd), "1:300:\200 ") == 0);
}

static void test_cut_off(void **state)
{
    (void)state;
    apart(cut_off);
}

static void limits(void)
{
    struct rlimit limit = { (rlim_t)1 << 45, RLIM_INFINITY };
    struct stat a = make("a", ELF, 300), empty = make("empty", "", 0), large;
    int fd = new_spool();

    // With a limit on the address space, or without space, no file is opened or mapped.
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(record(in("a"), &a, false).mtime != 0 && opened == 0);
    limit.rlim_cur = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    record(in("empty"), &empty, false);
    large = make("large", ELF, 300);
    CHECK(truncate(in("large"), (off_t)MODULES_SIZE + 1) == 0);
    record(in("large"), &large, false);
    // A pipe has taken the name: it is not opened. And another file.
    opened = 0;
    CHECK(unlink(in("a")) == 0 && mkfifo(in("a"), 0600) == 0);
    CHECK(record(in("a"), &a, false).mtime == 0 && opened == 0);
    CHECK(record(in("empty"), &a, false).mtime == 0 && opened == 0);
    CHECK(unlink(in("empty")) == 0 && unlink(in("large")) == 0 && unlink(in("a")) == 0);
    modules_save(fd);
    CHECK(strcmp(saved(fd), "") == 0);
}

static void test_limits(void **state)
{
    (void)state;
    apart(limits);
}

// -- held when mapped executable --

// The mappings of held files: "START+SIZE " of each, in pages from the beginning.
static const char *held(void)
{
    static char out[100000];
    char line[4500];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");

    *out = '\0';
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start >= MODULES_BASE &&
            start < MODULES_BASE + MODULES_SIZE)
            sprintf(out + strlen(out), "%lu+%lu ", (start - MODULES_BASE) / 4096,
                    (end - start) / 4096);
    fclose(maps);
    return out;
}

// Maps a nameless file of `size` bytes executable.
static struct stat mapped(u64 size, u32 mode)
{
    int fd = memfd_create("held", 0);
    struct stat st;

    CHECK(ftruncate(fd, (off_t)size) == 0 && pwrite(fd, ELF "x", 5, 0) == 5);
    CHECK(fchmod(fd, mode) == 0);
    CHECK(modules_check(fd, (struct k_stat *)&st));
    modules_hold_mapped(fd, (const struct k_stat *)&st);
    close(fd);
    return st;
}

static void looks(void)
{
    struct stat st, a = make("a", ELF, 5000);
    int fd = open(in("a"), O_RDONLY), folders = open(folder, O_RDONLY), both[2];

    CHECK(modules_check(fd, (struct k_stat *)&st));
    CHECK(st.st_ino == a.st_ino && st.st_dev == a.st_dev);
    CHECK(pipe(both) == 0);
    CHECK(!modules_check(folders, (struct k_stat *)&st) &&
          !modules_check(both[0], (struct k_stat *)&st) &&
          !modules_check(-1, (struct k_stat *)&st));
    make("a", "\177EL", 5000);
    CHECK(!modules_check(fd, (struct k_stat *)&st));
    make("a", "\177EL", 3);
    CHECK(!modules_check(fd, (struct k_stat *)&st));
    make("a", ELF, 4);
    CHECK(modules_check(fd, (struct k_stat *)&st));
    make("a", "", 0);
    CHECK(!modules_check(fd, (struct k_stat *)&st));
    CHECK(unlink(in("a")) == 0);
}

static void test_look(void **state)
{
    (void)state;
    apart(looks);
}

// Its name is gone when its code is executed.
static void removed_before(void)
{
    struct stat a = mapped(5000, 0777), b = mapped(300, 0777), st;
    int fd = new_spool();

    modules_hold_mapped(-1, (const struct k_stat *)&a); // once
    CHECK(strcmp(held(), "0+2 2+1 ") == 0);
    struct modules_times t = record("/memfd:a", &a, true);
    CHECK(t.mtime == (u64)a.st_mtim.tv_sec * 1000000000 + (u64)a.st_mtim.tv_nsec);
    CHECK(strcmp(text[0], "/memfd:a") == 0 && asked == 1 && opened == 0);
    // The kernel's map is not asked again.
    CHECK(record("/memfd:a", &a, true).mtime == t.mtime && asked == 1);
    // Another file, with the same inode number on another device.
    map_dev = 98;
    CHECK(record("/memfd:b", &b, true).mtime == 0 && asked == 2);
    map_dev = 99;
    modules_save(fd);
    CHECK(strcmp(saved(fd), "0:5000:x 1:5000:x ") == 0);
    // When its code is executed the name still leads to that file: it is not mapped again.
    st = make("c", ELF, 100);
    fd = open(in("c"), O_RDONLY);
    modules_hold_mapped(fd, (const struct k_stat *)&st);
    CHECK(strcmp(held(), "0+2 2+1 3+1 ") == 0);
    opened = asked = 0;
    CHECK(record(in("c"), &st, false).mtime != 0 && opened == 0 && asked == 1);
    CHECK(strcmp(held(), "0+2 2+1 3+1 ") == 0);
    CHECK(unlink(in("c")) == 0);
    CHECK(record(in("c"), &st, true).mtime != 0 && asked == 1);
}

static void test_removed_before(void **state)
{
    (void)state;
    apart(removed_before);
}

// The oldest file without executed code is dropped: 6 GiB, three times.
static void room_is_made(void)
{
    const u64 third = MODULES_SIZE / 3;
    struct stat a = mapped(third, 0777), b = mapped(third / 2, 0777), c = mapped(third / 2, 0777);

    CHECK(strcmp(held(), "0+524288 524288+262144 786432+262144 ") == 0);
    CHECK(record("/memfd:b", &b, true).mtime != 0);
    mapped(third, 0777);
    CHECK(strcmp(held(), "0+524288 524288+262144 786432+262144 1048576+524288 ") == 0);
    mapped(4096, 0777); // a's place
    CHECK(strcmp(held(), "0+1 524288+262144 786432+262144 1048576+524288 ") == 0);
    CHECK(record("/memfd:a", &a, true).mtime == 0);
    CHECK(record("/memfd:c", &c, true).mtime != 0);
    mapped(8192, 0777);
    CHECK(strcmp(held(), "0+1 1+2 524288+262144 786432+262144 1048576+524288 ") == 0);
    // All files without executed code are dropped, and the space does not suffice.
    mapped(2 * third, 0777);
    CHECK(strcmp(held(), "524288+262144 786432+262144 ") == 0);
    mapped(third, 0777);
    mapped(third, 0777);
    CHECK(strcmp(held(), "0+524288 524288+262144 786432+262144 1048576+524288 ") == 0);
}

static void test_room(void **state)
{
    (void)state;
    apart(room_is_made);
}

// At most 1,024 files are held.
static void many(void)
{
    struct stat of[1400];
    u32 n = 0;

    for (u32 i = 0; i < 1024; i++)
        of[i] = mapped(100, 0777);
    CHECK(record("/memfd:1", &of[0], true).mtime != 0);
    for (u32 i = 1024; i < 1400; i++)
        of[i] = mapped(100, 0777);
    for (const char *k = held(); (k = strchr(k, '+')); k++)
        n++;
    CHECK(n == 1024);
    // The first, which is executed, and then the last 1,023. Of 256 inode numbers in a row one
    // is in the first one's list, before it: that is whole.
    CHECK(record("/memfd:1", &of[0], true).mtime != 0);
    CHECK(record("/memfd:376", &of[376], true).mtime == 0);
    CHECK(record("/memfd:377", &of[377], true).mtime != 0);
    CHECK(record("/memfd:1400", &of[1399], true).mtime != 0);
}

static void test_many(void **state)
{
    (void)state;
    apart(many);
}

static void rights(void)
{
    const u32 modes[] = { 0777, 0770, 0004, 0773, 0444, 0700 };

    for (u32 i = 0; i < 6; i++) {
        struct stat st = mapped(100, modes[i]);

        if (i < 2)
            CHECK(record("/memfd:a", &st, true).mtime != 0);
    }
    CHECK(strcmp(held(), "0+1 1+1 2+1 3+1 4+1 5+1 ") == 0);
    modules_drop_private();
    CHECK(strcmp(held(), "0+1 2+1 4+1 ") == 0);
    modules_drop_private();
    CHECK(strcmp(held(), "0+1 2+1 4+1 ") == 0);
}

static void test_rights(void **state)
{
    (void)state;
    apart(rights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gone),     cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_newlines), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_look),
        cmocka_unit_test(test_room),     cmocka_unit_test(test_removed_before),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_rights),
    };

    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(in("spool"));
    rmdir(folder);
    return failed;
}
