// SPDX-License-Identifier: MIT
// A fragment: a translated block or superblock in the code cache, and its metadata. translate/
// hands over a draft, tcache.c makes a fragment of it.
#ifndef QUERN_ENGINE_FRAGMENT_H
#define QUERN_ENGINE_FRAGMENT_H

#include "engine/base/types.h"

#define FRAGMENTS_MAX        (8u << 20)
#define FRAGMENT_INSNS_MAX   128
#define FRAGMENT_BLOCKS_MAX  14
#define FRAGMENT_EXITS_MAX   16 // a block has two or three, a superblock one more for each joint
#define FRAGMENT_RECIPES_MAX 1024
#define STEPPED_BYTES_MAX    15
#define FRAGMENT_RELOCS_MAX  1024

// From host offset `off` on (until the next recipe's), the client is at instruction `insn` and the
// registers in `spilled` are in their slots of the thread block.
struct __attribute__((packed)) recipe { // 6 bytes
    u16 off;
    u8 insn;
    u16 spilled;
    u8 flags; // enum recipe_flag
};

enum recipe_flag {
    RECIPE_FLAGS_SAVED = 1, // arithmetic flags are in flags_save
    RECIPE_BUMPED = 2,      // the block has been counted
    RECIPE_REP = 4,         // at a string instruction: rep_rcx, rep_rsi, rep_rdi are as before it
    RECIPE_RECORD = 8,      // r11 is log while the client's r11 is in its slot
    RECIPE_OPEN = 16,       // the fragment's record has begun at log ...
    RECIPE_CLOSED = 32,     // ... and log points behind it
};

// There are hundreds of thousands of fragments: references to fragments and exits are 32-bit
// numbers, 1 more than an index or a fragment_exit_id(); 0: none.
struct fragment_exit {
    u64 target;
    u32 to    : 31;         // the fragment that it is linked to
    bool side : 1;          // in a superblock: the exit's own code stores its number in the record;
                            // in a self-checking fragment: the last exit, where the check fails
    u32 next_in, before_in; // in the list of exits that lead to `to`
    u16 rel32;              // offset of the displacement that is patched
    u16 stub;               // offset of the exit's stub in the fragment
};

_Static_assert(sizeof(struct fragment_exit) == 24, "most fragments have two");

enum fragment_flag {
    FRAGMENT_DEAD = 1,
    FRAGMENT_STEP = 2,     // dispatcher steps it; no code
    FRAGMENT_WRITABLE = 4, // checks its bytes at its head
    FRAGMENT_ALONE = 8,    // its exits are never linked
    FRAGMENT_REQUEST = 16, // ends in a client request; its exit is never linked either
    FRAGMENT_UNCOUNTED = 32,
    FRAGMENT_WATCHED = 64, // each entry from elsewhere is noted (hotblocks.h), or C is told of it
                           // (objects/alloc.h)
    FRAGMENT_PAST = 128,   // a superblock has replaced it
};

// A block of a superblock after the first; its instructions begin at the superblock's `insn`.
struct fragment_block {
    u64 pc, end;
    u32 block, counter, insn;
    u32 summed; // --calls=yes: blocks that the running totals have when it begins
};

// Versions: fragments of one block's code at different times. Each checks its bytes and jumps to
// the next version when they differ from memory. Only the first is found by its client address.
struct fragment_versions {
    u32 first;        // its number
    u32 last    : 24; // valid in the first only, as are the next two
    u32 n       : 7;
    bool wanted : 1; // one more is to be made: none has the bytes that are in memory
};

_Static_assert(FRAGMENTS_MAX < 1u << 24 && sizeof(struct fragment_versions) == 8,
               "it takes the place of a pointer");

struct fragment {
    u64 pc, end; // client range; of a superblock, that of its first block, as is `block`
    u64 hpc;     // host address
    u32 index;
    u32 block;   // spool block index
    u32 counter; // spool counter of its executions
    u32 own;     // of a superblock: the counter of its first block alone
    u32 log;     // id at the head of its records (replay/recordbuf.h), 0: it makes none
    u32 hash_next;
    u32 in; // first exit that leads to this one
    u16 size, nrecipes, nrelocs;
    u16 ibl_jmp[2]; // offsets of the jumps at the end of IBLs, 0: none
    u16 sc_jmp;     // offset of the displacement of the jump to the system call gate, 0 if none
    u8 flags;       // enum fragment_flag
    u8 nexits, ninsns, nmore, npages;
    u8 seen;   // how many entries were noted (hotblocks.h)
    u16 watch; // offset of the second entry, that of FRAGMENT_WATCHED; 0: it has none
    union {
        struct fragment_block *more;
        struct fragment_versions versions; // fragment_has_versions()
    };
    struct fragment_exit *exit; // followed by what the functions below return
};

_Static_assert(sizeof(struct fragment) == 88, "of which there are many");

// The code is already in place, at the region's free end; everything else is copied.
struct draft {
    u64 pc, end;
    u64 hpc;
    u32 size;
    u32 flags; // enum fragment_flag
    u32 block, counter, own, log;
    u32 nrecipes, nrelocs, nexits, ninsns, nmore;
    u32 ibl_jmp[2], sc_jmp;
    u16 watch;
    bool again; // this address had code with these bytes before
    struct fragment_block more[FRAGMENT_BLOCKS_MAX - 1];
    struct recipe recipe[FRAGMENT_RECIPES_MAX];
    u16 reloc[FRAGMENT_RELOCS_MAX]; // offsets of displacements that lead out of the fragment
    u8 len[FRAGMENT_INSNS_MAX];
    u8 stepped[1 + STEPPED_BYTES_MAX];
    struct fragment_exit exit[FRAGMENT_EXITS_MAX]; // rel32, stub, side and target
};

// The host address that links and tables use.
static inline u64 fragment_entry(const struct fragment *f)
{
    return f->hpc + (f->flags & FRAGMENT_WATCHED ? f->watch : 0);
}

#define WATCH_JUMP 12 // offset of the jump to the stub from f->watch

// For each page of client code that it is made from: the next fragment of that page, a number as
// above.
static inline u32 *fragment_next(const struct fragment *f)
{
    return (u32 *)(f->exit + f->nexits);
}

static inline const struct recipe *fragment_recipes(const struct fragment *f)
{
    return (const struct recipe *)(fragment_next(f) + f->npages);
}

// Offsets of displacements that lead out of it.
static inline const u16 *fragment_relocs(const struct fragment *f)
{
    return (const u16 *)(fragment_recipes(f) + f->nrecipes);
}

// Lengths of its client instructions.
static inline const u8 *fragment_lens(const struct fragment *f)
{
    return (const u8 *)(fragment_relocs(f) + f->nrelocs);
}

// Of a stepped instruction: its length, then its bytes.
static inline const u8 *fragment_stepped(const struct fragment *f)
{
    return fragment_lens(f) + f->ninsns;
}

static inline bool fragment_has_versions(const struct fragment *f)
{
    return (f->flags & (FRAGMENT_WRITABLE | FRAGMENT_STEP)) == FRAGMENT_WRITABLE;
}

// The exit that it takes when its bytes differ from memory.
static inline struct fragment_exit *fragment_changed(const struct fragment *f)
{
    return &f->exit[f->nexits - 1];
}

// What an exit's stub passes to the dispatcher: the fragment's index and the exit's.
static inline u32 fragment_exit_id(u32 index, u32 k)
{
    return index * FRAGMENT_EXITS_MAX + k;
}

#endif
