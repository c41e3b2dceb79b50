// SPDX-License-Identifier: MIT
//
// Usage: micro list | micro NAME | micro NAME LENGTH
//
// `list` prints the loops: name, operations of a round, rounds, whether it can run here, and of
// what the cycles are. NAME alone measures a loop: cycles of an operation. NAME LENGTH runs it
// without a clock, LENGTH times as long as a short run, and prints a checksum: under a model the
// difference of two lengths is divided by as many operations.
//
// A cycle is a third of a multiplication in a chain of them, in the same run, whatever the
// frequency is. Both are the least of many short runs: all others were interrupted, or shared the
// core.
#include "micro.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define CHAIN  4000 // multiplications
#define TRIES  400
#define LONGER 3 // the second length

char *area, *code;

static void fail(const char *what)
{
    fprintf(stderr, "micro: %s: %s\n", what, strerror(errno));
    exit(2);
}

static const struct loop *find(const char *name)
{
    for (size_t i = 0; i < asm_loop_count; i++)
        if (!strcmp(asm_loops[i].name, name))
            return &asm_loops[i];
    for (size_t i = 0; i < code_loop_count; i++)
        if (!strcmp(code_loops[i].name, name))
            return &code_loops[i];
    fprintf(stderr, "micro: no loop %s\n", name);
    exit(2);
}

static int runs_here(const struct loop *l)
{
    __builtin_cpu_init();
    if (l->needs && !strcmp(l->needs, "fma"))
        return __builtin_cpu_supports("fma") != 0;
    if (l->needs && !strcmp(l->needs, "aes"))
        return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
    if (l->needs && !strcmp(l->needs, "avx2"))
        return __builtin_cpu_supports("avx2") != 0;
    if (l->needs && !strcmp(l->needs, "avx512"))
        return __builtin_cpu_supports("avx512bw") != 0;
    if (l->needs && !strcmp(l->needs, "sse4.1"))
        return __builtin_cpu_supports("sse4.1") != 0;
    if (l->needs && !strcmp(l->needs, "popcnt"))
        return __builtin_cpu_supports("popcnt") != 0;
    return 1;
}

static void print(const struct loop *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s\t%u\t%ld\t%s\t%s\n", l[i].name, l[i].per, l[i].rounds,
               runs_here(&l[i]) ? "yes" : "no", l[i].what);
}

static uint64_t start(const struct loop *l)
{
    size_t size = (l->size + 2 * 4096) & ~(size_t)4095;
    uint64_t state;

    area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    if (area == MAP_FAILED || code == MAP_FAILED)
        fail("mmap");
    if (l->kind == LARGE)
        madvise(area, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < size; i += 4096) // else all pages are the same one
        *(volatile char *)(area + i) = 0;
    state = l->init ? l->init(l) : 1;
    return l->warm ? l->run(l->warm, state) : state;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t time_chain(void)
{
    int64_t from = now();
    uint32_t x = 3;

    for (int i = 0; i < CHAIN / 8; i++)
        __asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
                         "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
                         : "+r"(x));
    return now() - from;
}

static int64_t time_run(const struct loop *l, long n, uint64_t *state)
{
    int64_t from = now();

    *state = l->run(n, *state);
    return now() - from;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// With the time of the calls in the chain's as well: it is that of 40 cycles in 12,000.
static void measure(const struct loop *l)
{
    int64_t chain = INT64_MAX, shorter = INT64_MAX, longer = INT64_MAX;
    uint64_t state = start(l);
    double cycles;

    for (int i = 0; i < TRIES; i++) {
        chain = least(chain, time_chain());
        shorter = least(shorter, time_run(l, l->rounds, &state));
        longer = least(longer, time_run(l, LONGER * l->rounds, &state));
    }
    cycles = (double)(longer - shorter) * 3 * CHAIN / (double)chain;
    printf("%.2f\n", cycles / ((LONGER - 1) * (double)l->rounds * l->per));
}

int main(int argc, char **argv)
{
    const struct loop *l;
    uint64_t state;
    long length;

    if (argc == 2 && !strcmp(argv[1], "list")) {
        print(asm_loops, asm_loop_count);
        print(code_loops, code_loop_count);
        return 0;
    }
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: micro list | NAME [LENGTH]\n");
        return 2;
    }
    l = find(argv[1]);
    if (argc == 2) {
        measure(l);
        return 0;
    }
    length = atol(argv[2]);
    state = start(l);
    state = l->run(length * l->rounds, state);
    if (state - (uint64_t)area < l->size) // addresses differ from run to run
        state -= (uint64_t)area;
    printf("%016llx\n", (unsigned long long)state);
    return 0;
}
