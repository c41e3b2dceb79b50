// SPDX-License-Identifier: MIT
//
// Two threads that call the same function: the first three times, the other one twice. work: nop,
// ret: 2, so 6 and 4. Both exit by themselves, so what each executes does not depend on the other.
// With --separate-threads=yes the first has, of _start to the call of clone, 8, then test, jz, 3
// times (mov, call), mov, xor, syscall: 8 + 2 + 6 + 3 = 19 and 6, 25; the other one test, jz, two
// times call, mov, xor, syscall: 2 + 2 + 3 = 7 and 4, 11.
//
// edge: _start work 5 10
// thread 01: _start work 3 6
// thread 01: total 25
// thread 02: _start work 2 4
// thread 02: total 11
        .bss
        .skip   8192
stack:
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $0x50f00, %edi          // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM
        lea     stack(%rip), %rsi
        xor     %edx, %edx
        xor     %r10d, %r10d
        xor     %r8d, %r8d
        mov     $56, %eax
        nop
        syscall
        test    %eax, %eax
        jz      other
        mov     $1, %ebx
        call    work
        mov     $2, %ebx
        call    work
        mov     $3, %ebx
        call    work
        mov     $60, %eax
        xor     %edi, %edi
        syscall
other:  call    work
        call    work
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   work, @function
work:   nop
        ret
        .size   work, . - work
