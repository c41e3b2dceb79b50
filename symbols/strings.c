// SPDX-License-Identifier: MIT
//
// Interned strings: an open hash table of numbers over separately allocated texts.
#include "symbols/strings.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *text, size_t len)
{
    uint32_t h = 2166136261u; // FNV-1a

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static int grow(struct strings *s)
{
    uint32_t slots = s->slots ? s->slots * 2 : 1024;
    uint32_t *slot = calloc(slots, sizeof(*slot));

    if (!slot)
        return -1;
    for (uint32_t n = 0; n < s->count; n++) {
        uint32_t i = hash(s->text[n], strlen(s->text[n])) & (slots - 1);

        while (slot[i])
            i = (i + 1) & (slots - 1);
        slot[i] = n + 1;
    }
    free(s->slot);
    s->slot = slot;
    s->slots = slots;
    return 0;
}

void strings_init(struct strings *s)
{
    memset(s, 0, sizeof(*s));
    strings_add(s, "???", 3);
}

void strings_fini(struct strings *s)
{
    for (uint32_t n = 0; n < s->count; n++)
        free(s->text[n]);
    free(s->text);
    free(s->slot);
}

uint32_t strings_add(struct strings *s, const char *text, size_t len)
{
    if (s->count * 2 >= s->slots && grow(s) != 0)
        return 0;
    uint32_t i;
    for (i = hash(text, len) & (s->slots - 1); s->slot[i]; i = (i + 1) & (s->slots - 1)) {
        const char *t = s->text[s->slot[i] - 1];

        if (strncmp(t, text, len) == 0 && t[len] == '\0')
            return s->slot[i] - 1;
    }
    if (s->count == s->room) {
        uint32_t room = s->room ? s->room * 2 : 256;
        char **grown = realloc(s->text, room * sizeof(*grown));

        if (!grown)
            return 0;
        s->text = grown;
        s->room = room;
    }
    s->text[s->count] = strndup(text, len);
    if (!s->text[s->count])
        return 0;
    s->slot[i] = ++s->count;
    return s->count - 1;
}
