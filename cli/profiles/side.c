// SPDX-License-Identifier: MIT
//
// The order is that of annotate and diff: read, rewrite names, compare the events.
#include "cli/profiles/side.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/util.h"
#include "cli/files/trust.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "report/pack/known.h"

// Stores the remarks of the reader: a sum or a renamed profile has lost them.
static void note_remarks(struct side *s, const struct quern_profile *p, const char *path)
{
    for (size_t i = 0; i < quern_profile_diag_count(p); i++) {
        const struct quern_diag *d = quern_profile_diag(p, i);
        if (d->severity != QUERN_NOTE)
            options_add(&s->remark,
                        xasprintf("%s:%llu: %s (%llu times)", path, (unsigned long long)d->line,
                                  d->msg, (unsigned long long)d->count));
    }
}

// All files of a side, summed, or (apart) with all their parts. Names are rewritten file by file,
// since rewriting makes one part of all.
static struct quern_profile *read_all(struct side *s, const struct quern_rewrite *file,
                                      const struct quern_rewrite *func)
{
    struct quern_merger *m = s->apart || s->path_count == 1 ? NULL : quern_merger_new();
    struct quern_profile *all = s->apart ? quern_profile_new() : NULL;
    struct quern_error err;
    int rc = 0;

    if (s->apart)
        s->run_parts = xcalloc(s->path_count + 1, sizeof(*s->run_parts));
    if (s->apart ? !all : s->path_count > 1 && !m)
        die(UTIL_USAGE, "out of memory");
    for (size_t i = 0; i < s->path_count; i++) {
        struct quern_profile *p = read_profile(s->paths[i]);
        note_remarks(s, p, s->paths[i]);
        p = read_renamed(p, file, func);
        if (s->apart) {
            s->run_parts[i] = quern_profile_part_count(p);
            rc = quern_profile_append(all, s->paths[0], p, s->paths[i], &err);
        } else if (m) {
            rc = quern_merger_add(m, p, s->paths[i], &err);
        } else {
            return p;
        }
        if (rc < 0)
            remark_die(&err);
        quern_profile_free(p);
    }
    if (m && !(all = quern_merger_take(m, &err)))
        remark_die(&err);
    quern_merger_free(m);
    return all;
}

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
    s->p = read_all(s, file, func);
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    read_need_events(s->p, s->paths[0]);
}

void side_known_events(struct quern_profile *p)
{
    known_events(p);
}

void side_read(struct side side[2], const char *mod_file, const char *mod_func)
{
    struct quern_error err;

    trust_folders(&side[0].include);
    trust_folders(&side[1].include);
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
        free(side[s].run_parts);
        for (size_t i = 0; i < side[s].remark.count; i++)
            free((char *)side[s].remark.item[i]);
        side[s].p = NULL;
        side[s].run_parts = NULL;
        side[s].remark.count = 0;
    }
}

size_t side_event(const struct side side[2], const char *name)
{
    size_t *list, event = known_first(side[0].p);

    if (!name)
        return event;
    // One that is well known, but was not defined, is defined in both.
    for (int s = 1; s >= 0; s--)
        if (side[s].p) {
            event_list(side[s].p, "--event", name, &list, NULL);
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
