// SPDX-License-Identifier: MIT
// Superblocks: blocks of the client's that follow each other often become one fragment, with one
// record. Which ones, a thread's full buffer says: it lists what was executed.
#ifndef QUERN_ENGINE_SUPERBLOCK_H
#define QUERN_ENGINE_SUPERBLOCK_H

// With the options read, before anything is translated. Sets log_seen.
void superblock_init(void);

#endif
