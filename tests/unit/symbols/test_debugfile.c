// SPDX-License-Identifier: MIT
//
// Where a debug file is searched by its build ID, of every length that makes a path: two bytes to
// 64. The program is made in memory; debugfile_open() itself reports the places. And the message on
// a missing file.
#include "tests/unit/symbols/elf_image.h"

#include <stdio.h>
#include <unistd.h>

#include "symbols/debugfile.h"
#include "symbols/symbols.h"

static char looked[4096];

static void look(void *ctx, const char *path)
{
    size_t n = strlen(looked);

    assert_ptr_equal(ctx, looked);
    snprintf(looked + n, sizeof(looked) - n, "%s%s", n ? " " : "", path);
}

// The places searched for a program with a build ID of so many bytes: 1, 2, 3, ...
static const char *places(size_t bytes)
{
    struct debugfile_watch w = { look, looked, false, NULL };
    uint32_t note[4 + 20] = { 4, (uint32_t)bytes, NT_GNU_BUILD_ID };
    unsigned char *id = (unsigned char *)(note + 4);
    struct elf_image image;

    memcpy(note + 3, "GNU", 4);
    for (size_t i = 0; i < bytes; i++)
        id[i] = (unsigned char)(i + 1);
    elf_image_init(&image);
    Elf64_Shdr *sh =
        elf_image_add(&image, ".note.gnu.build-id", SHT_NOTE, note, 16 + (bytes + 3) / 4 * 4);
    sh->sh_addralign = 4;
    Elf *elf = elf_image_open(&image);
    looked[0] = '\0';
    assert_int_equal(debugfile_open("/no/such/program", elf, &w), -1);
    elf_image_close(&image, elf);
    return looked;
}

static void test_build_id(void **state)
{
    (void)state;
    unsetenv("DEBUGINFOD_URLS");
    assert_string_equal(places(1), "");
    assert_string_equal(places(2), "/usr/lib/debug/.build-id/01/02.debug");
    assert_string_equal(places(3), "/usr/lib/debug/.build-id/01/0203.debug");
    const char *longest = places(64);
    assert_int_equal(strlen(longest), strlen("/usr/lib/debug/.build-id/01/.debug") + 63 * 2);
    assert_string_equal(longest + strlen(longest) - 8, "40.debug");
    assert_string_equal(places(65), "");
}

static char said[1024];

static void note(void *ctx, const char *sentence)
{
    (void)ctx;
    snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", sentence);
}

// A program whose debug information names a file shared with others. The remark that it is missing
// comes once, on the first query for data that may be in it; there is none without the section, nor
// without a query for inlined calls.
static void test_common_file_is_missing(void **state)
{
    static const char make[] =
        "cd %s && echo 'int main(void) { return 0; }' > m.c && "
        "gcc -g -o plain m.c && printf 'none\\0%%s' 01234567890123456789 > link && "
        "objcopy --add-section .gnu_debugaltlink=link plain linked";
    static const char *const names[] = { "plain", "linked" };
    char folder[] = "/tmp/quern-test-common.XXXXXX", command[512], path[64], expected[256];

    (void)state;
    unsetenv("DEBUGINFOD_URLS");
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof(command), make, folder);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 2; i++) {
        struct symbols_options o = { .remark = note };
        struct symbols *s = symbols_new(&o);
        struct symbols_file f = { .path = path };
        struct symbols_place at;
        struct symbols_frame frame;

        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        struct symbols_module *m = symbols_file(s, &f);
        said[0] = '\0';
        symbols_find(m, 0x1000, &at);
        assert_string_equal(said, "");
        for (int again = 0; again < 2; again++)
            symbols_inlined(m, 0x1000, &frame, 1);
        snprintf(expected, sizeof(expected),
                 "%s: the file that its debug information has in common with others "
                 "(.gnu_debugaltlink) is missing; names of inlined functions may be, too\n",
                 path);
        assert_string_equal(said, i == 0 ? "" : expected);
        symbols_free(s);
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_id),
        cmocka_unit_test(test_common_file_is_missing),
    };

    return cmocka_run_group_tests_name("symbols debug files", tests, NULL, NULL);
}
