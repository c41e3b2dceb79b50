// SPDX-License-Identifier: MIT
//
// What was looked for while debug information was read, and is not there or not sound: a sentence
// for each kind, the first one of it, to be said when it matters. Used by lines.c, split.c and
// learn.c.
#ifndef QUERN_SYMBOLS_LACKS_H
#define QUERN_SYMBOLS_LACKS_H

// In the order in which they are said.
enum lacks_kind {
    LACKS_ALT_REGULAR,     // the file of .gnu_debugaltlink is no regular file
    LACKS_ALT,             // it is missing
    LACKS_DWO_REGULAR,     // a file of split debug information is no regular file
    LACKS_DWO_SAME,        // the unit is not found in it
    LACKS_PACKAGE_REGULAR, // a package of them is none
    LACKS_PACKAGE_SOUND,   // it is damaged
    LACKS_PACKAGE_SAME,    // it is that of another build
    LACKS_SPLIT,           // there is neither such a file nor a package
    LACKS_KINDS
};

// All zero: nothing is lacking.
struct lacks {
    char *sentence[LACKS_KINDS];
    char *said;     // the one handed out last
    unsigned noted; // bits
};

__attribute__((format(printf, 3, 4))) void lacks_note(struct lacks *l, enum lacks_kind kind,
                                                      const char *fmt, ...);
// A sentence that was not handed out yet, which lives until the next call; NULL: none.
const char *lacks_next(struct lacks *l);
void lacks_fini(struct lacks *l);

#endif
