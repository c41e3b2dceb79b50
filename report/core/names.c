// SPDX-License-Identifier: MIT
//
// Names that are alike have the same beginning, and strings come in sorted runs, the sections: so a
// few are read of a million, and their hashes are compared. The rules for brackets are those of
// split() in report/page/names.ts: equal texts there must have equal hashes here.
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
    return (uint32_t)h > 1 ? (uint32_t)h : 2;
}

// The hash of a string, kept for the next time; 1: none.
static uint32_t hash_of(struct core *c, uint32_t s)
{
    uint32_t *hash = &c->alike.hash[s];

    if (!*hash)
        *hash = names_hash(core_string(c, s));
    if (!*hash)
        *hash = 1;
    return *hash;
}

// Names that are alike begin with the same text up to the first bracket, also one of an operator.
static struct text beginning(struct text s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.at[i] == '<' || s.at[i] == '(')
            return (struct text){ s.at, i + 1 };
    return s;
}

static int compare_beginning(struct text s, struct text with)
{
    size_t n = s.size < with.size ? s.size : with.size;
    int order = n ? __builtin_memcmp(s.at, with.at, n) : 0;

    return order ? order : s.size < with.size ? -1 : 0;
}

// The first string of a run, which is sorted, that does not come before those with this beginning.
static uint32_t first_with(const struct core *c, const struct string_run *run, struct text with)
{
    uint32_t low = 0, high = run->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_beginning(core_string(c, run->first + middle), with) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return run->first + low;
}

bool names_add_run(struct core *c, uint32_t first, uint32_t count)
{
    if (!heap_room(c->alike.run, c->alike.runs, c->alike.cap))
        return false;
    c->alike.run[c->alike.runs++] = (struct string_run){ first, count };
    return true;
}

int64_t names_alike(struct core *c, uint32_t string, uint32_t **out)
{
    struct alike *a = &c->alike;
    size_t cap = 0;
    uint32_t count = 0;

    *out = NULL;
    if (!c->head || !core_has_string(c, string))
        return CORE_WRONG;
    if (!a->hash && !(a->hash = heap_array(c->strings, sizeof(*a->hash))))
        return CORE_MEMORY;
    uint32_t hash = hash_of(c, string);
    struct text with = beginning(core_string(c, string));
    for (size_t r = 0; hash != 1 && r < a->runs; r++) {
        uint32_t s = first_with(c, &a->run[r], with), end = a->run[r].first + a->run[r].count;
        for (; s < end && compare_beginning(core_string(c, s), with) == 0; s++) {
            if (hash_of(c, s) != hash)
                continue;
            if (!heap_room(*out, count, cap)) {
                heap_put(*out);
                *out = NULL;
                return CORE_MEMORY;
            }
            (*out)[count++] = s;
        }
    }
    return count;
}
