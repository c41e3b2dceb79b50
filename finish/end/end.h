// SPDX-License-Identifier: MIT
//
// The end of a run: its summary, and the finisher.
#ifndef QUERN_FINISH_END_H
#define QUERN_FINISH_END_H

#include <stdio.h>

#include "finish/profile/profile.h"

// ---- summary.c ----

// The summary in the manual's layout, with "==PID== " before each line.
void summary_print(FILE *f, const struct spool_header *h, const uint64_t *counts);
// Callgrind's own lines: the events, and the counts of all of them.
void summary_collected(FILE *f, const struct spool_header *h, const uint64_t *counts);
// What the engine did (-v).
void summary_engine(FILE *f, const struct spool_header *h);

// ---- summary_json.c ----

// What every JSON says of a run: version, command, caches. Members of an object, followed by a
// comma.
void summary_json_run(FILE *f, const struct spool_file *s);
// "curve", after a comma, of a run with --curve=yes.
void summary_json_curve(FILE *f, const struct spool_file *s);
// "exit":0 or "signal":9 or, if unknown, "end":null.
void summary_json_end(FILE *f, uint32_t kind, int32_t code);
// The summary of a run as one line (--summary=json).
void summary_json(FILE *f, const struct spool_file *s, const char *output, const uint64_t *counts);

// ---- advice.c ----

// Before the profile is written: will it replace that of another process of the run, and is this
// the process that says so?
bool advice_will_replace(const struct spool_file *s, const char *output);
// Below the summary: what the profile does not show; on a terminal also what to do next. Standard
// error is the log.
void advice_print(FILE *f, const struct spool_file *s, const char *output,
                  const struct finish_totals *totals, bool replaced);

// ---- recorded.c ----

// Called after a profile is written at the end of a run.
void recorded_note(const struct spool_file *s, const struct output_files *files);

// ---- pipe_wait.c ----

// The out_wait of profile/write/out.h; prints a message the first time.
int pipe_wait_reader(const char *path);
// Waits until standard error can be written to. If the user gives up, redirects it to /dev/null.
void pipe_wait_log(void);
// Writes a text to standard error.
void pipe_wait_write(const char *text, size_t size);

// ---- finish.c ----

// `quern --finish`. Set util_before_message() before the call.
int finish_spools(int argc, char **argv);

// Raises the soft limits of this process, which may be those that the client set for itself: each
// module takes a descriptor.
void finish_lift_limits(void);

#endif
