// SPDX-License-Identifier: MIT
//
// A function that calls itself. down(n): test, jz, dec, call, ret: 5, and at 0 test, jz, ret: 3.
// From 3 on: 5 + 5 + 5 + 3 = 18. The calls that it makes cost 13, 8 and 3, nested, so 24
// in three, each counted with its own calls.
//
// edge: _start down 1 18
// edge: down down 3 24
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $3, %eax
        call    down
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   down, @function
down:   test    %eax, %eax
        jz      1f
        dec     %eax
        call    down
1:      ret
        .size   down, . - down
