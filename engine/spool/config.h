// SPDX-License-Identifier: MIT
// A run's options in the form that translated code and the simulators need: read from the spool
// once, before any client code runs.
#ifndef QUERN_ENGINE_CONFIG_H
#define QUERN_ENGINE_CONFIG_H

#include "engine/base/types.h"

// The largest caches of which a buffer is simulated ahead: bytes of a line of D1, sets of each, and
// ways of both together.
#define CONFIG_AHEAD_LINE 128u
#define CONFIG_AHEAD_SETS 4096u
#define CONFIG_AHEAD_WAYS 8192u

struct tb_config {
    bool cache, branch, rep_cachegrind, chain, ibl, fast_tags, way_search;
    bool predictor;        // branches are predicted by sim/predict.c, in C
    bool core;             // instructions are timed (count/cores.h)
    bool sampled;          // but not all of them
    bool learns;           // and the predictor does not see all branches
    bool forms;            // decoded instructions are cached
    bool each_block;       // every block goes to the dispatcher: --dump-every-bb
    bool recording;        // record now, simulate later: --replay
    bool replayer;         // replay in another process
    u32 replayer_beside;   // only while at most this many threads run; 0: always
    bool record_ahead;     // fragments ask for the buffer's lines before they store to them
    bool replayer_split;   // threads that wait for the replayer simulate LL
    bool ahead;            // and buffers, before their turn (count/ahead.h)
    bool bgfinish;         // a background finisher for a process that forks repeatedly
    bool watched;          // a process salvages the records after SIGKILL
    u32 recordbuf_size;    // bytes of a thread's record buffers, at first
    bool recordbuf_grows;  // the only thread's get larger (recordbuf.h)
    bool values;           // record registers, not addresses
    bool superblocks;      // consecutive blocks become one fragment
    bool watch;            // superblocks by noting which blocks are entered: nothing is recorded
    bool hotblocks_all;    // note blocks from their first execution on
    bool stamps;           // replay by generated code, with caches that keep recency as stamps
    u32 vectors;           // bytes of the vectors with which routines search sets; 0: none
    bool i1_fast, d1_fast; // the geometry allows the inline check
    u32 d1_scale;          // sets of D1's tags are 1 << d1_scale lines apart
    u32 i1_shift, i1_sets, d1_shift, d1_sets;
    u32 d1_mask;       // of the address, giving the byte offset of its set, before scaling
    u32 min_line;      // references are split at this line size
    u32 read_counters; // of a read that may miss (spool_ref_counters)
    bool shown;        // --cpu: the program is shown another processor
    u32 xstate_mask;   // states that xsave saves then; 0: those that the program asks for
    bool calls;        // the call graph
    bool jumps;        // and jumps within functions
    bool data;         // misses by object of the data (objects/)
    u32 lineuse;       // with data: of so many fetched lines one is followed; 0: none
    bool curve;        // misses of caches of every size (count/curve.h)
    bool contexts;     // all calls and returns go to C, for contexts
    // with calls: number of events, of those that every block adds to, bytes of a frame, and the
    // counter that holds the last frame's address (callgraph/calls.h)
    u32 calls_events, calls_often, calls_frame, calls_top;
    bool calls_lazy; // replays note totals only before one grows (callgraph/frames.h)
    u64 flags;       // spool flags
    bool counts;     // translated code counts: client requests switch this (syscalls/counting.c)
    u32 sink;        // an unused counter, for blocks that do not count
};
extern struct tb_config tb_config;

// After the spool is mapped. i1_bytes, d1_bytes: size of a thread area's tags that translated code
// checks.
void config_init(u64 i1_bytes, u64 d1_bytes);

// There is no memory for record buffers: does not record if --replay=auto. Whether it did so.
bool config_no_replay(void);

// Translated code counts from now on, or does not.
void config_count(bool on);

#endif
