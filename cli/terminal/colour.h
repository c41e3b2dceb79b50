// SPDX-License-Identifier: MIT
//
// Colours on a terminal: none where the output is not a terminal, TERM is "dumb", or NO_COLOR is
// set. The text is the same with and without.
#ifndef QUERN_CLI_COLOUR_H
#define QUERN_CLI_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

enum colour {
    COLOUR_PLAIN,
    COLOUR_HEAD,  // headings
    COLOUR_WORSE, // more expensive, wrong
    COLOUR_BETTER,
    COLOUR_WARN,
    COLOUR_COUNT,
};

// Does this descriptor accept colours?
bool colour_wanted(int fd);
// What standard output and standard error accept now they accept further on, though they become a
// pipe to a pager; `shown`: does that show colours?
void colour_keep(bool shown);
// Text between the two calls has this colour, where the stream accepts colours.
void colour_begin(FILE *f, enum colour c);
void colour_end(FILE *f, enum colour c);
// The colour of a difference, new minus old, by its sign.
enum colour colour_of_change(int sign);

#endif
