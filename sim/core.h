// SPDX-License-Identifier: MIT
//
// The time of instructions on a core that executes out of order, in one pass: each instruction, in
// program order, gets the cycles of its steps from those of the instructions before it. No cycle is
// simulated as such. The steps: the front end (lines of code, decoders, cached micro-ops, taken
// branches), allocation (width, reorder buffer, scheduler, queues of loads and stores), a port when
// the operands are there, data when they arrive from the level that has them, retirement in order.
//
// Cycles belong to the instruction by which retirement advances. The micro-ops that it retires take
// 1/width cycle each: useful work. What retirement waits longer has a cause: first what it would
// not have waited if the front end, or the commit of stores, had let the instruction be allocated
// earlier; then, from its completion backwards, its execution, its data, its translation.
//
// Pure arithmetic, as cache.h. The machine's numbers are in share/core.h.
#ifndef QUERN_SIM_CORE_H
#define QUERN_SIM_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/core.h"
#include "sim/units.h"

enum core_cause {
    CORE_BASE,  // useful work, at the full width
    CORE_FRONT, // fetch and decoding
    CORE_BAD,   // mispredictions
    CORE_MEM,   // data of L2, LL and memory
    CORE_TLB,   // translations that L1's TLBs do not have
    CORE_CORE,  // units, latencies and dependencies
    CORE_CAUSES,
};

// Registers, for dependencies: 0 to 15 are the general ones, by hardware number.
enum core_register {
    CORE_FLAGS = 16,
    CORE_VECTOR = 32, // 32
    CORE_MASKS = 64,  // 8
    CORE_X87 = 72,    // the stack as a whole
    CORE_MMX = 73,    // 7; the last two share one
    CORE_REGISTERS = 80,
};

// The first ones say how many micro-ops an instruction of a class has.
enum core_flag {
    CORE_F_LOAD = 1u << 0,
    CORE_F_STORE = 1u << 1,
    CORE_F_MOVE = 1u << 2,     // of a whole register: may be eliminated
    CORE_F_ZERO = 1u << 3,     // its result does not depend on its operands; needs no unit
    CORE_F_LOCKED = 1u << 4,   // waits for all before it
    CORE_F_CONSTANT = 1u << 5, // adds a small constant to a register of 64 bits
    CORE_F_COND = 1u << 6,     // a conditional branch
    CORE_F_BRANCH = 1u << 7,   // any branch
    CORE_F_RETURN = 1u << 8,   // its target is known without a table
    CORE_F_SERIAL = 1u << 9,   // waits for all before it, and all after it for it
    CORE_F_256 = 1u << 10,     // vectors of 256 bits
    CORE_F_512 = 1u << 11,
    CORE_F_INDIRECT = 1u << 12, // a jump or call by register or memory
    CORE_F_VECTOR = 1u << 13,   // loads to vectors, stores of them
    CORE_F_SCALED = 1u << 14,   // loads by an index that is scaled, or beside a displacement
    CORE_F_SIGNED = 1u << 15,   // loads that extend the sign
};
#define CORE_SHAPES 64u // of the first six

enum { CORE_SOURCES = 6, CORE_RESULTS = 4, CORE_ADDRESSES = 3 };

// What is known of an instruction before it is executed.
struct core_op {
    uint16_t flags; // enum core_flag
    // Of a conditional branch the bit of its condition, by its code; of others those of branches
    // with which it fuses: the two are one micro-op.
    uint16_t fuses;
    uint8_t class;     // enum core_class, of what it computes
    uint8_t bytes;     // of code
    uint8_t constants; // displacements and immediate operands in these
    bool repeats;      // a string instruction with rep
    uint8_t sources, results, addresses;
    // Of its memory operand: base register plus one; 0: none, or not known. push and pop: rsp.
    uint8_t place, index; // index register plus one, and 32 times its scale's logarithm; 0: none
    int32_t offset;       // from these
    uint8_t source[CORE_SOURCES], result[CORE_RESULTS];
    uint8_t address[CORE_ADDRESSES]; // registers of addresses
};

enum core_level { CORE_AT_L1, CORE_AT_L2, CORE_AT_LL, CORE_AT_MEMORY };
enum core_translation { CORE_TLB_HIT, CORE_TLB_SECOND, CORE_TLB_WALK };

struct core_ref {
    uint64_t addr;
    uint16_t size;
    uint8_t level, translation; // where it was found
    bool reads, writes;
};

// An execution.
struct core_exec {
    const struct core_op *op;
    uint64_t pc;
    const struct core_ref *ref;
    uint32_t refs;
    bool fetches; // a line of code, which was found:
    uint8_t level, translation;
    bool taken, mispredicted;
};

enum {
    CORE_LINE = 64,
    CORE_QUEUE = 256, // entries of the rings of loads, stores and the front end
    CORE_ROB = 1024,  // of the reorder buffer
    CORE_AHEAD = 64,  // of the lines of code
    CORE_SETS = 64,   // of L1, by the place in a page
    CORE_LEARNT = 64,
    CORE_CHOICES = 16,
    CORE_LINES = 1024, // lines on their way, and stores that have not been committed, by address
};

#define CORE_CHOICE_PART (1u << 28) // of a number of 32 bits: CORE_CHOICES of these

#define FROM_BEFORE 8u
struct core_store {
    uint64_t addr, data, committed; // in words of 8 bytes; cycles
    uint64_t number, insn;          // of stores, of instructions that were before it
    uint32_t pc;
    int32_t offset;
    uint16_t end;               // behind its last byte, from the word's first one on
    uint8_t place, index, from; // its first byte in the word; FROM_BEFORE: in a word before
};

// A load, by its address, whose data have been those of a store with another expression.
struct core_learnt {
    uint32_t load, store, used; // when it was used last
    uint32_t sure;              // how sure this is
};

struct core {
    const struct core_machine *m;
    uint16_t ports[CORE_CLASSES][CORE_GROUPS]; // numbered by demand (core_init)
    uint16_t wide, micro_ops[CORE_CLASSES];
    uint16_t some[CORE_CLASSES][CORE_CHOICES]; // port_choice: sets of the ports of a class
    uint32_t choice;                           // the number by which the latest one was drawn
    uint16_t shape[CORE_CLASSES][CORE_SHAPES]; // shape_of()
    bool single[CORE_CLASSES];                 // of one micro-op

    // The front end: the cycle, and what it has delivered in it.
    uint64_t front, resteered;
    uint64_t stopped; // no line of code that was fetched later was requested before this cycle
    uint64_t line, fetched; // of the latest instruction's first byte, of its last
    uint32_t front_used, front_bytes, blocks;
    uint64_t block_cycle; // in which there were so many
    // Of an indirect branch that was the last instruction: its address, and its flag; 0: it was
    // none, or its target is not waited for. Targets, their low halves, by a hash of the address.
    uint64_t from;
    uint32_t came, last_target[CORE_LINES];
    bool strayed; // the latest return or indirect branch went to another place than before
    uint32_t place[256], way; // branch and target, with the last three targets: way, ten bits each
    bool decoding, gap;       // gap: the front end has waited for a target, and goes on now
    // The cache of micro-ops: what its latest entry has; entries of this window, and of this block,
    // from the target at `block` on; windows and entries in window_cycle.
    uint32_t entry_used, entry_constants, window_entries, block_entries, windows, entries;
    uint64_t window_cycle, block;
    bool loops, crossed; // the block before was the same; it has crossed a line's end at no cost
    uint64_t asked[CORE_AHEAD], lines;
    uint64_t again, again_there; // lines since the latest misprediction; when the first came
    uint32_t cached[CORE_ROB];
    uint32_t target[16384], near[4096];

    // Allocation.
    uint64_t alloc, barrier;
    uint32_t alloc_used;
    enum core_cause waited; // for what, the last time
    // when the last ones are left; stores: doubled, plus one if it waited for its line
    uint64_t rob[CORE_ROB], loads[CORE_QUEUE], stores[CORE_QUEUE], queue[CORE_QUEUE];
    uint64_t rob_next, loads_next, stores_next, queue_next;
    uint64_t scheduled; // the cycle up to which `leave` has been taken off
    uint32_t waiting;
    uint16_t leave[UNITS_CYCLES];

    // Execution.
    uint64_t ready[CORE_REGISTERS];
    // As if the front end had not been late: when registers are there; the cycle of allocation, and
    // what it has allocated in it; what has been retired, in parts, and when those left that are in
    // rob. early_charged: of the parts that are retired later, those that have their cause.
    uint64_t early[CORE_REGISTERS], early_alloc, early_retired, early_charged, early_rob[CORE_ROB];
    uint64_t code_wait; // cycles that the front end has waited for code since the last allocation
    uint32_t early_used;
    uint64_t added; // of vectors, a bit each: by a floating-point addition
    struct units_ports port;
    uint64_t unit[CORE_PORTS], walker[8];

    // Memory.
    struct units_path l2, code, ll, memory;
    struct units_buffers l1_buffers, l2_buffers;
    struct {
        uint64_t line, ready;
        bool clean; // of memory, and not written so far
    } on_way[CORE_LINES];
    // What loads are renamed to: learnt[], found by learnt_at[], its place plus one, by a hash.
    uint64_t insns, wrote[CORE_FLAGS]; // instructions so far; the last to write a register
    struct core_learnt learnt[CORE_LEARNT];
    uint8_t learnt_at[CORE_LINES];
    uint32_t learnt_used;
    uint64_t set[CORE_SETS]; // of L1: when it takes another line
    struct core_store store[CORE_LINES];
    uint64_t committed, last;       // cycles: of the latest commit, of the latest reference
    uint32_t commits, commit_lines; // in the latest cycle: stores, lines that they are to
    uint64_t commit_line;           // of the latest store
    bool committed_late;            // it waited for its line

    uint64_t retired;       // whole cycles
    uint32_t retired_parts; // and 1/width cycles
    uint64_t end;           // of the latest instruction's code
    uint16_t fuses;         // its
    uint32_t fuses_port;    // which it has taken; 0: none
    uint64_t fuses_at;      // in this cycle
    bool fuses_added;       // the renamer has added its constant

    // core_cycles()
    int64_t owed[CORE_CAUSES];
    uint32_t due[CORE_CAUSES], random;
    bool due_now; // one that is not of useful work: the next instruction gets a cycle of it
};

// A core that has executed nothing, in zeroed memory. Keeps m.
void core_init(struct core *c, const struct core_machine *m);

// Executes an instruction. parts: by how many 1/width cycles retirement advances, by cause.
void core_run(struct core *c, const struct core_exec *e, uint64_t parts[CORE_CAUSES]);

// A reference to addr comes soon: begins to load what the core will look up into the host's L1.
static inline void core_expect_ref(const struct core *c, uint64_t addr)
{
    __builtin_prefetch(&c->store[addr / 8 % CORE_LINES], 1);
    __builtin_prefetch(&c->on_way[addr / CORE_LINE % CORE_LINES]);
}

// Whole cycles of the parts, by cause. What is left is carried: the sums differ by less than one
// cycle. The instruction that gets a cycle is chosen at random among those that have parts of it,
// always alike: else one of a loop would get all.
void core_cycles(struct core *c, const uint64_t parts[CORE_CAUSES], uint64_t cycles[CORE_CAUSES]);

// What the front end keeps of code that it does not execute here: the line of code at addr has been
// fetched; the branch whose address has the low half pc was taken. Not for lines and branches that
// core_run() is told of.
void core_learn_line(struct core *c, uint64_t addr);
void core_learn_branch(struct core *c, uint32_t pc);

// The hierarchy has begun to load a line ahead, which was found in this level.
void core_ahead(struct core *c, uint64_t addr, enum core_level level);

#endif
