// SPDX-License-Identifier: MIT
//
// A stack that is copied elsewhere while it is in use, as Go does when one is full: grow takes
// another one and calls copy there, which returns after the call of grow, on the copy. Functions
// called before return from there. grow: mov, lea, call: 3, and copy's four movs, lea, jmp: 6.
// deep: call, call, ret: 3, grow's 9 and leaf's 2: 14. outer: call, ret: 2, and deep's 14.
//
// edge: first outer 1 16
// edge: outer deep 1 14
// edge: deep grow 1 9
// edge: grow copy 1 6
// edge: deep leaf 1 2
// edge: first leaf 1 2
        .bss
        .align  16
        .skip   1024
other:  .skip   1024
small:  .skip   65536
large:  .skip   16
        .text
        .globl  _start
        .type   _start, @function
_start: lea     small(%rip), %rsp
        jmp     first
        .size   _start, . - _start
        .type   first, @function
first:  call    outer
        call    leaf
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   first, . - first
        .type   outer, @function
outer:  call    deep
        ret
        .size   outer, . - outer
        .type   deep, @function
deep:   call    grow
        call    leaf
        ret
        .size   deep, . - deep
        .type   grow, @function
grow:   mov     (%rsp), %rcx
        lea     other(%rip), %rsp
        call    copy
        .size   grow, . - grow
        .type   copy, @function
copy:   mov     small - 8(%rip), %rax
        mov     %rax, large - 8(%rip)
        mov     small - 16(%rip), %rax
        mov     %rax, large - 16(%rip)
        lea     large - 16(%rip), %rsp
        jmp     *%rcx
        .size   copy, . - copy
        .type   leaf, @function
leaf:   nop
        ret
        .size   leaf, . - leaf
