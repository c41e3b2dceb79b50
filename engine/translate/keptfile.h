// SPDX-License-Identifier: MIT
// The file of a program's translations (kept.h): a head and sections, each with its sum. Nothing is
// believed of a file, or of a folder, that others than this user may have written; a file appears
// whole or not at all.
#ifndef QUERN_ENGINE_KEPTFILE_H
#define QUERN_ENGINE_KEPTFILE_H

#include "engine/replay/area.h"

enum keptfile_section {
    KEPTFILE_GROUPS,    // struct kept_group
    KEPTFILE_MEMBERS,   // of each fragment the number of its group, u16; 0: none
    KEPTFILE_FRAGMENTS, // packed (codecache/pack.h), one behind the other
    KEPTFILE_CODE,      // from region_fragments() on
    KEPTFILE_AREA,      // and the pieces behind the first (replay/area.h)
    KEPTFILE_IDS = KEPTFILE_AREA + AREA_PIECES, // u64
    KEPTFILE_BLOCKS,                            // of the spool, all
    KEPTFILE_SECTIONS,
};

struct keptfile_head {
    u64 magic;
    u64 key[2];
    u64 bytes[KEPTFILE_SECTIONS], sum[KEPTFILE_SECTIONS];
    u32 fragments, kept; // in all; with a group
    u64 counters;        // of the spool, all
    struct area_room first, second;
    u64 head_sum; // of what stands before
};

// Of so many bytes.
u64 keptfile_sum(u64 begin, const void *bytes, u64 n);

// The descriptor of the program's file, whose head is read and sound as such; negative: there is
// none, or it is not to be believed.
int keptfile_open(const char *folder, const u64 key[2], struct keptfile_head *h);
// To memory with room for it. False: it is not as it was written.
bool keptfile_read(int fd, const struct keptfile_head *h, enum keptfile_section s, void *to);

// Of a section that lies nowhere as a whole, the next n bytes.
typedef void keptfile_fill(u8 *to, u64 n);

// With the head's key, bytes, and all that does not follow from the sections; one of which may be
// NULL, then it is what fill says. They are written in their order. 0 or -errno. @holds(translation
// lock)
long keptfile_write(const char *folder, struct keptfile_head *h,
                    const void *const from[KEPTFILE_SECTIONS], keptfile_fill *fill);
void keptfile_remove(const char *folder, const u64 key[2]);

#endif
