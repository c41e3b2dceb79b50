// SPDX-License-Identifier: MIT
//
// Calls of the C library that fail on request: the linker redirects those of our own objects
// (--wrap, mk/tests-faults.mk), so the counts are ours alone and the same on every
// machine. Used by tests/unit/profile/test_faults.c and, through the environment, by the program of
// check-faults.
#ifndef TESTS_FAULTS_INJECT_H
#define TESTS_FAULTS_INJECT_H

#include <stdbool.h>

enum inject_kind {
    INJECT_MEMORY, // malloc and other allocations: ENOMEM
    INJECT_OPEN,   // calls that open a descriptor: EMFILE
    INJECT_READ,
    INJECT_WRITE,
    INJECT_RENAME,
    INJECT_THREAD, // pthread_create: EAGAIN
    INJECT_COUNT,
};

// Changes to reads and writes other than failures.
enum inject_mode { INJECT_WHOLE, INJECT_SHORT, INJECT_EINTR };

struct inject {
    long calls[INJECT_COUNT]; // since inject_begin()
    long blocks;              // allocated and not freed, since then
    long descriptors;         // opened and not closed
    bool hit;                 // the call that was to fail was made
};
extern struct inject inject;

// From here on the n-th call of a kind fails with `error`, and with `on` all later ones; n == 0:
// none does.
void inject_begin(enum inject_kind kind, long n, int error, bool on);
// Transfers of one byte, or EINTR before each.
void inject_transfer(enum inject_mode mode);
// A new thread opens a file before the one that made it goes on.
void inject_thread_first(void);
void inject_end(void);

#endif
