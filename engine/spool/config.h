// SPDX-License-Identifier: MIT
// What a run's options say, as translated code and the simulators need it: read from the spool
// once, before anything runs.
#ifndef QUERN_ENGINE_CONFIG_H
#define QUERN_ENGINE_CONFIG_H

#include "engine/base/types.h"

struct tb_config {
    bool cache, branch, rep_cachegrind, chain, ibl, fast_tags, way_search;
    bool forms;            // decoded instructions are remembered
    bool each_block;       // the dispatcher sees each: --dump-every-bb
    bool defer;            // record, simulate later: --replay
    bool replayer;         // and in another process
    u32 replayer_beside;   // while no more threads run than that; 0: however many there are
    bool replayer_split;   // and its threads do LL's part while they would wait
    bool clerk;            // a process that forks again and again may have one
    bool watched;          // a process replays what is left after SIGKILL
    u32 recordbuf_size;    // bytes of a thread's buffer
    bool values;           // record registers, not addresses
    bool superblocks;      // blocks that follow each other become one fragment
    bool watch;            // for these it is noted which blocks are entered: nothing is recorded
    bool hotblocks_all;    // from their first execution on
    bool stamps;           // and replay by generated code, with caches that know recency by stamps
    u32 vectors;           // bytes of those by which these search sets; 0: none
    bool i1_fast, d1_fast; // geometry allows the inline check
    u32 d1_scale;          // sets of D1's tags are 1 << d1_scale lines apart
    u32 i1_shift, i1_sets, d1_shift, d1_sets;
    u32 d1_mask;     // of the address, giving the byte offset of its set, before scaling
    u32 min_line;    // references are clipped to it
    bool shown;      // --cpu: the program is shown another processor
    u32 xstate_mask; // and xsave moves these of its states; 0: whatever it says
    bool calls;      // the call graph
    bool jumps;      // and the jumps within functions
    bool contexts;   // calls and returns all go to C, for contexts
    // with it: events, those of them that every block adds to, bytes of a frame, and the counter
    // where the last frame's address is (callgraph/calls.h)
    u32 calls_events, calls_often, calls_frame, calls_top;
    u64 flags;   // spool flags
    bool counts; // what is translated is counted: client requests switch that (syscalls/counting.c)
    u32 sink;    // a counter that nobody reads, of blocks that are not
};
extern struct tb_config tb_config;

// With the spool mapped. d1_room, i1_room: bytes that a thread's area has for the tags that
// translated code looks at.
void config_init(u64 i1_room, u64 d1_room);

// There is no memory for recording: without, if --replay=auto. Whether that is so.
bool config_no_replay(void);

// Translated code counts from now on, or is the client's alone.
void config_count(bool on);

#endif
