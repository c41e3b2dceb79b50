# SPDX-License-Identifier: MIT
#
# Walks through arguments, environment and auxiliary vector. The number of iterations follows from
# the strings, and from their addresses: of each the length, by 16 bytes at a time from an aligned
# address, and one round for each bit of its address that is set below bit 47.
    .intel_syntax noprefix
    .globl _start
_start:
    mov rbx, rsp
    mov rdi, rsp
    call bits                   # of the stack pointer
    add rbx, 8
    call strings                # argv
    call strings                # envp
1:  mov rdi, [rbx + 8]          # auxv: the value's bits, except identities
    mov rax, [rbx]
    test rax, rax
    jz 2f
    add rbx, 16
    lea rcx, [rax - 11]         # AT_UID, AT_EUID, AT_GID, AT_EGID
    cmp rcx, 3
    jbe 1b
    call bits
    jmp 1b
2:  mov eax, 60
    xor edi, edi
    syscall

# The pointers at rbx, up to 0.
strings:
    mov rdi, [rbx]
    add rbx, 8
    test rdi, rdi
    jz 3f
    call length
    call bits
    jmp strings
3:  ret

length:
    mov rsi, rdi
    and rsi, -16
    pxor xmm0, xmm0
    mov ecx, edi
    and ecx, 15
    movdqa xmm1, [rsi]
    pcmpeqb xmm1, xmm0
    pmovmskb eax, xmm1
    shr eax, cl
    test eax, eax
    jnz 5f
4:  add rsi, 16
    movdqa xmm1, [rsi]
    pcmpeqb xmm1, xmm0
    pmovmskb eax, xmm1
    test eax, eax
    jz 4b
5:  ret

bits:
    mov rax, rdi
    shl rax, 17
6:  test rax, rax
    jz 7f
    lea rcx, [rax - 1]
    and rax, rcx
    jmp 6b
7:  ret
