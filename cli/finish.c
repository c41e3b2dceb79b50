// SPDX-License-Identifier: MIT
//
// `quern --finish FD...`, which the engine executes: the finisher (finish/end/finish.c). It has no
// options, and its messages wait for a reader where the log is a pipe.
#include "cli/base/util.h"
#include "cli/cli.h"
#include "finish/end/end.h"

int cmd_finish(int argc, char **argv)
{
    util_before_message(pipe_wait_log);
    return finish_spools(argc, argv);
}
