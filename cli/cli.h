// SPDX-License-Identifier: MIT
//
// The commands. main.c finds one by its name, or by the traditional name it was started with, and
// calls it with that name as argv[0]; the return value is the exit status. One file for each
// command.
#ifndef QUERN_CLI_CLI_H
#define QUERN_CLI_CLI_H

#include "cli/options/options.h"

// A row of main.c's table.
struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments, *summary; // NULL: a separate program with a traditional name
    const struct options *options;
};

// cli/run/run.c: returns only when the program could not be started.
int cmd_run(int argc, char **argv);
// cli/stat/stat.c
int cmd_stat(int argc, char **argv);
// cli/recover.c
int cmd_recover(int argc, char **argv);
// cli/finish.c: what the engine execs; ends as the client ended.
int cmd_finish(int argc, char **argv);
// cli/progress.c: what `quern run --progress` executes beside the run.
int cmd_progress(int argc, char **argv);
// cli/demangle.c: gives the engine the names that functions have in the profile.
int cmd_demangle(int argc, char **argv);

// The profile commands.
int cmd_annotate(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_top(int argc, char **argv);
// cli/trace/trace.c
int cmd_trace(int argc, char **argv);
// cli/control/control.c: callgrind_control, too.
int cmd_control(int argc, char **argv);
// cli/valgrind/valgrind.c: returns only when the program could not be started.
int cmd_valgrind(int argc, char **argv);
// The same by their traditional names, with the options of those.
int cmd_cg_annotate(int argc, char **argv);
int cmd_cg_merge(int argc, char **argv);
int cmd_cg_diff(int argc, char **argv);
int cmd_callgrind_annotate(int argc, char **argv);

// The tables of their options.
extern const struct options run_options_table;
extern const struct options stat_options_table;
extern const struct options recover_options_table;
extern const struct options annotate_options_table;
extern const struct options merge_options_table;
extern const struct options diff_options_table, diff_options_traditional;
extern const struct options convert_options_table;
extern const struct options check_options_table;
extern const struct options doctor_options_table;
extern const struct options report_options_table;
extern const struct options top_options_table;
extern const struct options trace_options_table;
extern const struct options control_options_table;
extern const struct options valgrind_options_table;

#endif
