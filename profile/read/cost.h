// SPDX-License-Identifier: MIT
//
// Lines of costs, and the lines with the place of a jump.

#ifndef QUERN_PROFILE_COST_H
#define QUERN_PROFILE_COST_H

#include "profile/read/reader.h"

// Whether a line that begins so is one of costs.
static inline bool cost_begins(char c)
{
    return is_digit(c) || c == '+' || c == '*' || c == '-';
}

// The line at s, which is one of costs, and those behind it that are, too; r->bol and r->line are
// those of the last. Returns the byte behind its newline. @hot
const char *cost_lines(struct reader *r, const char *s, const char *end);
// The same, but only what the lines do to the reader's place: their counts are not looked at. Eight
// bytes behind `end` can be read. @hot
const char *cost_follow(struct reader *r, const char *s, const char *end);
// The same, but only that they belong to their function; r->pos stays as it is. @hot
const char *cost_pass(struct reader *r, const char *s, const char *end);
// One line, whatever it begins with; end: its newline.
void cost_line(struct reader *r, const char *s, const char *end);

#endif
