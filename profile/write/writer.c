// SPDX-License-Identifier: MIT
//
// Names, counts and sums of both formats.
#include "profile/write/writer.h"

#include <string.h>

const char *writer_name(const struct writer *w, uint32_t s)
{
    const char *t = quern_profile_str(w->p, s);

    return *t ? t : "???";
}

void writer_text(struct writer *w, const char *s)
{
    size_t n;

    while (s[n = strcspn(s, "\r\n")] != 0) {
        out_mem(&w->out, s, n);
        out_char(&w->out, ' ');
        s += n + 1;
    }
    out_mem(&w->out, s, n);
}

void writer_count(struct writer *w, quern_count v, int64_t scale)
{
    char buf[64];

    if (v > (quern_count)UINT64_MAX * scale || v < (quern_count)INT64_MIN * scale)
        w->overflow = true;
    if (scale == 1 && v >= 0 && v <= UINT64_MAX) {
        out_u64(&w->out, (uint64_t)v);
    } else {
        quern_count_format(buf, sizeof(buf), v, scale);
        out_str(&w->out, buf);
    }
}

void writer_events(struct writer *w)
{
    out_str(&w->out, "events:");
    for (size_t i = 0; i < w->p->event_count; i++) {
        out_char(&w->out, ' ');
        out_str(&w->out, w->p->event[i].name);
    }
    out_char(&w->out, '\n');
}

void writer_sums(struct writer *w, const char *key, const quern_count *sums)
{
    out_str(&w->out, key);
    for (size_t i = 0; i < w->p->event_count; i++) {
        out_char(&w->out, ' ');
        writer_count(w, sums[i], w->p->event[i].scale);
    }
    out_char(&w->out, '\n');
}

void writer_counts(struct writer *w, struct walk *k, bool all)
{
    const struct quern_profile *p = w->p;
    size_t n = k->ncounts, i = 0;

    if (k->special) {
        walk_scaled(k, p->event, w->counts);
        while (!all && n > 1 && w->counts[n - 1] == 0)
            n--;
        for (; i < n; i++) {
            out_char(&w->out, ' ');
            writer_count(w, w->counts[i], p->event[i].scale);
        }
    } else {
        walk_counts(k, w->plain);
        while (!all && n > 1 && w->plain[n - 1] == 0)
            n--;
        for (; i < n; i++) {
            out_char(&w->out, ' ');
            out_u64(&w->out, w->plain[i]);
        }
    }
    for (; i < p->event_count && (all || i == 0); i++)
        out_mem(&w->out, " 0", 2);
    out_char(&w->out, '\n');
}

void writer_desc(struct writer *w, const char *desc, bool column)
{
    const char *colon = strstr(desc, " cache:");

    out_str(&w->out, "desc: ");
    if (colon && colon - desc == 2) {
        const char *value = colon + 7 + strspn(colon + 7, " \t");
        out_mem(&w->out, desc, 9);
        out_str(&w->out, column ? "         " : " ");
        writer_text(w, value);
    } else {
        writer_text(w, desc);
    }
    out_char(&w->out, '\n');
}
