// SPDX-License-Identifier: MIT
//
// The stages for one spool, one behind the other: its profile, also where that is not the file that
// the run was told to write.
#ifndef QUERN_FINISH_PROFILE_H
#define QUERN_FINISH_PROFILE_H

#include "finish/output/output.h"

// ---- profile.c ----

// Resolves and writes the profile, or with --separate-threads=yes one for each thread, and the
// execution counts. 0, or -1 with a sentence in err.
int profile_write(struct spool_file *s, const struct output_files *files,
                  struct finish_totals *totals, char *err, size_t err_size);

// ---- children.c ----

// The same for a run with --children=merge: into the one profile of all its processes, or where it
// waits for that. The first process gets the totals of all.
int children_write(struct spool_file *s, const struct output_files *files,
                   struct finish_totals *totals, char *err, size_t err_size);
// False: the profile is a part of another process's.
bool children_is_root(const struct spool_file *s);

// ---- children_merge.c ----

// The program's own end: its profile is `name` in the folder, the sum of all goes to output.
int children_merge_all(const struct spool_file *s, const char *tree, const char *name,
                       const char *output, struct finish_totals *totals, char *err,
                       size_t err_size);
// After that: the profile is written, then added to the sum.
int children_merge_late(struct spool_file *s, const struct output_files *files, const char *name,
                        struct finish_totals *totals, char *err, size_t err_size);

// ---- fallback.c ----

// A profile could not be written, and `why` says why: where the spool is gone, too, or its folder
// has another name, writes the profile into another folder and says where. False: not done, for
// that is not so, or no folder takes it.
bool fallback_write(struct spool_file *s, const struct output_files *files,
                    struct finish_totals *totals, const char *why);

#endif
