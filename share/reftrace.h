// SPDX-License-Identifier: MIT
// The file that `quern run --trace-refs=FILE` writes (docs/trace-format.md). Written by
// engine/count/reftrace.c, read by `quern trace`. Everything is little endian.
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

// Followed by the command line and the path of the trace that this one continues, both without NUL.
struct reftrace_header {
    uint64_t magic;
    uint32_t version;
    uint32_t order;
    uint32_t bytes; // in all: the offset of the first chunk
    uint32_t flags; // enum reftrace_flag
    struct reftrace_cache i1, d1, ll;
    int32_t pid;
    uint64_t parent_end; // offset in the continued trace; 0: none
    uint32_t command_bytes, parent_bytes;
};

#define REFTRACE_HEADER_MAX 65536u

enum reftrace_chunk_kind {
    REFTRACE_REFS = 0x53464552u,  // "REFS"
    REFTRACE_MAP = 0x5350414du,   // "MAPS": a struct reftrace_map, then the file's path
    REFTRACE_CLEAR = 0x52414c43u, // "CLAR": all caches of the process are empty from here on
    REFTRACE_ZERO = 0x4f52455au,  // "ZERO": all counts are reset
    REFTRACE_END = 0x20444e45u,   // "END ": everything recorded so far has been written
};

struct reftrace_chunk {
    uint32_t kind;
    uint32_t thread; // of REFTRACE_REFS, from 1 on; others have 0
    uint32_t bytes;  // number of bytes that follow
    uint32_t reserved;
};

#define REFTRACE_CHUNK_MAX 65536u // bytes that follow

// A mapping of instructions in the following chunks. It replaces mappings where it overlaps them;
// the same one may come several times.
struct reftrace_map {
    uint64_t start, end;
    uint64_t offset; // of start, in the file
};

// An item is a byte, and the numbers that it announces: 7 bits a byte, the lowest first, the eighth
// bit set if more follow; differences have the sign in the lowest bit.
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
// A fetch: the address does not follow the previous instruction; the difference follows. A
// conditional branch: its address is not the instruction's; the difference follows.
#define REFTRACE_FAR   0x80u
#define REFTRACE_TAKEN 8u

enum reftrace_aside {
    REFTRACE_UNDONE,     // what follows was simulated, but its instruction did not complete
    REFTRACE_TAKE_BACK,  // nor did the counted instruction at this difference to the last
    REFTRACE_AT,         // what follows belongs to the instruction at this difference
    REFTRACE_COUNT_READ, // the instruction reads once more, and nothing is simulated
    REFTRACE_HISTORY,    // sets the history of conditional branches: bits follow
};

_Static_assert(sizeof(struct reftrace_header) == 80, "written as it is");
_Static_assert(sizeof(struct reftrace_map) == 24, "written as it is");
_Static_assert(sizeof(struct reftrace_chunk) == 16, "written as it is");

#endif
