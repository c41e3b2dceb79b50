// SPDX-License-Identifier: MIT
//
// From profiles to a struct core, through report/pack: the page of a report reads the same data
// from a file, so both show the same.
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/base/util.h"
#include "cli/terminal/progress.h"
#include "cli/top/top.h"
#include "report/core/heap.h"
#include "report/core/link.h"
#include "report/core/load.h"
#include "report/core/rows.h"

void top_data_check(int rc)
{
    if (rc == CORE_MEMORY)
        die(UTIL_USAGE, "out of memory");
    if (rc < 0)
        die(UTIL_USAGE, "the profile cannot be shown (%d); please report this", rc);
}

static uint8_t *inflated(const struct block *b)
{
    uint8_t *out = heap_get(b->size);
    z_stream z = { .next_in = b->deflated, .avail_in = (uInt)b->deflated_size };

    z.next_out = out;
    z.avail_out = (uInt)b->size;
    if (!out || inflateInit2(&z, -15) != Z_OK)
        top_data_check(CORE_MEMORY);
    if (inflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out != b->size)
        top_data_check(CORE_DAMAGED);
    inflateEnd(&z);
    return out;
}

static void pack(struct top *t)
{
    t->pack = pack_new(t->side[0].p, t->side[1].p, t->event);
    if (!t->pack)
        top_data_check(CORE_MEMORY);
    pack_store(t->pack);
    pack_functions(t->pack);
    for (uint32_t f = 0; f < pack_count(t->pack);)
        f = pack_places(t->pack, f);
    if (pack_finish(t->pack) < 0)
        top_data_check(CORE_MEMORY);
}

static void load(struct top *t)
{
    struct core *c = t->core = load_new();

    if (!c)
        top_data_check(CORE_MEMORY);
    for (size_t i = 0; i < pack_block_count(t->pack); i++) {
        const struct block *b = pack_block(t->pack, i);
        top_data_check(load_block(c, inflated(b), b->size));
    }
    top_data_check(link_edges(c));
    pack_free(t->pack);
    t->pack = NULL;
    t->formula = xcalloc(c->event_count + 1u, sizeof(struct formula *));
    for (uint32_t e = 0; e < c->event_count; e++)
        t->formula[e] = formula_event(c, e);
}

static void read_sharing(struct top *t)
{
    const struct sharing *s = &t->sharing;
    char **line;

    sharing_read(&t->sharing, t->side[0].p);
    line = t->shared = xcalloc(s->count * TOP_PAIR_LINES + 1, sizeof(*line));
    for (size_t i = 0; i < s->count; i++) {
        char *part[TOP_PAIR_LINES] = { sharing_counts(s, &s->pair[i]),
                                       sharing_side_text(&s->pair[i].side[0]),
                                       sharing_side_text(&s->pair[i].side[1]) };

        for (int k = 0; k < TOP_PAIR_LINES; k++) {
            *line++ = xasprintf("%s%s", k ? "    " : "  ", part[k]);
            free(part[k]);
        }
    }
}

void top_data_load(struct top *t)
{
    if (!t->side[0].p) // with --live there is one already
        side_read(t->side, t->mod_file, t->mod_func);
    t->event = (uint32_t)side_event(t->side, t->event_name);
    t->timed = event_cycles(t->side[0].p, &t->cycles);
    t->data = objects_are(t->side[0].p);
    if (t->data) {
        walks_read(&t->walks, t->side[0].p);
        read_sharing(t);
        objects_read(&t->objects, t->side[0].p, t->side[0].paths[0], NULL, NULL);
    }
    progress_begin("preparing %s", t->side[0].paths[0]);
    pack(t);
    load(t);
    progress_end();
    if (!t->formula[t->event])
        die(UTIL_USAGE, "%s: the formula of the event cannot be read", t->event_name);
    t->compare = t->core->has & CORE_HAS_BASE;
    t->calls = t->core->has & CORE_HAS_CALL;
    t->inclusive = t->calls && !t->data;
    side_free(t->side);
}

static bool is_text(struct text text, const char *name)
{
    return strlen(name) == text.size && memcmp(text.at, name, text.size) == 0;
}

bool top_data_shares(const struct top *t, size_t pair, uint32_t func)
{
    const struct core *c = t->core;
    struct text name = core_string(c, c->name[func]), file = core_string(c, c->file[func]);

    for (int k = 0; k < 2; k++) {
        const struct sharing_side *side = &t->sharing.pair[pair].side[k];
        if (is_text(name, side->object) && is_text(file, side->object_file))
            return true;
    }
    return false;
}

// ---- Replacing the core ----

// Each core numbers functions, files and groups in its own way; names are the same in all.
struct name {
    uint64_t hash;
    char *file;
};

static struct name name_of(const struct core *c, uint32_t func, uint32_t file)
{
    struct name n = { 0 };
    struct text s = core_string(c, file);

    if (func != CORE_NONE)
        n.hash = rows_hash(c, func);
    if (file != CORE_NONE)
        n.file = xasprintf("%.*s", (int)s.size, s.size ? (const char *)s.at : "");
    return n;
}

static void find_name(const struct core *c, struct name *n, uint32_t *func, uint32_t *file)
{
    size_t size = n->file ? strlen(n->file) : 0;

    if (*func != CORE_NONE)
        *func = rows_find(c, n->hash);
    for (uint32_t s = 0; file && n->file && s <= c->strings; s++) {
        struct text text = s < c->strings ? core_string(c, s) : (struct text){ NULL, SIZE_MAX };
        *file = s < c->strings ? s : CORE_NONE;
        if (text.size == size && memcmp(text.at, n->file, size) == 0)
            break;
    }
    free(n->file);
}

static void move_place(const struct core *from, const struct core *to, struct top_place *p)
{
    struct name n = name_of(from, p->func, p->file);

    find_name(to, &n, &p->func, &p->file);
}

static void move_func(const struct core *from, const struct core *to, uint32_t *func)
{
    struct name n = name_of(from, *func, CORE_NONE);

    find_name(to, &n, func, NULL);
}

static void free_core(struct core *c, struct formula **formula)
{
    for (uint32_t e = 0; e < c->event_count; e++)
        formula_free(formula[e]);
    free(formula);
    load_free(c);
}

void top_data_again(struct top *t, struct quern_profile *p)
{
    struct core *old = t->core;
    struct formula **old_formula = t->formula;
    size_t hides = 0;

    t->side[0].p = p;
    pack(t);
    load(t);
    side_free(t->side);
    t->core->no_cycles = old->no_cycles;
    move_place(old, t->core, &t->here);
    for (size_t i = 0; i < t->backs; i++)
        move_place(old, t->core, &t->back[i]);
    move_func(old, t->core, &t->focus);
    for (size_t i = 0; i < t->hides; i++) {
        move_func(old, t->core, &t->hide[i]);
        hides += t->hide[i] != CORE_NONE;
        if (t->hide[i] != CORE_NONE)
            t->hide[hides - 1] = t->hide[i];
    }
    t->hides = hides;
    free_core(old, old_formula);
    free(t->func);
    t->func = NULL;
    t->funcs = 0;
    t->func_fresh = false;
}

void top_data_free(struct top *t)
{
    walks_free(&t->walks);
    objects_free(&t->objects);
    for (char **line = t->shared; line && *line; line++)
        free(*line);
    free(t->shared);
    sharing_free(&t->sharing);
    free_core(t->core, t->formula);
}
