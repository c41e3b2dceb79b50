// SPDX-License-Identifier: MIT
// engine/process/elf.c: how the first line of a script is split (the rules are those of
// fs/binfmt_script.c, Linux 6.18; tests/native compares with the kernel itself), and what an ELF
// file must have to be loaded, and where it is mapped (tests/native maps real ones).
#include <elf.h>
#include <errno.h>
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

// The kernel reads 256 bytes. A name that may go on after them is refused; an argument is
// truncated.
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

// ---- Mapping ----

static char noted[256];

static void note(u64 start, u64 end, u32 prot, bool anon)
{
    char *at = noted + strlen(noted);

    snprintf(at, sizeof(noted) - (size_t)(at - noted), " %lx-%lx %u%s", start - 0x40000000,
             end - 0x40000000, prot, anon ? " anon" : "");
}

static int opened(void)
{
    int fd = memfd_create("test", 0);

    assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
    elf_examine(&file, fd);
    assert_int_equal(file.kind, ELF_LOADABLE);
    return fd;
}

// At 1 GiB, which is free: code in the first page, data of 0x100 bytes at 0x5800 and bss up to
// 0x8800. The program headers are at 0x40 of the file.
static void mapped(void **state)
{
    struct elf_image at;
    const char *why;

    (void)state;
    fresh();
    image.p[2].p_type = PT_NULL;
    memset((char *)&image + 0x900, 7, 16); // after the data, in its page of the file
    int fd = opened();
    noted[0] = 0;
    assert_int_equal(elf_map(&file, 0x40000000, &at, note, &why), 0);
    assert_null(why);
    // 5: to be read and executed, 3: to be read and written
    assert_string_equal(noted, " 0-1000 5 5000-6000 3 6000-9000 3 anon");
    assert_int_equal(at.bias, 0x40000000);
    assert_int_equal(at.entry, 0x40000123);
    assert_int_equal(at.low, 0x40000000);
    assert_int_equal(at.high, 0x40009000);
    assert_int_equal(at.phdr, 0x40000040);
    assert_int_equal(at.start_code, 0x40000000);
    assert_int_equal(at.end_code, 0x40000800);
    assert_int_equal(at.start_data, 0x40005800);
    assert_int_equal(at.end_data, 0x40005900);
    assert_int_equal(at.brk, 0x40008800);
    assert_memory_equal((void *)0x40000000, &image, sizeof(image));
    assert_int_equal(*(u64 *)0x40005900, 0); // cleared
    // The same hint again: it is taken, and another address is found, with the file's alignment.
    noted[0] = 0;
    assert_int_equal(elf_map(&file, 0x40000000, &at, note, &why), 0);
    assert_true(at.bias != 0x40000000);
    assert_int_equal(at.bias % 0x200000, 0);
    assert_memory_equal((void *)at.bias, &image, sizeof(image));
    munmap((void *)at.bias, 0x9000);
    munmap((void *)0x40000000, 0x9000);
    close(fd);
    // Headers in a segment that does not begin at the file's beginning.
    fresh();
    image.p[2].p_type = PT_NULL;
    image.h.e_phoff = 0x800;
    image.p[0].p_filesz = image.p[0].p_memsz = 0x400;
    image.p[1].p_filesz = 0x200;
    memcpy((char *)&image + 0x800, image.p, sizeof(image.p));
    fd = opened();
    assert_int_equal(elf_map(&file, 0x40000000, &at, note, &why), 0);
    assert_int_equal(at.phdr, 0x40005800);
    munmap((void *)0x40000000, 0x9000);
    close(fd);
}

// Files that cannot be mapped, with the reason: 64 TiB for a dynamic one, a taken address for a
// static one.
static void no_room(void **state)
{
    struct elf_image at;
    const char *why;

    (void)state;
    fresh();
    image.p[2].p_type = PT_NULL;
    image.p[1].p_memsz = 0x7fff00000000;
    int fd = opened();
    assert_int_equal(elf_map(&file, 0x40000000, &at, note, &why), -ENOMEM);
    assert_string_equal(why, "the address space has no free range of its size");
    close(fd);
    fresh();
    image.h.e_type = ET_EXEC;
    image.p[2].p_type = PT_NULL;
    image.p[0].p_vaddr = 0x40000000;
    image.p[1].p_vaddr = 0x40005800;
    fd = opened();
    void *taken = mmap((void *)0x40002000, 4096, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(taken, (void *)0x40002000);
    assert_int_equal(elf_map(&file, 0, &at, note, &why), -EEXIST);
    assert_string_equal(why, "the addresses that it is linked for are already mapped");
    munmap(taken, 4096);
    noted[0] = 0;
    assert_int_equal(elf_map(&file, 0, &at, note, &why), 0);
    assert_string_equal(noted, " 0-1000 5 5000-6000 3 6000-9000 3 anon");
    munmap((void *)0x40000000, 0x9000);
    close(fd);
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
    SPOILED(ELF_BROKEN, p[1].p_offset, 0x10800); // beyond the end
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
    assert_int_equal(examine("#/bin/sh\n", 9), ELF_OTHER); // half of what a script begins with
    assert_int_equal(examine("/!/bin/sh\n", 10), ELF_OTHER);
    fresh();
    for (size_t n = 4; n < sizeof(image.h) + sizeof(image.p); n++)
        assert_int_not_equal(examine(&image, n), ELF_LOADABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(script_lines), cmocka_unit_test(script_limits),
        cmocka_unit_test(unreadable),   cmocka_unit_test(elf_good),
        cmocka_unit_test(elf_bad),      cmocka_unit_test(mapped),
        cmocka_unit_test(no_room),
    };

    return cmocka_run_group_tests_name("engine/process/elf.c", tests, NULL, NULL);
}
