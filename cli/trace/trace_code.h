// SPDX-License-Identifier: MIT
//
// The code of a traced program: its bytes come from the files that were mapped.
#ifndef QUERN_CLI_TRACE_CODE_H
#define QUERN_CLI_TRACE_CODE_H

#include <stddef.h>
#include <stdint.h>

struct trace_code_map {
    uint64_t start, end, offset;
    char *path;
    const uint8_t *at; // of `start`; NULL: unknown
    size_t size;       // bytes there
};

struct trace_code {
    struct trace_code_map *map; // a later one is in front of earlier ones
    size_t maps, capacity;
};

// From start up to end the file is mapped, from `offset` on; "": none is. A file that cannot be
// read leaves the bytes unknown. The path is whatever the trace says: only regular files are
// opened.
void trace_code_add(struct trace_code *c, uint64_t start, uint64_t end, uint64_t offset,
                    const char *path);

void trace_code_free(struct trace_code *c);

// The bytes of an instruction of `len` bytes at pc; NULL: unknown. They stay until
// trace_code_free().
const uint8_t *trace_code_at(const struct trace_code *c, uint64_t pc, uint32_t len);

#endif
