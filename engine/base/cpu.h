// SPDX-License-Identifier: MIT
// What the processor and the kernel can do, asked once at start.
#ifndef QUERN_ENGINE_CPU_H
#define QUERN_ENGINE_CPU_H

#include "engine/base/types.h"

// Bits of rflags.
#define FLAG_TF       0x100ul
#define FLAG_DF       0x400ul
#define FLAG_RF       0x10000ul // the processor sets it in what it saves for a fault
#define FLAG_AC       0x40000ul
#define FLAGS_INITIAL 0x202ul // as a program begins: interrupts on, the bit that is always set

struct cpu {
    bool amd; // AMD's rules for branches, undefined flags and so on (AuthenticAMD, HygonGenuine)
    bool
        lahf; // in 64-bit mode, where the first x86-64 lacked it; translated code keeps flags by it
    bool bmi1, bmi2, lzcnt, rtm, pku;
    bool pext;      // takes no longer than a shift (with BMI2, AMD's needed hundreds before Zen 3)
    bool amx;       // tiles; enabled by the kernel
    bool avx2;      // with BMI1 and BMI2; enabled by the kernel
    bool avx512;    // F, DQ, BW, VL, besides; enabled by the kernel
    bool xsave;     // enabled by the kernel
    bool fsgsbase;  // rdfsbase and its like do not fault
    u32 xsave_size; // of the uncompacted area with everything but the AMX tiles; 0 without xsave
    u64 xsave_features; // XCR0 without the AMX tiles, which a process has to ask for
    u64 frame_size; // of the largest signal frame: AT_MINSIGSTKSZ; 0 where the kernel does not say
    u32 address_bits; // 48, or 57 where the kernel maps memory up there

    // What the program is shown of it (--cpu), in the frames of its handlers, too.
    bool shown_all;     // everything
    u64 shown_features; // of xsave_features; 0: it has no xsave
    u32 shown_size;     // as xsave_size
};

extern struct cpu cpu;

// Behind the last address that a program may have (TASK_SIZE_MAX).
static inline u64 cpu_task_size(void)
{
    return (1ul << (cpu.address_bits - 1)) - PAGE_SIZE;
}

// From the auxiliary vector: AT_HWCAP2, which alone says whether the kernel has enabled rdfsbase,
// and AT_MINSIGSTKSZ.
void cpu_init(u64 hwcap2, u64 frame_size);

// The program is shown a processor with these components of state (XCR0; 0: without xsave). What
// AT_MINSIGSTKSZ is there.
u64 cpu_show(u64 xcr0);
// It uses more than it was shown.
void cpu_show_all(void);

#endif
