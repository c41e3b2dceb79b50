// SPDX-License-Identifier: MIT
//
// What stands on the screen as text: names made harmless and short, numbers as annotate prints
// them.
#ifndef QUERN_CLI_TOP_TEXT_H
#define QUERN_CLI_TOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/core/values.h"

enum { TOP_TEXT_NUMBER = 96 }; // bytes that any number fits in

// Bytes of a profile or a source as text for the terminal: at most `columns` wide, cut with an
// ellipsis; what is no text, moves the cursor or turns the direction of writing is shown in the
// form of cli/base/text.h, what takes no room as one visible character. A tab goes to the next
// multiple of eight. `out` has room for 4 * columns + 4 bytes. Returns the width.
int top_text_clean(char *out, const char *text, size_t size, int columns, bool unicode);

// A function's name with an ellipsis for what stands between < and >; to be freed.
char *top_text_short(const uint8_t *name, size_t size, bool unicode);

// A value in units of 1/scale. "~" before what is not exact, "-" alone for none.
void top_text_value(char out[TOP_TEXT_NUMBER], struct value v, int64_t scale, unsigned side,
                    struct value new_, struct value old);
// "12.3%"; "" where the whole is zero.
void top_text_share(char out[TOP_TEXT_NUMBER], struct value part, struct value whole);

#endif
