// SPDX-License-Identifier: MIT
//
// Reads pieces of a file and skips its holes.
#include "finish/spool/spool_read.h"

#include <errno.h>
#include <unistd.h>

ssize_t spool_read(int fd, void *to, size_t n, uint64_t off)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(off + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool spool_read_next(int fd, uint64_t *at, uint64_t end, uint64_t *to)
{
    off_t data = lseek(fd, (off_t)*at, SEEK_DATA);
    off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

    if (*at >= end || (data < 0 && errno == ENXIO) || data >= (off_t)end)
        return false;
    if (data > (off_t)*at)
        *at = (uint64_t)data / sizeof(uint64_t) * sizeof(uint64_t);
    *to = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
    return true;
}

int spool_read_sparse(int fd, void *to, size_t n, uint64_t off)
{
    uint64_t at = off, end = off + n, piece;

    for (; spool_read_next(fd, &at, end, &piece); at = piece)
        if (spool_read(fd, (char *)to + (at - off), piece - at, at) < 0)
            return -1;
    return 0;
}
