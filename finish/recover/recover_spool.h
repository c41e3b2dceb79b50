// SPDX-License-Identifier: MIT
//
// Whether a file may be believed to be a spool that was left.
#ifndef QUERN_FINISH_RECOVER_SPOOL_H
#define QUERN_FINISH_RECOVER_SPOOL_H

#include <stdbool.h>
#include <sys/stat.h>

struct recover_spool {
    const char *path; // as the user names it
    const char *name; // in its folder
    int folder, fd;
    struct stat st;
};

// Opens a file that is this user's alone, in a folder where nobody else can exchange it. 0, or -1
// after a message; 1 without one, when the file is gone that had been there.
int recover_spool_open(struct recover_spool *r, const char *path, bool given);
// The name is that of a spool, whose maker was killed before there was a header in it: what it is,
// if it is that and nobody makes it any more.
enum recover_litter { RECOVER_NO_LITTER, RECOVER_FRESH, RECOVER_LITTER };
enum recover_litter recover_spool_litter(const struct recover_spool *r);
// False: who finishes it is at work, or was and has removed it.
bool recover_spool_take(const struct recover_spool *r);
void recover_spool_close(struct recover_spool *r);
// Removes the file, if the name still is its. False after a message.
bool recover_spool_remove(const struct recover_spool *r);

// Others may write to the file or folder.
bool recover_spool_is_open(const struct stat *st);

#endif
