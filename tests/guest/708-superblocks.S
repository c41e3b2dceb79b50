// SPDX-License-Identifier: MIT
//
// A loop that becomes a superblock (it records more than a buffer of either size holds), and
// every deterministic way out of it: a conditional branch in the other direction, an
// indirect call of another function, faults of a load, of ret and of a fetch, whose handler repairs
// the cause or skips, code that changes under it and is removed.
//
// A usual turn has 11 instructions and 2 conditional branches (turn 3, load 3, one or two 3, back
// 2), another one 7 and 2. A run of n turns has one more, its ret.
//
//     instructions                              branches  turns         r8     r9     r10    r15
//     begin    4 + 6 + 5 + 10 = 25
//     A        2 + 60000 * 11 + 1 = 660003      120000    60000         60000                60000
//     B        4 + 30000 * (11 + 7) + 1 = 540005  120000  60000         30000         30000  30000
//     C        4 + 60000 * 11 + 1 = 660005      120000    60000                60000         60000
//     D        1 + 20 * (8 + 1) + 270 * 11 + 20 * 10 = 3351
//                                               600       20 * 3 + 210  270                  70
//     E        1 + 20 * (6 + 1 + 3 * 11 + 11) = 1021
//                                               180       20 * 3        60                   60
//     F        13 + 60000 * 11 + 1 = 660014     120000    60000                60000         60000
//     G        1 + 3 * (11 + 3 * 11 + 1 + 13) = 175
//                                               27        3 * 3                9             9
//     H        2 + 60000 * 11 + 1 = 660003      120000    60000                60000         60000
//     end      8 + 3 = 11                       4
//                                     3184613   600811                  90330  180009 30000  270139
//
// D: the loads reach an inaccessible page, at turn 20, then 19, to 1; three turns follow.
// The handler has 10 instructions and repairs it, or 11 and skips it: the load is not executed.
// Its branches are 2, so there are 270 * 2 + 20 + 20 * 2. Of its 270 loads 60 + 10 are of the
// word. E: the handler has 11 instructions and 2 branches: 60 * 2 + 20 + 20 * 2. G: 13 and 2:
// 9 * 2 + 3 + 3 * 2.
//
// case: --rep-count=cachegrind
// expect: Ir=3184613 Bc=600811
// case: --I1=1024,1,64 --D1=1024,1,64 --LL=16384,4,64
// expect: Ir=3184613 Bc=600811
// about: watched replay-small replay-blocks replay-flush replay-split

        .text
        .globl  _start
_start: mov     $131, %eax              // sigaltstack
        mov     $stack, %edi
        xor     %esi, %esi
        syscall
        mov     $13, %eax               // rt_sigaction
        mov     $11, %edi
        mov     $action, %esi
        xor     %edx, %edx
        mov     $8, %r10d
        syscall
        mov     $10, %eax               // mprotect
        mov     $page + 4096, %edi
        mov     $4096, %esi
        xor     %edx, %edx
        syscall
        mov     $word, %esi
        mov     $word, %edi
        mov     $one, %ebx
        xor     %ebp, %ebp
        xor     %r8d, %r8d
        xor     %r9d, %r9d
        xor     %r10d, %r10d
        xor     %r13d, %r13d
        xor     %r14d, %r14d
        xor     %r15d, %r15d

        mov     $60000, %ecx            // A: always the same direction
        call    turn

        mov     $1, %ebp                // B: every second time the other one
        mov     $60000, %ecx
        call    turn
        xor     %ebp, %ebp

        mov     $two, %ebx              // C: another function
        mov     $60000, %ecx
        call    turn
        mov     $one, %ebx

        mov     $20, %r12d              // D: a load faults
1:      mov     $page + 4096, %edi
        lea     (, %r12, 8), %rax
        sub     %rax, %rdi
        mov     $8, %r13d
        lea     3(%r12), %ecx
        call    turn
        dec     %r12d
        jnz     1b

        mov     $20, %r12d              // E: ret faults
1:      mov     $2048, %r14d
        sub     %rsp, %r14
        mov     $3, %ecx
        call    turn
        dec     %r12d
        jnz     1b

        mov     $10, %eax               // F: inc %r8 becomes inc %r9
        mov     $one, %edi
        mov     $4096, %esi
        mov     $3, %edx
        syscall
        movb    $0xc1, one + 2
        mov     $10, %eax
        mov     $5, %edx
        syscall
        mov     $word, %esi
        mov     $word, %edi
        mov     $60000, %ecx
        call    turn

        mov     $3, %r12d               // G: the function cannot be executed
1:      mov     $10, %eax
        mov     $one, %edi
        mov     $4096, %esi
        xor     %edx, %edx
        syscall
        mov     $word, %esi
        mov     $word, %edi
        mov     $3, %ecx
        call    turn
        dec     %r12d
        jnz     1b

        mov     $60000, %ecx            // H: as before the faults
        call    turn

        cmp     $90330, %r8
        jne     bad
        cmp     $180009, %r9
        jne     bad
        cmp     $30000, %r10
        jne     bad
        cmp     $270139, %r15
        jne     bad
        mov     $60, %eax
        xor     %edi, %edi
        syscall
bad:    mov     $60, %eax
        mov     $1, %edi
        syscall

turn:   mov     (%rsi), %rax
        test    %ecx, %ebp
        jnz     other
        add     %r13, %rdi
load:   add     (%rdi), %r15
        call    *%rbx
back:   dec     %ecx
        jnz     turn
        ret
other:  inc     %r10
        jmp     back
two:    inc     %r9
        add     %r14, %rsp
        ret

handler:
        mov     168(%rdx), %rax         // of the fault
        cmp     $load, %rax
        je      1f
        cmp     $one, %rax
        je      2f
        mov     88(%rdx), %rax          // r14: restores the stack
        sub     %rax, 160(%rdx)
        movq    $0, 88(%rdx)
        ret
1:      movq    $0, 80(%rdx)            // r13
        movq    $word, 104(%rdx)        // rdi
        xorb    $1, odd
        jz      3f
        addq    $3, 168(%rdx)
3:      ret
2:      mov     $10, %eax
        mov     $one, %edi
        mov     $4096, %esi
        mov     $5, %edx
        syscall
        ret
restorer:
        mov     $15, %eax
        syscall

        .balign 4096
one:    inc     %r8
        add     %r14, %rsp
        ret
        .balign 4096

        .data
        .balign 16
word:   .quad   1
action: .quad   handler, 0x4 | 0x04000000 | 0x08000000, restorer, 0 // SA_SIGINFO, RESTORER, ONSTACK
stack:  .quad   area, 0, 65536
odd:    .byte   0

        .bss
        .balign 4096
page:   .skip   8192
area:   .skip   65536
