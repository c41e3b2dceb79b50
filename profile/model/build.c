// SPDX-License-Identifier: MIT
//
// The builder's records: `quern run` calls these for every place with a cost.
#include "profile/model/stream.h"

#include <errno.h>
#include <stdlib.h>

static int add_record(struct quern_profile *p, enum quern_record_kind kind,
                      const struct quern_site *at, const struct quern_site *to, uint64_t calls,
                      uint64_t executed, const uint64_t *counts, size_t n)
{
    struct quern_record rec = { .kind = kind, .at = *at, .calls = calls, .executed = executed };
    quern_count stack[64], *v = stack;

    if (n > p->event_count || at->func >= p->func_count || (to && to->func >= p->func_count))
        return -EINVAL;
    if (n > 64 && !(v = calloc(n, sizeof(*v))))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        v[i] = (quern_count)counts[i] * p->event[i].scale;
    if (to)
        rec.to = *to;
    if (rec.at.file == QUERN_NONE)
        rec.at.file = p->func[at->func].file;
    rec.at.file = profile_known(rec.at.file);
    if (to && kind != QUERN_REC_CALL && rec.to.file == QUERN_NONE)
        rec.to.file = p->func[to->func].file;
    rec.to.file = profile_known(rec.to.file);
    rec.part = (uint32_t)(p->part_count - 1);
    rec.counts = v;
    int rc = stream_add(p, &rec, n);
    if (v != stack)
        free(v);
    return rc;
}

int quern_profile_add_cost(struct quern_profile *p, const struct quern_site *at,
                           const uint64_t *counts, size_t n)
{
    return add_record(p, QUERN_REC_COST, at, NULL, 0, 0, counts, n);
}

int quern_profile_add_call(struct quern_profile *p, const struct quern_site *at, uint32_t callee,
                           uint64_t target_line, uint64_t target_addr, uint64_t calls,
                           const uint64_t *counts, size_t n)
{
    struct quern_site to = {
        .func = callee, .file = QUERN_NONE, .line = target_line, .addr = target_addr
    };
    return add_record(p, QUERN_REC_CALL, at, &to, calls, 0, counts, n);
}

int quern_profile_add_jump(struct quern_profile *p, const struct quern_site *at,
                           const struct quern_site *to, uint64_t executed, uint64_t followed)
{
    return add_record(p, executed ? QUERN_REC_JCND : QUERN_REC_JUMP, at, to, followed, executed,
                      NULL, 0);
}
