// SPDX-License-Identifier: MIT
// The exec of another image with the client's signal mask in force. A signal that arrives between
// the last look at `stop` and the system call would be noted by the handler and lost with this
// image: the handler finds the range below and continues at its end instead.
#include "engine/base/extable.h"

    .text

// long execcall(int dir, const char *path, const u64 *argv, u64 envp, int flags, const u64 *stop)
    .globl execcall
    .hidden execcall
    .type execcall, @function
execcall:
    mov %rcx, %r10
1:
    cmpq $0, (%r9)
    jne 3f
    mov $322, %eax // execveat
    syscall
2:  ret
3:  mov $-513, %rax // -ERESTARTNOINTR
    ret
    .size execcall, . - execcall
    FIXUP 1b, 2b, EXTABLE_SIGNAL, 3b

    .section .note.GNU-stack, "", @progbits
