// SPDX-License-Identifier: MIT
//
// Notes that the profiles of a run were recorded here (cli/files/origin.h), so that their readers
// show whatever source files they name. Not for a recovered run: its spool may be a stranger's.
#include <stdlib.h>

#include "cli/files/origin.h"
#include "finish/end/end.h"

void recorded_note(const struct spool_file *s, const struct output_files *files)
{
    const char *output = files->output;
    uint64_t flags = s->h->flags;
    uint64_t threads =
        s->h->threads_used < SPOOL_THREADS_MAX ? s->h->threads_used : SPOOL_THREADS_MAX;

    // With both caches off, the user wants no file in that folder. A tree of processes has one
    // profile, and one of the data for each.
    if (!s->h->s_symbol_cache && !s->h->s_translations)
        return;
    if (files->data)
        origin_note(files->data);
    if (!children_is_root(s))
        return;
    if (!(flags & SPOOL_F_CALLS) || !(flags & SPOOL_F_BY_THREAD) || (flags & SPOOL_F_MERGE)) {
        origin_note(output);
        return;
    }
    for (uint32_t slot = 0; slot == 0 || slot < threads; slot++) {
        char *name = output_names_thread(output, slot);

        origin_note(name);
        free(name);
    }
}
