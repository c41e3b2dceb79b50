// SPDX-License-Identifier: MIT
//
// The only place that writes escape sequences for colours. Whether a descriptor accepts them is
// checked once.
#include "cli/terminal/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool colour_wanted(int fd)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (no && *no)
        return false;
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fd) == 1;
}

static int known[3]; // of the standard streams: 1 yes, -1 no

void colour_keep(bool shown)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        known[fd] = shown && colour_wanted(fd) ? 1 : -1;
}

static bool takes(FILE *f)
{
    int fd = fileno(f);

    if (fd < 0 || fd > 2)
        return fd > 2 && colour_wanted(fd);
    if (known[fd] == 0)
        known[fd] = colour_wanted(fd) ? 1 : -1;
    return known[fd] > 0;
}

void colour_begin(FILE *f, enum colour c)
{
    // ORDER colour: ECMA-48, select graphic rendition
    static const char *const code[COLOUR_COUNT] = { "0", "1", "31", "32", "33" };

    if (c != COLOUR_PLAIN && takes(f))
        fprintf(f, "\033[%sm", code[c]);
}

void colour_end(FILE *f, enum colour c)
{
    if (c != COLOUR_PLAIN && takes(f))
        fputs("\033[0m", f);
}

enum colour colour_of_change(int sign)
{
    return sign > 0 ? COLOUR_WORSE : sign < 0 ? COLOUR_BETTER : COLOUR_PLAIN;
}
