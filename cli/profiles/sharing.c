// SPDX-License-Identifier: MIT
//
// Lines that threads share (sharing.h).
#include "cli/profiles/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"

static const char key[] = "Sharing: ", order[] = "Sharing order: ";

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

bool sharing_are(const char *desc)
{
    return begins(desc, key) || begins(desc, order);
}

static bool number(const char *text, uint64_t *n)
{
    char *end;

    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *n = strtoull(text, &end, 10);
    return !*end && !errno;
}

// As a profile has an unknown one.
static const char *known(const char *name)
{
    return name && strcmp(name, "???") == 0 ? "" : name;
}

static bool parse_side(struct sharing_side *s, char **line)
{
    const char *how;
    char *file, *colon;

    s->object = util_column(line);
    s->object_file = known(util_column(line));
    s->field = util_column(line);
    how = util_column(line);
    s->function = util_column(line);
    s->file = file = util_column(line);
    colon = file ? strrchr(file, ':') : NULL;
    if (!colon || !number(colon + 1, &s->line))
        return false;
    *colon = '\0';
    s->writes = strcmp(how, "writes") == 0;
    return s->writes || strcmp(how, "reads") == 0;
}

static bool parse(struct sharing_pair *p, char *line)
{
    const char *kind;

    *p = (struct sharing_pair){ .text = line };
    kind = util_column(&line);
    if (!kind || !number(util_column(&line), &p->invalidations) ||
        !number(util_column(&line), &p->most) || p->most < p->invalidations)
        return false;
    p->is_true = strcmp(kind, "true") == 0;
    return (p->is_true || strcmp(kind, "false") == 0) && parse_side(&p->side[0], &line) &&
           parse_side(&p->side[1], &line);
}

static int compare(const void *x, const void *y)
{
    const struct sharing_pair *a = x, *b = y;

    if (a->most != b->most)
        return a->most > b->most ? -1 : 1;
    if (a->invalidations != b->invalidations)
        return a->invalidations > b->invalidations ? -1 : 1;
    return strcmp(a->side[0].object, b->side[0].object);
}

void sharing_read(struct sharing *s, const struct quern_profile *p)
{
    struct quern_part part;

    *s = (struct sharing){ 0 };
    if (quern_profile_part_count(p) != 1 || quern_profile_part(p, 0, &part) != 0)
        return;
    s->pair = xcalloc(part.desc_count + 1, sizeof(*s->pair));
    for (size_t i = 0; i < part.desc_count; i++) {
        char *copy;

        if (begins(part.desc[i], order))
            s->serialized = strcmp(part.desc[i] + strlen(order), "serialized") == 0;
        if (!begins(part.desc[i], key))
            continue;
        copy = xstrdup(part.desc[i] + strlen(key));
        if (parse(&s->pair[s->count], copy))
            s->count++;
        else
            free(copy);
    }
    if (s->count)
        qsort(s->pair, s->count, sizeof(*s->pair), compare);
}

void sharing_free(struct sharing *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->pair[i].text);
    free(s->pair);
    *s = (struct sharing){ 0 };
}

bool sharing_has(const struct sharing_pair *pair, const struct quern_profile *p, uint32_t func)
{
    struct quern_func of = quern_profile_func_get(p, func);
    const char *object = quern_profile_str(p, of.name), *file = quern_profile_str(p, of.file);

    for (int k = 0; k < 2; k++)
        if (strcmp(pair->side[k].object, object) == 0 &&
            strcmp(pair->side[k].object_file, file) == 0)
            return true;
    return false;
}

char *sharing_place(const struct sharing_side *side)
{
    if (*side->field && *side->field != '+')
        return xstrdup(side->field);
    return xasprintf("%s%s%s", side->object, *side->field ? " " : "", side->field);
}

char *sharing_side_text(const struct sharing_side *side)
{
    char *place = sharing_place(side);
    char *text =
        xasprintf("%s %s by %s (%s:%llu)", place, side->writes ? "written" : "read", side->function,
                  util_basename(side->file), (unsigned long long)side->line);

    free(place);
    return text;
}

char *sharing_counts(const struct sharing *s, const struct sharing_pair *pair)
{
    char n[80], most[80];

    event_commas(n, pair->invalidations, 1);
    event_commas(most, pair->most, 1);
    return xasprintf("%s invalidation%s%s, at most %s; %s", n, pair->invalidations == 1 ? "" : "s",
                     s->serialized ? "" : " as it happened", most,
                     pair->is_true ? "true" : "false");
}

char *sharing_text(const struct sharing *s, const struct sharing_pair *pair)
{
    char *counts = sharing_counts(s, pair), *first = sharing_side_text(&pair->side[0]),
         *second = sharing_side_text(&pair->side[1]);
    char *text = xasprintf("%s: %s, %s", counts, first, second);

    free(second);
    free(first);
    free(counts);
    return text;
}
