// SPDX-License-Identifier: MIT
//
// Fuzzer of reference traces: the input is the data after a valid header, and a whole file. Each
// item is valid, and an error has an offset within the file.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/trace_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct trace_reader *r, const struct trace_item *item)
{
    bool reference = item->what <= TRACE_MODIFY, all = item->what >= TRACE_CLEAR;

    if (all ? item->thread != 0 : item->thread == 0)
        abort();
    if (reference ? !item->size || item->size > 65535 : item->size != 0)
        abort();
    if (item->undone && item->what > TRACE_COND)
        abort();
    if (item->what == TRACE_MAP && (item->pc >= item->addr || strlen(r->path) > REFTRACE_CHUNK_MAX))
        abort();
}

static void try(uint8_t *data, size_t size)
{
    struct trace_reader *r = malloc(sizeof(*r));
    struct trace_item item;
    FILE *f = fmemopen(data, size, "r");
    int ret;

    if (!r || !f)
        abort();
    ret = trace_read_open(r, f);
    if (ret == 0)
        while ((ret = trace_read_next(r, &item)) > 0)
            check(r, &item);
    if (ret < 0 && (!*r->error || r->error_at > size))
        abort();
    if (ret == 0 && r->at > size)
        abort();
    trace_read_close(r);
    fclose(f);
    free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct reftrace_header header = { .magic = REFTRACE_MAGIC,
                                                   .version = REFTRACE_VERSION,
                                                   .order = REFTRACE_ORDER,
                                                   .bytes = sizeof(header),
                                                   .i1 = { 1024, 1, 32 },
                                                   .d1 = { 1024, 1, 32 },
                                                   .ll = { 1024, 1, 32 } };
    static const struct reftrace_chunk chunk = { .kind = REFTRACE_REFS, .thread = 1 };
    uint8_t *whole = malloc(sizeof(header) + sizeof(chunk) + size + 1);

    memcpy(whole, data, size);
    if (size)
        try(whole, size);
    // Chunks, then the items of one.
    memcpy(whole, &header, sizeof(header));
    memcpy(whole + sizeof(header), data, size);
    try(whole, sizeof(header) + size);
    memcpy(whole + sizeof(header), &chunk, sizeof(chunk));
    ((struct reftrace_chunk *)(whole + sizeof(header)))->bytes = (uint32_t)size;
    memcpy(whole + sizeof(header) + sizeof(chunk), data, size);
    try(whole, sizeof(header) + sizeof(chunk) + size);
    free(whole);
    return 0;
}
