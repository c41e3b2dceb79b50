// SPDX-License-Identifier: MIT
//
// finish/places/places.c: which modules are opened for the maps of a spool, and which addresses are
// asked for. The debug information and generated names are the test's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/terminal/progress.h"
#include "finish/places/places.h"
#include "finish/places/places_generated.h"
#include "symbols/jitdump.h"
#include "symbols/perfmap.h"

static char text[512]; // what was done, in words
static char messages[512];
static bool learned;
static bool (*is_same)(void *ctx, struct symbols_module *m);
static void *is_same_ctx;
static void (*remark)(void *ctx, const char *sentence);
static void *remark_ctx;
static unsigned char code[64];
static char generated; // stands for names of generated code

static void say(const char *word, const char *object)
{
    sprintf(text + strlen(text), "%s%s%s ", word, object ? " " : "", object ? object : "");
}

// ---- Stand-ins ----

struct symbols *symbols_new(const struct symbols_options *o)
{
    say("new", o->cache);
    remark = o->remark;
    remark_ctx = o->ctx;
    return (struct symbols *)text;
}

void symbols_free(struct symbols *s)
{
    (void)s;
    say("free", NULL);
}

struct symbols_module *symbols_file(struct symbols *s, const struct symbols_file *f)
{
    char start[32];

    (void)s;
    snprintf(start, sizeof(start), "%s,%d", f->path, (int)f->run_start);
    say("file", start);
    is_same = f->is_same;
    is_same_ctx = f->ctx;
    return (struct symbols_module *)(uintptr_t)f->path;
}

struct symbols_module *symbols_image(struct symbols *s, const char *name, const void *image,
                                     size_t size)
{
    (void)s, (void)image, (void)size;
    say("image", name);
    return (struct symbols_module *)messages;
}

// The last 256 bytes of a file are in no segment.
uint64_t symbols_address(struct symbols_module *m, uint64_t file_offset)
{
    (void)m;
    return file_offset >= 0xf00 ? UINT64_MAX : file_offset + 0x10000;
}

uint64_t symbols_find_range(struct symbols_module *m, uint64_t address, struct symbols_place *out)
{
    (void)m;
    out->line = (uint32_t)address;
    return 4;
}

const struct symbols_body *symbols_body(struct symbols_module *m, uint64_t address)
{
    (void)m, (void)address;
    return (const struct symbols_body *)code;
}

bool symbols_code(const struct symbols_module *m, uint64_t file_offset, void *to, size_t size)
{
    (void)m;
    if (file_offset + size > sizeof(code))
        return false;
    memcpy(to, code + file_offset, size);
    return true;
}

uint32_t symbols_number(struct symbols *s, const char *name, size_t len)
{
    (void)s, (void)name;
    return (uint32_t)len;
}

void symbols_save(struct symbols *s)
{
    (void)s;
    say("save", NULL);
}

bool symbols_have_learned(const struct symbols *s)
{
    (void)s;
    return learned;
}

// Generated code at 0xa100 to 0xa1ff has a name of 5 letters.
const char *perfmap_find(struct perfmap *m, uint64_t addr, size_t *len)
{
    (void)m;
    *len = 5;
    return addr >> 8 == 0xa1 ? "named" : NULL;
}

void perfmap_free(struct perfmap *m)
{
    (void)m;
}

struct perfmap *places_generated(const struct spool_file *s)
{
    (void)s;
    return (struct perfmap *)(void *)&generated;
}

bool jitdump_is_name(const char *path)
{
    return strstr(path, ".dump") != NULL;
}

void progress_begin(const char *fmt, ...)
{
    (void)fmt;
}

const char *spool_file_text(const struct spool_file *s, uint32_t offset)
{
    return offset ? s->text + offset : NULL;
}

uint64_t spool_file_held(const struct spool_file *s, uint64_t map, uint64_t *size)
{
    (void)s, (void)map, (void)size;
    return 0;
}

// ---- Spools ----

static const char names[] = "\0/a\0/b\0rel\0/x.dump";
enum { A = 1, B = 4, RELATIVE = 7, DUMP = 11 };

static struct spool_header header;
static struct spool_file spool;
static struct places places;

static void open_places(const struct spool_map *maps, uint64_t n, const char *cache)
{
    text[0] = '\0';
    spool = (struct spool_file){ .h = &header, .text = names, .maps = maps, .maps_used = n };
    places_open(&places, &spool, cache);
}

static void done(const char *expected)
{
    assert_string_equal(text, expected);
}

// Files with absolute names are opened; not those that were removed, generated code, jitdumps.
static void test_modules(void **state)
{
    const struct spool_map maps[] = {
        { .start = 0x1000, .end = 0x2000, .path = A },
        { .start = 0x2000, .end = 0x3000, .path = B, .flags = SPOOL_MAP_DELETED },
        { .start = 0x3000, .end = 0x4000, .path = B, .flags = SPOOL_MAP_ANON },
        { .start = 0x4000, .end = 0x5000, .path = RELATIVE },
        { .start = 0x5000, .end = 0x6000, .path = DUMP },
        { .start = 0x6000, .end = 0x7000 },
        { .start = 0x7000, .end = 0x8000, .path = B },
        { .start = 0x8000, .end = 0x9000, .flags = SPOOL_MAP_VDSO },
    };

    (void)state;
    header = (struct spool_header){ .start_time = 9 };
    open_places(maps, 8, NULL);
    done("new file /a,9 file /b,9 image [vdso] ");
    assert_ptr_equal(places_module(&places, "/b"), names + B);
    assert_ptr_equal(places_module(&places, "/a"), names + A);
    assert_null(places_module(&places, "rel"));
    assert_null(places_module(&places, NULL));
    places_close(&places, true);
    // The same again: nothing is forgotten. A child may run long after the start.
    header.flags = SPOOL_F_FORKED;
    open_places(maps, 1, NULL);
    done("file /a,0 ");
    header.flags = SPOOL_F_EXECED;
    places_close(&places, true);
    // With another cache, or without it, or with mangled names, all begins anew.
    open_places(maps, 1, "/c");
    done("free new /c file /a,0 ");
    places_close(&places, true);
    open_places(maps, 0, "/c");
    done("");
    places_close(&places, true);
    open_places(maps, 0, "/d");
    done("free new /d ");
    places_close(&places, true);
    open_places(maps, 0, NULL);
    done("free new ");
    places_close(&places, true);
    header.flags = SPOOL_F_NO_DEMANGLE;
    open_places(maps, 0, NULL);
    done("free new ");
    places_close(&places, true);
    done("free new save ");
    // What was not written is not saved, and forgotten; so is what was learned.
    open_places(maps, 0, NULL);
    places_close(&places, false);
    done("free ");
    open_places(maps, 0, NULL);
    learned = true;
    places_close(&places, true);
    learned = false;
    done("new save free ");
    // And what a remark was about.
    open_places(maps, 0, NULL);
    header.flags |= SPOOL_F_QUIET;
    remark(remark_ctx, "not printed");
    places_close(&places, true);
    done("new save free ");
}

// Addresses within a map are moved by one distance; one behind it says nothing about the others.
static void test_addresses(void **state)
{
    const struct spool_map maps[] = {
        { .start = 0x1000, .end = 0x2000, .offset = 0x200, .path = A },
        { .start = 0xa000, .end = 0xb000, .flags = SPOOL_MAP_ANON },
        { .start = 0xc000,
          .end = 0xd000,
          .flags = SPOOL_MAP_DELETED | SPOOL_MAP_LOST,
          .path = RELATIVE },
    };
    struct symbols_place at = { 0 };
    uint64_t addr;

    (void)state;
    header = (struct spool_header){ .flags = SPOOL_F_QUIET };
    open_places(maps, 3, NULL);
    assert_int_equal(places_find(&places, 0, 0x1010, &at), 0x10210);
    assert_int_equal(at.line, 0x10210);
    assert_true(places_is_same_row(&places, 0, 0x1013));
    assert_false(places_is_same_row(&places, 0, 0x1014));
    assert_false(places_is_same_row(&places, 1, 0x1013));
    assert_int_equal(places_find(&places, 0, 0x2000, &at), 0x11200); // the map is that of before
    assert_true(places_is_same_row(&places, 0, 0x2003));
    assert_ptr_equal(places_body(&places, 0, 0x1020, &addr), code);
    assert_int_equal(addr, 0x10220);
    // Generated code: named or not. The row of before is not that of this one.
    at = (struct symbols_place){ 0 };
    assert_int_equal(places_find(&places, 1, 0xa120, &at), 0xa120);
    assert_int_equal(at.function, 5);
    assert_false(places_is_same_row(&places, 1, 0xa120));
    at = (struct symbols_place){ 0 };
    assert_int_equal(places_find(&places, 1, 0xa220, &at), 0xa220);
    assert_int_equal(at.function, 0);
    assert_null(places_body(&places, 1, 0xa120, &addr));
    assert_false(places_is_unnamed(&places, 1, 0xa120));
    assert_true(places_is_unnamed(&places, 1, 0xa220));
    assert_false(places_is_unnamed(&places, 0, 0x1010));
    assert_false(places_is_unnamed(&places, 2, 0xc000)); // its file is lost
    assert_true(places.any_generated);
    // A first address outside of the map, whose module does not have it.
    assert_int_equal(places_find(&places, 0, 0x2000, &at), 0x2000);
    assert_int_equal(places_find(&places, 0, 0x1010, &at), 0x10210);
    places_close(&places, true);
    open_places(maps, 1, NULL);
    assert_false(places.any_generated);
    assert_null(places.generated);
    places_close(&places, true);
}

// A file that is lost is named once, whatever the number of its maps; another one after it.
static void test_lost(void **state)
{
    const struct spool_map maps[] = {
        { .path = A, .flags = SPOOL_MAP_LOST },
        { .path = A, .flags = SPOOL_MAP_LOST },
        { .path = B, .flags = SPOOL_MAP_LOST },
        { .flags = SPOOL_MAP_LOST },
    };
    int old = dup(STDERR_FILENO), fd = memfd_create("messages", 0);

    (void)state;
    header = (struct spool_header){ 0 };
    dup2(fd, STDERR_FILENO);
    open_places(maps, 4, NULL);
    dup2(old, STDERR_FILENO);
    close(old);
    memset(messages, 0, sizeof(messages));
    assert_true(pread(fd, messages, sizeof(messages) - 1, 0) > 0);
    close(fd);
    assert_string_equal(messages,
                        "quern: /a: had been removed before it was executed, and could not be "
                        "kept; its functions are shown as ???\n"
                        "quern: /b: had been removed before it was executed, and could not be "
                        "kept; its functions are shown as ???\n");
    text[0] = '\0';
    places_close(&places, true);
    done("save free "); // for the next spool it is new
}

// A file that changed is used if the code that was executed is in it: of all blocks of maps of that
// file with a hash.
static void test_same_code(void **state)
{
    const struct spool_map maps[] = {
        { .start = 0x1000, .end = 0x1020, .path = A, .ino = 1, .mtime = 2, .ctime = 3 },
        { .start = 0x1000, .end = 0x1020, .path = A, .ino = 1, .mtime = 2, .ctime = 4 },
    };
    static struct {
        struct spool_block block;
        struct spool_insn in[2];
    } b = { { .pc = 0x1008, .insns = 2 }, { { .len = 3 }, { .len = 1 } } };

    (void)state;
    header = (struct spool_header){ 0 };
    for (int i = 0; i < 64; i++)
        code[i] = (unsigned char)(i * 7);
    spool = (struct spool_file){ .h = &header,
                                 .text = names,
                                 .maps = maps,
                                 .maps_used = 2,
                                 .blocks = (const char *)&b,
                                 .blocks_used = sizeof(b) };
    places_open(&places, &spool, NULL);
    // The context is gone after the call, so the questions are asked of a copy: the last map's.
    struct {
        const struct spool_file *s;
        const struct spool_map *map;
    } of = { &spool, &maps[0] };

    b.block.hash = spool_code_hash(code + 8, 4, 2);
    assert_true(is_same(&of, NULL));
    b.block.hash++;
    assert_false(is_same(&of, NULL));
    of.map = &maps[1]; // no block of it
    assert_true(is_same(&of, NULL));
    of.map = &maps[0];
    b.block.map = 1;
    assert_true(is_same(&of, NULL));
    b.block.map = 2; // damaged
    assert_true(is_same(&of, NULL));
    b.block.map = 0;
    b.block.pc = 0x1020; // behind the map
    assert_true(is_same(&of, NULL));
    b.block.pc = 0x101f;
    assert_false(is_same(&of, NULL));
    b.block.pc = 0x0fff;
    assert_true(is_same(&of, NULL));
    b.block.pc = 0x1000;
    b.block.hash = spool_code_hash(code, 4, 2);
    assert_true(is_same(&of, NULL));
    code[3]++;
    assert_false(is_same(&of, NULL));
    b.block.hash = 0; // may be rewritten
    assert_true(is_same(&of, NULL));
    places_close(&places, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_same_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
