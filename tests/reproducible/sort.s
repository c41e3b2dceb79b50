# SPDX-License-Identifier: MIT
#
# 2048 random numbers of the kernel, sorted by insertion, which takes as long as they are out of
# order; then those that AT_RANDOM gives, by their bits.
    .intel_syntax noprefix
    .globl _start
_start:
    mov rbx, rsp
    xor ebp, ebp
1:  lea rdi, [rip + numbers]    # 256 bytes are given at once, at any time
    add rdi, rbp
    mov esi, 256
    xor edx, edx
    mov eax, 318
    syscall
    cmp rax, 256
    jne fail
    add rbp, 256
    cmp rbp, 2048 * 8
    jb 1b
    lea rdi, [rip + numbers]
    mov ecx, 1
2:  mov rax, [rdi + rcx * 8]
    mov rdx, rcx
3:  mov rsi, [rdi + rdx * 8 - 8]
    cmp rsi, rax
    jbe 4f
    mov [rdi + rdx * 8], rsi
    dec rdx
    jnz 3b
4:  mov [rdi + rdx * 8], rax
    inc ecx
    cmp ecx, 2048
    jb 2b
    mov rcx, [rbx]              # after argv and envp
    lea rbx, [rbx + rcx * 8 + 16]
5:  add rbx, 8
    cmp qword ptr [rbx - 8], 0
    jne 5b
6:  mov rax, [rbx]
    add rbx, 16
    test rax, rax
    jz fail
    cmp rax, 25                 # AT_RANDOM
    jne 6b
    mov rax, [rbx - 8]
    mov rax, [rax]
7:  lea rcx, [rax - 1]
    and rax, rcx
    jnz 7b
    xor edi, edi
    jmp end
fail:
    mov edi, 1
end:
    mov eax, 60
    syscall

    .bss
    .balign 4096
numbers:
    .skip 2048 * 8
