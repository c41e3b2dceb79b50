// SPDX-License-Identifier: MIT
//
// Names of functions as people type them: without the parameters of C++, as patterns, misspelt.
// `quern diff --fail-if` and the finisher compare them with the names of a profile.
#ifndef QUERN_CLI_FUNCNAME_H
#define QUERN_CLI_FUNCNAME_H

#include <stdbool.h>
#include <stddef.h>

// The length of a name without its parameters and what follows them: 4 of "main(int, char**)".
size_t funcname_length(const char *name);
// Does the typed text mean the function: is it the name, with or without its parameters?
bool funcname_is(const char *typed, const char *name);
// Has the text a * or a ?, and does it match all of the name, with or without its parameters?
bool funcname_is_pattern(const char *typed);
bool funcname_matches(const char *pattern, const char *name);
// The same with its parameters alone, as the engine compares names.
bool funcname_matches_whole(const char *pattern, const char *name);

// The name that was probably meant. Begin with { .typed = TEXT } and try all names, which have to
// stay where they are; `best` is NULL if none is near.
struct funcname_nearest {
    const char *typed, *best;
    size_t distance; // of the best one
};
void funcname_try(struct funcname_nearest *n, const char *name);

#endif
