// SPDX-License-Identifier: MIT
//
// Reads reference traces (docs/trace-format.md), item by item. Input is not trusted: an error comes
// with its offset. Prints nothing, never ends the process.
#ifndef QUERN_CLI_TRACE_READ_H
#define QUERN_CLI_TRACE_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/reftrace.h"

enum trace_what {
    TRACE_FETCH,
    TRACE_READ,
    TRACE_WRITE,
    TRACE_MODIFY,
    TRACE_COND,
    TRACE_INDIRECT, // addr: the target
    TRACE_AGAIN,    // the instruction is repeated
    TRACE_TAKE_BACK,
    TRACE_COUNT_READ,
    TRACE_HISTORY, // addr: its bits
    TRACE_CLEAR,   // from here on: items of the whole process
    TRACE_ZERO,
    TRACE_MAP, // from pc up to addr, r->path is mapped, from r->offset on
};

struct trace_item {
    enum trace_what what;
    uint32_t thread;
    uint64_t pc; // of the instruction
    uint64_t addr;
    uint32_t size;
    bool taken;
    bool undone; // simulated, but the instruction faulted and had no effect
};

struct trace_reader {
    FILE *f;
    struct reftrace_header header;
    char *command, *parent; // parent: "" where there is none
    uint64_t at;            // bytes read
    uint64_t end;           // where reading stops, in whole chunks; UINT64_MAX: at the file's end
    struct reftrace_chunk chunk;
    uint64_t chunk_at; // offset of its first item
    uint32_t used;
    uint64_t pc, next, data;
    const char *path; // of TRACE_MAP: "": none; until the next item is read
    uint64_t offset;
    bool complete; // the last chunk is the end mark
    bool cut;      // the file ends within a chunk, which is ignored
    char error[160];
    uint64_t error_at;
    uint8_t items[REFTRACE_CHUNK_MAX + 1];
};

// The caller owns f, and keeps it open as long as the reader is used. 0, or -1 with a message in
// r->error, about byte r->error_at; call trace_read_close() in either case.
int trace_read_open(struct trace_reader *r, FILE *f);
void trace_read_close(struct trace_reader *r);

// 1: *item is the next; 0: there is none; -1: as above.
int trace_read_next(struct trace_reader *r, struct trace_item *item);

#endif
