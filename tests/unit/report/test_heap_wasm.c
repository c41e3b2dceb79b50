// SPDX-License-Identifier: MIT
//
// The page's memory (report/core/heap_wasm.c), which is compiled into this program: where wasm32
// grows its memory, 64 KiB a page, it gets pages of a reserved region whose addresses are low
// enough to be page numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { FIRST = 0x2000, PAGES = 64 }; // by number: at 0x20000000

static size_t grown;

// The number of the first of so many new pages; SIZE_MAX: there are none.
static size_t grow(size_t pages)
{
    size_t old = FIRST + grown;

    if (pages > PAGES - grown)
        return SIZE_MAX;
    grown += pages;
    return old;
}

#define __builtin_wasm_memory_grow(memory, pages) grow(pages)
// outside of this program's pages
#define memcpy            page_memcpy
#define memmove           page_memmove
#define memset            page_memset
#define memcmp            page_memcmp
#define strlen            page_strlen
#define __stack_chk_guard page_stack_chk_guard
#define __stack_chk_fail  page_stack_chk_fail
#include "report/core/heap_wasm.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen

#define AT(page) ((char *)(uintptr_t)((FIRST + (page)) * (size_t)PAGE))

static int setup(void **state)
{
    (void)state;
    void *p = mmap(AT(0), PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); // zero anew
    grown = 0;
    memset(small, 0, sizeof(small));
    large = NULL;
    fresh = fresh_end = NULL;
    return p == AT(0) ? 0 : -1;
}

static bool zero(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (p[i])
            return false;
    return true;
}

// The smallest size class that holds a size and its header.
static void test_classes(void **state)
{
    static const size_t sizes[] = { 32,   48,   64,   96,    128,   192,   256,
                                    384,  512,  768,  1024,  1536,  2048,  3072,
                                    4096, 6144, 8192, 12288, 16384, 24576, 32768 };
    size_t n = 0;

    (void)state;
    for (size_t size = 17; size <= SMALL; size++) {
        if (size > sizes[n])
            n++;
        assert_int_equal(class_of(size), n);
        assert_int_equal(class_size(class_of(size)), sizes[n]);
    }
    assert_int_equal(n, sizeof(sizes) / sizeof(*sizes) - 1);
    assert_true(n < CLASSES);
}

// Cut from one page, consecutively, 16 bytes of header before each; a free one is used again,
// only for its own class, and is zeroed again.
static void test_small(void **state)
{
    char *a = heap_get(16), *b = heap_get(0), *c = heap_get(17), *d = heap_get(32);

    (void)state;
    assert_ptr_equal(a, AT(0) + 16);
    assert_ptr_equal(b, AT(0) + 32 + 16);
    assert_ptr_equal(c, AT(0) + 64 + 16);
    assert_ptr_equal(d, AT(0) + 112 + 16);
    assert_int_equal(grown, 1);
    memset(a, 7, 16);
    memset(c, 7, 32);
    heap_put(a);
    heap_put(c);
    heap_put(NULL);
    assert_ptr_equal(heap_get(1), a);
    assert_true(zero(a, 16));
    assert_ptr_equal(heap_get(1), AT(0) + 160 + 16); // a is taken, and c is too large
    assert_ptr_equal(heap_get(20), c);
    assert_true(zero(c, 32));
    heap_put(b);
    heap_put(a);
    assert_ptr_equal(heap_get(8), a); // the last that was freed
    assert_ptr_equal(heap_get(8), b);
}

// Two of 32 KiB fill a page; the remainder of one is too small: another page.
static void test_end_of_a_page(void **state)
{
    (void)state;
    assert_ptr_equal(heap_get(SMALL - 16), AT(0) + 16);
    assert_ptr_equal(heap_get(SMALL - 16), AT(0) + SMALL + 16);
    assert_int_equal(grown, 1);
    assert_ptr_equal(heap_get(1), AT(1) + 16);
    assert_int_equal(grown, 2);
    assert_ptr_equal(heap_get(SMALL - 16), AT(1) + 32 + 16);
    assert_ptr_equal(heap_get(SMALL - 16), AT(2) + 16);
    assert_int_equal(grown, 3);
}

static void test_large(void **state)
{
    char *a = heap_get(SMALL - 15), *b = heap_get(PAGE - 16), *c = heap_get(PAGE - 15);

    (void)state;
    assert_ptr_equal(a, AT(0) + 16);
    assert_ptr_equal(b, AT(1) + 16);
    assert_ptr_equal(c, AT(2) + 16);
    assert_int_equal(grown, 4);
    memset(c, 7, 2 * PAGE - 16);
    heap_put(c);
    // The first page of the two, and then the second.
    char *d = heap_get(PAGE - 16);
    assert_ptr_equal(d, c);
    assert_true(zero(d, PAGE - 16));
    assert_ptr_equal(heap_get(PAGE - 16), AT(3) + 16);
    assert_int_equal(grown, 4);
    assert_true(zero(AT(3) + 16, PAGE - 16));
    assert_ptr_equal(heap_get(PAGE - 16), AT(4) + 16);
}

// Free neighbours are merged, in any order of freeing.
static void test_joining(void **state)
{
    static const int order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                     { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

    for (int i = 0; i < 6; i++) {
        setup(state);
        char *page[5];
        for (int k = 0; k < 5; k++)
            page[k] = heap_get(PAGE - 16);
        // Also between one below and one above that are used: not merged with those.
        for (int k = 0; k < 3; k++)
            heap_put(page[order[i][k] + 1]);
        assert_ptr_equal(large, AT(1));
        assert_int_equal(large->size, 3 * PAGE);
        assert_null(large->next);
        assert_ptr_equal(heap_get(3 * PAGE - 16), page[1]);
        assert_null(large);
        assert_int_equal(grown, 5);
    }
}

// The lowest that is large enough is taken, and its remainder keeps its place in the list.
static void test_first_that_fits(void **state)
{
    char *page[7];

    (void)state;
    for (int k = 0; k < 7; k++)
        page[k] = heap_get(PAGE - 16);
    heap_put(page[5]);
    heap_put(page[0]);
    heap_put(page[3]);
    heap_put(page[2]); // free: 0, 2 and 3, 5
    assert_ptr_equal(heap_get(2 * PAGE - 16), page[2]);
    assert_ptr_equal(large, AT(0));
    assert_ptr_equal(large->next, AT(5));
    heap_put(page[2]); // two pages
    assert_ptr_equal(heap_get(PAGE - 16), page[0]);
    assert_ptr_equal(heap_get(PAGE - 16), page[2]);
    assert_ptr_equal(large, AT(3));
    assert_int_equal(large->size, PAGE);
    assert_ptr_equal(large->next, AT(5));
    assert_ptr_equal(heap_get(2 * PAGE - 16), AT(7) + 16);
    assert_int_equal(grown, 9);
}

static void test_growing_a_block(void **state)
{
    char *a = heap_more(NULL, 0, 16), *b;

    (void)state;
    strcpy(a, "kept by both");
    b = heap_more(a, 16, 100);
    assert_string_equal(b, "kept by both");
    assert_true(zero(b + 16, 84));
    assert_ptr_equal(heap_get(1), a); // it is free
    a = heap_more(b, 4, 2);
    assert_memory_equal(a, "ke\0", 3);
    assert_ptr_equal(heap_get(100), b);
}

static void test_no_memory(void **state)
{
    char *a = heap_get(16);

    (void)state;
    assert_null(heap_get(SIZE_MAX));
    assert_null(heap_get(SIZE_MAX - HEAD - PAGE + 1));
    assert_null(heap_get(PAGES * (size_t)PAGE)); // one page more than there are, with its head
    strcpy(a, "stays");
    assert_null(heap_more(a, 16, PAGES * (size_t)PAGE));
    assert_string_equal(a, "stays");
    assert_non_null(heap_get((PAGES - 1) * (size_t)PAGE - 16));
    assert_int_equal(grown, PAGES);
    assert_null(heap_get(SMALL - 15));
    assert_non_null(heap_get(SMALL - 16)); // fits the first page
    assert_null(heap_get(SMALL - 16));
}

static void test_what_the_compiler_calls(void **state)
{
    char text[16] = "abcdef";

    (void)state;
    assert_ptr_equal(page_memcpy(text + 6, text, 3), text + 6);
    assert_string_equal(text, "abcdefabc");
    assert_ptr_equal(page_memmove(text + 1, text, 4), text + 1);
    assert_string_equal(text, "aabcdfabc");
    assert_ptr_equal(page_memset(text + 2, 'x', 2), text + 2);
    assert_string_equal(text, "aaxxdfabc");
    assert_int_equal(page_strlen(text), 9);
    assert_int_equal(page_strlen(""), 0);
    assert_int_equal(page_memcmp("ab\x80", "ab\x7f", 3), 1);
    assert_int_equal(page_memcmp("ab\x7f", "ab\x80", 3), -1);
    assert_int_equal(page_memcmp("abx", "aby", 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test_setup(test_small, setup),
        cmocka_unit_test_setup(test_end_of_a_page, setup),
        cmocka_unit_test_setup(test_large, setup),
        cmocka_unit_test_setup(test_joining, setup),
        cmocka_unit_test_setup(test_first_that_fits, setup),
        cmocka_unit_test_setup(test_growing_a_block, setup),
        cmocka_unit_test_setup(test_no_memory, setup),
        cmocka_unit_test(test_what_the_compiler_calls),
    };

    return cmocka_run_group_tests_name("report: the page's memory", tests, NULL, NULL);
}
