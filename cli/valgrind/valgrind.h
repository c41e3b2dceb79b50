// SPDX-License-Identifier: MIT
//
// What the files of the front-end share.
#ifndef QUERN_CLI_VALGRIND_H
#define QUERN_CLI_VALGRIND_H

#include <stddef.h>

#include "cli/options/options.h"

// Words of a command line.
struct valgrind_words {
    char **word;
    size_t count;
};

void valgrind_words_add(struct valgrind_words *w, const char *word);

// valgrind_rc.c: the options that stand elsewhere, in the order in which Valgrind reads them.
void valgrind_rc_read(struct valgrind_words *w);

// Options whose value has to be looked at.
void valgrind_vgdb_error(void *field, const struct option *o, const char *value);
void valgrind_obj_skip(void *field, const struct option *o, const char *value);

#endif
