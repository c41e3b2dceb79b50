// SPDX-License-Identifier: MIT
//
// Text for people. Names, paths, commands and source lines come from profiles, object files and
// other users' processes; quern prints nothing of them that a terminal would obey. All output for
// people goes through here, to a terminal or not: a pipe may end in a pager or in a log.
//
// Escaped are control characters (C0, DEL, C1), those that change the direction of writing
// (Bidi_Control of Unicode), its separators of lines and paragraphs, and bytes that are not UTF-8.
// Each of their bytes becomes an escape sequence of C: \n \033 \342\200\256. Everything else stays,
// a backslash as well; so clean text is unchanged, and cleaning twice is cleaning once.
#ifndef QUERN_CLI_TEXT_H
#define QUERN_CLI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TEXT_ESCAPED = 16,  // bytes that hold the visible form of any character
    TEXT_NO_MEMORY = 2, // exit status when memory is exhausted
};

// The character at s, which has `size` bytes, at least one, and its length; -1 and 1 where it is
// not UTF-8.
int32_t text_decode(const char *s, size_t size, size_t *length);
// May a terminal get this character unchanged? Not -1, nor any that is escaped.
bool text_is_shown(int32_t c);
// The visible form of the n bytes of one character, with a NUL; its length.
size_t text_escape(char out[TEXT_ESCAPED], const char *s, size_t n);

// The largest length up to n that does not cut a character of s, or s's length.
size_t text_cut(const char *s, size_t n);

// How many of the n bytes, from the first on, are shown unchanged.
size_t text_clean_bytes(const char *s, size_t n);

// All of s, in visible form; newlines and tabs are escaped, too.
void text_put(FILE *f, const char *s);
// A line of a source file, with or without its end (a newline, perhaps behind a carriage return),
// which is not written. Tabs stay.
void text_put_line(FILE *f, const char *s, size_t n);
// The same as text_put(), to be freed.
char *text_clean(const char *s);

// As fprintf(), but the text of %s and %c is written as text_put() does. A width counts the bytes
// of the visible form. No %n, no wide characters, no numbered arguments.
void text_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprint(FILE *f, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
// The same in memory, cut where it does not fit.
void text_format(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
// `before`, the formatted text and `behind`, for a single write. Short text needs no allocation.
struct text_line {
    char *at; // `first`, or memory of its own
    size_t used, capacity;
    char first[1024];
};
void text_line_make(struct text_line *k, const char *before, const char *fmt, va_list ap,
                    const char *behind) __attribute__((format(printf, 3, 0)));
void text_line_free(struct text_line *k);

#endif
