// SPDX-License-Identifier: MIT
//
// Sections by name, plain and compressed, and damaged ones.
#include "tests/unit/symbols/elf_image.h"

#include <zlib.h>
#include <zstd.h>

#include "symbols/section.h"

#ifndef ELFCOMPRESS_ZSTD
#    define ELFCOMPRESS_ZSTD 2
#endif

static const char text[] = "a section's text, again and again and again and again";

struct packed {
    Elf64_Chdr ch;
    unsigned char data[200];
};

// The text as a compressed section; `size` is what its header says. Returns the section's size.
static size_t pack(struct packed *p, uint32_t type, uint64_t size)
{
    uLongf n = sizeof(p->data);

    memset(p, 0, sizeof(*p));
    p->ch = (Elf64_Chdr){ .ch_type = type, .ch_size = size, .ch_addralign = 1 };
    if (type == ELFCOMPRESS_ZLIB)
        assert_int_equal(compress2(p->data, &n, (const Bytef *)text, sizeof(text), 9), Z_OK);
    else
        n = ZSTD_compress(p->data, sizeof(p->data), text, sizeof(text), 3);
    return sizeof(p->ch) + n;
}

// Whether a section with this content is found and gives the text.
static bool gets(const void *content, size_t size, uint64_t flags)
{
    struct elf_image image;
    struct section s;

    elf_image_init(&image);
    elf_image_add(&image, ".other", SHT_PROGBITS, "x", 1);
    Elf64_Shdr *sh = elf_image_add(&image, ".one", SHT_PROGBITS, content, size);
    sh->sh_flags = flags;
    sh->sh_addr = 0x1234;
    Elf *elf = elf_image_open(&image);
    bool got = section_get(elf, ".one", &s);
    if (got) {
        assert_int_equal(s.size, sizeof(text));
        assert_memory_equal(s.p, text, sizeof(text));
        assert_int_equal(s.addr, 0x1234);
        assert_int_equal(s.owned != NULL, flags != 0);
    } else {
        assert_null(s.p);
    }
    section_fini(&s);
    assert_null(s.p);
    elf_image_close(&image, elf);
    return got;
}

static void test_plain(void **state)
{
    struct elf_image image;
    struct section s;

    (void)state;
    assert_true(gets(text, sizeof(text), 0));
    elf_image_init(&image);
    elf_image_add(&image, ".nobits", SHT_NOBITS, NULL, 100);
    elf_image_add(&image, ".on", SHT_PROGBITS, "x", 1);
    Elf *elf = elf_image_open(&image);
    assert_false(section_exists(elf, ".nobits")); // no contents in this file
    assert_false(section_get(elf, ".nobits", &s));
    assert_false(section_exists(elf, ".one"));
    assert_true(section_exists(elf, ".on"));
    assert_false(section_get(elf, ".o", &s));
    elf_image_close(&image, elf);
}

static void test_compressed(void **state)
{
    static const uint32_t types[] = { ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD };
    struct packed p;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t n = pack(&p, types[i], sizeof(text));
        assert_true(gets(&p, n, SHF_COMPRESSED));
        // truncated; damaged in its middle
        assert_false(gets(&p, sizeof(p.ch) + 9, SHF_COMPRESSED));
        assert_false(gets(&p, sizeof(p.ch) + 1, SHF_COMPRESSED));
        assert_false(gets(&p, sizeof(p.ch) - 1, SHF_COMPRESSED));
        memset(p.data + 6, 0xff, 8);
        assert_false(gets(&p, n, SHF_COMPRESSED));
        // shorter or longer than its header says
        n = pack(&p, types[i], sizeof(text) - 1);
        assert_false(gets(&p, n, SHF_COMPRESSED));
        n = pack(&p, types[i], sizeof(text) + 1);
        assert_false(gets(&p, n, SHF_COMPRESSED));
        // larger than its bytes can expand to, so not allocated
        n = pack(&p, types[i], UINT64_C(1) << 36);
        assert_false(gets(&p, n, SHF_COMPRESSED));
        // larger than memory can be
        n = pack(&p, types[i], (UINT64_C(1) << 36) + 1);
        assert_false(gets(&p, n, SHF_COMPRESSED));
    }
    size_t n = pack(&p, ELFCOMPRESS_ZLIB, sizeof(text));
    p.ch.ch_type = 3; // an unknown type
    assert_false(gets(&p, n, SHF_COMPRESSED));
}

// A copy in which only the zstd sections change.
static void test_without_zstd(void **state)
{
    struct packed zstd, zlib, bad;
    size_t zstd_size = pack(&zstd, ELFCOMPRESS_ZSTD, sizeof(text));
    size_t zlib_size = pack(&zlib, ELFCOMPRESS_ZLIB, sizeof(text));
    size_t bad_size = pack(&bad, ELFCOMPRESS_ZSTD, sizeof(text) + 1);
    struct elf_image image;
    void *copy;
    struct section s;

    (void)state;
    elf_image_init(&image);
    elf_image_add(&image, ".zstd", SHT_PROGBITS, &zstd, zstd_size)->sh_flags = SHF_COMPRESSED;
    elf_image_add(&image, ".plain", SHT_PROGBITS, "plain", 5);
    elf_image_add(&image, ".zlib", SHT_PROGBITS, &zlib, zlib_size)->sh_flags = SHF_COMPRESSED;
    elf_image_add(&image, ".bad", SHT_PROGBITS, &bad, bad_size)->sh_flags = SHF_COMPRESSED;
    elf_image_add(&image, ".more", SHT_PROGBITS, &zstd, zstd_size)->sh_flags = SHF_COMPRESSED;
    Elf *elf = elf_image_open(&image), *other = section_without_zstd(elf, &copy);
    assert_non_null(other);
    static const char *const names[] = { ".zstd", ".more", ".zlib" };
    for (size_t i = 0; i < 3; i++) {
        assert_true(section_get(other, names[i], &s));
        assert_int_equal(s.size, sizeof(text));
        assert_memory_equal(s.p, text, sizeof(text));
        assert_int_equal(s.owned != NULL, i == 2); // zlib is unchanged
        section_fini(&s);
    }
    assert_true(section_get(other, ".plain", &s));
    assert_int_equal(s.size, 5);
    assert_memory_equal(s.p, "plain", 5);
    assert_false(section_exists(other, ".bad")); // has no contents
    elf_end(other);
    free(copy);
    elf_image_close(&image, elf);

    elf_image_init(&image);
    elf_image_add(&image, ".zlib", SHT_PROGBITS, &zlib, zlib_size)->sh_flags = SHF_COMPRESSED;
    elf_image_add(&image, ".zstd", SHT_PROGBITS, &zstd, zstd_size); // its flag is not set
    elf = elf_image_open(&image);
    assert_null(section_without_zstd(elf, &copy));
    assert_null(copy);
    elf_image_close(&image, elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_without_zstd),
    };
    return cmocka_run_group_tests_name("symbols sections", tests, NULL, NULL);
}
