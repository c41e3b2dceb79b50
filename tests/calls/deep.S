// SPDX-License-Identifier: MIT
//
// 2,200,000 calls are open at once, on a stack of the program's own: 67 MiB of them where a call
// takes the least, 32 bytes. down(n) costs 4 n - 1: sub, je, call, ret, and sub, je, ret at last.
// So down is called by _start once, for 8799999, and by itself 2199999 times, for the sum of
// 4 k - 1 over all k up to that, 9679993400001 in all.
//
// edge: _start down 1 8799999
// edge: down down 2199999 9679993400001
        .bss
        .align  4096
        .skip   2200000 * 8 + 4096
stack:
        .text
        .globl  _start
        .type   _start, @function
_start: lea     stack(%rip), %rsp
        mov     $2200000, %ecx
        call    down
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   down, @function
down:   sub     $1, %ecx
        je      1f
        call    down
1:      ret
        .size   down, . - down
