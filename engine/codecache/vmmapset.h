// SPDX-License-Identifier: MIT
// A set of ranges of client memory, disjoint and not empty: a red-black tree, without locks. An
// entry keeps its address until it is removed or joined with the one above it.
#ifndef QUERN_ENGINE_VMMAPSET_H
#define QUERN_ENGINE_VMMAPSET_H

#include <bsd/sys/tree.h>

#include "engine/base/types.h"

enum vmmap_flag {
    VMMAP_SHARED = 1u << 0,   // other mappings or processes may change it
    VMMAP_ANON = 1u << 1,     // no file
    VMMAP_WRITTEN = 1u << 2,  // is or was writable
    VMMAP_EXECUTED = 1u << 3, // vmmap_find_code() was asked about it: translations may exist
    VMMAP_GROWS = 1u << 4,    // MAP_GROWSDOWN
    VMMAP_ASKED = 1u << 5,    // made executable: its file is held since then, or cannot be held
};

struct vmmap_entry {
    u64 start, end;
    u32 prot, flags;
    u32 map_plus_one; // spool_map index + 1, 0: none yet
    RB_ENTRY(vmmap_entry) node;
};

// struct vmmapset; empty when it is zero.
RB_HEAD(vmmapset, vmmap_entry);

// Entry that holds addr, or NULL.
struct vmmap_entry *vmmapset_find(struct vmmapset *s, u64 addr);
// First entry that ends above addr, or NULL; and the next one by address.
struct vmmap_entry *vmmapset_above(struct vmmapset *s, u64 addr);
struct vmmap_entry *vmmapset_next(struct vmmap_entry *e);
// Start of the highest gap of `len` bytes below `top`; 0: there is none.
u64 vmmapset_gap(struct vmmapset *s, u64 len, u64 top);
// A copy of e replaces everything in its range.
void vmmapset_add(struct vmmapset *s, struct vmmap_entry e);
void vmmapset_remove(struct vmmapset *s, u64 start, u64 end);
void vmmapset_protect(struct vmmapset *s, u64 start, u64 end, u32 prot);

#endif
