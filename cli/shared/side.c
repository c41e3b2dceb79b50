// SPDX-License-Identifier: MIT
//
// The order is that of annotate and diff: read, rewrite names, compare the events.
#include "cli/shared/side.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/shared/event.h"
#include "cli/shared/read.h"
#include "cli/shared/remark.h"
#include "cli/shared/util.h"

static void read_one(struct side *s, const char *mod_file, const char *mod_func)
{
    struct quern_rewrite *file = read_rewrite("--mod-filename", mod_file);
    struct quern_rewrite *func = read_rewrite("--mod-funcname", mod_func);
    struct stat st;

    for (size_t i = 0; i < s->path_count; i++)
        if (strcmp(s->paths[i], "-") != 0 && stat(s->paths[i], &st) == 0 &&
            (!s->mtime.tv_sec || st.st_mtim.tv_sec < s->mtime.tv_sec ||
             (st.st_mtim.tv_sec == s->mtime.tv_sec && st.st_mtim.tv_nsec < s->mtime.tv_nsec)))
            s->mtime = st.st_mtim;
    s->p = read_renamed(read_sum(s->paths, s->path_count), file, func);
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    read_need_events(s->p, s->paths[0]);
}

void side_known_events(struct quern_profile *p)
{
    static const char *const known[] = { "L1m", "LLm", "Bm", "CEst" };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        event_find(p, known[i]);
}

void side_read(struct side side[2], const char *mod_file, const char *mod_func)
{
    struct quern_error err;

    read_one(&side[0], mod_file, mod_func);
    if (side[1].path_count) {
        read_one(&side[1], mod_file, mod_func);
        if (quern_profile_match_events(side[1].p, side[1].paths[0], side[0].p, side[0].paths[0],
                                       &err) < 0)
            remark_die(&err);
    }
    for (int s = 0; s < 2 && side[s].p; s++)
        side_known_events(side[s].p);
}

void side_free(struct side side[2])
{
    for (int s = 0; s < 2; s++) {
        quern_profile_free(side[s].p);
        side[s].p = NULL;
    }
}

size_t side_event(const struct side side[2], const char *name)
{
    size_t *list, event = 0;

    if (name) {
        event_list(side[0].p, "--event", name, &list, NULL);
        event = list[0];
        free(list);
    }
    return event;
}

void side_include(void *field, const struct option *o, const char *value)
{
    struct side *side = field;

    (void)o;
    options_add(&side[0].include, value);
    options_add(&side[1].include, value);
}
