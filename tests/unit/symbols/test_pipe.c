// SPDX-License-Identifier: MIT
//
// Pipes and devices in place of a module or its debug file: opening one would block forever, and an
// alarm ends the test.
#include "tests/unit/symbols/elf_image.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/debugfile.h"
#include "symbols/symbols.h"

static char folder[] = "/tmp/quern-test-pipe.XXXXXX";
static char pipe_name[64], program[64];
static char said[256];

static void note(void *ctx, const char *text)
{
    (void)ctx;
    snprintf(said, sizeof(said), "%s", text);
}

static int make_files(void **state)
{
    (void)state;
    unsetenv("DEBUGINFOD_URLS");
    assert_non_null(mkdtemp(folder));
    snprintf(pipe_name, sizeof(pipe_name), "%s/pipe", folder);
    snprintf(program, sizeof(program), "%s/program", folder);
    assert_int_equal(mkfifo(pipe_name, 0600), 0);
    FILE *f = fopen(program, "w");
    assert_non_null(f);
    fclose(f);
    alarm(60);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(pipe_name);
    unlink(program);
    return rmdir(folder);
}

static void test_debuglink(void **state)
{
    static const char link[12] = "pipe"; // and a checksum
    struct debugfile_watch w = { note, NULL, false, NULL };
    struct elf_image image;

    (void)state;
    elf_image_init(&image);
    elf_image_add(&image, ".gnu_debuglink", SHT_PROGBITS, link, sizeof(link));
    Elf *elf = elf_image_open(&image);
    assert_int_equal(debugfile_open(program, elf, &w), -1);
    elf_image_close(&image, elf);
    assert_string_equal(w.odd, pipe_name);
    free(w.odd);
    // It is searched in the program's folder first, last below /usr/lib/debug.
    assert_non_null(strstr(said, "/pipe"));
}

// Neither opened nor read, and a remark says what it is.
static void test_module(void **state)
{
    struct symbols_options o = { .remark = note };
    struct symbols *s = symbols_new(&o);
    const char *const paths[] = { pipe_name, "/dev/zero", folder };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        struct symbols_file f = { .path = paths[i] };
        struct symbols_place at = { 1, 1, 1 };

        said[0] = '\0';
        symbols_find(symbols_file(s, &f), 0x1000, &at);
        assert_int_equal(at.function, 0);
        assert_int_equal(at.file, 0);
        assert_int_equal(at.line, 0);
        assert_non_null(strstr(said, ": is no regular file; its functions are shown as ???"));
    }
    symbols_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_debuglink),
        cmocka_unit_test(test_module),
    };

    return cmocka_run_group_tests_name("symbols pipes", tests, make_files, remove_files);
}
