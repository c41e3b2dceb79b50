// SPDX-License-Identifier: MIT
// Features of the processor and the kernel, read once at start.
#ifndef QUERN_ENGINE_CPU_H
#define QUERN_ENGINE_CPU_H

#include "engine/base/types.h"

// Bits of rflags.
#define FLAG_TF       0x100ul
#define FLAG_DF       0x400ul
#define FLAG_RF       0x10000ul // set by the processor in the flags that it saves for a fault
#define FLAG_AC       0x40000ul
#define FLAGS_INITIAL 0x202ul // of a new program: interrupts on, the bit that is always set

struct cpu {
    bool amd;  // AMD's rules for branches, undefined flags and so on (AuthenticAMD, HygonGenuine)
    bool lahf; // in 64-bit mode (the first x86-64 lacked it); translated code saves flags with it
    bool bmi1, bmi2, lzcnt, rtm, pku;
    bool pext;      // as fast as a shift (AMD before Zen 3: BMI2, but hundreds of cycles)
    bool amx;       // tiles; enabled by the kernel
    bool avx2;      // with BMI1 and BMI2; enabled by the kernel
    bool avx512;    // also F, DQ, BW, VL; enabled by the kernel
    bool xsave;     // enabled by the kernel
    bool fsgsbase;  // rdfsbase and related instructions do not fault
    u32 xsave_size; // of the uncompacted area with everything but the AMX tiles; 0 without xsave
    u64 xsave_features; // XCR0 without the AMX tiles, which a process has to request
    u64 frame_size;     // of the largest signal frame: AT_MINSIGSTKSZ; 0 if the kernel gives none
    u32 address_bits;   // 48, or 57 where the kernel maps memory there

    // The processor of --cpu, also in the frames of handlers.
    bool shown_all;     // everything
    u64 shown_features; // of xsave_features; 0: it has no xsave
    u32 shown_size;     // as xsave_size
};

extern struct cpu cpu;

// End of the addresses that a program may have (TASK_SIZE_MAX).
static inline u64 cpu_task_size(void)
{
    return (1ul << (cpu.address_bits - 1)) - PAGE_SIZE;
}

// Helpers run with the client's direction flag, which turns string instructions round, and the
// compiler makes some of initializers. Clears it; whether it was set.
static inline bool cpu_clear_direction(void)
{
    u64 flags;

    __asm__ volatile("pushfq\n\tpop %0" : "=r"(flags) : : "memory");
    if (flags & FLAG_DF)
        __asm__ volatile("cld" : : : "memory");
    return (flags & FLAG_DF) != 0;
}

static inline void cpu_restore_direction(bool was_set)
{
    if (was_set)
        __asm__ volatile("std" : : : "memory");
}

// Arguments from the auxiliary vector: AT_HWCAP2 (nothing else says whether the kernel has enabled
// rdfsbase) and AT_MINSIGSTKSZ.
void cpu_init(u64 hwcap2, u64 frame_size);

// --cpu: sets the state components of that processor (XCR0; 0: without xsave). Returns its
// AT_MINSIGSTKSZ.
u64 cpu_show(u64 xcr0);
// The program uses state that the processor of --cpu does not have.
void cpu_show_all(void);

#endif
