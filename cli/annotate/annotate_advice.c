// SPDX-License-Identifier: MIT
//
// Advice on data that misses, in quern annotate: of a profile of the code with that of its data
// (--data), or of a profile of the data beside which that of the code is. Called by annotate.c.
#include <stdlib.h>
#include <string.h>

#include "cli/annotate/annotate.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/advice.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

static void find(struct annotate *a, const struct quern_profile *data, const char *path,
                 const struct walks *w, const struct quern_profile *code)
{
    struct objects o;
    struct advices all;
    struct lineuses use;
    struct sharing shared;

    objects_read(&o, data, path, NULL, NULL);
    sharing_read(&shared, data);
    lineuse_read(&use, data);
    advice_find(&all, &o, w, &use, &shared, code);
    for (size_t i = 0; i < all.count; i++)
        options_add(&a->advice, xstrdup(all.advice[i].text));
    advice_free(&all);
    lineuse_free(&use);
    sharing_free(&shared);
    objects_free(&o);
}

void annotate_advice(struct annotate *a, const struct quern_profile *data)
{
    if (!a->diff && objects_are(data))
        find(a, data, a->data, &a->by_line, a->p);
}

// The profile of the code beside data.out.X, which has the references; none is no fault.
void annotate_advice_alone(struct annotate *a)
{
    static const char *const begins[] = { "callgrind", "cachegrind" };
    static const char data[] = "data.out.";
    const char *path = a->files[0], *name = util_basename(path);

    if (a->data || a->traditional || a->file_count != 1 || a->diff || a->by_part ||
        (!a->walks.count && !a->sharing.count) || !objects_are(a->p) ||
        strncmp(name, data, strlen(data)) != 0)
        return;
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins) && !a->advice.count; i++) {
        char *beside = xasprintf("%.*s%s%s", (int)(name - path), path, begins[i], name + 4);
        struct quern_profile *code =
            objects_file(beside) ? quern_profile_read(beside, NULL, NULL) : NULL;

        if (code)
            find(a, a->p, path, &a->walks, code);
        quern_profile_free(code);
        free(beside);
    }
}

void annotate_advice_put(const struct annotate *a)
{
    if (!a->advice.count)
        return;
    fputs(TABLE_RULE "-- Advice\n" TABLE_RULE, stdout);
    for (size_t i = 0; i < a->advice.count; i++)
        text_print(stdout, "%s\n", a->advice.item[i]);
    putchar('\n');
}

void annotate_advice_free(struct annotate *a)
{
    for (size_t i = 0; i < a->advice.count; i++)
        free((char *)a->advice.item[i]);
    free(a->advice.item);
}
