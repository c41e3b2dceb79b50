// SPDX-License-Identifier: MIT
//
// Text that came from anywhere as a string of JSON. Numbers need no help: a count is written with
// all its digits.
#ifndef QUERN_CLI_JSON_H
#define QUERN_CLI_JSON_H

#include <stddef.h>
#include <stdio.h>

// A JSON string; bytes that are not UTF-8 become U+FFFD.
void json_string(FILE *f, const char *text);
// Length of the well-formed UTF-8 sequence at s, or 0.
size_t json_utf8(const unsigned char *s);

#endif
