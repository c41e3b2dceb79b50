// SPDX-License-Identifier: MIT
//
// Sources, the alignment of their two versions, and assembly, from their sections.
#ifndef QUERN_REPORT_CORE_TEXTS_H
#define QUERN_REPORT_CORE_TEXTS_H

#include "report/core/model.h"

// ORDER docs/report-format.md
enum texts_state {
    TEXTS_HERE,
    TEXTS_NOT_FOUND,
    TEXTS_LEFT_OUT,   // by an option
    TEXTS_TOO_MUCH,   // for --max-size
    TEXTS_CHANGED,    // here, but changed after the profile was written
    TEXTS_UNREADABLE, // code: of no kind that can be disassembled
    TEXTS_REFUSED,    // outside the folders whose files a stranger's profile may name
    TEXTS_NONE = 255, // the report does not mention it
};

struct texts_piece {
    uint32_t first, count; // lines, from 1
    struct text text;
};

struct texts_source {
    uint32_t state;
    struct text path;
    uint32_t lines; // of the whole file
    uint32_t pieces;
    struct texts_piece *piece;
};

// The source of a file (a string) on a side. Always answers; its pieces are to be freed with
// heap_put(). 0 or an error.
int texts_source(const struct core *c, uint32_t file, unsigned side, struct texts_source *out);

struct texts_run {
    uint32_t skip_old, skip_new, equal;
};
// The runs of equal lines of base and profile; *n is 0 where the report has none. The array is to
// be freed.
int texts_align(const struct core *c, uint32_t file, struct texts_run **out, uint32_t *n);

struct texts_insn {
    uint64_t addr, target; // target of a branch, or 0
    uint32_t size;
    struct text bytes, intel, att;
};
struct texts_code {
    uint32_t state, count;
    struct texts_insn *insn; // to be freed
};
int texts_code(const struct core *c, uint32_t func, struct texts_code *out);

#endif
