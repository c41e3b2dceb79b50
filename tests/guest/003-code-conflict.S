// SPDX-License-Identifier: MIT
//
// Two pieces of code 1024 bytes apart in a direct-mapped cache of 1024: each evicts the other.
// Ir: 2 + 3 * (call, ret, dec, jnz) + 3 = 17. I1: line 0 at the start; then, three times, `ret`
// misses and evicts line 0, `dec` misses and evicts the other: 1 + 3 * 2 = 7. In LL both
// stay: 2. The calls write and the returns read one place of the stack: Dw 3, Dr 3, one miss.
// Branches: taken, taken, not: histories 0 and 1 are wrong, history 11 finds a 0: right.
//
// With two ways both pieces stay: 2.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=17 I1mr=7 ILmr=2 Dr=3 D1mr=0 DLmr=0 Dw=3 D1mw=1 DLmw=1 Bc=3 Bcm=2 Bi=0 Bim=0
// case: --I1=2048,2,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=17 I1mr=2 ILmr=2 Dr=3 D1mr=0 DLmr=0 Dw=3 D1mw=1 DLmw=1 Bc=3 Bcm=2 Bi=0 Bim=0

        .section .bss
        .align  4096
        .fill   4096
stack:
        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        mov     $3, %ebx
1:      call    far
        dec     %ebx
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .org    _start + 1024, 0xcc
far:    ret
