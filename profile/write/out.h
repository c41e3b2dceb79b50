// SPDX-License-Identifier: MIT
//
// A buffered output file that appears whole or not at all: written beside its target, renamed at
// the end. Only for the writers of profile/ and, through quern_out_*, for nobody else.
#ifndef QUERN_PROFILE_OUT_H
#define QUERN_PROFILE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
    int fd;
    int err; // first -errno
    char *buf, *pos, *end;
    char *path, *tmp; // tmp NULL: written in place (standard output, a device, a pipe)
    bool slow;        // such a file; calls out_wait while it does not accept data
};

// A pipe may have no reader, or one that does not read. Then this is called repeatedly: it waits
// for a moment, and returns 0, or -errno to give up the file. NULL, as in the library: the kernel
// waits, and the caller's signal handlers decide for how long.
extern int (*out_wait)(const char *path);

#define OUT_ROOM 64 // put_* below may write so much without a check

int out_open(struct out *o, const char *path);
// Ends the file; on rc < 0 or a failed write leaves nothing behind. Returns the final 0 or -errno.
int out_close(struct out *o, int rc);
void out_flush(struct out *o);
void out_mem(struct out *o, const char *s, size_t n);

static inline void out_room(struct out *o)
{
    if (o->end - o->pos < OUT_ROOM)
        out_flush(o);
}

static inline void out_char(struct out *o, char c)
{
    out_room(o);
    *o->pos++ = c;
}

static inline void out_str(struct out *o, const char *s)
{
    out_mem(o, s, strlen(s));
}

static inline void out_u64(struct out *o, uint64_t v)
{
    char tmp[20], *t = tmp + sizeof(tmp);
    out_room(o);
    do
        *--t = (char)('0' + v % 10);
    while (v /= 10);
    size_t n = (size_t)(tmp + sizeof(tmp) - t);
    memcpy(o->pos, t, n);
    o->pos += n;
}

static inline void out_hex(struct out *o, uint64_t v)
{
    char tmp[18], *t = tmp + sizeof(tmp);
    out_room(o);
    do
        *--t = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    *--t = 'x';
    *--t = '0';
    size_t n = (size_t)(tmp + sizeof(tmp) - t);
    memcpy(o->pos, t, n);
    o->pos += n;
}

#endif
