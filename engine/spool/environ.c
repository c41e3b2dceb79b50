// SPDX-License-Identifier: MIT
// The environment of the start (environ.h). A copy, because the client may change its own.
#include "engine/spool/environ.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/spool/spooler.h"

static char **saved;
static char **finisher;

// The finisher must not get variables that are for the client's loader: libraries to preload, or a
// request to list libraries and exit. `quern run` knows the path of the finisher's libraries.
static void make_finisher(u64 n)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    const char *path = spooler_string(spool->s_library_path);
    u64 kept = 0;

    finisher = heap_alloc((n + 2) * sizeof(*finisher));
    for (u64 i = 0; i < n; i++)
        if (strncmp(saved[i], "LD_", 3) != 0)
            finisher[kept++] = saved[i];
    if (*path) {
        u64 size = sizeof(name) + strlen(path);
        char *text = heap_alloc(size);
        nolibc_format(text, size, "%s%s", name, path);
        finisher[kept] = text;
    }
}

// One block: the pointers, then the strings.
void environ_save(char *const *envp)
{
    u64 n = 0, bytes = 0;

    for (; envp[n]; n++)
        bytes += strlen(envp[n]) + 1;
    char **copy = heap_alloc((n + 1) * sizeof(*copy) + bytes);
    char *text = (char *)(copy + n + 1);
    for (u64 i = 0; i < n; i++) {
        u64 len = strlen(envp[i]) + 1;
        copy[i] = memcpy(text, envp[i], len);
        text += len;
    }
    saved = copy;
    make_finisher(n);
}

char *const *environ_start(void)
{
    return saved;
}

char *const *environ_finisher(void)
{
    return finisher;
}
