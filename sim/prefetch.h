// SPDX-License-Identifier: MIT
//
// Which lines a processor loads ahead: of an L2, as Intel describes its "streamer" and its spatial
// prefetcher (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching").
// It sees each data reference that has missed L1, and names lines; the caller puts those into the
// level that are not there.
//
// Streams: of each of the last SIM_STREAMS pages the last line and the direction. A reference to
// another line of the page, in the direction of the one before, is a step of a stream, if it is not
// more than `reach` lines further (0: however far); from the second step on the next lines of the
// page are named, up to `batch` for each reference and as far as `distance` lines ahead of it, none
// twice. From the page's `dense`th step on (0: never) each one is of a stream, whichever way it
// goes. A page is SIM_STREAM_LINES lines.
// Pairs: a line that misses L2 takes the other line of its aligned pair with it. Next: one that is
// the first of its page takes the next line with it, as AMD's processors do.
//
// Pure arithmetic, as cache.h, and inline, as recent.h. It has pointers into itself: not to be
// copied once it is used.
#ifndef QUERN_SIM_PREFETCH_H
#define QUERN_SIM_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/recent.h"

#define SIM_STREAMS       32u
#define SIM_STREAMS_WORDS 82u // of sim_recent_bytes()
#define SIM_STREAM_LINES  64u // of a page: 4 KiB with lines of 64 bytes
#define SIM_BATCH_MAX     8u
#define SIM_AHEAD_MAX     (SIM_BATCH_MAX + 2) // lines that a reference loads ahead

struct sim_stream {
    int8_t last;  // line in the page
    int8_t ahead; // the last line that was named
    int8_t direction;
    uint8_t steps, all; // all: of the page, in any direction
};

struct sim_prefetch {
    uint32_t distance, batch; // lines; distance 0: no streams
    uint32_t dense;           // steps, up to 255
    uint32_t reach;           // lines
    bool pairs, next;
    struct sim_recent pages; // numbers plus one; the first use of all prepares it
    uint64_t storage[SIM_STREAMS_WORDS];
    struct sim_stream stream[SIM_STREAMS]; // by slot
};

#define SIM_STREAM_STEPS 2u // from here on it is a stream

// The page's stream, or the one that has been unused for longest, which becomes the page's: then it
// begins.
static inline struct sim_stream *sim_stream_of(struct sim_prefetch *p, uint64_t page, int8_t at,
                                               bool *begins)
{
    uint64_t old;
    uint32_t slot;

    if (!p->pages.slots)
        sim_recent_init_zeroed(&p->pages, SIM_STREAMS, p->storage);
    slot = sim_recent_find(&p->pages, page + 1);
    *begins = slot >= SIM_STREAMS;
    if (!*begins) {
        sim_recent_touch(&p->pages, slot);
    } else {
        slot = sim_recent_put(&p->pages, page + 1, &old);
        p->stream[slot] = (struct sim_stream){ .last = at };
    }
    return &p->stream[slot];
}

static inline void sim_stream_step(struct sim_stream *s, int8_t at, uint32_t reach)
{
    int8_t direction = at > s->last ? 1 : -1;
    bool far = reach && (uint32_t)((at - s->last) * direction) > reach;

    if (direction != s->direction || far) {
        s->direction = direction;
        s->steps = 0;
        s->ahead = at;
    }
    if (s->steps < SIM_STREAM_STEPS && !far)
        s->steps++;
    s->all += s->all < UINT8_MAX;
    s->last = at;
}

// n lines of the reference's page, the first of which is `first` there, and the rest behind it.
// begins: the page is not one of the last ones; n is 0 then.
struct sim_ahead {
    uint8_t n, first;
    int8_t direction;
    bool begins;
};

// What a stream names because of a reference to `line`.
static inline struct sim_ahead sim_stream_ahead(struct sim_prefetch *p, uint64_t line)
{
    int8_t at = (int8_t)(line % SIM_STREAM_LINES);
    struct sim_ahead named = { 0 };
    struct sim_stream *s = sim_stream_of(p, line / SIM_STREAM_LINES, at, &named.begins);
    int next;

    if (at == s->last)
        return named;
    sim_stream_step(s, at, p->reach);
    if (s->steps < SIM_STREAM_STEPS && (!p->dense || s->all < p->dense))
        return named;
    if ((s->ahead - at) * s->direction < 0) // it has been overtaken
        s->ahead = at;
    named.direction = s->direction;
    named.first = (uint8_t)(s->ahead + s->direction);
    for (; named.n < p->batch; named.n++) {
        next = s->ahead + s->direction;
        if (next < 0 || next >= (int)SIM_STREAM_LINES ||
            (next - at) * s->direction > (int)p->distance)
            break;
        s->ahead = (int8_t)next;
    }
    return named;
}

// The lines to load ahead because of a reference to `line`, with what a stream has named; missed:
// it was not in the level. Returns their number, at most SIM_AHEAD_MAX, in the order in which
// they are loaded.
static inline uint32_t sim_prefetch_lines(const struct sim_prefetch *p, uint64_t line, bool missed,
                                          struct sim_ahead named, uint64_t lines[SIM_AHEAD_MAX])
{
    uint64_t at = line / SIM_STREAM_LINES * SIM_STREAM_LINES + named.first;
    uint32_t n = 0;

    if (missed && p->pairs)
        lines[n++] = line ^ 1;
    if (missed && p->next && named.begins && line % SIM_STREAM_LINES != SIM_STREAM_LINES - 1)
        lines[n++] = line + 1;
    for (uint32_t i = 0; i < named.n; i++, at += (uint64_t)(int64_t)named.direction)
        lines[n++] = at;
    return n;
}

// Both.
uint32_t sim_prefetch(struct sim_prefetch *p, uint64_t line, bool missed,
                      uint64_t lines[SIM_AHEAD_MAX]);

#endif
