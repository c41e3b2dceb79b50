// SPDX-License-Identifier: MIT
//
// Runs objdump. Used by `quern annotate --asm` and, where Zydis does not know the processor, by
// `quern report`.
#include "cli/files/objdump.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/util.h"

extern char **environ;

enum { OBJECT_FD = 3 }; // in objdump

// objdump reads a section whole, which in a sparse file may be larger than the memory. No real
// object came near this size.
#define OBJECT_LARGEST (INT64_C(4) << 30)

FILE *objdump_open(int object, uint64_t first, uint64_t end, bool bytes, pid_t *pid)
{
    char *from = xasprintf("--start-address=0x%llx", (unsigned long long)first);
    char *to = xasprintf("--stop-address=0x%llx", (unsigned long long)end);
    const char *show = bytes ? "--insn-width=16" : "--no-show-raw-insn";
    // Not by the name of the object: another file may have that name by now.
    const char *argv[] = { "objdump", "-d", show, from, to, "/proc/self/fd/3", NULL };
    posix_spawn_file_actions_t actions;
    struct stat st;
    FILE *f = NULL;
    int fds[2];

    *pid = 0;
    if (fstat(object, &st) == 0 && st.st_size <= OBJECT_LARGEST && pipe2(fds, O_CLOEXEC) == 0) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, object, OBJECT_FD);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        int rc = posix_spawnp(pid, argv[0], &actions, NULL, (char **)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(fds[1]);
        if (rc != 0)
            *pid = 0;
        else
            f = fdopen(fds[0], "r");
        if (!f)
            close(fds[0]);
    }
    free(from);
    free(to);
    return f;
}

bool objdump_close(FILE *f, pid_t pid)
{
    int status = 0;

    if (f)
        fclose(f);
    if (pid <= 0)
        return false;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127;
}
