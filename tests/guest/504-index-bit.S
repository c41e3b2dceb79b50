// SPDX-License-Identifier: MIT
// needs: avx512f
//
// The bit of REX, VEX and EVEX that extends an index is ignored by RIP-relative operands, but not
// by the form with an absolute address that the engine makes of them in low programs. Found by
// fuzz-insn. 15 instructions, of which three load and one stores.
//
// case: --cache-sim=yes
// expect: Ir=15 Dr=3 Dw=1

        .section .bss
        .align  64
there:  .fill   8
        .data
        .align  64
quad:   .quad   42, 43, 44, 45, 46, 47, 48, 49

        .text
        .globl  _start
_start: movabs  $0x123456789abc, %r12
        .byte   0x4a, 0x8b, 0x05        // mov quad(%rip), %rax with REX.X
        .long   quad - . - 4
        .byte   0xc4, 0xa1, 0x7e, 0x6f, 0x15 // vmovdqu quad+8(%rip), %xmm2 with VEX.X
        .long   quad + 8 - . - 4
        .byte   0x62, 0xb1, 0xfe, 0x48, 0x6f, 0x0d // vmovdqu64 quad(%rip), %zmm1 with EVEX.X
        .long   quad - . - 4
        .byte   0x4a, 0x89, 0x05        // mov %rax, there(%rip) with REX.X
        .long   there - . - 4
        vmovq   %xmm1, %rcx
        vmovq   %xmm2, %rdx
        mov     $1, %edi
        add     %rcx, %rax
        add     %rdx, %rax
        cmp     $42 + 42 + 43, %rax
        jne     1f
        xor     %edi, %edi
1:      mov     $60, %eax
        syscall
