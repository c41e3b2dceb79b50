// SPDX-License-Identifier: MIT
// Executes steps of 2,000 instructions until it is killed, and counts them in a file that survives
// it: a profile has at least as many. counted FILE one|threads|forks
//
// The file is an array of struct slot; a slot is a process's or a thread's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 512 // forked children take one after the other, again from the first

static volatile struct slot {
    unsigned long pid, steps;
} *slot;

static void step(volatile struct slot *s)
{
    unsigned long n = 1000;

    __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n));
    s->steps++;
}

static void *run(void *arg)
{
    volatile struct slot *s = arg;

    s->pid = (unsigned long)getpid();
    for (;;)
        step(s);
    return NULL;
}

static void fork_on(void)
{
    for (int i = 1;; i = i % (SLOTS - 1) + 1) {
        pid_t pid = fork();

        if (pid == 0) {
            slot[i].steps = 0;
            slot[i].pid = (unsigned long)getpid();
            for (int k = 0; k < 200; k++)
                step(&slot[i]);
            _exit(0);
        }
        if (i % 4 == 0)
            while (waitpid(-1, NULL, 0) > 0)
                ;
        step(&slot[0]);
    }
}

int main(int argc, char **argv)
{
    int fd = argc > 2 ? open(argv[1], O_RDWR) : -1;
    pthread_t thread;

    slot = mmap(NULL, SLOTS * sizeof(*slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (slot == MAP_FAILED)
        return 2;
    slot[0].pid = (unsigned long)getpid();
    if (!strcmp(argv[2], "forks"))
        fork_on();
    if (!strcmp(argv[2], "threads"))
        pthread_create(&thread, NULL, run, (void *)(size_t)&slot[1]);
    run((void *)(size_t)&slot[0]);
    return 0;
}
