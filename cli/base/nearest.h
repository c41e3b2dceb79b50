// SPDX-License-Identifier: MIT
//
// Which known name was probably meant by one that is not known: of commands, options, events,
// functions. The caller offers all names that there are.
#ifndef QUERN_CLI_NEAREST_H
#define QUERN_CLI_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *name; // not terminated
    size_t length;
    const char *best; // NULL: none of those offered so far
    size_t distance;
};

struct nearest nearest_begin(const char *name, size_t length);
// Keeps the candidate if it is nearer than the best one: one letter in three may be wrong, upper
// and lower case are the same; where one begins with the other, the rest may have any length.
void nearest_offer(struct nearest *n, const char *candidate);

#endif
