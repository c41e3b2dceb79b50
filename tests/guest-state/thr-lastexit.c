// SPDX-License-Identifier: MIT
// All threads leave by pthread_exit, none by exit: the process ends with status 0 after the last.
#include <stdio.h>
#include <unistd.h>

#include <pthread.h>

static void *leave(void *arg)
{
    usleep((useconds_t)(long)arg * 5000);
    if ((long)arg == 5)
        puts("last"), fflush(stdout);
    pthread_exit(NULL);
}

int main(void)
{
    pthread_t t;

    for (long i = 0; i <= 5; i++)
        pthread_create(&t, NULL, leave, (void *)i);
    puts("main");
    fflush(stdout);
    pthread_exit(NULL);
}
