// SPDX-License-Identifier: MIT
//
// Tells lines apart by their first bytes. Hot: lines_read() and the name lines.
#include "profile/read/lines.h"

#include <string.h>

#include "profile/read/calls.h"
#include "profile/read/cost.h"
#include "profile/read/header.h"
#include "profile/read/names.h"
#include "profile/read/record.h"

// Sets a part of the caller's or of the callee's position.
static void set_name(struct reader *r, uint32_t *field, struct idtab *t, const char *s,
                     const char *end)
{
    if (r->pending != PENDING_NONE)
        record_finish_pending(r);
    *field = names_parse(r, t, s, end);
}

#define IS2(s, a, b) ((s)[0] == (a) && (s)[1] == (b))

// A line that begins with a letter: "xx=name" or "xxx=name" or a header. end: its newline.
static void word_line(struct reader *r, const char *s, const char *end)
{
    size_t n = (size_t)(end - s);

    if (n >= 3 && s[2] == '=') {
        if (IS2(s, 'f', 'n')) {
            set_name(r, &r->fn, &r->fn_ids, s + 3, end);
            r->src = r->fl;
            r->dirty = true;
            return;
        }
        if (s[0] == 'f' && (s[1] == 'l' || s[1] == 'i' || s[1] == 'e')) {
            set_name(r, &r->src, &r->fl_ids, s + 3, end);
            if (s[1] == 'l' || r->fl == QUERN_NONE)
                r->fl = r->src;
            r->dirty = true;
            return;
        }
        if (IS2(s, 'o', 'b')) {
            set_name(r, &r->ob, &r->ob_ids, s + 3, end);
            r->callgrind = true;
            r->dirty = true;
            return;
        }
        if (IS2(s, 'b', 'b') || IS2(s, 'l', 'n')) {
            remark(r, DIAG_HIDDEN_SPEC, s, "undocumented '%.2s='; ignored", s);
            return;
        }
    }
    if (n >= 4 && s[3] == '=') {
        if (s[0] == 'c' && s[1] == 'f') {
            r->callgrind = true;
            if (s[2] == 'n') {
                set_name(r, &r->cfn, &r->fn_ids, s + 4, end);
                return;
            }
            if (s[2] == 'i' || s[2] == 'l' || s[2] == 'e') {
                set_name(r, &r->cfl, &r->fl_ids, s + 4, end);
                if (s[2] == 'e')
                    remark(r, DIAG_CFE, s, "'cfe=' taken as 'cfi='");
                return;
            }
        }
        if (memcmp(s, "cob", 3) == 0) {
            r->callgrind = true;
            set_name(r, &r->cob, &r->ob_ids, s + 4, end);
            return;
        }
        if (s[0] == 'j' && s[1] == 'f' && (s[2] == 'n' || s[2] == 'i' || s[2] == 'l')) {
            if (s[2] == 'n')
                set_name(r, &r->jfn, &r->fn_ids, s + 4, end);
            else
                set_name(r, &r->jfl, &r->fl_ids, s + 4, end);
            return;
        }
        if (memcmp(s, "rec", 3) == 0) {
            remark(r, DIAG_HIDDEN_SPEC, s, "undocumented 'rec='; ignored");
            return;
        }
    }
    if (n >= 6 && memcmp(s, "calls=", 6) == 0) {
        calls_line(r, s + 6, end);
        return;
    }
    if (n >= 5 && (memcmp(s, "jump=", 5) == 0 || memcmp(s, "jcnd=", 5) == 0)) {
        calls_jump_line(r, s + 5, end, s[1] == 'c');
        return;
    }
    if (n >= 7 && memcmp(s, "rcalls=", 7) == 0) {
        remark(r, DIAG_RCALLS, s, "'rcalls=' (recursive calls) taken as 'calls='");
        calls_line(r, s + 7, end);
        return;
    }
    if (n >= 5 && memcmp(s, "frfn=", 5) == 0) {
        remark(r, DIAG_HIDDEN_SPEC, s, "undocumented 'frfn='; only its id is used");
        uint32_t unused;
        set_name(r, &unused, &r->fn_ids, s + 5, end);
        return;
    }
    if (end > s && end[-1] == '\r')
        n--;
    header_line(r, s, n);
}

// A line that begins with neither a letter nor a number, nor is empty. end: its newline.
static void odd_line(struct reader *r, const char *s, const char *end)
{
    const char *t = s;

    if (*s == '#') {
        if (r->line == 1 && end - s >= 18 && memcmp(s, "# callgrind format", 18) == 0)
            r->callgrind = r->any_header = true;
        return;
    }
    while (t < end && (is_blank(*t) || *t == '\r'))
        t++;
    if (t == end)
        return;
    if (t > s && cost_begins(*t) && r->map_count > 0)
        cost_line(r, t, end);
    else
        header_junk(r, s, (size_t)(end - s));
}

void lines_read(struct reader *r, const char *s, const char *end)
{
    while (s < end && r->stop == 0) {
        r->bol = s;
        r->line++;
        if (cost_begins(*s)) {
            s = cost_lines(r, s, end);
            continue;
        }
        if (*s == '\n') {
            s++;
            continue;
        }
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        if (eol[-1] == '\r') // s < eol here
            remark(r, DIAG_CRLF, eol - 1, "line ends with CR LF");
        unsigned char c = (unsigned char)(*s | 0x20);
        if (c >= 'a' && c <= 'z')
            word_line(r, s, eol);
        else
            odd_line(r, s, eol);
        s = eol + 1;
    }
    r->bol = NULL;
}
