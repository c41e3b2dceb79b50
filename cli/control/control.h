// SPDX-License-Identifier: MIT
//
// What the files of `quern control` share: what is asked, and the programs that it is asked of.
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
    const char *names; // of the events, with commas between them; NULL: all
    const char *hint;
    uint32_t instr; // 1 on, 2 off
    const char *folder;
    bool traditional; // called as callgrind_control
    struct option_list unused;
};

// A program that runs under quern: its spool, open for writing, and what its header said when it
// was found. What is in a spool is its owner's, who may not be the caller and may change it at any
// time: so it is read once. Requests alone go through `live`, which is mapped.
struct control_run {
    pid_t pid;
    int fd;
    struct spool_header h;
    struct spool_header *live; // the file may be cut off: control_ask()
    char *command, *program, *spool;
};

// The operands: numbers of processes or names of programs.
char **control_options_read(struct control *c, int argc, char **argv);

// All programs of this user that run under quern, by their numbers; *count of them.
struct control_run *control_find(size_t *count);
// Asks for something (enum spool_ask) and waits until it is done. NULL, or why it is not, to be
// freed.
char *control_ask(struct control_run *r, uint32_t what, const char *hint);

// Prints statistics, totals, stacks. False after a message.
bool control_show(const struct control *c, const struct control_run *r);

#endif
