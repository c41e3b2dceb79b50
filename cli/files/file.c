// SPDX-License-Identifier: MIT
//
// A stream on top of the library's own output (profile/out.h): all files of cli/ are written as
// profiles are. Used by `quern convert` and the finisher.
#include "cli/files/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "profile/write/out.h"

static struct out *unfinished;

// Removes the file when the writer ends the process with a message.
static void give_up(void)
{
    if (unfinished)
        out_close(unfinished, -ECANCELED);
}

static ssize_t put(void *cookie, const char *buf, size_t size)
{
    struct out *o = cookie;

    if (o->fd < 0) // given up: exit() flushes the streams after give_up()
        return (ssize_t)size;
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
    static bool registered;
    if (!registered && atexit(give_up) != 0) {
        fclose(f);
        return out_close(&o, -ENOMEM);
    }
    registered = true;
    unfinished = &o;
    write(f, ctx);
    rc = fclose(f) != 0 ? -errno : 0;
    unfinished = NULL;
    return out_close(&o, rc);
}
