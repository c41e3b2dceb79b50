// SPDX-License-Identifier: MIT
// Where the kernel enters the engine, and where `--native` leaves it. C code runs on a stack of the
// engine from its first instruction on: the initial stack is the client's, exactly as the kernel
// made it.
//
// Zero-initialized data (image.ld) is mapped here, without a stack: the stack is part of it.

#define SYS_MMAP 9
#define MAP_ZERO 0x32 // MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED

    .text

    .globl _start
    .hidden _start
    .type _start, @function
_start:
    xor %ebp, %ebp
    mov $SYS_MMAP, %eax
    lea launch_zeroed(%rip), %rdi
    lea launch_zeroed_end(%rip), %rsi
    sub %rdi, %rsi
    mov $3, %edx // PROT_READ | PROT_WRITE
    mov $MAP_ZERO, %r10d
    mov $-1, %r8
    xor %r9d, %r9d
    syscall
    cmp %rdi, %rax
    jne refused
    mov %rsp, %rdi // where argc is
    lea launch_stack_top(%rip), %rsp
    call launch_main
    hlt
refused:
    mov %rsp, %rdi // there will be no client: use its stack
    and $-16, %rsp
    call launch_refused
    hlt
    .size _start, . - _start

// _Noreturn void launch_native(u64 rsp, u64 rip): the state in which the kernel starts a program.
    .globl launch_native
    .hidden launch_native
    .type launch_native, @function
launch_native:
    mov %rdi, %rsp
    push %rsi
    xor %eax, %eax
    xor %ebx, %ebx
    xor %ecx, %ecx
    xor %edx, %edx
    xor %esi, %esi
    xor %edi, %edi
    xor %ebp, %ebp
    xor %r8d, %r8d
    xor %r9d, %r9d
    xor %r10d, %r10d
    xor %r11d, %r11d
    xor %r12d, %r12d
    xor %r13d, %r13d
    xor %r14d, %r14d
    xor %r15d, %r15d
    push $0x202 // FLAGS_INITIAL (base/cpu.h)
    popf
    ret // pops rip: rsp is as it was given
    .size launch_native, . - launch_native

    .bss
    .balign 64
    .skip 0x20000
launch_stack_top:

    .section .note.GNU-stack, "", @progbits
