// SPDX-License-Identifier: MIT
//
// What the files of the front-end share.
#ifndef QUERN_CLI_VALGRIND_H
#define QUERN_CLI_VALGRIND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options/options.h"

// Words of a command line.
struct valgrind_words {
    char **word;
    size_t count;
};

void valgrind_words_add(struct valgrind_words *w, const char *word);

// valgrind_rc.c: options from files and the environment, in the order in which Valgrind reads them.
void valgrind_rc_read(struct valgrind_words *w);

// valgrind_requests.c
bool valgrind_requests_toggle(const char *path);

#endif
