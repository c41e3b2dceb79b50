// SPDX-License-Identifier: MIT
//
// Names are cut into pieces; a group is found by its parent and its piece in a table of hashes.
// Functions of the same string are in the same group, so each string is cut only once.
#include "report/core/group.h"

#include "report/core/graph.h"
#include "report/core/heap.h"

struct maker {
    const struct core *c;
    struct group_tree *out;
    size_t cap;
    uint32_t *slot; // group + 1
    uint32_t slots; // a power of 2
};

static uint32_t hash_of(uint32_t parent, struct text piece)
{
    uint32_t h = 0x811c9dc5u ^ parent * 0x9e3779b1u;

    for (size_t i = 0; i < piece.size; i++)
        h = (h ^ piece.at[i]) * 0x01000193u;
    return h ^ h >> 15;
}

static struct text piece_of(const struct maker *m, const struct group_item *g)
{
    struct text s = core_string(m->c, g->string);

    return s.at ? (struct text){ s.at + g->from, g->size } : s;
}

static bool grow(struct maker *m)
{
    uint32_t slots = m->slots ? m->slots * 2 : 256;
    uint32_t *slot = heap_array(slots, sizeof(*slot));

    if (!slot)
        return false;
    for (uint32_t i = 0; i < m->out->count; i++) {
        const struct group_item *g = &m->out->item[i];
        uint32_t at = hash_of(g->parent, piece_of(m, g)) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    heap_put(m->slot);
    m->slot = slot;
    m->slots = slots;
    return true;
}

// The group of that parent and piece, new or not; CORE_NONE: no memory.
static uint32_t enter(struct maker *m, struct group_item wanted)
{
    struct text piece = piece_of(m, &wanted);

    if (m->out->count >= m->slots / 2 && !grow(m))
        return CORE_NONE;
    uint32_t at = hash_of(wanted.parent, piece) & (m->slots - 1);
    for (; m->slot[at]; at = (at + 1) & (m->slots - 1)) {
        const struct group_item *g = &m->out->item[m->slot[at] - 1];
        struct text other = piece_of(m, g);
        if (g->parent == wanted.parent &&
            (g->string == CORE_NONE) == (wanted.string == CORE_NONE) && other.size == piece.size &&
            (!piece.size || __builtin_memcmp(other.at, piece.at, piece.size) == 0))
            return m->slot[at] - 1;
    }
    if (!heap_room(m->out->item, m->out->count, m->cap))
        return CORE_NONE;
    m->out->item[m->out->count] = wanted;
    m->slot[at] = ++m->out->count;
    return m->out->count - 1;
}

// ---- Cutting ----

// Length of the piece at `from`, and where the next one begins: the end, when it is the last.
static size_t cut_path(struct text s, size_t from, size_t *next)
{
    size_t i = from;

    while (i < s.size && s.at[i] == '/') // of an absolute name the first piece has the slash
        i++;
    while (i < s.size && s.at[i] != '/')
        i++;
    *next = i;
    while (*next < s.size && s.at[*next] == '/')
        ++*next;
    return i - from;
}

static size_t cut_name(struct text s, size_t from, size_t *next)
{
    size_t depth = 0;

    for (size_t i = from; i + 1 < s.size; i++) {
        uint8_t byte = s.at[i];
        if (byte == '<' || byte == '(')
            depth++;
        else if ((byte == '>' || byte == ')') && depth)
            depth--;
        else if (byte == ':' && s.at[i + 1] == ':' && !depth && i > from) {
            *next = i + 2;
            return i - from;
        }
    }
    *next = s.size;
    return s.size - from;
}

// Where a name begins: after its return type, which templates have ("bool n::f<int>()"). Only a
// space before the first "::" ends a type: "n::operator bool()" has none.
static size_t name_start(struct text s)
{
    size_t depth = 0, start = 0;

    for (size_t i = 0; i + 1 < s.size; i++) {
        uint8_t byte = s.at[i];
        if (byte == '<' || byte == '(')
            depth++;
        else if ((byte == '>' || byte == ')') && depth)
            depth--;
        else if (byte == ' ' && !depth)
            start = i + 1;
        else if (byte == ':' && s.at[i + 1] == ':' && !depth)
            return start;
    }
    return 0;
}

// The innermost group of a string. In a name the last piece is no group.
static uint32_t group_of_string(struct maker *m, enum group_by by, uint32_t string)
{
    struct text s = core_string(m->c, string);
    uint32_t at = CORE_NONE;

    if (by == GROUP_OBJECT || by == GROUP_FILE || string == CORE_NONE || s.size == 0)
        return enter(m, (struct group_item){
                            .parent = CORE_NONE, .string = string, .size = (uint32_t)s.size });
    for (size_t from = by == GROUP_NAMESPACE ? name_start(s) : 0, next; from < s.size;
         from = next) {
        size_t size = by == GROUP_FOLDER ? cut_path(s, from, &next) : cut_name(s, from, &next);
        if (by == GROUP_NAMESPACE && next == s.size)
            break;
        at = enter(m, (struct group_item){ .parent = at,
                                           .string = string,
                                           .from = (uint32_t)from,
                                           .size = (uint32_t)size });
        if (at == CORE_NONE)
            return CORE_NONE;
    }
    // A name in no namespace: the group of the unknown.
    return at == CORE_NONE
               ? enter(m, (struct group_item){ .parent = CORE_NONE, .string = CORE_NONE })
               : at;
}

static int make_strings(struct maker *m, enum group_by by)
{
    const struct core *c = m->c;
    const uint32_t *field = by == GROUP_OBJECT      ? c->object
                            : by == GROUP_NAMESPACE ? c->name
                                                    : c->file;
    uint32_t *known = heap_array((size_t)c->strings + 1, sizeof(*known)); // group + 1

    if (!known)
        return CORE_MEMORY;
    for (uint32_t f = 0; f < c->funcs; f++) {
        uint32_t *at = &known[field[f] < c->strings ? field[f] : c->strings];
        if (!*at)
            *at = group_of_string(m, by, at == &known[c->strings] ? CORE_NONE : field[f]) + 1;
        if (!*at) {
            heap_put(known);
            return CORE_MEMORY;
        }
        m->out->of[f] = *at - 1;
    }
    heap_put(known);
    return 0;
}

static int make_cycles(struct maker *m)
{
    const struct side_graph *g = &m->c->graph[0];

    m->out->item = heap_array((size_t)g->cycles + 1, sizeof(*m->out->item));
    if (!m->out->item)
        return CORE_MEMORY;
    m->out->count = g->cycles;
    for (uint32_t i = 0; i < g->cycles; i++)
        m->out->item[i] = (struct group_item){ .parent = CORE_NONE, .string = i + 1 };
    for (uint32_t f = 0; f < m->c->funcs; f++)
        m->out->of[f] = g->cycle[f] ? g->cycle[f] - 1 : CORE_NONE;
    return 0;
}

int group_make(struct core *c, enum group_by by, struct group_tree *out)
{
    struct maker m = { .c = c, .out = out };
    int rc = by == GROUP_CYCLE ? graph_cycles(c, 0) : 0;

    *out = (struct group_tree){ 0 };
    if (rc < 0)
        return rc;
    out->of = heap_array(c->funcs, sizeof(*out->of));
    rc = !out->of ? CORE_MEMORY : by == GROUP_CYCLE ? make_cycles(&m) : make_strings(&m, by);
    heap_put(m.slot);
    if (rc < 0) {
        heap_put(out->item);
        heap_put(out->of);
        *out = (struct group_tree){ 0 };
        return rc;
    }
    for (uint32_t f = 0; f < c->funcs; f++)
        if (out->of[f] != CORE_NONE)
            out->item[out->of[f]].funcs++;
    for (uint32_t g = out->count; g-- > 0;)
        if (out->item[g].parent != CORE_NONE)
            out->item[out->item[g].parent].funcs += out->item[g].funcs;
    return 0;
}
