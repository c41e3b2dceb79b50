// SPDX-License-Identifier: MIT
//
// --cpu: the processor that the program is shown. Reads the option, checks that this machine has
// the features, and makes the table from which the engine answers CPUID. Called by run_options.c
// and run.c.
//
// Each level of the x86-64 psABI has a model: the first processor of a large series that has the
// level. The table has the features of the level only, a topology of one core, and the caches of
// the model, which are simulated unless others are given.
#include "cli/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/options/options.h"

struct model {
    const char *word;
    unsigned level;
    const char *vendor, *brand;
    uint32_t signature;
    uint32_t max_leaf;
    struct spool_geometry i1, d1, l2, l3; // without an l3, l2 is the last level
};

// AMD: BIOS and Kernel Developer's Guide for the AMD Athlon 64 and Opteron, 26094. Intel: SDM
// volume 1, chapter 2, and the optimization manual's tables of caches.
static const struct model models[] = {
    { "x86-64",
      1,
      "AuthenticAMD",
      "AMD Opteron(tm) Processor 246",
      0xf58,
      1,
      { 65536, 2, 64 },
      { 65536, 2, 64 },
      { 1048576, 16, 64 },
      { 0, 0, 0 } },
    { "x86-64-v2",
      2,
      "GenuineIntel",
      "Intel(R) Xeon(R) CPU X5550 @ 2.67GHz",
      0x106a5,
      0xb,
      { 32768, 4, 64 },
      { 32768, 8, 64 },
      { 262144, 8, 64 },
      { 8388608, 16, 64 } },
    { "x86-64-v3",
      3,
      "GenuineIntel",
      "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz",
      0x306c3,
      0xd,
      { 32768, 8, 64 },
      { 32768, 8, 64 },
      { 262144, 8, 64 },
      { 8388608, 16, 64 } },
    { "x86-64-v4",
      4,
      "GenuineIntel",
      "Intel(R) Xeon(R) Gold 6142 CPU @ 2.60GHz",
      0x50654,
      0xd,
      { 32768, 8, 64 },
      { 32768, 8, 64 },
      { 1048576, 16, 64 },
      { 23068672, 11, 64 } },
};
enum { MODELS = sizeof(models) / sizeof(*models) };

struct feature {
    const char *word;
    uint32_t leaf, sub;
    uint8_t reg, bit, level;
    uint32_t states;
};
static const struct feature features[CPU_FEATURES] = {
#define CPU(NAME, word, leaf, sub, reg, bit, level, states) \
    [CPU_##NAME] = { word, leaf, sub, reg, bit, level, states },
#include "share/cpu.def"
};

#define EXTENDED  0x80000000u
#define MAX_EXT   0x80000008u
#define BASE_EDX  0x078bfbffu // fpu to sse2, without ht: AT_HWCAP of an x86-64
#define BASE_EXT  0x20100800u // syscall, nx, lm
#define OSXSAVE   (1u << 27)
#define XCR0_LEAF 0xdu

// ---- The machine ----

bool run_cpu_machine_has(unsigned f)
{
    const struct feature *w = &features[f];
    uint64_t xcr0 = run_machine_xcr0();
    uint32_t r[4];

    run_machine_cpuid(w->leaf, w->sub, r);
    return (r[w->reg] >> w->bit & 1) && (xcr0 & w->states) == w->states && (f != CPU_XSAVE || xcr0);
}

static struct cpu_set of_level(unsigned level)
{
    struct cpu_set s = { { 0 } };

    for (unsigned f = 1; f < CPU_FEATURES; f++)
        if (features[f].level && features[f].level <= level)
            cpu_set_add(&s, f);
    return s;
}

const char *run_cpu_machine_level(void)
{
    const char *word = models[0].word;

    for (int m = 1; m < MODELS; m++) {
        struct cpu_set s = of_level(models[m].level);

        for (unsigned f = 1; f < CPU_FEATURES; f++)
            if (cpu_set_has(&s, f) && !run_cpu_machine_has(f))
                return word;
        word = models[m].word;
    }
    return word;
}

static void check_machine(const char *name, const char *value, const struct cpu_set *s)
{
    char *lacks = NULL;

    for (unsigned f = 1; f < CPU_FEATURES; f++) {
        if (cpu_set_has(s, f) && !run_cpu_machine_has(f)) {
            char *more =
                xasprintf("%s%s%s", lacks ? lacks : "", lacks ? ", " : "", features[f].word);

            free(lacks);
            lacks = more;
        }
    }
    if (lacks)
        die(UTIL_USAGE, "%s=%s: this machine's processor lacks %s; it has %s", name, value, lacks,
            run_cpu_machine_level());
}

// ---- The table ----

static struct spool_cpuid *leaf(struct spool_cpu *c, uint32_t number, uint32_t sub)
{
    struct spool_cpuid *l = c->leaf;

    for (; l < c->leaf + c->leaves; l++)
        if (l->leaf == number && l->sub == sub)
            return l;
    if (c->leaves == SPOOL_CPUID_MAX)
        die(UTIL_USAGE, "--cpu: the table of CPUID is too small");
    c->leaves++;
    *l = (struct spool_cpuid){ .leaf = number, .sub = sub };
    return l;
}

static void put(struct spool_cpu *c, uint32_t number, uint32_t sub, uint32_t a, uint32_t b,
                uint32_t cx, uint32_t d)
{
    *leaf(c, number, sub) = (struct spool_cpuid){ number, sub, a, b, cx, d };
}

static uint32_t four(const char *s)
{
    uint32_t v;

    memcpy(&v, s, sizeof(v));
    return v;
}

// The leaves that depend on ecx.
static uint32_t sub_of(uint32_t number, uint32_t sub)
{
    return number == 4 || number == 7 || number == 0xb || number == 0xd ? sub : SPOOL_CPUID_ANY;
}

static void put_features(struct spool_cpu *c)
{
    for (unsigned f = 1; f < CPU_FEATURES; f++) {
        const struct feature *w = &features[f];
        struct spool_cpuid *l;
        uint32_t *reg[4];

        if (!cpu_set_has(&c->features, f))
            continue;
        l = leaf(c, w->leaf, sub_of(w->leaf, w->sub));
        reg[0] = &l->a;
        reg[1] = &l->b;
        reg[2] = &l->c;
        reg[3] = &l->d;
        *reg[w->reg] |= 1u << w->bit;
        if (w->leaf == 7 && w->sub > 0) // the number of subleaves
            leaf(c, 7, 0)->a = w->sub;
    }
    if (cpu_set_has(&c->features, CPU_XSAVE))
        leaf(c, 1, SPOOL_CPUID_ANY)->c |= OSXSAVE;
}

// Leaf 4; type 1 data, 2 instruction, 3 unified.
static void put_cache(struct spool_cpu *c, uint32_t sub, uint32_t type, uint32_t level,
                      const struct spool_geometry *g)
{
    uint32_t sets = g->size / g->assoc / g->line;

    put(c, 4, sub, type | level << 5 | 1u << 8, (g->assoc - 1) << 22 | (g->line - 1), sets - 1, 0);
}

// The four-bit code of leaf 0x80000006.
static uint32_t assoc_code(uint32_t assoc)
{
    return assoc == 16 ? 8 : assoc == 8 ? 6 : 4;
}

static void put_caches(struct spool_cpu *c, const struct model *m)
{
    uint32_t l2 = m->l2.size / 1024 << 16 | assoc_code(m->l2.assoc) << 12 | m->l2.line;

    if (m->vendor[0] == 'A') {
        put(c, 0x80000005, SPOOL_CPUID_ANY, 0, 0,
            m->d1.size / 1024 << 24 | m->d1.assoc << 16 | 1u << 8 | m->d1.line,
            m->i1.size / 1024 << 24 | m->i1.assoc << 16 | 1u << 8 | m->i1.line);
        put(c, 0x80000006, SPOOL_CPUID_ANY, 0, 0, l2 | 1u << 8, 0);
        return;
    }
    put(c, 2, SPOOL_CPUID_ANY, 0x00feff01, 0xf0, 0, 0); // leaf 4 says it; prefetches of 64 bytes
    put_cache(c, 0, 1, 1, &m->d1);
    put_cache(c, 1, 2, 1, &m->i1);
    put_cache(c, 2, 3, 2, &m->l2);
    put_cache(c, 3, 3, 3, &m->l3);
    put(c, 0x80000006, SPOOL_CPUID_ANY, 0, 0, l2, 0);
}

// Leaf 0xd: the offset of each state is that of the machine, since its own xsave writes it. AVX is
// behind the header everywhere; AVX-512 is 256 bytes lower on an AMD, which has never had MPX
// before it.
static void put_states(struct spool_cpu *c)
{
    uint32_t size = 576, r[4];

    c->xcr0 = 0;
    if (!cpu_set_has(&c->features, CPU_XSAVE))
        return;
    c->xcr0 = 3;
    for (unsigned f = 1; f < CPU_FEATURES; f++)
        if (cpu_set_has(&c->features, f))
            c->xcr0 |= features[f].states;
    for (uint32_t i = 2; i < 32; i++) {
        if (!(c->xcr0 >> i & 1))
            continue;
        run_machine_cpuid(XCR0_LEAF, i, r);
        put(c, XCR0_LEAF, i, r[0], r[1], r[2] & 2, 0);
        if (r[0] + r[1] > size)
            size = r[0] + r[1];
    }
    put(c, XCR0_LEAF, 0, (uint32_t)c->xcr0, size, size, 0);
    leaf(c, XCR0_LEAF, 1)->b = size;
}

// The highest leaf.
static uint32_t make_table(struct spool_cpu *c, const struct model *m)
{
    char brand[48] = { 0 };
    uint32_t max = m->max_leaf;

    c->leaves = 0;
    c->hwcap = BASE_EDX;
    put(c, 1, SPOOL_CPUID_ANY, m->signature, 1u << 16 | 8u << 8, 0, BASE_EDX);
    put(c, 0x80000001, SPOOL_CPUID_ANY, 0, 0, 0, BASE_EXT);
    put_features(c);
    put_states(c);
    put_caches(c, m);
    if (m->max_leaf >= 0xb) {
        put(c, 0xb, 0, 0, 1, 0x100, 0);
        put(c, 0xb, 1, 0, 1, 0x201, 0);
        put(c, 0xb, 2, 0, 0, 2, 0);
    }
    snprintf(brand, sizeof(brand), "%s", m->brand);
    for (uint32_t i = 0; i < 3; i++)
        put(c, 0x80000002 + i, SPOOL_CPUID_ANY, four(brand + 16 * i), four(brand + 16 * i + 4),
            four(brand + 16 * i + 8), four(brand + 16 * i + 12));
    leaf(c, 0x80000008, SPOOL_CPUID_ANY)->a = 0x3028; // addresses of 48 and 40 bits
    for (uint32_t i = 0; i < c->leaves; i++)
        if (c->leaf[i].leaf < EXTENDED && c->leaf[i].leaf > max)
            max = c->leaf[i].leaf;
    put(c, 0, SPOOL_CPUID_ANY, max, four(m->vendor), four(m->vendor + 8), four(m->vendor + 4));
    put(c, EXTENDED, SPOOL_CPUID_ANY, MAX_EXT, 0, 0, 0);
    return max;
}

// ---- The option ----

static const struct model *find_model(const char *word, size_t n)
{
    for (int m = 0; m < MODELS; m++)
        if (strlen(models[m].word) == n && memcmp(models[m].word, word, n) == 0)
            return &models[m];
    return NULL;
}

static unsigned find_feature(const char *word, size_t n)
{
    for (unsigned f = 1; f < CPU_FEATURES; f++)
        if (strlen(features[f].word) == n && memcmp(features[f].word, word, n) == 0)
            return f;
    return CPU_NONE;
}

// A level or "x86-64", then features to add, or with "-" in front to remove.
void run_cpu_read(struct run_cpu *cpu, const char *name, const char *value)
{
    const struct model *m = &models[0];
    const char *p = value;

    memset(cpu, 0, sizeof(*cpu));
    cpu->chosen = true;
    if (strcmp(value, "native") == 0)
        return;
    for (size_t n; n = strcspn(p, ","), true; p += n + 1) {
        const struct model *level = find_model(p, n);
        bool drop = *p == '-';
        unsigned f = find_feature(p + drop, n - drop);

        if (level && p == value) {
            m = level;
            cpu->table.features = of_level(m->level);
        } else if (f != CPU_NONE && features[f].level == CPU_TOLD) {
            die(UTIL_USAGE, "%s=%s: %s cannot be chosen; native shows all of this machine's", name,
                value, features[f].word);
        } else if (f != CPU_NONE && drop) {
            cpu_set_drop(&cpu->table.features, f);
        } else if (f != CPU_NONE) {
            cpu_set_add(&cpu->table.features, f);
            if (features[f].states)
                cpu_set_add(&cpu->table.features, CPU_XSAVE);
        } else {
            die(UTIL_USAGE,
                "%s=%s: \"%.*s\" is neither a feature as /proc/cpuinfo has it nor, as the first "
                "word, native, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4",
                name, value, (int)n, p);
        }
        if (!p[n])
            break;
    }
    check_machine(name, value, &cpu->table.features);
    cpu->given = value;
    cpu->word = m->word;
    cpu->i1 = m->i1;
    cpu->d1 = m->d1;
    cpu->ll = m->l3.size ? m->l3 : m->l2;
    cpu->ll_level = m->l3.size ? 3 : 2;
    cpu->max_leaf = make_table(&cpu->table, m);
}

void run_cpu_option(void *field, const struct option *o, const char *value)
{
    run_cpu_read(field, o->name, value);
}

void run_cpu_caches(const struct run_cpu *cpu, struct run_caches *c)
{
    if (!c->i1.given)
        c->i1.g = cpu->i1;
    if (!c->d1.given)
        c->d1.g = cpu->d1;
    if (!c->ll.given) {
        c->ll.g = cpu->ll;
        c->ll_level = cpu->ll_level;
    }
    c->source = "the model of --cpu";
}

// ---- /proc/cpuinfo ----

char *run_cpu_info(const struct run_cpu *cpu)
{
    // The kernel's names of bits 0 to 26 of edx of leaf 1 (BASE_EDX), and of BASE_EXT.
    static const char base[] = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat "
                               "pse36 clflush mmx fxsr sse sse2 syscall nx lm";
    const struct spool_cpu *c = &cpu->table;
    const struct model *m = find_model(cpu->word, strlen(cpu->word));
    uint32_t s = m->signature, family = s >> 8 & 15;
    uint32_t number = (s >> 4 & 15) | (family == 6 || family == 15 ? s >> 12 & 0xf0 : 0);
    char *flags = xstrdup(base), *info;

    for (unsigned f = 1; f < CPU_FEATURES; f++)
        if (cpu_set_has(&c->features, f)) {
            char *more = xasprintf("%s %s", flags, features[f].word);

            free(flags);
            flags = more;
        }
    info = xasprintf("vendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nmodel name\t: %s\n"
                     "stepping\t: %u\ncache size\t: %u KB\nphysical id\t: 0\nsiblings\t: 1\n"
                     "core id\t\t: 0\ncpu cores\t: 1\napicid\t\t: 0\ninitial apicid\t: 0\n"
                     "fpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: %u\nwp\t\t: yes\n"
                     "flags\t\t: %s\nclflush size\t: 64\ncache_alignment\t: 64\n"
                     "address sizes\t: 40 bits physical, 48 bits virtual\n\n",
                     m->vendor, family + (family == 15 ? s >> 20 & 0xff : 0), number, m->brand,
                     s & 15, cpu->ll.size / 1024, cpu->max_leaf, flags);
    free(flags);
    return info;
}
