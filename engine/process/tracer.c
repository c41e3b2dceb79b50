// SPDX-License-Identifier: MIT
// The tracer of this process (tracer.h).
#include "engine/process/tracer.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/spooler.h"

static s64 first;

// Process that traces this thread; 0: none.
static s64 now(void)
{
    static const char key[] = "TracerPid:\t";
    char status[2048];
    long fd = sys_open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
    s64 pid = 0;

    if (fd < 0)
        return 0;
    long n = sys_read((int)fd, status, sizeof(status) - 1);
    sys_close((int)fd);
    status[n > 0 ? n : 0] = '\0';
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, sizeof(key) - 1))
            continue;
        for (line += sizeof(key) - 1; *line >= '0' && *line <= '9'; line++)
            pid = pid * 10 + (*line - '0');
        break;
    }
    return pid;
}

void tracer_init(void)
{
    if (spool->flags & SPOOL_F_TRACE_CHILDREN)
        first = now();
}

bool tracer_is_there(void)
{
    return now() != 0;
}

bool tracer_is_debugger(void)
{
    s64 pid = now();

    return pid && pid != first;
}
