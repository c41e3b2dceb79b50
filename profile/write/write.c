// SPDX-License-Identifier: MIT
//
// Writes profiles in both formats. Callgrind: the order of headers and positions every known reader
// accepts (docs/format.md, "What Quern writes"). Cachegrind: as Valgrind's tool writes it, all
// counts of a line in full, one `fl=` for each file.
#include "profile/sum/merge.h"
#include "profile/write/out.h"

#include <errno.h>
#include <stdlib.h>

struct id {
    uint32_t number; // 0: not used yet
    // number + 1 of the part that defines it; each part does, since KCachegrind forgets all ids at
    // a new one
    uint32_t part;
};

struct writer {
    const struct quern_profile *p;
    struct quern_write_opts opts;
    struct out out;
    struct quern_error *err;
    const char *path;
    // A function has an id of its own, not one of its name: KCachegrind binds the id to the object
    // and file it is defined in, and sends all that names it later there.
    struct id *file_id, *func_id, *object_id;
    uint32_t files, funcs, objects, part;
    uint64_t line, addr, bb; // of the last cost line
    int relative_line, relative_addr, relative_bb;
    unsigned mask;
    uint64_t *plain;
    quern_count *wide;
    int overflow;
};

static const char *text_of(const struct quern_profile *p, uint32_t s)
{
    const char *t = quern_profile_str(p, s);
    return *t ? t : "???";
}

// Names end at the line's end: a newline in one would begin another line.
static void put_text(struct out *o, const char *s)
{
    size_t n;
    while (s[n = strcspn(s, "\r\n")]) {
        out_mem(o, s, n);
        out_char(o, ' ');
        s += n + 1;
    }
    out_mem(o, s, n);
}

static void put_count(struct writer *w, quern_count v, int64_t scale)
{
    char buf[64];

    if (v > (quern_count)UINT64_MAX * scale || v < (quern_count)INT64_MIN * scale)
        w->overflow = 1;
    if (scale == 1 && v >= 0 && v <= UINT64_MAX) {
        out_u64(&w->out, (uint64_t)v);
    } else {
        quern_count_format(buf, sizeof(buf), v, scale);
        out_str(&w->out, buf);
    }
}

static void put_events(struct writer *w, const char *key)
{
    out_str(&w->out, key);
    for (size_t i = 0; i < w->p->event_count; i++) {
        out_char(&w->out, ' ');
        out_str(&w->out, w->p->event[i].name);
    }
    out_char(&w->out, '\n');
}

static void put_sums(struct writer *w, const char *key, const quern_count *sums)
{
    out_str(&w->out, key);
    for (size_t i = 0; i < w->p->event_count; i++) {
        out_char(&w->out, ' ');
        put_count(w, sums[i], w->p->event[i].scale);
    }
    out_char(&w->out, '\n');
}

// Counts of the record at walk k; all of them, or without the zeros at the end.
static void put_counts(struct writer *w, struct walk *k, int all)
{
    const struct quern_profile *p = w->p;
    size_t n = k->ncounts, i;

    if (k->special) {
        walk_special(k, w->wide);
        while (!all && n > 1 && !w->wide[n - 1])
            n--;
        for (i = 0; i < n; i++) {
            out_char(&w->out, ' ');
            put_count(w, p->event[i].scale == 1 ? w->wide[i] / NANO : w->wide[i],
                      p->event[i].scale);
        }
    } else {
        walk_counts(k, w->plain);
        while (!all && n > 1 && !w->plain[n - 1])
            n--;
        for (i = 0; i < n; i++) {
            out_char(&w->out, ' ');
            out_u64(&w->out, w->plain[i]);
        }
    }
    for (; i < p->event_count && (all || i == 0); i++)
        out_mem(&w->out, " 0", 2);
    out_char(&w->out, '\n');
}

static void skip_counts(struct writer *w, struct walk *k)
{
    if (k->special)
        walk_special(k, w->wide);
    else
        walk_counts(k, w->plain);
}

// "I1 cache: 32768 B, ...": both tools write it, Cachegrind with the value in a column.
static void put_desc(struct writer *w, const char *desc, int cachegrind)
{
    const char *colon = strstr(desc, " cache:");

    out_str(&w->out, "desc: ");
    if (colon && colon - desc == 2) {
        const char *value = colon + 7 + strspn(colon + 7, " \t");
        out_mem(&w->out, desc, 9);
        out_str(&w->out, cachegrind ? "         " : " ");
        put_text(&w->out, value);
    } else {
        put_text(&w->out, desc);
    }
    out_char(&w->out, '\n');
}

// ---- Cachegrind ----

static void write_cachegrind(struct writer *w)
{
    const struct quern_profile *p = w->p;
    const struct part *part = &p->part[0];
    uint32_t file = QUERN_NONE, func = QUERN_NONE;
    int any = 0;

    for (size_t i = 0; i < part->desc_count; i++)
        put_desc(w, part->desc[i], 1);
    out_str(&w->out, "cmd: ");
    put_text(&w->out, part->cmd ? part->cmd : "");
    out_char(&w->out, '\n');
    put_events(w, "events:");
    struct walk k;
    walk_init(&k, p);
    while (walk_next(&k)) {
        if (k.at.func != func) {
            struct quern_func f = p->func[k.at.func];
            if (f.file != file || !any) {
                out_str(&w->out, "fl=");
                put_text(&w->out, text_of(p, f.file));
                out_char(&w->out, '\n');
            }
            out_str(&w->out, "fn=");
            put_text(&w->out, text_of(p, f.name));
            out_char(&w->out, '\n');
            file = f.file;
            func = k.at.func;
            any = 1;
        }
        out_u64(&w->out, k.at.line);
        put_counts(w, &k, 1);
    }
    put_sums(w, "summary:", quern_profile_totals(p));
}

// ---- Callgrind ----

// A name, or its id in parentheses; with the name behind it where the id is used first.
static void put_name(struct writer *w, const char *spec, uint32_t s, struct id *id, uint32_t *count)
{
    struct out *o = &w->out;
    int fresh = w->opts.no_compress_strings || id->part != w->part + 1;

    out_str(o, spec);
    if (!w->opts.no_compress_strings) {
        if (!id->number)
            id->number = ++*count;
        id->part = w->part + 1;
        out_char(o, '(');
        out_u64(o, id->number);
        out_char(o, ')');
        if (fresh)
            out_char(o, ' ');
    }
    if (fresh)
        put_text(o, text_of(w->p, s));
    out_char(o, '\n');
}

// The unknown has an id of its own, behind all strings.
static uint32_t id_index(const struct writer *w, uint32_t s)
{
    return s == QUERN_NONE ? w->p->str.count : s;
}

static void put_object(struct writer *w, const char *spec, uint32_t s)
{
    put_name(w, spec, s, &w->object_id[id_index(w, s)], &w->objects);
}

static void put_file(struct writer *w, const char *spec, uint32_t s)
{
    put_name(w, spec, s, &w->file_id[id_index(w, s)], &w->files);
}

static void put_func(struct writer *w, const char *spec, uint32_t func)
{
    put_name(w, spec, w->p->func[func].name, &w->func_id[func], &w->funcs);
}

static void put_position(struct out *o, uint64_t v, uint64_t before, int relative, int hex)
{
    if (relative && v == before) {
        out_char(o, '*');
    } else if (relative && v > before && v - before < 1u << 30) {
        out_char(o, '+');
        out_u64(o, v - before);
    } else if (relative && v < before && before - v < 1u << 30) {
        out_char(o, '-');
        out_u64(o, before - v);
    } else if (hex) {
        out_hex(o, v);
    } else {
        out_u64(o, v);
    }
}

// A place; the first of a file is absolute, so that it can be read without what was before.
static void put_place(struct writer *w, uint64_t addr, uint64_t bb, uint64_t line, int moves)
{
    struct out *o = &w->out;
    int blank = 0;

    if (w->mask & QUERN_HAS_ADDR) {
        put_position(o, addr, w->addr, w->relative_addr, 1);
        blank = 1;
    }
    if (w->mask & QUERN_HAS_BB) {
        if (blank)
            out_char(o, ' ');
        put_position(o, bb, w->bb, w->relative_bb, 0);
        blank = 1;
    }
    if (w->mask & QUERN_HAS_LINE) {
        if (blank)
            out_char(o, ' ');
        put_position(o, line, w->line, w->relative_line, 0);
    }
    if (moves) {
        w->addr = addr;
        w->bb = bb;
        w->line = line;
        w->relative_line = w->relative_addr = w->relative_bb = !w->opts.no_compress_pos;
    }
}

// Self cost of every part, event_count numbers each.
static quern_count *part_sums(struct writer *w)
{
    const struct quern_profile *p = w->p;
    size_t ne = p->event_count;
    quern_count *all = calloc(p->part_count * ne + 1, sizeof(*all));

    if (!all)
        return NULL;
    if (p->part_count == 1) {
        if (ne)
            memcpy(all, quern_profile_totals(p), ne * sizeof(*all));
        return all;
    }
    struct walk k;
    walk_init(&k, p);
    while (walk_next(&k)) {
        quern_count *sums = all + k.at.part * ne;
        if (k.op != OP_COST) {
            skip_counts(w, &k);
        } else if (k.special) {
            walk_special(&k, w->wide);
            for (size_t i = 0; i < k.ncounts; i++)
                sums[i] += p->event[i].scale == 1 ? w->wide[i] / NANO : w->wide[i];
        } else {
            walk_counts(&k, w->plain);
            for (size_t i = 0; i < k.ncounts; i++)
                sums[i] += (quern_count)w->plain[i] * p->event[i].scale;
        }
    }
    return all;
}

static void put_number(struct writer *w, const char *key, uint64_t v)
{
    out_str(&w->out, key);
    out_u64(&w->out, v);
    out_char(&w->out, '\n');
}

static void callgrind_header(struct writer *w, uint32_t n, const quern_count *sums)
{
    const struct quern_profile *p = w->p;
    const struct part *part = &p->part[n];
    struct out *o = &w->out;

    if (n == 0) {
        out_str(o, "# callgrind format\nversion: 1\ncreator: ");
        put_text(o, part->creator ? part->creator : "quern");
        out_char(o, '\n');
    } else {
        // first, so that a reader knows that what follows is of a new part
        out_char(o, '\n');
        put_number(w, "part: ", part->has_part ? part->part : n + 1);
    }
    if (part->has_pid)
        put_number(w, "pid: ", part->pid);
    if (part->cmd) {
        out_str(o, "cmd: ");
        put_text(o, part->cmd);
        out_char(o, '\n');
    }
    if (n == 0 && (part->has_part || p->part_count > 1))
        put_number(w, "part: ", part->has_part ? part->part : n + 1);
    if (part->has_thread)
        put_number(w, "thread: ", part->thread);
    for (size_t i = 0; i < part->desc_count; i++)
        put_desc(w, part->desc[i], 0);
    out_str(o, "positions:");
    if (w->mask & QUERN_HAS_ADDR)
        out_str(o, " instr");
    if (w->mask & QUERN_HAS_BB)
        out_str(o, " bb");
    if (w->mask & QUERN_HAS_LINE)
        out_str(o, " line");
    out_char(o, '\n');
    for (size_t i = 0; i < p->event_count + p->derived_count; i++) {
        const char *formula = quern_profile_event_formula(p, i);
        const char *long_name = quern_profile_event_long_name(p, i);
        if (!formula && !long_name)
            continue;
        out_str(o, "event: ");
        out_str(o, quern_profile_event_name(p, i));
        if (formula) {
            out_str(o, " = ");
            out_str(o, formula);
        }
        if (long_name) {
            out_str(o, " : ");
            put_text(o, long_name);
        }
        out_char(o, '\n');
    }
    put_events(w, "events:");
    put_sums(w, "summary:", sums);
}

struct at { // names as the reader has them now
    uint32_t object, file, src, name;
    int known;
};

static void put_function(struct writer *w, const struct walk *k, struct at *at)
{
    struct quern_func f = w->p->func[k->at.func];

    if (!at->known || f.object != at->object || f.file != at->file || f.name != at->name) {
        out_char(&w->out, '\n');
        if (f.object != QUERN_NONE && (!at->known || f.object != at->object))
            put_object(w, "ob=", f.object);
        else if (f.object == QUERN_NONE && at->known && at->object != QUERN_NONE)
            put_object(w, "ob=", QUERN_NONE);
        if (!at->known || f.file != at->file || at->src != at->file)
            put_file(w, "fl=", f.file);
        put_func(w, "fn=", k->at.func);
        *at = (struct at){ f.object, f.file, f.file, f.name, 1 };
    }
    if (k->at.file != at->src) {
        put_file(w, k->at.file == at->file ? "fe=" : "fi=", k->at.file);
        at->src = k->at.file;
    }
}

static void put_call(struct writer *w, struct walk *k, const struct at *at)
{
    struct quern_func g = w->p->func[k->to.func];

    if (g.object != at->object)
        put_object(w, "cob=", g.object);
    if (g.file != at->src)
        put_file(w, "cfi=", g.file);
    put_func(w, "cfn=", k->to.func);
    out_str(&w->out, "calls=");
    out_u64(&w->out, k->calls);
    out_char(&w->out, ' ');
    put_place(w, k->to.addr, w->bb, k->to.line, 0);
    out_char(&w->out, '\n');
}

static void put_jump(struct writer *w, struct walk *k, const struct at *at)
{
    if (k->to.file != at->src)
        put_file(w, "jfi=", k->to.file);
    if (k->to.func != k->at.func)
        put_func(w, "jfn=", k->to.func);
    if (k->op == OP_JUMP) {
        out_str(&w->out, "jump=");
        out_u64(&w->out, k->calls);
    } else {
        out_str(&w->out, "jcnd=");
        out_u64(&w->out, k->calls);
        out_char(&w->out, '/');
        out_u64(&w->out, k->executed);
    }
    out_char(&w->out, ' ');
    put_place(w, k->to.addr, w->bb, k->to.line, 0);
    out_char(&w->out, '\n');
    put_place(w, k->at.addr, k->at.bb, k->at.line, 1);
    out_char(&w->out, '\n');
}

static int write_callgrind(struct writer *w)
{
    const struct quern_profile *p = w->p;
    quern_count *all = part_sums(w), *sums = all;
    struct at at = { QUERN_NONE, QUERN_NONE, QUERN_NONE, QUERN_NONE, 0 };
    uint32_t part = 0;

    if (!all)
        return -ENOMEM;
    callgrind_header(w, 0, sums);
    struct walk k;
    walk_init(&k, p);
    for (;;) {
        int more = walk_next(&k);
        uint32_t now = more ? k.at.part : (uint32_t)p->part_count - 1;
        while (part < now) {
            out_char(&w->out, '\n');
            put_sums(w, "totals:", sums);
            sums = all + ++part * p->event_count;
            w->part = part;
            callgrind_header(w, part, sums);
            at.known = 0;
            at.object = QUERN_NONE;
            w->relative_line = w->relative_addr = w->relative_bb = 0;
            w->line = w->addr = w->bb = 0;
        }
        if (!more)
            break;
        if (k.op > OP_CALL && w->opts.portable) {
            skip_counts(w, &k);
            continue;
        }
        put_function(w, &k, &at);
        if (k.op > OP_CALL) {
            put_jump(w, &k, &at);
            skip_counts(w, &k);
            continue;
        }
        if (k.op == OP_CALL)
            put_call(w, &k, &at);
        put_place(w, k.at.addr, k.at.bb, k.at.line, 1);
        put_counts(w, &k, w->opts.portable);
    }
    out_char(&w->out, '\n');
    put_sums(w, "totals:", sums);
    free(all);
    return 0;
}

int quern_profile_write(const struct quern_profile *p, const char *path,
                        const struct quern_write_opts *opts, struct quern_error *err)
{
    struct writer w = { .p = p, .err = err, .path = path };
    struct quern_profile *sorted = NULL;
    size_t n = p->str.count + 1;
    int rc = 0;
    unsigned flags = 0;

    if (err)
        memset(err, 0, sizeof(*err));
    if (opts)
        memcpy(&w.opts, opts, opts->sz < sizeof(w.opts) ? opts->sz : sizeof(w.opts));
    if (w.opts.format == QUERN_FORMAT_AUTO)
        w.opts.format = p->format ? p->format
                        : p->has & (QUERN_HAS_CALL | QUERN_HAS_JUMP | QUERN_HAS_ADDR)
                            ? QUERN_FORMAT_CALLGRIND
                            : QUERN_FORMAT_CACHEGRIND;
    int cachegrind = w.opts.format == QUERN_FORMAT_CACHEGRIND;
    if (w.opts.portable) {
        w.opts.no_compress_strings = w.opts.no_compress_pos = 1;
        w.opts.no_instr = w.opts.combine_parts = 1;
        w.opts.keep_order = w.opts.no_lines = 0;
    }
    if (cachegrind)
        flags = FOLD_OBJECT | FOLD_ADDR | FOLD_CALLS | FOLD_JUMPS | FOLD_FILE;
    else if (w.opts.portable)
        flags = FOLD_JUMPS;
    if (w.opts.no_instr)
        flags |= FOLD_ADDR;
    if (w.opts.no_lines)
        flags |= FOLD_LINE;
    if (cachegrind || !w.opts.keep_order || flags || (w.opts.combine_parts && p->part_count > 1)) {
        sorted = profile_canonical(p, flags, cachegrind || w.opts.combine_parts, err);
        if (!sorted)
            return -errno;
        w.p = sorted;
        n = sorted->str.count + 1;
    }
    w.mask = w.p->has & (QUERN_HAS_LINE | QUERN_HAS_ADDR | QUERN_HAS_BB);
    if (w.opts.no_lines && !(w.mask & QUERN_HAS_ADDR))
        w.mask |= QUERN_HAS_LINE;
    if (!w.mask || w.opts.portable)
        w.mask = QUERN_HAS_LINE;
    w.file_id = calloc(n, sizeof(*w.file_id));
    w.func_id = calloc(w.p->func_count + 1, sizeof(*w.func_id));
    w.object_id = calloc(n, sizeof(*w.object_id));
    w.plain = calloc(p->event_count + 1, sizeof(*w.plain));
    w.wide = calloc(p->event_count + 1, sizeof(*w.wide));
    if (!w.file_id || !w.func_id || !w.object_id || !w.plain || !w.wide) {
        rc = -ENOMEM;
    } else if ((rc = out_open(&w.out, path)) == 0) {
        if (cachegrind)
            write_cachegrind(&w);
        else
            rc = write_callgrind(&w);
        if (!rc && w.overflow)
            rc = -EOVERFLOW;
        rc = out_close(&w.out, rc);
    }
    free(w.file_id);
    free(w.func_id);
    free(w.object_id);
    free(w.plain);
    free(w.wide);
    quern_profile_free(sorted);
    if (rc == -EOVERFLOW) {
        const char *event = "";
        for (size_t i = p->event_count; i-- > 0;)
            if (quern_profile_totals(p)[i] / p->event[i].scale > UINT64_MAX)
                event = p->event[i].name;
        quern_error_set(
            err, EOVERFLOW, path,
            "not written: a sum of counts%s%.40s does not fit 64 bits, so readers would "
            "show nonsense",
            *event ? " of " : "", event);
    }
    if (rc < 0 && rc != -EOVERFLOW)
        quern_error_set(err, -rc, path, "cannot be written: %s", strerror(-rc));
    return rc;
}
