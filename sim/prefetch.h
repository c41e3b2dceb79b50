// SPDX-License-Identifier: MIT
//
// Which lines a processor loads ahead: of an L2, as Intel describes its "streamer" and its spatial
// prefetcher (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching").
// It sees each data reference that has missed L1, and names lines; the caller puts those into the
// level that are not there.
//
// Streams: of each of the last SIM_PAGES pages the last line and the direction. A reference to
// another line of the page, in the direction of the one before, is a step of a stream, if it is not
// more than `reach` lines further (0: however far); from the second step on the next lines of the
// page are named, up to `batch` for each reference and as far as `distance` lines ahead of it, none
// twice. From the page's `dense`th step on (0: never) each one is of a stream, whichever way it
// goes. A page is SIM_PAGE_LINES lines. Across: at the page's last line a stream may name as many
// lines of the next page, two less for each line before that; there it goes on.
// Pairs: a line that misses L2 takes the other line of its aligned pair with it. Next: one that is
// the first of its page takes the next line with it, as AMD's processors do. Regions: regions.h.
//
// Pure arithmetic, as cache.h, and inline, as recent.h. It has pointers into itself: not to be
// copied once it is used.
#ifndef QUERN_SIM_PREFETCH_H
#define QUERN_SIM_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/recent.h"
#include "sim/regions.h"

#define SIM_PAGES_WORDS 130u // of sim_recent_bytes()
#define SIM_BATCH_MAX   8u
#define SIM_ACROSS_MAX  32u
#define SIM_AHEAD_MAX   (SIM_BATCH_MAX + 2 + SIM_REGION_LINES - 1) // lines that a reference names

struct sim_stream {
    int8_t last;  // line in the page
    int8_t ahead; // the last line that was named, of the next page, too
    int8_t direction;
    uint8_t steps, all; // all: of the page, in any direction
};

#define SIM_STREAM_STEPS 2u // from here on it is a stream

struct sim_prefetch {
    uint32_t distance, batch; // lines; distance 0: no streams
    uint32_t dense;           // steps, up to 255
    uint32_t reach, across;   // lines
    bool pairs, next, has_regions;
    struct sim_recent pages; // numbers plus one; the first use of all prepares it
    uint64_t storage[SIM_PAGES_WORDS];
    struct sim_stream stream[SIM_PAGES]; // by slot
    struct sim_regions regions;
};

// The last line that a stream of the page before, in this direction, has named of this one, if
// `at` is one of these; else -1.
static inline int sim_stream_goes_on(const struct sim_prefetch *p, uint64_t page, int at,
                                     int direction)
{
    uint32_t slot = sim_recent_find(&p->pages, page - (uint64_t)(int64_t)direction + 1);
    const struct sim_stream *from = &p->stream[slot % SIM_PAGES];
    int ahead = from->ahead - direction * (int)SIM_PAGE_LINES;

    if (slot >= SIM_PAGES || from->direction != direction || (ahead - at) * direction < 0 ||
        ahead < 0 || ahead >= (int)SIM_PAGE_LINES)
        return -1;
    return ahead;
}

// A page begins. Member by member: a word of bytes that have just been stored waits for the host.
static inline uint32_t sim_page_begin(struct sim_prefetch *p, uint64_t page, int at)
{
    int direction = 0, ahead = -1;
    struct sim_stream *s;
    uint64_t old;
    uint32_t slot;

    if ((uint32_t)at < p->across)
        direction = 1;
    else if ((uint32_t)at + p->across >= SIM_PAGE_LINES)
        direction = -1;
    if (direction)
        ahead = sim_stream_goes_on(p, page, at, direction);
    if (ahead < 0)
        direction = 0;
    slot = sim_recent_put(&p->pages, page + 1, &old);
    s = &p->stream[slot];
    s->last = (int8_t)(at - direction);
    s->ahead = (int8_t)(direction ? ahead : 0);
    s->direction = (int8_t)direction;
    s->steps = direction ? SIM_STREAM_STEPS : 0;
    s->all = 0;
    if (p->has_regions)
        sim_regions_begin(&p->regions, slot);
    return slot;
}

// The slot of a page, which may get that of the page that has been unused for longest: then it
// begins, and so does its stream.
static inline uint32_t sim_page_slot(struct sim_prefetch *p, uint64_t page, int at, bool *begins)
{
    uint32_t slot;

    if (!p->pages.slots)
        sim_recent_init_zeroed(&p->pages, SIM_PAGES, p->storage);
    slot = sim_recent_find(&p->pages, page + 1);
    *begins = slot >= SIM_PAGES;
    if (*begins)
        return sim_page_begin(p, page, at);
    sim_recent_touch(&p->pages, slot);
    return slot;
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

// n lines, from one of number `first` in its page on: that is the reference's page or the next one
// in this direction. begins: the page is not one of the last ones; n is 0 then. region: lines of
// sim_regions_refer().
struct sim_ahead {
    uint8_t n, first;
    int8_t direction;
    bool begins;
    uint16_t region;
};

// Whether a stream may name line `next` of the next page because of line `at` of its own.
static inline bool sim_stream_crosses(const struct sim_prefetch *p, int at, int next)
{
    int last = (int)SIM_PAGE_LINES - 1;
    uint32_t over = (uint32_t)(next < 0 ? -1 - next : next - last - 1);
    uint32_t before = (uint32_t)(next < 0 ? at : last - at);

    return over + 2 * before < p->across;
}

static inline void sim_stream_name(const struct sim_prefetch *p, struct sim_stream *s, int at,
                                   struct sim_ahead *named)
{
    int next = s->ahead + s->direction;

    named->direction = s->direction;
    named->first = (uint8_t)((uint32_t)next % SIM_PAGE_LINES);
    for (; named->n < p->batch; named->n++, next += s->direction) {
        if ((next - at) * s->direction > (int)p->distance)
            break;
        if ((next < 0 || next >= (int)SIM_PAGE_LINES) && !sim_stream_crosses(p, at, next))
            break;
        s->ahead = (int8_t)next;
    }
}

// What streams and regions name because of a reference to `line` by the instruction `code`, which
// only regions ask for.
static inline struct sim_ahead sim_page_ahead(struct sim_prefetch *p, uint64_t line, uint32_t code)
{
    int8_t at = (int8_t)(line % SIM_PAGE_LINES);
    struct sim_ahead named = { 0 };
    uint32_t slot = sim_page_slot(p, line / SIM_PAGE_LINES, at, &named.begins);
    struct sim_stream *s = &p->stream[slot];

    if (p->has_regions)
        named.region = (uint16_t)sim_regions_refer(&p->regions, slot, (uint32_t)at, code);
    if (at == s->last)
        return named;
    sim_stream_step(s, at, p->reach);
    if (s->steps < SIM_STREAM_STEPS && (!p->dense || s->all < p->dense))
        return named;
    if ((s->ahead - at) * s->direction < 0) // it has been overtaken
        s->ahead = at;
    sim_stream_name(p, s, at, &named);
    if (named.n)
        named.begins = false;
    return named;
}

// The lines to load ahead because of a reference to `line`, with what sim_page_ahead() has named;
// missed: it was not in the level. Returns their number, at most SIM_AHEAD_MAX, in the order in
// which they are loaded.
static inline uint32_t sim_prefetch_lines(const struct sim_prefetch *p, uint64_t line, bool missed,
                                          struct sim_ahead named, uint64_t lines[SIM_AHEAD_MAX])
{
    uint64_t by = (uint64_t)(int64_t)named.direction;
    uint64_t at = line + by * ((named.first - line) * by % SIM_PAGE_LINES);
    uint32_t n = 0;

    if (missed && p->pairs)
        lines[n++] = line ^ 1;
    if (missed && p->next && named.begins && line % SIM_PAGE_LINES != SIM_PAGE_LINES - 1)
        lines[n++] = line + 1;
    for (uint32_t i = 0; i < named.n; i++, at += by)
        lines[n++] = at;
    for (uint32_t left = named.region; left; left &= left - 1)
        lines[n++] = line + (uint32_t)__builtin_ctz(left) - SIM_REGION_BELOW;
    return n;
}

// Whether any of these asks sim_page_ahead().
static inline bool sim_prefetch_pages(const struct sim_prefetch *p)
{
    return p->distance || p->next || p->has_regions;
}

// Both.
uint32_t sim_prefetch(struct sim_prefetch *p, uint64_t line, uint32_t code, bool missed,
                      uint64_t lines[SIM_AHEAD_MAX]);

#endif
