// SPDX-License-Identifier: MIT
//
// Leaves several functions at once, ten times. top: mov, mov to memory, lea, mov to memory,
// call, then the target of leap: nop, ret: 7. inner: call, (which never returns). leap: mov, jmp:
// 2. leap is 2, inner 1 + 2, middle (push, call) 2 + 3, top 7 + 5 = 12.
//
// edge: _start top 10 120
// edge: inner leap 10 20
// edge: middle inner 10 30
// edge: top middle 10 50
        .bss
sp:     .fill   8
pc:     .fill   8
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $10, %ebp
1:      call    top
        dec     %ebp
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   top, @function
top:    mov     %rsp, %rax
        mov     %rax, sp(%rip)
        lea     2f(%rip), %rax
        mov     %rax, pc(%rip)
        call    middle
        ud2
2:      nop
        ret
        .size   top, . - top
        .type   middle, @function
middle: push    %rbx
        call    inner
        ud2
        .size   middle, . - middle
        .type   inner, @function
inner:  call    leap
        ud2
        .size   inner, . - inner
        .type   leap, @function
leap:   mov     sp(%rip), %rsp
        jmp     *pc(%rip)
        .size   leap, . - leap
