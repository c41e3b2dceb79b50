// SPDX-License-Identifier: MIT
//
// A process with one free descriptor, or none, forks: the child runs to its end.
//
// about: replay-split
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(void)
{
    struct rlimit limit = { 64, 64 };
    int last = -1, fd;

    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        last = fd;
    CHECK(errno == EMFILE && last > 3);
    for (int spare = 0; spare < 4; spare++) {
        int status = -1;
        pid_t child = fork();

        if (child == 0)
            _exit(5);
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
        close(last - spare);
    }
    return check_failed;
}
