// SPDX-License-Identifier: MIT
//
// The members of variables (fields.h). A question is a set of offsets: all from the least to the
// greatest that are a multiple of `step` away from the first. It is followed from the variable's
// type inwards, as long as all of the set is in one member: of an array's elements only the offset
// within the element is left.
//
// Debug information is input: types may contain themselves, be of any size, or lie outside of what
// has them. Each loop has its bound, and what is not certain gets no answer.
#include "symbols/fields.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/moduli.h"
#include "symbols/memory.h"

enum {
    DEEPEST = 256,    // level of a tree
    CHAIN = 64,       // typedefs and qualifiers, and members within members
    STEPS = 1 << 18,  // dies that one question may look at
    SHARING_MAX = 4,  // names of members that share a place
    PATH_MAX_ = 1024, // bytes of an answer
};

#define HUGE_SIZE (UINT64_C(1) << 47) // no object is larger

// ---- Attributes ----

static bool number_of(Dwarf_Die *die, unsigned attribute, uint64_t *out)
{
    Dwarf_Attribute attr;
    Dwarf_Word value;

    if (!dwarf_attr_integrate(die, attribute, &attr) || dwarf_formudata(&attr, &value) != 0 ||
        value >= HUGE_SIZE)
        return false;
    *out = value;
    return true;
}

static bool has(Dwarf_Die *die, unsigned attribute)
{
    return dwarf_hasattr(die, attribute) != 0;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attr;

    return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
}

static bool peel(Dwarf_Die *type)
{
    for (int i = 0; i < CHAIN; i++) {
        switch (dwarf_tag(type)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_shared_type:
        case DW_TAG_packed_type:
        case DW_TAG_immutable_type:
            if (!type_of(type, type))
                return false;
            break;
        default: return true;
        }
    }
    return false;
}

// ---- Sizes ----

// Elements of a dimension; 0: not known.
static uint64_t elements(Dwarf_Die *subrange)
{
    uint64_t count, lower = 0, upper;

    if (number_of(subrange, DW_AT_count, &count))
        return count;
    number_of(subrange, DW_AT_lower_bound, &lower); // of C and its like 0
    if (!number_of(subrange, DW_AT_upper_bound, &upper) || upper < lower)
        return 0;
    return upper - lower + 1;
}

struct array {
    Dwarf_Die element;
    uint64_t stride, count; // count 0: not known
    unsigned dimensions;
};

static bool size_of(Dwarf_Die type, uint64_t *size, int depth);

// False: no array whose elements lie one behind the other.
static bool array_of(Dwarf_Die *type, struct array *a, int depth)
{
    Dwarf_Die die;

    *a = (struct array){ .count = 1 };
    if (dwarf_tag(type) != DW_TAG_array_type || has(type, DW_AT_GNU_vector) ||
        has(type, DW_AT_byte_stride) || has(type, DW_AT_bit_stride) ||
        !type_of(type, &a->element) || !size_of(a->element, &a->stride, depth) || !a->stride ||
        dwarf_child(type, &die) != 0)
        return false;
    do {
        uint64_t n;

        if (dwarf_tag(&die) != DW_TAG_subrange_type && dwarf_tag(&die) != DW_TAG_enumeration_type)
            continue;
        if (has(&die, DW_AT_byte_stride) || has(&die, DW_AT_bit_stride) || ++a->dimensions > 16)
            return false;
        n = elements(&die);
        if (__builtin_mul_overflow(a->count, n, &a->count) || a->count >= HUGE_SIZE / a->stride)
            return false;
    } while (dwarf_siblingof(&die, &die) == 0);
    return a->dimensions != 0;
}

static bool size_of(Dwarf_Die type, uint64_t *size, int depth)
{
    struct array a;

    if (depth > CHAIN || !peel(&type))
        return false;
    if (number_of(&type, DW_AT_byte_size, size))
        return true;
    switch (dwarf_tag(&type)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: *size = 8; return true;
    case DW_TAG_array_type:
        if (!array_of(&type, &a, depth + 1))
            return false;
        *size = a.stride * a.count;
        return true;
    default: return false;
    }
}

// ---- A question ----

struct search {
    uint64_t low, high, step; // offsets within `type`
    uint64_t offset;          // of `type` in the first variable
    uint64_t size;            // that `type` has there
    Dwarf_Die type, declared; // declared: the member or variable that has the type
    bool whole;               // several members
    bool numbered;            // of symbols_field
    const uint64_t *words;    // of symbols_field, until an element is entered
    int steps;                // that are left
    char path[PATH_MAX_];
    size_t length;
    bool in_base; // a name of a base class, and "::", are at its end
};

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

// False: it does not fit.
static bool append(struct search *s, const char *text)
{
    size_t n = strlen(text);

    if (n >= sizeof(s->path) - s->length)
        return false;
    memcpy(s->path + s->length, text, n + 1);
    s->length += n;
    return true;
}

// Whether an offset of the set is in [start, start + size).
static bool meets(const struct search *s, uint64_t start, uint64_t size)
{
    uint64_t at = s->low;

    if (at < start && s->step)
        at += (start - at + s->step - 1) / s->step * s->step;
    return at >= start && at <= s->high && at - start < size;
}

// Whether all of them are.
static bool holds(const struct search *s, uint64_t start, uint64_t size)
{
    return s->low >= start && s->high - start < size;
}

struct member {
    Dwarf_Die die, type;
    uint64_t start, size;
    bool base, bits;
};

enum found { MEMBER_NONE, MEMBER_FOUND, MEMBER_UNKNOWN };

// The bits of a bit field, as bytes: first those of DWARF 4 and 5, then the older form, which
// counts from the most significant bit of what holds it.
static bool bits_of(struct member *m)
{
    uint64_t bits, first, holder, from;

    if (!number_of(&m->die, DW_AT_bit_size, &bits) || !bits)
        return false;
    if (!number_of(&m->die, DW_AT_data_bit_offset, &first)) {
        if (!number_of(&m->die, DW_AT_bit_offset, &from))
            return false;
        if (!number_of(&m->die, DW_AT_byte_size, &holder))
            holder = m->size;
        if (from + bits > holder * 8)
            return false;
        first = m->start * 8 + holder * 8 - from - bits;
    }
    m->start = first / 8;
    m->size = (first + bits - 1) / 8 + 1 - m->start;
    return true;
}

static bool is_open_array(Dwarf_Die type)
{
    struct array a;

    return peel(&type) && array_of(&type, &a, 0) && !a.count;
}

// Of a child of a type, within `limit` bytes.
static enum found member_of(Dwarf_Die *die, struct member *m, uint64_t limit)
{
    int tag = dwarf_tag(die);

    *m = (struct member){ .die = *die, .base = tag == DW_TAG_inheritance };
    if ((tag != DW_TAG_member && !m->base) || has(die, DW_AT_external) ||
        has(die, DW_AT_declaration))
        return MEMBER_NONE;
    if (!type_of(die, &m->type))
        return MEMBER_UNKNOWN;
    if (has(die, DW_AT_data_member_location) &&
        !number_of(die, DW_AT_data_member_location, &m->start))
        return MEMBER_UNKNOWN; // a virtual base
    if (!size_of(m->type, &m->size, 0))
        return MEMBER_UNKNOWN;
    m->bits = has(die, DW_AT_bit_size);
    if (m->bits && !bits_of(m))
        return MEMBER_UNKNOWN;
    if (!m->size && m->start < limit && is_open_array(m->type))
        m->size = limit - m->start; // it takes the rest
    return m->start <= limit && m->size <= limit - m->start ? MEMBER_FOUND : MEMBER_UNKNOWN;
}

// "{a|b}": members that share the place.
static bool append_sharing(struct search *s)
{
    Dwarf_Die die;
    struct member m;
    int n = 0;

    if (dwarf_child(&s->type, &die) != 0 || !append(s, s->in_base ? "{" : ".{"))
        return false;
    do {
        const char *name = dwarf_diename(&die);

        if (member_of(&die, &m, s->size) != MEMBER_FOUND || !meets(s, m.start, m.size))
            continue;
        if (n && !append(s, "|"))
            return false;
        if (n++ == SHARING_MAX) {
            if (!append(s, "..."))
                return false;
            break;
        }
        if (!append(s, name ? name : m.base ? "base" : "unnamed"))
            return false;
    } while (dwarf_siblingof(&die, &die) == 0);
    return append(s, "}");
}

static void enter(struct search *s, uint64_t start, uint64_t size, const Dwarf_Die *type)
{
    s->low -= start;
    s->high -= start;
    s->offset += start;
    s->size = size;
    s->type = *type;
}

static bool enter_member(struct search *s, const struct member *m)
{
    Dwarf_Die die = m->die, base = m->type;
    const char *name = dwarf_diename(m->base ? (peel(&base), &base) : &die);

    if (m->base) {
        if (name && (!append(s, s->in_base ? "" : ".") || !append(s, name) || !append(s, "::")))
            return false;
        s->in_base |= name != NULL;
    } else if (name) {
        if (!append(s, s->in_base ? "" : ".") || !append(s, name))
            return false;
        s->in_base = false;
    }
    if (!m->base)
        s->declared = m->die;
    enter(s, m->start, m->size, &m->type);
    return true;
}

enum next { SEARCH_GOES_ON, SEARCH_ENDS, SEARCH_FAILS };

static enum next stop_at_padding(struct search *s, bool several)
{
    if (several || s->low != s->high) {
        s->whole = true;
        return SEARCH_ENDS;
    }
    s->offset += s->low;
    return append(s, s->in_base ? "(padding)" : ".(padding)") ? SEARCH_ENDS : SEARCH_FAILS;
}

static enum next search_members(struct search *s)
{
    struct member m, only = { .size = 0 };
    bool unknown = false;
    Dwarf_Die die;
    int n = 0;

    if (has(&s->type, DW_AT_declaration) || dwarf_child(&s->type, &die) != 0)
        return SEARCH_ENDS;
    do {
        if (--s->steps < 0)
            return SEARCH_FAILS;
        switch (member_of(&die, &m, s->size)) {
        case MEMBER_NONE: continue;
        case MEMBER_UNKNOWN: unknown = true; continue;
        case MEMBER_FOUND: break;
        }
        if (!meets(s, m.start, m.size))
            continue;
        if (!n++)
            only = m;
    } while (dwarf_siblingof(&die, &die) == 0);
    if (n == 1 && holds(s, only.start, only.size))
        return !enter_member(s, &only) ? SEARCH_FAILS : only.bits ? SEARCH_ENDS : SEARCH_GOES_ON;
    if (unknown) {
        s->whole = true;
        return SEARCH_ENDS;
    }
    if (n < 2)
        return stop_at_padding(s, n == 1);
    if (s->low == s->high) {
        if (!append_sharing(s))
            return SEARCH_FAILS;
        s->offset += s->low;
        return SEARCH_ENDS;
    }
    s->whole = true;
    return SEARCH_ENDS;
}

// By the remainders of words: if the size of an element divides one of their moduli.
static bool enter_by_words(struct search *s, uint64_t stride)
{
#define MODULUS(i, modulus) [i] = (modulus),
    static const unsigned moduli[MODULI_COUNT] = { MODULI(MODULUS) };
#undef MODULUS
    uint64_t low = stride, high = 0, step = 0;
    size_t k = 0;

    while (k < MODULI_COUNT && moduli[k] * 4 % stride)
        k++;
    if (!s->words || s->step % 4 || k == MODULI_COUNT)
        return false;
    for (unsigned word = 0; word < moduli[k]; word++) {
        // The array begins at s->offset, where the set's offsets begin to count.
        uint64_t at = (word * 4 + (s->low + s->offset) % 4 + stride - s->offset % stride) % stride;

        if (!(s->words[k] >> word & 1))
            continue;
        step = low < stride ? divisor(at > low ? at - low : low - at, step) : 0;
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    if (low > high)
        return false;
    s->low = low;
    s->high = high;
    s->step = step;
    return true;
}

// The offsets within an element that the set may have.
static void enter_element(struct search *s, uint64_t stride, const Dwarf_Die *type)
{
    uint64_t index = s->low / stride, apart;

    if (s->high / stride == index) {
        s->low -= index * stride;
        s->high -= index * stride;
    } else if (s->step && s->step % stride == 0) {
        s->low = s->high = s->low % stride;
        s->step = 0;
    } else if (!enter_by_words(s, stride)) {
        apart = divisor(stride, s->step);
        s->low %= apart;
        s->high = stride - apart + s->low;
        s->step = apart;
    }
    s->words = NULL;
    enter(s, 0, stride, type);
}

static bool append_elements(struct search *s, uint64_t stride, unsigned dimensions)
{
    char text[24];

    if (s->numbered && dimensions == 1 && stride && s->low / stride == s->high / stride) {
        snprintf(text, sizeof(text), "[%llu]", (unsigned long long)(s->low / stride));
        return append(s, text);
    }
    for (unsigned i = 0; i < dimensions; i++)
        if (!append(s, "[]"))
            return false;
    return true;
}

static enum next search_elements(struct search *s)
{
    struct array a;

    if (!array_of(&s->type, &a, 0))
        return SEARCH_ENDS;
    if (a.count && s->high >= a.stride * a.count)
        return SEARCH_FAILS;
    if (!append_elements(s, a.stride, a.dimensions))
        return SEARCH_FAILS;
    s->in_base = false;
    enter_element(s, a.stride, &a.element);
    return SEARCH_GOES_ON;
}

static enum next search_in(struct search *s)
{
    if (!peel(&s->type) || s->high >= s->size)
        return SEARCH_FAILS;
    switch (dwarf_tag(&s->type)) {
    case DW_TAG_array_type: return search_elements(s);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type: return search_members(s);
    default: return SEARCH_ENDS;
    }
}

static uint32_t line_of(Dwarf_Die *die)
{
    uint64_t line;

    return number_of(die, DW_AT_decl_line, &line) && line <= UINT32_MAX ? (uint32_t)line : 0;
}

// A base class at the end: all of it.
static void end_path(struct search *s)
{
    if (s->in_base && s->length > 2 && strcmp(s->path + s->length - 2, "::") == 0)
        s->path[s->length -= 2] = '\0';
}

static struct search begin(const struct symbols_field *q, const Dwarf_Die *declared,
                           const Dwarf_Die *type, uint64_t size)
{
    return (struct search){ .words = q->words,
                            .numbered = q->numbered,
                            .low = q->low,
                            .high = q->high,
                            .step = q->step,
                            .size = size,
                            .type = *type,
                            .declared = *declared,
                            .steps = STEPS };
}

// Follows the set from the type of s, which s->declared has.
static void answer(const struct fields *f, struct symbols_field *q, struct search *s)
{
    enum next next = SEARCH_GOES_ON;

    for (int i = 0; i < CHAIN && next == SEARCH_GOES_ON; i++)
        next = search_in(s);
    if (next != SEARCH_ENDS)
        return;
    end_path(s);
    q->path = memory_got(strdup(s->path));
    q->offset = s->offset;
    q->whole = s->whole;
    q->file = f->file(f->ctx, &s->declared, DW_AT_decl_file);
    q->line = line_of(&s->declared);
}

// ---- Variables ----

// Where a variable is; *local: from the beginning of the thread-local variables of its module.
static bool place_of(Dwarf_Die *die, uint64_t *start, bool *local)
{
    Dwarf_Attribute attr, of;
    Dwarf_Addr addr;
    Dwarf_Op *op;
    size_t n;

    if (!dwarf_attr_integrate(die, DW_AT_location, &attr) ||
        dwarf_getlocation(&attr, &op, &n) != 0 || !n || n > 2)
        return false;
    *local = n == 2;
    if (*local && op[1].atom != DW_OP_form_tls_address && op[1].atom != DW_OP_GNU_push_tls_address)
        return false;
    switch (op[0].atom) {
    case DW_OP_addr:
    case DW_OP_const4u:
    case DW_OP_const8u: *start = op[0].number; break;
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index:
        if (dwarf_getlocation_attr(&attr, op, &of) != 0 || dwarf_formaddr(&of, &addr) != 0)
            return false;
        *start = addr;
        break;
    default: return false;
    }
    return *local == (op[0].atom != DW_OP_addr && op[0].atom != DW_OP_addrx &&
                      op[0].atom != DW_OP_GNU_addr_index);
}

static int compare(const struct symbols_field *q, uint64_t start, bool local)
{
    if (q->local != local)
        return q->local < local ? -1 : 1;
    return q->start < start ? -1 : q->start > start;
}

// The first question about what begins there; f->count: there is none.
static size_t first_of(const struct fields *f, uint64_t start, bool local)
{
    size_t lo = 0, hi = f->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (compare(&f->field[mid], start, local) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->count && compare(&f->field[lo], start, local) == 0 ? lo : f->count;
}

bool fields_is_open(Dwarf_Die type)
{
    Dwarf_Die die, last = { 0 };
    bool any = false;

    if (!peel(&type) || dwarf_tag(&type) == DW_TAG_array_type || dwarf_child(&type, &die) != 0)
        return false;
    do {
        if (dwarf_tag(&die) == DW_TAG_member && !has(&die, DW_AT_external)) {
            last = die;
            any = true;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return any && type_of(&last, &die) && is_open_array(die);
}

// A symbol may be larger than its type only by an array without a bound at its end.
static bool is_as_large(Dwarf_Die type, uint64_t size)
{
    uint64_t bytes;

    if (!size_of(type, &bytes, 0))
        return false;
    return bytes == size || (!bytes && is_open_array(type)) ||
           (bytes < size && fields_is_open(type));
}

static void variable(struct fields *f, Dwarf_Die *die)
{
    const char *name;
    uint64_t start;
    uint32_t file, line;
    Dwarf_Die type;
    struct search s;
    bool local;
    size_t i;

    if (!place_of(die, &start, &local))
        return;
    i = first_of(f, start, local);
    if (i == f->count || f->field[i].asked)
        return;
    name = dwarf_diename(die);
    if (!name || !type_of(die, &type) || !is_as_large(type, f->field[i].size))
        return;
    file = f->file(f->ctx, die, DW_AT_decl_file);
    line = line_of(die);
    for (; i < f->count && compare(&f->field[i], start, local) == 0; i++) {
        f->field[i].asked = true;
        f->field[i].own_file = file;
        f->field[i].own_line = line;
        f->open--;
        f->open_inner -= f->field[i].inner;
        s = begin(&f->field[i], die, &type, f->field[i].size);
        if (append(&s, name))
            answer(f, &f->field[i], &s);
    }
}

static void walk(struct fields *f, Dwarf_Die *parent, bool deep, unsigned depth)
{
    Dwarf_Die die;

    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable: variable(f, &die); break;
        case DW_TAG_namespace:
        case DW_TAG_module: walk(f, &die, deep, depth + 1); break;
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            if (deep)
                walk(f, &die, deep, depth + 1);
            break;
        default: break;
        }
    } while ((deep ? f->open_inner : f->open) && dwarf_siblingof(&die, &die) == 0);
}

void fields_unit(struct fields *f, Dwarf_Die *unit, bool deep)
{
    walk(f, unit, deep, 0);
}

// ---- Blocks ----

void fields_block(const struct fields *f, struct symbols_field *q, const char *name,
                  const Dwarf_Die *type, uint64_t least, uint64_t most)
{
    struct search s = begin(q, type, type, most);
    uint64_t size;

    if (!size_of(*type, &size, 0) || !size || !append(&s, name))
        return;
    if (least != most || (size != most && !fields_is_open(*type))) {
        if (!append_elements(&s, size, 1))
            return;
        enter_element(&s, size, type);
    }
    answer(f, q, &s);
}

bool fields_peel(Dwarf_Die *type)
{
    return peel(type);
}

bool fields_size(Dwarf_Die type, uint64_t *size)
{
    return size_of(type, size, 0);
}

bool fields_element(Dwarf_Die *array, Dwarf_Die *element)
{
    struct array a;

    if (!array_of(array, &a, 0) || a.dimensions != 1)
        return false;
    *element = a.element;
    return peel(element);
}
