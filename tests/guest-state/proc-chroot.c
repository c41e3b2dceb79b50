// SPDX-License-Identifier: MIT
// A process that ends under another root folder, where the paths of engine and finisher do not
// exist: its profile is written all the same (the runner looks for spools left behind).
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
    char folder[] = "/tmp/proc-chroot.XXXXXX";
    int status = -1, old;
    struct stat root, now;
    long pid;

    CHECK(mkdtemp(folder) != NULL);
    CHECK(stat("/", &root) == 0);
    old = open("/", O_PATH | O_DIRECTORY);
    fflush(stdout);
    // The child's root folder is its parent's, too, until the profiler separates them.
    pid = syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        if (chroot(folder) || chdir("/"))
            _exit(errno == EPERM ? 4 : 5);
        _exit(4);
    }
    CHECK(waitpid((pid_t)pid, &status, 0) == pid && status == 4 << 8);
    CHECK(stat("/", &now) == 0);
    if (geteuid() == 0)
        CHECK(now.st_ino != root.st_ino || now.st_dev != root.st_dev);
    CHECK(fchdir(old) == 0);
    if (chroot(".") == 0)
        CHECK(stat("/", &now) == 0 && now.st_ino == root.st_ino);
    CHECK(rmdir(folder) == 0);
    SAY("elsewhere");
    return check_failed;
}
