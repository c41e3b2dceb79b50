// SPDX-License-Identifier: MIT
//
// A load or store of a tile is one reference for each of its rows, as long as the tile's
// configuration says (tile 0: 16 rows of 64 bytes; 1: 3 of 8; 7: 2 of 16), and as far apart as the
// index register, times the scale, says. Lines of the field, whose sets are its lines:
//   ldtilecfg                        R 64 at line 63 of another page: miss
//   tile 0 at 0, 64 apart            R 64, 16 times: lines 0 to 15, misses
//   tile 1 at 60, 64 apart           R 8, 3 times: each straddles two lines that are there
//   tile 7 to 1024, no index         W 16, twice: line 16, a miss and a hit
//   tile 1 at 2048, 4 times 32 apart R 8, 3 times: lines 32, 34, 36, misses
//   tile 1 to 2176, -64 apart        W 8, 3 times: lines 34, 33 (a miss), 32
//   tile 1 at 192, -64 in 32 bits    R 8, 3 times: lines 3, 2, 1, there
//   ldtilecfg, first row 14          R 64 at line 62 of the other page: miss
//   tile 0 at 0, 64 apart            R 64, twice: lines 14 and 15, there
// Dr 1+16+3+3+3+1+2 = 29, of which 1+16+3+1 = 21 miss; Dw 2+3 = 5, 2 miss. Ir: 4 to ask for the
// tiles; 2 and ldtilecfg; mov, tile; tile; tile; mov, tile; mov, tile; mov, tile; ldtilecfg, mov,
// tile; 4 at the end: 24.
//
// Not where --cpu hides the tiles: there a process cannot ask for them.
//
// case: --I1=1024,1,64 --D1=4096,1,64 --LL=65536,4,64
// expect: Ir=24 Dr=29 D1mr=21 DLmr=21 Dw=5 D1mw=2 DLmw=2 Bc=0 Bcm=0 Bi=0 Bim=0
// needs: amx_tile
// without: reproducible

        .macro  config first
        .byte   1, \first
        .fill   14
        .short  64, 8, 0, 0, 0, 0, 0, 16
        .fill   16
        .byte   16, 3, 0, 0, 0, 0, 0, 2
        .fill   8
        .endm

        .data
        .align  4096
        .fill   62 * 64
later:  config  14
begin:  config  0
        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: mov     $158, %eax              // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA)
        mov     $0x1023, %edi
        mov     $18, %esi
        syscall
        lea     field(%rip), %rbx
        lea     begin(%rip), %rdx
        ldtilecfg (%rdx)
        mov     $64, %ecx
        tileloadd (%rbx,%rcx), %tmm0
        tileloaddt1 60(%rbx,%rcx), %tmm1
        tilestored %tmm7, 1024(%rbx)
        mov     $32, %ecx
        tileloadd 2048(%rbx,%rcx,4), %tmm1
        mov     $-64, %rcx
        tilestored %tmm1, 2176(%rbx,%rcx)
        mov     %ecx, %ecx
        tileloadd 192(%ebx,%ecx), %tmm1
        ldtilecfg -64(%rdx)
        mov     $64, %ecx
        tileloadd (%rbx,%rcx), %tmm0
        tilerelease
        mov     $60, %eax
        xor     %edi, %edi
        syscall
