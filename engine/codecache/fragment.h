// SPDX-License-Identifier: MIT
// A fragment: one translated block in the code cache, and what is known about it. A draft is what
// translate/ hands over, a fragment what tcache.c keeps.
#ifndef QUERN_ENGINE_FRAGMENT_H
#define QUERN_ENGINE_FRAGMENT_H

#include "engine/base/types.h"

#define FRAGMENT_INSNS_MAX   64
#define FRAGMENT_RECIPES_MAX 1024
#define FRAGMENT_RELOCS_MAX  1024

// From host offset `off` on (until the next recipe's), the client is at instruction `insn` and the
// registers in `spilled` are in their slots of the thread block.
struct recipe {
    u16 off, insn, spilled, flags; // enum recipe_flag
};

enum recipe_flag {
    RECIPE_FLAGS_SAVED = 1, // arithmetic flags are in flags_save
    RECIPE_BUMPED = 2,      // the block has been counted
    RECIPE_REP = 4,         // at a string instruction: rep_rcx, rep_rsi, rep_rdi are as before it
    RECIPE_LOG = 8,         // r11 is log while its client value is in its slot
    RECIPE_OPEN = 16,       // the fragment's record has begun at log ...
    RECIPE_CLOSED = 32,     // ... and log is behind it
};

struct fragment;

struct fragment_exit {
    u16 rel32; // offset of the displacement that is patched
    u16 stub;  // offset of the exit's stub in the fragment
    u32 which; // its index, once linked
    u64 target;
    struct fragment *to; // linked to
    // The list of exits that lead to `to`: the next, and what points to this one.
    struct fragment_exit *next_in, **at_in;
};

enum fragment_flag {
    FRAGMENT_DEAD = 1,
    FRAGMENT_STEP = 2,     // dispatcher steps it; no code
    FRAGMENT_WRITABLE = 4, // checks itself at its head
    FRAGMENT_ALONE = 8,    // its exits are never linked
    FRAGMENT_REQUEST = 16, // ends in a client request, and nor is its exit
    FRAGMENT_UNCOUNTED = 32,
};

struct fragment {
    u64 pc, end; // client range
    u64 hpc;     // host address
    u32 size, index;
    u32 flags;
    u32 block;   // spool block index
    u32 counter; // spool counter of its executions
    u32 log;     // what its records begin with (replay/log.h), 0: it makes none
    u32 nrecipes, nrelocs, nexits;
    u32 ibl_jmp; // offset of the final indirect jump, 0 if none
    u32 sc_jmp;  // offset of the displacement of the jump to the system call gate, 0 if none
    u32 ninsns;
    struct recipe *recipes;
    u16 *relocs;
    u8 *lens; // instruction lengths
    struct fragment *hash_next;
    struct fragment *page_next[2]; // lists by client page: of pc and of end - 1
    struct fragment_exit *in;      // first exit that leads to this one
    struct fragment_exit exit[2];
};

// The code lies where it stays, at the region's free end; everything else is copied.
struct draft {
    u64 pc, end;
    u64 hpc;
    u32 size;
    u32 flags; // enum fragment_flag
    u32 block, counter, log;
    u32 nrecipes, nrelocs, nexits, ninsns;
    u32 ibl_jmp, sc_jmp;
    struct recipe recipe[FRAGMENT_RECIPES_MAX];
    u16 reloc[FRAGMENT_RELOCS_MAX]; // displacements that lead out of the fragment
    u8 len[FRAGMENT_INSNS_MAX];
    struct fragment_exit exit[2]; // rel32, stub and target
};

#endif
