// SPDX-License-Identifier: MIT
// Contexts (--separate-callers, --separate-recs, --fn-group, --fn-skip, --toggle-collect): the
// costs of a function are told apart by its callers and by its depth of recursion, charged to its
// caller, or not collected at all. With any of these options callgraph/calls.c handles every call
// and return, and asks this file. docs/design/041-contexts.md.
//
// Translated code does not change: blocks count as usual. The counts of a function's blocks belong
// to its owner, the context in which the thread last entered the function; when the thread enters
// it in another context, the counts so far move to an account of the owner.
#ifndef QUERN_ENGINE_CALLGRAPH_CONTEXTS_H
#define QUERN_ENGINE_CALLGRAPH_CONTEXTS_H

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

// After calls_init().
void contexts_init(void);
void contexts_fork_child(void);

// A block has been given counters. @holds(translation lock)
void contexts_block(u32 block, u32 first, u32 counters, const struct function *f);

// The edge of a call from `top` (NULL: nothing is open), and the frame's values; `number`: of the
// frame in the stack.
struct spool_edge *contexts_enter(struct thread *t, const struct spool_frame *top,
                                  const struct contexts_way *w, u32 number,
                                  struct spool_frame_context *mine);

// The start of a frame's function; of the function that contains addr; whether the frame's is a
// linkage table.
u64 contexts_function(const struct spool_frame *f);
u64 contexts_function_at(u64 addr);
bool contexts_plt(const struct spool_frame *f);
// The options for its function, and the number of its map.
const struct patterns *contexts_rules(const struct spool_frame *f);
u32 contexts_map(const struct spool_frame *f);

// Counters that are no counts but a thread's state: from *first up to *end. False: there are no
// more than i of these.
bool contexts_state(u32 i, u64 *first, u64 *end);

// The thread starts or stops collecting here, in every open function. `base`, `top`: its first and
// its last frame.
void contexts_toggle(struct thread *t, u64 base, const struct spool_frame *top);

// Subtracts from the totals what is not collected, before they are used.
void contexts_thaw(u64 *counters);
// Calls have been opened or closed: counts from here on belong to the top frame.
void contexts_settle(struct thread *t, const struct spool_frame *top);

#endif
