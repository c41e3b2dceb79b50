// SPDX-License-Identifier: MIT
//
// A sorted, summed copy: written unless the order of the file is to stay.
#include "profile/sum/fold.h"

#include <errno.h>
#include <string.h>

#include "profile/model/parts.h"
#include "profile/model/text.h"
#include "profile/sum/merger.h"

struct quern_profile *fold_sorted(const struct quern_profile *p, unsigned flags, bool combine,
                                  struct quern_error *err)
{
    struct quern_profile *out = quern_profile_new();
    struct quern_merger *m = quern_merger_new();
    struct walk at;
    int rc = -ENOMEM;

    walk_init(&at, p);
    if (!m || !out)
        goto out;
    if ((rc = parts_copy_header(out, p, combine ? 0 : -1)) < 0)
        goto out;
    if (combine && p->part_count > 1)
        parts_sum_desc(out);
    for (size_t part = 0; part < out->part_count; part++) {
        struct fold f = { .flags = flags, .sign = 1, .part = combine ? -1 : (int)part };
        f.at = combine ? NULL : &at;
        // Records go to the last part of `out`: pretend that it ends here.
        size_t parts = out->part_count;
        if ((rc = merger_add(m, p, NULL, &f, err)) < 0)
            goto out;
        out->part_count = part + 1;
        rc = merger_take_into(m, out);
        out->part_count = parts;
        if (rc < 0)
            goto out;
    }
out:
    quern_merger_free(m);
    if (rc < 0) {
        quern_profile_free(out);
        if (err && !err->code)
            text_error(err, -rc, NULL, "cannot be sorted: %s", strerror(-rc));
        errno = -rc;
        return NULL;
    }
    return out;
}
