// SPDX-License-Identifier: MIT
// The code of one program of insn_gen.c as it grows, and the
// assembly made of it: the snippets, the pool of random data from which insn_guest.S fills
// memory and registers, and the table of snippets. insn_gen.c decides what the code is.
#ifndef QUERN_FUZZ_INSN_CODE_H
#define QUERN_FUZZ_INSN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_POOL_SIZE 32768

// A row of the table; the layout is that of insn_guest.S.
struct code_entry {
    uint64_t code, cut, arena, vectors, fs, gs, flags;
    uint32_t mxcsr;
    uint16_t fcw, nfpu;
    uint64_t regs[16]; // in the order of the guest
    uint64_t index;
};

extern uint64_t code_base;  // its address at run time
extern uint8_t *code_bytes; // from code_base on; moves as it grows
extern size_t code_size;

void code_put(const void *bytes, size_t n);
void code_put8(uint32_t b);
void code_put32(uint32_t v);
void code_put64(uint64_t v);

// The shortest mov of a constant.
void code_mov(uint32_t reg, uint64_t v);

// A note on the next bytes, for the reader of the assembly; every instruction begins with one.
__attribute__((format(printf, 1, 2))) void code_note(const char *format, ...);

uint64_t code_here(void);

// Writes the assembly to standard output; the pool consists of the next random numbers. labels:
// each snippet gets one.
void code_print(const struct code_entry *e, size_t n, uint64_t seed, bool labels);

#endif
