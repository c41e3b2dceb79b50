// SPDX-License-Identifier: MIT
// Programs whose cycles are known by hand from core.machine (tests/machine/core): each is one loop,
// chosen by BODY, that is executed 1000 times for each argument and one time 1000 more. The cost of
// its body is the difference of two runs. No libc; a stack of its own line.
#if defined(FAR)
.equ lines, FAR
#else
.equ lines, 1
#endif
#if !defined(STEP) // from line to line of the ring
#define STEP 64
#endif

    .text
    .globl _start
_start:
    mov (%rsp), %ecx // arguments, with the name
    imul $1000, %ecx, %ecx
    and $-64, %rsp
    // a ring of lines, each with the address of the next one
    lea ring(%rip), %rax
    mov %rax, %rbx
    mov $lines, %edx
1:  lea STEP(%rax), %rsi
    dec %edx
    cmovz %rbx, %rsi
    mov %rsi, (%rax)
    mov %rsi, %rax
    jnz 1b
    mov %rbx, %rax
    xor %edx, %edx
    mov $1, %esi
    jmp loop

    .balign 64
loop:
    BODY
    dec %ecx
    jnz loop
    mov $60, %eax
    xor %edi, %edi
    syscall

    .bss
    .balign 4096
ring:
    .skip STEP * lines
