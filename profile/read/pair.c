// SPDX-License-Identifier: MIT
//
// Two threads for one file; pair.h describes how. Between two stretches both readers are in the
// same state, including names and functions by number, so nothing has to be translated.
#include "profile/read/pair.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"
#include "profile/model/self.h"
#include "profile/read/cost.h"
#include "profile/read/lines.h"
#include "profile/read/names.h"
#include "profile/read/part.h"
#include "profile/read/record.h"
#include "profile/read/stretch.h"

// Measured with a file of 11.8 MB: 0.5 MB is a tenth slower, 2 MB no faster and exceeds the cache.
#define PAIR_BYTES ((size_t)1 << 21)
// The part of a stretch before the cut that is always followed with its places: 1/64, 32 KB. If it
// states every column anew, the text before it need not be followed: Callgrind does that for any
// place further away than 100; Quern only once.
#define PLACES_PART 64
// The search for the first "fn=" of a file covers this much.
#define HEADER_BYTES ((size_t)1 << 16)

// The usual 8 MB count where memory is limited.
#define STACK_BYTES ((size_t)1 << 20)

// The reader's state at a line, apart from its names and functions.
struct state {
    uint64_t line, pos[COLUMNS_MAX];
    uint32_t names, funcs, events, parts, ob, fl, src, fn, cob, cfl, cfn, jfl, jfn;
    uint64_t enc_line, enc_addr, enc_bb;
    enum pending pending;
    enum column col[COLUMNS_MAX];
    unsigned col_count, mask;
    size_t map_count;
    bool identity;
};

enum turn {
    TURN_NONE, // the second waits for a stretch
    TURN_WORK,
    TURN_END,
};

struct pair {
    struct reader second;
    struct quern_read_opts opts; // of the second
    pthread_t thread;
    bool running; // the thread
    enum turn turn;
    pthread_mutex_t lock; // of `turn`
    pthread_cond_t changed;
    // `head` to `begin`: the first has read it, the second not; from `places` on the second follows
    // places.
    const char *head, *begin, *places, *cut, *end;
    // The second's state at the cut:
    struct state at_cut;
    uint32_t given[3];                 // names, by kind of id
    uint32_t names_known, funcs_known; // at the beginning of the stretch, the same in both
    bool failed;
};

static struct idtab *ids_of(struct reader *r, int kind)
{
    return kind == 0 ? &r->ob_ids : kind == 1 ? &r->fl_ids : &r->fn_ids;
}

static struct state state_of(const struct reader *r)
{
    const struct quern_profile *p = r->p;
    struct state s;

    memset(&s, 0, sizeof(s)); // padding too: it is compared
    s.line = r->line;
    memcpy(s.pos, r->pos, sizeof(s.pos));
    s.names = p->str.count;
    s.funcs = p->func_count;
    s.events = (uint32_t)p->event_count;
    s.parts = (uint32_t)p->part_count;
    s.ob = r->ob;
    s.fl = r->fl;
    s.src = r->src;
    s.fn = r->fn;
    s.cob = r->cob;
    s.cfl = r->cfl;
    s.cfn = r->cfn;
    s.jfl = r->jfl;
    s.jfn = r->jfn;
    s.enc_line = p->enc.line;
    s.enc_addr = p->enc.addr;
    s.enc_bb = p->enc.bb;
    s.pending = r->pending;
    memcpy(s.col, r->col, sizeof(s.col));
    s.col_count = r->col_count;
    s.mask = r->mask;
    s.map_count = r->map_count;
    s.identity = r->identity;
    return s;
}

// ---- The second ----

// Discards the records and costs of a reader, but not its place in the stream.
static void forget_records(struct reader *r)
{
    struct quern_profile *p = r->p;
    bool rows = p->rows != NULL;

    stream_free(p);
    self_drop(p);
    p->record_count = 0;
    p->stream_bytes = 0;
    p->enc.func = p->enc.file = p->enc.part = QUERN_NONE;
    for (size_t i = 0; i < p->event_count; i++)
        p->total[i] = p->total_nano[i] = 0;
    if (rows && !(p->rows = calloc(1, sizeof(*p->rows))))
        r->stop = -ENOMEM;
}

// The second's part of a stretch.
static void second_read(struct pair *w)
{
    struct reader *r = &w->second;

    r->follows = FOLLOW_PLACES;
    lines_read(r, w->head, w->begin);
    r->follows = FOLLOW_NAMES;
    lines_read(r, w->begin, w->places);
    r->follows = FOLLOW_PLACES;
    lines_read(r, w->places, w->cut);
    r->follows = FOLLOW_NOT;
    if (r->stop || r->pending != PENDING_NONE) {
        w->failed = true;
        return;
    }
    for (int k = 0; k < 3; k++)
        w->given[k] = ids_of(r, k)->given_count;
    w->at_cut = state_of(r);
    free(r->summary);
    free(r->totals);
    r->summary = r->totals = NULL;
    forget_records(r);
    r->dirty = true;
    if (!r->stop)
        lines_read(r, w->cut, w->end);
    record_flush(r);
    record_keep_pending(r);
    w->failed = r->stop != 0 || r->ob_ids.far_count || r->fl_ids.far_count || r->fn_ids.far_count;
}

static void set_turn(struct pair *w, enum turn turn)
{
    pthread_mutex_lock(&w->lock);
    w->turn = turn;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

// Waits until the turn is not `turn`; returns it.
static enum turn wait_turn(struct pair *w, enum turn turn)
{
    enum turn now;

    pthread_mutex_lock(&w->lock);
    while ((now = w->turn) == turn)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return now;
}

static void *second_run(void *arg)
{
    struct pair *w = arg;

    while (wait_turn(w, TURN_NONE) == TURN_WORK) {
        second_read(w);
        set_turn(w, TURN_NONE);
    }
    return NULL;
}

// Starts the second on its part of a stretch. Only the caller's threads get signals.
static bool start(struct pair *w)
{
    pthread_attr_t attr;
    sigset_t all, old;

    set_turn(w, TURN_WORK);
    if (w->running)
        return true;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->running = pthread_create(&w->thread, &attr, second_run, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return w->running;
}

// ---- The cut ----

static bool same_names(const struct pair *w, const struct reader *r)
{
    const struct quern_profile *p = r->p, *q = w->second.p;

    for (uint32_t i = w->names_known; i < p->str.count; i++)
        if (p->str.len[i] != q->str.len[i] ||
            memcmp(p->str.text[i], q->str.text[i], p->str.len[i]) != 0)
            return false;
    return p->func_count == w->funcs_known ||
           memcmp(p->func + w->funcs_known, q->func + w->funcs_known,
                  (p->func_count - w->funcs_known) * sizeof(*p->func)) == 0;
}

static bool same_ids(struct pair *w, struct reader *r)
{
    for (int k = 0; k < 3; k++)
        if (!names_same(ids_of(r, k), ids_of(&w->second, k), w->given[k]))
            return false;
    return true;
}

// Whether the first came to the cut in the state that the second expected.
static bool fits(struct pair *w, struct reader *r)
{
    struct state now = state_of(r);

    return !w->failed && memcmp(&now, &w->at_cut, sizeof(now)) == 0 && same_names(w, r) &&
           same_ids(w, r);
}

// Gives the first all names, ids and functions that the second read after the cut.
static bool take_names(struct reader *r, struct pair *w)
{
    struct reader *from = &w->second;
    struct quern_profile *p = r->p, *q = from->p;

    for (uint32_t i = p->str.count; i < q->str.count; i++)
        if (strset_add(&p->str, q->str.text[i], q->str.len[i]) != i)
            return false;
    for (uint32_t i = p->func_count; i < q->func_count; i++)
        if (quern_profile_func(p, q->func[i].object, q->func[i].file, q->func[i].name) != i)
            return false;
    for (int k = 0; k < 3; k++)
        if (!names_take(r, ids_of(r, k), ids_of(from, k), w->given[k]))
            return false;
    return true;
}

static void take_costs(struct quern_profile *p, struct quern_profile *q)
{
    for (size_t i = 0; i < p->event_count; i++) {
        p->total[i] += q->total[i];
        p->total_nano[i] += q->total_nano[i];
    }
    if (!p->rows || !q->rows) {
        self_drop(p);
        return;
    }
    for (uint32_t i = 0; i < q->rows->count; i++)
        self_keep(p, q->rows->row[i].func, q->rows->row[i].file, q->rows->row[i].present,
                  q->rows->counts + i * q->rows->events, q->rows->events);
}

static void take_stream(struct quern_profile *p, struct quern_profile *q)
{
    p->has |= q->has;
    p->record_count += q->record_count;
    p->stream_bytes += q->stream_bytes;
    if (q->first) {
        if (p->last) {
            p->last->used = (size_t)(p->out - p->last->data);
            *p->out = OP_NONE;
            p->last->next = q->first;
        } else {
            p->first = q->first;
        }
        p->last = q->last;
        p->out = q->out;
        p->out_end = q->out_end;
        p->enc = q->enc;
    }
    q->first = q->last = NULL;
    q->out = q->out_end = NULL;
}

static void take_sums(quern_count **to, size_t *to_count, uint64_t *to_line, quern_count **from,
                      size_t count, uint64_t line)
{
    if (!*from)
        return;
    free(*to);
    *to = *from;
    *to_count = count;
    *to_line = line;
    *from = NULL;
}

// The first continues where the second ended. False: no memory, and the reader gives up.
static bool join(struct reader *r, struct pair *w)
{
    struct reader *from = &w->second;

    record_flush(r);
    if (!take_names(r, w)) {
        r->stop = -ENOMEM;
        return false;
    }
    take_costs(r->p, from->p);
    take_stream(r->p, from->p);
    take_sums(&r->summary, &r->summary_count, &r->summary_line, &from->summary, from->summary_count,
              from->summary_line);
    take_sums(&r->totals, &r->totals_count, &r->totals_line, &from->totals, from->totals_count,
              from->totals_line);
    for (size_t i = 0; i < r->p->event_count; i++)
        r->frac[i] |= from->frac[i];
    r->callgrind |= from->callgrind;
    r->any_header |= from->any_header;
    r->part_body |= from->part_body;
    r->part_events |= from->part_events;
    r->line = from->line;
    r->ob = from->ob;
    r->fl = from->fl;
    r->src = from->src;
    r->fn = from->fn;
    r->dirty = from->dirty;
    r->func = from->func;
    r->cob = from->cob;
    r->cfl = from->cfl;
    r->cfn = from->cfn;
    r->jfl = from->jfl;
    r->jfn = from->jfn;
    memcpy(r->pos, from->pos, sizeof(r->pos));
    r->pending = from->pending;
    r->rec = from->rec;
    r->pending_line = from->pending_line;
    r->pending_bol = r->pending_text;
    memcpy(r->pending_text, from->pending_text, sizeof(r->pending_text));
    return true;
}

// ---- Both ----

void pair_begin(struct reader *r)
{
    cpu_set_t cpus;

    // How much of a damaged archive is readable depends on the size of each request: these are read
    // in the pieces of one thread.
    if (r->opts->threads < 2 || !r->fast || r->in.packed)
        return;
    // With pair_bytes it is a test: always a pair.
    if (!r->opts->pair_bytes &&
        (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 2))
        return;
    struct pair *w = calloc(1, sizeof(*w));
    struct quern_profile *p = w ? quern_profile_new() : NULL;
    if (!p) {
        free(w);
        return;
    }
    struct reader *s = &w->second;
    s->opts = &w->opts;
    s->p = p;
    s->half = s->fast = true;
    s->ob = s->fl = s->src = s->fn = QUERN_NONE;
    s->cob = s->cfl = s->cfn = s->jfl = s->jfn = QUERN_NONE;
    s->dirty = true;
    s->col[0] = COL_LINE;
    s->col_count = 1;
    s->mask = QUERN_HAS_LINE;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    r->pair = w;
    if (part_prepare_counts(s) < 0 || (r->p->rows && !(p->rows = calloc(1, sizeof(*p->rows)))))
        pair_end(r);
}

size_t pair_bytes(const struct reader *r)
{
    return r->opts->pair_bytes ? r->opts->pair_bytes : PAIR_BYTES;
}

// The last "fn=" line that begins between `begin` and `at`, where five bytes can be read; or NULL.
static const char *last_fn(const char *begin, const char *at)
{
    for (; at > begin; at--)
        if (*at == '\n' && memcmp(at, "\nfn=", 4) == 0)
            return at + 1;
    return NULL;
}

// Whether each column occurs at least once as a value that does not depend on the line before.
static bool tells_places(const struct reader *r, const char *s, const char *end)
{
    unsigned missing = r->col_count ? (1u << r->col_count) - 1 : 0;

    while (missing && s < end) {
        const char *t = s;
        for (unsigned i = 0; i < r->col_count && cost_begins(*t); i++) {
            if (is_digit(*t))
                missing &= ~(1u << i);
            while (*t != ' ' && *t != '\n')
                t++;
            t += *t == ' ';
        }
        s = (const char *)memchr(t, '\n', (size_t)(end - t)) + 1;
    }
    return !missing;
}

// Chooses the cut so that both finish at the same time.
static void find_cut(struct pair *w, const struct reader *r)
{
    const char *at = w->begin + (w->end - w->begin) / 16 * 9;
    size_t places = pair_bytes(r) / PLACES_PART;

    w->places = w->begin;
    w->cut = w->end - at > 4 ? last_fn(w->begin, at) : NULL;
    if (w->cut && r->map_count && (size_t)(w->cut - w->begin) > places &&
        (at = last_fn(w->begin, w->cut - places)) && tells_places(r, at, w->cut))
        w->places = at;
}

// Reads the text before the first costs, if they come soon: without known columns there is no cut
// after which the second need not follow places.
static void read_header(struct pair *w, struct reader *r)
{
    size_t size = (size_t)(w->end - w->begin);
    const char *fn = memmem(w->begin, size < HEADER_BYTES ? size : HEADER_BYTES, "\nfn=", 4);

    if (!fn)
        return;
    w->begin = fn + 1;
    lines_read(r, w->head, w->begin);
}

void pair_read(struct reader *r, const char *s, const char *end)
{
    struct pair *w = r->pair;

    w->head = w->begin = s;
    w->end = end;
    w->cut = NULL;
    w->failed = false;
    w->names_known = r->p->str.count;
    w->funcs_known = r->p->func_count;
    for (int k = 0; k < 3; k++) {
        names_note(ids_of(r, k));
        names_note(ids_of(&w->second, k));
    }
    // A short stretch is the end, or comes from a pipe.
    if ((size_t)(end - s) >= pair_bytes(r) / 2) {
        if (!r->map_count)
            read_header(w, r);
        find_cut(w, r);
    }
    s = w->begin;
    if (!w->cut || r->stop || !start(w)) {
        pair_end(r);
        lines_read(r, s, end);
        return;
    }
    lines_read(r, s, w->cut);
    stretch_ahead(r);
    wait_turn(w, TURN_WORK);
    if (r->stop)
        return;
    if (fits(w, r)) {
        if (join(r, w))
            forget_records(&w->second);
        return;
    }
    const char *cut = w->cut;
    pair_end(r);
    lines_read(r, cut, end);
}

void pair_end(struct reader *r)
{
    struct pair *w = r->pair;

    if (!w)
        return;
    if (w->running) {
        set_turn(w, TURN_END);
        pthread_join(w->thread, NULL);
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    quern_profile_free(w->second.p);
    part_free(&w->second);
    for (int k = 0; k < 3; k++)
        names_note_no_more(ids_of(r, k));
    free(w);
    r->pair = NULL;
}
