// SPDX-License-Identifier: MIT
//
// Text on the screen: names made harmless and short, numbers as annotate prints them.
#ifndef QUERN_CLI_TOP_TEXT_H
#define QUERN_CLI_TOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/values.h"

enum { TOP_TEXT_NUMBER = 96 }; // bytes that hold any number

// Bytes of a profile or a source as text for the terminal: at most `columns` wide, cut with an
// ellipsis. What is not UTF-8, moves the cursor or changes the direction of writing is escaped as
// in cli/base/text.h; a character without a width becomes a visible one. A tab goes to the next
// multiple of eight. `out` has 4 * columns + 4 bytes. Returns the width.
int top_text_clean(char *out, const char *text, size_t size, int columns, bool unicode);

// A function's name with an ellipsis in place of the text between < and >; to be freed.
char *top_text_short(const uint8_t *name, size_t size, bool unicode);

// A value in units of 1/scale. "~" before an inexact number, "-" for none.
void top_text_value(char out[TOP_TEXT_NUMBER], struct value v, int64_t scale, unsigned side,
                    struct value new_, struct value old);
// "12.3%"; "" where the whole is zero.
void top_text_share(char out[TOP_TEXT_NUMBER], struct value part, struct value whole);

#endif
