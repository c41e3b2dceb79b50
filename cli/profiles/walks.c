// SPDX-License-Identifier: MIT
//
// Walks through objects of the data (walks.h).
#include "cli/profiles/walks.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"

static const char of_object[] = "Walk: ", of_line[] = "Walk at: ";

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

bool walks_are(const char *desc)
{
    return begins(desc, of_object) || begins(desc, of_line);
}

// The next field of a line, which ends at a tab or with the line. NULL: there is none.
static char *field(char **line)
{
    char *from = *line, *end;

    if (!from)
        return NULL;
    end = strchr(from, '\t');
    *line = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return from;
}

static bool number(const char *text, uint64_t *n)
{
    char *end;

    if (!text || *text < '0' || *text > '9')
        return false;
    *n = strtoull(text, &end, 10);
    return !*end;
}

// Takes apart a copy of the line, which the walk owns as its first field. False: it is no walk.
static bool parse(struct walk *w, char *line, bool has_place)
{
    char *count, *steps, *object, *colon;

    *w = (struct walk){ .how = field(&line) };
    count = field(&line);
    steps = field(&line);
    w->object = object = field(&line);
    if (!object || !number(count, &w->count) || !number(steps, &w->steps) || w->count > w->steps)
        return false;
    if (!has_place)
        return true;
    w->function = field(&line);
    w->file = field(&line);
    colon = w->file ? strrchr(w->file, ':') : NULL;
    if (!colon || !number(colon + 1, &w->line))
        return false;
    *colon = '\0';
    return true;
}

static int compare_places(const struct walk *a, const struct walk *b)
{
    int rc = strcmp(a->object, b->object);

    if (!rc)
        rc = (a->file != NULL) - (b->file != NULL);
    if (rc || !a->file)
        return rc;
    rc = strcmp(a->function, b->function);
    if (!rc)
        rc = strcmp(a->file, b->file);
    return rc ? rc : a->line < b->line ? -1 : a->line > b->line;
}

static int by_place(const void *x, const void *y)
{
    const struct walk *a = *(const struct walk *const *)x, *b = *(const struct walk *const *)y;
    int rc = compare_places(a, b);

    return rc ? rc : a < b ? -1 : a > b;
}

void walks_read(struct walks *w, const struct quern_profile *p)
{
    struct quern_part part;

    *w = (struct walks){ 0 };
    if (quern_profile_part_count(p) != 1 || quern_profile_part(p, 0, &part) != 0)
        return;
    w->walk = xcalloc(part.desc_count + 1, sizeof(*w->walk));
    for (size_t i = 0; i < part.desc_count; i++) {
        const char *desc = part.desc[i];
        bool place = begins(desc, of_line);
        char *copy;

        if (!walks_are(desc))
            continue;
        copy = xstrdup(desc + strlen(place ? of_line : of_object));
        if (parse(&w->walk[w->count], copy, place))
            w->count++;
        else
            free(copy);
    }
    w->by_place = xcalloc(w->count + 1, sizeof(*w->by_place));
    for (size_t i = 0; i < w->count; i++)
        w->by_place[i] = &w->walk[i];
    qsort(w->by_place, w->count, sizeof(*w->by_place), by_place);
}

void walks_free(struct walks *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->walk[i].how);
    free(w->walk);
    free(w->by_place);
    *w = (struct walks){ 0 };
}

// The first one at the place of `key`.
static const struct walk *find(const struct walks *w, const struct walk *key)
{
    size_t low = 0, high = w->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (compare_places(w->by_place[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < w->count && compare_places(w->by_place[low], key) == 0 ? w->by_place[low] : NULL;
}

const struct walk *walks_of_object(const struct walks *w, const char *object)
{
    return find(w, &(struct walk){ .object = object });
}

const struct walk *walks_at(const struct walks *w, const char *object, const char *function,
                            const char *file, uint64_t line)
{
    return find(
        w, &(struct walk){ .object = object, .function = function, .file = file, .line = line });
}

static int by_steps(const void *x, const void *y)
{
    const struct walk *a = *(const struct walk *const *)x, *b = *(const struct walk *const *)y;

    if (a->steps != b->steps)
        return a->steps > b->steps ? -1 : 1;
    return strcmp(a->object, b->object);
}

const struct walk **walks_of_line(const struct walks *w, const char *file, uint64_t line, size_t *n)
{
    const struct walk **list = NULL;

    *n = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct walk *walk = &w->walk[i];

        if (!walk->file || walk->line != line || strcmp(walk->file, file) != 0)
            continue;
        list = xrealloc(list, (*n + 1) * sizeof(*list));
        list[(*n)++] = walk;
    }
    if (list)
        qsort(list, *n, sizeof(*list), by_steps);
    return list;
}

// The share is rounded down: 100 % are all.
char *walks_text(const struct walk *walk)
{
    const char *digits = walk->how + strcspn(walk->how, "0123456789");
    size_t n = strspn(digits, "0123456789");
    char commas[80] = "";

    if (n)
        event_commas(commas, strtoull(digits, NULL, 10), 1);
    return xasprintf("%.*s%s%s, %llu %%", (int)(digits - walk->how), walk->how, commas, digits + n,
                     (unsigned long long)((unsigned __int128)walk->count * 100 /
                                          (walk->steps ? walk->steps : 1)));
}
