// SPDX-License-Identifier: MIT
//
// What the files of `quern control` share: the options, and the programs that get requests.
#ifndef QUERN_CLI_CONTROL_H
#define QUERN_CLI_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/options/options.h"
#include "share/spool.h"

struct control {
    bool stat, back, dump, zero, kill, verbose;
    bool events;
    const char *names; // of the events, separated by commas; NULL: all
    const char *hint;
    uint32_t instr; // 1 on, 2 off
    const char *folder;
    bool traditional; // called as callgrind_control
    struct option_list unused;
};

// A program that runs under quern: its spool, open for writing, and fields of its header. The owner
// of a spool may be another user and may change it at any time: so the header is read once. Only
// requests go through `live`, the mapped header.
struct control_run {
    pid_t pid;
    int fd;
    struct spool_header h;
    struct spool_header *live; // the file may be truncated: control_ask()
    char *command, *program, *spool;
};

// Returns the operands: process ids or names of programs.
char **control_options_read(struct control *c, int argc, char **argv);

// All programs of this user that run under quern, sorted by process id; *count of them.
struct control_run *control_find(size_t *count);
// Sends a request (enum spool_ask) and waits until it is done. NULL, or why it is not done, to be
// freed.
char *control_ask(struct control_run *r, uint32_t what, const char *hint);

// Prints statistics, totals, stacks. False after a message.
bool control_show(const struct control *c, const struct control_run *r);

#endif
