// SPDX-License-Identifier: MIT
//
// As exceptions do: unwind leaves two functions for a part of the third that is elsewhere.
// That part is called by the function whose call was unwound, not by unwind. caught: lea, mov to
// memory, call: 3; pad: nop, jmp; caught: ret. thrower: push, call: 2; unwind: mov, jmp: 2. pad is
// 2, thrower 2 + 2, caught 4 + 4 + 2 = 10, three times.
//
// edge: _start caught 3 30
// edge: caught pad 3 6
// edge: caught thrower 3 12
// edge: thrower unwind 3 6
        .bss
sp:     .fill   8
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $3, %ebp
1:      call    caught
        dec     %ebp
        jnz     1b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   caught, @function
caught: lea     (%rsp), %rax
        mov     %rax, sp(%rip)
        call    thrower
        ud2
back:   ret
        .size   caught, . - caught
        .type   pad, @function
pad:    nop
        jmp     back
        .size   pad, . - pad
        .type   thrower, @function
thrower:
        push    %rbx
        call    unwind
        ud2
        .size   thrower, . - thrower
        .type   unwind, @function
unwind: mov     sp(%rip), %rsp
        jmp     pad
        .size   unwind, . - unwind
