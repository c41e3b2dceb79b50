// SPDX-License-Identifier: MIT
//
// Bytes of the code of a traced program (trace_code.h).
#include "cli/trace/trace_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/trust.h"

static void open_file(struct trace_code_map *m)
{
    struct stat st;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = m->offset % page;
    int fd = *m->path ? trust_open_given(m->path, &st) : -1;
    void *at;

    if (fd < 0)
        return;
    if (m->offset < (uint64_t)st.st_size) {
        m->size = (size_t)((uint64_t)st.st_size - m->offset);
        if (m->size > m->end - m->start)
            m->size = (size_t)(m->end - m->start);
        at = mmap(NULL, m->size + skip, PROT_READ, MAP_PRIVATE, fd, (off_t)(m->offset - skip));
        if (at != MAP_FAILED)
            m->at = (const uint8_t *)at + skip;
    }
    close(fd);
}

void trace_code_add(struct trace_code *c, uint64_t start, uint64_t end, uint64_t offset,
                    const char *path)
{
    struct trace_code_map m = { .start = start, .end = end, .offset = offset };

    for (size_t i = 0; i < c->maps;
         i++) { // a trace names a mapping again when it is in front again
        const struct trace_code_map *old = &c->map[i];

        if (old->start != start || old->end != end || old->offset != offset ||
            strcmp(old->path, path) != 0)
            continue;
        m = *old;
        memmove(&c->map[i], &c->map[i + 1], (--c->maps - i) * sizeof(m));
        c->map[c->maps++] = m;
        return;
    }
    if (c->maps == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        c->map = xrealloc(c->map, c->capacity * sizeof(*c->map));
    }
    m.path = xstrdup(path);
    if (end > start)
        open_file(&m);
    c->map[c->maps++] = m;
}

void trace_code_free(struct trace_code *c)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < c->maps; i++) {
        struct trace_code_map *m = &c->map[i];
        uint64_t skip = m->offset % page;

        if (m->at)
            munmap((void *)(m->at - skip), m->size + skip);
        free(m->path);
    }
    free(c->map);
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
