// SPDX-License-Identifier: MIT
//
// Returns that are no returns. by_ret pushes an address and returns to it: lea, push, ret, then
// goal: a call by jump: 3 + 2. thunk is the retpoline of compilers, which prevents speculation:
// call, mov, ret to the address in rax, which is a call, too: 3 + 2. drop removes its return
// address and returns to its caller's caller (add, ret: 2); between: call, which never returns: 1 +
// 2. replaced puts goal's address in the place of its own (lea, mov, ret: 3): it has ended, its
// caller has called goal, and goal returns there: last has no other caller.
//
// edge: _start between 1 3
// edge: _start by_ret 2 10
// edge: _start thunk 3 15
// edge: _start replaced 1 3
// edge: _start goal 1 2
// edge: _start last 1 1
// edge: between drop 1 2
// edge: by_ret goal 2 4
// edge: thunk goal 3 6
        .text
        .globl  _start
        .type   _start, @function
_start: call    by_ret
        call    by_ret
        lea     goal(%rip), %rax
        mov     $3, %ebp
1:      call    thunk
        dec     %ebp
        jnz     1b
        call    between
        lea     3f(%rip), %rax
        push    %rax
        call    replaced
        ud2
3:      call    last
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start
        .type   by_ret, @function
by_ret: lea     goal(%rip), %rbx
        push    %rbx
        ret
        .size   by_ret, . - by_ret
        .type   thunk, @function
thunk:  call    2f
        ud2
2:      mov     %rax, (%rsp)
        ret
        .size   thunk, . - thunk
        .type   goal, @function
goal:   nop
        ret
        .size   goal, . - goal
        .type   between, @function
between:
        call    drop
        ud2
        .size   between, . - between
        .type   drop, @function
drop:   add     $8, %rsp
        ret
        .size   drop, . - drop
        .type   replaced, @function
replaced:
        lea     goal(%rip), %rbx
        mov     %rbx, (%rsp)
        ret
        .size   replaced, . - replaced
        .type   last, @function
last:   ret
        .size   last, . - last
