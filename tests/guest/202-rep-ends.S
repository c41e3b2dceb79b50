// SPDX-License-Identifier: MIT
//
// How a repeated comparison ends, counted as Cachegrind does: passes (Ir), tests of the count and
// of the comparison (Bc), R reads. The jumps begin blocks, so that Valgrind knows no count.
//   repe scasb, 3, of which the third differs      3 passes, 3 + 3 tests, R 3: the comparison ends
//                                                  it, although the count is 0 as well
//   repne scasb, 3, none equal                     4 passes, 4 + 3 tests, R 3
//   repne scasb, 1, equal                          1 pass, 1 + 1 tests, R 1
//   repne scasb, 1, not equal                      2 passes, 2 + 1 tests, R 1
//   repe scasb, 0                                  1 pass, 1 test
// 11 passes, Bc 6 + 7 + 2 + 3 + 1 = 19, Dr 8. The other instructions: lea, mov, 5 * (mov, mov,
// jmp), 3: 20. Ir: 31, or 25 where each repetition is one instruction.
//
// case: --rep-count=cachegrind --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=31 Dr=8 D1mr=1 DLmr=1 Dw=0 Bc=19 Bi=0 Bim=0
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=25 Dr=8 D1mr=1 DLmr=1 Dw=0 Bc=0 Bcm=0 Bi=0 Bim=0

        .section .data
        .align  4096
field:  .ascii  "aabcdefg"
        .fill   120
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        mov     $'a', %eax
        mov     %rbx, %rdi
        mov     $3, %ecx
        jmp     1f
1:      repe scasb                      // a a b
        lea     32(%rbx), %rdi
        mov     $3, %ecx
        jmp     1f
1:      repne scasb                     // 0 0 0
        mov     %rbx, %rdi
        mov     $1, %ecx
        jmp     1f
1:      repne scasb                     // a
        lea     2(%rbx), %rdi
        mov     $1, %ecx
        jmp     1f
1:      repne scasb                     // b
        mov     %rbx, %rdi
        mov     $0, %ecx
        jmp     1f
1:      repe scasb
        mov     $60, %eax
        xor     %edi, %edi
        syscall
