// SPDX-License-Identifier: MIT
//
// References that cross lines. D1 has 16 sets of one line, LL keeps everything. Reads: 60 (miss), 0
// and 64 (hit), 1024 (miss, line 0 goes), 60 (line 0 is gone: one D1 miss, LL has both), 124 (line
// 1 is there, line 2 is not: one miss in each level), 192 (hit): 7, 4 misses, 3 in LL. Write: 188
// (line 2 is there, line 3 is not): 1, 1, 1. The code is 56 bytes.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=12 I1mr=1 ILmr=1 Dr=7 D1mr=4 DLmr=3 Dw=1 D1mw=1 DLmw=1 Bc=0 Bcm=0 Bi=0 Bim=0

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        mov     60(%rbx), %rax
        mov     (%rbx), %rax
        mov     64(%rbx), %rax
        mov     1024(%rbx), %rax
        mov     60(%rbx), %rax
        mov     124(%rbx), %rax
        mov     %rax, 188(%rbx)
        mov     192(%rbx), %rax
        mov     $60, %eax
        xor     %edi, %edi
        syscall
