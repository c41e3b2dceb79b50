// SPDX-License-Identifier: MIT
//
// Copies of texts; errors; numbers as text. Knows no profile.
#include "profile/model/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_dup(const char *s, size_t len)
{
    char *d = malloc(len + 1);
    if (d) {
        memcpy(d, s, len);
        d[len] = 0;
    }
    return d;
}

int text_set(char **field, const char *s)
{
    char *d = text_dup(s, strlen(s));
    if (!d)
        return -ENOMEM;
    free(*field);
    *field = d;
    return 0;
}

bool text_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void text_error(struct quern_error *err, int code, const char *file, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return;
    memset(err, 0, sizeof(*err));
    err->code = code;
    if (file) {
        size_t n = strlen(file);
        if (n >= sizeof(err->file))
            file += n - (sizeof(err->file) - 1);
        snprintf(err->file, sizeof(err->file), "%s", file);
    }
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
}

int quern_count_format(char *buf, size_t size, quern_count v, int64_t scale)
{
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v, whole = u;
    char tmp[64], *t = tmp + sizeof(tmp);
    uint64_t frac = 0;

    *--t = 0;
    if (scale > 1) {
        frac = (uint64_t)(u % (uint64_t)scale);
        whole = u / (uint64_t)scale;
        if (frac) {
            int digits = 9, seen = 0;
            for (; digits; digits--, frac /= 10) {
                if (frac % 10 || seen) {
                    *--t = (char)('0' + frac % 10);
                    seen = 1;
                }
            }
            *--t = '.';
        }
    }
    while (whole > UINT64_MAX) {
        *--t = (char)('0' + (int)(whole % 10));
        whole /= 10;
    }
    uint64_t w = (uint64_t)whole;
    do {
        *--t = (char)('0' + w % 10);
    } while (w /= 10);
    if (v < 0)
        *--t = '-';
    size_t n = (size_t)(tmp + sizeof(tmp) - 1 - t), copied = n < size ? n + 1 : size;
    memcpy(buf, t, copied);
    if (n >= size && size)
        buf[size - 1] = 0;
    return (int)n;
}
