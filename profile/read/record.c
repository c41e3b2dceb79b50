// SPDX-License-Identifier: MIT
//
// Context of records, and records without a cost line.
#include "profile/read/record.h"

#include <errno.h>
#include <string.h>

#include "profile/model/self.h"

bool record_resolve(struct reader *r)
{
    struct quern_profile *p = r->p;
    uint32_t part = (uint32_t)(p->part_count - 1), src = profile_known(r->src);

    r->dirty = false;
    if (r->fl == QUERN_NONE && r->src == QUERN_NONE)
        remark(r, DIAG_NO_FILE, r->bol, "costs without a file ('fl=') before them");
    if (r->fn == QUERN_NONE)
        remark(r, DIAG_NO_FUNCTION, r->bol, "costs without a function ('fn=') before them");
    r->func = quern_profile_func(p, r->ob, r->fl, r->fn);
    if (r->func == QUERN_NONE) {
        r->stop = -ENOMEM;
        return false;
    }
    if (r->func != p->enc.func || src != p->enc.file || part != p->enc.part ||
        r->mask != p->enc.mask) {
        if (p->rows)
            record_flush(r);
        if (reader_failed(r, stream_context(p, r->func, src, part, r->mask)))
            return false;
    }
    return r->stop == 0;
}

void record_flush(struct reader *r)
{
    struct quern_profile *p = r->p;
    size_t n = r->sum_widest;

    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        p->total[i] += r->sum[i];
    self_keep(p, p->enc.func, p->enc.file, self_present(n), r->sum, n);
    memset(r->sum, 0, n * sizeof(*r->sum));
    r->sum_widest = 0;
}

void record_finish_pending(struct reader *r)
{
    struct quern_profile *p = r->p;

    if (r->pending == PENDING_NONE)
        return;
    if (r->pending == PENDING_CALL) {
        const char *bol = r->bol;
        uint64_t line = r->line;
        r->bol = r->pending_bol;
        r->line = r->pending_line;
        remark(r, DIAG_CALLS_NO_COST, r->bol, "'calls=' without its cost line: taken as zero");
        r->bol = bol;
        r->line = line;
    }
    r->pending = PENDING_NONE;
    if (r->stop || (r->dirty && !record_resolve(r)) || !record_room(r, 0))
        return;
    uint8_t *o = p->out;
    *o++ = (uint8_t)r->rec.kind;
    o = record_put_site(r, o);
    p->out = record_put_target(r, o);
    p->has |= r->rec.kind == QUERN_REC_CALL ? QUERN_HAS_CALL : QUERN_HAS_JUMP;
    p->record_count++;
}

void record_keep_pending(struct reader *r)
{
    if (r->pending != PENDING_CALL || r->pending_bol == r->pending_text)
        return;
    memccpy(r->pending_text, r->pending_bol, '\n', REMARK_TEXT); // a remark shows no more
    r->pending_bol = r->pending_text;
}
