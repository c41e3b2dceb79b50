// SPDX-License-Identifier: MIT
//
// Collects remarks and passes them to the caller. Cold.
#include "profile/read/remark.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/text.h"
#include "profile/read/reader.h"

static const struct {
    const char *kind;
    enum quern_severity severity;
} diag_table[DIAG_COUNT] = {
#define DIAG(name, text, sev) [DIAG_##name] = { text, QUERN_##sev },
#include "profile/read/diag.def"
#undef DIAG
};

// The line as a string of at most max bytes, NUL bytes shown as '?'.
static size_t line_text(const struct reader *r, char *out, size_t max)
{
    const char *s = r->bol;
    size_t n = 0;

    if (s) {
        while (n < max && s[n] != '\n') {
            out[n] = s[n] ? s[n] : '?';
            n++;
        }
        if (n && n < max && out[n - 1] == '\r')
            n--;
    }
    out[n] = 0;
    return n;
}

void remark(struct reader *r, enum diag_kind kind, const char *at, const char *fmt, ...)
{
    struct quern_diag d = { .severity = diag_table[kind].severity,
                            .kind = diag_table[kind].kind,
                            .count = 1 };
    struct quern_profile *p = r->p;
    char msg[512], text[REMARK_TEXT + 1];
    va_list ap;
    int first = !r->diag_slot[kind];

    if (r->half) { // the first of the pair will come here, too
        r->stop = -EAGAIN;
        return;
    }
    if (!first)
        p->diag[r->diag_slot[kind] - 1].count++;
    if (r->stop || (!first && !(r->opts->every_diag && r->opts->diag)))
        return;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    d.msg = msg;
    d.line = r->bol ? r->line : r->at_line;
    d.col = r->bol && at && at >= r->bol ? (uint32_t)(at - r->bol) + 1 : 0;
    line_text(r, text, REMARK_TEXT);
    d.text = text;
    d.file = NULL;
    if (first) {
        struct quern_diag *q = realloc(p->diag, (p->diag_count + 1) * sizeof(*q));
        if (!q) {
            r->stop = -ENOMEM;
            return;
        }
        p->diag = q;
        q += p->diag_count;
        *q = d;
        q->msg = text_dup(msg, strlen(msg));
        q->text = text_dup(text, strlen(text));
        p->diag_count++;
        r->diag_slot[kind] = p->diag_count;
        if (!q->msg || !q->text) {
            r->stop = -ENOMEM;
            return;
        }
    }
    d.file = r->name;
    if (r->opts->diag)
        r->opts->diag(r->opts->diag_ctx, &d);
    if (r->opts->strict && d.severity != QUERN_NOTE) {
        r->stop = -EBADMSG;
        text_error(r->err, EBADMSG, r->name, "%s", msg);
        if (r->err) {
            r->err->line = d.line;
            r->err->col = d.col;
            snprintf(r->err->text, sizeof(r->err->text), "%s", text);
        }
    }
}
