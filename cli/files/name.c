// SPDX-License-Identifier: MIT
//
// Names with %p (process id), %q{VAR} (environment) and %% in --cachegrind-out-file, --log-file and
// --dump-counts. `quern run` expands them as a check, the finisher to use them: a forked child has
// another process id.
#include "cli/files/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "symbols/cachedir.h"

static void append(char **out, size_t *len, const char *s, size_t n)
{
    *out = xrealloc(*out, *len + n + 1);
    memcpy(*out + *len, s, n);
    *len += n;
    (*out)[*len] = '\0';
}

char *name_expand(const char *name, pid_t pid, char *err, size_t err_size)
{
    char *out = xstrdup("");
    size_t len = 0;

    for (const char *p = name; *p; p++) {
        if (*p != '%') {
            append(&out, &len, p, 1);
        } else if (p[1] == '%') {
            append(&out, &len, "%", 1);
            p++;
        } else if (p[1] == 'p') {
            char digits[16];

            append(&out, &len, digits, (size_t)snprintf(digits, sizeof(digits), "%ld", (long)pid));
            p++;
        } else if (p[1] == 'q') {
            const char *end = p[2] == '{' ? strchr(p, '}') : NULL;
            char *var;
            const char *value;

            if (!end || end == p + 3) {
                snprintf(err, err_size, "%%q is not followed by {VARIABLE}");
                goto fail;
            }
            var = xasprintf("%.*s", (int)(end - p - 3), p + 3);
            value = getenv(var);
            if (!value)
                snprintf(err, err_size, "the environment variable %s of %%q{%s} is not set", var,
                         var);
            free(var);
            if (!value)
                goto fail;
            append(&out, &len, value, strlen(value));
            p = end;
        } else {
            if (p[1])
                snprintf(err, err_size, "%%%c is not one of %%p, %%q{VARIABLE}, %%%%", p[1]);
            else
                snprintf(err, err_size, "%% at the end; write %%%% for a percent sign");
            goto fail;
        }
    }
    return out;

fail:
    free(out);
    return NULL;
}

char *name_expand_or_die(const char *name, pid_t pid, const char *what)
{
    char err[256];
    char *s = name_expand(name, pid, err, sizeof(err));

    if (!s)
        die(UTIL_USAGE, "%s=%s: %s", what, name, err);
    return s;
}

char *name_escape(const char *s)
{
    char *out = xmalloc(2 * strlen(s) + 1);
    char *w = out;

    for (; *s; s++) {
        if (*s == '%')
            *w++ = '%';
        *w++ = *s;
    }
    *w = '\0';
    return out;
}

char *name_cache_folder(const char *given, const char *cwd)
{
    if (given)
        return strcmp(given, "no") == 0 ? NULL : util_absolute(cwd, given);
    return cachedir_default();
}
