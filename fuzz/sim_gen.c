// SPDX-License-Identifier: MIT
//
// Random programs whose every reference is known, and a plain simulator of caches and branch
// predictors for them.
//
//   sim_gen -s SEED [-v]                         the program, as assembly, to standard output
//   sim_gen -s SEED [-v] [-r] -g GEOMETRY FILE   what it counts: a line
//       `LINE Ir I1mr ILmr Dr .. Bim` for each source line that
//                                                was executed; FILE holds the program's section
//                                                .places
//   sim_gen -s SEED -G [-v]                      a random GEOMETRY:
//       'SIZE,ASSOC,LINE SIZE,ASSOC,LINE SIZE,ASSOC,LINE' (I1, D1, LL)
//
// -v: only instructions of Valgrind 3.19, and lines that it accepts; -r: rep instructions count as
// in Cachegrind. The program consists of instructions whose effect on registers this file computes
// itself: it needs no decoder and shares no code with the engine or with sim/. The simulator below
// is written from tests/compat/reference-model.md and the manual, with lists instead of
// optimisations. fuzz/sim-run compares.
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/random.h"

// ---- The program ----

// Addresses while the program is generated; the final ones are known after linking: real().
#define TABLE       0x0ffe0000u // read from constant addresses
#define STACK       0x0fff0000u
#define ARENA       0x10000000u
#define STACK_TOP   (STACK + 4096)
#define ARENA_SIZE  0x1000000u
#define TABLE_WORDS 4096
#define OPS_MAX     20000
#define FUNCS_MAX   24
#define STEPS       150000

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NOREG };
static const char *const reg64[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
static const char *const reg32[] = { "eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
                                     "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d" };

enum kind {
    OP_NONE, // no effect, no reference
    OP_MOVI, // reg = imm
    OP_MOV,  // reg = reg2
    OP_ADD,
    OP_MUL,
    OP_SHR,
    OP_AND,
    OP_TEST, // sets zf: (reg & imm) == 0
    OP_DEC,  // and sets zf
    OP_MEM,  // a reference
    OP_PUSH,
    OP_POP,
    OP_CALL,
    OP_RET,
    OP_JMP,
    OP_JZ,
    OP_JNZ,
    OP_JRCXZ,
    OP_LOOP,
    OP_JMP_TABLE, // jmp *table(,reg,8)
    OP_JMP_REG,
    OP_CALL_TABLE,
    OP_PARTS, // elements of a gather or masked move: imm bits say which, table entry their indexes
    OP_REP,   // imm: 0 movs, 1 stos, 2 lods.. of size bytes
    OP_STRING,
    OP_EXIT,
};

enum { READ = 1, WRITE = 2, MODIFY = 3 };

struct op {
    uint8_t kind, reg, reg2, size, access, scale, index;
    bool down; // DF
    bool atomic;
    uint64_t imm;
    uint32_t disp;  // absolute
    int target;     // label
    uint32_t table; // first entry
    uint8_t n;
    char text[100];
};

static struct op ops[OPS_MAX];
static int nops;
static int labels[OPS_MAX]; // to op
static int nlabels;
static uint64_t table[TABLE_WORDS]; // labels are marked
static bool is_label[TABLE_WORDS];
static uint32_t ntable;
static char *before[OPS_MAX + 1]; // directives before an op
static bool plain;                // -v
static bool wide;                 // vectors of 64 bytes: the processor has them, and not -v
static int functions[FUNCS_MAX];  // their labels
static int nfunctions;
static uint32_t arena_mask; // of offsets
static uint64_t outer;

__attribute__((format(printf, 2, 3))) static struct op *emit(enum kind kind, const char *format,
                                                             ...)
{
    struct op *o = &ops[nops++];
    va_list ap;

    if (nops >= OPS_MAX)
        abort();
    o->kind = (uint8_t)kind;
    o->reg = o->reg2 = o->index = NOREG;
    va_start(ap, format);
    vsnprintf(o->text, sizeof(o->text), format, ap);
    va_end(ap);
    return o;
}

static int new_label(void)
{
    labels[nlabels] = -1;
    return nlabels++;
}

static void place(int label)
{
    labels[label] = nops;
}

__attribute__((format(printf, 1, 2))) static void directive(const char *format, ...)
{
    char text[200];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    free(before[nops]);
    before[nops] = strdup(text);
}

// Such an address as the assembly has it.
static const char *name(uint32_t address)
{
    static char texts[4][40];
    static int turn;
    char *text = texts[turn++ & 3];

    snprintf(text, sizeof(texts[0]), "%s+0x%x",
             address >= ARENA   ? "arena"
             : address >= STACK ? "stack"
                                : "table",
             address - (address >= ARENA   ? ARENA
                        : address >= STACK ? STACK
                                           : TABLE));
    return text;
}

static void jump_on(void) // the end of a block
{
    int l = new_label();

    emit(OP_JMP, "jmp .L%d", l)->target = l;
    place(l);
}

// Registers that hold offsets into the arena
static const uint8_t offset_regs[] = { RBX, RBP, RSI, RDI, R8, R9 };

static uint8_t some_offset(void)
{
    return offset_regs[rnd(6)];
}

static void new_offset(uint8_t r)
{
    struct op *o;
    uint32_t imm;

    switch (rnd(4)) {
    case 0:
    case 1: // anywhere
        o = emit(OP_MUL, "imul $0x41c64e6d, %%r12, %%r12");
        o->reg = R12, o->imm = 0x41c64e6d;
        o = emit(OP_ADD, "add $0x3039, %%r12");
        o->reg = R12, o->imm = 0x3039;
        o = emit(OP_MOV, "mov %%r12, %%%s", reg64[r]);
        o->reg = r, o->reg2 = R12;
        imm = 16 + rnd(16);
        o = emit(OP_SHR, "shr $%u, %%%s", imm, reg64[r]);
        o->reg = r, o->imm = imm;
        break;
    case 2: // a stride
        imm = chance(60) ? 1u << rnd(13) : rnd(5000);
        o = emit(OP_ADD, "add $%u, %%%s", imm, reg64[r]);
        o->reg = r, o->imm = imm;
        break;
    default:
        imm = rnd(arena_mask);
        if (chance(50))
            imm &= ~63u;
        o = emit(OP_MOVI, "mov $%u, %%%s", imm, reg32[r]);
        o->reg = r, o->imm = imm;
        return;
    }
    o = emit(OP_AND, "and $0x%x, %%%s", arena_mask, reg32[r]);
    o->reg = r, o->imm = arena_mask;
}

// Chooses an operand of `size` bytes; returns its text.
static const char *operand(struct op *o, uint32_t size)
{
    static char text[60];
    static const uint8_t scales[] = { 1, 2, 4, 8 };
    uint32_t d = chance(50) ? rnd(64) * 64 : rnd(4096);

    (void)size;
    if (chance(30)) { // close to the end of a line, or across it
        d = (d | 63) + 1 - rnd(70);
    }
    o->disp = ARENA + 4096 + d;
    if (chance(15)) {
        snprintf(text, sizeof(text), "%s%s", name(o->disp), chance(50) ? "(%rip)" : "");
        return text;
    }
    o->reg = some_offset();
    if (chance(30)) {
        o->index = some_offset();
        o->scale = scales[rnd(4)];
        snprintf(text, sizeof(text), "%s(%%%s,%%%s,%u)", name(o->disp), reg64[o->reg],
                 reg64[o->index], o->scale);
    } else {
        snprintf(text, sizeof(text), "%s(%%%s)", name(o->disp), reg64[o->reg]);
    }
    return text;
}

static void gather(void)
{
    struct op *o;
    bool k = wide && chance(50);
    uint32_t t = (ntable + 7) & ~7u;
    uint8_t r = some_offset();

    if (t + 8 > TABLE_WORDS)
        return;
    ntable = t + 8;
    for (int i = 0; i < 8; i++)
        table[t + (uint32_t)i] = (uint64_t)rnd(1000) << 32 | rnd(1000);
    if (k) {
        uint32_t mask = (uint32_t)rnd64() & 0xffff;

        o = emit(OP_MEM, "vmovdqu64 %s, %%zmm3", name(TABLE + 8 * t));
        o->disp = TABLE + 8 * t, o->size = 64, o->access = READ;
        o = emit(OP_MOVI, "mov $0x%x, %%eax", mask);
        o->reg = RAX, o->imm = mask;
        emit(OP_NONE, "kmovw %%eax, %%k1");
        if (chance(50))
            o = emit(OP_PARTS, "vpgatherdd %s(%%%s,%%zmm3,4), %%zmm4{%%k1}", name(ARENA), reg64[r]),
            o->access = READ;
        else
            o = emit(OP_PARTS, "vpscatterdd %%zmm4, %s(%%%s,%%zmm3,4){%%k1}", name(ARENA),
                     reg64[r]),
            o->access = WRITE;
        o->imm = mask, o->n = 16, o->size = 4, o->scale = 4;
    } else if (chance(50)) {
        o = emit(OP_MEM, "vmovdqu %s, %%ymm3", name(TABLE + 8 * t));
        o->disp = TABLE + 8 * t, o->size = 32, o->access = READ;
        emit(OP_NONE, "vpcmpeqd %%ymm5, %%ymm5, %%ymm5");
        o = emit(OP_PARTS, "vpgatherdd %%ymm5, %s(%%%s,%%ymm3,4), %%ymm4", name(ARENA), reg64[r]);
        o->imm = 0xff, o->n = 8, o->size = 4, o->scale = 4, o->access = READ;
    } else {
        // a masked move: the signs of the words are its mask
        uint64_t mask = 0;

        for (uint32_t i = 0; i < 8; i++) {
            if (chance(50)) {
                mask |= 1u << i;
                table[t + i / 2] |= 0x80000000ull << (i & 1 ? 32 : 0);
            }
        }
        o = emit(OP_MEM, "vmovdqu %s, %%ymm3", name(TABLE + 8 * t));
        o->disp = TABLE + 8 * t, o->size = 32, o->access = READ;
        if (chance(50))
            o = emit(OP_PARTS, "vpmaskmovd %s(%%%s), %%ymm3, %%ymm4", name(ARENA + 100), reg64[r]),
            o->access = READ;
        else
            o = emit(OP_PARTS, "vpmaskmovd %%ymm4, %%ymm3, %s(%%%s)", name(ARENA + 100), reg64[r]),
            o->access = WRITE;
        o->imm = mask, o->n = 8, o->size = 4, o->scale = 0; // consecutive
    }
    o->reg = r;
    o->disp = o->scale ? ARENA : ARENA + 100;
    o->table = t;
    if (!k)
        emit(OP_NONE, "vpaddd %%ymm4, %%ymm6, %%ymm6");
}

static void memory(void)
{
    // the loaded value is used, or Cachegrind leaves the load out (tests/compat/reference-model.md)
    static const struct {
        const char *text;
        uint8_t size, access, wide;
    } forms[] = {
        { "add %s, %%rdx", 8, READ, 0 },
        { "xor %s, %%r10d", 4, READ, 0 },
        { "add %s, %%r11w", 2, READ, 0 },
        { "sub %s, %%dl", 1, READ, 0 },
        { "mov %%rdx, %s", 8, WRITE, 0 },
        { "mov %%r10d, %s", 4, WRITE, 0 },
        { "mov %%dx, %s", 2, WRITE, 0 },
        { "mov %%r11b, %s", 1, WRITE, 0 },
        { "movl $0x1234567, %s", 4, WRITE, 0 },
        { "movq $-1, %s", 8, WRITE, 0 },
        { "add %%rdx, %s", 8, MODIFY, 0 },
        { "incl %s", 4, MODIFY, 0 },
        { "notw %s", 2, MODIFY, 0 },
        { "negb %s", 1, MODIFY, 0 },
        { "vpaddd %s, %%xmm0, %%xmm0", 16, READ, 0 },
        { "movups %%xmm1, %s", 16, WRITE, 0 },
        { "vpaddd %s, %%ymm0, %%ymm0", 32, READ, 0 },
        { "vmovups %%ymm1, %s", 32, WRITE, 0 },
        { "addss %s, %%xmm2", 4, READ, 0 },
        { "movsd %%xmm2, %s", 8, WRITE, 0 },
        { "fldt %s", 10, READ, 0 },
        { "vmovups %s, %%zmm0", 64, READ, 1 },
        { "vmovups %%zmm1, %s", 64, WRITE, 1 },
        { "vpaddd %s, %%zmm16, %%zmm17", 64, READ, 1 },
        { "lock addl $1, %s", 4, MODIFY, 0 },
        { "xchg %%rdx, %s", 8, MODIFY, 0 },
    };
    size_t k;
    struct op tmp = { 0 };
    struct op *o;
    const char *m;

    do
        k = rnd(sizeof(forms) / sizeof(*forms));
    while (!wide && forms[k].wide);
    tmp.reg = tmp.reg2 = tmp.index = NOREG;
    if (!strncmp(forms[k].text, "fldt", 4))
        jump_on(); // VEX fails at some blocks with x87 code and gathers
    m = operand(&tmp, forms[k].size);
    o = emit(OP_MEM, forms[k].text, m); // NOLINT: one %s in each
    o->reg = tmp.reg, o->index = tmp.index, o->scale = tmp.scale, o->disp = tmp.disp;
    o->size = forms[k].size, o->access = forms[k].access;
    o->atomic = !strncmp(o->text, "lock", 4) || !strncmp(o->text, "xchg", 4);
    if (!strncmp(o->text, "fldt", 4))
        emit(OP_NONE, "fstp %%st(0)"), jump_on();
}

static void string(void)
{
    static const char letters[] = "bwlq";
    uint32_t log = rnd(4), n = chance(20) ? 0 : rnd(40);
    bool rep = chance(75), down = chance(25);
    uint32_t what = rnd(2);
    struct op *o;

    for (int i = 0; i < 2; i++) {
        uint8_t r = i ? RSI : RDI;
        uint32_t at = ARENA + 8192 + rnd(arena_mask);

        o = emit(OP_MOVI, "mov $%s, %%%s", name(at), reg32[r]);
        o->reg = r, o->imm = at;
    }
    if (rep) {
        o = emit(OP_MOVI, "mov $%u, %%ecx", n);
        o->reg = RCX, o->imm = n;
    }
    jump_on();
    if (down)
        emit(OP_NONE, "std");
    o = emit(rep ? OP_REP : OP_STRING, "%s%s%c", rep ? "rep " : "", what ? "stos" : "movs",
             letters[log]);
    o->imm = what, o->size = (uint8_t)(1u << log), o->down = down;
    if (down)
        emit(OP_NONE, "cld");
    for (int i = 0; i < 2; i++) {
        uint8_t r = i ? RSI : RDI;
        uint32_t at = rnd(arena_mask);

        o = emit(OP_MOVI, "mov $%u, %%%s", at, reg32[r]);
        o->reg = r, o->imm = at;
    }
}

static void nothing(void)
{
    static const char *const none[] = {
        "nop",
        "xchg %ax, %ax",
        "nopl (%rax)",
        "nopl 8(%rax)",
        "nopl 8(%rax,%rax,1)",
        "nopw 8(%rax,%rax,1)",
        "nopl 0x1234567(%rax)",
        "nopl 0x1234567(%rax,%rax,1)",
        "nopw %cs:0x1234567(%rax,%rax,1)",
        "cmc",
        "movabs $0x123456789abcdef, %rax",
        "paddd %xmm5, %xmm6",
        "lea 0x12345(%rdx), %rax",
        "prefetcht0 64(%rsp)",
    };

    emit(OP_NONE, "%s", none[rnd(sizeof(none) / sizeof(*none))]);
}

static void body(int depth, int function, int *budget);

static void loop(int depth, int function, int *budget)
{
    int top = new_label();
    uint32_t n = 1 + rnd(depth ? 6 : 20);
    struct op *o;
    static const uint8_t counters[] = { R13, R15 };
    uint8_t r = counters[depth];

    o = emit(OP_PUSH, "push %%%s", reg64[r]);
    o->reg = r;
    o = emit(OP_MOVI, "mov $%u, %%%s", n, reg32[r]);
    o->reg = r, o->imm = n;
    jump_on();
    place(top);
    body(depth + 1, function, budget);
    o = emit(OP_DEC, "dec %%%s", reg64[r]);
    o->reg = r;
    o = emit(OP_JNZ, "jnz .L%d", top);
    o->target = top;
    o = emit(OP_POP, "pop %%%s", reg64[r]);
    o->reg = r;
}

// Depends on the low bits of the generator in r12.
static void branch(int depth, int function, int *budget)
{
    int over = new_label();
    uint32_t bits = chance(30) ? 0x8000 : (1u << (8 + rnd(8))) | (chance(40) ? 1u << rnd(16) : 0);
    struct op *o = emit(OP_TEST, "test $0x%x, %%r12d", bits);
    bool z = chance(50);

    o->reg = R12, o->imm = bits;
    o = emit(z ? OP_JZ : OP_JNZ, "%s .L%d", z ? "jz" : "jnz", over);
    o->target = over;
    for (uint32_t i = rnd(4); i; i--)
        nothing();
    if (chance(60))
        memory();
    if (chance(20))
        body(depth, function, budget);
    nothing(); // Valgrind inverts the count of a branch to the next instruction
    place(over);
}

static void jump_table(int depth, int function, int *budget)
{
    uint32_t n = 1u << rnd(3), t = ntable;
    int out = new_label();
    struct op *o;
    int first = nlabels;
    bool through_register = chance(40);

    (void)function;
    (void)budget;
    (void)depth;
    if (t + n > TABLE_WORDS)
        return;
    ntable += n;
    o = emit(OP_MOV, "mov %%r12, %%rax");
    o->reg = RAX, o->reg2 = R12;
    o = emit(OP_SHR, "shr $20, %%rax");
    o->reg = RAX, o->imm = 20;
    o = emit(OP_AND, "and $%u, %%eax", n - 1);
    o->reg = RAX, o->imm = n - 1;
    if (through_register) {
        o = emit(OP_MEM, "mov %s(,%%rax,8), %%rax", name(TABLE + 8 * t));
        o->disp = TABLE + 8 * t, o->index = RAX, o->scale = 8, o->size = 8, o->access = READ;
        o->table = t + 1; // rax becomes a label
        o = emit(OP_JMP_REG, "jmp *%%rax");
    } else {
        o = emit(OP_JMP_TABLE, "jmp *%s(,%%rax,8)", name(TABLE + 8 * t));
        o->disp = TABLE + 8 * t, o->index = RAX, o->scale = 8, o->table = t;
    }
    for (uint32_t i = 0; i < n; i++)
        new_label();
    for (uint32_t i = 0; i < n; i++) {
        table[t + i] = (uint64_t)(first + (int)rnd(n));
        is_label[t + i] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (chance(20))
            directive("\t.balign %u", 1u << rnd(8));
        place(first + (int)i);
        memory();
        if (i + 1 < n) {
            o = emit(OP_JMP, "jmp .L%d", out);
            o->target = out;
        }
    }
    nothing();
    place(out);
}

static void call(int function)
{
    struct op *o;

    if (function + 1 >= nfunctions)
        return;
    function += 1 + (int)rnd((uint32_t)(nfunctions - function - 1));
    if (chance(70)) {
        o = emit(OP_CALL, "call f%d", function);
        o->target = functions[function];
    } else if (ntable < TABLE_WORDS) {
        uint32_t t = ntable++;

        o = emit(OP_CALL_TABLE, "call *%s", name(TABLE + 8 * t));
        o->disp = TABLE + 8 * t, o->table = t;
        table[t] = (uint64_t)functions[function];
        is_label[t] = true;
    }
}

static void body(int depth, int function, int *budget)
{
    for (uint32_t n = 2 + rnd(10); n; n--) {
        uint32_t k = rnd(100);

        if (--*budget < 0)
            return;
        if (k < 22)
            new_offset(some_offset());
        else if (k < 60)
            memory();
        else if (k < 68)
            nothing();
        else if (k < 78)
            branch(depth, function, budget);
        else if (k < 84 && depth < 2)
            loop(depth, function, budget);
        else if (k < 88)
            string();
        else if (k < 92)
            gather();
        else if (k < 95)
            jump_table(depth, function, budget);
        else if (k < 98)
            call(function);
        else {
            struct op *o;
            int over = new_label(), on = new_label();

            o = emit(OP_MOV, "mov %%r12, %%rcx"), o->reg = RCX, o->reg2 = R12;
            o = emit(OP_SHR, "shr $13, %%rcx"), o->reg = RCX, o->imm = 13;
            o = emit(OP_AND, "and $3, %%ecx"), o->reg = RCX, o->imm = 3;
            o = emit(OP_JRCXZ, "jrcxz .L%d", over), o->target = over;
            place(on);
            memory();
            o = emit(OP_LOOP, "loop .L%d", on), o->target = on;
            nothing();
            place(over);
        }
    }
}

static void make(uint64_t seed)
{
    struct op *o;
    int top = new_label();

    rng = seed;
    rnd64();
    arena_mask = (1u << (10 + rnd(9))) - 1;
    nfunctions = 1 + (int)rnd(FUNCS_MAX);
    for (int i = 0; i < nfunctions; i++)
        functions[i] = new_label();
    for (size_t i = 0; i < 6; i++) {
        o = emit(OP_MOVI, "mov $%zu, %%%s", i * 100, reg32[offset_regs[i]]);
        o->reg = offset_regs[i], o->imm = i * 100;
    }
    o = emit(OP_MOVI, "mov $0x1234567, %%r12d");
    o->reg = R12, o->imm = 0x1234567;
    o = emit(OP_MOVI, "mov $OUTER, %%r14d");
    o->reg = R14;
    o = emit(OP_MOVI, "mov $%s, %%esp", name(STACK_TOP));
    o->reg = RSP, o->imm = STACK_TOP;
    jump_on();
    place(top);
    for (int i = 0; i < nfunctions; i++) {
        if (!i || chance(30)) {
            o = emit(OP_CALL, "call f%d", i);
            o->target = functions[i];
        }
    }
    o = emit(OP_DEC, "dec %%r14");
    o->reg = R14;
    o = emit(OP_JNZ, "jnz .L%d", top);
    o->target = top;
    o = emit(OP_MOVI, "mov $60, %%eax");
    o->reg = RAX;
    emit(OP_NONE, "xor %%edi, %%edi");
    emit(OP_EXIT, "syscall");
    for (int i = 0; i < nfunctions; i++) {
        int budget = 10 + (int)rnd(120);
        uint32_t gap = chance(60) ? 0 : chance(50) ? rnd(200) : rnd(9000);

        directive("\t.balign %u\n\t.skip %u\n\t.type f%d, @function\nf%d:",
                  1u << rnd(chance(70) ? 5 : 13), gap + 1, i, i);
        place(functions[i]);
        body(0, i, &budget);
        emit(OP_RET, "ret");
    }
}

static void forget(void)
{
    for (int i = 0; i <= nops; i++) {
        free(before[i]);
        before[i] = NULL;
    }
    memset(ops, 0, sizeof(ops));
    memset(is_label, 0, sizeof(is_label));
    memset(table, 0, sizeof(table));
    nops = nlabels = 0;
    ntable = 0;
}

// ---- The simulator ----

struct cache {
    uint64_t sets, assoc, line;
    uint64_t *lines; // of each set: the most recent first; ~0 empty
};

static struct cache i1, d1, ll;
static uint64_t clip;

static void cache_make(struct cache *c, uint64_t size, uint64_t assoc, uint64_t line)
{
    c->sets = size / assoc / line;
    c->assoc = assoc;
    c->line = line;
    c->lines = malloc(c->sets * assoc * sizeof(uint64_t));
    if (!c->lines)
        abort();
    memset(c->lines, 0xff, c->sets * assoc * sizeof(uint64_t));
}

static bool line_misses(struct cache *c, uint64_t line)
{
    uint64_t *set = c->lines + line % c->sets * c->assoc, i = 0;

    while (i < c->assoc && set[i] != line)
        i++;
    if (i == c->assoc) {
        memmove(set + 1, set, (c->assoc - 1) * sizeof(*set));
        set[0] = line;
        return true;
    }
    memmove(set + 1, set, i * sizeof(*set));
    set[0] = line;
    return false;
}

static bool misses(struct cache *c, uint64_t addr, uint64_t size)
{
    bool miss = false;

    for (uint64_t l = addr / c->line; l <= (addr + size - 1) / c->line; l++)
        miss |= line_misses(c, l);
    return miss;
}

enum { IR, I1MR, ILMR, DR, D1MR, DLMR, DW, D1MW, DLMW, BC, BCM, BI, BIM, EVENTS };
static uint64_t counts[OPS_MAX][EVENTS];
static uint64_t where[OPS_MAX], length[OPS_MAX];

static void fetch(int i)
{
    counts[i][IR]++;
    if (misses(&i1, where[i], length[i])) {
        counts[i][I1MR]++;
        counts[i][ILMR] += misses(&ll, where[i], length[i]);
    }
}

static void data(int i, uint64_t addr, uint64_t size, int access)
{
    int e = access == WRITE ? DW : DR;

    if (size > clip)
        size = clip;
    counts[i][e]++;
    if (misses(&d1, addr, size)) {
        counts[i][e + 1]++;
        counts[i][e + 2] += misses(&ll, addr, size);
    }
}

static int counter[128][128];
static uint64_t targets[512];
static unsigned history;

static void conditional(int i, bool taken)
{
    int *c = &counter[history][where[i] & 127];

    counts[i][BC]++;
    counts[i][BCM] += (*c > 1) != taken;
    *c += taken ? *c < 3 : -(*c > 0);
    history = (history << 1 | taken) & 127;
}

static void indirect(int i, uint64_t target)
{
    uint64_t *last = &targets[where[i] & 511];

    counts[i][BI]++;
    counts[i][BIM] += *last != target;
    *last = target;
}

static uint64_t r[17];
static bool rep_cachegrind;

static uint64_t bases[3]; // table, stack, arena

static uint64_t real(uint64_t v)
{
    return v < TABLE || v >= ARENA + ARENA_SIZE ? v
           : v < STACK                          ? v - TABLE + bases[0]
           : v < ARENA                          ? v - STACK + bases[1]
                                                : v - ARENA + bases[2];
}

static uint64_t address(const struct op *o)
{
    return real(o->disp) + (o->reg == NOREG ? 0 : r[o->reg]) +
           (o->index == NOREG ? 0 : r[o->index] * o->scale);
}

static void element(int i, const struct op *o)
{
    uint64_t step = o->down ? (uint64_t) - (int64_t)o->size : o->size;

    if (o->imm == 0) {
        data(i, r[RSI], o->size, READ);
        r[RSI] += step;
    }
    data(i, r[RDI], o->size, WRITE);
    r[RDI] += step;
}

static void parts(int i, const struct op *o)
{
    for (uint32_t k = 0; k < o->n; k++) {
        uint32_t index = (uint32_t)(table[o->table + k / 2] >> (k & 1 ? 32 : 0));

        if (o->imm >> k & 1)
            data(i, address(o) + (o->scale ? index * 4u : k * 4u), o->size, o->access);
    }
}

// Runs the program; counts are made when `counting`. Returns the number of instructions.
static uint64_t run(uint64_t outermost, bool counting, uint64_t limit)
{
    static int stack[4096];
    int depth = 0, pc = 0;
    bool zf = false;
    uint64_t steps = 0;

    for (; steps < limit; steps++) {
        const struct op *o = &ops[pc];
        int i = pc++;

        if (counting && !(o->kind == OP_REP && rep_cachegrind))
            fetch(i);
        switch ((enum kind)o->kind) {
        case OP_NONE: break;
        case OP_MOVI: r[o->reg] = o->reg == R14 ? outermost : real(o->imm); break;
        case OP_MOV: r[o->reg] = r[o->reg2]; break;
        case OP_ADD: r[o->reg] += o->imm; break;
        case OP_MUL: r[o->reg] *= o->imm; break;
        case OP_SHR: r[o->reg] >>= o->imm; break;
        case OP_AND: r[o->reg] &= o->imm; break;
        case OP_TEST: zf = !(r[o->reg] & o->imm); break;
        case OP_DEC: zf = !--r[o->reg]; break;
        case OP_MEM:
            if (counting && o->atomic &&
                rep_cachegrind) { // a load, and a compare-and-swap until it works
                data(i, address(o), o->size, READ);
                data(i, address(o), o->size, o->access);
                conditional(i, false);
            } else if (counting) {
                data(i, address(o), o->size, o->access);
            }
            if (o->table) // a jump table
                r[RAX] = table[o->table - 1 + r[RAX]];
            break;
        case OP_PUSH:
            r[RSP] -= 8;
            if (counting)
                data(i, r[RSP], 8, WRITE);
            stack[depth++] = (int)r[o->reg];
            break;
        case OP_POP:
            if (counting)
                data(i, r[RSP], 8, READ);
            r[RSP] += 8;
            r[o->reg] = (uint64_t)stack[--depth];
            break;
        case OP_CALL_TABLE:
            if (counting)
                data(i, real(o->disp), 8, READ);
            // fall through
        case OP_CALL: {
            int to = labels[o->kind == OP_CALL ? o->target : (int)table[o->table]];

            r[RSP] -= 8;
            if (counting) {
                data(i, r[RSP], 8, WRITE);
                if (o->kind == OP_CALL_TABLE)
                    indirect(i, where[to]);
            }
            stack[depth++] = pc;
            pc = to;
            break;
        }
        case OP_RET:
            if (counting)
                data(i, r[RSP], 8, READ);
            r[RSP] += 8;
            pc = stack[--depth];
            break;
        case OP_JMP: pc = labels[o->target]; break;
        case OP_JZ:
        case OP_JNZ: {
            bool taken = zf == (o->kind == OP_JZ);

            if (counting)
                conditional(i, taken);
            if (taken)
                pc = labels[o->target];
            break;
        }
        case OP_JRCXZ:
            if (counting)
                conditional(i, !r[RCX]);
            if (!r[RCX])
                pc = labels[o->target];
            break;
        case OP_LOOP:
            r[RCX]--;
            if (counting)
                conditional(i, r[RCX] != 0);
            if (r[RCX])
                pc = labels[o->target];
            break;
        case OP_JMP_TABLE:
        case OP_JMP_REG: {
            int to = labels[o->kind == OP_JMP_REG ? r[RAX] : table[o->table + r[RAX]]];

            if (counting) {
                if (o->kind == OP_JMP_TABLE)
                    data(i, address(o), 8, READ);
                indirect(i, where[to]);
            }
            pc = to;
            break;
        }
        case OP_PARTS:
            if (counting)
                parts(i, o);
            break;
        case OP_STRING:
            if (counting)
                element(i, o);
            break;
        case OP_REP:
            for (bool again = true; again;) {
                again = r[RCX] != 0;
                if (counting && rep_cachegrind) {
                    fetch(i);
                    conditional(i, again);
                }
                if (again) {
                    r[RCX]--;
                    if (counting)
                        element(i, o);
                }
            }
            break;
        case OP_EXIT: return steps + 1;
        }
        if (depth < 0 || depth > 400)
            abort();
    }
    return steps;
}

// ---- Output ----

static void print_program(void)
{
    printf("// Made by fuzz/sim_gen. One instruction a line.\n\t.set OUTER, %" PRIu64
           "\n\t.bss\n\t.balign 4096\nstack:\t.skip 4096\narena:\t.skip 0x%x\n"
           "\t.data\n\t.quad 1\n\t.section .rodata\n\t.balign 4096\ntable:\n",
           outer, ARENA_SIZE);
    for (uint32_t i = 0; i < ntable; i++) {
        if (is_label[i])
            printf("\t.quad .L%d\n", (int)table[i]);
        else
            printf("\t.quad 0x%" PRIx64 "\n", table[i]);
    }
    printf("\t.text\n\t.globl _start\n\t.type _start, @function\n_start:\n");
    for (int i = 0; i < nops; i++) {
        if (before[i])
            printf("%s\n", before[i]);
        for (int l = 0; l < nlabels; l++) {
            if (labels[l] == i)
                printf(".L%d:\n", l);
        }
        printf(".Lb%d:\n", i);
        printf("# %d \"program\"\n\t%s\n", i + 1, ops[i].text);
        printf(".Le%d:\n", i);
    }
    for (int f = 0; f < nfunctions; f++)
        printf("\t.size f%d, 1\n", f);
    printf("\t.section .places, \"\", @progbits\n\t.quad table, stack, arena\n");
    for (int i = 0; i < nops; i++)
        printf("\t.quad .Lb%d, .Le%d - .Lb%d\n", i, i, i);
}

static void print_geometry(void)
{
    for (int k = 0; k < 3; k++) {
        uint32_t line, assoc, sets;

        line = chance(40) ? 64 : 1u << (plain ? 5 + rnd(6) : 4 + rnd(chance(30) ? 9 : 4));
        do {
            assoc = chance(30) ? 1 : chance(50) ? 1u << rnd(5) : 1 + rnd(20);
            sets = 1u << rnd(k == 2 ? 11 : 8);
        } while (assoc * sets == 1);
        printf("%s%u,%u,%u", k ? " " : "", line * assoc * sets, assoc, line);
    }
    printf("\n");
}

static void print_counts(const char *geometry, const char *path)
{
    unsigned g[9];
    FILE *f = fopen(path, "rb");

    if (!f || sscanf(geometry, "%u,%u,%u %u,%u,%u %u,%u,%u", g, g + 1, g + 2, g + 3, g + 4, g + 5,
                     g + 6, g + 7, g + 8) != 9) {
        fprintf(stderr, "sim_gen: %s, '%s'?\n", path, geometry);
        exit(2);
    }
    if (fread(bases, 8, 3, f) != 3)
        abort();
    for (int i = 0; i < nops; i++) {
        uint64_t v[2];

        if (fread(v, 8, 2, f) != 2)
            abort();
        where[i] = v[0];
        length[i] = v[1];
    }
    fclose(f);
    cache_make(&i1, g[0], g[1], g[2]);
    cache_make(&d1, g[3], g[4], g[5]);
    cache_make(&ll, g[6], g[7], g[8]);
    clip = g[2] < g[5] ? g[2] : g[5];
    clip = clip < g[8] ? clip : g[8];
    run(outer, true, ~0ull);
    for (int i = 0; i < nops; i++) {
        if (!counts[i][IR])
            continue;
        printf("%d", i + 1);
        for (int e = 0; e < EVENTS; e++)
            printf(" %" PRIu64, counts[i][e]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, n;
    const char *geometry = NULL;
    bool random_geometry = false;
    int o;

    while ((o = getopt(argc, argv, "s:vrg:G")) != -1) {
        switch (o) {
        case 's': seed = strtoull(optarg, NULL, 0); break;
        case 'v': plain = true; break;
        case 'r': rep_cachegrind = true; break;
        case 'g': geometry = optarg; break;
        case 'G': random_geometry = true; break;
        default:
            fprintf(stderr, "usage: sim_gen -s SEED [-v] [-r] [-G | -g GEOMETRY FILE]\n");
            return 2;
        }
    }
    wide = !plain && __builtin_cpu_supports("avx512f");
    if (random_geometry) {
        rng = seed;
        print_geometry();
        return 0;
    }
    for (uint64_t k = 0;; k++) { // the first that ends soon
        make(seed + (k << 32));
        n = run(1, false, 2 * STEPS);
        if (n < 2 * STEPS)
            break;
        forget();
    }
    outer = n >= STEPS ? 1 : STEPS / n;
    if (geometry && optind < argc)
        print_counts(geometry, argv[optind]);
    else
        print_program();
    return 0;
}
