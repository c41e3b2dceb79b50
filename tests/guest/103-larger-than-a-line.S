// SPDX-License-Identifier: MIT
//
// A reference larger than a line counts like one of line size, and the line is the smallest of the
// three caches. fnsave writes 108 bytes from 32. Lines of 64: cut to 32..95, lines 0 and 1: one
// miss; 64 is then there, 128 is not. With I1 lines of 32: cut to 32..63, line 0 only; 64 is not
// there. Then 16 bytes at 128 + 40, and 32 at 256 + 40: the second ends in the next line, whose
// first byte is there afterwards when 32 bytes are counted (both cases). The code is 50 bytes: two
// lines of 32.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=10 I1mr=1 ILmr=1 Dr=3 D1mr=1 DLmr=1 Dw=3 D1mw=2 DLmw=2 Bc=0 Bcm=0 Bi=0 Bim=0
// case: --I1=1024,1,32 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=10 I1mr=2 ILmr=1 Dr=3 D1mr=2 DLmr=2 Dw=3 D1mw=2 DLmw=2 Bc=0 Bcm=0 Bi=0 Bim=0
// needs: avx

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        fnsave  32(%rbx)                // line 0 (and 1)
        mov     64(%rbx), %al           // line 1: there, or not
        mov     128(%rbx), %al          // line 2: not there
        movdqu  %xmm0, 168(%rbx)        // 168..183, line 2
        vmovdqu %ymm0, 296(%rbx)        // 296..327, lines 4 and 5: one miss
        mov     320(%rbx), %al          // line 5: there
        mov     $60, %eax
        xor     %edi, %edi
        syscall
