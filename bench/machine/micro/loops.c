// SPDX-License-Identifier: MIT
//
// Loops in assembly (micro.h). rax has the state, r14 the area, r15 the rounds. Other general
// registers are zero at the start, the first eight vectors have ones of double precision.
#include "micro.h"

#include <stdlib.h>

#define R_(n, x) ".rept " #n "\n\t" x "\n\t.endr\n\t"
#define R(n, x)  R_(n, x)

// clang-format off
#define LOOP(name, before, body) \
    static uint64_t name(long n, uint64_t state) \
    { \
        register uint64_t rax __asm__("rax") = state; \
        register long r15 __asm__("r15") = n; \
        register char *r14 __asm__("r14") = area; \
 \
        __asm__ volatile( \
            "xor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t" \
            "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t" \
            "mov $0x3ff0000000000000, %%rbx\n\tmovq %%rbx, %%xmm0\n\t" \
            "punpcklqdq %%xmm0, %%xmm0\n\t" \
            "movdqa %%xmm0, %%xmm1\n\tmovdqa %%xmm0, %%xmm2\n\tmovdqa %%xmm0, %%xmm3\n\t" \
            "movdqa %%xmm0, %%xmm4\n\tmovdqa %%xmm0, %%xmm5\n\tmovdqa %%xmm0, %%xmm6\n\t" \
            "movdqa %%xmm0, %%xmm7\n\txor %%ebx, %%ebx\n\t" before "\n\t.p2align 6\n1:\n\t" body \
            "dec %%r15\n\tjnz 1b" \
            : "+r"(rax), "+r"(r15) \
            : "r"(r14) \
            : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "xmm0", \
              "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory", "cc"); \
        return rax; \
    }

// Chains: the result of each is the operand of the next.
LOOP(chain_add, "", R(48, "add $3, %%rax"))
LOOP(chain_add_32, "", R(48, "add $3, %%eax"))
LOOP(chain_add_large, "", R(48, "add $100000, %%rax"))
LOOP(chain_add_imul, "mov $1, %%ecx", R(24, "add $3, %%rax\n\timul %%rcx, %%rax"))
LOOP(chain_lea, "", R(48, "lea 8(%%rax), %%rax"))
LOOP(chain_move, "", R(24, "mov %%rax, %%rcx\n\tmov %%rcx, %%rax") "add $1, %%rax\n\t")
LOOP(chain_lea3, "", R(48, "lea 5(%%rax,%%rax), %%rax"))
LOOP(chain_shift, "mov $3, %%ecx", R(48, "rol %%cl, %%rax"))
LOOP(chain_adc, "", R(48, "adc $3, %%rax"))
LOOP(chain_cmov, "mov $9, %%ecx\n\tcmp $1, %%ecx", R(48, "cmovc %%rcx, %%rax"))
LOOP(chain_popcnt, "", R(48, "popcnt %%rax, %%rax"))
LOOP(chain_bswap, "", R(48, "bswap %%rax"))
LOOP(chain_imul, "", R(48, "imul $3, %%rax, %%rax"))
LOOP(chain_mul, "mov $5, %%ecx", R(24, "mul %%rcx"))
LOOP(chain_div32, "mov $1, %%ecx\n\tmov $-1, %%eax", R(12, "div %%ecx\n\txor %%edx, %%edx"))
LOOP(chain_div64, "mov $1, %%ecx\n\tmov $-1, %%rax", R(12, "div %%rcx\n\txor %%edx, %%edx"))
LOOP(chain_div_small, "mov $1, %%ecx\n\tmov $5, %%eax", R(12, "div %%rcx\n\txor %%edx, %%edx"))
LOOP(chain_load_vector, "",
     R(12, "movq %%rax, %%xmm0\n\tmovq %%xmm0, %%rax\n\t"
           "and %%rbx, %%rax\n\tmovq (%%r14,%%rax), %%xmm0\n\tmovq %%xmm0, %%rax\n\t"
           "and %%rbx, %%rax"))
LOOP(chain_xadd, "mov $5, %%ecx", R(24, "xadd %%rax, %%rcx"))
LOOP(chain_lock, "", R(8, "lock addq $1, (%%r14)"))
LOOP(chain_addsd, "", R(24, "addsd %%xmm1, %%xmm0"))
LOOP(chain_addsd_mulsd, "", R(12, "addsd %%xmm1, %%xmm0\n\tmulsd %%xmm1, %%xmm0"))
LOOP(chain_mulsd, "", R(24, "mulsd %%xmm1, %%xmm0"))
LOOP(chain_fma, "", R(24, "vfmadd231sd %%xmm1, %%xmm0, %%xmm0"))
LOOP(chain_divss, "", R(12, "divss %%xmm1, %%xmm0"))
LOOP(chain_divsd, "", R(12, "divsd %%xmm1, %%xmm0"))
LOOP(chain_sqrtsd, "", R(12, "sqrtsd %%xmm0, %%xmm0"))
LOOP(chain_maxsd, "", R(24, "maxsd %%xmm1, %%xmm0"))
LOOP(chain_paddd, "", R(24, "paddd %%xmm1, %%xmm0"))
LOOP(chain_pand, "", R(24, "pand %%xmm1, %%xmm0"))
LOOP(chain_pslld, "", R(24, "pslld $1, %%xmm0"))
LOOP(chain_pshufd, "", R(24, "pshufd $1, %%xmm0, %%xmm0"))
LOOP(chain_pmullw, "", R(24, "pmullw %%xmm1, %%xmm0"))
LOOP(chain_pmulld, "", R(24, "pmulld %%xmm1, %%xmm0"))
LOOP(chain_psadbw, "", R(24, "psadbw %%xmm1, %%xmm0"))
LOOP(chain_pblendvb, "",
     R(24, "pblendvb %%xmm0, %%xmm1, %%xmm2\n\t"
           "pblendvb %%xmm0, %%xmm2, %%xmm1"))
LOOP(chain_vpermq, "", R(24, "vpermq $0x1b, %%ymm0, %%ymm0"))
LOOP(chain_cvtdq2ps, "", R(24, "cvtdq2ps %%xmm0, %%xmm0"))
LOOP(chain_cvtss2sd, "", R(12, "cvtss2sd %%xmm0, %%xmm0\n\tcvtsd2ss %%xmm0, %%xmm0"))
LOOP(chain_cvtsi, "", R(12, "cvtsi2sd %%rax, %%xmm0\n\tcvttsd2si %%xmm0, %%rax"))
LOOP(chain_movq, "", R(12, "movq %%rax, %%xmm0\n\tmovq %%xmm0, %%rax"))
LOOP(chain_aes, "", R(24, "aesenc %%xmm1, %%xmm0"))
LOOP(chain_clmul, "", R(24, "pclmulqdq $0, %%xmm1, %%xmm0"))
LOOP(chain_haddps, "", R(24, "haddps %%xmm1, %%xmm0"))

// Independent operations.
LOOP(many_nop, "", R(96, "nop"))
// Rounds, whose last two instructions are one micro-op. They begin a line.
LOOP(round_line_12, "", R(11, "nop"))
LOOP(round_line_24, "", R(23, "nop"))
LOOP(round_line_36, "", R(35, "nop"))
LOOP(round_line_48, "", R(47, "nop"))
LOOP(round_lines, "", R(16, "lea 1(%%rdi), %%r8"))
LOOP(round_lines_13, "", R(12, "nopl 0(%%rax)") "nop\n\t" R(11, "nopl 0(%%rax)"))
LOOP(round_branches_5, "", R(2, "cmp $1, %%rcx\n\tje 2f\n\ttest %%rcx, %%rcx\n\tjne 2f") "2:\n\t")
LOOP(round_branches_9, "", R(4, "cmp $1, %%rcx\n\tje 2f\n\ttest %%rcx, %%rcx\n\tjne 2f") "2:\n\t")
LOOP(round_taken_2, "", "cmp $1, %%rcx\n\tjne 2f\n\tnop\n2:\n\t")
LOOP(round_taken_3, "",
     "cmp $1, %%rcx\n\tjne 2f\n\tnop\n2:\n\ttest %%rcx, %%rcx\n\tje 3f\n\tnop\n3:\n\t")
LOOP(many_add, "",
     R(12, "add $1, %%rax\n\tadd $1, %%rcx\n\tadd $1, %%rdx\n\tadd $1, %%rsi\n\t"
           "add $1, %%rdi\n\tadd $1, %%r8\n\tadd $1, %%r9\n\tadd $1, %%r10"))
LOOP(many_move, "",
     R(24, "mov %%rbx, %%rcx\n\tmov %%rbx, %%rdx\n\tmov %%rbx, %%rsi\n\tmov %%rbx, %%rdi"))
LOOP(many_zero, "",
     R(24, "xor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi"))
LOOP(many_lea, "",
     R(12, "lea (%%rax,%%r14), %%rcx\n\tlea (%%rax,%%r14), %%rdx\n\tlea (%%rax,%%r14), %%rsi\n\t"
           "lea (%%rax,%%r14), %%rdi"))
LOOP(many_lea3, "",
     R(12, "lea 1(%%rax,%%r14), %%rcx\n\tlea 1(%%rax,%%r14), %%rdx\n\tlea 1(%%rax,%%r14), %%rsi\n\t"
           "lea 1(%%rax,%%r14), %%rdi"))
LOOP(many_shift, "",
     R(12, "shl $1, %%rcx\n\tshl $1, %%rdx\n\tshl $1, %%rsi\n\tshl $1, %%rdi\n\t"
           "shl $1, %%r8\n\tshl $1, %%r9\n\tshl $1, %%r10\n\tshl $1, %%r11"))
LOOP(many_cmov, "",
     R(12, "cmovc %%rbx, %%rcx\n\tcmovc %%rbx, %%rdx\n\tcmovc %%rbx, %%rsi\n\t"
           "cmovc %%rbx, %%rdi\n\t"
           "cmovc %%rbx, %%r8\n\tcmovc %%rbx, %%r9"))
LOOP(many_popcnt, "",
     R(12, "popcnt %%rax, %%rcx\n\tpopcnt %%rax, %%rdx\n\tpopcnt %%rax, %%rsi\n\t"
           "popcnt %%rax, %%rdi"))
LOOP(many_imul, "",
     R(12, "imul $3, %%rax, %%rcx\n\timul $3, %%rax, %%rdx\n\timul $3, %%rax, %%rsi\n\t"
           "imul $3, %%rax, %%rdi"))
LOOP(many_load, "",
     R(12, "mov (%%r14), %%rcx\n\tmov 64(%%r14), %%rdx\n\tmov 128(%%r14), %%rsi\n\t"
           "mov 192(%%r14), %%rdi"))
LOOP(many_load_line, "",
     R(12, "mov (%%r14), %%rcx\n\tmov 8(%%r14), %%rdx\n\tmov 16(%%r14), %%rsi\n\t"
           "mov 24(%%r14), %%rdi"))
LOOP(many_load16, "",
     R(12, "movdqa (%%r14), %%xmm0\n\tmovdqa 64(%%r14), %%xmm1\n\tmovdqa 128(%%r14), %%xmm2\n\t"
           "movdqa 192(%%r14), %%xmm3"))
LOOP(many_store, "",
     R(12, "mov %%rax, (%%r14)\n\tmov %%rax, 8(%%r14)\n\tmov %%rax, 16(%%r14)\n\t"
           "mov %%rax, 24(%%r14)"))
LOOP(many_store_lines, "",
     R(12, "mov %%rax, (%%r14)\n\tmov %%rax, 64(%%r14)\n\tmov %%rax, 128(%%r14)\n\t"
           "mov %%rax, 192(%%r14)"))
LOOP(many_store16, "",
     R(12, "movdqa %%xmm0, (%%r14)\n\tmovdqa %%xmm1, 16(%%r14)\n\tmovdqa %%xmm2, 32(%%r14)\n\t"
           "movdqa %%xmm3, 48(%%r14)"))
LOOP(many_jcc, "", "test %%rcx, %%rcx\n\t" R(48, "jne 2f") "2:\n\t")
LOOP(many_cmp_jcc, "", R(24, "cmp $1, %%rcx\n\tje 2f") "2:\n\tadd $0, %%rax\n\t")
LOOP(many_paddd, "",
     R(12, "vpaddd %%xmm7, %%xmm7, %%xmm0\n\tvpaddd %%xmm7, %%xmm7, %%xmm1\n\t"
           "vpaddd %%xmm7, %%xmm7, %%xmm2\n\tvpaddd %%xmm7, %%xmm7, %%xmm3"))
LOOP(many_pslld, "",
     R(12, "pslld $1, %%xmm0\n\tpslld $1, %%xmm1\n\tpslld $1, %%xmm2\n\tpslld $1, %%xmm3\n\t"
           "pslld $1, %%xmm4\n\tpslld $1, %%xmm5"))
LOOP(many_pshufd, "",
     R(12, "pshufd $1, %%xmm7, %%xmm0\n\tpshufd $1, %%xmm7, %%xmm1\n\tpshufd $1, %%xmm7, %%xmm2\n\t"
           "pshufd $1, %%xmm7, %%xmm3"))
LOOP(many_pmullw, "",
     R(12, "pmullw %%xmm7, %%xmm0\n\tpmullw %%xmm7, %%xmm1\n\tpmullw %%xmm7, %%xmm2\n\t"
           "pmullw %%xmm7, %%xmm3\n\tpmullw %%xmm7, %%xmm4\n\tpmullw %%xmm7, %%xmm5"))
LOOP(many_pmulld, "",
     R(12, "pmulld %%xmm7, %%xmm0\n\tpmulld %%xmm7, %%xmm1\n\tpmulld %%xmm7, %%xmm2\n\t"
           "pmulld %%xmm7, %%xmm3\n\tpmulld %%xmm7, %%xmm4\n\tpmulld %%xmm7, %%xmm5"))
LOOP(many_addsd, "",
     R(12, "addsd %%xmm7, %%xmm0\n\taddsd %%xmm7, %%xmm1\n\taddsd %%xmm7, %%xmm2\n\t"
           "addsd %%xmm7, %%xmm3\n\taddsd %%xmm7, %%xmm4\n\taddsd %%xmm7, %%xmm5"))
LOOP(many_mulsd, "",
     R(12, "mulsd %%xmm7, %%xmm0\n\tmulsd %%xmm7, %%xmm1\n\tmulsd %%xmm7, %%xmm2\n\t"
           "mulsd %%xmm7, %%xmm3\n\tmulsd %%xmm7, %%xmm4\n\tmulsd %%xmm7, %%xmm5"))
LOOP(many_fma512, "vpxorq %%zmm7, %%zmm7, %%zmm7",
     R(12, "vfmadd231pd %%zmm7, %%zmm7, %%zmm0\n\tvfmadd231pd %%zmm7, %%zmm7, %%zmm1\n\t"
           "vfmadd231pd %%zmm7, %%zmm7, %%zmm2\n\tvfmadd231pd %%zmm7, %%zmm7, %%zmm3\n\t"
           "vfmadd231pd %%zmm7, %%zmm7, %%zmm4\n\tvfmadd231pd %%zmm7, %%zmm7, %%zmm5\n\t"
           "vfmadd231pd %%zmm7, %%zmm7, %%zmm6") "vzeroupper\n\t")
LOOP(many_divsd, "",
     R(6, "divsd %%xmm7, %%xmm0\n\tdivsd %%xmm7, %%xmm1\n\tdivsd %%xmm7, %%xmm2\n\t"
          "divsd %%xmm7, %%xmm3"))
LOOP(many_div64, "mov $1, %%ecx", R(12, "mov $-1, %%rax\n\txor %%edx, %%edx\n\tdiv %%rcx"))
LOOP(many_xchg, "", R(24, "xchg %%rcx, %%rdx"))

// Stores and loads of the same bytes.
LOOP(forward_same, "", R(16, "mov %%rax, 8(%%r14)\n\tmov 8(%%r14), %%rax"))
LOOP(forward_base, "mov %%r14, %%r13", R(16, "mov %%rax, 8(%%r14)\n\tmov 8(%%r13), %%rax"))
LOOP(forward_index, "", R(16, "mov %%rax, 8(%%r14)\n\tmov 8(%%r14,%%rbx), %%rax"))
LOOP(forward_stack, "", R(16, "push %%rax\n\tpop %%rax"))
LOOP(forward_part, "", R(16, "mov %%rax, 8(%%r14)\n\tmov 12(%%r14), %%eax"))
LOOP(forward_low, "", R(16, "mov %%rax, 8(%%r14)\n\tmov 8(%%r14), %%eax"))
LOOP(forward_fail, "", R(4, "mov %%al, 8(%%r14)\n\tmov 8(%%r14), %%rcx"))
LOOP(forward_fail4, "",
     R(2, "mov %%al, 8(%%r14)\n\tmov 8(%%r14), %%rcx\n\tmov %%al, 72(%%r14)\n\t"
          "mov 72(%%r14), %%rcx\n\t"
          "mov %%al, 136(%%r14)\n\tmov 136(%%r14), %%rcx\n\t"
          "mov %%al, 200(%%r14)\n\tmov 200(%%r14), %%rcx"))
LOOP(forward_vector, "", R(16, "movdqa %%xmm0, (%%r14)\n\tmovdqa (%%r14), %%xmm0"))
LOOP(forward_fields, "",
     R(4, "mov %%eax, 8(%%r14)\n\tmov %%eax, 12(%%r14)\n\tmov 8(%%r14), %%rcx"))
LOOP(forward_between, "", R(4, "mov %%rax, 8(%%r14)\n\tmov 12(%%r14), %%rcx"))
// The same with other stores between, and products, so that these stores are not what it waits for.
#define AFTER(name, n)                                                   \
    LOOP(name, "mov $1, %%ecx",                                          \
         R(4, "mov %%rax, 8(%%r14)\n\t" R(n, "mov %%rbx, 128(%%r14)")    \
              "mov 8(%%r14), %%rax\n\t" R(3, "imul %%rcx, %%rax")))
AFTER(forward_after_7, 7)
AFTER(forward_after_8, 8)
AFTER(forward_after_15, 15)
AFTER(forward_after_16, 16)
// Another place each time; one of four stores before it, drawn: r13 is a generator.
LOOP(forward_moving, "",
     R(8, "mov %%rax, 64(%%r14,%%rcx)\n\tmov 64(%%r14,%%rcx), %%rax\n\t"
          "add $8, %%ecx\n\tand $1023, %%ecx"))
LOOP(
    forward_drawn, "mov $6364136223846793005, %%r12\n\tmov $1, %%r13d",
    R(8,
      "imul %%r12, %%r13\n\tadd $1442695, %%r13\n\tmov %%r13, %%rdx\n\tshr $60, %%rdx\n\t"
      "and $3, %%edx\n\t"
      "mov %%rax, 64(%%r14)\n\tmov %%rax, 72(%%r14)\n\tmov %%rax, 80(%%r14)\n\t"
      "mov %%rax, 88(%%r14)\n\tmov 64(%%r14,%%rdx,8), %%rax"))
// Many loads, each behind its store, with the same expression and with another one.
#define SITES(name, n, load)                            \
    LOOP(name, "mov $1, %%ecx",                         \
         R(n, "mov %%rax, 8(%%r14)\n\t" load "\n\timul %%rcx, %%rax"))
SITES(forward_same_1000, 1000, "mov 8(%%r14), %%rax")
SITES(forward_same_12, 12, "mov 8(%%r14), %%rax")
SITES(forward_signed, 4, "movslq 8(%%r14), %%rax")
SITES(forward_add, 4, "xor %%eax, %%eax\n\tadd 8(%%r14), %%rax")
SITES(forward_index_4, 4, "mov 8(%%r14,%%rdx), %%rax")
SITES(forward_index_8, 8, "mov 8(%%r14,%%rdx), %%rax")
SITES(forward_index_12, 12, "mov 8(%%r14,%%rdx), %%rax")
SITES(forward_index_16, 16, "mov 8(%%r14,%%rdx), %%rax")
SITES(forward_index_24, 24, "mov 8(%%r14,%%rdx), %%rax")
SITES(forward_index_32, 32, "mov 8(%%r14,%%rdx), %%rax")
SITES(forward_index_48, 48, "mov 8(%%r14,%%rdx), %%rax")
// The same below the stack pointer, and additions to memory.
LOOP(forward_stack_100, "mov $1, %%ecx",
     R(100, "mov %%rax, -8(%%rsp)\n\tmov -8(%%rsp), %%rax\n\timul %%rcx, %%rax"))
LOOP(forward_added, "", R(4, "addq $1, 8(%%r14)") R(12, "nop"))
// One of two stores: in turn, each for a number of rounds (rcx counts them), or the second one once
// in as many.
#define TURNS(name, which)                                                \
    LOOP(name, "",                                                        \
         "inc %%ecx\n\t" which "\n\tmov %%rax, 64(%%r14)\n\t"           \
         "mov %%rax, 72(%%r14)\n\tmov 64(%%r14,%%rdx,8), %%rax\n\t")
#define SHIFTED(n) "mov %%ecx, %%edx\n\tshr $" #n ", %%edx\n\tand $1, %%edx"
#define ONCE(n)    "xor %%edx, %%edx\n\ttest $" #n ", %%ecx\n\tsete %%dl"
TURNS(forward_turns_64, SHIFTED(6))
TURNS(forward_turns_256, SHIFTED(8))
TURNS(forward_turns_1024, SHIFTED(10))
TURNS(forward_once_16, ONCE(15))
TURNS(forward_once_64, ONCE(63))
TURNS(forward_once_256, ONCE(255))

// Of many places.
LOOP(chase, "", R(16, "mov (%%rax), %%rax"))
LOOP(chain_crossing, "", R(16, "mov 60(%%r14,%%rax), %%rax"))
LOOP(lines_read, "",
     R(8, "mov (%%rax), %%rcx\n\tmov 64(%%rax), %%rdx\n\tmov 128(%%rax), %%rcx\n\t"
          "mov 192(%%rax), %%rdx\n\t"
          "add $256, %%rax")
     "cmp (%%r14), %%rax\n\tcmovae 8(%%r14), %%rax\n\t")
LOOP(
    lines_written, "",
    R(8,
      "mov %%rcx, 16(%%rax)\n\tmov %%rcx, 80(%%rax)\n\tmov %%rcx, 144(%%rax)\n\t"
      "mov %%rcx, 208(%%rax)\n\tadd $256, %%rax")
     "cmp (%%r14), %%rax\n\tcmovae 8(%%r14), %%rax\n\t")
// The second half gets the first: the distance is in r12.
LOOP(
    lines_copied, "mov 24(%%r14), %%r12",
    R(8,
      "movdqa (%%rax), %%xmm0\n\tmovdqa 16(%%rax), %%xmm1\n\tmovdqa 32(%%rax), %%xmm2\n\t"
      "movdqa 48(%%rax), %%xmm3\n\tmovdqa %%xmm0, (%%rax,%%r12)\n\t"
      "movdqa %%xmm1, 16(%%rax,%%r12)\n\t"
      "movdqa %%xmm2, 32(%%rax,%%r12)\n\tmovdqa %%xmm3, 48(%%rax,%%r12)\n\tadd $64, %%rax")
     "cmp (%%r14), %%rax\n\tcmovae 8(%%r14), %%rax\n\t")
// One load in each of many steps of r12 bytes, independent.
LOOP(steps, "mov 32(%%r14), %%r12",
     R(8, "mov 40(%%rax), %%rcx\n\tadd %%r12, %%rax") "cmp (%%r14), %%rax\n\t"
                                                      "cmovae 8(%%r14), %%rax\n\t")
// Random lines, independent of each other: rax is a generator modulo 2^64, its upper bits the line.
LOOP(lines_random, "mov 16(%%r14), %%r12\n\tmov $6364136223846793005, %%r13",
     R(8, "imul %%r13, %%rax\n\tadd $1442695, %%rax\n\tmov %%rax, %%rdx\n\tshr $24, %%rdx\n\t"
          "and %%r12, %%rdx\n\tmov 64(%%r14,%%rdx), %%rcx"))

// Two chains, of lines that are far away, with instructions between: they overlap as long as both
// are in the reorder buffer.
#define ROB(name, n)                                                      \
    LOOP(name, "mov 8(%%r14), %%rdx",                                     \
         "mov (%%rax), %%rax\n\t" R(n, "nop") "mov (%%rdx), %%rdx\n\t" R( \
             n, "nop") "mov %%rdx, 8(%%r14)\n\t")
ROB(rob_160, 160)
ROB(rob_200, 200)
ROB(rob_216, 216)
ROB(rob_232, 232)
ROB(rob_280, 280)
ROB(rob_400, 400)
ROB(rob_440, 440)
ROB(rob_480, 480)

// The same, where the second chain begins half of the area behind the first one in each run, and
// with other instructions between: loads and stores of one place; additions that wait for the load.
#define WINDOW(name, n, ins)                                                                    \
    LOOP(name, "mov %%rax, %%rdx\n\tsub %%r14, %%rdx\n\txor $67108864, %%rdx\n\tadd %%r14, %%rdx", \
         "mov (%%rax), %%rax\n\t" R(n, ins) "mov (%%rdx), %%rdx\n\t" R(n, ins))
WINDOW(window_nops_100, 100, "nop")
WINDOW(window_nops_240, 240, "nop")
WINDOW(window_nops_280, 280, "nop")
WINDOW(window_loads_64, 64, "mov 16(%%r14), %%rcx")
WINDOW(window_loads_100, 100, "mov 16(%%r14), %%rcx")
WINDOW(window_loads_140, 140, "mov 16(%%r14), %%rcx")
WINDOW(window_stores_60, 60, "mov %%rbx, 16(%%r14)")
WINDOW(window_stores_72, 72, "mov %%rbx, 16(%%r14)")
WINDOW(window_waits_80, 80, "lea 1(%%rax), %%rcx")
WINDOW(window_waits_120, 120, "lea 1(%%rax), %%rcx")

// Branches by the top bit of a generator: rax, modulo 2^64.
LOOP(branch_register, "mov $6364136223846793005, %%r13",
     R(8, "imul %%r13, %%rax\n\tadd $1442695, %%rax\n\ttest %%rax, %%rax\n\tjns 2f\n\t"
          "lea 1(%%rcx), %%rcx\n\t2:"))
LOOP(branch_register_not, "mov $6364136223846793005, %%r13",
     R(8, "imul %%r13, %%rax\n\tadd $1442695, %%rax\n\ttest %%rbx, %%rbx\n\tjns 2f\n\t"
          "lea 1(%%rcx), %%rcx\n\t2:"))
// Branches by bytes of the area: rcx walks it, rbx is its mask.
LOOP(branches, "mov 8(%%r14), %%rbx\n\tmov (%%r14), %%rcx",
     R(8, "inc %%rcx\n\tand %%rbx, %%rcx\n\tcmpb $0, 16(%%r14,%%rcx)\n\tje 2f\n\t"
          "add $1, %%rax\n\t2:") "mov %%rcx, (%%r14)\n\t")

// A cycle through all nodes of `count` bytes in random order; kind 0: anywhere. 1: all of one page,
// then all of another.
static uint64_t init_chase(const struct loop *l)
{
    uint32_t n = (uint32_t)(l->size / l->count), group = l->kind == 1 ? 4096 / l->count : n;
    uint32_t *pages = malloc(n * sizeof(*pages)), *nodes = malloc(group * sizeof(*nodes));
    uint64_t state = SEED;
    char *last = NULL, *first = NULL;

    shuffle(pages, n / group, &state);
    for (uint32_t i = 0; i < n / group; i++) {
        shuffle(nodes, group, &state);
        for (uint32_t j = 0; j < group; j++) {
            uint64_t at = (uint64_t)(pages[i] * group + nodes[j]) * l->count;
            char *node;

            if (l->count > 64) // one for each page, in lines of all sets
                at += at / l->count % 64 * 64;
            node = area + at;
            if (last)
                *(char **)last = node;
            else
                first = node;
            last = node;
        }
    }
    *(char **)last = first;
    free(pages);
    free(nodes);
    return (uint64_t)first;
}

// Two chains of the same cycle: the second begins in its middle.
static uint64_t init_two(const struct loop *l)
{
    uint64_t first = init_chase(l), at = first;

    for (size_t i = 0; i < l->size / l->count / 2; i++)
        at = *(uint64_t *)at;
    ((uint64_t *)area)[1] = at;
    return first;
}

// kind 0: all lines of the area; 1: those of its first half. The state is an address. 2: any line.
static uint64_t init_lines(const struct loop *l)
{
    uint64_t *words = (uint64_t *)area, begin = (uint64_t)area;
    size_t size = l->kind == 1 ? l->size / 2 : l->size;

    words[0] = begin + size;
    words[1] = begin;
    words[2] = (size - 1) & ~(uint64_t)63;
    words[3] = size;
    words[4] = l->count;
    return l->kind == 2 ? 1 : begin;
}

static uint64_t init_branches(const struct loop *l)
{
    uint64_t state = SEED, *words = (uint64_t *)area;

    for (uint32_t i = 0; i < l->count; i++)
        area[16 + i] = l->kind ? (char)(draw(&state) >> 40 & 1) : 0;
    words[0] = 0;
    words[1] = l->count - 1;
    return 1;
}

// The columns are those of struct loop.
const struct loop asm_loops[] = {
    { "chain-add", "chain: addition",
      48, 200, 0, chain_add, NULL, 4096, 0, 0, NULL },
    { "chain-add-32", "chain: addition of 32 bits",
      48, 200, 0, chain_add_32, NULL, 4096, 0, 0, NULL },
    { "chain-add-large", "chain: addition of a large constant",
      48, 200, 0, chain_add_large, NULL, 4096, 0, 0, NULL },
    { "chain-add-imul", "chain: addition and imul",
      24, 200, 0, chain_add_imul, NULL, 4096, 0, 0, NULL },
    { "chain-lea", "chain: lea of a base and a displacement",
      48, 200, 0, chain_lea, NULL, 4096, 0, 0, NULL },
    { "chain-move", "chain: mov between registers",
      48, 200, 0, chain_move, NULL, 4096, 0, 0, NULL },
    { "chain-lea3", "chain: lea of three parts",
      48, 200, 0, chain_lea3, NULL, 4096, 0, 0, NULL },
    { "chain-shift", "chain: rotation by cl",
      48, 200, 0, chain_shift, NULL, 4096, 0, 0, NULL },
    { "chain-adc", "chain: adc",
      48, 200, 0, chain_adc, NULL, 4096, 0, 0, NULL },
    { "chain-cmov", "chain: cmovc",
      48, 200, 0, chain_cmov, NULL, 4096, 0, 0, NULL },
    { "chain-popcnt", "chain: popcnt",
      48, 200, 0, chain_popcnt, NULL, 4096, 0, 0, "popcnt" },
    { "chain-bswap", "chain: bswap of 64 bits",
      48, 200, 0, chain_bswap, NULL, 4096, 0, 0, NULL },
    { "chain-imul", "chain: imul",
      48, 100, 0, chain_imul, NULL, 4096, 0, 0, NULL },
    { "chain-mul", "chain: mul to two registers",
      24, 100, 0, chain_mul, NULL, 4096, 0, 0, NULL },
    { "chain-div32", "chain: div of 32 bits, and xor",
      12, 100, 0, chain_div32, NULL, 4096, 0, 0, NULL },
    { "chain-div64", "chain: div of 64 bits, and xor",
      12, 100, 0, chain_div64, NULL, 4096, 0, 0, NULL },
    { "chain-div-small", "chain: div of 64 bits, 5 by 1, and xor",
      12, 100, 0, chain_div_small, NULL, 4096, 0, 0, NULL },
    { "chain-load-vector", "chain: movq to a vector, back, and; movq from memory, back, and",
      12, 100, 0, chain_load_vector, NULL, 4096, 0, 0, NULL },
    { "chain-xadd", "chain: xadd",
      24, 200, 0, chain_xadd, NULL, 4096, 0, 0, NULL },
    { "chain-lock", "chain: lock add to L1",
      8, 100, 0, chain_lock, NULL, 4096, 0, 0, NULL },
    { "chain-addsd", "chain: addsd",
      24, 200, 0, chain_addsd, NULL, 4096, 0, 0, NULL },
    { "chain-addsd-mulsd", "chain: addsd and mulsd",
      12, 200, 0, chain_addsd_mulsd, NULL, 4096, 0, 0, NULL },
    { "chain-mulsd", "chain: mulsd",
      24, 200, 0, chain_mulsd, NULL, 4096, 0, 0, NULL },
    { "chain-fma", "chain: fused product and addition",
      24, 200, 0, chain_fma, NULL, 4096, 0, 0, "fma" },
    { "chain-divss", "chain: divss",
      12, 100, 0, chain_divss, NULL, 4096, 0, 0, NULL },
    { "chain-divsd", "chain: divsd",
      12, 100, 0, chain_divsd, NULL, 4096, 0, 0, NULL },
    { "chain-sqrtsd", "chain: sqrtsd",
      12, 100, 0, chain_sqrtsd, NULL, 4096, 0, 0, NULL },
    { "chain-maxsd", "chain: maxsd",
      24, 200, 0, chain_maxsd, NULL, 4096, 0, 0, NULL },
    { "chain-paddd", "chain: paddd",
      24, 200, 0, chain_paddd, NULL, 4096, 0, 0, NULL },
    { "chain-pand", "chain: pand",
      24, 200, 0, chain_pand, NULL, 4096, 0, 0, NULL },
    { "chain-pslld", "chain: pslld by a constant",
      24, 200, 0, chain_pslld, NULL, 4096, 0, 0, NULL },
    { "chain-pshufd", "chain: pshufd",
      24, 200, 0, chain_pshufd, NULL, 4096, 0, 0, NULL },
    { "chain-pmullw", "chain: pmullw",
      24, 200, 0, chain_pmullw, NULL, 4096, 0, 0, NULL },
    { "chain-pmulld", "chain: pmulld",
      24, 200, 0, chain_pmulld, NULL, 4096, 0, 0, "sse4.1" },
    { "chain-psadbw", "chain: psadbw",
      24, 200, 0, chain_psadbw, NULL, 4096, 0, 0, NULL },
    { "chain-pblendvb", "chain: pblendvb",
      48, 200, 0, chain_pblendvb, NULL, 4096, 0, 0, "sse4.1" },
    { "chain-vpermq", "chain: vpermq",
      24, 200, 0, chain_vpermq, NULL, 4096, 0, 0, "avx2" },
    { "chain-cvtdq2ps", "chain: cvtdq2ps",
      24, 200, 0, chain_cvtdq2ps, NULL, 4096, 0, 0, NULL },
    { "chain-cvtss2sd", "chain: cvtss2sd and cvtsd2ss",
      12, 200, 0, chain_cvtss2sd, NULL, 4096, 0, 0, NULL },
    { "chain-cvtsi", "chain: cvtsi2sd and cvttsd2si",
      12, 200, 0, chain_cvtsi, NULL, 4096, 0, 0, NULL },
    { "chain-movq", "chain: movq to a vector and back",
      12, 200, 0, chain_movq, NULL, 4096, 0, 0, NULL },
    { "chain-aes", "chain: aesenc",
      24, 200, 0, chain_aes, NULL, 4096, 0, 0, "aes" },
    { "chain-clmul", "chain: pclmulqdq",
      24, 200, 0, chain_clmul, NULL, 4096, 0, 0, "aes" },
    { "chain-haddps", "chain: haddps",
      24, 200, 0, chain_haddps, NULL, 4096, 0, 0, NULL },
    { "many-nop", "nop",
      96, 200, 0, many_nop, NULL, 4096, 0, 0, NULL },
    { "round-line-12", "round of 12 micro-ops in a line",
      1, 10000, 0, round_line_12, NULL, 4096, 0, 0, NULL },
    { "round-line-24", "round of 24",
      1, 10000, 0, round_line_24, NULL, 4096, 0, 0, NULL },
    { "round-line-36", "round of 36",
      1, 10000, 0, round_line_36, NULL, 4096, 0, 0, NULL },
    { "round-line-48", "round of 48",
      1, 10000, 0, round_line_48, NULL, 4096, 0, 0, NULL },
    { "round-lines", "round of 16 leas in a line, dec and branch in the next",
      1, 10000, 0, round_lines, NULL, 4096, 0, 0, NULL },
    { "round-lines-13", "round of 13 and 12 micro-ops in two lines",
      1, 10000, 0, round_lines_13, NULL, 4096, 0, 0, NULL },
    { "round-branches-5", "round of 5 branches that fuse, 4 of them not taken",
      1, 10000, 0, round_branches_5, NULL, 4096, 0, 0, NULL },
    { "round-branches-9", "round of 9, 8 of them not taken",
      1, 10000, 0, round_branches_9, NULL, 4096, 0, 0, NULL },
    { "round-taken-2", "round of 2 taken branches that fuse",
      1, 10000, 0, round_taken_2, NULL, 4096, 0, 0, NULL },
    { "round-taken-3", "round of 3",
      1, 10000, 0, round_taken_3, NULL, 4096, 0, 0, NULL },
    { "many-add", "addition",
      96, 200, 0, many_add, NULL, 4096, 0, 0, NULL },
    { "many-move", "mov between registers",
      96, 200, 0, many_move, NULL, 4096, 0, 0, NULL },
    { "many-zero", "xor of a register with itself",
      96, 200, 0, many_zero, NULL, 4096, 0, 0, NULL },
    { "many-lea", "lea of two parts",
      48, 200, 0, many_lea, NULL, 4096, 0, 0, NULL },
    { "many-lea3", "lea of three parts",
      48, 200, 0, many_lea3, NULL, 4096, 0, 0, NULL },
    { "many-shift", "shift by a constant",
      96, 200, 0, many_shift, NULL, 4096, 0, 0, NULL },
    { "many-cmov", "cmovc",
      72, 200, 0, many_cmov, NULL, 4096, 0, 0, NULL },
    { "many-popcnt", "popcnt",
      48, 200, 0, many_popcnt, NULL, 4096, 0, 0, "popcnt" },
    { "many-imul", "imul",
      48, 200, 0, many_imul, NULL, 4096, 0, 0, NULL },
    { "many-load", "load of 8 bytes",
      48, 200, 0, many_load, NULL, 4096, 0, 0, NULL },
    { "many-load-line", "load of 8 bytes, of one line",
      48, 200, 0, many_load_line, NULL, 4096, 0, 0, NULL },
    { "many-load16", "load of 16 bytes",
      48, 200, 0, many_load16, NULL, 4096, 0, 0, NULL },
    { "many-store", "store, to one line",
      48, 200, 0, many_store, NULL, 4096, 0, 0, NULL },
    { "many-store-lines", "store, to four lines",
      48, 200, 0, many_store_lines, NULL, 4096, 0, 0, NULL },
    { "many-store16", "store of 16 bytes, to one line",
      48, 200, 0, many_store16, NULL, 4096, 0, 0, NULL },
    { "many-jcc", "conditional branch, not taken",
      48, 200, 0, many_jcc, NULL, 4096, 0, 0, NULL },
    { "many-cmp-jcc", "comparison and branch, not taken",
      24, 400, 0, many_cmp_jcc, NULL, 4096, 0, 0, NULL },
    { "many-paddd", "vpaddd",
      48, 200, 0, many_paddd, NULL, 4096, 0, 0, "avx2" },
    { "many-pslld", "pslld",
      72, 200, 0, many_pslld, NULL, 4096, 0, 0, NULL },
    { "many-pshufd", "pshufd",
      48, 200, 0, many_pshufd, NULL, 4096, 0, 0, NULL },
    { "many-pmullw", "pmullw",
      72, 200, 0, many_pmullw, NULL, 4096, 0, 0, NULL },
    { "many-pmulld", "pmulld",
      72, 200, 0, many_pmulld, NULL, 4096, 0, 0, "sse4.1" },
    { "many-addsd", "addsd",
      72, 200, 0, many_addsd, NULL, 4096, 0, 0, NULL },
    { "many-mulsd", "mulsd",
      72, 200, 0, many_mulsd, NULL, 4096, 0, 0, NULL },
    { "many-fma512", "vfmadd231pd of 512 bits",
      84, 200, 0, many_fma512, NULL, 4096, 0, 0, "avx512" },
    { "many-divsd", "divsd",
      24, 200, 0, many_divsd, NULL, 4096, 0, 0, NULL },
    { "many-div64", "div of 64 bits, independent",
      12, 200, 0, many_div64, NULL, 4096, 0, 0, NULL },
    { "many-xchg", "xchg of registers",
      24, 200, 0, many_xchg, NULL, 4096, 0, 0, NULL },
    { "forward-same", "store and load of the same bytes, same base",
      16, 200, 0, forward_same, NULL, 4096, 0, 0, NULL },
    { "forward-base", "the same, another base register",
      16, 200, 0, forward_base, NULL, 4096, 0, 0, NULL },
    { "forward-index", "the same, the load with an index",
      16, 200, 0, forward_index, NULL, 4096, 0, 0, NULL },
    { "forward-stack", "push and pop",
      16, 200, 0, forward_stack, NULL, 4096, 0, 0, NULL },
    { "forward-part", "store of eight bytes, load of the last four",
      16, 200, 0, forward_part, NULL, 4096, 0, 0, NULL },
    { "forward-low", "store of eight bytes, load of the first four",
      16, 200, 0, forward_low, NULL, 4096, 0, 0, NULL },
    { "forward-fail", "store of a byte, load of eight with it",
      4, 200, 0, forward_fail, NULL, 4096, 0, 0, NULL },
    { "forward-fail4", "four such pairs of four lines, each",
      8, 200, 0, forward_fail4, NULL, 4096, 0, 0, NULL },
    { "forward-fields", "two stores of four bytes, load of both",
      4, 200, 0, forward_fields, NULL, 4096, 0, 0, NULL },
    { "forward-between", "store of eight bytes, load of eight that begin within",
      4, 200, 0, forward_between, NULL, 4096, 0, 0, NULL },
    { "forward-vector", "store and load of 16 bytes",
      16, 200, 0, forward_vector, NULL, 4096, 0, 0, NULL },
    { "forward-after-7", "with seven other stores between, and three products",
      4, 100, 0, forward_after_7, NULL, 4096, 0, 0, NULL },
    { "forward-after-8", "with eight",
      4, 100, 0, forward_after_8, NULL, 4096, 0, 0, NULL },
    { "forward-after-15", "with fifteen other stores between, and three products",
      4, 100, 0, forward_after_15, NULL, 4096, 0, 0, NULL },
    { "forward-after-16", "with sixteen",
      4, 100, 0, forward_after_16, NULL, 4096, 0, 0, NULL },
    { "forward-moving", "with the same index, which moves on",
      8, 200, 0, forward_moving, NULL, 4096, 0, 0, NULL },
    { "forward-drawn", "load of one of four stores before it, drawn",
      8, 200, 0, forward_drawn, NULL, 4096, 0, 0, NULL },
    { "forward-same-1000", "1000 stores and loads with the same base, a product each",
      1000, 5, 0, forward_same_1000, NULL, 4096, 0, 0, NULL },
    { "forward-same-12", "12",
      12, 160, 0, forward_same_12, NULL, 4096, 0, 0, NULL },
    { "forward-signed", "4, the loads extend the sign",
      4, 480, 0, forward_signed, NULL, 4096, 0, 0, NULL },
    { "forward-add", "4, the loads by an addition to zero",
      4, 480, 0, forward_add, NULL, 4096, 0, 0, NULL },
    { "forward-stack-100", "100 below the stack pointer, a product each",
      100, 40, 0, forward_stack_100, NULL, 4096, 0, 0, NULL },
    { "forward-added", "addition to memory, of four to the same place",
      4, 400, 0, forward_added, NULL, 4096, 0, 0, NULL },
    { "forward-index-4", "4, the loads with an index",
      4, 480, 0, forward_index_4, NULL, 4096, 0, 0, NULL },
    { "forward-index-8", "8",
      8, 240, 0, forward_index_8, NULL, 4096, 0, 0, NULL },
    { "forward-index-12", "12",
      12, 160, 0, forward_index_12, NULL, 4096, 0, 0, NULL },
    { "forward-index-16", "16",
      16, 120, 0, forward_index_16, NULL, 4096, 0, 0, NULL },
    { "forward-index-24", "24",
      24, 80, 0, forward_index_24, NULL, 4096, 0, 0, NULL },
    { "forward-index-32", "32",
      32, 60, 0, forward_index_32, NULL, 4096, 0, 0, NULL },
    { "forward-index-48", "48",
      48, 40, 0, forward_index_48, NULL, 4096, 0, 0, NULL },
    { "forward-turns-64", "load of one of two stores, in turn for 64 rounds each",
      1, 4096, 0, forward_turns_64, NULL, 4096, 0, 0, NULL },
    { "forward-turns-256", "for 256",
      1, 4096, 0, forward_turns_256, NULL, 4096, 0, 0, NULL },
    { "forward-turns-1024", "for 1024",
      1, 8192, 0, forward_turns_1024, NULL, 4096, 0, 0, NULL },
    { "forward-once-16", "load of one of two stores, of the other one once in 16 rounds",
      1, 4096, 0, forward_once_16, NULL, 4096, 0, 0, NULL },
    { "forward-once-64", "once in 64",
      1, 4096, 0, forward_once_64, NULL, 4096, 0, 0, NULL },
    { "forward-once-256", "once in 256",
      1, 4096, 0, forward_once_256, NULL, 4096, 0, 0, NULL },
    { "chase-l1", "load, chain in L1",
      16, 400, 32, chase, init_chase, 16 << 10, 64, 0, NULL },
    { "chain-crossing", "load of two lines, chain",
      16, 400, 0, chain_crossing, NULL, 4096, 0, 0, NULL },
    { "chase-128k", "load, chain of 128 KiB, any order",
      16, 200, 512, chase, init_chase, 128 << 10, 64, 0, NULL },
    { "chase-l2", "load, chain of 512 KiB, by pages",
      16, 200, 1536, chase, init_chase, 512 << 10, 64, 1, NULL },
    { "chase-l2-any", "load, chain of 512 KiB, any order",
      16, 200, 1536, chase, init_chase, 512 << 10, 64, 0, NULL },
    { "chase-4m", "load, chain of 4 MiB, by pages",
      16, 60, 8192, chase, init_chase, 4 << 20, 64, 1, NULL },
    { "chase-16m", "load, chain of 16 MiB, by pages",
      16, 60, 32768, chase, init_chase, 16 << 20, 64, 1, NULL },
    { "chase-24m", "load, chain of 24 MiB, by pages",
      16, 60, 49152, chase, init_chase, 24 << 20, 64, 1, NULL },
    { "chase-16m-any", "load, chain of 16 MiB, any order",
      16, 60, 32768, chase, init_chase, 16 << 20, 64, 0, NULL },
    { "chase-128m", "load, chain of 128 MiB, by pages",
      16, 30, 0, chase, init_chase, 128 << 20, 64, 1, NULL },
    { "chase-128m-any", "load, chain of 128 MiB, any order",
      16, 30, 0, chase, init_chase, 128 << 20, 64, 0, NULL },
    { "chase-4m-any", "load, chain of 4 MiB, any order",
      16, 60, 12288, chase, init_chase, 4 << 20, 64, 0, NULL },
    { "chase-12m-any", "load, chain of 12 MiB, any order",
      16, 60, 24576, chase, init_chase, 12 << 20, 64, 0, NULL },
    { "chase-4m-large", "load, chain of 4 MiB, any order, pages of 2 MiB",
      16, 60, 12288, chase, init_chase, 4 << 20, 64, LARGE, NULL },
    { "chase-2m-large", "load, chain of 2 MiB, any order, pages of 2 MiB",
      16, 60, 12288, chase, init_chase, 2 << 20, 64, LARGE, NULL },
    { "chase-6m-large", "load, chain of 6 MiB, any order, pages of 2 MiB",
      16, 60, 24576, chase, init_chase, 6 << 20, 64, LARGE, NULL },
    { "chase-8m-large", "load, chain of 8 MiB, any order, pages of 2 MiB",
      16, 60, 24576, chase, init_chase, 8 << 20, 64, LARGE, NULL },
    { "chase-12m-large", "load, chain of 12 MiB, any order, pages of 2 MiB",
      16, 60, 24576, chase, init_chase, 12 << 20, 64, LARGE, NULL },
    { "chase-24m-large", "load, chain of 24 MiB, any order, pages of 2 MiB",
      16, 60, 49152, chase, init_chase, 24 << 20, 64, LARGE, NULL },
    { "chase-128m-large", "load, chain of 128 MiB, any order, pages of 2 MiB",
      16, 30, 0, chase, init_chase, 128 << 20, 64, LARGE, NULL },
    { "pages-64", "load, one in each page, any order, 64 pages",
      16, 100, 8, chase, init_chase, 64 << 12, 4096, 0, NULL },
    { "pages-512", "load, one in each page, any order, 512 pages",
      16, 100, 64, chase, init_chase, 512 << 12, 4096, 0, NULL },
    { "pages-3072", "load, one in each page, any order, 3072 pages",
      16, 100, 384, chase, init_chase, 3072 << 12, 4096, 0, NULL },
    { "pages-16384", "load, one in each page, any order, 16384 pages",
      16, 100, 2048, chase, init_chase, 16384 << 12, 4096, 0, NULL },
    { "read-l1", "line read, in order",
      32, 100, 8, lines_read, init_lines, 16 << 10, 0, 0, NULL },
    { "read-l2", "line read, in order",
      32, 50, 512, lines_read, init_lines, 512 << 10, 0, 0, NULL },
    { "read-256k", "line read, in order",
      32, 50, 256, lines_read, init_lines, 256 << 10, 0, 0, NULL },
    { "read-2m", "line read, in order",
      32, 50, 2048, lines_read, init_lines, 2 << 20, 0, 0, NULL },
    { "read-8m", "line read, in order",
      32, 25, 8192, lines_read, init_lines, 8 << 20, 0, 0, NULL },
    { "read-128m", "line read, in order",
      32, 10, 0, lines_read, init_lines, 128 << 20, 0, 0, NULL },
    { "write-l1", "line written, in order",
      32, 100, 8, lines_written, init_lines, 16 << 10, 0, 0, NULL },
    { "write-l2", "line written, in order",
      32, 50, 512, lines_written, init_lines, 512 << 10, 0, 0, NULL },
    { "write-256k", "line written, in order",
      32, 50, 256, lines_written, init_lines, 256 << 10, 0, 0, NULL },
    { "write-2m", "line written, in order",
      32, 50, 2048, lines_written, init_lines, 2 << 20, 0, 0, NULL },
    { "write-8m", "line written, in order",
      32, 25, 8192, lines_written, init_lines, 8 << 20, 0, 0, NULL },
    { "write-128m", "line written, in order",
      32, 10, 0, lines_written, init_lines, 128 << 20, 0, 0, NULL },
    { "copy-l1", "line copied, by 16 bytes, in order",
      8, 100, 32, lines_copied, init_lines, 16 << 10, 0, 1, NULL },
    { "copy-l2", "line copied, by 16 bytes, in order",
      8, 100, 2048, lines_copied, init_lines, 512 << 10, 0, 1, NULL },
    { "copy-256k", "line copied, by 16 bytes, in order",
      8, 100, 1024, lines_copied, init_lines, 256 << 10, 0, 1, NULL },
    { "copy-2m", "line copied, by 16 bytes, in order",
      8, 100, 8192, lines_copied, init_lines, 2 << 20, 0, 1, NULL },
    { "copy-16m", "line copied, by 16 bytes, in order",
      8, 50, 65536, lines_copied, init_lines, 16 << 20, 0, 1, NULL },
    { "copy-128m", "line copied, by 16 bytes, in order",
      8, 30, 0, lines_copied, init_lines, 128 << 20, 0, 1, NULL },
    { "steps-4160", "load in each step of 4160 bytes, of 512, independent",
      8, 400, 512, steps, init_lines, 4160 * 512, 4160, 0, NULL },
    { "steps-8192", "of 8192 bytes: one set of L1",
      8, 400, 512, steps, init_lines, 8192 * 512, 8192, 0, NULL },
    { "steps-4096-64", "of 4096 bytes: one set of L1, of 64",
      8, 400, 512, steps, init_lines, 4096 * 64, 4096, 0, NULL },
    { "steps-4096-8", "of 8",
      8, 400, 512, steps, init_lines, 4096 * 8, 4096, 0, NULL },
    { "steps-1088", "of 1088 bytes",
      8, 400, 512, steps, init_lines, 1088 * 512, 1088, 0, NULL },
    { "steps-4160-ll", "of 4160 bytes, of 3000",
      8, 400, 3000, steps, init_lines, 4160 * 3000, 4160, 0, NULL },
    { "random-256k", "load of any line, independent",
      8, 200, 4096, lines_random, init_lines, 256 << 10, 0, 2, NULL },
    { "random-l2", "load of any line, independent",
      8, 200, 4096, lines_random, init_lines, 512 << 10, 0, 2, NULL },
    { "random-4m", "load of any line, independent",
      8, 100, 65536, lines_random, init_lines, 4 << 20, 0, 2, NULL },
    { "random-16m", "load of any line, independent",
      8, 60, 65536, lines_random, init_lines, 16 << 20, 0, 2, NULL },
    { "random-128m", "load of any line, independent",
      8, 30, 0, lines_random, init_lines, 128 << 20, 0, 2, NULL },
    { "rob-160", "two loads of memory, 160 nops after each",
      2, 30, 0, rob_160, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-200", "two loads of memory, 200 nops after each",
      2, 30, 0, rob_200, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-216", "two loads of memory, 216 nops after each",
      2, 30, 0, rob_216, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-232", "two loads of memory, 232 nops after each",
      2, 30, 0, rob_232, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-280", "two loads of memory, 280 nops after each",
      2, 30, 0, rob_280, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-400", "two loads of memory, 400 nops after each",
      2, 30, 0, rob_400, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-440", "two loads of memory, 440 nops after each",
      2, 30, 0, rob_440, init_two, 128 << 20, 64, LARGE, NULL },
    { "rob-480", "two loads of memory, 480 nops after each",
      2, 30, 0, rob_480, init_two, 128 << 20, 64, LARGE, NULL },
    { "window-nops-100", "two loads of memory, 100 nops after each, another start",
      2, 40, 0, window_nops_100, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-nops-240", "two loads of memory, 240 nops after each, another start",
      2, 40, 0, window_nops_240, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-nops-280", "two loads of memory, 280 nops after each, another start",
      2, 40, 0, window_nops_280, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-loads-64", "two loads of memory, 64 loads of L1 after each, another start",
      2, 40, 0, window_loads_64, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-loads-100", "two loads of memory, 100 loads of L1 after each, another start",
      2, 40, 0, window_loads_100, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-loads-140", "two loads of memory, 140 loads of L1 after each, another start",
      2, 40, 0, window_loads_140, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-stores-60", "two loads of memory, 60 stores after each, another start",
      2, 40, 0, window_stores_60, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-stores-72", "two loads of memory, 72 stores after each, another start",
      2, 40, 0, window_stores_72, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-waits-80", "two loads of memory, 80 additions to the first after each, another start",
      2, 40, 0, window_waits_80, init_chase, 128 << 20, 64, LARGE, NULL },
    { "window-waits-120", "two loads of memory, 120 additions to the first after each, anew",
      2, 40, 0, window_waits_120, init_chase, 128 << 20, 64, LARGE, NULL },
    { "branch-register", "generator of 4 cycles, branch by it, and an addition or not",
      8, 300, 0, branch_register, NULL, 4096, 0, 0, NULL },
    { "branch-register-not", "the same, the branch not by it",
      8, 300, 0, branch_register_not, NULL, 4096, 0, 0, NULL },
    { "branch-never", "branch and five more, the same way",
      8, 300, 300, branches, init_branches, 2048, 1024, 0, NULL },
    { "branch-256", "branch and five more, drawn, period 256",
      8, 300, 192, branches, init_branches, 320, 256, 1, NULL },
    { "branch-4096", "branch and five more, drawn, period 4096",
      8, 300, 3072, branches, init_branches, 4160, 4096, 1, NULL },
    { "branch-16384", "branch and five more, drawn, period 16384",
      8, 300, 12288, branches, init_branches, 16448, 16384, 1, NULL },
    { "branch-65536", "branch and five more, drawn, period 65536",
      8, 300, 49152, branches, init_branches, 65600, 65536, 1, NULL },
    { "branch-random", "branch and five more, drawn, period 1048576",
      8, 300, 0, branches, init_branches, 1048640, 1048576, 1, NULL },
};
// clang-format on
const size_t asm_loop_count = sizeof(asm_loops) / sizeof(asm_loops[0]);
