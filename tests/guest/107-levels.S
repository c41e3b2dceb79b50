// SPDX-License-Identifier: MIT
//
// The last level serves instructions and data, sees only misses of the first, and removes nothing
// from the first levels when it evicts a line. LL has 16 sets of one line; everything here maps
// to its set 0. D1 has 8 sets of two ways.
//   fetch of the first line            I1 miss, LL miss
//   read 0                             D1 miss, LL miss: the code's line leaves LL, not I1
//   read 1024                          D1 miss, LL miss: 0 leaves LL, not D1
//   read 0                             D1 hit
//   read 2048                          D1 miss (1024 goes), LL miss
//   read 1024                          D1 miss (0 goes), LL miss
//   jump to code 1024 bytes on         I1 miss (the first line goes), LL miss
//   jump back                          I1 miss, LL miss
//
// case: --I1=1024,1,64 --D1=1024,2,64 --LL=1024,1,64
// expect: Ir=11 I1mr=3 ILmr=3 Dr=5 D1mr=4 DLmr=4 Dw=0 D1mw=0 DLmw=0 Bc=0 Bcm=0 Bi=0 Bim=0
// about: no-fast-tags no-way-search replay-c

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        mov     (%rbx), %eax
        mov     1024(%rbx), %ecx
        mov     (%rbx), %edx
        mov     2048(%rbx), %esi
        mov     1024(%rbx), %edi
        jmp     2f
1:      mov     $60, %eax
        xor     %edi, %edi
        syscall
        .org    _start + 1024, 0xcc
2:      jmp     1b
