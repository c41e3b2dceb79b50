// SPDX-License-Identifier: MIT
//
// insn_cmp [-q] EXPECTED ACTUAL: compares the records that two runs of a program of insn_gen wrote,
// and names the differing fields of each snippet. insn_cmp -u FILE lists the indexes for which
// every record says illegal instruction. Exit status 1 when they differ. -q: only the index of
// each. The layout is that of insn_guest.S.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
    uint64_t index, signal[3], gregs[23], regs[16], flags, fs, gs, mxcsr, k[8];
    uint64_t pad[1];
    uint64_t zmm[32][8];
    uint8_t fx[512];
    uint8_t tile_config[64], tile[8][1024];
    uint8_t arena[8192];
};

_Static_assert(sizeof(struct record) ==
                   8 + 24 + 184 + 128 + 32 + 64 + 8 + 2048 + 512 + 64 + 8192 + 8192,
               "as in insn_guest.S");

static struct record *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "r");
    struct record *r;
    long size;

    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) {
        perror(path);
        exit(2);
    }
    rewind(f);
    r = malloc((size_t)size + sizeof(*r));
    if (!r)
        abort();
    *n = fread(r, sizeof(*r), (size_t)size / sizeof(*r), f);
    fclose(f);
    return r;
}

static void value(const char *name, uint64_t a, uint64_t b)
{
    if (a != b)
        printf("  %s: %#" PRIx64 " %#" PRIx64 "\n", name, a, b);
}

static void explain(const struct record *a, const struct record *b)
{
    static const char *const gregs[] = { "r8",  "r9",  "r10",  "r11",     "r12", "r13",
                                         "r14", "r15", "rdi",  "rsi",     "rbp", "rbx",
                                         "rdx", "rax", "rcx",  "rsp",     "rip", "efl",
                                         "cs",  "err", "trap", "oldmask", "cr2" };
    static const char *const regs[] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
                                        "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rsp" };
    static const char *const signal[] = { "signal", "code", "address" };
    char name[32];
    int shown = 0;

    for (int i = 0; i < 3; i++)
        value(signal[i], a->signal[i], b->signal[i]);
    for (int i = 0; i < 23; i++) {
        snprintf(name, sizeof(name), "context %s", gregs[i]);
        value(name, a->gregs[i], b->gregs[i]);
    }
    for (int i = 0; i < 16; i++)
        value(regs[i], a->regs[i], b->regs[i]);
    value("flags", a->flags, b->flags);
    value("fs", a->fs, b->fs);
    value("gs", a->gs, b->gs);
    value("mxcsr", a->mxcsr, b->mxcsr);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        value(name, a->k[i], b->k[i]);
    }
    for (int i = 0; i < 32; i++) {
        for (int k = 0; k < 8; k++) {
            snprintf(name, sizeof(name), "zmm%d[%d]", i, k);
            value(name, a->zmm[i][k], b->zmm[i][k]);
        }
    }
    for (size_t i = 0; i < sizeof(a->fx); i++) {
        if (a->fx[i] != b->fx[i] && shown++ < 16)
            printf("  fxsave+%zu: %#x %#x\n", i, a->fx[i], b->fx[i]);
    }
    for (size_t i = 0; i < sizeof(a->tile_config); i++) {
        snprintf(name, sizeof(name), "tile configuration+%zu", i);
        value(name, a->tile_config[i], b->tile_config[i]);
    }
    shown = 0;
    for (size_t i = 0; i < sizeof(a->tile); i++) {
        if (a->tile[i / 1024][i % 1024] != b->tile[i / 1024][i % 1024] && shown++ < 16)
            printf("  tile%zu+%zu: %#x %#x\n", i / 1024, i % 1024, a->tile[i / 1024][i % 1024],
                   b->tile[i / 1024][i % 1024]);
    }
    shown = 0;
    for (size_t i = 0; i < sizeof(a->arena); i++) {
        if (a->arena[i] != b->arena[i] && shown++ < 16)
            printf("  arena+%#zx: %#x %#x\n", i, a->arena[i], b->arena[i]);
    }
}

int main(int argc, char **argv)
{
    struct record *a, *b;
    size_t na, nb;
    int bad = 0;
    bool legal = false, quiet = argc > 1 && !strcmp(argv[1], "-q");

    if (argc == 3 && !strcmp(argv[1], "-u")) {
        a = read_all(argv[2], &na);
        for (size_t i = 0; i < na; i++) {
            legal |= a[i].signal[0] != 4;
            if (i + 1 == na || a[i + 1].index != a[i].index) {
                if (!legal)
                    printf("%" PRIu64 "\n", a[i].index);
                legal = false;
            }
        }
        return 0;
    }
    if (argc != 3 + quiet) {
        fprintf(stderr, "usage: insn_cmp [-q] EXPECTED ACTUAL | -u FILE\n");
        return 2;
    }
    a = read_all(argv[1 + quiet], &na);
    b = read_all(argv[2 + quiet], &nb);
    for (size_t i = 0; i < na && i < nb; i++) {
        if (!memcmp(&a[i], &b[i], sizeof(*a)))
            continue;
        bad = 1;
        if (quiet) {
            printf("%" PRIu64 "\n", a[i].index);
        } else {
            printf("snippet %" PRIu64 ": expected, actual\n", a[i].index);
            explain(&a[i], &b[i]);
        }
    }
    if (na != nb) {
        bad = 1;
        if (quiet)
            printf("%" PRIu64 "\n", na < nb ? b[na].index : a[nb].index);
        else
            printf("%zu records, expected %zu\n", nb, na);
    }
    return bad;
}
