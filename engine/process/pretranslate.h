// SPDX-License-Identifier: MIT
// Forked children run the same code: what follows the fork, and the way to their end. Each would
// translate and link it anew in its copy of the code cache. So children say, in memory that a tree
// of processes shares, what they do there, and what two of them did the parent does before its next
// fork: later children have it from the beginning.
#ifndef QUERN_ENGINE_PRETRANSLATE_H
#define QUERN_ENGINE_PRETRANSLATE_H

#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// In a process that may fork; the memory is taken once and kept, by its children, too.
void pretranslate_before_fork(struct thread *t);

// In the child.
void pretranslate_fork_child(void);

// Of use in a child alone: f has been translated; its exit k is linked, or has nothing to be linked
// to; it has been entered in the table of indirect targets.
void pretranslate_note_block(const struct fragment *f);
void pretranslate_note_link(const struct fragment *f, u32 k);
void pretranslate_note_target(const struct fragment *f);

#endif
