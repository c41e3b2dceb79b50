// SPDX-License-Identifier: MIT
// Copies that may fault, for safemem.c. Each instruction that touches client memory has a label;
// the table at the end pairs it with the place where a fault continues. The signal handler changes
// rip only, so that place finds all registers as they were at the fault.
    .text

// u64 safecopy(void *dst, const void *src, u64 n): bytes that were NOT copied; 0 when all were.
// Forwards, whole words first; a word that faults is tried again byte by byte, so that the answer
// is exact.
    .globl safecopy
    .hidden safecopy
    .type safecopy, @function
safecopy:
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
    .size safecopy, . - safecopy

// One access: u64 safecopy_load64(u64 *out, u64 gaddr), ..._load32(u32 *, u64), ..._store64(u64
// gaddr, u64), ..._store32(u64 gaddr, u32): 0, or 1 after a fault.
    .globl safecopy_load64, safecopy_load32, safecopy_store64, safecopy_store32
    .hidden safecopy_load64, safecopy_load32, safecopy_store64, safecopy_store32
    .type safecopy_load64, @function
safecopy_load64:
10: mov (%rsi), %rax
    mov %rax, (%rdi)
    xor %eax, %eax
    ret
    .size safecopy_load64, . - safecopy_load64
    .type safecopy_load32, @function
safecopy_load32:
11: mov (%rsi), %eax
    mov %eax, (%rdi)
    xor %eax, %eax
    ret
    .size safecopy_load32, . - safecopy_load32
    .type safecopy_store64, @function
safecopy_store64:
12: mov %rsi, (%rdi)
    xor %eax, %eax
    ret
    .size safecopy_store64, . - safecopy_store64
    .type safecopy_store32, @function
safecopy_store32:
13: mov %esi, (%rdi)
    xor %eax, %eax
    ret
    .size safecopy_store32, . - safecopy_store32
14: mov $1, %eax
    ret

    .section .rodata
    .balign 8
    .globl safecopy_table, safecopy_table_end
    .hidden safecopy_table, safecopy_table_end
safecopy_table: // {rip, where to go on}, both relative to the table
    .long 2b - safecopy_table, 4b - safecopy_table
    .long 3b - safecopy_table, 4b - safecopy_table
    .long 5b - safecopy_table, 7b - safecopy_table
    .long 6b - safecopy_table, 7b - safecopy_table
    .long 10b - safecopy_table, 14b - safecopy_table
    .long 11b - safecopy_table, 14b - safecopy_table
    .long 12b - safecopy_table, 14b - safecopy_table
    .long 13b - safecopy_table, 14b - safecopy_table
safecopy_table_end:

    .section .note.GNU-stack, "", @progbits
