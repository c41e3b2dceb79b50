// SPDX-License-Identifier: MIT
//
// Two buffers: the current text and, if it is read ahead, the text after it. Each begins with the
// part of a line at which the stretch before ended.
#include "profile/read/stretch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUF_SIZE ((size_t)256 << 10)

// Space for twice as much, and for a newline that the file may lack.
static int grow(struct reader *r, struct text *t)
{
    size_t cap = t->cap ? t->cap * 2 : r->stretch.bytes ? r->stretch.bytes : BUF_SIZE;
    char *b = realloc(t->buf, cap + 2);

    if (!b)
        return -ENOMEM;
    t->buf = b;
    t->cap = cap;
    return 0;
}

static int fill(struct reader *r, struct text *t)
{
    int rc;

    if (t->have == t->cap && (rc = grow(r, t)) < 0)
        return rc;
    ssize_t n = input_read(&r->in, t->buf + t->have, t->cap - t->have);
    if (n < 0)
        return (int)n;
    if (n == 0)
        r->stretch.ended = true;
    t->have += (size_t)n;
    return 0;
}

// Reads after the `had` bytes that are there: a piece, or for two threads as much as fits, because
// pipes give small pieces.
static int fill_behind(struct reader *r, struct text *t, size_t had)
{
    bool all = r->stretch.bytes != 0;
    int rc = 0;

    while (!r->stretch.ended && rc == 0 && (t->have == had || (all && t->have < t->cap)))
        rc = fill(r, t);
    return rc;
}

// Done with the whole lines of the stretch: moves the rest to the front.
static void go_on(struct stretch *s)
{
    size_t tail = s->now.have - s->whole;

    if (s->is_ahead) {
        struct text now = s->now;
        s->now = s->next;
        s->next = now;
        s->is_ahead = false;
    } else if (s->whole) {
        memmove(s->now.buf, s->now.buf + s->whole, tail);
        s->now.have = tail;
    }
    s->tail = tail;
    s->whole = 0;
}

int stretch_next(struct reader *r, const char **end)
{
    struct stretch *s = &r->stretch;
    int rc = s->failed;

    go_on(s);
    for (;;) {
        struct text *t = &s->now;
        if (rc < 0 || (rc = fill_behind(r, t, s->tail)) < 0)
            return rc;
        bool eof = s->ended && t->have == s->tail; // the text before it is read first
        if (eof && t->have && t->buf[t->have - 1] != '\n') {
            r->at_line = r->line + 1;
            remark(r, DIAG_NO_FINAL_NEWLINE, NULL, "no newline at the end of the file");
            r->at_line = 0;
            t->buf[t->have++] = '\n';
            s->tail = 0;
        }
        size_t from = eof ? 0 : s->tail;
        const char *nl = t->have > from ? memrchr(t->buf + from, '\n', t->have - from) : NULL;
        if (nl) {
            s->whole = (size_t)(nl - t->buf) + 1;
            *end = nl + 1;
            return 1;
        }
        if (eof)
            return 0;
        s->tail = t->have;
    }
}

void stretch_ahead(struct reader *r)
{
    struct stretch *s = &r->stretch;
    size_t tail = s->now.have - s->whole;

    if (s->ended || s->failed || tail > s->now.cap / 2)
        return;
    while (s->next.cap < s->now.cap)
        if (grow(r, &s->next) < 0)
            return;
    memcpy(s->next.buf, s->now.buf + s->whole, tail);
    s->next.have = tail;
    s->failed = fill_behind(r, &s->next, tail);
    s->is_ahead = true;
}

void stretch_free(struct reader *r)
{
    free(r->stretch.now.buf);
    free(r->stretch.next.buf);
}
