// SPDX-License-Identifier: MIT
//
// What every command needs: memory that does not fail, messages on standard error, exit statuses,
// numbers in options, small path helpers. Knows no command, no profile and no spool.
#ifndef QUERN_CLI_UTIL_H
#define QUERN_CLI_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Exit statuses of all commands. `quern run` ends as the client ended, and with one of these only
// when it could not run it.
enum util_exit {
    UTIL_OK = 0,
    UTIL_NO = 1,         // the answer is "no"
    UTIL_USAGE = 2,      // wrong usage, unreadable input, a target that cannot be written
    UTIL_CANNOT = 126,   // the program was found and cannot be run
    UTIL_NOTFOUND = 127, // the program was not found
};

// "quern: MESSAGE\n" on standard error; MESSAGE is "OBJECT: what is wrong; what to do".
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// `f` is called before each message is printed, to erase the progress line at the terminal. NULL:
// none.
void util_before_message(void (*f)(void));

// Never NULL: out of memory ends the process with a sentence and status 2.
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// A decimal number without a sign, all of s, at most max. False when it is not one.
bool util_number(const char *s, uint64_t max, uint64_t *out);

// "1,234,567"; buf of 32 bytes always suffices. Returns buf.
char *util_commas(char *buf, uint64_t n);

// path below cwd, unless it is absolute already. Not resolved: symbolic links and ".." stay. The
// caller frees it.
char *util_absolute(const char *cwd, const char *path);
char *util_cwd(void);
// The folder part of a path ("." when there is none, "/" kept). The caller frees it.
char *util_dirname(const char *path);
const char *util_basename(const char *path);
// The text up to the next tab, which becomes its end; *line is what is behind it, at last NULL.
// NULL: there is none.
char *util_column(char **line);

// The word quoted for a shell: special characters get backslashes, a newline becomes `_`. `to` has
// UTIL_SHELL_SPACE(strlen(word)) bytes. Returns the end, where the NUL is.
#define UTIL_SHELL_SPACE(length) (2 * (length) + 3)
char *util_shell_word(char *to, const char *word);

// The running program's own file, absolute. The caller frees it.
char *util_self(void);

// A caller may ignore SIGCHLD, and then nobody can wait for a child. From util_wait_children() on
// children are waited for; util_pass_children(), before an exec of the client, gives back what the
// caller had set.
void util_wait_children(void);
void util_pass_children(void);

// 0 or -errno. Writes everything, goes on after EINTR.
int util_write_all(int fd, const void *buf, size_t size);

#endif
