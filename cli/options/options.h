// SPDX-License-Identifier: MIT
//
// The options of a command as one table. It drives the reading of a command line and --help
// (options.c), completion for shells (complete.c) and the list of options in a man page
// (scripts/man-options).
#ifndef QUERN_CLI_OPTIONS_H
#define QUERN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What becomes of an option: the type of its field is behind it.
enum option_kind {
    OPTION_HEADING, // no option: the help is a heading of the rows that follow
    OPTION_SET,     // takes no value; bool, or the bits are set in a uint64_t
    OPTION_CLEAR,   // the opposite
    OPTION_YES,     // "=yes|no"; yes is OPTION_SET, no is OPTION_CLEAR
    OPTION_NO,      // "=yes|no"; the other way round
    OPTION_CHOICE, // "=A|B|C": uint32_t, the word's place from 1; or all but the first set the bits
    OPTION_WORDS,  // "=A,B,C", any of them, with commas: uint32_t, bit i for the word i
    OPTION_TEXT,   // const char *; not empty
    OPTION_LIST,   // struct option_list: may be given several times
    OPTION_NUMBER, // uint64_t, from min to max
    OPTION_PERCENT, // double, from 0 to 100
    OPTION_CALL,    // whatever the function makes of it
    OPTION_OF,      // the row of this name in the table `of`, whose structure this one begins with
    OPTION_HELP,    // bits OPTION_DEBUG: the rows with OPTION_DEBUG
    OPTION_VERSION,
};

enum option_how {
    OPTION_HIDDEN = 1u << 0, // neither in the help nor completed: another spelling
    OPTION_APART = 1u << 1,  // the value may be the next word; of one-letter options it always may
    OPTION_ATTACHED = 1u << 2, // the value may follow the letter: -IDIR
    // the N at the end of its name stands for a number, which is `min` of the row that call() gets
    OPTION_NUMBERED = 1u << 3,
    OPTION_DEBUG = 1u << 4, // only in --help-debug, and not completed; a heading, too
};

struct option {
    const char *name;     // with its dashes
    const char *argument; // as the help shows it: "=yes|no", "=FILE", " FILE"; NULL: takes no value
    const char *help;     // NULL: it is that of the row below, beside which the option is shown
    enum option_kind kind;
    unsigned how; // enum option_how
    size_t field; // offset in what options_read() fills
    uint64_t bits;
    uint64_t min, max;
    void (*call)(void *field, const struct option *o, const char *value);
    const struct options *of;
};

struct option_list {
    const char **item;
    size_t count;
};

struct options {
    const char *usage; // "[options] PROFILE..."
    const char *about; // between the usage and the options
    const char *below; // below the options; or NULL
    const struct option *row;
    size_t rows;
    bool leading; // options end at the first operand
};

// The rows that every command has.
// clang-format off
#define OPTIONS_HELP    { .name = "-h", .kind = OPTION_HELP }, \
                        { .name = "--help", .kind = OPTION_HELP, .help = "this text" }
#define OPTIONS_VERSION { .name = "--version", .kind = OPTION_VERSION, .help = "the version" }
// clang-format on

// Row i; where it is OPTION_OF, the row of the other table.
const struct option *options_row(const struct options *set, size_t i);

// The command as the user types it: "quern annotate", or the traditional name.
const char *options_command(const char *argv0);

// Reads argv[1..] into the structure `to` and returns the operands, NULL-terminated, in argv. Ends
// the process on wrong usage, with what is wrong and what is allowed, and after --help.
char **options_read(const struct options *set, const char *command, void *to, int argc,
                    char **argv);

// "a, b or c": the words of an OPTION_CHOICE or OPTION_WORDS, to be freed.
char *options_words(const struct option *o, const char *last);
// The word number i, "" behind the last; *len is its length.
const char *options_word(const struct option *o, size_t i, size_t *len);
// Is the value of this option the next word of the command line?
bool options_apart(const struct option *o);

// The options for a man page, one line each: a row's number, or a heading's (0), a tag or the
// heading in roff, the help; separated by tabs. Rows shown together have the same number.
void options_man(const struct options *set, FILE *f);

void options_add(struct option_list *list, const char *value);

// A percentage from 0 to max, with or without the sign; -1: not a percentage.
double options_percent(const char *value, double max);

#endif
