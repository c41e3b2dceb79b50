// SPDX-License-Identifier: MIT
//
// Replaces ../input.c in a page that reads profiles (report/reader): the text is in memory,
// unpacked by the browser. If the archive was truncated or damaged, the page says so first, and
// what was unpacked before the damage is read. Not part of libquern.
#include "profile/read/input.h"

#include <errno.h>
#include <string.h>

#include "quern/profile.h"

static bool cut_off;

// Called by the page: the archive of the next text is damaged after that text.
__attribute__((export_name("cut"))) void input_cut(int cut);

void input_cut(int cut)
{
    cut_off = cut;
}

int input_open(struct input *in, const char *path)
{
    (void)in;
    (void)path;
    return -ENOENT; // there are no files
}

int input_open_mem(struct input *in, const char *text, size_t len)
{
    *in = (struct input){ .fd = -1, .mem = text, .mem_left = len, .size = len };
    return 0;
}

ssize_t input_read(struct input *in, void *buf, size_t n)
{
    n = n < in->mem_left ? n : in->mem_left;
    memcpy(buf, in->mem, n);
    in->mem += n;
    in->mem_left -= n;
    in->done += n;
    in->truncated = cut_off && in->mem_left == 0;
    return (ssize_t)n;
}

void input_close(struct input *in)
{
    *in = (struct input){ .fd = -1 };
}

// Nor are there expressions that rewrite names: reader.c sums without any.
char *quern_rewrite_apply(const struct quern_rewrite *r, const char *text)
{
    (void)r;
    (void)text;
    errno = ENOSYS;
    return NULL;
}
