// SPDX-License-Identifier: MIT
//
// Four threads in sequence: the parent waits for each (CLONE_VFORK) and then sleeps for
// 10 ms, so the next can get the slot of the last. Each starts with empty caches and an empty
// predictor of its own, whatever the last thread of its slot has left; LL is shared.
//
// Ir: 2, then four times 7 to the system call, 8 after it in the parent and 9 in the thread, and 3
// at the end: 101. I1: the parent's code is in two lines; a thread runs in the first of these and
// in a third one: 2 + 4 * 2. D1: four lines, all missed by each thread: 16 reads. LL has the three
// lines of code and the four of data after the first thread.
// Branches: jz is executed 8 times, jnz 4. Of the parent's, the three jnz that are taken are wrong,
// each with another history (0, 10, 1010); of the threads', each jz is, taken with history 0.
//
// case: --I1=1024,1,64 --D1=2048,2,64 --LL=16384,4,64
// expect: Ir=101 I1mr=10 ILmr=3 Dr=16 D1mr=16 DLmr=4 Dw=0 D1mw=0 DLmw=0 Bc=12 Bcm=7 Bi=0 Bim=0
// about: replay-split

        .set    FLAGS, 0x14f00          // CLONE_VM, _FS, _FILES, _SIGHAND, _VFORK, _THREAD

        .section .bss
        .align  4096
field:  .fill   4096
        .fill   4096
stack:
        .section .rodata
        .align  8
pause:  .quad   0, 10000000

        .text
        .globl  _start
_start: lea     field(%rip), %rbx       // 7 bytes
        mov     $4, %r12d               // 6
next:   mov     $56, %eax               // 5: clone
        mov     $FLAGS, %edi            // 5
        lea     stack(%rip), %rsi       // 7
        xor     %edx, %edx              // 2
        xor     %r10d, %r10d            // 3
        xor     %r8d, %r8d              // 3
        syscall                         // 2: 40 bytes up to here
        test    %eax, %eax              // 2
        jz      thread                  // 2
        mov     $35, %eax               // 5: nanosleep
        lea     pause(%rip), %rdi       // 7
        xor     %esi, %esi              // 2
        syscall                         // 2
        sub     $1, %r12d               // 4: 64 bytes up to here
        jnz     next
        mov     $231, %eax              // exit_group
        xor     %edi, %edi
        syscall
        .align  64
thread: mov     (%rbx), %rax
        mov     64(%rbx), %rax
        mov     128(%rbx), %rax
        mov     192(%rbx), %rax
        mov     $60, %eax
        xor     %edi, %edi
        syscall
