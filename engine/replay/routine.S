// SPDX-License-Identifier: MIT
// Enters and leaves generated routines (routine.c), calls C from them, and handles misses. In a
// routine:
//     rbx  the record            rbp  the clock
//     r12  the thread's area     r13  the branch history, times 128
//     r14  REPLAY_BASE               r15  the stack pointer at the record's beginning
//     rdi  D1's hints            rsi  its tags
//     r8   its stamps            r9   the bits of an address that number its hint
// All other registers are free. rsp is 8 above a multiple of 16.
#include "engine/count/vector.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/many.h"
#include "engine/objects/sharing.h"
#include "engine/thread/thread.h"

    .intel_syntax noprefix
    .text
    .globl routine_enter, routine_exit, routine_to_d1, routine_to_i1, routine_to_op, routine_to_next
    .globl routine_to_cond, routine_to_indirect, routine_to_learn
    .globl routine_to_ll, routine_to_cold, routine_sampled
    .globl routine_drain, routine_late_drain, routine_avx2_drain, routine_waits_drain
    .globl routine_begin_frame, routine_end_frame, routine_renew_frame, routine_objects_at

    .macro STATE_OUT
    mov [r12 + TH_CLOCK], rbp
    mov [r12 + TH_HIST], r13
    mov [r12 + TH_REPLAY_SP], r15
    .endm

    .macro TABLES
    lea rdi, [r12 + TA_D1_HINTS]
    lea rsi, [r12 + TA_D1_TAGS]
    lea r8, [r12 + TA_D1_STAMPS]
    mov r9d, [rip + routine_mask]
    .endm

    .macro D1_NOT_HELD // C may have changed the tags that are held in zmm8 and zmm9
    mov dword ptr [r12 + TA_D1_LAST], -1
    .endm

// Calls \to(thread, esi, edx, rax).
    .macro CALL_WITH_ADDRESS to
    mov [r12 + TH_CLOCK], rbp
    mov rdi, r12
    mov rcx, rax
    call \to
    mov rbp, [r12 + TH_CLOCK]
    TABLES
    .endm

    .macro STATE_IN
    TABLES
    D1_NOT_HELD
    mov rbp, [r12 + TH_CLOCK]
    mov r13, [r12 + TH_HIST]
    mov r15, [r12 + TH_REPLAY_SP]
    .endm

// Calls \to, which returns the code and the record to go on with. Goes there.
    .macro CALL_FOR_NEXT to
    sub rsp, 8
    call \to
    add rsp, 8
    STATE_IN
    mov rbx, rdx
    jmp rax
    .endm

// const u64 *routine_enter(struct thread *t, const u64 *record, u64 routine): returns the end of
// the last record.
    .type routine_enter, @function
routine_enter:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov r12, rdi
    mov rbx, rsi
    movabs r14, REPLAY_BASE
    STATE_IN
    jmp rdx

    .type routine_exit, @function
routine_exit: // jumped to
    STATE_OUT
    mov rax, rbx
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret

    .type routine_to_d1, @function
routine_to_d1: // called. rax: address less the tag of way rcx; edx: size; esi: counter
    add rax, [r12 + rcx * 8 + TA_D1_TAGS]
    CALL_WITH_ADDRESS interpret_d1
    D1_NOT_HELD
    ret

    .type routine_sampled, @function
routine_sampled: // called. rax, rcx, edx: as for routine_to_d1. ZF: it is for C (count/curve.h)
    mov r11, [r12 + rcx * 8 + TA_D1_TAGS]
    add r11, rax
    mov edi, r11d
    and edi, 63
    add edi, edx
    cmp edi, 64
    ja 1f
    shr r11, 6 // sim_curve_samples()
    mov rdi, r11
    shr rdi, 5
    imul rdi, [rip + golden]
    shr rdi, 59
    xor edi, r11d
    and edi, 31
    lea rdi, [r12 + TA_D1_HINTS]
    ret
1:  cmp edi, edi // two lines
    lea rdi, [r12 + TA_D1_HINTS]
    ret

    .type routine_to_i1, @function
routine_to_i1: // called. rax: an instruction in one line; edx: id of that; esi: counter
    CALL_WITH_ADDRESS interpret_i1
    ret

    .type routine_to_cond, @function
routine_to_cond: // called. rax: address of a conditional branch; edx: taken; esi: counter
    CALL_WITH_ADDRESS interpret_cond
    ret

    .type routine_to_indirect, @function
routine_to_indirect: // called. rax: target; rdx: address of an indirect branch; esi: counter
    CALL_WITH_ADDRESS interpret_target
    ret

    .type routine_to_learn, @function
routine_to_learn: // called. esi: offset of the struct record_op of a fetch in the area
    mov rdi, r12
    add rsi, r14
    call interpret_learn_fetch
    TABLES
    ret

    .type routine_to_op, @function
routine_to_op: // called. esi: offset of the struct record_op in the area
    STATE_OUT
    mov rdi, r12
    add rsi, r14
    mov rdx, rbx
    call interpret_op
    STATE_IN
    ret

    .type routine_to_ll, @function
routine_to_ll: // called by what a routine calls. Drains the LL batch
    STATE_OUT
    push rbx
    mov rdi, r12
    call ll_drain_batch
    pop rbx
    STATE_IN
    ret

    .type routine_drain, @function
routine_drain: // the same, one call further from the routine; keeps rcx and r10
    push rcx
    push r10
    sub rsp, 8
    call routine_to_ll
    add rsp, 8
    pop r10
    pop rcx
    ret

    .macro MANY_IS_FULL // AE: it is. Changes rcx
    mov rcx, [r12 + TA_MANY_END]
    sub rcx, r12
    cmp rcx, TA_MANY + MANY_FULL
    .endm

    .type routine_waits_drain, @function
routine_waits_drain: // as routine_drain, at any call; what has missed waits for its object
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], LL_BATCH_OWN
    jne routine_drain
    push rcx
    push r10
    lea rdi, [r12 + TA_LL]
    mov rsi, [r12 + TH_LL]
    mov rdx, [r12 + TH_MISSES]
    lea rcx, [r12 + TA_MANY_END]
    call vector_waits64
    cmp rax, [r12 + TH_LL]
    jne 1f // it stopped at a reference without a narrow tag
    lea rax, [r12 + TA_LL]
    mov [r12 + TH_LL], rax
    MANY_IS_FULL
    jb 2f
    mov rdi, r12
    call many_full
2:  pop r10
    pop rcx
    TABLES
    ret
1:  pop r10
    pop rcx
    jmp routine_drain

    .type routine_objects_at, @function
routine_objects_at: // called. rbx: the record RECORD_OBJECTS; then two words before its end
    mov rdi, r12
    mov rsi, rbx
    call many_event
    mov eax, eax // a u32: the upper half is not defined
    lea rbx, [rbx + rax * 8 - 16]
    TABLES
    ret

// Of a frame, all totals of misses in one vector. rax: the totals, rcx: the frame's complements of
// them.
    .type routine_begin_frame, @function
routine_begin_frame:
    vmovdqu64 zmm1, zmmword ptr [rax]
    vpternlogq zmm1, zmm1, zmm1, 0x55 // the complement
    vmovdqu64 zmmword ptr [rcx], zmm1
    ret

// The same; adds the growth to the counters at r10. _renew_: the frame starts anew.
    .type routine_end_frame, @function
routine_end_frame:
    vmovdqu64 zmm1, zmmword ptr [rax]
    vpternlogq zmm2, zmm2, zmmword ptr [rcx], 0x55
    vpsubq zmm2, zmm1, zmm2
75: kmovd k1, dword ptr [rip + routinecalls_events]
    vpaddq zmm2 {k1}{z}, zmm2, zmmword ptr [r10]
    vmovdqu64 zmmword ptr [r10] {k1}, zmm2
    ret
    .type routine_renew_frame, @function
routine_renew_frame:
    vmovdqu64 zmm1, zmmword ptr [rax]
    vpternlogq zmm2, zmm2, zmmword ptr [rcx], 0x55
    vpsubq zmm2, zmm1, zmm2
    vpternlogq zmm1, zmm1, zmm1, 0x55
    vmovdqu64 zmmword ptr [rcx], zmm1
    jmp 75b

// In place of routinecalls.note, which keeps rax, and for what follows a frame's end, where the
// state is a second one. rcx: the frame's address, r10: its first counter.
    .globl routine_ahead_note, routine_ahead_left, routine_ahead_back
    .type routine_ahead_note, @function
routine_ahead_note:
    push rax
    mov rdi, r12
    call ahead_note
    pop rax
    TABLES
    ret
    .type routine_ahead_left, @function
routine_ahead_left:
    mov rdi, r12
    mov rsi, rcx
    mov edx, r10d
    call ahead_left
    TABLES
    ret
    .type routine_ahead_back, @function
routine_ahead_back:
    mov rdi, r12
    mov rsi, rcx
    call ahead_back
    TABLES
    ret

    .type routine_to_next, @function
routine_to_next: // jumped to, at a record's end. esi: offset of the struct routine_tail
    STATE_OUT
    mov rdi, r12
    add rsi, r14
    mov rdx, rbx
    CALL_FOR_NEXT routine_next

    .type routine_to_cold, @function
routine_to_cold: // jumped to, at a record that has no routine
    STATE_OUT
    mov rdi, r12
    mov rsi, rbx
    CALL_FOR_NEXT routine_cold

// -- misses of routines, with their registers --
//
// Caches have at most 16 ways. vector_sets describes them; a set of LL is prefetched while that of
// the L1 is searched.
//
// When a set is filled, its next victim is found and noted with its stamp: the note is right as
// long as the victim still has that stamp, because other stamps only grow. So a miss knows at once
// where it stores. When it searched the stamps first, all loads of the references after it waited
// for that: 90 cycles for each miss of D1 in a program that multiplies matrices, none of which
// missed LL.

// Restores the registers that misses use: r14, too.
    .macro BASE_AND_TABLES
    movabs r14, REPLAY_BASE
    TABLES
    .endm

    .macro RETURN
    movabs r14, REPLAY_BASE
    ret
    .endm

// xmm1 := the least stamp of the set whose first way is rdi, with the way in its low bits. k1, k2:
// masks of the ways to consider.
    .macro LEAST16 stamps
    vpternlogd zmm1, zmm1, zmm1, 0xff
    vpternlogd zmm2, zmm2, zmm2, 0xff
    vmovdqa64 zmm3, zmmword ptr [rip + vector_ways]
    vporq zmm1 {k1}, zmm3, zmmword ptr [r12 + rdi * 8 + \stamps]
    vpaddq zmm3, zmm3, qword ptr [rip + vector_eight] {1to8}
    vporq zmm2 {k2}, zmm3, zmmword ptr [r12 + rdi * 8 + \stamps + 64]
    vpminuq zmm1, zmm1, zmm2
    LEAST_OF_8
    .endm

// k1, k2 := the low 16 bits of the mask \ways in vector_sets.
    .macro MASK16 ways
    kmovw k1, word ptr [rip + vector_sets + \ways]
    kmovw k2, word ptr [rip + vector_sets + \ways + 1]
    .endm

// e\way := the way to fill in the set whose first way is \first, from r14, the victim noted for it.
// To 66 if that way has been used since.
    .macro NOTED_VICTIM way, first, stamps
    mov e\way, r14d
    and e\way, 31
    add e\way, \first
    and r14, -32
    cmp r14, [r12 + r\way * 8 + \stamps]
    jne 66f
    .endm

// \way := the way whose number is in xmm1, in the set whose first way is \first. Back to 65.
    .macro FOUND_VICTIM way, first
    vmovd \way, xmm1
    and \way, 31
    add \way, \first
    jmp 65b
    .endm

// edi: a set's first way, r9: address of the note of its next victim, r14: that note. ecx := the
// way to fill, whose stamp becomes the clock. Notes the next victim.
    .macro VICTIM stamps, ways
    NOTED_VICTIM cx, edi, \stamps
65: mov edx, ecx
    sub edx, edi
    mov r14d, [rip + vector_sets + \ways]
    btr r14d, edx
    kmovd k1, r14d
    shr r14d, 8
    kmovd k2, r14d
    LEAST16 \stamps
    vmovq [r9], xmm1
    mov [r12 + rcx * 8 + \stamps], rbp
    jmp 67f
66: MASK16 \ways // the noted victim has been used since
    LEAST16 \stamps
    FOUND_VICTIM ecx, edi
67:
    .endm

// rax: address. Prefetches its set of LL where that is found at once and simulated soon; the first
// set never. Changes edx.
    .macro LL_PREFETCH
    mov edx, eax
    and edx, [rip + vector_sets + VS_AT_MISS_MASK]
    jz .Lprefetched\@
    add rdx, [rip + vector_sets + VS_LL_TAGS]
    prefetchw [rdx]
.Lprefetched\@:
    .endm

// The same; to `wide` if LL has been widened.
    .macro LL_SET wide
    cmp qword ptr [rip + vector_sets + VS_LL_TAGS], 0
    je \wide
    LL_PREFETCH
    .endm

// Counts an L1 miss. esi: its counter; r14 := address of the counter of LL misses. r11 := with
// --calls=yes the address of the total of L1 misses, which LL's follows; else 0.
    .macro L1_MISSED
    mov rcx, [r12 + TH_MISSES]
    inc qword ptr [rcx + rsi * 8]
    lea r14, [rcx + rsi * 8 + 8]
    mov r11, [rip + vector_sets + VS_OWNER]
    test r11, r11
    jz 70f
    movzx r11d, byte ptr [r11 + rsi]
    add r11, [rip + vector_sets + VS_TOTALS]
    lea r11, [rcx + r11 * 8]
    inc qword ptr [r11]
70:
    .endm

// rax: 1 if LL has missed, else 0. Counts it and returns.
    .macro LL_COUNT
    add [r14], rax
    test r11, r11
    jz 71f
    add [r11 + 8], rax
71: BASE_AND_TABLES
    ret
    .endm

// Appends a reference at rax to the LL batch. \end := the batch's end.
    .macro LL_APPEND end, counter
    mov \end, [r12 + TH_LL]
    mov [\end], rax
    mov [\end + 8], \counter
    add \end, 16
    .endm

// r10: the end of the LL batch. Returns.
    .macro LL_APPENDED
    mov [r12 + TH_LL], r10
    test [rip + vector_sets + VS_LL_BATCH], r10d
    jz routine_ll
    BASE_AND_TABLES
    ret
    .endm

// eax := 1 if the line of address rax misses LL, else 0. Changes r8, r10, rcx, rdi.
    .macro LL_ORDER
    push r11
    mov rdi, rax
    call vector_refer
    pop r11
    .endm

// With --calls=yes: frames that have not noted the totals do (routinecalls.h). Keeps rax, rsi and,
// if it is given, \other.
    .macro LATE_NOTED other
    mov rcx, [r12 + TH_LATE_TOP]
    cmp rcx, [r12 + TH_LATE_LAST]
    je .Lnoted\@
    push rsi
    .ifnb \other
    push \other
    push \other // for the alignment
    .endif
    call [rip + routinecalls_note]
    .ifnb \other
    pop \other
    pop \other
    .endif
    pop rsi
.Lnoted\@:
    .endm

// rax: address, below 2^47; esi: counter of the L1's misses. Returns. Appends the
// reference to the LL batch (ll.h); without a batch (--calls=yes) simulates it.
    .macro LL_REFERENCE
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], 0
    jne 68f
    L1_MISSED
    LL_ORDER
    LL_COUNT
68: LATE_NOTED
    LL_APPEND r10, rsi // size 0: within a line
    LL_APPENDED
    .endm

// jumped to: the LL batch is full. The small batch of a single thread is drained here; its sets
// have been prefetched meanwhile. Each reference is marked when it is done, since the thread may be
// killed here.
    .type routine_ll, @function
routine_ll:
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], LL_BATCH_SHARED
    je 6f
    cmp dword ptr [r12 + TH_IS_AHEAD], 0
    jne 8f
    cmp qword ptr [rip + vector_sets + VS_LL_TAGS], 0
    je 6f
    lea rdi, [r12 + TA_LL]
    mov rsi, [r12 + TH_LL]
    mov rdx, [r12 + TH_MISSES]
    cmp byte ptr [rip + many_wait], 0
    jne 7f
    call vector_waiting64
5:  cmp rax, [r12 + TH_LL]
    jne 6f // it stopped at a reference without a narrow tag
    lea r14, [r12 + TA_LL]
    mov [r12 + TH_LL], r14
    BASE_AND_TABLES
    ret
6:  mov rdi, r12
    call ll_full
    BASE_AND_TABLES
    ret
7:  lea rcx, [r12 + TA_MANY_END]
    call vector_waits64
    MANY_IS_FULL
    jb 5b
    cmp rax, [r12 + TH_LL]
    jne 6b
    lea r14, [r12 + TA_LL]
    mov [r12 + TH_LL], r14
    mov rdi, r12
    call many_full
    BASE_AND_TABLES
    ret

8:  cmp word ptr [r12 + TH_LL], 0 // a second state has a list, whose end is at a multiple of 64 KiB
    je 6b
    BASE_AND_TABLES
    ret

    .globl routine_miss_d1, routine_miss_d1_used, routine_miss_i1, routine_miss_i1_two

// As routine_to_d1. used: some lines are followed, and are for C (objects/lineuse.h).
    .macro REF_D1 used
    add rax, [r12 + rcx * 8 + TA_D1_TAGS]
    mov edi, [rip + vector_sets + VS_D1_LOW]
    mov ecx, edi
    and ecx, eax
    add ecx, edx
    dec ecx
    cmp ecx, edi
    ja 5f // straddles two lines
    mov rcx, rax
    shr rcx, 47
    jnz 8f // no user address: its LL tag might not fit 32 bits
    andn r8, rdi, rax
    mov ecx, [rip + vector_sets + VS_D1_SHIFT]
    shrx r11, rax, rcx
    mov edi, r11d
    and edi, [rip + vector_sets + VS_D1_MASK]
    lea r9, [r12 + rdi * 8 + TA_D1_NEXT]
    mov r14, [r9]
    imul edi, [rip + vector_sets + VS_D1_STRIDE]
    and r11d, VS_HINTS - 1
    .if \used
    mov rcx, [r12 + TH_LINEUSE]
    cmp byte ptr [rcx + r11], 0
    jne 8f
    .endif
    MASK16 VS_D1_WAYS
    vpbroadcastq zmm0, r8
    vpcmpeqq k3 {k1}, zmm0, zmmword ptr [r12 + rdi * 8 + TA_D1_TAGS]
    vpcmpeqq k4 {k2}, zmm0, zmmword ptr [r12 + rdi * 8 + TA_D1_TAGS + 64]
    kortestw k3, k4
    jz 7f
    kunpckbw k3, k4, k3
    kmovw ecx, k3
    tzcnt ecx, ecx
    add ecx, edi
    mov [r12 + rcx * 8 + TA_D1_STAMPS], rbp
    mov [r12 + r11 * 2 + TA_D1_HINTS], cx
    BASE_AND_TABLES
    ret
    // Both lines may be where the hints say: they are in different sets, and may share a stamp.
5:  cmp dword ptr [rip + vector_sets + VS_D1_MASK], 0
    je 8f
    mov ecx, [rip + vector_sets + VS_D1_SHIFT]
    andn r8, rdi, rax
    lea r9, [rax + rdx - 1]
    andn r9, rdi, r9
    shrx r10, r8, rcx
    shrx r11, r9, rcx
    and r10d, VS_HINTS - 1
    and r11d, VS_HINTS - 1
    movzx r10d, word ptr [r12 + r10 * 2 + TA_D1_HINTS]
    movzx r11d, word ptr [r12 + r11 * 2 + TA_D1_HINTS]
    cmp r8, [r12 + r10 * 8 + TA_D1_TAGS]
    jne 8f
    cmp r9, [r12 + r11 * 8 + TA_D1_TAGS]
    jne 8f
    mov [r12 + r10 * 8 + TA_D1_STAMPS], rbp
    mov [r12 + r11 * 8 + TA_D1_STAMPS], rbp
    TABLES
    ret
7:
    .if \used
    mov rcx, [r12 + TH_LINEUSE]
    cmp dword ptr [rcx + LINEUSE_LEFT], 1
    je 8f // this one is to be followed
    .endif
    LL_SET 8f // changes neither rcx nor, where it jumps, edx
    .if \used
    dec dword ptr [rcx + LINEUSE_LEFT]
    .endif
    VICTIM TA_D1_STAMPS, VS_D1_WAYS
    mov [r12 + rcx * 8 + TA_D1_TAGS], r8
    mov [r12 + r11 * 2 + TA_D1_HINTS], cx
    D1_NOT_HELD
    LL_REFERENCE
8:  movabs r14, REPLAY_BASE
    xor ecx, ecx
    sub rax, [r12 + TA_D1_TAGS]
    jmp routine_to_d1
    .endm

    .type routine_miss_d1, @function
routine_miss_d1:
    REF_D1 0

    .type routine_miss_d1_used, @function
routine_miss_d1_used:
    REF_D1 1

// Puts the line \id into \way of I1; the line that was there loses its hint. Changes \old.
    .macro I1_REPLACE way, id, old, old64
    mov \old, [r12 + \way * 4 + TA_I1_TAGS]
    mov [r12 + \way * 4 + TA_I1_TAGS], \id
    cmp \old, TA_I1_IDS // lines with larger ids have no hints
    jae 72f
    mov word ptr [r12 + \old64 * 2 + TA_I1_HINTS], 0
72:
    .endm

// r8d: id of a line that is not in I1, rax: an address in it. Fills it.
    .macro I1_FILL wide
    mov ecx, [rip + vector_sets + VS_I1_SHIFT]
    shrx rdi, rax, rcx
    and edi, [rip + vector_sets + VS_I1_MASK]
    lea r9, [r12 + rdi * 8 + TA_I1_NEXT]
    mov r14, [r9]
    imul edi, [rip + vector_sets + VS_I1_ASSOC]
    LL_SET \wide
    VICTIM TA_I1_STAMPS, VS_I1_WAYS
    I1_REPLACE rcx, r8d, edx, rdx
    inc ecx
    mov [r12 + r8 * 2 + TA_I1_HINTS], cx
    .endm

// rax: address of an instruction in one line, edx: id of that, which is not in I1; esi: counter.
    .type routine_miss_i1, @function
routine_miss_i1:
    mov r8d, edx
    I1_FILL 8f
    LL_REFERENCE
8:  movabs r14, REPLAY_BASE
    mov edx, r8d
    jmp routine_to_i1

// As routine_miss_i1, for an instruction that begins in the line fetched last and ends in line edx.
// edi: its size - 1; r11d: offset of its struct record_op in the area. One miss, but LL is
// referenced for both lines.
    .type routine_miss_i1_two, @function
routine_miss_i1_two:
    cmp qword ptr [rip + vector_sets + VS_LL_TAGS], 0
    je 8f
    push rax
    lea r11d, [rdi + 1]
    mov r8d, edx
    add rax, rdi
    I1_FILL 9f
9:  cmp dword ptr [rip + vector_sets + VS_LL_BATCH], 0
    jne 6f
    L1_MISSED
    xchg rax, [rsp]
    LL_ORDER
    xchg rax, [rsp]
    LL_ORDER
    pop rcx
    or rax, rcx
    LL_COUNT
6:  pop rax
    LL_SET 5f
5:  LATE_NOTED r11
    LL_APPEND r10, rsi
    or [r10 - 4], r11d // beside what rsi says of a fetch
    LL_APPENDED
8:  mov esi, r11d
    jmp routine_to_op

// -- the same where each set of LL is one vector, and each set of the L1s one or two --
//
// r10d is the counter. r14, rax, rcx, rdx and r11 are free; all other registers keep the values
// that routines have there.

// xmm1 := the least stamp of the ways in the row at r11. rcx: the first way.
    .macro LEAST ways, stamps
    vmovdqa64 zmm1, zmmword ptr [r11]
    vporq zmm1, zmm1, zmmword ptr [r12 + rcx * 8 + \stamps]
    .if \ways == 16
    vmovdqa64 zmm2, zmmword ptr [r11 + 64]
    vporq zmm2, zmm2, zmmword ptr [r12 + rcx * 8 + \stamps + 64]
    vpminuq zmm1, zmm1, zmm2
    .endif
    LEAST_OF_8
    .endm

// rcx: a set's first way, r14: the victim noted for it; edx := the way to fill.
    .macro FILL_BEGIN stamps
    NOTED_VICTIM dx, ecx, \stamps
65:
    .endm
    .macro FILL_COLD ways, stamps // the noted victim has been used since
66: mov r14, r11
    lea r11, [rip + vector_other_ways + 16 * 128]
    LEAST \ways, \stamps
    mov r11, r14
    FOUND_VICTIM edx, ecx
    .endm

// edx: the way that is filled, whose stamp becomes the clock. Notes the next victim, appends rax to
// the LL batch, and returns. log: of the ways from set to set.
    .macro FILL_END ways, log, stamps, next
    mov r14d, edx
    sub r14d, ecx
    shl r14d, 7
    lea r11, [rip + vector_other_ways]
    add r11, r14
    LEAST \ways, \stamps
    mov [r12 + rdx * 8 + \stamps], rbp
    .if \log == 4
    shr ecx, 1
    .elseif \log == 2
    add ecx, ecx
    .endif
    vmovq [r12 + rcx + \next], xmm1
    LL_BATCH
    RETURN
    .endm

// Appends rax to the LL batch. To LL_JUMP's target if the batch is full; with LATE to routine_late
// if frames have to note totals before.
    .macro LL_BATCH
    .if LATE
    mov rcx, [r12 + TH_LATE_TOP]
    cmp rcx, [r12 + TH_LATE_LAST]
    jne routine_late
    .endif
    LL_APPEND rcx, r10
    mov [r12 + TH_LL], rcx
    test [rip + vector_sets + VS_LL_BATCH], ecx
    LL_JUMP
    .endm
    .macro LL_JUMP
    jz routine_ll
    .endm

// rax := address of a data reference. To 8 if it straddles two lines. Changes r11.
    .macro D1_ADDRESS
    add rax, [rsi + rcx * 8]
    lea r11d, [rax + rdx - 1]
    xor r11d, eax
    cmp r11d, [rip + vector_sets + VS_D1_LOW]
    ja 8f
    .endm

    .macro D1_PUT // the line xmm0 into way edx; r11: number of its hint
    mov [rdi + r11 * 2], dx
    vmovq [rsi + rdx * 8], xmm0
    .endm

    .macro D1_FILL ways, log
    LL_PREFETCH
    FILL_BEGIN TA_D1_STAMPS
    D1_PUT
    FILL_END \ways, \log, TA_D1_STAMPS, TA_D1_NEXT
    FILL_COLD \ways, TA_D1_STAMPS
    .endm

    .macro D1_FOUND // edx: mask of the way that has the line, rcx: the set's first way. Returns
    tzcnt edx, edx
    add edx, ecx
    mov [r8 + rdx * 8], rbp
    mov [rdi + r11 * 2], dx
    RETURN
    .endm

// Compares the tag zmm0 with \low and, of 16 ways, \high. NZ: found, at k3 and k4.
    .macro D1_COMPARE ways, low, high
    vpcmpeqq k3, zmm0, \low
    .if \ways == 16
    vpcmpeqq k4, zmm0, \high
    kortestw k3, k4
    .else
    kortestw k3, k3
    .endif
    .endm

    .macro I1_PUT // the line r11d into way edx. Changes r14
    I1_REPLACE rdx, r11d, r14d, r14
    lea r14d, [rdx + 1]
    mov [r12 + r11 * 2 + TA_I1_HINTS], r14w
    .endm

    .macro I1_FILL_WAY ways, log
    FILL_BEGIN TA_I1_STAMPS
    I1_PUT
    FILL_END \ways, \log, TA_I1_STAMPS, TA_I1_NEXT
    FILL_COLD \ways, TA_I1_STAMPS
    .endm

// A set that misses repeatedly, as where a program walks down a column of a matrix: each search for
// a victim would wait until the store of the miss before is in the host's cache. Here all ways are
// sorted at once, into 32 bytes for each set: the ways, the least recent last; the clock; the
// number of ways left. A way with an earlier stamp has not been used since. When none is left, one
// comparison tells whether the ways are still in that order, as they are if nothing in the set was
// used twice; else they are sorted again.
//
// The tags of that set are held in zmm8 and zmm9, which nothing else uses: a miss stores a part of
// a vector, and the next could not load the whole vector before the store is in the host's cache.
// TA_D1_LAST says which set is held; with D1_LAST_ONCE, that it had the last miss and is not held.
//
// rcx: the set's first way, edx := the way to fill. Changes r9 and r14.
    .set D1_LAST_ONCE, 0x40000000
    .macro FILL_IN_ORDER ways
    // Literal scales: clang takes no notice of an index whose scale is an expression.
    .if \ways == 8
    lea r14, [r12 + rcx * 4 + TA_D1_ORDER]
    .else
    lea r14, [r12 + rcx * 2 + TA_D1_ORDER]
    .endif
64: mov edx, [r14 + 24]
    dec edx
    js 66f
    mov [r14 + 24], edx
    movzx edx, byte ptr [r14 + rdx]
    add edx, ecx
    mov r9, [r12 + rdx * 8 + TA_D1_STAMPS]
    cmp r9, [r14 + 16]
    jae 64b
    .endm
    .macro FILL_IN_ORDER_COLD ways
66: mov [r14 + 16], rbp
    MASK16 VS_D1_WAYS
    vmovdqa64 zmm1, zmmword ptr [rip + vector_ways]
    .if \ways == 16
    vpaddq zmm2, zmm1, qword ptr [rip + vector_eight] {1to8}
    vporq zmm2, zmm2, zmmword ptr [r12 + rcx * 8 + TA_D1_STAMPS + 64]
    .endif
    vporq zmm1, zmm1, zmmword ptr [r12 + rcx * 8 + TA_D1_STAMPS]
    // If only misses have used the ways, their order has not changed.
    vpmovzxbq zmm3, qword ptr [r14]
    .if \ways == 16
    vpmovzxbq zmm4, qword ptr [r14 + 8]
    vpermi2q zmm3, zmm1, zmm2
    vpermi2q zmm4, zmm1, zmm2
    valignq zmm5, zmm4, zmm3, 1
    valignq zmm6, zmm4, zmm4, 1
    vpcmpuq k3, zmm3, zmm5, 2 // not later than the next one
    vpcmpuq k4, zmm4, zmm6, 2
    kunpckbw k3, k4, k3
    .else
    vpermq zmm3, zmm3, zmm1
    valignq zmm5, zmm3, zmm3, 1
    vpcmpuq k3, zmm3, zmm5, 2
    .endif
    kmovw edx, k3
    shl edx // the last way has no next one
    test [rip + vector_sets + VS_D1_WAYS], edx
    jz 67f
    .if \ways == 16
    vmovdqa64 zmmword ptr [r12 + TA_D1_ORDERED + 64], zmm2
    .endif
    vmovdqa64 zmmword ptr [r12 + TA_D1_ORDERED], zmm1
    .set way, 0
    .rept \ways
    .if way >= 9 // those behind the last way have the latest stamp, and no place
    cmp dword ptr [rip + vector_sets + VS_D1_ASSOC], way
    jbe 67f
    .endif
    vpcmpuq k3 {k1}, zmm1, qword ptr [r12 + TA_D1_ORDERED + 8 * way] {1to8}, 6 // the ways after it
    .if \ways == 16
    vpcmpuq k4 {k2}, zmm2, qword ptr [r12 + TA_D1_ORDERED + 8 * way] {1to8}, 6
    kunpckbw k3, k4, k3
    .endif
    kmovw edx, k3
    popcnt edx, edx
    mov byte ptr [r14 + rdx], way
    .set way, way + 1
    .endr
67: mov edx, [rip + vector_sets + VS_D1_ASSOC]
    mov [r14 + 24], edx
    jmp 64b
    .endm

    .macro D1_COUNT_DOWN used // misses up to the next line that is followed. Changes edx
    .if \used
    mov rdx, [r12 + TH_LINEUSE]
    dec dword ptr [rdx + LINEUSE_LEFT]
    .endif
    .endm

// used: some lines are followed. What is not expected goes to \other.
    .macro MISS_D1 ways, log, name, other, used
    .globl \name
    .type \name, @function
\name: // as routine_to_d1
    D1_ADDRESS
    .if \used
    pext r11d, eax, r9d
    mov r14, [r12 + TH_LINEUSE]
    cmp byte ptr [r14 + r11], 0
    jne 8f
    cmp dword ptr [r14 + LINEUSE_LEFT], 1
    je 8f // this one is to be followed
    .endif
    mov rdx, rax
    and rdx, [rip + vector_sets + VS_D1_LINE]
    pext r11d, eax, r9d
    vpbroadcastq zmm0, rdx
    mov ecx, r11d
    and ecx, [rip + vector_sets + VS_D1_MASK]
    mov r14, [r12 + rcx * 8 + TA_D1_NEXT]
    shl ecx, \log
    cmp [r12 + TA_D1_LAST], ecx
    je 9f
    D1_COMPARE \ways, "zmmword ptr [rsi + rcx * 8]", "zmmword ptr [rsi + rcx * 8 + 64]"
    jnz 7f
    lea edx, [rcx + D1_LAST_ONCE]
    cmp [r12 + TA_D1_LAST], edx
    je 10f
    mov [r12 + TA_D1_LAST], edx
    D1_COUNT_DOWN \used
    D1_FILL \ways, \log
    .if \ways == 16
7:  kunpckbw k3, k4, k3
    kmovw edx, k3
    .else
7:  kmovw edx, k3
    .endif
    D1_FOUND
8:  sub rax, [rsi + rcx * 8]
    mov esi, r10d
    jmp \other
10: mov [r12 + TA_D1_LAST], ecx
    vmovdqa64 zmm8, zmmword ptr [rsi + rcx * 8]
    .if \ways == 16
    vmovdqa64 zmm9, zmmword ptr [rsi + rcx * 8 + 64]
    .endif
    jmp 11f
9:  D1_COMPARE \ways, zmm8, zmm9
    jnz 7b
11: D1_COUNT_DOWN \used
    LL_PREFETCH
    FILL_IN_ORDER \ways
    D1_PUT
    mov [r8 + rdx * 8], rbp
    sub edx, ecx
    mov ecx, 1
    shlx ecx, ecx, edx
    kmovw k3, ecx
    vmovdqa64 zmm8 {k3}, zmm0
    .if \ways == 16
    kshiftrw k3, k3, 8
    vmovdqa64 zmm9 {k3}, zmm0
    .endif
    LL_BATCH
    mov r9d, [rip + routine_mask]
    RETURN
    FILL_IN_ORDER_COLD \ways
    .endm

    .macro MISS_I1 kind, ways, log
    .globl routine_\kind\()_i1_\ways
    .type routine_\kind\()_i1_\ways, @function
routine_\kind\()_i1_\ways: // as routine_miss_i1
    mov r11d, edx
    mov ecx, [rip + vector_sets + VS_I1_SHIFT]
    LL_PREFETCH
    shrx rcx, rax, rcx
    and ecx, [rip + vector_sets + VS_I1_MASK]
    mov r14, [r12 + rcx * 8 + TA_I1_NEXT]
    shl ecx, \log
    I1_FILL_WAY \ways, \log
    .endm

    .macro MISS_BOTH kind, late
    .set LATE, \late
    MISS_D1 8, 3, routine_\kind\()_d1_8, routine_miss_d1, 0
    MISS_D1 16, 4, routine_\kind\()_d1_16, routine_miss_d1, 0
    MISS_I1 \kind, 8, 3
    MISS_I1 \kind, 16, 4
    .endm

    MISS_BOTH late, 1 // with tb_config.calls_lazy
    MISS_D1 8, 3, routine_late_used_d1_8, routine_miss_d1_used, 1
    MISS_D1 16, 4, routine_late_used_d1_16, routine_miss_d1_used, 1
    MISS_BOTH miss, 0
    MISS_D1 8, 3, routine_used_d1_8, routine_miss_d1_used, 1
    MISS_D1 16, 4, routine_used_d1_16, routine_miss_d1_used, 1

    .type routine_late, @function
routine_late: // jumped to. rax, r10: as for LL_BATCH
    push r10
    call [rip + routinecalls_note]
    pop r10
    LL_BATCH
    BASE_AND_TABLES
    ret

    .macro LATE_DRAIN name, by_vectors // as routine_drain, without a call in between
    .type \name, @function
\name:
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], LL_BATCH_SHARED
    je routine_drain
    cmp qword ptr [rip + vector_sets + VS_LL_SET], 0
    je routine_drain
    push rcx
    push r10
    lea rdi, [r12 + TA_LL]
    mov rsi, [r12 + TH_LL]
    mov rdx, [r12 + TH_MISSES]
    call \by_vectors
    pop r10
    pop rcx
    TABLES
    cmp rax, [r12 + TH_LL]
    jne routine_drain // it stopped at a reference without a narrow tag
    lea rax, [r12 + TA_LL]
    mov [r12 + TH_LL], rax
    ret
    .endm

    LATE_DRAIN routine_late_drain, vector_waiting64
    LATE_DRAIN routine_avx2_drain, vector_waiting

// -- the same by vectors of 32 bytes, where every set is whole vectors --
//
// In C, processors without AVX-512 took two to three times as long for a program that misses. r10
// is what LL has to know: the counter, and above it the size of a reference that may straddle two
// of its lines. r14, rax, rcx, rdx, r11 and r10 are free; all other registers keep the values that
// routines have there.

    .purgem LEAST
    .purgem LL_JUMP
    .purgem MISS_D1
    .purgem MISS_I1

// a := the lesser stamp of each pair of a and b. Stamps are below 2^63: signs do not matter.
    .macro LESSER a, b, r
    vpcmpgtq \r\()5, \r\()\a, \r\()\b
    vblendvpd \r\()\a, \r\()\a, \r\()\b, \r\()5
    .endm

// \to := the stamps of four ways, \at bytes from the first, with the row at r11.
    .macro LOAD_STAMPS to, stamps, at
    vmovdqa \to, ymmword ptr [r11 + \at]
    vpor \to, \to, ymmword ptr [r12 + rcx * 8 + \stamps + \at]
    .endm

// xmm1 := the least stamp of the ways in the row at r11, with its way. rcx: the first way.
    .macro LEAST ways, stamps
    LOAD_STAMPS ymm1, \stamps, 0
    .if \ways >= 8
    LOAD_STAMPS ymm2, \stamps, 32
    LESSER 1, 2, ymm
    .endif
    .if \ways >= 12
    LOAD_STAMPS ymm3, \stamps, 64
    .endif
    .if \ways == 16
    LOAD_STAMPS ymm4, \stamps, 96
    LESSER 3, 4, ymm
    .endif
    .if \ways >= 12
    LESSER 1, 3, ymm
    .endif
    vextracti128 xmm2, ymm1, 1
    LESSER 1, 2, xmm
    vpshufd xmm2, xmm1, 0x4e
    LESSER 1, 2, xmm
    .endm

    .macro LL_JUMP
    jz routine_avx2_ll
    .endm

    .purgem LL_BATCH
    .macro LL_BATCH // as above. To routine_avx2_late if frames have to note totals before
    mov rcx, [r12 + TH_LATE_TOP]
    cmp rcx, [r12 + TH_LATE_LAST]
    jne routine_avx2_late
    LL_APPEND rcx, r10
    mov [r12 + TH_LL], rcx
    test [rip + vector_sets + VS_LL_BATCH], ecx
    LL_JUMP
    .endm

    .type routine_avx2_late, @function
routine_avx2_late: // jumped to. rax, r10: as for LL_BATCH
    push r10
    call [rip + routinecalls_note]
    pop r10
    LL_BATCH
    RETURN

    .type routine_avx2_ll, @function
routine_avx2_ll: // jumped to, as routine_ll
    cmp dword ptr [rip + vector_sets + VS_LL_BATCH], LL_BATCH_SHARED
    je 1f
    cmp dword ptr [r12 + TH_IS_AHEAD], 0
    jne 3f
    lea rdi, [r12 + TA_LL]
    mov rsi, [r12 + TH_LL]
    mov rdx, [r12 + TH_MISSES]
    call vector_waiting
    cmp rax, [r12 + TH_LL]
    jne 1f
    lea rax, [r12 + TA_LL]
    mov [r12 + TH_LL], rax
2:  movabs r14, REPLAY_BASE
    TABLES
    ret
1:  mov rdi, r12
    call ll_full
    jmp 2b
3:  cmp word ptr [r12 + TH_LL], 0
    je 1b
    jmp 2b

    .macro ADD_MASK of, shift // edx |= the mask of \of, shifted. Changes r14
    vmovmskpd r14d, \of
    shl r14d, \shift
    or edx, r14d
    .endm

    .macro MISS_D1 ways, log
    .globl routine_avx2_d1_\ways
    .type routine_avx2_d1_\ways, @function
routine_avx2_d1_\ways: // as routine_to_d1
    D1_ADDRESS
    mov ecx, [rip + vector_sets + VS_D1_SHIFT]
    shrx r11, rax, rcx
    mov rdx, rax
    and rdx, [rip + vector_sets + VS_D1_LINE]
    vmovq xmm0, rdx
    vpbroadcastq ymm1, xmm0
    mov ecx, r11d
    and ecx, [rip + vector_sets + VS_D1_MASK]
    and r11d, VS_HINTS - 1
    mov r14, [r12 + rcx * 8 + TA_D1_NEXT]
    shl ecx, \log
    vpcmpeqq ymm2, ymm1, ymmword ptr [rsi + rcx * 8]
    vpcmpeqq ymm3, ymm1, ymmword ptr [rsi + rcx * 8 + 32]
    vpor ymm4, ymm2, ymm3
    .if \ways >= 12
    vpcmpeqq ymm5, ymm1, ymmword ptr [rsi + rcx * 8 + 64]
    vpor ymm4, ymm4, ymm5
    .endif
    .if \ways == 16
    vpcmpeqq ymm6, ymm1, ymmword ptr [rsi + rcx * 8 + 96]
    vpor ymm4, ymm4, ymm6
    .endif
    vptest ymm4, ymm4
    jnz 7f
    D1_FILL \ways, \log
7:  vmovmskpd edx, ymm2 // the line is in D1
    ADD_MASK ymm3, 4
    .if \ways >= 12
    ADD_MASK ymm5, 8
    .endif
    .if \ways == 16
    ADD_MASK ymm6, 12
    .endif
    D1_FOUND
8:  sub rax, [rsi + rcx * 8]
    jmp routine_avx2_d1_two
    .endm

    MISS_D1 8, 3
    MISS_D1 12, 4
    MISS_D1 16, 4

// A data reference that straddles two lines. Both may be where the hints say: they are in different
// sets, and may share a stamp.
    .type routine_avx2_d1_two, @function
routine_avx2_d1_two:
    cmp dword ptr [rip + vector_sets + VS_D1_MASK], 0
    je 9f
    mov r14, rax
    add r14, [rsi + rcx * 8]
    mov ecx, [rip + vector_sets + VS_D1_SHIFT]
    shrx r11, r14, rcx
    and r11d, VS_HINTS - 1
    movzx r11d, word ptr [rdi + r11 * 2]
    mov rax, r14
    and rax, [rip + vector_sets + VS_D1_LINE]
    cmp rax, [rsi + r11 * 8]
    lea rax, [r14 + rdx - 1]
    jne 8f
    shrx rcx, rax, rcx
    and ecx, VS_HINTS - 1
    movzx ecx, word ptr [rdi + rcx * 2]
    and rax, [rip + vector_sets + VS_D1_LINE]
    cmp rax, [rsi + rcx * 8]
    jne 8f
    mov [r8 + r11 * 8], rbp
    mov [r8 + rcx * 8], rbp
    RETURN
8:  mov rax, r14
    xor ecx, ecx
    sub rax, [rsi]
    movabs r14, REPLAY_BASE
9:  mov esi, r10d
    jmp routine_to_d1

// rax: address of an instruction; edx: id of its last line, which is not in I1; ecx: the first way
// of that line's set.
    .macro MISS_I1 ways, log
    .globl routine_avx2_i1_\ways
    .type routine_avx2_i1_\ways, @function
routine_avx2_i1_\ways:
    mov r11d, edx
    .if \log == 4
    mov edx, ecx
    shr edx, 1
    mov r14, [r12 + rdx + TA_I1_NEXT]
    .elseif \ways == 8
    mov r14, [r12 + rcx + TA_I1_NEXT]
    .else
    mov r14, [r12 + rcx * 2 + TA_I1_NEXT]
    .endif
    LL_PREFETCH
    I1_FILL_WAY \ways, \log
    .endm

    MISS_I1 4, 2
    MISS_I1 8, 3
    MISS_I1 16, 4

    .section .rodata
    .balign 8
golden: // of sim_curve_hash()
    .quad 0x9e3779b97f4a7c15

    .section .note.GNU-stack, "", @progbits
