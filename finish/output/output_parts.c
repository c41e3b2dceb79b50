// SPDX-License-Identifier: MIT
//
// --combine-dumps=yes: the parts of a profile in one file. Each part reads and rewrites the file,
// so that it is complete at any moment. Called by call_graph.c.
#include "finish/output/output.h"

#include <sys/stat.h>

// What the file has so far. NULL: there is no file, as after the fork of a process whose id is in
// the file's name.
static struct quern_profile *written(const char *output)
{
    struct quern_read_opts how = { .sz = sizeof(how) };
    struct quern_error e = { 0 };
    struct stat st;

    if (stat(output, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL; // a pipe or a device cannot be read again
    return quern_profile_read(output, &how, &e);
}

int output_parts(const struct spool_file *s, struct quern_profile *p, const char *output,
                 const struct quern_write_opts *how, struct quern_error *e)
{
    bool more = (s->h->flags & SPOOL_F_COMBINE) && s->h->dumps;
    struct quern_profile *all = more ? written(output) : NULL;
    int rc;

    if (!all)
        return quern_profile_write(p, output, how, e);
    rc = quern_profile_append(all, NULL, p, NULL, e);
    if (rc == 0)
        rc = quern_profile_write(all, output, how, e);
    quern_profile_free(all);
    return rc;
}
