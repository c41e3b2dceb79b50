/* SPDX-License-Identifier: MIT */
/* Loads %gs, which may fault (selector.c). */
#include "engine/base/extable.h"

    .intel_syntax noprefix
    .text

/* int selector_load(u32 selector): 0, and the base is that of its segment; or -EFAULT, and nothing
 * is changed. */
    .globl selector_load
    .type selector_load, @function
selector_load:
1:  mov gs, edi
2:  xor eax, eax
    ret
3:  mov eax, -14
    ret
    FIXUP 1b, 2b, EXTABLE_FAULT, 3b

    .section .note.GNU-stack, "", @progbits
