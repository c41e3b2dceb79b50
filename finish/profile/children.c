// SPDX-License-Identifier: MIT
//
// --children=merge: one profile of a program and of all processes that it creates. Each writes its
// own into a folder of the run (share/spool.h, s_tree); the program's own end closes the folder and
// sums what is in it (children_merge.c). A process that ends later finds it closed and adds its
// profile to the sum.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/profile/profile.h"

int children_write(struct spool_file *s, const struct output_files *files,
                   struct finish_totals *totals, char *err, size_t err_size)
{
    const char *tree = files->tree;
    struct output_files mine = *files;
    struct timespec now;
    char *name;
    int rc;

    if (!tree) {
        snprintf(err, err_size, "the spool does not say where profiles are collected");
        return -1;
    }
    // One process has a profile for each program that it executed.
    clock_gettime(CLOCK_REALTIME, &now);
    name = xasprintf("%d-%lld%09ld", s->h->pid, (long long)now.tv_sec, now.tv_nsec);
    mine.output = xasprintf("%s/%s", tree, name);
    rc = profile_write(s, &mine, totals, err, err_size);
    if (rc == 0) {
        if (children_is_root(s))
            rc = children_merge_all(s, tree, name, files->output, totals, err, err_size);
    } else if (access(tree, F_OK) != 0 && errno == ENOENT) {
        rc = children_merge_late(s, files, name, totals, err, err_size);
    }
    free(mine.output);
    free(name);
    return rc;
}

bool children_is_root(const struct spool_file *s)
{
    return !(s->h->flags & SPOOL_F_MERGE) || (uint32_t)s->h->pid == s->h->tree_pid;
}
