# SPDX-License-Identifier: MIT
#
# Memory by every call that allocates: mmap of many sizes, one moved by mremap, one in the place of
# one that was unmapped, the break. The number of iterations follows from the addresses.
    .intel_syntax noprefix
    .globl _start
_start:
    xor r12d, r12d              # bits set in all addresses
    mov ebx, 1                  # pages
1:  mov rsi, rbx
    shl rsi, 12
    call map
    mov r13, rax
    lea ebx, [rbx + rbx * 2]
    cmp ebx, 3000
    jb 1b
    mov rdi, r13                # the last, 2187 pages, becomes twice as large
    mov esi, 2187 * 4096
    mov edx, 4374 * 4096
    mov r10d, 1                 # MREMAP_MAYMOVE
    mov eax, 25
    syscall
    call note
    mov rdi, rax                # unmaps it; the next mapping gets its address
    mov esi, 4374 * 4096
    mov eax, 11
    syscall
    mov esi, 100 * 4096
    call map
    xor edi, edi
    mov eax, 12
    syscall
    call note
    lea rdi, [rax + 0x21000]
    mov r14, rax
    mov eax, 12
    syscall
    call note
    mov ecx, 0x21000 / 64       # a reference for each line of the break
2:  mov [r14], r12
    add r14, 64
    dec ecx
    jnz 2b
3:  dec r12
    jns 3b
    mov eax, 60
    xor edi, edi
    syscall

map:
    xor edi, edi
    mov edx, 3
    mov r10d, 0x22
    mov r8, -1
    xor r9d, r9d
    mov eax, 9
    syscall
    mov [rax], rax

# The bits of the address in rax.
note:
    mov rdx, rax
4:  test rdx, rdx
    jz 5f
    lea rcx, [rdx - 1]
    and rdx, rcx
    inc r12
    jmp 4b
5:  ret
