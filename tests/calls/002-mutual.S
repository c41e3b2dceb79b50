// SPDX-License-Identifier: MIT
//
// Two functions that call each other. ping and pong: test, jz, dec, call, ret: 5, or 3 at 0.
// ping(3) calls pong(2), that ping(1), that pong(0): 5 + 5 + 5 + 3 = 18; pong(2) is 13, ping(1) 8,
// pong(0) 3.
//
// edge: _start ping 1 18
// edge: ping pong 2 16
// edge: pong ping 1 8
        .text
        .globl  _start
        .type   _start, @function
_start: mov     $3, %eax
        call    ping
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   ping, @function
ping:   test    %eax, %eax
        jz      1f
        dec     %eax
        call    pong
1:      ret
        .size   ping, . - ping
        .type   pong, @function
pong:   test    %eax, %eax
        jz      1f
        dec     %eax
        call    ping
1:      ret
        .size   pong, . - pong
