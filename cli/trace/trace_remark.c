// SPDX-License-Identifier: MIT
//
// What is wrong with a trace, on standard error.
#include "cli/base/util.h"
#include "cli/trace/trace.h"

void trace_remark_die(const char *path, const struct trace_reader *r)
{
    die(UTIL_USAGE, "%s: byte %llu: %s", path, (unsigned long long)r->error_at, r->error);
}

void trace_remark_end(const char *path, const struct trace_reader *r)
{
    if (r->cut)
        warn("%s: byte %llu: the last chunk is cut off and ignored; the program was killed, or "
             "writing the trace failed",
             path, (unsigned long long)r->at);
    else if (!r->complete)
        warn("%s: byte %llu: the end mark is missing; the program was killed, or still runs, or "
             "writing the trace failed",
             path, (unsigned long long)r->at);
}
