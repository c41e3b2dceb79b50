// SPDX-License-Identifier: MIT
//
// The profile of the data in quern annotate: beside a profile of the code (--data), or by itself.
// Walks are printed by annotate_table.c and annotate_source.c, advice here. Called by annotate.c.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/annotate/annotate.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/advice.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

static void find_advice(struct annotate *a, const struct quern_profile *data, const char *path,
                        const struct walks *w, const struct quern_profile *code)
{
    struct objects o;
    struct advices all;

    objects_read(&o, data, path, NULL, NULL);
    advice_find(&all, &o, w, code);
    for (size_t i = 0; i < all.count; i++)
        options_add(&a->advice, xstrdup(all.advice[i].text));
    advice_free(&all);
    objects_free(&o);
}

// The profile of the code beside data.out.X, which has the references; none is no fault.
static void find_code(struct annotate *a)
{
    static const char *const begins[] = { "callgrind", "cachegrind" };
    static const char data[] = "data.out.";
    const char *path = a->files[0], *name = util_basename(path);

    if (a->traditional || a->file_count != 1 || !a->walks.count || a->diff || a->by_part ||
        !objects_are(a->p) || strncmp(name, data, strlen(data)) != 0)
        return;
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
        char *beside = xasprintf("%.*s%s%s", (int)(name - path), path, begins[i], name + 4);
        struct quern_profile *code =
            access(beside, R_OK) == 0 ? quern_profile_read(beside, NULL, NULL) : NULL;

        if (code)
            find_advice(a, a->p, path, &a->walks, code);
        quern_profile_free(code);
        free(beside);
        if (a->advice.count)
            return;
    }
}

void annotate_data(struct annotate *a)
{
    struct quern_profile *d;
    struct quern_part code, data;

    walks_read(&a->walks, a->p);
    if (!a->data) {
        find_code(a);
        return;
    }
    d = read_profile(a->data);
    quern_profile_part(a->p, 0, &code);
    quern_profile_part(d, 0, &data);
    walks_read(&a->by_line, d);
    if (!a->by_line.count)
        warn("%s: --data: it has no walks: it is no profile of the data (quern run --data=yes), or "
             "a sum of several",
             a->data);
    else if (code.has_pid && data.has_pid && code.pid != data.pid)
        warn("%s: --data: of another process (PID %llu) than %s (PID %llu)", a->data,
             (unsigned long long)data.pid, a->files[0], (unsigned long long)code.pid);
    if (!a->diff && objects_are(d))
        find_advice(a, d, a->data, &a->by_line, a->p);
    quern_profile_free(d);
}

void annotate_data_advice(const struct annotate *a)
{
    if (!a->advice.count)
        return;
    fputs(TABLE_RULE "-- Advice\n" TABLE_RULE, stdout);
    for (size_t i = 0; i < a->advice.count; i++)
        text_print(stdout, "%s\n", a->advice.item[i]);
    putchar('\n');
}
