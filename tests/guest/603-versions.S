// SPDX-License-Identifier: MIT
//
// A function whose constant is rewritten before each call: the values 0 to 3 in turn, 400 times;
// then 400 new ones; then 0 and 4 in turn, after a conditional branch of its own. Its sum
// is checked; every version counts the same, whether translated again or found again.
//
// Ir: 1; 400 * (mov, and, mov, call; mov, add, ret; dec, jnz) = 3600; 1; 400 * (mov, call; mov,
// add, ret; dec, jnz) = 2800; 1; 100 * (mov, and, shl, mov, call, dec, jnz) = 700, the function:
// mov, add, test, jz taken, ret = 5, with 4 a nop more, each 50 times: 550; cmp, jne, mov, xor,
// syscall: 5. And the lea at the start: 7659.
// Dw: the constant and the return address: 2 * 900 = 1800. Dr: the returns' 900.
// Bc: 400 + 400 + 100, the function's own 100, and jne: 1001.
//
// case: --I1=32768,8,64
// expect: Ir=7659 Dr=900 Dw=1800 Bc=1001 Bi=0
// about: tiny-cache flush replay-flush

        .section .bss
        .align  4096
        .fill   4096
stack:
        .section .rewritten, "awx", @progbits
        .align  4096
short:
        .byte   0xb8 // mov $constant, %eax
short_constant:
        .long   0
        add     %rax, %rbx
        ret
        .align  64
long:
        .byte   0xb8
long_constant:
        .long   0
        add     %rax, %rbx
        test    %eax, %eax
        jz      1f
        nop
1:      ret

        .text
        .globl  _start
_start: lea     stack(%rip), %rsp
        mov     $400, %ecx
1:      mov     %ecx, %eax
        and     $3, %eax
        mov     %eax, short_constant(%rip)
        call    short
        dec     %ecx
        jnz     1b
        mov     $400, %ecx
2:      mov     %ecx, short_constant(%rip)
        call    short
        dec     %ecx
        jnz     2b
        mov     $100, %ecx
3:      mov     %ecx, %eax
        and     $1, %eax
        shl     $2, %eax
        mov     %eax, long_constant(%rip)
        call    long
        dec     %ecx
        jnz     3b
        cmp     $400 / 4 * 6 + 400 * 401 / 2 + 50 * 4, %rbx
        jne     4f
        mov     $60, %eax
        xor     %edi, %edi
        syscall
4:      ud2
