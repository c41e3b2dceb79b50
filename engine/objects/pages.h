// SPDX-License-Identifier: MIT
// A cache of look-ups, for pages that are in one object: a large block, table or mapping. It is
// true for times since the last change of a page. All of it under objtable's lock.
#ifndef QUERN_ENGINE_PAGES_H
#define QUERN_ENGINE_PAGES_H

#include "engine/base/types.h"

// Once, before ranges_init().
void pages_init(void);
// What is at [start, end) changes now.
void pages_changed(u64 start, u64 end, u64 now);
// The object at addr at a time, where it begins (or RANGES_UNKNOWN), and whether it is a block.
// False: it is not known. @signal-safe
bool pages_find(u64 addr, u64 at, u32 *object, u64 *start, bool *block);
// Whether to tell it what the page of addr is in: a look-up as of that time has shown what is there
// at present. @signal-safe
bool pages_wants(u64 addr, u64 at);
// addr is in the object, which begins at `from`, and so is all of [start, end). @signal-safe
void pages_keep(u64 addr, u64 start, u64 end, u32 object, u64 from, bool block);

#endif
