// SPDX-License-Identifier: MIT
//
// Forks as many processes as the argument says, one after the other; each ends at once. Under
// `make bench` nearly all of the cost is the copy of the spool and the finisher.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

    for (long i = 0; i < n; i++) {
        pid_t child = fork();

        if (child < 0)
            return 1;
        if (child == 0)
            _exit(0);
        if (waitpid(child, NULL, 0) != child)
            return 1;
    }
    return 0;
}
