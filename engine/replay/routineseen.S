// SPDX-License-Identifier: MIT
// Which references of routines may be to a line that threads share, and are for C
// (objects/sharing.h): ZF. Called before routine_to_d1 of routine.S, with its registers; r10 and
// r11 change.
#include "engine/count/vector.h"
#include "engine/objects/sharing.h"
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text
    .globl routineseen_any, routineseen_other

    .type routineseen_any, @function
routineseen_any: // each, if there are threads
    cmp dword ptr [rip + sharing_off], 0
    ret

    .macro IF_WATCHED to // rdi: a line plus one, r8: its set
    .set way, 0
    .rept SHARING_WAYS
    cmp [r8 + way * 8], rdi
    je \to
    .set way, way + 1
    .endr
    .endm

// As routineseen_any, but for a line that this thread has had last, of all threads, which is not
// watched then; or one whose place in the table another line has, which becomes this thread's as in
// is_seen() of sharing.c.
    .type routineseen_other, @function
routineseen_other:
    cmp dword ptr [rip + sharing_off], 0
    jne 1f
    mov r11, [r12 + rcx * 8 + TA_D1_TAGS]
    add r11, rax
    mov edi, [rip + vector_sets + VS_D1_LOW]
    mov r10d, r11d
    and r10d, edi
    add r10d, edx
    dec r10d
    cmp r10d, edi
    ja 2f // two lines
    mov edi, [rip + vector_sets + VS_D1_SHIFT]
    shrx r11, r11, rdi
    mov rdi, r11
    shr rdi, SHARING_GROUP_BITS // sharing_seen_place()
    imul rdi, [rip + golden]
    shr rdi, 40
    shl edi, SHARING_GROUP_BITS
    mov r10d, r11d
    and r10d, (1 << SHARING_GROUP_BITS) - 1
    or edi, r10d
    and edi, SHARING_SEEN - 1
    mov r10d, [r12 + TH_NUMBER]
    and r10d, (1 << SHARING_THREAD_BITS) - 1
    shl r11, SHARING_THREAD_BITS
    or r10, r11
    mov r11, [rip + sharing_seen]
    lea r11, [r11 + rdi * 8]
    mov rdi, [r11]
    cmp rdi, r10
    jne 3f
    lea rdi, [r12 + TA_D1_HINTS]
    test r12, r12
1:  ret
3:  test rdi, rdi
    jz 2f // nobody's, as that of a line that is watched
    xor rdi, r10
    shr rdi, SHARING_THREAD_BITS
    jz 2f // another thread had the line
    mov rdi, [r12 + rcx * 8 + TA_D1_TAGS]
    add rdi, rax
    mov r8, rdi
    shr r8, 47
    jnz 4f // no user address: it might not fit
    mov r8d, [rip + vector_sets + VS_D1_SHIFT]
    shrx rdi, rdi, r8
    mov r8, rdi
    imul r8, [rip + golden] // sharing_set()
    shr r8, 40
    and r8d, SHARING_SETS - 1
    shl r8d, 5
    add r8, [rip + sharing_lines]
    inc rdi
    IF_WATCHED 4f
    xchg [r11], r10 // a barrier: who watches a line has it in its set first, and then looks here
    IF_WATCHED 5f
    lea rdi, [r12 + TA_D1_HINTS]
    lea r8, [r12 + TA_D1_STAMPS]
    ret
5:  mov qword ptr [r11], 0
4:  lea r8, [r12 + TA_D1_STAMPS]
2:  cmp edi, edi
    lea rdi, [r12 + TA_D1_HINTS]
    ret

    .section .rodata
    .balign 8
golden: // of sharing_seen_place() and sharing_set()
    .quad 0x9e3779b97f4a7c15

    .section .note.GNU-stack, "", @progbits
