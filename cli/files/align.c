// SPDX-License-Identifier: MIT
//
// A patience diff: equal beginnings and ends, then lines that occur exactly once on both sides, in
// their longest common order, then the same between them. Used by `quern diff --by=line` and
// `quern report --base`.
#include "cli/files/align.h"

#include <stdlib.h>

#include "cli/base/util.h"

struct align {
    const uint32_t *a, *b;
    size_t *to; // line of a -> line of b + 1; 0: none
    uint32_t *count_a, *count_b;
    size_t *place; // by id: line of b
};

static void align(struct align *x, size_t a0, size_t a1, size_t b0, size_t b1)
{
    size_t n = 0, *pa, *pb, *tail, *prev, best = 0;

    while (a0 < a1 && b0 < b1 && x->a[a0] == x->b[b0])
        x->to[a0++] = ++b0;
    while (a0 < a1 && b0 < b1 && x->a[a1 - 1] == x->b[b1 - 1])
        x->to[--a1] = b1--;
    if (a0 == a1 || b0 == b1)
        return;
    for (size_t i = a0; i < a1; i++)
        x->count_a[x->a[i]]++;
    for (size_t i = b0; i < b1; i++) {
        x->count_b[x->b[i]]++;
        x->place[x->b[i]] = i;
    }
    pa = xcalloc(a1 - a0, sizeof(*pa));
    pb = xcalloc(a1 - a0, sizeof(*pb));
    for (size_t i = a0; i < a1; i++)
        if (x->count_a[x->a[i]] == 1 && x->count_b[x->a[i]] == 1) {
            pa[n] = i;
            pb[n++] = x->place[x->a[i]];
        }
    for (size_t i = a0; i < a1; i++)
        x->count_a[x->a[i]] = 0;
    for (size_t i = b0; i < b1; i++)
        x->count_b[x->b[i]] = 0;
    // Longest increasing subsequence of pb: tail[k] is the end of the best one of length k + 1.
    tail = xcalloc(n + 1, sizeof(*tail));
    prev = xcalloc(n + 1, sizeof(*prev));
    for (size_t i = 0; i < n; i++) {
        size_t lo = 0, hi = best;
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (pb[tail[mid]] < pb[i])
                lo = mid + 1;
            else
                hi = mid;
        }
        prev[i] = lo ? tail[lo - 1] : SIZE_MAX;
        tail[lo] = i;
        if (lo == best)
            best++;
    }
    if (best) {
        size_t *run = xcalloc(best, sizeof(*run));
        for (size_t k = best, i = tail[best - 1]; k--; i = prev[i])
            run[k] = i;
        for (size_t k = 0; k < best; k++) {
            align(x, a0, pa[run[k]], b0, pb[run[k]]);
            x->to[pa[run[k]]] = pb[run[k]] + 1;
            a0 = pa[run[k]] + 1;
            b0 = pb[run[k]] + 1;
        }
        align(x, a0, a1, b0, b1);
        free(run);
    }
    free(pa);
    free(pb);
    free(tail);
    free(prev);
}

void align_lines(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, size_t ids,
                 size_t *to)
{
    struct align x = { .a = a,
                       .b = b,
                       .to = to,
                       .count_a = xcalloc(ids + 1, sizeof(uint32_t)),
                       .count_b = xcalloc(ids + 1, sizeof(uint32_t)),
                       .place = xcalloc(ids + 1, sizeof(size_t)) };

    align(&x, 0, a_count, 0, b_count);
    free(x.count_a);
    free(x.count_b);
    free(x.place);
}
