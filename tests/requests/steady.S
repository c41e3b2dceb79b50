// SPDX-License-Identifier: MIT
//
// Waits for a line, computes, waits for another one: quern control requests parts meanwhile.
//
// Instructions: _start: xor, call, call, call, xor, mov, syscall: 7.
// outer: call, ret: 2, twice. inner: 4 for the registers, syscall, test, jle, ret: 8, twice.
// compute: mov, then 2 for each of 2^30 rounds, ret: 2147483650.
// In all 7 + 4 + 16 + 2147483650 = 2147483677.
        .text
        .globl  _start
        .type   _start, @function
_start: xor     %ebx, %ebx
        call    outer
        call    compute
        call    outer
        xor     %edi, %edi
        mov     $60, %eax
        syscall
        .size   _start, . - _start
        .type   outer, @function
outer:  call    inner
        ret
        .size   outer, . - outer
        .type   inner, @function
inner:  xor     %eax, %eax // read
        xor     %edi, %edi
        lea     buffer(%rip), %rsi
        mov     $1, %edx
        syscall
        test    %eax, %eax
        jle     1f
1:      ret
        .size   inner, . - inner
        .type   compute, @function
compute:
        mov     $0x40000000, %ecx
2:      dec     %rcx
        jne     2b
        ret
        .size   compute, . - compute
        .bss
buffer: .skip   8
