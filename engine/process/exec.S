// SPDX-License-Identifier: MIT
// The exec of another image with the client's signal mask in force. A signal that arrives between
// the last look at `stop` and the system call would be noted by the handler and lost with this
// image: the handler asks exec_fixup() and continues at execcall_abort instead.
    .text

// long execcall(int dir, const char *path, const u64 *argv, u64 envp, int flags, const u64 *stop)
    .globl execcall, execcall_begin, execcall_end, execcall_abort
    .hidden execcall, execcall_begin, execcall_end, execcall_abort
    .type execcall, @function
execcall:
    mov %rcx, %r10
execcall_begin:
    cmpq $0, (%r9)
    jne execcall_abort
    mov $322, %eax // execveat
execcall_end:
    syscall
    ret
execcall_abort:
    mov $-513, %rax // -ERESTARTNOINTR
    ret
    .size execcall, . - execcall

    .section .note.GNU-stack, "", @progbits
