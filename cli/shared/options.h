// SPDX-License-Identifier: MIT
//
// The options of the profile commands.
#ifndef QUERN_CLI_OPTIONS_H
#define QUERN_CLI_OPTIONS_H

#include <stdint.h>

// How the user calls this command: "quern annotate", or the traditional name.
const char *options_name(const char *argv0);
// Value of "--name=value" when arg is that option, else NULL.
const char *options_value(const char *arg, const char *name);
// The same, or the next argument (then *i moves on); dies when there is none.
const char *options_next(int argc, char **argv, int *i, const char *name);
// "yes" or "no"; dies otherwise.
int options_yes(const char *option, const char *value);
// A percentage between 0 and max; dies otherwise, or is -1.
double options_percent(const char *option, const char *value, double max);
double options_percent_or(const char *value, double max);
uint64_t options_number(const char *option, const char *value);
// "quern: unknown option ..." with what to do; ends with status 2.
_Noreturn void options_unknown(const char *command, const char *arg);

#endif
