// SPDX-License-Identifier: MIT
//
// One function for each part of a machine beside its levels; tests/machine/parts says what each
// must count, and why.
    .globl _start
    .text
_start:
    // 64 pages of lines in order, one read each.
    .type walk, @function
walk:
    lea buffer(%rip), %rsi
    mov $4096, %ecx
1:  mov (%rsi), %al
    add $64, %rsi
    dec %ecx
    jnz 1b
    jmp back
    .size walk, .-walk

    // As many other lines, the last one first.
    .type back, @function
back:
    lea buffer+1048576(%rip), %rsi
    mov $4096, %ecx
1:  sub $64, %rsi
    mov (%rsi), %al
    dec %ecx
    jnz 1b
    jmp pages
    .size back, .-back

    // A line of each of 100 other pages, three times; all are in one set of D1.
    .type pages, @function
pages:
    mov $3, %edx
1:  lea buffer+1048576(%rip), %rsi
    mov $100, %ecx
2:  mov (%rsi), %al
    add $4096, %rsi
    dec %ecx
    jnz 2b
    dec %edx
    jnz 1b
    jmp spots
    .size pages, .-pages

    // Lines 10, 13 and 8 of each of 100 other pages.
    .type spots, @function
spots:
    lea buffer+1048576+409600(%rip), %rsi
    mov $100, %ecx
1:  mov 640(%rsi), %al
    mov 832(%rsi), %al
    mov 512(%rsi), %al
    add $4096, %rsi
    dec %ecx
    jnz 1b
    jmp returns
    .size spots, .-spots

    .type returns, @function
returns:
    mov $100, %edi
    call deep
    mov $100, %edi
    call deep
    mov $2, %edx
    jmp code
    .size returns, .-returns

    // Calls itself rdi - 1 times in a row, from three places in turn.
    .type deep, @function
deep:
    dec %edi
    jz 3f
    mov %edi, %eax
    xor %edx, %edx
    mov $3, %ecx
    div %ecx
    cmp $1, %edx
    je 1f
    ja 2f
    call deep
    ret
1:  call deep
    ret
2:  call deep
3:  ret
    .size deep, .-deep

    // 21 pages of code, twice; all their lines are in one set of I1.
    .balign 4096
    .type code, @function
code:
    .rept 20
    jmp .+4096
    .skip 4091
    .endr
    dec %edx
    jnz code
    .size code, .-code
    .type end, @function
end:
    mov $60, %eax
    xor %edi, %edi
    syscall
    .size end, .-end

    .bss
    .balign 4096
buffer:
    .skip 1048576 + 200 * 4096
