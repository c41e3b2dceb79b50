// SPDX-License-Identifier: MIT
//
// A process and its child in one profile. leaf: mov, ret: 2. split: mov, syscall, test, jne: 4, and
// in the parent 7 from wait4 on: 11; in the child, which begins after the system call, test, jne,
// two calls, and 3 for its end: 7, and what leaf costs. So 11 and 11 of one call.
//
// edge: _start leaf 1 2
// edge: _start split 1 22
// edge: split leaf 2 4
        .text
        .globl  _start
        .type   _start, @function
_start: call    leaf
        call    split
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   leaf, @function
leaf:   mov     $1, %eax
        ret
        .size   leaf, . - leaf
        .type   split, @function
split:  mov     $57, %eax // fork
        syscall
        test    %eax, %eax
        jne     1f
        call    leaf
        call    leaf
        xor     %edi, %edi
        mov     $60, %eax
        syscall
1:      mov     $61, %eax // wait4
        mov     $-1, %rdi
        xor     %esi, %esi
        xor     %edx, %edx
        xor     %r10d, %r10d
        syscall
        ret
        .size   split, . - split
