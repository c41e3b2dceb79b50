// SPDX-License-Identifier: MIT
// Fragments as bytes that mean the same at the same addresses: for the persistent cache
// (translate/pcache.c). A packed fragment is tcache.c's metadata with offsets in place of pointers,
// linked only to fragments that are packed with it.
#ifndef QUERN_ENGINE_PACK_H
#define QUERN_ENGINE_PACK_H

#include "engine/codecache/fragment.h"

u64 pack_bytes(const struct fragment *f);

// Packs f to `to`. `code` is a copy of all code from region_fragments() on, in which f's exits are
// set: `keep` tells whether the link to a fragment stays.
void pack(const struct fragment *f, u8 *to, u8 *code, bool (*keep)(const struct fragment *to));

// Whether a whole packed fragment of at most `room` bytes begins at `at`, the index-th of `all`,
// its code at `hpc` and within `code_bytes` of region_fragments().
bool pack_is_sound(const u8 *at, u64 room, u32 index, u32 all, u64 hpc, u64 code_bytes);

// Turns the packed fragment at `at` into a dead fragment, in place.
struct fragment *pack_undo(u8 *at);

#endif
