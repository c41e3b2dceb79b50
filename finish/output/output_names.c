// SPDX-License-Identifier: MIT
//
// The names of the finisher's output files, as `quern run` was given them. `quern recover` has
// others (recover_names.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/files/name.h"
#include "finish/output/output.h"

// The name at an offset of the text, if there is one. False: it cannot be expanded.
static bool expand(const struct spool_file *s, uint32_t at, char **out, char *err, size_t err_size)
{
    const char *name = spool_file_text(s, at);

    if (name)
        *out = name_expand(name, s->h->pid, err, err_size);
    return !name || *out;
}

// A part of the profile, of a program that continues (copy_for_dump() of the engine).
static bool is_part(const struct spool_file *s)
{
    return s->h->state == SPOOL_ENDED && s->h->end_kind == SPOOL_END_NONE;
}

int output_names(const struct spool_file *s, struct output_files *files, char *err, size_t err_size)
{
    const struct spool_header *h = s->h;
    const char *spool = spool_file_text(s, h->s_spool), *tree = spool_file_text(s, h->s_tree);

    *files = (struct output_files){ .cache = spool_file_text(s, h->s_symbol_cache) };
    if (!expand(s, h->s_output, &files->output, err, err_size) ||
        !expand(s, h->s_dump_counts, &files->dump, err, err_size) ||
        !expand(s, h->data.s_output, &files->data, err, err_size) ||
        (spool && !expand(s, h->s_dump_code, &files->code, err, err_size))) {
        output_names_free(files);
        return -1;
    }
    if (!files->output) {
        snprintf(err, err_size, "the spool does not say where the profile goes");
        output_names_free(files);
        return -1;
    }
    if (files->data && is_part(s)) {
        char *part = xasprintf("%s.%u", files->data, h->dumps + 1);

        free(files->data);
        files->data = part;
    }
    if (files->code)
        files->facts = xasprintf("%s" SPOOL_CODE_SUFFIX, spool);
    if (tree)
        files->tree = xstrdup(tree);
    return 0;
}

void output_names_free(struct output_files *files)
{
    free(files->output);
    free(files->dump);
    free(files->data);
    free(files->code);
    free(files->facts);
    free(files->tree);
    memset(files, 0, sizeof(*files));
}

char *output_names_thread(const char *output, uint32_t slot)
{
    return xasprintf("%s-%02u", output, slot + 1);
}
