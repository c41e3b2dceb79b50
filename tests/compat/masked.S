// SPDX-License-Identifier: MIT
//
// Masked moves and gathers with every mask of eight and of four elements, from and to changing
// addresses, across lines. The stack pointer changes: Cachegrind reads the masked-off elements of
// a gather there. needs: avx2

        .section .bss
        .align  64
field:  .fill   8192
mask:   .fill   32

        .section .rodata
        .align  32
bits:   .long   1, 2, 4, 8, 16, 32, 64, 128
index:  .long   0, 17, 34, 51, 3, 20, 300, 5
wide:   .quad   0, 40, 9, 111

        .text
        .globl  run
        .type   run, @function
run:    push    %rbp
        push    %r12
        mov     %rsp, %rbp
        lea     field(%rip), %rbx
        mov     $255, %r12d
        vmovdqa bits(%rip), %ymm8
        vmovdqa index(%rip), %ymm9
        vmovdqa wide(%rip), %ymm10
again:  vmovd   %r12d, %xmm0
        vpbroadcastd %xmm0, %ymm0
        vpand   %ymm8, %ymm0, %ymm0
        vpcmpeqd %ymm8, %ymm0, %ymm7    // the mask: bit k of r12 to element k
        vpmovsxdq %xmm7, %ymm6
        call    moves
        call    gathers
        add     $28, %rbx
        lea     -32(%rsp), %rsp
        dec     %r12d
        jnz     again
        mov     %rbp, %rsp
        vzeroupper
        xor     %eax, %eax
        pop     %r12
        pop     %rbp
        ret
        .size   run, . - run

        .type   moves, @function
moves:  vpmaskmovd (%rbx), %ymm7, %ymm1
        vpmaskmovd %ymm1, %ymm7, 4(%rbx)
        vpmaskmovd 100(%rbx), %xmm7, %xmm2
        vpmaskmovd %xmm2, %xmm7, 104(%rbx)
        vpmaskmovq 200(%rbx), %ymm6, %ymm3
        vpmaskmovq %ymm3, %ymm6, 210(%rbx)
        vmaskmovps 300(%rbx), %ymm7, %ymm4
        vmaskmovps %ymm4, %ymm7, 305(%rbx)
        vmaskmovpd 400(%rbx), %xmm6, %xmm5
        vmaskmovpd %xmm5, %xmm6, 460(%rbx)
        ret
        .size   moves, . - moves

        .type   gathers, @function
gathers:
        vmovdqa %ymm7, %ymm1
        vpxor   %ymm0, %ymm0, %ymm0
        vpgatherdd %ymm1, (%rbx,%ymm9,4), %ymm0
        vmovdqu %ymm0, 600(%rbx)
        vmovdqa %ymm6, %ymm1
        vpgatherdq %ymm1, (%rbx,%xmm9,8), %ymm0
        vmovdqu %ymm0, 640(%rbx)
        vmovdqa %ymm6, %ymm1
        vgatherqpd %ymm1, 3(%rbx,%ymm10,8), %ymm0
        vmovdqu %ymm0, 680(%rbx)
        vmovdqa %xmm7, %xmm1
        vgatherqps %xmm1, (%rbx,%ymm10,4), %xmm0
        vmovdqu %xmm0, 720(%rbx)
        ret
        .size   gathers, . - gathers
        .section .note.GNU-stack, "", @progbits
