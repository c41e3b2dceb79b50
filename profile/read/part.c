// SPDX-License-Identifier: MIT
//
// Parts: compares the written sums with those of the lines. Cold.
#include "profile/read/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"
#include "profile/model/parts.h"
#include "profile/read/names.h"
#include "profile/read/record.h"

// The current totals become the start of the next part.
static void mark_base(struct reader *r)
{
    for (size_t i = 0; i < r->p->event_count; i++) {
        r->base[i] = r->p->total[i];
        r->base_nano[i] = r->p->total_nano[i];
    }
}

static void check_totals(struct reader *r, const char *what, const quern_count *written, size_t n,
                         uint64_t line, bool in_header)
{
    const struct quern_profile *p = r->p;
    const char *bol = r->bol;
    char a[64], b[64];

    r->bol = NULL;
    r->at_line = line;
    for (size_t i = 0; i < n && i < r->map_count; i++) {
        uint32_t e = r->map[i];
        quern_count sum = (p->total[e] - r->base[e]) * NANO + p->total_nano[e] - r->base_nano[e];
        if (sum == written[i])
            continue;
        quern_count_format(a, sizeof(a), written[i], NANO);
        quern_count_format(b, sizeof(b), sum, NANO);
        if (in_header && written[i] / NANO > INT64_MAX)
            remark(r, DIAG_SUMMARY_WRAPPED, NULL,
                   "%s of %s is %s, which wrapped below zero; the lines sum to %s", what,
                   p->event[e].name, a, b);
        else if (in_header && written[i] > sum && !r->totals && p->part[0].creator &&
                 strncmp(p->part[0].creator, "callgrind-", 10) == 0)
            // Callgrind ends each part with its totals.
            remark(
                r, DIAG_CUT_OFF, NULL,
                "%s of %s is %s, the lines sum to only %s, and no 'totals:' line follows them: the "
                "file may have been cut off",
                what, p->event[e].name, a, b);
        else if (in_header && r->callgrind && written[i] > sum)
            remark(r, DIAG_SUMMARY_LARGER, NULL, "%s of %s is %s, the lines sum to only %s", what,
                   p->event[e].name, a, b);
        else
            remark(r, in_header && r->callgrind ? DIAG_SUMMARY_MISMATCH : DIAG_TOTALS_MISMATCH,
                   NULL, "%s of %s is %s, but the lines sum to %s", what, p->event[e].name, a, b);
        break;
    }
    r->bol = bol;
    r->at_line = 0;
}

void part_end(struct reader *r)
{
    record_finish_pending(r);
    record_flush(r);
    if (r->summary)
        check_totals(r, "summary", r->summary, r->summary_count, r->summary_line, true);
    if (r->totals)
        check_totals(r, "totals", r->totals, r->totals_count, r->totals_line, false);
    // Without the lines with which Cachegrind begins, it is the smallest profile in the
    // specification of Callgrind's format.
    if (r->part_body && !r->summary && !r->totals && !parts_have_description(r->p))
        r->callgrind = true;
    if (!r->callgrind && r->part_body && !r->summary && !r->totals) {
        const char *bol = r->bol;
        r->bol = NULL;
        remark(r, DIAG_SUMMARY_MISSING, NULL, "no 'summary:' line: the file may have been cut off");
        r->bol = bol;
    }
    free(r->summary);
    free(r->totals);
    r->summary = r->totals = NULL;
    mark_base(r);
}

void part_begin(struct reader *r)
{
    part_end(r);
    if (parts_add(r->p) < 0) {
        r->stop = -ENOMEM;
        return;
    }
    r->part_body = r->part_events = false;
    memset(r->pos, 0, sizeof(r->pos));
    r->ob = r->fl = r->src = r->fn = QUERN_NONE;
    r->cob = r->cfl = r->cfn = r->jfl = r->jfn = QUERN_NONE;
    r->dirty = true;
}

int part_prepare_counts(struct reader *r)
{
    size_t n = 1 + (r->p->event_count > r->map_count ? r->p->event_count : r->map_count);

    if (!grow_array(&r->plain, n, sizeof(*r->plain)) ||
        !grow_array(&r->wide, n, sizeof(*r->wide)) || !grow_array(&r->frac, n, sizeof(*r->frac)) ||
        !grow_array(&r->base, n, sizeof(*r->base)) ||
        !grow_array(&r->base_nano, n, sizeof(*r->base_nano)))
        return -ENOMEM;
    if (n > r->sum_cap) {
        if (!grow_array(&r->sum, n, sizeof(*r->sum)))
            return -ENOMEM;
        memset(r->sum + r->sum_cap, 0, (n - r->sum_cap) * sizeof(*r->sum));
        r->sum_cap = n;
    }
    return 0;
}

void part_free(struct reader *r)
{
    free(r->map);
    free(r->base);
    free(r->base_nano);
    free(r->summary);
    free(r->totals);
    free(r->plain);
    free(r->sum);
    free(r->wide);
    free(r->frac);
    names_free(&r->ob_ids);
    names_free(&r->fl_ids);
    names_free(&r->fn_ids);
}
