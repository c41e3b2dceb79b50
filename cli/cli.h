// SPDX-License-Identifier: MIT
//
// The commands. main.c finds one by its name, or by the traditional name it was started with, and
// calls it with argv[0] being that name; the return value is the exit status. One file for each
// command.
#ifndef QUERN_CLI_CLI_H
#define QUERN_CLI_CLI_H

// cli/run/run.c: returns only when the program could not be started.
int cmd_run(int argc, char **argv);
// cli/finish/recover.c
int cmd_recover(int argc, char **argv);
// cli/finish/finish.c: what the engine execs; ends as the client ended.
int cmd_finish(int argc, char **argv);

// The profile commands.
int cmd_annotate(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_check(int argc, char **argv);
// The same by their traditional names, with the options of those.
int cmd_cg_annotate(int argc, char **argv);
int cmd_cg_merge(int argc, char **argv);
int cmd_cg_diff(int argc, char **argv);
int cmd_callgrind_annotate(int argc, char **argv);

#endif
