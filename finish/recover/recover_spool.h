// SPDX-License-Identifier: MIT
//
// Whether a file can be trusted as a spool that was left behind.
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

// Opens a file that this user owns, in a folder where nobody else can replace it. Returns 0, or -1
// after a message; 1 without a message if the file has just disappeared.
int recover_spool_open(struct recover_spool *r, const char *path, bool given);
// The file is named like a spool, but its maker was killed before it wrote a header: whether that
// is so, and nobody is still writing one.
enum recover_litter { RECOVER_NO_LITTER, RECOVER_FRESH, RECOVER_LITTER };
enum recover_litter recover_spool_litter(const struct recover_spool *r);
// False: another process is finishing it, or has finished and removed it.
bool recover_spool_take(const struct recover_spool *r);
void recover_spool_close(struct recover_spool *r);
// Removes the file, if the name is still its. False after a message.
bool recover_spool_remove(const struct recover_spool *r);

// Others may write to the file or folder.
bool recover_spool_is_open(const struct stat *st);

#endif
