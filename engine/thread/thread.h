// SPDX-License-Identifier: MIT
// The thread block: what %gs points to, in every client thread, from its first instruction to its
// last. Translated code, the stubs (stubs.S) and C all work on it, so the offsets the assembly uses
// are macros here and asserted below.
//
// While translated code runs, client registers live in the processor, except those that the
// fragment's recipe says are spilled to regs[r]. While the engine runs, all of them are in regs[].
#ifndef QUERN_ENGINE_THREAD_H
#define QUERN_ENGINE_THREAD_H

#include "engine/base/layout.h"
#include "engine/x86/regs.h"

// Offsets in a thread area, from its %gs base.
#define TA_OWN        0xc00  // struct thread_own
#define TA_SLOW_TABLE 0x8000 // the gate's copy of syscalls.c's slow_table
// vector index and mask of a gather, for its helper
#define TA_VEC 0x8400
// replay/replayer.c: the job that a thread has handed over
#define TA_JOB         0x8c00
#define TA_JOB_SIZE    0x280
#define TA_LL_QUEUE    0x8e80  // and its batch of LL references (count/ll.c)
#define TA_AUTOTUNE    0x8f00  // replay/autotune.h
#define TA_VECTOR_SAVE 0x9000  // xsave64 of what vector.S changes
#define TA_I1          0x10000 // I1: u32 line ids, set by set, most recently used first
#define TA_I1_SIZE     0x50000 // a larger I1 is simulated out of line
#define TA_BRANCH      0x60000 // u8 counters[16384], then u64 btac[512] (negated targets)
#define TA_BTAC        0x64000
// 65536 entries of {-gpc, hpc}, indexed by the low 16 bits of gpc
#define TA_IBL         0x80000
#define TA_IBL_ENTRIES 65536
// grows down from TA_ENGINE_STACK_TOP, a guard page at the bottom
#define TA_ENGINE_STACK     0x200000
#define TA_ENGINE_STACK_TOP 0x240000
#define TA_SIGNAL_STACK     0x240000 // alternate signal stack, a guard page at the bottom
#define TA_SIGNAL_STACK_TOP 0x280000
// Tables of generated routines (replay/routine.c). The distance from a tag to its stamp is not a
// multiple of 4 KiB: a load of one would wait for the store of the other.
#define TA_REPLAY     0x4f0000
#define TA_LL         0x4f0000 // batched LL references (count/ll.c), up to a multiple of 64 KiB
#define TA_I1_TAGS    0x500000 // u32 ids of lines
#define TA_I1_STAMPS  0x540840 // u64
#define TA_I1_NEXT    0x600000 // u64, by set: victim of the next miss, and its stamp
#define TA_I1_HINTS   0x800000 // u16 by id: the way that holds the line, plus one; 0: not cached
#define TA_I1_IDS     0x400000 // as many
#define TA_REPLAY_END 0x1000000
// D1: u64 tags, set by set, most recently used first, at a stride of 1, 2, 4 or 8 lines.
#define TA_D1            0x1000000
#define TA_D1_SIZE       0x400000           // a larger D1 is simulated out of line
#define TA_D1_TAGS       TA_D1              // u64 addresses of lines
#define TA_D1_STAMPS     (TA_D1 + 0x80840)  // u64
#define TA_D1_HINTS      (TA_D1 + 0x110000) // u16 ways, by number of the line
#define TA_D1_NEXT       (TA_D1 + 0x120000) // as of I1
#define TA_D1_ORDER      (TA_D1 + 0x130000) // by set, TA_D1_ORDER_SIZE bytes: see routine.S
#define TA_D1_ORDERED    (TA_D1 + 0x1f0000) // 16 stamps, while ways are sorted
#define TA_D1_LAST       (TA_D1 + 0x1f1000) // u32, first way of the set of the last miss
#define TA_D1_ORDER_SIZE 32
// With --data=yes and stamps, misses that wait for their objects (objects/many.h).
#define TA_MANY     0x1200000
#define TA_MANY_END 0x1220000 // struct many_queue
// In the area of a second state of caches (count/ahead.h), which has no such misses: struct ahead.
// Its record buffers have the LL references that it has found.
#define TA_AHEAD     TA_MANY
#define TA_AHEAD_END 0x1220000
// LL references that a replayer process finds (count/ll.c): pieces of 64 KiB, used in rotation,
// each aligned to its size.
#define TA_LL_PIECES     0x1300000
#define TA_LL_PIECES_END 0x1400000
// Four record buffers, used in rotation. Behind each is a guard: a page, or everything up to the
// next buffer (threads_has_guards). With a replayer process, the lines of a buffer are in that
// process's caches when the buffer is used again: with two buffers, writing took twice as long
// (docs/design/030).
#define TA_RECORDS        0x1400000
#define TA_RECORD_BUFFERS 4
#define TA_RECORD_STRIDE  0x210000
#define TA_RECORD_SIZE    0x200000
// Or, where nothing is recorded and blocks are watched, the blocks that were entered: u32 each. The
// buffer ends where the low 16 bits of the address are 0.
#define TA_HOT_END     (TA_RECORDS + 0x10000)
#define TA_RECORDS_END (TA_RECORDS + TA_RECORD_BUFFERS * TA_RECORD_STRIDE)
// TA_COUNTERS follows (layout.h)

// Offsets in struct thread for assembly and for the emitter.
#define TH_REGS       0x00
#define TH_RFLAGS     0x80
#define TH_PC         0x88
#define TH_SELF       0x90
#define TH_ENGINE_SP  0x98
#define TH_STATE      0xa0
#define TH_STOP       0xa8
#define TH_HOST       0xb0
#define TH_EXIT_ID    0xb8
#define TH_IBL_TARGET 0xc0
#define TH_IBL_HOST   0xc8
#define TH_FLAGS_SAVE 0xd0
#define TH_SC_NEXT    0xd8
#define TH_SC_CONT    0xe0
#define TH_SC_BLOCK   0xe8
#define TH_H_ADDR     0xf0
#define TH_H_DESC     0xf8
#define TH_H_SAVE     0x100 // 10 words
#define TH_CLIENT_GS  0x150
#define TH_REP_RCX    0x158
#define TH_REP_RSI    0x160
#define TH_REP_RDI    0x168
#define TH_HIST       0x170
#define TH_CLIENT_FS  0x178
#define TH_CLIENT_SP  0x180
#define TH_RECORD_AT  0x188
#define TH_CALLS_SP   0x190
#define TH_WATCH      0x198
#define TH_BODIES     0x1a0
#define TH_OBJECTS_AT 0x1a8
#define TH_LINEUSE    0x1b0
#define TH_IS_AHEAD   0x1b8
#define TH_CLOCK      0x1c0
#define TH_LL         0x1c8
#define TH_MISSES     0x1d0
#define TH_REPLAY_SP  0x1d8
#define TH_RECORD     0x1e0
#define TH_NUMBER     0x380
#define TH_CALLS_BASE 0x200
#define TH_CALLS_LATE 0x208
#define TH_CLIENT_SEL 0x210
#define TH_CORE_LEFT  0x218
#define TH_LATE_TOP   0x220
#define TH_LATE_LAST  0x228
#define TH_LATE_WAS   0x230
#define TH_CORE_PHASE 0x238

// The path of a system call (TA_SLOW_TABLE): straight to the kernel, to C, or to the kernel unless
// the condition beside it is true. "Watched": a name that the engine may have to handle.
#define GATE_FAST    0
#define GATE_SLOW    1
#define GATE_FD      2  // rdi is a descriptor of the engine
#define GATE_FDS     3  // one of rdi, rsi and rdx is
#define GATE_NAME    4  // the name at rdi is watched
#define GATE_OPEN    5  // or the file is opened for writing
#define GATE_AT      6  // the name at rsi is watched, or the descriptor in rdi is the engine's
#define GATE_OPENAT  7  // or the file is opened for writing
#define GATE_MESSAGE 8  // the message at rsi has control data
#define GATE_POLL    9  // more than one descriptor, one of the engine's, or a timeout
#define GATE_FCNTL   10 // fcntl copies a descriptor
#define GATE_FUTEX   11 // futex waits with a timeout

// Arguments that the gate tests (sys.h; files.c and syscalls.c assert them): the open flags that
// make a file writable, the fcntl commands that copy a descriptor, the futex wait.
#define GATE_WRITES        0x203
#define GATE_DUPFD         0
#define GATE_DUPFD_CLOEXEC 1030
#define GATE_FUTEX_COMMAND 0x7f
#define GATE_FUTEX_WAIT    0

// Thread states (TH_STATE). The order of the transitions is in engine/README.md.
#define TS_ENGINE     0 // runs engine C code
#define TS_RUNNING    1 // runs translated code
#define TS_IN_SYSCALL 2 // in the gate: counts as parked, checks stop before it continues
#define TS_HELPER     3 // runs a helper (a simulator's slow path) that returns into a fragment
#define TS_STEP       4 // single-steps one client instruction in place
#define TS_PARKED     5
#define TS_DEAD       6

#ifndef __ASSEMBLER__

#    include "engine/base/types.h"

struct sim_state;    // caches.c
struct levels;       // count/levels.c
struct cores;        // count/cores.c
struct curve;        // count/curve.c
struct alloc_call;   // objects/alloc.c
struct record_block; // record.h
struct thread_own;   // threads.h
struct vfork_save;   // fork.c
struct signal_state; // signal.h: virtual alternate stack, pending signal and so on

struct thread {
    u64 regs[16];
    u64 rflags;
    // client address at which the thread continues; valid whenever the thread is in the engine
    u64 pc;
    struct thread *self;
    u64 engine_sp; // where engine C code starts; 16-aligned
    u32 state;     // TS_*
    u32 pad0;
    // STOP_*: what to do before client code continues (any thread may set it)
    u64 stop;
    u64 host;    // where stubs_enter jumps
    u64 exit_id; // set by a fragment's exit: which exit
    u64 ibl_target;
    u64 ibl_host;
    u64 flags_save; // flags in lahf/seto form while a fragment uses them
    u64 sc_next;    // client address behind the syscall instruction
    u64 sc_cont;    // host address where the gate continues
    u64 sc_block;   // spool block that ends in the call, plus one; 0: not counted
    u64 h_addr;     // helper call: reference address
    u32 h_desc_low,
        h_desc_high; // and descriptor, in halves as translated code stores it (forwarding)
    u64 h_save[10];
    u64 client_gs_base;
    u64 rep_rcx, rep_rsi, rep_rdi; // registers before a string instruction
    u64 hist;                      // branch history, times 128
    u64 client_fs_base;            // valid only where the processor or kernel lacks rdfsbase
    u64 client_sp;                 // while a helper is called: the client's stack pointer
    u64 record_at;                 // where the next record goes; in translated code r11 holds it
    u64 calls_sp;                  // the client's stack pointer before it was set
    // Watched fragments (codecache/hotblocks.h): 8 times the number of the one that is entered, and
    // the table of their host addresses. With --data=yes the high half is the point of an allocator
    // that is reached (objects/alloc.h).
    u64 watch;
    const u64 *bodies;
    u64 objects_at; // time of the maps of data (objects/objtable.h) of the next replayed record
    struct lineuse *lineuse; // objects/lineuse.c; NULL: no lines are followed
    u64 is_ahead;            // count/ahead.h: the block of a second state
    // Replays write these, perhaps on another processor: they have a host cache line of their own.
    u64 clock;     // of generated replays
    u64 ll;        // where the next batched LL reference goes
    u64 *misses;   // counters of the simulation: `counters`, or those of a replayer
    u64 replay_sp; // the client's stack pointer where the next record begins
    u64 record;    // the next record
    // Records that are being replayed, and the stack pointer before them; replay_end 0: none are.
    u64 replay_from, replay_from_sp, replay_end;
    // Where the frames of open calls begin, and those that replays maintain (callgraph/calls.h).
    u64 calls_base, calls_late;
    u64 client_gs; // selector.h: what the client has loaded into %gs
    s64 core_left; // count/cores.h: instructions until its phase ends, less CORES_MARGIN
    // Of replays that note totals late (callgraph/frames.h), addresses of the client's frames: the
    // last one that was entered, the last one that has noted totals, and that before the last call
    // ended. All equal otherwise.
    u64 late_top, late_last, late_was;

    // From here on C only.
    u32 core_phase;   // enum cores_phase
    u64 replay_pulse; // grows while a record of a string instruction takes long to replay
    s32 tid;
    u32 slot;      // counter slot in the spool and index of the thread area
    u64 *counters; // = (u64 *)((u8 *)self + TA_COUNTERS)
    struct sim_state *sim;
    struct levels *levels;        // count/levels.c
    struct cores *cores;          // count/cores.c
    struct curve *curve;          // count/curve.c
    struct signal_state *sig;     // signal.c
    struct thread *next, *before; // list of all threads, threads.c
    u64 escape_buffer;            // hpc of this thread's private fragment copy, tcache.c
    u64 escape_fragment;          // fragment that was copied there (engine pointer), 0 if none
    s64 escape_delta;
    u64 leaving;              // a helper is making the copy now
    u64 step_counter;         // spool counter of the instruction that is single-stepped
    u32 step_block;           // and its block
    u64 calls_end;            // callgraph/calls.c: end of the client's current stack
    u32 calls_context;        // callgraph/contexts.c: the context that counts are added to
    u64 sc_restart;           // sc_block of a call that may be restarted; 0: none
    u64 sc_post;              // number of the slow system call whose post handler is due, plus one
    u64 sc_args[7];           // its arguments
    struct thread_own *own;   // threads.c
    struct vfork_save *vfork; // fork.c
    u64 recordbuf_begin;      // recordbuf.c: the buffer that is being filled
    u32 recordbuf_size;       // its bytes
    u32 recordbuf_filled;     // buffers that have been full, at most RECORDBUF_GROWS
    const struct record_block *record_tail; // replay.c: its branch's outcome is not known yet
    u64 partial_insns; // executed instructions of blocks that were left in the middle
    u64 vtsc_base;     // vtsc.c: its time less its counters
    u64 random;        // vtsc.c: state of its sequence
    u64 objects_begin[TA_RECORD_BUFFERS]; // objects_at of each record buffer's begin
    struct alloc_call *alloc;             // objects/alloc.c: of an allocator, not returned yet
    u32 objects_number;                   // of this thread among all that ever were, from 1 on
    u32 sharing_seen;                     // count/caches.c: lines that are watched, as of when
    // count/ahead.h: the second state of this thread's caches; of that state, the thread. Whether
    // it has records that are not joined; buffers until it is used again.
    struct thread *ahead, *ahead_of;
    u32 ahead_full, ahead_rest;
    // recordbuf.c: the client's stack pointer where the buffer that is being filled begins.
    u64 recordbuf_sp;
    u64 recordbuf_top; // with --calls=yes the last frame there
    bool recordbuf_sp_known;
    u64 objects_buffers; // record buffers that have begun
};

_Static_assert(offsetof(struct thread, rflags) == TH_RFLAGS, "asm offset");
_Static_assert(offsetof(struct thread, pc) == TH_PC, "asm offset");
_Static_assert(offsetof(struct thread, self) == TH_SELF, "asm offset");
_Static_assert(offsetof(struct thread, engine_sp) == TH_ENGINE_SP, "asm offset");
_Static_assert(offsetof(struct thread, state) == TH_STATE, "asm offset");
_Static_assert(offsetof(struct thread, stop) == TH_STOP, "asm offset");
_Static_assert(offsetof(struct thread, host) == TH_HOST, "asm offset");
_Static_assert(offsetof(struct thread, exit_id) == TH_EXIT_ID, "asm offset");
_Static_assert(offsetof(struct thread, ibl_target) == TH_IBL_TARGET, "asm offset");
_Static_assert(offsetof(struct thread, ibl_host) == TH_IBL_HOST, "asm offset");
_Static_assert(offsetof(struct thread, flags_save) == TH_FLAGS_SAVE, "asm offset");
_Static_assert(offsetof(struct thread, sc_next) == TH_SC_NEXT, "asm offset");
_Static_assert(offsetof(struct thread, sc_cont) == TH_SC_CONT, "asm offset");
_Static_assert(offsetof(struct thread, sc_block) == TH_SC_BLOCK, "asm offset");
_Static_assert(offsetof(struct thread, h_addr) == TH_H_ADDR, "asm offset");
_Static_assert(offsetof(struct thread, h_desc_low) == TH_H_DESC, "asm offset");
_Static_assert(offsetof(struct thread, h_save) == TH_H_SAVE, "asm offset");
_Static_assert(offsetof(struct thread, client_gs_base) == TH_CLIENT_GS, "asm offset");
_Static_assert(offsetof(struct thread, rep_rcx) == TH_REP_RCX, "asm offset");
_Static_assert(offsetof(struct thread, rep_rdi) == TH_REP_RDI, "asm offset");
_Static_assert(offsetof(struct thread, hist) == TH_HIST, "asm offset");
_Static_assert(offsetof(struct thread, client_fs_base) == TH_CLIENT_FS, "asm offset");
_Static_assert(offsetof(struct thread, client_sp) == TH_CLIENT_SP, "asm offset");
_Static_assert(offsetof(struct thread, record_at) == TH_RECORD_AT, "asm offset");
_Static_assert(offsetof(struct thread, watch) == TH_WATCH, "asm offset");
_Static_assert(offsetof(struct thread, bodies) == TH_BODIES, "asm offset");
_Static_assert(offsetof(struct thread, objects_at) == TH_OBJECTS_AT, "asm offset");
_Static_assert(offsetof(struct thread, lineuse) == TH_LINEUSE, "asm offset");
_Static_assert(offsetof(struct thread, is_ahead) == TH_IS_AHEAD, "asm offset");
_Static_assert(offsetof(struct thread, objects_number) == TH_NUMBER, "asm offset");
_Static_assert(offsetof(struct thread, clock) == TH_CLOCK, "asm offset");
_Static_assert(offsetof(struct thread, ll) == TH_LL, "asm offset");
_Static_assert(offsetof(struct thread, misses) == TH_MISSES, "asm offset");
_Static_assert(offsetof(struct thread, replay_sp) == TH_REPLAY_SP, "asm offset");
_Static_assert(offsetof(struct thread, record) == TH_RECORD, "asm offset");
_Static_assert(offsetof(struct thread, calls_sp) == TH_CALLS_SP, "asm offset");
_Static_assert(offsetof(struct thread, calls_base) == TH_CALLS_BASE, "asm offset");
_Static_assert(offsetof(struct thread, calls_late) == TH_CALLS_LATE, "asm offset");
_Static_assert(offsetof(struct thread, client_gs) == TH_CLIENT_SEL, "asm offset");
_Static_assert(offsetof(struct thread, core_left) == TH_CORE_LEFT, "asm offset");
_Static_assert(offsetof(struct thread, late_top) == TH_LATE_TOP, "asm offset");
_Static_assert(offsetof(struct thread, late_last) == TH_LATE_LAST, "asm offset");
_Static_assert(offsetof(struct thread, late_was) == TH_LATE_WAS, "asm offset");
_Static_assert(offsetof(struct thread, core_phase) == TH_CORE_PHASE, "asm offset");

// The client's stack pointer, and argument i (0 to 5) of the system call that its registers hold.
// Layers that need no other register do not depend on the architecture: see engine/README.md.
static inline u64 thread_sp(const struct thread *t)
{
    return t->regs[R_RSP];
}

// Argument i (0 to 5) of the function that is entered; what the last one has returned.
static inline u64 thread_call_arg(const struct thread *t, u32 i)
{
    static const u8 reg[6] = { R_RDI, R_RSI, R_RDX, R_RCX, 8, 9 };

    return t->regs[reg[i]];
}

static inline u64 thread_call_result(const struct thread *t)
{
    return t->regs[R_RAX];
}

static inline void thread_set_sp(struct thread *t, u64 sp)
{
    t->regs[R_RSP] = sp;
}

static inline u64 thread_arg(const struct thread *t, u32 i)
{
    static const u8 reg[6] = { R_RDI, R_RSI, R_RDX, 10, 8, 9 };

    return t->regs[reg[i]];
}

#endif
#endif
