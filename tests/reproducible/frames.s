# SPDX-License-Identifier: MIT
#
# A handler that is called within itself eight times: the address of each frame, and the size of its
# processor state, decide the number of iterations. Every line of every frame is read.
    .intel_syntax noprefix
    .globl _start
_start:
    xor r12d, r12d
    xor r13d, r13d              # depth
    mov r14, rsp
    mov eax, 13                 # rt_sigaction(SIGUSR1)
    mov edi, 10
    lea rsi, [rip + action]
    xor edx, edx
    mov r10d, 8
    syscall
    call raise
1:  dec r12
    jns 1b
    mov eax, 60
    xor edi, edi
    syscall

raise:
    mov eax, 39                 # getpid
    syscall
    mov edi, eax
    mov esi, 10
    mov eax, 62                 # kill
    syscall
    ret

handler:
    mov rdx, rsp                # the address
2:  test rdx, rdx
    jz 3f
    lea rcx, [rdx - 1]
    and rdx, rcx
    inc r12
    jmp 2b
3:  mov rdx, rsp                # the lines up to the frame before
4:  add r15, [rdx]
    add rdx, 64
    cmp rdx, r14
    jb 4b
    push r14
    mov r14, rsp
    inc r13
    cmp r13, 8
    jae 5f
    call raise
5:  pop r14
    mov r12, r12
    mov [rsp + 8 + 40 + 32], r12 # r12 of the frame: the count survives
    mov [rsp + 8 + 40 + 40], r13
    ret

restorer:
    mov eax, 15
    syscall

    .data
    .balign 8
action:
    .quad handler
    .quad 0x44000000            # SA_NODEFER | SA_RESTORER
    .quad restorer
    .quad 0
