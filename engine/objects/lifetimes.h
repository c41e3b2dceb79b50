// SPDX-License-Identifier: MIT
// Blocks of allocators over time: how many there are at most, which are never missed, and which
// misses are the first ones of a block in a line. In the records of the objects.
#ifndef QUERN_ENGINE_LIFETIMES_H
#define QUERN_ENGINE_LIFETIMES_H

#include "engine/objects/ranges.h"
#include "share/spool.h"

// After objtable_init() and ranges_init().
void lifetimes_init(void);
// A block of that object has been put into its ranges. @holds(objtable's lock)
void lifetimes_block(struct spool_data_object *o, u64 bytes);
// A block of it has so many bytes more. @holds(objtable's lock)
void lifetimes_grown(struct spool_data_object *o, u64 bytes);
// Where the block begins, also if what was found is a piece of it whose beginning another one has
// taken; or FOUND_UNKNOWN. @holds(objtable's lock) @signal-safe
u64 lifetimes_start(const struct found *block);
// A miss in a block, as it was found (without `who`: a large one). @holds(objtable's lock)
// @signal-safe
void lifetimes_missed(const struct found *block, u64 addr);

#endif
