// SPDX-License-Identifier: MIT
// The map of client memory: which mapping is where, its protection, whether code was translated
// from it, and which spool_map record describes it. The kernel's own map is authoritative; this one
// answers quickly and is never trusted for safety (every read of client memory goes through
// clientmem.h). A miss reads /proc/thread-self/maps before it is final.
//
// Order of every change of client memory: vmmap_before() while the old mapping still exists, the
// kernel's call, then vmmap_add/remove/protect/move with its result. Both halves drop the
// translations of the range, so a block that another thread translates between them does not
// survive. Nothing here is called with the vmmap lock held, and not from signal handlers.
#ifndef QUERN_ENGINE_VMMAP_H
#define QUERN_ENGINE_VMMAP_H

#include "engine/codecache/modules.h"
#include "engine/codecache/vmmapset.h"

struct vmmap_info {
    u64 start, end;
    u32 prot;  // PROT_READ | PROT_WRITE | PROT_EXEC
    u32 flags; // enum vmmap_flag
};

// Reads /proc/thread-self/maps. Mappings in the engine's part of the address space are left out.
void vmmap_init(void);

// Whether the kernel emulates the vsyscall page (vsyscall=none in its command line, and the
// defaults of Debian and others, remove it).
bool vmmap_has_vsyscall(void);

// The mapping that holds addr (adjacent ones with the same properties may be joined). Takes the
// vmmap lock.
bool vmmap_find(u64 addr, struct vmmap_info *out);

// The same for the translator, which is about to read code there: also notes VMMAP_EXECUTED. Call
// it with the translation lock held, before the first byte is read.
bool vmmap_find_code(u64 addr, struct vmmap_info *out);

// The client's memory in [start, end) is about to be unmapped, replaced, made writable or made
// non-executable.
void vmmap_before(u64 start, u64 end);

// What the kernel has done. flags: VMMAP_SHARED, VMMAP_ANON, VMMAP_GROWS.
void vmmap_add(u64 start, u64 end, u32 prot, u32 flags);
void vmmap_remove(u64 start, u64 end);
void vmmap_protect(u64 start, u64 end, u32 prot);
void vmmap_move(u64 old_start, u64 old_end, u64 new_start, u64 new_end, bool keep_old);

// A file has been mapped executable, by a descriptor that modules_check() accepted: holds it.
void vmmap_hold(int fd, const struct k_stat *st);

// The range from *at to end has become executable: the next mapping of a file there, of which it is
// not known whether it can be held. *at becomes the mapping's end; false: there is none. The caller
// looks it up (modules_look()) and passes on what is found.
struct vmmap_file {
    struct vmmapfile_line line; // its path is here
    bool deleted;
    char path[VMMAPFILE_PATH];
};
bool vmmap_next_file(u64 *at, u64 end, struct vmmap_file *out);
void vmmap_hold_file(struct vmmap_file *file, const struct modules_found *found);

// Index of the spool_map record for the mapping that holds addr, made at the first request. That
// may look up a file, and so wait for a file system, which another thread may serve: before the
// translation lock is taken for the first block of a mapping, the caller asks vmmap_unseen_file().
u32 vmmap_spool_map(u64 addr);
// Whether vmmap_spool_map() would look up the file of executable code at addr: *out is that file.
bool vmmap_unseen_file(u64 addr, struct vmmap_file *out);

// The highest gap of `len` bytes below `top`, as far as is known here, outside the engine's ranges;
// 0: there is none.
u64 vmmap_gap(u64 len, u64 top);

// Whether the kernel, which takes the highest gap, finds `len` bytes above the space reserved for
// thread areas. If not, its choice may be in the engine's ranges, whose gaps it takes for free.
bool vmmap_has_room(u64 len);

// Adds mappings that the kernel has in [start, end) and the map does not know.
void vmmap_learn(u64 start, u64 end);

// Does [start, end) touch memory that belongs to the engine (image, heap, spool, thread areas, code
// cache)? Most of it is not mapped until it is needed.
bool vmmap_is_engine(u64 start, u64 end);
// The same, and the lowest such range.
bool vmmap_engine(u64 start, u64 end, u64 *from, u64 *to);

#endif
