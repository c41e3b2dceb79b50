// SPDX-License-Identifier: MIT
//
// The last n keys that were used: a set of keys in order of use, found by a hash table, so that a
// use costs the same whatever n is. A fully associative cache that replaces what was used least
// recently; what belongs to a key is the caller's, by the key's slot, which it keeps while it is
// there.
//
// Pure arithmetic, as cache.h.
#ifndef QUERN_SIM_RECENT_H
#define QUERN_SIM_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_RECENT_MAX 32767u // slots

struct sim_recent {
    uint32_t slots, buckets; // buckets: a power of two
    uint64_t *key;           // by slot; 0: empty
    uint16_t *link;          // slots plus one, and 0 for none; see recent.c
};

// Bytes of the storage for that many slots; a multiple of 8.
size_t sim_recent_bytes(uint32_t slots);

// Without keys, in storage of sim_recent_bytes() zeroed bytes, aligned to 8, the caller's.
void sim_recent_init_zeroed(struct sim_recent *r, uint32_t slots, void *storage);

// The slot of a key, which is not 0; `slots` if it is not there. Nothing changes.
uint32_t sim_recent_find(const struct sim_recent *r, uint64_t key);

// The key in this slot is the one used last.
void sim_recent_touch(struct sim_recent *r, uint32_t slot);

// Puts a key in that is not there, as the one used last: into an empty slot, or in place of the one
// that was used least recently, which goes to *old (0: the slot was empty). Returns the slot.
uint32_t sim_recent_put(struct sim_recent *r, uint64_t key, uint64_t *old);

// Takes the key in this slot out.
void sim_recent_take(struct sim_recent *r, uint32_t slot);

#endif
