// SPDX-License-Identifier: MIT
//
// The run-time part of the programs that insn_gen makes: for each snippet of the table it fills the
// arena, sets every register, flag and mode of the processor, jumps to the snippet, and writes
// the state afterwards to standard output as one record (insn_cmp.c has its layout, too). A snippet
// that faults is left by the handler, which notes the signal's whole context first. No libc. With
// the argument `timer` the program also interrupts itself, with `writable` it makes the snippets
// writable, with `both` both, which must change nothing. Tiles are used where cpuid and the kernel
// have them. Faults of the program itself are printed on standard error, with status 99.
//
// NO_AVX512 omits masks, the upper halves of the vectors and tiles, NO_BASES those of fs and
// gs: for processors or kernels without them, and for Valgrind, which knows none of them.

#define REGISTERS_32 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16, \
    17,18,19,20,21,22,23,24,25,26,27,28,29,30,31

#define ARENA_SIZE 8192
#define ALT_SIZE 65536
#define SIGNALS_ALL -1

// Offsets in a table entry
#define E_CODE 0
#define E_CUT 8
#define E_ARENA 16
#define E_VECTORS 24
#define E_FS 32
#define E_GS 40
#define E_FLAGS 48
#define E_MXCSR 56
#define E_FCW 60
#define E_NFPU 62
#define E_REGS 64
#define E_INDEX 192
#define E_SIZE 200

        .section .data
        .globl  writable
writable:
        .quad   1
action: .quad   on_fault
        .quad   0x0c000004              // SA_SIGINFO | SA_RESTORER | SA_ONSTACK
        .quad   restorer
        .quad   SIGNALS_ALL
tick_action:
        .quad   on_tick
        .quad   0x1c000000              // SA_RESTART besides
        .quad   restorer
        .quad   SIGNALS_ALL
altstack:
        .quad   alt
        .quad   0
        .quad   ALT_SIZE
timer:  .quad   0, 150, 0, 150          // microseconds
error:  .ascii  "the guest itself: "
what:   .ascii  "........, "
digits: .ascii  "0000000000000000, 0000000000000000\n"
error_end:

        .section .bss
        .align  4096
stack:  .fill   8192
stack_top:
alt:    .fill   ALT_SIZE
        .align  64
record:
r_index:  .quad 0
r_signal: .quad 0, 0, 0
r_gregs:  .fill 23 * 8
r_regs:   .fill 16 * 8
r_flags:  .quad 0
r_fs:     .quad 0
r_gs:     .quad 0
r_mxcsr:  .quad 0
r_k:      .fill 64
        .align  64
r_zmm:    .fill 2048
r_fx:     .fill 512
r_tilecfg: .fill 64
r_tiles:  .fill 8 * 1024
record_end:
amx:      .quad 0                       // 1: there are tiles
current:  .quad 0
ticks:    .quad 0

        .section .arena, "aw", @nobits
        .globl  arena
arena:  .fill   ARENA_SIZE

        .text
        .globl  _start
        .globl  snippet_exit
_start:
        mov     (%rsp), %r12            // argc
        mov     16(%rsp), %r13          // argv[1]
        lea     stack_top(%rip), %rsp
        xor     %ebp, %ebp
        mov     $131, %eax              // sigaltstack
        lea     altstack(%rip), %rdi
        xor     %esi, %esi
        syscall
#ifndef NO_AVX512
        xor     %eax, %eax
        cpuid
        cmp     $7, %eax
        jb      0f
        mov     $7, %eax
        xor     %ecx, %ecx
        cpuid
        bt      $24, %edx               // AMX-TILE
        jnc     0f
        mov     $0x1023, %edi           // ARCH_REQ_XCOMP_PERM
        mov     $18, %esi               // the tiles' data
        mov     $158, %eax              // arch_prctl
        syscall
        test    %rax, %rax
        jnz     0f
        movq    $1, amx(%rip)
0:
#endif
        mov     $4, %ebx                // SIGILL, SIGTRAP 5, SIGBUS 7, SIGFPE 8, SIGSEGV 11
1:      lea     action(%rip), %rsi
        mov     $0x9b0, %eax
        bt      %ebx, %eax
        jnc     2f
        mov     %ebx, %edi
        xor     %edx, %edx
        mov     $8, %r10d
        mov     $13, %eax               // rt_sigaction
        syscall
2:      inc     %ebx
        cmp     $12, %ebx
        jb      1b
        cmp     $2, %r12
        jb      next_first
        cmpb    $'t', (%r13)
        je      9f
        movabs  $snippets + 4096, %rdi   // the first page is where writes shall fault
        movabs  $snippets_end, %rsi
        sub     %rdi, %rsi
        mov     $7, %edx                // PROT_READ | PROT_WRITE | PROT_EXEC
        mov     $10, %eax               // mprotect
        syscall
        lea     text_mprotect(%rip), %rcx
        test    %rax, %rax
        jnz     broken
        cmpb    $'w', (%r13)
        je      next_first
9:
        mov     $14, %edi               // SIGALRM
        lea     tick_action(%rip), %rsi
        xor     %edx, %edx
        mov     $8, %r10d
        mov     $13, %eax
        syscall
        xor     %edi, %edi              // ITIMER_REAL
        lea     timer(%rip), %rsi
        xor     %edx, %edx
        mov     $38, %eax               // setitimer
        syscall
next_first:
        movabs  $table, %rbx
next:
        mov     %rbx, current(%rip)
        cmpq    $0, E_CODE(%rbx)
        je      done
        mov     E_INDEX(%rbx), %rax
        mov     %rax, r_index(%rip)
        // clear what the last record left
        xor     %eax, %eax
        lea     r_signal(%rip), %rdi
        mov     $26, %ecx
        rep stosq
        cmp     %rax, amx(%rip)
        je      1f
        lea     r_tilecfg(%rip), %rdi
        mov     $(64 + 8 * 1024) / 8, %ecx
        rep stosq
1:      mov     E_ARENA(%rbx), %rsi
        movabs  $arena, %rdi
        mov     $ARENA_SIZE / 64, %ecx
#ifdef NO_AVX512
3:      vmovdqu (%rsi), %ymm0
        vmovdqu 32(%rsi), %ymm1
        vmovdqu %ymm0, (%rdi)
        vmovdqu %ymm1, 32(%rdi)
#else
3:      vmovdqu64 (%rsi), %zmm0
        vmovdqu64 %zmm0, (%rdi)
#endif
        add     $64, %rsi
        add     $64, %rdi
        dec     %ecx
        jnz     3b
        mov     E_VECTORS(%rbx), %rsi
        fninit
        movzwl  E_NFPU(%rbx), %ecx
        test    %ecx, %ecx
        jz      5f
4:      fldt    2112(%rsi)
        add     $16, %rsi
        dec     %ecx
        jnz     4b
        fnclex
5:      fldcw   E_FCW(%rbx)
        mov     E_VECTORS(%rbx), %rsi
#ifdef NO_AVX512
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovdqu 64*\n(%rsi), %ymm\n
        .endr
#else
        .irp    n, REGISTERS_32
        vmovdqu64 64*\n(%rsi), %zmm\n
        .endr
        .irp    n, 0,1,2,3,4,5,6,7
        kmovq   2048+8*\n(%rsi), %k\n
        .endr
#endif
        ldmxcsr E_MXCSR(%rbx)
#ifndef NO_BASES
        mov     E_FS(%rbx), %rax
        wrfsbase %rax
        mov     E_GS(%rbx), %rax
        wrgsbase %rax
#endif
        pushq   E_FLAGS(%rbx)
        popfq
        lea     E_REGS(%rbx), %rsp
        pop     %rax
        pop     %rbx
        pop     %rcx
        pop     %rdx
        pop     %rsi
        pop     %rdi
        pop     %rbp
        pop     %r8
        pop     %r9
        pop     %r10
        pop     %r11
        pop     %r12
        pop     %r13
        pop     %r14
        pop     %r15
        mov     (%rsp), %rsp
        jmp     *go(%rip)

snippet_exit:
        mov     %rax, r_regs+0(%rip)
        mov     %rbx, r_regs+8(%rip)
        mov     %rcx, r_regs+16(%rip)
        mov     %rdx, r_regs+24(%rip)
        mov     %rsi, r_regs+32(%rip)
        mov     %rdi, r_regs+40(%rip)
        mov     %rbp, r_regs+48(%rip)
        mov     %r8, r_regs+56(%rip)
        mov     %r9, r_regs+64(%rip)
        mov     %r10, r_regs+72(%rip)
        mov     %r11, r_regs+80(%rip)
        mov     %r12, r_regs+88(%rip)
        mov     %r13, r_regs+96(%rip)
        mov     %r14, r_regs+104(%rip)
        mov     %r15, r_regs+112(%rip)
        mov     %rsp, r_regs+120(%rip)
        lea     stack_top(%rip), %rsp
        pushfq
        pushq   $0x202
        popfq
        popq    r_flags(%rip)
        stmxcsr r_mxcsr(%rip)
#ifdef NO_AVX512
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovdqa %ymm\n, r_zmm+64*\n(%rip)
        .endr
#else
        .irp    n, REGISTERS_32
        vmovdqa64 %zmm\n, r_zmm+64*\n(%rip)
        .endr
        .irp    n, 0,1,2,3,4,5,6,7
        kmovq   %k\n, r_k+8*\n(%rip)
        .endr
#endif
#ifndef NO_BASES
        rdfsbase %rax
        mov     %rax, r_fs(%rip)
        rdgsbase %rax
        mov     %rax, r_gs(%rip)
#endif
        fxsave64 r_fx(%rip)
        // the addresses of the last x87 instruction and its operand: a code address, which DIFFERS
        // under Quern, and is lost whenever the kernel saves and restores the state
        movw    $0, r_fx+6(%rip)
        movq    $0, r_fx+8(%rip)
        movq    $0, r_fx+16(%rip)
        fninit
        cmpq    $0, amx(%rip)
        je      2f
        sttilecfg r_tilecfg(%rip)
        mov     $64, %ecx
        mov     r_tilecfg+1(%rip), %dl  // the row at which a faulted load resumes: must be a row
        .irp    n, 0,1,2,3,4,5,6,7
        cmp     r_tilecfg+48+\n(%rip), %dl
        jae     1f
        lea     r_tiles+1024*\n(%rip), %rax
        tilestored %tmm\n, (%rax,%rcx)
        xor     %edx, %edx
1:
        .endr
        tilerelease
2:
        lea     record(%rip), %rsi
        mov     $record_end - record, %edx
        call    write_all
        movabs  $arena, %rsi
        mov     $ARENA_SIZE, %edx
        call    write_all
        mov     current(%rip), %rbx
        add     $E_SIZE, %rbx
        mov     E_CODE(%rbx), %rax
        mov     %rax, go(%rip)
        jmp     next

done:   xor     %edi, %edi
        mov     $231, %eax              // exit_group
        syscall

// rdx bytes at rsi. EINTR is an error: nothing is sent but SIGALRM, whose action has SA_RESTART.
write_all:
        mov     $1, %edi
        mov     $1, %eax
        syscall
        lea     text_write(%rip), %rcx
        test    %rax, %rax
        jle     broken
        add     %rax, %rsi
        sub     %rax, %rdx
        jnz     write_all
        ret

// A fault of the program itself: rcx says in what, rax with which error or signal,
// r8 where.
broken: mov     (%rcx), %rdx
        mov     %rdx, what(%rip)
        lea     digits(%rip), %rdi
        call    hex
        mov     %r8, %rax
        lea     digits+18(%rip), %rdi
        call    hex
        mov     $2, %edi
        lea     error(%rip), %rsi
        mov     $error_end - error, %edx
        mov     $1, %eax
        syscall
        mov     $99, %edi
        mov     $231, %eax
        syscall
hex:    mov     $16, %ecx
1:      rol     $4, %rax
        mov     %eax, %edx
        and     $15, %edx
        lea     hex_digits(%rip), %r9
        mov     (%r9,%rdx), %dl
        mov     %dl, (%rdi)
        inc     %rdi
        dec     %ecx
        jnz     1b
        ret

on_tick:
        incq    ticks(%rip)
        ret

on_fault:
        mov     (%rsi), %eax
        mov     %rax, r_signal(%rip)
        mov     8(%rsi), %eax
        mov     %rax, r_signal+8(%rip)
        mov     16(%rsi), %rax
        mov     %rax, r_signal+16(%rip)
        mov     168(%rdx), %rax         // rip
        lea     _start(%rip), %rcx
        cmp     %rcx, %rax
        jb      6f
        lea     text_end(%rip), %rcx
        cmp     %rcx, %rax
        jae     6f
        mov     %rax, %r8               // a fault of this program, not of a snippet
        mov     (%rsi), %eax
        lea     text_signal(%rip), %rcx
        jmp     broken
6:      mov     current(%rip), %rcx
        cmp     E_CUT(%rcx), %rax
        jae     7f
        andq    $~0x8d5, 176(%rdx)      // flags that may be dead here
7:      cmpq    $14, 200(%rdx)          // trapno: page fault
        je      8f
        movq    $0, 216(%rdx)           // cr2 is from an earlier fault
8:      lea     40(%rdx), %rsi
        lea     r_gregs(%rip), %rdi
        mov     $23, %ecx
        rep movsq
        lea     snippet_exit(%rip), %rax
        mov     %rax, 168(%rdx)
        ret
restorer:
        mov     $15, %eax               // rt_sigreturn
        syscall
text_end:

        .section .rodata
hex_digits: .ascii "0123456789abcdef"
text_mprotect: .ascii "mprotect"
text_write: .ascii "write   "
text_signal: .ascii "signal  "
        .section .data
        .globl  go
go:     .quad   first_code
        .section .note.GNU-stack, "", @progbits
