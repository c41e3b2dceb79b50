// SPDX-License-Identifier: MIT
//
// Missing debug information (lacks.h).
#include "symbols/lacks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/memory.h"

void lacks_note(struct lacks *l, enum lacks_kind kind, const char *fmt, ...)
{
    va_list ap;

    if (l->noted & 1u << kind)
        return;
    l->noted |= 1u << kind;
    va_start(ap, fmt);
    if (vasprintf(&l->sentence[kind], fmt, ap) < 0) {
        l->sentence[kind] = NULL;
        memory_lacks();
    }
    va_end(ap);
}

const char *lacks_next(struct lacks *l)
{
    free(l->said);
    l->said = NULL;
    for (unsigned kind = 0; kind < LACKS_KINDS && !l->said; kind++) {
        l->said = l->sentence[kind];
        l->sentence[kind] = NULL;
    }
    return l->said;
}

void lacks_fini(struct lacks *l)
{
    while (lacks_next(l))
        ;
}
