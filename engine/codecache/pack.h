// SPDX-License-Identifier: MIT
// Fragments as bytes that mean the same at the same addresses: for translations that are kept
// between runs (translate/pcache.c). A packed fragment is what tcache.c keeps of it, with offsets for
// pointers, linked to nothing but what is packed with it.
#ifndef QUERN_ENGINE_PACK_H
#define QUERN_ENGINE_PACK_H

#include "engine/codecache/fragment.h"

u64 pack_bytes(const struct fragment *f);

// To `to`, with the code in `code`, a copy of all code from region_fragments() on, whose exits are
// set as they are packed: `keep` says of a fragment that f leads to whether that stays so.
void pack(const struct fragment *f, u8 *to, u8 *code, bool (*keep)(const struct fragment *to));

// Whether what begins at `at` is a whole packed fragment of at most `room` bytes, the index-th of
// `all`, its code at `hpc` and within `code_bytes` of region_fragments().
bool pack_is_sound(const u8 *at, u64 room, u32 index, u32 all, u64 hpc, u64 code_bytes);

// Turns what is packed at `at`, which stays there, into a fragment that is dead.
struct fragment *unpack(u8 *at);

#endif
