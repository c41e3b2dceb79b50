// SPDX-License-Identifier: MIT
// engine/callgraph/functions.c: where the functions of a module start, from ELF files that the
// tests write. A module is one page of code at 0x500000; its functions are compared as text, each
// by its offset in that page, with `p` for a linkage table, `s` for one that is skipped, and its
// patterns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/functions.h"
#include "engine/callgraph/patterns.h"
#include "engine/codecache/vmmap.h"
#include "engine/spool/config.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

#define MAPS   ((struct spool_map *)(SPOOLER_BASE + SPOOL_MAPS_OFF))
#define START  0x500000ul // address of the page
#define LINKED 0x401000ul // its link-time address

// -- fakes of what functions.c calls --

static struct spool_header header;
struct spool_header *spool = &header;
struct tb_config tb_config;

enum { SIZE = 0x5000 };

static u8 image[SIZE]; // the file
static u32 map = ~0u;  // each test has a map of its own
static char file[] = "/tmp/quern-functions-XXXXXX";
static const char *debug; // a file of debug symbols; NULL: there is none
static char opened[256];  // names of other files that were opened
static char names[256];   // names passed to patterns_match()
static bool any_rules;
static u64 blocks; // pieces of the heap

// Each piece is followed by bytes that must not be read.
void *heap_alloc(u64 n)
{
    char *p = calloc(1, n + 8);

    assert_non_null(p);
    blocks++;
    strcpy(p + n, "beyond");
    return p;
}

void heap_free(void *p, u64 n)
{
    if (!p)
        return;
    assert_string_equal((char *)p + n, "beyond"); // it is freed with the size of its allocation
    blocks--;
    free(p);
}

void *heap_grown(void *old, u64 used, u64 more, u64 *capacity)
{
    void *p = old;

    if (used + more > *capacity) {
        p = heap_alloc(used + more);
        if (used)
            memcpy(p, old, used);
        heap_free(old, *capacity);
        *capacity = used + more;
    }
    return p;
}

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

bool vmmap_find(u64 addr, struct vmmap_info *out)
{
    (void)out;
    return addr < 0x600000;
}

u32 vmmap_spool_map(u64 addr)
{
    assert_true((addr >= START && addr < START + 0x1000) ||
                (addr >= (u64)image && addr < (u64)image + SIZE));
    return map;
}

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 1);
    return file;
}

int fds_open(const char *path, int flags, u32 mode)
{
    assert_int_equal(flags, O_RDONLY | O_CLOEXEC);
    if (strcmp(path, file) == 0)
        return (int)sys_open(path, flags, mode);
    strcat(opened, path);
    return debug ? (int)sys_open(debug, flags, mode) : -ENOENT;
}

bool patterns_any(void)
{
    return any_rules;
}

// Each name of one letter matches a pattern.
u64 patterns_match(const char *name)
{
    snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ", name);
    return name[0] >= 'a' && name[0] <= 'z' && !name[1] ? 1ul << (name[0] - 'a') : 0;
}

// -- an ELF file --

enum {
    NOTES = 0x200,
    HEADER = 0x300,
    FRAMES = 0x800,
    TEXT = 0x1000,
    SYMBOLS = 0x2000,
    STRINGS = 0x4000,
    SECTIONS = 0x4800
};
enum { FUNC = 2, OBJECT = 1, LABEL = 0, SECTION = 3, IFUNC = 10 };
enum { IN_TEXT = 1, IN_DATA = 2, IN_SYMTAB = 3, IN_STRTAB = 4 };

static u32 symbols, segments, sections, strings, frames;

static void word(u32 at, u64 value, u32 bytes)
{
    memcpy(image + at, &value, bytes);
}

static void segment(u32 type, u32 flags, u64 offset, u64 vaddr, u64 bytes)
{
    u32 at = 0x40 + 56 * segments++;

    word(at, type, 4);
    word(at + 4, flags, 4);
    word(at + 8, offset, 8);
    word(at + 16, vaddr, 8);
    word(at + 32, bytes, 8);
    word(56, segments, 2);
}

static u32 string(const char *s)
{
    u32 at = strings;

    strcpy((char *)image + STRINGS + at, s);
    strings += (u32)strlen(s) + 1;
    return at;
}

static void section(const char *name, u32 type, u64 flags, u64 addr, u64 offset, u64 bytes)
{
    u32 at = SECTIONS + 64 * sections++;

    word(at, string(name), 4);
    word(at + 4, type, 4);
    word(at + 8, flags, 8);
    word(at + 16, addr, 8);
    word(at + 24, offset, 8);
    word(at + 32, bytes, 8);
    word(at + 40, IN_STRTAB, 4);
    word(at + 56, type == 2 || type == 11 ? 24 : 0, 8);
    word(60, sections, 2);
}

// An empty module, whose first symbol is null, with sections for text, data, symbols and names.
static void begin(void)
{
    memset(image, 0, sizeof(image));
    symbols = segments = sections = strings = frames = 0;
    memcpy(image, "\177ELF\2\1", 6);
    word(32, 0x40, 8); // segments
    word(40, SECTIONS, 8);
    word(54, 56, 2);
    word(58, 64, 2);
    word(62, IN_STRTAB, 2);
    segment(1, 5, TEXT, LINKED, 0x1000);
    section("", 0, 0, 0, 0, 0);
    section(".text", 1, 6, LINKED, TEXT, 0x1000);
    section(".data", 1, 3, LINKED, TEXT, 0x1000);
    section(".symtab", 2, 0, 0, SYMBOLS, 24);
    section(".strtab", 3, 0, 0, STRINGS, 0x800);
    symbols = 1;
}

static void symbol(const char *name, u32 type, u32 in, u64 at, u64 bytes)
{
    u32 to = SYMBOLS + 24 * symbols++;

    word(to, *name ? string(name) : 0, 4);
    word(to + 4, type | 0x10, 1);
    word(to + 6, in, 2);
    word(to + 8, LINKED + at, 8);
    word(to + 16, bytes, 8);
    word(SECTIONS + 64 * IN_SYMTAB + 32, symbols * 24, 8);
}

static void label(u64 at)
{
    symbol("f", LABEL, IN_TEXT, at, 0);
}

static void function(u64 at, u64 bytes)
{
    symbol("f", FUNC, IN_TEXT, at, bytes);
}

// An entry of .eh_frame, and of the table that refers to it; the header is at 0x3f0000.
static void frame(u64 at, u32 bytes)
{
    u32 entry = frames * 16, place = 12 + frames * 8;

    word(FRAMES + entry + 8, LINKED + at - (0x3f0000 + FRAMES - HEADER + entry + 8), 4);
    word(FRAMES + entry + 12, bytes, 4);
    word(HEADER + place, LINKED + at - 0x3f0000, 4);
    word(HEADER + place + 4, FRAMES - HEADER + entry, 4);
    if (!frames++)
        segment(0x6474e550, 4, HEADER, 0x3f0000, 0x100);
    word(HEADER, 0x3b031b01, 4); // as every linker writes it
    word(HEADER + 8, frames, 4);
}

// The functions of the file's page of code; of a map of this kind.
static const char *told_of(u32 flags, bool same_file)
{
    static char text[1024];
    char *to = text;
    int fd = (int)sys_open(file, O_WRONLY | O_TRUNC, 0);
    struct k_stat st;

    assert_int_equal(sys_write(fd, image, SIZE), SIZE);
    sys_fstat(fd, &st);
    sys_close(fd);
    map++;
    MAPS[map] = (struct spool_map){ .start = START,
                                    .end = START + 0x1000,
                                    .offset = TEXT,
                                    .ino = st.st_ino + !same_file,
                                    .path = 1,
                                    .flags = flags };
    opened[0] = names[0] = text[0] = '\0';
    for (u64 at = START, end;; at = end) {
        struct function f = functions_at(at);

        assert_int_equal(f.map, map);
        end = f.end;
        to += sprintf(to, "%s%lx%s%s", at == START ? "" : " ", f.start - START, f.plt ? "p" : "",
                      f.skip ? "s" : "");
        if (f.rules)
            to += sprintf(to, "=%lx", f.rules);
        if (end == ~0ul)
            return text;
        assert_int_equal(functions_at(end - 1).start, f.start);
        assert_in_range(end, at + 1, START + 0xfff);
    }
}

static const char *told(void)
{
    return told_of(0, true);
}

static int setup(void **state)
{
    (void)state;
    memset(&header, 0, sizeof(header));
    memset(&tb_config, 0, sizeof(tb_config));
    functions_demangle = NULL;
    any_rules = false;
    debug = NULL;
    begin();
    return 0;
}

// -- tests --

static void test_nothing(void **state)
{
    struct function f = functions_at(0x600000);

    (void)state;
    assert_int_equal(f.map, ~0u);
    assert_int_equal(f.start, 0x600000);
    assert_int_equal(f.end, ~0ul);
    assert_string_equal(told(), "0");
    function(0x10, 0x20);
    assert_string_equal(told(), "0 10 30");
    // No file of that name; another file by now; an anonymous mapping; a deleted file.
    assert_string_equal(told_of(0, false), "0");
    assert_string_equal(told_of(SPOOL_MAP_ANON, true), "0");
    assert_string_equal(told_of(SPOOL_MAP_DELETED, true), "0");
    for (u32 i = 0; i < 6; i++) {
        image[i]++;
        assert_string_equal(told(), "0");
        image[i]--;
    }
    word(54, 55, 2); // segments of another size
    assert_string_equal(told(), "0");
    word(54, 56, 2);
    word(58, 63, 2); // sections of another size
    assert_string_equal(told(), "0");
    word(58, 64, 2);
    word(SECTIONS + 64 * IN_SYMTAB + 56, 23, 8); // symbols of another size
    assert_string_equal(told(), "0");
}

// Which symbols are functions, or labels in code.
static void test_symbols(void **state)
{
    (void)state;
    symbol("f", FUNC, IN_TEXT, 0x10, 0x10);
    symbol("f", IFUNC, IN_TEXT, 0x20, 0x10);
    symbol("f", OBJECT, IN_TEXT, 0x30, 0x10);
    symbol("f", LABEL, IN_TEXT, 0x50, 0x4); // its size does not count
    symbol("f", SECTION, IN_TEXT, 0x60, 0x10);
    symbol("", FUNC, IN_TEXT, 0x70, 0x10);
    symbol("f", FUNC, IN_DATA, 0x80, 0x10);
    symbol("f", FUNC, 0, 0x90, 0x10);
    symbol("f", FUNC, 0xfff1, 0xa0, 0x10);
    symbol("f", FUNC, IN_TEXT, -1ul, 0x10);
    symbol("f", FUNC, IN_TEXT, 0x1000, 0x10);
    assert_string_equal(told(), "0 10 20 30 40 50");
}

// A function ends where its symbol ends; labels within it belong to it.
static void test_extents(void **state)
{
    (void)state;
    function(0x10, 0x20);
    label(0x18);
    label(0x40);
    label(0x50);
    assert_string_equal(told(), "0 10 30 40 50");
    function(0x60, 0x20);
    function(0x68, 0x8); // within another one, which ends later
    label(0x70);
    label(0x80); // right after it
    function(0x90, 0);
    function(0x90, 0x8);
    function(0x90, 0x10);
    assert_string_equal(told(), "0 10 30 40 50 60 68 80 90 a0");
    function(0xff0, 0x100); // up to the end of the page and further
    assert_string_equal(told(), "0 10 30 40 50 60 68 80 90 a0 ff0");
}

// 170 symbols are read at a time: the 171st is the first of the next part.
static void test_many_symbols(void **state)
{
    (void)state;
    while (symbols < 169)
        symbol("f", FUNC, IN_DATA, 0, 1);
    function(0x10, 8); // 169
    function(0x20, 8);
    function(0x30, 8);
    assert_string_equal(told(), "0 10 18 20 28 30 38");
}

// The segment of the mapping is used; of two that share a page, the one with code.
static void test_segments(void **state)
{
    (void)state;
    function(0x10, 0x20);
    segments = 0;
    segment(1, 4, 0, LINKED - 0x1000, 0x1010);
    segment(1, 5, TEXT, LINKED, 0x1000);
    segment(1, 6, TEXT + 0xff0, LINKED + 0x3000, 0x1000);
    assert_string_equal(told(), "0 10 30");
    segments = 0;
    segment(1, 5, TEXT + 0x1000, LINKED, 0x1000); // after it
    assert_string_equal(told(), "0");
    segments = 0;
    segment(1, 5, 0, LINKED - 0x1000, 0x1000); // before it
    assert_string_equal(told(), "0");
    segments = 0;
    segment(1, 4, TEXT, LINKED, 0x1000); // no code, but there is no other
    assert_string_equal(told(), "0 10 30");
}

// Ranges of .eh_frame are functions where no symbol is, up to their ends.
static void test_frames(void **state)
{
    (void)state;
    frame(0x10, 0x10);
    frame(0x20, 0x8);
    frame(0x40, 0x10);
    assert_string_equal(told(), "0 10 20 28 40 50");
    function(0x40, 0x20);
    assert_string_equal(told(), "0 10 20 28 40 60");
    label(0x24); // one starts within a range: the rest belongs to it
    assert_string_equal(told(), "0 10 20 24 40 60");
}

// 512 entries of the table are read at a time: the 513th is the first of the next part. The entries
// that they refer to may be nearer to the end than the size of one read.
static void test_many_frames(void **state)
{
    enum { TABLE = 0x2000, LAST = SIZE - 16 };
    u32 at[] = { 0x10, 0x20, 0x30, 0x40 };

    (void)state;
    segment(0x6474e550, 4, TABLE, 0x3f0000, 0x100);
    word(TABLE, 0x3b031b01, 4);
    word(TABLE + 8, 600, 4);
    for (u32 i = 0; i < 600; i++) {
        word(TABLE + 12 + i * 8, LINKED + at[i < 511 ? 0 : i < 513 ? i - 510 : 3] - 0x3f0000, 4);
        word(TABLE + 12 + i * 8 + 4, FRAMES - TABLE, 4);
    }
    assert_string_equal(told(), "0 10 20 30 40");
    word(TABLE + 8, 2, 4);
    word(FRAMES + 8, LINKED + 0x10 - (0x3f0000 + FRAMES - TABLE + 8), 4);
    word(FRAMES + 12, 0x8, 4);
    word(TABLE + 20, LINKED + 0x20 - 0x3f0000, 4);
    word(TABLE + 24, LAST - TABLE, 4);
    word(LAST + 8, LINKED + 0x20 - (0x3f0000 + LAST - TABLE + 8), 4);
    word(LAST + 12, 0x18, 4);
    assert_string_equal(told(), "0 10 18 20 38");
}

// A table of another form is ignored; an entry of another form has no end.
static void test_other_frames(void **state)
{
    (void)state;
    frame(0x10, 0x10);
    frame(0x40, 0x10);
    word(FRAMES + 8, 0, 4);
    assert_string_equal(told(), "0 10 40 50");
    image[HEADER] = 2;
    assert_string_equal(told(), "0");
    image[HEADER] = 1;
    image[HEADER + 2] = 1;
    assert_string_equal(told(), "0");
}

static void test_plt(void **state)
{
    const u32 *start;
    u64 before;
    u32 n;

    function(0x10, 0x20);
    function(0x48, 0x4); // within a table: that is one function
    label(0x70);
    section(".plt", 1, 6, LINKED + 0x40, 0, 0x20);
    assert_string_equal(told(), "0 10 30 40p 60 70");
    start = functions_starts(map, &n);
    assert_true(n == 5 && start[0] == 0x10 && start[1] == 0x30 && start[2] == 0x80000040 &&
                start[3] == 0x60 && start[4] == 0x70);
    section(".plt.sec", 1, 6, LINKED + 0x60, 0, 0x8); // right after it
    assert_string_equal(told(), "0 10 30 40p 60p 68 70");
    section(".plt.got", 1, 2, LINKED + 0x80, 0, 0x8);   // no code
    section(".pla", 1, 6, LINKED + 0x80, 0, 0x8);       // no such name
    section(".plt", 1, 6, LINKED + 0x80, 0, 0);         // empty
    section(".plt", 1, 6, LINKED + 0x1000, 0, 0x10);    // elsewhere
    section(".plt.got", 1, 6, LINKED + 0xff0, 0, 0x10); // up to the end
    assert_string_equal(told(), "0 10 30 40p 60p 68 70 ff0p");
    tb_config.contexts = true;
    assert_string_equal(told(), "0 10 30 40s 60s 68 70 ff0s");
    header.flags = SPOOL_F_SHOW_PLT;
    assert_string_equal(told(), "0 10 30 48 4c 70");
    // The later one is first in the file.
    setup(state);
    function(0x10, 0x20);
    section(".plt.sec", 1, 6, LINKED + 0x60, 0, 0x8);
    section(".plt", 1, 6, LINKED + 0x40, 0, 0x20);
    before = blocks;
    assert_string_equal(told(), "0 10 30 40p 60p 68");
    assert_int_equal(blocks, before + 1); // its table
}

// Names of the files' functions are matched with patterns; all names at one place count for its
// function.
static void test_patterns(void **state)
{
    (void)state;
    symbol("b", FUNC, IN_TEXT, 0x40, 0x10);
    symbol("a", FUNC, IN_TEXT, 0x10, 0x10);
    symbol("c", FUNC, IN_TEXT, 0x40, 0x10);
    symbol("none", FUNC, IN_TEXT, 0x20, 0x10);
    assert_string_equal(told(), "0 10 20 30 40 50");
    assert_string_equal(names, "");
    any_rules = true;
    assert_string_equal(told(), "0 10=1 20 30 40=6 50");
    assert_string_equal(names, "b a c none ");
    symbol("d", FUNC, IN_TEXT, 0x1000, 0x10); // elsewhere
    assert_string_equal(told(), "0 10=1 20 30 40=6 50");
}

static char demangled[64];
static u32 demangled_bytes;
static char to_demangle[8192];
static u64 to_demangle_bytes;

static long demangle(const char *of, u64 bytes)
{
    long fd;

    memcpy(to_demangle, of, bytes);
    to_demangle_bytes = bytes;
    if (!demangled_bytes)
        return -ENOMEM;
    fd = sys_call2(SYS_memfd_create, (u64) "names", 0);
    sys_write((int)fd, demangled, demangled_bytes);
    return fd;
}

static int messages[2];

static const char *message(void)
{
    static char last[512];
    ssize_t n = sys_read(messages[0], last, sizeof(last) - 1);
    const char *behind_pid;

    last[n > 0 ? n : 0] = '\0';
    behind_pid = strchr(last, ' ');
    return behind_pid ? behind_pid + 1 : "";
}

// Mangled names of three languages are also matched as the profile shows them. A name may have no
// such form; missing answers at the end are not read.
static void test_demangled(void **state)
{
    char expected[256];

    (void)state;
    any_rules = true;
    functions_demangle = demangle;
    symbol("_Za", FUNC, IN_TEXT, 0x10, 0x10);
    symbol("_Xb", FUNC, IN_TEXT, 0x20, 0x10);
    symbol("_Rc", FUNC, IN_TEXT, 0x30, 0x10);
    symbol("_Dd", FUNC, IN_TEXT, 0x40, 0x10);
    symbol("_Ze", FUNC, IN_TEXT, 0x50, 0x10);
    memcpy(demangled, "a\0\0d", 5);
    demangled_bytes = 5;
    sys_close(0); // then 0 is the descriptor of the file, which is valid
    assert_string_equal(told(), "0 10=1 20 30 40=8 50 60");
    assert_int_equal(to_demangle_bytes, 16);
    assert_memory_equal(to_demangle, "_Za\0_Rc\0_Dd\0_Ze", 16);
    assert_string_equal(names, "_Za _Xb _Rc _Dd _Ze a d ");
    demangled_bytes = 4; // the last one has no NUL
    assert_string_equal(told(), "0 10=1 20 30 40 50 60");
    assert_string_equal(message(), "");
    demangled_bytes = 0;
    assert_string_equal(told(), "0 10 20 30 40 50 60");
    snprintf(expected, sizeof(expected),
             "warning: patterns of options are held against mangled names alone, in %s and perhaps "
             "others: error 12; warned once\n",
             file);
    assert_string_equal(message(), expected);
    told();
    assert_string_equal(message(), "");
    header.flags = SPOOL_F_NO_DEMANGLE;
    to_demangle_bytes = 0;
    told();
    assert_int_equal(to_demangle_bytes, 0);
}

// Names of more than 4 KiB: the old memory is freed when it grows.
static void test_many_names(void **state)
{
    static const char name[] = "_ZN5outer5innerIiEEvT_abcdefghijklmnopqrstuvwxyz";
    u64 before;

    (void)state;
    any_rules = true;
    functions_demangle = demangle;
    demangled_bytes = 0;
    symbol(name, FUNC, IN_TEXT, 0x10, 0x10);
    told();
    before = blocks;
    for (u32 i = 2; i <= 100; i++) {
        symbol("", FUNC, IN_TEXT, i * 0x10, 0x10);
        memcpy(image + SYMBOLS + 24 * i, image + SYMBOLS + 24, 4);
    }
    to_demangle_bytes = 0;
    told();
    message();
    assert_int_equal(to_demangle_bytes, 100 * sizeof(name));
    assert_memory_equal(to_demangle + 99 * sizeof(name), name, sizeof(name));
    assert_int_equal(blocks, before + 1); // its table
}

// A note, with the four bytes of "GNU" for its name.
static u32 note(u32 at, u32 type, u32 bytes)
{
    word(NOTES + at, 4, 4);
    word(NOTES + at + 4, bytes, 4);
    word(NOTES + at + 8, type, 4);
    memcpy(image + NOTES + at + 12, "GNU", 4);
    for (u32 i = 0; i < bytes; i++)
        image[NOTES + at + 16 + i] = (u8)(0x9b + i * 0x11);
    return at + 16 + ((bytes + 3) & ~3u);
}

#define ID "/usr/lib/debug/.build-id/9b/acbdcedff00112233445566778899aabbccdde.debug"

// The file of debug symbols is read if it exists and is needed.
static void test_stripped(void **state)
{
    char copy[] = "/tmp/quern-functions-debug-XXXXXX";
    u32 end;
    int fd;

    (void)state;
    function(0x10, 0x20);
    end = note(note(0, 1, 5), 3, 20);
    segment(4, 4, NOTES, 0, end);
    assert_string_equal(told(), "0 10 30");
    assert_string_equal(opened, ""); // there is a .symtab
    fd = mkstemp(copy);
    assert_int_equal(sys_write(fd, image, SIZE), SIZE);
    sys_close(fd);
    word(SECTIONS + 64 * IN_SYMTAB + 4, 11, 4); // .dynsym
    function(0x40, 0x8);
    assert_string_equal(told(), "0 10 30 40 48");
    assert_string_equal(opened, ID);
    word(SECTIONS + 64 * IN_SYMTAB + 32, 24, 8); // without symbols
    assert_string_equal(told(), "0");
    debug = copy;
    assert_string_equal(told(), "0 10 30");
    assert_string_equal(opened, ID);
    sys_unlink(copy);
}

// A note of another kind, or of which only the head is within the segment, names no file.
static void test_other_notes(void **state)
{
    u32 end = note(0, 3, 20);

    (void)state;
    word(SECTIONS + 64 * IN_SYMTAB + 4, 11, 4);
    segment(4, 4, NOTES, 0, end);
    told();
    assert_string_equal(opened, ID);
    segments--;
    segment(4, 4, NOTES, 0, 12);
    told();
    assert_string_equal(opened, "");
    segments--;
    segment(4, 4, NOTES, 0, end);
    word(NOTES + 4, 19, 4);
    told();
    assert_string_equal(opened, "");
    word(NOTES + 4, 20, 4);
    word(NOTES, 5, 4);
    told();
    assert_string_equal(opened, "");
    word(NOTES, 4, 4);
    word(NOTES + 8, 2, 4);
    told();
    assert_string_equal(opened, "");
}

// The vDSO has no file: it is read from memory.
static void test_vdso(void **state)
{
    struct function f;

    (void)state;
    segments = 0;
    segment(1, 5, 0, LINKED, SIZE);
    function(0x10, 0x20);
    map++;
    MAPS[map] = (struct spool_map){ .start = (u64)image, .flags = SPOOL_MAP_VDSO };
    MAPS[map].end = MAPS[map].start + SIZE;
    f = functions_at((u64)image + 0x18);
    assert_int_equal(f.start, (u64)image + 0x10);
    assert_int_equal(f.end, (u64)image + 0x30);
}

// The number of the next descriptor.
static int next_fd(void)
{
    int fd = (int)sys_open("/dev/null", O_RDONLY, 0);

    sys_close(fd);
    return fd;
}

// Tables are kept for any number of modules, and nothing else.
static void test_pcache(void **state)
{
    int fd;
    u64 before;

    (void)state;
    function(0x10, 0x20);
    told();
    fd = next_fd();
    told();
    assert_int_equal(next_fd(), fd); // the file is closed
    before = blocks;
    image[0] = 0;
    told();
    map--; // the one before
    assert_int_equal(functions_at(START + 0x10).start, START + 0x10);
    map = 200;
    image[0] = 0x7f;
    assert_string_equal(told(), "0 10 30");
    assert_int_equal(blocks, before + 1); // its table
    map = map - 200;
    functions_at(START);
    assert_int_equal(blocks, before + 1);
}

static int first(void **state)
{
    (void)state;
    if (sys_mmap((u64)MAPS, 16 * PAGE_SIZE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (long)MAPS)
        return -1;
    if (sys_call2(SYS_pipe2, (u64)messages, O_NONBLOCK))
        return -1;
    engine_log_fd = messages[1];
    return (int)sys_close(mkstemp(file));
}

static int last(void **state)
{
    (void)state;
    return (int)sys_unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, setup),
        cmocka_unit_test_setup(test_symbols, setup),
        cmocka_unit_test_setup(test_extents, setup),
        cmocka_unit_test_setup(test_many_symbols, setup),
        cmocka_unit_test_setup(test_segments, setup),
        cmocka_unit_test_setup(test_frames, setup),
        cmocka_unit_test_setup(test_many_frames, setup),
        cmocka_unit_test_setup(test_other_frames, setup),
        cmocka_unit_test_setup(test_plt, setup),
        cmocka_unit_test_setup(test_patterns, setup),
        cmocka_unit_test_setup(test_demangled, setup),
        cmocka_unit_test_setup(test_many_names, setup),
        cmocka_unit_test_setup(test_stripped, setup),
        cmocka_unit_test_setup(test_other_notes, setup),
        cmocka_unit_test_setup(test_vdso, setup),
        cmocka_unit_test_setup(test_pcache, setup),
    };

    return cmocka_run_group_tests_name("callgraph/functions", tests, first, last);
}
