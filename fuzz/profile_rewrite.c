// SPDX-License-Identifier: MIT
//
// Fuzzer of --mod-filename and --mod-funcname: the input is an expression, a NUL, and a name.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "quern/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct quern_error err = { 0 };

    memcpy(text, data, size);
    text[size] = 0;
    const char *name = strlen(text) < size ? text + strlen(text) + 1 : text;
    struct quern_rewrite *r = quern_rewrite_new(text, &err);
    if (r)
        free(quern_rewrite_apply(r, name));
    else if (!*err.msg)
        abort();
    quern_rewrite_free(r);
    free(text);
    return 0;
}
