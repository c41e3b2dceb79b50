// SPDX-License-Identifier: MIT
//
// --children=merge: one profile of a program and of all processes that it makes. Each writes its
// own into a folder of the run (share/spool.h, s_tree); the program's own end closes the folder and
// sums what is in it (finish_sum.c). A process that ends later finds it closed, and adds its
// profile to the sum.
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "finish/finish.h"
#include "cli/shared/util.h"

int finish_tree_write(struct finish_spool *s, const struct finish_files *files,
                      struct finish_totals *totals, char *err, size_t err_size)
{
    const char *tree = files->tree;
    struct finish_files mine = *files;
    struct timespec now;
    char *name;
    int rc;

    if (!tree) {
        snprintf(err, err_size, "the spool does not say where profiles are collected");
        return -1;
    }
    // A process has one for each program that it executed.
    clock_gettime(CLOCK_REALTIME, &now);
    name = xasprintf("%d-%lld%09ld", s->h->pid, (long long)now.tv_sec, now.tv_nsec);
    mine.output = xasprintf("%s/%s", tree, name);
    rc = finish_profile_write(s, &mine, totals, err, err_size);
    if (rc == 0) {
        if (finish_tree_is_root(s))
            rc = finish_sum_close(s, tree, name, files->output, totals, err, err_size);
    } else if (access(tree, F_OK) != 0 && errno == ENOENT) {
        rc = finish_sum_late(s, files, name, totals, err, err_size);
    }
    free(mine.output);
    free(name);
    return rc;
}

bool finish_tree_is_root(const struct finish_spool *s)
{
    return !(s->h->flags & SPOOL_F_MERGE) || (uint32_t)s->h->pid == s->h->tree_pid;
}
