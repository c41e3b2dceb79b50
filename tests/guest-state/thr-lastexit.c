// SPDX-License-Identifier: MIT
// All threads leave by pthread_exit, none by exit: the process ends with status 0 after the last.
#include <stdio.h>
#include <unistd.h>

#include <pthread.h>
#include <semaphore.h>

static sem_t said;

static void *leave(void *arg)
{
    if ((long)arg == 5)
        while (sem_wait(&said)) // the first thread can be late on a machine with other work
            ;
    usleep((useconds_t)(long)arg * 5000);
    if ((long)arg == 5)
        puts("last"), fflush(stdout);
    pthread_exit(NULL);
}

int main(void)
{
    pthread_t t;

    sem_init(&said, 0, 0);
    for (long i = 0; i <= 5; i++)
        pthread_create(&t, NULL, leave, (void *)i);
    puts("main");
    fflush(stdout);
    sem_post(&said);
    pthread_exit(NULL);
}
