// SPDX-License-Identifier: MIT
//
// The program `quern` as it is started: `quern run`, static and without the libraries that read and
// show profiles. A run begins with it, and loading those took a fifth of the time of `quern run
// true`. For all other commands it executes quern-whole (cli/main.c) in its place, under the name
// that was given.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/run/run.h"

static _Noreturn void execute_whole(char **argv)
{
    char *self = util_self(), *whole = run_beside(self, RUN_WHOLE);

    execv(whole, argv);
    die(errno == ENOENT ? UTIL_NOTFOUND : UTIL_USAGE,
        "%s: %s; it holds all other commands: install quern again", whole, strerror(errno));
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(util_basename(argv[0]), "quern") != 0 || strcmp(argv[1], "run") != 0)
        execute_whole(argv);
    return cmd_run(argc - 1, argv + 1);
}
