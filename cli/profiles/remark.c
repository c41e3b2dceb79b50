// SPDX-License-Identifier: MIT
//
// Used by every command that reads a profile. Messages have the form of warn(): file:line:column,
// what is wrong.
#include "cli/profiles/remark.h"

#include <stdlib.h>

#include "cli/base/text.h"
#include "cli/base/util.h"

enum { SHOWN_MAX = 180, CARET_MAX = 160 }; // bytes of a line

void remark_caret(FILE *f, const char *text, uint32_t col)
{
    size_t n, size = text_cut(text, SHOWN_MAX);
    char escaped[TEXT_ESCAPED];

    if (!*text || !col || col > CARET_MAX)
        return;
    fputs("  ", f);
    text_put_line(f, text, size);
    fputs("\n  ", f);
    for (size_t i = 0; i < size && i + 1 < col; i += n) {
        int32_t c = text_decode(text + i, size - i, &n);
        size_t width = text_is_shown(c) ? 1 : text_escape(escaped, text + i, n);

        for (size_t k = c == '\t' ? 1 : width; k; k--)
            putc(c == '\t' ? '\t' : ' ', f);
    }
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
