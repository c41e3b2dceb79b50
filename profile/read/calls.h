// SPDX-License-Identifier: MIT
//
// Lines of calls and jumps.

#ifndef QUERN_PROFILE_CALLS_H
#define QUERN_PROFILE_CALLS_H

#include "profile/read/reader.h"

// The text after "calls="; end: the newline.
void calls_line(struct reader *r, const char *s, const char *end);
// The text after "jump=" or "jcnd=":
// jump=N target | jcnd=followed/executed target | jcnd=executed followed target
void calls_jump_line(struct reader *r, const char *s, const char *end, bool conditional);

#endif
