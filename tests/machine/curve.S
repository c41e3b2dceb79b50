// SPDX-License-Identifier: MIT
//
// Loops over so many lines that the misses of caches of every size are known; tests/machine/curve
// says what they are, and why. With -DEND=9 the program kills itself at its end, with -DFORK=1 a
// child goes on with it after the reads. The stack is not used.
    .globl _start
    .text
    .balign 2048
_start:
    // 2048 lines, 16 times.
    mov $16, %edx
1:  lea small(%rip), %rsi
    mov $2048, %ecx
2:  mov (%rsi), %al
    add $64, %rsi
    dec %ecx
    jnz 2b
    dec %edx
    jnz 1b

    // 131072 others, 3 times.
    mov $3, %edx
1:  lea large(%rip), %rsi
    mov $131072, %ecx
2:  mov (%rsi), %al
    add $64, %rsi
    dec %ecx
    jnz 2b
    dec %edx
    jnz 1b

#ifdef FORK
    mov $57, %eax // fork
    syscall
    mov %eax, %ebx
#endif

    // 512 others, written 10 times.
    mov $10, %edx
1:  lea written(%rip), %rdi
    mov $512, %ecx
2:  mov %al, (%rdi)
    add $64, %rdi
    dec %ecx
    jnz 2b
    dec %edx
    jnz 1b

    mov $9, %ecx
    jmp code

done:
#ifdef FORK
    test %ebx, %ebx
    jz 1f
    mov %ebx, %edi
    xor %esi, %esi
    xor %edx, %edx
    xor %r10d, %r10d
    mov $61, %eax // wait4
    syscall
1:
#endif
#ifdef END
    mov $39, %eax // getpid
    syscall
    mov %eax, %edi
    mov $END, %esi
    mov $62, %eax // kill
    syscall
#endif
    xor %edi, %edi
    mov $231, %eax // exit_group
    syscall

    // 1024 lines, 8 times, and once more the first one.
    .balign 65536
code:
    dec %ecx
    jz done
    jmp 1f
    .balign 64
1:
    .rept 1022
    jmp 1f
    .balign 64
1:
    .endr
    jmp code

    .bss
    .balign 65536
small:
    .skip 2048 * 64
large:
    .skip 131072 * 64
written:
    .skip 512 * 64

    .section .note.GNU-stack, "", @progbits
