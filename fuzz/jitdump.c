// SPDX-License-Identifier: MIT
//
// Fuzzer of jitdump files: the input is one, with a valid header, and as it is. Each
// returned name must be bytes of the file, at an address of its function.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct perfmap *m, const uint8_t *data, size_t size, uint64_t addr)
{
    size_t len;
    const char *name = perfmap_find(m, addr, &len);

    // cut at 4095
    if (name && (len == 0 || len > 4095 || !memmem(data, size, name, len)))
        abort();
}

static void try(uint8_t *data, size_t size)
{
    struct perfmap *m = perfmap_new();
    FILE *f = fmemopen(data, size, "r");
    uint64_t addr;

    if (!m || !f)
        abort();
    jitdump_read(m, f);
    fclose(f);
    // The addresses are words of the file.
    for (size_t i = 0; i + sizeof(addr) <= size && i < 1024; i += 4) {
        memcpy(&addr, data + i, sizeof(addr));
        ask(m, data, size, addr);
        ask(m, data, size, addr - 1);
    }
    ask(m, data, size, UINT64_MAX);
    perfmap_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t header[10] = { 0x4a695444, 1, sizeof(header), 62 };
    uint8_t *whole = malloc(sizeof(header) + size + 1);

    memcpy(whole, data, size);
    if (size)
        try(whole, size);
    memcpy(whole, header, sizeof(header));
    if (size)
        memcpy(whole + sizeof(header), data, size);
    try(whole, sizeof(header) + size);
    free(whole);
    return 0;
}
