// SPDX-License-Identifier: MIT
//
// Bytes of the code of a traced program (trace_code.h).
#include "cli/trace/trace_code.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/trust.h"

static void open_file(struct trace_code_map *m, uint64_t offset, const char *path)
{
    struct stat st;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = offset % page;
    int fd = *path ? trust_open_given(path, &st) : -1;
    void *at;

    if (fd < 0)
        return;
    if (offset < (uint64_t)st.st_size) {
        m->size = (size_t)((uint64_t)st.st_size - offset);
        if (m->size > m->end - m->start)
            m->size = (size_t)(m->end - m->start);
        at = mmap(NULL, m->size + skip, PROT_READ, MAP_PRIVATE, fd, (off_t)(offset - skip));
        if (at != MAP_FAILED)
            m->at = (const uint8_t *)at + skip;
    }
    close(fd);
}

void trace_code_add(struct trace_code *c, uint64_t start, uint64_t end, uint64_t offset,
                    const char *path)
{
    struct trace_code_map *m;

    if (c->maps == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        c->map = xrealloc(c->map, c->capacity * sizeof(*c->map));
    }
    m = &c->map[c->maps++];
    *m = (struct trace_code_map){ .start = start, .end = end };
    if (end > start)
        open_file(m, offset, path);
}

const uint8_t *trace_code_at(const struct trace_code *c, uint64_t pc, uint32_t len)
{
    for (size_t i = c->maps; i-- > 0;) {
        const struct trace_code_map *m = &c->map[i];

        if (pc < m->start || pc >= m->end)
            continue;
        return m->at && pc - m->start < m->size && len <= m->size - (pc - m->start)
                   ? m->at + (pc - m->start)
                   : NULL;
    }
    return NULL;
}
