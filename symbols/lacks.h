// SPDX-License-Identifier: MIT
//
// Debug information that was searched and is missing or damaged: a message for the first of each
// kind, printed when it matters. Used by lines.c, split.c and learn.c.
#ifndef QUERN_SYMBOLS_LACKS_H
#define QUERN_SYMBOLS_LACKS_H

// In the order of the messages.
enum lacks_kind {
    LACKS_ALT_REGULAR,     // the file of .gnu_debugaltlink is not a regular file
    LACKS_ALT,             // it is missing
    LACKS_DWO_REGULAR,     // a file of split debug information is not a regular file
    LACKS_DWO_SAME,        // the unit is not in it
    LACKS_PACKAGE_REGULAR, // a package of them is not a regular file
    LACKS_PACKAGE_SOUND,   // it is damaged
    LACKS_PACKAGE_SAME,    // it belongs to another build
    LACKS_SPLIT,           // there is neither such a file nor a package
    LACKS_KINDS
};

// All zero: nothing is missing.
struct lacks {
    char *sentence[LACKS_KINDS];
    char *said;     // the last message returned
    unsigned noted; // bits
};

__attribute__((format(printf, 3, 4))) void lacks_note(struct lacks *l, enum lacks_kind kind,
                                                      const char *fmt, ...);
// The next message that was not returned yet, valid until the next call; NULL: none.
const char *lacks_next(struct lacks *l);
void lacks_fini(struct lacks *l);

#endif
