// SPDX-License-Identifier: MIT
//
// Names by the hash of their text outside of brackets, in lists of those that share a slot. The rules
// for brackets are those of split() in report/page/names.ts: there equal text must have equal hashes
// here.
#include "report/core/names.h"

#include "report/core/heap.h"

enum {
    DEPTH = 64,  // of brackets; names.ts does not shorten names with more
    BEFORE = 12, // bytes before a < or > in which "operator" may be
};

// Is the < or > at `i` part of an operator's name, or of ->?
static bool is_operator(struct text s, size_t i)
{
    static const char word[] = "operator";
    size_t least = i > BEFORE ? i - BEFORE : 0;

    if (i > 0 && s.at[i - 1] == '-')
        return true;
    while (i > least &&
           (s.at[i - 1] == '<' || s.at[i - 1] == '>' || s.at[i - 1] == '=' || s.at[i - 1] == '-'))
        i--;
    while (i > least && (s.at[i - 1] == ' ' || (s.at[i - 1] >= '\t' && s.at[i - 1] <= '\r')))
        i--;
    return i - least >= sizeof(word) - 1 &&
           __builtin_memcmp(s.at + i - (sizeof(word) - 1), word, sizeof(word) - 1) == 0;
}

uint32_t names_hash(struct text s)
{
    uint64_t round = 0, h = 0xcbf29ce484222325u; // by level of brackets: a bit, 1 for (
    unsigned depth = 0;
    bool any = false;

    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.at[i];
        bool angle = c == '<' || c == '>', open = c == '<' || c == '(';
        if ((!angle && c != '(' && c != ')') || (angle && is_operator(s, i))) {
            h = depth ? h : (h ^ c) * 0x100000001b3u;
            continue;
        }
        if (open) {
            if (depth == DEPTH)
                return 0;
            h = depth ? h : (h ^ c ^ 0x80) * 0x100000001b3u;
            round = round << 1 | (c == '(');
            depth++;
            any = true;
            continue;
        }
        if (depth && c == '>' && round & 1)
            continue; // a comparison
        if (!depth || (round & 1) != (c == ')'))
            return 0;
        round >>= 1;
        depth--;
    }
    if (!any || depth)
        return 0;
    h ^= h >> 32;
    return (uint32_t)h ? (uint32_t)h : 1;
}

static void drop(struct core *c)
{
    heap_put(c->alike.hash);
    heap_put(c->alike.next);
    heap_put(c->alike.first);
    c->alike = (struct alike){ 0 };
}

static bool make(struct core *c)
{
    struct alike *a = &c->alike;
    uint32_t slots = 64;

    drop(c);
    while (slots < c->strings / 2)
        slots *= 2;
    a->hash = heap_array((size_t)c->strings + 1, sizeof(*a->hash));
    a->next = heap_array((size_t)c->strings + 1, sizeof(*a->next));
    a->first = heap_array(slots, sizeof(*a->first));
    if (!a->hash || !a->next || !a->first) {
        drop(c);
        return false;
    }
    for (uint32_t f = 0; f < c->funcs; f++)
        if (c->name[f] != CORE_NONE)
            a->hash[c->name[f]] = 1; // a name; then in the order of the strings, as they are stored
    for (uint32_t s = c->strings; s-- > 0;) {
        if (!a->hash[s] || !(a->hash[s] = names_hash(core_string(c, s))))
            continue;
        uint32_t *first = &a->first[a->hash[s] & (slots - 1)];
        a->next[s] = *first;
        *first = s + 1;
    }
    a->slots = slots;
    a->linked = c->linked;
    return true;
}

int64_t names_alike(struct core *c, uint32_t string, uint32_t **out)
{
    const struct alike *a = &c->alike;
    uint32_t count = 0;

    *out = NULL;
    if (!c->head || string >= c->strings)
        return CORE_WRONG;
    if ((!a->slots || a->linked != c->linked) && !make(c))
        return CORE_MEMORY;
    uint32_t hash = a->hash[string], first = hash ? a->first[hash & (a->slots - 1)] : 0;
    for (uint32_t s = first; s; s = a->next[s - 1])
        count += a->hash[s - 1] == hash;
    if (!(*out = heap_array(count, sizeof(**out))))
        return CORE_MEMORY;
    count = 0;
    for (uint32_t s = first; s; s = a->next[s - 1])
        if (a->hash[s - 1] == hash)
            (*out)[count++] = s - 1;
    return count;
}
