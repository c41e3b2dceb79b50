// SPDX-License-Identifier: MIT
//
// `spool_seed SPOOL >SEED`: a real spool in the form of spool_form.h, the first bytes of each area.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/spool_form.h"

static int fd;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void put(unsigned area, uint64_t bytes)
{
    struct spool_piece piece = { .area = (uint8_t)area, .bytes = (uint16_t)bytes };
    char text[UINT16_MAX];

    if (bytes && pread(fd, text, bytes, (off_t)form_at(area)) == (ssize_t)bytes) {
        fwrite(&piece, sizeof(piece), 1, stdout);
        fwrite(text, bytes, 1, stdout);
    }
}

int main(int argc, char **argv)
{
    static struct spool_header h;

    fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || h.magic != SPOOL_MAGIC) {
        fputs("usage: spool_seed SPOOL\n", stderr);
        return 2;
    }
    h.text_used = least(h.text_used, 1024);
    h.maps_used = least(h.maps_used, 8);
    h.partial_used = least(h.partial_used, 4);
    h.blocks_used = least(h.blocks_used, 2048);
    h.edges_used = least(h.edges_used, 24);
    h.counters_used = least(h.counters_used, 512);
    fwrite((char *)&h + FORM_HEAD, FORM_SIZE, 1, stdout);
    put(FORM_TEXT, h.text_used);
    put(FORM_MAPS, h.maps_used * sizeof(struct spool_map));
    put(FORM_PARTIAL, h.partial_used * sizeof(struct spool_partial));
    put(FORM_BLOCKS, h.blocks_used);
    put(FORM_EDGES, h.edges_used * sizeof(struct spool_edge));
    put(FORM_SLOTS, h.counters_used * 8);
    put(FORM_STACKS, h.flags & SPOOL_F_CALLS ? 512 : 0);
    return fflush(stdout) == 0 ? 0 : 1;
}
