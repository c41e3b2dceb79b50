// SPDX-License-Identifier: MIT
//
// What the finisher (finish.c) and `quern recover` (recover.c) share: a spool opened for reading,
// the walk over its blocks, the profile made of it, and the summary.
#ifndef QUERN_CLI_FINISH_H
#define QUERN_CLI_FINISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/spool.h"
#include "symbols/symbols.h"

// The events in the order of the profile; a run has those of its simulations. ORDER finish_event
enum finish_event {
    FINISH_IR,
    FINISH_I1MR,
    FINISH_ILMR,
    FINISH_DR,
    FINISH_D1MR,
    FINISH_DLMR,
    FINISH_DW,
    FINISH_D1MW,
    FINISH_DLMW,
    FINISH_BC,
    FINISH_BCM,
    FINISH_BI,
    FINISH_BIM,
    FINISH_GE, // of Callgrind profiles alone, as those that follow
    FINISH_SYSCOUNT,
    FINISH_SYSTIME,
    FINISH_SYSCPU,
    FINISH_EVENTS,
};
extern const char *const finish_event_names[FINISH_EVENTS];
// True when a run with these spool flags counts the event.
bool finish_event_counted(enum finish_event e, uint64_t flags);

// ---- finish_spool.c ----

#define FINISH_ALL UINT32_MAX // threads

// No counter of a program gets here. One of executions grows by at most one each nanosecond or so,
// as its value has to come back from memory: it would take 36 years. The engine's counters lie in
// the program's memory, and one that is larger is what a stray write has left.
#define FINISH_COUNT_MAX (UINT64_C(1) << 60)

// A spool that has been read. Areas are cut to what the file really holds, so that no record of a
// damaged one can lead outside. All are copies: a client that still has the file in its memory may
// change what was looked at already, or shorten it, and a mapped file that is shortened ends the
// process.
struct finish_spool {
    const struct spool_header *h; // head: whoever opens a spool does not move the struct
    struct spool_header head;
    const char *text;
    const struct spool_map *maps;
    const struct spool_partial *partial;
    const char *blocks;
    const struct spool_edge *edges;
    const uint64_t *counters; // summed over all threads
    uint64_t text_used, maps_used, partial_used, blocks_used, edges_used, counters_used;
    uint64_t blocks_executed; // by all threads, since counters were 0
    uint64_t sums;            // of `counters`: behind those of the spool some that accounts have
    struct finish_account *account; // of a run with contexts, by block: finish_contexts.h
    size_t accounts;
    uint32_t slot; // of the thread whose counters and partial records hold; FINISH_ALL
    uint64_t bad;  // records that were found to be damaged when the counters were read
    uint64_t most; // all bits that any of the counters has; with --calls=yes, any of executions
    int fd;
    // To be freed.
    void *area[5];
    void *counters_area;
    uint32_t *owner; // of finish_spool_owner(), by slot
    int unread;      // errno of a part that could not be read
};

// 0, or -1 with a sentence in err (without the name of the file).
int finish_spool_open(struct finish_spool *s, int fd, char *err, size_t err_size);
void finish_spool_close(struct finish_spool *s);
// From here on the counters are those of one thread, or of FINISH_ALL; stacks that were left count
// for the first one. False: they cannot be read.
bool finish_spool_thread(struct finish_spool *s, uint32_t slot);
// The slot of the thread that is counted in this one: another one's where a replay counts.
uint32_t finish_spool_owner(const struct finish_spool *s, uint32_t slot);
// A string of the text area; NULL for offset 0 or one outside.
const char *finish_spool_text(const struct finish_spool *s, uint32_t offset);
// As a part of a line: control characters are blanks. "" in place of NULL; to be freed.
char *finish_line_text(const char *text);

// What the counters of instructions alike stand for, one behind the other: enum finish_event.
struct finish_shape {
    uint8_t known; // the rest is filled in
    uint8_t count;
    bool data;     // the run counts references
    uint8_t flags; // of branches and atomic instructions, if it counts these
    uint8_t event[12];
};

// Every instruction of every block, in the order in which the blocks were translated.
struct finish_insn {
    uint32_t map; // index of its spool_map
    uint64_t pc;
    uint64_t executed;              // how often, rep repetitions not included
    uint64_t counts[FINISH_EVENTS]; // zero for events that the run does not count
    struct spool_insn in;
    bool plt; // in a linkage table, of a run with --calls=yes
    uint32_t context;
    // For finish_insn_add().
    const uint64_t *counter;
    const struct finish_shape *shape;
};

// Adds what the instruction has counted to the events of `counts`, and touches none that the run
// does not count. For /bin/true this is done 10,000 times; bench/micro's fork watches it.
static inline void finish_insn_add(const struct finish_insn *in, uint64_t *counts)
{
    const struct finish_shape *shape = in->shape;
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

// The map that holds an address: the last one that did, but `first` if it does.
uint32_t finish_map_of(const struct finish_spool *s, uint64_t addr, uint32_t first);
// Calls f for each that was reached; returns the number of records that could not be used, and of
// counters that no program can have (0 in a sound spool). Instructions whose counts would make a
// sum over all of them larger than 64 bits are left out, and are among these: whoever adds up what
// f is given need not look.
uint64_t finish_spool_walk(const struct finish_spool *s,
                           void (*f)(void *ctx, const struct finish_insn *in), void *ctx);
// The same, but for `counts`, which is not filled in.
uint64_t finish_spool_visit(const struct finish_spool *s,
                            void (*f)(void *ctx, const struct finish_insn *in), void *ctx);

// A block as it was translated. Begin with one that is zero; false: there is no other.
#define FINISH_BLOCK_BYTES (255u << 11)
struct finish_block {
    uint64_t pc, next; // next: where the following one lies
    uint32_t map, insns, bytes, hash;
};
bool finish_spool_block(const struct finish_spool *s, struct finish_block *b);

// Where the spool has the content of the file of a map; 0: it has not.
uint64_t finish_spool_kept(const struct finish_spool *s, uint64_t map, uint64_t *size);

// ---- finish_profile.c ----

struct finish_totals {
    uint64_t counts[FINISH_EVENTS];
    uint64_t bad_records;
};

// Where what is written goes; NULL: it is not wanted. The finisher, which has no more rights than
// the client had, takes the names out of the spool (finish_names()), `quern recover` does not.
struct finish_files {
    char *output;
    char *dump; // the execution counts
    char *code; // --dump-code, and what the engine left for it
    char *facts;
    char *tree;        // with --children=merge: the folder where profiles are collected
    const char *cache; // folder of the symbol cache
};

// Resolves and writes the profile, or with --separate-threads=yes one for each thread, and the
// execution counts. 0, or -1 with a sentence in err.
int finish_profile_write(struct finish_spool *s, const struct finish_files *files,
                         struct finish_totals *totals, char *err, size_t err_size);

// The name of a thread's profile, to be freed.
char *finish_thread_output(const char *output, uint32_t slot);

// ---- finish_generated.c ----

struct perfmap;
// Names of generated code, to be freed; NULL: none are known.
struct perfmap *finish_generated(const struct finish_spool *s);

// ---- finish_tree.c ----

// The same for a run with --children=merge: into the one profile of all its processes, or where it
// waits for that. The first process gets the totals of all.
int finish_tree_write(struct finish_spool *s, const struct finish_files *files,
                      struct finish_totals *totals, char *err, size_t err_size);
// False: the profile is a part of another process's.
bool finish_tree_is_root(const struct finish_spool *s);

// finish_origin.c: after a profile was written at the end of a run.
void finish_origin(const struct finish_spool *s, const char *output);

// ---- finish_sum.c ----

// The program's own end: its profile is `name` in the folder, the sum of all goes to output.
int finish_sum_close(const struct finish_spool *s, const char *tree, const char *name,
                     const char *output, struct finish_totals *totals, char *err, size_t err_size);
// After that: the profile is written, then added to the sum.
int finish_sum_late(struct finish_spool *s, const struct finish_files *files, const char *name,
                    struct finish_totals *totals, char *err, size_t err_size);

// ---- finish_code.c ----

// Writes --dump-code, if it was asked for, of what the engine left, and removes that. 0, or -1 with
// a sentence in err.
int finish_code_write(const struct finish_spool *s, const struct finish_files *files, char *err,
                      size_t err_size);

// ---- finish_write.c ----

// One place with its counts: of as many events as the run needs (finish_cell_size()).
struct finish_cell {
    struct symbols_place at;
    uint64_t counts[];
};

static inline size_t finish_cell_size(size_t events)
{
    return sizeof(struct finish_cell) + events * sizeof(uint64_t);
}

// They lie one behind the other.
static inline struct finish_cell *finish_cell_at(struct finish_cell *first, size_t size, size_t i)
{
    return (struct finish_cell *)(void *)((char *)first + i * size);
}

// Writes the places, no two alike, as a profile of Cachegrind's format, and says their totals. As
// finish_profile_write().
int finish_write(const struct finish_spool *s, const struct symbols *symbols,
                 struct finish_cell *first, size_t cell_size, size_t cells,
                 struct finish_totals *totals, const char *output, char *err, size_t err_size);

// ---- finish_summary.c ----

// The summary in the manual's layout, each line led by "==PID== ".
void finish_summary_print(FILE *f, const struct spool_header *h, const uint64_t *counts);
// What the engine did (-v).
void finish_summary_engine(FILE *f, const struct spool_header *h);

// ---- finish_json.c ----

// What every JSON says of a run: version, command, caches; members of an object, a comma behind.
void finish_json_run(FILE *f, const struct finish_spool *s);
// "exit":0 or "signal":9 or, when nobody knows, "end":null.
void finish_json_end(FILE *f, uint32_t kind, int32_t code);
// The summary of a run as one line (--summary=json).
void finish_json_summary(FILE *f, const struct finish_spool *s, const char *output,
                         const uint64_t *counts);

// ---- finish_wait.c ----

// As out_wait of profile/write/out.h, with a sentence the first time.
int finish_wait_reader(const char *path);
// Until something can be written to standard error; or that goes nowhere from then on.
void finish_wait_log(void);
// Writes a text there.
void finish_wait_write(const char *text, size_t size);

// ---- finish.c ----

// `quern --finish`. What is called before a message is said by then.
int finish_all(int argc, char **argv);

// Raises the soft limits of this process, which may be those that the client set for itself: every
// module takes a descriptor.
void finish_lift_limits(void);

// ---- finish_names.c ----

// The names of a spool's files, expanded for its process. 0, or -1 with a sentence in err.
// finish_names_free() frees what they hold.
int finish_names(const struct finish_spool *s, struct finish_files *files, char *err,
                 size_t err_size);
void finish_names_free(struct finish_files *files);

// ---- finish_elsewhere.c ----

// The present name of the spool that is open as fd, `path` before; NULL: it has been removed. Takes
// no memory.
const char *finish_spool_place(const char *path, int fd);
bool finish_spool_is_gone(int fd); // it has no name any more
// A profile could not be written, and `why` says why: where the spool is gone, too, or its folder
// has another name, writes the profile into another folder and says where. False: not done, for
// that is not so, or no folder takes it.
bool finish_elsewhere(struct finish_spool *s, const struct finish_files *files,
                      struct finish_totals *totals, const char *why);

#endif
