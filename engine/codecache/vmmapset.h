// SPDX-License-Identifier: MIT
// A set of ranges of client memory: a sorted array, without locks.
#ifndef QUERN_ENGINE_VMMAPSET_H
#define QUERN_ENGINE_VMMAPSET_H

#include "engine/base/types.h"

enum vmmap_flag {
    VMMAP_SHARED = 1u << 0,   // other mappings or processes may change it
    VMMAP_ANON = 1u << 1,     // no file
    VMMAP_WRITTEN = 1u << 2,  // is or was writable
    VMMAP_EXECUTED = 1u << 3, // vmmap_find_code() was asked about it: translations may exist
    VMMAP_GROWS = 1u << 4,    // MAP_GROWSDOWN
};

struct vmmap_entry {
    u64 start, end;
    u32 prot, flags;
    u32 map_plus_one; // spool_map index + 1, 0: none yet
    u32 pad;
};

struct vmmapset {
    struct vmmap_entry *e;
    u32 n, room;
};

// Entry that holds addr, or NULL.
struct vmmap_entry *vmmapset_find(struct vmmapset *s, u64 addr);
// First entry that ends above addr (its index; s->n when there is none).
u32 vmmapset_above(const struct vmmapset *s, u64 addr);
// Replaces whatever lies in the range.
void vmmapset_add(struct vmmapset *s, struct vmmap_entry e);
void vmmapset_remove(struct vmmapset *s, u64 start, u64 end);
void vmmapset_protect(struct vmmapset *s, u64 start, u64 end, u32 prot);

#endif
