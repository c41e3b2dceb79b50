// SPDX-License-Identifier: MIT
//
// The first stage: reads a spool, sums the counters of its threads, and walks over its
// instructions. Nothing here knows what code they are.
#ifndef QUERN_FINISH_SPOOL_H
#define QUERN_FINISH_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "finish/spool/finish_event.h"
#include "share/spool.h"

#define SPOOL_ALL_THREADS UINT32_MAX // instead of a slot

// What a block has counted in a context: the sums from `counter` on, one for each counter of the
// block.
struct spool_account {
    uint32_t block, context;
    uint64_t counter;
};

// A spool that has been read. Areas are cut to what the file really holds, so that no record of a
// damaged one leads outside. All are copies: a client that still has the file in its memory may
// change what was checked already, or shorten it, and access to a shortened mapping kills the
// process.
struct spool_file {
    const struct spool_header *h; // points to head: do not move the struct
    struct spool_header head;
    const char *text;
    const struct spool_map *maps;
    const struct spool_partial *partial;
    const char *blocks;
    const struct spool_edge *edges;
    const uint64_t *counters; // summed over all threads
    uint64_t text_used, maps_used, partial_used, blocks_used, edges_used, counters_used;
    uint64_t blocks_executed;      // by all threads, since counters were 0
    uint64_t sums;                 // of `counters`: those of the spool, then some for accounts
    struct spool_account *account; // of a run with contexts, by block
    size_t accounts;
    uint32_t slot; // of the thread whose counters and partial records are used; SPOOL_ALL_THREADS
    uint64_t bad;  // records that were found damaged when the counters were read
    uint64_t most; // bitwise or of all counters; with --calls=yes, of all executions
    bool estimated; // spool_estimate() has been called for these counters
    double guessed; // its result: the share of cycles that no window saw
    int fd;
    // To be freed.
    void *area[5];
    void *counters_area;
    uint32_t *owner; // for spool_counters_owner(), by slot
    int unread;      // errno of a part that could not be read
};

// ---- spool_file.c ----

// Returns 0, or -1 with a message in err (without the name of the file).
int spool_file_open(struct spool_file *s, int fd, char *err, size_t err_size);
void spool_file_close(struct spool_file *s);
// A string of the text area; NULL for offset 0 or one outside.
const char *spool_file_text(const struct spool_file *s, uint32_t offset);
// As a part of a line: control characters become blanks, NULL becomes "". The caller frees it.
char *spool_file_line(const char *text);
// The map that contains an address: `first` if it does, else the last one that did.
uint32_t spool_file_map(const struct spool_file *s, uint64_t addr, uint32_t first);
// Where the spool has a copy of the file of a map; 0: nowhere.
uint64_t spool_file_held(const struct spool_file *s, uint64_t map, uint64_t *size);

// ---- spool_counters.c ----

// From here on the counters are those of one thread, or of SPOOL_ALL_THREADS; saved stacks belong
// to the first one. False: they cannot be read.
bool spool_counters_thread(struct spool_file *s, uint32_t slot);
// The slot of the thread whose counts are in this one: another slot's where a replay counts.
uint32_t spool_counters_owner(const struct spool_file *s, uint32_t slot);
// Whether the counters of a slot are summed.
bool spool_counters_wanted(const struct spool_file *s, uint64_t slot);
// Sums the counters of all wanted slots. Returns 0, or -1 with errno, which is 0 if the file is too
// short.
int spool_counters_read(struct spool_file *s, uint64_t file_size);
void spool_counters_drop(struct spool_file *s);
// Sets blocks_executed: the executions of all blocks, by all threads.
void spool_counters_blocks(struct spool_file *s);

// ---- spool_walk.c ----

// The events of an instruction's counters, in sequence (enum finish_event), for all instructions of
// one shape.
struct spool_walk_shape {
    uint8_t known; // the rest is filled in
    uint8_t count;
    bool data;     // the run counts references
    uint8_t flags; // of branches and atomic instructions, if it counts these
    uint8_t event[40];
};

// The shapes of a run's instructions, filled in as they are met.
enum { SPOOL_WALK_SHAPES = 1024 }; // flags of instructions, with and without reads and writes
struct spool_walk_shapes {
    uint64_t flags; // of the spool
    struct spool_walk_shape shape[SPOOL_WALK_SHAPES];
};
void spool_walk_make_shape(struct spool_walk_shape *shape, struct spool_insn in, uint64_t flags);

static inline const struct spool_walk_shape *spool_walk_shape(struct spool_walk_shapes *shapes,
                                                              struct spool_insn in)
{
    struct spool_walk_shape *shape =
        &shapes->shape[(uint32_t)in.flags << 2 | (uint32_t)(in.reads != 0) << 1 |
                       (uint32_t)(in.writes != 0)];

    if (!shape->known)
        spool_walk_make_shape(shape, in, shapes->flags);
    return shape;
}

// Every instruction of every block, in the order in which the blocks were translated.
struct spool_walk_insn {
    uint32_t map; // index of its spool_map
    uint64_t pc;
    uint64_t executed;              // repetitions of rep not included
    uint64_t counts[FINISH_EVENTS]; // zero for events that the run does not count
    struct spool_insn in;
    bool plt; // in a linkage table, of a run with --calls=yes
    uint32_t context;
    // For spool_walk_add().
    const uint64_t *counter;
    const struct spool_walk_shape *shape;
};

// Adds the instruction's counts to the events of `counts`; changes none that the run does not
// count. For /bin/true this happens 10,000 times; bench/micro's fork watches it.
static inline void spool_walk_add(const struct spool_walk_insn *in, uint64_t *counts)
{
    const struct spool_walk_shape *shape = in->shape;
    uint64_t n = in->executed;

    counts[FINISH_IR] += n;
    if (shape->data) {
        counts[FINISH_DR] += n * in->in.reads;
        counts[FINISH_DW] += n * in->in.writes;
    }
    if (in->in.flags & shape->flags) {
        if (in->in.flags & shape->flags & SPOOL_I_BC)
            counts[FINISH_BC] += n;
        if (in->in.flags & shape->flags & SPOOL_I_BI)
            counts[FINISH_BI] += n;
        if (in->in.flags & shape->flags & SPOOL_I_BUS)
            counts[FINISH_GE] += n;
    }
    for (uint32_t i = 0; i < shape->count; i++)
        counts[shape->event[i]] += in->counter[i];
}

// Calls f for each instruction that was reached. Returns the number of unusable records and of
// impossible counters (0 in a sound spool). An instruction whose counts would overflow the 64-bit
// sum over all of them is left out and counted there, too: whoever adds up what f gets need not
// check.
uint64_t spool_walk_counts(const struct spool_file *s,
                           void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx);
// The same, but `counts` is not filled in.
uint64_t spool_walk(const struct spool_file *s,
                    void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx);

// Whether its counts are those of whole blocks alone, without contexts, and no sum of them can
// exceed 64 bits.
bool spool_walk_is_plain(const struct spool_file *s);

// A block as it was translated. Begin with a zeroed one; false: there are no more.
#define SPOOL_WALK_BLOCK_BYTES (255u << 11)
struct spool_walk_block {
    uint64_t pc, next; // offset of the following one
    uint32_t map, insns, bytes, hash;
};
bool spool_walk_block(const struct spool_file *s, struct spool_walk_block *b);

// ---- spool_estimate.c ----

// In a run whose core timed samples: makes the counters of cycles and mispredictions estimates,
// which whoever reads these needs first. Those of calls stay as they are
// (finish/sums/call_estimate.h). Else, and if they are estimates already, it does nothing.
void spool_estimate(struct spool_file *s);
// Whether the run is such a one.
static inline bool spool_is_sampled(const struct spool_file *s)
{
    return (s->h->flags & SPOOL_F_CORE) && s->h->machine.sampling.interval;
}

// ---- spool_contexts.c ----

struct spool_contexts;

struct spool_contexts *spool_contexts_new(const struct spool_file *s);
// Adds a thread's counters to the sums over all threads. *sum has space for *n, and grows.
void spool_contexts_add(struct spool_contexts *c, const uint64_t *slot, uint64_t **sum,
                        uint64_t *n);
// After the last thread: blocks that were left half-way get accounts, too. Returns all accounts by
// block, *count of them. *bad becomes the number of records that no engine writes.
struct spool_account *spool_contexts_end(struct spool_contexts *c, uint64_t **sum, uint64_t *n,
                                         size_t *count, uint64_t *bad);

// ---- spool_frames.c ----

// CALLS_BASE of engine/base/layout.h: the address of the open calls in the process.
#define SPOOL_FRAMES_BASE UINT64_C(0x7ea810000000)

// A frame as the spool holds it.
struct spool_open_call {
    uint32_t counter, plt;
    uint64_t key, sp;
    // with contexts, followed by a struct spool_frame_context
    uint64_t before[SPOOL_EVENTS + sizeof(struct spool_frame_context) / 8];
};

// Where replays store a part of each frame: its distance from the frame; and the first frame in the
// file that has none, because it has had no miss yet.
struct spool_late {
    uint64_t by, unwritten;
};

// Whether replays store the totals of misses and a part of each frame elsewhere (spool.h), for
// slot's thread. True: those totals are read into `total`, and *frames says where that part is.
bool spool_frames_late(const struct spool_header *h, int fd, uint32_t slot, uint64_t *total,
                       struct spool_late *frames);
// The frame at `at` in the file; late: that *frames, or NULL. False: there is none.
bool spool_frames_read(const struct spool_header *h, int fd, uint64_t at,
                       const struct spool_late *late, struct spool_open_call *f);

// Adds the costs of slot's thread's open calls to the sums of all threads.
void spool_frames_add_open(const struct spool_file *s, int fd, uint32_t slot, uint64_t *sum);
// The same for saved stacks.
void spool_frames_add_saved(const struct spool_file *s, int fd, uint64_t *sum);

// ---- spool_curve.c: --curve=yes ----

// Misses as of each size, estimated from a sample of one line in 2^rate, and the lines that were
// touched by the end of each interval: of data, of code.
struct spool_curve_file {
    uint32_t rate;
    uint64_t size[SPOOL_CURVE_SIZES]; // bytes
    uint64_t misses[SPOOL_CURVE_SERIES][SPOOL_CURVE_SIZES];
    uint64_t interval; // data references, as estimated
    uint64_t lines[2][SPOOL_CURVE_POINTS];
    size_t points;
};

// The event that each series is of.
extern const char *const spool_curve_names[SPOOL_CURVE_SERIES];

// False: the run has none.
bool spool_curve_read(const struct spool_file *s, struct spool_curve_file *f);
// The same as "KEY: VALUE" lines for a profile's header, to be freed; NULL: none.
char *spool_curve_desc(const struct spool_file *s);

// ---- spool_data.c: --data=yes ----

// How most steps from miss to miss go: `count` of them regularly, `near` of the others by less than
// SPOOL_DATA_NEAR.
enum spool_walk_kind { SPOOL_WALK_NONE, SPOOL_WALK_AHEAD, SPOOL_WALK_BACK, SPOOL_WALK_STRIDE };

struct spool_data_walk {
    enum spool_walk_kind regular;
    bool pointers; // the addresses come from memory
    int32_t stride;
    uint64_t steps, count, near;
};

// Misses of an instruction in an object.
struct spool_data_miss {
    uint32_t counter, object;
    uint32_t map;
    bool write;
    uint64_t pc; // 0: no instruction has that counter
    uint64_t l1, l2, ll;
    uint64_t in_all; // L1 misses that are counted there, in all objects
    struct spool_data_walk walk;
};

// An entry of the sharing between threads, and where its instructions are: map and pc of the one
// that touches, and of the one that had written.
struct spool_data_shared {
    struct spool_data_share share;
    uint32_t map[2];
    uint64_t pc[2]; // 0: unknown
};

struct spool_data_file {
    struct spool_data_object *object; // `objects` of them; the first is unknown
    size_t objects;
    char *names;
    uint64_t names_used;
    struct spool_data_miss *miss; // by counter, then by object
    size_t misses;
    struct spool_data_cell *cell; // by object
    size_t cells;
    struct spool_data_shared *shared;
    size_t shares;
    uint64_t bad; // records that no engine writes
};

// Reads the objects and their misses. Returns 0, or -1 with errno.
int spool_data_read(const struct spool_file *s, struct spool_data_file *d);
void spool_data_free(struct spool_data_file *d);
// A name of an object; NULL: it has none.
const char *spool_data_name(const struct spool_data_file *d, uint32_t offset);

// ---- spool_path.c ----

// The present name of the spool that is open as fd; `path` is the earlier one. NULL: removed. Takes
// no memory.
const char *spool_path_now(const char *path, int fd);
bool spool_path_is_gone(int fd); // it has no name any more

#endif
