// SPDX-License-Identifier: MIT
//
// The page of keys, from the table that top_keys.c uses.
#include "cli/top/top.h"

static const struct {
    const char *key, *text;
} rows[] = {
#define KEY(name, key, does, text) { name, text },
#define ALSO(key, does)
#include "cli/top/top_keys.def"
};

bool top_help(size_t i, const char **key, const char **text)
{
    if (i >= sizeof(rows) / sizeof(*rows))
        return false;
    *key = rows[i].key;
    *text = rows[i].text;
    return true;
}
