// SPDX-License-Identifier: MIT
// The initial stack of --reproducible=yes: at an address that depends on nothing.
#ifndef QUERN_ENGINE_STACK_H
#define QUERN_ENGINE_STACK_H

#include "engine/base/sys.h"

// What the kernel has put on the stack, and where the client finds it.
struct start {
    u64 *sp; // the client's: at its argc
    char **argv, **envp;
    u64 argc;
    struct k_auxv *auxv;
    u64 auxv_count; // with the AT_NULL
    const char *execfn;
    // where the strings lie one behind the other, for the kernel
    u64 arg_start, arg_end, env_start, env_end;
};

// The ranges of its strings as the kernel has laid them.
void stack_ranges(struct start *s);

// Makes it anew. env: the environment instead of the kernel's, `bytes` of strings; NULL: that one.
void stack_pin(struct start *s, const char *env, u64 bytes);

#endif
