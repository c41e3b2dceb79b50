// SPDX-License-Identifier: MIT
// The address space of the engine: above the shadow of every sanitizer and below the lowest mmap
// base of a randomized process. base/README.md has a map. Assembly includes this, too.
#ifndef QUERN_ENGINE_LAYOUT_H
#define QUERN_ENGINE_LAYOUT_H

// descriptions of records (replay/replay.c), in reach of the image
#define REPLAY_BASE        0x7e8fc0000000
#define REPLAY_SIZE        0x20000000
#define ENGINE_BASE        0x7e9000000000 // the engine's own image (mk/engine.mk links it there)
#define ENGINE_HEAP_BASE   0x7e9010000000 // heap.c
#define ENGINE_HEAP_SIZE   0x1800000000   // 96 GiB reserved lazily, PROT_NONE
#define CALLS_BASE         0x7ea810000000 // open calls, SPOOL_STACKS_SIZE of the spool
#define MODULES_BASE       0x7ecf80000000 // files of executed code (codecache/modules.c)
#define MODULES_SIZE       0x180000000    // 6 GiB
#define SPOOLER_BASE       0x7ed100000000 // the spool's records
#define DATA_BASE          0x7ed180000000 // objects of the data and their misses, of the spool
#define THREAD_AREA_BASE   0x7ed200000000 // SPOOL_THREADS_FIXED areas (thread.h)
#define THREAD_AREA_STRIDE 0x12000000
// Further areas are at free addresses that are chosen on demand (spool/slotmem.h), with the
// thread's open calls after its counters, at a multiple of SPOOL_STACK_SIZE.
#define THREAD_FAR_TOP     0x7a0000000000
#define THREAD_FAR_STRIDE  0x20000000
#define THREAD_FAR_CALLS   0x14000000
#define TA_COUNTERS        0x2000000 // in each area: SPOOL_THREAD_SIZE bytes of the spool

// With --reproducible=yes all mappings of the client are here, not where the kernel chooses: below
// all of the above, and below the kernel's mappings, even with random addresses (which many
// containers cannot turn off). For sanitizers this is normal high memory.
#define PINNED_STACK_END 0x7e8fbff00000 // grows down as far as RLIMIT_STACK allows
#define PINNED_CACHE_END 0x7e8fb0000000 // end of the code cache, at most 256 MiB
#define PINNED_TOP       0x7e8fa0000000 // the interpreter, then what the client maps, downwards
#define PINNED_PROGRAM   0x7e8f34000000 // a PIE, and its break above it
#define PINNED_STACK     0x100000       // from the stack pointer to the stack's end

#endif
