// SPDX-License-Identifier: MIT
// Dense numbers for the lines of I1 (lineids.h).
#include "engine/count/lineids.h"

#include "engine/base/heap.h"

// Line -> id, open addressing, grown by doubling. Guarded by the translation lock.
static struct {
    u64 *line; // line + 1, 0: free
    u32 *id;
    u32 size, used;
} ids;

void lineids_init(void)
{
    ids.size = 4096;
    ids.line = heap_alloc(ids.size * sizeof(u64));
    ids.id = heap_alloc(ids.size * sizeof(u32));
}

static u64 hash(u64 line)
{
    return (line * 0x9e3779b97f4a7c15ul) >> 32;
}

static void grow(void)
{
    u32 size = ids.size * 2;
    u64 *line = heap_alloc(size * sizeof(u64));
    u32 *id = heap_alloc(size * sizeof(u32));

    for (u32 i = 0; i < ids.size; i++) {
        u32 k;

        if (!ids.line[i])
            continue;
        for (k = (u32)hash(ids.line[i] - 1) & (size - 1); line[k]; k = (k + 1) & (size - 1))
            ;
        line[k] = ids.line[i];
        id[k] = ids.id[i];
    }
    heap_free(ids.line, ids.size * sizeof(u64));
    heap_free(ids.id, ids.size * sizeof(u32));
    ids.line = line;
    ids.id = id;
    ids.size = size;
}

u32 lineids_of(u64 line)
{
    u32 k;

    for (k = (u32)hash(line) & (ids.size - 1); ids.line[k]; k = (k + 1) & (ids.size - 1)) {
        if (ids.line[k] == line + 1)
            return ids.id[k];
    }
    if (ids.used * 2 >= ids.size) {
        grow();
        return lineids_of(line);
    }
    ids.line[k] = line + 1;
    ids.id[k] = ++ids.used;
    return ids.used;
}

u32 lineids_count(void)
{
    return ids.used;
}

void lineids_list(u64 *line)
{
    for (u32 i = 0; i < ids.size; i++) {
        if (ids.line[i])
            line[ids.id[i] - 1] = ids.line[i] - 1;
    }
}

void lineids_preset(const u64 *line, u32 n)
{
    while (ids.size < n * 2)
        grow();
    for (u32 i = 0; i < n; i++)
        lineids_of(line[i]);
}
