// SPDX-License-Identifier: MIT
//
// Hundreds of forms of instructions, one per line: the references of each are compared with
// Cachegrind line by line. Each has its own address, which misses in the small caches and has
// another offset in lines of 32, 64 and 128 bytes in each of the rounds. Each is a block of its
// own, so Valgrind can leave nothing out. Forms that Valgrind reads in parts, or does not know, are
// not here (reference-model.md).
// needs: avx2 bmi2 adx sse4_2 f16c fma movbe abm

        .section .bss
        .align  128
field:  .fill   131072

        .macro  f instruction:vararg
        mov     $9, %eax
        mov     $1, %ecx
        mov     $2, %edx
        add     $160, %rbx
        jmp     1f
1:      \instruction
        jmp     1f
1:
        .endm

        .text
        .globl  run
        .type   run, @function
run:    push    %rbx
        push    %r12
        mov     $8, %r12d
again:  mov     %r12, %rbx
        shl     $5, %rbx
        lea     field(%rbx), %rbx
        call    integers
        fninit
        call    x87
        fninit
        call    sse
        call    avx
        dec     %r12d
        jnz     again
        vzeroupper
        fninit
        xor     %eax, %eax
        pop     %r12
        pop     %rbx
        ret
        .size   run, . - run

        // Integers and what is no reference.
        .type   integers, @function
integers:
        f mov             (%rbx), %eax
        f mov             %eax, (%rbx)
        f movl            $1, (%rbx)
        f add             %rax, (%rbx)
        f addl            $1, (%rbx)
        f add             (%rbx), %rax
        f adc             %rax, (%rbx)
        f sbb             %rax, (%rbx)
        f cmp             (%rbx), %eax
        f cmp             %eax, (%rbx)
        f cmpl            $0, (%rbx)
        f test            %eax, (%rbx)
        f incl            (%rbx)
        f decl            (%rbx)
        f notl            (%rbx)
        f negq            (%rbx)
        f andb            $1, (%rbx)
        f orb             $1, (%rbx)
        f xor             %rax, (%rbx)
        f shll            (%rbx)
        f shll            $3, (%rbx)
        f shll            %cl, (%rbx)
        f sarq            $3, (%rbx)
        f roll            $1, (%rbx)
        f rorl            %cl, (%rbx)
        f rcll            $1, (%rbx)
        f rcll            $3, (%rbx)
        f rcrl            %cl, (%rbx)
        f shld            $3, %eax, (%rbx)
        f shld            %cl, %eax, (%rbx)
        f shrd            $3, %rax, (%rbx)
        f xchg            %rax, (%rbx)
        f xchg            %al, (%rbx)
        f cmpxchg         %ecx, (%rbx)
        f cmpxchg         %rcx, (%rbx)
        f xadd            %eax, (%rbx)
        f cmpxchg8b       (%rbx)
        f cmpxchg16b      (%rbx)
        f movzbl          (%rbx), %eax
        f movsbq          (%rbx), %rax
        f movslq          (%rbx), %rax
        f mulq            (%rbx)
        f imul            (%rbx), %rax
        f imul            $3, (%rbx), %rax
        f bsf             (%rbx), %rax
        f bsr             (%rbx), %rax
        f tzcnt           (%rbx), %rax
        f lzcnt           (%rbx), %rax
        f movbe           (%rbx), %eax
        f movbe           %eax, (%rbx)
        f crc32l          (%rbx), %eax
        f crc32q          (%rbx), %rax
        f crc32b          (%rbx), %eax
        f andn            (%rbx), %rcx, %rax
        f bextr           %rcx, (%rbx), %rax
        f blsr            (%rbx), %rax
        f pdep            (%rbx), %rcx, %rax
        f pext            (%rbx), %rcx, %rax
        f rorx            $3, (%rbx), %rax
        f shlx            %rcx, (%rbx), %rax
        f mulx            (%rbx), %rcx, %rax
        f adcx            (%rbx), %rax
        f adox            (%rbx), %rax
        f btw             $3, (%rbx)
        f btl             $3, (%rbx)
        f btsl            $3, (%rbx)
        f btrq            $3, (%rbx)
        f btcl            $3, (%rbx)
        f setz            (%rbx)
        f lea             (%rbx), %rax
        f movnti          %eax, (%rbx)
        f movnti          %rax, (%rbx)
        f btl             %eax, (%rbx)
        f btsl            %eax, (%rbx)
        f btrq            %rax, (%rbx)
        f btcw            %ax, (%rbx)
        f rcll            %cl, (%rbx)
        f cmovz           (%rbx), %rcx
        f cmovz           (%rbx), %ecx
        f setz            %al
        f cmovz           %rbx, %rcx
        f nop
        f nopl            (%rbx)
        f nopw            %cs:0(%rax, %rax)
        f endbr64
        f pause
        f lfence
        f mfence
        f sfence
        f clflush         (%rbx)
        f prefetcht0      (%rbx)
        f prefetchw       (%rbx)
        f prefetchnta     (%rbx)
        f lahf
        f sahf
        f cld
        f cqo
        f cwtl
        f bswap           %eax
        f xchg            %rax, %rcx
        f stc
        f clc
        f cmc
        f stmxcsr         (%rbx)
        f cvttsd2si       (%rbx), %rax
        f cvtss2si        (%rbx), %eax
        f movbe           %rax, (%rbx)
        f xchg            %eax, (%rbx)
        f negl            (%rbx)
        f rorb            $1, (%rbx)
        f imull           $3, (%rbx), %eax
        f mulb            (%rbx)
        f nopl            8(%rbx, %rbx)
        f prefetcht2      (%rbx)
        f xchg            %ax, (%rbx)
        f popcnt          (%rbx), %rax
        f lock addl       $1, (%rbx)
        f lock xaddq      %rax, (%rbx)
        f lock incl       (%rbx)
        f lock notl       (%rbx)
        f lock btsl       $1, (%rbx)
        f lock btcl       $1, (%rbx)
        f lock adcl       $1, (%rbx)
        f lock sbbl       $1, (%rbx)
        f lock xorb       $1, (%rbx)
        f lock negl       (%rbx)
        f lock andl       $1, (%rbx)
        f lock subl       $1, (%rbx)
        f lock decq       (%rbx)
        f lock cmpxchgb   %cl, (%rbx)
        f lock cmpxchgw   %cx, (%rbx)
        f lock cmpxchg    %ecx, (%rbx)
        f lock cmpxchg8b  (%rbx)
        f lock cmpxchg16b (%rbx)
        f lock btsq       %rax, (%rbx)
        f mov             %ds, (%rbx)
        f mov             %ds, %eax
        cld
        ret
        .size   integers, . - integers

        // x87 and MMX.
        .type   x87, @function
x87:
        f flds            (%rbx)
        f fldl            (%rbx)
        f fldt            (%rbx)
        f filds           (%rbx)
        f fildl           (%rbx)
        f fildq           (%rbx)
        f fadds           (%rbx)
        f faddl           (%rbx)
        f fiadds          (%rbx)
        f fiaddl          (%rbx)
        f fcoms           (%rbx)
        f fcompl          (%rbx)
        f fsts            (%rbx)
        f fstl            (%rbx)
        f fstps           (%rbx)
        f fstpl           (%rbx)
        f fstpt           (%rbx)
        f fists           (%rbx)
        f fistl           (%rbx)
        f fistpq          (%rbx)
        f fisttps         (%rbx)
        f fisttpl         (%rbx)
        f fisttpq         (%rbx)
        f fnstcw          (%rbx)
        f fnstsw          (%rbx)
        f fnstsw          %ax
        f fnstenv         (%rbx)
        f fnsave          (%rbx)
        f fld1
        f fsin
        f fxch
        f fcomi           %st(1), %st
        f fwait
        f fsqrt
        f fcmove          %st(1), %st
        f fmuls           (%rbx)
        f fdivrl          (%rbx)
        f fldl2e
        f movd            (%rbx), %mm0
        f movq            (%rbx), %mm0
        f movq            %mm0, (%rbx)
        f movd            %mm0, (%rbx)
        f paddb           (%rbx), %mm0
        f punpcklbw       (%rbx), %mm0
        f movntq          %mm0, (%rbx)
        f pshufw          $3, (%rbx), %mm0
        f fcomip          %st(1), %st
        f fucompp
        ret
        .size   x87, . - x87

        // SSE.
        .type   sse, @function
sse:
        f cvtpi2ps        (%rbx), %xmm0
        f movss           (%rbx), %xmm0
        f movsd           (%rbx), %xmm0
        f movss           %xmm0, (%rbx)
        f movsd           %xmm0, (%rbx)
        f movaps          (%rbx), %xmm0
        f movups          (%rbx), %xmm0
        f movaps          %xmm0, (%rbx)
        f movdqu          (%rbx), %xmm0
        f movdqa          %xmm0, (%rbx)
        f movdqu          %xmm0, 1(%rbx)
        f movdqu          60(%rbx), %xmm0
        f lddqu           (%rbx), %xmm0
        f movhps          (%rbx), %xmm0
        f movlps          %xmm0, (%rbx)
        f movhpd          %xmm0, (%rbx)
        f movd            (%rbx), %xmm0
        f movq            (%rbx), %xmm0
        f movd            %xmm0, (%rbx)
        f movq            %xmm0, (%rbx)
        f addss           (%rbx), %xmm0
        f addsd           (%rbx), %xmm0
        f addps           (%rbx), %xmm0
        f addpd           (%rbx), %xmm0
        f sqrtss          (%rbx), %xmm0
        f rsqrtps         (%rbx), %xmm0
        f cmpltsd         (%rbx), %xmm0
        f ucomiss         (%rbx), %xmm0
        f comisd          (%rbx), %xmm0
        f cvtsi2sdl       (%rbx), %xmm0
        f cvtsi2ssq       (%rbx), %xmm0
        f cvtss2sd        (%rbx), %xmm0
        f cvtsd2ss        (%rbx), %xmm0
        f cvtpd2ps        (%rbx), %xmm0
        f cvtdq2pd        (%rbx), %xmm0
        f cvtdq2ps        (%rbx), %xmm0
        f cvtpd2dq        (%rbx), %xmm0
        f unpcklps        (%rbx), %xmm0
        f shufps          $1, (%rbx), %xmm0
        f pshufd          $1, (%rbx), %xmm0
        f pshufb          (%rbx), %xmm0
        f paddd           (%rbx), %xmm0
        f pslld           (%rbx), %xmm0
        f pinsrw          $1, (%rbx), %xmm0
        f pinsrb          $1, (%rbx), %xmm0
        f pinsrq          $1, (%rbx), %xmm0
        f pextrb          $1, %xmm0, (%rbx)
        f pextrw          $1, %xmm0, (%rbx)
        f pextrd          $1, %xmm0, (%rbx)
        f pextrq          $1, %xmm0, (%rbx)
        f extractps       $1, %xmm0, (%rbx)
        f insertps        $0x40, (%rbx), %xmm0
        f movddup         (%rbx), %xmm0
        f movshdup        (%rbx), %xmm0
        f movntps         %xmm0, (%rbx)
        f movntdq         %xmm0, (%rbx)
        f movntdqa        (%rbx), %xmm0
        f pmovsxbw        (%rbx), %xmm0
        f pmovzxbq        (%rbx), %xmm0
        f pmovzxbd        (%rbx), %xmm0
        f roundsd         $1, (%rbx), %xmm0
        f dpps            $0xff, (%rbx), %xmm0
        f blendvps        %xmm0, (%rbx), %xmm1
        f pblendw         $3, (%rbx), %xmm1
        f ptest           (%rbx), %xmm0
        f mpsadbw         $1, (%rbx), %xmm0
        f phminposuw      (%rbx), %xmm0
        f pcmpistri       $0, (%rbx), %xmm0
        f pcmpistrm       $0, (%rbx), %xmm0
        f pcmpestri       $0, (%rbx), %xmm0
        f pcmpestrm       $0, (%rbx), %xmm0
        f aesenc          (%rbx), %xmm0
        f aeskeygenassist $1, (%rbx), %xmm0
        f pclmulqdq       $0, (%rbx), %xmm0
        f palignr         $3, (%rbx), %xmm0
        f movmskps        %xmm0, %eax
        f pabsd           (%rbx), %xmm0
        f haddps          (%rbx), %xmm0
        f movhlps         %xmm0, %xmm1
        f movsldup        (%rbx), %xmm0
        f punpcklqdq      (%rbx), %xmm0
        f packssdw        (%rbx), %xmm0
        f sqrtpd          (%rbx), %xmm0
        f rcpss           (%rbx), %xmm0
        f cvttps2dq       (%rbx), %xmm0
        f pcmpgtq         (%rbx), %xmm0
        f movups          %xmm0, 60(%rbx)
        f roundss         $1, (%rbx), %xmm0
        f cvtpi2pd        (%rbx), %xmm0
        f cvttpd2dq       (%rbx), %xmm0
        f shufps          $0xe4, (%rbx), %xmm0
        f pshufhw         $1, (%rbx), %xmm0
        f sqrtsd          (%rbx), %xmm0
        f cmpps           $1, (%rbx), %xmm0
        ret
        .size   sse, . - sse

        // AVX and AVX2.
        .type   avx, @function
avx:
        f vstmxcsr        (%rbx)
        f vmovss          (%rbx), %xmm0
        f vmovsd          %xmm0, (%rbx)
        f vmovdqu         (%rbx), %ymm0
        f vmovdqu         %ymm0, (%rbx)
        f vmovdqu         40(%rbx), %ymm0
        f vmovdqa         (%rbx), %ymm0
        f vmovaps         %ymm0, (%rbx)
        f vmovntdq        %ymm0, (%rbx)
        f vlddqu          (%rbx), %ymm0
        f vaddps          (%rbx), %ymm1, %ymm0
        f vaddpd          (%rbx), %xmm1, %xmm0
        f vaddsd          (%rbx), %xmm1, %xmm0
        f vpaddd          (%rbx), %ymm1, %ymm0
        f vbroadcastss    (%rbx), %ymm0
        f vbroadcastsd    (%rbx), %ymm0
        f vbroadcastf128  (%rbx), %ymm0
        f vbroadcasti128  (%rbx), %ymm0
        f vpbroadcastb    (%rbx), %ymm0
        f vpbroadcastw    (%rbx), %xmm0
        f vpbroadcastq    (%rbx), %ymm0
        f vextractf128    $1, %ymm0, (%rbx)
        f vextracti128    $1, %ymm0, (%rbx)
        f vinsertf128     $1, (%rbx), %ymm0, %ymm0
        f vinserti128     $1, (%rbx), %ymm0, %ymm0
        f vpermd          (%rbx), %ymm0, %ymm0
        f vpermq          $1, (%rbx), %ymm0
        f vpmovsxbw       (%rbx), %ymm0
        f vpmovzxbd       (%rbx), %ymm0
        f vpmovzxbq       (%rbx), %ymm0
        f vcvtpd2psy      (%rbx), %xmm0
        f vcvtdq2pd       (%rbx), %ymm0
        f vcvtph2ps       (%rbx), %ymm0
        f vcvtph2ps       (%rbx), %xmm0
        f vcvtps2ph       $0, %ymm0, (%rbx)
        f vcvtps2ph       $0, %xmm0, (%rbx)
        f vfmadd213sd     (%rbx), %xmm1, %xmm0
        f vpsllvd         (%rbx), %ymm1, %ymm0
        f vpslld          (%rbx), %ymm1, %ymm0
        f vpblendvb       %ymm0, (%rbx), %ymm1, %ymm2
        f vptest          (%rbx), %ymm0
        f vtestps         (%rbx), %ymm0
        f vpcmpistri      $0, (%rbx), %xmm0
        f vmovddup        (%rbx), %xmm0
        f vmpsadbw        $1, (%rbx), %ymm0, %ymm1
        f vpinsrq         $1, (%rbx), %xmm0, %xmm0
        f vmovlps         (%rbx), %xmm0, %xmm0
        f vmovhpd         %xmm0, (%rbx)
        f vaesenc         (%rbx), %xmm1, %xmm0
        f vroundpd        $1, (%rbx), %ymm0
        f vpermilps       (%rbx), %ymm1, %ymm0
        f vpermilpd       $1, (%rbx), %ymm0
        f vsqrtps         (%rbx), %ymm0
        f vpcmpestri      $0, (%rbx), %xmm0
        f vaddsubps       (%rbx), %ymm1, %ymm0
        f vmovshdup       (%rbx), %ymm0
        f vpmaskmovd      (%rbx), %ymm1, %ymm0
        f vpmaskmovd      (%rbx), %xmm1, %xmm0
        f vpmaskmovd      %ymm0, %ymm1, (%rbx)
        f vpmaskmovd      %xmm0, %xmm1, (%rbx)
        f vroundps        $1, (%rbx), %xmm0
        f vroundpd        $1, (%rbx), %xmm0
        f vroundps        $1, (%rbx), %ymm0
        f vfnmadd231ss    (%rbx), %xmm1, %xmm0
        f vperm2f128      $0x20, (%rbx), %ymm0, %ymm0
        f vperm2i128      $0x31, (%rbx), %ymm0, %ymm0
        f vpblendd        $3, (%rbx), %ymm0, %ymm1
        f vblendpd        $1, (%rbx), %xmm0, %xmm1
        f vblendvps       %xmm1, (%rbx), %xmm2, %xmm3
        f vdpps           $0xff, (%rbx), %ymm0, %ymm1
        f vphminposuw     (%rbx), %xmm0
        f vcvttpd2dqy     (%rbx), %xmm0
        f vcvtsi2sdl      (%rbx), %xmm0, %xmm0
        f vpalignr        $3, (%rbx), %ymm0, %ymm1
        f vpshufb         (%rbx), %ymm0, %ymm1
        f vhaddps         (%rbx), %ymm0, %ymm1
        f vcmpps          $1, (%rbx), %ymm0, %ymm1
        f vandps          (%rbx), %ymm0, %ymm1
        f vpcmpeqb        (%rbx), %ymm0, %ymm1
        f vpmovmskb       %ymm0, %eax
        f vucomiss        (%rbx), %xmm0
        f vinsertps       $0x40, (%rbx), %xmm0, %xmm0
        f vextractps      $1, %xmm0, (%rbx)
        f vpextrb         $1, %xmm0, (%rbx)
        f vmovntps        %ymm0, (%rbx)
        f vmovntdqa       (%rbx), %ymm0
        f vpsravd         (%rbx), %ymm0, %ymm1
        f vcvtdq2ps       (%rbx), %ymm0
        f vcvtps2dq       (%rbx), %ymm0
        f vrsqrtps        (%rbx), %ymm0
        f vmovq           (%rbx), %xmm0
        f vmovd           %xmm0, (%rbx)
        f vpclmulqdq      $0, (%rbx), %xmm0, %xmm1
        f vmovups         %ymm0, 60(%rbx)
        ret
        .size   avx, . - avx
        .section .note.GNU-stack, "", @progbits
