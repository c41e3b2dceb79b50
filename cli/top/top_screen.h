// SPDX-License-Identifier: MIT
//
// The terminal: the only file of quern that knows curses. Between top_screen_begin() and
// top_screen_end() the terminal is in another mode; signals that end the process arrive as a key,
// so the terminal is restored first.
#ifndef QUERN_CLI_TOP_SCREEN_H
#define QUERN_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ORDER top_screen_style: the heat levels follow one another
enum top_screen_style {
    STYLE_PLAIN,
    STYLE_TITLE,
    STYLE_HEAD,
    STYLE_DIM,
    STYLE_HEAT_1,
    STYLE_HEAT_2,
    STYLE_HEAT_3,
    STYLE_HEAT_4,
    STYLE_WORSE,
    STYLE_BETTER,
    STYLE_COUNT,
};

// Keys that are not characters; above all of Unicode.
enum top_screen_key {
    KEY_OF_NONE = 0x200000, // no key in time
    KEY_OF_SIGNAL,          // the process has to end: top_screen_signal()
    KEY_OF_SIZE,            // the terminal has another size
    KEY_OF_UP,
    KEY_OF_DOWN,
    KEY_OF_LEFT,
    KEY_OF_RIGHT,
    KEY_OF_HOME,
    KEY_OF_END,
    KEY_OF_PAGE_UP,
    KEY_OF_PAGE_DOWN,
    KEY_OF_BACK,
    KEY_OF_ENTER,
    KEY_OF_ESCAPE,
    KEY_OF_OTHER,
};

// Why this terminal cannot be used, or NULL. Changes nothing.
const char *top_screen_refuses(void);
// False: the terminal is unknown.
bool top_screen_begin(void);
void top_screen_end(void);
// The signal that ends the process; 0: none.
int top_screen_signal(void);

int top_screen_rows(void);
int top_screen_columns(void);
// Can it show more than ASCII?
bool top_screen_unicode(void);

void top_screen_clear(void);
// Text without control characters; cut at the edge of the screen.
void top_screen_put(int row, int column, const char *text, enum top_screen_style style,
                    bool selected);
// Shows what was put; with `column` >= 0 the cursor is shown there.
void top_screen_show(int row, int column);

// The next key, a character of Unicode or one of enum top_screen_key. Waits so many milliseconds;
// -1: for ever.
uint32_t top_screen_key(int milliseconds);

#endif
