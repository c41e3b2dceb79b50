// SPDX-License-Identifier: MIT
//
// Code that changes while it is in use: patched in place after it ran, patched in front of
// the program counter within one straight line, through a second mapping, by a system call, by
// unmapping and mapping, by moving, by mapping over it, and after a change of protection. Each time
// the new code must be executed.
//
// about: no-chain tiny-cache flush replay-flush
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

typedef int (*function)(void);

#define PAGE 4096

// mov $value, %eax; ret
static void write_constant(uint8_t *at, int32_t value)
{
    uint8_t code[6] = { 0xb8 };

    memcpy(code + 1, &value, 4);
    code[5] = 0xc3;
    memcpy(at, code, 6);
}

static int call(void *at)
{
    return ((function)(uintptr_t)at)();
}

static uint8_t *map(void *where, int protection)
{
    uint8_t *p =
        mmap(where, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0), -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return p;
}

static void in_place(void)
{
    uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;

    for (int i = 0; i < 2000; i++) {
        write_constant(p, i);
        sum += call(p);
    }
    CHECK(sum == 1999000);
    // Only the last byte of the constant, across a line.
    for (int i = 0; i < 200; i++) {
        write_constant(p + 60, 0);
        CHECK(call(p + 60) == 0);
        p[64] = (uint8_t)i;
        CHECK((call(p + 60) >> 24 & 255) == i);
    }
    munmap(p, PAGE);
}

// movb $2, 8(%rip) overwrites the constant of the mov after it: no branch between the two.
static void ahead_of_itself(void)
{
    static const uint8_t code[] = {
        0x40, 0x88, 0x3d, 0x01, 0x00, 0x00, 0x00, // mov %dil, 1(%rip): the constant below
        0xb8, 0x01, 0x00, 0x00, 0x00,             // mov $1, %eax
        0xc3,                                     // ret
    };
    uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);
    int (*f)(int) = (int (*)(int))(uintptr_t)p;

    memcpy(p, code, sizeof(code));
    for (int i = 0; i < 100; i++)
        CHECK(f(i) == i);
    munmap(p, PAGE);
}

static void other_mapping(void)
{
    int fd = memfd_create("code", 0);
    uint8_t *w, *x;

    CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
    w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    x = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(w != MAP_FAILED && x != MAP_FAILED);
    for (int i = 0; i < 300; i++) {
        write_constant(w, i * 3);
        CHECK(call(x) == i * 3);
    }
    munmap(w, PAGE);
    munmap(x, PAGE);
    close(fd);
}

static void by_system_call(void)
{
    uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC), code[6];
    struct iovec to = { p, sizeof(code) }, from = { code, sizeof(code) };
    int fd[2];

    CHECK(pipe(fd) == 0);
    for (int i = 0; i < 100; i++) {
        write_constant(code, i + 7);
        CHECK(write(fd[1], code, 6) == 6 && read(fd[0], p, 6) == 6);
        CHECK(call(p) == i + 7);
        write_constant(code, i + 9);
        CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 6);
        CHECK(call(p) == i + 9);
    }
    close(fd[0]);
    close(fd[1]);
    munmap(p, PAGE);
}

static void mapped_anew(void)
{
    uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC), *q;

    for (int i = 0; i < 100; i++) {
        write_constant(p, i);
        CHECK(call(p) == i);
        munmap(p, PAGE);
        p = map(p, PROT_READ | PROT_WRITE | PROT_EXEC);
        write_constant(p, i + 1000);
        CHECK(call(p) == i + 1000);
        p = map(p, PROT_READ | PROT_WRITE | PROT_EXEC); // replaces the mapping
        write_constant(p, i + 2000);
        CHECK(call(p) == i + 2000);
    }
    // Moved away, and another mapping put there; the moved code still runs.
    q = map(NULL, PROT_NONE);
    CHECK(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q);
    CHECK(call(q) == 99 + 2000);
    p = map(p, PROT_READ | PROT_WRITE | PROT_EXEC);
    write_constant(p, 5);
    CHECK(call(p) == 5 && call(q) == 99 + 2000);
    munmap(p, PAGE);
    munmap(q, PAGE);
}

static void by_protection(void)
{
    uint8_t *p = map(NULL, PROT_READ | PROT_WRITE);

    for (int i = 0; i < 100; i++) {
        CHECK(mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
        write_constant(p, i);
        CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
        CHECK(call(p) == i);
    }
    // madvise may drop the contents: a page of zeroes, `add %al, (%rax)`, is not executed here,
    // only replaced.
    CHECK(mprotect(p, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    CHECK(madvise(p, PAGE, MADV_DONTNEED) == 0);
    write_constant(p + 100, 77);
    CHECK(call(p + 100) == 77);
    munmap(p, PAGE);
}

// A file mapped at one address with one offset and then another.
static void from_a_file(void)
{
    int fd = memfd_create("file", 0);
    uint8_t page[2][PAGE] = { { 0 } }, *p, *at = NULL;

    write_constant(page[0], 100);
    write_constant(page[1], 200);
    CHECK(write(fd, page, sizeof(page)) == sizeof(page));
    for (int i = 0; i < 50; i++) {
        p = mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
                 i % 2 * PAGE);
        CHECK(p != MAP_FAILED);
        CHECK(call(p) == 100 + i % 2 * 100);
        at = p;
    }
    munmap(at, PAGE);
    close(fd);
}

int main(void)
{
    in_place();
    ahead_of_itself();
    other_mapping();
    by_system_call();
    mapped_anew();
    by_protection();
    from_a_file();
    return check_failed;
}
