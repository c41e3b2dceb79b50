// SPDX-License-Identifier: MIT
//
// Loops that are limited by one thing each, and the memory and code that they work on. micro.c
// runs and times them; loops.c has those in assembly, code.c those whose code is written when they
// start.
#ifndef BENCH_MACHINE_MICRO_H
#define BENCH_MACHINE_MICRO_H

#include <stddef.h>
#include <stdint.h>

struct loop;

// Runs the loop n times. state: what the run before returned, or `first`. Returns a state that
// depends on what was computed, and on nothing else but addresses in the area (`pointer`).
typedef uint64_t run_fn(long n, uint64_t state);
// Prepares area and code. Returns the first state.
typedef uint64_t init_fn(const struct loop *l);

struct loop {
    const char *name, *what; // of what the cycles are
    unsigned per;            // so many of these in one round
    long rounds;             // of a short run: some 10,000 to 50,000 cycles
    long warm;               // rounds before the first run that counts
    run_fn *run;
    init_fn *init; // or NULL: the state is 1
    size_t size;   // of the area, in bytes; what init() takes besides:
    unsigned count, kind;
    const char *needs; // what the processor must have, or NULL
};

#define LARGE 16 // a kind: the area has pages of 2 MiB, where the kernel gives them

extern const struct loop asm_loops[], code_loops[];
extern const size_t asm_loop_count, code_loop_count;

extern char *area; // aligned by pages, of loop->size bytes and 4096 more; zeroed before init()
extern char *code; // CODE_SIZE bytes that can be written and executed
#define CODE_SIZE (4u << 20)

run_fn run_code; // runs what is at `code`

// xorshift64 (Marsaglia, 2003), triple 13, 7, 17.
static inline uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#define SEED 88172645463325252u

// The numbers 0 to n - 1 in random order.
static inline void shuffle(uint32_t *p, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(draw(state) % (i + 1)), t = p[i];

        p[i] = p[j];
        p[j] = t;
    }
}

#endif
