// SPDX-License-Identifier: MIT
//
// Two bytes that are alternately a store and mov %gs, %eax, which is executed by single-stepping in
// place. Each counts as the instruction that is executed.
//
// Ir: lea, lea, mov; 100 * (mov, mov, mov, call; store, ret; mov, call; mov, ret; dec, jnz) =
// 1200; cmp, jne, mov, xor, syscall: 1208. Dw: 100 * (2 rewritten, 2 return addresses, the store)
// = 500. Dr: 100 * 2 returns and the cmp: 201. Bc: 101.
//
// case: --I1=32768,8,64
// expect: Ir=1208 Dr=201 Dw=500 Bc=101 Bi=0
// about: flush replay-flush

        .section .bss
        .align  4096
        .fill   4096
stack:  .quad   0
        .section .rewritten, "awx", @progbits
        .align  4096
changed:
        mov     %gs, %eax
        ret

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        lea     stack(%rip), %rdi
        mov     $100, %ebp
1:      mov     %ebp, %esi
        xor     %eax, %eax
        movw    $0x3789, changed(%rip) // mov %esi, (%rdi)
        call    changed
        movw    $0xe88c, changed(%rip) // mov %gs, %eax
        call    changed
        dec     %ebp
        jnz     1b
        cmpl    $1, stack(%rip)
        jne     2f
        mov     $60, %eax
        xor     %edi, %edi
        syscall
2:      ud2
