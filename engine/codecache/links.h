// SPDX-License-Identifier: MIT
// Links: direct jumps from fragment to fragment. @holds(translation lock)
#ifndef QUERN_ENGINE_LINKS_H
#define QUERN_ENGINE_LINKS_H

#include "engine/codecache/fragment.h"

// Fragments by index: tcache.c's table.
extern struct fragment **links_table;

// Enters the linked exits of `from` into the lists of their targets; the code is patched already.
void links_list(struct fragment *from);
// Patches exit k of `from` to jump to `to`.
void links_make(struct fragment *from, u32 k, struct fragment *to);
// Patches the exit of `from` where its check fails (fragment_changed()) to jump to `to`.
void links_version(struct fragment *from, struct fragment *to);
// Relinks all exits that lead to `from` to `to`: both are made of the code at one address.
void links_move(struct fragment *from, struct fragment *to);
// f's entry has changed: patches all exits that lead to it.
void links_repatch(struct fragment *f);
// Unlinks every exit to f and every exit of f: they go through the dispatcher again.
void links_cut(struct fragment *f);

#endif
