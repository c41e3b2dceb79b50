// SPDX-License-Identifier: MIT
//
// Types of allocated blocks (blocktype.h). Three ways, and each must agree with the sizes of all
// blocks of the call:
//
//     T *p = malloc(n);  a->list[i] = calloc(n, m);   the type of what is assigned, in scope there
//     new T(...)                                      T, a name that the unit has once
//     new_allocator<T>::allocate() of the C++ library   its template argument
//
// The first two are read in the source line of the call. Without the source a variable that is
// declared in that line, and is the only pointer there, says the same.
#include "symbols/blocktype.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/fields.h"

enum { NAME = 128, DEEPEST = 64, DIES = 1 << 18 };

struct name {
    char text[NAME];
};

// ---- Text ----

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

// The only place of the word; NULL: there is none, or more than one.
static const char *only_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    const char *found = NULL;

    for (const char *s = strstr(text, word); s; s = strstr(s + n, word)) {
        if ((s > text && is_word(s[-1])) || is_word(s[n]))
            continue;
        if (found)
            return NULL;
        found = s;
    }
    return found;
}

// Takes a name at *s. False: there is none, or it is too long.
static bool take_name(const char **s, struct name *out)
{
    size_t n = 0;

    while (is_word((*s)[n]))
        n++;
    if (!n || n >= NAME || isdigit((unsigned char)**s))
        return false;
    memcpy(out->text, *s, n);
    out->text[n] = '\0';
    *s += n;
    return true;
}

// What is before `at`, without blanks at its end.
static const char *trimmed(const char *text, const char *at)
{
    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return at;
}

// Before a call: behind the "=" that assigns its result, or NULL. Casts are passed over.
static const char *assigned(const char *text, const char *call)
{
    const char *at = trimmed(text, call);

    if (at > text && at[-1] == '(') { // of "static_cast<T *>("
        const char *open = trimmed(text, at - 1);

        if (open == text || open[-1] != '>')
            return NULL;
        while (open > text && *open != '<')
            open--;
        at = open - 5; // "_cast"
        if (at < text || strncmp(at, "_cast", 5) != 0)
            return NULL;
        while (at > text && is_word(at[-1]))
            at--;
        at = trimmed(text, at);
    } else if (at > text && at[-1] == ')') {
        while (at > text && *at != '(')
            at--;
        if (memchr(at, '(', (size_t)(call - at)) != at || !strchr(at, '*'))
            return NULL;
        at = trimmed(text, at);
    }
    if (at == text || at[-1] != '=' || (at - 1 > text && strchr("=!<>+-*/%&|^", at[-2])))
        return NULL;
    return at - 1;
}

// The call of an allocator in C whose result is assigned as it is. NULL: none, or several.
static const char *assignment(const char *text)
{
    static const char *const names[] = { "malloc", "calloc",        "realloc",  "reallocarray",
                                         "valloc", "aligned_alloc", "memalign", "pvalloc" };
    const char *call = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *at = only_word(text, names[i]);

        if (!at && !strstr(text, names[i]))
            continue;
        if (!at)
            continue; // within another word, or twice: looked at below
        if (*skip_blanks(at + strlen(names[i])) != '(' || call)
            return NULL;
        call = at;
    }
    return call ? assigned(text, call) : NULL;
}

// ---- Types ----

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attr;

    return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type) &&
           fields_peel(type);
}

// What a pointer points to, as it is declared. False: it is no pointer.
static bool target_of(Dwarf_Die *pointer, Dwarf_Die *target)
{
    Dwarf_Attribute attr;

    return dwarf_tag(pointer) == DW_TAG_pointer_type && dwarf_attr(pointer, DW_AT_type, &attr) &&
           dwarf_formref_die(&attr, target);
}

static bool member_named(Dwarf_Die *type, const char *name, Dwarf_Die *out, int depth)
{
    Dwarf_Die die, inner;

    if (depth > 8 || dwarf_child(type, &die) != 0)
        return false;
    do {
        const char *own = dwarf_diename(&die);

        if (dwarf_tag(&die) != DW_TAG_member)
            continue;
        if (own && strcmp(own, name) == 0)
            return type_of(&die, out);
        if (!own && type_of(&die, &inner) && member_named(&inner, name, out, depth + 1))
            return true;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

// A variable of that name, in the innermost of the scopes that has one.
static bool variable_named(Dwarf_Die *scopes, int n, const char *name, Dwarf_Die *out)
{
    for (int i = 0; i < n; i++) {
        Dwarf_Die die;

        if (dwarf_child(&scopes[i], &die) != 0)
            continue;
        do {
            int tag = dwarf_tag(&die);
            const char *own = tag == DW_TAG_variable || tag == DW_TAG_formal_parameter
                                  ? dwarf_diename(&die)
                                  : NULL;

            if (own && strcmp(own, name) == 0) {
                *out = die;
                return true;
            }
        } while (dwarf_siblingof(&die, &die) == 0);
    }
    return false;
}

// Behind "[...]"; NULL: it does not end.
static const char *behind_index(const char *s)
{
    int depth = 0;

    for (; *s; s++) {
        depth += *s == '[';
        depth -= *s == ']';
        if (!depth)
            return s + 1;
    }
    return NULL;
}

// Takes the type on through "[i]", "->member", ".member" up to `end`.
static bool follow(const char *s, const char *end, Dwarf_Die *type)
{
    struct name member;

    for (s = skip_blanks(s); s < end; s = skip_blanks(s)) {
        bool arrow = s[0] == '-' && s[1] == '>';

        if (*s == '[') {
            if (!fields_element(type, type) && !(target_of(type, type) && fields_peel(type)))
                return false;
            s = behind_index(s);
            if (!s)
                return false;
            continue;
        }
        if (!arrow && *s != '.')
            return false;
        if (arrow && !(target_of(type, type) && fields_peel(type)))
            return false;
        s = skip_blanks(s + 1 + arrow);
        if (!take_name(&s, &member) || !member_named(type, member.text, type, 0))
            return false;
    }
    return true;
}

// Where what is assigned at `equals` begins: behind what cannot be a part of it.
static const char *begin_of(const char *text, const char *equals)
{
    const char *s = equals;
    int depth = 0;

    while (s > text) {
        char c = s[-1];

        if (c == ']')
            depth++;
        else if (c == '[')
            depth--;
        if (depth < 0 || (!depth && strchr(";{}(),!?:&|<=+", c)))
            break;
        if (!depth && c == '>' && !(s - 1 > text && s[-2] == '-'))
            break;
        s--;
    }
    return depth == 0 ? s : NULL;
}

static bool declared_in(Dwarf_Die *variable, uint32_t line)
{
    int own;

    return dwarf_decl_line(variable, &own) == 0 && (uint32_t)own == line;
}

// The type of what is left of the "=": of a declaration its last word, else an expression.
static bool type_assigned(Dwarf_Die *scopes, int n, const char *text, const char *equals,
                          uint32_t line, Dwarf_Die *type)
{
    const char *s = begin_of(text, equals), *end = trimmed(text, equals), *last = end;
    Dwarf_Die variable;
    struct name root;

    if (!s)
        return false;
    s = skip_blanks(s);
    while (last > s && is_word(last[-1]))
        last--;
    if (last > s && (isspace((unsigned char)last[-1]) || last[-1] == '*') && last < end) {
        // "T *p": a declaration, or "*p", which is not followed
        return take_name(&last, &root) && last == end &&
               variable_named(scopes, n, root.text, &variable) && declared_in(&variable, line) &&
               type_of(&variable, type);
    }
    return take_name(&s, &root) && variable_named(scopes, n, root.text, &variable) &&
           type_of(&variable, type) && follow(s, end, type);
}

// Without the source: the only variable of a pointer's type that is declared in the line.
static bool type_declared(Dwarf_Die *scopes, int n, uint32_t line, Dwarf_Die *type)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        Dwarf_Die die, own;

        if (dwarf_child(&scopes[i], &die) != 0)
            continue;
        do {
            if (dwarf_tag(&die) != DW_TAG_variable || !declared_in(&die, line))
                continue;
            if (found++ || !type_of(&die, &own))
                return false;
            *type = own;
        } while (dwarf_siblingof(&die, &die) == 0);
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram ||
            dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
            break;
    }
    return found == 1;
}

// ---- Names of C++ ----

struct lookup {
    const char *name;
    Dwarf_Die found;
    int count, left;
};

static void look_up(struct lookup *l, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;

    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        const char *own;

        if (--l->left < 0)
            return;
        switch (dwarf_tag(&die)) {
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_typedef:
        case DW_TAG_base_type:
        case DW_TAG_enumeration_type:
            own = dwarf_diename(&die);
            if (own && strcmp(own, l->name) == 0 && !dwarf_hasattr(&die, DW_AT_declaration)) {
                l->found = die;
                l->count++;
            }
            look_up(l, &die, depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block: look_up(l, &die, depth + 1); break;
        default: break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

// The name behind the only `new` of a line, its last part: "ns::Node" is "Node". *many: "new T[n]".
static bool new_name(const char *text, struct name *out, bool *many)
{
    const char *s = only_word(text, "new");

    if (!s)
        return false;
    for (s = skip_blanks(s + 3); take_name(&s, out); s += 2)
        if (s[0] != ':' || s[1] != ':') {
            s = skip_blanks(s);
            *many = *s == '[';
            return !*s || strchr("({[;,)", *s);
        }
    return false;
}

static bool type_new(Dwarf_Die *unit, const char *text, Dwarf_Die *type, bool *many)
{
    struct name name;
    struct lookup l = { .name = name.text, .left = DIES };

    if (!new_name(text, &name, many))
        return false;
    look_up(&l, unit, 0);
    *type = l.found;
    return l.count == 1 && l.left >= 0;
}

// The declaration of a function that was inlined, or is defined elsewhere.
static Dwarf_Die declaration_of(Dwarf_Die die)
{
    Dwarf_Attribute attr;

    for (int i = 0; i < 4; i++)
        if (!(dwarf_attr(&die, DW_AT_abstract_origin, &attr) ||
              dwarf_attr(&die, DW_AT_specification, &attr)) ||
            !dwarf_formref_die(&attr, &die))
            break;
    return die;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

// The type that new_allocator<T>::allocate() allocates.
static bool type_of_allocator(Dwarf_Die *function, Dwarf_Die *type)
{
    Dwarf_Die declared = declaration_of(*function), *parents = NULL, die;
    const char *name = dwarf_diename(&declared), *class;
    Dwarf_Attribute attr;
    bool found = false;
    int n;

    if (!name || strcmp(name, "allocate") != 0)
        return false;
    n = dwarf_getscopes_die(&declared, &parents);
    class = n > 1 ? dwarf_diename(&parents[1]) : NULL;
    if (class &&
        (begins(class, "new_allocator<") || begins(class, "__new_allocator<") ||
         begins(class, "allocator<")) &&
        dwarf_child(&parents[1], &die) == 0)
        do {
            found = dwarf_tag(&die) == DW_TAG_template_type_parameter &&
                    dwarf_attr(&die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
        } while (!found && dwarf_siblingof(&die, &die) == 0);
    free(parents);
    return found;
}

// ---- All ----

static bool is_function(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_subprogram || dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

// Whether all blocks may be one of the type (many: or several).
static bool fits(Dwarf_Die type, const struct symbols_block *b, bool many)
{
    uint64_t size;

    if (!fields_size(type, &size) || size < 2)
        return false; // of bytes the offsets say more
    if (fields_is_open(type))
        return b->least >= size && b->least == b->most;
    return many ? b->least % size == 0 && b->most % size == 0 && b->least
                : b->least == size && b->most == size;
}

static bool find_in(Dwarf_Die *unit, Dwarf_Die *scopes, int n, const struct symbols_block *b,
                    Dwarf_Die *type)
{
    const char *equals = b->text ? assignment(b->text) : NULL;
    Dwarf_Die pointer;
    bool many;

    for (int i = 0; i < n; i++)
        if (is_function(&scopes[i])) {
            if (type_of_allocator(&scopes[i], type))
                return fits(*type, b, true);
            break;
        }
    if (b->text && only_word(b->text, "new"))
        return type_new(unit, b->text, type, &many) && fits(*type, b, many);
    if (b->text && !equals)
        return false;
    return (b->text ? type_assigned(scopes, n, b->text, equals, b->line, &pointer)
                    : type_declared(scopes, n, b->line, &pointer)) &&
           target_of(&pointer, type) && fits(*type, b, true);
}

bool blocktype_find(Dwarf_Die *unit, const struct symbols_block *b, struct blocktype *out)
{
    Dwarf_Die *scopes = NULL, peeled;
    int n = dwarf_getscopes(unit, b->site, &scopes);
    bool found = n > 0 && find_in(unit, scopes, n, b, &out->type);
    const char *name;

    free(scopes);
    if (!found)
        return false;
    // The first name on the way to the type; what has none is called by its kind.
    name = dwarf_diename(&out->type);
    peeled = out->type;
    if (!name && fields_peel(&peeled))
        name = dwarf_diename(&peeled);
    snprintf(out->name, sizeof(out->name), "%s", name ? name : "(unnamed)");
    return true;
}
