// SPDX-License-Identifier: MIT
//
// Interned strings: an open hash table of numbers over separately allocated texts.
#include "symbols/strings.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/memory.h"

static uint32_t hash(const char *text, size_t len)
{
    uint32_t h = 2166136261u; // FNV-1a

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static bool grow(struct strings *s)
{
    uint32_t room = s->room ? s->room * 2 : 512;
    char **text = memory_got(realloc(s->text, room * sizeof(*text)));

    if (!text)
        return false;
    s->text = text;
    uint32_t *slot = memory_got(calloc(table_slots(room), sizeof(*slot)));
    if (!slot)
        return false;
    free(s->table.slot);
    s->table = table_over(slot, table_slots(room));
    for (uint32_t n = 0; n < s->count; n++)
        table_add(&s->table, hash(text[n], strlen(text[n])), n);
    s->room = room;
    return true;
}

bool strings_init(struct strings *s)
{
    memset(s, 0, sizeof(*s));
    strings_add(s, "???", 3);
    return s->count == 1;
}

void strings_fini(struct strings *s)
{
    for (uint32_t n = 0; n < s->count; n++)
        free(s->text[n]);
    free(s->text);
    free(s->table.slot);
}

uint32_t strings_add(struct strings *s, const char *text, size_t len)
{
    if (s->count == s->room && !grow(s))
        return 0;
    size_t at = table_first(&s->table, hash(text, len));
    for (; table_used(&s->table, at); at = table_next(&s->table, at)) {
        const char *t = s->text[table_number(&s->table, at)];

        if (strncmp(t, text, len) == 0 && t[len] == '\0')
            return table_number(&s->table, at);
    }
    s->text[s->count] = memory_got(strndup(text, len));
    if (!s->text[s->count])
        return 0;
    table_put(&s->table, at, s->count);
    return s->count++;
}
