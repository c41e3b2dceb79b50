// SPDX-License-Identifier: MIT
//
// Distinguishes lines by their first bytes. Hot: lines_read() and the name lines.
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

static inline bool is_word(const char *s, const char *word)
{
    return memcmp(s, word, strlen(word)) == 0;
}

// "fn=" and the like: sets whose costs follow. False: none of these.
static bool own_line(struct reader *r, const char *s, const char *end)
{
    if (is_word(s, "fn")) {
        set_name(r, &r->fn, &r->fn_ids, s + 3, end);
        r->src = r->fl;
    } else if (is_word(s, "fl") || is_word(s, "fi") || is_word(s, "fe")) {
        set_name(r, &r->src, &r->fl_ids, s + 3, end);
        if (s[1] == 'l' || r->fl == QUERN_NONE)
            r->fl = r->src;
    } else if (is_word(s, "ob")) {
        set_name(r, &r->ob, &r->ob_ids, s + 3, end);
        r->callgrind = true;
    } else if (is_word(s, "bb") || is_word(s, "ln")) {
        remark(r, DIAG_HIDDEN_SPEC, s, "undocumented '%.2s='; ignored", s);
        return true;
    } else {
        return false;
    }
    r->dirty = true;
    return true;
}

// "cfn=", "jfi=" and the like: sets the target of a call or jump. False: none of these.
static bool other_line(struct reader *r, const char *s, const char *end)
{
    r->callgrind |= *s == 'c' && (s[1] == 'f' || is_word(s, "cob"));
    if (is_word(s, "cfn")) {
        set_name(r, &r->cfn, &r->fn_ids, s + 4, end);
    } else if (is_word(s, "cfi") || is_word(s, "cfl") || is_word(s, "cfe")) {
        set_name(r, &r->cfl, &r->fl_ids, s + 4, end);
        if (s[2] == 'e')
            remark(r, DIAG_CFE, s, "'cfe=' taken as 'cfi='");
    } else if (is_word(s, "cob")) {
        set_name(r, &r->cob, &r->ob_ids, s + 4, end);
    } else if (is_word(s, "jfn")) {
        set_name(r, &r->jfn, &r->fn_ids, s + 4, end);
    } else if (is_word(s, "jfi") || is_word(s, "jfl")) {
        set_name(r, &r->jfl, &r->fl_ids, s + 4, end);
    } else if (is_word(s, "rec")) {
        remark(r, DIAG_HIDDEN_SPEC, s, "undocumented 'rec='; ignored");
    } else {
        return false;
    }
    return true;
}

// A line that begins with a letter: "xx=name" or "xxx=name" or a header. end: its newline.
static void word_line(struct reader *r, const char *s, const char *end)
{
    size_t n = (size_t)(end - s);

    if (n >= 3 && s[2] == '=' && own_line(r, s, end))
        return;
    if (n >= 4 && s[3] == '=' && other_line(r, s, end))
        return;
    if (n >= 6 && is_word(s, "calls=")) {
        calls_line(r, s + 6, end);
    } else if (n >= 5 && (is_word(s, "jump=") || is_word(s, "jcnd="))) {
        calls_jump_line(r, s + 5, end, s[1] == 'c');
    } else if (n >= 7 && is_word(s, "rcalls=")) {
        remark(r, DIAG_RCALLS, s, "'rcalls=' (recursive calls) taken as 'calls='");
        calls_line(r, s + 7, end);
    } else if (n >= 5 && is_word(s, "frfn=")) {
        uint32_t unused;
        remark(r, DIAG_HIDDEN_SPEC, s, "undocumented 'frfn='; only its id is used");
        set_name(r, &unused, &r->fn_ids, s + 5, end);
    } else {
        header_line(r, s, s[n - 1] == '\r' ? n - 1 : n);
    }
}

// A line that begins with neither a letter nor a digit and is not empty. end: its newline.
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
            s = r->follows == FOLLOW_NOT      ? cost_lines(r, s, end)
                : r->follows == FOLLOW_PLACES ? cost_follow(r, s, end)
                                              : cost_pass(r, s, end);
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
