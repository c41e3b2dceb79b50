// SPDX-License-Identifier: MIT
//
// Cachegrind's format, as Valgrind's tool writes it: all counts of a line in full, one `fl=` for
// each file. The profile is sorted and has one part.
#include "profile/write/writer.h"

int write_cachegrind(struct writer *w)
{
    const struct quern_profile *p = w->p;
    const struct part *part = &p->part[0];
    uint32_t file = QUERN_NONE, func = QUERN_NONE;
    bool any = false;

    for (size_t i = 0; i < part->desc_count; i++)
        writer_desc(w, part->desc[i], true);
    out_str(&w->out, "cmd: ");
    writer_text(w, part->cmd ? part->cmd : "");
    out_char(&w->out, '\n');
    writer_events(w);
    struct walk k;
    walk_init(&k, p);
    while (walk_next(&k)) {
        if (k.at.func != func) {
            struct quern_func f = p->func[k.at.func];
            if (f.file != file || !any) {
                out_str(&w->out, "fl=");
                writer_text(w, writer_name(w, f.file));
                out_char(&w->out, '\n');
            }
            out_str(&w->out, "fn=");
            writer_text(w, writer_name(w, f.name));
            out_char(&w->out, '\n');
            file = f.file;
            func = k.at.func;
            any = true;
        }
        out_u64(&w->out, k.at.line);
        writer_counts(w, &k, true);
    }
    writer_sums(w, "summary:", quern_profile_totals(p));
    return 0;
}
