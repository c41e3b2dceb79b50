// SPDX-License-Identifier: MIT
//
// Opens a spool for reading. Trusts nothing in the file: of one that a killed program left, or that
// was damaged since, it gives what is sound.
#include "finish/spool/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

enum { AREA_TEXT, AREA_MAPS, AREA_PARTIAL, AREA_BLOCKS, AREA_EDGES, AREAS };
#define AT_ONCE_MAX (UINT64_C(2) << 20) // larger ones may be holes, which must take no memory

// Reads [off, off + want) as far as the file goes; *got is how much that is. NULL: nothing, or,
// with s->unread, it cannot be read, and must not be taken for absent.
static const void *read_area(struct spool_file *s, int i, uint64_t file_size, uint64_t off,
                             uint64_t want, uint64_t *got)
{
    uint64_t have = file_size > off ? file_size - off : 0;

    *got = want < have ? want : have;
    if (*got == 0)
        return NULL;
    if (*got <= AT_ONCE_MAX) {
        s->area[i] = xmalloc(*got);
        ssize_t n = spool_read(s->fd, s->area[i], *got, off);
        if (n < 0)
            s->unread = errno;
        *got = n < 0 ? 0 : (uint64_t)n;
    } else {
        s->area[i] = xcalloc(1, *got);
        if (spool_read_sparse(s->fd, s->area[i], *got, off) != 0)
            s->unread = errno;
    }
    return *got && !s->unread ? s->area[i] : NULL;
}

// Reads all records that the header announces and the file holds.
static void read_records(struct spool_file *s, uint64_t size)
{
    const struct spool_header *h = s->h;
    uint64_t got;

    s->text = read_area(s, AREA_TEXT, size, SPOOL_TEXT_OFF,
                        spool_read_least(h->text_used, SPOOL_TEXT_SIZE), &got);
    s->text_used = s->text ? got : 0;
    s->maps_used = spool_read_least(h->maps_used, SPOOL_MAPS_MAX);
    s->maps = read_area(s, AREA_MAPS, size, SPOOL_MAPS_OFF, s->maps_used * sizeof(*s->maps), &got);
    s->maps_used = s->maps ? got / sizeof(*s->maps) : 0;
    s->partial_used = spool_read_least(h->partial_used, SPOOL_PARTIAL_MAX);
    s->partial = read_area(s, AREA_PARTIAL, size, SPOOL_PARTIAL_OFF,
                           s->partial_used * sizeof(*s->partial), &got);
    s->partial_used = s->partial ? got / sizeof(*s->partial) : 0;
    s->blocks = read_area(s, AREA_BLOCKS, size, SPOOL_BLOCKS_OFF,
                          spool_read_least(h->blocks_used, SPOOL_BLOCKS_SIZE), &got);
    s->blocks_used = s->blocks ? got : 0;
    s->edges_used = spool_read_least(h->edges_used, SPOOL_EDGES_MAX);
    s->edges =
        read_area(s, AREA_EDGES, size, SPOOL_EDGES_OFF, s->edges_used * sizeof(*s->edges), &got);
    s->edges_used = s->edges ? got / sizeof(*s->edges) : 0;
    s->sums = s->counters_used = spool_read_least(h->counters_used, SPOOL_COUNTERS_MAX);
    if (h->owner)
        s->owner = xcalloc(SPOOL_THREADS_MAX, sizeof(*s->owner));
}

// Returns 0, or -1 with a message; the caller closes s in any case.
static int open_parts(struct spool_file *s, uint64_t size, char *err, size_t err_size)
{
    const struct spool_header *h = &s->head;
    ssize_t got = spool_read(s->fd, &s->head, sizeof(s->head), 0);

    if (got < 0)
        s->unread = errno;
    if (!s->unread &&
        (size < SPOOL_MAPS_OFF || (size_t)got < sizeof(*h) || h->magic != SPOOL_MAGIC)) {
        snprintf(err, err_size, "not a spool of quern");
        return -1;
    }
    if (!s->unread && h->version != SPOOL_VERSION) {
        snprintf(err, err_size,
                 "a spool of version %u, this quern reads version %u; use the quern "
                 "that made it",
                 h->version, SPOOL_VERSION);
        return -1;
    }
    s->h = h;
    if (!s->unread)
        read_records(s, size);
    if (s->unread) {
        snprintf(err, err_size, "cannot be read: %s", strerror(s->unread));
        return -1;
    }
    if (spool_counters_read(s, size) != 0) {
        snprintf(err, err_size, "its counters cannot be read: %s",
                 errno ? strerror(errno) : "the file is too short");
        return -1;
    }
    return 0;
}

int spool_file_open(struct spool_file *s, int fd, char *err, size_t err_size)
{
    struct stat st;

    memset(s, 0, sizeof(*s));
    s->slot = SPOOL_ALL_THREADS;
    s->fd = fd;
    if (fstat(fd, &st) != 0) {
        snprintf(err, err_size, "%s", strerror(errno));
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(err, err_size, "not a spool of quern");
        return -1;
    }
    if (open_parts(s, (uint64_t)st.st_size, err, err_size) != 0) {
        spool_file_close(s);
        return -1;
    }
    spool_counters_blocks(s);
    return 0;
}

void spool_file_close(struct spool_file *s)
{
    for (int i = 0; i < AREAS; i++)
        free(s->area[i]);
    free(s->owner);
    spool_counters_drop(s);
    memset(s, 0, sizeof(*s));
}

const char *spool_file_text(const struct spool_file *s, uint32_t offset)
{
    if (offset == 0 || offset >= s->text_used ||
        !memchr(s->text + offset, '\0', s->text_used - offset))
        return NULL;
    return s->text + offset;
}

char *spool_file_line(const char *text)
{
    char *line = xstrdup(text ? text : "");

    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\x7f')
            *p = ' ';
    return line;
}

uint32_t spool_file_map(const struct spool_file *s, uint64_t addr, uint32_t first)
{
    if (first < s->maps_used && addr >= s->maps[first].start && addr < s->maps[first].end)
        return first;
    for (uint64_t i = s->maps_used; i-- > 0;)
        if (addr >= s->maps[i].start && addr < s->maps[i].end)
            return (uint32_t)i;
    return first;
}

uint64_t spool_file_held(const struct spool_file *s, uint64_t map, uint64_t *size)
{
    const uint64_t end = SPOOL_HELD_OFF + SPOOL_HELD_TABLE;
    struct spool_held kept;
    struct stat st;

    if (fstat(s->fd, &st) != 0 || (uint64_t)st.st_size <= end)
        return 0; // no copy
    for (uint64_t at = SPOOL_HELD_OFF; at < end; at += sizeof(kept)) {
        if (spool_read(s->fd, &kept, sizeof(kept), at) != sizeof(kept) || !kept.at)
            return 0;
        if (kept.map != map)
            continue;
        *size = kept.size;
        return kept.at >= end && kept.at % 4096 == 0 && kept.size > 0 &&
                       kept.at <= (uint64_t)st.st_size &&
                       kept.size <= (uint64_t)st.st_size - kept.at
                   ? kept.at
                   : 0;
    }
    return 0;
}
