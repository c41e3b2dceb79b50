// SPDX-License-Identifier: MIT
//
// The names of generated code, as JIT compilers write them for perf: its maps and jitdump files, in
// all usual places. Called when a run has executed such code.
#include "finish/places/places_generated.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/util.h"
#include "symbols/jitdump.h"
#include "symbols/perfmap.h"

static void read_jitdump(struct perfmap *names, const char *path, uint64_t since)
{
    FILE *f = perfmap_open(path, since);

    if (!f)
        return;
    jitdump_read(names, f);
    fclose(f);
}

// Each run has its own folder below the home folder.
static void search_jitdump(struct perfmap *names, int32_t pid, uint64_t since)
{
    const char *home = getenv("HOME");
    char *name = xasprintf("jit-%d.dump", pid), *path = xasprintf("/tmp/%s", name);
    glob_t found = { 0 };

    read_jitdump(names, path, since);
    free(path);
    path = xasprintf("%s/.debug/jit/*/%s", home ? home : "", name);
    if (glob(path, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            read_jitdump(names, found.gl_pathv[i], since);
    globfree(&found);
    free(path);
    free(name);
}

static bool is_jitdump(const struct spool_file *s, const struct spool_map *m)
{
    const char *path = spool_file_text(s, m->path);

    return path && !(m->flags & (SPOOL_MAP_ANON | SPOOL_MAP_VDSO)) && jitdump_is_name(path);
}

// The writer of a jitdump file maps it. If none is mapped, it may be at a usual place.
static void read_jitdumps(struct perfmap *names, const struct spool_file *s)
{
    bool any = false;

    for (uint64_t i = 0; i < s->maps_used; i++)
        if (is_jitdump(s, &s->maps[i])) {
            read_jitdump(names, spool_file_text(s, s->maps[i].path), 0);
            any = true;
        }
    if (!any)
        search_jitdump(names, s->h->pid, s->h->start_time);
}

struct perfmap *places_generated(const struct spool_file *s)
{
    char *path = xasprintf("/tmp/perf-%d.map", s->h->pid);
    struct perfmap *names = perfmap_new();

    if (names) {
        perfmap_read(names, path, s->h->start_time);
        read_jitdumps(names, s);
        if (perfmap_is_empty(names)) {
            perfmap_free(names);
            names = NULL;
        }
    }
    free(path);
    return names;
}
