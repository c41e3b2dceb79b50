// SPDX-License-Identifier: MIT
// engine/x86/decode.c and operands.c: their results for instructions whose bytes are written out.
// The expected values are from the manuals. (check-claims compares every form of every instruction
// with the processor.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/x86/decode.h"
#include "share/cpu.h"

#define PC 0x401000ul

static struct insn in;

#define DECODE(text) decode((const u8 *)(text), sizeof(text) - 1)

static void decode(const u8 *bytes, u32 n)
{
    u8 code[15];

    memset(code, 0x90, sizeof(code));
    memcpy(code, bytes, n);
    assert_int_equal(decode_insn(&in, PC, code, sizeof(code), true), n);
    assert_int_equal(in.len, n);
    assert_memory_equal(in.bytes, bytes, n);
}

static void is_ref(u32 k, u32 flags, u32 base, u32 index, u32 scale, s64 disp, u32 size)
{
    const struct memref *r = &in.refs[k];

    assert_int_equal(r->flags, flags);
    assert_int_equal(r->base, base);
    assert_int_equal(r->index, index);
    assert_int_equal(r->scale, scale);
    assert_int_equal(r->disp, disp);
    assert_int_equal(r->size, size);
}

#define R MEMREF_READ
#define W MEMREF_WRITE

static void test_references(void **state)
{
    (void)state;
    DECODE("\x48\x8b\x44\x88\x10"); // mov rax, [rax + rcx * 4 + 16]
    assert_int_equal(in.kind, INSN_PLAIN);
    assert_int_equal(in.flags, INSN_F_MEM);
    assert_int_equal(in.nrefs, 1);
    is_ref(0, R, R_RAX, R_RCX, 4, 16, 8);
    assert_int_equal(in.regs, 1u << R_RAX | 1u << R_RCX);
    DECODE("\x48\x01\x05\x00\x01\x00\x00"); // add [rip + 0x100], rax: counts once
    assert_int_equal(in.nrefs, 1);
    is_ref(0, R | W, REG_RIP, REG_NONE, 0, PC + 7 + 0x100, 8);
    assert_int_equal(in.flags, INSN_F_MEM | INSN_F_RIPREL | INSN_F_STORE);
    assert_int_equal(in.regs, 1u << R_RAX); // without rip
    DECODE("\xff\x74\x24\x08");             // push qword [rsp + 8]: the operand, then the stack
    assert_int_equal(in.nrefs, 2);
    is_ref(0, R, R_RSP, REG_NONE, 0, 8, 8);
    is_ref(1, W, R_RSP, REG_NONE, 0, -8, 8);
    DECODE("\x8f\x44\x24\x08"); // pop qword [rsp + 8]: the stack, then the operand
    assert_int_equal(in.nrefs, 2);
    is_ref(0, R, R_RSP, REG_NONE, 0, 0, 8);
    is_ref(1, W, R_RSP, REG_NONE, 0, 16, 8);
    DECODE("\xc9"); // leave reads at rbp
    assert_int_equal(in.nrefs, 1);
    is_ref(0, R, R_RBP, REG_NONE, 0, 0, 8);
    DECODE("\x48\x0f\xab\x07"); // bts [rdi], rax: the bit's offset moves the address
    is_ref(0, R | W | MEMREF_BITOFF, R_RDI, REG_NONE, 0, 0, 8);
    assert_int_equal(in.refs[0].bitreg, R_RAX);
    assert_int_equal(in.refs[0].bitlog, 6);
    DECODE("\x64\x67\x8b\x00"); // mov eax, fs:[eax]
    is_ref(0, R | MEMREF_FS | MEMREF_A32, R_RAX, REG_NONE, 0, 0, 4);
    assert_int_equal(in.flags, INSN_F_MEM | INSN_F_A32 | INSN_F_SEG_FS);
    DECODE("\x48\x8d\x07"); // lea rax, [rdi]: no reference
    assert_int_equal(in.nrefs, 0);
    assert_int_equal(in.flags, INSN_F_MEM | INSN_F_LEA);
    DECODE("\xa1\x10\x32\x54\x76\x98\xba\xdc\xfe"); // mov eax, [0xfedcba9876543210]
    assert_int_equal(in.flags, INSN_F_MOFFS);       // no ModRM byte
    is_ref(0, R, REG_NONE, REG_NONE, 0, (s64)0xfedcba9876543210, 4);
    DECODE("\x64\xac"); // lodsb fs:[rsi]
    assert_int_equal(in.nrefs, 1);
    is_ref(0, R | MEMREF_FS, R_RSI, REG_NONE, 0, 0, 1);
    DECODE("\x64\xa6"); // cmpsb: the segment applies to rsi only
    is_ref(0, R, R_RDI, REG_NONE, 0, 0, 1);
    is_ref(1, R | MEMREF_FS, R_RSI, REG_NONE, 0, 0, 1);
    DECODE("\x48\x0f\xae\x0f"); // fxrstor64 [rdi]
    is_ref(0, R, R_RDI, REG_NONE, 0, 0, 512);
    DECODE("\x0f\xae\x2f"); // xrstor [rdi]: at least the area of fxrstor and a header
    is_ref(0, R, R_RDI, REG_NONE, 0, 0, 576);
    DECODE("\xa6"); // cmpsb: rdi before rsi, as in Cachegrind
    assert_int_equal(in.kind, INSN_STRING);
    assert_int_equal(in.nrefs, 2);
    is_ref(0, R, R_RDI, REG_NONE, 0, 0, 1);
    is_ref(1, R, R_RSI, REG_NONE, 0, 0, 1);
}

static void test_vectors(void **state)
{
    (void)state;
    DECODE("\xc4\xe2\x6d\x90\x04\x8f"); // vpgatherdd ymm0, [rdi + ymm1 * 4], ymm2
    assert_int_equal(in.vec_kind, VEC_GATHER);
    assert_int_equal(in.vec_index, 1);
    assert_int_equal(in.vec_mask, 2);
    assert_int_equal(in.vec_esize, 4);
    assert_int_equal(in.vec_isize, 4);
    assert_int_equal(in.vec_count, 8);
    is_ref(0, R, R_RDI, REG_NONE, 4, 0, in.refs[0].size);
    DECODE("\x62\xf2\xfd\x49\xa2\x4c\x87\x02"); // vscatterdpd [rdi + ymm0 * 4 + 16]{k1}, zmm1
    assert_int_equal(in.vec_kind, VEC_KGATHER);
    assert_int_equal(in.vec_index, 0);
    assert_int_equal(in.vec_mask, 1);
    assert_int_equal(in.vec_esize, 8);
    assert_int_equal(in.vec_isize, 4);
    assert_int_equal(in.vec_count, 8);
    assert_int_equal(in.refs[0].disp, 16); // the short displacement is scaled by the element size
    assert_true(in.flags & INSN_F_STORE);
    DECODE("\xc4\xe2\x71\x2e\x17"); // vmaskmovps [rdi], xmm1, xmm2
    assert_int_equal(in.vec_kind, VEC_MASKMOV);
    assert_int_equal(in.vec_mask, 1);
    assert_int_equal(in.vec_esize, 4);
    assert_int_equal(in.vec_count, 4);
    DECODE("\x66\x0f\xf7\xc1"); // maskmovdqu: a plain read and write of 16 bytes
    assert_int_equal(in.vec_kind, VEC_NONE);
    assert_int_equal(in.nrefs, 1);
    assert_int_equal(in.refs[0].size, 16);
}

// "Operation" of each in the Intel manual. Later instructions use these registers as bases; once
// the decoder did not report that cmps and scas write them.
static void test_written_by_strings(void **state)
{
    const u32 si = 1u << R_RSI, di = 1u << R_RDI, ax = 1u << R_RAX, cx = 1u << R_RCX;
    const struct {
        const char *bytes;
        u32 n, written;
    } c[] = {
        { "\xa4", 1, si | di },          // movsb
        { "\x48\xa5", 2, si | di },      // movsq
        { "\xaa", 1, di },               // stosb
        { "\xab", 1, di },               // stosd
        { "\xac", 1, si | ax },          // lodsb
        { "\x48\xad", 2, si | ax },      // lodsq
        { "\xa6", 1, si | di },          // cmpsb
        { "\x66\xa7", 2, si | di },      // cmpsw
        { "\xae", 1, di },               // scasb
        { "\x48\xaf", 2, di },           // scasq
        { "\x67\xaf", 2, di },           // scasd [edi]
        { "\xf3\xa4", 2, si | di | cx }, // rep movsb
        { "\xf3\xaa", 2, di | cx },      // rep stosb
        { "\xf3\xac", 2, si | ax | cx }, // rep lodsb
        { "\xf3\xa6", 2, si | di | cx }, // repe cmpsb
        { "\xf2\xae", 2, di | cx },      // repne scasb
    };

    (void)state;
    for (u32 i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        decode((const u8 *)c[i].bytes, c[i].n);
        assert_int_equal(in.kind, INSN_STRING);
        assert_int_equal(in.written, c[i].written);
    }
}

// Registers that Zydis does not report: F3 41 90 exchanges; where F3 has no meaning before rdpkru
// and wrpkru, the processor executes these.
static void test_unnamed(void **state)
{
    const u32 ax = 1u << R_RAX, cx = 1u << R_RCX, dx = 1u << R_RDX;

    (void)state;
    DECODE("\xf3\x90"); // pause
    assert_int_equal(in.regs, 0);
    DECODE("\xf3\x41\x90"); // xchg r8d, eax
    assert_int_equal(in.regs, ax | 1u << 8);
    assert_int_equal(in.written, ax | 1u << 8);
    DECODE("\xf3\x0f\x01\xee"); // clui
    assert_int_equal(in.regs, ax | cx | dx);
    assert_int_equal(in.written, ax | dx);
    DECODE("\xf3\x0f\x01\xef"); // stui
    assert_int_equal(in.regs, ax | cx | dx);
    assert_int_equal(in.written, 0);
    DECODE("\x0f\x01\xee"); // rdpkru
    assert_int_equal(in.regs, ax | cx | dx);
    assert_int_equal(in.written, ax | dx);
}

static void test_kinds(void **state)
{
    static const struct {
        const char *bytes;
        u32 n, kind;
    } c[] = {
        { "\xeb\x10", 2, INSN_JMP },
        { "\x74\xfe", 2, INSN_JCC },
        { "\xe3\x00", 2, INSN_LOOP },
        { "\xe8\x00\x00\x00\x00", 5, INSN_CALL },
        { "\xff\xe0", 2, INSN_JMP_IND },
        { "\xff\x17", 2, INSN_CALL_IND },
        { "\xc2\x08\x00", 3, INSN_RET },
        { "\x0f\x05", 2, INSN_SYSCALL },
        { "\xf3\xaa", 2, INSN_STRING },
        { "\xcc", 1, INSN_STEP },
        { "\xf4", 1, INSN_STEP },
        { "\x0f\x0b", 2, INSN_STEP },
        { "\x8e\xe8", 2, INSN_STEP },
        { "\xf3\x48\x0f\xae\xc8", 5, INSN_RDGS },
        { "\xf3\x48\x0f\xae\xd8", 5, INSN_STEP },
        { "\x90", 1, INSN_PLAIN },
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(c); i++) {
        decode((const u8 *)c[i].bytes, c[i].n);
        assert_int_equal(in.kind, c[i].kind);
    }
    DECODE("\x74\xfe");
    assert_int_equal(in.cond, 4);
    assert_int_equal(in.target, PC);
    DECODE("\x41\xff\xe3"); // jmp r11
    assert_int_equal(in.ireg, 11);
    DECODE("\xc2\x08\x00");
    assert_int_equal(in.imm, 8);
    DECODE("\xf2\xa6"); // repne cmpsb
    assert_int_equal(in.flags & (INSN_F_REP | INSN_F_REPNE | INSN_F_DYN),
                     INSN_F_REP | INSN_F_REPNE | INSN_F_DYN);
    assert_int_equal(in.str_op, STR_CMPS);
    assert_int_equal(in.str_size, 1);
    DECODE("\xf3\xa6"); // repe cmpsb
    assert_int_equal(in.flags & (INSN_F_REP | INSN_F_REPNE | INSN_F_DYN), INSN_F_REP | INSN_F_DYN);
    DECODE("\xa6");
    assert_int_equal(in.flags & (INSN_F_REP | INSN_F_REPNE | INSN_F_DYN), 0);
}

// AMD processors branch to 16 bits if the prefix is the first or a later one; not with REX.W.
static void test_short_operand(void **state)
{
    bool amd = cpu.amd;

    (void)state;
    cpu.amd = true;
    decode_init(false);
    DECODE("\x66\x74\x02");
    assert_int_equal(in.kind, INSN_STEP);
    DECODE("\x2e\x66\x74\x02");
    assert_int_equal(in.kind, INSN_STEP);
    DECODE("\x2e\x74\x02");
    assert_int_equal(in.kind, INSN_JCC);
    DECODE("\x66\x48\x74\x02");
    assert_int_equal(in.kind, INSN_JCC);
    cpu.amd = false;
    decode_init(false);
    DECODE("\x2e\x66\x74\x02");
    assert_int_equal(in.kind, INSN_JCC);
    cpu.amd = amd;
    decode_init(false);
}

// The probe tests which flags do not depend on their old values: for probed instructions some may,
// for others none.
static void test_probed(void **state)
{
    (void)state;
    decode_init(true);
    DECODE("\x48\x21\xc8"); // and rax, rcx: only AF is undefined
    assert_int_equal(in.flags_kill | FLAG_AF, FLAGS_ARITH);
    DECODE("\x48\x0f\xba\xe0\x01"); // bt rax, 1: only CF is defined
    assert_true(in.flags_kill & FLAG_CF);
    decode_init(false);
}

// Stores to an address that is no operand.
static void test_stores(void **state)
{
    (void)state;
    DECODE("\x0f\x01\xfc"); // clzero
    assert_true(in.flags & INSN_F_STORE);
    DECODE("\x0f\xf7\xc1"); // maskmovq mm0, mm1
    assert_true(in.flags & INSN_F_STORE);
    DECODE("\x0f\x01\xf9"); // rdtscp
    assert_false(in.flags & INSN_F_STORE);
}

// Tiles are read row by row, where the processor has them.
static void test_tiles(void **state)
{
    bool amx = cpu.amx;

    (void)state;
    cpu.amx = true;
    DECODE("\xc4\xe2\x7b\x4b\x0c\x0f"); // tileloadd tmm1, [rdi + rcx]
    assert_int_equal(in.vec_kind, VEC_TILE);
    assert_int_equal(in.vec_mask, 1);
    assert_int_equal(in.vec_count, 16);
    assert_true(in.flags & INSN_F_DYN);
    DECODE("\xc4\xe2\x7a\x4b\x14\x0f"); // tilestored [rdi + rcx], tmm2
    assert_int_equal(in.vec_kind, VEC_TILE);
    assert_int_equal(in.vec_mask, 2);
    cpu.amx = false;
    DECODE("\xc4\xe2\x7b\x4b\x0c\x0f");
    assert_int_equal(in.vec_kind, VEC_NONE);
    assert_false(in.flags & INSN_F_DYN);
    cpu.amx = amx;
}

// Read-modify-writes that are a loop in Cachegrind's translation.
static void test_locked(void **state)
{
    (void)state;
    DECODE("\xf0\x48\xff\x07"); // lock inc qword [rdi]
    assert_true(in.flags & INSN_F_LOCKED);
    DECODE("\x48\x87\x07"); // xchg [rdi], rax, implicitly locked
    assert_true(in.flags & INSN_F_LOCKED);
    DECODE("\x48\x87\xc7"); // xchg rdi, rax
    assert_false(in.flags & INSN_F_LOCKED);
    DECODE("\xf0\x48\x0f\xb1\x0f"); // lock cmpxchg [rdi], rcx
    assert_false(in.flags & INSN_F_LOCKED);
    DECODE("\xf0\x48\x0f\xc7\x0f"); // lock cmpxchg16b [rdi]
    assert_false(in.flags & INSN_F_LOCKED);
    DECODE("\x48\xff\x07"); // inc qword [rdi]
    assert_false(in.flags & INSN_F_LOCKED);
}

static void test_flags(void **state)
{
    (void)state;
    DECODE("\x48\x01\xc8"); // add rax, rcx
    assert_int_equal(in.flags_read, 0);
    assert_int_equal(in.flags_kill, FLAGS_ARITH);
    DECODE("\x48\x11\xc8"); // adc rax, rcx
    assert_int_equal(in.flags_read, FLAG_CF);
    DECODE("\x48\xff\xc0"); // inc rax keeps CF
    assert_int_equal(in.flags_kill, FLAGS_ARITH & ~FLAG_CF);
    DECODE("\xd3\xe0"); // shl eax, cl: none if cl is 0
    assert_int_equal(in.flags_kill, 0);
    assert_true(in.flags_touch);
    DECODE("\x48\x89\xc8"); // mov
    assert_false(in.flags_touch);
    DECODE("\x9c"); // pushfq
    assert_int_equal(in.flags_read, FLAGS_ARITH);
    DECODE("\x0f\x44\xc1"); // cmove eax, ecx
    assert_int_equal(in.flags_read, FLAG_ZF);
    assert_int_equal(in.flags_kill, 0);
}

// For --cpu: which row of share/cpu.def an instruction needs.
static void test_features(void **state)
{
    static const struct {
        const char *bytes;
        u32 n, feature;
    } c[] = {
        { "\x48\x01\xc8", 3, CPU_NONE },                // add rax, rcx
        { "\x66\x0f\x6f\xc1", 4, CPU_NONE },            // movdqa xmm0, xmm1
        { "\x66\x0f\x38\x00\xc1", 5, CPU_SSSE3 },       // pshufb xmm0, xmm1
        { "\x66\x0f\x3a\x63\xc1\x0c", 6, CPU_SSE42 },   // pcmpistri xmm0, xmm1, 12
        { "\xf3\x0f\xb8\xc1", 4, CPU_POPCNT },          // popcnt eax, ecx
        { "\xf3\x0f\xbc\xc1", 4, CPU_NONE },            // tzcnt eax, ecx: or bsf
        { "\xf3\x0f\xbd\xc1", 4, CPU_LZCNT },           // lzcnt eax, ecx
        { "\xc5\xf5\xef\xc1", 4, CPU_AVX2 },            // vpxor ymm0, ymm1, ymm1
        { "\xc5\xf4\x57\xc1", 4, CPU_AVX },             // vxorps ymm0, ymm1, ymm1
        { "\xc4\xe2\x70\xf2\xc1", 5, CPU_BMI1 },        // andn eax, ecx, ecx
        { "\xc4\xe2\x71\xf7\xc1", 5, CPU_BMI2 },        // shlx eax, ecx, ecx
        { "\x62\xf1\x75\x48\xef\xc1", 6, CPU_AVX512F }, // vpxord zmm0, zmm1, zmm1
        { "\x62\xf1\x75\x28\xef\xc1", 6, CPU_AVX512F }, // the same, ymm
        { "\x0f\xa2", 2, CPU_NONE },                    // cpuid
        { "\x0f\x01\xf9", 3, CPU_RDTSCP },
        { "\xf3\x0f\x1e\xfa", 4, CPU_NONE }, // endbr64: a wide nop
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(c); i++) {
        decode((const u8 *)c[i].bytes, c[i].n);
        assert_int_equal(in.feature, c[i].feature);
    }
}

// Instructions that the engine emulates on request.
static void test_emulated(void **state)
{
    (void)state;
    DECODE("\x0f\xa2"); // cpuid
    assert_int_equal(in.kind, INSN_PLAIN);
    decode_emulate(DECODE_CPUID);
    DECODE("\x0f\xa2");
    assert_int_equal(in.kind, INSN_STEP);
    DECODE("\x0f\x31"); // rdtsc
    assert_int_equal(in.kind, INSN_PLAIN);
    decode_emulate(DECODE_TIME);
    DECODE("\x0f\x31");
    assert_int_equal(in.kind, INSN_STEP);
    DECODE("\x66\x41\x0f\xc7\xf4"); // rdrand r12w
    assert_int_equal(in.kind, INSN_STEP);
    assert_int_equal(in.ireg, 12);
    assert_int_equal(in.str_size, 2);
    decode_emulate(0);
}

#define ROTATIONS "\x48\xc1\xc7\x03\x48\xc1\xc7\x0d\x48\xc1\xc7\x3d\x48\xc1\xc7\x33"

// Five instructions until client requests are enabled: then the sequence of valgrind.h is one of 19
// bytes, if it is complete and its last instruction is the one for requests.
static void test_requests(void **state)
{
    static const char asks[] = ROTATIONS "\x48\x87\xdb", other[] = ROTATIONS "\x48\x87\xc9";

    (void)state;
    assert_int_equal(decode_insn(&in, PC, (const u8 *)asks, 19, true), 4);
    decode_requests();
    assert_int_equal(decode_insn(&in, PC, (const u8 *)asks, 19, true), 19);
    assert_int_equal(in.kind, INSN_REQUEST);
    assert_int_equal(in.target, PC + 19);
    assert_int_equal(in.nrefs, 0);
    assert_int_equal(in.flags_read | in.flags_kill, 0);
    assert_int_equal(decode_insn(&in, PC, (const u8 *)asks, 18, true), 4);
    assert_int_equal(decode_insn(&in, PC, (const u8 *)other, 19, true), 4);
    assert_int_equal(in.kind, INSN_PLAIN);
}

static void test_ends(void **state)
{
    static const u8 cut[] = { 0x48, 0x8b, 0x84 }, none[15] = { 0x06 };

    (void)state;
    assert_int_equal(decode_insn(&in, PC, cut, 3, true), -1);  // incomplete
    assert_int_equal(decode_insn(&in, PC, none, 15, true), 0); // push es: not in 64-bit mode
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_written_by_strings),
        cmocka_unit_test(test_unnamed),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_locked),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_emulated),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_short_operand),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_probed),
    };

    cpu_init(0, 0);
    decode_init(false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
