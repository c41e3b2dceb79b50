// SPDX-License-Identifier: MIT
//
// Bytes of a profile from a file, standard input or memory, unpacked from gzip or zstd if the first
// bytes say so. Only the reader calls it. Never prints; a broken archive sets a flag, because what
// was unpacked before the damage is worth reading.
#ifndef QUERN_PROFILE_INPUT_H
#define QUERN_PROFILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct input {
    int fd; // -1: memory
    const char *mem;
    size_t mem_left;
    uint64_t size;  // of the file as stored; 0 unknown
    uint64_t done;  // stored bytes read
    bool truncated; // the archive ended early or is damaged
    int packed;     // 0 plain, 1 gzip, 2 zstd
    void *codec;
    unsigned char *raw; // stored bytes not yet unpacked
    size_t raw_pos, raw_len;
    bool raw_eof, frame_end;
};

int input_open(struct input *in, const char *path); // 0 or -errno
int input_open_mem(struct input *in, const char *text, size_t len);
// Up to n bytes; 0 at the end; -errno.
ssize_t input_read(struct input *in, void *buf, size_t n);
void input_close(struct input *in);

#endif
