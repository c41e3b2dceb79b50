// SPDX-License-Identifier: MIT
//
// A formula becomes a list of operations for a stack: a recursive descent, in which a name of a
// derived event is replaced by that event's operations. Speed does not matter here: values are
// computed only for the visible rows and for sorting.
#include "report/core/formula.h"

#include "report/core/column.h"
#include "report/core/heap.h"

enum op { OP_EVENT, OP_NUMBER, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX, OP_NEG };

enum {
    NANO = 1000000000,
    DEPTH = 64,      // of the stack, and of parentheses
    OPS_MAX = 65536, // derived events of derived events may double in length each time
};

struct step {
    enum op op;
    uint32_t need;  // OP_EVENT: place in `need`
    int64_t number; // OP_NUMBER: in 10^-9
};

struct formula {
    struct step *step;
    size_t steps, step_cap;
    uint32_t *need; // counted events
    int64_t *need_scale;
    size_t needs, need_cap;
    core_count *counts; // by need: the input of the computation
    int64_t scale;
    bool ratio;
};

struct parser {
    const struct core *c;
    struct formula *f;
    uint32_t before;
    const uint8_t *text;
    size_t size, at;
    unsigned open;  // parentheses
    unsigned depth; // of the stack
    bool bad, memory;
};

// ---- From text to operations ----

static bool push(struct parser *p, struct step s)
{
    struct formula *f = p->f;

    if (f->steps >= OPS_MAX)
        return p->bad = true, false;
    if (!heap_room(f->step, f->steps, f->step_cap))
        return p->bad = p->memory = true, false;
    f->step[f->steps++] = s;
    if (s.op <= OP_NUMBER)
        p->depth++;
    else if (s.op != OP_NEG)
        p->depth--;
    if (p->depth > DEPTH)
        p->bad = true;
    return !p->bad;
}

static bool push_need(struct parser *p, uint32_t event)
{
    struct formula *f = p->f;
    size_t i = 0, cap = f->need_cap;

    while (i < f->needs && f->need[i] != event)
        i++;
    if (i == f->needs) {
        if (!heap_room(f->need, f->needs, f->need_cap) || !heap_room(f->need_scale, f->needs, cap))
            return p->bad = p->memory = true, false;
        f->need_scale[f->needs] = p->c->event[event].scale;
        f->need[f->needs++] = event;
    }
    return push(p, (struct step){ .op = OP_EVENT, .need = (uint32_t)i });
}

static bool push_event(struct parser *p, uint32_t event)
{
    const struct event *e = &p->c->event[event];

    if (event < p->c->events)
        return push_need(p, event);
    if (!e->made)
        return p->bad = true, false;
    for (size_t i = 0; i < e->made->steps; i++) {
        struct step s = e->made->step[i];
        if (!(s.op == OP_EVENT ? push_need(p, e->made->need[s.need]) : push(p, s)))
            return false;
    }
    return true;
}

static void blanks(struct parser *p)
{
    while (p->at < p->size && (p->text[p->at] == ' ' || p->text[p->at] == '\t'))
        p->at++;
}

static int peek(struct parser *p)
{
    blanks(p);
    return p->at < p->size ? p->text[p->at] : -1;
}

static bool take(struct parser *p, int byte)
{
    if (peek(p) != byte)
        return false;
    p->at++;
    return true;
}

static bool is_name(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 128;
}

static bool starts(const struct parser *p, struct text name)
{
    return name.size > 0 && name.size <= p->size - p->at &&
           __builtin_memcmp(p->text + p->at, name.at, name.size) == 0;
}

// The event whose name is here, the longest one: names may contain operators. A name that a letter
// or digit follows is part of another name.
static uint32_t name_here(struct parser *p)
{
    uint32_t best = CORE_NONE;
    size_t size = 0;

    blanks(p);
    for (uint32_t i = 0; i < p->c->event_count; i++) {
        struct text name = p->c->event[i].name;
        if ((i >= p->c->events && i >= p->before) || name.size <= size || !starts(p, name))
            continue;
        if (p->at + name.size < p->size && is_name(p->text[p->at + name.size]))
            continue;
        best = i;
        size = name.size;
    }
    p->at += size;
    return best;
}

static bool number(struct parser *p)
{
    core_count v = 0;
    int64_t unit = NANO;
    size_t digits = 0;

    for (; p->at < p->size && p->text[p->at] >= '0' && p->text[p->at] <= '9'; p->at++, digits++)
        if ((v = v * 10 + (p->text[p->at] - '0')) > INT64_MAX / NANO)
            return p->bad = true, false;
    v *= NANO;
    if (p->at < p->size && p->text[p->at] == '.')
        for (p->at++; p->at < p->size && p->text[p->at] >= '0' && p->text[p->at] <= '9'; p->at++) {
            digits++;
            unit /= 10; // digits behind the ninth are lost
            v += (p->text[p->at] - '0') * unit;
        }
    if (digits == 0)
        return p->bad = true, false;
    if (v % NANO != 0)
        p->f->scale = NANO;
    return push(p, (struct step){ .op = OP_NUMBER, .number = (int64_t)v });
}

static bool sum(struct parser *p);

static bool call(struct parser *p, enum op op)
{
    bool ok = take(p, '(') && sum(p);

    while (ok && take(p, ','))
        ok = sum(p) && push(p, (struct step){ .op = op });
    return ok && take(p, ')');
}

static bool word(struct parser *p, const char *w)
{
    blanks(p);
    size_t at = p->at;

    if (!starts(p, (struct text){ (const uint8_t *)w, 3 }))
        return false;
    p->at += 3;
    if (peek(p) == '(')
        return true;
    p->at = at;
    return false;
}

static bool factor(struct parser *p)
{
    int byte = peek(p);

    if (++p->open > DEPTH)
        return p->bad = true, false;
    bool ok = false;
    uint32_t event;
    if ((event = name_here(p)) != CORE_NONE) {
        ok = push_event(p, event);
    } else if (byte == '(') {
        p->at++;
        ok = sum(p) && take(p, ')');
    } else if (byte == '-') {
        p->at++;
        ok = factor(p) && push(p, (struct step){ .op = OP_NEG });
    } else if (word(p, "min")) {
        ok = call(p, OP_MIN);
    } else if (word(p, "max")) {
        ok = call(p, OP_MAX);
    } else if ((byte >= '0' && byte <= '9') || byte == '.') {
        ok = number(p);
        byte = ok ? peek(p) : -1;
        // "10 L1m", "2(A + B)"
        if (ok && (byte == '(' || is_name(byte)) && !(byte >= '0' && byte <= '9'))
            ok = factor(p) && push(p, (struct step){ .op = OP_MUL });
    }
    p->open--;
    return ok;
}

static bool product(struct parser *p)
{
    bool ok = factor(p);

    while (ok) {
        if (take(p, '*'))
            ok = factor(p) && push(p, (struct step){ .op = OP_MUL });
        else if (take(p, '/'))
            ok = factor(p) && push(p, (struct step){ .op = OP_DIV });
        else
            break;
    }
    return ok;
}

static bool sum(struct parser *p)
{
    bool ok = product(p);

    while (ok) {
        if (take(p, '+'))
            ok = product(p) && push(p, (struct step){ .op = OP_ADD });
        else if (take(p, '-'))
            ok = product(p) && push(p, (struct step){ .op = OP_SUB });
        else
            break;
    }
    return ok;
}

// ---- The formula ----

static bool settle(struct formula *f)
{
    for (size_t i = 0; i < f->needs; i++)
        if (f->need_scale[i] != 1)
            f->scale = NANO;
    for (size_t i = 0; i < f->steps; i++) {
        f->ratio |= f->step[i].op == OP_DIV;
        if (f->step[i].op == OP_NUMBER && f->step[i].number % NANO != 0)
            f->scale = NANO;
    }
    f->counts = heap_array(f->needs, sizeof(*f->counts));
    return f->counts != NULL;
}

struct formula *formula_new(const struct core *c, uint32_t before, const uint8_t *text, size_t size,
                            size_t *at)
{
    struct formula *f = heap_get(sizeof(*f));
    struct parser p = { .c = c, .f = f, .before = before, .text = text, .size = size };

    *at = SIZE_MAX;
    if (!f)
        return NULL;
    f->scale = 1;
    bool ok = sum(&p) && peek(&p) == -1 && !p.bad;
    if (!ok || !settle(f)) {
        *at = ok || p.memory ? SIZE_MAX : p.at;
        formula_free(f);
        return NULL;
    }
    return f;
}

struct formula *formula_event(const struct core *c, uint32_t event)
{
    struct formula *f = heap_get(sizeof(*f));
    struct parser p = { .c = c, .f = f };

    if (!f)
        return NULL;
    f->scale = 1;
    if (event >= c->event_count || !push_event(&p, event) || !settle(f)) {
        formula_free(f);
        return NULL;
    }
    return f;
}

void formula_free(struct formula *f)
{
    if (!f)
        return;
    heap_put(f->step);
    heap_put(f->need);
    heap_put(f->need_scale);
    heap_put(f->counts);
    heap_put(f);
}

int64_t formula_scale(const struct formula *f)
{
    return f->scale;
}

bool formula_is_ratio(const struct formula *f)
{
    return f->ratio;
}

uint32_t formula_needs(const struct formula *f, uint32_t i)
{
    return i < f->needs ? f->need[i] : CORE_NONE;
}

// ---- Values ----

static struct value exact(core_count v, int64_t scale)
{
    return (struct value){ v, (double)v / (double)scale, true };
}

static struct value approximate(double v)
{
    return (struct value){ .approx = v };
}

static struct value multiply(struct value a, struct value b, int64_t scale)
{
    core_count v;

    if (a.is_exact && b.is_exact && !__builtin_mul_overflow(a.exact, b.exact, &v) && v % scale == 0)
        return exact(v / scale, scale);
    return approximate(a.approx * b.approx);
}

static struct value apply(enum op op, struct value a, struct value b, int64_t scale)
{
    bool both = a.is_exact && b.is_exact;
    core_count v;

    switch (op) {
    case OP_ADD:
        if (both && !__builtin_add_overflow(a.exact, b.exact, &v))
            return exact(v, scale);
        return approximate(a.approx + b.approx);
    case OP_SUB:
        if (both && !__builtin_sub_overflow(a.exact, b.exact, &v))
            return exact(v, scale);
        return approximate(a.approx - b.approx);
    case OP_MUL: return multiply(a, b, scale);
    case OP_DIV: return approximate(b.approx == 0 ? __builtin_nan("") : a.approx / b.approx);
    case OP_MIN:
        if (both)
            return a.exact < b.exact ? a : b;
        return a.approx < b.approx ? a : b;
    case OP_MAX:
        if (both)
            return a.exact > b.exact ? a : b;
        return a.approx > b.approx ? a : b;
    case OP_EVENT:
    case OP_NUMBER:
    case OP_NEG: break;
    }
    return a;
}

core_count *formula_counts(struct formula *f)
{
    return f->counts;
}

struct value formula_value(const struct formula *f)
{
    struct value stack[DEPTH + 1];
    size_t n = 0;
    core_count v;

    for (size_t i = 0; i < f->steps; i++) {
        const struct step *s = &f->step[i];
        switch (s->op) {
        case OP_EVENT:
            v = f->counts[s->need];
            if (f->need_scale[s->need] != f->scale &&
                __builtin_mul_overflow(v, (core_count)f->scale, &v))
                stack[n++] = approximate((double)f->counts[s->need]);
            else
                stack[n++] = exact(v, f->scale);
            break;
        case OP_NUMBER:
            stack[n++] = exact(f->scale == 1 ? s->number / NANO : s->number, f->scale);
            break;
        case OP_NEG:
            stack[n - 1] = apply(OP_SUB, exact(0, f->scale), stack[n - 1], f->scale);
            break;
        case OP_ADD:
        case OP_SUB:
        case OP_MUL:
        case OP_DIV:
        case OP_MIN:
        case OP_MAX:
            n--;
            stack[n - 1] = apply(s->op, stack[n - 1], stack[n], f->scale);
            break;
        }
    }
    return stack[0];
}

// One operation on the two topmost of the stack. False: not exact, or not in 64 bits.
static bool narrow_step(enum op op, int64_t scale, int64_t *a, const int64_t *b, uint32_t n)
{
    bool bad = false;

    switch (op) {
    case OP_ADD:
        for (uint32_t i = 0; i < n; i++)
            bad |= __builtin_add_overflow(a[i], b[i], &a[i]);
        return !bad;
    case OP_SUB:
        for (uint32_t i = 0; i < n; i++)
            bad |= __builtin_sub_overflow(a[i], b[i], &a[i]);
        return !bad;
    case OP_MUL:
        for (uint32_t i = 0; i < n; i++) {
            bad |= __builtin_mul_overflow(a[i], b[i], &a[i]) || (scale != 1 && a[i] % scale != 0);
            a[i] = scale == 1 ? a[i] : a[i] / scale;
        }
        return !bad;
    case OP_MIN:
        for (uint32_t i = 0; i < n; i++)
            a[i] = a[i] < b[i] ? a[i] : b[i];
        return true;
    case OP_MAX:
        for (uint32_t i = 0; i < n; i++)
            a[i] = a[i] > b[i] ? a[i] : b[i];
        return true;
    case OP_DIV:
    case OP_EVENT:
    case OP_NUMBER:
    case OP_NEG: break;
    }
    return false;
}

// A count or a number, for each row.
static bool narrow_push(const struct formula *f, const struct step *s, const int64_t *column,
                        const uint32_t *row, uint32_t n, int64_t *to)
{
    bool bad = false;

    if (s->op == OP_NUMBER) {
        for (uint32_t i = 0; i < n; i++)
            to[i] = f->scale == 1 ? s->number / NANO : s->number;
        return true;
    }
    for (uint32_t i = 0; i < n; i++)
        to[i] = column[row[i]];
    if (f->need_scale[s->need] != f->scale)
        for (uint32_t i = 0; i < n; i++)
            bad |= __builtin_mul_overflow(to[i], f->scale, &to[i]);
    return !bad;
}

bool formula_narrow(const struct formula *f, const int64_t *const *column, const uint32_t *row,
                    uint32_t n, int64_t *out)
{
    int64_t stack[DEPTH + 1][FORMULA_CHUNK];
    size_t top = 0;

    for (size_t i = 0; i < f->steps; i++) {
        const struct step *s = &f->step[i];
        if (s->op <= OP_NUMBER) {
            if (!narrow_push(f, s, s->op == OP_EVENT ? column[s->need] : NULL, row, n, stack[top]))
                return false;
            top++;
        } else if (s->op == OP_NEG) {
            bool bad = false;
            for (uint32_t k = 0; k < n; k++)
                bad |= __builtin_sub_overflow(0, stack[top - 1][k], &stack[top - 1][k]);
            if (bad)
                return false;
        } else {
            top--;
            if (!narrow_step(s->op, f->scale, stack[top - 1], stack[top], n))
                return false;
        }
    }
    core_copy(out, stack[0], n * sizeof(*out));
    return true;
}
