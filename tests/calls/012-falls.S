// SPDX-License-Identifier: MIT
//
// Execution falls through from one function into the next: a call, too. above: nop, and below: nop,
// ret.
//
// edge: _start above 3 9
// edge: _start below 1 2
// edge: above below 3 6
        .text
        .globl  _start
        .type   _start, @function
_start: call    above
        call    above
        call    above
        call    below
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   above, @function
above:  nop
        .size   above, . - above
        .type   below, @function
below:  nop
        ret
        .size   below, . - below
