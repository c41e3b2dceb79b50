// SPDX-License-Identifier: MIT
//
// A stream on top of the library's own output (profile/out.h), so that whatever cli/ writes to a
// file appears as profiles do. Used by `quern convert` and the finisher.
#include "cli/shared/file.h"

#include <errno.h>

#include "profile/write/out.h"

static ssize_t put(void *cookie, const char *buf, size_t size)
{
    struct out *o = cookie;

    out_mem(o, buf, size);
    if (!o->err)
        return (ssize_t)size;
    errno = -o->err;
    return 0;
}

int file_write(const char *path, void (*write)(FILE *f, const void *ctx), const void *ctx)
{
    struct out o;
    int rc = out_open(&o, path);
    FILE *f;

    if (rc != 0)
        return rc;
    f = fopencookie(&o, "w", (cookie_io_functions_t){ .write = put });
    if (!f)
        return out_close(&o, -ENOMEM);
    write(f, ctx);
    return out_close(&o, fclose(f) != 0 ? -errno : 0);
}
