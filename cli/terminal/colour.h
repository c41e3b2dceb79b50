// SPDX-License-Identifier: MIT
//
// Colours of what a person reads at a terminal: nothing where the output is none, where TERM is
// "dumb", or where NO_COLOR is set. The text is the same with and without.
#ifndef QUERN_CLI_COLOUR_H
#define QUERN_CLI_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

enum colour {
    COLOUR_PLAIN,
    COLOUR_HEAD,  // headings
    COLOUR_WORSE, // dearer, wrong
    COLOUR_BETTER,
    COLOUR_WARN,
    COLOUR_COUNT,
};

// May what is written to this descriptor be coloured?
bool colour_wanted(int fd);
// What is written between the two has this colour, where the stream is such a terminal.
void colour_begin(FILE *f, enum colour c);
void colour_end(FILE *f, enum colour c);
// The colour of a difference, new minus old, by its sign.
enum colour colour_of_change(int sign);

#endif
