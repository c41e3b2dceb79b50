// SPDX-License-Identifier: MIT
// The persistent cache with --calls=yes: edges of the call graph. Code refers to edges by their
// address and to their counters, so a file has all of the spool's, in order. Those that code of a
// group may refer to are members of the group: site and target are in its mapping. They wake with
// it; others only keep their place and their counters.
#ifndef QUERN_ENGINE_PCACHEEDGES_H
#define QUERN_ENGINE_PCACHEEDGES_H

#include "engine/base/types.h"
#include "share/spool.h"

// Whether n edges of a file are valid. member: for each the number of its group, 0: none.
bool pcacheedges_are_sound(const struct spool_edge *e, const u16 *member, u32 n, u32 groups,
                           u64 counters);

// The spool begins with n edges of a file; keeps `member`.
void pcacheedges_take(const u16 *member, u32 n);

// Wakes the members of a group, whose mapping has that number in the spool now. False: none,
// because this run has edges of code there already, which was translated while the group could
// not be revived. @holds(translation lock)
bool pcacheedges_wake(u16 group, u32 map);

// For each edge of the spool the number of its group, as a later run will have it. map: for each
// group that is alive the number of its spool_map, plus one; else 0.
void pcacheedges_members(u16 *member, const u32 *map, u32 groups);

// All edges of the spool for the next run, where nothing has been called yet.
void pcacheedges_pack(struct spool_edge *to);

#endif
