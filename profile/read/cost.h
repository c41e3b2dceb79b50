// SPDX-License-Identifier: MIT
//
// Lines of costs, and the lines with the place of a jump.

#ifndef QUERN_PROFILE_COST_H
#define QUERN_PROFILE_COST_H

#include "profile/read/reader.h"

// Whether a line that begins with c is a cost line.
static inline bool cost_begins(char c)
{
    return is_digit(c) || c == '+' || c == '*' || c == '-';
}

// The cost line at s and the cost lines that follow; r->bol and r->line are those of the last.
// Returns the byte after its newline. @hot
const char *cost_lines(struct reader *r, const char *s, const char *end);
// The same, but only for the reader's place: ignores the counts. Eight bytes after `end` must be
// readable. @hot
const char *cost_follow(struct reader *r, const char *s, const char *end);
// The same, but only for their function; r->pos does not change. @hot
const char *cost_pass(struct reader *r, const char *s, const char *end);
// One line, whatever it begins with; end: its newline.
void cost_line(struct reader *r, const char *s, const char *end);

#endif
