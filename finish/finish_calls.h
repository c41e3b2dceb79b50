// SPDX-License-Identifier: MIT
//
// The profile of a run with --calls=yes (finish_calls.c), made while finish_profile.c walks over
// the instructions.
#ifndef QUERN_CLI_FINISH_CALLS_H
#define QUERN_CLI_FINISH_CALLS_H

#include "finish/finish.h"

struct graph;

// Where an instruction of a map is: the answer is its link-time address, or pc where nobody knows;
// and the text of a number in that.
typedef uint64_t finish_place_fn(void *ctx, uint32_t map, uint64_t pc, struct symbols_place *out);
const char *finish_text_of(const void *ctx, uint32_t number);
// The innermost body of an inlined function that is there; *addr: its link-time address.
const struct symbols_body *finish_body_of(void *ctx, uint32_t map, uint64_t pc, uint64_t *addr);

struct graph *finish_calls_begin(const struct finish_spool *s, finish_place_fn *place, void *ctx,
                                 struct finish_totals *totals);
void finish_calls_insn(struct graph *g, const struct finish_insn *in);
// Writes the profile and frees g. 0, or -1 with a sentence in err.
int finish_calls_end(struct graph *g, const char *output, char *err, size_t err_size);

// CALLS_BASE of engine/base/layout.h: where open calls lay in the process.
#define FINISH_CALLS_BASE UINT64_C(0x7ea810000000)

// A frame as it lies in the spool.
struct finish_frame {
    uint32_t counter, plt;
    uint64_t key, sp;
    // and with contexts a struct spool_frame_context
    uint64_t before[SPOOL_EVENTS + sizeof(struct spool_frame_context) / 8];
};

// Where replays keep the totals of misses, and a part of each frame (spool.h): true, the first ones
// are read into `total`, and *frames is what lies between a frame and that part. False: they do
// not, with slot's thread.
bool finish_calls_late(const struct spool_header *h, int fd, uint32_t slot, uint64_t *total,
                       uint64_t *frames);
// The frame at `at` in the file; late: that *frames, or NULL. False: there is none.
bool finish_calls_frame(const struct spool_header *h, int fd, uint64_t at, const uint64_t *late,
                        struct finish_frame *f);

// Adds to the sums of all threads what the calls have cost that slot's thread had open.
void finish_calls_open(const struct finish_spool *s, int fd, uint32_t slot, uint64_t *sum);
// The same of stacks that were left.
void finish_calls_left(const struct finish_spool *s, int fd, uint64_t *sum);

#endif
