// SPDX-License-Identifier: MIT
// The layout of the spool: the file-backed shared memory that holds all counters and everything
// else that the finisher needs. Both the engine (freestanding) and the tools include this header.
//
// Life: `quern run` creates the file, writes the header, the options and the strings, and executes
// the engine. The engine maps it MAP_SHARED, appends modules, blocks and partial records and
// increments counters. The finisher (same process, after the client has ended) or `quern recover`
// reads it and removes it. A client killed at any moment leaves a file that is complete up to that
// moment: every append writes the record first and then advances its cursor, and counters are
// incremented in place.
//
// The file is sparse: areas have fixed offsets and only touched pages take space. Growth rule:
// fields may be added at the end of a struct inside its reserved space; anything else raises
// SPOOL_VERSION. The engine and the tools of one build always agree; a spool of another version is
// refused with a message.
#ifndef QUERN_SHARE_SPOOL_H
#define QUERN_SHARE_SPOOL_H

#include <stdint.h>

#include "share/core.h"
#include "share/cpu.h"
#include "share/moduli.h"

#define SPOOL_MAGIC   UINT64_C(0x31504f4f50535251) // "QRSPOOP1" read as little endian
#define SPOOL_VERSION 27u

// Areas of the file, all offsets fixed.
// Strings, each NUL-terminated; offset 0 of the area is "".
#define SPOOL_TEXT_OFF    UINT64_C(0x10000)
#define SPOOL_TEXT_SIZE   UINT64_C(0x7f0000)
#define SPOOL_MAPS_OFF    UINT64_C(0x800000) // struct spool_map[]
#define SPOOL_MAPS_MAX    131072u
#define SPOOL_PARTIAL_OFF UINT64_C(0x1000000) // struct spool_partial[]
#define SPOOL_PARTIAL_MAX 699050u
#define SPOOL_BLOCKS_OFF \
    UINT64_C(0x2000000) // struct spool_block + struct spool_insn[], packed, 8-aligned
#define SPOOL_BLOCKS_SIZE UINT64_C(0x36000000)
#define SPOOL_EDGES_OFF   UINT64_C(0x38000000) // struct spool_edge[]
#define SPOOL_EDGES_MAX   2396745u
#define SPOOL_THREADS_OFF \
    UINT64_C(0x40000000) // counters: one area of SPOOL_THREAD_SIZE for each thread slot
#define SPOOL_THREAD_SIZE  UINT64_C(0x10000000)
#define SPOOL_COUNTERS_MAX (SPOOL_THREAD_SIZE / 8) // uint64_t counters in a thread slot
// Slots whose counters are there; those of further slots are at SPOOL_FAR_OFF.
#define SPOOL_THREADS_FIXED 1120u
#define SPOOL_THREADS_MAX   33120u // the kernel has 32,768 threads unless it is told otherwise
// After the near slots, with --data=yes: struct spool_data_object[], struct spool_data_count[], the
// names of objects, struct spool_data_flow[], struct spool_data_cell[] and struct
// spool_data_share[]. Mapped as one piece.
#define SPOOL_DATA_OFF         UINT64_C(0x4c00000000)
#define SPOOL_DATA_OBJECTS_MAX 0x40000u
#define SPOOL_DATA_COUNTS_OFF  UINT64_C(0x4000000) // these from SPOOL_DATA_OFF
#define SPOOL_DATA_COUNTS_MAX  0x100000u
#define SPOOL_DATA_NAMES_OFF   UINT64_C(0xc000000)
#define SPOOL_DATA_NAMES_SIZE  UINT64_C(0x1000000)
#define SPOOL_DATA_FLOWS_OFF   UINT64_C(0xd000000) // struct spool_data_flow[]
#define SPOOL_DATA_FLOWS_MAX   0x100000u
#define SPOOL_DATA_CELLS_OFF   UINT64_C(0xf000000) // struct spool_data_cell[]
#define SPOOL_DATA_CELLS_MAX   0x100000u
#define SPOOL_DATA_SHARES_OFF  UINT64_C(0x17000000) // struct spool_data_share[]
#define SPOOL_DATA_SHARES_MAX  0x10000u
#define SPOOL_DATA_SIZE \
    (SPOOL_DATA_SHARES_OFF + SPOOL_DATA_SHARES_MAX * sizeof(struct spool_data_share))
// After the near slots, with --calls=yes: each thread's open calls, struct spool_frame.
#define SPOOL_STACKS_OFF UINT64_C(0x5000000000)
#define SPOOL_STACK_SIZE UINT64_C(0x4000000)
// The first threads may have more: a stack of 8 MiB has space for a million calls, and larger
// stacks are mostly the main thread's.
#define SPOOL_DEEP_SLOTS UINT64_C(8)
#define SPOOL_DEEP_SIZE  UINT64_C(0x40000000)
#define SPOOL_STACKS_SIZE                 \
    (SPOOL_DEEP_SLOTS * SPOOL_DEEP_SIZE + \
     (SPOOL_THREADS_FIXED + 1 - SPOOL_DEEP_SLOTS) * SPOOL_STACK_SIZE)

// After these: struct spool_held[], then the contents of the files.
#define SPOOL_HELD_OFF   (SPOOL_STACKS_OFF + SPOOL_STACKS_SIZE)
#define SPOOL_HELD_TABLE UINT64_C(0x10000) // bytes

// Of each further slot, at the end of the file (the file is so large only with further slots): its
// counters, then its open calls. Its memory has the same order, after the thread area.
#define SPOOL_FAR_OFF   UINT64_C(0x10000000000)
#define SPOOL_FAR_SIZE  UINT64_C(0x14000000)
#define SPOOL_FAR_STACK SPOOL_THREAD_SIZE

// Offset of a slot's counters in the file.
static inline uint64_t spool_counters_at(uint64_t slot)
{
    return slot < SPOOL_THREADS_FIXED
               ? SPOOL_THREADS_OFF + slot * SPOOL_THREAD_SIZE
               : SPOOL_FAR_OFF + (slot - SPOOL_THREADS_FIXED) * SPOOL_FAR_SIZE;
}

// Offset of a slot's open calls from SPOOL_STACKS_OFF; their maximal size in bytes. For
// SPOOL_THREADS_MAX, of the saved call stacks (struct spool_saved).
static inline uint64_t spool_stack_at(uint64_t slot)
{
    if (slot >= SPOOL_THREADS_FIXED && slot < SPOOL_THREADS_MAX)
        return spool_counters_at(slot) + SPOOL_FAR_STACK - SPOOL_STACKS_OFF;
    if (slot == SPOOL_THREADS_MAX)
        slot = SPOOL_THREADS_FIXED;
    return slot < SPOOL_DEEP_SLOTS
               ? slot * SPOOL_DEEP_SIZE
               : SPOOL_DEEP_SLOTS * SPOOL_DEEP_SIZE + (slot - SPOOL_DEEP_SLOTS) * SPOOL_STACK_SIZE;
}

static inline uint64_t spool_stack_size(uint64_t slot)
{
    return slot < SPOOL_DEEP_SLOTS ? SPOOL_DEEP_SIZE : SPOOL_STACK_SIZE;
}

// Offset of the address `frame` in a slot's open calls; `calls` is the address of slot 0's calls.
// Those of a far slot are aligned to their size.
static inline uint64_t spool_stack_offset(uint64_t slot, uint64_t frame, uint64_t calls)
{
    return slot < SPOOL_THREADS_FIXED ? frame - calls - spool_stack_at(slot)
                                      : frame % SPOOL_STACK_SIZE;
}

enum spool_state {
    SPOOL_NEW = 0,     // created, the engine has not started
    SPOOL_RUNNING = 1, // the engine counts (or was killed while counting)
    SPOOL_ENDED = 2,   // the client ended; end_kind and end_code are valid
};

enum spool_end {
    SPOOL_END_NONE = 0,
    SPOOL_END_EXIT = 1,   // end_code is the exit status
    SPOOL_END_SIGNAL = 2, // end_code is the signal number
};

// A bit of spool_header.flags for each row of options.def.
enum spool_flag {
#define SPOOL_OPTION(bit, flag, option, reader) SPOOL_F_##flag = UINT64_C(1) << (bit),
#include "share/options.def"
#undef SPOOL_OPTION
    SPOOL_F_REPLAY_AUTO = SPOOL_F_REPLAY | SPOOL_F_REPLAY_PROCESS,
};

// The options that only the finisher reads have the bits from this one on.
#define SPOOL_FINISHER_BIT 56 // and the engine the last one: it has no others left

#define SPOOL_OPTION_ENGINE(bit)   ((bit) < SPOOL_FINISHER_BIT || (bit) == 63)
#define SPOOL_OPTION_FINISHER(bit) ((bit) >= SPOOL_FINISHER_BIT && (bit) < 63)
#define SPOOL_OPTION(bit, flag, option, reader) \
    _Static_assert(SPOOL_OPTION_##reader(bit), "bit of " #flag);
#include "share/options.def"
#undef SPOOL_OPTION

// If two rows had the same bit, the sum of all would not be their union.
// clang-format off
_Static_assert((0u
#define SPOOL_OPTION(bit, flag, option, reader) + SPOOL_F_##flag
#include "share/options.def"
#undef SPOOL_OPTION
    ) == (0u
#define SPOOL_OPTION(bit, flag, option, reader) | SPOOL_F_##flag
#include "share/options.def"
#undef SPOOL_OPTION
    ), "each option has a bit of its own");
// clang-format on

struct spool_geometry {
    uint32_t size, assoc, line;
};

// Which line of a set a miss of L2 or LL replaces. Of I1 and D1: always the least recently used.
enum spool_replacement {
    SPOOL_LRU,   // the least recently used
    SPOOL_PLRU,  // by a tree of bits that point away from what was used; ways: a power of two
    SPOOL_SRRIP, // the first of those that are expected to be used latest, in two bits for each way
    SPOOL_DRRIP, // the same, or most new ones first, whichever misses less in sets that lead
    SPOOL_REPLACEMENTS,
};

// How a line gets into LL below an L2.
enum spool_filling {
    SPOOL_FILL_MISS,   // by a miss of LL
    SPOOL_FILL_VICTIM, // when L2 replaces it; a hit moves it to L2
    SPOOL_FILLINGS,
};

// By which addresses L2 and LL find a line's set.
enum spool_index {
    SPOOL_INDEX_VIRTUAL,  // those of the program
    SPOOL_INDEX_PHYSICAL, // of memory, where pages of 4 KiB lie anywhere (count/levels.c)
    SPOOL_INDICES,
};

// Which instructions a core times, in numbers of instructions: the first ones, then a window in
// each interval, before which it runs in, and the predictor learns. The first intervals are
// shorter: a tenth of what has been executed. interval 0: all of them. Unless growth is 0 later
// ones are longer: what has been executed over growth, up to 32 of the usual ones.
//
// Data and code that missed L1 have a latency: that of the level where they are (L2, LL, memory),
// in cycles. By the misses of an instruction it is known exactly how long those of all its
// executions are; counters behind those of the causes have how long those of its timed executions
// are.
//
// Where not all are timed the counter of Cy has how many instructions an instruction's timed
// executions stand for, each by the interval's length over the window's; those of its causes have
// the cycles in parts of 1/width, and those of mispredictions their number, as often. The finisher
// makes estimates of them (finish/spool/spool_estimate.c).
struct spool_sampling {
    uint32_t first, interval, window, run_in, learn, growth;
    uint32_t branches; // not 0: the predictor sees all, and each misprediction counts once
};

// The sums of a process so far, which no part of the profile takes off.
enum { SPOOL_SAMPLED_CAUSES = 6, SPOOL_SAMPLED_BRANCHES = 3 };
struct spool_sampled {
    uint64_t timed; // instructions, each once
    uint64_t insns, cycles[SPOOL_SAMPLED_CAUSES];
    // By kind (Bcm, Bim, Brm): predicted and mispredicted.
    uint64_t branches[SPOOL_SAMPLED_BRANCHES], missed[SPOOL_SAMPLED_BRANCHES];
};

// --machine: what its LL and its L2 have besides their geometries.
struct spool_machine {
    uint32_t s_name;                         // text; 0: no machine was given
    struct spool_geometry l2;                // with SPOOL_F_L2: a level between L1 and LL
    uint32_t l2_replacement, ll_replacement; // enum spool_replacement
    uint32_t ll_filling;                     // enum spool_filling
    uint32_t index;                          // enum spool_index
    // With SPOOL_F_TLB: of instructions, of data, of both behind these. As caches whose lines are
    // pages; replaced: the least recently used.
    struct spool_geometry itlb, dtlb, stlb;
    // With SPOOL_F_PREFETCH (sim/prefetch.h).
    uint32_t stream_distance, stream_batch, stream_dense, stream_reach, stream_across;
    uint32_t pairs, next_line, regions;
    // With SPOOL_F_PREDICTOR (sim/predict.h). path_bits: of addresses and targets; 0: all.
    uint32_t deep_returns, predict_large, indirect_large, path_bits;
    struct core_machine core;       // with SPOOL_F_CORE
    struct spool_sampling sampling; // so, too
};

// A module or other mapping from which blocks were translated. Never changed once written. A range
// that is unmapped and mapped again gets a new record: a block resolves to the mapping that it ran
// in.
struct spool_map {
    uint64_t start, end; // client addresses
    uint64_t offset;     // file offset of start
    uint64_t dev, ino;
    uint32_t path;  // text offset; 0: anonymous
    uint32_t flags; // enum spool_map_flag
    uint64_t mtime; // of the file when it was mapped, ns since 1970; 0: not known
    uint64_t ctime; // its last change of status then
};

// The content of a file whose name led to another file when the process ended. A zero entry ends
// the table.
struct spool_held {
    uint64_t at, size; // of the content in the spool
    uint32_t map;      // index of its spool_map; several may share the content
    uint32_t reserved;
};

enum spool_map_flag {
    SPOOL_MAP_VDSO = 1u << 0,    // the finisher reads its symbols from its own vDSO
    SPOOL_MAP_ANON = 1u << 1,    // generated code
    SPOOL_MAP_DELETED = 1u << 2, // the file had been removed when it was mapped
    SPOOL_MAP_LOST = 1u << 3,    // the spool has no copy of it, and it was not shared memory
};

// One instruction of a block.
struct spool_insn {
    uint8_t len;
    uint8_t flags; // enum spool_insn_flag
    // Data references of every execution.
    uint8_t reads : 4, writes : 4;
    uint8_t from; // with --data=yes: where its address comes from (enum spool_from)
};

// The counters that an instruction owns follow from its flags and the run's options:
// spool_insn_counters() below numbers them, in the engine and in the tools.
enum spool_insn_flag {
    // With cache simulation: may miss I1 (first of its line in the block): I1mr, ILmr.
    SPOOL_I_FETCH = 1u << 0,
    SPOOL_I_BC = 1u << 1, // conditional branch: with branch simulation Bcm
    SPOOL_I_BI = 1u << 2, // indirect jump or call (not ret): with branch simulation Bim
    // Number of references known only at run time: with cache simulation Dr, Dw extra.
    SPOOL_I_DYN = 1u << 3,
    SPOOL_I_REP = 1u << 4, // rep string instruction; with F_REP_CACHEGRIND extra Ir and extra Bc
    // Could not be decoded: executed by single-stepping; len is what was observed.
    SPOOL_I_STEPPED = 1u << 5,
    SPOOL_I_BUS = 1u << 6, // atomic: the event Ge
    SPOOL_I_RET = 1u << 7, // return: with a predictor of today Brm
};

// What brought a value, within a block: the instruction of this number, from 1 on, which loaded it
// from memory; or the register that had it at the block's beginning.
enum spool_from { SPOOL_FROM_NOWHERE = 0, SPOOL_FROM_REGISTER = 0x80 };

struct spool_block {
    uint64_t pc;      // client address of the first instruction
    uint32_t counter; // executions of the whole block
    // The first of the instructions' counters, if they have any. With contexts it follows
    // `counter`. Otherwise the execution counters of all blocks are contiguous: each block that
    // runs writes one. Few of the others are ever written, and the replayer writes them in its own
    // area.
    uint32_t own;
    uint32_t hash; // of the code bytes, to find the same block again; 0: they may be rewritten
    union {
        struct {
            uint32_t map   : 17; // index of its spool_map
            uint32_t insns : 11; // number of struct spool_insn that follow
            uint32_t flags : 4;  // enum spool_block_flag
        };
        uint32_t shape; // all three at once
    };
};

enum spool_block_flag {
    SPOOL_B_WRITABLE = 1u << 0, // came from writable memory
    SPOOL_B_PLT = 1u << 1,      // with --calls=yes: of a procedure linkage table
    // Not a block: joint executions of several blocks, to be added to each of them. Their execution
    // counters (uint32_t) follow instead of instructions; `map` is the number of their
    // instructions.
    SPOOL_B_SUM = 1u << 2,
    // From an earlier run, and its code is not verified yet: it is not executed, and `map` is not
    // of this run.
    SPOOL_B_DORMANT = 1u << 3,
};

// ---- --calls=yes ----

// The events of a run (events.def), in the order of inclusive costs in edges, frames and running
// totals. Those up to SPOOL_E_GE follow from executions (and from string instructions), the others
// are rare.
enum spool_event {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) SPOOL_E_##id,
#include "share/events.def"
#undef SPOOL_EVENT
    SPOOL_EVENTS,
};

#define SPOOL_COUNTED_ALWAYS    UINT64_C(0)
#define SPOOL_COUNTED_CACHE     SPOOL_F_CACHE_SIM
#define SPOOL_COUNTED_BRANCH    SPOOL_F_BRANCH_SIM
#define SPOOL_COUNTED_L2        SPOOL_F_L2
#define SPOOL_COUNTED_TLB       SPOOL_F_TLB
#define SPOOL_COUNTED_PREFETCH  SPOOL_F_PREFETCH
#define SPOOL_COUNTED_PREDICTOR SPOOL_F_PREDICTOR
#define SPOOL_COUNTED_CORE      SPOOL_F_CORE
#define SPOOL_COUNTED_BUS       SPOOL_F_BUS
#define SPOOL_COUNTED_SYSTIME   SPOOL_F_SYSTIME
#define SPOOL_COUNTED_SYSCPU    SPOOL_F_SYSCPU

static inline int spool_event_counted(enum spool_event e, uint64_t run_flags)
{
    switch ((int)e) {
#define SPOOL_EVENT(id, name, counted, cachegrind, callgrind) \
case SPOOL_E_##id:                                            \
    return SPOOL_COUNTED_##counted == 0 || (SPOOL_COUNTED_##counted & run_flags) != 0;
#include "share/events.def"
#undef SPOOL_EVENT
    default: return 0;
    }
}

// The index of e among the events that the run counts; for SPOOL_EVENTS, their number.
static inline uint32_t spool_event_index(enum spool_event e, uint64_t run_flags)
{
    uint32_t n = 0;

    for (int i = 0; i < (int)e; i++)
        n += (uint32_t)spool_event_counted((enum spool_event)i, run_flags);
    return n;
}

enum spool_edge_kind {
    SPOOL_EDGE_CALL,     // direct: one for each execution of the site that counts
    SPOOL_EDGE_INDIRECT, // a call through register or memory, or through a linkage table
    SPOOL_EDGE_JUMP,     // from one function to another without a call
    SPOOL_EDGE_ROOT,     // no caller: start of a thread, a signal handler
    SPOOL_EDGE_PLT,      // site is an entry of a linkage table, target its destination, or 0
    // --collect-jumps=yes. These have at most one counter, of executions, and no cost. If the
    // target is in another function, executions are counted both here and in SPOOL_EDGE_JUMP.
    SPOOL_EDGE_GOTO,   // direct: no counter, the site's executions
    SPOOL_EDGE_BRANCH, // conditional: times taken
    SPOOL_EDGE_TABLE,  // through register or memory, within the function
    // With contexts (SPOOL_F_CONTEXTS).
    SPOOL_EDGE_CONTEXT, // of function, the to-th that is open (0: a caller's); `from`: its caller's
    SPOOL_EDGE_SKIPPED, // a call of a hidden function, whose self cost is the caller's
    SPOOL_EDGE_PIECE,   // block `target` counts for the context in counter `to`
    SPOOL_EDGE_SYSCALL, // no call: the system call at `site` in context `to`, its events' counters
    SPOOL_EDGE_ACCOUNT, // counts of block `target` in context `to`: counters as the block's
    // From an earlier run: no code that refers to it is executed, its maps are not of this run, and
    // its counters are 0. spool_edge.awake: its kind then.
    SPOOL_EDGE_DORMANT,
};

// A context is the index of its record, plus one; 0: not known. These have no record.
#define SPOOL_CONTEXT_SKIPPED 0xfffffffeu // hidden functions
#define SPOOL_CONTEXT_OFF     0xffffffffu // not collected

static inline int spool_edge_is_jump(unsigned kind)
{
    return kind >= SPOOL_EDGE_GOTO && kind <= SPOOL_EDGE_TABLE;
}

// Caller and callee. Its counters: calls, the inclusive cost of each event, and if the target is in
// a linkage table, the cost of the path through the table, which is the caller's.
struct spool_edge {
    uint64_t target; // address of the first instruction
    uint32_t counter;
    uint32_t plt;      // identifies the linkage table's entry; 0: the target is none
    uint64_t site;     // address of the call or jump; 0: none
    uint64_t function; // start of the target's function, as the engine knows it
    uint32_t site_map, target_map;
    uint8_t kind;  // enum spool_edge_kind
    uint8_t len;   // of the call
    uint8_t awake; // enum spool_edge_kind
    uint8_t reserved;
    uint32_t from, to; // contexts of caller and target, or 0
    uint32_t unused;
};

// Patterns of functions, in s_patterns: each a letter, a number, a blank, a pattern for names ("":
// all) and a NUL.
#define SPOOL_PATTERN_CALLERS 'c' // separate costs by this many callers
#define SPOOL_PATTERN_RECS    'r' // separate this many levels of recursion
#define SPOOL_PATTERN_GROUP   'g' // treat the functions of a group as one
#define SPOOL_PATTERN_SKIP    's' // hide the function
#define SPOOL_PATTERN_TOGGLE  't' // collecting starts or stops at its entry
#define SPOOL_PATTERN_BEFORE  'b' // write a part of the profile at its entry
#define SPOOL_PATTERN_AFTER   'a' // or after its return
#define SPOOL_PATTERN_ZERO    'z' // zero all counts at its entry

// One open call: spool_frame_bytes() in a thread's call stack. The counter at spool_header.calls is
// the address of the last frame; the thread's totals follow it. With contexts the next counter is 1
// while nothing is collected, followed by the totals that apply. Without contexts the counter after
// the totals is a slot, plus one: there the replay keeps the totals of misses, and in that slot's
// stack the part of each frame with their values before the call. It may be another slot or the
// thread's own. 0: there is no replay, and each frame that is filled has these values. In that slot
// the counter after this one is the first frame whose part has not been written, because none of
// these totals has grown since its call (0: all have been).
struct spool_frame {
    uint32_t counter;  // of the edge
    uint32_t plt;      // of the edge, until the call leaves the linkage table; and the flags below
    uint64_t key;      // return address plus sp, and the flags below
    uint64_t sp;       // the stack pointer at the target's first instruction
    uint64_t before[]; // the complement of each total at the call
};

#define SPOOL_FRAME_FILLED (UINT64_C(1) << 63) // has the totals after SPOOL_E_BI, too
#define SPOOL_FRAME_SIGNAL (UINT64_C(1) << 62) // a handler's: the totals are reset to these
#define SPOOL_FRAME_LAZY   (UINT64_C(1) << 61) // in the resolver of a linkage table
#define SPOOL_FRAME_FLAGS  (UINT64_C(7) << 61)
// In plt: a jump, which has the key of the frame below and ends with it; in a linkage table, the
// frame has the totals after SPOOL_E_BI.
#define SPOOL_FRAME_JUMP       0x40000000u
#define SPOOL_FRAME_PLT_FILLED 0x80000000u
#define SPOOL_FRAME_PLT        0x3fffffffu

// With contexts, after the totals of a frame.
struct spool_frame_context {
    uint32_t node;    // engine's number of the function
    uint32_t context; // of the function, or of the one that a hidden function works for
    // Indices of frames in the stack, or ~0: the frame of the function on top of the stack of
    // functions (which has a function that calls itself once), and of the one below it
    uint32_t own, below;
    uint32_t depth; // counter of the function's open calls; 0: they are not counted
    uint32_t flags;
};

#define SPOOL_FRAME_SKIPPED 1u // hidden: counts only while it is on top
#define SPOOL_FRAME_OFF     2u // nothing is collected

// A saved call stack: its thread has switched to another one (coroutines). Its frames follow, the
// oldest first. These records are consecutive, after the calls of the near slots; a record with 0
// bytes is the end.
struct spool_saved {
    uint64_t bytes;  // of this record
    uint64_t frames; // bytes; 0: it is free
    uint64_t totals[SPOOL_EVENTS];
    uint64_t reserved[62 - SPOOL_EVENTS];
};

// A power of two: no frame crosses a page.
static inline uint32_t spool_frame_bytes(uint64_t run_flags)
{
    uint32_t need =
        (uint32_t)sizeof(struct spool_frame) + spool_event_index(SPOOL_EVENTS, run_flags) * 8;

    if (run_flags & SPOOL_F_CONTEXTS)
        need += (uint32_t)sizeof(struct spool_frame_context);
    return need <= 32 ? 32 : need <= 64 ? 64 : need <= 128 ? 128 : need <= 256 ? 256 : 512;
}

// Instructions 0..insn-1 of a block were executed `count` times without counting the block (a fault
// in the middle, or a block that the client left early).
struct spool_partial {
    uint32_t block; // offset of the spool_block in the blocks area, divided by 8
    uint32_t insn;
    uint64_t count;
    uint32_t context;
    uint32_t slot; // of the thread
};

// ---- --data=yes ----

enum spool_data_kind {
    SPOOL_DATA_UNKNOWN, // the first record, for what belongs to no other object
    SPOOL_DATA_STACK,
    SPOOL_DATA_PROGRAM, // argv, environment, auxiliary vector
    SPOOL_DATA_BREAK,   // of the break, outside of all blocks
    SPOOL_DATA_VDSO,
    SPOOL_DATA_STATIC,  // a symbol of a module: `start` and `size` as linked
    SPOOL_DATA_SECTION, // the rest of a section
    SPOOL_DATA_FILE,    // a mapped file that is no module
    SPOOL_DATA_SHARED,  // a segment of shmat
    SPOOL_DATA_ANON,    // anonymous mappings by their calls
    SPOOL_DATA_HEAP,    // blocks of an allocator by its calls
    SPOOL_DATA_TLS,     // thread-local: a variable, with `start` as linked, or all others
};

#define SPOOL_DATA_CALLERS_MAX 8u
#define SPOOL_DATA_USE         128u // by default; at most SPOOL_DATA_USE_MAX
#define SPOOL_DATA_USE_MAX     1000000u

// What misses are counted for. Never changed once written, but for the counts of blocks. Texts are
// offsets into the names; 0: none.
struct spool_data_object {
    uint32_t kind;                         // enum spool_data_kind
    uint32_t name, module;                 // of a symbol or section; path of the module or file
    uint32_t sites;                        // of an allocation: how many callers follow
    uint64_t start, size;                  // of a symbol
    uint64_t blocks, bytes;                // that were allocated, in all
    uint64_t site[SPOOL_DATA_CALLERS_MAX]; // addresses of the calls, the innermost first
    uint64_t least, most;                  // bytes of the smallest and the largest block
    // That are gone: freed, or memory that another block has got since.
    uint64_t gone_blocks, gone_bytes;
    uint64_t peak_blocks, peak_bytes;     // when it had most bytes
    uint64_t missed_blocks, missed_bytes; // blocks with a miss, at its time
    uint64_t cold;                        // misses that are the first one of a block in a line
    // Of lines of D1 that were fetched for it, those that were followed, and how many of their
    // bytes were referenced.
    uint64_t fetched, used;
    uint64_t reserved[7];
};

// How often the address of a miss was `step` above that of the one before. A step that is not among
// those of an entry takes the place of one without weight, or else each loses some.
struct spool_data_stride {
    int32_t step; // 0: none
    uint32_t weight;
    uint64_t count; // since it has this place
};

#define SPOOL_DATA_STRIDES 3u
#define SPOOL_DATA_NEAR    4096u // bytes

// Misses of the references that count at `counter` (a group of SPOOL_REF_READ or SPOOL_REF_WRITE)
// in an object, in the order of the first one; and, with the first of the counters of an
// instruction, its walk: steps, each from one of its misses in the object to the next one of the
// same thread.
struct spool_data_count {
    uint32_t counter; // plus one
    uint32_t object;
    uint64_t l1, l2, ll;
    uint64_t last;   // address of the last miss of ...
    uint32_t thread; // ... this one, the first that missed: a number, from 1 on
    uint32_t walk;   // the entry that has the walk, plus one; 0: not looked for yet
    uint64_t steps;
    uint64_t ahead, back; // to the next line of D1, to the one before
    uint64_t near;        // by less than SPOOL_DATA_NEAR
    struct spool_data_stride stride[SPOOL_DATA_STRIDES];
};

// Misses of an instruction in a part of an object: at one offset from its beginning, if that is
// below SPOOL_DATA_EXACT; in one piece of SPOOL_DATA_PIECE bytes, up to SPOOL_DATA_PIECES; else in
// all of the object. Of the offsets it has the least, the greatest and the greatest common divisor
// of their differences: so it follows which member of an array's elements they were of. A cell of
// all of the object also has which remainders the numbers of their words have (moduli.h).
struct spool_data_cell {
    uint32_t counter; // the first one of the instruction, plus one; with SPOOL_DATA_CELL_WRITE
    uint32_t object;
    uint64_t first;     // one of the offsets
    uint64_t step;      // all others are multiples of it away; 0: there are no others
    uint64_t low, high; // the least and the greatest
    uint64_t l1, l2, ll;
    uint64_t words[MODULI_COUNT]; // bits; 0: not of all of the object
};

#define SPOOL_DATA_CELL_WRITE 0x80000000u
#define SPOOL_DATA_EXACT      4096u
#define SPOOL_DATA_PIECE      64u
#define SPOOL_DATA_PIECES     16384u

// One of the two references of an invalidation: of an instruction, to a byte of an object.
struct spool_data_touch {
    uint32_t counter; // the first one of the instruction, plus one
    uint32_t object;
    uint64_t offset; // from the object's beginning; SPOOL_DATA_NO_OFFSET: not known
};

#define SPOOL_DATA_NO_OFFSET (~UINT64_C(0))

// How often a thread has referenced a line that it had referenced before, and that another thread
// had written since (an invalidation), by these two references.
struct spool_data_share {
    struct spool_data_touch touched, written;
    uint32_t how; // SPOOL_SHARE_*
    uint32_t reserved;
    uint64_t invalidations;
    uint64_t most; // how many there could have been, had the two threads taken turns
    uint64_t reserved2;
};

#define SPOOL_SHARE_TRUE   1u // some byte is the same; else false sharing
#define SPOOL_SHARE_WRITES 2u // the reference that was invalidated writes

// Where a block leads to.
enum spool_flow_end {
    SPOOL_FLOW_ENDS, // nowhere that is known
    SPOOL_FLOW_GOES_ON,
    SPOOL_FLOW_MAY_JUMP, // to target
    SPOOL_FLOW_JUMPS,
    SPOOL_FLOW_CALLS, // target, 0: not known; and goes on
};

// What registers have at the end of a block, in the order of the blocks.
struct spool_data_flow {
    uint64_t target;
    uint32_t block; // its place among the blocks, in units of 8 bytes
    uint32_t end;   // enum spool_flow_end
    uint8_t reg[16];
};

struct spool_data {
    uint32_t callers;                      // --data-callers; 0: no objects
    uint32_t objects_used;                 // records; cursors, as those of spool_header
    uint64_t names_used;                   // bytes
    uint32_t counts_used;                  // entries
    uint32_t s_output;                     // --data-out-file as given, absolute
    uint32_t s_functions, functions_bytes; // see SPOOL_DATA_ALLOC
    uint64_t flows_used;                   // records
    uint64_t cells_used;                   // entries
    uint64_t lines_lost;                   // misses for whose line there was no space to note it
    uint64_t shares_used;                  // entries
    uint64_t shares_lost;                  // invalidations for which there was no space
    uint32_t use;                          // --data-use: of so many lines one is followed; 0: none
    uint32_t unused;
};

// The program's own allocators, in s_functions: each a letter, numbers divided by colons, a blank,
// a name and a NUL.
#define SPOOL_DATA_ALLOC 'a' // number of the argument with the size, then with a factor (or 0)
#define SPOOL_DATA_FREE  'f' // number of the argument with the block

// ---- --curve=yes ----

// Of data references and fetches in a thread's own caches, and of what missed L1 in LL.
enum spool_curve_series {
    SPOOL_CURVE_READ,
    SPOOL_CURVE_WRITE,
    SPOOL_CURVE_FETCH,
    SPOOL_CURVE_LL, // to be added to the three above
    SPOOL_CURVE_SERIES = 6,
};

// A series has counters from two stacks (engine/count/curve.c): at the highest rate, for sizes of
// up to SPOOL_CURVE_NEAR << rate lines, and for the larger ones.
enum spool_curve_stack { SPOOL_CURVE_SMALL, SPOOL_CURVE_LARGE };

#define SPOOL_CURVE_SIZES    37u // of sim/curve.h
#define SPOOL_CURVE_NEAR     2048u
#define SPOOL_CURVE_POINTS   512u
#define SPOOL_CURVE_INTERVAL UINT64_C(1024)
#define SPOOL_CURVE_COUNTERS (SPOOL_CURVE_SERIES * 2 * (SPOOL_CURVE_SIZES + 1))

// From the first counter on: references that hit caches of this size and larger ones alone;
// SPOOL_CURVE_SIZES: none.
static inline uint32_t spool_curve_counter(uint32_t series, uint32_t stack, uint32_t size)
{
    return (series * 2 + stack) * (SPOOL_CURVE_SIZES + 1) + size;
}

struct spool_curve {
    uint32_t on;       // --curve=yes
    uint32_t rate;     // log2: one line in so many is looked at
    uint32_t counters; // the first of them, plus one, in each slot
    uint32_t unused;
    // Lines of data and of code that were touched by the end of each interval, as estimated; 0: as
    // many as before. refs: data references so far, as estimated.
    uint64_t refs, interval;
    uint64_t lines[2][SPOOL_CURVE_POINTS];
};

#define SPOOL_DUMPED 40 // space for events

// The processor that the program is shown (--cpu).
#define SPOOL_CPUID_MAX 64u
#define SPOOL_CPUID_ANY UINT32_MAX // as `sub`: the leaf has no subleaves

struct spool_cpuid {
    uint32_t leaf, sub, a, b, c, d;
};

struct spool_cpu {
    uint32_t leaves; // of `leaf`; 0: the machine's own processor
    uint32_t hwcap;  // AT_HWCAP
    struct cpu_set features;
    uint64_t xcr0;
    struct spool_cpuid leaf[SPOOL_CPUID_MAX];
};

// Requests to a running program (quern control). A process that may write the spool stores the
// request here, increments `asked`, and sends the signal to one of the program's threads repeatedly
// until the request is taken.
enum spool_ask {
    SPOOL_REQUEST_DUMP, // a part of the profile; hint: of its "desc: Trigger:"
    SPOOL_REQUEST_ZERO,
    SPOOL_REQUEST_COUNT,     // count instructions from now on
    SPOOL_REQUEST_COUNT_NOT, // stop counting
    SPOOL_REQUEST_KILL,      // write the profile, then die of SIGKILL
};

#define SPOOL_REQUEST_SIGNAL 33
#define SPOOL_REQUEST_MAGIC  UINT64_C(0x517565726e61736b) // its si_value; si_code is SI_QUEUE

struct spool_control {
    uint32_t asked, taken, answered; // numbers of requests; the last two are futex words
    uint32_t what;                   // enum spool_ask
    int32_t result;                  // 0 or -errno
    uint32_t counts;                 // whether instructions are counted now
    uint32_t hears; // the engine has a handler for the signal, which else would end the program
    char hint[1000];
};

struct spool_header {
    uint64_t magic;
    uint32_t version;
    uint32_t state; // enum spool_state
    int32_t pid;
    int32_t parent_pid; // of the process whose counts a forked child inherited, else 0
    uint32_t end_kind;  // enum spool_end
    int32_t end_code;
    uint64_t flags; // enum spool_flag
    struct spool_geometry i1, d1, ll;
    uint32_t dumps; // parts that were written before this one

    // Cursors. Written after the record that they cover.
    uint64_t text_used;   // bytes
    uint64_t maps_used;   // records
    uint64_t blocks_used; // bytes
    uint64_t counters_used;
    uint64_t partial_used; // records
    uint64_t threads_used; // highest thread slot ever used, plus one
    uint64_t block_count;

    // Strings, as offsets into the text area; 0 is "not given".
    uint32_t s_cmd;     // the client's command line, joined as Cachegrind does
    uint32_t s_program; // absolute path of the client
    // --cachegrind-out-file as given (unexpanded), absolute once the cwd is prefixed.
    uint32_t s_output;
    uint32_t s_log;          // --log-file as given (unexpanded)
    uint32_t s_quern;        // absolute path of the quern program (the finisher)
    uint32_t s_engine;       // absolute path of the engine
    uint32_t s_spool;        // absolute path of this spool
    uint32_t s_spool_dir;    // where spools of children go
    uint32_t s_cwd;          // working directory at start
    uint32_t s_skip;         // --trace-children-skip
    uint32_t s_desc;         // the three "desc:" lines, newline separated
    uint32_t s_dump_counts;  // --dump-counts=FILE
    uint32_t s_library_path; // LD_LIBRARY_PATH of `quern run`, for the finisher
    // Seccomp filters that the program starts with, the oldest first: for each the number of its
    // instructions (u64), then the instructions (8 bytes each); seccomp_bytes in all.
    uint32_t s_seccomp;
    uint32_t seccomp_bytes;
    uint32_t s_dump_code;    // --dump-code=FILE
    uint32_t s_symbol_cache; // folder of the symbol cache, for the finisher
    uint32_t s_cpu;          // --cpu as given
    uint32_t s_cpuinfo;      // one processor's entry in /proc/cpuinfo, after its number
    // --reproducible: the environment that the program gets, each string with its NUL
    uint32_t s_env, env_bytes;
    // --children=merge: the folder where profiles are collected until the process tree_pid, the
    // first of the run, ends.
    uint32_t s_tree, tree_pid;
    uint32_t s_patterns, patterns_bytes; // see SPOOL_PATTERN_CALLERS
    uint32_t every_blocks;               // --dump-every-bb: a part every so many blocks; 0: none
    uint32_t systime_unit;               // ns in a unit of sysTime
    uint32_t replayer; // pid of the replayer (--replay), which may outlive the client; 0: none
    // Absolute path of quern-finish, which is tried before s_quern; 0: none.
    uint32_t s_finisher;
    uint32_t s_trace;        // --trace-refs=FILE
    uint32_t s_translations; // folder of the persistent cache; 0: none
    uint32_t s_parent;       // of a forked child: the spool of the process that forked it

    // Where messages and the summary go; the engine hides it from the client.
    int32_t log_fd;
    uint32_t cache_kib;    // --cache-size: size of the code cache
    uint32_t stress_us;    // --stress: preempt every thread every so many microseconds; 0: off
    uint32_t stress_flush; // --stress-flush: flush the code cache after n translations; 0: off

    // Statistics for -v. Updated by the engine, monotonic.
    uint64_t n_translated; // blocks translated, retranslations included
    uint64_t n_translated_insns;
    uint64_t ns_translating;
    uint64_t n_dispatch; // exits to the dispatcher
    uint64_t n_ibl_miss; // indirect branches not found by the inline lookup
    uint64_t n_links;
    uint64_t n_flush;      // whole code cache
    uint64_t n_invalidate; // blocks dropped because their code went away or changed
    uint64_t n_signals;    // delivered to the client
    uint64_t n_stepped;    // instructions executed by single-stepping
    uint64_t n_slow_syscalls;
    uint64_t code_bytes; // bytes of code cache emitted
    uint64_t edges_used; // records; a cursor like those above
    uint32_t calls;      // with --calls=yes: see struct spool_frame
    // Index of a counter that is set in the slots in which the replayer counts: the thread's slot,
    // plus one; 0 in other slots. 0: there is no replayer.
    uint32_t owner;
    // Executions of blocks, for "desc: Timerange:": those whose counters have been zeroed, and the
    // number when the last part was written.
    uint64_t n_blocks_gone, n_blocks_dumped;
    uint64_t n_superblocks, n_superblock_blocks; // and the blocks in them
    uint64_t n_pcache_revived;                   // fragments from the persistent cache
    uint64_t n_pcache_saved;                     // fragments written to it
    // Full record buffers handed over to the replayer, and replayed by their own thread.
    uint64_t n_handed, n_replayed;
    uint64_t n_helped; // LL references of handed-over buffers, simulated by their own thread
    // Programs that this process, or a child that it forked, has executed without profiling them;
    // without --trace-children=yes. s_native: the path of the first, if it is known.
    uint64_t n_native;
    uint32_t s_native, n_unused;
    uint64_t n_ahead; // full record buffers that their own thread simulated ahead of their turn
    uint64_t n_again; // of these, in vain: replayed in their turn (count/ahead.h)
    uint64_t n_reserved[5];
    // Start of `quern run`, ns since 1970: a warning is printed for modules modified later.
    uint64_t start_time;

    // Number of forked children that have copied this spool: a parent waits until its child has
    // copied the counts as of the fork. A futex word.
    uint32_t fork_copied;
    uint32_t forks; // children that it has forked

    // The signals that the program starts with blocked. Before the exec of the engine all signals
    // are blocked: none may end the process while the new spool is empty and could not be finished.
    // The engine unblocks them once it can finish it.
    uint64_t start_mask;

    struct spool_cpu cpu; // also for programs that this one executes

    struct spool_control control;

    struct spool_machine machine;

    // Counts of all events, in the order of enum finish_event (finish/): the sums of the parts of
    // the profile that were written before. In the copy of a part its finisher stores those of
    // the part here, and the engine adds them.
    uint64_t dumped[SPOOL_DUMPED];

    struct spool_data data;

    struct spool_sampled sampled;
    struct spool_curve curve;
};

// --dump-code: translations are written beside the spool, to <spool>.code: consecutive records,
// each a struct spool_code, its instructions, its parts, and the host code. An incomplete record
// ends the file.
#define SPOOL_CODE_SUFFIX ".code"
#define SPOOL_CODE_MAGIC  0x45444f43u // "CODE"

struct spool_code {
    uint32_t magic;
    uint32_t bytes;        // of host code
    uint64_t pc, hpc;      // client address, 0 for a stub; host address
    uint32_t insns, parts; // numbers of struct spool_code_insn and struct spool_code_part
    char name[32];         // of a stub
};

struct spool_code_insn {
    uint64_t pc; // instructions of a superblock are not all in sequence
    uint8_t len;
    uint8_t bytes[15];
};

enum spool_code_kind {
    SPOOL_CODE_HEAD, // before the first instruction
    SPOOL_CODE_MAIN,
    SPOOL_CODE_COLD,      // after the main path
    SPOOL_CODE_DATA,      // no code: words for a helper
    SPOOL_CODE_EXIT,      // the stub of an exit; insn is the exit's number
    SPOOL_CODE_HOTBLOCKS, // the second entry: notes that the fragment is entered, or tells C of it
};

// A part of the host code, from an offset on.
struct spool_code_part {
    uint32_t off;
    uint16_t insn;
    uint16_t kind; // enum spool_code_kind
};

// The counters that one instruction owns, given the run's flags, in this order:
//   REP with F_REP_CACHEGRIND: extra Ir, extra Bc (only with branch simulation)
//   FETCH with cache simulation: the group of SPOOL_REF_FETCH, which begins with I1mr
//   DYN with cache simulation: extra Dr, extra Dw
//   reads or DYN with cache simulation: the group of SPOOL_REF_READ, which begins with D1mr
//   writes or DYN with cache simulation: the group of SPOOL_REF_WRITE, which begins with D1mw
//   BC, or REP with F_REP_CACHEGRIND, with branch simulation: Bcm
//   BI with branch simulation: Bim
//   RET with branch simulation by a predictor of today: Brm
//   all but those that are stepped, with a core: Cy, its six causes, and two counters that are no
//     events: where not all are timed, latencies of data and code (struct spool_sampling)
struct spool_counters {
    uint32_t rep_ir, rep_bc; // index relative to the instruction's first counter; ~0u where absent
    uint32_t i1mr;           // the misses of the further levels follow it, as in events.def
    uint32_t dyn_r, dyn_w;
    uint32_t d1mr, d1mw; // so, too
    uint32_t bcm, bim, brm;
    uint32_t cy; // its causes follow it, as in events.def
    uint32_t count;
};

// The counters of a reference that may miss, by kind: of these events those that the run counts.
enum spool_ref { SPOOL_REF_FETCH, SPOOL_REF_READ, SPOOL_REF_WRITE, SPOOL_REFS };
#define SPOOL_REF_EVENTS 7u

static inline const uint8_t *spool_ref_events(enum spool_ref kind)
{
    static const uint8_t events[SPOOL_REFS][SPOOL_REF_EVENTS + 1] = {
        { SPOOL_E_I1MR, SPOOL_E_I2MR, SPOOL_E_ILMR, SPOOL_E_ITM, SPOOL_E_STM, SPOOL_E_PFU,
          SPOOL_E_PFW, SPOOL_EVENTS },
        { SPOOL_E_D1MR, SPOOL_E_D2MR, SPOOL_E_DLMR, SPOOL_E_DTM, SPOOL_E_STM, SPOOL_E_PFU,
          SPOOL_E_PFW, SPOOL_EVENTS },
        { SPOOL_E_D1MW, SPOOL_E_D2MW, SPOOL_E_DLMW, SPOOL_E_DTM, SPOOL_E_STM, SPOOL_E_PFU,
          SPOOL_E_PFW, SPOOL_EVENTS },
    };

    return events[kind];
}

// The place of event e in the group of counters of that kind; for SPOOL_EVENTS, their number.
static inline uint32_t spool_ref_place(enum spool_ref kind, enum spool_event e, uint64_t run_flags)
{
    const uint8_t *events = spool_ref_events(kind);
    uint32_t n = 0;

    for (; *events != (uint8_t)e && *events != SPOOL_EVENTS; events++)
        n += (uint32_t)spool_event_counted((enum spool_event) * events, run_flags);
    return n;
}

#define SPOOL_CY_EVENTS 7u // Cy and its causes
enum { SPOOL_LATENCY_DATA, SPOOL_LATENCY_CODE, SPOOL_LATENCIES };

static inline uint32_t spool_ref_counters(enum spool_ref kind, uint64_t run_flags)
{
    return spool_ref_place(kind, SPOOL_EVENTS, run_flags);
}

static inline struct spool_counters spool_insn_counters(struct spool_insn in, uint64_t run_flags)
{
    struct spool_counters c = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0 };
    int cache = (run_flags & SPOOL_F_CACHE_SIM) != 0;
    int branch = (run_flags & SPOOL_F_BRANCH_SIM) != 0;
    int rep = (in.flags & SPOOL_I_REP) && (run_flags & SPOOL_F_REP_CACHEGRIND);

    if (rep) {
        c.rep_ir = c.count++;
        if (branch)
            c.rep_bc = c.count++;
    }
    if (cache && (in.flags & SPOOL_I_FETCH)) {
        c.i1mr = c.count;
        c.count += spool_ref_counters(SPOOL_REF_FETCH, run_flags);
    }
    if (cache && (in.flags & SPOOL_I_DYN)) {
        c.dyn_r = c.count++;
        c.dyn_w = c.count++;
    }
    if (cache && (in.reads || (in.flags & SPOOL_I_DYN))) {
        c.d1mr = c.count;
        c.count += spool_ref_counters(SPOOL_REF_READ, run_flags);
    }
    if (cache && (in.writes || (in.flags & SPOOL_I_DYN))) {
        c.d1mw = c.count;
        c.count += spool_ref_counters(SPOOL_REF_WRITE, run_flags);
    }
    if (branch && ((in.flags & SPOOL_I_BC) || rep))
        c.bcm = c.count++;
    if (branch && (in.flags & SPOOL_I_BI))
        c.bim = c.count++;
    if (branch && (in.flags & SPOOL_I_RET) && (run_flags & SPOOL_F_PREDICTOR))
        c.brm = c.count++;
    if ((run_flags & SPOOL_F_CORE) && !(in.flags & SPOOL_I_STEPPED)) {
        c.cy = c.count;
        c.count += SPOOL_CY_EVENTS + SPOOL_LATENCIES;
    }
    return c;
}

// spool_block.hash: of the bytes of its instructions, and of their number.
#define SPOOL_HASH_BEGIN UINT32_C(2166136261)

static inline uint32_t spool_hash_bytes(uint32_t h, const uint8_t *p, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        h = (h ^ p[k]) * UINT32_C(16777619);
    return h;
}

static inline uint32_t spool_code_hash(const uint8_t *code, uint32_t bytes, uint32_t insns)
{
    return spool_hash_bytes(SPOOL_HASH_BEGIN, code, bytes) ^ insns;
}

_Static_assert(sizeof(struct spool_insn) == 4, "packed after its block");
_Static_assert(SPOOL_MAPS_MAX <= 1u << 17, "numbered by a block");
_Static_assert(sizeof(struct spool_block) == 24, "packed in the blocks area");
_Static_assert(sizeof(struct spool_edge) == 56, "array in the edges area");
_Static_assert(sizeof(struct spool_saved) == 512, "frames after it are aligned as in a stack");
_Static_assert(sizeof(struct spool_frame) == 24, "read by translated code");
_Static_assert(SPOOL_BLOCKS_OFF + SPOOL_BLOCKS_SIZE == SPOOL_EDGES_OFF, "consecutive");
_Static_assert(SPOOL_EDGES_OFF + SPOOL_EDGES_MAX * sizeof(struct spool_edge) <= SPOOL_THREADS_OFF,
               "consecutive");
_Static_assert(sizeof(struct spool_map) == 64, "array in the maps area");
_Static_assert(sizeof(struct spool_held) == 24, "array in the table");
_Static_assert(sizeof(struct spool_partial) == 24, "array in the partial area");
_Static_assert(sizeof(struct spool_data_object) == 256 && sizeof(struct spool_data_count) == 128 &&
                   sizeof(struct spool_data_flow) == 32 && sizeof(struct spool_data_cell) == 128 &&
                   sizeof(struct spool_data_share) == 64,
               "arrays in the data area");
_Static_assert(SPOOL_THREADS_OFF + SPOOL_THREADS_FIXED * SPOOL_THREAD_SIZE <= SPOOL_DATA_OFF &&
                   SPOOL_DATA_OFF + SPOOL_DATA_SIZE <= SPOOL_STACKS_OFF &&
                   SPOOL_DATA_OBJECTS_MAX * sizeof(struct spool_data_object) <=
                       SPOOL_DATA_COUNTS_OFF &&
                   SPOOL_DATA_COUNTS_OFF +
                           SPOOL_DATA_COUNTS_MAX * sizeof(struct spool_data_count) <=
                       SPOOL_DATA_NAMES_OFF &&
                   SPOOL_DATA_NAMES_OFF + SPOOL_DATA_NAMES_SIZE <= SPOOL_DATA_FLOWS_OFF &&
                   SPOOL_DATA_FLOWS_OFF + SPOOL_DATA_FLOWS_MAX * sizeof(struct spool_data_flow) <=
                       SPOOL_DATA_CELLS_OFF &&
                   SPOOL_DATA_CELLS_OFF + SPOOL_DATA_CELLS_MAX * sizeof(struct spool_data_cell) <=
                       SPOOL_DATA_SHARES_OFF,
               "consecutive");
_Static_assert(sizeof(struct spool_code) == 64, "written as it is");
_Static_assert(sizeof(struct spool_code_insn) == 24, "written as it is");
_Static_assert(sizeof(struct spool_header) <= 0x10000, "header area");

#endif
