// SPDX-License-Identifier: MIT
//
// The files of the symbol cache: their bytes, their folder, and how modules are told apart.
// test_symbols.c tests the cache's answers for real programs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbols/cachedir.h"
#include "symbols/cachefile.h"
#include "symbols/identity.h"

// ---- The bytes ----

static const struct cachefile_segment segments[] = { { 0x1000, 0x401000, 0x2000, PF_R | PF_X } };
static const struct cachefile_witness witnesses[] = { { 0, 0, 0, 0, 0, "/not/there" },
                                                      { 1, 2, 3, 4, 5, "/there" } };
static const char *const strings[] = { "???", "main", "/src/main.c", "other" };
// From 0x401000: main's lines 5 and 6, nothing known of 8 bytes, other without a line.
static const struct cachefile_row rows[] = { { 0, 1, 2, 5 },
                                             { 4, 1, 2, 6 },
                                             { 16, CACHEFILE_UNKNOWN, 0, 0 },
                                             { 24, 3, 0, 0 },
                                             { 32, CACHEFILE_UNKNOWN, 0, 0 } };

static struct cachefile_content small_content(void)
{
    return (struct cachefile_content){ .base = 0x401000,
                                       .expires = 99,
                                       .identity = "identity",
                                       .identity_size = 8,
                                       .segment = segments,
                                       .segments = 1,
                                       .witness = witnesses,
                                       .witnesses = 2,
                                       .row = rows,
                                       .rows = 5,
                                       .string = strings,
                                       .strings = 4 };
}

// "START-END FUNCTION FILE:LINE", "unknown", or "bad".
static const char *find(struct cachefile *c, uint64_t address)
{
    static char text[4][128];
    static unsigned turn;
    char *out = text[turn++ % 4];
    struct cachefile_answer a;

    if (!cachefile_find(c, address, &a))
        return c->bad ? "bad" : "unknown";
    const char *function = cachefile_string(c, a.function), *file = cachefile_string(c, a.file);
    snprintf(out, sizeof(text[0]), "%llx-%llx %s %s:%u", (unsigned long long)a.start,
             (unsigned long long)a.end, function ? function : "bad", file ? file : "bad", a.line);
    return out;
}

static void test_small_file(void **state)
{
    struct cachefile_content content = small_content();
    struct cachefile_witness w;
    struct cachefile c;
    size_t size;
    void *data = cachefile_make(&content, &size);

    (void)state;
    // A page for the head, one each for rows, offsets and texts.
    assert_int_equal(size, 4 * CACHEFILE_PAGE);
    assert_true(cachefile_open(&c, data, size));
    assert_int_equal(c.h.expires, 99);
    assert_int_equal(c.h.identity_size, 8);
    assert_memory_equal(c.identity, "identity", 8);
    assert_int_equal(c.h.segments, 1);
    assert_memory_equal(c.segment, segments, sizeof(segments));
    assert_true(cachefile_witness(&c, 0, &w));
    assert_string_equal(w.path, "/not/there");
    assert_int_equal(w.dev | w.ino | w.size | w.mtime | w.ctime, 0);
    assert_true(cachefile_witness(&c, 1, &w));
    assert_string_equal(w.path, "/there");
    assert_true(w.dev == 1 && w.ino == 2 && w.size == 3 && w.mtime == 4 && w.ctime == 5);
    assert_false(cachefile_witness(&c, 2, &w));
    // Every border, in both directions.
    for (int way = 0; way < 2; way++) {
        static const struct {
            uint64_t address;
            const char *answer;
        } expected[] = { { 0x400fff, "unknown" },
                         { 0x401000, "401000-401004 main /src/main.c:5" },
                         { 0x401003, "401000-401004 main /src/main.c:5" },
                         { 0x401004, "401004-401010 main /src/main.c:6" },
                         { 0x40100f, "401004-401010 main /src/main.c:6" },
                         { 0x401010, "unknown" },
                         { 0x401017, "unknown" },
                         { 0x401018, "401018-401020 other ???:0" },
                         { 0x40101f, "401018-401020 other ???:0" },
                         { 0x401020, "unknown" },
                         { UINT64_MAX, "unknown" },
                         { 0, "unknown" } };
        const size_t n = sizeof(expected) / sizeof(*expected);

        for (size_t i = 0; i < n; i++) {
            size_t k = way ? n - 1 - i : i;

            assert_string_equal(find(&c, expected[k].address), expected[k].answer);
        }
    }
    assert_null(cachefile_string(&c, 4));
    cachefile_close(&c);
    free(data);
}

// 1000 rows are four pages, the last one not full; 3000 texts of 10 bytes with their NUL are three
// pages of offsets and eight of text, and about every fourth text crosses a page border.
static void test_many_pages(void **state)
{
    enum { ROWS = 1000, STRINGS = 3000 };
    static struct cachefile_row many[ROWS];
    static char text[STRINGS][10];
    const char *string[STRINGS];
    struct cachefile c;
    size_t size;

    (void)state;
    for (uint32_t i = 0; i < STRINGS; i++) {
        snprintf(text[i], sizeof(text[i]), "f%08u", i);
        string[i] = text[i];
    }
    for (uint32_t i = 0; i < ROWS; i++)
        many[i] = (struct cachefile_row){ i * 10, i * 3, STRINGS - 1 - i, i };
    struct cachefile_content content = {
        .row = many, .rows = ROWS, .string = string, .strings = STRINGS
    };
    void *data = cachefile_make(&content, &size);
    assert_int_equal(size, (1 + 4 + 3 + 8) * CACHEFILE_PAGE);
    assert_true(cachefile_open(&c, data, size));
    for (uint32_t step = 1; step < 4000; step = step * 7 + 1)
        for (uint32_t a = 0; a < ROWS * 10; a += step) {
            char expected[128];
            uint32_t i = a / 10;

            snprintf(expected, sizeof(expected), "%x-%x f%08u f%08u:%u", i * 10, i * 10 + 10, i * 3,
                     STRINGS - 1 - i, i);
            // The last row only ends the one before.
            assert_string_equal(find(&c, a), i == ROWS - 1 ? "unknown" : expected);
        }
    cachefile_close(&c);
    free(data);
}

// The rows of test_many_pages, 256 in a page, with one changed byte in the third page: the first
// two pages answer until the third one has been read; then the fourth one does not.
static void test_damage_is_remembered(void **state)
{
    static struct cachefile_row many[1000];
    const char *string[] = { "???", "f" };
    struct cachefile_content content = {
        .row = many, .rows = 1000, .string = string, .strings = 2
    };
    struct cachefile_row row;
    struct cachefile c;
    size_t size;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        many[i] = (struct cachefile_row){ i * 10, 1, 0, i };
    unsigned char *data = cachefile_make(&content, &size);
    data[3 * CACHEFILE_PAGE + 100] ^= 1; // after the head and two pages of rows
    assert_true(cachefile_open(&c, data, size));
    assert_true(cachefile_row(&c, 0, &row));
    assert_true(cachefile_row(&c, 511, &row));
    assert_int_equal(row.line, 511);
    assert_false(c.bad);
    assert_false(cachefile_row(&c, 512, &row));
    assert_true(c.bad);
    assert_false(cachefile_row(&c, 768, &row)); // not read before
    assert_false(cachefile_row(&c, 0, &row));
    cachefile_close(&c);
    free(data);
}

// Every bit of a file, flipped: the file is refused, or its answers are right.
static void test_every_bit(void **state)
{
    struct cachefile_content content = small_content();
    size_t size, refused = 0;
    unsigned char *data = cachefile_make(&content, &size);

    (void)state;
    for (size_t bit = 0; bit < size * 8; bit++) {
        struct cachefile c;
        static const char *const right[] = { "401000-401004 main /src/main.c:5",
                                             "401018-401020 other ???:0", "unknown" };

        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (!cachefile_open(&c, data, size)) {
            refused++;
        } else {
            for (uint64_t k = 0; k < 3; k++) {
                const char *answer = find(&c, 0x401000 + k * 0x18);

                assert_true(c.bad || strcmp(answer, right[k == 2 ? 2 : k]) == 0);
            }
            cachefile_close(&c);
        }
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    // All of the head, whose size is the sum of its parts: header, identity, segment, witnesses
    // (2 * 40 and 11 + 7 bytes, 104 with padding), index of one page, checks of three.
    assert_int_equal(refused, 8 * (96 + 8 + 32 + 104 + 4 + 3 * 4));
    free(data);
}

static void test_every_length(void **state)
{
    struct cachefile_content content = small_content();
    size_t size;
    unsigned char *data = cachefile_make(&content, &size);
    struct cachefile c;

    (void)state;
    for (size_t n = 0; n < size; n++) {
        unsigned char *cut = malloc(n ? n : 1); // so that AddressSanitizer knows its end

        memcpy(cut, data, n);
        assert_false(cachefile_open(&c, cut, n));
        free(cut);
    }
    free(data);
}

// A text whose end is after all texts is invalid, although the padding has a NUL. The checks are
// corrected.
static void test_text_without_end(void **state)
{
    struct cachefile_content content = small_content();
    size_t size;
    unsigned char *data = cachefile_make(&content, &size);
    struct cachefile_header h;
    struct cachefile c;

    (void)state;
    memcpy(&h, data, sizeof(h));
    assert_int_equal(h.text_size, 4 + 5 + 12 + 6);
    // The NUL of "other" becomes a letter; the page's check is the last of the head.
    unsigned char *text = data + 3 * CACHEFILE_PAGE;
    text[h.text_size - 1] = 'x';
    uint32_t check = (uint32_t)cachefile_hash(text, CACHEFILE_PAGE, 2);
    memcpy(data + h.head_size - sizeof(check), &check, sizeof(check));
    h.head_check = 0;
    h.head_check = (uint32_t)cachefile_hash(data + sizeof(h), h.head_size - sizeof(h),
                                            cachefile_hash(&h, sizeof(h), 0));
    memcpy(data, &h, sizeof(h));
    assert_true(cachefile_open(&c, data, size));
    assert_string_equal(cachefile_string(&c, 2), "/src/main.c");
    assert_null(cachefile_string(&c, 3));
    assert_false(c.bad);
    cachefile_close(&c);
    free(data);
}

// So high that the ends of ranges would wrap around to 0.
static void test_highest_base(void **state)
{
    struct cachefile_content content = small_content();
    struct cachefile c;
    size_t size;

    (void)state;
    content.base = UINT64_MAX - UINT32_MAX;
    void *data = cachefile_make(&content, &size);
    assert_true(cachefile_open(&c, data, size));
    assert_string_equal(find(&c, content.base + 31),
                        "ffffffff00000018-ffffffff00000020 other ???:0");
    cachefile_close(&c);
    free(data);
    content.base++;
    data = cachefile_make(&content, &size);
    assert_false(cachefile_open(&c, data, size));
    free(data);
}

// ---- The folder ----

static char folder[4096];

static int make_folder(void **state)
{
    const char *base = getenv("TEST_FOLDER");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/cache-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[4200];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char path[2][4200];
    static unsigned turn;
    char *out = path[turn++ % 2];

    snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
    return out;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_folder_is_made(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(cachedir_open(in_folder("a/b"), false), -1);
    assert_int_equal(stat(in_folder("a"), &st), -1);
    int dir = cachedir_open(in_folder("a/b"), true);
    assert_true(dir >= 0);
    close(dir);
    assert_int_equal(stat(in_folder("a/b"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(in_folder("a"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    // Two levels, no more.
    assert_int_equal(cachedir_open(in_folder("c/d/e"), true), -1);
    assert_int_equal(stat(in_folder("c"), &st), -1);
}

static void test_folder_that_others_may_change(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("open"), 0700), 0);
    int dir = cachedir_open(in_folder("open"), false), before = dir;
    assert_true(dir >= 0);
    close(dir);
    chmod(in_folder("open"), 0720);
    assert_int_equal(cachedir_open(in_folder("open"), true), -1);
    chmod(in_folder("open"), 0702);
    assert_int_equal(cachedir_open(in_folder("open"), true), -1);
    chmod(in_folder("open"), 0755);
    dir = cachedir_open(in_folder("open"), false);
    assert_int_equal(dir, before); // none of those has stayed open
    close(dir);
    assert_int_equal(symlink("open", in_folder("link")), 0);
    assert_int_equal(cachedir_open(in_folder("link"), true), -1);
    if (geteuid() == 0) { // another user's
        assert_int_equal(chown(in_folder("open"), 65534, 65534), 0);
        assert_int_equal(cachedir_open(in_folder("open"), true), -1);
        // Nothing is created in it either.
        assert_int_equal(cachedir_open(in_folder("open/new"), true), -1);
    }
}

static bool maps(int dir, const char *name, const char *expected)
{
    size_t size;
    void *p = cachedir_map(dir, name, &size);

    if (!p)
        return false;
    bool same = size == strlen(expected) && memcmp(p, expected, size) == 0;
    munmap(p, size);
    assert_true(same);
    return true;
}

static void test_files(void **state)
{
    int dir = cachedir_open(in_folder("files"), true);
    struct stat st;

    (void)state;
    assert_true(dir >= 0);
    assert_false(maps(dir, "x.symbols", ""));
    assert_true(cachedir_write(dir, "x.symbols", "one", 3));
    assert_true(maps(dir, "x.symbols", "one"));
    assert_int_equal(stat(in_folder("files/x.symbols"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(cachedir_write(dir, "x.symbols", "second", 6));
    assert_true(maps(dir, "x.symbols", "second"));
    chmod(in_folder("files/x.symbols"), 0660);
    assert_false(maps(dir, "x.symbols", "second"));
    chmod(in_folder("files/x.symbols"), 0600);
    assert_int_equal(symlink("x.symbols", in_folder("files/y.symbols")), 0);
    assert_false(maps(dir, "y.symbols", "second"));
    assert_int_equal(mkfifo(in_folder("files/z.symbols"), 0600), 0);
    assert_false(maps(dir, "z.symbols", ""));
    write_file("files/empty.symbols", "");
    assert_false(maps(dir, "empty.symbols", ""));
    if (geteuid() == 0) {
        assert_int_equal(chown(in_folder("files/x.symbols"), 65534, 65534), 0);
        assert_false(maps(dir, "x.symbols", "second"));
    }
    close(dir);
}

static void set_age(const char *name, long seconds)
{
    struct timespec t[2];

    clock_gettime(CLOCK_REALTIME, &t[0]);
    t[0].tv_sec -= seconds;
    t[1] = t[0];
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), t, 0), 0);
}

static bool exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void test_pruning(void **state)
{
    static char page[4096];
    int dir = cachedir_open(in_folder("full"), true);

    (void)state;
    assert_true(cachedir_write(dir, "a.symbols", page, sizeof(page)));
    assert_true(cachedir_write(dir, "b.symbols", page, sizeof(page)));
    assert_true(cachedir_write(dir, "c.symbols", page, sizeof(page)));
    write_file("full/not ours", "text");
    write_file("full/d.symbols.12.new", "just begun");
    write_file("full/e.symbols.13.new", "abandoned");
    set_age("full/a.symbols", 7200);
    set_age("full/b.symbols", 9000);
    set_age("full/c.symbols", 8000);
    set_age("full/e.symbols.13.new", 4000);
    // Used now, and its use noted.
    size_t size;
    void *p = cachedir_map(dir, "b.symbols", &size);
    assert_non_null(p);
    munmap(p, size);
    struct stat st;
    assert_int_equal(stat(in_folder("full/a.symbols"), &st), 0);
    uint64_t each = (uint64_t)st.st_blocks * 512;
    cachedir_prune(dir, CACHEDIR_SUFFIX, 3 * each);
    assert_true(exists("full/a.symbols") && exists("full/b.symbols") && exists("full/c.symbols"));
    assert_true(exists("full/d.symbols.12.new") && !exists("full/e.symbols.13.new"));
    cachedir_prune(dir, CACHEDIR_SUFFIX, 3 * each - 1);
    assert_true(exists("full/a.symbols") && exists("full/b.symbols") && !exists("full/c.symbols"));
    cachedir_prune(dir, CACHEDIR_SUFFIX, each);
    assert_true(!exists("full/a.symbols") && exists("full/b.symbols"));
    cachedir_prune(dir, CACHEDIR_SUFFIX, 0);
    assert_false(exists("full/b.symbols"));
    assert_true(exists("full/not ours"));
    close(dir);
}

// Translations are in the same folder: each kind of file has its own limit.
static void test_pruning_translations(void **state)
{
    static char page[4096];
    int dir = cachedir_open(in_folder("both"), true);

    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "a.code", "b.code", "c.symbols" };

        assert_true(cachedir_write(dir, names[i], page, sizeof(page)));
    }
    write_file("both/d.code.12.new", "just begun");
    write_file("both/e.code.13.new", "abandoned");
    write_file("both/f.symbols.14.new", "abandoned, but by another");
    write_file("both/g.code.c", "not ours");
    set_age("both/a.code", 7200);
    set_age("both/b.code", 7100);
    set_age("both/c.symbols", 9000);
    set_age("both/d.code.12.new", 3000);
    set_age("both/e.code.13.new", 4000);
    set_age("both/f.symbols.14.new", 4000);
    set_age("both/g.code.c", 9000);
    struct stat st;
    assert_int_equal(stat(in_folder("both/a.code"), &st), 0);
    cachedir_prune(dir, CACHEDIR_TRANSLATIONS, (uint64_t)st.st_blocks * 512);
    assert_true(!exists("both/a.code") && exists("both/b.code"));
    assert_true(exists("both/d.code.12.new") && !exists("both/e.code.13.new"));
    cachedir_prune(dir, CACHEDIR_TRANSLATIONS, 0);
    assert_false(exists("both/b.code"));
    assert_true(exists("both/c.symbols") && exists("both/f.symbols.14.new"));
    assert_true(exists("both/g.code.c"));
    // The reverse.
    assert_true(cachedir_write(dir, "a.code", page, sizeof(page)));
    set_age("both/a.code", 9000);
    cachedir_prune(dir, CACHEDIR_SUFFIX, 0);
    assert_true(!exists("both/c.symbols") && !exists("both/f.symbols.14.new"));
    assert_true(exists("both/a.code") && exists("both/d.code.12.new"));
    close(dir);
}

// A full disk: the old content stays, nothing is left beside it.
static void test_write_fails(void **state)
{
    int dir = open("/proc/self", O_RDONLY | O_DIRECTORY);

    (void)state;
    assert_true(dir >= 0);
    assert_false(cachedir_write(dir, "x.symbols", "text", 4));
    close(dir);
    dir = cachedir_open(in_folder("taken"), true);
    assert_int_equal(mkdir(in_folder("taken/x.symbols"), 0700), 0);
    assert_false(cachedir_write(dir, "x.symbols", "text", 4));
    assert_int_equal(rmdir(in_folder("taken/x.symbols")), 0);
    assert_int_equal(rmdir(in_folder("taken")), 0); // empty
    close(dir);
}

// ---- Which module ----

static bool identify(struct identity *out, const char *name)
{
    int fd = open(in_folder(name), O_RDONLY);
    struct stat st;

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    bool ok = identity_of_file(out, in_folder(name), fd, &st);
    close(fd);
    return ok;
}

static bool same_identity(const struct identity *a, const struct identity *b)
{
    return identity_size(a) == identity_size(b) && memcmp(a, b, identity_size(a)) == 0;
}

static void build(const char *flags)
{
    char command[4400];

    write_file("m.c", "int main(void) { return 0; }\n");
    snprintf(command, sizeof(command), "cd '%s' && gcc -g %s -o m m.c", folder, flags);
    assert_int_equal(system(command), 0);
}

static void test_identity(void **state)
{
    static struct identity a, b;
    char x[33], y[33], command[4400];

    (void)state;
    build("-Wl,--build-id=0x0102030405");
    assert_true(identify(&a, "m"));
    assert_int_equal(a.id_size, 5);
    assert_memory_equal(a.id, "\1\2\3\4\5", 5);
    assert_int_equal(a.ino, 0);
    identity_name(&a, x);
    assert_int_equal(strspn(x, "0123456789abcdef"), 32);
    assert_true(identify(&b, "m"));
    assert_true(same_identity(&a, &b));
    // Another file with the same build-id, or another name.
    set_age("m", 100);
    assert_true(identify(&b, "m"));
    assert_false(same_identity(&a, &b));
    identity_name(&b, y);
    assert_string_equal(x, y);
    snprintf(command, sizeof(command), "cd '%s' && cp -p m n && strip -g m && touch -r n m",
             folder);
    assert_true(identify(&a, "m"));
    assert_int_equal(system(command), 0);
    assert_true(identify(&b, "m"));
    assert_true(a.headers != b.headers && a.mtime == b.mtime);
    assert_true(identify(&b, "n"));
    assert_false(same_identity(&a, &b));
    identity_name(&b, y);
    assert_string_not_equal(x, y);
    a.option = 1;
    identity_name(&a, y);
    assert_string_not_equal(x, y);
    a.option = 0;
    identity_name(&a, y);
    assert_string_equal(x, y);
    a.maker = 1;
    identity_name(&a, y);
    assert_string_not_equal(x, y);
    // Without one the file itself counts.
    build("-Wl,--build-id=none");
    assert_true(identify(&a, "m"));
    assert_int_equal(a.id_size, 0);
    struct stat st;
    assert_int_equal(stat(in_folder("m"), &st), 0);
    assert_true(a.ino == st.st_ino && a.dev == st.st_dev);
    // Written again in place, with its size and its time: only the last change of status tells.
    snprintf(command, sizeof(command),
             "cd '%s' && cp -p m n && sleep 0.05 && cat n > m && touch -r n m", folder);
    assert_int_equal(system(command), 0);
    assert_true(identify(&b, "m"));
    assert_true(a.headers == b.headers && a.size == b.size && a.mtime == b.mtime);
    assert_true(a.ino == b.ino && a.ctime < b.ctime);
    assert_false(same_identity(&a, &b));
    identity_name(&a, x);
    identity_name(&b, y);
    assert_string_equal(x, y); // it replaces the other
}

static void test_no_identity(void **state)
{
    static struct identity a;
    static unsigned char whole[65536];

    (void)state;
    write_file("text", "text");
    assert_false(identify(&a, "text"));
    build("-Wl,--build-id=sha1");
    FILE *f = fopen(in_folder("m"), "r");
    size_t size = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    assert_true(size > 4096 && size < sizeof(whole));
    // A name of 4095 characters fits, one of 4096 does not; a folder and a pipe have no identity.
    static char name[sizeof(a.path) + 1];
    struct stat st;
    int fd = open(in_folder("m"), O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    memset(name, 'x', sizeof(a.path));
    assert_false(identity_of_file(&a, name, fd, &st));
    assert_int_equal(a.path[0], 0);
    name[sizeof(a.path) - 1] = 0;
    assert_true(identity_of_file(&a, name, fd, &st));
    assert_string_equal(a.path, name);
    st.st_mode = (st.st_mode & ~(mode_t)S_IFMT) | S_IFIFO;
    assert_false(identity_of_file(&a, "m", fd, &st));
    st.st_mode = (st.st_mode & ~(mode_t)S_IFMT) | S_IFDIR;
    assert_false(identity_of_file(&a, "m", fd, &st));
    close(fd);
    // Truncated: its section headers are at the end.
    f = fopen(in_folder("cut"), "w");
    fwrite(whole, 1, size - 1, f);
    fclose(f);
    assert_false(identify(&a, "cut"));
    // Invalid notes: any answer will do, but no reading outside (AddressSanitizer).
    uint32_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        unsigned char changed[1024];

        memcpy(changed, whole, sizeof(changed));
        for (int i = 0; i < 4; i++) {
            seed = seed * 1664525 + 1013904223;
            changed[18 + (seed >> 8) % 1000] = (unsigned char)(seed >> 24);
        }
        f = fopen(in_folder("changed"), "w");
        fwrite(changed, 1, sizeof(changed), f);
        fwrite(whole + sizeof(changed), 1, size - sizeof(changed), f);
        fclose(f);
        identify(&a, "changed");
        assert_true(a.id_size <= sizeof(a.id));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_file),
        cmocka_unit_test(test_many_pages),
        cmocka_unit_test(test_damage_is_remembered),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_text_without_end),
        cmocka_unit_test(test_highest_base),
        cmocka_unit_test(test_folder_is_made),
        cmocka_unit_test(test_folder_that_others_may_change),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_pruning),
        cmocka_unit_test(test_pruning_translations),
        cmocka_unit_test(test_write_fails),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_no_identity),
    };

    return cmocka_run_group_tests_name("cache", tests, make_folder, remove_folder);
}
