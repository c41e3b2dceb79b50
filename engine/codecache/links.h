// SPDX-License-Identifier: MIT
// Direct jumps from fragment to fragment. With the translation lock held.
#ifndef QUERN_ENGINE_LINKS_H
#define QUERN_ENGINE_LINKS_H

#include "engine/codecache/fragment.h"

// Fragments by index. tcache.c's.
extern struct fragment **links_table;

// Notes what each exit of `from` is linked to with that; the code is so already.
void links_list(struct fragment *from);
// Patches exit k of `from` to go straight to `to`.
void links_make(struct fragment *from, u32 k, struct fragment *to);
// Patches the exit of `from` where its check fails (fragment_changed()) to go straight to `to`.
void links_version(struct fragment *from, struct fragment *to);
// What leads to one leads to the other: both are made of the code at one address.
void links_move(struct fragment *from, struct fragment *to);
// What leads to f leads to its entry, which has changed.
void links_again(struct fragment *f);
// Everything that leads to f or away from it goes through the dispatcher again.
void links_cut(struct fragment *f);

#endif
