// SPDX-License-Identifier: MIT
//
// --dump-counts: how often each instruction was executed.
#include "finish/output/output.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/files/file.h"

void output_counts_add(struct output_counts *c, const struct spool_walk_insn *in)
{
    if (c->count == c->room) {
        c->room = c->room ? c->room * 2 : 65536;
        c->insn = xrealloc(c->insn, c->room * sizeof(*c->insn));
    }
    c->insn[c->count++] = (struct output_executed){ in->pc, in->executed, in->map };
}

static int compare_executed(const void *x, const void *y)
{
    const struct output_executed *a = x, *b = y;

    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return a->map < b->map ? -1 : a->map > b->map;
}

// The instructions are sorted: those of the same address and module become one line.
static void write_executed(FILE *f, const void *ctx)
{
    const struct output_counts *c = ctx;

    for (size_t i = 0; i < c->count; i++) {
        const struct output_executed *x = &c->insn[i];
        const struct spool_map *m = &c->s->maps[x->map];
        char *path = spool_file_line(spool_file_text(c->s, m->path));
        uint64_t count = x->count;

        while (i + 1 < c->count && compare_executed(x, &c->insn[i + 1]) == 0)
            count += c->insn[++i].count;
        fprintf(f, "%llx %llu %s+%llx\n", (unsigned long long)x->pc, (unsigned long long)count,
                *path                       ? path
                : m->flags & SPOOL_MAP_VDSO ? "[vdso]"
                                            : "[anonymous]",
                (unsigned long long)(m->offset + (x->pc - m->start)));
        free(path);
    }
}

int output_counts(struct output_counts *c, const char *path, char *err, size_t err_size)
{
    int rc;

    if (c->count)
        qsort(c->insn, c->count, sizeof(*c->insn), compare_executed);
    rc = file_write(path, write_executed, c);
    if (rc != 0)
        snprintf(err, err_size, "%s: cannot be written: %s", path, strerror(-rc));
    return rc != 0 ? -1 : 0;
}
