// SPDX-License-Identifier: MIT
//
// Callgrind's format: the order of headers and positions every known reader accepts
// (docs/format.md, "What Quern writes").
#include "profile/write/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct id {
    uint32_t number; // 0: not used yet
    // number + 1 of the part that defines it; each part does, because KCachegrind forgets all ids
    // at a new one
    uint32_t part;
};

struct at { // names in the reader's current state
    uint32_t object, file, src, name;
    bool known;
};

struct callgrind {
    struct writer *w;
    // A function has an id of its own, not that of its name: KCachegrind binds the id to the object
    // and file where it is defined, and uses those for all later uses of the id.
    struct id *file_id, *func_id, *object_id;
    uint32_t files, funcs, objects; // ids given so far
    uint32_t part;
    struct at at;
    uint64_t line, addr, bb; // of the last cost line
    bool relative;           // this part has one already
    unsigned mask;           // QUERN_HAS_*: the subpositions
};

// A function may have any name, also (5), which every reader takes for an id. After an id it is
// read as a name.
static bool looks_like_id(const char *name)
{
    name += strspn(name, " \t");
    return name[0] == '(' && name[1] >= '0' && name[1] <= '9';
}

// A name, or its id in parentheses; followed by the name at the id's first use.
static void put_name(struct callgrind *g, const char *spec, uint32_t s, struct id *id,
                     uint32_t *count)
{
    struct writer *w = g->w;
    struct out *o = &w->out;
    const char *name = writer_name(w, s);
    bool with_id = !w->opts.no_compress_strings || looks_like_id(name);
    bool fresh = !with_id || id->part != g->part + 1;

    out_str(o, spec);
    if (with_id) {
        if (!id->number)
            id->number = ++*count;
        id->part = g->part + 1;
        out_char(o, '(');
        out_u64(o, id->number);
        out_char(o, ')');
        if (fresh)
            out_char(o, ' ');
    }
    if (fresh)
        writer_text(w, name);
    out_char(o, '\n');
}

// The unknown has an id of its own, after all strings.
static uint32_t id_index(const struct callgrind *g, uint32_t s)
{
    return s == QUERN_NONE ? g->w->p->str.count : s;
}

static void put_object(struct callgrind *g, const char *spec, uint32_t s)
{
    put_name(g, spec, s, &g->object_id[id_index(g, s)], &g->objects);
}

static void put_file(struct callgrind *g, const char *spec, uint32_t s)
{
    put_name(g, spec, s, &g->file_id[id_index(g, s)], &g->files);
}

static void put_func(struct callgrind *g, const char *spec, uint32_t func)
{
    put_name(g, spec, g->w->p->func[func].name, &g->func_id[func], &g->funcs);
}

static void put_position(struct out *o, uint64_t v, uint64_t before, bool relative, bool hex)
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

// A place; the first of a part is absolute, so that it can be read without the text before.
// `moves`: the next one is relative to it.
static void put_place(struct callgrind *g, uint64_t addr, uint64_t bb, uint64_t line, bool moves)
{
    struct out *o = &g->w->out;
    bool blank = false;

    if (g->mask & QUERN_HAS_ADDR) {
        put_position(o, addr, g->addr, g->relative, true);
        blank = true;
    }
    if (g->mask & QUERN_HAS_BB) {
        if (blank)
            out_char(o, ' ');
        put_position(o, bb, g->bb, g->relative, false);
        blank = true;
    }
    if (g->mask & QUERN_HAS_LINE) {
        if (blank)
            out_char(o, ' ');
        put_position(o, line, g->line, g->relative, false);
    }
    if (moves) {
        g->addr = addr;
        g->bb = bb;
        g->line = line;
        g->relative = !g->w->opts.no_compress_pos;
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
            walk_skip(&k);
            continue;
        }
        walk_scaled(&k, p->event, w->counts);
        for (size_t i = 0; i < k.ncounts; i++)
            sums[i] += w->counts[i];
    }
    return all;
}

static void put_number(struct writer *w, const char *key, uint64_t v)
{
    out_str(&w->out, key);
    out_u64(&w->out, v);
    out_char(&w->out, '\n');
}

// The "event:" lines: long names and formulas.
static void put_definitions(struct writer *w)
{
    const struct quern_profile *p = w->p;
    struct out *o = &w->out;

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
            writer_text(w, long_name);
        }
        out_char(o, '\n');
    }
}

static void put_header(struct callgrind *g, uint32_t n, const quern_count *sums)
{
    struct writer *w = g->w;
    const struct quern_profile *p = w->p;
    const struct part *part = &p->part[n];
    struct out *o = &w->out;

    if (n == 0) {
        out_str(o, "# callgrind format\nversion: 1\ncreator: ");
        writer_text(w, part->creator ? part->creator : "quern");
        out_char(o, '\n');
    } else {
        // first, so that a reader knows that the rest is of a new part
        out_char(o, '\n');
        put_number(w, "part: ", part->has_part ? part->part : n + 1);
    }
    if (part->has_pid)
        put_number(w, "pid: ", part->pid);
    if (part->cmd) {
        out_str(o, "cmd: ");
        writer_text(w, part->cmd);
        out_char(o, '\n');
    }
    if (n == 0 && (part->has_part || p->part_count > 1))
        put_number(w, "part: ", part->has_part ? part->part : n + 1);
    if (part->has_thread)
        put_number(w, "thread: ", part->thread);
    for (size_t i = 0; i < part->desc_count; i++)
        writer_desc(w, part->desc[i], false);
    out_str(o, "positions:");
    if (g->mask & QUERN_HAS_ADDR)
        out_str(o, " instr");
    if (g->mask & QUERN_HAS_BB)
        out_str(o, " bb");
    if (g->mask & QUERN_HAS_LINE)
        out_str(o, " line");
    out_char(o, '\n');
    put_definitions(w);
    writer_events(w);
    writer_sums(w, "summary:", sums);
}

static void put_function(struct callgrind *g, const struct walk *k)
{
    struct quern_func f = g->w->p->func[k->at.func];
    struct at *at = &g->at;

    if (!at->known || f.object != at->object || f.file != at->file || f.name != at->name) {
        out_char(&g->w->out, '\n');
        if (f.object != QUERN_NONE && (!at->known || f.object != at->object))
            put_object(g, "ob=", f.object);
        else if (f.object == QUERN_NONE && at->known && at->object != QUERN_NONE)
            put_object(g, "ob=", QUERN_NONE);
        if (!at->known || f.file != at->file || at->src != at->file)
            put_file(g, "fl=", f.file);
        put_func(g, "fn=", k->at.func);
        *at = (struct at){ f.object, f.file, f.file, f.name, true };
    }
    if (k->at.file != at->src) {
        put_file(g, k->at.file == at->file ? "fe=" : "fi=", k->at.file);
        at->src = k->at.file;
    }
}

static void put_call(struct callgrind *g, const struct walk *k)
{
    struct quern_func to = g->w->p->func[k->to.func];
    struct out *o = &g->w->out;

    if (to.object != g->at.object)
        put_object(g, "cob=", to.object);
    if (to.file != g->at.src)
        put_file(g, "cfi=", to.file);
    put_func(g, "cfn=", k->to.func);
    out_str(o, "calls=");
    out_u64(o, k->calls);
    out_char(o, ' ');
    put_place(g, k->to.addr, g->bb, k->to.line, false);
    out_char(o, '\n');
}

static void put_jump(struct callgrind *g, const struct walk *k)
{
    struct out *o = &g->w->out;

    if (k->to.file != g->at.src)
        put_file(g, "jfi=", k->to.file);
    if (k->to.func != k->at.func)
        put_func(g, "jfn=", k->to.func);
    if (k->op == OP_JUMP) {
        out_str(o, "jump=");
        out_u64(o, k->calls);
    } else {
        out_str(o, "jcnd=");
        out_u64(o, k->calls);
        out_char(o, '/');
        out_u64(o, k->executed);
    }
    out_char(o, ' ');
    put_place(g, k->to.addr, g->bb, k->to.line, false);
    out_char(o, '\n');
    put_place(g, k->at.addr, k->at.bb, k->at.line, true);
    out_char(o, '\n');
}

// One record and its place, with the names that change at it.
static void put_record(struct callgrind *g, struct walk *k)
{
    struct writer *w = g->w;

    if (k->op > OP_CALL && w->opts.portable) {
        walk_skip(k);
        return;
    }
    put_function(g, k);
    if (k->op > OP_CALL) {
        put_jump(g, k);
        walk_skip(k);
        return;
    }
    if (k->op == OP_CALL)
        put_call(g, k);
    put_place(g, k->at.addr, k->at.bb, k->at.line, true);
    writer_counts(w, k, w->opts.portable);
}

static void put_totals(struct callgrind *g, const quern_count *sums)
{
    out_char(&g->w->out, '\n');
    writer_sums(g->w, "totals:", sums);
}

static int put_parts(struct callgrind *g)
{
    const struct quern_profile *p = g->w->p;
    quern_count *all = part_sums(g->w), *sums = all;

    if (!all)
        return -ENOMEM;
    put_header(g, 0, sums);
    struct walk k;
    walk_init(&k, p);
    for (;;) {
        bool more = walk_next(&k);
        uint32_t now = more ? k.at.part : (uint32_t)p->part_count - 1;
        while (g->part < now) {
            put_totals(g, sums);
            sums = all + ++g->part * p->event_count;
            put_header(g, g->part, sums);
            g->at.known = false;
            g->at.object = QUERN_NONE;
            g->relative = false;
            g->line = g->addr = g->bb = 0;
        }
        if (!more)
            break;
        put_record(g, &k);
    }
    put_totals(g, sums);
    free(all);
    return 0;
}

// Which subpositions the lines have.
static unsigned positions(const struct writer *w)
{
    unsigned mask = w->p->has & (QUERN_HAS_LINE | QUERN_HAS_ADDR | QUERN_HAS_BB);

    if (w->opts.no_lines && !(mask & QUERN_HAS_ADDR))
        mask |= QUERN_HAS_LINE;
    return mask == 0 || w->opts.portable ? QUERN_HAS_LINE : mask;
}

int write_callgrind(struct writer *w)
{
    size_t strings = w->p->str.count + 1; // and the unknown
    struct callgrind g = { .w = w,
                           .mask = positions(w),
                           .file_id = calloc(strings, sizeof(*g.file_id)),
                           .object_id = calloc(strings, sizeof(*g.object_id)),
                           .func_id = calloc(w->p->func_count + 1, sizeof(*g.func_id)),
                           .at = { QUERN_NONE, QUERN_NONE, QUERN_NONE, QUERN_NONE, false } };
    int rc = -ENOMEM;

    if (g.file_id && g.object_id && g.func_id)
        rc = put_parts(&g);
    free(g.file_id);
    free(g.object_id);
    free(g.func_id);
    return rc;
}
