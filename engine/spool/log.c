// SPDX-License-Identifier: MIT
// Opens a separate log for a forked or executed process (log.h).
#include "engine/spool/log.h"

#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/environ.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

static const char *variable(const char *name, u64 len)
{
    char *const *env = environ_start();

    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return "";
}

bool log_path(char *to, u64 size, const char *name)
{
    u64 n = 0;

    for (; *name; name++) {
        u64 len = 0;
        if (n + 32 > size)
            return false;
        if (name[0] == '%' && name[1] == 'p') {
            n += nolibc_format(to + n, size - n, "%d", sys_getpid());
            name++;
        } else if (name[0] == '%' && name[1] == 'q' && name[2] == '{') {
            for (name += 3; name[len] && name[len] != '}'; len++)
                ;
            n += nolibc_format(to + n, size - n, "%s", variable(name, len));
            if (n >= size || !name[len])
                return false;
            name += len;
        } else {
            to[n++] = *name;
            name += name[0] == '%' && name[1] == '%';
        }
    }
    to[n] = '\0';
    return true;
}

bool log_is_own(const char *name)
{
    const char *percent = name;

    while ((percent = strchr(percent, '%')) && percent[1] != 'p')
        percent += percent[1] == '%' ? 2 : 1;
    return percent != NULL;
}

void log_own(void)
{
    const char *name = spooler_string(spool->s_log);
    char path[4096];
    int fd;

    if (!log_is_own(name) || !log_path(path, sizeof(path), name))
        return;
    fd = (int)sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK,
                       0666);
    if (fd < 0) {
        engine_msg("%s: cannot be opened for the messages of this process: error %d", path, -fd);
        return;
    }
    fds_replace_log(fd);
}
