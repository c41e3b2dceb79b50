// SPDX-License-Identifier: MIT
//
// jitdump files made here, byte by byte from perf's specification: names, functions that were moved
// or replaced, and truncated or wrong files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/jitdump.h"

struct bytes {
    unsigned char at[4096];
    size_t n;
};

static void put32(struct bytes *b, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        b->at[b->n++] = (unsigned char)(x >> (8 * i));
}

static void put64(struct bytes *b, uint64_t x)
{
    put32(b, (uint32_t)x);
    put32(b, (uint32_t)(x >> 32));
}

static void put_header(struct bytes *b, uint32_t magic, uint32_t version, uint32_t size)
{
    put32(b, magic);
    put32(b, version);
    put32(b, size);
    put32(b, 62);   // x86-64
    put32(b, 0);    // padding
    put32(b, 1234); // process
    put64(b, 0);    // time
    put64(b, 0);    // flags
}

static void put_prefix(struct bytes *b, uint32_t id, size_t size)
{
    put32(b, id);
    put32(b, (uint32_t)(16 + size));
    put64(b, 0);
}

static void put_load(struct bytes *b, uint64_t addr, uint64_t size, const char *name)
{
    put_prefix(b, 0, 40 + strlen(name) + 1 + 2);
    put32(b, 1234);
    put32(b, 1234);
    put64(b, addr);
    put64(b, addr);
    put64(b, size);
    put64(b, 7);
    memcpy(b->at + b->n, name, strlen(name) + 1);
    b->n += strlen(name) + 1;
    b->at[b->n++] = 0x90; // two bytes of code are enough
    b->at[b->n++] = 0xc3;
}

static void put_move(struct bytes *b, uint64_t from, uint64_t to, uint64_t size)
{
    put_prefix(b, 1, 48);
    put32(b, 1234);
    put32(b, 1234);
    put64(b, to);
    put64(b, from);
    put64(b, to);
    put64(b, size);
    put64(b, 7);
}

static struct bytes begin(void)
{
    struct bytes b = { .n = 0 };

    put_header(&b, 0x4a695444, 1, 40);
    return b;
}

static struct perfmap *map_of(struct bytes *b)
{
    struct perfmap *m = perfmap_new();
    FILE *f = fmemopen(b->at, b->n, "r");

    assert_non_null(m);
    assert_non_null(f);
    jitdump_read(m, f);
    fclose(f);
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

static void names(void **state)
{
    struct bytes b = begin();

    (void)state;
    put_load(&b, 0x1000, 0x10, "LazyCompile:~first /a b.js:1");
    put_prefix(&b, 2, 16); // lines for the next one: none
    put64(&b, 0x2000);
    put64(&b, 0);
    put_load(&b, 0x2000, 0x20, "second");
    put_prefix(&b, 3, 0); // the end record, which is optional
    struct perfmap *m = map_of(&b);
    expect(m, 0xfff, NULL);
    expect(m, 0x1000, "LazyCompile:~first /a b.js:1");
    expect(m, 0x100f, "LazyCompile:~first /a b.js:1");
    expect(m, 0x1010, NULL);
    expect(m, 0x201f, "second");
    expect(m, 0x2020, NULL);
    perfmap_free(m);
}

static void moved_and_replaced(void **state)
{
    struct bytes b = begin();

    (void)state;
    put_load(&b, 0x1000, 0x100, "old");
    put_load(&b, 0x3000, 0x40, "wanderer");
    put_move(&b, 0x3000, 0x1020, 0x40);
    put_move(&b, 0x5000, 0x1000, 0x40); // of nothing known
    put_load(&b, 0x3000, 0x10, "new");
    struct perfmap *m = map_of(&b);
    expect(m, 0x101f, "old");
    expect(m, 0x1020, "wanderer");
    expect(m, 0x105f, "wanderer");
    expect(m, 0x1060, "old");
    expect(m, 0x3000, "new");
    expect(m, 0x3010, "wanderer");
    perfmap_free(m);
}

// The header may grow in later versions, which its size field gives.
static void header(void **state)
{
    static const struct {
        uint32_t magic, version, size;
        int good;
    } form[] = {
        { 0x4a695444, 1, 40, 1 }, { 0x4a695444, 1, 48, 1 }, { 0x4454694a, 1, 40, 0 },
        { 0x4a695444, 2, 40, 0 }, { 0x4a695444, 1, 39, 0 }, { 0x4a695444, 1, UINT32_MAX, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(form) / sizeof(*form); i++) {
        struct bytes b = { .n = 0 };

        put_header(&b, form[i].magic, form[i].version, form[i].size);
        if (form[i].size == 48)
            put64(&b, 0);
        put_load(&b, 0x1000, 1, "f");
        struct perfmap *m = map_of(&b);
        expect(m, 0x1000, form[i].good ? "f" : NULL);
        perfmap_free(m);
    }
}

// Records before the damage count.
static void damaged(void **state)
{
    struct bytes b = begin();
    size_t good, end;

    (void)state;
    put_load(&b, 0x1000, 0x10, "good");
    put_load(&b, 0x0, 0x10, "nowhere");
    put_load(&b, 0x5000, 0, "empty");
    put_load(&b, UINT64_MAX, 0x10, "over");
    put_load(&b, 0x6000, 0x10, "");
    good = b.n;
    put_load(&b, 0x2000, 0x10, "cut");
    end = b.n;
    for (b.n = good; b.n < end; b.n++) {
        struct perfmap *m = map_of(&b);

        expect(m, 0x1000, "good");
        // it counts once its name is complete: two bytes of code follow it
        expect(m, 0x2000, b.n >= end - 2 ? "cut" : NULL);
        expect(m, 0x5000, NULL);
        expect(m, 0x6000, NULL);
        expect(m, UINT64_MAX, NULL);
        expect(m, 4, NULL);
        perfmap_free(m);
    }
    b.n = good;
    put_prefix(&b, 0, 44); // a name without an end
    for (int i = 0; i < 10; i++)
        put32(&b, 0x2000);
    put32(&b, 0x41414141);
    put_load(&b, 0x7000, 0x10, "behind");
    struct perfmap *m = map_of(&b);
    expect(m, 0x200000002000, NULL);
    expect(m, 0x7000, NULL);
    perfmap_free(m);
    b.n = good;
    put32(&b, 0);
    put32(&b, 15); // shorter than every record
    put64(&b, 0);
    m = map_of(&b);
    expect(m, 0x1000, "good");
    perfmap_free(m);
}

static void file_names(void **state)
{
    (void)state;
    assert_true(jitdump_is_name("/tmp/jit-17.dump"));
    assert_true(jitdump_is_name("jit-1.dump"));
    assert_false(jitdump_is_name("/tmp/jit-.dump"));
    assert_false(jitdump_is_name("/tmp/jit-17.dumps"));
    assert_false(jitdump_is_name("/tmp/jit-1a.dump"));
    assert_false(jitdump_is_name("/jit-17.dump/other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),   cmocka_unit_test(moved_and_replaced), cmocka_unit_test(header),
        cmocka_unit_test(damaged), cmocka_unit_test(file_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
