// SPDX-License-Identifier: MIT
// engine/process/elf.c: how the first line of a script is split (the rules are those of
// fs/binfmt_script.c, Linux 6.18; tests/native compares with the kernel itself), and what an ELF
// file must have to be loaded. Mapping is tested by tests/native.
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/process/elf.h"

static struct elf_file file;
static struct elf_script script;

static enum elf_kind examine(const void *bytes, size_t n)
{
    int fd = memfd_create("test", 0);

    assert_int_equal(write(fd, bytes, n), n);
    elf_examine(&file, fd);
    close(fd);
    return file.kind;
}

struct line {
    const char *text, *interp, *argument; // interp NULL: ENOEXEC
};

static void script_lines(void **state)
{
    static const struct line lines[] = {
        { "#!/bin/sh\n", "/bin/sh", NULL },
        { "#!/bin/sh", "/bin/sh", NULL },
        { "#! /bin/sh\n", "/bin/sh", NULL },
        { "#!\t /bin/sh \t\n", "/bin/sh", NULL },
        { "#!/bin/sh -e\n", "/bin/sh", "-e" },
        { "#!/bin/sh  -e  x \n", "/bin/sh", "-e  x" },
        { "#!/bin/sh\t-e\tx", "/bin/sh", "-e\tx" },
        { "#!/bin/sh\r\n", "/bin/sh\r", NULL },
        { "#!\n", NULL, NULL },
        { "#!", NULL, NULL },
        { "#! \t \n", NULL, NULL },
        { "#!\n/bin/sh\n", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(examine(lines[i].text, strlen(lines[i].text)), ELF_SCRIPT);
        bool good = elf_script_parse(&file, &script);
        assert_int_equal(good, lines[i].interp != NULL);
        if (!good)
            continue;
        assert_string_equal(script.interp, lines[i].interp);
        assert_int_equal(script.has_argument, lines[i].argument != NULL);
        if (lines[i].argument)
            assert_string_equal(script.argument, lines[i].argument);
    }
}

// The kernel looks at 256 bytes. A name that may go on behind them is no name; an argument is cut
// there.
static void script_limits(void **state)
{
    char text[400];

    (void)state;
    for (int len = 250; len <= 256; len++) {
        memset(text, 'a', sizeof(text));
        memcpy(text, "#!", 2);
        text[len] = '\n'; // the name has len - 2 characters
        assert_int_equal(examine(text, sizeof(text)), ELF_SCRIPT);
        assert_int_equal(elf_script_parse(&file, &script), len <= 255);
        if (len <= 255)
            assert_int_equal(strlen(script.interp), len - 2);
    }
    memset(text, 'a', sizeof(text));
    memcpy(text, "#!/x ", 5);
    assert_int_equal(examine(text, sizeof(text)), ELF_SCRIPT);
    assert_true(elf_script_parse(&file, &script));
    assert_string_equal(script.interp, "/x");
    assert_int_equal(strlen(script.argument), 251);
}

static struct {
    Elf64_Ehdr h;
    Elf64_Phdr p[3];
    char rest[3808];
} image;

// One page of code, one of data with bss, an interpreter: loadable as it is.
static void fresh(void)
{
    memset(&image, 0, sizeof(image));
    memcpy(image.h.e_ident, "\177ELF\2\1\1", 7);
    image.h.e_type = ET_DYN;
    image.h.e_machine = EM_X86_64;
    image.h.e_entry = 0x123;
    image.h.e_phoff = sizeof(image.h);
    image.h.e_phentsize = sizeof(Elf64_Phdr);
    image.h.e_phnum = 3;
    image.p[0] = (Elf64_Phdr){ PT_LOAD, PF_R | PF_X, 0, 0, 0, 0x800, 0x800, 0x1000 };
    image.p[1] = (Elf64_Phdr){ PT_LOAD, PF_R | PF_W, 0x800, 0x5800, 0, 0x100, 0x3000, 0x200000 };
    image.p[2] = (Elf64_Phdr){ PT_INTERP, PF_R, 0x400, 0x400, 0, 6, 6, 1 };
    memcpy((char *)&image + 0x400, "/ld.so", 6);
    image.p[2].p_filesz = 7; // with its NUL
}

static void unreadable(void **state)
{
    (void)state;
    elf_examine(&file, -1);
    assert_int_equal(file.kind, ELF_OTHER);
    assert_string_equal(file.why, "it cannot be read");
}

static void elf_good(void **state)
{
    (void)state;
    fresh();
    assert_int_equal(examine(&image, sizeof(image)), ELF_LOADABLE);
    assert_true(file.dynamic);
    assert_true(file.has_interp);
    assert_string_equal(file.interp, "/ld.so");
    assert_int_equal(file.low, 0);
    assert_int_equal(file.high, 0x9000); // 0x5800 + 0x3000, rounded up
    assert_int_equal(file.align, 0x200000);
    assert_int_equal(file.entry, 0x123);
    assert_false(file.exec_stack);
    assert_null(file.why);

    image.p[2] = (Elf64_Phdr){ PT_GNU_STACK, PF_R | PF_W | PF_X, 0, 0, 0, 0, 0, 16 };
    image.h.e_type = ET_EXEC;
    assert_int_equal(examine(&image, sizeof(image)), ELF_LOADABLE);
    assert_true(file.exec_stack);
    assert_false(file.has_interp);
    assert_false(file.dynamic);
}

#define SPOILED(kind, field, value)                             \
    do {                                                        \
        fresh();                                                \
        image.field = (value);                                  \
        assert_int_equal(examine(&image, sizeof(image)), kind); \
        assert_non_null(file.why);                              \
    } while (0)

static void elf_bad(void **state)
{
    (void)state;
    SPOILED(ELF_OTHER, h.e_ident[0], 0);
    SPOILED(ELF_FOREIGN, h.e_ident[4], 1);
    SPOILED(ELF_FOREIGN, h.e_machine, EM_AARCH64);
    SPOILED(ELF_BROKEN, h.e_type, ET_REL);
    SPOILED(ELF_BROKEN, h.e_type, ET_CORE);
    SPOILED(ELF_BROKEN, h.e_phentsize, 32);
    SPOILED(ELF_BROKEN, h.e_phnum, 0);
    SPOILED(ELF_BROKEN, h.e_phnum, 0xffff);
    SPOILED(ELF_BROKEN, h.e_phoff, 4090);
    SPOILED(ELF_BROKEN, h.e_phoff, ~0ul);
    SPOILED(ELF_BROKEN, p[0].p_filesz, 0x801);   // more than in memory
    SPOILED(ELF_BROKEN, p[1].p_offset, 0x801);   // not congruent
    SPOILED(ELF_BROKEN, p[1].p_offset, 0x10800); // behind the end
    SPOILED(ELF_BROKEN, p[1].p_vaddr, 0xffffffffffff5800);
    SPOILED(ELF_BROKEN, p[1].p_memsz, ~0ul);
    SPOILED(ELF_BROKEN, p[2].p_filesz, 1);
    SPOILED(ELF_BROKEN, p[2].p_filesz, 6); // no NUL
    SPOILED(ELF_BROKEN, p[2].p_filesz, 5000);
    SPOILED(ELF_BROKEN, p[2].p_offset, 5000);
    fresh();
    image.p[0].p_type = image.p[1].p_type = PT_NULL;
    assert_int_equal(examine(&image, sizeof(image)), ELF_BROKEN);
    assert_int_equal(examine("", 0), ELF_OTHER);
    assert_int_equal(examine("hello\n", 6), ELF_OTHER);
    fresh();
    for (size_t n = 4; n < sizeof(image.h) + sizeof(image.p); n++)
        assert_int_not_equal(examine(&image, n), ELF_LOADABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(script_lines), cmocka_unit_test(script_limits),
        cmocka_unit_test(unreadable),   cmocka_unit_test(elf_good),
        cmocka_unit_test(elf_bad),
    };

    return cmocka_run_group_tests_name("engine/process/elf.c", tests, NULL, NULL);
}
