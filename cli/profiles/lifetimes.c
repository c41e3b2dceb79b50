// SPDX-License-Identifier: MIT
//
// Blocks of allocators over time (lifetimes.h).
#include "cli/profiles/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"

static const char key[] = "Blocks: ";

// ORDER lifetimes_count
const char *const lifetimes_names[LIFETIMES_COUNTS] = {
    "blocks",     "bytes",         "gone_blocks",  "gone_bytes", "peak_blocks",
    "peak_bytes", "missed_blocks", "missed_bytes", "cold"
};

bool lifetimes_are(const char *desc)
{
    return strncmp(desc, key, sizeof(key) - 1) == 0;
}

static bool parse(struct lifetime *b, char *line)
{
    *b = (struct lifetime){ .text = line };
    for (int i = 0; i < LIFETIMES_COUNTS; i++) {
        char *text = util_column(&line), *end;

        if (text && i >= LIFETIMES_MISSED && strcmp(text, "-") == 0) {
            b->lost = true;
            continue;
        }
        if (!text || *text < '0' || *text > '9')
            return false;
        b->n[i] = strtoull(text, &end, 10);
        if (*end)
            return false;
    }
    b->object = util_column(&line);
    b->file = util_column(&line);
    if (b->file && strcmp(b->file, "???") == 0)
        b->file = ""; // as a profile has an unknown one
    return b->file != NULL;
}

static int compare(const void *x, const void *y)
{
    const struct lifetime *a = x, *b = y;
    int rc = strcmp(a->object, b->object);

    return rc ? rc : strcmp(a->file, b->file);
}

// Objects of one name are one function: their sum. Their peaks need not have been at one time.
static void sum_equal(struct lifetimes *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (!kept || compare(&l->of[kept - 1], &l->of[i]) != 0) {
            l->of[kept++] = l->of[i];
            continue;
        }
        for (int k = 0; k < LIFETIMES_COUNTS; k++)
            l->of[kept - 1].n[k] += l->of[i].n[k];
        l->of[kept - 1].lost |= l->of[i].lost;
        free(l->of[i].text);
    }
    l->count = kept;
}

void lifetimes_read(struct lifetimes *l, const struct quern_profile *p)
{
    lifetimes_read_parts(l, p, 0, quern_profile_part_count(p));
}

void lifetimes_read_parts(struct lifetimes *l, const struct quern_profile *p, size_t first,
                          size_t end)
{
    struct quern_part part;

    *l = (struct lifetimes){ 0 };
    if (end != first + 1 || quern_profile_part(p, first, &part) != 0)
        return;
    l->of = xcalloc(part.desc_count + 1, sizeof(*l->of));
    for (size_t i = 0; i < part.desc_count; i++) {
        char *copy;

        if (!lifetimes_are(part.desc[i]))
            continue;
        copy = xstrdup(part.desc[i] + sizeof(key) - 1);
        if (parse(&l->of[l->count], copy))
            l->count++;
        else
            free(copy);
    }
    if (l->count)
        qsort(l->of, l->count, sizeof(*l->of), compare);
    sum_equal(l);
}

void lifetimes_free(struct lifetimes *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->of[i].text);
    free(l->of);
    *l = (struct lifetimes){ 0 };
}

const struct lifetime *lifetimes_named(const struct lifetimes *l, const char *object,
                                       const char *file)
{
    struct lifetime like = { .object = object, .file = file };

    return l->count ? bsearch(&like, l->of, l->count, sizeof(like), compare) : NULL;
}

const struct lifetime *lifetimes_find(const struct lifetimes *l, const struct quern_profile *p,
                                      uint32_t func)
{
    struct quern_func of = quern_profile_func_get(p, func);

    return lifetimes_named(l, quern_profile_str(p, of.name), quern_profile_str(p, of.file));
}

char *lifetimes_text(const struct lifetime *b)
{
    char all[80], bytes[80], peak[80], never[80], cold[80], *text, *more;

    event_commas(all, b->n[LIFETIMES_ALL], 1);
    event_commas(bytes, b->n[LIFETIMES_BYTES], 1);
    event_commas(peak, b->n[LIFETIMES_PEAK_BYTES], 1);
    text = xasprintf("%s %s, %s bytes; at most %s bytes", all,
                     b->n[LIFETIMES_ALL] == 1 ? "block" : "blocks", bytes, peak);
    if (b->lost)
        return text;
    event_commas(never,
                 b->n[LIFETIMES_ALL] > b->n[LIFETIMES_MISSED]
                     ? b->n[LIFETIMES_ALL] - b->n[LIFETIMES_MISSED]
                     : 0,
                 1);
    event_commas(cold, b->n[LIFETIMES_COLD], 1);
    more = xasprintf("%s; %s never missed; %s %s cold", text, never, cold,
                     b->n[LIFETIMES_COLD] == 1 ? "miss" : "misses");
    free(text);
    return more;
}
