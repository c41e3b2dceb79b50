// SPDX-License-Identifier: MIT
//
// All stages in sequence for one spool: its profile, also in another file than the run was told to
// write.
#ifndef QUERN_FINISH_PROFILE_H
#define QUERN_FINISH_PROFILE_H

#include "finish/output/output.h"

// ---- profile.c ----

// Resolves and writes the profile, or with --separate-threads=yes one for each thread, and the
// execution counts. Returns 0, or -1 with a message in err.
int profile_write(struct spool_file *s, const struct output_files *files,
                  struct finish_totals *totals, char *err, size_t err_size);

// ---- unmatched.c ----

// Names the options for which no function was found.
void unmatched_say(const struct spool_file *s, struct places *places);

// ---- children.c ----

// The same for a run with --children=merge: writes into the one profile of all its processes, or
// into the folder where they are collected. The first process gets the totals of all.
int children_write(struct spool_file *s, const struct output_files *files,
                   struct finish_totals *totals, char *err, size_t err_size);
// False: the profile is a part of another process's.
bool children_is_root(const struct spool_file *s);

// ---- children_merge.c ----

// At the program's own end: its profile is `name` in the folder, the sum of all goes to output.
int children_merge_all(const struct spool_file *s, const char *tree, const char *name,
                       const char *output, struct finish_totals *totals, char *err,
                       size_t err_size);
// After that: writes the profile, then adds it to the sum.
int children_merge_late(struct spool_file *s, const struct output_files *files, const char *name,
                        struct finish_totals *totals, char *err, size_t err_size);

// ---- fallback.c ----

// Called when a profile could not be written; `why` says why. If the spool is gone, too, or its
// folder has another name, writes the profile into another folder and says where. False: neither is
// so, or no folder takes it.
bool fallback_write(struct spool_file *s, const struct output_files *files,
                    struct finish_totals *totals, const char *why);

#endif
