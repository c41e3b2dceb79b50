// SPDX-License-Identifier: MIT
//
// What is used of the lines that are fetched (lineuse.h).
#include "cli/profiles/lineuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"

static const char key[] = "Use: ", sample[] = "Use sample: ";

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

bool lineuse_are(const char *desc)
{
    return begins(desc, key) || begins(desc, sample);
}

// One that is neither 0 nor so large that a sum of some could not be told.
static bool number(const char *text, uint64_t *n)
{
    char *end;

    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *n = strtoull(text, &end, 10);
    return !*end && !errno && *n && *n < UINT64_C(1) << 40;
}

static bool parse(struct lineuse *u, char *line)
{
    *u = (struct lineuse){ .text = line };
    if (!number(util_column(&line), &u->lines) || !number(util_column(&line), &u->bytes))
        return false;
    u->object = util_column(&line);
    u->file = util_column(&line);
    if (u->file && strcmp(u->file, "???") == 0)
        u->file = ""; // as a profile has an unknown one
    return u->file != NULL;
}

static void parse_sample(struct lineuses *l, const char *desc)
{
    char *copy = xstrdup(desc + strlen(sample)), *line = copy;

    if (!number(util_column(&line), &l->one_in) || !number(util_column(&line), &l->line))
        l->one_in = l->line = 0;
    free(copy);
}

static int compare(const void *x, const void *y)
{
    const struct lineuse *a = x, *b = y;
    int rc = strcmp(a->object, b->object);

    return rc ? rc : strcmp(a->file, b->file);
}

// Objects of one name are one function: their sum. What cannot be is left out.
static void sum_equal(struct lineuses *l)
{
    size_t kept = 0, sound = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (!kept || compare(&l->of[kept - 1], &l->of[i]) != 0) {
            l->of[kept++] = l->of[i];
            continue;
        }
        l->of[kept - 1].lines += l->of[i].lines;
        l->of[kept - 1].bytes += l->of[i].bytes;
        free(l->of[i].text);
    }
    for (size_t i = 0; i < kept; i++) {
        if ((l->of[i].bytes + l->of[i].lines - 1) / l->of[i].lines <= l->line)
            l->of[sound++] = l->of[i];
        else
            free(l->of[i].text);
    }
    l->count = sound;
}

void lineuse_read(struct lineuses *l, const struct quern_profile *p)
{
    struct quern_part part;

    *l = (struct lineuses){ 0 };
    if (quern_profile_part_count(p) != 1 || quern_profile_part(p, 0, &part) != 0)
        return;
    l->of = xcalloc(part.desc_count + 1, sizeof(*l->of));
    for (size_t i = 0; i < part.desc_count; i++) {
        char *copy;

        if (begins(part.desc[i], sample))
            parse_sample(l, part.desc[i]);
        if (!begins(part.desc[i], key))
            continue;
        copy = xstrdup(part.desc[i] + strlen(key));
        if (parse(&l->of[l->count], copy))
            l->count++;
        else
            free(copy);
    }
    if (l->count)
        qsort(l->of, l->count, sizeof(*l->of), compare);
    sum_equal(l);
}

void lineuse_free(struct lineuses *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->of[i].text);
    free(l->of);
    *l = (struct lineuses){ 0 };
}

const struct lineuse *lineuse_named(const struct lineuses *l, const char *object, const char *file)
{
    struct lineuse like = { .object = object, .file = file };

    return l->count ? bsearch(&like, l->of, l->count, sizeof(like), compare) : NULL;
}

const struct lineuse *lineuse_find(const struct lineuses *l, const struct quern_profile *p,
                                   uint32_t func)
{
    struct quern_func of = quern_profile_func_get(p, func);

    return lineuse_named(l, quern_profile_str(p, of.name), quern_profile_str(p, of.file));
}

char *lineuse_average(const struct lineuse *u)
{
    uint64_t tenths = (u->bytes * 10 + u->lines / 2) / u->lines;

    if (tenths % 10 == 0)
        return xasprintf("%llu", (unsigned long long)tenths / 10);
    return xasprintf("%llu.%llu", (unsigned long long)tenths / 10, (unsigned long long)tenths % 10);
}

char *lineuse_text(const struct lineuses *l, const struct lineuse *u)
{
    char lines[80], *average = lineuse_average(u), *text;

    event_commas(lines, u->lines, 1);
    text = xasprintf("%s of %llu bytes of each line used, by %s%s line%s", average,
                     (unsigned long long)l->line, l->one_in > 1 ? "a sample of " : "", lines,
                     u->lines == 1 ? "" : "s");
    free(average);
    return text;
}
