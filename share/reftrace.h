// SPDX-License-Identifier: MIT
// The file that `quern run --trace-refs=FILE` writes: docs/trace-format.md says what it means. Read
// by `quern trace`, written by engine/count/reftrace.c. Everything is little endian.
#ifndef QUERN_SHARE_REFTRACE_H
#define QUERN_SHARE_REFTRACE_H

#include <stdint.h>

#define REFTRACE_MAGIC   UINT64_C(0x3153464552525551) // "QURREFS1" as little endian
#define REFTRACE_VERSION 1u
#define REFTRACE_ORDER   0x01020304u

enum reftrace_flag {
    REFTRACE_F_REP_CACHEGRIND = 1u << 0, // --rep-count=cachegrind
    REFTRACE_F_SERIALIZE = 1u << 1,      // --serialize-threads=yes: one I1, D1, predictor for all
    REFTRACE_F_ALL = 3u,
};

struct reftrace_cache {
    uint32_t size, assoc, line;
};

// Behind it the command line and the path of the trace that this one goes on from, neither with a
// NUL.
struct reftrace_header {
    uint64_t magic;
    uint32_t version;
    uint32_t order;
    uint32_t bytes; // of all of it: where the first chunk begins
    uint32_t flags; // enum reftrace_flag
    struct reftrace_cache i1, d1, ll;
    int32_t pid;
    uint64_t parent_end; // where it goes on from, in bytes; 0: nowhere, it begins with nothing
    uint32_t command_bytes, parent_bytes;
};

#define REFTRACE_HEADER_MAX 65536u

enum reftrace_chunk_kind {
    REFTRACE_REFS = 0x53464552u,  // "REFS"
    REFTRACE_MAP = 0x5350414du,   // "MAPS": a struct reftrace_map, then the file's path
    REFTRACE_CLEAR = 0x52414c43u, // "CLAR": all caches of the process are empty from here on
    REFTRACE_ZERO = 0x4f52455au,  // "ZERO": what was counted is forgotten
    REFTRACE_END = 0x20444e45u,   // "END ": all that was recorded so far has been written
};

struct reftrace_chunk {
    uint32_t kind;
    uint32_t thread; // of REFTRACE_REFS, from 1 on; others have 0
    uint32_t bytes;  // that follow
    uint32_t reserved;
};

#define REFTRACE_CHUNK_MAX 65536u // bytes that follow

// Instructions of what follows may lie here. It takes the place of mappings that it meets.
struct reftrace_map {
    uint64_t start, end;
    uint64_t offset; // of start, in the file
};

// An item is a byte, and what that says follows: numbers of 7 bits a byte, the lowest first, the
// eighth bit being that there are more; differences with the sign in the lowest bit.
enum reftrace_item {
    REFTRACE_FETCH,    // bits 3-6: length; 0: it follows
    REFTRACE_READ,     // bits 3-6: size, as log2 plus 1; 0: it follows
    REFTRACE_WRITE,    // the same
    REFTRACE_MODIFY,   // the same
    REFTRACE_COND,     // bit 3: taken
    REFTRACE_INDIRECT, // the target follows, as a difference to the instruction
    REFTRACE_AGAIN,    // the instruction is executed, and no fetch is simulated
    REFTRACE_ASIDE,    // bits 3-4: enum reftrace_aside
};
#define REFTRACE_KIND 7u
// A fetch: the address is not that behind the instruction before, the difference follows. A
// conditional branch: it is not that of the instruction, the difference to it follows.
#define REFTRACE_FAR   0x80u
#define REFTRACE_TAKEN 8u

enum reftrace_aside {
    REFTRACE_UNDONE,     // what follows was simulated, but its instruction came to nothing
    REFTRACE_TAKE_BACK,  // so did the instruction at this difference to the last, though counted
    REFTRACE_AT,         // what follows is of the instruction at this difference
    REFTRACE_COUNT_READ, // the instruction reads once more, and nothing is simulated
    REFTRACE_HISTORY,    // the last conditional branches are taken to have been these: bits follow
};

_Static_assert(sizeof(struct reftrace_header) == 80, "written as it is");
_Static_assert(sizeof(struct reftrace_map) == 24, "written as it is");
_Static_assert(sizeof(struct reftrace_chunk) == 16, "written as it is");

#endif
