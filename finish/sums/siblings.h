// SPDX-License-Identifier: MIT
//
// Counts by place of several spools that one process finishes. They are of siblings: children of
// one process have its blocks and nearly all of its counts. So of each spool after the first only
// what differs from the one before is looked at.
#ifndef QUERN_FINISH_SIBLINGS_H
#define QUERN_FINISH_SIBLINGS_H

#include "finish/sums/sums.h"

// More spools follow: what is known of one is kept for the next. Off at first; takes effect for the
// next siblings_sums().
void siblings_expect(bool more);

// The same sums as of a spool_walk() with sums_add(), valid until the next call. NULL: walk, since
// no more spools are expected, --no-hints was given, or the spool is damaged or not plain
// (spool_walk_is_plain()). The caller has opened the places of the spool, and none is generated
// code.
struct sums *siblings_sums(const struct spool_file *s, struct places *p);

// Discards what is kept.
void siblings_forget(void);

#endif
