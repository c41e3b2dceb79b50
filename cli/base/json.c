// SPDX-License-Identifier: MIT
//
// Strings of JSON, for every command that writes it. What a terminal would obey is written as
// \uXXXX: nothing is lost, and JSON is safe to print.
#include "cli/base/json.h"

#include <string.h>

#include "cli/base/text.h"

static void put_clean(FILE *f, const char *s, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i] != '"' && s[i] != '\\')
            continue;
        fwrite_unlocked(s + from, 1, i - from, f);
        putc_unlocked('\\', f);
        from = i;
    }
    fwrite_unlocked(s + from, 1, n - from, f);
}

void json_string(FILE *f, const char *text)
{
    const char *s = text, *end = text + strlen(text);

    putc('"', f);
    for (;;) {
        size_t n = text_clean_bytes(s, (size_t)(end - s));

        put_clean(f, s, n);
        s += n;
        if (s == end)
            break;
        int32_t c = text_decode(s, (size_t)(end - s), &n);
        fprintf(f, "\\u%04x", c < 0 ? 0xfffd : (unsigned)c); // all that is escaped is below U+10000
        s += n;
    }
    putc('"', f);
}
