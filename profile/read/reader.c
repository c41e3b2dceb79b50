// SPDX-License-Identifier: MIT
//
// Reads both formats into a profile: one pass, line by line, in a buffer that always contains whole
// lines. Policy: accept everything that any known writer produces, remark on each kind of quirk
// once, never stop early (docs/format.md lists the quirks).
#include "profile/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/formula.h"
#include "profile/model/self.h"
#include "profile/model/text.h"
#include "profile/read/lines.h"
#include "profile/read/pair.h"
#include "profile/read/part.h"
#include "profile/read/record.h"
#include "profile/read/stretch.h"

// Callgrind leaves such files for threads that did nothing, so a merger accepts them; but it is not
// a profile.
static void remark_empty(struct reader *r)
{
    r->bol = "\n";
    r->line = 1;
    remark(r, DIAG_EMPTY, r->bol, "the file is empty: no 'events:' line says what is counted");
    r->bol = NULL;
}

// Skips the byte order mark of UTF-8. Refuses UTF-16, which its own mark, or the zeros in its ASCII
// text, reveal: NULL.
static const char *begin_text(struct reader *r, const char *s, const char *end)
{
    const unsigned char *b = (const unsigned char *)s;

    if (end - s >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff) ||
                         (b[0] && b[0] < 0x80 && !b[1]) || (!b[0] && b[1] && b[1] < 0x80))) {
        text_error(r->err, EBADMSG, r->name,
                   "text in UTF-16, which cannot be read; `iconv -f UTF-16 -t UTF-8` makes a file "
                   "that can be");
        return NULL;
    }
    if (end - s < 3 || memcmp(s, "\xef\xbb\xbf", 3) != 0)
        return s;
    r->bol = s;
    r->line = 1;
    remark(r, DIAG_BOM, s, "a byte order mark before the first line");
    r->line = 0;
    return s + 3;
}

static int run(struct reader *r)
{
    const char *end;
    bool any = false;
    int rc = 0;

    while (!r->stop && (rc = stretch_next(r, &end)) > 0) {
        const char *s = any ? r->stretch.now.buf : begin_text(r, r->stretch.now.buf, end);

        if (!s)
            return -EBADMSG;
        any = true;
        if (r->pair)
            pair_read(r, s, end);
        else
            lines_read(r, s, end);
        record_keep_pending(r);
        if (r->opts->progress && r->opts->progress(r->opts->progress_ctx, r->in.done, r->in.size)) {
            text_error(r->err, ECANCELED, r->name, "reading was cancelled");
            return -ECANCELED;
        }
    }
    if (rc < 0) {
        text_error(r->err, -rc, r->name, "cannot be read: %s", strerror(-rc));
        return rc;
    }
    if (r->stop)
        return r->stop;
    if (r->in.truncated)
        remark(r, DIAG_TRUNCATED, NULL,
               "the compressed data ends early or is damaged: what came before is used");
    if (!any)
        remark_empty(r);
    part_end(r);
    if (r->stop)
        return r->stop;
    if (any && !r->p->event_count) {
        text_error(r->err, EBADMSG, r->name,
                   "no 'events:' line: not a Cachegrind or Callgrind profile");
        return -EBADMSG;
    }
    if (r->p->rows)
        r->p->rows->records = r->p->record_count;
    for (size_t i = 0; i < r->p->event_count; i++)
        if (r->frac[i])
            r->p->event[i].scale = NANO;
    if ((rc = formula_compile(r->p)) < 0)
        return rc;
    for (size_t i = 0; i < r->p->derived_count; i++)
        if (r->p->derived[i].formula && !r->p->derived[i].term_count)
            remark(r, DIAG_BAD_FORMULA, NULL, "the formula of event %s ('%s') is not understood",
                   r->p->derived[i].name, r->p->derived[i].formula);
    r->p->format = r->callgrind ? QUERN_FORMAT_CALLGRIND : QUERN_FORMAT_CACHEGRIND;
    return r->stop;
}

static struct quern_profile *read_all(struct reader *r)
{
    int rc = 0;

    r->p = quern_profile_new();
    if (!r->p) {
        rc = -ENOMEM;
    } else {
        r->ob = r->fl = r->src = r->fn = QUERN_NONE;
        r->cob = r->cfl = r->cfn = r->jfl = r->jfn = QUERN_NONE;
        r->dirty = true;
        r->col[0] = COL_LINE;
        r->col_count = 1;
        r->mask = QUERN_HAS_LINE;
        r->fast = !r->opts->no_fast;
        rc = part_prepare_counts(r);
        if (r->opts->rows && !(r->p->rows = calloc(1, sizeof(*r->p->rows))))
            rc = -ENOMEM;
    }
    if (!rc) {
        pair_begin(r);
        if (r->pair)
            r->stretch.bytes = pair_bytes(r);
        rc = run(r);
    }
    if (rc == -E2BIG && r->err && !r->err->code)
        text_error(r->err, -rc, r->name,
                   "cannot be read: it names more than %d events, which is the most", EVENTS_MAX);
    if (rc < 0 && r->err && !r->err->code)
        text_error(r->err, -rc, r->name, "cannot be read: %s", strerror(-rc));
    input_close(&r->in);
    stretch_free(r);
    pair_end(r);
    part_free(r);
    if (rc < 0) {
        quern_profile_free(r->p);
        errno = -rc;
        return NULL;
    }
    return r->p;
}

// Options of another version of the caller: missing fields are zero.
static void take_opts(struct quern_read_opts *to, const struct quern_read_opts *from)
{
    memset(to, 0, sizeof(*to));
    if (from)
        memcpy(to, from, from->sz < sizeof(*to) ? from->sz : sizeof(*to));
}

struct quern_profile *quern_profile_read(const char *path, const struct quern_read_opts *opts,
                                         struct quern_error *err)
{
    struct quern_read_opts o;
    struct reader r = { .opts = &o, .err = err, .name = strcmp(path, "-") ? path : "<stdin>" };

    take_opts(&o, opts);
    if (err)
        memset(err, 0, sizeof(*err));
    int rc = input_open(&r.in, path);
    if (rc < 0) {
        text_error(err, -rc, r.name, "cannot be opened: %s", strerror(-rc));
        errno = -rc;
        return NULL;
    }
    return read_all(&r);
}

struct quern_profile *quern_profile_read_mem(const char *text, size_t len, const char *name,
                                             const struct quern_read_opts *opts,
                                             struct quern_error *err)
{
    struct quern_read_opts o;
    struct reader r = { .opts = &o, .err = err, .name = name ? name : "<memory>" };

    take_opts(&o, opts);
    if (err)
        memset(err, 0, sizeof(*err));
    int rc = input_open_mem(&r.in, text, len);
    if (rc < 0) {
        text_error(err, -rc, r.name, "cannot be read: %s", strerror(-rc));
        errno = -rc;
        return NULL;
    }
    return read_all(&r);
}
