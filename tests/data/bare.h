// SPDX-License-Identifier: MIT
//
// The start of the programs of tests/data that have no C library: the kernel's stack, run(argc,
// argv), and an exit by a raw system call. `walk` reads or writes the first byte of each line once.
#ifndef QUERN_TESTS_DATA_BARE_H
#define QUERN_TESTS_DATA_BARE_H

#define LINE 64

int run(long argc, char **argv);

__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov (%rsp), %rdi\n"
        "    lea 8(%rsp), %rsi\n"
        "    and $-16, %rsp\n"
        "    call run\n"
        "    mov %eax, %edi\n"
        "    mov $60, %eax\n"
        "    syscall\n"
        ".size _start, . - _start\n");

static inline long call6(long nr, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline void read_lines(const volatile char *p, long bytes)
{
    for (long i = 0; i < bytes; i += LINE)
        (void)p[i];
}

static inline void write_lines(volatile char *p, long bytes)
{
    for (long i = 0; i < bytes; i += LINE)
        p[i] = 1;
}

#define NOINLINE __attribute__((noinline, noclone))

#endif
