// SPDX-License-Identifier: MIT
//
// Text for people: names, paths, commands and source lines come from profiles, object files and
// other users' processes, and nothing of them that a terminal would obey leaves quern. All that is
// printed for people goes through here, to a terminal or not: a pipe ends in a pager or in a log.
//
// What is not shown as it is: control characters (C0, DEL, C1), those that turn the direction of
// writing (Bidi_Control of Unicode), its separators of lines and paragraphs, and bytes that are not
// UTF-8. In place of each of their bytes stands what C calls it: \n \033 \342\200\256. Everything
// else stays, a backslash as well; so text that is clean is unchanged, and cleaning twice is
// cleaning once.
#ifndef QUERN_CLI_TEXT_H
#define QUERN_CLI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TEXT_ESCAPED = 16,  // bytes that the visible form of a character fits in
    TEXT_NO_MEMORY = 2, // exit status where there is none
};

// The character at s, of which there are `size` bytes, at least one, and its length; -1 and 1 where
// it is not UTF-8.
int32_t text_decode(const char *s, size_t size, size_t *length);
// May a terminal get this character as it is? Not -1, and no control character.
bool text_is_shown(int32_t c);
// The visible form of the n bytes of one character, with a NUL; its length.
size_t text_escape(char out[TEXT_ESCAPED], const char *s, size_t n);

// Of the first n bytes of s as many as do not end within a character, or s's length.
size_t text_cut(const char *s, size_t n);

// How many of the n bytes, from the first on, are shown as they are.
size_t text_clean_bytes(const char *s, size_t n);

// All of s, in visible form; a newline and a tab, too.
void text_put(FILE *f, const char *s);
// A line of a source file without its end, which may be at s or not: a newline, a carriage return
// before it. Tabs stay.
void text_put_line(FILE *f, const char *s, size_t n);
// The same as text_put(), to be freed.
char *text_clean(const char *s);

// As fprintf(), but what %s and %c stand for is put as text_put() does. A width is that of the
// visible form, in bytes. Neither %n, nor wide characters, nor numbered arguments.
void text_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprint(FILE *f, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
// The same in memory, cut where it does not fit.
void text_format(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
// "before", that, and "behind", for one write. Needs no memory for what is short.
struct text_line {
    char *at; // `first`, or memory of its own
    size_t used, room;
    char first[1024];
};
void text_line_make(struct text_line *k, const char *before, const char *fmt, va_list ap,
                    const char *behind) __attribute__((format(printf, 3, 0)));
void text_line_free(struct text_line *k);

#endif
