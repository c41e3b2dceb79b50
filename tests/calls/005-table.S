// SPDX-License-Identifier: MIT
//
// A jump table within a function is no call. pick: and, jmp, and of the arms (nop, jmp), (jmp) and
// (nop, nop, nop) one, then ret: for 0 to 2: 2 + 2 + 1, 2 + 1 + 1, 2 + 3 + 1: 15.
//
// edge: _start pick 3 15
        .data
arms:   .quad   arm0, arm1, arm2
        .text
        .globl  _start
        .type   _start, @function
_start: xor     %ebp, %ebp
        lea     arms(%rip), %rbx
1:      mov     %ebp, %eax
        call    pick
        inc     %ebp
        cmp     $3, %ebp
        jne     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   pick, @function
pick:   and     $3, %eax
        jmp     *(%rbx,%rax,8)
arm0:   nop
        jmp     9f
arm1:   jmp     9f
arm2:   nop
        nop
        nop
9:      ret
        .size   pick, . - pick
