// SPDX-License-Identifier: MIT
//
// Demangling by libiberty: the Itanium C++ ABI, both Rust schemes and D. Called once for each
// function that ran.
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/memory.h"

char *demangle(const char *name)
{
    const int options = DMGL_PARAMS | DMGL_ANSI;
    const char *version = strchr(name, '@');
    char *plain = NULL;
    char *out = NULL;

    if (name[0] != '_')
        return NULL;
    // A symbol version follows the mangled name; it is not shown.
    if (version) {
        plain = memory_got(strndup(name, (size_t)(version - name)));
        if (!plain)
            return NULL;
        name = plain;
    }
    if (name[1] == 'D')
        out = dlang_demangle(name, options);
    if (!out && (name[1] == 'R' || strncmp(name, "_ZN", 3) == 0))
        out = rust_demangle(name, options);
    if (!out && name[1] == 'Z')
        out = cplus_demangle_v3(name, options);
    free(plain);
    return out;
}
