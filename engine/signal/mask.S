/* SPDX-License-Identifier: MIT */
/* Setting the kernel's mask without a gap (mask.c). */
#include "engine/base/extable.h"

    .intel_syntax noprefix
    .text

/* long mask_try(const bool *closed, const u64 *mask): sets the kernel's mask and returns 1, unless
 * *closed: then 0. A signal that is noted between the test and the call closes the mask; the
 * handler sends the thread back to the test. */
    .globl mask_try
    .type mask_try, @function
mask_try:
    mov r8, rdi
    mov edi, 2 /* SIG_SETMASK */
    xor edx, edx
    mov r10d, 8
2:
    cmp byte ptr [r8], 0
    jne 1f
    mov eax, 14 /* rt_sigprocmask */
    syscall
3:  mov eax, 1
    ret
    FIXUP 2b, 3b, EXTABLE_SIGNAL, 2b
1:  xor eax, eax
    ret

    .section .note.GNU-stack, "", @progbits
