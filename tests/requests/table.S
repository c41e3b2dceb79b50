// SPDX-License-Identifier: MIT
//
// Counting begins in a linkage table, as it may for a thread that is there when another one makes
// the request. Counted: the table's jmp; far: mov, ret; _start: mov, xor, syscall: 6.
        .data
slot:   .quad   far
asked:  .quad   0x43540004, 0, 0, 0, 0, 0 // CALLGRIND_START_INSTRUMENTATION
        .text
        .globl  _start
        .type   _start, @function
_start: call    entry
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   far, @function
far:    mov     slot(%rip), %rax
        ret
        .size   far, . - far
        .section .plt, "ax"
entry:  lea     asked(%rip), %rax
        rol     $3, %rdi
        rol     $13, %rdi
        rol     $61, %rdi
        rol     $51, %rdi
        xchg    %rbx, %rbx
        jmp     *slot(%rip)
