// SPDX-License-Identifier: MIT
// engine/run/identity.c: what a program's number depends on, and what not. The engine is a page
// with an ELF header at ENGINE_BASE, where this program has no mapping.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/clientmem.h"
#include "engine/base/layout.h"
#include "engine/run/identity.h"

#define PT_LOAD 1
#define PT_NOTE 4

static u64 unreadable; // notes that begin there cannot be read

int clientmem_read(void *dst, u64 gaddr, u64 n)
{
    if (gaddr == unreadable)
        return -14;
    memcpy(dst, (const void *)gaddr, n);
    return 0;
}

static u8 *const engine = (u8 *)ENGINE_BASE;
static struct elf_phdr *const engine_phdr = (struct elf_phdr *)(ENGINE_BASE + 64);
static struct elf_file program;
static u8 memory[2][4096]; // of the program, with its notes at 0x200 and 0x800

static int begin(void **state)
{
    (void)state;
    return mmap(engine, PAGE_SIZE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != engine;
}

static int setup(void **state)
{
    const u64 phoff = 64;
    const u16 phnum = 2;

    (void)state;
    unreadable = 0;
    memset(engine, 0, PAGE_SIZE);
    memcpy(engine + 32, &phoff, sizeof(phoff)); // e_phoff
    memcpy(engine + 56, &phnum, sizeof(phnum)); // e_phnum
    engine_phdr[0] = (struct elf_phdr){ .type = PT_LOAD, .vaddr = ENGINE_BASE, .memsz = PAGE_SIZE };
    engine_phdr[1] = (struct elf_phdr){ .type = PT_NOTE, .vaddr = ENGINE_BASE + 512, .memsz = 36 };
    memset(engine + 512, 'e', 36);
    program = (struct elf_file){ .phnum = 3 };
    program.phdr[0] = (struct elf_phdr){ .type = PT_LOAD, .memsz = 4096 };
    program.phdr[1] = (struct elf_phdr){ .type = PT_NOTE, .vaddr = 0x200, .memsz = 32 };
    program.phdr[2] = (struct elf_phdr){ .type = PT_NOTE, .vaddr = 0x800, .memsz = 1030 };
    for (u32 i = 0; i < 2; i++)
        memset(memory[i], 'p', sizeof(memory[i]));
    return 0;
}

static u64 of(u32 place)
{
    const struct elf_image image = { .bias = (u64)memory[place] };

    return identity_of(&program, &image);
}

static void test_same(void **state)
{
    u64 was = of(0);

    (void)state;
    assert_int_equal(of(0), was);
    assert_int_equal(of(1), was); // at another address
    // Code and other contents of the file do not matter.
    memory[0][0x1ff] = memory[0][0x220] = memory[0][0x7ff] = 'x';
    assert_int_equal(of(0), was);
    program.entry = 5;
    program.fd = 7;
    program.phdr[3].type = PT_NOTE; // beyond phnum
    assert_int_equal(of(0), was);
    engine[511] = engine[512 + 36] = 'x';
    engine[63] = 'x';
    assert_int_equal(of(0), was);
}

// Each byte of the notes matters, up to 1024.
static void test_notes(void **state)
{
    u64 was = of(0);

    (void)state;
    for (u32 i = 0; i < sizeof(memory[0]); i++) {
        bool looked_at = (i >= 0x200 && i < 0x220) || (i >= 0x800 && i < 0x800 + 1024);

        memory[0][i] = 'q';
        if (looked_at)
            assert_int_not_equal(of(0), was);
        else
            assert_int_equal(of(0), was);
        memory[0][i] = 'p';
    }
    for (u32 i = 512; i < 512 + 36; i++) {
        engine[i] = 'f';
        assert_int_not_equal(of(0), was);
        engine[i] = 'e';
    }
    assert_int_equal(of(0), was);
}

// Each byte of the program headers matters.
static void test_headers(void **state)
{
    u64 was = of(0);

    (void)state;
    program.phdr[0].filesz = 1;
    assert_int_not_equal(of(0), was);
    program.phdr[0].filesz = 0;
    program.phdr[2].align = 1;
    assert_int_not_equal(of(0), was);
    program.phdr[2].align = 0;
    assert_int_equal(of(0), was);
    program.phnum = 2;
    assert_int_not_equal(of(0), was);
    program.phnum = 4;
    assert_int_not_equal(of(0), was);
}

// Notes that are not mapped, or that the program only claims to have, are skipped.
static void test_unreadable(void **state)
{
    u64 was = of(0), without;

    (void)state;
    unreadable = (u64)memory[0] + 0x200;
    without = of(0);
    assert_int_not_equal(without, was);
    memory[0][0x200] = 'x';
    assert_int_equal(of(0), without);
    memory[0][0x800] = 'x'; // the others still matter
    assert_int_not_equal(of(0), without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_same, setup),
        cmocka_unit_test_setup(test_notes, setup),
        cmocka_unit_test_setup(test_headers, setup),
        cmocka_unit_test_setup(test_unreadable, setup),
    };

    return cmocka_run_group_tests_name("run/identity", tests, begin, NULL);
}
