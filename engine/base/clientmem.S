// SPDX-License-Identifier: MIT
// Copies that may fault, for clientmem.c. Each instruction that touches client memory has a label;
// the lines at the end pair it with the address where a fault continues. The signal handler changes
// rip only: there all registers are as they were at the fault.
#include "engine/base/extable.h"

    .text

// u64 clientmem_copy(void *dst, const void *src, u64 n): number of bytes that were NOT copied.
// Forwards, whole words first; a word that faults is retried byte by byte: the result is exact.
    .globl clientmem_copy
    .hidden clientmem_copy
    .type clientmem_copy, @function
clientmem_copy:
    mov %rdx, %rcx
1:  cmp $8, %rcx
    jb 4f
2:  mov (%rsi), %rax
3:  mov %rax, (%rdi)
    add $8, %rsi
    add $8, %rdi
    sub $8, %rcx
    jmp 1b
4:  test %rcx, %rcx
    jz 7f
5:  movzbl (%rsi), %eax
6:  mov %al, (%rdi)
    inc %rsi
    inc %rdi
    dec %rcx
    jmp 4b
7:  mov %rcx, %rax
    ret
    .size clientmem_copy, . - clientmem_copy

// A single access: u64 clientmem_load64(u64 *out, u64 gaddr), ..._load32(u32 *, u64),
// ..._store64(u64 gaddr, u64), ..._store32(u64 gaddr, u32): 0, or 1 after a fault.
    .globl clientmem_load64, clientmem_load32, clientmem_store64, clientmem_store32
    .hidden clientmem_load64, clientmem_load32, clientmem_store64, clientmem_store32
    .type clientmem_load64, @function
clientmem_load64:
10: mov (%rsi), %rax
    mov %rax, (%rdi)
    xor %eax, %eax
    ret
    .size clientmem_load64, . - clientmem_load64
    .type clientmem_load32, @function
clientmem_load32:
11: mov (%rsi), %eax
    mov %eax, (%rdi)
    xor %eax, %eax
    ret
    .size clientmem_load32, . - clientmem_load32
    .type clientmem_store64, @function
clientmem_store64:
12: mov %rsi, (%rdi)
    xor %eax, %eax
    ret
    .size clientmem_store64, . - clientmem_store64
    .type clientmem_store32, @function
clientmem_store32:
13: mov %esi, (%rdi)
    xor %eax, %eax
    ret
    .size clientmem_store32, . - clientmem_store32
14: mov $1, %eax
    ret

    FIXUP 2b, 2b + 1, EXTABLE_FAULT, 4b
    FIXUP 3b, 3b + 1, EXTABLE_FAULT, 4b
    FIXUP 5b, 5b + 1, EXTABLE_FAULT, 7b
    FIXUP 6b, 6b + 1, EXTABLE_FAULT, 7b
    FIXUP 10b, 10b + 1, EXTABLE_FAULT, 14b
    FIXUP 11b, 11b + 1, EXTABLE_FAULT, 14b
    FIXUP 12b, 12b + 1, EXTABLE_FAULT, 14b
    FIXUP 13b, 13b + 1, EXTABLE_FAULT, 14b

    .section .note.GNU-stack, "", @progbits
