// SPDX-License-Identifier: MIT
//
// Groups of functions: by object, folder, file, namespace or cycle. Groups hold groups, functions
// are in the innermost one.
#ifndef QUERN_REPORT_CORE_GROUP_H
#define QUERN_REPORT_CORE_GROUP_H

#include "report/core/model.h"

enum group_by {
    GROUP_OBJECT,
    GROUP_FOLDER, // each part of the file's name
    GROUP_FILE,
    GROUP_NAMESPACE, // the text before a "::" outside of < > ( ) in the name; in each other
    GROUP_CYCLE,     // of the profile's side
};

struct group_item {
    uint32_t parent;     // a group before this one, or CORE_NONE
    uint32_t string;     // that its name is a piece of; CORE_NONE: not known. GROUP_CYCLE: number
    uint32_t from, size; // the piece
    uint32_t funcs;      // in it and in the groups in it
};

struct group_tree {
    struct group_item *item; // groups before those in them; to be freed with heap_put()
    uint32_t count;
    uint32_t *of; // by function: its group, CORE_NONE: in none; to be freed, too
};

// 0 or an error.
int group_make(struct core *c, enum group_by by, struct group_tree *out);

#endif
