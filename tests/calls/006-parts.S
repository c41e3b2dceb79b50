// SPDX-License-Identifier: MIT
//
// A function with a part elsewhere, as compilers make them: a jump there is a call, and a jump
// back into the middle is its return. hot: push, test, jz (taken); cold: nop, nop, jmp; hot: pop,
// ret. cold is 3, hot with it 3 + 3 + 2 = 8. The second time it is not taken: push, test, jz, nop,
// pop, ret: 6.
//
// edge: _start hot 2 14
// edge: hot hot_cold 1 3
        .text
        .globl  _start
        .type   _start, @function
_start: xor     %eax, %eax
        call    hot
        mov     $1, %eax
        call    hot
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   hot, @function
hot:    push    %rbx
        test    %eax, %eax
        jz      hot_cold
        nop
back:   pop     %rbx
        ret
        .size   hot, . - hot
        .type   hot_cold, @function
hot_cold:
        nop
        nop
        jmp     back
        .size   hot_cold, . - hot_cold
