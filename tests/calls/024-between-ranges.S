// SPDX-License-Identifier: MIT
//
// Functions without a symbol: one in .eh_frame, and after its end one that no table mentions,
// like hand-written code and leaf functions of other compilers. It is not part of the first.
// ranged: nop, jmp; bare: nop, ret.
//
// edge: _start 0x401020 (024-between-ranges) 3 12
// edge: _start ??? 1 2
// edge: 0x401020 (024-between-ranges) ??? 3 6
        .text
        .balign 4096
        .globl  _start
        .type   _start, @function
_start: call    .Lranged
        call    .Lranged
        call    .Lbare
        call    .Lranged
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .balign 32
.Lranged:
        .cfi_startproc
        nop
        jmp     .Lbare
        .cfi_endproc
        .balign 16
.Lbare: nop
        ret
