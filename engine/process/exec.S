// SPDX-License-Identifier: MIT
// Executes another image with the client's signal mask in force. If a signal arrived between the
// check of `stop` and the system call, the handler would note it, and it would be lost with this
// image. So the handler recognizes the range below and continues at its end.
#include "engine/base/extable.h"

    .text

// long exec_call(int dir, const char *path, const u64 *argv, u64 envp, int flags, const u64 *stop)
    .globl exec_call
    .hidden exec_call
    .type exec_call, @function
exec_call:
    mov %rcx, %r10
1:
    cmpq $0, (%r9)
    jne 3f
    mov $322, %eax // execveat
    syscall
2:  ret
3:  mov $-513, %rax // -ERESTARTNOINTR
    ret
    .size exec_call, . - exec_call
    FIXUP 1b, 2b, EXTABLE_SIGNAL, 3b

    .section .note.GNU-stack, "", @progbits
