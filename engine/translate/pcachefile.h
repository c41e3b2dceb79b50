// SPDX-License-Identifier: MIT
// The file of the persistent cache (pcache.h): a head and sections, each with a checksum. A file or
// folder that another user may have written is not trusted; a file appears whole or not at all.
#ifndef QUERN_ENGINE_PCACHEFILE_H
#define QUERN_ENGINE_PCACHEFILE_H

#include "engine/replay/arena.h"

enum pcachefile_section {
    PCACHEFILE_GROUPS,    // struct pcache_group
    PCACHEFILE_MEMBERS,   // for each fragment the number of its group, u16; 0: none
    PCACHEFILE_FRAGMENTS, // packed (codecache/pack.h), consecutive
    PCACHEFILE_CODE,      // from region_fragments() on
    PCACHEFILE_ARENA,     // its pieces, a section each (replay/arena.h)
    PCACHEFILE_IDS = PCACHEFILE_ARENA + ARENA_PIECES, // u64
    PCACHEFILE_BLOCKS,                                // all of the spool
    // With --calls=yes: all of the spool; for each the number of its group, u16; 0: none.
    PCACHEFILE_EDGES,
    PCACHEFILE_EDGE_MEMBERS,
    PCACHEFILE_SECTIONS,
};

struct pcachefile_head {
    u64 magic;
    u64 key[2];
    u64 bytes[PCACHEFILE_SECTIONS], sum[PCACHEFILE_SECTIONS];
    u32 fragments, grouped; // in all; with a group
    u64 counters;           // all of the spool
    struct arena_space first, second;
    u64 head_sum; // of all fields before
};

// The checksum of n bytes.
u64 pcachefile_sum(u64 begin, const void *bytes, u64 n);

// Opens the program's file and reads its head, which is valid in itself. Negative: there is no
// file, or it is not trusted.
int pcachefile_open(const char *folder, const u64 key[2], struct pcachefile_head *h);
// Reads a section to memory with space for it. False: its checksum is wrong.
bool pcachefile_read(int fd, const struct pcachefile_head *h, enum pcachefile_section s, void *to);

// Makes the next n bytes of a section that is nowhere in memory as a whole.
typedef void pcachefile_fill(u8 *to, u64 n);

// Writes a file. The caller sets the head's key and bytes, and all other fields that do not follow
// from the sections. Sections are written in order; one that is NULL is made by `fill`. Returns 0
// or -errno. @holds(translation lock)
long pcachefile_write(const char *folder, struct pcachefile_head *h,
                      const void *const from[PCACHEFILE_SECTIONS], pcachefile_fill *fill);
void pcachefile_remove(const char *folder, const u64 key[2]);

#endif
