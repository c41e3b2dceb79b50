// SPDX-License-Identifier: MIT
//
// Loops whose code is written when they start (micro.h): branches at many places, and lines of
// code. Called with the rounds in rdi and the state in rsi; one round goes through all places once.
#include "micro.h"

#include <stdlib.h>
#include <string.h>

uint64_t run_code(long n, uint64_t state)
{
    uint64_t (*f)(long, uint64_t);

    memcpy(&f, &(char *){ code }, sizeof(f));
    return f(n, state);
}

static char *put(char *at, const char *bytes, size_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}
#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

// An instruction of a branch with the distance to its target in the last four bytes.
static char *put_branch(char *at, const char *opcode, size_t n, const char *target)
{
    int32_t distance;

    at = put(at, opcode, n);
    distance = (int32_t)(target - (at + 4));
    return put(at, (const char *)&distance, 4);
}
#define JUMP(at, target)     put_branch(at, "\xe9", 1, target)
#define CALL(at, target)     put_branch(at, "\xe8", 1, target)
#define JUMP_NZ(at, target)  put_branch(at, "\x0f\x85", 2, target)
#define JUMP_MEM(at, target) put_branch(at, "\xff\x25", 2, target) // jmp *target(%rip)

static char *put_additions(char *at, unsigned n)
{
    // add $1, of rax, rcx, rdx, r8, r9, r10: four bytes each
    static const char add[6][5] = { "\x48\x83\xc0\x01", "\x48\x83\xc1\x01", "\x48\x83\xc2\x01",
                                    "\x49\x83\xc0\x01", "\x49\x83\xc1\x01", "\x49\x83\xc2\x01" };

    for (unsigned i = 0; i < n; i++)
        at = put(at, add[i % 6], 4);
    return at;
}

// mov %rsi, %rax; goes to `first`
static char *put_begin(const char *first)
{
    return JUMP(PUT(code, "\x48\x89\xf0"), first);
}

// dec %rdi; jnz first; ret
static char *put_end(char *at, const char *first)
{
    return PUT(JUMP_NZ(PUT(at, "\x48\xff\xcf"), first), "\xc3");
}

#define ENTRY 64 // bytes before the first block; the end of a round is behind the last

enum { JUMPS, JUMPS_CLOSE, JUMPS_MEM, LINES, LINES_JUMPS, NOPS4, NOPS8 };

// `count` blocks in any order; jumps from each to the next, of 16 bytes, of 6, or of lines of 64
// with four additions.
static uint64_t init_jumps(const struct loop *l)
{
    unsigned size = l->kind == LINES_JUMPS ? 64 : l->kind == JUMPS_CLOSE ? 6 : 16;
    uint32_t *order = malloc(l->count * sizeof(*order));
    char *blocks = code + ENTRY, *end = blocks + l->count * size, *slots = end + 64;
    uint64_t state = SEED;

    shuffle(order, l->count, &state);
    put_begin(blocks + order[0] * size);
    put_end(end, blocks + order[0] * size);
    for (uint32_t i = 0; i < l->count; i++) {
        char *at = blocks + order[i] * size;
        char *next = i + 1 < l->count ? blocks + order[i + 1] * size : end;

        if (l->kind == LINES_JUMPS)
            at = put_additions(at, 4);
        if (l->kind == JUMPS_MEM) {
            JUMP_MEM(at, slots + 8 * i);
            memcpy(slots + 8 * i, &next, 8);
        } else {
            JUMP(at, next);
        }
    }
    free(order);
    return 1;
}

// `count` lines of sixteen additions, one after the other.
static uint64_t init_lines(const struct loop *l)
{
    char *first = code + ENTRY, *at = first;

    put_begin(first);
    for (unsigned i = 0; i < l->count; i++)
        at = put_additions(at, 16);
    put_end(at, first);
    return 1;
}

// The same of sixteen nops of four bytes, or eight of eight.
static uint64_t init_nops(const struct loop *l)
{
    char *first = code + ENTRY, *at = first;

    put_begin(first);
    for (unsigned i = 0; i < l->count * 8; i++)
        at = l->kind == NOPS8 ? PUT(at, "\x0f\x1f\x84\0\0\0\0\0")
                              : PUT(at, "\x0f\x1f\x40\0\x0f\x1f\x40\0");
    put_end(at, first);
    return 1;
}

enum { CALLS, CALLS_TABLE, RECURSION };

// `count` calls of one function with two additions, as of the same object or by way of a table; or
// of functions that call the next.
static uint64_t init_calls(const struct loop *l)
{
    char *first = code + ENTRY, *function = code + (64u << 10), *stub = function + 64, *at = first;
    char *table = function + 4096; // not beside code that is executed

    put_begin(first);
    PUT(put_additions(function, 2), "\xc3");
    memcpy(table, &function, 8);
    JUMP_MEM(stub, table);
    if (l->kind == RECURSION) {
        for (unsigned i = 0; i < l->count; i++) {
            at = put_additions(function + 64 * i, 1);
            if (i + 1 < l->count)
                at = CALL(at, function + 64 * (i + 1));
            PUT(put_additions(at, 1), "\xc3");
        }
        put_end(CALL(first, function), first);
        return 1;
    }
    for (unsigned i = 0; i < l->count; i++)
        at = CALL(at, l->kind == CALLS_TABLE ? stub : function);
    put_end(at, first);
    return 1;
}

#define SITES 9
#define APART 16 // to `kind`: blocks begin at addresses whose low bits differ

// Nine blocks, each of which jumps to the next of a sequence of `count` targets that is repeated;
// kind: the direct jumps on its way to its indirect one, less APART. The area has the sequence.
static uint64_t init_indirect(const struct loop *l)
{
    char *first = code + ENTRY, *end = first + (SITES + 1) * 256;
    uint64_t state = SEED, mask = l->count - 1;
    unsigned size = l->kind & APART ? 256 + 7 : 256;

    for (unsigned i = 0; i < l->count; i++) {
        char *target = first + draw(&state) % SITES * size;

        memcpy(area + 8 * i, &target, 8);
    }
    // mov %rsi, %rax; xor %ecx, %ecx; movabs $area, %r8
    PUT(put(PUT(code, "\x48\x89\xf0\x31\xc9\x49\xb8"), (const char *)&area, 8), "\xeb\x00");
    JUMP(code + 17, first);
    for (unsigned i = 0; i < SITES; i++) {
        char *at = first + size * i;

        for (unsigned j = 0; j < l->kind % APART; j++, at += 16)
            JUMP(at, at + 16);
        // add $1+i, %rax; mov (%r8,%rcx,8), %rdx; inc %rcx; and $mask, %ecx; dec %rdi; jz end;
        // jmp *%rdx
        at = put(PUT(at, "\x48\x83\xc0"), &(char){ (char)(i + 1) }, 1);
        at = PUT(at, "\x49\x8b\x14\xc8\x48\xff\xc1\x81\xe1");
        at = put(at, (const char *)&mask, 4);
        at = put_branch(PUT(at, "\x48\xff\xcf"), "\x0f\x84", 2, end);
        PUT(at, "\xff\xe2");
    }
    PUT(end, "\xc3");
    return 1;
}

// The columns are those of struct loop.
// clang-format off
#define AREA 65536
const struct loop code_loops[] = {
    { "jumps-8", "jump to the next of 8 blocks of 16 bytes, any order",
      8, 1000, 100, run_code, init_jumps, 0, 8, JUMPS, NULL },
    { "jumps-16", "of 16 blocks",
      16, 500, 100, run_code, init_jumps, 0, 16, JUMPS, NULL },
    { "jumps-32", "of 32 blocks",
      32, 200, 100, run_code, init_jumps, 0, 32, JUMPS, NULL },
    { "jumps-64", "of 64 blocks",
      64, 100, 50, run_code, init_jumps, 0, 64, JUMPS, NULL },
    { "jumps-128", "of 128 blocks",
      128, 100, 20, run_code, init_jumps, 0, 128, JUMPS, NULL },
    { "jumps-256", "of 256 blocks",
      256, 50, 20, run_code, init_jumps, 0, 256, JUMPS, NULL },
    { "jumps-512", "of 512 blocks",
      512, 20, 20, run_code, init_jumps, 0, 512, JUMPS, NULL },
    { "jumps-1000", "of 1000 blocks",
      1000, 10, 20, run_code, init_jumps, 0, 1000, JUMPS, NULL },
    { "jumps-1300", "of 1300 blocks",
      1300, 10, 20, run_code, init_jumps, 0, 1300, JUMPS, NULL },
    { "jumps-2000", "of 2000 blocks",
      2000, 10, 20, run_code, init_jumps, 0, 2000, JUMPS, NULL },
    { "jumps-3000", "of 3000 blocks",
      3000, 5, 20, run_code, init_jumps, 0, 3000, JUMPS, NULL },
    { "jumps-4000", "of 4000 blocks",
      4000, 5, 20, run_code, init_jumps, 0, 4000, JUMPS, NULL },
    { "jumps-5000", "of 5000 blocks",
      5000, 5, 20, run_code, init_jumps, 0, 5000, JUMPS, NULL },
    { "jumps-6000", "of 6000 blocks",
      6000, 5, 20, run_code, init_jumps, 0, 6000, JUMPS, NULL },
    { "jumps-12000", "of 12000 blocks",
      12000, 2, 20, run_code, init_jumps, 0, 12000, JUMPS, NULL },
    { "jumps-20000", "of 20000 blocks",
      20000, 2, 20, run_code, init_jumps, 0, 20000, JUMPS, NULL },
    { "jumps-close-2000", "of 2000 blocks of 6 bytes",
      2000, 5, 20, run_code, init_jumps, 0, 2000, JUMPS_CLOSE, NULL },
    { "jumps-close-4000", "of 4000 blocks of 6 bytes",
      4000, 5, 20, run_code, init_jumps, 0, 4000, JUMPS_CLOSE, NULL },
    { "jumps-memory", "jump through memory, always to the same place, of 256",
      256, 50, 20, run_code, init_jumps, 0, 256, JUMPS_MEM, NULL },
    { "code-l1", "line of code of 256 in turn, sixteen additions",
      256, 20, 20, run_code, init_lines, 0, 256, LINES, NULL },
    { "code-400", "line of code of 400 in turn",
      400, 20, 20, run_code, init_lines, 0, 400, LINES, NULL },
    { "code-500", "line of code of 500 in turn",
      500, 20, 20, run_code, init_lines, 0, 500, LINES, NULL },
    { "code-1024", "line of code of 1024 in turn",
      1024, 5, 10, run_code, init_lines, 0, 1024, LINES, NULL },
    { "code-4096", "line of code of 4096 in turn",
      4096, 2, 5, run_code, init_lines, 0, 4096, LINES, NULL },
    { "nops-250", "line of code of 250 in turn, sixteen nops",
      250, 20, 20, run_code, init_nops, 0, 250, NOPS4, NULL },
    { "nops-400", "of 400",
      400, 20, 20, run_code, init_nops, 0, 400, NOPS4, NULL },
    { "nops-4096", "of 4096",
      4096, 2, 5, run_code, init_nops, 0, 4096, NOPS4, NULL },
    { "nops-8-480", "line of code of 480 in turn, eight nops",
      480, 20, 20, run_code, init_nops, 0, 480, NOPS8, NULL },
    { "nops-8-1024", "of 1024",
      1024, 5, 10, run_code, init_nops, 0, 1024, NOPS8, NULL },
    { "code-1024-any", "line of code of 1024 in any order, four additions and a jump",
      1024, 5, 20, run_code, init_jumps, 0, 1024, LINES_JUMPS, NULL },
    { "code-4096-any", "the same of 4096",
      4096, 2, 20, run_code, init_jumps, 0, 4096, LINES_JUMPS, NULL },
    { "calls", "call and return, two additions",
      64, 100, 20, run_code, init_calls, 0, 64, CALLS, NULL },
    { "calls-table", "call of jmp *table, return, two additions",
      64, 100, 20, run_code, init_calls, 0, 64, CALLS_TABLE, NULL },
    { "calls-16", "call and return, 16 deep",
      16, 300, 20, run_code, init_calls, 0, 16, RECURSION, NULL },
    { "calls-28", "call and return, 28 deep",
      28, 200, 20, run_code, init_calls, 0, 28, RECURSION, NULL },
    { "calls-36", "call and return, 36 deep",
      36, 200, 20, run_code, init_calls, 0, 36, RECURSION, NULL },
    { "calls-48", "call and return, 48 deep",
      48, 100, 20, run_code, init_calls, 0, 48, RECURSION, NULL },
    { "calls-96", "call and return, 96 deep",
      96, 50, 20, run_code, init_calls, 0, 96, RECURSION, NULL },
    { "indirect-8", "indirect jump of a sequence of 8, seven more instructions",
      1, 4096, 8192, run_code, init_indirect, AREA, 8, 0, NULL },
    { "indirect-16", "of a sequence of 16",
      1, 4096, 65536, run_code, init_indirect, AREA, 16, 0, NULL },
    { "indirect-32", "of a sequence of 32",
      1, 4096, 65536, run_code, init_indirect, AREA, 32, 0, NULL },
    { "indirect-64", "of a sequence of 64",
      1, 4096, 65536, run_code, init_indirect, AREA, 64, 0, NULL },
    { "indirect-128", "of a sequence of 128",
      1, 4096, 65536, run_code, init_indirect, AREA, 128, 0, NULL },
    { "indirect-256", "of a sequence of 256",
      1, 4096, 65536, run_code, init_indirect, AREA, 256, 0, NULL },
    { "indirect-512", "of a sequence of 512",
      1, 4096, 65536, run_code, init_indirect, AREA, 512, 0, NULL },
    { "indirect-512-d1", "with a direct jump before each",
      1, 4096, 65536, run_code, init_indirect, AREA, 512, 1, NULL },
    { "indirect-512-d4", "with four direct jumps before each",
      1, 4096, 65536, run_code, init_indirect, AREA, 512, 4, NULL },
    { "indirect-2048", "of a sequence of 2048",
      1, 4096, 65536, run_code, init_indirect, AREA, 2048, 0, NULL },
    { "indirect-64-apart", "of a sequence of 64, low bits of the places differ",
      1, 4096, 65536, run_code, init_indirect, AREA, 64, APART, NULL },
    { "indirect-128-apart", "of a sequence of 128, low bits of the places differ",
      1, 4096, 65536, run_code, init_indirect, AREA, 128, APART, NULL },
    { "indirect-512-apart", "of a sequence of 512, low bits of the places differ",
      1, 4096, 65536, run_code, init_indirect, AREA, 512, APART, NULL },
    { "indirect-2048-apart", "of a sequence of 2048, low bits of the places differ",
      1, 4096, 65536, run_code, init_indirect, AREA, 2048, APART, NULL },
    { "indirect-8192", "of a sequence of 8192",
      1, 8192, 131072, run_code, init_indirect, AREA, 8192, 0, NULL },
};
// clang-format on
const size_t code_loop_count = sizeof(code_loops) / sizeof(code_loops[0]);
