// SPDX-License-Identifier: MIT
// Forked children run the same code: the code after the fork, and the path to their end. Each would
// translate and link it again in its copy of the code cache. So children note their translations
// and links in memory that a tree of processes shares. What two children did, the parent does
// before its next fork, and later children inherit it.
#ifndef QUERN_ENGINE_PRETRANSLATE_H
#define QUERN_ENGINE_PRETRANSLATE_H

#include "engine/codecache/fragment.h"
#include "engine/thread/thread.h"

// In a process that is about to fork. The memory is allocated once; children share it.
void pretranslate_before_fork(struct thread *t);

// In the child.
void pretranslate_fork_child(void);

// Effective in children only. f has been translated; its exit k is linked, or has no fragment to
// link to; f has been entered into the table of indirect targets.
void pretranslate_note_block(const struct fragment *f);
void pretranslate_note_link(const struct fragment *f, u32 k);
void pretranslate_note_target(const struct fragment *f);

#endif
