// SPDX-License-Identifier: MIT
// The processor (cpu.h).
#include "engine/base/cpu.h"

#include "engine/base/sys.h"

#define HWCAP2_FSGSBASE 2u // arch/x86/include/uapi/asm/hwcap2.h
#define AVX2            (1u << 5)
#define AVX512          (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31) // F, DQ, BW, VL
#define XSTATE_LEGACY   576u // the legacy area and the header
#define XSTATE_TILECFG  (1ul << 17)
#define XSTATE_TILEDATA (1ul << 18)

struct cpu cpu;

struct leaf {
    u32 a, b, c, d;
};

static struct leaf cpuid(u32 leaf, u32 sub)
{
    struct leaf r;

    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
    return r;
}

// Addresses have 48 bits, sign-extended; or 57, where processor and kernel support it: then the
// kernel maps memory at such addresses.
static u32 address_bits(void)
{
    const u64 high = 1ul << 48;

    if ((cpuid(0x80000008, 0).a >> 8 & 0xff) <= 48)
        return 48;
    if (sys_mmap(high, PAGE_SIZE, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                 0) != (long)high)
        return 48;
    sys_munmap(high, PAGE_SIZE);
    return 57;
}

// Size of the uncompacted area with these components.
static u32 xsave_size(u64 features)
{
    u32 size = XSTATE_LEGACY;

    for (u32 i = 2; i < 63; i++) {
        struct leaf r;

        if (!(features & 1ul << i))
            continue;
        r = cpuid(0xd, i);
        if (r.a + r.b > size)
            size = r.a + r.b;
    }
    return size;
}

static void xsave_init(void)
{
    u32 lo, hi;

    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    cpu.xsave_features = ((u64)hi << 32 | lo) & ~XSTATE_TILEDATA;
    cpu.xsave_size = xsave_size(cpu.xsave_features);
}

u64 cpu_show(u64 xcr0)
{
    // Linux adds to the state: 944 bytes to 11008, 936 to 832 and to 2696.
    u32 size = xcr0 ? xsave_size(xcr0) : 512;

    cpu.shown_all = false;
    cpu.shown_features = cpu.xsave_features & xcr0;
    cpu.shown_size = size;
    return (size + 936u + 15) & ~15u;
}

void cpu_show_all(void)
{
    cpu.shown_all = true;
    cpu.shown_features = cpu.xsave_features;
    cpu.shown_size = cpu.xsave_size;
}

static u32 family(void)
{
    u32 signature = cpuid(1, 0).a, base = signature >> 8 & 15;

    return base == 15 ? base + (signature >> 20 & 255) : base;
}

void cpu_init(u64 hwcap2, u64 frame_size)
{
    struct leaf vendor = cpuid(0, 0), seven = { 0 };

    cpu.frame_size = frame_size;
    cpu.amd = vendor.c == 0x444d4163 || vendor.c == 0x656e6975; // "cAMD", "uine"
    // For a leaf beyond the last one, Intel processors return the last one.
    if (vendor.a >= 7)
        seven = cpuid(7, 0);
    cpu.bmi1 = seven.b >> 3 & 1;
    cpu.bmi2 = seven.b >> 8 & 1;
    cpu.pext = cpu.bmi2 && !(cpu.amd && family() < 0x19);
    cpu.rtm = seven.b >> 11 & 1;
    cpu.pku = seven.c >> 4 & 1; // OSPKE
    cpu.lahf = cpuid(0x80000001, 0).c & 1;
    cpu.lzcnt = cpuid(0x80000001, 0).c >> 5 & 1;
    // It faults unless the kernel has enabled it in CR4, which is not readable here.
    cpu.fsgsbase = (seven.b & 1) && (hwcap2 & HWCAP2_FSGSBASE);
    cpu.xsave = cpuid(1, 0).c >> 27 & 1; // OSXSAVE
    if (cpu.xsave)
        xsave_init();
    cpu.amx = (seven.d >> 24 & 1) && (cpu.xsave_features & XSTATE_TILECFG);
    cpu.avx2 = (seven.b & AVX2) && cpu.bmi1 && cpu.bmi2 && (cpu.xsave_features & 6) == 6;
    cpu.avx512 =
        cpu.avx2 && (seven.b & AVX512) == AVX512 && (cpu.xsave_features & 0xe6) == 0xe6;
    cpu.address_bits = address_bits();
    cpu_show_all();
}
