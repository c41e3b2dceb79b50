// SPDX-License-Identifier: MIT
//
// System calls and atomic instructions. a: mov, syscall, mov, syscall, lock incl, xchg, ret: 7, so
// 2 calls are 14; four system calls, four atomic instructions. b: mov, lea, xor, syscall, mov, lock
// cmpxchg, ret: 7; a system call of 20 ms, and an atomic instruction.
//
// edge: _start a 2 14
// edge: _start b 1 7
        .text
        .globl  _start
        .type   _start, @function
_start: call    a
        call    a
        call    b
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   a, @function
a:      mov     $39, %eax // getpid
        syscall
        mov     $39, %eax
        syscall
        lock incl word(%rip)
        xchg    %eax, word(%rip)
        ret
        .size   a, . - a
        .type   b, @function
b:      mov     $35, %eax // nanosleep
        lea     request(%rip), %rdi
        xor     %esi, %esi
        syscall
        mov     word(%rip), %eax
        lock cmpxchg %edi, word(%rip)
        ret
        .size   b, . - b
        .data
request: .quad  0, 20000000
word:   .long   0
