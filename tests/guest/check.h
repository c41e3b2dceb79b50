// SPDX-License-Identifier: MIT
//
// For the C programs of tests/guest: CHECK(condition) prints a failed condition on standard output,
// and the program continues; main ends with `return check_failed`.
#ifndef QUERN_TESTS_GUEST_CHECK_H
#define QUERN_TESTS_GUEST_CHECK_H

#include <errno.h>
#include <stdio.h>

static int check_failed;

#define CHECK(condition)                                                             \
    do {                                                                             \
        int saved_errno_ = errno;                                                    \
        if (!(condition)) {                                                          \
            printf("%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, \
                   saved_errno_);                                                    \
            fflush(stdout);                                                          \
            check_failed = 1;                                                        \
        }                                                                            \
    } while (0)

#endif
