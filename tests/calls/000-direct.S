// SPDX-License-Identifier: MIT
//
// Direct calls. leaf: mov, ret: 2, so 5 calls are 10. pair: two calls, ret: 3 and twice leaf: 7, so
// 2 are 14.
//
// edge: _start leaf 1 2
// edge: _start pair 2 14
// edge: pair leaf 4 8
        .text
        .globl  _start
        .type   _start, @function
_start: call    leaf
        call    pair
        call    pair
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   leaf, @function
leaf:   mov     $1, %eax
        ret
        .size   leaf, . - leaf
        .type   pair, @function
pair:   call    leaf
        call    leaf
        ret
        .size   pair, . - pair
