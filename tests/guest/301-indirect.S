// SPDX-License-Identifier: MIT
//
// Indirect branches: predicted to go where they went last from that address; returns are not
// counted. One call through memory in a loop of 8, targets f g f g f f f g: wrong at each change
// and at the first:
//   f wrong, g wrong, f wrong, g wrong, f wrong, f right, f right, g wrong: 8, 6 wrong.
// One jump through a register, its first time: wrong. Bi 9, Bim 7. The loop's branch: 7 taken with
// a new history each time, wrong; not taken at history 1111111, right: Bc 8, Bcm 7. Ir: 4 + 8 *
// (mov, call, ret, inc, cmp, jne = 6; g has a nop more, 3 times) + 2 + 3 = 60: 4 + 48 + 3 + 2 + 3.
// Dr: 8 * (mov, ret; the call reads its target from a register): 16; Dw: 8.
//
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=60 Dr=16 Dw=8 D1mw=1 Bc=8 Bcm=7 Bi=9 Bim=7
// about: no-chain no-ibl replay-unlinked

        .section .data
        .align  64
table:  .quad   f, g, f, g, f, f, f, g
        .section .bss
        .align  4096
        .fill   4096
stack:
        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        lea     table(%rip), %rbx
        xor     %ecx, %ecx
        lea     end(%rip), %rbp
1:      mov     (%rbx,%rcx,8), %rax
        call    *%rax
        inc     %ecx
        cmp     $8, %ecx
        jne     1b
        nop
        jmp     *%rbp
        ud2
f:      ret
g:      nop
        ret
end:    mov     $60, %eax
        xor     %edi, %edi
        syscall
