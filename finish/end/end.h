// SPDX-License-Identifier: MIT
//
// The end of a run: what is said of it, and the finisher.
#ifndef QUERN_FINISH_END_H
#define QUERN_FINISH_END_H

#include <stdio.h>

#include "finish/profile/profile.h"

// ---- summary.c ----

// The summary in the manual's layout, each line led by "==PID== ".
void summary_print(FILE *f, const struct spool_header *h, const uint64_t *counts);
// What the engine did (-v).
void summary_engine(FILE *f, const struct spool_header *h);

// ---- summary_json.c ----

// What every JSON says of a run: version, command, caches; members of an object, a comma behind.
void summary_json_run(FILE *f, const struct spool_file *s);
// "exit":0 or "signal":9 or, when nobody knows, "end":null.
void summary_json_end(FILE *f, uint32_t kind, int32_t code);
// The summary of a run as one line (--summary=json).
void summary_json(FILE *f, const struct spool_file *s, const char *output, const uint64_t *counts);

// ---- recorded.c ----

// After a profile was written at the end of a run.
void recorded_note(const struct spool_file *s, const char *output);

// ---- pipe_wait.c ----

// As out_wait of profile/write/out.h, with a sentence the first time.
int pipe_wait_reader(const char *path);
// Until something can be written to standard error; or that goes nowhere from then on.
void pipe_wait_log(void);
// Writes a text there.
void pipe_wait_write(const char *text, size_t size);

// ---- finish.c ----

// `quern --finish`. What is called before a message is said by then.
int finish_spools(int argc, char **argv);

// Raises the soft limits of this process, which may be those that the client set for itself: every
// module takes a descriptor.
void finish_lift_limits(void);

#endif
