// SPDX-License-Identifier: MIT
// The initial stack of --reproducible=yes, at a fixed address.
#ifndef QUERN_ENGINE_STACK_H
#define QUERN_ENGINE_STACK_H

#include "engine/base/sys.h"

// What is on the initial stack, and where the client finds it.
struct start {
    u64 *sp; // the client's: at its argc
    char **argv, **envp;
    u64 argc;
    struct k_auxv *auxv;
    u64 auxv_count; // with the AT_NULL
    const char *execfn;
    // ranges of consecutive strings, for the kernel
    u64 arg_start, arg_end, env_start, env_end;
};

// Sets the ranges of the strings on the kernel's stack.
void stack_ranges(struct start *s);

// Builds the stack at its fixed address. env: an environment that replaces the kernel's, `bytes` of
// strings; NULL: keep the kernel's.
void stack_pin(struct start *s, const char *env, u64 bytes);

#endif
