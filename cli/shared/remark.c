// SPDX-License-Identifier: MIT
//
// Used by every command that reads a profile. Messages have the form of warn(): file:line:column,
// what is wrong.
#include "cli/shared/remark.h"

#include <stdlib.h>

#include "cli/shared/util.h"

void remark_caret(FILE *f, const char *text, uint32_t col)
{
    if (!*text || !col || col > 160)
        return;
    fprintf(f, "  %.180s\n  ", text);
    for (uint32_t i = 1; i < col && text[i - 1]; i++)
        putc(text[i - 1] == '\t' ? '\t' : ' ', f);
    fputs("^\n", f);
}

void remark_error(const struct quern_error *err)
{
    if (err->line && err->col)
        warn("%s:%llu:%u: %s", err->file, (unsigned long long)err->line, err->col, err->msg);
    else if (err->line)
        warn("%s:%llu: %s", err->file, (unsigned long long)err->line, err->msg);
    else if (*err->file)
        warn("%s: %s", err->file, err->msg);
    else
        warn("%s", err->msg);
    remark_caret(stderr, err->text, err->col);
}

void remark_die(const struct quern_error *err)
{
    remark_error(err);
    exit(UTIL_USAGE);
}

void remark_diag(const struct quern_diag *d, const char *file)
{
    char more[64] = "";

    if (d->severity == QUERN_NOTE)
        return;
    if (d->count > 1)
        snprintf(more, sizeof(more), " (and %llu more of this kind)",
                 (unsigned long long)d->count - 1);
    if (d->line)
        warn("%s:%llu: %s%s", file, (unsigned long long)d->line, d->msg, more);
    else
        warn("%s: %s%s", file, d->msg, more);
}
