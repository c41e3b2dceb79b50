// SPDX-License-Identifier: MIT
//
// The tables of a profile (functions, strings, events, parts), the builder and the getters.
// Called by everything in libquern; knows neither text formats nor files.
#include "profile/model/model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---- Errors ----

void quern_error_set(struct quern_error *err, int code, const char *file, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return;
    memset(err, 0, sizeof(*err));
    err->code = code;
    if (file) {
        size_t n = strlen(file);
        if (n >= sizeof(err->file))
            file += n - (sizeof(err->file) - 1);
        snprintf(err->file, sizeof(err->file), "%s", file);
    }
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
}

char *profile_dup(const char *s, size_t len)
{
    char *d = malloc(len + 1);
    if (d) {
        memcpy(d, s, len);
        d[len] = 0;
    }
    return d;
}

static int set_text(char **field, const char *s, size_t len)
{
    char *d = profile_dup(s, len);
    if (!d)
        return -ENOMEM;
    free(*field);
    *field = d;
    return 0;
}

// ---- Life ----

struct quern_profile *quern_profile_new(void)
{
    struct quern_profile *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->enc.func = p->enc.file = p->enc.part = QUERN_NONE;
    // Numbers 0 and 1 are the two spellings of "unknown": see profile_known().
    if (profile_part_add(p) < 0 || strset_add(&p->str, "", 0) != 0 ||
        strset_add(&p->str, "???", 3) != 1) {
        quern_profile_free(p);
        errno = ENOMEM;
        return NULL;
    }
    return p;
}

static void free_events(struct event *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(e[i].name);
        free(e[i].long_name);
        free(e[i].formula);
        free(e[i].term);
    }
    free(e);
}

void quern_profile_free(struct quern_profile *p)
{
    if (!p)
        return;
    strset_fini(&p->str);
    free(p->func);
    free(p->func_slot);
    free_events(p->event, p->event_count);
    free_events(p->derived, p->derived_count);
    for (size_t i = 0; i < p->part_count; i++) {
        free(p->part[i].cmd);
        free(p->part[i].creator);
        for (size_t j = 0; j < p->part[i].desc_count; j++)
            free(p->part[i].desc[j]);
        free(p->part[i].desc);
    }
    free(p->part);
    for (struct chunk *c = p->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(p->total);
    free(p->total_nano);
    free(p->total_shown);
    for (size_t i = 0; i < p->diag_count; i++) {
        free((char *)p->diag[i].msg);
        free((char *)p->diag[i].text);
    }
    free(p->diag);
    free(p);
}

// ---- Events ----

static int find_event(const struct event *e, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(e[i].name, name, len) == 0 && !e[i].name[len])
            return (int)i;
    return -ENOENT;
}

int profile_event_add(struct quern_profile *p, const char *name, size_t len)
{
    int i = find_event(p->event, p->event_count, name, len);
    size_t n = p->event_count;

    if (i >= 0)
        return i;
    if (n >= EVENTS_MAX)
        return -E2BIG;
    void *q;
    if (!(q = realloc(p->event, (n + 1) * sizeof(*p->event))))
        return -ENOMEM;
    p->event = q;
    if (!(q = realloc(p->total, (n + 1) * sizeof(*p->total))))
        return -ENOMEM;
    p->total = q;
    if (!(q = realloc(p->total_nano, (n + 1) * sizeof(*p->total_nano))))
        return -ENOMEM;
    p->total_nano = q;
    if (!(q = realloc(p->total_shown, (n + 1) * sizeof(*p->total_shown))))
        return -ENOMEM;
    p->total_shown = q;
    memset(&p->event[n], 0, sizeof(p->event[n]));
    p->total[n] = p->total_nano[n] = p->total_shown[n] = 0;
    if (!(p->event[n].name = profile_dup(name, len)))
        return -ENOMEM;
    p->event[n].scale = 1;
    p->event_count++;
    // A definition ("event: Ir : long name") may have come before: it was kept as derived.
    i = find_event(p->derived, p->derived_count, name, len);
    if (i >= 0 && !p->derived[i].formula) {
        p->event[n].long_name = p->derived[i].long_name;
        free(p->derived[i].name);
        p->derived_count--;
        memmove(&p->derived[i], &p->derived[i + 1],
                (p->derived_count - (size_t)i) * sizeof(*p->derived));
    }
    return (int)n;
}

int quern_profile_set_events(struct quern_profile *p, const char *const *names, size_t n)
{
    if (p->record_count || p->event_count)
        return -EBUSY;
    for (size_t i = 0; i < n; i++) {
        int rc = profile_event_add(p, names[i], strlen(names[i]));
        if (rc < 0)
            return rc;
        if ((size_t)rc != i)
            return -EEXIST;
    }
    return 0;
}

int profile_define_event(struct quern_profile *p, const char *name, const char *formula,
                         const char *long_name)
{
    size_t len = strlen(name);
    struct event *e;
    int i;

    if (!formula && (i = find_event(p->event, p->event_count, name, len)) >= 0)
        return long_name ? set_text(&p->event[i].long_name, long_name, strlen(long_name)) : 0;
    i = find_event(p->derived, p->derived_count, name, len);
    if (i >= 0) {
        e = &p->derived[i];
    } else {
        if (p->derived_count >= EVENTS_MAX)
            return -E2BIG;
        size_t n = p->derived_count;
        if (!(e = realloc(p->derived, (n + 1) * sizeof(*e))))
            return -ENOMEM;
        p->derived = e;
        e += n;
        memset(e, 0, sizeof(*e));
        if (!(e->name = profile_dup(name, len)))
            return -ENOMEM;
        e->scale = 1;
        p->derived_count++;
    }
    if (formula && (i = set_text(&e->formula, formula, strlen(formula))) < 0)
        return i;
    if (long_name && (i = set_text(&e->long_name, long_name, strlen(long_name))) < 0)
        return i;
    return 0;
}

static const char *skip_blank(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

static int add_term(struct event *e, uint32_t event, int64_t factor)
{
    for (size_t i = 0; i < e->term_count; i++)
        if (e->term[i].event == event)
            return __builtin_add_overflow(e->term[i].factor, factor, &e->term[i].factor) ? -ERANGE
                                                                                         : 0;
    struct term *t = realloc(e->term, (e->term_count + 1) * sizeof(*t));
    if (!t)
        return -ENOMEM;
    e->term = t;
    t[e->term_count++] = (struct term){ event, factor };
    return 0;
}

// [number ["*"]] name, joined by + or -. Names of derived events put their own terms in.
static int compile(struct quern_profile *p, struct event *e, size_t derived_before)
{
    const char *s = skip_blank(e->formula);
    int sign = 1, rc;

    free(e->term);
    e->term = NULL;
    e->term_count = 0;
    e->scale = 1;
    if (*s == '-') {
        sign = -1;
        s = skip_blank(s + 1);
    }
    for (;;) {
        int64_t factor = NANO;
        char *end;
        if ((*s >= '0' && *s <= '9') || *s == '.') {
            double d = strtod(s, &end);
            if (end == s || !(d < 9e9))
                return -EINVAL;
            factor = (int64_t)(d * NANO + 0.5);
            s = skip_blank(end);
            if (*s == '*')
                s = skip_blank(s + 1);
        }
        size_t len = strcspn(s, " \t+-*");
        if (!len)
            return -EINVAL;
        int i = find_event(p->event, p->event_count, s, len);
        if (i >= 0) {
            if ((rc = add_term(e, (uint32_t)i, sign * factor)) < 0)
                return rc;
        } else {
            i = find_event(p->derived, derived_before, s, len);
            if (i < 0 || !p->derived[i].term_count)
                return -EINVAL;
            const struct event *d = &p->derived[i];
            for (size_t k = 0; k < d->term_count; k++) {
                quern_count f = (quern_count)d->term[k].factor * sign * factor / NANO;
                if (f > INT64_MAX || f < INT64_MIN)
                    return -ERANGE;
                if ((rc = add_term(e, d->term[k].event, (int64_t)f)) < 0)
                    return rc;
            }
        }
        s = skip_blank(s + len);
        if (!*s)
            break;
        if (*s != '+' && *s != '-')
            return -EINVAL;
        sign = *s == '-' ? -1 : 1;
        s = skip_blank(s + 1);
    }
    for (size_t k = 0; k < e->term_count; k++)
        if (e->term[k].factor % NANO || p->event[e->term[k].event].scale != 1)
            e->scale = NANO;
    return 0;
}

void profile_compile_formulas(struct quern_profile *p)
{
    for (size_t i = 0; i < p->derived_count; i++) {
        struct event *e = &p->derived[i];
        if (e->formula && compile(p, e, i) < 0) {
            free(e->term);
            e->term = NULL;
            e->term_count = 0;
        }
    }
}

int quern_profile_define_event(struct quern_profile *p, const char *name, const char *formula,
                               const char *long_name)
{
    int rc = profile_define_event(p, name, formula, long_name);

    if (rc < 0 || !formula)
        return rc;
    for (size_t i = 0; i < p->derived_count; i++)
        if (strcmp(p->derived[i].name, name) == 0)
            return compile(p, &p->derived[i], i);
    return 0;
}

size_t quern_profile_event_count(const struct quern_profile *p)
{
    return p->event_count;
}

size_t quern_profile_derived_count(const struct quern_profile *p)
{
    return p->derived_count;
}

static const struct event *get_event(const struct quern_profile *p, size_t i)
{
    static const struct event none = { .scale = 1 };

    if (i < p->event_count)
        return &p->event[i];
    i -= p->event_count;
    return i < p->derived_count ? &p->derived[i] : &none;
}

const char *quern_profile_event_name(const struct quern_profile *p, size_t event)
{
    return get_event(p, event)->name;
}

const char *quern_profile_event_long_name(const struct quern_profile *p, size_t event)
{
    return get_event(p, event)->long_name;
}

const char *quern_profile_event_formula(const struct quern_profile *p, size_t event)
{
    return get_event(p, event)->formula;
}

int64_t quern_profile_event_scale(const struct quern_profile *p, size_t event)
{
    return get_event(p, event)->scale;
}

int quern_profile_find_event(const struct quern_profile *p, const char *name)
{
    int i = find_event(p->event, p->event_count, name, strlen(name));

    if (i >= 0)
        return i;
    i = find_event(p->derived, p->derived_count, name, strlen(name));
    return i < 0 ? i : i + (int)p->event_count;
}

static char *list_events(const struct quern_profile *p)
{
    size_t n = 1;

    for (size_t i = 0; i < p->event_count; i++)
        n += strlen(p->event[i].name) + 1;
    char *s, *o;
    if (!(s = o = malloc(n)))
        return NULL;
    *o = 0;
    for (size_t i = 0; i < p->event_count; i++) {
        if (i)
            *o++ = ' ';
        o = stpcpy(o, p->event[i].name);
    }
    return s;
}

static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

// "X = Ir + Dr : long name", as an 'event:' line has it; "none" when nothing is said about X.
static void definition(char *out, size_t size, const char *name, const struct event *e)
{
    if (!e || (!e->formula && !e->long_name))
        snprintf(out, size, "none");
    else
        snprintf(out, size, "'%.20s%s%.30s%s%.20s'", name, e->formula ? " = " : "",
                 e->formula ? e->formula : "", e->long_name ? " : " : "",
                 e->long_name ? e->long_name : "");
}

// The first event whose formula or long name in a is not that in b, as the events that are so in *x
// and *y; the events with counts are known to be the same. A derived one may have the name of one
// with counts.
static int other_definition(const struct quern_profile *a, const struct quern_profile *b,
                            const struct event **x, const struct event **y)
{
    for (size_t i = 0; i < a->event_count + a->derived_count; i++) {
        const struct event *e = get_event(a, i);
        int k = find_event(b->derived, b->derived_count, e->name, strlen(e->name));
        *x = e;
        *y = i < a->event_count ? &b->event[i] : k < 0 ? NULL : &b->derived[k];
        if (!*y || !same_text(e->formula, (*y)->formula) ||
            !same_text(e->long_name, (*y)->long_name))
            return 1;
    }
    return 0;
}

int profile_same_events(const struct quern_profile *a, const char *a_name,
                        const struct quern_profile *b, const char *b_name, struct quern_error *err)
{
    int same = a->event_count == b->event_count;

    for (size_t i = 0; same && i < a->event_count; i++)
        same = strcmp(a->event[i].name, b->event[i].name) == 0;
    if (!same) {
        char *ea = list_events(a), *eb = list_events(b);
        quern_error_set(
            err, EINVAL, b_name,
            "its events (%.80s) are not those (%.80s) of %.60s; only like can be added or compared",
            eb ? eb : "?", ea ? ea : "?", a_name ? a_name : "the other profile");
        free(ea);
        free(eb);
        return -EINVAL;
    }
    // A sum of derived events means nothing when they are not the same; and a header can name them
    // only once.
    const struct event *x, *y;
    if (other_definition(a, b, &x, &y) || other_definition(b, a, &y, &x)) {
        const char *name = x ? x->name : y->name;
        char da[100], db[100];
        definition(da, sizeof(da), name, x);
        definition(db, sizeof(db), name, y);
        quern_error_set(
            err, EINVAL, b_name,
            "its 'event:' line of %.20s (%s) is not that (%s) of %.60s; only like can be "
            "added or compared",
            name, db, da, a_name ? a_name : "the other profile");
        return -EINVAL;
    }
    return 0;
}

int quern_profile_match_events(struct quern_profile *a, const char *a_name, struct quern_profile *b,
                               const char *b_name, struct quern_error *err)
{
    int rc = profile_same_events(a, a_name, b, b_name, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < a->event_count; i++)
        if (a->event[i].scale != b->event[i].scale)
            a->event[i].scale = b->event[i].scale = NANO;
    profile_compile_formulas(a);
    profile_compile_formulas(b);
    return 0;
}

// v * f + add, or the end of the range that it passes.
static quern_count mul_add(quern_count v, quern_count f, quern_count add)
{
    const quern_count max = (quern_count)(~(unsigned __int128)0 >> 1);
    quern_count product;

    if (__builtin_mul_overflow(v, f, &product))
        product = (v < 0) == (f < 0) ? max : -max;
    if (__builtin_add_overflow(product, add, &product))
        product = add < 0 ? -max : max;
    return product;
}

quern_count quern_profile_derive(const struct quern_profile *p, size_t event,
                                 const quern_count *counts)
{
    const struct event *e = get_event(p, event);
    quern_count sum = 0;

    if (event < p->event_count)
        return counts[event];
    for (size_t i = 0; i < e->term_count; i++) {
        const struct event *of = &p->event[e->term[i].event];
        quern_count v = counts[e->term[i].event], f = e->term[i].factor;
        // factor is nano; v is nano when of->scale is
        if (e->scale == 1)
            sum = mul_add(v, f / NANO, sum);
        else if (of->scale == 1)
            sum = mul_add(v, f, sum);
        else
            sum = mul_add(v / NANO, f, mul_add(1, v % NANO * f / NANO, sum));
    }
    return sum;
}

// ---- Parts ----

int profile_part_add(struct quern_profile *p)
{
    struct part *q = realloc(p->part, (p->part_count + 1) * sizeof(*q));

    if (!q)
        return -ENOMEM;
    p->part = q;
    memset(&q[p->part_count++], 0, sizeof(*q));
    return 0;
}

int quern_profile_begin_part(struct quern_profile *p)
{
    return profile_part_add(p);
}

static struct part *last_part(struct quern_profile *p)
{
    return &p->part[p->part_count - 1];
}

int quern_profile_set_cmd(struct quern_profile *p, const char *cmd)
{
    return set_text(&last_part(p)->cmd, cmd, strlen(cmd));
}

int quern_profile_set_creator(struct quern_profile *p, const char *creator)
{
    return set_text(&last_part(p)->creator, creator, strlen(creator));
}

int quern_profile_set_pid(struct quern_profile *p, uint64_t pid)
{
    last_part(p)->pid = pid;
    last_part(p)->has_pid = 1;
    return 0;
}

int quern_profile_set_thread(struct quern_profile *p, uint64_t thread)
{
    last_part(p)->thread = thread;
    last_part(p)->has_thread = 1;
    return 0;
}

int quern_profile_set_part(struct quern_profile *p, uint64_t part)
{
    last_part(p)->part = part;
    last_part(p)->has_part = 1;
    return 0;
}

int profile_desc_add(struct quern_profile *p, const char *text, size_t len)
{
    struct part *part = last_part(p);
    char **d = realloc(part->desc, (part->desc_count + 1) * sizeof(*d));

    if (!d)
        return -ENOMEM;
    part->desc = d;
    if (!(d[part->desc_count] = profile_dup(text, len)))
        return -ENOMEM;
    part->desc_count++;
    return 0;
}

int quern_profile_add_desc(struct quern_profile *p, const char *key, const char *value)
{
    size_t k = strlen(key), v = strlen(value);
    char *s = malloc(k + v + 3);

    if (!s)
        return -ENOMEM;
    memcpy(s, key, k);
    memcpy(s + k, ": ", 2);
    memcpy(s + k + 2, value, v + 1);
    int rc = profile_desc_add(p, s, k + v + 2);
    free(s);
    return rc;
}

void quern_profile_clear_desc(struct quern_profile *p)
{
    struct part *part = last_part(p);

    for (size_t i = 0; i < part->desc_count; i++)
        free(part->desc[i]);
    part->desc_count = 0;
}

size_t quern_profile_part_count(const struct quern_profile *p)
{
    return p->part_count;
}

int quern_profile_part(const struct quern_profile *p, size_t i, struct quern_part *out)
{
    if (i >= p->part_count)
        return -ENOENT;
    const struct part *q = &p->part[i];
    *out = (struct quern_part){ .cmd = q->cmd,
                                .creator = q->creator,
                                .has_pid = q->has_pid,
                                .has_thread = q->has_thread,
                                .has_part = q->has_part,
                                .pid = q->pid,
                                .thread = q->thread,
                                .part = q->part,
                                .desc_count = q->desc_count,
                                .desc = (const char *const *)q->desc };
    return 0;
}

static int copy_part(struct quern_profile *p, const struct part *from)
{
    struct part *to = last_part(p);
    int rc = 0;

    to->pid = from->pid;
    to->thread = from->thread;
    to->part = from->part;
    to->has_pid = from->has_pid;
    to->has_thread = from->has_thread;
    to->has_part = from->has_part;
    if (from->cmd)
        rc = set_text(&to->cmd, from->cmd, strlen(from->cmd));
    if (!rc && from->creator)
        rc = set_text(&to->creator, from->creator, strlen(from->creator));
    for (size_t i = 0; !rc && i < from->desc_count; i++)
        rc = profile_desc_add(p, from->desc[i], strlen(from->desc[i]));
    return rc;
}

int profile_copy_header(struct quern_profile *p, const struct quern_profile *from, int part)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < from->event_count; i++) {
        const struct event *e = &from->event[i];
        int n = profile_event_add(p, e->name, strlen(e->name));
        if (n < 0)
            return n;
        p->event[n].scale = e->scale;
        if (e->long_name)
            rc = profile_define_event(p, e->name, NULL, e->long_name);
    }
    for (size_t i = 0; !rc && i < from->derived_count; i++)
        rc = profile_define_event(p, from->derived[i].name, from->derived[i].formula,
                                  from->derived[i].long_name);
    if (rc)
        return rc;
    profile_compile_formulas(p);
    p->format = from->format;
    if (part >= 0)
        return copy_part(p, &from->part[part]);
    for (size_t i = 0; i < from->part_count; i++) {
        if (i && (rc = profile_part_add(p)) < 0)
            return rc;
        if ((rc = copy_part(p, &from->part[i])) < 0)
            return rc;
    }
    return 0;
}

// ---- Strings and functions ----

uint32_t quern_profile_string(struct quern_profile *p, const char *s, ptrdiff_t len)
{
    return strset_add(&p->str, s, len < 0 ? strlen(s) : (size_t)len);
}

const char *quern_profile_str(const struct quern_profile *p, uint32_t s)
{
    return s < p->str.count ? p->str.text[s] : "";
}

size_t quern_profile_str_count(const struct quern_profile *p)
{
    return p->str.count;
}

static uint32_t func_hash(struct quern_func f)
{
    uint64_t h = ((uint64_t)f.object << 32 | f.file) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ f.name) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

static int func_grow(struct quern_profile *p)
{
    uint32_t cap = p->func_cap ? p->func_cap * 2 : 64, mask = cap * 2 - 1;

    if (p->func_cap >= (uint32_t)1 << 30)
        return -1;
    struct quern_func *f;
    if (!(f = realloc(p->func, cap * sizeof(*f))))
        return -1;
    p->func = f;
    uint32_t *slot;
    if (!(slot = calloc((size_t)mask + 1, sizeof(*slot))))
        return -1;
    for (uint32_t i = 0; i < p->func_count; i++) {
        uint32_t h = func_hash(f[i]) & mask;
        while (slot[h])
            h = (h + 1) & mask;
        slot[h] = i + 1;
    }
    free(p->func_slot);
    p->func_slot = slot;
    p->func_cap = cap;
    p->func_mask = mask;
    return 0;
}

uint32_t quern_profile_func(struct quern_profile *p, uint32_t object, uint32_t file, uint32_t name)
{
    struct quern_func f = { profile_known(object), profile_known(file), profile_known(name) };

    if (p->func_count == p->func_cap && func_grow(p) < 0)
        return QUERN_NONE;
    uint32_t h;
    for (h = func_hash(f) & p->func_mask; p->func_slot[h]; h = (h + 1) & p->func_mask) {
        const struct quern_func *g = &p->func[p->func_slot[h] - 1];
        if (g->name == f.name && g->file == f.file && g->object == f.object)
            return p->func_slot[h] - 1;
    }
    p->func[p->func_count] = f;
    p->func_slot[h] = p->func_count + 1;
    return p->func_count++;
}

size_t quern_profile_func_count(const struct quern_profile *p)
{
    return p->func_count;
}

struct quern_func quern_profile_func_get(const struct quern_profile *p, uint32_t func)
{
    if (func < p->func_count)
        return p->func[func];
    return (struct quern_func){ QUERN_NONE, QUERN_NONE, QUERN_NONE };
}

// ---- Records ----

static int add_record(struct quern_profile *p, enum quern_record_kind kind,
                      const struct quern_site *at, const struct quern_site *to, uint64_t calls,
                      uint64_t executed, const uint64_t *counts, size_t n)
{
    struct quern_record rec = { .kind = kind, .at = *at, .calls = calls, .executed = executed };
    quern_count stack[64], *v = stack;

    if (n > p->event_count || at->func >= p->func_count || (to && to->func >= p->func_count))
        return -EINVAL;
    if (n > 64 && !(v = calloc(n, sizeof(*v))))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        v[i] = (quern_count)counts[i] * p->event[i].scale;
    if (to)
        rec.to = *to;
    if (rec.at.file == QUERN_NONE)
        rec.at.file = p->func[at->func].file;
    rec.at.file = profile_known(rec.at.file);
    if (to && kind != QUERN_REC_CALL && rec.to.file == QUERN_NONE)
        rec.to.file = p->func[to->func].file;
    rec.to.file = profile_known(rec.to.file);
    rec.part = (uint32_t)(p->part_count - 1);
    rec.counts = v;
    int rc = stream_add(p, &rec, n);
    if (v != stack)
        free(v);
    return rc;
}

int quern_profile_add_cost(struct quern_profile *p, const struct quern_site *at,
                           const uint64_t *counts, size_t n)
{
    return add_record(p, QUERN_REC_COST, at, NULL, 0, 0, counts, n);
}

int quern_profile_add_call(struct quern_profile *p, const struct quern_site *at, uint32_t callee,
                           uint64_t target_line, uint64_t target_addr, uint64_t calls,
                           const uint64_t *counts, size_t n)
{
    struct quern_site to = {
        .func = callee, .file = QUERN_NONE, .line = target_line, .addr = target_addr
    };
    return add_record(p, QUERN_REC_CALL, at, &to, calls, 0, counts, n);
}

int quern_profile_add_jump(struct quern_profile *p, const struct quern_site *at,
                           const struct quern_site *to, uint64_t executed, uint64_t followed)
{
    return add_record(p, executed ? QUERN_REC_JCND : QUERN_REC_JUMP, at, to, followed, executed,
                      NULL, 0);
}

// ---- Getters ----

enum quern_format quern_profile_format(const struct quern_profile *p)
{
    return p->format;
}

unsigned quern_profile_has(const struct quern_profile *p)
{
    return p->has;
}

const quern_count *quern_profile_totals(const struct quern_profile *p)
{
    for (size_t i = 0; i < p->event_count; i++)
        p->total_shown[i] = p->event[i].scale == 1 ? p->total[i] + p->total_nano[i] / NANO
                                                   : p->total[i] * NANO + p->total_nano[i];
    return p->total_shown;
}

size_t quern_profile_diag_count(const struct quern_profile *p)
{
    return p->diag_count;
}

const struct quern_diag *quern_profile_diag(const struct quern_profile *p, size_t i)
{
    return i < p->diag_count ? &p->diag[i] : NULL;
}

int quern_count_format(char *buf, size_t size, quern_count v, int64_t scale)
{
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v, whole = u;
    char tmp[64], *t = tmp + sizeof(tmp);
    uint64_t frac = 0;

    *--t = 0;
    if (scale > 1) {
        frac = (uint64_t)(u % (uint64_t)scale);
        whole = u / (uint64_t)scale;
        if (frac) {
            int digits = 9, seen = 0;
            for (; digits; digits--, frac /= 10) {
                if (frac % 10 || seen) {
                    *--t = (char)('0' + frac % 10);
                    seen = 1;
                }
            }
            *--t = '.';
        }
    }
    while (whole > UINT64_MAX) {
        *--t = (char)('0' + (int)(whole % 10));
        whole /= 10;
    }
    uint64_t w = (uint64_t)whole;
    do {
        *--t = (char)('0' + w % 10);
    } while (w /= 10);
    if (v < 0)
        *--t = '-';
    return snprintf(buf, size, "%s", t);
}
