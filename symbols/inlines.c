// SPDX-License-Identifier: MIT
//
// The bodies of a unit (inlines.h): one walk over its tree gives every DW_TAG_inlined_subroutine
// with its ranges. Ranges nest as the bodies do, so a look-up searches the last range that begins
// before the address and goes outwards from there.
//
// libdw's own scope search walks over the unit for each address: too slow for every instruction of
// a run.
#include "symbols/inlines.h"

#include <dwarf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/memory.h"
#include "symbols/search.h"

enum { DEEPEST = 256 }; // level of a tree: a damaged one may be endless

#define NONE SIZE_MAX

struct range {
    uint64_t start, end;
    size_t body;
    size_t outer; // the range around it, or NONE
    unsigned depth;
};

_Static_assert(offsetof(struct range, start) == 0, "for search_upper()");

// The scope of a C++ die; sorted, because the walk goes in order of offsets.
struct scope {
    uint64_t die;
    const char *text; // NULL: none
};

_Static_assert(offsetof(struct scope, die) == 0, "for search_upper()");

struct text {
    struct text *next;
    char text[];
};

struct inlines {
    struct symbols_body *body;
    size_t bodies, bodies_room;
    struct range *range;
    size_t ranges, ranges_room;
    // Until all bodies are there:
    size_t *outer; // of each the one around it, or NONE
    size_t outer_room;
    Dwarf_Die *die;
    size_t die_room;
    struct scope *scope;
    size_t scopes, scopes_room;
    struct text *texts;
    bool scoped; // a unit of C++
};

// Room for one element more; false: no memory.
static bool grow(void **array, size_t used, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : 64;
    void *grown;

    if (used < *room)
        return true;
    grown = memory_got(realloc(*array, more * size));
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static uint32_t line_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute attr;
    Dwarf_Word line;

    if (!dwarf_attr_integrate(die, attribute, &attr) || dwarf_formudata(&attr, &line) != 0)
        return 0;
    return (uint32_t)line;
}

// Where control enters the body: what the compiler says, or else its first range's beginning.
static uint64_t entry_of(Dwarf_Die *die, uint64_t first)
{
    Dwarf_Attribute attr;
    Dwarf_Addr at;
    Dwarf_Word offset;

    if (!dwarf_attr(die, DW_AT_entry_pc, &attr))
        return first;
    if (dwarf_formaddr(&attr, &at) == 0)
        return at;
    return dwarf_formudata(&attr, &offset) == 0 ? first + offset : first;
}

static size_t add_body(struct inlines *u, const struct inlines_names *names, Dwarf_Die *die,
                       size_t outer, unsigned depth)
{
    Dwarf_Addr base, start, end, first = 0;
    ptrdiff_t next = 0;
    size_t at = u->bodies;

    if (!grow((void **)&u->outer, at, &u->outer_room, sizeof(*u->outer)) ||
        !grow((void **)&u->die, at, &u->die_room, sizeof(*u->die)) ||
        !grow((void **)&u->body, at, &u->bodies_room, sizeof(*u->body)))
        return outer;
    while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
        // Address 0 is what a linker leaves of a removed section.
        if (start >= end || start == 0 ||
            !grow((void **)&u->range, u->ranges, &u->ranges_room, sizeof(*u->range)))
            continue;
        if (!first)
            first = start;
        u->range[u->ranges++] =
            (struct range){ .start = start, .end = end, .body = at, .depth = depth };
    }
    if (!first)
        return outer;
    u->bodies++;
    u->outer[at] = outer;
    u->die[at] = *die;
    u->body[at] = (struct symbols_body){ .file = names->file(names->ctx, die, DW_AT_decl_file),
                                         .line = line_of(die, DW_AT_decl_line),
                                         .call_file = names->file(names->ctx, die, DW_AT_call_file),
                                         .call_line = line_of(die, DW_AT_call_line),
                                         .entry = entry_of(die, first) };
    return at;
}

static bool may_hold_bodies(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_entry_point:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: // of Rust
    case DW_TAG_variant_part:
    case DW_TAG_variant: return true;
    default: return false;
    }
}

// "scope::name", to live until the walk is over. NULL: no memory, or too long to be true.
static const char *join(struct inlines *u, const char *scope, const char *name)
{
    size_t n = scope ? strlen(scope) : 0, room = n + strlen(name) + 3;
    struct text *t = room < 4096 ? memory_got(malloc(sizeof(*t) + room)) : NULL;

    if (!t)
        return NULL;
    snprintf(t->text, room, "%s%s%s", scope ? scope : "", scope ? "::" : "", name);
    t->next = u->texts;
    u->texts = t;
    return t->text;
}

// The scope of the children of a die that is in `scope`.
static const char *scope_within(struct inlines *u, Dwarf_Die *die, const char *scope)
{
    const char *name = dwarf_diename(die);

    if (!u->scoped)
        return NULL;
    switch (dwarf_tag(die)) {
    case DW_TAG_namespace: return join(u, scope, name ? name : "(anonymous namespace)");
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram: return name ? join(u, scope, name) : scope;
    default: return scope;
    }
}

static void note_scope(struct inlines *u, Dwarf_Die *die, const char *scope)
{
    if (u->scoped && scope &&
        grow((void **)&u->scope, u->scopes, &u->scopes_room, sizeof(*u->scope)))
        u->scope[u->scopes++] = (struct scope){ dwarf_dieoffset(die), scope };
}

// Of the declaration that the body is of, by way of what it is a copy of. NULL: none is known.
static const char *scope_of(const struct inlines *u, Dwarf_Die die)
{
    Dwarf_Attribute attr;
    size_t n;

    for (unsigned i = 0; i < 4; i++)
        if (!(dwarf_attr(&die, DW_AT_abstract_origin, &attr) ||
              dwarf_attr(&die, DW_AT_specification, &attr)) ||
            !dwarf_formref_die(&attr, &die))
            break;
    n = search_upper(u->scope, u->scopes, sizeof(*u->scope), dwarf_dieoffset(&die));
    return n && u->scope[n - 1].die == dwarf_dieoffset(&die) ? u->scope[n - 1].text : NULL;
}

static void walk(struct inlines *u, const struct inlines_names *names, Dwarf_Die *parent,
                 const char *scope, size_t outer, unsigned depth)
{
    Dwarf_Die die;

    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        size_t in = tag == DW_TAG_subprogram ? NONE : outer;

        if (!may_hold_bodies(tag))
            continue;
        if (tag == DW_TAG_inlined_subroutine)
            in = add_body(u, names, &die, outer, depth);
        if (tag == DW_TAG_subprogram)
            note_scope(u, &die, scope);
        walk(u, names, &die, scope_within(u, &die, scope), in, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static int compare_ranges(const void *x, const void *y)
{
    const struct range *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

// An enclosing range begins before a range: it is the last one, or encloses that one.
static void nest(struct inlines *u, const struct inlines_names *names)
{
    if (u->ranges)
        qsort(u->range, u->ranges, sizeof(*u->range), compare_ranges);
    for (size_t i = 0; i < u->ranges; i++) {
        size_t around = i ? i - 1 : NONE;

        while (around != NONE && u->range[around].end <= u->range[i].start)
            around = u->range[around].outer;
        u->range[i].outer = around;
    }
    for (size_t i = 0; i < u->bodies; i++) {
        u->body[i].outer = u->outer[i] == NONE ? NULL : &u->body[u->outer[i]];
        u->body[i].function = names->name(names->ctx, &u->die[i], scope_of(u, u->die[i]));
    }
}

static void end_walk(struct inlines *u)
{
    while (u->texts) {
        struct text *t = u->texts;

        u->texts = t->next;
        free(t);
    }
    free(u->outer);
    free(u->die);
    free(u->scope);
    u->outer = NULL;
    u->die = NULL;
    u->scope = NULL;
}

static bool is_cplusplus(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return true; // and later ones, as compilers say until DWARF 6
    default: return false;
    }
}

struct inlines *inlines_new(Dwarf_Die *unit, const struct inlines_names *names)
{
    struct inlines *u = memory_got(calloc(1, sizeof(*u)));

    if (!u)
        return NULL;
    u->scoped = is_cplusplus(unit);
    walk(u, names, unit, NULL, NONE, 0);
    nest(u, names);
    end_walk(u);
    return u;
}

void inlines_free(struct inlines *u)
{
    if (!u)
        return;
    free(u->body);
    free(u->range);
    free(u);
}

const struct symbols_body *inlines_find(const struct inlines *u, uint64_t address)
{
    size_t n = search_upper(u->range, u->ranges, sizeof(*u->range), address);
    size_t at = n ? n - 1 : NONE;

    while (at != NONE && u->range[at].end <= address)
        at = u->range[at].outer;
    return at == NONE ? NULL : &u->body[u->range[at].body];
}
