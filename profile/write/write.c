// SPDX-License-Identifier: MIT
//
// Writes a profile in one of the formats: the effect of the options, and the file.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/text.h"
#include "profile/sum/fold.h"
#include "profile/write/writer.h"

// The caller's options, perhaps of an older version, with what follows from them.
static void take_opts(struct quern_write_opts *o, const struct quern_write_opts *from,
                      const struct quern_profile *p)
{
    const unsigned only_callgrind = QUERN_HAS_CALL | QUERN_HAS_JUMP | QUERN_HAS_ADDR;

    memset(o, 0, sizeof(*o));
    if (from)
        memcpy(o, from, from->sz < sizeof(*o) ? from->sz : sizeof(*o));
    if (o->format == QUERN_FORMAT_AUTO)
        o->format = p->format;
    if (o->format == QUERN_FORMAT_AUTO)
        o->format = p->has & only_callgrind ? QUERN_FORMAT_CALLGRIND : QUERN_FORMAT_CACHEGRIND;
    if (o->portable) {
        o->no_compress_strings = o->no_compress_pos = 1;
        o->no_instr = o->combine_parts = 1;
        o->keep_order = o->no_lines = 0;
    }
}

// What the format and the options omit, as FOLD_*.
static unsigned folded(const struct quern_write_opts *o)
{
    unsigned flags = 0;

    if (o->format == QUERN_FORMAT_CACHEGRIND)
        flags = FOLD_OBJECT | FOLD_ADDR | FOLD_CALLS | FOLD_JUMPS | FOLD_FILE;
    else if (o->portable)
        flags = FOLD_JUMPS;
    if (o->no_instr)
        flags |= FOLD_ADDR;
    if (o->no_lines)
        flags |= FOLD_LINE;
    return flags;
}

static int write_file(struct writer *w, const char *path)
{
    int rc = out_open(&w->out, path);

    if (rc < 0)
        return rc;
    rc = w->opts.format == QUERN_FORMAT_CACHEGRIND ? write_cachegrind(w) : write_callgrind(w);
    if (rc == 0 && w->overflow)
        rc = -EOVERFLOW;
    return out_close(&w->out, rc);
}

static void say_failure(const struct quern_profile *p, int rc, const char *path,
                        struct quern_error *err)
{
    if (strcmp(path, "-") == 0)
        path = "standard output";
    if (rc != -EOVERFLOW) {
        text_error(err, -rc, path, "cannot be written: %s", strerror(-rc));
        return;
    }
    const char *event = "";
    for (size_t i = p->event_count; i-- > 0;)
        if (quern_profile_totals(p)[i] / p->event[i].scale > UINT64_MAX)
            event = p->event[i].name;
    text_error(err, EOVERFLOW, path,
               "not written: a sum of counts%s%.40s does not fit 64 bits, so readers would show "
               "nonsense",
               *event ? " of " : "", event);
}

int quern_profile_write(const struct quern_profile *p, const char *path,
                        const struct quern_write_opts *opts, struct quern_error *err)
{
    struct writer w = { .p = p };
    struct quern_profile *sorted = NULL;

    if (err)
        memset(err, 0, sizeof(*err));
    take_opts(&w.opts, opts, p);
    bool cachegrind = w.opts.format == QUERN_FORMAT_CACHEGRIND;
    bool combine = cachegrind || w.opts.combine_parts;
    unsigned flags = folded(&w.opts);
    if (!w.opts.keep_order || flags != 0 || (combine && p->part_count > 1)) {
        w.p = sorted = fold_sorted(p, flags, combine, err);
        if (!sorted)
            return -errno;
    }
    w.plain = calloc(p->event_count + 1, sizeof(*w.plain));
    w.counts = calloc(p->event_count + 1, sizeof(*w.counts));
    int rc = w.plain && w.counts ? write_file(&w, path) : -ENOMEM;
    free(w.plain);
    free(w.counts);
    quern_profile_free(sorted);
    if (rc < 0)
        say_failure(p, rc, path, err);
    return rc;
}
