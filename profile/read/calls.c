// SPDX-License-Identifier: MIT
//
// Calls and jumps: stored until the line with their place and cost has been read.
#include "profile/read/calls.h"

#include <errno.h>
#include <string.h>

#include "profile/read/number.h"
#include "profile/read/position.h"
#include "profile/read/record.h"

static uint32_t make_func(struct reader *r, uint32_t ob, uint32_t fl, uint32_t fn)
{
    uint32_t f = quern_profile_func(r->p, ob, fl, fn);
    if (f == QUERN_NONE)
        r->stop = -ENOMEM;
    return f;
}

void calls_line(struct reader *r, const char *s, const char *end)
{
    struct quern_record *rec = &r->rec;
    uint64_t v = 0;
    unsigned found = 0;
    bool ok = r->fast;

    record_finish_pending(r);
    if (r->stop)
        return;
    r->callgrind = true;
    memset(rec, 0, sizeof(*rec));
    rec->kind = QUERN_REC_CALL;
    if (r->cfn == QUERN_NONE)
        remark(r, DIAG_CALLS_NO_CFN, r->bol, "'calls=' without 'cfn=': the callee is unknown");
    rec->to.func = make_func(r, r->cob == QUERN_NONE ? r->ob : r->cob,
                             r->cfl == QUERN_NONE ? r->src : r->cfl, r->cfn);
    rec->to.file = QUERN_NONE;
    r->cob = r->cfl = r->cfn = QUERN_NONE;
    r->pending = PENDING_CALL;
    r->pending_line = r->line;
    r->pending_bol = r->bol;
    if (r->follows != FOLLOW_NOT)
        return;
    if (end > s && end[-1] == '\r')
        end--;
    const char *fast = number_fast(s, &v, &ok);
    if (ok && (fast == end || *fast == ' '))
        s = fast;
    else
        s = number_whole(r, position_blanks(r, s, end), end, &v);
    rec->calls = v;
    if (!v)
        remark(r, DIAG_CALLS_ZERO, r->bol, "calls=0: a call that was active when dumped");
    s = position_target(r, position_blanks(r, s, end), end, &rec->to, &found);
    if (!found)
        remark(r, DIAG_CALLS_NO_TARGET, s, "'calls=' without a target position");
    else if (s < end)
        remark(r, DIAG_CALLS_EXTRA, s, "more target positions than 'positions:' names");
}

// The numbers of a jump in their usual form, "5 " or "3/5 ". Returns the blank, or NULL.
static const char *plain_times(const char *s, struct quern_record *rec, bool conditional, bool ok)
{
    s = number_fast(s, &rec->calls, &ok);
    if (ok && conditional) {
        if (*s != '/')
            return NULL;
        s = number_fast(s + 1, &rec->executed, &ok);
    }
    return ok && *s == ' ' ? s : NULL;
}

// The same in any form. Returns what follows.
static const char *any_times(struct reader *r, const char *s, const char *end, bool conditional)
{
    struct quern_record *rec = &r->rec;

    s = number_whole(r, position_blanks(r, s, end), end, &rec->calls);
    if (conditional) {
        bool slash = s < end && *s == '/';
        s = position_blanks(r, slash ? s + 1 : s, end);
        s = number_whole(r, s, end, &rec->executed);
        if (!slash) {
            uint64_t executed = rec->calls;
            rec->calls = rec->executed;
            rec->executed = executed;
        }
    }
    return s;
}

void calls_jump_line(struct reader *r, const char *s, const char *end, bool conditional)
{
    struct quern_record *rec = &r->rec;
    unsigned found = 0;

    record_finish_pending(r);
    if (r->stop)
        return;
    r->callgrind = true;
    if (end > s && end[-1] == '\r')
        end--;
    memset(rec, 0, sizeof(*rec));
    rec->kind = conditional ? QUERN_REC_JCND : QUERN_REC_JUMP;
    if (r->dirty && !record_resolve(r))
        return;
    rec->to.func = r->jfn == QUERN_NONE
                       ? r->func
                       : make_func(r, r->ob, r->jfl == QUERN_NONE ? r->fl : r->jfl, r->jfn);
    rec->to.file = profile_known(r->jfl == QUERN_NONE ? r->src : r->jfl);
    r->jfl = r->jfn = QUERN_NONE;
    if (r->follows != FOLLOW_NOT) {
        r->pending = PENDING_JUMP;
        return;
    }
    const char *plain = plain_times(s, rec, conditional, r->fast);
    s = plain ? plain : any_times(r, s, end, conditional);
    position_target(r, position_blanks(r, s, end), end, &rec->to, &found);
    if (!found)
        remark(r, DIAG_JUMP_NO_TARGET, r->bol, "a jump without a target position");
    r->pending = PENDING_JUMP;
    r->pending_line = r->line;
}
