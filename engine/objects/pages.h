// SPDX-License-Identifier: MIT
// A cache of look-ups, for pages that are in one object: a large block, table or mapping. It is
// true for times since the last change of a page. All of it under objtable's lock.
#ifndef QUERN_ENGINE_PAGES_H
#define QUERN_ENGINE_PAGES_H

#include "engine/base/types.h"
#include "engine/objects/found.h"

// Once, before ranges_init().
void pages_init(void);
// What is at [start, end) changes now.
void pages_changed(u64 start, u64 end, u64 now);
// Begins to load what pages_find() needs. @signal-safe
void pages_ahead(u64 addr);
// What is at addr at a time (without `who`), and whether it is a block.
// False: it is not known. @signal-safe
bool pages_find(u64 addr, u64 at, struct found *out, bool *block);
// Whether to tell it what the page of addr is in: a look-up as of that time has shown what is there
// at present. @signal-safe
bool pages_wants(u64 addr, u64 at);
// addr is in what was found, and so is all of [start, end). @signal-safe
void pages_keep(u64 addr, u64 start, u64 end, const struct found *found, bool block);
// The lines of the page of addr that have missed, of the block that was born then: from then on
// pages_find() says that such a line is `seen`. @signal-safe
void pages_missed(u64 addr, u64 born, u64 lines);

#endif
