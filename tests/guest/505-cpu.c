// SPDX-License-Identifier: MIT
//
// All sources agree on the processor: cpuid, xgetbv, the auxiliary vector, the C
// library, /proc/cpuinfo, the state in a handler's frame, and the size that xsave writes. Natively,
// and with any --cpu.
// case:
// case: --cpu=x86-64
// case: --cpu=x86-64,cx16,popcnt --tsc=counted
// about: reproducible
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

enum { EAX, EBX, ECX, EDX };

static const struct {
    const char *word; // a word of /proc/cpuinfo, which may omit features of the processor
    uint32_t leaf, reg, bit;
} features[] = {
    { "pni", 1, ECX, 0 },          { "ssse3", 1, ECX, 9 },     { "fma", 1, ECX, 12 },
    { "cx16", 1, ECX, 13 },        { "sse4_1", 1, ECX, 19 },   { "sse4_2", 1, ECX, 20 },
    { "movbe", 1, ECX, 22 },       { "popcnt", 1, ECX, 23 },   { "xsave", 1, ECX, 26 },
    { "avx", 1, ECX, 28 },         { "f16c", 1, ECX, 29 },     { "rdrand", 1, ECX, 30 },
    { "bmi1", 7, EBX, 3 },         { "avx2", 7, EBX, 5 },      { "bmi2", 7, EBX, 8 },
    { "avx512f", 7, EBX, 16 },     { "avx512dq", 7, EBX, 17 }, { "avx512cd", 7, EBX, 28 },
    { "avx512bw", 7, EBX, 30 },    { "avx512vl", 7, EBX, 31 }, { "lahf_lm", 0x80000001, ECX, 0 },
    { "abm", 0x80000001, ECX, 5 },
};

static uint32_t ask(uint32_t leaf, uint32_t sub, int reg)
{
    uint32_t r[4];

    if ((uint32_t)__get_cpuid_max(leaf & 0x80000000, NULL) < leaf)
        return 0;
    __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
    return r[reg];
}

static uint64_t xcr0(void)
{
    uint32_t lo, hi;

    if (!(ask(1, 0, ECX) >> 27 & 1))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

static void cpuinfo(void)
{
    static char line[8192];
    unsigned family = 0, model = 0, stepping = 0, sign = ask(1, 0, EAX), processors = 0;
    char vendor[13] = "", said[64] = "";
    FILE *f = fopen("/proc/cpuinfo", "re");
    uint32_t v;

    CHECK(f != NULL && getc(f) == 'p' && fileno(f) == 3);
    rewind(f);
    while (fgets(line, sizeof(line), f)) {
        sscanf(line, "vendor_id : %63s", said);
        sscanf(line, "cpu family : %u", &family);
        sscanf(line, "model : %u", &model);
        sscanf(line, "stepping : %u", &stepping);
        processors += !strncmp(line, "processor\t", 10);
        if (strncmp(line, "flags", 5))
            continue;
        line[strlen(line) - 1] = ' ';
        for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++) {
            char word[32];

            snprintf(word, sizeof(word), " %s ", features[i].word);
            if (strstr(line, word))
                CHECK(ask(features[i].leaf, 0, features[i].reg) >> features[i].bit & 1);
        }
    }
    fclose(f);
    CHECK(processors >= 1);
    v = ask(0, 0, EBX), memcpy(vendor, &v, 4);
    v = ask(0, 0, EDX), memcpy(vendor + 4, &v, 4);
    v = ask(0, 0, ECX), memcpy(vendor + 8, &v, 4);
    CHECK(!strcmp(said, vendor));
    CHECK(stepping == (sign & 15));
    CHECK(family == (sign >> 8 & 15) + ((sign >> 8 & 15) == 15 ? sign >> 20 & 0xff : 0));
    if (family == 6 || family >= 15)
        CHECK(model == ((sign >> 4 & 15) | (sign >> 12 & 0xf0)));
}

static void library(void)
{
    __builtin_cpu_init();
    CHECK(!__builtin_cpu_supports("avx2") == !(ask(7, 0, EBX) >> 5 & 1));
    CHECK(!__builtin_cpu_supports("popcnt") == !(ask(1, 0, ECX) >> 23 & 1));
    CHECK(!__builtin_cpu_supports("avx512vl") == !(ask(7, 0, EBX) >> 31 & 1));
}

// A kernel may omit features that programs cannot use (MTRRs, under a hypervisor without them).
static void vector(void)
{
    enum { FOR_PROGRAMS = 0x07888111 }; // fpu, tsc, cx8, cmov, clflush, mmx, fxsr, sse, sse2
    uint64_t aux[2] = { 1, 0 };
    FILE *f = fopen("/proc/self/auxv", "re"); // the library's own differs

    while (f && fread(aux, sizeof(aux), 1, f) == 1 && aux[0] != AT_HWCAP)
        ;
    CHECK(aux[0] == AT_HWCAP && !(aux[1] & ~(uint64_t)ask(1, 0, EDX)));
    CHECK(!((aux[1] ^ ask(1, 0, EDX)) & FOR_PROGRAMS));
    fclose(f);
}

static volatile uint64_t frame_features, frame_size;

static void handler(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    const char *fp = (const char *)uc->uc_mcontext.fpregs;
    uint32_t magic, size;
    uint64_t states;

    (void)sig;
    (void)info;
    memcpy(&magic, fp + 464, 4);
    memcpy(&states, fp + 472, 8);
    memcpy(&size, fp + 480, 4);
    frame_features = magic == 0x46505853 ? states : 0;
    frame_size = magic == 0x46505853 ? size : 0;
}

// Without the AMX tiles (bit 18), which a process has to request.
static void frame(void)
{
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    uint64_t states = xcr0() & ~(1ul << 18);
    uint32_t size = states ? 576 : 512;

    for (uint32_t i = 2; i < 32; i++)
        if ((states >> i & 1) && ask(0xd, i, EAX) + ask(0xd, i, EBX) > size)
            size = ask(0xd, i, EAX) + ask(0xd, i, EBX);
    sigaction(SIGUSR1, &a, NULL);
    raise(SIGUSR1);
    CHECK(frame_features == states);
    CHECK(frame_size == size);
    CHECK(!getauxval(AT_MINSIGSTKSZ) || getauxval(AT_MINSIGSTKSZ) > size);
}

// xsave may write the size that leaf 0xd gives, whatever is requested, with every form of an
// address.
static void state(void)
{
    uint32_t size = ask(0xd, 0, EBX);
    uint8_t *page, *end;

    if (!xcr0())
        return;
    page = mmap(NULL, 0x8000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end = page + 0x7000; // the last page must not be written
    mprotect(end, 0x1000, PROT_NONE);
    CHECK(size <= 0x7000 && size >= 576);
    page = end - ((size + 63) & ~63u);
    memset(page, 0, size);
    __asm__ volatile("xsave64 (%%rbx)" : : "a"(~0u), "d"(~0u), "b"(page) : "memory");
    memset(page, 0, size);
    // rax in the address: what it says is states and a multiple of 64 at once
    uint64_t rax = 0xc0;
    uint32_t carry = 0;
    __asm__ volatile("stc; xsave64 (%%rbx,%%rax); adc $0, %%ecx; xrstor64 (%%rbx,%%rax)"
                     : "+c"(carry)
                     : "a"(rax), "d"(0), "b"(page - rax)
                     : "memory", "cc");
    CHECK(carry == 1);
    CHECK(rax == 0xc0);
    munmap(end - 0x7000, 0x8000);
}

// Without protection keys (OSPKE, bit 4) the calls fail: ENOSPC, or EINVAL of a kernel on
// a processor without them.
static void keys(void)
{
    int key = pkey_alloc(0, 0);

    if (ask(7, 0, ECX) >> 4 & 1)
        CHECK(key > 0);
    else
        CHECK(key == -1 && (errno == ENOSPC || errno == EINVAL));
    if (key > 0)
        pkey_free(key);
}

int main(void)
{
    uint64_t before = __builtin_ia32_rdtsc();

    cpuinfo();
    library();
    vector();
    frame();
    state();
    keys();
    CHECK(__builtin_ia32_rdtsc() > before);
    return check_failed;
}
