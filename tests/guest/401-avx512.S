// SPDX-License-Identifier: MIT
//
// Vectors of 64 bytes: an aligned one fills a line, another straddles two and is one reference and
// at most one miss. A gather and a scatter refer to the elements whose mask bit is set, and to no
// other.
//   load at 0                  R 64, line 0: miss
//   store at 64                W 64, line 1: miss
//   load at 96                 R 64, lines 1 (there) and 2: miss
//   store at 128               W 64, line 2: hit
//   gather, mask 0x8001        R 4 at 256 (line 4: miss) and R 4 at 256: index 0 in all
//   scatter, mask 0x0007       W 4 at 320 (line 5: miss), and twice more
//   gather, mask 0             nothing
// Dr 4, 3 misses; Dw 5, 2 misses. Ir: lea, 4, (mov, kmov, gather), (mov, kmov, scatter), (kxor,
// gather), pxor at the start, 3: 17.
//
// case: --I1=1024,1,64 --D1=4096,1,64 --LL=65536,4,64
// expect: Ir=17 Dr=4 D1mr=3 DLmr=3 Dw=5 D1mw=2 DLmw=2 Bc=0 Bcm=0 Bi=0 Bim=0
// needs: avx512f
// about: replay-scalar replay-addresses replay-c

        .section .bss
        .align  4096
field:  .fill   4096
        .text
        .globl  _start
_start: lea     field(%rip), %rbx
        vpxord  %zmm2, %zmm2, %zmm2
        vmovdqu64 (%rbx), %zmm0
        vmovdqu64 %zmm0, 64(%rbx)
        vmovdqu64 96(%rbx), %zmm0
        vmovdqu64 %zmm0, 128(%rbx)
        mov     $0x8001, %eax
        kmovw   %eax, %k1
        vpgatherdd 256(%rbx,%zmm2,4), %zmm0{%k1}
        mov     $7, %eax
        kmovw   %eax, %k1
        vpscatterdd %zmm0, 320(%rbx,%zmm2,4){%k1}
        kxorw   %k1, %k1, %k1
        vpgatherdd 512(%rbx,%zmm2,4), %zmm0{%k1}
        mov     $60, %eax
        xor     %edi, %edi
        syscall
