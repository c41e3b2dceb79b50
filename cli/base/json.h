// SPDX-License-Identifier: MIT
//
// Untrusted text as a string of JSON. Numbers need no help: a count is written with all its digits.
#ifndef QUERN_CLI_JSON_H
#define QUERN_CLI_JSON_H

#include <stdio.h>

// A JSON string. Bytes that are not UTF-8 become U+FFFD; control characters, and those that change
// the direction of writing, become \uXXXX.
void json_string(FILE *f, const char *text);

#endif
