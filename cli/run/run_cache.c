// SPDX-License-Identifier: MIT
//
// The caches of this machine, by CPUID, and those given by options. Called by run.c before the
// spool is made. Facts: Intel SDM volume 2, CPUID leaves 2 and 4; AMD APM volume 3, leaves
// 8000_0005, 8000_0006 and 8000_001D.
//
// DIFFERS: Cachegrind reads the last level of an AMD processor from leaf 8000_0006, which on recent
// ones gives the whole package and no associativity; leaf 8000_001D describes what one core can
// use.
#include "cli/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "machine/machine.h"
#include "sim/cache.h"

// What is simulated when the processor says nothing: 64 KiB 2-way, 64 KiB 2-way, 256 KiB 8-way,
// 64-byte lines (the manual's model 3/4 Athlon).
static const struct spool_geometry default_i1 = { 65536, 2, 64 };
static const struct spool_geometry default_d1 = { 65536, 2, 64 };
static const struct spool_geometry default_ll = { 262144, 8, 64 };

// The caches from one source; size 0: it does not describe the cache.
struct found {
    struct spool_geometry i1, d1, ll;
    unsigned ll_level;
};

static bool complete(const struct found *f)
{
    return f->i1.size && f->d1.size && f->ll.size;
}

static void ask(const void *of, uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    (void)of;
    run_machine_cpuid(leaf, sub, r);
}

static void read_deterministic(uint32_t leaf, struct found *f)
{
    struct machine_cpuid p = { 0 };

    machine_cpuid_caches(&p, leaf, ask, NULL);
    *f = (struct found){ p.i1, p.d1, p.ll, p.ll_level };
}

// One descriptor byte of leaf 2. Size in KiB, associativity, line.
struct descriptor {
    uint8_t byte;
    uint8_t level; // 1 instruction, 11 data, 2, 3
    uint16_t kib;
    uint8_t assoc, line;
};
static const struct descriptor descriptors[] = {
    { 0x06, 1, 8, 4, 32 },      { 0x08, 1, 16, 4, 32 },     { 0x09, 1, 32, 4, 64 },
    { 0x0a, 11, 8, 2, 32 },     { 0x0c, 11, 16, 4, 32 },    { 0x0d, 11, 16, 4, 64 },
    { 0x0e, 11, 24, 6, 64 },    { 0x1d, 2, 128, 2, 64 },    { 0x21, 2, 256, 8, 64 },
    { 0x22, 3, 512, 4, 64 },    { 0x23, 3, 1024, 8, 64 },   { 0x24, 2, 1024, 16, 64 },
    { 0x25, 3, 2048, 8, 64 },   { 0x29, 3, 4096, 8, 64 },   { 0x2c, 11, 32, 8, 64 },
    { 0x30, 1, 32, 8, 64 },     { 0x41, 2, 128, 4, 32 },    { 0x42, 2, 256, 4, 32 },
    { 0x43, 2, 512, 4, 32 },    { 0x44, 2, 1024, 4, 32 },   { 0x45, 2, 2048, 4, 32 },
    { 0x46, 3, 4096, 4, 64 },   { 0x47, 3, 8192, 8, 64 },   { 0x48, 2, 3072, 12, 64 },
    { 0x49, 2, 4096, 16, 64 },  { 0x4a, 3, 6144, 12, 64 },  { 0x4b, 3, 8192, 16, 64 },
    { 0x4c, 3, 12288, 12, 64 }, { 0x4d, 3, 16384, 16, 64 }, { 0x4e, 2, 6144, 24, 64 },
    { 0x60, 11, 16, 8, 64 },    { 0x66, 11, 8, 4, 64 },     { 0x67, 11, 16, 4, 64 },
    { 0x68, 11, 32, 4, 64 },    { 0x78, 2, 1024, 4, 64 },   { 0x79, 2, 128, 8, 64 },
    { 0x7a, 2, 256, 8, 64 },    { 0x7b, 2, 512, 8, 64 },    { 0x7c, 2, 1024, 8, 64 },
    { 0x7d, 2, 2048, 8, 64 },   { 0x7f, 2, 512, 2, 64 },    { 0x80, 2, 512, 8, 64 },
    { 0x82, 2, 256, 8, 32 },    { 0x83, 2, 512, 8, 32 },    { 0x84, 2, 1024, 8, 32 },
    { 0x85, 2, 2048, 8, 32 },   { 0x86, 2, 512, 4, 64 },    { 0x87, 2, 1024, 8, 64 },
    { 0xd0, 3, 512, 4, 64 },    { 0xd1, 3, 1024, 4, 64 },   { 0xd2, 3, 2048, 4, 64 },
    { 0xd6, 3, 1024, 8, 64 },   { 0xd7, 3, 2048, 8, 64 },   { 0xd8, 3, 4096, 8, 64 },
    { 0xdc, 3, 1536, 12, 64 },  { 0xdd, 3, 3072, 12, 64 },  { 0xde, 3, 6144, 12, 64 },
    { 0xe2, 3, 2048, 16, 64 },  { 0xe3, 3, 4096, 16, 64 },  { 0xe4, 3, 8192, 16, 64 },
    { 0xea, 3, 12288, 24, 64 }, { 0xeb, 3, 18432, 24, 64 }, { 0xec, 3, 24576, 24, 64 },
};

static void read_descriptors(struct found *f)
{
    uint32_t regs[4];

    run_machine_cpuid(2, 0, regs);
    regs[0] &= ~0xffu; // the low byte of eax is a count, not a descriptor
    for (int r = 0; r < 4; r++) {
        if (regs[r] & 0x80000000u)
            continue;
        for (int shift = 0; shift < 32; shift += 8) {
            uint8_t byte = (uint8_t)(regs[r] >> shift);

            for (size_t i = 0; i < sizeof(descriptors) / sizeof(*descriptors); i++) {
                const struct descriptor *d = &descriptors[i];
                struct spool_geometry g = { d->kib * 1024u, d->assoc, d->line };

                if (d->byte != byte)
                    continue;
                if (d->level == 1) {
                    f->i1 = g;
                } else if (d->level == 11) {
                    f->d1 = g;
                } else if (d->level > f->ll_level) {
                    f->ll = g;
                    f->ll_level = d->level;
                }
            }
        }
    }
}

// The four-bit associativity of leaf 8000_0006; 0: none or described elsewhere.
static uint32_t amd_assoc(unsigned code)
{
    static const uint8_t ways[16] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 0 };

    return ways[code & 15];
}

static struct spool_geometry amd_l1(unsigned reg)
{
    struct spool_geometry g = { (reg >> 24) * 1024, (reg >> 16) & 0xff, reg & 0xff };

    if (g.assoc == 0xff) // fully associative
        g.assoc = g.line ? g.size / g.line : 0;
    return g;
}

static void read_amd(struct found *f)
{
    uint32_t r[4]; // eax to edx

    run_machine_cpuid(0x80000005, 0, r);
    f->d1 = amd_l1(r[2]);
    f->i1 = amd_l1(r[3]);
    run_machine_cpuid(0x80000006, 0, r);
    if (amd_assoc(r[3] >> 12) && (r[3] >> 18)) {
        f->ll = (struct spool_geometry){ (r[3] >> 18) * 512 * 1024, amd_assoc(r[3] >> 12),
                                         r[3] & 0xff };
        f->ll_level = 3;
    } else if (amd_assoc(r[2] >> 12) && (r[2] >> 16)) {
        f->ll = (struct spool_geometry){ (r[2] >> 16) * 1024, amd_assoc(r[2] >> 12), r[2] & 0xff };
        f->ll_level = 2;
    }
}

void run_cache_detect(struct run_caches *c)
{
    struct found f = { 0 };
    uint32_t r[4], max, extended;

    c->source = NULL;
    if (c->i1.given && c->d1.given && c->ll.given)
        return;
    run_machine_cpuid(0, 0, r);
    max = r[0];
    run_machine_cpuid(0x80000000u, 0, r);
    extended = r[0];
    // The detailed leaves first: the others can describe small caches only.
    if (max >= 4) {
        read_deterministic(4, &f);
        c->source = "CPUID leaf 4";
    }
    if (!complete(&f) && extended >= 0x8000001du) {
        memset(&f, 0, sizeof(f));
        read_deterministic(0x8000001du, &f);
        c->source = "CPUID leaf 0x8000001d";
    }
    if (!complete(&f) && extended >= 0x80000006u) {
        memset(&f, 0, sizeof(f));
        read_amd(&f);
        c->source = "CPUID leaves 0x80000005 and 0x80000006";
    }
    if (!complete(&f) && max >= 2) {
        memset(&f, 0, sizeof(f));
        read_descriptors(&f);
        c->source = "CPUID leaf 2";
    }
    if (!complete(&f)) {
        f = (struct found){ default_i1, default_d1, default_ll, 0 };
        c->source = "a default, since CPUID does not describe the caches";
    }
    if (!c->i1.given)
        c->i1.g = f.i1;
    if (!c->d1.given)
        c->d1.g = f.d1;
    if (!c->ll.given) {
        c->ll.g = f.ll;
        c->ll_level = f.ll_level;
    }
}

static int check(const struct sim_geometry *g, bool last)
{
    return last ? sim_geometry_check_last(g) : sim_geometry_check(g);
}

bool run_cache_parse(const char *text, bool last, struct spool_geometry *g, char *err,
                     size_t err_size)
{
    static const char *const names[3] = { "size", "associativity", "line size" };
    uint32_t *field[3] = { &g->size, &g->assoc, &g->line };
    struct sim_geometry sg;
    const char *p = text;
    int fault;

    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(p, ",");
        char part[24];
        uint64_t value;

        if (n == 0 || n >= sizeof(part)) {
            snprintf(err, err_size,
                     "the %s is missing; SIZE,ASSOCIATIVITY,LINESIZE is wanted, "
                     "for example 32768,8,64",
                     names[i]);
            return false;
        }
        memcpy(part, p, n);
        part[n] = '\0';
        if (!util_number(part, UINT32_MAX, &value)) {
            snprintf(err, err_size, "the %s \"%s\" is not a number from 1 to %u", names[i], part,
                     UINT32_MAX);
            return false;
        }
        *field[i] = (uint32_t)value;
        p += n;
        if (i < 2 && *p == ',')
            p++;
    }
    if (*p) {
        snprintf(err, err_size,
                 "\"%s\" follows the line size; SIZE,ASSOCIATIVITY,LINESIZE is wanted, "
                 "for example 32768,8,64",
                 p);
        return false;
    }
    sg = (struct sim_geometry){ g->size, g->assoc, g->line };
    fault = check(&sg, last);
    if (fault != SIM_GEOMETRY_OK) {
        struct sim_geometry near = sim_geometry_nearest(&sg);

        snprintf(err, err_size, "%s; the nearest that can be simulated is %u,%u,%u",
                 sim_geometry_reason(fault), near.size, near.assoc, near.line);
        return false;
    }
    return true;
}

char *run_cache_fit(struct spool_geometry *g, bool last, const char *name)
{
    struct sim_geometry sg = { g->size, g->assoc, g->line };
    int fault = check(&sg, last);
    struct sim_geometry near;
    struct spool_geometry was = *g;
    char was_size[32], size[32];

    if (fault == SIM_GEOMETRY_OK)
        return NULL;
    near = sim_geometry_nearest(&sg);
    *g = (struct spool_geometry){ near.size, near.assoc, near.line };
    return xasprintf("%s cache of %s B, %u-way, %u B lines cannot be simulated: %s; "
                     "simulating %s B, %u-way, %u B lines",
                     name, util_commas(was_size, was.size), was.assoc, was.line,
                     sim_geometry_reason(fault), util_commas(size, g->size), g->assoc, g->line);
}

static char *describe(const char *name, const struct run_cache *c, uint32_t replacement,
                      const char *more)
{
    bool said = replacement != SPOOL_LRU;
    char size[32];

    return xasprintf("%s %s B, %u-way, %u B lines%s%s%s%s", name, util_commas(size, c->g.size),
                     c->g.assoc, c->g.line, said ? ", " : "",
                     said ? machine_read_replacement(replacement) : "", more,
                     c->given ? " (given)" : "");
}

// "L2 ...; ", or nothing.
static char *describe_l2(const struct machine *m)
{
    const struct run_cache l2 = { m ? m->l2 : (struct spool_geometry){ 0 }, false };

    return m && m->has_l2 ? describe("L2", &l2, m->l2_replacement, "; ") : xstrdup("");
}

char *run_cache_sentence(const struct run_caches *c)
{
    const struct machine *m = c->machine;
    bool victim = m && m->ll_filling == SPOOL_FILL_VICTIM;
    char *i1 = describe("I1", &c->i1, SPOOL_LRU, "");
    char *d1 = describe("D1", &c->d1, SPOOL_LRU, "");
    char *l2 = describe_l2(m);
    char *ll = describe("LL", &c->ll, m ? m->ll_replacement : SPOOL_LRU, victim ? ", victim" : "");
    bool level_said = c->ll_level && !c->ll.given;
    bool rest = c->i1.given || c->d1.given || c->ll.given;
    char *level = level_said ? xasprintf(", LL is its L%u", c->ll_level) : xstrdup("");
    char *source = c->source
                       ? xasprintf("; %sfrom %s%s", rest ? "the others " : "", c->source, level)
                       : xstrdup("");
    char *s = xasprintf("Caches: %s; %s; %s%s%s", i1, d1, l2, ll, source);

    free(i1);
    free(d1);
    free(l2);
    free(ll);
    free(level);
    free(source);
    return s;
}
