// SPDX-License-Identifier: MIT
// exec from a thread that is not the main one, in the profiled process itself; before that an exec
// that fails.
#include "check.h"

#include <pthread.h>

static void *doer(void *arg)
{
    CHECK(execl("/no/such/thing", "x", (char *)NULL) == -1 && errno == ENOENT);
    CHECK(execl("/etc", "x", (char *)NULL) == -1 && errno == EACCES);
    SAY("before");
    if (check_failed)
        _exit(1);
    execl("/bin/sh", "sh", "-c", "echo after; exit 0", (char *)NULL);
    return arg;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, doer, NULL);
    for (;;)
        pause();
}
