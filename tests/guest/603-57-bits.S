// SPDX-License-Identifier: MIT
//
// Data and code at addresses that need 57 bits. Two addresses that differ in bit 50 only
// map to one set and are two lines.
//   load at A                  R, line of set 0: miss
//   load at A + 2^50           R, set 0: miss, A is gone from D1
//   load at A                  R: a miss of D1; both are in LL, which has 4 ways
//   store at A + 64            W, set 1: miss
//   four bytes of code         W, set 2: miss
//   call                       W on the stack, set 40: miss
//   what was stored: a load    R at A: hit
//   ret                        R on the stack: hit
// Dr 5, 3 misses, 2 of LL; Dw 3, all miss. Ir: 9 for the first mapping, 4 for the second, then lea;
// 3 loads; 2 stores; lea, mov, call; 2 there; 3 at the end: 27.
//
// case: --I1=1024,1,64 --D1=4096,1,64 --LL=65536,4,64
// expect: Ir=27 Dr=5 D1mr=3 DLmr=2 Dw=3 D1mw=3 DLmw=3 Bc=0 Bcm=0
// needs: la57

#define A 0x10000000000000
#define B (A + 0x4000000000000)

        .section .bss
        .align  4096
        .fill   40 * 64 + 8
top:    .fill   1024
        .text
        .globl  _start
_start: mov     $9, %eax                // mmap
        movabs  $A, %rdi
        mov     $8192, %esi
        mov     $7, %edx                // read, write, execute
        mov     $0x32, %r10d            // MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS
        mov     $-1, %r8
        xor     %r9d, %r9d
        syscall
        mov     %rax, %rbx
        mov     $9, %eax
        movabs  $B, %rdi
        syscall
        mov     %rax, %rbp
        lea     top(%rip), %rsp
        mov     (%rbx), %rax
        mov     (%rbp), %rax
        mov     (%rbx), %rax
        mov     %rax, 64(%rbx)
        movl    $0xc3078b48, 4224(%rbx) // mov (%rdi), %rax; ret
        lea     4224(%rbx), %rcx
        mov     %rbx, %rdi
        call    *%rcx
        mov     $60, %eax
        xor     %edi, %edi
        syscall
