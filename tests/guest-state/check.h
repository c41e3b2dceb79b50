// SPDX-License-Identifier: MIT
// Used by every client program here: a check that prints what failed and makes the program end with
// status 1. The programs behave the same natively and under the engine; the runner (run) compares
// output and status of both.
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_failed;

#define CHECK(cond)                                                                     \
    do {                                                                                \
        if (!(cond)) {                                                                  \
            printf("%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
            check_failed = 1;                                                           \
        }                                                                               \
    } while (0)

#define SAY(...)             \
    do {                     \
        printf(__VA_ARGS__); \
        putchar('\n');       \
        fflush(stdout);      \
    } while (0)

#endif
