// SPDX-License-Identifier: MIT
// See insn_code.h.
#include "fuzz/insn_code.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/random.h"

uint64_t code_base;
uint8_t *code_bytes;
size_t code_size;

static size_t room;
static char *notes[1 << 20];

void code_put(const void *bytes, size_t n)
{
    if (code_size + n > room) {
        room = 2 * room + n + 65536;
        code_bytes = realloc(code_bytes, room);
        if (!code_bytes)
            abort();
    }
    memcpy(code_bytes + code_size, bytes, n);
    code_size += n;
}

void code_note(const char *format, ...)
{
    char text[200];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (code_size < sizeof(notes) / sizeof(*notes))
        notes[code_size] = strdup(text);
}

uint64_t code_here(void)
{
    return code_base + code_size;
}

void code_put8(uint32_t b)
{
    uint8_t c = (uint8_t)b;

    code_put(&c, 1);
}

void code_put32(uint32_t v)
{
    code_put(&v, 4);
}

void code_put64(uint64_t v)
{
    code_put(&v, 8);
}

void code_mov(uint32_t reg, uint64_t v)
{
    code_note("mov $0x%" PRIx64 ", %%r%u", v, reg);
    if (v <= 0xffffffffu) {
        if (reg >= 8)
            code_put8(0x41);
        code_put8(0xb8 | (reg & 7));
        code_put32((uint32_t)v);
    } else {
        code_put8(0x48 | reg >> 3);
        code_put8(0xb8 | (reg & 7));
        code_put64(v);
    }
}

static void make_pool(uint8_t *pool)
{
    static const uint64_t special[] = {
        0,
        1,
        ~0ull,
        0x8000000000000000u,
        0x3ff0000000000000u,
        0xbff8000000000000u,
        0x7ff0000000000000u,
        0x7ff8000000000000u,
        0x7ff0000000000001u,
        0x000fffffffffffffu,
        0x3f8000003f800000u,
        0x7f800000ff800000u,
        0x7fc000007f800001u,
        0x0000000100000002u,
        0x4008000000000000u,
        0x3ff3ff3c003c00u,
        0x0080000000400000u,
    };

    for (size_t i = 0; i < CODE_POOL_SIZE; i += 8) {
        uint64_t v = rnd64();
        uint32_t k = rnd(100);

        if (k < 35)
            v = special[rnd(sizeof(special) / sizeof(*special))];
        else if (k < 50)
            v = (v & 0x800fffffffffffffu) | (uint64_t)(1000 + rnd(48)) << 52; // doubles about one
        else if (k < 65)
            v = (v & 0x807fffff807fffffu) | 0x3f0000003f000000u;
        memcpy(pool + i, &v, 8);
    }
}

static void print_bytes(const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s0x%02x", i % 32 ? "," : "\n\t.byte ", b[i]);
    printf("\n");
}

void code_print(const struct code_entry *e, size_t n, uint64_t seed, bool labels)
{
    uint8_t *pool = malloc(CODE_POOL_SIZE);

    if (!pool)
        abort();
    printf("// Made by fuzz/insn_gen -s %" PRIu64 "\n\t.section .snippets, \"ax\", @progbits\n",
           seed);
    printf("\t.globl snippets, snippets_end\nsnippets:\n\t.quad snippet_exit\n");
    // the code itself; its first quad is the slot
    for (size_t i = 8; i < code_size;) {
        size_t end = i + 1;

        while (end < code_size && (end >= sizeof(notes) / sizeof(*notes) || !notes[end]) &&
               end - i < 32)
            end++;
        for (size_t k = 0; k < n; k++) {
            if (labels && e[k].code == code_base + i)
                printf("s%" PRIu64 ":\n", e[k].index);
        }
        printf("\t.byte ");
        for (size_t k = i; k < end; k++)
            printf("%s0x%02x", k > i ? "," : "", code_bytes[k]);
        if (i < sizeof(notes) / sizeof(*notes) && notes[i])
            printf(" // %s", notes[i]);
        printf("\n");
        i = end;
    }
    printf("snippets_end:\n\t.section .rodata\n\t.align 64\npool:");
    make_pool(pool);
    print_bytes(pool, CODE_POOL_SIZE);
    printf("\t.align 8\n\t.globl table, first_code\ntable:\n");
    for (size_t i = 0; i < n; i++) {
        printf("\t.quad 0x%" PRIx64 ", 0x%" PRIx64 ", pool + 0x%" PRIx64 ", pool + 0x%" PRIx64
               ", 0x%" PRIx64 ", 0x%" PRIx64 ", 0x%" PRIx64
               "\n\t.long 0x%x\n\t.short 0x%x, %u\n\t.quad ",
               e[i].code, e[i].cut, e[i].arena, e[i].vectors, e[i].fs, e[i].gs, e[i].flags,
               e[i].mxcsr, e[i].fcw, e[i].nfpu);
        for (int k = 0; k < 16; k++)
            printf("%s0x%" PRIx64, k ? ", " : "", e[i].regs[k]);
        printf(", %" PRIu64 "\n", e[i].index);
    }
    printf("\t.quad 0\n\t.set first_code, 0x%" PRIx64 "\n", e[0].code);
    printf("\t.section .note.GNU-stack, \"\", @progbits\n");
    free(pool);
}
