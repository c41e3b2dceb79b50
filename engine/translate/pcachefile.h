// SPDX-License-Identifier: MIT
// The file of a program's translations (kept.h): a head and sections, each with its sum. Nothing is
// believed of a file, or of a folder, that others than this user may have written; a file appears
// whole or not at all.
#ifndef QUERN_ENGINE_PCACHEFILE_H
#define QUERN_ENGINE_PCACHEFILE_H

#include "engine/replay/arena.h"

enum pcachefile_section {
    PCACHEFILE_GROUPS,    // struct pcache_group
    PCACHEFILE_MEMBERS,   // of each fragment the number of its group, u16; 0: none
    PCACHEFILE_FRAGMENTS, // packed (codecache/pack.h), one behind the other
    PCACHEFILE_CODE,      // from region_fragments() on
    PCACHEFILE_AREA,      // and the pieces behind the first (replay/arena.h)
    PCACHEFILE_IDS = PCACHEFILE_AREA + ARENA_PIECES, // u64
    PCACHEFILE_BLOCKS,                               // of the spool, all
    PCACHEFILE_SECTIONS,
};

struct pcachefile_head {
    u64 magic;
    u64 key[2];
    u64 bytes[PCACHEFILE_SECTIONS], sum[PCACHEFILE_SECTIONS];
    u32 fragments, kept; // in all; with a group
    u64 counters;        // of the spool, all
    struct arena_room first, second;
    u64 head_sum; // of what stands before
};

// Of so many bytes.
u64 pcachefile_sum(u64 begin, const void *bytes, u64 n);

// The descriptor of the program's file, whose head is read and sound as such; negative: there is
// none, or it is not to be believed.
int pcachefile_open(const char *folder, const u64 key[2], struct pcachefile_head *h);
// To memory with room for it. False: it is not as it was written.
bool pcachefile_read(int fd, const struct pcachefile_head *h, enum pcachefile_section s, void *to);

// Of a section that lies nowhere as a whole, the next n bytes.
typedef void pcachefile_fill(u8 *to, u64 n);

// With the head's key, bytes, and all that does not follow from the sections; one of which may be
// NULL, then it is what fill says. They are written in their order. 0 or -errno. @holds(translation
// lock)
long pcachefile_write(const char *folder, struct pcachefile_head *h,
                      const void *const from[PCACHEFILE_SECTIONS], pcachefile_fill *fill);
void pcachefile_remove(const char *folder, const u64 key[2]);

#endif
