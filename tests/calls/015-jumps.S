// SPDX-License-Identifier: MIT
//
// --collect-jumps=yes: the jumps within functions, by line of this file. `back`: mov, lea,
// ten rounds and ret. In each: mov, test, jnz; where rcx is odd jrcxz, which is never followed, jmp
// to the next instruction, nop, nop, loop: 8; where it is even nop, jmp to the table's 2nd entry,
// nop, loop: 7; loop is followed nine times. 2 + 5 * 8 + 5 * 7 + 1 = 78. `again`: three rounds of 3
// and ret. `hot`: jmp, which is a call of its cold part (nop, jmp), nop, nop, ret: 6.
//
// Callgrind takes the jump to the beginning of `again` for a call of that, and does not see the one
// to the next instruction.
//
// edge: _start back 1 78
// edge: _start again 1 10
// edge: _start hot 1 6
// edge: hot hot_cold 1 2
// jump: jcnd _start 33 35 1/1
// jump: jcnd back 46 49 5/10
// jump: jcnd back 53 44 9/10
// jump: jump back 48 52 5
// jump: jump back 50 51 5
// jump: jcnd again 59 57 2/3
// jump: jump hot_cold 73 67 1
        .text
        .globl  _start
        .type   _start, @function
_start: call    back
        xor     %eax, %eax
        call    again
        call    hot
        xor     %edi, %edi
        mov     $60, %eax
        cmp     %edi, %edi
        jz      1f
        nop
1:      syscall
        .size   _start, . - _start

        .data
table:  .quad   first, second
        .text
        .type   back, @function
back:   mov     $10, %ecx
        lea     table(%rip), %rbx
1:      mov     $1, %eax
        test    $1, %cl
        jnz     2f
        nop
        jmp     *(%rbx,%rax,8)
2:      jrcxz   first
        jmp     first
first:  nop
second: nop
        loop    1b
        ret
        .size   back, . - back
        .type   again, @function
again:  inc     %eax
        cmp     $3, %eax
        jne     again
        ret
        .size   again, . - again

        .type   hot, @function
hot:    jmp     hot_cold
        nop
        nop
back2:  nop
        nop
        ret
        .size   hot, . - hot
        .type   hot_cold, @function
hot_cold: nop
        jmp     back2
        .size   hot_cold, . - hot_cold
