// SPDX-License-Identifier: MIT
// The rows of cpu.def by number, for the engine and the tools, and sets of them (struct cpu_set).
#ifndef QUERN_SHARE_CPU_H
#define QUERN_SHARE_CPU_H

#include <stdint.h>

#define CPU_TOLD 255

enum cpu_feature {
    CPU_NONE, // every x86-64 has it
#define CPU(NAME, word, leaf, sub, reg, bit, level, states) CPU_##NAME,
#include "share/cpu.def"
#undef CPU
    CPU_FEATURES
};

struct cpu_set {
    uint64_t w[2];
};

_Static_assert(CPU_FEATURES <= 128, "struct cpu_set");

static inline int cpu_set_has(const struct cpu_set *s, unsigned feature)
{
    return s->w[feature / 64] >> feature % 64 & 1;
}

static inline void cpu_set_add(struct cpu_set *s, unsigned feature)
{
    s->w[feature / 64] |= UINT64_C(1) << feature % 64;
}

static inline void cpu_set_drop(struct cpu_set *s, unsigned feature)
{
    s->w[feature / 64] &= ~(UINT64_C(1) << feature % 64);
}

#endif
