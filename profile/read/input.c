// SPDX-License-Identifier: MIT
//
// Plain, gzip and zstd input through one read call. Plain files are read directly into the reader's
// buffer: mapping them was not faster, and they would count twice against the memory target.
#include "profile/read/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define RAW_SIZE ((size_t)128 << 10)
// Of a possibly plain file, to detect its format: this part is copied twice.
#define FIRST_SIZE ((size_t)4 << 10)

enum { PLAIN, GZIP, ZSTD };

static ssize_t read_stored(struct input *in, void *buf, size_t n)
{
    ssize_t got;

    if (in->fd < 0) {
        if (n > in->mem_left)
            n = in->mem_left;
        memcpy(buf, in->mem, n);
        in->mem += n;
        in->mem_left -= n;
        in->done += n;
        return (ssize_t)n;
    }
    do
        got = read(in->fd, buf, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    in->done += (uint64_t)got;
    return got;
}

// Moves the remaining bytes to the front and reads more after them.
static int refill(struct input *in)
{
    if (in->raw_pos) {
        memmove(in->raw, in->raw + in->raw_pos, in->raw_len - in->raw_pos);
        in->raw_len -= in->raw_pos;
        in->raw_pos = 0;
    }
    if (in->raw_eof || in->raw_len == RAW_SIZE)
        return 0;
    size_t room = (in->packed == PLAIN ? FIRST_SIZE : RAW_SIZE) - in->raw_len;
    ssize_t got = read_stored(in, in->raw + in->raw_len, room);
    if (got < 0)
        return (int)got;
    if (got == 0)
        in->raw_eof = true;
    in->raw_len += (size_t)got;
    return 0;
}

static int start(struct input *in)
{
    int rc;

    if (!(in->raw = malloc(RAW_SIZE)))
        return -ENOMEM;
    while (in->raw_len < 4 && !in->raw_eof)
        if ((rc = refill(in)) < 0)
            return rc;
    if (in->raw_len >= 2 && in->raw[0] == 0x1f && in->raw[1] == 0x8b) {
        z_stream *z = calloc(1, sizeof(*z));
        if (!z)
            return -ENOMEM;
        if (inflateInit2(z, 15 + 32) != Z_OK) {
            free(z);
            return -ENOMEM;
        }
        in->codec = z;
        in->packed = GZIP;
    } else if (in->raw_len >= 4 && memcmp(in->raw, "\x28\xb5\x2f\xfd", 4) == 0) {
        if (!(in->codec = ZSTD_createDStream()))
            return -ENOMEM;
        in->packed = ZSTD;
    }
    return 0;
}

int input_open(struct input *in, const char *path)
{
    memset(in, 0, sizeof(*in));
    in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (in->fd < 0)
        return -errno;
    struct stat st;
    if (fstat(in->fd, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            input_close(in);
            return -EISDIR;
        }
        if (S_ISREG(st.st_mode))
            in->size = (uint64_t)st.st_size;
    }
    int rc;
    if ((rc = start(in)) < 0)
        input_close(in);
    return rc;
}

int input_open_mem(struct input *in, const char *text, size_t len)
{
    memset(in, 0, sizeof(*in));
    in->fd = -1;
    in->mem = text;
    in->mem_left = len;
    in->size = len;
    int rc;
    if ((rc = start(in)) < 0)
        input_close(in);
    return rc;
}

static ssize_t read_gzip(struct input *in, void *buf, size_t n)
{
    z_stream *z = in->codec;

    z->next_out = buf;
    z->avail_out = n > UINT32_MAX ? UINT32_MAX : (uInt)n;
    for (;;) {
        uInt before = z->avail_out;
        int rc;
        if (in->raw_pos == in->raw_len && !in->raw_eof && (rc = refill(in)) < 0)
            return rc;
        if (in->frame_end) {
            while (in->raw_len - in->raw_pos < 2 && !in->raw_eof)
                if ((rc = refill(in)) < 0)
                    return rc;
            // gzip files may be glued together; anything else after the end is padding
            if (in->raw_len - in->raw_pos < 2 || in->raw[in->raw_pos] != 0x1f)
                return 0;
            inflateReset(z);
            in->frame_end = false;
        }
        z->next_in = in->raw + in->raw_pos;
        z->avail_in = (uInt)(in->raw_len - in->raw_pos);
        rc = inflate(z, Z_NO_FLUSH);
        in->raw_pos = in->raw_len - z->avail_in;
        if (rc == Z_STREAM_END)
            in->frame_end = true;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            in->truncated = true;
        if (z->avail_out != before)
            return (ssize_t)(before - z->avail_out);
        if (in->truncated)
            return 0;
        if (rc != Z_STREAM_END && in->raw_eof && in->raw_pos == in->raw_len) {
            in->truncated = true;
            return 0;
        }
    }
}

static ssize_t read_zstd(struct input *in, void *buf, size_t n)
{
    ZSTD_outBuffer out = { buf, n, 0 };

    for (;;) {
        int rc;
        if (in->raw_pos == in->raw_len && !in->raw_eof && (rc = refill(in)) < 0)
            return rc;
        if (in->raw_pos == in->raw_len && in->raw_eof && in->frame_end)
            return 0;
        ZSTD_inBuffer src = { in->raw, in->raw_len, in->raw_pos };
        size_t left = ZSTD_decompressStream(in->codec, &out, &src);
        in->raw_pos = src.pos;
        in->frame_end = left == 0;
        if (ZSTD_isError(left))
            in->truncated = true;
        if (out.pos)
            return (ssize_t)out.pos;
        if (in->truncated)
            return 0;
        if (left && in->raw_eof && in->raw_pos == in->raw_len) {
            in->truncated = true;
            return 0;
        }
    }
}

ssize_t input_read(struct input *in, void *buf, size_t n)
{
    if (in->truncated || n == 0)
        return 0;
    if (in->packed == GZIP)
        return read_gzip(in, buf, n);
    if (in->packed == ZSTD)
        return read_zstd(in, buf, n);
    if (in->raw_pos < in->raw_len) {
        size_t have = in->raw_len - in->raw_pos;
        if (n > have)
            n = have;
        memcpy(buf, in->raw + in->raw_pos, n);
        in->raw_pos += n;
        return (ssize_t)n;
    }
    return in->raw_eof ? 0 : read_stored(in, buf, n);
}

void input_close(struct input *in)
{
    if (in->packed == GZIP) {
        inflateEnd(in->codec);
        free(in->codec);
    } else if (in->packed == ZSTD) {
        ZSTD_freeDStream(in->codec);
    }
    free(in->raw);
    if (in->fd >= 0)
        close(in->fd);
    memset(in, 0, sizeof(*in));
    in->fd = -1;
}
