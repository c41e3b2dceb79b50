# SPDX-License-Identifier: MIT
#
# The processor's identification: cpuid of each leaf up to the highest, with eight subleaves, xgetbv
# where it exists, rdtsc twice. Every bit affects the number of iterations.
    .intel_syntax noprefix
    .globl _start
_start:
    xor r12d, r12d
    xor r14d, r14d
    xor eax, eax
    xor ecx, ecx
    cpuid
    mov r13d, eax
    call leaves
    mov r14d, 0x80000000
    mov eax, r14d
    xor ecx, ecx
    cpuid
    mov r13d, eax
    call leaves
    mov eax, 1
    xor ecx, ecx
    cpuid
    bt ecx, 27
    jnc 1f
    xor ecx, ecx
    xgetbv
    call note
1:  rdtsc
    call note
    mov r15d, eax
    rdtsc
    sub eax, r15d
    call note
2:  dec r12
    jns 2b
    mov eax, 60
    xor edi, edi
    syscall

# From r14d to r13d.
leaves:
    xor ebp, ebp
3:  mov eax, r14d
    mov ecx, ebp
    cpuid
    call note
    mov eax, ebx
    call note
    mov eax, ecx
    call note
    mov eax, edx
    call note
    inc ebp
    cmp ebp, 8
    jb 3b
    xor ebp, ebp
    inc r14d
    cmp r14d, r13d
    jbe 3b
    ret

note:
    push rcx
    push rdx
4:  test eax, eax
    jz 5f
    lea ecx, [rax - 1]
    and eax, ecx
    inc r12
    jmp 4b
5:  pop rdx
    pop rcx
    ret
