// SPDX-License-Identifier: MIT
//
// Calls within a function are its own: a subroutine, the call that reads rip, and a
// jump to its own beginning. once: call, pop, call, (nop, ret), test, jz, and once more from its
// beginning with dec, jmp: 7 + 2 + 7 + 1 (ret) = 17.
//
// edge: _start once 1 17
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $1, %ebp
        call    once
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   once, @function
once:   call    1f
1:      pop     %rax
        call    3f
        test    %ebp, %ebp
        jz      2f
        dec     %ebp
        jmp     once
2:      ret
3:      nop
        ret
        .size   once, . - once
