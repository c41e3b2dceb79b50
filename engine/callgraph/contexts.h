// SPDX-License-Identifier: MIT
// Contexts (--separate-callers, --separate-recs, --fn-group, --fn-skip, --toggle-collect): the
// costs of a function told apart by who called it and how often it is open, given to its caller, or
// not collected at all. With any of these options every call and return comes to callgraph/calls.c,
// which asks here. docs/design/041-contexts.md.
//
// Translated code knows nothing of it: a block counts as ever. What the blocks of a function have
// counted belongs to the context that the thread was last in there, its owner; when the thread
// enters the function in another one, the counts so far are moved to an account of the owner.
#ifndef QUERN_ENGINE_COUNT_CONTEXTS_H
#define QUERN_ENGINE_COUNT_CONTEXTS_H

#include "engine/callgraph/functions.h"
#include "engine/callgraph/patterns.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

#define CONTEXTS_NONE ~0u // no frame

static inline struct spool_frame_context *contexts_of(const struct spool_frame *f)
{
    return (struct spool_frame_context *)(u64)(f->before + tb_config.calls_events);
}

// Control goes from `site` (an instruction of len bytes) to target.
struct contexts_way {
    enum spool_edge_kind kind;
    u64 site, target;
    u32 len;
};

// With the counters of calls_init().
void contexts_init(void);
void contexts_fork_child(void);

// A block has been given counters. @holds(translation lock)
void contexts_block(u32 block, u32 first, u32 counters, const struct function *f);

// The edge of a call from what `top` is (NULL: nothing is open), and what its frame, number
// `number` of the stack, says.
struct spool_edge *contexts_enter(struct thread *t, const struct spool_frame *top,
                                  const struct contexts_way *w, u32 number,
                                  struct spool_frame_context *mine);

// The beginning of the function of a frame; of that which holds addr; whether the frame's is a
// linkage table.
u64 contexts_function(const struct spool_frame *f);
u64 contexts_function_at(u64 addr);
bool contexts_plt(const struct spool_frame *f);
// What the options say of its function, and where that lies.
const struct patterns *contexts_rules(const struct spool_frame *f);
u32 contexts_map(const struct spool_frame *f);

// Counters that are not counts, but say where a thread is: those from *first up to *end. False:
// there are no more than i of these.
bool contexts_state(u32 i, u64 *first, u64 *end);

// The thread collects from here on, or does no more: in every function that it has open. `base`,
// `top`: its first and its last frame.
void contexts_toggle(struct thread *t, u64 base, const struct spool_frame *top);

// What is not collected is taken from the totals again: before anything is made of them.
void contexts_thaw(u64 *counters);
// Calls have been made or ended: what is counted from here on belongs to the frame on top.
void contexts_settle(struct thread *t, const struct spool_frame *top);

#endif
