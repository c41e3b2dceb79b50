// SPDX-License-Identifier: MIT
//
// Masked moves and gathers: one reference for each element whose mask bit is set, none for the
// others. The mask names the elements 0, 1 and 7 of eight.
//   load of the mask                   R 32, a line of its own: miss
//   vpmaskmovd from 40                 R 4 at 40 (line 0, miss), 44, 68 (line 1, miss)
//   vpmaskmovd to 168                  W 4 at 168 (line 2, miss), 172, 196 (line 3, miss)
//   vpgatherdd, all indices 0, at 256  R 4 three times at 256 (line 4, miss); clears the mask
//   vmaskmovps, vpmaskmovq, no mask    nothing
// Dr 7, 4 misses; Dw 3, 2 misses. 11 instructions.
//
// case: --I1=1024,1,64 --D1=4096,1,64 --LL=65536,4,64
// expect: Ir=11 Dr=7 D1mr=4 DLmr=4 Dw=3 D1mw=2 DLmw=2 Bc=0 Bcm=0 Bi=0 Bim=0
// needs: avx2
// about: replay-scalar replay-addresses replay-c

        .section .data
        .align  4096
        .fill   2048
mask:   .long   -1, -1, 0, 0, 0, 0, 0, -1
        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        vmovdqa mask(%rip), %ymm1
        vpmaskmovd 40(%rbx), %ymm1, %ymm0
        vpmaskmovd %ymm0, %ymm1, 168(%rbx)
        vpxor   %ymm2, %ymm2, %ymm2
        vpgatherdd %ymm1, 256(%rbx,%ymm2,4), %ymm0
        vmaskmovps (%rbx), %ymm1, %ymm0
        vpmaskmovq %ymm0, %ymm1, 512(%rbx)
        mov     $60, %eax
        xor     %edi, %edi
        syscall
