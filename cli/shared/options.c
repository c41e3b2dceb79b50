// SPDX-License-Identifier: MIT
//
// The options of the profile commands.
#include "cli/shared/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/shared/util.h"

const char *options_name(const char *argv0)
{
    argv0 = util_basename(argv0);
    if (strncmp(argv0, "cg_", 3) == 0 || strncmp(argv0, "callgrind_", 10) == 0)
        return argv0;
    return xasprintf("quern %s", argv0);
}

const char *options_value(const char *arg, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(arg, name, n) && arg[n] == '=' ? arg + n + 1 : NULL;
}

const char *options_next(int argc, char **argv, int *i, const char *name)
{
    if (*i + 1 >= argc)
        die(UTIL_USAGE, "%s: a value is missing behind it", name);
    return argv[++*i];
}

int options_yes(const char *option, const char *value)
{
    if (strcmp(value, "yes") == 0)
        return 1;
    if (strcmp(value, "no") != 0)
        die(UTIL_USAGE, "%s=%s: must be yes or no", option, value);
    return 0;
}

// -1: it is none from 0 to max
double options_percent_or(const char *value, double max)
{
    char *end;
    double v = strtod(value, &end);

    if (*end == '%')
        end++;
    return end == value || *end || !(v >= 0 && v <= max) ? -1 : v;
}

double options_percent(const char *option, const char *value, double max)
{
    double v = options_percent_or(value, max);

    if (v < 0)
        die(UTIL_USAGE, "%s=%s: must be a percentage from 0 to %g", option, value, max);
    return v;
}

uint64_t options_number(const char *option, const char *value)
{
    uint64_t v;

    if (!util_number(value, UINT64_MAX, &v))
        die(UTIL_USAGE, "%s=%s: must be a whole number", option, value);
    return v;
}

void options_unknown(const char *command, const char *arg)
{
    die(UTIL_USAGE, "unknown option '%s'; '%s --help' lists them", arg, command);
}
